// The page: its parts, and how the reader's choices change them.

const TABS = Object.freeze([['flame', 'Flame graph'], ['table', 'Table'], ['spans', 'Spans'], ['code', 'GPU code'], ['timeline', 'Timeline']]);
const VIEW_KEYS = Object.freeze({ flame: [['Click', 'Zoom'], ['Double-click', 'Code'], ['Esc', 'Back'], ['← ↑ ↓ →', 'Move'],
  ['Ctrl', '+ wheel Zoom']], table: [['Click', 'Select'], ['↑ ↓', 'Move'], ['Esc', 'Back']],
spans: [['Click', 'Flame graph'], ['↑ ↓', 'Move'], ['Enter', 'Flame graph'], ['Esc', 'Back']],
code: [['↑ ↓', 'Move'], ['Enter', 'Other pane'], ['p', 'Producer'], ['Esc', 'Back']],
timeline: [['Ctrl', '+ wheel Zoom'], ['Drag', 'Select'], ['Esc', 'Back']] });
const ALL_KEYS = Object.freeze([['← ↑ ↓ →', 'move between frames'], ['Enter', 'zoom into the frame'],
  ['+ −, Ctrl + wheel', 'zoom; Shift + ← → or Shift + wheel: pan'], ['Esc, Backspace', 'undo'], ['0', 'reset zoom, time and filters'], ['/', 'search'], ['1 to 5', 'views'], ['c', 'code of the frame'],
  ['p', 'what it waits for'], ['f', 'focus on the frame'], ['i', 'ignore stacks with the frame'],
  ['w', 'width: baseline or after'], ['y', 'copy the link'], ['?', 'this list']]);

class App {
  constructor(profile) {
    this.state = new State();
    this.model = new Model(profile, this.state);
    this.tip = new Tip();
    this.setTheme(storedTheme());
    this.compare = null;
    if (profile.header.difference)
      this.compare = new Compare(this);
    this.code = profile.header.code ? new CodeView(this) : null;
    this.table = new TableView(this);
    this.spans = this.model.origins.spans.length || launchedSpans(this.model.header).length ? new SpansView(this) : null;
    this.activity = activityOf(this.model);
    this.npu = this.activity ? new NpuView(this) : null;
    this.flame = new FlameView(this);
    this.side = new SidePane(this);
    this.summary = new Summary(this);
    this.reasonBar = new ReasonBar(this);
    this.strip = new TimeStrip(this, this.npu ? this.npu.jobs() : []);
    this.fillBar();
    this.listen();
    this.state.listen(changed => keepFocus(() => this.update(changed)));
    this.update(null);
    roveAll();
  }

  // Shows the program or target in the title, and facts about the run beside it.
  fillBar() {
    const { header } = this.model, metadata = new Map(header.metadata);
    const command = metadata.get('command'), target = metadata.get('target') || '';
    const name = header.title || command || target.replace(/^./, first => first.toUpperCase()) || 'iaprof';
    element('title').textContent = name;
    document.title = name === 'iaprof' ? name : `${name} - iaprof`;
    element('title').title = name;
    // For an imported text, the recorded duration is that of reading it.
    const length = !header.begin && metadata.has('input') ? '' : timeText(header.nanoseconds);
    const facts = element('facts');
    const known = [header.title && command, header.title || command ? target : '', this.deviceText(), length, this.sampleText()]
      .filter(Boolean);
    facts.textContent = known.join(', ');
    facts.title = [...known, header.begin && `${new Date(header.begin / 1e6).toISOString().slice(0, 16).replace('T', ' ')} UTC`]
      .filter(Boolean).join(', ');
    const select = element('value');
    for (const type of this.model.order) {
      select.add(new Option(this.model.typeTitle(type), this.model.types[type].name));
    }
    if (new Set([...select.options].map(({ text }) => text)).size < select.options.length)
      for (const option of select.options)
        option.text = option.value;
    select.hidden = select.options.length < 2;
    for (const [view, label] of this.tabs()) {
      const button = make('button', { type: 'button', role: 'tab', textContent: label, 'aria-controls': view });
      button.dataset.view = view;
      button.addEventListener('click', () => this.state.set({ view }));
      element('tabs').append(button);
    }
    const processes = new Map();
    const { frames } = this.model;
    for (let frame = 0; frame < frames.own; frame++)
      if (frames.kind[frame] === Kind.PROCESS && frames.pid[frame])
        processes.set(frames.pid[frame], frames.names[frame]);
    const choice = element('process');
    choice.add(new Option('All processes', ''));
    for (const [pid, own] of [...processes].sort((a, b) => a[1].localeCompare(b[1]) || a[0] - b[0]))
      choice.add(new Option(`${own} (${pid})`, pid));
    choice.closest('label').hidden = processes.size < 2;
    element('merge').closest('label').hidden = processes.size < 2;
    const { origins } = this.model;
    for (const id of ['thread', 'threads'])
      element(id).closest('label').hidden = !origins.threads.length;
    element('device').closest('label').hidden = !origins.devices.length;
    const { services } = this.model;
    element('service').closest('label').hidden = services.length < 2;
    element('service').replaceChildren(...['', ...services].map(name => new Option(name || 'All services', name)));
    element('device').replaceChildren(...['', ...origins.devices].map(name => new Option(name || 'All devices', name)));
  }

