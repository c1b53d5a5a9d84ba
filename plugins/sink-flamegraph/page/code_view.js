// GPU code: source and instructions side by side, with the stalls of each line and what it waits for.

// Lines of context around those with instructions; a file of at most CODE_WHOLE_FILE lines is shown completely.
const CODE_CARDS = 60;
const CODE_CONTEXT = 30, CODE_WHOLE_FILE = 300;
// Rows that are laid out together when they come into view: a function may have tens of thousands.
const CODE_CHUNK = 100, CODE_ROW = 1.7; // rem
const ATTRIBUTES = Object.freeze([['simd_size', 'SIMD', value => String(value)], ['grf_count', 'Registers', value => String(value)],
  ['slm_size', 'Local memory', value => bytesText(value)], ['spill_size', 'Spill', value => bytesText(value)],
  ['private_size', 'Private', value => bytesText(value)]]);

const bytesText = value => value >= 1024 && value % 1024 === 0 ? `${value / 1024}${THIN}KiB` : `${value}${THIN}B`;

// A table of many rows, parts of which are laid out when they come into view. The browser does not recognize these rows
// as rows of a table.
function makeGrid(label, columns, rows) {
  const head = make('tr', {}, ...columns.map(([name, className]) => make('th', { scope: 'col', textContent: name, className })));
  const parts = [make('thead', {}, head)];
  for (let i = 0; i < rows.length; i += CODE_CHUNK) {
    const chunk = rows.slice(i, i + CODE_CHUNK), part = make('tbody', {}, ...chunk);
    part.style.containIntrinsicHeight = `auto ${chunk.length * CODE_ROW}rem`;
    parts.push(part);
  }
  const table = make('table', { className: 'src', role: 'grid', 'aria-label': label }, ...parts);
  for (const row of [head, ...rows]) {
    row.setAttribute('role', 'row');
    for (const cell of row.children)
      cell.setAttribute('role', row === head ? 'columnheader' : 'gridcell');
  }
  for (const part of parts)
    part.setAttribute('role', 'rowgroup');
  return table;
}

class CodeView {
  constructor(app) {
    this.app = app;
    this.data = new CodeData(app.model);
    this.code = this.data.code;
    this.panes = [element('code-sources'), element('code-instructions')];
    for (const pane of this.panes)
      pane.addEventListener('click', event => this.click(event));
    element('code').addEventListener('keydown', event => this.key(event));
    new ResizeObserver(() => this.drawArcs()).observe(element('code-instructions'));
  }

  producerOf(cause) { return this.data.producerOf(cause); }
  producerText(view, values, cell) { return this.data.producerText(view, values, cell); }
  placeOf(view, values, cell) { return this.data.placeOf(view, values, cell); }

  // The state's kernel and row, or the hottest ones.
  show() {
    if (this.app.compare && this.data.factor !== this.app.compare.factor) {
      this.data.factor = this.app.compare.factor;
      this.data.known.clear();
    }
    const { state } = this.app, functions = this.data.functions();
    const wanted = state.get('kernel'), row = state.get('row');
    const found = row.match(/^(.*):(\d+)$/);
    const item = (wanted && this.data.functionOf(wanted, found && found[1], found ? Number(found[2]) : 0)) || functions[0] || null;
    this.showCards(functions, item);
    if (item !== this.item || this.type !== this.data.type)
      this.showFunction(item);
    this.type = this.data.type;
    if (!item)
      return;
    const line = found && this.data.lineOf(item, found[1], Number(found[2]));
    const instruction = /^0x/.test(row) ? item.byOffset.get(Number(row)) : null;
    if (instruction)
      this.markRow(instruction);
    else if (line)
      this.markLine(line);
    else if (item.hottest)
      this.markRow(item.hottest);
    else if (item.lines.size)
      this.markLine([...item.lines.values()].reduce((a, b) => (a.total >= b.total ? a : b)));
  }

