// The memory: the panel beside the chat. Its requests to the server go through its list.

import { addressed } from './conversation.js';
import { lastAsked } from './draft.js';
import { fold, keepOpen, unfold } from './folds.js';
import { address, goTo, markPlace } from './places.js';
import { tell } from './server.js';
import { dropTypedBut, hasTyped } from './typed.js';

// The memory in the address; '' for the list. Without the panel it is null.
const named = () => new URLSearchParams(location.search).get('memory')?.replace(/^(?![1-9]\d{0,14}$).*$/, '') ?? null;
const list = () => document.querySelector('#m2a-memory-list .m-listed');
export const listCount = () => list()?.dataset.count;
let requests = 0; // how many the page has sent
let pending = null; // the number of the newest request, until it is answered or refused
let answered = 0; // the newest request whose answer was drawn; an update may cover it with an older view
let answeredView = ''; // what it shows
let soughtAgain = null; // the request whose answer was requested again because an older view covered it
let repeated = null; // the number of the request that did so
let countBefore; // of the list when something was told, which has no number
let toasts = []; // errors that were on the page before the request
let memoryFocus = null;
let typing = null;
let correcting = null;
let openedFrom = ''; // the part of the list in which the memory was clicked: the summary may contain it, too
const GONE = '0'; // shown in place of a memory that no longer exists
export const NOTICE = '#m2a-memory-notice .m-change'; // the notice of a change made in the panel

export function askMemory(name, data = {}, focus = null) {
  if (named() && (name === 'find' || name === 'about')) goTo(''); // both show the list
  pending = name === 'tell' ? 'tell' : requests += 1;
  countBefore = listCount();
  toasts = errors();
  memoryFocus = focus;
  document.body.classList.add('m-asking');
  tell('m2a-memory-list', name, { ...data, request_number: requests });
}

const errors = () => [...document.querySelectorAll('.toast-body.error')];

// Called after each change of the page: two updates may be drawn before `showMemory` is called once.
export function noteAnswer() {
  const number = Number(list()?.dataset.answers || 0);
  if (list() && number >= answered) [answered, answeredView] = [number, list().dataset.view];
  // The newest view is on its way back, and what is pressed meanwhile would act on another memory.
  const isOnItsWay = pending !== 'tell' && (pending !== null || soughtAgain !== answered);
  document.body.classList.toggle('m-late', isCovered() && isOnItsWay);
}

const isCovered = () => Boolean(list()) && Number(list().dataset.answers) < answered;
export const isLate = (element) => element.matches('.m-late :is(#m2a-memory-notice, #m2a-memory-opened, #m2a-memory-list) *');

// Something else was clicked meanwhile, so the focus stays there.
export function dropFocus() {
  memoryFocus = null;
}

// With `correct` it opens with its edit form.
export function openMemory(number, correct = false) {
  clearTimeout(typing); // a search that is still pending would close it again
  openedFrom = document.activeElement?.closest('.m-memories') ? '.m-memories ' : '';
  goTo(String(number));
  correcting = correct ? `edit-${number}` : null;
  const focus = correct ? `[data-edit="${number}"] textarea` : '.m-opened h2';
  askMemory('memory', { memory_id: Number(number) }, focus);
}

export function closeOpened() {
  const opened = document.querySelector('[data-opened]')?.dataset.opened;
  goTo('');
  askMemory('back', {}, `#m2a-memory-list ${openedFrom}[data-memory="${opened}"]`);
}

export function showMemory() {
  markPlace();
  const panel = document.getElementById('m2a-memory');
  if (panel && !panel.hasAttribute('role')) {
    panel.setAttribute('role', 'complementary');
    panel.setAttribute('aria-label', 'Memory');
  }
  if (pending && errors().some((error) => !toasts.includes(error))) settle(); // refused: the text stays in the form
  drawAgain();
  document.querySelectorAll('[data-emptied]').forEach((list) => { // the search words named what was erased
    document.querySelector('[data-find]').words.value = '';
    list.removeAttribute('data-emptied');
  });
  if (!pending && memoryFocus) focusIn();
  const isAnswered = pending === 'tell' ? listCount() !== countBefore : Number(list()?.dataset.answers) === pending;
  if (!pending || !list() || !isAnswered) return;
  const isRepeated = pending === repeated;
  settle();
  const tellForm = document.querySelector('[data-tell]');
  if (tellForm.text.value && lastAsked().text === tellForm.text.value.trim()) tellForm.reset(); // it is stored
  const at = list().dataset.at || '';
  dropTypedBut(at);
  for (const form of document.querySelectorAll('[data-edit], [data-until]')) { // the text was meant for the memory that was shown before
    if (isRepeated || hasTyped(form)) continue;
    form.reset();
    fold(form.closest('details').dataset.key);
    form.closest('details').open = false;
  }
  // The open memory was forgotten, or a newer version replaced it.
  if (named() !== null && at !== named() && at !== GONE) history.replaceState(null, '', address(addressed(), at));
  if (correcting) unfold(correcting);
  correcting = null;
  keepOpen();
  focusIn();
}

