// The side bar, which becomes a drawer on a narrow page.

import { focusFirst } from './focus.js';

export const drawerOpen = () => document.body.classList.contains('m-drawer-open');

export function setDrawer(open) {
  if (open === drawerOpen()) return;
  document.body.classList.toggle('m-drawer-open', open);
  for (const menu of document.querySelectorAll('.m-menu')) menu.setAttribute('aria-expanded', String(open));
  if (open) focusFirst('.m-close');
  else focusFirst('.m-menu', '.m-memory-head h2');
}

const veil = document.createElement('div');
veil.className = 'm-veil';
document.body.append(veil);