  // If there are thousands of CPU functions, only the largest have cards.
  showCards(all, chosen) {
    const functions = all.filter((item, i) => i < CODE_CARDS || item === chosen);
    if (this.data.isCpu) {
      const [whole] = this.app.model.values(Detail.LINE).total;
      this.fillCards(functions, chosen, item => [make('i', { textContent: shareText(item.self, whole) }),
        this.selfBar(item, whole)]);
      return;
    }
    const whole = functions.reduce((sum, { total }) => sum + total, this.data.elsewhere);
    this.fillCards(functions, chosen, item => [this.code.before ? this.changeOf(item)
      : make('i', { textContent: shareText(item.total, whole) }), mixBar(item.mix, item.total)]);
  }

  // factsOf(item): -> the text beside its name, and a bar
  fillCards(functions, chosen, factsOf) {
    element('code-kernels').replaceChildren(...functions.map(item => {
      const [beside, bar] = factsOf(item);
      const button = make('button', { type: 'button', 'aria-pressed': String(item === chosen) },
        make('span', { className: 'kname' }, make('b', { textContent: shortName(item.name), title: item.name }), beside), bar);
      button.addEventListener('click', () => this.app.state.set({ kernel: item.name, row: '' }));
      return button;
    }));
    const now = element('code-kernels').querySelector('[aria-pressed=true]');
    if (now)
      now.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }

  // Self, darker, and the rest of the total.
  selfBar({ self, total }, whole) {
    const bar = make('span', { className: 'mix' });
    for (const [value, colour] of [[self, 'var(--frame-gpu)'], [total - self, 'var(--frame-line)']]) {
      const part = make('i', {});
      part.style.width = `${100 * value / whole}%`;
      part.style.background = colour;
      bar.append(part);
    }
    return bar;
  }

  changeOf({ before, total }) {
    return make('i', { className: total < before ? 'down' : total > before ? 'up' : '',
      textContent: this.app.compare.growthText(before, total) });
  }

  showFunction(item) {
    this.item = item;
    this.arcs = null;
    for (const pane of this.panes)
      pane.replaceChildren();
    element('code-why').replaceChildren();
    if (!item) {
      element('code-why').append(make('p', { textContent: this.data.isCpu
        ? 'No function with a known source line has samples.' : 'No instruction with samples is known.' }));
      return;
    }
    element('code-panes').classList.toggle('single', Boolean(item.isCpu));
    element('code-instructions').hidden = Boolean(item.isCpu);
    if (item.isCpu)
      this.tellCpuFunction();
    else
      this.tellFunction();
    this.showSources();
    if (!item.isCpu)
      this.showInstructions();
  }

  tellCpuFunction() {
    const { item } = this, { model } = this.app, [whole] = model.values(Detail.LINE).total;
    const top = [...item.lines.values()].reduce((a, b) => (a && a.total >= b.total ? a : b), null);
    element('code-why').append(make('div', {}, make('p', { className: 'big', textContent: shortName(item.name), title: item.name }),
      make('p', { textContent: `${shareText(top.total, item.total)} of its ${model.typeLabel()} ${model.unit === 'count' ? 'are' : 'is'} in line ${top.line}` })),
    ...[['Self', item.self], ['Total', item.total]].map(([label, value]) => make('div', { className: 'fact' },
      make('b', { textContent: shareText(value, whole), title: exactText(value, model.unit) }), make('small', { textContent: label }))));
  }

