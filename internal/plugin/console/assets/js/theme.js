// Light and dark: as the system, until the viewer chooses.

const KEY = 'nginx-console-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');

function show(button) {
  const theme = localStorage.getItem(KEY) ?? (dark.matches ? 'dark' : 'light');
  document.documentElement.dataset.theme = theme;
  const other = theme === 'dark' ? 'light' : 'dark';
  button.textContent = other === 'dark' ? 'Dark' : 'Light';
  button.setAttribute('aria-label', `Use the ${other} theme`);
  return other;
}

// startTheme follows the system, and lets a button change the theme.
export function startTheme(button) {
  let other = show(button);
  dark.addEventListener('change', () => { other = show(button); });
  button.addEventListener('click', () => {
    localStorage.setItem(KEY, other);
    other = show(button);
  });
}
