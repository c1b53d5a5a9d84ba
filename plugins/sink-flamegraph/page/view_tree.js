// The tree of a view, made from the profile's: device code becomes kernel, line, instruction and stall reason; processes
// of one name are merged on request; frames are hidden, and stacks left out. A tree has count, parent, frame, selves (by
// value type) and becomes (by node of the profile: the node that has its value, -1: none). Parents precede children.

const Detail = Object.freeze({ KERNEL: 'kernel', FUNCTION: 'function', LINE: 'line', INSTRUCTION: 'instruction' });

// Frames of the profile, to which views add the lines of device code.
class Frames {
  constructor(frames) {
    Object.assign(this, frames);
    this.own = frames.count;
    this.functions = this.functionFrames();
    this.sharedNames = this.findSharedNames();
    this.lines = new Map();
  }

  // Names that several processes have.
  findSharedNames() {
    const pids = new Map(), shared = new Set();
    for (let frame = 0; frame < this.own; frame++) {
      const name = this.names[frame];
      if (this.kind[frame] !== Kind.PROCESS)
        continue;
      if (pids.has(name) && pids.get(name) !== this.pid[frame])
        shared.add(name);
      pids.set(name, this.pid[frame]);
    }
    return shared;
  }

  // By frame: that of its function, without a line, if the function has several lines; else the frame itself.
  functionFrames() {
    const groups = new Map();
    // What views add has no more frames than the profile has functions, instructions and lines.
    for (const key of ['kind', 'flags', 'line', 'pid', 'site']) {
      const grown = new this[key].constructor(4 * this.own + 8);
      grown.set(this[key]);
      this[key] = grown;
    }
    for (let frame = 0; frame < this.own; frame++)
      if (CODE_KINDS.has(this.kind[frame]) || this.kind[frame] === Kind.LINUX_KERNEL) {
        const key = [this.kind[frame], this.flags[frame], this.names[frame], this.modules[frame], this.files[frame]].join('\n');
        const group = groups.get(key);
        if (group)
          group.push(frame);
        else
          groups.set(key, [frame]);
      }
    const functions = Int32Array.from({ length: this.own }, (_, frame) => frame);
    for (const [first, ...others] of groups.values())
      if (others.length) {
        const made = this.count++;
        for (const key of ['kind', 'flags', 'site', 'names', 'modules', 'files', 'classes', 'works'])
          this[key][made] = this[key][first];
        for (const frame of [first, ...others])
          functions[frame] = made;
      }
    return functions;
  }

  // The frame of a line of device code in a function: 0 unknown line.
  lineFrame(instruction, owner) {
    const file = this.files[instruction], line = this.line[instruction];
    const key = `${line ? file : ''}\n${line}\n${owner}`;
    if (!this.lines.has(key)) {
      const frame = this.count++;
      this.kind[frame] = Kind.DEVICE_LINE;
      this.names[frame] = line ? `${baseName(file)}:${line}` : '[no line]';
      this.files[frame] = line ? file : null;
      this.line[frame] = line;
      this.modules[frame] = this.names[owner];
      this.flags[frame] = line ? 0 : Flag.UNKNOWN;
      this.lines.set(key, frame);
    }
    return this.lines.get(key);
  }
}

// Makes a tree. Children that may come more than once are found again by parent and frame.
class TreeMaker {
  constructor(most, found, types) {
    let size = 1024;
    while (size < 2 * found)
      size *= 2;
    this.slots = new Int32Array(size);
    this.tree = { count: 1, parent: new Int32Array(most), frame: new Int32Array(most),
      selves: Array.from({ length: types }, () => new Float64Array(0)) };
    this.tree.parent[0] = this.tree.frame[0] = -1;
  }

  add(parent, frame) {
    const { tree } = this;
    tree.parent[tree.count] = parent;
    tree.frame[tree.count] = frame;
    return tree.count++;
  }

  child(parent, frame) {
    const { slots, tree } = this, mask = slots.length - 1;
    let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b)) >>> 0;
    slot = (slot ^ slot >>> 15) & mask;
    while (slots[slot] && (tree.parent[slots[slot]] !== parent || tree.frame[slots[slot]] !== frame))
      slot = slot + 1 & mask;
    if (!slots[slot])
      slots[slot] = this.add(parent, frame);
    return slots[slot];
  }
}

