// The flame graph: the texts of its cells, and the reader's actions on them.

const CRUMBS_SHOWN = 5, CRUMB_LENGTH = 40, TIP_NAME = 48;

class FlameView {
  constructor(app) {
    this.app = app;
    this.model = app.model;
    this.state = app.state;
    this.canvas = element('graph');
    this.drawing = new FlameDrawing(this.canvas);
    this.gestures = new FlameGestures(this);
    this.draw = oncePerFrame('drawn', () => {
      if (this.drawing.draw())
        this.draw();
      else
        this.tellPlace();
    });
    this.focus = 0;
    this.listen();
  }

  get isCallers() { return this.state.get('order') === 'callers'; }

  // Draws the state; moves: animates the change from what was shown before.
  show(moves = false) {
    const { model, state } = this;
    if (!this.canvas.clientWidth)
      return;
    this.values = this.app.compare ? this.app.compare.shown : model.values(undefined, 0, undefined, model.showsIdle);
    if (this.isCallers)
      this.invert();
    this.view = this.values.view;
    this.narrow = model.marksUse ? this.narrowNodes() : null;
    this.focus = model.nodeOfKey(this.view, state.get('zoom'));
    if (!(this.values.total[this.focus] > 0))
      this.focus = 0;
    const unfolded = new Set(state.get('unfold').split(',').filter(Boolean).map(key => model.nodeOfKey(this.view, key)));
    this.layout = new FlameLayout({ view: this.view, frames: model.frames, values: this.values, focus: this.focus,
      width: this.canvas.clientWidth, detail: state.get('detail') in BAND ? state.get('detail') : Detail.LINE, unfolded, isPlain: this.isCallers,
      span: this.gestures.span });
    this.drawing.show({ layout: this.layout, isIcicle: state.get('layout') === 'icicle' || this.isCallers,
      look: cell => this.look(cell) }, moves);
    const shape = `${state.get('order')} ${state.get('layout')}`;
    if (this.shape !== shape)
      this.drawing.scroll = 0;
    this.shape = shape;
    this.selected = null;
    element('graph-empty').hidden = this.values.total[0] > 0;
    if (!(this.values.total[0] > 0))
      this.app.showEmpty(element('graph-empty'));
    this.showPath();
    this.draw();
  }

  // 1 for each node of a kernel that uses little of the device.
  narrowNodes() {
    const { model: { analysis, frames }, view, values } = this, found = new Uint8Array(view.count);
    for (const node of values.kernels) {
      const kernel = analysis.kernels.get(frames.names[view.frame[node]]);
      if (kernel && isNarrow(kernel))
        found.fill(1, node, view.end[node]);
    }
    return found;
  }

  // How much of the device the kernel uses that a node is in, as a line of the tooltip; null: not known.
  describeUse(node) {
    const { model, view } = this;
    if (!model.isDevice || this.isCallers || this.app.compare || !model.analysis.fullest)
      return null;
    const first = pathTo(view, node).find(at => this.kindOf(at) === Kind.DEVICE_FUNCTION);
    const kernel = first && model.analysis.kernels.get(model.frames.names[view.frame[first]]);
    return kernel && kernel.use ? [`${model.types[model.type].device} use`, `${useText(kernel.use)}, compared with ${shortName(model.analysis.fullest.name, 32)}`] : null;
  }

  // From the leaves: each stack upside down.
  invert() {
    if (!this.inverted || this.inverted.base !== this.values)
      this.inverted = new CallersTree(this.values, this.model.frames);
    this.values = this.inverted;
  }

