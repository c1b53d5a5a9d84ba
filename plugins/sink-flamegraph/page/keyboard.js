// The keyboard: each group of buttons is one Tab stop, within which arrow keys move; a link skips the bar and the
// panel.

const ROVING = new WeakSet();

// Makes the buttons of an element one Tab stop: the pressed one, or the one that was focused last. isColumn: the
// buttons are in a column. Includes buttons that are added later.
function rove(box, isColumn = false) {
  const items = () => [...box.querySelectorAll('button')].filter(button => !button.disabled && button.getClientRects().length);
  const settle = now => {
    const all = [...box.querySelectorAll('button')], seen = items();
    const stop = now || seen.find(item => item === document.activeElement) ||
      seen.find(item => item.matches('[aria-pressed=true], [aria-selected=true]')) || seen.find(item => item.tabIndex === 0) || seen[0];
    for (const item of all)
      item.tabIndex = item === stop || !stop ? 0 : -1;
  };
  if (ROVING.has(box))
    return;
  ROVING.add(box);
  box.addEventListener('focusin', event => event.target.tagName === 'BUTTON' && settle(event.target));
  box.addEventListener('keydown', event => {
    const seen = items(), at = seen.indexOf(event.target.closest('button'));
    const by = { [isColumn ? 'ArrowDown' : 'ArrowRight']: 1, [isColumn ? 'ArrowUp' : 'ArrowLeft']: -1 }[event.key];
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? seen.length - 1 : at + by;
    if (at < 0 || !(to >= 0) || to === at || event.ctrlKey || event.altKey || event.metaKey)
      return;
    event.preventDefault();
    if (seen[to])
      seen[to].focus();
  });
  new MutationObserver(() => settle()).observe(box, { childList: true, subtree: true, attributes: true,
    attributeFilter: ['aria-pressed', 'aria-selected', 'disabled'] });
  settle();
}

const ROVING_GROUPS = Object.freeze(['tabs', 'filters', 'strip-mode', 'compare-width', 'reason-bar', 'crumbs', 'detail', 'order', 'layout',
  'code-kernels', 'table-body', 'spans-by', 'spans-body']);

function roveAll() {
  for (const id of ROVING_GROUPS)
    rove(element(id));
  rove(element('npu-in').parentNode);
  rove(element('panel'), true);
}

// Runs a function that recreates buttons, and moves the focus to the one with the same group and text.
function keepFocus(make) {
  const had = document.activeElement, box = had.tagName === 'BUTTON' && had.parentNode.closest('[id]');
  const textOf = item => item.getAttribute('aria-label') || item.textContent.replace(/[ ↓]+$/, '');
  make();
  if (!box || had.isConnected)
    return;
  const same = [...box.querySelectorAll('button')].find(item => textOf(item) === textOf(had));
  if (same && same.getClientRects().length)
    same.focus();
}

// Moves the focus to the main content of a view.
function skipToContent(view) {
  const now = { flame: element('graph'), table: element('table-body').querySelector('tr.sel'),
    spans: element('spans-body').querySelector('tr[tabindex="0"]'), code: element('code').querySelector('tr[tabindex="0"]'), timeline: element('npu-graph') }[view];
  (now || element('main')).focus();
}
