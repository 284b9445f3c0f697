// What the page does beyond Gradio: the drawer, the theme, the address, scrolling, and names for screen readers.
(() => {
  'use strict';
  const THEMES = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };
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

  // What the server sent along to be read at once lies over the page until the same stands there, or something failed.
  function dropFirst() {
    const isThere = document.querySelector('h1[data-conversation]')
      && (!memoryOpen() || listCount() !== undefined)
      && (!settingsOpen() || document.getElementById('m2a-set-data'));
    if (isThere || document.querySelector('.toast-body')) document.getElementById('m2a-first')?.remove();
  }

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
    for (const menu of document.querySelectorAll('.m-menu')) menu.setAttribute('aria-expanded', String(open));
    if (open) focusFirst('.m-close');
    else focusFirst('.m-menu', '.m-memory-head h2');
  }

  // The menu of a conversation.
  function closeManage() {
    const manage = document.querySelector('.m-manage[open]');
    if (!manage) return null;
    opened.delete(manage.dataset.key);
    manage.open = false;
    return manage;
  }

  // Focus: a panel that closes gives it back to what opened it, and what is drawn anew has it where it had it before.

  const KEYS = ['data-open', 'data-memory', 'data-see', 'data-focus', 'data-place', 'data-key'];
  let stood = null;
  let memoryOpener = null;

  function focusFirst(...places) {
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

  function keepStanding() {
    if (!stood?.name || stood.element.isConnected || document.activeElement !== document.body) return;
    document.querySelector(stood.name)?.focus({ preventScroll: true });
  }

  // Past the side bar, to what is open.
  function skipToContent() {
    focusFirst(
      settingsOpen() ? '#m2a-settings-head h2' : memoryOpen() && !hasRoomForBoth() ? '.m-memory-head h2' : talk(),
    );
  }

  // What is drawn anew loses the focus for a moment: the keyboard is still where it stood.
  function isWithin(id, element = document.activeElement) {
    const isLost = element === document.body && stood && !stood.element.isConnected;
    return Boolean(document.getElementById(id)?.contains(isLost ? document.getElementById(stood.part) : element));
  }

  // Memory: the panel beside the chat. What is asked of the server goes through the list, which hands it on.

  const memoryOpen = () => document.body.classList.contains('m-memory-open');
  const hasRoomForBoth = () => window.matchMedia('(min-width: 1101px)').matches; // the chat and the memory
  const listCount = () => document.querySelector('#m2a-memory-list [data-count]')?.dataset.count;
  let countBefore = null;
  let memoryFocus = null;
  const TOLD = '#m2a-memory-notice .m-change'; // what an act in the panel changed

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
    if (settingsOpen()) return `${first}&settings=`;
    return memory === null ? first : `${first}&memory=${memory}`;
  }

  // With a memory to open the list comes along with it.
  function setMemory(open, memory = '') {
    if (open === memoryOpen()) return;
    if (open) memoryOpener = document.activeElement;
    const within = isWithin('m2a-memory');
    memoryFocus = null;
    document.body.classList.toggle('m-memory-open', open);
    markPlace();
    if (open && !memory && listCount() === undefined) askMemory('show');
    setDrawer(false);
    if (within) focusFirst(memoryOpener !== document.body && memoryOpener, 'nav [data-place="memory"]', '.m-menu');
  }

  function goTo(memory) {
    const was = new URLSearchParams(location.search);
    setSettings(false);
    setMemory(memory !== null, memory);
    if (was.get('memory') !== memory || was.has('settings')) history.pushState(null, '', address(addressed(), memory));
  }

  // Settings: a place of its own, in the place of chat and memory. Everything asked there goes through its first part.

  const settingsOpen = () => document.body.classList.contains('m-settings-open');
  const askSettings = (name, data = {}) => tell('m2a-settings', name, data);

  function setSettings(open, ask = true) {
    if (open === settingsOpen()) return;
    document.body.classList.toggle('m-settings-open', open);
    document.getElementById('m2a-settings-body')?.scrollTo(0, 0);
    markPlace();
    if (open && ask) askSettings('show');
    setDrawer(false);
  }

  let settingsAt = null; // the section to show, once it is there

  function goToSettings(at = null) {
    settingsAt = at;
    const isThere = new URLSearchParams(location.search).has('settings');
    setMemory(false);
    setSettings(true);
    if (!isThere) history.pushState(null, '', address(addressed(), null));
    document.querySelector('#m2a-settings-head h2')?.focus();
  }

  function onSettingsForm(form) {
    const fields = new FormData(form);
    if (form.matches('[data-connect]')) askSettings('connect', Object.fromEntries(fields));
    if (form.matches('[data-rule]')) {
      askSettings('rule', { after_review: fields.get('after_review'), never: fields.getAll('never') });
    }
  }

  function showSettings() {
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

  // To correct it, with its form open.
  let correcting = null;
  function openMemory(number, correct = false) {
    clearTimeout(typing); // what was typed a moment ago would close it again
    openedFrom = document.activeElement?.closest('.m-memories') ? '.m-memories ' : '';
    goTo(String(number));
    correcting = correct ? `edit-${number}` : null;
    const focus = correct ? `[data-edit="${number}"] textarea` : '.m-opened h2';
    askMemory('memory', { memory_id: Number(number) }, focus);
  }

  let openedFrom = ''; // the part of the list in which the memory was clicked: it may stand in the summary too
  function closeOpened() {
    const opened = document.querySelector('[data-opened]')?.dataset.opened;
    goTo('');
    askMemory('back', {}, `#m2a-memory-list ${openedFrom}[data-memory="${opened}"]`);
  }

  function markPlace() {
    for (const link of document.querySelectorAll('nav [data-place]')) {
      const here = link.dataset.place === (settingsOpen() ? 'settings' : memoryOpen() ? 'memory' : 'chat');
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
    drawAnew();
    document.querySelectorAll('[data-emptied]').forEach((list) => { // what was searched for was erased
      document.querySelector('[data-find]').words.value = '';
      list.removeAttribute('data-emptied');
    });
    if (countBefore === null && memoryFocus) focusIn();
    if (countBefore === null || listCount() === undefined || listCount() === countBefore) return;
    countBefore = null;
    document.body.classList.remove('m-asking');
    const tellForm = document.querySelector('[data-tell]');
    if (tellForm.text.value && lastAsked().text === tellForm.text.value.trim()) tellForm.reset(); // it is stored
    for (const form of document.querySelectorAll('[data-edit], [data-until]')) { // what was typed was for what stood there before
      form.reset();
      opened.delete(form.closest('details').dataset.key);
      form.closest('details').open = false;
    }
    if (correcting) opened.add(correcting);
    correcting = null;
    keepOpen();
    focusIn();
  }

  // An update that ends draws the list of the view that it knew. What was asked for since is drawn over, and asked for again.
  let newestCount = 0;
  function drawAnew() {
    if (countBefore !== null || listCount() === undefined) return;
    const count = Number(listCount());
    const isClosed = new URLSearchParams(location.search).get('memory') === '';
    if (isClosed && document.querySelector('.m-opened')) askMemory('back');
    else if (count < newestCount) askMemory('show');
    newestCount = Math.max(newestCount, count);
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
    return { ...Object.fromEntries(new FormData(form)), photos: form.photos.checked, unused: form.unused.checked };
  }

  let typing = null;
  function search(soon) {
    clearTimeout(typing);
    typing = setTimeout(() => askMemory('find', filters()), soon ? 0 : 250);
  }

  function showUnused() {
    const form = document.querySelector('[data-find]');
    form.reset();
    form.unused.checked = true;
    form.querySelector('.m-filters').open = true;
    askMemory('find', { ...filters(), anew: true }, '.m-memory-head h2');
  }

  // Pins a memory, gives it a last day (in so many days, or on the day of the form), keeps it back or takes it back.
  function keepMemory(asked, days, until = '') {
    askMemory('keep', { act: asked.how || 'until', memory_id: Number(asked.of || asked.until), days, until }, TOLD);
  }

  function onMemoryAct(button) {
    const act = button.dataset.memoryAct;
    const focus = button.dataset.focus ? `[data-focus="${button.dataset.focus}"]` : null;
    if (act === 'back') closeOpened();
    else if (act === 'page') askMemory('leaf', { start: Number(button.dataset.start) }, focus);
    else if (act === 'about') askMemory('about', { about: button.dataset.about ? Number(button.dataset.about) : null, kept: button.dataset.kept || '' }, focus);
    else if (act === 'everywhere') askMemory('find', { ...filters(), anew: true }, '[data-find] input');
    else if (act === 'like') {
      goTo('');
      document.querySelector('[data-find]').reset();
      askMemory('find', { photo: button.dataset.photo }, '[data-find] input');
    } else if (act === 'keep') keepMemory(button.dataset, button.dataset.days ? Number(button.dataset.days) : null);
    else if (act === 'restore') askMemory('restore', { memory_id: Number(button.dataset.of) }, TOLD);
    else if (act === 'forget') askMemory('forget', { memory_id: Number(button.dataset.of) }, TOLD);
    else if (act === 'clear') {
      document.querySelector('[data-find]').reset();
      askMemory('about', { about: null });
      search(true);
    }
  }

  // A picture to search by is made small here, and goes along with the question alone: no file is kept of it.
  async function findByPhoto(input) {
    const [file] = input.files;
    input.value = '';
    if (!file) return;
    input.form.reset(); // it goes by the photo alone
    let bytes = file;
    try {
      const picture = await createImageBitmap(file);
      const share = Math.min(1, 512 / Math.max(picture.width, picture.height));
      const canvas = document.createElement('canvas');
      canvas.width = Math.max(1, Math.round(picture.width * share));
      canvas.height = Math.max(1, Math.round(picture.height * share));
      canvas.getContext('2d').drawImage(picture, 0, 0, canvas.width, canvas.height);
      bytes = await new Promise((done) => canvas.toBlob(done, 'image/jpeg', 0.92));
    } catch { /* this browser cannot draw it; the server may */ }
    const reader = new FileReader();
    reader.onload = () => askMemory('find', {
      picture: bytes.size < 1_000_000 ? reader.result.slice(reader.result.indexOf(',') + 1) : 'too large',
    }, '[data-find] input');
    reader.readAsDataURL(bytes);
  }

  // The list is drawn whole after each turn; while words stand in the search, it goes on showing what they find.
  function keepFound() {
    const words = document.querySelector('[data-find-conversations]')?.words.value.trim();
    if (words && finding === null && !document.querySelector('#m2a-conversations [data-found]')) searchConversations(words);
  }

  let finding = null;
  function searchConversations(words) {
    clearTimeout(finding);
    finding = setTimeout(() => {
      finding = null;
      tell('m2a-conversations', 'find', { words });
    }, 250);
  }

  function onForm(form) {
    const fields = Object.fromEntries(new FormData(form));
    if (form.matches('[data-find-conversations]')) searchConversations(fields.words);
    if (form.matches('[data-rename]')) {
      tell('m2a-conversations', 'rename', { ...fields, conversation: form.dataset.rename });
      closeManage()?.querySelector('summary').focus();
    }
    if (form.matches('[data-review-edit]') && fields.text.trim()) askReview('keep', form.dataset, fields);
    if (form.matches('[data-resend]')) follow();
    onSettingsForm(form);
    if (form.matches('[data-find]')) search(true);
    else if (form.matches('[data-edit]')) {
      askMemory('edit', { ...fields, memory_id: Number(form.dataset.edit) }, TOLD);
    } else if (form.matches('[data-until]')) keepMemory(form.dataset, null, fields.until);
    else if (form.matches('[data-tell]') && fields.text.trim()) {
      form.text.blur();
      askMemory('tell', fields, '#m2a-memory-notice .m-told');
    }
  }

  // Erasing: the server answers every question with a dialog.
  let askedFrom = null;
  let toErase = {};
  let closed = null;

  function askErase(button, name) {
    if (!button.closest('dialog')) askedFrom = button;
    const { erase, eraseNow, of } = button.dataset;
    const kind = erase || eraseNow;
    const id = of === undefined ? null : ['message', 'memory', 'forgotten'].includes(kind) ? Number(of) : of;
    toErase = { kind, id };
    tell('m2a-erase', name, { ...toErase, keep: 'keep' in button.dataset });
  }

  function showDialog() {
    const dialog = document.querySelector('#m2a-erase dialog');
    if (!dialog || dialog.open || dialog.dataset.asked === closed) return;
    dialog.addEventListener('close', () => {
      closed = dialog.dataset.asked;
      (askedFrom?.isConnected ? askedFrom : talk())?.focus();
    });
    dialog.showModal();
    if (dialog.dataset.erased) {
      dropDrafts();
      fetch('/photos/cached', { method: 'DELETE' }); // the browser holds every photo that it showed
    }
  }

  // What was typed and not sent goes with its conversation.
  function dropDrafts() {
    const { kind, id } = toErase;
    for (const key of Object.keys(localStorage)) {
      if (kind === 'conversation' ? key === draftKey(id) : kind === 'everything' && key.startsWith(draftKey(''))) {
        localStorage.removeItem(key);
      }
    }
  }

  // Review: after each decision the next memory is up, and the keyboard goes on there.

  let reviewed = null;
  let decided = false;
  function askReview(name, { reply, number }, more = {}, inReview = true) {
    reviewed = inReview ? document.querySelector('.m-review-card') : null;
    decided = inReview;
    tell('m2a-review', name, { reply_id: Number(reply), number: Number(number), ...more });
  }

  // A card that is drawn anew without a decision keeps the keyboard, unless that went elsewhere meanwhile.
  function showReview() {
    markWaiting();
    if (!reviewed || reviewed.isConnected || !document.querySelector('#m2a-review [data-waiting]')) return;
    const isAway = !decided && document.activeElement !== document.body;
    decided = false;
    reviewed = isAway ? null : document.querySelector('.m-review-card');
    if (!isAway) (reviewed || document.querySelector('.m-review > summary'))?.focus();
  }

  // How many memories wait stands at the place where they are reviewed, whatever else is open.
  function markWaiting() {
    const review = document.querySelector('#m2a-review [data-waiting]');
    const place = document.querySelector('nav [data-place="memory"]');
    if (!review || !place) return;
    const waiting = Number(review.dataset.waiting);
    const mark = place.querySelector('.m-waits');
    if (Number(mark?.textContent || 0) === waiting) return;
    mark?.remove();
    if (!waiting) return;
    const count = document.createElement('b');
    count.className = 'm-waits';
    count.textContent = String(waiting);
    count.title = waiting === 1 ? '1 memory is waiting for your review' : `${waiting} memories are waiting for your review`;
    place.append(' ', count);
  }

  // K, R, S and E decide while the card has the keyboard.
  function onReviewKey(key) {
    const card = key.target.closest?.('.m-review-card');
    if (!card || key.ctrlKey || key.metaKey || key.altKey || key.target.matches('input, textarea')) return;
    const button = card.querySelector(`[aria-keyshortcuts="${CSS.escape(key.key.toLowerCase())}"]`);
    if (!button) return;
    key.preventDefault();
    button.click();
    if (button.matches('summary')) card.querySelector('textarea').focus();
  }

  // Leads to a message: in the conversation that is open, or in its own.
  let wanted = null;
  function seeMessage(link) {
    wanted = `m${link.dataset.see}`;
    following = false;
    if (!hasRoomForBoth()) goTo(null);
    const message = document.querySelector(`#m2a-talk #${wanted}`);
    if (message) showMessage();
    else {
      navigated = true;
      tell('m2a-conversations', 'open', { conversation: link.dataset.in, message: Number(link.dataset.see) });
    }
  }

  // Temporary chat: no address leads to it, this browser stores nothing of it, and its photos go past Gradio's uploads.

  const isTemporary = (conversation = shown) => Boolean(conversation?.startsWith('temporary-'));
  const addressed = (conversation = shown) => (isTemporary(conversation) ? '' : conversation || '');

  // Until the chat is there nothing can be written: it would go into the conversation that is open, and stay.
  let beginning = false;
  function setBeginning(now) {
    beginning = now;
    document.getElementById('m2a-foot').inert = now;
    if (!now) box()?.focus();
  }

  async function attach(files) {
    const chat = shown;
    for (const file of files) {
      let failure = '';
      try {
        const answer = await fetch(`/temporary/${encodeURIComponent(chat)}/photos`, { method: 'POST', body: file });
        if (!answer.ok) failure = (await answer.json().catch(() => ({}))).detail || 'This photo is too large.';
      } catch {
        failure = 'M2A does not answer; is it still running?';
      }
      if (chat !== shown) return;
      if (!failure) tell('m2a-temporary', 'attached');
      document.querySelector('.m-attach-failed').textContent = failure;
    }
  }

  // Gradio would take these files, and put them on the disk.
  function takeFiles(event) {
    const carried = event.dataTransfer || event.clipboardData;
    const files = [...(carried?.files || [])];
    const holds = files.length || [...(carried?.types || [])].includes('Files');
    if (!isTemporary() || !holds) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.type !== 'dragover') attach(files);
  }
  for (const kind of ['dragenter', 'dragover', 'drop', 'paste']) window.addEventListener(kind, takeFiles, true);

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
    if (beginning && ((isTemporary(id) && id !== shown) || document.querySelector('.toast-body.error'))) setBeginning(false);
    const where = document.querySelector('[data-tell-where]');
    const conversation = id ? heading.textContent : 'a new conversation';
    if (where && where.textContent !== conversation) where.textContent = conversation;
    if (isTemporary(id)) box()?.setAttribute('autocomplete', 'off'); // else a browser may keep it to restore the tab
    const title = id ? `${heading.textContent} · M2A` : 'M2A';
    if (document.title !== title) document.title = title;
    if (id === shown) return;
    const first = shown === null;
    const was = new URLSearchParams(location.search).get('conversation') || '';
    const byLink = navigated;
    navigated = false;
    shown = id;
    if (first || byLink) openDraft(id, first);
    if (addressed(id) !== was) {
      const memory = new URLSearchParams(location.search).get('memory');
      history[first ? 'replaceState' : 'pushState'](null, '', address(addressed(id), memory));
    }
    following = true;
    if (!first) setDrawer(false);
  }

  function showMessage() {
    const named = wanted || (/^#m\d+$/.test(location.hash) && location.hash.slice(1));
    const message = named && document.getElementById(named);
    if (!message || (message.dataset.seen && !wanted)) return Boolean(message);
    wanted = null;
    message.dataset.seen = 'yes';
    const aside = message.closest('details[data-key]');
    if (aside) opened.add(aside.dataset.key);
    if (aside) aside.open = true;
    document.querySelector('.m-found-here')?.classList.remove('m-found-here');
    message.classList.add('m-found-here');
    message.scrollIntoView({ block: 'center' });
    message.focus({ preventScroll: true });
    following = false;
    return true;
  }

  // What a click opened comes into view, a form with the keyboard in it.
  function showOpened(details) {
    if (details.matches('.m-edit')) details.querySelector('textarea, input')?.focus();
    details.scrollIntoView({ block: 'nearest' });
  }

  // The form in which a message is edited comes into view as a whole, and the keyboard goes on in it.
  let editing = null;
  function showEditing() {
    const form = document.querySelector('[data-resend]');
    if (form === editing) return;
    const isNew = form && form.dataset.resend !== editing?.dataset.resend;
    editing = form;
    if (!isNew) return;
    following = false;
    form.querySelector('textarea').focus({ preventScroll: true });
    form.scrollIntoView({ block: 'nearest' });
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
    if (isTemporary(conversation)) return;
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
    navigated = false; // what is shown next comes of what is sent
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
    if (!target.closest('.m-manage, dialog') || target.closest('.m-manage a')) closeManage();
    if (target.closest('[data-skip]')) {
      click.preventDefault();
      skipToContent();
    } else if (target.closest('[data-menu]')) setDrawer(!drawerOpen());
    else if (target.closest('.m-veil')) setDrawer(false);
    else if (target.closest('[data-theme-toggle]')) nextTheme();
    else if (target.closest('[data-new], [data-open], [data-begin]')) {
      setDrawer(false);
      if (settingsOpen() || (memoryOpen() && !hasRoomForBoth())) goTo(null);
    }
    const setting = target.closest('[data-settings-act]');
    if (setting) {
      const { settingsAct, ...data } = setting.dataset;
      if (data.kind) acted = { button: setting, line: '', list: 'm2a-set-health' };
      askSettings(settingsAct, data);
    }
    if (target.closest('[data-new]')) document.querySelector('[data-find-conversations]').reset();
    if (target.closest('[data-new], [data-example]')) document.querySelector('#m2a-composer textarea')?.focus();
    const plain = !click.ctrlKey && !click.metaKey && !click.shiftKey && click.button === 0;
    const inPlace = plain && target.closest('[data-place], [data-memory], [data-see], [data-memory-act]');
    if (inPlace && !inPlace.matches('[data-act]')) {
      click.preventDefault();
      if (inPlace.dataset.place === 'settings') goToSettings(inPlace.dataset.at);
      else if ('place' in inPlace.dataset) {
        goTo(inPlace.dataset.place === 'memory' ? '' : null);
        if (memoryOpen()) document.querySelector('.m-memory-head h2').focus();
      }
      if ('unused' in inPlace.dataset) showUnused();
      else if ('memory' in inPlace.dataset) openMemory(inPlace.dataset.memory, 'correct' in inPlace.dataset);
      else if ('see' in inPlace.dataset) seeMessage(inPlace);
      else onMemoryAct(inPlace);
    }
    const erasing = target.closest('[data-erase], [data-erase-now], [data-receipts], [data-purge]');
    if (erasing) {
      askErase(erasing, 'erase' in erasing.dataset ? 'preview' : 'eraseNow' in erasing.dataset ? 'erase' : 'purge' in erasing.dataset ? 'purge' : 'receipts');
    }
    if (target.closest('[data-close-dialog]')) target.closest('dialog').close();
    const summary = target.closest('summary');
    if (summary?.parentElement?.dataset.key) {
      const details = summary.parentElement;
      if (details.open) opened.delete(details.dataset.key);
      else opened.add(details.dataset.key);
      if (!details.open) requestAnimationFrame(() => showOpened(details));
      following = false;
    }
    const leading = target.closest('[data-new], [data-open], [data-begin], [data-end]');
    if (leading) navigated = (leading.dataset.open ?? ('new' in leading.dataset ? '' : null)) !== shown;
    const folded = target.closest('[data-fold]')?.closest('details');
    if (folded) {
      folded.querySelector('form').reset();
      opened.delete(folded.dataset.key);
      folded.open = false;
      folded.querySelector('summary').focus();
    }
    const decided = target.closest('[data-review]');
    if (decided) {
      const inReview = Boolean(decided.closest('#m2a-review, #m2a-review-told'));
      if (!inReview) acted = { button: decided, line: '', list: decided.closest('ul').id };
      askReview(decided.dataset.review, decided.dataset, {}, inReview);
    }
    if (target.closest('[data-end]')) tell('m2a-temporary', 'end');
    const detached = target.closest('[data-detach]');
    if (detached) tell('m2a-temporary', 'detach', { photo_id: detached.dataset.detach });
    if (target.closest('[data-begin]')) {
      opened.delete('begin-temporary');
      setBeginning(true);
    }
    const act = target.closest('[data-act]');
    if (act?.closest('#m2a-settings')) {
      askSettings(act.dataset.act, { reply_id: Number(act.dataset.reply), number: Number(act.dataset.number) });
    } else if (act?.closest('#m2a-memory')) {
      const { reply, number, memory } = act.dataset;
      const line = act.closest('li').id;
      askMemory(act.dataset.act, {
        reply_id: Number(reply), number: Number(number), memory_id: Number(memory || 0),
      }, line ? `#${line}` : TOLD);
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
    onReviewKey(key);
    if (key.key === 'Escape' && !document.querySelector('dialog[open]')) {
      const manage = drawerOpen() ? null : closeManage();
      if (drawerOpen()) setDrawer(false);
      else if (manage) manage.querySelector('summary').focus();
      else if (settingsOpen() && isWithin('m2a-settings', key.target)) goTo(null);
      else if (memoryOpen() && isWithin('m2a-memory', key.target)) {
        if (document.querySelector('.m-opened')) closeOpened();
        else goTo(null);
      }
    }
    const form = key.target.closest?.('[data-edit]');
    if (form && key.key === 'Enter' && !key.shiftKey && !key.isComposing && key.target.matches('textarea')) {
      key.preventDefault(); // as in the message box: Enter sends, Shift and Enter begin a line
      form.requestSubmit();
    }
    const typing = key.target instanceof HTMLTextAreaElement;
    if (!typing) moved = performance.now();
    else if (key.key === 'Enter') {
      follow();
      if (!key.shiftKey && !key.isComposing) onSubmit();
    }
  });
  document.addEventListener('focusin', ({ target }) => { stood = { element: target, name: nameOf(target), part: target.closest('[id^="m2a-"]')?.id }; });
  document.addEventListener('pointerdown', () => { stood = null; }, true);
  document.addEventListener('input', (input) => {
    if (input.target === box()) onTyping(input.target.value);
    else if (input.target.closest?.('[data-find-conversations]')) searchConversations(input.target.value);
    else if (input.target.matches?.('[data-find-photo]')) findByPhoto(input.target);
    else if (input.target.closest?.('[data-find]')) search(input.target.type !== 'search');
  });
  document.addEventListener('change', (change) => {
    if (change.target.matches?.('[data-theme]')) {
      localStorage.setItem('m2a-theme', change.target.value);
      applyTheme();
    } else if (change.target.matches?.('[data-attach]')) {
      attach([...change.target.files]);
      change.target.value = '';
    }
  });
  // What is pressed may be drawn anew before it is released, and then the browser sees no click.
  let pressed = null;
  const pressable = (target) => target.closest?.('#m2a :is(button, summary, a)');
  const likeness = (one) => [one.tagName, one.textContent, JSON.stringify(one.dataset)].join();
  document.addEventListener('pointerdown', ({ target, button }) => {
    pressed = button === 0 ? pressable(target) : null;
  }, true);
  document.addEventListener('pointerup', ({ target }) => {
    const now = pressable(target);
    if (pressed && now && !pressed.isConnected && likeness(now) === likeness(pressed)) now.click();
    pressed = null;
  }, true);
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
    setSettings(params.has('settings'));
    setMemory(memory !== null, memory);
    if (memory) askMemory('memory', { memory_id: Number(memory) });
    else if (memory === '' && document.querySelector('.m-opened')) askMemory('back');
    const id = params.get('conversation') || '';
    // It may have been drawn since the last frame: what the page shows counts, not what the last frame saw.
    const heading = document.querySelector('h1[data-conversation]');
    if (heading && shown !== null) shown = heading.dataset.conversation;
    if (id === addressed()) return;
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
    keepFound();
    showEditing();
    showReview();
    keepStanding();
    showMemory();
    showDialog();
    showSettings();
    dropFirst();
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
  if (new URLSearchParams(location.search).has('settings')) setSettings(true, false);
  else if (new URLSearchParams(location.search).get('memory') !== null) setMemory(true, 'of the address');
  refresh();
})();
