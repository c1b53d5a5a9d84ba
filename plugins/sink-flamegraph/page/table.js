// A table of the profile, and the callers and callees of the selected row. Recursion counts once in totals.

const GROUPINGS = Object.freeze({ function: 'Function', line: 'Source line', kernel: 'GPU kernel', module: 'Module',
  reason: 'Stall reason', process: 'Process', thread: 'Thread' });
const USE_GROUPINGS = Object.freeze(['function', 'kernel']);
const TABLE_ROWS = 100; // at first, and more of them on request

function amountCell(value, whole, unit) {
  const bar = make('i', { className: 'amount' });
  bar.style.width = `${7 * value / whole}rem`;
  return make('td', { className: 'n', 'data-value': Math.round(value), title: exactText(value, unit) }, value ? bar : '',
    make('b', { textContent: value ? shareText(value, whole) : '' }), ' ',
    make('small', { textContent: !value ? '' : unit === 'nanoseconds' ? timeText(value) : countText(value) }));
}

class TableView {
  constructor(app) {
    this.app = app;
    this.most = TABLE_ROWS;
    this.folded = new Set(); // names of classes
    const select = element('table-group');
    for (const [key, name] of Object.entries(GROUPINGS))
      select.add(new Option(name, key));
    select.addEventListener('change', () => app.state.set({ group: select.value, name: '' }));
    element('table-filter').addEventListener('input', () => this.fill());
    this.sandwich = new Sandwich(app);
  }

  // The key of a frame's group; '': none.
  keyOf(group, frame) {
    const { frames } = this.app.model, kind = frames.kind[frame];
    switch (group) {
      case 'line': {
        const line = frames.line[frame];
        return line && frames.files[frame] ? `${baseName(frames.files[frame])}:${line}` : '';
      }
      case 'kernel': return kind === Kind.DEVICE_FUNCTION && this.app.model.kernelNames.has(frames.names[frame]) ? frames.names[frame] : '';
      case 'module': return kind === Kind.DEVICE_LINE || kind === Kind.DEVICE_INSTRUCTION || kind === Kind.STALL_REASON ? ''
        : kind === Kind.DEVICE_FUNCTION ? '[GPU code]' : frames.modules[frame] ? baseName(frames.modules[frame]) : '';
      case 'reason': return kind === Kind.STALL_REASON ? this.app.model.frameName(frame) : '';
      case 'thread': return kind === Kind.THREAD ? threadText(frames.names[frame], frames.pid[frame]) : '';
      case 'process': return kind === Kind.PROCESS ? this.app.model.frameName(frame) : '';
      default: return kind === Kind.DEVICE_LINE || kind === Kind.DEVICE_INSTRUCTION || kind === Kind.STALL_REASON ? ''
        : `${this.app.model.frameName(frame)}`;
    }
  }

  // Rows by group: { key, name, where, group, self, total, mix, frame, number }, the largest self first.
  rowsOf(group, values) {
    const isMerged = this.app.model.merges;
    const known = this.cached && this.cached.values === values && this.cached.group === group && this.cached.isMerged === isMerged;
    if (known)
      return this.cached.rows;
    const { rows, groupOfFrame } = this.groupFrames(group);
    this.addUp(values, rows, groupOfFrame);
    if (this.app.model.isDevice)
      this.addMixes(values, rows, groupOfFrame);
    const used = rows.filter(row => row.total > 0).sort((a, b) => b.self - a.self || b.total - a.total);
    this.cached = { values, group, isMerged, groupOfFrame, rows: used };
    return used;
  }

  groupFrames(group) {
    const { frames } = this.app.model, numbers = new Map(), rows = [], groupOfFrame = new Int32Array(frames.count).fill(-1);
    for (let frame = 0; frame < frames.count; frame++) {
      const key = this.keyOf(group, frame);
      if (!key)
        continue;
      let number = numbers.get(key);
      if (number === undefined) {
        number = rows.length;
        numbers.set(key, number);
        rows.push({ key, name: key, frame, number, isLine: group === 'line', isFunction: group === 'function', self: 0, total: 0,
          mix: null });
      }
      groupOfFrame[frame] = number;
    }
    return { rows, groupOfFrame };
  }

