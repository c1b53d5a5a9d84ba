// The spans of traces that threads worked on, or their traces: a row each, with the value of every metric, and the GPU
// kernels launched under them. A row links to its own flame graph. Values without a span on the page follow, so that
// the rows add up to the graph. Only pages with spans contain this file.

// The part of the names of spans, "TRACE-SPAN", that a search or a filter contains: at least 8 digits of an id, or both
// ids, as in a traceparent header. '': no id.
function spanIdOf(text) {
  const plain = text.trim().toLowerCase(), both = plain.match(/[\da-f]{32}-[\da-f]{16}/);
  return both ? both[0] : /^[\da-f]{8,32}$/.test(plain) ? plain : '';
}

// "span b7ad6b7169203331", "trace 0af7651916cd43dd8448eb211c80319c"
const spanFilterText = filter => filter.includes('-') ? `span ${filter.split('-')[1]}` : `trace ${filter}`;

class SpansView {
  constructor(app) {
    this.app = app;
    this.most = TABLE_ROWS;
    for (const button of document.querySelectorAll('#spans-by button'))
      button.addEventListener('click', () => app.state.set({ spans: button.dataset.value }, true));
  }

  get isByTrace() { return this.app.state.get('spans') === 'trace'; }

  // Launches of the chosen time, process and thread: { name of the span or '', kernel, count, owner }
  *launches() {
    const { model, state } = this.app, { header, range, origins, frames, thread, trace } = model;
    const spans = launchedSpans(header), pidShown = Number(state.get('process')) || 0, begin = model.times ? model.times.begin : 0;
    const threads = new Map(origins.threads.map(found => [`${found.pid} ${found.tid}`, found])), programs = new Map();
    for (let frame = 0; frame < frames.own; frame++)
      if (frames.kind[frame] === Kind.PROCESS)
        programs.set(frames.pid[frame], threadText(frames.names[frame], frames.pid[frame]));
    for (const [first, last, count, pid, tid, kernel, span] of spans.length ? header.launches.items : []) {
      const known = threads.get(`${pid} ${tid}`), name = span === undefined ? '' : spans[span];
      if ((range && (begin + first >= range.end || begin + last < range.begin)) || (pidShown && pid !== pidShown) ||
        (thread && !(known && (known.name === thread || known.text === thread))) || (trace && !name.includes(trace)))
        continue;
      const owner = [programs.get(pid) || `process ${pid}`, known ? known.text : tid ? `thread ${tid}` : ''];
      yield { name, kernel, count, owner: owner.filter(Boolean).join(', ') };
    }
  }

  // -> { rows, rest, none, all }: rows of spans or traces; rest: the spans that share a frame; none: values without a
  // span
  addUp() {
    const { model } = this.app, { tree, frames, origins, hidden } = model, view = model.view();
    const make = key => ({ key, names: new Set(), owners: new Set(), values: new Float64Array(model.types.length),
      kernels: new Map(), launched: 0 });
    const none = make('No span'), all = make('Total'), byKey = new Map(), byFrame = new Array(frames.own).fill(none);
    for (const { frame, name, owners } of origins.spans) {
      const key = this.isByTrace ? name.split('-')[0] : name, row = byKey.get(key) || make(key);
      byKey.set(key, row);
      byFrame[frame] = row;
      row.names.add(name);
      owners.forEach(owner => row.owners.add(owner));
    }
    const selves = model.range ? model.selvesInRange() : tree.selves, slots = model.values().slotsOfFrames();
    for (let node = 1; node < tree.count; node++) {
      const at = view.becomes[node];
      if (at < 0 || (at && hidden.has(slots[view.frame[at]])))
        continue;
      const row = byFrame[tree.frame[node]];
      for (const type of model.order) {
        row.values[type] += selves[type][node];
        all.values[type] += selves[type][node];
      }
    }
    for (const { name, kernel, count, owner } of this.launches()) {
      const key = this.isByTrace ? name.split('-')[0] : name, row = !name ? none : byKey.get(key) || make(key);
      if (name) {
        byKey.set(key, row);
        row.names.add(name);
        row.owners.add(owner);
      }
      row.kernels.set(kernel, (row.kernels.get(kernel) || 0) + count);
      row.launched += count;
      all.launched += count;
    }
    const found = [...byKey.values()].filter(({ values, launched }) => launched || values.some(value => value > 0)), isOne = ({ names: [name] }) => name.includes('-');
    return { rows: found.filter(isOne), rest: found.filter(row => !isOne(row)), none, all };
  }

  // A search for an id finds it in any row, and other text finds processes and threads, too.
  isFound({ names, owners }) {
    const { expression, state } = this.app, id = spanIdOf(state.get('search'));
    return id ? [...names].some(name => name.includes(id))
      : !expression || [...names].some(name => expression.test(name)) || [...owners].some(owner => expression.test(owner));
  }

  show() {
    const { model } = this.app, { type } = model, { rows, rest, none, all } = this.addUp();
    const found = rows.filter(row => this.isFound(row))
      .sort((a, b) => b.values[type] - a.values[type] || b.launched - a.launched || (a.key < b.key ? -1 : 1));
    this.found = found.length;
    for (const button of document.querySelectorAll('#spans-by button'))
      button.setAttribute('aria-pressed', String((button.dataset.value === 'trace') === this.isByTrace));
    const body = make('tbody', {}, ...found.slice(0, this.most).map((row, i) => this.pickRow(row, all, i === 0)));
    const sums = make('tfoot', {}, ...[...rest, none, all].map(row => this.sumRow(row, all)));
    element('spans-body').replaceChildren(make('thead', {}, this.head()), body, sums);
    this.showKernels(found);
    const more = element('spans-more');
    more.textContent = found.length ? '' : rows.length ? `Nothing matches “${this.app.state.get('search')}”.` : 'No spans.';
    if (found.length > this.most) {
      const button = make('button', { type: 'button', className: 'btn', textContent: manyText(found.length - this.most, 'more row') });
      button.addEventListener('click', () => {
        this.most *= 5;
        this.show();
      });
      more.append(button);
    }
  }

