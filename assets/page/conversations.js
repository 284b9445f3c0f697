// The list of conversations and its search.

import { tell } from './server.js';

let finding = null;

// Each turn redraws the whole list. While the search has words, the search is repeated.
export function keepResults() {
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