  tellFunction() {
    const { item } = this, why = element('code-why'), { listed } = item;
    const slot = [...item.mix.keys()].filter(at => at !== ISSUING).reduce((a, b) => (item.mix[b] > item.mix[a] ? b : a), 0);
    const lines = [...item.lines.values()].sort((a, b) => b.mix[slot] - a.mix[slot]);
    const top = item.mix[slot] > 0 && lines.length ? lines[0] : null;
    const text = make('div', {});
    if (top && top.mix[slot] > 0) {
      const cause = { kernel: item, slot, line: { file: this.code.files[top.file].name, line: top.line } };
      const producer = this.data.producerOf(cause);
      text.append(make('p', { className: 'big', title: item.name, textContent: `${shareText(top.mix[slot], item.total)} of ${shortName(item.name)}: ` +
        `line ${top.line}, ${inSentence(REASONS[slot].label)}` }),
      make('p', { textContent: producer ? `It waits for the ${producer.noun}${producer.place
        ? ` in ${producer.place}` : ` at ${offsetText(producer.offset)}`}.` : REASONS[slot].text }));
    } else {
      text.append(make('p', { className: 'big', textContent: shortName(item.name), title: item.name }),
        make('p', { textContent: item.mix[ISSUING] > 0 ? 'It issues instructions.' : REASONS[slot].text }));
    }
    why.append(text);
    for (const [key, label, format] of ATTRIBUTES)
      if (item.attributes.has(key))
        why.append(make('div', { className: 'fact' }, make('b', { textContent: format(item.attributes.get(key)) }),
          make('small', { textContent: label })));
    const notes = [];
    if (this.app.model.range)
      notes.push('of the whole run');
    if (this.code.before)
      notes.push(item.before > 0 ? item.isSameCode ? 'changes in shares of the baseline'
        : 'other instructions than in the baseline: changes by line only' : 'not in the baseline');
    if (listed.leftOut)
      notes.push(`${bytesText(listed.leftOut)} not decoded`);
    const unlisted = item.rows.filter(row => row.flags & CodeFlag.UNLISTED).length;
    if (unlisted)
      notes.push(`${manyText(unlisted, 'instruction')} known from samples only`);
    const { elsewhere } = this.data, whole = this.data.functions().reduce((sum, { total }) => sum + total, elsewhere);
    if (elsewhere > 0)
      notes.push(`${shareText(elsewhere, whole)} of ${this.app.model.typeLabel()} in code that is not known`);
    if (this.code.leftOut)
      notes.push(`${manyText(this.code.leftOut, 'instruction')} did not fit`);
    if (notes.length)
      why.append(make('div', { className: 'fact note' }, make('small', { textContent: notes.join(', ') })));
  }

  // The change of a line or an instruction, as a share of the function's earlier total; '' if it cannot be compared.
  changeCell(at) {
    if (!this.code.before || this.item.isCpu)
      return [];
    const cell = make('td', { className: 'n change' });
    const canCompare = at && at.before !== undefined && (at.rows || this.item.isSameCode) && (at.total > 0 || at.before > 0);
    if (canCompare) {
      const change = at.total - at.before, { compare } = this.app, { unit } = this.app.model.types[this.data.type];
      cell.textContent = `${change > 0 ? '+' : change < 0 ? '−' : ''}${shareText(Math.abs(change),
        Math.max(this.item.before, this.item.before > 0 ? 0 : this.item.total))}`;
      cell.title = `${exactText(at.before, unit)} before, ${exactText(at.total, unit)} after, ${
        compare.growthText(at.before, at.total)}`;
      cell.classList.add(change < 0 ? 'down' : change > 0 ? 'up' : 'same');
    }
    return [cell];
  }

  barCell(at, longest) {
    const cell = make('td', { className: 'heat' });
    if (this.item.isCpu) {
      const { unit } = this.app.model, share = value => make('td', { className: 'n share', title: exactText(value, unit),
        textContent: value > 0 ? shareText(value, this.item.total) : '' });
      if (at)
        cell.append(this.selfBar(at, longest));
      return [share(at ? at.self : 0), share(at ? at.total : 0), cell];
    }
    if (!(at.total > 0))
      return [make('td', { className: 'n share' }), cell];
    const bar = mixBar(at.mix, at.total);
    bar.style.width = `${100 * at.total / longest}%`;
    cell.append(bar);
    cell.title = [...at.mix].map((value, slot) => [value, slot]).filter(([value]) => value > 0).sort((a, b) => b[0] - a[0])
      .map(([value, slot]) => `${REASONS[slot].label} ${shareText(value, at.total)}`).join(', ');
    return [make('td', { className: 'n share', textContent: shareText(at.total, this.item.total),
      title: exactText(at.total, this.app.model.types[this.data.type].unit) }), cell];
  }

