// The positions of a flame graph's cells. Frames too narrow for a label are merged, never drawn as bare boxes, and the
// values of merged cells add up. CPU frames are in rows from the root; device code is in a band whose rows (kernel,
// line, instruction, stall reasons) have the same height across the graph.

const LEAST_CPU = 16, LEAST_REASON = 3.5; // pixels
const LEAST_LINE = Object.freeze({ line: 88, instruction: 46, function: 60, kernel: 60 });
const BAND = Object.freeze({
  kernel: ['kernel', 'reason'], function: ['kernel', 'inner', 'reason'], line: ['kernel', 'inner', 'reason'],
  instruction: ['kernel', 'inner', 'instruction', 'reason'] });
const FOLD_LEAST = 3; // frames

class FlameLayout {
  // unfolded: the last nodes of runs that are not folded; isPlain: device code is laid out like other frames; span: the
  // visible part of the focused node's width, as two fractions of it
  constructor({ view, frames, values, focus, width, detail, unfolded, isPlain, span: [begin, end] = [0, 1] }) {
    Object.assign(this, { view, frames, values, focus, width, unfolded, isPlain });
    this.wide = width / (end - begin);
    this.left = -begin * this.wide;
    this.band = BAND[detail];
    this.leastLine = LEAST_LINE[detail];
    this.cells = [];
    this.deepest = 0; // row of the CPU
    this.hasBand = false;
    if (values.total[focus] > 0)
      this.place();
  }

  kind(node) { return this.frames.kind[this.view.frame[node]]; }

  isDevice(node) {
    return node > 0 && !this.isPlain && isDeviceKind(this.kind(node));
  }

  // Parts of a cell outside the edges are cut off.
  add(cell) {
    const end = Math.min(this.width, cell.x + cell.w);
    cell.x = Math.max(0, cell.x);
    cell.w = end - cell.x;
    if (cell.w > 0)
      this.cells.push(cell);
  }

  isInSight(x, w) { return x < this.width && x + w > 0; }

  place() {
    const path = [0, ...pathTo(this.view, this.focus)], inAll = new Set(path);
    this.scale = this.wide / this.values.total[this.focus];
    const isAbove = node => node !== this.focus && inAll.has(node);
    const firstDevice = path.findIndex(node => this.isDevice(node));
    const cpu = firstDevice < 0 ? path : path.slice(0, firstDevice);
    let row = 0;
    for (let i = 0; i < cpu.length; row++) {
      const run = this.runOf(cpu[i]);
      const inPath = run.filter(node => inAll.has(node));
      const isLast = inPath.includes(cpu[cpu.length - 1]);
      if (isLast && firstDevice < 0) {
        this.placeCpu(cpu[i], this.left, this.wide, row);
        this.markAbove(isAbove);
        return;
      }
      this.addRun(inPath.length >= FOLD_LEAST ? inPath : [cpu[i]], this.left, this.wide, row);
      i += inPath.length >= FOLD_LEAST ? inPath.length : 1;
    }
    if (firstDevice >= 0)
      this.placeDevicePath(path.slice(firstDevice), row);
    this.markAbove(isAbove);
  }

  markAbove(isAbove) {
    for (const cell of this.cells)
      cell.isAbove = cell.nodes.length === 1 && cell.x === 0 && cell.w >= this.width && isAbove(cell.node);
  }

  // A zoom into the device band: the frames above it have the full width.
  placeDevicePath(path, row) {
    const [kernel, ...below] = path;
    if (!below.length) {
      this.placeKernel(kernel, this.left, this.wide, row - 1);
      return;
    }
    this.hasBand = true;
    this.addGap(this.left, this.wide, row);
    this.add({ x: this.left, w: this.wide, band: 0, node: kernel, nodes: [kernel] });
    const focus = below[below.length - 1];
    below.slice(0, -1).forEach(node => this.add({ x: this.left, w: this.wide, band: this.bandOf(node), node, nodes: [node] }));
    const band = this.bandOf(focus);
    if (this.band[band] === 'inner')
      this.placeInner([focus], this.left, this.wide);
    else if (this.band[band] === 'instruction')
      this.placeInstructions([focus], this.left, this.wide);
    else
      this.add({ x: this.left, w: this.wide, band, node: focus, nodes: [focus], slot: this.values.slot(focus) });
  }

  bandOf(node) {
    const kind = this.kind(node);
    const name = kind === Kind.STALL_REASON ? 'reason' : kind === Kind.DEVICE_INSTRUCTION ? 'instruction' : 'inner';
    const band = this.band.indexOf(name);
    return band < 0 ? this.band.length - 1 : band;
  }