  // Colours and label of a cell.
  look(cell) {
    const { model, values } = this, { frames } = model;
    const whole = values.total[0];
    if (cell.slot !== undefined || cell.slots || cell.isUnsaid)
      return this.lookOfReason(cell);
    const frame = cell.node ? this.view.frame[(cell.run && cell.label) || cell.node] : -1;
    const isIdle = cell.node > 0 && this.view.parent[cell.node] === 0 && frames.kind[frame] === Kind.WAIT;
    const group = cell.more ? 'more' : cell.node && !isIdle ? groupOf(frames, frame) : 'process';
    const value = this.valueOf(cell);
    const isKernel = cell.band === 0;
    let fill = colourOf(PALETTE.frames[isKernel ? 'gpu' : cell.band !== undefined && cell.more ? 'line' : group]);
    const compare = this.isCallers ? null : this.app.compare;
    const change = compare ? compare.colour(cell) : null;
    if (change)
      fill = change;
    else if (this.isFound(cell))
      fill = colourOf(PALETTE.frames.found);
    else if (this.app.found)
      fill = fade(fill, this.drawing.pen.surface || '#ffffff', 0.24);
    const shown = this.textOf(cell, frame);
    if (cell.isAbove)
      fill = fade(fill, this.drawing.pen.app || '#ffffff', 0.6);
    return { fill, ink: inkOn(fill), pale: paleText(fill), isHatched: group === 'unknown' && !change,
      stripe: this.isNarrow(cell) && stripeFor(inkOn(fill)), weight: isKernel || !cell.node ? 600 : 400, isFound: this.isFound(cell),
      share: compare ? compare.shareText(cell) : cell.isAbove ? '' : this.shareOfAll(value), ...shown };
  }

  isNarrow(cell) { return Boolean(this.narrow) && cell.nodes.every(node => this.narrow[node]); }

  textOf(cell, frame) {
    const { model } = this, { frames } = model;
    if (cell.more && !cell.label)
      return { label: cell.more };
    const node = cell.label || cell.node;
    const own = node ? this.view.frame[node] : frame;
    if (node && frames.kind[own] === Kind.DEVICE_LINE) {
      const text = model.sourceText(frames.files[own], frames.line[own]);
      return frames.line[own] ? { number: String(frames.line[own]), label: text || model.placeOf(own), isMono: Boolean(text) }
        : { label: 'no line' };
    }
    return { label: model.nameOf(this.view, node), place: node && frames.kind[own] !== Kind.DEVICE_FUNCTION
      ? model.placeOf(own) : '', isMono: node > 0 && frames.kind[own] === Kind.DEVICE_INSTRUCTION,
      isName: node > 0 && (frames.kind[own] === Kind.DEVICE_FUNCTION || CODE_KINDS.has(frames.kind[own])) };
  }

  // The bar above the graph shows shares of the zoomed frame; shares of the whole are therefore labelled as such.
  shareOfAll(value) { return `${shareText(value, this.values.total[0])}${this.focus ? ' of all' : ''}`; }

  lookOfReason(cell) {
    const surface = this.drawing.pen.surface || '#ffffff';
    const highlighted = this.state.get('reason');
    const isNeutral = cell.slots || cell.isUnsaid;
    let fill = isNeutral ? colourOf(PALETTE.frames.unknown) : colourOf(PALETTE.reasons[cell.slot]);
    if (this.app.compare) {
      const change = this.app.compare.colour(cell, this.view);
      if (change)
        fill = change;
    }
    const { expression } = this.app;
    const isDimmed = highlighted !== '' ? isNeutral || String(cell.slot) !== highlighted
      : Boolean(expression) && (isNeutral || !expression.test(REASONS[cell.slot].label));
    if (isDimmed)
      fill = fade(fill, surface, 0.24);
    const label = cell.slots ? '' : cell.isUnsaid ? this.unsaid : REASONS[cell.slot].label;
    const ink = isDimmed ? this.drawing.pen.dim : inkOn(fill);
    return { fill, ink, stripe: this.isNarrow(cell) && stripeFor(ink), label, share: this.app.compare
      ? this.app.compare.shareText(cell) : this.shareOfAll(cell.value || this.values.total[cell.node]) };
  }

  // Of a part without a reason: time can be known where nothing was sampled.
  get unsaid() { return this.app.model.unit === 'nanoseconds' ? 'not sampled' : 'no reason'; }