  showInstructions() {
    const { item } = this, longest = item.rows.reduce((most, row) => Math.max(most, row.total), 0);
    const rows = item.rows.map(row => {
      row.element = make('tr', { tabIndex: -1 }, make('td', { className: 'of', textContent: offsetText(row.offset) }),
        ...this.changeCell(row), ...this.barCell(row, longest), make('td', { className: 'text', textContent: row.text, title: row.waits ? `waits: ${row.waits}`
          : '' }), this.producersCell(row),
        make('td', { className: 'ln', textContent: row.line || '', title: row.file < 0 ? '' : this.code.files[row.file].name }));
      row.element.dataset.row = row.position;
      return row.element;
    });
    const pane = element('code-instructions');
    const table = makeGrid(`Instructions of ${item.name}`, [['Offset', 'of'], ...this.changeHead(), ['', 'n share'], ['Samples', 'heat'],
      ['Instruction', 'text'], ['Waits for', 'arc'], ['Line', 'ln']], rows);
    this.arcs = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    this.arcs.setAttribute('class', 'arcs');
    this.arcs.setAttribute('aria-hidden', 'true');
    pane.replaceChildren(table, this.arcs);
  }

  changeHead() { return this.code.before && !this.item.isCpu ? [['Change', 'n change']] : []; }

  producersCell(row) {
    const cell = make('td', { className: 'arc' });
    for (const producer of row.producers) {
      const other = this.item.byOffset.get(producer.offset);
      const text = `waits for ${offsetText(producer.offset)} ${other ? other.name : '[unknown]'}, ${
        WAITS_FOR[producer.wait] || 'it'}`;
      const button = make('button', { type: 'button', tabIndex: -1, className: 'chip', textContent: offsetText(producer.offset),
        title: text, 'aria-label': text });
      button.dataset.offset = producer.offset;
      cell.append(button);
    }
    if (row.flags & CodeFlag.INCOMPLETE)
      cell.append(make('small', { textContent: row.producers.length ? 'and others' : 'not known' }));
    return cell;
  }

  // Files of the function, the one with the most stalls first.
  showSources() {
    const files = new Map();
    for (const line of this.item.lines.values()) {
      if (!files.has(line.file))
        files.set(line.file, { file: line.file, total: 0, lines: [] });
      files.get(line.file).total += line.total;
      files.get(line.file).lines.push(line);
    }
    const longest = [...this.item.lines.values()].reduce((most, line) => Math.max(most, line.total), 0);
    const made = [...files.values()].sort((a, b) => b.total - a.total || a.file - b.file).map(file => this.sourceOf(file, longest));
    const pane = element('code-sources');
    pane.replaceChildren(...made.flat());
    if (!made.length)
      pane.append(emptyState('No source lines', 'Compile the kernel with -gline-tables-only or -g.'));
  }

  sourceOf({ file, lines }, longest) {
    const { name, why, lines: source } = this.code.files[file];
    const parts = [make('p', { className: 'file', title: name }, make('b', { textContent: baseName(name) }))];
    if (!source && /sources=/.test(why))
      parts.push(make('p', { className: 'missing', textContent: `Source file not found: ${why}.` }));
    else if (!source)
      parts.push(make('p', { className: 'missing' }, 'Source file not found', why ? `: ${why}. ` : '. ', 'Set ',
        make('code', { textContent: 'flamegraph:sources=FOLDER' }), '.'));
    const last = Math.max(...lines.map(({ line }) => line));
    if (source && last > source.length)
      parts.push(make('p', { className: 'missing', textContent: `The code has line ${last}, but the file has ` +
        `${source.length}: it is not the file that was compiled.` }));
    const rows = [];
    let before = 0;
    for (const number of this.numbersOf(lines, source)) {
      if (source && number > before + 1)
        rows.push(this.gapOf(number - before - 1));
      rows.push(this.lineRow(file, number, source, longest));
      before = number;
    }
    if (source && before < source.length)
      rows.push(this.gapOf(source.length - before));
    return [...parts, makeGrid(`Lines of ${name}`, [['Line', 'ln'], ...this.changeHead(), ...(this.item.isCpu ? [['Self', 'n share'],
      ['Total', 'n share'], ['', 'heat']] : [['', 'n share'], ['Samples', 'heat']]), ['Source', 'text']], rows)];
  }

