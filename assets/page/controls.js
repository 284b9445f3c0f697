// Names and roles for screen readers that Gradio lacks.

// Stands for a file that this browser cannot draw, such as a HEIC photo.
const NO_PREVIEW = 'data:image/svg+xml,' + encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40" fill="none" stroke="#888" stroke-width="1.5">'
  + '<rect x="9" y="11" width="22" height="18" rx="3"/><circle cx="15" cy="17" r="2"/><path d="m9 27 8-7 5 4 4-3 5 4"/></svg>',
);

export function nameControls() {
  const names = {
    '.upload-button': 'Add photos',
    '.submit-button': 'Send',
    '.stop-button': 'Stop the answer',
    '.delete-button': 'Remove this photo',
    'textarea': 'Message to M2A',
  };
  for (const [selector, name] of Object.entries(names)) {
    for (const element of document.querySelectorAll(`#m2a-composer ${selector}`)) {
      if (element.getAttribute('aria-label') !== name) {
        element.setAttribute('aria-label', name);
        if (element.tagName === 'BUTTON') element.title = name;
      }
    }
  }
  const live = document.getElementById('m2a-live');
  if (live && !live.hasAttribute('aria-live')) {
    live.setAttribute('role', 'log');
    live.setAttribute('aria-live', 'polite');
    live.setAttribute('aria-label', 'Newest messages');
  }
  const busy = String(Boolean(live?.querySelector('.m-thinking')));
  if (live && live.getAttribute('aria-busy') !== busy) live.setAttribute('aria-busy', busy);
  const side = document.getElementById('m2a-side');
  if (side && !side.hasAttribute('role')) {
    side.setAttribute('role', 'navigation');
    side.setAttribute('aria-label', 'Conversations');
  }
  const main = document.getElementById('m2a-main');
  if (main && !main.hasAttribute('role')) main.setAttribute('role', 'region');
  if (main && !main.hasAttribute('aria-label')) main.setAttribute('aria-label', 'Chat');
}

document.addEventListener('error', (error) => {
  const image = error.target;
  if (!(image instanceof HTMLImageElement) || !image.closest('#m2a-composer') || image.src === NO_PREVIEW) return;
  image.src = NO_PREVIEW;
  image.alt = image.title = 'No preview of this file';
}, true);
