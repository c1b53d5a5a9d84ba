// The profile as the reader's choices show it: a view, its values, and what follows from them.

// -> { threads: { name, tid, text, pid of the process } in order of names, devices: names, spans: { frame, name, owners:
// texts of threads or processes } }
function originsOf(tree, frames) {
  const isOrigin = frames.kind.subarray(0, frames.own).some(isOriginKind);
  const threads = new Map(), devices = new Set(), spans = new Map(), process = new Int32Array(isOrigin ? tree.count : 0).fill(-1);
  for (let node = 1; isOrigin && node < tree.count; node++) {
    const frame = tree.frame[node], kind = frames.kind[frame], above = process[tree.parent[node]];
    process[node] = kind === Kind.PROCESS ? frame : above;
    if (kind === Kind.DEVICE)
      devices.add(frames.names[frame]);
    if (kind === Kind.SPAN)
      addSpan(spans, frames, frame, above, originAbove(tree, frames, node, Kind.THREAD));
    const pid = above >= 0 ? frames.pid[above] : 0, key = pid * (frames.own + 1) + frame;
    if (kind !== Kind.THREAD || threads.has(key))
      continue;
    const name = frames.names[frame], tid = frames.pid[frame];
    threads.set(key, { name, tid, pid, text: threadText(name, tid) });
  }
  return { threads: [...threads.values()].sort((a, b) => a.name.localeCompare(b.name) || a.tid - b.tid || a.pid - b.pid),
    devices: [...devices].sort(), spans: [...spans.values()] };
}

// The frame of a kind among the origins above a node; -1: none.
function originAbove(tree, frames, node, kind) {
  for (let at = tree.parent[node]; at > 0 && isOriginKind(frames.kind[tree.frame[at]]); at = tree.parent[at])
    if (frames.kind[tree.frame[at]] === kind)
      return tree.frame[at];
  return -1;
}

function addSpan(spans, { names, pid }, frame, process, thread) {
  const span = spans.get(frame) || { frame, name: names[frame], owners: new Set() };
  const texts = [process >= 0 ? threadText(names[process], pid[process]) : '', thread >= 0 ? threadText(names[thread], pid[thread]) : ''];
  span.owners.add(texts.filter(Boolean).join(', '));
  spans.set(frame, span);
}

// enum iaprof_value_role
const Role = Object.freeze({ CPU_TIME: 1, DEVICE_TIME: 2, DEVICE_SAMPLES: 3, WAIT: 4, DEVICE_IDLE: 5, COPY_TIME: 7, COPIED_BYTES: 8 });

class Model {
  constructor(profile, state) {
    this.profile = { ...profile, frames: new Frames(profile.frames) };
    this.header = profile.header;
    setReasons(this.header.reasons);
    this.frames = this.profile.frames;
    this.tree = profile.tree;
    this.times = profile.times;
    this.beforeTimes = profile.beforeTimes;
    this.state = state;
    this.types = this.header.types;
    const hasValues = this.tree.selves.map(self => self.some(value => value > 0));
    this.order = this.types.map((_, type) => type).filter(type => hasValues[type] || hasValues[this.types.length + type]);
    const first = this.order.includes(this.header.chosen) ? this.header.chosen : this.order[0];
    this.firstType = first === undefined ? 0 : first;
    this.origins = originsOf(this.tree, this.frames);
    this.cache = new Map();
  }

  get type() {
    const found = this.types.findIndex(({ name }) => name === this.state.get('value'));
    return found >= 0 && this.order.includes(found) ? found : this.firstType;
  }

  get unit() { return (this.types[this.type] || { unit: 'count' }).unit; }

  get typeName() { return (this.types[this.type] || { name: '' }).name; }

  // The name of a value type on the page.
  typeLabel(type = this.type) { return (this.types[type] || { label: 'nothing' }).label; }

  // The same at the beginning of a heading.
  typeTitle(type = this.type) { return this.typeLabel(type).replace(/^./, first => first.toUpperCase()); }