  // The value of a whole cell, of which a reason is a part.
  valueOf(cell) {
    if (cell.sum === undefined)
      cell.sum = this.layout.sumOf(cell.nodes);
    return cell.sum;
  }

  isFound(cell) {
    const { found } = this.app;
    if (cell.lookedFor !== found) {
      cell.lookedFor = found;
      cell.isFound = Boolean(found) && (cell.run || cell.nodes).some(node => node > 0 && found[this.view.frame[node]]);
    }
    return cell.isFound;
  }

  // The path of the zoomed frame; a click on a part zooms to it.
  showPath() {
    const crumbs = element('crumbs');
    const path = [0, ...pathTo(this.view, this.focus)];
    // There is space for the first and the nearest ones.
    const folded = path.length > CRUMBS_SHOWN ? path.splice(1, path.length - CRUMBS_SHOWN) : [];
    crumbs.replaceChildren(...path.flatMap((node, i) => {
      const name = this.model.nameOf(this.view, node);
      const button = make('button', { type: 'button', textContent: shortName(name, CRUMB_LENGTH), title: name,
        className: i === path.length - 1 ? 'at' : '' });
      button.addEventListener('click', () => this.zoom(node));
      if (i === 1 && folded.length) {
        const more = make('button', { type: 'button', textContent: '…', title: folded.map(at => shortName(this.model.nameOf(this.view, at)))
          .join(' › '), 'aria-label': `${folded.length} more frames` });
        more.addEventListener('click', () => this.zoom(folded[folded.length - 1]));
        return ['›', more, '›', button];
      }
      return i ? ['›', button] : [button];
    }));
    crumbs.scrollLeft = crumbs.scrollWidth;
  }

  zoom(node, more = {}) {
    this.drawing.scroll = 0;
    this.state.set({ zoom: this.model.keyOfNode(this.view, node), ...more });
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return this.drawing.cellAt(event.clientX - box.left, event.clientY - box.top);
  }

  point(event) {
    if (this.gestures.isDrag && event.buttons)
      return;
    const cell = this.cellAt(event);
    if (this.drawing.scene)
      this.drawing.scene.hovered = cell;
    this.canvas.style.cursor = cell ? 'pointer' : 'default';
    this.app.tip.show(cell ? () => this.describe(cell) : null, event);
    this.draw();
  }

  click(event) {
    const cell = this.cellAt(event);
    if (!cell)
      return;
    this.app.tip.show(null);
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left;
    if (cell.chip && x >= cell.chip[0] && x < cell.chip[0] + cell.chip[1]) {
      this.unfold(cell);
      return;
    }
    this.clicked = cell;
    this.select(cell, false);
    if (cell.slot !== undefined && !cell.more && this.kindOf(cell.node) === Kind.STALL_REASON)
      return;
    this.zoom(cell.node);
  }

  kindOf(node) { return node ? this.model.frames.kind[this.view.frame[node]] : Kind.PROCESS; }

  unfold(cell) {
    const known = this.state.get('unfold').split(',').filter(Boolean);
    this.state.set({ unfold: [...known, this.model.keyOfNode(this.view, cell.node)].join(',') });
  }

  openCode(cell, replaces = false) {
    if (!this.app.code || !cell || !cell.node)
      return;
    const place = this.app.code.placeOf(this.view, this.values, cell);
    if (place)
      this.app.openCode(place, replaces);
  }

  select(cell, speaks = true) {
    this.selected = cell;
    this.drawing.scene.selected = cell;
    this.app.side.show();
    if (speaks && cell) {
      const { title, lines } = this.describe(cell);
      element('said').textContent = [title, ...lines.map(([name, text]) => `${name} ${text}`)].join(', ');
      this.reveal(cell);
    }
    this.draw();
  }

  reveal(cell) {
    if (cell.band !== undefined || !this.drawing.scrollMost)
      return;
    const [top, high] = this.drawing.span(cell), [least, most] = this.drawing.cpuArea();
    if (top < least)
      this.drawing.scroll += least - top;
    else if (top + high > most)
      this.drawing.scroll -= top + high - most;
    this.drawing.scroll = Math.max(0, Math.min(this.drawing.scrollMost, this.drawing.scroll));
  }

