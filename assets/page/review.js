// Review: after each decision the next memory is up, and the keyboard goes on there.

import { tell } from './server.js';

let reviewed = null;
let decided = false;

export function askReview(name, { reply, number }, more = {}, inReview = true) {
  reviewed = inReview ? document.querySelector('.m-review-card') : null;
  decided = inReview;
  tell('m2a-review', name, { reply_id: Number(reply), number: Number(number), ...more });
}

// A card that is drawn anew without a decision keeps the keyboard, unless that went elsewhere meanwhile.
export function showReview() {
  markWaiting();
  if (!reviewed || reviewed.isConnected || !document.querySelector('#m2a-review [data-waiting]')) return;
  const isAway = !decided && document.activeElement !== document.body;
  decided = false;
  reviewed = isAway ? null : document.querySelector('.m-review-card');
  if (!isAway) (reviewed || document.querySelector('.m-review > summary'))?.focus();
}

// How many memories wait stands at the place where they are reviewed, whatever else is open.
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

// K, R, S and E decide while the card has the keyboard.
export function onReviewKey(key) {
  const card = key.target.closest?.('.m-review-card');
  if (!card || key.ctrlKey || key.metaKey || key.altKey || key.target.matches('input, textarea')) return;
  const button = card.querySelector(`[aria-keyshortcuts="${CSS.escape(key.key.toLowerCase())}"]`);
  if (!button) return;
  key.preventDefault();
  button.click();
  if (button.matches('summary')) card.querySelector('textarea').focus();
}
