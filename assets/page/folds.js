// Whatever opens and closes stays open or closed when it is redrawn.

const opened = new Set();

export function keepOpen(folds = document.querySelectorAll('details[data-key]')) {
  for (const details of folds) {
    const open = opened.has(details.dataset.key);
    if (details.open !== open) details.open = open;
  }
}

export const fold = (key) => opened.delete(key);
export const unfold = (key) => opened.add(key);

// The menu of a conversation.
export function closeManage() {
  const manage = document.querySelector('.m-manage[open]');
  if (!manage) return null;
  opened.delete(manage.dataset.key);
  manage.querySelector('form')?.reset();
  manage.open = false;
  return manage;
}

// Scrolls what a click opened into view, and puts the focus into a form.
function showOpened(details) {
  if (details.matches('.m-edit')) details.querySelector('textarea, input')?.focus();
  details.scrollIntoView({ block: 'nearest' });
}

// Notes what a click on the summary will do.
export function onSummary(details) {
  if (details.open) fold(details.dataset.key);
  else unfold(details.dataset.key);
  if (!details.open) requestAnimationFrame(() => showOpened(details));
}

// Closes a form in a fold and clears it.
export function cancelForm(details) {
  details.querySelector('form').reset();
  fold(details.dataset.key);
  details.open = false;
  details.querySelector('summary').focus();
}
