// The text stays in the box until it is stored, and survives a reload, for example after the server was killed.

import { isTemporary, navigate, shown } from './conversation.js';

// `texts` were sent one after the other and are not known to be stored; `after` is the id of the message before them.
const NOTHING_SENT = { texts: [], conversation: '', after: 0 };
const NOTHING_RETURNED = { text: '', conversation: '' };
let typed = '';
let sent = NOTHING_SENT;
let returned = NOTHING_RETURNED; // what came back into the box, which Gradio may still be emptying

export const box = () => document.querySelector('#m2a-composer textarea');
export const draftKey = (conversation) => `m2a-draft:${conversation}`;

export function lastAsked() {
  return [...document.querySelectorAll('.m-user[id]')].map((message) => ({
    id: Number(message.id.slice(1)), text: message.querySelector('.m-plain')?.textContent.trim() || '',
  })).sort((first, second) => first.id - second.id).at(-1) || { id: 0, text: '' };
}

// Saves the text and, if it was sent, the id of the message before it.
function saveDraft(conversation, text, after = null) {
  if (isTemporary(conversation)) return;
  try {
    if (text) localStorage.setItem(draftKey(conversation), JSON.stringify({ text, after }));
    else localStorage.removeItem(draftKey(conversation));
  } catch { /* this browser stores nothing */ }
}

function loadDraft(conversation) {
  try {
    const draft = JSON.parse(localStorage.getItem(draftKey(conversation)));
    return typeof draft?.text === 'string' ? draft : { text: '', after: null };
  } catch {
    return { text: '', after: null };
  }
}

function fillBox(text) {
  const place = box();
  if (!place || place.value === text) return;
  place.value = text;
  place.dispatchEvent(new Event('input', { bubbles: true }));
}

export function onTyping(text) {
  typed = text;
  if (!text) sent = NOTHING_SENT;
  if (text !== returned.text) returned = NOTHING_RETURNED;
  saveDraft(shown || '', text);
}

export function onSubmit() {
  const text = box()?.value || '';
  if (!text.trim()) return;
  typed = text;
  returned = NOTHING_RETURNED;
  navigate(false);
  const conversation = shown || '';
  const after = lastAsked().id;
  const refused = document.querySelector('#m2a-live .m-failure');
  const earlier = !refused && sent.conversation === conversation && sent.after === after ? sent.texts : [];
  sent = { texts: [...earlier, text], conversation, after };
  saveDraft(sent.conversation, text, sent.after);
}

export function openDraft(conversation, first) {
  const draft = loadDraft(conversation);
  sent = draft.after === null ? NOTHING_SENT : { texts: [draft.text], conversation, after: draft.after };
  if (first && (box()?.value || !draft.text)) return;
  const was = sent;
  fillBox(draft.text);
  sent = was;
  if (was.texts.length) saveDraft(conversation, draft.text, was.after);
}

export function keepDraft() {
  const place = box();
  if (!place) return;
  if (!sent.texts.length) {
    if (!place.value && returned.text && returned.conversation === (shown || '')) fillBox(returned.text);
    return;
  }
  const last = lastAsked();
  const index = last.id > sent.after ? sent.texts.findIndex((text) => text.trim() === last.text) : -1;
  const stored = sent.texts[index];
  if (place.value ? place.value !== stored : last.id === sent.after) return;
  // What was sent first is stored; text typed meanwhile stays in the box, even if it was sent too early.
  const gone = stored ?? sent.texts[0];
  const typedSince = typed.startsWith(gone) ? typed.slice(gone.length).trimStart() : typed;
  // A busy browser sends what the box holds by then: a text that was replaced before that was never sent.
  const replaced = sent.texts.slice(0, Math.max(index, 0)).filter((text) => !gone.startsWith(text.trim()));
  const rest = [...replaced, typedSince].filter(Boolean).join('\n');
  saveDraft(sent.conversation, '');
  returned = { text: rest, conversation: shown || '' };
  sent = NOTHING_SENT;
  typed = rest;
  fillBox(rest);
}