  // A phrase that begins with a verb in the singular, "waits for data", as it follows the name: "GPU samples wait for data".
  verb(phrase) { return (this.types[this.type] || {}).isPlural ? phrase.replace(/s(?= )/, '') : phrase; }

  // "1,234 samples", "12.3 s of CPU time"
  sumText(value) {
    const label = this.typeLabel();
    return `${exactText(value, this.unit)} ${this.unit !== 'count' ? `of ${label}` : label.endsWith('calls') ? label : 'samples'}`;
  }

  // Whether a type, the selected one by default, is measured on a device.
  isOfDevice(type) { return Boolean((this.types[type] || {}).isDevice); }

  get isDevice() { return this.isOfDevice(this.type); }

  // Whether filters or the chosen time keep a part of the run.
  get isPart() { return Boolean(this.range) || ['focus', 'ignore', 'process', 'thread', 'service', 'trace'].some(key => this.state.get(key)); }

  // How long the devices were idle of which the selected type is the time; 0: not known, or it is that of all processes
  // and of the whole run, of which a part is selected.
  get idle() {
    const { idleType } = this;
    return idleType < 0 || this.isPart ? 0 : this.unhiddenValues().view.selves[idleType].reduce((sum, value) => sum + value, 0);
  }

  // The types with a role, such as idle time, of the devices of which the selected type is the time.
  typesBeside(wanted) {
    const { role, device } = this.types[this.type] || {};
    return role !== Role.DEVICE_TIME ? [] : this.order.filter(i => this.types[i].role === wanted && this.types[i].device === device);
  }

  get sampleTypes() { return this.typesBeside(Role.DEVICE_SAMPLES); }

  // -1: there is none.
  get idleType() {
    const [found = -1] = this.typesBeside(Role.DEVICE_IDLE);
    return found;
  }

  // Whether the flame graph contains idle time.
  get showsIdle() {
    return this.idleType >= 0 && this.state.get('idle') !== 'no' && this.state.get('order') !== 'callers' && !this.header.difference;
  }

  // Whether a node of a view is idle time.
  isIdle(view, node) {
    const [root] = pathTo(view, node);
    return root > 0 && this.frames.kind[view.frame[root]] === Kind.WAIT;
  }

  // What the launching threads did while devices were idle: [reason, value], largest first.
  get idleReasons() {
    const { frames, idleType } = this, { view } = this.unhiddenValues(), found = new Map(), reason = new Int32Array(view.count).fill(-1);
    for (let node = 1; idleType >= 0 && node < view.count; node++) {
      const above = view.parent[node], frame = view.frame[node];
      // The root is idle time as such.
      reason[node] = reason[above] >= 0 || above === 0 || frames.kind[frame] !== Kind.WAIT ? reason[above] : frame;
      const value = view.selves[idleType][node], name = reason[node] >= 0 ? frames.names[reason[node]] : '';
      if (value > 0 && name)
        found.set(name, (found.get(name) || 0) + value);
    }
    return [...found].sort((a, b) => b[1] - a[1]);
  }

  // Copies beside the selected type, of the whole run like idle time, longest first: { name, total, bytes, site }; site: the
  // node that launched most of them, or 0.
  get copies() {
    const [times = -1] = this.typesBeside(Role.COPY_TIME), [sizes = -1] = this.typesBeside(Role.COPIED_BYTES), { view } = this.unhiddenValues();
    const analysisOf = type => (type < 0 ? null : new Analysis(this, new Values(view, this.frames, type)));
    const copies = !this.isPart && analysisOf(times), copied = copies && analysisOf(sizes);
    return !copies ? [] : copies.sorted.map(kernel => ({ name: kernel.name, total: kernel.total, site: copies.launchSite(kernel),
      bytes: copied && copied.kernels.has(kernel.name) ? copied.kernels.get(kernel.name).total : 0 }));
  }

  get range() { return this.rangeOf(this.times); }

