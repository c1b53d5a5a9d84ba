// Two runs in one graph: which frames grew and which shrank, shown by colours and numbers.

const CHANGE_LIMITS = [0.004, 0.03, 0.08]; // of the earlier total

class Compare {
  constructor(app) {
    this.app = app;
    this.model = app.model;
    this.difference = this.model.header.difference;
  }

  get factor() { return this.difference.factors[this.model.type]; }

  // Values of both runs; those of the earlier run are scaled to be comparable.
  take() {
    this.after = this.model.values();
    this.before = this.model.values(undefined, 1);
    this.whole = Math.max(this.factor * this.before.total[0], 1e-9);
  }

  // The run whose values are the widths: the one with the larger total, unless chosen.
  get width() {
    const chosen = this.app.state.get('width');
    return chosen || (this.after.total[0] < this.factor * this.before.total[0] ? 'before' : 'after');
  }

  get shown() { return this.width === 'before' ? this.before : this.after; }

  sums(cell) {
    const sum = (values, scale) => cell.slot !== undefined || cell.slots
      ? values.mixOf(cell.nodes).reduce((all, value, slot) =>
        all + (slot === cell.slot || (cell.slots && cell.slots.includes(slot)) ? value : 0), 0) * scale
      : cell.nodes.reduce((all, node) => all + values.total[node], 0) * scale;
    return { before: sum(this.before, this.factor), after: sum(this.after, 1) };
  }

  step(change) {
    const part = Math.abs(change) / this.whole;
    const step = part < CHANGE_LIMITS[0] ? 0 : part < CHANGE_LIMITS[1] ? 1 : part < CHANGE_LIMITS[2] ? 2 : 3;
    return change > 0 ? 3 + step : 3 - step;
  }

  // CPU frames have at most the palest step if there is device code, so that the cause is the darkest.
  colour(cell) {
    if (this.app.flame.isCallers)
      return null;
    const { before, after } = this.sums(cell);
    let step = this.step(after - before);
    if (this.app.model.isDevice && cell.band === undefined)
      step = Math.max(2, Math.min(4, step));
    return colourOf(PALETTE.changes[step]);
  }

  changeText(before, after) {
    const change = after - before, sign = change > 0 ? '+' : change < 0 ? '−' : '';
    return `${sign}${shareText(Math.abs(change), this.whole)}`;
  }

  growthText(before, after) {
    if (!before || !after)
      return before ? 'gone' : after ? 'new' : 'unchanged';
    return `${after > before ? '+' : after < before ? '−' : ''}${shareText(Math.abs(after - before), before)}`;
  }

  shareText(cell) {
    const { before, after } = this.sums(cell);
    return this.changeText(before, after);
  }

  describe(cell) {
    const { before, after } = this.sums(cell), { unit } = this.model;
    const scaled = this.factor === 1 ? '' : ` (scaled by ${Number(this.factor.toPrecision(4))})`;
    return [[`Baseline${scaled}`, exactText(before, unit)], ['After', exactText(after, unit)],
      ['Change', `${this.growthText(before, after)}, ${this.changeText(before, after)} of the baseline`]];
  }

  // Groups that changed most, for the panel.
  changes() {
    const found = new Map();
    const group = this.model.isDevice ? 'kernel' : 'function';
    for (const [values, key, scale] of [[this.before, 'before', this.factor], [this.after, 'after', 1]])
      for (const row of this.app.table.rowsOf(group, values)) {
        if (!found.has(row.key))
          found.set(row.key, { name: row.key, before: 0, after: 0 });
        found.get(row.key)[key] += scale * (group === 'kernel' ? row.total : row.self);
      }
    return [...found.values()].map(item => ({ ...item, change: item.after - item.before }))
      .sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
  }

  // The stall that changed most: { kernel, line, slot, before, after }; null: none did
  topStall() {
    const found = new Map();
    for (const [side, key, scale] of [[1, 'before', this.factor], [0, 'after', 1]])
      for (const kernel of new Analysis(this.model, this.model.unfoldedValues(Detail.LINE, side)).sorted)
        for (const item of kernel.lines.size ? kernel.lines.values() : [kernel])
          item.mix.forEach((value, slot) => {
            const name = `${kernel.name}\n${item.frame}\n${slot}`;
            if (slot === ISSUING || !(value > 0))
              return;
            if (!found.has(name))
              found.set(name, { kernel: kernel.name, line: item.line || 0, slot, before: 0, after: 0 });
            found.get(name)[key] += scale * value;
          });
    const change = ({ before, after }) => Math.abs(after - before);
    const top = [...found.values()].reduce((a, b) => (a && change(a) >= change(b) ? a : b), null);
    return top && change(top) >= CHANGE_LIMITS[1] * this.whole ? top : null;
  }