  // The self value of a node belongs to the innermost frame that has a group. Frames within frames of the same group
  // are not counted.
  addUp({ view, self, total }, rows, groupOfFrame) {
    const { count, parent, frame, end } = view, owner = new Int32Array(count).fill(-1), on = new Int32Array(rows.length);
    const selves = new Float64Array(rows.length), totals = new Float64Array(rows.length);
    let open = new Int32Array(1024), depth = 0;
    for (let node = 1; node < count; node++) {
      while (depth && end[open[depth - 1]] <= node)
        on[groupOfFrame[frame[open[--depth]]]]--;
      if (!(total[node] > 0)) {
        node = end[node] - 1;
        continue;
      }
      const own = groupOfFrame[frame[node]];
      owner[node] = own >= 0 ? own : owner[parent[node]];
      if (owner[node] >= 0)
        selves[owner[node]] += self[node];
      if (own < 0)
        continue;
      if (!on[own]++)
        totals[own] += total[node];
      if (depth === open.length) {
        const larger = new Int32Array(2 * depth);
        larger.set(open);
        open = larger;
      }
      open[depth++] = node;
    }
    for (const row of rows) {
      row.self = selves[row.number];
      row.total = totals[row.number];
    }
  }

  // Each stall counts once for each row on its stack.
  addMixes({ view, reasons }, rows, groupOfFrame) {
    const { parent, frame } = view, size = REASONS.length, sums = new Float64Array(rows.length * size);
    const counted = new Int32Array(rows.length);
    let mark = 0;
    reasons.forEach(({ nodes, sums: own }, slot) => {
      for (let i = 0; i < nodes.length; i++) {
        const value = own[i + 1] - own[i];
        mark++;
        for (let at = nodes[i]; at > 0; at = parent[at]) {
          const row = groupOfFrame[frame[at]];
          if (row >= 0 && counted[row] !== mark) {
            counted[row] = mark;
            sums[row * size + slot] += value;
          }
        }
      }
    });
    for (const row of rows)
      row.mix = sums.subarray(row.number * size, (row.number + 1) * size);
  }

  // The location of a row's function, line or kernel.
  whereOf(row) {
    const { model } = this.app, { frames } = model, { frame } = row;
    if (row.isLine)
      return model.sourceText(frames.files[frame], frames.line[frame]);
    return model.placeOf(frame) || (frames.modules[frame] && row.isFunction ? baseName(frames.modules[frame]) : '');
  }

  groupOfRow(row) { return groupOf(this.app.model.frames, row.frame); }

  show() {
    const { model, state } = this.app;
    const group = state.get('group') in GROUPINGS ? state.get('group') : 'function';
    element('table-group').value = group;
    const threads = group === 'thread' ? 'yes' : model.threads;
    const lines = group === 'line' ? 'yes' : state.get('lines'), valuesOf = side => model.during({ lines }, () => model.unfoldedValues(Detail.LINE, side, threads));
    this.before = this.app.compare ? valuesOf(1) : null;
    const earlier = this.before ? this.rowsOf(group, this.before) : [];
    this.values = valuesOf(0);
    this.rows = this.rowsOf(group, this.values);
    if (this.before)
      this.rows = this.withChanges(this.rows, earlier);
    this.fullest = !this.before && model.isDevice && USE_GROUPINGS.includes(group) ? model.analysis.fullest : null;
    for (const row of this.fullest ? this.rows : [])
      row.use = this.useOf(row);
    this.fill();
  }

  // How much of the device a row's kernel uses, a part of 1; 0: not known, or no kernel.
  useOf({ frame }) {
    const { model } = this.app, kernel = model.frames.kind[frame] === Kind.DEVICE_FUNCTION && model.analysis.kernels.get(model.frames.names[frame]);
    return kernel && kernel.use && !kernel.use.isLimit ? kernel.use.part : 0;
  }

  // The heading of the column and its explanation.
  useHead() {
    const { model } = this.app;
    return ['use', `${model.types[model.type].device} use`, 'n', `Samples per time, compared with ${shortName(this.fullest.name)}, the fullest kernel with ${
      100 * FULLEST_SHARE}${THIN}% of ${model.typeLabel()} or more. Blank: fewer than ${USE_SAMPLES} samples`];
  }

  // Rows with their values in the baseline, and rows that only the baseline has.
  withChanges(rows, earlier) {
    const { factor } = this.app.compare, before = new Map(earlier.map(row => [row.key, row]));
    const changed = rows.map(row => {
      const known = before.get(row.key);
      before.delete(row.key);
      const base = known ? factor * known.total : 0;
      return { ...row, base, change: row.total - base };
    });
    return [...changed, ...[...before.values()].map(row => ({ ...row, gone: row, self: 0, total: 0, mix: null, base: factor * row.total,
      change: -factor * row.total }))];
  }

