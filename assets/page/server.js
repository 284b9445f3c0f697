// Requests to the server: a click or a form goes to the named part of the page, whose own script passes it on.

export function tell(place, name, data = {}) {
  document.dispatchEvent(new CustomEvent(place, { detail: { name, data } }));
}
