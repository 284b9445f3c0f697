// What is typed into a form stays when the form is redrawn, until it is sent, cancelled or meant for something else.

const FORMS = '#m2a :is([data-edit], [data-until], [data-rename], [data-resend])';
const typed = new Map(); // the fields, by form

const keyOf = (form) => JSON.stringify(form.dataset);
export const hasTyped = (form) => typed.has(keyOf(form));
export const dropTyped = (form) => typed.delete(keyOf(form));

export function keepTyped() {
  for (const form of document.querySelectorAll(FORMS)) {
    for (const [name, value] of Object.entries(typed.get(keyOf(form)) || {})) {
      if (form.elements[name].value !== value) form.elements[name].value = value;
    }
  }
}

// Drops what is typed into the memory's forms, except those of the memory that is open.
export function dropTypedBut(memory) {
  for (const key of typed.keys()) {
    const { edit, until } = JSON.parse(key);
    if ((edit || until) && (edit || until) !== memory) typed.delete(key);
  }
}

document.addEventListener('input', ({ target }) => {
  const form = target.closest(FORMS);
  if (form) typed.set(keyOf(form), Object.fromEntries(new FormData(form)));
});
document.addEventListener('reset', ({ target }) => dropTyped(target));
