// Beside the graph in a wide window: source and hottest instructions of the selected or zoomed kernel.

const SIDE_WIDTH = '(min-width: 1800px)', SIDE_CONTEXT = 3, SIDE_LINES = 120, SIDE_INSTRUCTIONS = 6;

class SidePane {
  constructor(app) {
    this.app = app;
    this.box = element('side');
    this.wide = matchMedia(SIDE_WIDTH);
    this.wide.addEventListener('change', () => this.show());
    this.box.addEventListener('click', event => {
      const at = event.target.closest('[data-line], [data-offset]');
      if (at)
        app.openCode(at.dataset.offset ? { kernel: this.item.name, row: Number(at.dataset.offset) }
          : { kernel: this.item.name, file: this.file.name, line: Number(at.dataset.line) });
    });
  }

  show() {
    const { app } = this, { code, flame, model } = app;
    const place = this.wide.matches && code && model.isDevice && app.view === 'flame' ? this.placeOf(flame) : null;
    const item = place && code.data.functionOf(place.kernel, place.file, place.line);
    this.box.hidden = !item;
    if (!item) {
      this.item = this.key = null;
      return;
    }
    const lines = [...item.lines.values()], line = place.line && code.data.lineOf(item, place.file, place.line);
    const hottest = line || lines.reduce((a, b) => (a && a.total >= b.total ? a : b), null);
    const key = [item.name, code.data.type, hottest && `${hottest.file}:${hottest.line}`].join('\n');
    if (this.key === key)
      return;
    Object.assign(this, { key, item, file: hottest ? code.code.files[hottest.file] : null });
    const open = make('button', { type: 'button', className: 'link', textContent: 'Open GPU code' });
    open.addEventListener('click', () => app.openCode({ kernel: item.name }));
    this.box.replaceChildren(make('div', { className: 'head' }, make('div', {}, make('h3', { textContent: shortName(item.name), title: item.name }),
      make('p', { textContent: this.file ? baseName(this.file.name) : 'No source lines' })), open));
    if (hottest)
      this.box.append(this.source(hottest));
    this.box.append(...this.instructions(hottest));
    const chosen = this.box.querySelector('tr.on');
    if (chosen)
      chosen.closest('.scroll').scrollTop = chosen.offsetTop - chosen.closest('.scroll').clientHeight / 2;
  }

  // Kernel and line of the selected cell, or the largest ones below the zoomed frame.
  placeOf(flame) {
    const { code } = this.app, { selected, values, view, focus } = flame;
    if (!values || flame.isCallers)
      return null;
    const own = selected && selected.node && code.placeOf(view, values, selected);
    if (own)
      return own;
    const zoomed = focus ? code.placeOf(view, values, { node: focus, nodes: [focus] }) : null;
    if (zoomed)
      return zoomed;
    const { frames } = this.app.model, sums = new Map();
    for (const node of values.kernelsBelow(focus))
      if (frames.kind[view.frame[node]] === Kind.DEVICE_FUNCTION)
        sums.set(view.frame[node], (sums.get(view.frame[node]) || 0) + values.total[node]);
    const largest = [...sums].reduce((a, b) => (a && a[1] >= b[1] ? a : b), null);
    return largest && { kernel: frames.names[largest[0]], file: null, line: 0 };
  }

  source(hottest) {
    const { item, file } = this, own = [...item.lines.values()].filter(line => line.file === hottest.file);
    const numbers = own.map(({ line }) => line), most = own.reduce((sum, line) => Math.max(sum, line.total), 0);
    let first = Math.max(1, Math.min(...numbers) - SIDE_CONTEXT), last = Math.max(...numbers) + SIDE_CONTEXT;
    if (last - first > SIDE_LINES) {
      first = Math.max(first, hottest.line - SIDE_LINES / 2);
      last = Math.min(last, hottest.line + SIDE_LINES / 2);
    }
    const producers = new Set(hottest.rows.flatMap(row => row.producers).map(({ offset }) => item.byOffset.get(offset))
      .filter(Boolean).map(({ place }) => place));
    const rows = [];
    for (let number = first; number <= (file.lines ? Math.min(last, file.lines.length) : last); number++) {
      const line = item.lines.get(`${hottest.file}:${number}`), [indent, text] = (file.lines && file.lines[number - 1]) || [0, ''];
      if (!line && !file.lines)
        continue;
      const row = make('tr', { className: line === hottest ? 'on' : producers.has(`${hottest.file}:${number}`) ? 'prod' : '' },
        make('td', { className: 'ln', textContent: number }), ...this.bar(line, most),
        make('td', { className: 'text', textContent: ' '.repeat(indent) + text }));
      if (line)
        row.dataset.line = number;
      rows.push(row);
    }
    return make('div', { className: 'scroll' }, make('table', { className: 'src', 'aria-label': `Lines of ${file.name}` },
      make('tbody', {}, ...rows)));
  }

  bar(at, most) {
    if (!at || !(at.total > 0))
      return [make('td', { className: 'n share' }), make('td', { className: 'heat' })];
    const bar = mixBar(at.mix, at.total);
    bar.style.width = `${100 * at.total / most}%`;
    return [make('td', { className: 'n share', textContent: shareText(at.total, this.item.total) }),
      make('td', { className: 'heat' }, bar)];
  }

  instructions(hottest) {
    const rows = (hottest || this.item).rows.filter(({ total }) => total > 0).sort((a, b) => b.total - a.total)
      .slice(0, SIDE_INSTRUCTIONS);
    if (!rows.length)
      return [];
    return [make('div', { className: 'head' }, make('h3', { textContent: hottest ? `Instructions of line ${hottest.line}`
      : 'Instructions' }), make('p', { textContent: 'hottest first' })),
    make('table', { className: 'src', 'aria-label': 'Hottest instructions' }, make('tbody', {}, ...rows.map(row => {
      const made = make('tr', {}, make('td', { className: 'of', textContent: offsetText(row.offset) }), ...this.bar(row, rows[0].total),
        make('td', { className: 'text', textContent: row.text }));
      made.dataset.offset = row.offset;
      return made;
    })))];
  }
}