// 1 for each frame of the profile whose name matches; null: no expression. Span ids are not matched: many of them
// contain "add" or "face".
function framesMatching(frames, expression) {
  return expression && Uint8Array.from({ length: frames.own }, (_, frame) => frames.kind[frame] !== Kind.SPAN &&
    expression.test(frames.names[frame]) ? 1 : 0);
}

// Kinds of frames that a view omits; the children of an omitted frame can be merged with its siblings.
const SKIPPED = new Set([Kind.SEPARATOR, Kind.DEVICE_SOURCE, Kind.DEVICE_OFFSET, Kind.DEVICE, Kind.SPAN]);

// What a stack must contain to be in a view.
const Needed = Object.freeze({ FOCUS: 1, THREAD: 2, DEVICE: 4, SPAN: 8 });

const threadText = (name, tid) => tid ? `${name} (${tid})` : name;

// For each frame of the profile, which of the needed kinds it is; null: nothing is needed.
function neededFrames(frames, { focus, thread, device, trace }) {
  if (!focus && !thread && !device && !trace)
    return null;
  const matches = framesMatching(frames, focus);
  return Uint8Array.from({ length: frames.own }, (_, frame) => {
    const name = frames.names[frame], kind = frames.kind[frame];
    return (matches && matches[frame] ? Needed.FOCUS : 0) |
      (thread && kind === Kind.THREAD && (name === thread || threadText(name, frames.pid[frame]) === thread)
        ? Needed.THREAD : 0) | (device && kind === Kind.DEVICE && name === device ? Needed.DEVICE : 0) |
      (trace && kind === Kind.SPAN && name.includes(trace) ? Needed.SPAN : 0);
  });
}

// Kinds that are below the leaves in the profile, with nothing else below them.
const isOriginKind = kind => kind === Kind.THREAD || kind === Kind.DEVICE || kind === Kind.SPAN;

// -> the profile's tree with threads below their programs, and becomes: as in a view
function treeByThread({ frames, tree }) {
  const parents = [-1], nodeFrames = [-1], placed = new Map(), becomes = new Int32Array(tree.count).fill(-1);
  const add = (parent, frame) => {
    nodeFrames.push(frame);
    return parents.push(parent) - 1;
  };
  const keyOf = (node, thread) => node * (frames.own + 1) + thread + 1;
  // The node for a node of the profile in a thread (-1: none); its parents are created first.
  const place = (node, thread) => {
    const path = [];
    for (; node && !placed.has(keyOf(node, thread)); node = tree.parent[node])
      path.push(node);
    let found = node ? placed.get(keyOf(node, thread)) : 0;
    while (path.length) {
      const next = path.pop(), frame = tree.frame[next];
      found = thread >= 0 && frames.kind[frame] === Kind.PROCESS ? add(place(next, -1), thread) : add(found, frame);
      placed.set(keyOf(next, thread), found);
    }
    return found;
  };
  for (let node = 1; node < tree.count; node++) {
    const frame = tree.frame[node], kind = frames.kind[frame], above = tree.parent[node];
    if (kind === Kind.THREAD)
      becomes[node] = place(above, frame);
    else if (kind === Kind.DEVICE || kind === Kind.SPAN)
      becomes[node] = add(becomes[above] >= 0 ? becomes[above] : place(above, -1), frame);
    else if (tree.selves.some(self => self[node] > 0))
      becomes[node] = place(node, -1);
  }
  return { becomes, tree: { count: parents.length, parent: Int32Array.from(parents), frame: Int32Array.from(nodeFrames),
    selves: tree.selves } };
}

const CODE_KINDS = new Set([Kind.USER, Kind.JIT, Kind.PYTHON]);

// Code without a name is a library's more often than not.
const isLibraryCode = ({ kind, flags }, frame) => CODE_KINDS.has(kind[frame]) && (flags[frame] & (Flag.LIBRARY | Flag.UNKNOWN)) !== 0;

