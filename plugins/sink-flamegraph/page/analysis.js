// The answer: where device time goes, and why. It is derived from stacks, and from the instructions and lines in the
// profile; unknown facts are omitted.

const OTHER_CLASS = 'other'; // of kernels that no rule knows

const DOMINATES = 0.05; // of device time: a smaller share is not a bottleneck

// See lib/stacks/profile_summary.c.
const NARROW_SHARE = 0.05, NARROW_USE = 0.25, FULLEST_SHARE = 0.01, USE_SAMPLES = 100, NARROW_MAX = 3;

const RANKS_MAX = 64; // SUMMARY_PARTS_MAX

const isNarrow = ({ use }) => Boolean(use) && use.part < NARROW_USE;

// "0.86 %"; "<6.7 %" if too few samples are known
const useText = ({ part, isLimit }) => `${isLimit ? '<' : ''}${Number((100 * part).toPrecision(2))}${THIN}%`;

class Analysis {
  constructor(model, values = model.unhiddenValues()) {
    this.model = model;
    const { view } = values, { frames } = model;
    Object.assign(this, { values, view, frames, whole: values.total[0] });
    this.kernels = new Map(); // by name: { name, frame, total, samples, use, mix, lines, nodes }
    const { count, parent, frame } = view, kernelOf = new Int32Array(count), lineOf = new Int32Array(count);
    const kernels = [null], lines = [null];
    for (let node = 1; node < count; node++) {
      const above = kernelOf[parent[node]], kind = frames.kind[frame[node]];
      kernelOf[node] = above;
      lineOf[node] = lineOf[parent[node]];
      if (!(values.total[node] > 0))
        continue;
      if (kind === Kind.DEVICE_FUNCTION && !above)
        kernelOf[node] = this.addKernel(node, kernels);
      else if (kind === Kind.DEVICE_LINE && above)
        lineOf[node] = this.addLine(node, kernels[above], lines);
    }
    values.reasons.forEach(({ nodes, sums }, slot) => nodes.forEach((node, i) => {
      for (const at of [kernels[kernelOf[node]], lines[lineOf[node]]])
        if (at)
          at.mix[slot] += sums[i + 1] - sums[i];
    }));
    this.sorted = [...this.kernels.values()].sort((a, b) => b.total - a.total);
    this.causes = this.findCauses();
  }

  // The kernel with the most time, where nothing was sampled: what kernels waited for is not known.
  get longest() {
    return this.sorted.length && this.sorted.every(({ mix }) => mix.every((value) => !value)) ? this.sorted[0] : null;
  }

  // -> its index in the list
  addKernel(node, list) {
    const frame = this.view.frame[node], name = this.frames.names[frame];
    let kernel = this.kernels.get(name);
    if (!kernel) {
      kernel = { name, frame, total: 0, samples: 0, use: null, mix: new Float64Array(REASONS.length), lines: new Map(), nodes: [], number: list.length };
      this.kernels.set(name, kernel);
      list.push(kernel);
    }
    kernel.total += this.values.total[node];
    kernel.nodes.push(node);
    return kernel.number;
  }

  addLine(node, kernel, list) {
    const frame = this.view.frame[node];
    let line = kernel.lines.get(frame);
    if (!line) {
      line = { frame, file: this.frames.files[frame], line: this.frames.line[frame], total: 0,
        mix: new Float64Array(REASONS.length), number: list.length };
      kernel.lines.set(frame, line);
      list.push(line);
    }
    line.total += this.values.total[node];
    return line.number;
  }

  // Kernels by class, the largest first and those without one last: { name, total, mix }; empty if no kernel has a class.
  get classes() {
    const classes = new Map();
    for (const { frame, total, mix } of this.sorted) {
      const name = this.frames.classes[frame] || OTHER_CLASS;
      const known = classes.get(name) || { name, total: 0, mix: new Float64Array(REASONS.length) };
      known.total += total;
      mix.forEach((value, slot) => { known.mix[slot] += value; });
      classes.set(name, known);
    }
    const isOther = ({ name }) => name === OTHER_CLASS;
    const sorted = [...classes.values()].sort((a, b) => isOther(a) - isOther(b) || b.total - a.total);
    return sorted.every(isOther) ? [] : sorted;
  }

  // Ranks of a parallel program, the largest share of time in collectives first: { name, total, collective }; empty unless there are
  // several and they have any. See lib/stacks/profile_summary.c.
  get ranks() {
    const { view: { parent, frame }, frames, model } = this, ranks = new Map();
    for (const kernel of (model.types[model.type] || {}).role === Role.DEVICE_TIME ? this.sorted : [])
      for (const node of kernel.nodes) {
        let above = node;
        while (above > 0 && frames.kind[frame[above]] !== Kind.PROCESS)
          above = parent[above];
        const name = above > 0 ? frames.names[frame[above]] : '';
        if (!/ \(rank \d+\)$/.test(name))
          continue;
        const rank = ranks.get(name) || { name, total: 0, collective: 0 };
        rank.total += this.values.total[node];
        rank.collective += frames.classes[kernel.frame] === 'collective' ? this.values.total[node] : 0;
        ranks.set(name, rank);
      }
    const share = ({ collective, total }) => collective / total;
    const sorted = [...ranks.values()].sort((one, two) => share(two) - share(one) || (one.name < two.name ? -1 : 1));
    return sorted.length > 1 && sorted.length <= RANKS_MAX && sorted[0].collective > 0 ? sorted : [];
  }

