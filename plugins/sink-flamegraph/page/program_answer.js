// The answer in a profile of CPUs: in which function of the program its time is spent, and what is called from there; of
// waits, what they are for. Same as lib/stacks/program_answer.c, which a test compares it with.

const FUNCTION_SHARE = 0.02, FUNCTION_SHARE_OF_PROGRAM = 0.2, PROGRAM_SHARE = 0.01;
const PART_SHARE = 0.01, PARTS_SHOWN = 6, SITES_SHOWN = 5, MOST = 0.5, IDLE_SHARE = 0.9;

const byValue = (a, b) => b.value - a.value || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
const partsOf = sums => [...sums].map(([name, value]) => ({ name, value })).sort(byValue);
const addTo = (sums, key, value) => sums.set(key, (sums.get(key) || 0) + value);

// The parts that have room and are worth it.
const shownParts = (parts, whole) => parts.filter(({ value }, i) => i < PARTS_SHOWN && (!i || value >= PART_SHARE * whole));

class ProgramAnswer {
  constructor(model, values) {
    Object.assign(this, { model, values, view: values.view, frames: model.frames, isWait: model.isWait, value: 0, idle: 0 });
    this.found = new Map(); // sites by program and function
    const programs = new Map(), reasons = new Map();
    this.eachStack(({ node, site, program, work, reason, isIdle }) => {
      const value = values.self[node];
      if (this.isWait && isIdle) {
        this.idle += value;
        return;
      }
      this.value += value;
      const what = this.isWait ? reason : work;
      addTo(programs, program, value);
      addTo(reasons, what, value);
      this.addSite(program, site, what, value);
    });
    this.programs = partsOf(programs);
    this.reasons = this.isWait ? partsOf(reasons) : [];
    this.sites = [...this.found.values()].sort((a, b) => byValue(a, b) || (a.program < b.program ? -1 : 1));
    this.top = this.topSite();
    this.below = this.top ? this.partsBelow() : [];
  }

  // Calls a function for each node with a value of its own: { node, site: a node or 0, program, work, reason, isIdle }
  eachStack(act) {
    const { view: { count, parent, frame }, frames, values: { self } } = this;
    const [site, process, work, runtime, reason] = Array.from({ length: 5 }, () => new Int32Array(count)); // nodes
    const rank = new Uint8Array(count), isIdle = new Uint8Array(count), isOver = new Uint8Array(count);
    const text = node => (node ? frames.works[frame[node]] : '');
    for (let node = 1; node < count; node++) {
      const above = parent[node], at = frame[node], flags = frames.site[at] || 0, own = flags & Work.RANK;
      for (const state of [site, process, work, runtime, reason, rank, isIdle, isOver])
        state[node] = state[above];
      if (frames.kind[at] === Kind.PROCESS)
        process[node] = node;
      if (!isOver[node] && own && own >= rank[node]) {
        rank[node] = own;
        site[node] = node;
        work[node] = runtime[node] = reason[node] = 0;
        isIdle[node] = own > Work.RANK_LIBRARY ? 0 : isIdle[node] || flags & Work.IDLE ? 1 : 0;
      } else if (!isOver[node]) {
        isOver[node] = frames.kind[at] === Kind.WAIT ? 1 : 0;
        isIdle[node] = isIdle[node] || flags & Work.IDLE ? 1 : 0;
        if (flags & Work.RUNTIME)
          runtime[node] = text(node) ? node : runtime[node];
        else if (!work[node])
          work[node] = text(node) ? node : 0;
        if (flags & Work.WAIT && !reason[node])
          reason[node] = node;
      }
      if (self[node] > 0)
        act({ node, site: site[node], program: process[node] ? frames.names[frame[process[node]]] : '', work: text(work[node] || runtime[node]),
          reason: text(reason[node]), isIdle: isIdle[node] === 1 });
    }
  }

  addSite(program, node, what, value) {
    const { frames } = this, at = node ? this.view.frame[node] : -1;
    const key = node ? [program, frames.names[at], frames.files[at] || frames.modules[at]].join('\n') : program;
    if (!this.found.has(key))
      this.found.set(key, { program, name: node ? frames.names[at] : '', value: 0, lines: new Map(), works: new Map() });
    const site = this.found.get(key), line = node ? frames.line[at] : 0, known = site.lines.get(line) || { value: 0, nodes: new Map() };
    site.value += value;
    addTo(site.works, what, value);
    known.value += value;
    addTo(known.nodes, node, value);
    site.lines.set(line, known);
  }

  // A site's hottest line: { line, value, node: the one with most of it, or 0 }
  hottestLine(site) {
    const [line, { value, nodes }] = [...site.lines].reduce((a, b) => (b[1].value > a[1].value ? b : a));
    return { line, value, node: [...nodes].reduce((a, b) => (b[1] > a[1] ? b : a))[0] };
  }

  // Of the largest program the largest site; of waits, the largest one for the first reason; null: there is none.
  topSite() {
    const { isWait, programs: [program], reasons: [reason] } = this;
    if (!isWait)
      return this.sites.find(site => site.program === program.name) || null;
    const size = ({ works }) => works.get(reason.name) || 0;
    const top = reason ? this.sites.reduce((a, b) => (size(b) > size(a) ? b : a)) : null;
    this.topWait = top ? size(top) : 0;
    return top;
  }

  get hasPrograms() { return this.programs.length > 1 && this.programs[1].value >= PROGRAM_SHARE * this.value; }

  // Whether the function of the top site is the answer; else its program is.
  get isFunction() {
    const { top } = this;
    return Boolean(top && top.name) && top.value >= FUNCTION_SHARE * this.value &&
      (!this.hasPrograms || top.value >= FUNCTION_SHARE_OF_PROGRAM * this.programs[0].value);
  }

  get isMostlyIdle() { return this.idle >= IDLE_SHARE * (this.idle + this.value) && this.idle > 0; }

  partsBelow() {
    const sums = new Map();
    for (const site of this.isFunction ? [this.top] : this.sites.filter(({ program }) => program === this.top.program))
      for (const [name, value] of site.works)
        addTo(sums, name, value);
    return partsOf(sums);
  }

  // "parser.py:41", "libz.so.1"
  placeOf({ node }) {
    const { frames, view } = this, frame = view.frame[node];
    if (!node || (frames.kind[frame] === Kind.JIT && !frames.files[frame]))
      return '';
    return frames.files[frame] ? `${baseName(frames.files[frame])}${frames.line[frame] ? `:${frames.line[frame]}` : ''}`
      : baseName(frames.modules[frame] || '');
  }
}