  // The devices that were sampled or ran jobs: the first one, and the number of others.
  deviceText() {
    const sampled = this.model.header.metadata.map(([key]) => /^samples of (.*)/.exec(key)).filter(Boolean).map(([, name]) => name);
    const tracks = this.activity ? this.activity.tracks : [];
    const names = [...new Set([...sampled, ...tracks.map(({ device }) => device)])].filter(Boolean);
    return names.length > 2 ? `${names[0]} and ${names.length - 1} more` : names.join(', ');
  }

  // The threads of the chosen process: each name that several threads share, and each thread.
  listThreads() {
    const process = Number(this.state.get('process')) || 0, choice = element('thread');
    if (this.threadsListed === process)
      return;
    this.threadsListed = process;
    const byName = new Map();
    for (const thread of this.model.origins.threads)
      if (!process || thread.pid === process)
        byName.set(thread.name, [...(byName.get(thread.name) || []), thread]);
    choice.replaceChildren(new Option('All threads', ''), ...[...byName].flatMap(([name, threads]) => [
      ...(threads.length > 1 && threads.every(({ tid }) => tid) ? [new Option(`${name} (${threads.length} threads)`, name)] : []),
      ...threads.map(({ text }) => new Option(text, text))]));
  }

  // How many samples the first metric has, if they are counted.
  sampleText() {
    const { model } = this, type = model.types[model.firstType];
    if (!type || type.unit !== 'count')
      return '';
    return `${countText(model.tree.selves[model.firstType].reduce((sum, value) => sum + value, 0))} samples`;
  }

  tabs() {
    const has = { flame: true, table: true, spans: this.spans, code: this.code, timeline: this.npu };
    return TABS.filter(([view]) => has[view])
      .map(([view, label]) => [view, view === 'flame' && this.compare ? 'Compare' : view === 'timeline' && this.isNpu() ? 'NPU'
        : view === 'code' && !this.model.header.code.functions.length ? 'CPU source' : label]);
  }

  // What ran the jobs: "GPU", "NPU" or "Device"
  jobDevice() {
    const kinds = new Set(this.activity.tracks.filter(({ kind }) => kind === Track.JOBS).map(({ deviceKind }) => deviceKind));
    return this.isNpu() ? 'NPU' : kinds.size === 1 && kinds.has(DEVICE_GPU) ? 'GPU' : 'Device';
  }

  isNpu() { return /npu|ivpu/i.test(this.activity.tracks.map(({ source }) => source).join(' ')); }

  get view() {
    const wanted = this.state.get('view');
    return this.tabs().some(([view]) => view === wanted) ? wanted : 'flame';
  }

