// The messages: the end stays in view until the reader scrolls away, and links lead to single messages.

import { navigate } from './conversation.js';
import { unfold } from './folds.js';
import { goTo, hasRoomForBoth } from './places.js';
import { tell } from './server.js';

export let following = true;
let moved = -Infinity;
let wanted = null;
let editing = null;

export const talk = () => document.getElementById('m2a-talk');

export function scrollDown() {
  const place = talk();
  if (place) place.scrollTop = place.scrollHeight;
}

export function follow() {
  following = true;
  moved = -Infinity;
}

// Keeps what was just clicked or shown in view.
export function stay() {
  following = false;
}

export function noteReader() {
  moved = performance.now();
}

// A loading photo or a growing answer also moves the end away; only the reader stops the following.
export function watchReader() {
  const place = talk();
  if (!place || place.hasAttribute('tabindex')) return;
  place.tabIndex = 0;
  place.setAttribute('aria-label', 'Messages');
  for (const kind of ['wheel', 'touchmove', 'pointerdown', 'pointermove', 'focusin']) {
    place.addEventListener(kind, (event) => {
      if (kind !== 'pointermove' || event.buttons) noteReader();
    }, { passive: true });
  }
  let top = place.scrollTop;
  place.addEventListener('scroll', () => {
    const byReader = performance.now() - moved < 1000;
    const up = place.scrollTop < top;
    top = place.scrollTop;
    const atEnd = top + place.clientHeight >= place.scrollHeight - 60;
    if (byReader && (up || !atEnd)) following = false;
    else if (atEnd) following = true;
  }, { passive: true });
}

// Goes to a message, in the open conversation or in another.
export function seeMessage(link) {
  wanted = `m${link.dataset.see}`;
  following = false;
  if (!hasRoomForBoth()) goTo(null);
  const message = document.querySelector(`#m2a-talk #${wanted}`);
  if (message) showMessage();
  else {
    navigate(true);
    tell('m2a-conversations', 'open', { conversation: link.dataset.in, message: Number(link.dataset.see) });
  }
}

export function showMessage() {
  const messageId = wanted || (/^#m\d+$/.test(location.hash) && location.hash.slice(1));
  const message = messageId && document.getElementById(messageId);
  if (!message || (message.dataset.seen && !wanted)) return Boolean(message);
  wanted = null;
  message.dataset.seen = 'yes';
  const aside = message.closest('details[data-key]');
  if (aside) unfold(aside.dataset.key);
  if (aside) aside.open = true;
  document.querySelector('.m-found-here')?.classList.remove('m-found-here');
  message.classList.add('m-found-here');
  message.scrollIntoView({ block: 'center' });
  message.focus({ preventScroll: true });
  following = false;
  return true;
}

// Scrolls the form that edits a message into view as a whole, and puts the focus into it.
export function showEditing() {
  const form = document.querySelector('[data-resend]');
  if (form === editing) return;
  const isNew = form && form.dataset.resend !== editing?.dataset.resend;
  editing = form;
  if (!isNew) return;
  following = false;
  form.querySelector('textarea').focus({ preventScroll: true });
  form.scrollIntoView({ block: 'nearest' });
}
