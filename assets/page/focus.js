// The keyboard: a panel that closes gives it back to what opened it, and what is drawn anew has it where it had it before.

const KEYS = ['data-open', 'data-memory', 'data-see', 'data-focus', 'data-place', 'data-key'];
let stood = null;
let acted = null;

export function focusFirst(...places) {
  places.flatMap((one) => (typeof one === 'string' ? [...document.querySelectorAll(one)] : [one]))
    .find((one) => one?.isConnected && one.checkVisibility({ visibilityProperty: true }))?.focus();
}

// A selector of what will stand in the element's place; null where nothing names it.
function nameOf(element) {
  const part = element.closest('[id^="m2a-"]');
  const named = element.matches('summary') ? element.parentElement : element;
  const key = KEYS.find((one) => named.hasAttribute(one));
  if (!part || !key) return null;
  return `#${part.id} [${key}="${CSS.escape(named.getAttribute(key))}"]${named === element ? '' : ' > summary'}`;
}

export function keepStanding() {
  if (!stood?.name || stood.element.isConnected || document.activeElement !== document.body) return;
  document.querySelector(stood.name)?.focus({ preventScroll: true });
}

// What is drawn anew loses the focus for a moment: the keyboard is still where it stood.
export function isWithin(id, element = document.activeElement) {
  const isLost = element === document.body && stood && !stood.element.isConnected;
  return Boolean(document.getElementById(id)?.contains(isLost ? document.getElementById(stood.part) : element));
}

// A button that changed the memory is gone with its line: the keyboard goes on from the line in its place, or from the list.
export function noteActed(button, line, list) {
  acted = { button, line, list };
}

export function keepFocus() {
  if (!acted || acted.button.isConnected) return;
  const place = document.getElementById(acted.line) || document.getElementById(acted.list);
  acted = null;
  place?.focus({ preventScroll: true });
}

document.addEventListener('focusin', ({ target }) => { stood = { element: target, name: nameOf(target), part: target.closest('[id^="m2a-"]')?.id }; });
document.addEventListener('pointerdown', () => { stood = null; }, true);
