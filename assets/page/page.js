// Everything that the page does beyond Gradio: every click, key and form, and the work after anything was redrawn.

import { nameControls } from './controls.js';
import { navigate, showConversation, shown } from './conversation.js';
import { keepResults, searchConversations } from './conversations.js';
import { box, keepDraft, onSubmit, onTyping } from './draft.js';
import { drawerOpen, setDrawer } from './drawer.js';
import { askErase, showDialog } from './erasing.js';
import { isWithin, keepFocus, restoreFocus, noteActed } from './focus.js';
import { cancelForm, closeManage, fold, keepOpen, onSummary } from './folds.js';
import {
  NOTICE, askMemory, closeOpened, dropFocus, findByPhoto, isLate, keepMemory, listCount, noteAnswer, onMemoryAct, openMemory, search, showMemory, showUnused,
} from './memory.js';
import {
  follow, following, noteReader, scrollDown, seeMessage, showEditing, showMessage, stay, watchReader,
} from './messages.js';
import { goTo, hasRoomForBoth, memoryOpen, onPlace, setMemory, setSettings, settingsOpen, skipToContent } from './places.js';
import { askReview, onReviewKey, showReview } from './review.js';
import { tell } from './server.js';
import { askSettings, onSettingsForm, showSettings } from './settings.js';
import { attach, setBeginning } from './temporary.js';
import { applyTheme, nextTheme, setTheme } from './theme.js';
import { dropTyped, keepTyped } from './typed.js';

// The first content covers the page until Gradio has drawn the same below it, or something failed.
function dropFirst() {
  const isThere = document.querySelector('h1[data-conversation]')
    && (!memoryOpen() || listCount() !== undefined)
    && (!settingsOpen() || document.getElementById('m2a-set-data'));
  if (isThere || document.querySelector('.toast-body')) document.getElementById('m2a-first')?.remove();
}

function onForm(form) {
  const fields = Object.fromEntries(new FormData(form));
  if (form.matches('[data-find-conversations]')) searchConversations(fields.words);
  if (form.matches('[data-rename]')) {
    tell('m2a-conversations', 'rename', { ...fields, conversation: form.dataset.rename });
    closeManage()?.querySelector('summary').focus();
  }
  if (form.matches('[data-review-edit]') && fields.text.trim()) askReview('keep', form.dataset, fields);
  if (form.matches('[data-resend]')) {
    const { text, memories } = fields;
    tell('m2a-talk', 'resend', { message_id: Number(form.dataset.resend), text, keep: memories === 'keep' });
    dropTyped(form);
    follow();
  }
  onSettingsForm(form);
  if (form.matches('[data-find]')) search(true);
  else if (form.matches('[data-edit]')) {
    askMemory('edit', { ...fields, memory_id: Number(form.dataset.edit) }, NOTICE);
  } else if (form.matches('[data-until]')) {
    dropTyped(form);
    keepMemory(form.dataset, null, fields.until);
  } else if (form.matches('[data-tell]') && fields.text.trim()) {
    form.text.blur();
    askMemory('tell', fields, '#m2a-memory-notice .m-told');
  }
}

function onTalk({ example, earlier, retry, editMessage }) {
  if (example !== undefined) tell('m2a-talk', 'example', { index: Number(example) });
  if (earlier !== undefined) tell('m2a-talk', 'earlier');
  if (retry !== undefined) tell('m2a-talk', 'retry', { message_id: Number(retry) });
  if (editMessage !== undefined) {
    document.querySelectorAll('[data-resend]').forEach(dropTyped);
    tell('m2a-talk', 'edit', { message_id: Number(editMessage) });
  }
}

