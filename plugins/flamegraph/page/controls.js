// The page: what the reader chose, and what is shown of it.

// "12.3 ms", "1,234"
function valueText(value, unit) {
  if (unit !== 'nanoseconds')
    return `${Math.round(value).toLocaleString('en')}${unit && unit !== 'count' ? ` ${unit}` : ''}`;
  const [name, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]].find(([, least]) => value >= least) || ['ns', 1];
  return `${(value / size).toLocaleString('en', { maximumFractionDigits: 2 })} ${name}`;
}

function shareText(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(2)} %` : '0 %';
}

// Lines next to the mouse; null: none.
function showTooltip(lines, event) {
  const tooltip = element('tooltip');
  tooltip.hidden = !lines;
  if (!lines)
    return;
  tooltip.textContent = lines.join('\n');
  const left = Math.min(event.clientX + 14, window.innerWidth - tooltip.offsetWidth - 4);
  const below = event.clientY + 18;
  tooltip.style.left = `${Math.max(4, left)}px`;
  tooltip.style.top = `${below + tooltip.offsetHeight > window.innerHeight
    ? Math.max(4, event.clientY - tooltip.offsetHeight - 10) : below}px`;
}

// When a run was and how long, of those which are known.
function runFacts(nanoseconds, begin) {
  const facts = [valueText(nanoseconds, 'nanoseconds')];
  if (begin)
    facts.unshift(new Date(begin / 1e6).toISOString().replace(/\.\d+Z/, ' UTC').replace('T', ' '));
  return facts;
}

function lostText(count, unknown) {
  return `${count.toLocaleString('en')}${unknown ? ` and ${unknown} times an unknown number` : ''}`;
}

class Page {
  constructor({ header, frames, tree, times }) {
    this.header = header;
    this.frames = frames;
    this.own = link(tree);
    this.colours = colourFrames(frames);
    this.difference = header.difference ? new Difference(header, () => this.revalue()) : null;
    this.drawing = new Drawing(element('graph'), element('space'), element('view'));
    this.draw = oncePerFrame('drawn', () => this.drawing.draw(this.scene));
    this.matches = null; // 1 of each frame that is found
    this.scene = { focus: 0, selected: 0, isIcicle: false, rows: 1, look: node => this.look(node) };
    this.views = new Views();
    this.views.add('flame', 'Flame graph', () => this.scene.tree && this.resize());
    showFindings(header.findings);
    this.fillChoices();
    this.tellRun();
    this.listen();
    this.shown = this.own; // of the part of the run that is chosen
    if (times && times.totals.count) {
      this.times = times;
      this.heatmap = new Heatmap(times, header, range => this.chooseTime(range));
    }
    this.rebuild();
    this.codeView = this.header.code ? new CodeView(this) : null;
    if (header.npu) {
      this.npu = new NpuView(header.npu, header.metadata);
      this.views.add('npu', 'NPU', () => this.npu.timeline.resize());
      if (this.heatmap)
        this.heatmap.setJobs(this.npu.names.jobs());
    }
  }

  // What there is to choose from.
  fillChoices() {
    const sums = this.own.selves.map(self => self.reduce((sum, value) => sum + value, 0));
    const types = this.header.types.length; // and as many earlier ones, of a difference
    const order = this.header.types.map((_, type) => type).filter(type => sums[type] > 0 || sums[types + type] > 0);
    for (const type of order) {
      const { name, unit } = this.header.types[type];
      element('type').add(new Option(`${name} (${unit})`, type, false, type === this.header.chosen));
    }
    const reasons = new Set();
    for (let frame = 0; frame < this.frames.count; frame++)
      if (this.frames.kind[frame] === Kind.STALL_REASON)
        reasons.add(this.frames.names[frame]);
    element('reason').add(new Option('all', ''));
    for (const reason of [...reasons].sort())
      element('reason').add(new Option(reason, `=${reason}`));
    this.typesWithReasons = typesWithReasons(this.own, this.frames);
    element('with-offsets').hidden = !this.frames.kind.includes(Kind.DEVICE_OFFSET);
    for (const group of [...this.colours.groups].sort((a, b) => a - b)) {
      const item = document.createElement('li'), sample = document.createElement('span');
      sample.style.background = colourText(GROUPS[group].colour, 0);
      item.append(sample, GROUPS[group].name);
      element('legend').append(item);
    }
  }

  // What the header says, which nothing changes.
  tellRun() {
    const { title, nanoseconds, begin, lost, metadata } = this.header;
    element('title').textContent = document.title = title || 'iaprof';
    this.facts = runFacts(nanoseconds, begin);
    if (this.difference) {
      const earlier = this.header.difference;
      this.facts = [`before: ${runFacts(earlier.nanoseconds, earlier.begin).join(', ')}`,
        `after: ${this.facts.join(', ')}`];
    }
    if (lost.length) {
      const lines = lost.map(({ source, reason, count, unknown, before, beforeUnknown }) =>
        `${source}: ${reason}: ${this.difference ? `before ${lostText(before, beforeUnknown)}, after ` : ''}${
          lostText(count, unknown)}`);
      element('missing').textContent = `Lost: ${lines.join('; ')}`;
      element('missing').hidden = false;
    }
    for (const [key, value] of [...metadata, ...(this.difference ? this.difference.metadata() : [])]) {
      const term = document.createElement('dt'), text = document.createElement('dd');
      term.textContent = key;
      text.textContent = value;
      element('metadata').append(term, text);
    }
    element('about').hidden = !metadata.length;
  }

  get type() { return Number(element('type').value); }
  get unit() { return (this.header.types[this.type] || { unit: 'count' }).unit; }

  // Only what was added in a part of the run; null: all of it.
  chooseTime(range) {
    this.shown = range ? { ...this.own, selves: this.times.selvesWithin(this.own, range.begin, range.end) } : this.own;
    this.rebuild();
  }

  // Another tree, as processes or offsets are shown or not.
  rebuild() {
    const merges = element('merge').checked, hasOffsets = element('offsets').checked;
    const path = this.scene.tree ? this.pathOf(this.scene.focus) : [];
    this.scene.tree = merges || !hasOffsets
      ? link(replaceFrames(this.shown, replacements(this.frames, merges, hasOffsets))) : this.shown;
    this.scene.focus = this.scene.selected = this.nodeOf(path);
    this.revalue();
  }

  pathOf(node) {
    const path = [];
    for (; node > 0; node = this.scene.tree.parent[node])
      path.unshift(this.frames.names[this.scene.tree.frame[node]]);
    return path;
  }

  // The node with a path of names, or how far there is one.
  nodeOf(path) {
    const { tree } = this.scene;
    let node = 0;
    for (const name of path) {
      let child = tree.first[node];
      while (child && this.frames.names[tree.frame[child]] !== name)
        child = tree.next[child];
      if (!child)
        break;
      node = child;
    }
    return node;
  }

  // Other values of the same tree.
  revalue() {
    const hasReasons = this.typesWithReasons.has(this.type) ||
      this.typesWithReasons.has(this.header.types.length + this.type);
    element('reasons').hidden = !hasReasons;
    element('to-code').hidden = !this.codeView || !hasReasons;
    const reason = hasReasons ? element('reason').value : '';
    const { tree } = this.scene;
    const types = tree.selves.length;
    const source = this.difference || { valuesOf };
    Object.assign(this.scene, types ? source.valuesOf(tree, this.frames, this.type, reason ? reason.slice(1) : null)
      : { self: new Float64Array(tree.count), total: new Float64Array(tree.count) });
    while (this.scene.focus && !(this.scene.total[this.scene.focus] > 0))
      this.scene.focus = this.scene.tree.parent[this.scene.focus];
    const facts = this.difference && types ? this.difference.facts(this.frames, tree) : this.sumFacts();
    element('facts').textContent = [...this.facts, ...facts].join(' · ');
    this.showHeat();
    this.zoom(this.scene.focus);
  }

  // What the sum is, and how much of it has no name.
  sumFacts() {
    const { tree, total } = this.scene;
    const unknown = sumOfMatches(tree, total, 0, this.frames.flags.map(flags => flags & Flag.UNKNOWN));
    const { name } = this.header.types[this.type] || { name: 'nothing' };
    return [`${valueText(total[0], this.unit)} in all (${name})`,
      ...(unknown > 0 ? [`${shareText(unknown, total[0])} with one or more frames that are unknown`] : [])];
  }

  showHeat() {
    if (this.heatmap && this.header.types[this.type])
      this.heatmap.show({ type: this.type, ...this.header.types[this.type] });
  }

  zoom(node) {
    const { scene } = this;
    scene.focus = scene.selected = node;
    element('back').disabled = element('whole').disabled = node === 0;
    this.showTrail();
    this.tellMatches();
    this.resize();
    element('view').scrollTop = scene.isIcicle ? 0 : element('view').scrollHeight;
  }

  // What is wide enough to be seen depends on the window.
  resize() {
    const { scene } = this;
    scene.rows = deepestLevel(scene.tree, scene.total, scene.focus, this.drawing.width) + 1;
    this.drawing.reserve(scene);
    this.draw();
  }

  showTrail() {
    const { scene } = this;
    element('trail').replaceChildren();
    if (!scene.focus)
      return;
    for (const node of [...ancestorsOf(scene.tree, scene.focus), scene.focus]) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = this.labelOf(node);
      button.addEventListener('click', () => this.zoom(node));
      element('trail').append(node ? ' › ' : '', button);
    }
    element('trail').scrollLeft = element('trail').scrollWidth;
  }

  labelOf(node) {
    if (!node)
      return 'all';
    const frame = this.scene.tree.frame[node];
    const { names, pid, kind } = this.frames;
    return kind[frame] === Kind.PROCESS && pid[frame] && !element('merge').checked ? `${names[frame]} (${pid[frame]})`
      : names[frame];
  }

  look(node) {
    const frame = this.scene.tree.frame[node];
    if (!node)
      return { fill: colourText(GROUPS[0].colour, 10), ink: '#000', label: this.describe(0).join(', ') };
    if (this.matches && this.matches[frame])
      return { fill: colourText(GROUPS[GROUP_FOUND].colour, 0), ink: textColourOn(GROUPS[GROUP_FOUND].colour),
        label: this.labelOf(node) };
    if (this.difference) {
      const colour = this.difference.colour(node);
      return { fill: colourText(colour, 0), ink: textColourOn(colour), label: this.labelOf(node) };
    }
    return { fill: this.colours.fill[frame], ink: this.colours.text[frame], label: this.labelOf(node) };
  }

  // What is known of a frame, a line each.
  describe(node) {
    const { scene, frames } = this;
    const lines = [this.labelOf(node)];
    const frame = scene.tree.frame[node];
    if (node) {
      const place = frames.files[frame] && frames.files[frame] + (frames.line[frame] ? `:${frames.line[frame]}` : '');
      const kind = frames.kind[frame] === Kind.SEPARATOR ? 'from here on it is the device'
        : GROUPS[groupOf(frames, frame)].name;
      lines.push(...[kind, frames.modules[frame], place].filter(Boolean));
    }
    if (this.difference && scene.tree.selves.length)
      return [...lines, ...this.difference.describe(node)];
    lines.push(`${valueText(scene.total[node], this.unit)}, ${shareText(scene.total[node], scene.total[0])} of all`);
    if (scene.tree.depth[node] > scene.tree.depth[scene.focus] && scene.focus)
      lines.push(`${shareText(scene.total[node], scene.total[scene.focus])} of ${this.labelOf(scene.focus)}`);
    if (scene.self[node] > 0 && scene.self[node] !== scene.total[node])
      lines.push(`${valueText(scene.self[node], this.unit)} itself`);
    return lines;
  }

  search() {
    const text = element('search').value;
    let test = null;
    element('search').classList.remove('wrong');
    if (text && element('expression').checked) {
      try {
        const expression = new RegExp(text, 'iu');
        test = name => expression.test(name);
      } catch (error) {
        element('search').classList.add('wrong');
        element('matched').textContent = error.message;
        this.matches = null;
        this.draw();
        return;
      }
    } else if (text) {
      const wanted = text.toLowerCase();
      test = name => name.toLowerCase().includes(wanted);
    }
    this.matches = test && Uint8Array.from(this.frames.names, name => test(name));
    this.tellMatches();
    this.draw();
  }

  tellMatches() {
    const { scene } = this;
    const sum = this.matches ? sumOfMatches(scene.tree, scene.total, scene.focus, this.matches) : 0;
    element('matched').textContent = this.matches
      ? `${shareText(sum, scene.total[scene.focus])} found (${valueText(sum, this.unit)})` : '';
  }

  // A frame that the keyboard is at; it is said, for those who do not see it.
  select(node) {
    this.scene.selected = node;
    element('said').textContent = this.describe(node).join(', ');
    const top = this.drawing.top(this.scene, this.scene.tree.depth[node]);
    if (top < 0 || top > element('view').clientHeight - ROW)
      element('view').scrollTop += top - element('view').clientHeight / 2;
    this.draw();
  }

  // The next sibling in a direction that is wide enough to be seen.
  sibling(node, direction) {
    const { tree, total, focus } = this.scene;
    const least = NARROWEST * total[focus] / this.drawing.width;
    const siblings = [];
    for (let child = tree.first[tree.parent[node]]; child; child = tree.next[child])
      if (total[child] >= least)
        siblings.push(child);
    return siblings[siblings.indexOf(node) + direction] || node;
  }

  widestChild(node) {
    const { tree, total } = this.scene;
    let widest = 0;
    for (let child = tree.first[node]; child; child = tree.next[child])
      if (total[child] > 0 && (!widest || total[child] > total[widest]))
        widest = child;
    return widest || node;
  }

  key(event) {
    const { scene } = this;
    if (event.ctrlKey || event.altKey || event.metaKey)
      return;
    const node = scene.selected;
    const up = () => (node ? this.select(scene.tree.parent[node]) : undefined);
    const down = () => this.select(this.widestChild(node));
    const actions = {
      ArrowUp: scene.isIcicle ? up : down,
      ArrowDown: scene.isIcicle ? down : up,
      ArrowLeft: () => node && node !== scene.focus && this.select(this.sibling(node, -1)),
      ArrowRight: () => node && node !== scene.focus && this.select(this.sibling(node, 1)),
      Enter: () => this.zoom(node),
      Escape: () => this.back(),
      Backspace: () => this.back(),
      0: () => this.zoom(0),
      '/': () => element('search').focus(),
      c: () => this.codeView && this.codeView.showNode(node),
    };
    if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  back() {
    this.zoom(Math.max(0, this.scene.tree.parent[this.scene.focus]));
  }

  nodeUnder(event) {
    const place = element('graph').getBoundingClientRect();
    const level = this.drawing.levelAt(this.scene, event.clientY - place.top);
    const x = event.clientX - place.left;
    const { tree, total, focus } = this.scene;
    if (level < 0)
      return -1;
    if (level < tree.depth[focus])
      return ancestorsOf(tree, focus)[level];
    const node = nodeAt(tree, total, focus, this.drawing.width, level, x);
    return node || (level === 0 ? 0 : -1);
  }

  pointAt(event) {
    const node = this.nodeUnder(event);
    showTooltip(node < 0 ? null : this.describe(node), event);
  }

  listen() {
    const on = (name, kind, handle) => element(name).addEventListener(kind, handle);
    on('type', 'change', () => this.revalue());
    on('reason', 'change', () => this.revalue());
    on('merge', 'change', () => this.rebuild());
    on('offsets', 'change', () => this.rebuild());
    on('icicle', 'change', () => {
      this.scene.isIcicle = element('icicle').checked;
      this.zoom(this.scene.focus);
    });
    on('search', 'input', () => this.search());
    on('expression', 'change', () => this.search());
    on('search', 'keydown', event => {
      if (event.key === 'Escape') {
        element('search').value = '';
        this.search();
        element('graph').focus();
      }
    });
    on('back', 'click', () => this.back());
    on('whole', 'click', () => this.zoom(0));
    on('graph', 'keydown', event => this.key(event));
    on('graph', 'click', event => {
      const node = this.nodeUnder(event);
      if (node >= 0)
        this.zoom(node);
    });
    on('graph', 'mousemove', event => this.pointAt(event));
    on('graph', 'mouseleave', event => showTooltip(null, event));
    on('view', 'scroll', () => this.draw());
    on('theme', 'change', () => this.theme());
    document.addEventListener('keydown', event => {
      if (event.key === '/' && event.target === document.body) {
        event.preventDefault();
        element('search').focus();
      }
    });
    new ResizeObserver(() => this.drawing.isFitting || this.resize()).observe(element('view'));
    new ResizeObserver(() => this.heatmap && this.heatmap.heat && this.heatmap.draw()).observe(element('heat-view'));
    this.dark = window.matchMedia('(prefers-color-scheme: dark)');
    this.dark.addEventListener('change', () => this.theme());
    this.theme();
  }

  theme() {
    const chosen = element('theme').value || (this.dark.matches ? 'dark' : 'light');
    document.documentElement.dataset.theme = chosen;
    if (this.scene.tree)
      this.draw();
    if (this.heatmap && this.heatmap.heat)
      this.heatmap.draw();
  }
}

inflate(element('data').textContent).then(bytes => new Page(parseProfile(bytes))).catch(error => {
  element('facts').textContent = `The profile in this page cannot be read: ${error.message}`;
});