  // The most expensive stalls: { kernel, line, slot, value }
  findCauses() {
    const causes = [];
    for (const kernel of this.sorted) {
      const items = kernel.lines.size ? [...kernel.lines.values()] : [kernel];
      for (const item of items)
        item.mix.forEach((value, slot) => {
          if (value > 0 && slot !== ISSUING)
            causes.push({ kernel, line: item === kernel || !item.line ? null : item, slot, value });
        });
    }
    return causes.sort((a, b) => b.value - a.value).slice(0, 8);
  }

  // The kernel with which others are compared; null: none. Kernels with samples get their use of the device: samples
  // per time, as a part of those of the fullest; an upper limit if there are too few.
  get fullest() {
    if (this.foundFullest === undefined)
      this.foundFullest = this.findUses();
    return this.foundFullest;
  }

  findUses() {
    for (const type of this.model.sampleTypes) {
      const values = new Values(this.view, this.frames, type, this.model.hidden);
      for (const node of values.kernels) {
        const kernel = this.kernels.get(this.frames.names[this.view.frame[node]]);
        if (kernel)
          kernel.samples += values.total[node];
      }
    }
    const density = ({ samples, total }) => samples / total;
    // A collective uses little of the device by design.
    const sampled = this.sorted.filter(({ samples, frame }) => samples > 0 && this.frames.classes[frame] !== 'collective');
    const fullest = sampled.filter(({ samples, total }) => samples >= USE_SAMPLES && total >= FULLEST_SHARE * this.whole)
      .reduce((a, b) => (a && density(a) >= density(b) ? a : b), null);
    for (const kernel of fullest ? sampled : [])
      kernel.use = { part: Math.max(USE_SAMPLES, kernel.samples) / kernel.total / density(fullest), isLimit: kernel.samples < USE_SAMPLES };
    return fullest;
  }

  // Kernels with much time but few samples, which use little of the device.
  get narrow() {
    return !this.fullest ? [] : this.sorted.filter(kernel => isNarrow(kernel) && kernel.total >= NARROW_SHARE * this.whole)
      .slice(0, NARROW_MAX);
  }

  get top() {
    const [first] = this.causes;
    return first && first.value >= DOMINATES * this.whole ? first : null;
  }

  // The frame that launched a kernel most often, as in lib/stacks/profile_summary.c. In each stack, it is the innermost
  // function of the program by the rules of the run, in Python if there is one; otherwise a framework's innermost Python
  // function, or that of the library with most of the stack's frames.
  launchSite(kernel) {
    const { view, values } = this, sites = new Map();
    for (const node of kernel.nodes) {
      const site = this.siteOf(node);
      if (!site)
        continue;
      const known = sites.get(view.frame[site]) || { value: 0, most: 0, node: 0 };
      known.value += values.total[node];
      if (values.total[node] > known.most)
        Object.assign(known, { most: values.total[node], node: site });
      sites.set(view.frame[site], known);
    }
    return [...sites.values()].reduce((a, b) => (a.value >= b.value ? a : b), { value: 0, node: 0 }).node;
  }

  siteOf(node) {
    const { view, frames } = this;
    const kernel = frames.names[view.frame[node]];
    let own = 0, python = 0, best = 0;
    const libraries = new Map(); // by module: { count, nearest }
    for (let at = view.parent[node]; at > 0; at = view.parent[at]) {
      const frame = view.frame[at], kind = frames.kind[frame], flags = frames.flags[frame];
      if (!CODE_KINDS.has(kind))
        continue;
      if (!isLibraryCode(frames, frame)) {
        if (kind === Kind.PYTHON)
          return at;
        // A function with the kernel's name is what its compiler made for launching it.
        own = !own || frames.names[view.frame[own]] === kernel ? at : own;
      }
      if (!python && kind === Kind.PYTHON)
        python = at;
      if (own || python || flags & Flag.UNKNOWN || !frames.modules[frame])
        continue;
      const library = libraries.get(frames.modules[frame]) || { count: 0, nearest: at };
      library.count++;
      libraries.set(frames.modules[frame], library);
      if (!best || library.count >= best.count)
        best = library;
    }
    return own || python || best.nearest || 0;
  }

  // What the hardware calls the reason of a cause: several of its reasons may be of one class.
  hardwareName({ kernel, line, slot }) {
    const { view, values, frames } = this, sums = new Map();
    for (const node of kernel.nodes)
      for (let at = node + 1; at < view.end[node]; at++)
        if (values.slot(at) === slot && (!line || view.frame[view.parent[at]] === line.frame)) {
          const name = frames.names[view.frame[at]];
          sums.set(name, (sums.get(name) || 0) + values.total[at]);
        }
    return [...sums].reduce((a, b) => (b[1] > a[1] ? b : a), [REASONS[slot].names[0], 0])[0];
  }

  // The sum of everything below frames with the same name as the node's.
  totalOfFrame(node) {
    const { view, values } = this, frame = view.frame[node], counts = new Uint8Array(view.count);
    let sum = 0;
    for (let at = 1; at < view.count; at++) {
      counts[at] = counts[view.parent[at]];
      if (view.frame[at] === frame && !counts[at]) {
        sum += values.total[at];
        counts[at] = 1;
      }
    }
    return sum;
  }
}
