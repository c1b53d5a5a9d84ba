// The answer in a profile of CPUs: in which function of the program its time is spent, and what is called from there; of
// waits, what they are for. Same as lib/stacks/program_answer.c, which a test compares it with.

const FUNCTION_SHARE = 0.02, FUNCTION_SHARE_OF_PROGRAM = 0.2, PROGRAM_SHARE = 0.01;
const PART_SHARE = 0.01, PARTS_SHOWN = 6, SITES_SHOWN = 5, MOST = 0.5, IDLE_SHARE = 0.9;

const LEAF_KINDS = new Set([Kind.USER, Kind.LINUX_KERNEL, Kind.JIT, Kind.CALL, Kind.PYTHON]);

const byValue = (a, b) => b.value - a.value || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
const partsOf = sums => [...sums].map(([name, value]) => ({ name, value })).sort(byValue);
const addTo = (sums, key, value) => sums.set(key, (sums.get(key) || 0) + value);

// The parts that have room and are worth it.
const shownParts = (parts, whole) => parts.filter(({ value }, i) => i < PARTS_SHOWN && (!i || value >= PART_SHARE * whole));

// Why a node of the profile is not in a view: a wait that is left out, or anything else.
const IS_IDLE = -2;

class ProgramAnswer {
  // Of what a view keeps of the profile; selves: the values of the profile's nodes.
  constructor(model, { becomes }, selves) {
    Object.assign(this, { model, becomes, selves, tree: model.tree, frames: model.frames, isWait: model.isWait, value: 0, idle: 0, unnamed: 0 });
    this.found = new Map(); // sites by program and function
    this.lines = new Map(); // the same by program and frame, with the line
    const { frame } = this.tree, programs = new Float64Array(this.frames.own), leaves = new Float64Array(this.frames.own), reasons = new Map();
    this.eachStack(({ value, site, leaf, process, work, reason, isIdle }) => {
      if (this.isWait && isIdle) {
        this.idle += value;
        return;
      }
      this.value += value;
      if (process)
        programs[frame[process]] += value;
      else
        this.unnamed += value;
      if (leaf)
        leaves[frame[leaf]] += value;
      if (this.isWait)
        addTo(reasons, reason, value);
      this.addSite(process, site, this.isWait ? reason : work, value);
    });
    this.addLines();
    this.programs = partsOf(this.byName(programs));
    this.reasons = this.isWait ? partsOf(reasons) : [];
    this.sites = [...this.found.values()].sort((a, b) => byValue(a, b) || (a.program < b.program ? -1 : 1));
    this.functions = this.functionsOf(leaves);
    this.top = this.topSite();
    this.below = this.top ? this.partsBelow() : [];
  }

  // Calls a function for each node with a value of its own: { value, site, leaf and process: a node or 0, work, reason, isIdle }
  eachStack(act) {
    const { tree: { count, parent, frame }, frames, selves, becomes } = this, { kind, site: facts } = frames;
    const [site, leaf, process, work, runtime, reason] = Array.from({ length: 6 }, () => new Int32Array(count)); // nodes
    const rank = new Uint8Array(count), isIdle = new Uint8Array(count), isOver = new Uint8Array(count);
    const text = node => (node ? frames.works[frame[node]] : '');
    for (let node = 1; node < count; node++) {
      const above = parent[node], at = frame[node], flags = facts[at], own = flags & Work.RANK;
      process[node] = kind[at] === Kind.PROCESS ? node : process[above];
      isOver[node] = isOver[above] || kind[at] === Kind.WAIT ? 1 : 0;
      const isSite = !isOver[node] && own && own >= rank[above];
      rank[node] = isSite ? own : rank[above];
      site[node] = isSite ? node : site[above];
      leaf[node] = !isOver[node] && LEAF_KINDS.has(kind[at]) ? node : leaf[above];
      isIdle[node] = isSite && own > Work.RANK_LIBRARY ? 0 : isIdle[above];
      if (!isSite) {
        work[node] = work[above];
        runtime[node] = runtime[above];
        reason[node] = reason[above];
      }
      if (!isOver[above] && flags & Work.IDLE)
        isIdle[node] = 1;
      if (!isOver[above] && !isSite && frames.works[at]) {
        if (flags & Work.RUNTIME)
          runtime[node] = node;
        else if (!work[node])
          work[node] = node;
        if (flags & Work.WAIT && !reason[node])
          reason[node] = node;
      }
      if (selves[node] > 0 && becomes[node] !== -1)
        act({ value: selves[node], site: site[node], leaf: leaf[node], process: process[node], work: text(work[node] || runtime[node]), reason: text(reason[node]),
          isIdle: isIdle[node] === 1 });
    }
  }

  // process, node: 0: none
  addSite(process, node, what, value) {
    const { own } = this.frames, { frame } = this.tree, key = (process ? frame[process] : own) * (own + 1) + (node ? frame[node] : own);
    let line = this.lines.get(key);
    if (!line) {
      line = this.lineOf(process, node);
      this.lines.set(key, line);
    }
    line.value += value;
    if (value > line.most)
      Object.assign(line, { most: value, node });
    addTo(line.works, what, value);
  }

  // The line of a site, which is made if it is new: { line, value, most, node: the one with the largest value, works }
  lineOf(process, node) {
    const { frames, tree: { frame } } = this, at = frame[node], program = process ? frames.names[frame[process]] : '';
    const key = node ? `${program}\n${frames.names[at]}\n${frames.files[at] || frames.modules[at]}` : program;
    if (!this.found.has(key))
      this.found.set(key, { program, name: node ? frames.names[at] : '', value: 0, lines: new Map(), works: new Map() });
    const site = this.found.get(key), number = node ? frames.line[at] : 0;
    if (!site.lines.has(number))
      site.lines.set(number, { line: number, value: 0, most: 0, node, works: new Map() });
    return site.lines.get(number);
  }

  // Adds the lines of sites up.
  addLines() {
    for (const site of this.found.values())
      for (const { value, works } of site.lines.values()) {
        site.value += value;
        works.forEach((sum, what) => addTo(site.works, what, sum));
      }
  }

  // Sums of processes by their names; '': stacks without a process.
  byName(sums) {
    const found = new Map(this.unnamed > 0 ? [['', this.unnamed]] : []);
    sums.forEach((value, frame) => value > 0 && addTo(found, this.frames.names[frame], value));
    return found;
  }

  // Innermost functions, the largest first: { name, frame, value }; one without a name is called by its module.
  functionsOf(sums) {
    const { names, modules, flags } = this.frames, found = new Map();
    sums.forEach((value, frame) => {
      const key = flags[frame] & Flag.UNKNOWN ? `${names[frame]}\n${modules[frame]}` : names[frame];
      if (value > 0 && !found.has(key))
        found.set(key, { name: names[frame], frame, value: 0 });
      if (value > 0)
        found.get(key).value += value;
    });
    return [...found.values()].sort(byValue);
  }

  // { line, value, node: the one with most of it, or 0 }
  hottestLine(site) { return [...site.lines.values()].reduce((a, b) => (b.value > a.value ? b : a)); }

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
    const { frames, tree } = this, frame = tree.frame[node];
    if (!node || (frames.kind[frame] === Kind.JIT && !frames.files[frame]))
      return '';
    return frames.files[frame] ? `${baseName(frames.files[frame])}${frames.line[frame] ? `:${frames.line[frame]}` : ''}`
      : baseName(frames.modules[frame] || '');
  }
}
