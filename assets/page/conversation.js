// The open conversation: its name in the title and the address, and the way back to the previous one.

import { box, openDraft } from './draft.js';
import { setDrawer } from './drawer.js';
import { askMemory, listCount } from './memory.js';
import { follow } from './messages.js';
import { address, setMemory, setSettings } from './places.js';
import { beginning, setBeginning } from './temporary.js';

export let shown = null;
let navigated = false;

export const isTemporary = (conversation = shown) => Boolean(conversation?.startsWith('temporary-'));
export const addressed = (conversation = shown) => (isTemporary(conversation) ? '' : conversation || '');

// Notes whether a link or a sent message leads to the conversation that is shown next.
export function navigate(byLink) {
  navigated = byLink;
}

export function showConversation() {
  const heading = document.querySelector('h1[data-conversation]');
  if (!heading) return;
  const id = heading.dataset.conversation;
  if (beginning && ((isTemporary(id) && id !== shown) || document.querySelector('.toast-body.error'))) setBeginning(false);
  const where = document.querySelector('[data-tell-where]');
  const conversation = id ? heading.textContent : 'New conversation';
  if (where && where.textContent !== conversation) where.textContent = conversation;
  if (isTemporary(id)) box()?.setAttribute('autocomplete', 'off'); // otherwise a browser may store the text to restore the tab
  const title = id ? `${heading.textContent} · M2A` : 'M2A';
  if (document.title !== title) document.title = title;
  if (id === shown) return;
  const first = shown === null;
  const was = new URLSearchParams(location.search).get('conversation') || '';
  const byLink = navigated;
  navigated = false;
  shown = id;
  if (first || byLink) openDraft(id, first);
  if (addressed(id) !== was) {
    const memory = new URLSearchParams(location.search).get('memory');
    history[first ? 'replaceState' : 'pushState'](null, '', address(addressed(id), memory));
  }
  follow();
  if (!first) setDrawer(false);
}

window.addEventListener('popstate', () => {
  const params = new URLSearchParams(location.search);
  const memory = params.get('memory');
  setSettings(params.has('settings'));
  setMemory(memory !== null, memory);
  if (memory) askMemory('memory', { memory_id: Number(memory) });
  else if (memory === '' && listCount() !== undefined) askMemory('back');
  const id = params.get('conversation') || '';
  // It may have been redrawn since the last frame: what the page shows counts.
  const heading = document.querySelector('h1[data-conversation]');
  if (heading && shown !== null) shown = heading.dataset.conversation;
  if (id === addressed()) return;
  const link = [...document.querySelectorAll('[data-open]')].find((candidate) => candidate.dataset.open === id);
  if (id && !link) location.reload();
  else (link || document.querySelector('[data-new]'))?.click();
});