// By node: 1 where a wait of an event loop or pool for work ends, as in lib/stacks/program_answer.c.
function idleNodes({ frames, tree }) {
  if (!tree.idle) {
    const { count, parent, frame } = tree, rank = new Uint8Array(count), isOver = new Uint8Array(count);
    tree.idle = new Uint8Array(count);
    for (let node = 1; node < count; node++) {
      const above = parent[node], site = frames.site[frame[node]], own = site & Work.RANK;
      isOver[node] = isOver[above];
      rank[node] = rank[above];
      tree.idle[node] = tree.idle[above];
      if (isOver[node])
        continue;
      isOver[node] = frames.kind[frame[node]] === Kind.WAIT ? 1 : 0;
      if (own && own >= rank[node]) {
        rank[node] = own;
        if (own > Work.RANK_LIBRARY)
          tree.idle[node] = 0;
      }
      if (site & Work.IDLE)
        tree.idle[node] = 1;
    }
  }
  return tree.idle;
}

// Nodes of library code that can be folded, 1 for a node: above GPU code, if there is code of the program in their stacks,
// too; elsewhere what leads to code of the program, but not what the program calls. Kept with the tree, which never changes.
function libraryNodes({ frames, tree }, isDevice) {
  const known = tree.libraries = tree.libraries || new Map();
  if (!known.has(isDevice))
    known.set(isDevice, findLibraryNodes(frames, tree, isDevice));
  return known.get(isDevice);
}

function findLibraryNodes(frames, { count, parent, frame }, isDevice) {
  const isUnknown = at => (frames.flags[at] & Flag.UNKNOWN) !== 0;
  const isLibrary = Uint8Array.from({ length: frames.own }, (_, at) => isLibraryCode(frames, at) && (isDevice || !isUnknown(at)) ? 1 : 0);
  const isOwn = Uint8Array.from({ length: frames.own }, (_, at) => CODE_KINDS.has(frames.kind[at]) && !isLibraryCode(frames, at) ? 1 : 0);
  const above = new Uint8Array(count), below = new Uint8Array(count), found = new Uint8Array(count);
  for (let node = 1; node < count; node++)
    above[node] = isDevice ? above[parent[node]] | isOwn[frame[node]] : 0;
  for (let node = count - 1; node > 0; node--) {
    below[node] |= isOwn[frame[node]];
    below[parent[node]] |= below[node];
    found[node] = isLibrary[frame[node]] & (above[node] | below[node]);
  }
  return found;
}

