// What is asked of the server: a click or a form goes to the part of the page with that id, whose own script hands it on.

export function tell(place, name, data = {}) {
  document.dispatchEvent(new CustomEvent(place, { detail: { name, data } }));
}
