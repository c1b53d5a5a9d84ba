// Trees: the profile's own, and those made of it by leaving frames out or taking several for one.
// A tree has count, parent, frame, selves (a value type each); a parent comes before its children.

// The tree in which frames are what replace[] says, -1: left out. What ends in a frame that is left out ends above it.
function replaceFrames(tree, replace) {
  const types = tree.selves.length;
  const made = { count: 1, parent: new Int32Array(tree.count), frame: new Int32Array(tree.count),
    selves: tree.selves.map(() => new Float64Array(tree.count)) };
  made.parent[0] = made.frame[0] = -1;
  let size = 1024;
  while (size < 2 * tree.count)
    size *= 2;
  const slots = new Int32Array(size); // by parent and frame: a node, 0 none
  const becomes = new Int32Array(tree.count);
  for (let node = 0; node < tree.count; node++) {
    const frame = node ? replace[tree.frame[node]] : -1;
    const parent = node ? becomes[tree.parent[node]] : 0;
    let place = parent;
    if (frame >= 0) {
      let slot = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b)) >>> 0;
      slot = (slot ^ slot >>> 15) & size - 1;
      while (slots[slot] && (made.parent[slots[slot]] !== parent || made.frame[slots[slot]] !== frame))
        slot = slot + 1 & size - 1;
      if (!slots[slot]) {
        slots[slot] = made.count;
        made.parent[made.count] = parent;
        made.frame[made.count++] = frame;
      }
      place = slots[slot];
    }
    becomes[node] = place;
    for (let type = 0; type < types; type++)
      made.selves[type][place] += tree.selves[type][node];
  }
  return made;
}

// What frames become: processes of one name the first of them, and offsets nothing.
function replacements(frames, mergesProcesses, hasOffsets) {
  const replace = new Int32Array(frames.count);
  const processes = new Map();
  for (let frame = 0; frame < frames.count; frame++) {
    replace[frame] = frame;
    if (frames.kind[frame] === Kind.DEVICE_OFFSET && !hasOffsets)
      replace[frame] = -1;
    if (frames.kind[frame] === Kind.PROCESS && mergesProcesses) {
      const name = frames.names[frame];
      if (!processes.has(name))
        processes.set(name, frame);
      replace[frame] = processes.get(name);
    }
  }
  return replace;
}

// Children of each node as lists in their order, and the depth of each.
function link(tree) {
  if (tree.first)
    return tree;
  tree.first = new Int32Array(tree.count);
  tree.next = new Int32Array(tree.count);
  tree.depth = new Uint16Array(tree.count);
  for (let node = tree.count - 1; node > 0; node--) {
    const parent = tree.parent[node];
    tree.next[node] = tree.first[parent];
    tree.first[parent] = node;
  }
  for (let node = 1; node < tree.count; node++)
    tree.depth[node] = tree.depth[tree.parent[node]] + 1;
  return tree;
}

// Self and total values of a value type; with a stall reason's name, of what waits for that one only.
function valuesOf(tree, frames, type, reason) {
  const self = Float64Array.from(tree.selves[type]);
  if (reason !== null) {
    const isOfReason = new Uint8Array(tree.count);
    for (let node = 1; node < tree.count; node++) {
      const frame = tree.frame[node];
      isOfReason[node] = frames.kind[frame] === Kind.STALL_REASON ? frames.names[frame] === reason
        : isOfReason[tree.parent[node]];
      if (!isOfReason[node])
        self[node] = 0;
    }
    self[0] = 0;
  }
  const total = Float64Array.from(self);
  for (let node = tree.count - 1; node > 0; node--)
    total[tree.parent[node]] += total[node];
  return { self, total };
}

// The value types of which something waits for a stall reason.
function typesWithReasons(tree, frames) {
  const isOfReason = new Uint8Array(tree.count), types = new Set();
  for (let node = 1; node < tree.count; node++) {
    isOfReason[node] = isOfReason[tree.parent[node]] || frames.kind[tree.frame[node]] === Kind.STALL_REASON ? 1 : 0;
    if (isOfReason[node])
      tree.selves.forEach((self, type) => self[node] > 0 && types.add(type));
  }
  return types;
}

function ancestorsOf(tree, node) {
  const path = [];
  for (; node > 0; node = tree.parent[node])
    path.unshift(tree.parent[node]);
  return path;
}

// What is in frames that a test is true of, of what is below a node: a frame within another one counts once.
function sumOfMatches(tree, total, focus, matches) {
  let sum = 0;
  const waiting = [focus];
  while (waiting.length) {
    const node = waiting.pop();
    if (node && matches[tree.frame[node]]) {
      sum += total[node];
      continue;
    }
    for (let child = tree.first[node]; child; child = tree.next[child])
      if (total[child] > 0)
        waiting.push(child);
  }
  return sum;
}