// options: detail, merges, lines, foldsIdle, foldsLibraries, isDevice, and the expressions focus, ignore, hide, each null or a RegExp; process: a pid or null;
// thread: a name with or without tid, device and service: a name, trace: part of the names of spans, or ''; threads: 'no' (threads are merged), 'name' or 'yes'
function makeView(profile, options) {
  const { frames, tree } = profile, { count } = tree;
  const [ignore, hide] = ['ignore', 'hide'].map(key => framesMatching(frames, options[key]));
  const needed = neededFrames(frames, options);
  const need = (options.focus ? Needed.FOCUS : 0) | (options.thread ? Needed.THREAD : 0) | (options.device ? Needed.DEVICE : 0) |
    (options.trace ? Needed.SPAN : 0);
  const isSkipped = Uint8Array.from({ length: frames.own }, (_, frame) => SKIPPED.has(frames.kind[frame]) ||
    (options.threads === 'no' && frames.kind[frame] === Kind.THREAD) || (!options.lines && frames.flags[frame] & Flag.INLINED && !isDeviceKind(frames.kind[frame])) || (hide && hide[frame]) ? 1 : 0);
  const shown = options.lines ? Int32Array.from({ length: frames.own }, (_, frame) => frame) : frames.functions;
  const isMerged = Uint8Array.from({ length: frames.own }, (_, frame) => (options.merges && frames.kind[frame] === Kind.PROCESS &&
    frames.sharedNames.has(frames.names[frame]) ? 1 : 0));
  const folded = options.foldsLibraries ? libraryNodes(profile, options.isDevice) : new Uint8Array(count);
  // Nodes whose children may be merged with those of other nodes: 1 for a node of the profile.
  const meets = new Uint8Array(count);
  let found = 0, lines = 0, functions = 0;
  for (let node = 1; node < count; node++) {
    const frame = tree.frame[node], kind = frames.kind[frame];
    if (isMerged[frame]) {
      meets[node] = 1;
      found++;
    }
    if ((isSkipped[frame] && !isOriginKind(kind)) || folded[node] || kind === Kind.DEVICE_FUNCTION || kind === Kind.DEVICE_INSTRUCTION ||
        (kind === Kind.THREAD && options.threads === 'name') || shown[frame] !== frame)
      meets[tree.parent[node]] = meets[node] = 1;
    lines += kind === Kind.DEVICE_INSTRUCTION ? 1 : 0;
    functions += kind === Kind.DEVICE_FUNCTION ? 1 : 0;
  }
  for (let node = 1; node < count; node++)
    if (meets[tree.parent[node]]) {
      meets[node] = 1;
      found++;
    }
  const made = new TreeMaker(count + lines, found + lines, tree.selves.length); // one more node for each line
  const hasDevices = lines + functions > 0, becomes = new Int32Array(count);
  const kernel = new Int32Array(hasDevices ? count : 0), owner = new Int32Array(hasDevices ? count : 0);
  const has = needed && new Uint8Array(count);
  const processes = new Map(), threads = new Map();
  for (let node = 1; node < count; node++) {
    const frame = tree.frame[node], above = tree.parent[node], kind = frames.kind[frame], parent = becomes[above];
    if (hasDevices) {
      kernel[node] = kernel[above];
      owner[node] = owner[above];
    }
    if (has)
      has[node] = has[above] | needed[frame];
    if (parent < 0 || (ignore && ignore[frame]) ||
        (kind === Kind.PROCESS && ((options.process && frames.pid[frame] !== options.process) ||
          (options.service && frames.modules[frame] !== options.service)))) {
      becomes[node] = -1;
      continue;
    }
    if (isSkipped[frame] || folded[node]) {
      becomes[node] = parent;
      continue;
    }
    switch (kind) {
      case Kind.DEVICE_FUNCTION:
        owner[node] = frame;
        if (!kernel[above])
          becomes[node] = kernel[node] = made.child(parent, frame);
        else
          becomes[node] = options.detail === Detail.FUNCTION ? made.child(parent, frame) : parent;
        break;
      case Kind.DEVICE_INSTRUCTION:
        becomes[node] = parent;
        if (frames.flags[frame] & Flag.PRODUCER || options.detail === Detail.KERNEL || options.detail === Detail.FUNCTION)
          break;
        becomes[node] = made.child(parent, frames.lineFrame(frame, owner[above]));
        if (options.detail === Detail.INSTRUCTION)
          becomes[node] = made.child(becomes[node], frame);
        break;
      case Kind.PROCESS:
        if (!processes.has(frames.names[frame]))
          processes.set(frames.names[frame], frame);
        becomes[node] = isMerged[frame] ? made.child(parent, processes.get(frames.names[frame]))
          : meets[above] ? made.child(parent, frame) : made.add(parent, frame);
        break;
      case Kind.THREAD:
        if (!threads.has(frames.names[frame]))
          threads.set(frames.names[frame], frame);
        becomes[node] = options.threads === 'name' ? made.child(parent, threads.get(frames.names[frame]))
          : meets[above] ? made.child(parent, frame) : made.add(parent, frame);
        break;
      default:
        becomes[node] = meets[above] ? made.child(parent, shown[frame]) : made.add(parent, shown[frame]);
    }
  }
  if (has)
    for (let node = 1; node < count; node++)
      if (has[node] !== need)
        becomes[node] = -1;
  const idle = options.foldsIdle && idleNodes(profile);
  for (let node = 1; idle && node < count; node++)
    if (idle[node] && becomes[node] !== -1)
      becomes[node] = IS_IDLE;
  return inOrder(made.tree, becomes);
}

// Adds the values of the profile's nodes to those of a view's; selves: by value type.
function addSelves(view, selves) {
  view.selves.forEach((own, type) => {
    own.fill(0);
    const from = selves[type];
    for (let node = 0; node < view.becomes.length; node++)
      if (from[node] && view.becomes[node] >= 0)
        own[view.becomes[node]] += from[node];
  });
}