function settle() {
  pending = null;
  document.body.classList.remove('m-asking');
}

// An update draws the panel for the view that it was requested with. If that is older than the newest answer, the newest view is
// requested again, whatever the address says: it may name a memory that the answer removed. Once, because the server may refuse it.
function drawAgain() {
  if (!isCovered() || (pending && pending !== answered) || soughtAgain === answered) return;
  soughtAgain = answered;
  const correct = correcting;
  askMemory('again', { view: answeredView }, memoryFocus);
  correcting = correct;
  repeated = pending;
}

// The parts of the panel are drawn one after another.
function focusIn() {
  const place = memoryFocus && document.querySelector(memoryFocus);
  if (!place) return;
  memoryFocus = null;
  // The button of the last page is disabled.
  (place.disabled ? place.parentElement.querySelector('button:enabled') : place)?.focus();
}

function filters() {
  const form = document.querySelector('[data-find]');
  return { ...Object.fromEntries(new FormData(form)), photos: form.photos.checked, unused: form.unused.checked };
}

export function search(soon) {
  clearTimeout(typing);
  typing = setTimeout(() => askMemory('find', filters()), soon ? 0 : 250);
}

export function showUnused() {
  const form = document.querySelector('[data-find]');
  form.reset();
  form.unused.checked = true;
  form.querySelector('.m-filters').open = true;
  askMemory('find', { ...filters(), all_subjects: true }, '.m-memory-head h2');
}

// Pins a memory, sets its last day (`days` from now, or the date of the form), stops using it or uses it again.
export function keepMemory(dataset, days, until = '') {
  askMemory('keep', { act: dataset.how || 'until', memory_id: Number(dataset.of || dataset.until), days, until }, NOTICE);
}

export function onMemoryAct(button) {
  const act = button.dataset.memoryAct;
  const focus = button.dataset.focus ? `[data-focus="${button.dataset.focus}"]` : null;
  if (act === 'back') closeOpened();
  else if (act === 'page') askMemory('turn_page', { start: Number(button.dataset.start) }, focus);
  else if (act === 'about') {
    askMemory('about', { about: button.dataset.about ? Number(button.dataset.about) : null, unused_list: button.dataset.unusedList || '' }, focus);
  } else if (act === 'everywhere') askMemory('find', { ...filters(), all_subjects: true }, '[data-find] input');
  else if (act === 'like') {
    document.querySelector('[data-find]').reset();
    askMemory('find', { photo: button.dataset.photo }, '[data-find] input');
  } else if (act === 'keep') keepMemory(button.dataset, button.dataset.days ? Number(button.dataset.days) : null);
  else if (act === 'restore') askMemory('restore', { memory_id: Number(button.dataset.of) }, NOTICE);
  else if (act === 'forget') askMemory('forget', { memory_id: Number(button.dataset.of) }, NOTICE);
  else if (act === 'clear') {
    document.querySelector('[data-find]').reset();
    askMemory('about', { about: null });
    search(true);
  }
}

// A picture to search by is reduced here and sent with the request only; no file of it is kept.
export async function findByPhoto(input) {
  const [file] = input.files;
  input.value = '';
  if (!file) return;
  input.form.reset(); // the search uses the photo only
  let bytes = file;
  try {
    const picture = await createImageBitmap(file);
    const share = Math.min(1, 512 / Math.max(picture.width, picture.height));
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.round(picture.width * share));
    canvas.height = Math.max(1, Math.round(picture.height * share));
    canvas.getContext('2d').drawImage(picture, 0, 0, canvas.width, canvas.height);
    bytes = await new Promise((done) => canvas.toBlob(done, 'image/jpeg', 0.92));
  } catch { /* this browser cannot draw it; the server may */ }
  const reader = new FileReader();
  reader.onload = () => askMemory('find', {
    picture: bytes.size < 1_000_000 ? reader.result.slice(reader.result.indexOf(',') + 1) : 'too large',
  }, '[data-find] input');
  reader.readAsDataURL(bytes);
}