document.addEventListener('click', (click) => {
  const target = click.target instanceof Element ? click.target : null;
  if (!target) return;
  if (isLate(target)) {
    click.preventDefault();
    return;
  }
  dropFocus();
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
    if (data.kind) noteActed(setting, '', 'm2a-set-health');
    askSettings(settingsAct, data);
  }
  if (target.closest('[data-new]')) {
    document.querySelector('[data-find-conversations]').reset();
    tell('m2a-new', 'new');
  }
  if (target.closest('[data-new], [data-example]')) document.querySelector('#m2a-composer textarea')?.focus();
  const plain = !click.ctrlKey && !click.metaKey && !click.shiftKey && click.button === 0;
  const inPlace = plain && target.closest('[data-place], [data-memory], [data-see], [data-memory-act]');
  if (inPlace && !inPlace.matches('[data-act]')) {
    click.preventDefault();
    if ('place' in inPlace.dataset) onPlace(inPlace.dataset);
    if ('unused' in inPlace.dataset) showUnused();
    else if ('memory' in inPlace.dataset) openMemory(inPlace.dataset.memory, 'correct' in inPlace.dataset);
    else if ('see' in inPlace.dataset) seeMessage(inPlace);
    else onMemoryAct(inPlace);
  }
  const erasing = target.closest('[data-erase], [data-erase-now], [data-receipts], [data-purge]');
  if (erasing) {
    const { erase, eraseNow, purge } = erasing.dataset;
    askErase(erasing, erase ? 'preview' : eraseNow ? 'erase' : purge !== undefined ? 'purge' : 'receipts');
  }
  if (target.closest('[data-close-dialog]')) target.closest('dialog').close();
  const summary = target.closest('summary');
  if (summary?.parentElement?.dataset.key) {
    onSummary(summary.parentElement);
    stay();
  }
  const talked = target.closest('[data-example], [data-earlier], [data-retry], [data-edit-message]');
  if (talked) onTalk(talked.dataset);
  const opening = plain && target.closest('#m2a-conversations [data-open]');
  if (opening) {
    click.preventDefault();
    tell('m2a-conversations', 'open', { conversation: opening.dataset.open });
  }
  const leading = target.closest('[data-new], [data-open], [data-begin], [data-end]');
  if (leading) navigate((leading.dataset.open ?? ('new' in leading.dataset ? '' : null)) !== shown);
  const folded = target.closest('[data-fold]')?.closest('details');
  if (folded) cancelForm(folded);
  const decided = target.closest('[data-review]');
  if (decided) {
    const inReview = Boolean(decided.closest('#m2a-review, #m2a-review-notice'));
    if (!inReview) noteActed(decided, '', decided.closest('ul').id);
    askReview(decided.dataset.review, decided.dataset, {}, inReview);
  }
  if (target.closest('[data-end]')) tell('m2a-temporary', 'end');
  const detached = target.closest('[data-detach]');
  if (detached) tell('m2a-temporary', 'detach', { photo_id: detached.dataset.detach });
  const begin = target.closest('[data-begin]');
  if (begin) {
    tell('m2a-new', 'temporary', { reads: begin.dataset.begin });
    fold('begin-temporary');
    setBeginning(true);
  }
  const acting = target.closest('[data-act]');
  if (acting) {
    const { act, reply, number, memory } = acting.dataset;
    const changed = { reply_id: Number(reply), number: Number(number), memory_id: Number(memory || 0) };
    const line = acting.closest('li').id;
    if (acting.closest('#m2a-settings')) askSettings(act, changed);
    else if (acting.closest('#m2a-memory')) askMemory(act, changed, line ? `#${line}` : NOTICE);
    else {
      tell('m2a-talk', act, changed);
      noteActed(acting, line, acting.closest('ul').id);
      stay();
    }
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
    key.preventDefault(); // as in the message box: Enter sends, Shift+Enter begins a new line
    form.requestSubmit();
  }
  const typing = key.target instanceof HTMLTextAreaElement;
  if (!typing) noteReader();
  else if (key.key === 'Enter') {
    follow();
    if (!key.shiftKey && !key.isComposing) onSubmit();
  }
});

document.addEventListener('input', (input) => {
  if (input.target === box()) onTyping(input.target.value);
  else if (input.target.closest?.('[data-find-conversations]')) searchConversations(input.target.value);
  else if (input.target.matches?.('[data-find-photo]')) findByPhoto(input.target);
  else if (input.target.closest?.('[data-find]')) search(input.target.type !== 'search');
});

document.addEventListener('change', (change) => {
  if (change.target.matches?.('[data-theme]')) setTheme(change.target.value);
  else if (change.target.matches?.('[data-attach]')) {
    attach([...change.target.files]);
    change.target.value = '';
  }
});

// A button may be redrawn between press and release, and then the browser sees no click.
let pressed = null;
const pressable = (target) => target.closest?.('#m2a :is(button, summary, a)');
const likeness = (element) => [element.tagName, element.textContent, JSON.stringify(element.dataset)].join();

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
  if (!isLate(submit.target)) onForm(submit.target);
});

document.addEventListener('load', (load) => {
  if (following && load.target instanceof HTMLImageElement) scrollDown();
}, true);

window.addEventListener('resize', () => { if (following && shown) scrollDown(); });

let scheduled = false;
function refresh() {
  scheduled = false;
  nameControls();
  watchReader();
  showConversation();
  keepOpen();
  keepDraft();
  keepFocus();
  keepResults();
  showEditing();
  showReview();
  restoreFocus();
  showMemory();
  keepTyped();
  showDialog();
  showSettings();
  dropFirst();
  applyTheme();
  if (!showMessage() && following && !document.querySelector('.m-welcome')) scrollDown();
}

new MutationObserver((changes) => {
  // At once: an element that is closed for a single frame loses the focus.
  noteAnswer();
  keepOpen(changes.map(({ target }) => target).filter((target) => target.matches?.('details[data-key]')));
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(refresh);
}).observe(document.documentElement, {
  subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['class', 'open'],
});

// The server reads the address, too, and sends the panel with the page.
if (new URLSearchParams(location.search).has('settings')) setSettings(true, false);
else if (new URLSearchParams(location.search).get('memory') !== null) setMemory(true, 'of the address');
refresh();