  compareRows(sort) {
    return sort === 'name' ? (a, b) => a.name.localeCompare(b.name)
      : sort === 'change' ? (a, b) => Math.abs(b.change) - Math.abs(a.change) || b.total - a.total
        : (a, b) => b[sort] - a[sort] || b.total - a.total;
  }

  // Kernels by class in the same order, the class without a rule last; null: no class is known.
  sectionsOf(rows, sort) {
    const { classes } = this.app.model.frames, sections = new Map();
    if (this.app.state.get('group') !== 'kernel' || !this.rows.some(row => classes[row.frame]))
      return null;
    for (const row of rows) {
      const name = classes[row.frame] || OTHER_CLASS;
      const section = sections.get(name) || { name, rows: [], self: 0, total: 0, base: 0, change: 0, mix: null };
      sections.set(name, section);
      section.rows.push(row);
      for (const key of ['self', 'total', 'base', 'change'])
        section[key] += row[key] || 0;
      if (row.mix)
        section.mix = row.mix.map((value, slot) => value + (section.mix ? section.mix[slot] : 0));
    }
    const isOther = ({ name }) => name === OTHER_CLASS, compare = this.compareRows(sort === 'use' ? 'total' : sort);
    return [...sections.values()].sort((a, b) => isOther(a) - isOther(b) || compare(a, b));
  }

  fill() {
    const { model, state } = this.app, whole = this.values.total[0];
    const filter = element('table-filter').value.toLowerCase();
    const sorts = ['name', 'self', 'total', ...(this.before ? ['change'] : []), ...(this.fullest ? ['use'] : [])];
    const sort = sorts.includes(state.get('sort')) ? state.get('sort') : 'self';
    const { expression, found } = this.app, group = state.get('group');
    const rows = this.rows.filter(row => (!filter || `${row.name} ${group === 'kernel' ? model.frames.classes[row.frame] || OTHER_CLASS : ''}`.toLowerCase().includes(filter)) &&
      (!expression || found[row.frame] || expression.test(row.name)));
    this.found = rows.length;
    rows.sort(this.compareRows(sort));
    const heads = [['name', 'Name', ''], ['self', 'Self', 'n'], ['total', 'Total', 'n'], ...(this.before ? [['change', 'Change', 'n']] : []),
      ...(this.fullest ? [this.useHead()] : []), ...(model.isDevice ? [['', 'Stall reasons', '']] : [])];
    const head = make('tr', {}, ...heads.map(([key, label, className, title = '']) => {
      const cell = make('th', { className, scope: 'col' });
      if (!key) {
        cell.textContent = label;
        return cell;
      }
      const button = make('button', { type: 'button', title, textContent: label + (sort === key ? ' ↓' : '') });
      button.addEventListener('click', () => state.set({ sort: key }, true));
      if (sort === key)
        cell.setAttribute('aria-sort', key === 'name' ? 'ascending' : 'descending');
      cell.append(button);
      return cell;
    }));
    const sections = this.sectionsOf(rows, sort);
    const shown = sections ? sections.flatMap(section => [section, ...(this.folded.has(section.name) ? [] : section.rows)]) : rows;
    const chosen = rows.find(row => row.key === state.get('name')) || this.rows.find(row => row.key === state.get('name'))
      || (sections && rows.length ? sections[0].rows[0] : rows[0]);
    const body = make('tbody', {}, ...shown.slice(0, this.most).map(row => (row.rows ? this.headingOf(row, whole)
      : this.rowOf(row, whole, row === chosen))));
    element('table-body').replaceChildren(make('thead', {}, head), body);
    element('table-body').classList.toggle('has-use', Boolean(this.fullest));
    element('table-more').textContent = rows.length ? '' : filter || expression
      ? `Nothing matches “${filter || state.get('search')}”.` : 'No samples.';
    if (shown.length > this.most) {
      const button = make('button', { type: 'button', className: 'btn', textContent: `${manyText(shown.length - this.most,
        'more row')}` });
      button.addEventListener('click', () => {
        this.most *= 5;
        this.fill();
      });
      element('table-more').append(button);
    }
    if (chosen && chosen.gone)
      this.sandwich.show(chosen.gone, this.cached.groupOfFrame, this.before);
    else
      this.sandwich.show(chosen || null, this.cached.groupOfFrame, this.values);
  }