  // changed: keys of the state; null: everything is new
  update(changed) {
    const has = (...keys) => !changed || keys.some(key => changed.has(key));
    const { view } = this;
    for (const [name] of TABS)
      element(name).hidden = name !== view;
    element('body').classList.toggle('wide', view !== 'flame');
    for (const button of element('tabs').children)
      button.setAttribute('aria-selected', String(button.dataset.view === view));
    this.showChoices();
    this.findText();
    if (this.compare)
      this.compare.take();
    document.body.classList.toggle('comparing', Boolean(this.compare));
    document.body.classList.toggle('stalls', this.model.isDevice);
    const isPanning = view === 'timeline' && changed && changed.size === 1 && changed.has('time');
    if (!isPanning && has('value', 'time', ...VIEW_KEYS_OF_STATE, 'without', 'width', 'view'))
      this.summary.show();
    if (view === 'flame') {
      this.flame.show(Boolean(changed) && has('zoom') && (changed.size === 1 || (changed.size === 2 &&
        has('span'))));
      this.side.show();
      this.reasonBar.show();
      this.strip.show();
      if (this.compare)
        this.compare.showScale();
    } else if (view === 'table') {
      this.table.show();
    } else if (view === 'spans') {
      this.spans.show();
    } else if (view === 'code') {
      this.code.show();
    } else {
      this.npu.timeline.expression = this.expression;
      this.npu.show();
    }
    if ((view === 'code' || view === 'timeline') && has('search', 'view', 'kernel', 'value'))
      this.markFound();
    this.showStatus();
  }

  showChoices() {
    const { state, model } = this;
    element('value').value = (model.types[model.type] || { name: '' }).name;
    element('process').value = state.get('process');
    this.listThreads();
    element('thread').value = model.thread;
    element('device').value = model.device;
    element('service').value = model.service;
    element('threads').value = model.threads;
    element('merge').checked = model.merges;
    element('lines-option').hidden = !model.canShowLines;
    element('show-lines').checked = model.showsLines;
    for (const [group, key] of [['detail', 'detail'], ['layout', 'layout'], ['order', 'order']])
      for (const button of document.querySelectorAll(`#${group} button`))
        button.setAttribute('aria-pressed', String(button.dataset.value === state.get(key)));
    element('detail-option').hidden = !model.isDevice || state.get('order') === 'callers';
    element('idle-option').hidden = model.isWait ? !(model.programAnswer.idle > 0) : model.idleType < 0 || Boolean(this.compare) || state.get('order') === 'callers';
    element('show-idle').checked = model.isWait ? !model.foldsIdle : model.showsIdle;
    element('idle-option').lastChild.textContent = model.isWait ? ' Idle waits' : ' Idle time';
    element('idle-option').title = model.isWait ? 'Waits of event loops and pools for work' : '';
    element('libraries-option').hidden = !model.canFoldLibraries || state.get('order') === 'callers';
    element('show-libraries').checked = !model.foldsLibraries;
    element('use-option').hidden = !model.canMarkUse;
    element('mark-use').checked = model.marksUse;
    if (model.canMarkUse) {
      element('use-option').lastChild.textContent = `Low ${model.types[model.type].device} use`;
      element('use-option').title = `Kernels with less than a quarter of the samples per time of ${shortName(model.analysis.fullest.name)}`;
    }
    element('layout').hidden = state.get('order') === 'callers';
    // What is typed stays, but Escape empties the box.
    if (element('search') !== document.activeElement || !state.get('search'))
      element('search').value = state.get('search');
    for (const key of ['focus', 'ignore', 'hide']) {
      if (element(key) !== document.activeElement)
        element(key).value = state.get(key);
      element(key).classList.toggle('wrong', Boolean(state.get(key)) && !expressionOf(state.get(key)));
    }
    const filters = [...FILTERS, ...(this.view === 'flame' ? ['span'] : model.range ? ['time'] : [])]
      .filter(key => key in model ? model[key] : state.get(key));
    const [begin, end] = spanOf(state.get('span'));
    element('filters').replaceChildren(...filters.map(key => {
      const isWrong = ['focus', 'ignore', 'hide'].includes(key) && !expressionOf(state.get(key));
      const text = key === 'trace' ? spanFilterText(state.get(key)) : key === 'span' ? `zoom ${three(1 / (end - begin))}` : key === 'time' ? this.strip.rangeText()
        : `${key} ${state.get(key)}${isWrong ? ' (not a valid expression)' : ''}`;
      const button = make('button', { type: 'button', className: 'chip-button', textContent: `${text}  ×`,
        'aria-label': `Remove ${text}` });
      button.addEventListener('click', () => state.set({ [key]: '' }));
      return button;
    }));
    this.filters = filters;
    this.offerSpans();
    element('filters').hidden = !element('filters').firstChild;
    if (!this.areFiltersUsed(filters))
      element('filters').append(make('small', { textContent: this.view === 'code'
        ? 'Not applied here: instructions have the samples of the whole run' : 'Not applied here: jobs and calls of all processes' }));
  }