  // The chosen time since a run began, in whole slots.
  rangeOf(times) {
    const found = this.state.get('time').match(/^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/);
    if (!found || !times || Number(found[1]) >= Number(found[2]))
      return null;
    const { begin: origin, width } = times, [from, to] = [Number(found[1]) * 1e6, Number(found[2]) * 1e6];
    const begin = width * (from ? Math.round((origin + from) / width) : Math.floor(origin / width));
    return { begin, end: Math.max(begin + width, width * Math.round((origin + to) / width)) };
  }

  get hidden() {
    return new Set(this.state.get('without').split(',').filter(Boolean).map(Number));
  }

  // Whether threads are frames: 'no', 'name' or 'yes'.
  get threads() {
    const chosen = this.state.get('threads') || this.header.threads;
    return this.origins.threads.length && ['name', 'yes'].includes(chosen) ? chosen : 'no';
  }

  // The chosen thread: a name, with or without the tid; '': all.
  get thread() {
    const chosen = this.state.get('thread');
    return this.origins.threads.some(({ name, text }) => chosen === name || chosen === text) ? chosen : '';
  }

  get device() {
    const chosen = this.state.get('device');
    return this.origins.devices.includes(chosen) ? chosen : '';
  }

  // The spans to show: an id, or both of one; '': all.
  get trace() {
    const chosen = this.state.get('trace');
    return chosen && this.origins.spans.some(({ name }) => name.includes(chosen)) ? chosen : '';
  }

  // The container or systemd service of each process in the segments of a ring, which is the module of its frame.
  get services() {
    const { kind, modules, own } = this.frames;
    this.serviceNames = this.serviceNames || [...new Set(modules.slice(0, own).filter((name, frame) => name && kind[frame] === Kind.PROCESS))].sort();
    return this.serviceNames;
  }

  get service() {
    const chosen = this.state.get('service');
    return this.services.includes(chosen) ? chosen : '';
  }

  remember(name, key, make) {
    const place = `${name} ${Boolean(this.state.get('hide'))} ${this.state.get('lines')} ${this.foldsIdle} ${this.foldsLibraries} ${this.isDevice} ${this.merges}`, known = this.cache.get(place);
    if (known && known.key === key)
      return known.value;
    const value = make();
    this.cache.set(place, { key, value });
    return value;
  }

  // The view with the values of the chosen time.
  view(detail = this.state.get('detail'), threads = this.threads) {
    const { state } = this;
    const choice = VIEW_KEYS_OF_STATE.map(key => state.get(key));
    const view = this.remember(`view ${detail} ${threads}`, JSON.stringify(choice), () => this.makeView({ detail,
      threads, merges: this.merges, lines: this.showsLines, foldsIdle: this.foldsIdle, foldsLibraries: this.foldsLibraries, isDevice: this.isDevice, focus: expressionOf(state.get('focus')),
      ignore: expressionOf(state.get('ignore')), hide: expressionOf(state.get('hide')),
      process: Number(state.get('process')) || null, thread: this.thread, device: this.device, trace: this.trace, service: this.service }));
    const time = this.range ? state.get('time') : '';
    if (view.time !== time) {
      addSelves(view, this.range ? this.selvesInRange() : this.tree.selves);
      view.time = time;
      view.made = (view.made || 0) + 1;
    }
    return view;
  }

  makeView(options) {
    if (options.threads === 'no')
      return makeView(this.profile, options);
    this.byThread = this.byThread || treeByThread(this.profile);
    const view = makeView({ frames: this.frames, tree: this.byThread.tree }, options);
    view.becomes = this.byThread.becomes.map(node => node >= 0 ? view.becomes[node] : -1);
    return view;
  }

  // By value type; in a difference followed by those of the earlier run, in the same time since its start.
  selvesInRange() {
    return [this.times, this.beforeTimes].flatMap(times => {
      const range = this.rangeOf(times);
      return range ? times.selvesWithin(this.tree, range.begin, range.end).slice(0, this.types.length) : [];
    });
  }