  canFold(node) {
    const kind = this.kind(node);
    const group = groupOf(this.frames, this.view.frame[node]);
    return node > 0 && (kind === Kind.USER || kind === Kind.LINUX_KERNEL) && (group === 'native' || group === 'inlined' ||
      group === 'linux');
  }

  // A node and its chain of only children, as long as all are plain functions.
  runOf(node) {
    const run = [node], { values } = this;
    if (!this.canFold(node) || (this.isPlain && this.view.parent[node] === 0)) // callers and callees are kept apart
      return run;
    const isLinux = this.isLinux(node);
    for (let at = node; ;) {
      const child = values.onlyChild(at);
      if (!child || !this.canFold(child) || values.total[child] < values.total[at] || this.isLinux(child) !== isLinux)
        break;
      at = child;
      run.push(at);
    }
    return this.unfolded.has(run[run.length - 1]) ? [node] : run;
  }

  isLinux(node) { return groupOf(this.frames, this.view.frame[node]) === 'linux'; }

  addRun(run, x, w, row) {
    this.deepest = Math.max(this.deepest, row);
    const node = run[run.length - 1];
    // For callers, the nearest one is shown.
    this.add({ x, w, row, node, nodes: [node], run: run.length > 1 ? run : null, label: this.isPlain && run.length > 1 ? run[0] : 0 });
    return node;
  }

  placeCpu(node, x, w, row) {
    const waiting = [[node, x, w, row]], least = LEAST_CPU / this.scale;
    while (waiting.length) {
      const [first, left, width, level] = waiting.pop();
      const run = this.runOf(first);
      const last = this.addRun(run.length >= FOLD_LEAST ? run : [first], left, width, level);
      let at = left;
      const [wide, rest] = this.values.childrenFrom(last, least);
      for (const child of this.values.sort(wide)) {
        const wide = this.values.total[child] * this.scale;
        if (!this.isInSight(at, wide)) {
          at += wide;
          continue;
        }
        if (this.isDevice(child))
          this.placeKernel(child, at, wide, level);
        else
          waiting.push([child, at, wide, level + 1]);
        at += wide;
      }
      if (rest.length)
        this.placeRest(rest, at, level + 1);
    }
  }

  // Subtrees too narrow for labels, as one cell; their kernels, if any, as one cell in the band.
  placeRest(rest, x, row) {
    const cpu = rest.filter(node => !this.isDevice(node)), device = rest.filter(node => this.isDevice(node));
    const widthOf = nodes => this.sumOf(nodes) * this.scale;
    const deviceWidth = widthOf(device), cpuWidth = widthOf(cpu);
    const kernels = rest.flatMap(node => [...this.values.kernelsBelow(node)]);
    if (cpu.length) {
      this.deepest = Math.max(this.deepest, row);
      this.add({ x, w: cpuWidth, row, node: cpu.length === 1 ? cpu[0] : this.view.parent[cpu[0]], nodes: cpu,
        more: cpu.length > 1 ? `${cpu.length} more` : null });
    }
    if (!kernels.length)
      return;
    this.hasBand = true;
    if (cpuWidth)
      this.addGap(x, cpuWidth, row + 1);
    if (deviceWidth)
      this.addGap(x + cpuWidth, deviceWidth, row);
    const wide = widthOf(kernels);
    this.addMerged(kernels, x, wide, 0, 'kernel');
    this.placeInnerOf(kernels, x, wide);
  }

  sumOf(nodes) {
    const { total } = this.values;
    let sum = 0;
    for (const node of nodes)
      sum += total[node];
    return sum;
  }

  addGap(x, w, row) {
    this.add({ x, w, row, isGap: true, nodes: [] });
  }

  addMerged(nodes, x, w, band, noun) {
    const { count, first } = this.differentFrames(nodes);
    this.add({ x, w, band, node: nodes.length === 1 ? nodes[0] : this.view.parent[nodes[0]], nodes,
      more: count > 1 ? `${count} ${noun}s` : null, label: count === 1 ? first : 0 });
  }

  // The number of different frames of the nodes, and the first one that is not a stall reason.
  differentFrames(nodes) {
    const { frame } = this.view, seen = this.seen || (this.seen = new Int32Array(this.frames.count));
    const mark = this.mark = (this.mark || 0) + 1;
    let count = 0, first = 0;
    for (const node of nodes)
      if (seen[frame[node]] !== mark && this.kind(node) !== Kind.STALL_REASON) {
        seen[frame[node]] = mark;
        first = first || node;
        count++;
      }
    return { count, first };
  }

  placeKernel(node, x, w, above) {
    this.hasBand = true;
    this.addGap(x, w, above + 1);
    if (this.kind(node) === Kind.STALL_REASON) {
      this.placeReasons([node], x, w);
      return;
    }
    this.add({ x, w, band: 0, node, nodes: [node] });
    this.placeInnerOf([node], x, w);
  }

