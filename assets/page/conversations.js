// The list of conversations and its search.

import { tell } from './server.js';

let finding = null;

// The list is drawn whole after each turn; while words stand in the search, it goes on showing what they find.
export function keepFound() {
  const words = document.querySelector('[data-find-conversations]')?.words.value.trim();
  if (words && finding === null && !document.querySelector('#m2a-conversations [data-found]')) searchConversations(words);
}

export function searchConversations(words) {
  clearTimeout(finding);
  finding = setTimeout(() => {
    finding = null;
    tell('m2a-conversations', 'find', { words });
  }, 250);
}
