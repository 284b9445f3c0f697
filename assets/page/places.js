// The places of the page and its address: the chat, the memory beside it, and the settings in place of both.

import { addressed } from './conversation.js';
import { setDrawer } from './drawer.js';
import { focusFirst, isWithin } from './focus.js';
import { askMemory, dropFocus, listCount } from './memory.js';
import { talk } from './messages.js';
import { aimAt, askSettings } from './settings.js';

export const memoryOpen = () => document.body.classList.contains('m-memory-open');
export const hasRoomForBoth = () => window.matchMedia('(min-width: 1101px)').matches; // the chat and the memory
export const settingsOpen = () => document.body.classList.contains('m-settings-open');
let memoryOpener = null;

export function address(conversation, memory) {
  const first = `/?conversation=${encodeURIComponent(conversation)}`;
  if (settingsOpen()) return `${first}&settings=`;
  return memory === null ? first : `${first}&memory=${memory}`;
}

// A memory that is opened brings the list with it.
export function setMemory(open, memory = '') {
  if (open === memoryOpen()) return;
  if (open) memoryOpener = document.activeElement;
  const within = isWithin('m2a-memory');
  dropFocus();
  document.body.classList.toggle('m-memory-open', open);
  markPlace();
  if (open && !memory && listCount() === undefined) askMemory('show');
  setDrawer(false);
  if (within) focusFirst(memoryOpener !== document.body && memoryOpener, 'nav [data-place="memory"]', '.m-menu');
}

export function goTo(memory) {
  const was = new URLSearchParams(location.search);
  setSettings(false);
  setMemory(memory !== null, memory);
  if (was.get('memory') !== memory || was.has('settings')) history.pushState(null, '', address(addressed(), memory));
}

export function setSettings(open, ask = true) {
  if (open === settingsOpen()) return;
  document.body.classList.toggle('m-settings-open', open);
  document.getElementById('m2a-settings-body')?.scrollTo(0, 0);
  markPlace();
  if (open && ask) askSettings('show');
  setDrawer(false);
}

function goToSettings(at = null) {
  aimAt(at);
  const isThere = new URLSearchParams(location.search).has('settings');
  setMemory(false);
  setSettings(true);
  if (!isThere) history.pushState(null, '', address(addressed(), null));
  document.querySelector('#m2a-settings-head h2')?.focus();
}

export function markPlace() {
  for (const link of document.querySelectorAll('nav [data-place]')) {
    const here = link.dataset.place === (settingsOpen() ? 'settings' : memoryOpen() ? 'memory' : 'chat');
    if (here && link.getAttribute('aria-current') !== 'page') link.setAttribute('aria-current', 'page');
    else if (!here && link.hasAttribute('aria-current')) link.removeAttribute('aria-current');
  }
}

// Skips the side bar.
export function skipToContent() {
  focusFirst(
    settingsOpen() ? '#m2a-settings-head h2' : memoryOpen() && !hasRoomForBoth() ? '.m-memory-head h2' : talk(),
  );
}

export function onPlace({ place, at }) {
  if (place === 'settings') goToSettings(at);
  else {
    goTo(place === 'memory' ? '' : null);
    if (memoryOpen()) document.querySelector('.m-memory-head h2').focus();
  }
}
