// Differences: two runs in one graph. A frame's colour says how much it grew or shrank, from blue over grey to orange,
// which readers who are blind to some colours tell apart, and darker the larger the change is.

const UNCHANGED = [0, 0, 92], GREW = [24, 95], SHRANK = [214, 85]; // hue, saturation (percent), lightness
const PALEST = 86, DARKEST = 46;

// share: from -1, the largest change that there is, to 1. Less than a part in 1000 is no change to be seen.
function changeColour(share) {
  if (Math.abs(share) < 0.001)
    return UNCHANGED;
  return [...(share > 0 ? GREW : SHRANK), PALEST - (PALEST - DARKEST) * Math.abs(share)];
}

// "+12.3 ms"
function changeText(change, unit) {
  return `${change > 0 ? '+' : change < 0 ? '−' : ''}${amountText(Math.abs(change), unit)}`;
}

// As valueText(), but an earlier count can have become a fraction.
function amountText(value, unit) {
  return unit === 'nanoseconds' || Number.isInteger(value) ? valueText(value, unit)
    : `${value.toLocaleString('en', { maximumFractionDigits: 3 })}${unit && unit !== 'count' ? ` ${unit}` : ''}`;
}

// By how much something changed, of what it was.
function growthText(before, after) {
  if (!before || !after)
    return before ? 'gone' : after ? 'new' : '0 %';
  const percent = 100 * (after - before) / before;
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent).toFixed(2)} %`;
}

class Difference {
  constructor(header, change) {
    this.header = header;
    element('sides').hidden = false;
    element('merge').parentElement.hidden = true; // there are no process ids
    for (const name of ['widths', 'compared'])
      element(name).addEventListener('change', change);
  }

  // The values of a tree: what widths are of, and for colours the change of each frame.
  valuesOf(tree, frames, type, reason) {
    this.after = valuesOf(tree, frames, type, reason);
    this.before = valuesOf(tree, frames, this.header.types.length + type, reason);
    this.factor = this.header.difference.factors[type];
    this.unit = this.header.types[type].unit;
    this.largest = 0;
    for (let node = 1; node < tree.count; node++)
      this.largest = Math.max(this.largest, Math.abs(this.change(node, element('compared').value)));
    this.showLegend();
    return element('widths').value === 'before' ? this.before : this.after;
  }

  // Less than a millionth comes from rounding.
  change(node, which) {
    const after = this.after[which][node], change = after - this.factor * this.before[which][node];
    return Math.abs(change) < 1e-6 * after ? 0 : change;
  }

  colour(node) {
    return changeColour(this.largest ? this.change(node, element('compared').value) / this.largest : 0);
  }

  beforeText(value) {
    const { unit } = this;
    return this.factor === 1 ? amountText(value, unit)
      : `${amountText(value, unit)} × ${Number(this.factor.toPrecision(6))} = ${amountText(this.factor * value, unit)}`;
  }

  // What is known of both runs, for the header.
  facts(frames, tree) {
    const { after, before, factor, unit } = this;
    const sums = { gone: 0, fresh: 0 };
    for (let node = 1; node < tree.count; node++) {
      sums.gone += after.total[node] > 0 ? 0 : before.self[node];
      sums.fresh += before.total[node] > 0 ? 0 : after.self[node];
    }
    const isUnknown = frames.flags.map(flags => flags & Flag.UNKNOWN);
    const [unknownBefore, unknownAfter] = [before, after].map(({ total }) => sumOfMatches(tree, total, 0, isUnknown));
    const growth = growthText(factor * before.total[0], after.total[0]);
    const facts = [`before ${this.beforeText(before.total[0])}`, `after ${amountText(after.total[0], unit)}`,
      `difference ${changeText(this.change(0, 'total'), unit)}, ${growth}`,
      `normalized: ${this.header.difference.normalization}`];
    if (sums.gone > 0)
      facts.push(`${shareText(sums.gone, before.total[0])} of before is gone, which widths of before show`);
    if (sums.fresh > 0)
      facts.push(`${shareText(sums.fresh, after.total[0])} of after is new`);
    if (unknownBefore > 0 || unknownAfter > 0)
      facts.push(`${shareText(unknownBefore, before.total[0])} before and ${
        shareText(unknownAfter, after.total[0])} after with one or more frames that are unknown`);
    return facts;
  }

  // What is known of a frame.
  describe(node) {
    const lines = this.describeSum(node, 'total');
    if (this.after.self[node] !== this.after.total[node] || this.before.self[node] !== this.before.total[node])
      if (this.after.self[node] > 0 || this.before.self[node] > 0)
        lines.push(...this.describeSum(node, 'self').map(line => `itself ${line}`));
    return lines;
  }

  describeSum(node, which) {
    const { unit } = this;
    const after = this.after[which][node], before = this.before[which][node];
    return [`before ${this.beforeText(before)}, ${shareText(before, this.before.total[0])} of all`,
      `after ${amountText(after, unit)}, ${shareText(after, this.after.total[0])} of all`,
      `difference ${changeText(this.change(node, which), unit)}, ${growthText(this.factor * before, after)}`];
  }

  showLegend() {
    element('legend').replaceChildren(...[-1, -0.5, 0, 0.5, 1].map(share => {
      const item = document.createElement('li'), sample = document.createElement('span');
      sample.style.background = colourText(changeColour(share), 0);
      item.append(sample, share ? changeText(share * this.largest, this.unit) : 'unchanged');
      return item;
    }));
  }

  // What the earlier run says of itself.
  metadata() {
    return this.header.difference.metadata.map(([key, value]) => [`before: ${key}`, value]);
  }
}