  // The tooltip of a cell: { title, sub, text, mix, lines: [[name, value]] }
  describe(cell) {
    const { model, values, view } = this, { frames } = model;
    const whole = values.total[0];
    const isReason = cell.slot !== undefined || cell.slots || cell.isUnsaid;
    const value = isReason && cell.value !== undefined ? cell.value : this.valueOf(cell);
    const lines = [['Total', `${exactText(value, model.unit)} (${shareText(value, whole)} of all)`]];
    const owner = (cell.run && cell.label) || cell.node;
    const ofName = model.nameOf(view, isReason && this.kindOf(owner) === Kind.STALL_REASON ? view.parent[owner] : owner);
    if (isReason) {
      lines.push([`Of ${shortName(ofName, TIP_NAME)}`, shareText(value, this.valueOf(cell))]);
      if (this.app.compare && !this.isCallers)
        lines.push(...this.app.compare.describe(cell));
      const reason = cell.slot !== undefined ? REASONS[cell.slot] : null;
      const producer = reason && this.app.code ? this.app.code.producerText(view, values, cell) : '';
      if (producer)
        lines.push(['Waits for', producer]);
      return { title: reason ? reason.label : cell.slots ? 'Smaller reasons' : 'No reason known',
        sub: reason ? `Stall reason (${reason.names.join(', ')})` : '', text: reason ? reason.text : '', lines,
        mix: cell.slots ? values.mixOf(cell.nodes).map((part, slot) => cell.slots.includes(slot) ? part : 0) : null };
    }
    const frame = owner ? view.frame[owner] : -1;
    if (this.focus && !cell.isAbove)
      lines.push([`Of ${shortName(model.nameOf(view, this.focus), TIP_NAME)}`, shareText(value, values.total[this.focus])]);
    const self = cell.more ? 0 : values.self[owner];
    if (self > 0 && self < value)
      lines.push(['Self', `${exactText(self, model.unit)} (${shareText(self, whole)})`]);
    const use = cell.more ? null : this.describeUse(owner);
    if (use)
      lines.push(use);
    if (cell.nodes.length > 1)
      lines.push(...[...cell.nodes].sort((a, b) => values.total[b] - values.total[a]).slice(0, 5).map(node => [shortName(model.nameOf(view, node), TIP_NAME), shareText(values.total[node], whole)]));
    const sub = owner && !cell.more ? [GROUP_NAMES[groupOf(frames, frame)], frames.modules[frame] &&
      frames.kind[frame] !== Kind.DEVICE_LINE ? baseName(frames.modules[frame]) : '', model.placeOf(frame)]
      .filter(Boolean).join(', ') : '';
    const source = !cell.more && owner && frames.kind[frame] === Kind.DEVICE_LINE
      ? model.sourceText(frames.files[frame], frames.line[frame]) : '';
    if (this.app.compare && !this.isCallers)
      lines.push(...this.app.compare.describe(cell));
    return { title: cell.more || model.nameOf(view, cell.label || owner), sub, text: source, isCode: Boolean(source), lines,
      mix: model.isDevice && !this.app.compare ? values.mixOf(cell.nodes) : null, folded: cell.run };
  }

  tellPlace() {
    const { drawing } = this;
    element('said-scroll').textContent = drawing.scrollMost > 1 ? 'Wheel: more frames' : '';
  }