  // side: 0 the profile, 1 the earlier run of a difference; withIdle: idle time is added to the time of devices
  values(detail, side = 0, threads = this.threads, withIdle = false) {
    const view = this.view(detail, threads), type = this.type + side * this.types.length;
    const key = JSON.stringify([type, this.state.get('without'), view.made,
      ...VIEW_KEYS_OF_STATE.map(name => this.state.get(name))]);
    return this.remember(`values ${detail || this.state.get('detail')} ${side} ${threads} ${withIdle}`, key, () => {
      if (!this.types.length)
        view.selves = [new Float64Array(view.count)];
      return new Values(view, this.frames, this.types.length ? type : 0, this.hidden, withIdle ? this.idleType : -1);
    });
  }

  // What a function returns while the state has other values.
  during(changes, act) {
    const { values } = this.state, before = Object.fromEntries(Object.keys(changes).map(key => [key, values[key]]));
    Object.assign(values, changes);
    try {
      return act();
    } finally {
      Object.assign(values, before);
    }
  }

  // The values as if nothing were hidden or folded: that changes what is drawn, but no numbers.
  unhiddenValues() {
    return this.during({ hide: '', libraries: 'yes', lines: this.isDevice ? 'yes' : this.state.get('lines') }, () => this.values(Detail.LINE));
  }

  unfoldedValues(...options) {
    return this.during({ libraries: 'yes' }, () => this.values(...options));
  }

  // Names of device functions that no other device function calls.
  get kernelNames() {
    if (!this.foundKernels) {
      const { tree, frames } = this, isInside = new Uint8Array(tree.parent.length);
      this.foundKernels = new Set();
      for (let node = 1; node < isInside.length; node++) {
        const isDevice = frames.kind[tree.frame[node]] === Kind.DEVICE_FUNCTION;
        if (isDevice && !isInside[tree.parent[node]])
          this.foundKernels.add(frames.names[tree.frame[node]]);
        isInside[node] = isDevice || isInside[tree.parent[node]];
      }
    }
    return this.foundKernels;
  }

  isLibrary(frame) { return frame >= 0 && isLibraryCode(this.frames, frame); }

  // Whether there is code of libraries and frameworks that the flame graph folds by default.
  get canFoldLibraries() { return libraryNodes(this.profile, this.isDevice).includes(1); }

  // Whether CPU functions are split by source line, and inlined functions are shown.
  get showsLines() { return (this.state.get('lines') || (this.header.lines ? 'yes' : 'no')) === 'yes'; }

  // Whether there are lines that the flame graph can show, and does not always.
  get canShowLines() {
    const { functions, flags, kind } = this.frames;
    if (this.foundLines === undefined)
      this.foundLines = functions.some((frame, at) => frame !== at || (flags[at] & Flag.INLINED && !isDeviceKind(kind[at])));
    return this.foundLines;
  }

  // Processes of one name are one, but where each one has a device.
  get merges() { return (this.state.get('merge') || (this.isDevice ? 'no' : 'yes')) === 'yes'; }

  get isWait() { return Boolean((this.types[this.type] || {}).isWait); }

  // Whether waits of event loops and pools for work are left out.
  get foldsIdle() { return this.isWait && this.state.get('idle') !== 'yes'; }

  // What the filters keep of CPU time or of waits, explained.
  get programAnswer() {
    const view = this.view(), { type } = this, { made } = view;
    if (!this.answered || this.answered.view !== view || this.answered.made !== made || this.answered.type !== type) {
      const selves = (this.range ? this.selvesInRange() : this.tree.selves)[type] || new Float64Array(this.tree.count);
      this.answered = { view, made, type, answer: new ProgramAnswer(this, view, selves) };
    }
    return this.answered.answer;
  }

  get foldsLibraries() {
    return this.canFoldLibraries && this.state.get('libraries') !== 'yes' && this.state.get('order') !== 'callers';
  }

  // What the filters keep, explained.
  get analysis() {
    const values = this.unhiddenValues();
    if (!this.explained || this.explained.values !== values)
      this.explained = new Analysis(this, values);
    return this.explained;
  }

