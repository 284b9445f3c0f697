// What the page does beyond Gradio: the drawer, the theme, the address, scrolling, and names for screen readers.
(() => {
  'use strict';
  const THEMES = { system: 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' };
  // Stands for a file that this browser cannot draw, such as a HEIC photo.
  const NO_PREVIEW = 'data:image/svg+xml,' + encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40" fill="none" stroke="#888" stroke-width="1.5">'
    + '<rect x="9" y="11" width="22" height="18" rx="3"/><circle cx="15" cy="17" r="2"/><path d="m9 27 8-7 5 4 4-3 5 4"/></svg>',
  );
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const opened = new Set();
  let following = true;
  let moved = -Infinity;
  let shown = null;

  const talk = () => document.getElementById('m2a-talk');
  const drawerOpen = () => document.body.classList.contains('m-drawer-open');

  // Theme

  function storedTheme() {
    try {
      const theme = localStorage.getItem('m2a-theme');
      return theme in THEMES ? theme : 'system';
    } catch {
      return 'system';
    }
  }

  function applyTheme() {
    const theme = storedTheme();
    const wanted = theme === 'dark' || (theme === 'system' && dark.matches);
    if (document.body.classList.contains('dark') !== wanted) document.body.classList.toggle('dark', wanted);
    const button = document.querySelector('[data-theme-toggle]');
    if (button && button.textContent !== THEMES[theme]) button.textContent = THEMES[theme];
  }

  function nextTheme() {
    const names = Object.keys(THEMES);
    localStorage.setItem('m2a-theme', names[(names.indexOf(storedTheme()) + 1) % names.length]);
    applyTheme();
  }

  // Drawer

  function setDrawer(open) {
    if (open === drawerOpen()) return;
    document.body.classList.toggle('m-drawer-open', open);
    document.querySelector('.m-menu')?.setAttribute('aria-expanded', String(open));
    document.querySelector(open ? '.m-close' : '.m-menu')?.focus();
  }

  // Messages

  function scrollDown() {
    const place = talk();
    if (place) place.scrollTop = place.scrollHeight;
  }

  function follow() {
    following = true;
    moved = -Infinity;
  }

  function keepOpen() {
    for (const details of document.querySelectorAll('details[data-key]')) {
      const open = opened.has(details.dataset.key);
      if (details.open !== open) details.open = open;
    }
  }

  function showConversation() {
    const heading = document.querySelector('h1[data-conversation]');
    if (!heading) return;
    const id = heading.dataset.conversation;
    document.title = id ? `${heading.textContent} · M2A` : 'M2A';
    if (id === shown) return;
    const first = shown === null;
    const was = new URLSearchParams(location.search).get('conversation') || '';
    const byLink = navigated;
    navigated = false;
    shown = id;
    if (first || byLink) openDraft(id, first);
    if (id !== was) {
      const address = id ? `/?conversation=${encodeURIComponent(id)}` : '/?conversation=';
      history[first ? 'replaceState' : 'pushState'](null, '', address);
    }
    following = true;
    if (!first) setDrawer(false);
  }

  function showMessage() {
    const message = /^#m\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (!message || message.dataset.seen) return Boolean(message);
    message.dataset.seen = 'yes';
    message.classList.add('m-found-here');
    message.scrollIntoView({ block: 'center' });
    message.focus({ preventScroll: true });
    following = false;
    return true;
  }

  function nameControls() {
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
    live?.setAttribute('aria-busy', String(Boolean(live.querySelector('.m-thinking'))));
    const side = document.getElementById('m2a-side');
    if (side && !side.hasAttribute('role')) {
      side.setAttribute('role', 'navigation');
      side.setAttribute('aria-label', 'Conversations');
    }
    const main = document.getElementById('m2a-main');
    if (main && !main.hasAttribute('role')) main.setAttribute('role', 'region');
    if (main && !main.hasAttribute('aria-label')) main.setAttribute('aria-label', 'Chat');
    const place = talk();
    if (place && !place.hasAttribute('tabindex')) {
      place.tabIndex = 0;
      place.setAttribute('aria-label', 'Messages');
      for (const kind of ['wheel', 'touchmove', 'pointerdown', 'pointermove', 'focusin']) {
        place.addEventListener(kind, (event) => {
          if (kind !== 'pointermove' || event.buttons) moved = performance.now();
        }, { passive: true });
      }
      let top = place.scrollTop;
      place.addEventListener('scroll', () => {
        // A photo that loads or an answer that grows moves the end away too; only the reader stops the following.
        const byReader = performance.now() - moved < 1000;
        const up = place.scrollTop < top;
        top = place.scrollTop;
        const atEnd = top + place.clientHeight >= place.scrollHeight - 60;
        if (byReader && (up || !atEnd)) following = false;
        else if (atEnd) following = true;
      }, { passive: true });
    }
  }

  // What was typed stays in the box until it is stored, and survives a reload, such as after the server was killed.

  const NOTHING_SENT = { text: null, conversation: '', after: 0 };
  let typed = '';
  let sent = NOTHING_SENT;
  let navigated = false;

  const box = () => document.querySelector('#m2a-composer textarea');
  const draftKey = (conversation) => `m2a-draft:${conversation}`;

  function lastAsked() {
    return [...document.querySelectorAll('.m-user[id]')].map((one) => ({
      id: Number(one.id.slice(1)), text: one.querySelector('.m-plain')?.textContent.trim() || '',
    })).sort((one, other) => one.id - other.id).at(-1) || { id: 0, text: '' };
  }

  // The text, and where it was sent already: after which message.
  function saveDraft(conversation, text, after = null) {
    try {
      if (text) localStorage.setItem(draftKey(conversation), JSON.stringify({ text, after }));
      else localStorage.removeItem(draftKey(conversation));
    } catch { /* a browser that keeps nothing */ }
  }

  function loadDraft(conversation) {
    try {
      const draft = JSON.parse(localStorage.getItem(draftKey(conversation)));
      return typeof draft?.text === 'string' ? draft : { text: '', after: null };
    } catch {
      return { text: '', after: null };
    }
  }

  function fillBox(text) {
    const place = box();
    if (!place || place.value === text) return;
    place.value = text;
    place.dispatchEvent(new Event('input', { bubbles: true }));
  }

  function onTyping(text) {
    typed = text;
    if (!text) sent = NOTHING_SENT;
    saveDraft(shown || '', text);
  }

  function onSubmit() {
    const text = box()?.value || '';
    if (!text.trim()) return;
    typed = text;
    sent = { text, conversation: shown || '', after: lastAsked().id };
    saveDraft(sent.conversation, text, sent.after);
  }

  function openDraft(conversation, first) {
    const draft = loadDraft(conversation);
    sent = draft.after === null ? NOTHING_SENT : { text: draft.text, conversation, after: draft.after };
    if (first && (box()?.value || !draft.text)) return;
    const was = sent;
    fillBox(draft.text);
    sent = was;
    if (was.text !== null) saveDraft(conversation, was.text, was.after);
  }

  function keepDraft() {
    const place = box();
    if (!place || sent.text === null) return;
    const asked = lastAsked();
    const isStored = asked.id > sent.after && asked.text === sent.text.trim();
    if (place.value && !(isStored && place.value === sent.text)) return;
    // Stored: whatever was typed since stays.
    const rest = typed === sent.text ? '' : typed.startsWith(sent.text) ? typed.slice(sent.text.length).trimStart() : typed;
    saveDraft(sent.conversation, '');
    sent = NOTHING_SENT;
    typed = rest;
    fillBox(rest);
  }

  // A button that changed the memory is gone with its line: the keyboard goes on from the line in its place.
  let acted = null;
  function keepFocus() {
    if (!acted || acted.button.isConnected) return;
    const place = document.getElementById(acted.line) || document.getElementById(acted.list);
    acted = null;
    place?.focus({ preventScroll: true });
  }

  // Wiring

  document.addEventListener('click', (click) => {
    const target = click.target instanceof Element ? click.target : null;
    if (!target) return;
    if (target.closest('[data-menu]')) setDrawer(!drawerOpen());
    else if (target.closest('.m-veil')) setDrawer(false);
    else if (target.closest('[data-theme-toggle]')) nextTheme();
    else if (target.closest('[data-new], [data-open]')) setDrawer(false);
    if (target.closest('[data-new], [data-example]')) document.querySelector('#m2a-composer textarea')?.focus();
    const summary = target.closest('summary');
    if (summary?.parentElement?.dataset.key) {
      const details = summary.parentElement;
      if (details.open) opened.delete(details.dataset.key);
      else opened.add(details.dataset.key);
      following = false;
    }
    if (target.closest('[data-new], [data-open]')) navigated = true;
    const act = target.closest('[data-act]');
    if (act) {
      acted = { button: act, line: act.closest('li').id, list: act.closest('ul').id };
      following = false;
    }
    if (target.closest('.submit-button')) {
      follow();
      onSubmit();
    }
  }, true);
  document.addEventListener('keydown', (key) => {
    if (key.key === 'Escape') setDrawer(false);
    const typing = key.target instanceof HTMLTextAreaElement;
    if (!typing) moved = performance.now();
    else if (key.key === 'Enter') {
      follow();
      if (!key.shiftKey && !key.isComposing) onSubmit();
    }
  });
  document.addEventListener('input', (input) => {
    if (input.target === box()) onTyping(input.target.value);
  });
  document.addEventListener('load', (load) => {
    if (following && load.target instanceof HTMLImageElement) scrollDown();
  }, true);
  document.addEventListener('error', (error) => {
    const image = error.target;
    if (!(image instanceof HTMLImageElement) || !image.closest('#m2a-composer') || image.src === NO_PREVIEW) return;
    image.src = NO_PREVIEW;
    image.alt = image.title = 'No preview of this file';
  }, true);
  window.addEventListener('popstate', () => {
    const id = new URLSearchParams(location.search).get('conversation') || '';
    const link = [...document.querySelectorAll('[data-open]')].find((one) => one.dataset.open === id);
    if (id && !link) location.reload();
    else (link || document.querySelector('[data-new]'))?.click();
  });
  window.addEventListener('resize', () => { if (following && shown) scrollDown(); });
  dark.addEventListener('change', applyTheme);

  let scheduled = false;
  function refresh() {
    scheduled = false;
    nameControls();
    showConversation();
    keepOpen();
    keepDraft();
    keepFocus();
    applyTheme();
    if (!showMessage() && following && !document.querySelector('.m-welcome')) scrollDown();
  }
  new MutationObserver(() => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(refresh);
  }).observe(document.documentElement, {
    subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['class', 'open'],
  });

  const veil = document.createElement('div');
  veil.className = 'm-veil';
  document.body.append(veil);
  refresh();
})();