  // The lines to show: those with instructions and, if the source text is known, those around them.
  numbersOf(lines, source) {
    const numbers = new Set(lines.map(({ line }) => line));
    if (source && source.length <= CODE_WHOLE_FILE)
      source.forEach((_, i) => numbers.add(i + 1));
    else if (source)
      for (const { line } of lines)
        for (let i = Math.max(1, line - CODE_CONTEXT); i <= Math.min(source.length, line + CODE_CONTEXT); i++)
          numbers.add(i);
    return [...numbers].sort((a, b) => a - b);
  }

  gapOf(count) {
    return make('tr', { className: 'gap' }, make('td', { className: 'ln', textContent: '⋮' }),
      make('td', { textContent: manyText(count, 'line') }));
  }

  lineRow(file, number, source, longest) {
    const line = this.item.lines.get(`${file}:${number}`);
    const [indent, text] = (source && source[number - 1]) || [0, ''];
    const row = make('tr', { tabIndex: -1 }, make('td', { className: 'ln', textContent: number }), ...this.changeCell(line),
      ...(line || this.item.isCpu ? this.barCell(line, longest)
        : [make('td', { className: 'n share' }), make('td', { className: 'heat' })]),
      make('td', { className: 'text', textContent: ' '.repeat(indent) + text }));
    if (line) {
      line.element = row;
      row.dataset.place = `${file}:${number}`;
    }
    return row;
  }

  // Marks the selected row, the related rows in the other pane, and the producers that it waits for.
  mark(chosen, related, producers) {
    for (const marked of element('code').querySelectorAll('tr.on, tr.related, tr.prod')) {
      marked.classList.remove('on', 'related', 'prod');
      marked.removeAttribute('aria-selected');
      marked.tabIndex = -1;
    }
    for (const [list, name] of [[producers, 'prod'], [related, 'related'], [[chosen], 'on']])
      for (const at of list.filter(Boolean)) {
        at.classList.add(name);
        at.setAttribute('aria-selected', String(name !== 'prod'));
      }
    chosen.tabIndex = 0;
    if (related[0])
      related[0].tabIndex = 0;
    for (const at of [chosen, related[0]])
      if (at && !this.isInSight(at))
        this.center(at);
  }

  isInSight(at) {
    const own = at.getBoundingClientRect(), pane = at.closest('.pane').getBoundingClientRect();
    return own.top >= pane.top + own.height && own.bottom <= pane.bottom;
  }

  center(at) {
    const pane = at.closest('.pane');
    for (let tries = 0; tries < 2; tries++) // parts that come into view get their actual height
      pane.scrollTop += at.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 3;
  }

  markRow(row) {
    const line = this.item.lines.get(row.place);
    const producers = row.producers.map(({ offset }) => this.item.byOffset.get(offset)).filter(Boolean);
    const lines = producers.map(({ place }) => this.item.lines.get(place)).filter(at => at && at !== line);
    this.mark(row.element, line ? [line.element] : [], [...producers.map(at => at.element), ...lines.map(at => at.element)]);
    this.chosen = row;
    this.drawArcs();
    element('said').textContent = [`${offsetText(row.offset)} ${row.text}`, row.total > 0 ? shareText(row.total, this.item.total)
      : 'no stalls', ...row.producers.map(({ offset }) => `waits for ${offsetText(offset)}`)].join(', ');
  }

