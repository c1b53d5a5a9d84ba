// The GPU code of a profile: functions of devices with their instructions, what those stalled for, and their source.
// What there is of it is as plugins/flamegraph/page_code.h has it.

const PLAIN_NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const CodeFlag = Object.freeze({ INCOMPLETE: 1, UNLISTED: 2 });
const WAITS_FOR = Object.freeze({ 1: 'its result', 2: 'its operands to be read', 3: 'its token', 4: 'its pipeline' });
// Attributes as Intel's compiler calls them, beside a function's name.
const CODE_ATTRIBUTES = Object.freeze([['simd_size', ''], ['grf_count', ''], ['spill_size', ' B'], ['slm_size', ' B']]);
// Lines around those that have instructions; a file of no more lines than this is shown as a whole.
const CODE_CONTEXT = 30, CODE_WHOLE_FILE = 300;
// Rows that are laid out together, when they come into sight: a function may have tens of thousands.
const CODE_CHUNK = 100, CODE_ROW = 22;
// Hue, saturation, lightness of reasons: neighbours differ in lightness as well.
const REASON_COLOURS = Object.freeze([[26, 85, 50], [202, 80, 62], [163, 70, 34], [50, 85, 56], [326, 50, 62],
  [215, 75, 40], [0, 60, 42], [260, 40, 70], [90, 40, 50], [0, 0, 55]]);

