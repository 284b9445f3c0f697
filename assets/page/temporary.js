// Temporary chats: no address leads to one, this browser stores nothing of it, and its photos bypass Gradio's uploads.

import { isTemporary, shown } from './conversation.js';
import { box } from './draft.js';
import { tell } from './server.js';

export let beginning = false;

export function setBeginning(now) {
  beginning = now;
  document.getElementById('m2a-foot').inert = now;
  if (!now) box()?.focus();
}

export async function attach(files) {
  const chat = shown;
  for (const file of files) {
    let failure = '';
    try {
      const answer = await fetch(`/temporary/${encodeURIComponent(chat)}/photos`, { method: 'POST', body: file });
      if (!answer.ok) failure = (await answer.json().catch(() => ({}))).detail || 'This photo is too large.';
    } catch {
      failure = 'M2A does not answer. Is it still running?';
    }
    if (chat !== shown) return;
    if (!failure) tell('m2a-temporary', 'attached');
    document.querySelector('.m-attach-failed').textContent = failure;
  }
}

// Gradio would take these files and write them to the disk.
function takeFiles(event) {
  const carried = event.dataTransfer || event.clipboardData;
  const files = [...(carried?.files || [])];
  const holds = files.length || [...(carried?.types || [])].includes('Files');
  if (!isTemporary() || !holds) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (event.type !== 'dragover') attach(files);
}
for (const kind of ['dragenter', 'dragover', 'drop', 'paste']) window.addEventListener(kind, takeFiles, true);
