// The inverted flame graph: from the functions in which values end to their callers. Nodes are created when their
// parents are displayed, so that a view of a large profile costs no more than what it shows. Serves as a view and as
// its values.

class CallersTree {
  constructor(values, frames) {
    Object.assign(this, { base: values, frames, parent: [-1], frame: [-1], total: [values.total[0]], self: [0], mades: [] });
    const { view, self } = values, leaves = [];
    for (let node = 1; node < view.count; node++)
      if (self[node] > 0)
        leaves.push(node);
    this.leaves = Int32Array.from(leaves);
    // Of each node: which leaves come here, and from which node of the view. Only functions are callers.
    this.items = [{ leaves: Int32Array.from(leaves, (_, i) => i), at: this.leaves.map(node => this.functionFrom(node)) }];
    this.groups = new Int32Array(frames.count);
  }

  get view() { return this; }
  get count() { return this.parent.length; }

  functionFrom(node) {
    const { view } = this.base, { kind } = this.frames;
    while (node > 0 && isDeviceKind(kind[view.frame[node]]) && kind[view.frame[node]] !== Kind.DEVICE_FUNCTION)
      node = view.parent[node];
    return node;
  }

  slot() { return -1; }

  // The largest first.
  children(node) {
    if (this.mades[node])
      return this.mades[node];
    const { leaves, at } = this.items[node], { base: { view, self }, groups } = this, made = [];
    const counts = [], sums = [], frames = [];
    for (let i = 0; i < at.length; i++) {
      if (at[i] <= 0)
        continue;
      const frame = view.frame[at[i]];
      if (!groups[frame]) {
        frames.push(frame);
        counts.push(0);
        sums.push(0);
        groups[frame] = frames.length;
      }
      counts[groups[frame] - 1]++;
      sums[groups[frame] - 1] += self[this.leaves[leaves[i]]];
    }
    const first = this.count;
    frames.forEach((frame, i) => {
      this.parent.push(node);
      this.frame.push(frame);
      this.total.push(sums[i]);
      this.self.push(0);
      this.items.push({ leaves: new Int32Array(counts[i]), at: new Int32Array(counts[i]) });
      made.push(first + i);
    });
    counts.fill(0);
    for (let i = 0; i < at.length; i++) {
      if (at[i] <= 0)
        continue;
      const group = groups[view.frame[at[i]]] - 1, position = counts[group]++, items = this.items[first + group];
      items.leaves[position] = leaves[i];
      items.at[position] = view.parent[at[i]];
    }
    for (const frame of frames)
      groups[frame] = 0;
    this.mades[node] = this.sort(made);
    return made;
  }

  sort(nodes) { return nodes.sort((a, b) => this.total[b] - this.total[a] || this.frame[a] - this.frame[b]); }

  childrenFrom(node, least) {
    const all = this.children(node), found = all.findIndex(child => this.total[child] < least);
    return found < 0 ? [all, []] : [all.slice(0, found), all.slice(found)];
  }

  onlyChild(node) {
    const children = this.children(node);
    return children.length === 1 && this.total[children[0]] === this.total[node] ? children[0] : 0;
  }

  kernelsBelow() { return []; }

  mixOf(nodes) {
    const mix = new Float64Array(REASONS.length), { base: { view, self } } = this;
    for (const node of nodes)
      for (const i of this.items[node].leaves) {
        let at = this.leaves[i], slot = this.base.slot(at);
        while (slot < 0 && at > 0) {
          at = view.parent[at];
          slot = this.base.slot(at);
        }
        if (slot >= 0)
          mix[slot] += self[this.leaves[i]];
      }
    return mix;
  }

  mix(node) { return this.mixOf([node]); }

  // The part of a node's value that passes through matching frames.
  sumFound(node, found) {
    const { view, self } = this.base, isFound = new Uint8Array(view.count), { leaves, at } = this.items[node];
    for (let other = 1; other < view.count; other++)
      isFound[other] = isFound[view.parent[other]] | found[view.frame[other]];
    let from = node;
    while (from > 0 && !found[this.frame[from]])
      from = this.parent[from];
    return from > 0 ? this.total[node] : leaves.reduce((sum, leaf, i) => sum + (isFound[at[i]] ? self[this.leaves[leaf]] : 0), 0);
  }

  // The node's key in the address: its path, frame by frame, because nodes have no numbers before they are created.
  keyOf(node) {
    const hashes = this.hashes(), path = pathTo(this, node);
    return path.map(at => {
      const same = this.children(this.parent[at]).filter(other => hashes[this.frame[other]] === hashes[this.frame[at]]);
      return `${hashes[this.frame[at]].toString(36)}${same.indexOf(at) ? `.${same.indexOf(at)}` : ''}`;
    }).join('-');
  }

  nodeOfKey(key) {
    const hashes = this.hashes();
    let node = 0;
    for (const part of key.split('-')) {
      const [hash, position = '0'] = part.split('.');
      node = this.children(node).filter(child => hashes[this.frame[child]] === parseInt(hash, 36))[Number(position)];
      if (!node)
        return 0;
    }
    return node;
  }

  hashes() {
    this.ofFrame = this.ofFrame || hashFrames(this.frames);
    return this.ofFrame;
  }
}
