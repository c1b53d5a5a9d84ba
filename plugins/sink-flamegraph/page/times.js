// Times of values; plugins/sink-flamegraph/page_times.h describes the format. Times are in ns from the origin of the
// slots.

class Times {
  constructor(header, next) {
    Object.assign(this, { begin: header.begin, end: header.end, width: header.width, totalWidth: header.total_width,
      column: header.column, row: header.row, addedUp: header.added_up });
    this.totals = Times.read(next, false);
    this.stacks = Times.read(next, true);
  }

  // -> { count, node, type, slot, value }, ordered by node, type and slot
  static read(next, hasNodes) {
    const count = next();
    const sums = { count, node: new Int32Array(hasNodes ? count : 0), type: new Uint8Array(count),
      slot: new Float64Array(count), value: new Float64Array(count) };
    let node = 0, type = -1, slot = 0;
    for (let i = 0; i < count; i++) {
      const nodes = hasNodes ? next() : 0, itsType = next();
      node += nodes;
      slot = (nodes === 0 && itsType === type ? slot : 0) + next();
      type = itsType;
      if (hasNodes)
        sums.node[i] = node;
      sums.type[i] = type;
      sums.slot[i] = slot;
      sums.value[i] = next();
    }
    return sums;
  }

  // The end of the last slot.
  last() {
    let last = this.end;
    for (let i = 0; i < this.totals.count; i++)
      last = Math.max(last, (this.totals.slot[i] + 1) * this.totalWidth);
    return last;
  }

  // The self values of each node of a tree between two times, by value type: of the slots that begin in between.
  selvesWithin(tree, begin, end) {
    const { stacks, width } = this;
    const selves = tree.selves.map(() => new Float64Array(tree.count));
    for (let i = 0; i < stacks.count; i++) {
      const time = stacks.slot[i] * width;
      if (time >= begin && time < end && stacks.node[i] < tree.count && stacks.type[i] < selves.length)
        selves[stacks.type[i]][stacks.node[i]] += stacks.value[i];
    }
    return selves;
  }

  // The resolution of a value type: samples of CPUs and devices are known to be in a batch, not when in it.
  resolutionOf(type, { role }) {
    return [Role.CPU_TIME, Role.DEVICE_SAMPLES].includes(role) ? Math.max(this.width, this.addedUp[type]) : this.width;
  }

  // The time range extended to the boundaries of slots.
  widen({ begin, end }) {
    return { begin: Math.floor(begin / this.width) * this.width, end: Math.ceil(end / this.width) * this.width };
  }
}
