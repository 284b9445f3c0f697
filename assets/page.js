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
    if (open) focusFirst('.m-close');
    else focusFirst('.m-menu', '.m-memory-head h2');
  }

  // Focus: a panel that closes gives it back to what opened it, and what is drawn anew has it where it had it before.

  const KEYS = ['data-open', 'data-memory', 'data-see', 'data-focus', 'data-place', 'data-key'];
  let stood = null;
  let memoryOpener = null;

  function focusFirst(...places) {
    places.map((one) => (typeof one === 'string' ? document.querySelector(one) : one))
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

  function keepStanding() {
    if (!stood?.name || stood.element.isConnected || document.activeElement !== document.body) return;
    document.querySelector(stood.name)?.focus({ preventScroll: true });
  }

  // Memory: the panel beside the chat. What is asked of the server goes through the list, which hands it on.

  const memoryOpen = () => document.body.classList.contains('m-memory-open');
  const listCount = () => document.querySelector('#m2a-memory-list [data-count]')?.dataset.count;
  let countBefore = null;
  let memoryFocus = null;

  // Hands a click or a form to the part of the page with that id, which asks the server.
  function tell(place, name, data = {}) {
    document.dispatchEvent(new CustomEvent(place, { detail: { name, data } }));
  }

  function askMemory(name, data = {}, focus = null) {
    countBefore = listCount() ?? '';
    memoryFocus = focus;
    document.body.classList.add('m-asking');
    tell('m2a-memory-list', name, data);
  }

  function address(conversation, memory) {
    const first = `/?conversation=${encodeURIComponent(conversation)}`;
    return memory === null ? first : `${first}&memory=${memory}`;
  }

  // With a memory to open the list comes along with it.
  function setMemory(open, memory = '') {
    if (open === memoryOpen()) return;
    if (open) memoryOpener = document.activeElement;
    const within = document.getElementById('m2a-memory')?.contains(document.activeElement);
    document.body.classList.toggle('m-memory-open', open);
    markPlace();
    if (open && !memory && listCount() === undefined) askMemory('show');
    setDrawer(false);
    if (within) focusFirst(memoryOpener !== document.body && memoryOpener, 'nav [data-place="memory"]', '.m-menu');
  }

  function goTo(memory) {
    const was = new URLSearchParams(location.search).get('memory');
    setMemory(memory !== null, memory);
    if (was !== memory) history.pushState(null, '', address(shown || '', memory));
  }

  function openMemory(number) {
    goTo(String(number));
    askMemory('memory', { memory_id: Number(number) }, '.m-opened h2');
  }

  function closeOpened() {
    const opened = document.querySelector('[data-opened]')?.dataset.opened;
    goTo('');
    askMemory('back', {}, `#m2a-memory-list [data-memory="${opened}"]`);
  }

  function markPlace() {
    for (const link of document.querySelectorAll('nav [data-place]')) {
      const here = (link.dataset.place === 'memory') === memoryOpen();
      if (here && link.getAttribute('aria-current') !== 'page') link.setAttribute('aria-current', 'page');
      else if (!here && link.hasAttribute('aria-current')) link.removeAttribute('aria-current');
    }
  }

  function showMemory() {
    markPlace();
    const panel = document.getElementById('m2a-memory');
    if (panel && !panel.hasAttribute('role')) {
      panel.setAttribute('role', 'complementary');
      panel.setAttribute('aria-label', 'Memory');
    }
    if (countBefore !== null && document.querySelector('.toast-body.error')) { // refused: what was typed stays
      countBefore = null;
      document.body.classList.remove('m-asking');
    }
    if (countBefore === null && memoryFocus) focusIn();
    if (countBefore === null || listCount() === undefined || listCount() === countBefore) return;
    countBefore = null;
    document.body.classList.remove('m-asking');
    const tellForm = document.querySelector('[data-tell]');
    if (tellForm.text.value && lastAsked().text === tellForm.text.value.trim()) tellForm.reset(); // it is stored
    for (const form of document.querySelectorAll('[data-edit]')) { // what was typed was for what stood there before
      form.reset();
      opened.delete(form.closest('details').dataset.key);
      form.closest('details').open = false;
    }
    focusIn();
  }

  // The parts of the panel are drawn one after the other.
  function focusIn() {
    const place = memoryFocus && document.querySelector(memoryFocus);
    if (!place) return;
    memoryFocus = null;
    // At the last page its button leads no further.
    (place.disabled ? place.parentElement.querySelector('button:enabled') : place)?.focus();
  }

  function filters() {
    const form = document.querySelector('[data-find]');
    return { ...Object.fromEntries(new FormData(form)), photos: form.photos.checked };
  }

  let typing = null;
  function search(soon) {
    clearTimeout(typing);
    typing = setTimeout(() => askMemory('find', filters()), soon ? 0 : 250);
  }

  function onMemoryAct(button) {
    const act = button.dataset.memoryAct;
    const focus = button.dataset.focus ? `[data-focus="${button.dataset.focus}"]` : null;
    if (act === 'back') closeOpened();
    else if (act === 'page') askMemory('leaf', { start: Number(button.dataset.start) }, focus);
    else if (act === 'about') askMemory('about', { about: button.dataset.about ? Number(button.dataset.about) : null }, focus);
    else if (act === 'restore') askMemory('restore', { memory_id: Number(button.dataset.of) }, '.m-told .m-change');
    else if (act === 'forget') askMemory('forget', { memory_id: Number(button.dataset.of) }, '.m-told .m-change');
    else if (act === 'clear') {
      document.querySelector('[data-find]').reset();
      askMemory('about', { about: null });
      search(true);
    }
  }

  let finding = null;
  function searchConversations(words) {
    clearTimeout(finding);
    finding = setTimeout(() => tell('m2a-conversations', 'find', { words }), 250);
  }

  function onForm(form) {
    const fields = Object.fromEntries(new FormData(form));
    if (form.matches('[data-find-conversations]')) searchConversations(fields.words);
    if (form.matches('[data-rename]')) {
      tell('m2a-conversations', 'rename', { ...fields, conversation: form.dataset.rename });
      opened.delete(`manage-${form.dataset.rename}`);
      document.querySelector('.m-manage summary')?.focus();
    }
    if (form.matches('[data-find]')) search(true);
    else if (form.matches('[data-edit]')) {
      askMemory('edit', { ...fields, memory_id: Number(form.dataset.edit) }, '.m-told .m-change');
    } else if (form.matches('[data-tell]') && fields.text.trim()) {
      form.text.blur();
      askMemory('tell', fields, '.m-told');
    }
  }

  // Leads to a message: in the conversation that is open, or in its own.
  let wanted = null;
  function seeMessage(link) {
    wanted = `m${link.dataset.see}`;
    following = false;
    if (!window.matchMedia('(min-width: 1101px)').matches) goTo(null);
    const message = document.querySelector(`#m2a-talk #${wanted}`);
    if (message) showMessage();
    else {
      navigated = true;
      tell('m2a-conversations', 'open', { conversation: link.dataset.in, message: Number(link.dataset.see) });
    }
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
      const memory = new URLSearchParams(location.search).get('memory');
      history[first ? 'replaceState' : 'pushState'](null, '', address(id, memory));
    }
    following = true;
    if (!first) {
      setDrawer(false);
      document.querySelector('[data-find-conversations]')?.reset(); // the list is whole again
    }
  }

  function showMessage() {
    const named = wanted || (/^#m\d+$/.test(location.hash) && location.hash.slice(1));
    const message = named && document.getElementById(named);
    if (!message || (message.dataset.seen && !wanted)) return Boolean(message);
    wanted = null;
    message.dataset.seen = 'yes';
    document.querySelector('.m-found-here')?.classList.remove('m-found-here');
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
    memoryFocus = null;
    if (target.closest('[data-menu]')) setDrawer(!drawerOpen());
    else if (target.closest('.m-veil')) setDrawer(false);
    else if (target.closest('[data-theme-toggle]')) nextTheme();
    else if (target.closest('[data-new], [data-open]')) setDrawer(false);
    if (target.closest('[data-new], [data-example]')) document.querySelector('#m2a-composer textarea')?.focus();
    const plain = !click.ctrlKey && !click.metaKey && !click.shiftKey && click.button === 0;
    const inPlace = plain && target.closest('[data-place], [data-memory], [data-see], [data-memory-act]');
    if (inPlace && !inPlace.matches('[data-act]')) {
      click.preventDefault();
      if ('place' in inPlace.dataset) goTo(inPlace.dataset.place === 'memory' ? '' : null);
      else if ('memory' in inPlace.dataset) openMemory(inPlace.dataset.memory);
      else if ('see' in inPlace.dataset) seeMessage(inPlace);
      else onMemoryAct(inPlace);
    }
    const summary = target.closest('summary');
    if (summary?.parentElement?.dataset.key) {
      const details = summary.parentElement;
      if (details.open) opened.delete(details.dataset.key);
      else opened.add(details.dataset.key);
      following = false;
    }
    if (target.closest('[data-new], [data-open]')) navigated = true;
    const act = target.closest('[data-act]');
    if (act?.closest('#m2a-memory')) {
      const { reply, number, memory } = act.dataset;
      const line = act.closest('li').id;
      askMemory(act.dataset.act, {
        reply_id: Number(reply), number: Number(number), memory_id: Number(memory || 0),
      }, line ? `#${line}` : null);
    } else if (act) {
      acted = { button: act, line: act.closest('li').id, list: act.closest('ul').id };
      following = false;
    }
    if (target.closest('.submit-button')) {
      follow();
      onSubmit();
    }
  }, true);
  document.addEventListener('keydown', (key) => {
    if (key.key === 'Escape') {
      const manage = key.target.closest?.('.m-manage[open]');
      if (drawerOpen()) setDrawer(false);
      else if (manage) {
        opened.delete(manage.dataset.key);
        manage.open = false;
        manage.querySelector('summary').focus();
      }
      else if (memoryOpen() && document.getElementById('m2a-memory').contains(key.target)) {
        if (document.querySelector('.m-opened')) closeOpened();
        else goTo(null);
      }
    }
    const typing = key.target instanceof HTMLTextAreaElement;
    if (!typing) moved = performance.now();
    else if (key.key === 'Enter') {
      follow();
      if (!key.shiftKey && !key.isComposing) onSubmit();
    }
  });
  document.addEventListener('focusin', ({ target }) => { stood = { element: target, name: nameOf(target) }; });
  document.addEventListener('pointerdown', () => { stood = null; }, true);
  document.addEventListener('input', (input) => {
    if (input.target === box()) onTyping(input.target.value);
    else if (input.target.closest?.('[data-find-conversations]')) searchConversations(input.target.value);
    else if (input.target.closest?.('[data-find]')) search(input.target.type !== 'search');
  });
  document.addEventListener('submit', (submit) => {
    if (!submit.target.closest('#m2a')) return;
    submit.preventDefault();
    onForm(submit.target);
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
    const params = new URLSearchParams(location.search);
    const memory = params.get('memory');
    setMemory(memory !== null, memory);
    if (memory) askMemory('memory', { memory_id: Number(memory) });
    else if (memory === '' && document.querySelector('.m-opened')) askMemory('back');
    const id = params.get('conversation') || '';
    if (id === shown) return;
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
    keepStanding();
    showMemory();
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
  // The server sees the address too, and sends the panel along.
  if (new URLSearchParams(location.search).get('memory') !== null) setMemory(true, 'of the address');
  refresh();
})();
