// Review: after each decision the next memory is up, and the keyboard goes on there.

import { isWithin } from './focus.js';
import { tell } from './server.js';

let decided = null; // the memory that was decided on, until another stands in its place
let reviewed = ''; // the memory that the card shows
let led = ''; // the memory that the last decision led to

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
  if (now !== reviewed) card?.querySelector('form').reset(); // what was typed was for what stood there before
  reviewed = now;
  if (decided === null || decided === now) return;
  decided = null;
  const isAway = document.activeElement !== document.body && !isWithin('m2a-review') && !isWithin('m2a-review-told');
  if (!isAway) (card || review.querySelector('summary')).focus();
}

// An update that ends draws the memory that was up when it ended. Where a decision led on since, that is drawn again.
function keepPlace(review, now) {
  if ('asked' in review.dataset) led = now;
  else if (led && led !== now) {
    const [reply, number] = led.split(':').map(Number);
    led = '';
    tell('m2a-review', 'show', { reply_id: reply, number });
  }
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