  head() {
    const { model, state } = this.app;
    return make('tr', {}, make('th', { scope: 'col', textContent: 'Trace' }), make('th', { scope: 'col', className: this.isByTrace
      ? 'n' : '', textContent: this.isByTrace ? 'Spans' : 'Span' }), ...model.order.map(type => {
      const isShown = type === model.type, button = make('button', { type: 'button', textContent: model.typeTitle(type) +
        (isShown ? ' ↓' : '') });
      button.addEventListener('click', () => state.set({ value: model.types[type].name, zoom: '', without: '', reason: '' }));
      const cell = make('th', { scope: 'col', className: isShown ? 'n' : 'n other' }, button);
      if (isShown)
        cell.setAttribute('aria-sort', 'descending');
      return cell;
    }), ...(this.hasLaunches ? [make('th', { scope: 'col', className: 'n', textContent: 'GPU launches' })] : []),
      make('th', { scope: 'col', className: 'owner', textContent: 'Process' }));
  }

  // The kernels that the rows have launched, the most frequent first.
  showKernels(rows) {
    const { header } = this.app.model, counts = new Map(), names = launchedSpans(header).length ? header.launches.kernels : [];
    for (const row of rows)
      row.kernels.forEach((count, kernel) => counts.set(kernel, (counts.get(kernel) || 0) + count));
    const sorted = [...counts].sort((a, b) => b[1] - a[1] || (names[a[0]] < names[b[0]] ? -1 : 1));
    element('spans-launches').hidden = !names.length;
    element('spans-kernels').replaceChildren(make('thead', {}, make('tr', {}, make('th', { scope: 'col', textContent: 'GPU kernel' }),
      make('th', { scope: 'col', className: 'n', textContent: 'Launches' }))), make('tbody', {}, ...sorted.slice(0, TABLE_ROWS).map(
      ([kernel, count]) => make('tr', {}, make('td', { className: 'name', title: names[kernel], textContent: shortName(names[kernel]) }),
        make('td', { className: 'n', textContent: grouped(count) })))));
  }

  amounts(row, all) {
    const { model } = this.app;
    const cells = model.order.map(type => {
      const cell = amountCell(row.values[type], all.values[type], model.types[type].unit);
      cell.classList.toggle('other', type !== model.type);
      return cell;
    });
    if (this.hasLaunches)
      cells.push(make('td', { className: 'n launched', textContent: row.launched ? grouped(row.launched) : '' }));
    return cells;
  }

  get hasLaunches() { return launchedSpans(this.app.model.header).length > 0; }

  // Of a process with several threads, those of the span.
  ownerCell({ owners }) {
    const all = [...owners], more = all.length > 1 ? `+${all.length - 1}` : '';
    return make('td', { className: 'name owner', title: all.join('\n') }, all[0] || '', ' ', make('small', { textContent: more }));
  }

  sumRow(row, all) {
    return make('tr', {}, make('th', { scope: 'row', colSpan: 2, textContent: row.key }), ...this.amounts(row, all),
      this.ownerCell(row));
  }

  pickRow(row, all, isFirst) {
    const [trace, span] = row.key.split('-');
    const made = make('tr', { className: 'pick', tabIndex: isFirst ? 0 : -1 }, make('td', { className: 'id', textContent: trace }),
      this.isByTrace ? make('td', { className: 'n', textContent: grouped(row.names.size) }) : make('td', { className: 'id',
        textContent: span }), ...this.amounts(row, all), this.ownerCell(row));
    made.addEventListener('click', () => this.choose(row));
    made.addEventListener('keydown', event => {
      const other = { ArrowDown: made.nextSibling, ArrowUp: made.previousSibling }[event.key];
      if (event.key === 'Enter' || event.key === ' ') {
        this.choose(row);
      } else if (other) {
        made.tabIndex = -1;
        other.tabIndex = 0;
        other.focus();
      } else {
        return;
      }
      event.preventDefault();
    });
    return made;
  }

  // Shows the graph of a row, with a metric that it has. A row with launches only has no graph: a search shows its
  // kernels.
  choose({ key, values }) {
    if (!values.some(value => value > 0)) {
      this.app.state.set({ search: key });
      return;
    }
    const { model, state } = this.app, type = values[model.type] > 0 ? model.type : model.order.find(other => values[other] > 0);
    state.set({ trace: key, view: 'flame', search: '', zoom: '', ...(type === undefined || type === model.type ? {}
      : { value: model.types[type].name, without: '', reason: '' }) });
  }

  // The same of all spans that a search finds by an id.
  chooseFound(spans) {
    const { model, state } = this.app, { rows } = this.addUp(), names = new Set(spans.map(({ name }) => name));
    const values = new Float64Array(model.types.length);
    for (const row of rows)
      if ([...row.names].some(name => names.has(name)))
        row.values.forEach((value, type) => { values[type] += value; });
    this.choose({ key: spans.length > 1 ? spanIdOf(state.get('search')) : spans[0].name, values });
  }
}
