// Erasing: the server answers every request with a dialog.
let askedFrom = null;
let toErase = {};
let closed = null;

import { draftKey } from './draft.js';
import { talk } from './messages.js';
import { tell } from './server.js';

export function askErase(button, name) {
  if (!button.closest('dialog')) askedFrom = button;
  const { erase, eraseNow, of } = button.dataset;
  const kind = erase || eraseNow;
  const id = of === undefined ? null : ['message', 'memory', 'forgotten'].includes(kind) ? Number(of) : of;
  toErase = { kind, id };
  tell('m2a-erase', name, { ...toErase, keep: 'keep' in button.dataset });
}

export function showDialog() {
  const dialog = document.querySelector('#m2a-erase dialog');
  if (!dialog || dialog.open || dialog.dataset.asked === closed) return;
  dialog.addEventListener('close', () => {
    closed = dialog.dataset.asked;
    (askedFrom?.isConnected ? askedFrom : talk())?.focus();
  });
  dialog.showModal();
  if (dialog.dataset.erased) {
    dropDrafts();
    fetch('/photos/cached', { method: 'DELETE' }); // the browser caches every photo that it showed
  }
}

// Unsent drafts are deleted with their conversation.
function dropDrafts() {
  const { kind, id } = toErase;
  for (const key of Object.keys(localStorage)) {
    if (kind === 'conversation' ? key === draftKey(id) : kind === 'everything' && key.startsWith(draftKey(''))) {
      localStorage.removeItem(key);
    }
  }
}