  // Whether kernels that use little of the device are marked in the flame graph.
  get marksUse() { return this.canMarkUse && this.state.get('use') !== 'no'; }

  get canMarkUse() {
    return this.isDevice && !this.header.difference && this.state.get('order') !== 'callers' && Boolean(this.analysis.fullest) &&
      this.analysis.sorted.some(isNarrow);
  }

  // The node in this view that corresponds to a node of another view with the same detail.
  nodeIn(view, other, node) {
    return view === other || !node ? node : Math.max(0, view.becomes[other.becomes.indexOf(node)]);
  }

  // What shares refer to: 'GPU time', 'GPU samples', or a part of it.
  get shareOf() {
    const filters = ['focus', 'ignore', 'process', 'thread', 'device', 'service', 'trace'].filter(key => this.state.get(key));
    return !filters.length ? this.typeLabel() + (this.range ? ' in the selected time' : '')
      : `the ${filters.every(key => key === 'focus') ? 'focused' : 'filtered'} ${this.typeLabel()}`;
  }

  hashesOf(view) {
    if (!view.hashes)
      view.hashes = hashPaths(view, this.frames);
    return view.hashes;
  }

  // The key of a node in the address: the hash of its path, and its position among the nodes with the same hash.
  keyOfNode(view, node) {
    if (!node)
      return '';
    if (view.keyOf)
      return view.keyOf(node);
    const hashes = this.hashesOf(view), hash = hashes[node];
    let before = 0;
    for (let other = hashes.indexOf(hash, 1); other < node; other = hashes.indexOf(hash, other + 1))
      before++;
    return `${hash.toString(36)}${before ? `.${before}` : ''}`;
  }

  // 0: There is none.
  nodeOfKey(view, key) {
    if (key && view.nodeOfKey)
      return view.nodeOfKey(key);
    const found = key.match(/^([0-9a-z]+)(?:\.(\d+))?$/);
    if (!found)
      return 0;
    const hashes = this.hashesOf(view), hash = parseInt(found[1], 36);
    let node = hashes.indexOf(hash, 1);
    for (let left = Number(found[2] || 0); node > 0 && left; left--)
      node = hashes.indexOf(hash, node + 1);
    return Math.max(0, node);
  }

  nameOf(view, node) {
    if (!node)
      return this.showsIdle && this.state.get('view') === 'flame' ? `All time of the ${this.types[this.type].device}` : `All ${this.typeLabel()}`;
    return this.frameName(view.frame[node]);
  }

  frameName(frame) {
    const { names, pid, kind } = this.frames;
    if (kind[frame] === Kind.PROCESS && pid[frame] && !(this.merges && this.frames.sharedNames.has(names[frame])))
      return `${names[frame]} (${pid[frame]})`;
    if (kind[frame] === Kind.THREAD)
      return threadText(names[frame], this.threads === 'name' ? 0 : pid[frame]);
    if (kind[frame] === Kind.STALL_REASON) {
      const slot = slotOf(names[frame]);
      return slot === OTHER_REASON ? names[frame] : REASONS[slot].label;
    }
    return names[frame];
  }

  placeOf(frame) {
    const { files, line } = this.frames;
    return files[frame] ? `${baseName(files[frame])}${line[frame] ? `:${line[frame]}` : ''}` : '';
  }

  // In a comparison, the path of a frame's file is reduced to its last component.
  fileKey(file) { return this.header.difference && file ? baseName(file) : file; }

  // The text of a source line, without its indentation; '': not known.
  sourceText(file, line) {
    if (!this.header.code || !line)
      return '';
    if (!this.sources)
      this.sources = new Map(this.header.code.files.map(item => [this.fileKey(item.name), item]));
    const found = this.sources.get(this.fileKey(file));
    return found && found.lines && found.lines[line - 1] ? found.lines[line - 1][1].trim() : '';
  }

  valueText(value) { return this.unit === 'nanoseconds' ? timeText(value) : countText(value); }
}