function make(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// A table of many rows: parts of it are laid out when they are seen, for which rows are no table's to the browser.
function makeGrid(label, columns, rows) {
  const head = make('tr', {}, ...columns.map(name => make('th', { scope: 'col', textContent: name })));
  const parts = [make('thead', {}, head)];
  for (let i = 0; i < rows.length; i += CODE_CHUNK) {
    const chunk = rows.slice(i, i + CODE_CHUNK);
    const part = make('tbody', {}, ...chunk);
    part.style.containIntrinsicHeight = `auto ${chunk.length * CODE_ROW}px`;
    parts.push(part);
  }
  const table = make('table', {}, ...parts);
  for (const row of [head, ...rows]) {
    row.setAttribute('role', 'row');
    for (const cell of row.children)
      cell.setAttribute('role', row === head ? 'columnheader' : 'gridcell');
  }
  for (const part of parts)
    part.setAttribute('role', 'rowgroup');
  table.setAttribute('role', 'grid');
  table.setAttribute('aria-label', label);
  return table;
}

function reasonColour(reason) {
  return colourText(REASON_COLOURS[reason % REASON_COLOURS.length], 0);
}

function offsetText(offset) {
  return `0x${offset.toString(16)}`;
}

// A function as the page shows it: what its instructions stalled for, of one value type.
function readFunction(listed, type) {
  const rows = listed.instructions.map(([offset, size, name, text, waits, file, line, flags, producers]) => {
    const list = [];
    for (let i = 0; i < producers.length; i += 3)
      list.push({ offset: producers[i], wait: producers[i + 1], token: producers[i + 2] });
    return { offset, size, name, text: text || (waits ? `${name} {${waits}}` : name), waits, file, line, flags,
      producers: list, total: 0, reasons: new Map() };
  });
  const lines = new Map(); // "file:line" -> { file, line, rows, total, reasons }
  rows.forEach((row, position) => {
    row.position = position;
    if (row.file < 0 || !row.line)
      return;
    row.place = `${row.file}:${row.line}`;
    if (!lines.has(row.place))
      lines.set(row.place, { file: row.file, line: row.line, rows: [], total: 0, reasons: new Map() });
    lines.get(row.place).rows.push(row);
  });
  for (const [position, reason, own, value] of listed.stalls)
    if (own === type)
      for (const at of [rows[position], lines.get(rows[position].place)])
        if (at) {
          at.total += value;
          at.reasons.set(reason, (at.reasons.get(reason) || 0) + value);
        }
  return { rows, lines, byOffset: new Map(rows.map(row => [row.offset, row])) };
}

class CodeView {
  constructor(page) {
    this.page = page;
    this.code = page.header.code;
    this.shown = null; // what readFunction() gave
    page.views.add('code', 'GPU code', () => this.show());
    element('code').addEventListener('keydown', event => this.key(event));
    for (const pane of ['code-instructions', 'code-sources'])
      element(pane).addEventListener('click', event => this.click(event));
    element('to-code').hidden = false;
    element('to-code').addEventListener('click', () => this.showNode(page.scene.selected));
  }

  // The value type of the flame graph, if anything of it is here.
  choiceOfType() {
    const types = new Set(this.code.elsewhere.map(([type]) => type));
    for (const { stalls } of this.code.functions)
      for (const [, , type] of stalls)
        types.add(type);
    return types.has(this.page.type) ? this.page.type : Math.min(...types);
  }

  show() {
    const type = this.choiceOfType();
    if (this.type === type)
      return;
    this.type = type;
    this.unit = this.page.header.types[type].unit;
    this.functions = this.code.functions.map(listed => ({ listed,
      total: listed.stalls.reduce((sum, [, , own, value]) => sum + (own === type ? value : 0), 0) }))
      .filter(({ total }) => total > 0).sort((a, b) => b.total - a.total);
    this.showFunctions();
    this.choose(this.functions[0]);
  }

  tell(text) {
    element('said').textContent = text;
  }

  number(value) {
    return this.unit === 'count' ? PLAIN_NUMBER.format(value) : valueText(value, this.unit);
  }

  showFunctions() {
    const elsewhere = this.code.elsewhere.reduce((sum, [type, value]) => sum + (type === this.type ? value : 0), 0);
    const whole = this.functions.reduce((sum, { total }) => sum + total, elsewhere);
    const facts = [`${this.number(whole)} of ${this.page.header.types[this.type].name} on GPUs`];
    if (this.page.times)
      facts.push('of the whole run, whatever part of it the flame graph shows');
    if (elsewhere > 0)
      facts.push(`${this.number(elsewhere)} in code whose instructions are not known`);
    if (this.code.leftOut)
      facts.push(`${this.code.leftOut} records of instructions found no room in this page`);
    element('code-facts').textContent = facts.join(' · ');
    element('code-list').replaceChildren(...this.functions.map(item => {
      const button = make('button', { type: 'button', textContent: item.listed.name });
      button.addEventListener('click', () => this.choose(item));
      const attributes = new Map(item.listed.attributes);
      item.row = make('tr', {}, make('td', { textContent: this.number(item.total), className: 'number' }),
        make('td', { textContent: shareText(item.total, whole), className: 'number' }),
        make('th', { scope: 'row' }, button),
        ...CODE_ATTRIBUTES.map(([name, unit]) => make('td', { className: 'number',
          textContent: attributes.has(name) ? `${attributes.get(name).toLocaleString('en')}${unit}` : '' })));
      return item.row;
    }));
  }

  choose(item) {
    this.item = item;
    for (const { row } of this.functions)
      row.removeAttribute('aria-current');
    element('code-instructions').replaceChildren();
    element('code-sources').replaceChildren();
    element('code-reasons').replaceChildren();
    element('code-about').textContent = item ? '' : 'Nothing stalled in code whose instructions are known.';
    if (!item)
      return;
    item.row.setAttribute('aria-current', 'true');
    this.shown = readFunction(item.listed, this.type);
    this.tellFunction();
    this.showReasons();
    this.showInstructions();
    this.showSources();
    const hottest = this.shown.rows.reduce((a, b) => (b.total > a.total ? b : a), this.shown.rows[0]);
    if (hottest)
      this.chooseRow(hottest, false);
  }

  tellFunction() {
    const { name, symbol, kernel, size, leftOut, attributes } = this.item.listed;
    const unlisted = this.shown.rows.filter(row => row.flags & CodeFlag.UNLISTED).length;
    const facts = [`${kernel ? 'GPU kernel' : 'GPU function'} ${name}`, ...(symbol !== name ? [symbol] : []),
      `${(this.shown.rows.length - unlisted).toLocaleString('en')} instructions in ${size.toLocaleString('en')} bytes`];
    if (leftOut)
      facts.push(`${leftOut.toLocaleString('en')} bytes are not shown: too many, or nothing that can be decoded`);
    if (unlisted)
      facts.push(`${unlisted} known by their samples alone`);
    element('code-about').textContent = [...facts, ...attributes.map(([key, value]) => `${key} ${value}`)].join(' · ');
  }

  showReasons() {
    const sums = new Map();
    for (const row of this.shown.rows)
      for (const [reason, value] of row.reasons)
        sums.set(reason, (sums.get(reason) || 0) + value);
    element('code-reasons').replaceChildren(...[...sums].sort((a, b) => b[1] - a[1]).map(([reason, value]) => {
      const sample = make('span', {});
      sample.style.background = reasonColour(reason);
      return make('li', {}, sample, `${this.code.reasons[reason]} ${this.number(value)}`);
    }));
  }

  reasonsText(at) {
    return [...at.reasons].sort((a, b) => b[1] - a[1])
      .map(([reason, value]) => `${this.code.reasons[reason]} ${this.number(value)}`).join(', ');
  }

  // A cell with a bar as long as its share of the longest one, and its number.
  barCell(at, longest) {
    const cell = make('td', { className: 'stalls' });
    if (!(at.total > 0))
      return cell;
    const text = `${this.reasonsText(at)}; ${shareText(at.total, this.item.total)} of ${this.item.listed.name}`;
    const bar = make('span', { className: 'bar' });
    bar.style.width = `${100 * at.total / longest}%`;
    for (const [reason, value] of [...at.reasons].sort((a, b) => a[0] - b[0])) {
      const part = make('span', {});
      part.style.flexGrow = value / at.total;
      part.style.background = reasonColour(reason);
      part.dataset.reason = this.code.reasons[reason];
      bar.append(part);
    }
    cell.title = text;
    cell.append(make('span', { className: 'track' }, bar), make('span', { textContent: this.number(at.total) }),
      make('span', { className: 'unseen', textContent: ` ${text}` }));
    return cell;
  }

  placeText(row) {
    return row.file < 0 ? '' : `${this.code.files[row.file].name.replace(/.*\//, '')}${row.line ? `:${row.line}` : ''}`;
  }

  producerText(producer) {
    const other = this.shown.byOffset.get(producer.offset);
    return `${offsetText(producer.offset)} ${other ? other.name : '[unknown]'}, ${WAITS_FOR[producer.wait] || 'it'}`;
  }

  producersCell(row) {
    const cell = make('td', { className: 'producers' });
    for (const producer of row.producers) {
      const button = make('button', { type: 'button', tabIndex: -1, textContent: offsetText(producer.offset),
        title: `waits for ${this.producerText(producer)}` });
      button.setAttribute('aria-label', `waits for ${this.producerText(producer)}`);
      button.dataset.offset = producer.offset;
      cell.append(button, ' ');
    }
    if (row.flags & CodeFlag.INCOMPLETE)
      cell.append(row.producers.length ? 'and others' : 'not known');
    return cell;
  }

  showInstructions() {
    const longest = this.shown.rows.reduce((most, row) => Math.max(most, row.total), 0);
    const rows = this.shown.rows.map(row => {
      row.element = make('tr', { tabIndex: -1 },
        make('td', { className: 'number', textContent: offsetText(row.offset) }), this.barCell(row, longest),
        make('td', { className: 'code', textContent: row.text, title: row.waits && `waits: ${row.waits}` }),
        this.producersCell(row), make('td', { textContent: this.placeText(row),
          title: row.file < 0 ? '' : `${this.code.files[row.file].name}:${row.line}` }));
      row.element.dataset.row = row.position;
      return row.element;
    });
    const table = makeGrid(`Instructions of ${this.item.listed.name}`,
      ['Offset', 'Stalls', 'Instruction', 'Waits for', 'Source'], rows);
    const widest = this.shown.rows.reduce((most, { text }) => Math.max(most, text.length), 16);
    const most = this.shown.rows.reduce((most, { producers }) => Math.max(most, producers.length), 1);
    table.style.setProperty('--text-width', `${Math.min(widest, 160) + 2}ch`);
    table.style.setProperty('--producers-width', `${Math.min(most, 8) * 60 + 20}px`);
    element('code-instructions').replaceChildren(table);
  }

  // Files of the function, the one that most stalled in first.
  showSources() {
    const files = new Map();
    for (const line of this.shown.lines.values()) {
      if (!files.has(line.file))
        files.set(line.file, { file: line.file, total: 0, lines: [] });
      files.get(line.file).total += line.total;
      files.get(line.file).lines.push(line);
    }
    const longest = [...this.shown.lines.values()].reduce((most, line) => Math.max(most, line.total), 0);
    const made = [...files.values()].sort((a, b) => b.total - a.total || a.file - b.file)
      .map(file => this.sourceOf(file, longest));
    element('code-sources').replaceChildren(...made.flat());
    if (!made.length)
      element('code-sources').textContent = 'The code has no lines: compile it with -gline-tables-only, or -g.';
  }

  sourceOf({ file, lines }, longest) {
    const { name, why, lines: source } = this.code.files[file];
    const parts = [make('h3', { textContent: name })];
    if (!source)
      parts.push(make('p', { textContent: `Source not available: ${why}.` }));
    const last = Math.max(...lines.map(({ line }) => line));
    if (source && last > source.length)
      parts.push(make('p', { className: 'warning', textContent:
        `The code has a line ${last}, the file has ${source.length}: it is not what was compiled.` }));
    const rows = [];
    let before = 0;
    for (const number of this.numbersOf(lines, source)) {
      if (source && number > before + 1)
        rows.push(this.gapOf(number - before - 1));
      rows.push(this.lineOf(file, number, source, longest));
      before = number;
    }
    if (source && before < source.length)
      rows.push(this.gapOf(source.length - before));
    const table = makeGrid(`Lines of ${name}`, ['Line', 'Stalls', 'Source'], rows);
    const widest = (source || []).reduce((most, [indent, text]) => Math.max(most, indent + text.length), 16);
    table.style.setProperty('--text-width', `${Math.min(widest, 200) + 2}ch`);
    return [...parts, table];
  }

  // The lines that are shown: those with instructions, and, where there is a text, what is around them.
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
    return make('tr', { className: 'gap' }, make('td', {
      textContent: `${count.toLocaleString('en')} line${count === 1 ? '' : 's'} without instructions of it` }));
  }

  lineOf(file, number, source, longest) {
    const line = this.shown.lines.get(`${file}:${number}`);
    const [indent, text] = (source && source[number - 1]) || [0, ''];
    const row = make('tr', { tabIndex: -1 }, make('td', { className: 'number', textContent: number }),
      line ? this.barCell(line, longest) : make('td', {}),
      make('td', { className: 'code', textContent: ' '.repeat(indent) + text }));
    if (line) {
      line.element = row;
      row.dataset.place = `${file}:${number}`;
    }
    return row;
  }

  // What is chosen is marked in one pane, and what belongs to it in the other.
  mark(chosen, related) {
    for (const marked of element('code').querySelectorAll('tr.chosen, tr.related')) {
      marked.classList.remove('chosen', 'related');
      marked.removeAttribute('aria-selected');
    }
    for (const at of [...related, chosen]) {
      at.classList.add(at === chosen ? 'chosen' : 'related');
      at.setAttribute('aria-selected', 'true');
    }
    for (const pane of ['code-instructions', 'code-sources']) {
      const first = element(pane).querySelector('tr.chosen, tr.related') || element(pane).querySelector('tbody tr');
      for (const other of element(pane).querySelectorAll('tr[tabindex="0"]'))
        other.tabIndex = -1;
      if (first)
        first.tabIndex = 0;
    }
    chosen.scrollIntoView({ block: 'nearest' });
    if (related.length && !related.some(at => this.isInSight(at)))
      related[0].scrollIntoView({ block: 'center' });
  }

  isInSight(at) {
    const own = at.getBoundingClientRect(), pane = at.closest('.pane').getBoundingClientRect();
    return own.top >= pane.top && own.bottom <= pane.bottom;
  }

  chooseRow(row, takesFocus = true) {
    const line = this.shown.lines.get(row.place);
    this.mark(row.element, line ? [line.element] : []);
    if (takesFocus)
      row.element.focus();
    const parts = [`${offsetText(row.offset)} ${row.text}`];
    parts.push(row.total > 0 ? `${this.number(row.total)}: ${this.reasonsText(row)}` : 'no stalls');
    parts.push(...row.producers.map(producer => `waits for ${this.producerText(producer)}`));
    if (row.place)
      parts.push(`${this.code.files[row.file].name}:${row.line}`);
    this.tell(parts.join(', '));
  }

  chooseLine(line) {
    this.mark(line.element, line.rows.map(row => row.element));
    line.element.focus();
    this.tell([`${this.code.files[line.file].name}:${line.line}`,
      line.total > 0 ? `${this.number(line.total)}: ${this.reasonsText(line)}` : 'no stalls',
      `${line.rows.length} instruction${line.rows.length === 1 ? '' : 's'}`].join(', '));
  }

  chooseElement(at) {
    if (at.dataset.row !== undefined)
      this.chooseRow(this.shown.rows[Number(at.dataset.row)]);
    else if (at.dataset.place !== undefined)
      this.chooseLine(this.shown.lines.get(at.dataset.place));
    else
      at.focus();
  }

  click(event) {
    const button = event.target.closest('button[data-offset]');
    const at = event.target.closest('tbody tr');
    const producer = button && this.shown.byOffset.get(Number(button.dataset.offset));
    if (producer)
      this.chooseRow(producer);
    else if (at && !at.classList.contains('gap'))
      this.chooseElement(at);
  }

  // Enter goes to the other pane, p to what the instruction waits for.
  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey)
      return;
    if (event.key === 'Escape') {
      this.page.views.choose('flame');
      element('graph').focus();
      return;
    }
    const at = event.target.closest('.pane tbody tr');
    if (!at)
      return;
    const all = [...at.closest('.pane').querySelectorAll('tbody tr:not(.gap)')];
    const position = all.indexOf(at);
    const to = { ArrowUp: position - 1, ArrowDown: position + 1, PageUp: position - 20, PageDown: position + 20,
      Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      const next = all[Math.max(0, Math.min(all.length - 1, to))];
      this.chooseElement(next);
      next.tabIndex = 0;
      return;
    }
    const row = this.shown.rows[Number(at.dataset.row)];
    const line = row ? this.shown.lines.get(row.place) : this.shown.lines.get(at.dataset.place);
    const producer = row && row.producers.length ? this.shown.byOffset.get(row.producers[0].offset) : null;
    if (event.key === 'p' && producer)
      this.chooseRow(producer);
    else if (event.key === 'Enter' && event.target === at && line)
      this.chooseElement(row ? line.element : line.rows[0].element);
    else
      return;
    event.preventDefault();
  }

  // What a node of the flame graph is in: the name of its outermost GPU function, its instruction and its offset.
  placeOf(node) {
    const { tree, total } = this.page.scene, { kind, names } = this.page.frames;
    const place = { function: null, instruction: null, offset: null };
    const path = [...ancestorsOf(tree, node), node].filter(at => at > 0);
    const take = at => {
      const frame = tree.frame[at];
      if (kind[frame] === Kind.DEVICE_FUNCTION && place.function === null)
        place.function = names[frame];
      else if (kind[frame] === Kind.DEVICE_INSTRUCTION && place.instruction === null)
        place.instruction = names[frame];
      else if (kind[frame] === Kind.DEVICE_OFFSET)
        place.offset = Number(names[frame]);
    };
    path.forEach(take);
    // Of an instruction at several offsets, the one that stalled most.
    for (let at = node; at && place.instruction !== null && place.offset === null;) {
      let widest = 0;
      for (let child = tree.first[at]; child; child = tree.next[child])
        if (!widest || total[child] > total[widest])
          widest = child;
      if (widest)
        take(widest);
      at = widest;
    }
    return place;
  }

  showNode(node) {
    const place = this.placeOf(node);
    this.show();
    const found = this.functions.filter(({ listed }) => listed.frames.includes(place.function));
    const isThere = ({ listed }) => listed.instructions.some(([offset, , name]) =>
      offset === place.offset && name === place.instruction);
    const item = found.find(isThere) || found[0];
    if (!item) {
      this.tell(place.function === null ? 'This is not GPU code.' : 'The instructions of this code are not known.');
      return;
    }
    this.page.views.choose('code');
    this.choose(item);
    const row = this.shown.byOffset.get(place.offset);
    if (row)
      this.chooseRow(row);
    else
      item.row.querySelector('button').focus();
  }
}
