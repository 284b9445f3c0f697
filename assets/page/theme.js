// The theme: that of the system, or the one chosen in this browser.

const THEMES = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };
const dark = window.matchMedia('(prefers-color-scheme: dark)');

export function storedTheme() {
  try {
    const theme = localStorage.getItem('m2a-theme');
    return theme in THEMES ? theme : 'system';
  } catch {
    return 'system';
  }
}

export function applyTheme() {
  const theme = storedTheme();
  const wanted = theme === 'dark' || (theme === 'system' && dark.matches);
  if (document.body.classList.contains('dark') !== wanted) document.body.classList.toggle('dark', wanted);
  const button = document.querySelector('[data-theme-toggle]');
  if (button && button.textContent !== THEMES[theme]) button.textContent = THEMES[theme];
}

export function setTheme(theme) {
  localStorage.setItem('m2a-theme', theme);
  applyTheme();
}

export function nextTheme() {
  const names = Object.keys(THEMES);
  setTheme(names[(names.indexOf(storedTheme()) + 1) % names.length]);
}

dark.addEventListener('change', applyTheme);