  markLine(line) {
    if (!line.rows.length) {
      this.mark(line.element, [], []);
      this.chosen = null;
      if (this.arcs)
        this.arcs.replaceChildren();
      element('said').textContent = `${this.code.files[line.file].name}:${line.line}, ${this.item.isCpu ? `${shareText(line.self,
        this.item.total)} self, ${shareText(line.total, this.item.total)} total` : 'only in the baseline'}`;
      return;
    }
    const hottest = line.rows.reduce((a, b) => (b.total > a.total ? b : a));
    const producers = hottest.producers.map(({ offset }) => this.item.byOffset.get(offset)).filter(Boolean);
    const rows = [hottest, ...line.rows.filter(row => row !== hottest)];
    this.mark(line.element, rows.map(row => row.element), producers.flatMap(row => {
      const other = this.item.lines.get(row.place);
      return [row.element, ...(other && other !== line ? [other.element] : [])];
    }));
    this.chosen = hottest;
    this.drawArcs();
    element('said').textContent = `${this.code.files[line.file].name}:${line.line}, ${line.total > 0
      ? shareText(line.total, this.item.total) : 'no stalls'}, ${manyText(line.rows.length, 'instruction')}`;
  }

  // Curves from the selected instruction to its producers.
  drawArcs() {
    if (!this.arcs || !this.chosen || !this.chosen.element.isConnected)
      return;
    const pane = element('code-instructions'), box = pane.getBoundingClientRect();
    const middle = at => at.getBoundingClientRect().top + at.offsetHeight / 2 - box.top + pane.scrollTop;
    this.arcs.style.height = `${pane.scrollHeight}px`;
    const column = this.chosen.element.querySelector('.arc');
    if (!column)
      return;
    const left = column.getBoundingClientRect().left - box.left + pane.scrollLeft + column.clientWidth - 4;
    this.arcs.replaceChildren();
    const own = middle(this.chosen.element);
    for (const { offset } of this.chosen.producers) {
      const other = this.item.byOffset.get(offset);
      if (!other || other === this.chosen)
        continue;
      const to = middle(other.element), bow = Math.min(26, 8 + Math.abs(to - own) / 12);
      const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      path.setAttribute('d', `M ${left} ${own} C ${left + bow} ${own}, ${left + bow} ${to}, ${left} ${to}`);
      this.arcs.append(path);
    }
  }

  chooseElement(at) {
    if (at.dataset.row !== undefined)
      this.app.state.set({ kernel: this.item.name, row: offsetText(this.item.rows[Number(at.dataset.row)].offset) }, true);
    else if (at.dataset.place !== undefined) {
      const line = this.item.lines.get(at.dataset.place);
      this.app.state.set({ kernel: this.item.name, row: `${this.code.files[line.file].name}:${line.line}` }, true);
    }
    at.focus({ preventScroll: true });
  }

  click(event) {
    const button = event.target.closest('button[data-offset]'), at = event.target.closest('tbody tr');
    const producer = button && this.item.byOffset.get(Number(button.dataset.offset));
    if (producer)
      this.chooseElement(producer.element);
    else if (at && !at.classList.contains('gap'))
      this.chooseElement(at);
  }

  // Arrows go from row to row, Enter to the other pane, p to what the instruction waits for.
  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey)
      return;
    const at = event.target.closest('.pane tbody tr');
    if (!at)
      return;
    const all = [...at.closest('.pane').querySelectorAll('tbody tr:not(.gap)')], position = all.indexOf(at);
    const to = { ArrowUp: position - 1, ArrowDown: position + 1, PageUp: position - 20, PageDown: position + 20, Home: 0,
      End: all.length - 1 }[event.key];
    const row = this.item.rows[Number(at.dataset.row)];
    const line = row ? this.item.lines.get(row.place) : this.item.lines.get(at.dataset.place);
    const producer = row && row.producers.length ? this.item.byOffset.get(row.producers[0].offset) : null;
    if (to !== undefined) {
      const next = all[Math.max(0, Math.min(all.length - 1, to))];
      next.tabIndex = 0;
      this.chooseElement(next);
    } else if (event.key === 'p' && producer) {
      this.chooseElement(producer.element);
    } else if (event.key === 'Enter' && event.target === at && line && line.rows.length) {
      this.chooseElement(row ? line.element : line.rows[0].element);
    } else {
      return;
    }
    event.preventDefault();
  }
}