// Renumbers nodes in depth-first order, so that a node's descendants follow it, up to its end. becomes: node numbers to
// update.
function inOrder(tree, becomes) {
  const { count } = tree;
  let parent = tree.parent.subarray(0, count), frame = tree.frame.subarray(0, count);
  if (!isInOrder(parent)) {
    const first = new Int32Array(count), next = new Int32Array(count), number = new Int32Array(count);
    for (let node = count - 1; node > 0; node--) {
      next[node] = first[parent[node]];
      first[parent[node]] = node;
    }
    const newParent = new Int32Array(count), newFrame = new Int32Array(count);
    newParent[0] = newFrame[0] = -1;
    let position = 1;
    for (let node = first[0], above = 0; node;) {
      number[node] = position;
      newParent[position] = number[above];
      newFrame[position++] = frame[node];
      if (first[node]) {
        above = node;
        node = first[node];
        continue;
      }
      while (node && !next[node]) {
        node = above;
        above = node ? parent[node] : 0;
      }
      node = node && next[node];
    }
    for (let node = 0; node < becomes.length; node++)
      if (becomes[node] > 0)
        becomes[node] = number[becomes[node]];
    parent = newParent;
    frame = newFrame;
  }
  const end = new Int32Array(count);
  for (let node = count - 1; node >= 0; node--) {
    if (end[node] <= node)
      end[node] = node + 1;
    if (node && end[parent[node]] < end[node])
      end[parent[node]] = end[node];
  }
  return { count, parent, frame, end, becomes, selves: tree.selves.map(() => new Float64Array(count)) };
}

function isInOrder(parent) {
  for (let node = 1; node < parent.length; node++) {
    let at = node - 1;
    while (at > parent[node])
      at = parent[at];
    if (at !== parent[node])
      return false;
  }
  return true;
}

// The first of ascending numbers that is not less than another.
function firstFrom(numbers, least) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = low + high >>> 1;
    if (numbers[middle] < least)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const isDeviceKind = kind => kind === Kind.DEVICE_FUNCTION || kind === Kind.DEVICE_LINE ||
  kind === Kind.DEVICE_INSTRUCTION || kind === Kind.STALL_REASON;

// The values of one type in a view: self and total by node, and the stall reasons below a node.
class Values {
  // hidden: slots of stall reasons that are left out; added: another value type whose values are added; -1: none
  constructor(view, frames, type, hidden = new Set(), added = -1) {
    Object.assign(this, { view, frames, type });
    const { count, parent, frame } = view;
    this.self = view.selves[type].slice(0, count);
    for (let node = 1; added >= 0 && node < count; node++)
      this.self[node] += view.selves[added][node];
    const slots = this.slotsOfFrames();
    if (hidden.size)
      for (let node = 1; node < count; node++)
        if (hidden.has(slots[frame[node]]))
          this.self[node] = 0;
    const total = this.self.slice();
    for (let node = count - 1; node > 0; node--)
      total[parent[node]] += total[node];
    this.total = total;
    this.sorted = new Map();
  }

  // The slot of the stall reason that a frame is; -1: another kind of frame.
  slotsOfFrames() {
    const { frames } = this;
    if (!frames.slots || frames.slots.length < frames.count) {
      frames.slots = new Int8Array(frames.kind.length).fill(-1);
      for (let frame = 0; frame < frames.count; frame++)
        if (frames.kind[frame] === Kind.STALL_REASON)
          frames.slots[frame] = slotOf(frames.names[frame]);
    }
    return frames.slots;
  }

  slot(node) { return node ? this.slotsOfFrames()[this.view.frame[node]] : -1; }

  // The nodes of each reason, in order, and their cumulative sums.
  get reasons() {
    if (!this.foundReasons) {
      const slots = this.slotsOfFrames(), { view, total } = this, counts = new Int32Array(REASONS.length);
      for (let node = 1; node < view.count; node++)
        if (slots[view.frame[node]] >= 0 && total[node] > 0)
          counts[slots[view.frame[node]]]++;
      const found = Array.from(counts, count => ({ nodes: new Int32Array(count), sums: new Float64Array(count + 1) }));
      counts.fill(0);
      for (let node = 1; node < view.count; node++) {
        const slot = slots[view.frame[node]];
        if (slot < 0 || !(total[node] > 0))
          continue;
        const at = counts[slot]++;
        found[slot].nodes[at] = node;
        found[slot].sums[at + 1] = found[slot].sums[at] + total[node];
      }
      this.foundReasons = found;
    }
    return this.foundReasons;
  }

