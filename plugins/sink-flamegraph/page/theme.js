// Light or dark: the reader's last choice, otherwise that of the system.

function storedTheme() {
  try {
    return localStorage.getItem('iaprof-theme') || '';
  } catch {
    return '';
  }
}

function storeTheme(theme) {
  try {
    localStorage.setItem('iaprof-theme', theme);
  } catch {
    // A page without storage keeps its theme while it is open.
  }
}

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  inks.clear();
}