  stallSentence() {
    const top = this.model.isDevice ? this.topStall() : null;
    return top && make('p', { className: 'say' }, make('b', { textContent: top.kernel }), `${top.line ? ` line ${top.line}` : ''}: ${
      inSentence(REASONS[top.slot].label)} ${top.after < top.before ? 'fell' : 'rose'} from ${shareText(top.before, this.whole)} to ${
      shareText(top.after, this.whole)} of the baseline.`);
  }

  sections() {
    const { model } = this;
    const before = this.factor * this.before.total[0], after = this.after.total[0];
    const what = model.typeLabel();
    const head = make('section', {});
    const isSame = Math.abs(after - before) < CHANGE_LIMITS[0] * this.whole;
    head.append(make('p', { className: 'lead' }, isSame ? `The same ${what}` : make('em', { className: after < before ? 'down'
      : 'up', textContent: this.growthText(before, after) }), isSame ? '' : ` ${what}`),
    make('p', { className: 'say', textContent: `${model.valueText(before)} before, ${model.valueText(after)} after` +
      (this.difference.normalization === 'none' ? '.' : `, compared by ${this.difference.normalization}.`) }));
    const sentence = this.stallSentence();
    if (sentence)
      head.append(sentence);
    const changes = this.changes();
    const list = (title, items) => {
      if (!items.length)
        return null;
      const rows = items.slice(0, 8).map(item => {
        const button = make('button', { type: 'button', className: 'drow', title: item.name },
          make('b', { textContent: shortName(item.name) }),
          make('span', { className: item.change < 0 ? 'down' : 'up', textContent: this.changeText(item.before, item.after) }),
          make('small', { textContent: `${model.valueText(item.before)} → ${model.valueText(item.after)}, ` +
            this.growthText(item.before, item.after) }));
        button.addEventListener('click', () => this.app.search(item.name));
        return button;
      });
      return this.app.summary.section(title, '', ...rows);
    };
    const least = 0.001 * this.whole;
    return [head, list('Less', changes.filter(({ change }) => change < -least)),
      list('More', changes.filter(({ change }) => change > least)), this.runs()].filter(Boolean);
  }

  // The metadata of both runs.
  runs() {
    const list = make('dl', { className: 'quality' });
    for (const [name, header] of [['Baseline', this.difference], ['After', this.model.header]])
      list.append(make('dt', { textContent: name }), make('dd', { textContent: runFacts(header.nanoseconds, header.begin) }));
    for (const { source, reason, count, before } of this.model.header.lost)
      list.append(make('dt', { textContent: `${source}: ${reason}` }),
        make('dd', { className: 'bad', textContent: `${grouped(before)}, ${grouped(count)} lost` }));
    return this.app.summary.section('Runs', '', list);
  }

  showScale() {
    const scale = element('change-scale');
    scale.replaceChildren(...PALETTE.changes.map((colour, i) => {
      const item = make('i', {});
      item.style.background = colourOf(colour);
      item.title = i < 3 ? 'less' : i > 3 ? 'more' : 'unchanged';
      return item;
    }));
    const before = this.factor * this.before.total[0], after = this.after.total[0];
    element('compare-before').textContent = this.model.valueText(before);
    element('compare-after').textContent = this.model.valueText(after);
    element('compare-change').textContent = this.growthText(before, after);
    element('compare-change').className = `num ${after < before ? 'down' : after > before ? 'up' : ''}`;
    for (const button of document.querySelectorAll('#compare-width button'))
      button.setAttribute('aria-pressed', String(button.dataset.width === this.width));
  }
}

function runFacts(nanoseconds, begin) {
  const day = begin ? `${new Date(begin / 1e6).toISOString().replace(/\.\d+Z/, ' UTC').replace('T', ' ')}, ` : '';
  return `${day}${timeText(nanoseconds)}`;
}
