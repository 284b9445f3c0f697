// The focus: a panel that closes returns it to what opened it, and a redrawn element gets it back.

const KEYS = ['data-open', 'data-memory', 'data-see', 'data-focus', 'data-place', 'data-key'];
let focused = null;
let acted = null;

export function focusFirst(...places) {
  places.flatMap((place) => (typeof place === 'string' ? [...document.querySelectorAll(place)] : [place]))
    .find((element) => element?.isConnected && element.checkVisibility({ visibilityProperty: true }))?.focus();
}

// Returns a selector for the element after it is redrawn; null if no attribute identifies it.
function selectorOf(element) {
  const part = element.closest('[id^="m2a-"]');
  const named = element.matches('summary') ? element.parentElement : element;
  const key = KEYS.find((attribute) => named.hasAttribute(attribute));
  if (!part || !key) return null;
  return `#${part.id} [${key}="${CSS.escape(named.getAttribute(key))}"]${named === element ? '' : ' > summary'}`;
}

const isLost = () => focused && (focused.isHidden || !focused.element.isConnected);

export function restoreFocus() {
  if (!focused?.selector || !isLost() || document.activeElement !== document.body) return;
  document.querySelector(focused.selector)?.focus({ preventScroll: true });
}

// A redrawn element loses the focus for a moment, and still counts as having it.
export function isWithin(id, element = document.activeElement) {
  const place = element === document.body && isLost() ? document.getElementById(focused.part) : element;
  return Boolean(document.getElementById(id)?.contains(place));
}

// A button that changed the memory disappears with its line: the focus moves to the new line, or to the list.
export function noteActed(button, line, list) {
  acted = { button, line, list };
}

export function keepFocus() {
  if (!acted || acted.button.isConnected) return;
  const place = document.getElementById(acted.line) || document.getElementById(acted.list);
  acted = null;
  place?.focus({ preventScroll: true });
}

document.addEventListener('focusin', ({ target }) => {
  focused = { element: target, selector: selectorOf(target), part: target.closest('[id^="m2a-"]')?.id };
});
// An update may also reuse the element for something that is closed, and the browser takes the focus from it.
document.addEventListener('focusout', ({ target }) => {
  if (focused?.element === target) focused.isHidden = target.isConnected && !target.checkVisibility();
});
document.addEventListener('pointerdown', () => { focused = null; }, true);