  // Cells that the arrow keys reach.
  neighbour(cell, key) {
    const isFlame = !this.drawing.scene.isIcicle;
    const height = other => other.band === undefined ? other.row : 1e6 + other.band;
    const cells = this.layout.cells.filter(other => !other.isGap && !other.isUnsaid);
    const middle = cell.x + cell.w / 2;
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const row = cells.filter(other => height(other) === height(cell)).sort((a, b) => a.x - b.x);
      return row[row.indexOf(cell) + (key === 'ArrowLeft' ? -1 : 1)] || cell;
    }
    const rises = (key === 'ArrowUp') === isFlame;
    const others = cells.filter(other => rises ? height(other) > height(cell) && other.x + other.w > cell.x + 0.01 &&
      other.x < cell.x + cell.w - 0.01 : height(other) < height(cell) && other.x <= middle && other.x + other.w >= middle);
    const nearest = rises ? Math.min(...others.map(height)) : Math.max(...others.map(height));
    const row = others.filter(other => height(other) === nearest);
    return row.sort((a, b) => b.w - a.w)[0] || cell;
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey)
      return false;
    const cell = this.selected || this.layout.cells.find(({ node }) => node === this.focus) || this.layout.cells[0];
    if (!cell)
      return false;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const move = () => event.shiftKey && step ? this.gestures.pan(step * this.canvas.clientWidth / 4)
      : this.select(this.neighbour(cell, event.key));
    const actions = { ArrowUp: move, ArrowDown: move, ArrowLeft: move, ArrowRight: move,
      '+': () => this.gestures.zoom(0.5, cell.x + cell.w / 2), '-': () => this.gestures.zoom(2, cell.x + cell.w / 2),
      Enter: () => this.zoom(cell.node), c: () => this.openCode(cell), p: () => this.openCode(cell),
      f: () => this.filter('focus', cell), i: () => this.filter('ignore', cell) };
    if (!actions[event.key])
      return false;
    actions[event.key]();
    return true;
  }

  filter(key, cell) {
    const frame = cell.node && !cell.more ? this.view.frame[(cell.run && cell.label) || cell.node] : -1;
    if (frame >= 0 && this.model.frames.kind[frame] !== Kind.DEVICE_LINE)
      this.state.set({ [key]: `/^${this.model.frames.names[frame].replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}$/`, zoom: '' });
  }

  listen() {
    const { canvas } = this;
    let isNew = false;
    canvas.addEventListener('mousemove', event => this.point(event));
    canvas.addEventListener('mouseleave', () => {
      if (this.drawing.scene)
        this.drawing.scene.hovered = null;
      this.app.tip.show(null);
      this.draw();
    });
    canvas.addEventListener('click', event => {
      if (event.detail > 1)
        return;
      const before = this.state.depth;
      this.click(event);
      isNew = this.state.depth > before;
    });
    // Back from the code returns to the state of the first click.
    canvas.addEventListener('dblclick', () => this.clicked && this.openCode(this.clicked, isNew));
    canvas.addEventListener('keydown', event => {
      if (this.key(event))
        event.preventDefault();
    });
    canvas.addEventListener('wheel', event => this.wheel(event), { passive: false });
    this.listenToTouch();
    new ResizeObserver(() => this.show()).observe(element('graphbox'));
  }

  wheel(event) {
    if (event.ctrlKey && event.deltaY >= NOTCH && this.focus && !this.state.get('span')) {
      event.preventDefault();
      this.zoom(this.view.parent[this.focus]);
      return;
    }
    if (this.gestures.wheel(event))
      return;
    if (!this.drawing.scrollMost)
      return;
    event.preventDefault();
    this.scrollBy(-event.deltaY);
  }

  // Pixels by which the frames move down.
  scrollBy(pixels) {
    const flip = this.drawing.scene.isIcicle ? -1 : 1;
    this.drawing.scroll = Math.max(0, Math.min(this.drawing.scrollMost, this.drawing.scroll + flip * pixels));
    this.draw();
  }

  // A long touch shows what a pointer shows.
  listenToTouch() {
    let timer = 0;
    this.canvas.addEventListener('touchstart', event => {
      const [touch] = event.touches;
      timer = setTimeout(() => this.point({ clientX: touch.clientX, clientY: touch.clientY }), 450);
    }, { passive: true });
    for (const name of ['touchend', 'touchmove', 'touchcancel'])
      this.canvas.addEventListener(name, () => clearTimeout(timer), { passive: true });
  }
}