  // A search for an id of spans finds no frame, and can become a filter.
  offerSpans() {
    const id = this.spans ? spanIdOf(this.state.get('search')) : '';
    this.foundSpans = id ? this.model.origins.spans.filter(({ name }) => name.includes(id)) : [];
    if (!this.foundSpans.length)
      return;
    const button = make('button', { type: 'button', className: 'chip-button', textContent: `Show ${manyText(this.foundSpans.length, 'span')}` });
    button.addEventListener('click', () => this.spans.chooseFound(this.foundSpans));
    element('filters').append(button);
  }

  // Instructions are known for the whole run only, and jobs and calls have no stacks.
  areFiltersUsed(filters) {
    return this.view === 'code' ? this.code.data.isCpu || !filters.length : this.view !== 'timeline' || filters.every(key => key === 'time');
  }

  // 1 for each frame whose name, place or source has the text of the search; null: no search.
  findText() {
    const text = this.state.get('search');
    if (this.foundText === text)
      return;
    this.foundText = text;
    const expression = this.expression = expressionOf(text), { frames } = this.model;
    this.found = expression && Uint8Array.from({ length: frames.count }, (_, frame) =>
      expression.test(frames.names[frame] || '') || expression.test(this.model.frameName(frame)));
    element('search').classList.toggle('wrong', Boolean(text) && !expression);
  }

  search(text) {
    this.state.set({ search: text, view: 'flame' });
  }

  // The sum of the matching frames below the zoomed one; a match inside another match is counted once.
  foundSum() {
    const { values, view, focus } = this.flame;
    if (this.flame.isCallers)
      return values.sumFound(focus, this.found);
    let sum = 0;
    for (let node = focus; node < view.end[focus];) {
      const isFound = node && this.found[view.frame[node]];
      sum += isFound ? values.total[node] : 0;
      node = isFound || !(values.total[node] > 0) ? view.end[node] : node + 1;
    }
    return sum;
  }

  // Marks and counts search matches in views other than the graph.
  foundCount() {
    const { view, expression } = this;
    if (view === 'table' || view === 'spans')
      return manyText(this[view].found, 'row');
    const rows = view === 'timeline' ? this.npu.timeline.rows.filter(row => expression.test(this.npu.names.wordsOf(row))).length : 0;
    const hits = [...element(view).querySelectorAll('tbody tr, #code-kernels button')].filter(at =>
      at.classList.contains('hit')).length;
    return manyText(rows + hits, 'row');
  }

  // Marks rows of tables and kernels whose name matches.
  markFound() {
    const { view, expression } = this;
    for (const at of element(view).querySelectorAll('tbody tr, #code-kernels button')) {
      const name = at.querySelector('.text') || (at.cells ? at.cells[0] : at.querySelector('b'));
      at.classList.toggle('hit', Boolean(expression) && view !== 'table' && expression.test(name.textContent));
    }
  }