  changeCell({ base, total, change }) {
    const { compare, model } = this.app;
    return make('td', { className: `n ${change > 0 ? 'up' : change < 0 ? 'down' : ''}`, title: `${exactText(base, model.unit)} → ${
      exactText(total, model.unit)}, ${compare.growthText(base, total)}`, textContent: compare.changeText(base, total) });
  }

  // The cells that a kernel and its class have.
  amountsOf(row, whole) {
    const { model } = this.app, number = value => amountCell(value, whole, model.unit);
    return [number(row.self), number(row.total), this.before && this.changeCell(row),
      this.fullest && make('td', { className: 'n', textContent: row.use ? useText({ part: row.use }) : '' }),
      ...(model.isDevice ? [make('td', { className: 'mixcell' }, row.mix ? mixBar(row.mix) : '')] : [])];
  }

  // A name without brackets keeps its end, which distinguishes the kernels of a family.
  nameOf(row) {
    const isKernel = this.groupOfRow(row) === 'gpu', where = this.whereOf(row);
    const name = shortName((isKernel && plainName(row.name, false)) || row.name);
    return !where && isKernel && !/[<(]/.test(name) ? [nameWithEnd('span', row.name)]
      : [name, ' ', make('small', { textContent: where })];
  }

  // A class and the sums of its kernels; a click folds them.
  headingOf(section, whole) {
    const isFolded = this.folded.has(section.name);
    const button = make('button', { type: 'button', 'aria-expanded': String(!isFolded) }, make('i', { textContent: isFolded ? '▸' : '▾' }),
      section.name, ' ', make('small', { textContent: manyText(section.rows.length, 'kernel') }));
    button.addEventListener('click', () => {
      if (!this.folded.delete(section.name))
        this.folded.add(section.name);
      this.fill();
      [...element('table-body').querySelectorAll('tr.class')].find(row => row.dataset.name === section.name).querySelector('button').focus();
    });
    const made = make('tr', { className: 'class' }, make('td', { className: 'name', title: section.name }, button), ...this.amountsOf(section, whole));
    made.dataset.name = section.name;
    return made;
  }

  rowOf(row, whole, isChosen) {
    const { model } = this.app;
    const swatch = make('i', { className: 'swatch' });
    swatch.style.background = `var(--frame-${this.groupOfRow(row)})`;
    if (this.app.state.get('group') === 'reason')
      swatch.style.background = `var(--reason-${slotOf(model.frames.names[row.frame])})`;
    const made = make('tr', { className: isChosen ? 'pick sel' : 'pick', tabIndex: isChosen ? 0 : -1 },
      make('td', { className: 'name', title: row.name }, swatch, ...this.nameOf(row)),
      ...this.amountsOf(row, whole));
    made.setAttribute('aria-selected', String(isChosen));
    const choose = () => this.app.state.set({ name: row.key }, true);
    made.addEventListener('click', choose);
    made.addEventListener('dblclick', () => this.groupOfRow(row) === 'gpu' && this.app.openCode({ kernel: row.name }));
    made.addEventListener('keydown', event => {
      const side = { ArrowDown: 'nextSibling', ArrowUp: 'previousSibling' }[event.key];
      let other = side && made[side];
      while (other && !other.classList.contains('pick'))
        other = other[side];
      if (event.key === 'Enter' || event.key === ' ')
        choose();
      else if (other)
        other.click();
      else
        return;
      event.preventDefault();
      const now = element('table-body').querySelector('tr.sel');
      if (now)
        now.focus();
    });
    return made;
  }
}

const LEAST_SANDWICH = 16; // pixels: narrower cells are merged

const LEAST_FOLDED = 90; // pixels: wide enough for a name and the number of functions

// Callers above and callees below: trees whose nodes are created when they come into view.
class Sandwich {
  constructor(app) {
    this.app = app;
    this.canvas = element('sandwich');
    this.pen = new Pen(this.canvas);
    this.draw = oncePerFrame('sandwich', () => this.drawNow());
    this.canvas.addEventListener('mousemove', event => {
      const cell = this.cellAt(event);
      this.app.tip.show(cell ? () => this.describe(cell) : null, event);
    });
    this.canvas.addEventListener('mouseleave', () => this.app.tip.show(null));
    this.canvas.addEventListener('click', event => this.click(event));
    element('sandwich-code').addEventListener('click', () => this.app.openCode({ kernel: this.row.name }));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  click(event) {
    const cell = this.cellAt(event);
    if (!cell || cell.frame < 0)
      return;
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    if (cell.chip && x >= cell.chip[0]) {
      this.unfolded.add(cell.last);
      this.draw();
    } else {
      this.choose(cell.frame);
    }
  }

  choose(frame) {
    const { state } = this.app, group = state.get('group');
    const key = this.app.table.keyOf(group, frame);
    state.set(key ? { name: key } : { name: this.app.table.keyOf('function', frame), group: 'function' }, true);
  }

  show(row, groupOfFrame, values) {
    this.row = row;
    this.unfolded = new Set();
    Object.assign(element('sandwich-title'), row ? { textContent: shortName(row.name), title: row.name } : { textContent: '', title: '' });
    element('sandwich-code').hidden = !row || !this.app.code || this.app.table.groupOfRow(row) !== 'gpu';
    element('sandwich-note').textContent = row ? `${shareText(row.total, values.total[0])} total, ` +
      `${shareText(row.self, values.total[0])} self${values === this.app.table.before ? ', only in the baseline' : ''}` : '';
    if (row) {
      const { view: { count, frame, end }, total } = values, outermost = [];
      for (let node = 1; node < count;) {
        const isOutermost = groupOfFrame[frame[node]] === row.number;
        if (isOutermost && total[node] > 0)
          outermost.push(node);
        node = isOutermost ? end[node] : node + 1;
      }
      this.values = values;
      this.callees = { frame: -1, value: row.total, nodes: outermost };
      this.callers = { frame: -1, value: row.total, nodes: outermost, values: outermost.map(node => total[node]) };
    }
    this.draw();
  }

  // The largest first, stall reasons in their order.
  sort(groups) {
    const slots = this.values.slotsOfFrames();
    return [...groups.values()].sort((a, b) => slots[a.frame] - slots[b.frame] || b.value - a.value || a.frame - b.frame);
  }

  below(cell) {
    if (!cell.children) {
      const { view: { end, frame }, total } = this.values, groups = new Map();
      for (const node of cell.nodes)
        for (let child = node + 1; child < end[node]; child = end[child]) {
          if (!(total[child] > 0))
            continue;
          let group = groups.get(frame[child]);
          if (!group)
            groups.set(frame[child], group = { frame: frame[child], value: 0, nodes: [] });
          group.value += total[child];
          group.nodes.push(child);
        }
      cell.children = this.sort(groups);
    }
    return cell.children;
  }

  above(cell) {
    if (!cell.children) {
      const { view: { parent, frame } } = this.values, groups = new Map();
      cell.nodes.forEach((node, i) => {
        const caller = parent[node];
        if (caller <= 0)
          return;
        let group = groups.get(frame[caller]);
        if (!group)
          groups.set(frame[caller], group = { frame: frame[caller], value: 0, nodes: [], values: [] });
        group.value += cell.values[i];
        group.nodes.push(caller);
        group.values.push(cell.values[i]);
      });
      cell.children = this.sort(groups);
    }
    return cell.children;
  }

  // Those wide enough to be drawn, and the others as one: the last, but before issuing.
  merge(children, scale) {
    const slots = this.values.slotsOfFrames();
    const isWide = ({ frame, value }) => value * scale >= (slots[frame] >= 0 ? LEAST_REASON : LEAST_SANDWICH);
    const wide = children.filter(isWide), narrow = children.filter(child => !isWide(child));
    if (narrow.length < 2)
      return children;
    const areReasons = narrow.every(({ frame }) => slots[frame] >= 0);
    const merged = { frame: -1, value: narrow.reduce((sum, { value }) => sum + value, 0), parts: narrow,
      more: areReasons ? 'Smaller reasons' : `${narrow.length} more` };
    const last = wide[wide.length - 1];
    return last && slots[last.frame] === ISSUING ? [...wide.slice(0, -1), merged, last] : [...wide, merged];
  }

  drawNow() {
    const { pen } = this;
    if (!pen.width)
      return;
    pen.fit();
    this.cells = [];
    if (!this.row)
      return;
    const high = Math.round(1.7 * pen.rem), scale = pen.width / this.row.total;
    const most = Math.floor(pen.height * 0.6 / high);
    const middle = this.middle = (1 + this.depthOf(this.callers, scale, most)) * high;
    const place = (cell, x, y, step, childrenOf) => {
      const top = step < 0 ? y - high : y;
      if (cell.more || top < -high || top > pen.height)
        return;
      let at = x;
      for (const child of this.merge(childrenOf(cell), scale)) {
        const wide = child.value * scale, run = this.runOf(child, childrenOf, wide), last = run[run.length - 1];
        this.put(child, at, top, wide, high - 1, run);
        place(last, at, step < 0 ? top : y + high, step, childrenOf);
        at += wide;
      }
    };
    place(this.callers, 0, middle - high, -1, cell => this.above(cell));
    place(this.callees, 0, middle, 1, cell => this.below(cell));
    pen.box(0, middle - high, pen.width, high - 1, pen.accent, 3);
    pen.setFont(12, 650);
    pen.context.fillStyle = inkOn(pen.accent);
    pen.writeName(this.row.name, 7, middle - high / 2, pen.width - 14);
    pen.setFont(11);
    pen.context.fillStyle = pen.text3;
    if (!this.below(this.callees).length)
      pen.context.fillText('No callees', 2, middle + high / 2);
  }

  // A function and its chain of only children, folded as in the flame graph; the nearest one is shown.
  runOf(cell, childrenOf, wide) {
    const run = [cell], { frames } = this.app.model;
    const canFold = ({ more, frame }) => !more && (frames.kind[frame] === Kind.USER || frames.kind[frame] === Kind.LINUX_KERNEL)
      && ['native', 'inlined', 'linux'].includes(groupOf(frames, frame));
    for (let at = cell; canFold(at);) {
      const children = childrenOf(at);
      if (children.length !== 1 || children[0].value < at.value || !canFold(children[0]))
        break;
      [at] = children;
      run.push(at);
    }
    return run.length < FOLD_LEAST || wide < LEAST_FOLDED || this.unfolded.has(run[run.length - 1]) ? [cell] : run;
  }

  // The number of caller rows to draw, limited by the available space.
  depthOf(cell, scale, most) {
    if (cell.more || !most)
      return 0;
    return this.merge(this.above(cell), scale).reduce((deepest, child) => Math.max(deepest, 1 + this.depthOf(
      this.runOf(child, at => this.above(at), child.value * scale).pop(), scale, most - 1)), 0);
  }

  put(cell, x, y, w, h, run) {
    const { pen } = this, { frames } = this.app.model, { frame } = cell;
    const slot = cell.more ? -1 : this.values.slotsOfFrames()[frame];
    const fill = colourOf(slot >= 0 ? PALETTE.reasons[slot] : PALETTE.frames[cell.more ? 'more' : groupOf(frames, frame)]);
    pen.box(x, y, w > 3 ? w - 1 : w, h, fill, slot >= 0 ? 0 : 3);
    const folded = run.length, drawn = { ...cell, last: run[folded - 1], folded, x, y, w, h };
    this.cells.push(drawn);
    if (w < 26)
      return;
    pen.setFont(12);
    pen.context.fillStyle = inkOn(fill);
    const share = shareText(cell.value, this.row.total), wide = pen.widthOf(share);
    let right = x + w - 7;
    if (w > 130) {
      pen.context.fillText(share, right - wide, y + h / 2);
      right -= wide + 8;
    }
    if (folded > 1) {
      const chip = pen.chip(`+${folded - 1}`, right, y + h / 2, h - 4, fill, inkOn(fill));
      drawn.chip = chip;
      [right] = chip;
    }
    pen.setFont(12);
    pen.writeName(cell.more || this.app.model.frameName(frame), x + 6, y + h / 2, right - x - 10);
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    return (this.cells || []).find(cell => x >= cell.x && x < cell.x + cell.w && y >= cell.y && y < cell.y + cell.h);
  }

  describe(cell) {
    const { model } = this.app, share = value => `${shareText(value, this.row.total)} (${exactText(value, model.unit)})`;
    return { title: cell.more || model.frameName(cell.frame), sub: cell.more ? '' : [model.placeOf(cell.frame),
      cell.folded > 1 ? `${cell.folded} functions, one calling the next` : ''].filter(Boolean).join(', '), lines: [
      [`Of ${shortName(this.row.name, TIP_NAME)}`, share(cell.value)],
      ...(cell.parts || []).slice(0, 5).map(part => [shortName(model.frameName(part.frame), TIP_NAME), share(part.value)])] };
  }
}
