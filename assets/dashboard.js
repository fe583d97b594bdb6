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
  button.setAttribute('aria-label', isDark() ? 'Use light theme' : 'Use dark theme');
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

// A file fills the field that has its text.
document.addEventListener('DOMContentLoaded', () => {
  for (const input of document.querySelectorAll('[data-file-into]')) {
    input.closest('label').hidden = false;
    input.addEventListener('change', async () => {
      const [file] = input.files;
      if (file) document.getElementById(input.dataset.fileInto).value = await file.text();
    });
  }
});

const WARNING_SECONDS = 180;

// Some minutes before the session ends, pages say so. All tabs share one session: whichever was used last prolonged it.
document.addEventListener('DOMContentLoaded', () => {
  const banner = document.querySelector('[data-session-seconds]');
  if (!banner) return;
  const [text, button] = banner.children;
  const goesOnFor = (seconds) => {
    localStorage.setItem('session-ends', String(Date.now() + seconds * 1000));
    look();
  };
  const look = () => {
    const seconds = (Number(localStorage.getItem('session-ends')) - Date.now()) / 1000;
    const minutes = Math.ceil(seconds / 60);
    const said =
      seconds > 0
        ? `Your session ends in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`
        : 'Your session has ended. A form that you send now will be kept until you sign in again.';
    if (seconds <= WARNING_SECONDS && text.textContent !== said) text.textContent = said;
    button.hidden = seconds <= 0;
    banner.hidden = seconds > WARNING_SECONDS;
  };
  button.addEventListener('click', async () => {
    const answer = await fetch('/dashboard/session').catch(() => undefined);
    if (!answer) return;
    goesOnFor(answer.ok && !answer.redirected ? Number(await answer.text()) : 0);
    document.getElementById('main').focus();
  });
  goesOnFor(Number(banner.dataset.sessionSeconds));
  setInterval(look, 10_000);
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

document.addEventListener('click', ({ target }) => {
  const button = target.closest('[data-copy]');
  if (button) copy(button);
  for (const menu of openMenus()) {
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

// From the fields of a search down to its results, and from one result to the next.
document.addEventListener('keydown', (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const { target } = event;
  if (!step || !(target.type === 'search' || target.closest('[data-arrow-keys]'))) return;
  const stops = [...document.querySelectorAll('main [type="search"], [data-arrow-keys] tbody th a')];
  const next = stops[Math.max(stops.indexOf(target) + step, 0)];
  if (!next) return;
  event.preventDefault();
  next.focus();
});

document.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape') return;
  for (const menu of openMenus()) {
    if (menu.contains(document.activeElement)) menu.querySelector('summary').focus();
    menu.open = false;
  }
});

function openMenus() {
  return document.querySelectorAll('details.dropdown[open]');
}

// Without https there is no clipboard: then the text is selected, for the reader to copy it.
async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    button.textContent = 'Copied';
  } catch {
    source.focus();
    if (source.select) source.select();
    else getSelection().selectAllChildren(source);
    button.textContent = 'Selected: copy it';
  }
}

document.addEventListener('submit', (event) => {
  const { confirm: question } = event.target.dataset;
  if (question && !window.confirm(question)) event.preventDefault();
});