  showStatus() {
    const { view, model, flame } = this, status = element('keys-shown');
    const hidden = view === 'code' && this.code.data.isCpu ? ['Enter', 'p'] : this.code ? [] : ['Double-click'];
    status.replaceChildren(...VIEW_KEYS[view].filter(([key]) => !hidden.includes(key)).map(([key, text]) => make('span', {}, make('kbd', { textContent: key }), ` ${text}`)));
    const right = element('facts-shown');
    right.replaceChildren();
    if (this.state.get('search') && !this.found) {
      right.append(make('output', { id: 'matched', textContent: `“${this.state.get('search')}” is not a valid expression` }));
      return;
    }
    if (view === 'flame' && this.found && flame.values) {
      const sum = this.foundSum(), whole = flame.values.total[flame.focus];
      right.append(make('output', { id: 'matched', textContent: sum > 0 ? `${shareText(sum, whole)} found (${
        exactText(sum, model.unit)})` : this.foundSpans.length ? `${manyText(this.foundSpans.length, 'span')} found` : `Nothing matches “${this.state.get('search')}”` }));
      return;
    }
    if (this.expression && view !== 'flame')
      right.append(make('output', { id: 'matched', textContent: `${this.foundCount()} match “${this.state.get('search')}”` }));
    if (!this.areFiltersUsed(this.filters))
      return;
    const values = model.values(), matched = model.isDevice ? model.unhiddenValues().matched : 0;
    if (model.types.length)
      right.append(make('span', { id: 'whole-sum', textContent: model.sumText(values.total[0]) }));
    if (model.times) {
      const { width } = model.times, resolution = model.times.resolutionOf(model.type, model.types[model.type] || {});
      const title = resolution > width ? `Samples are collected in batches of ${timeText(resolution)} at most and spread evenly`
        : 'The shortest time that can be selected';
      right.append(make('span', { title, textContent: `Resolution ${timeText(resolution)}` }));
    }
    if (model.isDevice && matched > 0)
      right.append(make('span', { title: `${model.typeLabel()} of kernels that are known` }, make('b', { textContent: shareText(matched, values.total[0]) }), ' matched'));
    const lost = model.header.lost.reduce((sum, { count }) => sum + count, 0);
    right.append(make('span', { id: 'lost-sum', textContent: `${grouped(lost)} lost` }));
  }

  showEmpty(box) {
    const { state, model } = this;
    const button = (text, changes) => {
      const made = make('button', { type: 'button', className: 'btn', textContent: text });
      made.addEventListener('click', () => state.set(changes));
      return made;
    };
    if ([...FILTERS, 'without'].some(key => state.get(key)))
      box.replaceChildren(emptyState('No samples left', 'The filters leave nothing.', button('Clear filters',
        Object.fromEntries([...FILTERS, 'without'].map(key => [key, ''])))));
    else if (model.range)
      box.replaceChildren(emptyState('No samples in the selected time', '', button('Clear selection', { time: '' })));
    else
      box.replaceChildren(emptyState('No samples', 'Nothing was sampled in this run.'));
  }

  zoomTo(view, node) {
    const { model } = this, libraries = model.isLibrary(view.frame[node]) ? 'yes' : this.state.get('libraries');
    const shown = model.during({ order: 'calls', libraries }, () => model.view(Detail.LINE));
    this.state.set({ view: 'flame', order: 'calls', detail: 'line', libraries,
      zoom: model.keyOfNode(shown, model.nodeIn(shown, view, node)) });
  }

  // A node of the profile.
  zoomToProfile(node) {
    const { model } = this, libraries = model.isLibrary(model.tree.frame[node]) ? 'yes' : this.state.get('libraries');
    const shown = model.during({ order: 'calls', libraries }, () => model.view(Detail.LINE));
    this.state.set({ view: 'flame', order: 'calls', detail: 'line', libraries, zoom: model.keyOfNode(shown, Math.max(0, shown.becomes[node])) });
  }

  // place: { kernel, file, line, row }
  openCode(place, replaces = false) {
    if (!this.code)
      return;
    const row = place.row !== undefined ? offsetText(place.row) : place.line ? `${place.file}:${place.line}` : '';
    this.state.set({ view: 'code', kernel: place.kernel, row }, replaces);
  }

  setTheme(theme) {
    this.theme = theme;
    applyTheme(theme);
    const style = document.documentElement.style;
    PALETTE.reasons.forEach((colour, slot) => style.setProperty(`--reason-${slot}`, colourOf(colour)));
    for (const [name, colour] of Object.entries(PALETTE.frames))
      style.setProperty(`--frame-${name}`, colourOf(colour));
  }

