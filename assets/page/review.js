// The review: after each decision the next memory is shown, and the focus moves to it.

import { isWithin } from './focus.js';
import { tell } from './server.js';

let decided = null; // the memory that was decided on, until another is shown
let reviewed = ''; // the memory that the card shows
let next = ''; // the memory that the last decision led to

const place = (card) => (card ? `${card.dataset.reply}:${card.dataset.number}` : '');

export function askReview(name, { reply, number }, more = {}, inReview = true) {
  decided = inReview ? place(document.querySelector('.m-review-card')) : null;
  tell('m2a-review', name, { reply_id: Number(reply), number: Number(number), ...more });
}

export function showReview() {
  markWaiting();
  const review = document.querySelector('#m2a-review [data-waiting]');
  if (!review) return;
  const card = review.querySelector('.m-review-card');
  const now = place(card);
  keepPlace(review, now);
  if (now !== reviewed) card?.querySelector('form').reset(); // the text was meant for the memory that was shown before
  reviewed = now;
  if (decided === null || decided === now) return;
  decided = null;
  const isAway = document.activeElement !== document.body && !isWithin('m2a-review') && !isWithin('m2a-review-notice');
  if (!isAway) (card || review.querySelector('summary')).focus();
}

// An update redraws the memory that was shown when it was sent. If a decision led to another since, that one is drawn again.
function keepPlace(review, now) {
  if ('asked' in review.dataset) next = now;
  else if (next && next !== now) {
    const [reply, number] = next.split(':').map(Number);
    next = '';
    tell('m2a-review', 'show', { reply_id: reply, number });
  }
}

// Shows the number of waiting memories beside the link to the memory, whatever is open.
function markWaiting() {
  const review = document.querySelector('#m2a-review [data-waiting]');
  const place = document.querySelector('nav [data-place="memory"]');
  if (!review || !place) return;
  const waiting = Number(review.dataset.waiting);
  const mark = place.querySelector('.m-waits');
  if (Number(mark?.textContent || 0) === waiting) return;
  mark?.remove();
  if (!waiting) return;
  const count = document.createElement('b');
  count.className = 'm-waits';
  count.textContent = String(waiting);
  count.title = waiting === 1 ? '1 memory is waiting for your review' : `${waiting} memories are waiting for your review`;
  place.append(' ', count);
}

// K, R, S and E press the buttons while the card has the focus.
export function onReviewKey(key) {
  const card = key.target.closest?.('.m-review-card');
  if (!card || key.ctrlKey || key.metaKey || key.altKey || key.target.matches('input, textarea')) return;
  const button = card.querySelector(`[aria-keyshortcuts="${CSS.escape(key.key.toLowerCase())}"]`);
  if (!button) return;
  key.preventDefault();
  button.click();
  if (button.matches('summary')) card.querySelector('textarea').focus();
}
