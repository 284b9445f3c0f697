// The settings: all their requests go through their first part.

import { settingsOpen } from './places.js';
import { tell } from './server.js';
import { storedTheme } from './theme.js';

export const askSettings = (name, data = {}) => tell('m2a-settings', name, data);
let settingsAt = null; // the section to show once it is drawn

// Sets the section to show when the settings open.
export function aimAt(section) {
  settingsAt = section;
}

export function onSettingsForm(form) {
  const fields = new FormData(form);
  if (form.matches('[data-connect]')) askSettings('connect', Object.fromEntries(fields));
  if (form.matches('[data-rule]')) {
    askSettings('rule', { after_review: fields.get('after_review'), never: fields.getAll('never') });
  }
}

export function showSettings() {
  const place = document.getElementById('m2a-settings');
  if (place && !place.hasAttribute('role')) {
    place.setAttribute('role', 'region');
    place.setAttribute('aria-label', 'Settings');
  }
  const section = settingsOpen() && settingsAt && document.getElementById(settingsAt);
  if (section) {
    settingsAt = null;
    section.scrollIntoView({ block: 'start' });
    section.focus({ preventScroll: true });
  }
  for (const report of document.querySelectorAll('[data-connected]')) { // the key is saved, and never shown
    document.querySelector('[data-connect]').chat_api_key.value = '';
    report.removeAttribute('data-connected');
  }
  for (const choice of document.querySelectorAll('[data-theme]')) choice.checked = choice.value === storedTheme();
}