  toggleTheme() {
    const next = isDark() ? 'light' : 'dark';
    storeTheme(next);
    this.setTheme(next);
    this.update(null);
    if (this.npu)
      this.npu.listProcesses();
  }

  listen() {
    const { state } = this, on = (name, kind, handle) => element(name).addEventListener(kind, handle);
    on('value', 'change', () => state.set({ value: element('value').value, zoom: '', without: '', reason: '' }));
    on('skip', 'click', () => skipToContent(this.view));
    on('theme', 'click', () => this.toggleTheme());
    on('more', 'click', event => {
      event.stopPropagation();
      element('menu').hidden = !element('menu').hidden;
      element('more').setAttribute('aria-expanded', String(!element('menu').hidden));
    });
    document.addEventListener('click', event => {
      if (!element('menu').contains(event.target))
        this.closeMenu();
    });
    on('search', 'input', () => state.set({ search: element('search').value }, true));
    on('process', 'change', () => state.set({ process: element('process').value, thread: '', zoom: '' }));
    for (const key of ['thread', 'device', 'service', 'threads'])
      on(key, 'change', () => state.set({ [key]: element(key).value, zoom: '' }));
    on('show-libraries', 'change', () => state.set({ libraries: element('show-libraries').checked ? 'yes' : '', zoom: '' }));
    on('show-idle', 'change', () => state.set({ idle: this.idleChoice(), zoom: '' }));
    on('show-lines', 'change', () => state.set({ lines: element('show-lines').checked ? 'yes' : 'no', zoom: '' }));
    on('mark-use', 'change', () => state.set({ use: element('mark-use').checked ? '' : 'no' }));
    on('merge', 'change', () => state.set({ merge: element('merge').checked ? 'yes' : 'no', zoom: '' }));
    for (const key of ['focus', 'ignore', 'hide'])
      on(key, 'change', () => state.set({ [key]: element(key).value, zoom: '' }));
    for (const group of ['detail', 'layout', 'order'])
      for (const button of document.querySelectorAll(`#${group} button`))
        button.addEventListener('click', () => state.set({ [group]: button.dataset.value, ...(group === 'order' ? { zoom: '' }
          : {}) }));
    for (const button of document.querySelectorAll('#compare-width button'))
      button.addEventListener('click', () => state.set({ width: button.dataset.width }));
    const name = () => (this.model.header.title || 'iaprof').replace(/[^\w.-]+/g, '-');
    const exports = { 'export-svg': () => download(`${name()}.svg`, 'image/svg+xml', graphAsSvg(this.flame,
      this.caption())), 'export-folded': () => download(`${name()}.folded`, 'text/plain',
      foldedStacks(this.model, this.model.unfoldedValues(), 0)), 'export-selected': () => download(`${name()}.folded`, 'text/plain',
      foldedStacks(this.model, this.model.values(), this.flame.isCallers ? 0 : this.flame.focus)),
    'copy-link': () => this.copyLink(), 'show-keys': () => this.showKeys(), 'show-about': () => this.showAbout() };
    for (const [id, act] of Object.entries(exports))
      on(id, 'click', () => {
        act();
        this.closeMenu();
      });
    document.addEventListener('keydown', event => this.key(event));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      if (!storedTheme()) {
        this.setTheme('');
        this.update(null);
      }
    });
    new ResizeObserver(() => this.reasonBar.fit()).observe(element('reason-bar'));
  }

  // The caption of an exported image: program, metric, filters and time.
  caption() {
    const chosen = [...element('filters').querySelectorAll('button')].map(({ textContent }) => textContent.replace('×', '').trim());
    return [element('title').textContent, element('facts').textContent, this.model.typeLabel(), ...(this.model.range ? [this.strip.rangeText()]
      : []), ...chosen].join(', ');
  }

  // Idle time of devices is shown by default, and idle waits are not.
  idleChoice() {
    const isShown = element('show-idle').checked;
    return this.model.isWait ? (isShown ? 'yes' : '') : isShown ? '' : 'no';
  }

  closeMenu() {
    element('menu').hidden = true;
    element('more').setAttribute('aria-expanded', 'false');
  }

  async copyLink() {
    const text = `${location.href.replace(/#.*/, '')}${this.state.fragment()}`;
    try {
      await navigator.clipboard.writeText(text);
      element('said').textContent = 'The link was copied.';
    } catch {
      prompt('Link to this view', text);
    }
  }

  showDialog(title, ...children) {
    const dialog = element('dialog');
    element('said').textContent = title;
    dialog.replaceChildren(make('h3', { textContent: title }), ...children, make('form', { method: 'dialog' },
      make('button', { className: 'btn', textContent: 'Close' })));
    dialog.tabIndex = -1;
    dialog.autofocus = true;
    dialog.showModal();
    dialog.scrollTop = 0;
  }

  showKeys() {
    this.showDialog('Keys', make('dl', { className: 'keys' }, ...ALL_KEYS.filter(([key]) => key !== 'w' || this.compare).flatMap(([key, text]) =>
      [make('dt', {}, make('kbd', { textContent: key })), make('dd', { textContent: text })])));
  }

  // The metadata of the run.
  showAbout() {
    const { metadata, difference } = this.model.header;
    const pairs = [...metadata, ...(difference ? difference.metadata.map(([key, value]) => [`Baseline: ${key}`, value]) : [])];
    this.showDialog('About this run', make('dl', { className: 'about', id: 'metadata' }, ...pairs.flatMap(([key, value]) =>
      [make('dt', { textContent: key }), make('dd', { textContent: value.replace(/^(\d+) ns$/, (_, time) => timeText(Number(time))) })])));
  }

  key(event) {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === 'Enter' && event.target.id === 'search' && this.foundSpans.length) {
      element('graph').focus();
      this.spans.chooseFound(this.foundSpans);
    }
    if (event.key === 'Escape' && isTyping) {
      if (event.target.id === 'search')
        this.state.set({ search: '' }, true);
      event.target.blur();
      element('graph').focus();
      event.preventDefault();
      return;
    }
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || element('dialog').open)
      return;
    const tabs = this.tabs();
    const actions = { '/': () => element('search').focus(), '?': () => this.showKeys(), y: () => this.copyLink(),
      0: () => this.state.set(Object.fromEntries(CHOICES.map(key => [key, '']))), Escape: () => this.undo(), Backspace: () => this.undo(),
      w: () => this.compare && this.state.set({ width: this.compare.width === 'after' ? 'before' : 'after' }) };
    if (this.view === 'timeline' && event.target !== element('npu-graph') && /^([0+-]|Escape|Backspace)$/.test(event.key) &&
        element('menu').hidden && this.npu.reader.key(event)) {
      event.preventDefault();
      return;
    }
    tabs.forEach(([view], i) => { actions[i + 1] = () => this.state.set({ view }); });
    if (this.view === 'flame' && event.target !== element('graph') && /^(Arrow|[cpfi+-]$)/.test(event.key) &&
        !event.target.closest('#strip, #panel')) {
      element('graph').focus();
      this.flame.key(event);
      event.preventDefault();
    } else if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  // Undoes the last step: goes back in the history if the page has added entries to it.
  undo() {
    if (!element('menu').hidden)
      this.closeMenu();
    else if (this.state.depth)
      history.back();
    else {
      // Without history, as after following a link: resets one choice, in the order of CHOICES.
      const last = CHOICES.find(key => this.state.get(key));
      if (last)
        this.state.set({ [last]: '' }, true);
    }
  }
}

function emptyState(title, text, ...more) {
  return make('div', { className: 'empty' }, make('h3', { textContent: title }), make('p', { textContent: text }), ...more);
}

async function openPage() {
  element('facts').textContent = 'Reading the profile …';
  try {
    window.iaprof = new App(parseProfile(await inflate(element('data').textContent)));
    document.documentElement.dataset.ready = 'yes';
    // Precomputes the hashes that the first zoom needs.
    requestIdleCallback(() => window.iaprof.model.hashesOf(window.iaprof.model.view()), { timeout: 500 });
  } catch (error) {
    element('facts').textContent = `This page cannot be read: ${error.message}`;
    throw error;
  }
}

openPage();