  // Lines or functions of kernels: those wide enough for a label, and the rest together.
  placeInnerOf(kernels, x, w) {
    if (this.band.length === 2) {
      this.placeReasons(kernels, x, w);
      return;
    }
    const [wide, rest] = this.split(kernels);
    if (!wide.length && !this.differentFrames(rest).count) {
      this.placeReasons(kernels, x, w);
      return;
    }
    let at = x;
    for (const node of wide) {
      this.placeInner([node], at, this.values.total[node] * this.scale);
      at += this.values.total[node] * this.scale;
    }
    if (rest.length && x + w - at > 0.01)
      this.placeInner(rest, at, x + w - at, wide.length > 0, wide.length ? null : kernels);
  }

  // Children of nodes: those of a single one that are wide enough, and the others.
  split(nodes) {
    const { values } = this;
    if (nodes.length > 1)
      return [[], nodes.flatMap(node => values.slot(node) >= 0 ? [node] : values.childrenFrom(node, 0)[0])];
    const [found, rest] = values.childrenFrom(nodes[0], this.leastLine / this.scale);
    const isReason = node => values.slot(node) >= 0;
    return [values.sort(found.filter(node => !isReason(node))), [...found.filter(isReason), ...rest]];
  }

  // owners: the nodes whose children these are, if these are all of them; they have the same stall reasons
  placeInner(nodes, x, w, isRest = false, owners = null) {
    const { count, first } = this.differentFrames(nodes);
    if (count) {
      const noun = this.kind(first) === Kind.DEVICE_FUNCTION ? 'function' : 'line';
      this.add({ x, w, band: 1, node: nodes.length === 1 ? first : this.view.parent[first], nodes,
        more: count > 1 ? `${count} ${isRest ? 'more ' : ''}${noun}s` : null, label: count === 1 ? first : 0 });
    }
    if (this.band.length === 4)
      this.placeInstructionsOf(nodes, x, w);
    else
      this.placeReasons(nodes, x, w, owners);
  }

  placeInstructionsOf(lines, x, w) {
    const [wide, rest] = lines.length === 1 && this.values.slot(lines[0]) >= 0 ? [[], lines] : this.split(lines);
    let at = x;
    for (const node of wide) {
      this.placeInstructions([node], at, this.values.total[node] * this.scale);
      at += this.values.total[node] * this.scale;
    }
    if (rest.length && x + w - at > 0.01)
      this.placeInstructions(rest, at, x + w - at, wide.length ? null : lines);
  }

  placeInstructions(nodes, x, w, owners = null) {
    const { count, first } = this.differentFrames(nodes);
    if (count) {
      const many = nodes.filter(node => this.values.slot(node) < 0).length;
      this.add({ x, w, band: 2, node: nodes.length === 1 ? first : this.view.parent[first], nodes,
        more: many > 1 ? `${many} instructions` : null, label: count === 1 ? first : 0 });
    }
    this.placeReasons(nodes, x, w, owners);
  }

  // Stall reasons in their order; those too narrow to be visible are one neutral cell before issuing.
  placeReasons(nodes, x, w, owners = null) {
    const mix = this.values.mixOf(owners || nodes), band = this.band.length - 1;
    const owner = nodes.length === 1 ? nodes[0] : this.view.parent[nodes[0]];
    let at = x;
    const put = (value, more) => {
      if (value > 0)
        this.add({ x: at, w: value * this.scale, band, node: owner, nodes, ...more });
      at += value * this.scale;
    };
    const narrow = [];
    for (let slot = 0; slot < ISSUING; slot++) {
      if (mix[slot] * this.scale >= LEAST_REASON)
        put(mix[slot], { slot, value: mix[slot] });
      else if (mix[slot] > 0)
        narrow.push(slot);
    }
    const isIssuingWide = mix[ISSUING] * this.scale >= LEAST_REASON;
    if (!isIssuingWide && mix[ISSUING] > 0)
      narrow.push(ISSUING);
    if (narrow.length === 1)
      put(mix[narrow[0]], { slot: narrow[0], value: mix[narrow[0]] });
    else
      put(narrow.reduce((sum, slot) => sum + mix[slot], 0), { slots: narrow,
        value: narrow.reduce((sum, slot) => sum + mix[slot], 0) });
    if (isIssuingWide)
      put(mix[ISSUING], { slot: ISSUING, value: mix[ISSUING] });
    const none = w - (at - x);
    if (none > 0.5)
      this.add({ x: at, w: none, band, node: owner, nodes, isUnsaid: true, value: none / this.scale });
  }
}
