// What pages gain where scripts run. Everything works without.

const root = document.documentElement;
const stored = localStorage.getItem('theme');
if (stored) root.dataset.theme = stored;

function isDark() {
  const { theme } = root.dataset;
  return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function labelThemeButton(button) {
  button.textContent = isDark() ? 'Light' : 'Dark';
  button.setAttribute('aria-label', isDark() ? 'Use light colours' : 'Use dark colours');
}

document.addEventListener('DOMContentLoaded', () => {
  const button = document.querySelector('[data-theme-toggle]');
  button.hidden = false;
  labelThemeButton(button);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => labelThemeButton(button));
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    localStorage.setItem('theme', root.dataset.theme);
    labelThemeButton(button);
  });
});

document.addEventListener('DOMContentLoaded', () => {
  for (const button of document.querySelectorAll('[data-print]')) {
    button.hidden = false;
    button.addEventListener('click', () => window.print());
  }
});

// Paper is light.
window.addEventListener('beforeprint', () => {
  root.dataset.theme = 'light';
});
window.addEventListener('afterprint', () => {
  const theme = localStorage.getItem('theme');
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
});

document.addEventListener('click', async ({ target }) => {
  const button = target.closest('[data-copy]');
  if (button) {
    const source = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    button.textContent = 'Copied';
  }
  for (const menu of document.querySelectorAll('details.dropdown[open]')) {
    if (!menu.contains(target)) menu.open = false;
  }
});

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, textarea, select, [contenteditable]');
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.querySelector(`[data-focus-key="${CSS.escape(event.key)}"]`);
  if (field) {
    event.preventDefault();
    field.focus();
  }
});

document.addEventListener('submit', (event) => {
  const { confirm: question } = event.target.dataset;
  if (question && !window.confirm(question)) event.preventDefault();
});