  // Device nodes that are not below another device node, in order.
  get kernels() {
    if (!this.foundKernels) {
      const { view, total, frames } = this, isDevice = new Uint8Array(view.count), found = [];
      for (let node = 1; node < view.count; node++) {
        isDevice[node] = isDevice[view.parent[node]] || isDeviceKind(frames.kind[view.frame[node]]) ? 1 : 0;
        if (isDevice[node] && !isDevice[view.parent[node]] && total[node] > 0)
          found.push(node);
      }
      this.foundKernels = Int32Array.from(found);
    }
    return this.foundKernels;
  }

  // The sum of known device functions.
  get matched() {
    const { kind, flags } = this.frames, { frame } = this.view;
    return this.kernels.reduce((sum, node) => sum + (kind[frame[node]] === Kind.DEVICE_FUNCTION &&
      !(flags[frame[node]] & Flag.UNKNOWN) ? this.total[node] : 0), 0);
  }

  kernelsBelow(node) {
    const { kernels } = this;
    return kernels.subarray(firstFrom(kernels, node), firstFrom(kernels, this.view.end[node]));
  }

  // Children with values, the largest first; stall reasons in their order.
  children(node) {
    let list = this.sorted.get(node);
    if (!list) {
      list = this.sort(this.childrenFrom(node, 0)[0]);
      this.sorted.set(node, list);
    }
    return list;
  }

  sort(nodes) {
    return nodes.sort((a, b) => this.slot(a) - this.slot(b) || this.total[b] - this.total[a] || a - b);
  }

  // -> children with at least this value, and the others, unordered
  childrenFrom(node, least) {
    const { total, view: { end } } = this, found = [], rest = [];
    for (let child = node + 1; child < end[node]; child = end[child])
      if (total[child] > 0)
        (total[child] >= least ? found : rest).push(child);
    return [found, rest];
  }

  // 0: none or several
  onlyChild(node) {
    const { total, view: { end } } = this;
    let only = 0;
    for (let child = node + 1; child < end[node]; child = end[child])
      if (total[child] > 0) {
        if (only)
          return 0;
        only = child;
      }
    return only;
  }

  // Values by slot of everything that stalls below a node.
  mix(node) { return this.addMix(node, new Float64Array(REASONS.length)); }

  addMix(node, mix) {
    const end = this.view.end[node];
    this.reasons.forEach(({ nodes, sums }, slot) => {
      if (nodes.length)
        mix[slot] += sums[firstFrom(nodes, end)] - sums[firstFrom(nodes, node)];
    });
    return mix;
  }

  mixOf(nodes) {
    const sum = new Float64Array(REASONS.length);
    for (const node of nodes)
      this.addMix(node, sum);
    return sum;
  }
}

// The nodes from below the root to a node.
function pathTo(view, node) {
  const path = [];
  for (; node > 0; node = view.parent[node])
    path.push(node);
  return path.reverse();
}

// A frame's identity in links: the same in every run of the same program.
function keyOf(frames, frame) {
  const kind = frames.kind[frame];
  return kind === Kind.PROCESS || kind === Kind.THREAD ? frames.names[frame] : `${kind}:${frames.names[frame]}`;
}

function hashFrames(frames) {
  const hashes = new Uint32Array(frames.count);
  for (let frame = 0; frame < frames.count; frame++) {
    const key = keyOf(frames, frame);
    let hash = 0x811c9dc5;
    for (let i = 0; i < key.length; i++)
      hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
    hashes[frame] = hash;
  }
  return hashes;
}

// Hashes of the nodes' paths, for the address of the page.
function hashPaths(view, frames) {
  const ofFrame = hashFrames(frames), hashes = new Uint32Array(view.count);
  for (let node = 1; node < view.count; node++) {
    const hash = Math.imul(hashes[view.parent[node]] ^ ofFrame[view.frame[node]], 0x9e3779b1);
    hashes[node] = hash ^ hash >>> 15;
  }
  return hashes;
}
