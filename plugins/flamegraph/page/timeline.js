// Draws rows over time onto a canvas, of which a reader chooses a part: labels at the left, an axis above.

const LANE = 16;
const ROW_GAP = 4;
const LABELS = 250; // pixels at the left
const AXIS = 24; // pixels above
const SHORTEST_VIEW = 20; // ns

class Timeline {
  // rows: an NpuRows; length: of all, ns; begin: of it, since the begin of the run.
  constructor({ canvas, space, view, rows, length, begin }) {
    Object.assign(this, { canvas, space, view, names: rows, rows: rows.rows, begin });
    this.pen = new Drawing(canvas, space, view);
    this.length = Math.max(length, SHORTEST_VIEW);
    this.from = 0;
    this.to = this.length;
    this.trail = []; // of parts that were shown before
    this.selected = { row: 0, mark: null };
    let top = 0;
    for (const row of this.rows) {
      row.top = top;
      row.height = row.lanes * LANE;
      top += row.height + ROW_GAP;
    }
    this.height = top;
    this.draw = oncePerFrame('timeline', () => this.view.clientWidth && this.drawNow());
    this.chosen = null; // pixels that are dragged over
    this.onShow = () => {}; // told when another part is shown
  }

  get plot() { return Math.max(1, this.view.clientWidth - LABELS); }
  get scale() { return this.plot / (this.to - this.from); }
  x(time) { return LABELS + (time - this.from) * this.scale; }
  time(x) { return this.from + (x - LABELS) / this.scale; }

  resize() {
    this.view.style.height = `${Math.min(this.height + AXIS + 2, Math.max(160, window.innerHeight * 0.6))}px`;
    this.space.style.height = `${this.height + AXIS}px`;
    this.draw();
  }

  // Shows a part; what was shown before is kept for the way back, unless it is moved only.
  show(from, to, isMove = false) {
    const length = Math.min(this.length, Math.max(SHORTEST_VIEW, to - from));
    const begin = Math.max(0, Math.min(from, this.length - length));
    if (begin === this.from && length === this.to - this.from)
      return;
    if (!isMove)
      this.trail.push([this.from, this.to]);
    if (this.trail.length > 100)
      this.trail.shift();
    this.from = begin;
    this.to = begin + length;
    this.draw();
    this.onShow();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  back() {
    const before = this.trail.pop();
    if (before)
      this.show(...before, true);
  }

  whole() { this.show(0, this.length); }

  move(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by, true);
  }

  drawNow() {
    this.pen.fit();
    const { context } = this.pen;
    const styles = getComputedStyle(document.documentElement);
    this.ink = styles.getPropertyValue('--text');
    this.quiet = styles.getPropertyValue('--quiet');
    this.edge = styles.getPropertyValue('--edge');
    this.background = styles.getPropertyValue('--background');
    const height = this.view.clientHeight, scrolled = this.view.scrollTop;
    context.clearRect(0, 0, this.view.clientWidth, height);
    const step = stepOf((this.to - this.from) / Math.max(1, this.plot / 110));
    this.drawGrid(step, height);
    for (const row of this.rows) {
      const top = AXIS + row.top - scrolled;
      if (top + row.height >= AXIS && top <= height)
        this.drawRow(row, top);
    }
    context.clearRect(0, 0, this.view.clientWidth, AXIS);
    this.drawAxis(step);
    if (this.chosen) {
      context.globalAlpha = 0.25;
      context.fillStyle = this.ink;
      context.fillRect(this.chosen[0], AXIS, this.chosen[1] - this.chosen[0], height);
      context.globalAlpha = 1;
    }
  }

  drawGrid(step, height) {
    const { context } = this.pen;
    context.fillStyle = this.edge;
    for (const at of this.ticks(step))
      context.fillRect(Math.round(this.x(at - this.begin)), AXIS, 1, height);
  }

  drawAxis(step) {
    const { context } = this.pen;
    for (const at of this.ticks(step)) {
      const x = this.x(at - this.begin);
      context.fillStyle = this.edge;
      context.fillRect(Math.round(x), AXIS - 5, 1, 5);
      context.fillStyle = this.ink;
      context.fillText(tickText(at, step), x + 3, AXIS / 2);
    }
  }

  // Times since the begin of the run; numbers that are too large for their steps have fewer.
  ticks(step) {
    const first = Math.ceil((this.from + this.begin) / step), ticks = [];
    for (let i = 0; i < 100 && (first + i) * step - this.begin <= this.to; i++)
      ticks.push((first + i) * step);
    return ticks;
  }

  drawRow(row, top) {
    const { context } = this.pen;
    context.save();
    context.beginPath();
    context.rect(LABELS, top, this.plot, row.height);
    context.clip();
    if (row.gauge)
      this.drawLevels(row, top);
    for (const mark of this.slotMarks(row))
      this.drawSlot(row, mark, top);
    if (row.hasSums)
      this.drawSums(row, top);
    this.drawMarks(row, top);
    context.restore();
    context.fillStyle = this.edge;
    context.fillRect(0, top + row.height + 1, this.view.clientWidth, 1);
    context.fillStyle = row === this.rows[this.selected.row] && document.activeElement === this.canvas ? this.ink
      : this.quiet;
    context.fillText(this.pen.shorten(row.label, LABELS - 12), 6, top + LANE / 2);
  }

  drawMarks(row, top) {
    const last = new Array(row.lanes).fill(-1);
    for (const mark of row.marks) {
      if (mark.from > this.to)
        break;
      if (mark.to < this.from || (mark.isSum && mark !== this.selected.mark))
        continue;
      const left = this.x(mark.from), right = this.x(mark.to);
      // Of marks in the same column of pixels the first is drawn.
      if (right < last[mark.lane] + 1 && Math.floor(right) <= last[mark.lane] && mark !== this.selected.mark)
        continue;
      last[mark.lane] = Math.floor(Math.max(right, left + 1));
      this.drawMark(row, mark, left, right, top + mark.lane * LANE);
    }
  }

  drawMark(row, mark, left, right, top) {
    const { context } = this.pen;
    const { raw, track } = mark;
    const from = Math.max(left, LABELS - 2), to = Math.min(right, LABELS + this.plot + 2);
    const width = Math.max(1, to - from), height = LANE - 2;
    const fill = colourText(track.colour, 0);
    const isJob = row.kind === Track.JOBS, state = isJob ? raw[9] : 0;
    context.fillStyle = fill;
    if (isJob) {
      // It waits, in a lighter part, and runs.
      const run = Math.max(from, Math.min(this.x(mark.run), from + width));
      context.globalAlpha = 0.35;
      context.fillRect(from, top, run - from, height);
      context.globalAlpha = 1;
      if (mark.to > mark.run || width === 1)
        context.fillRect(Math.min(run, from + width - 1), top, Math.max(1, from + width - run), height);
    } else if (mark.isSum) {
      context.globalAlpha = 0.3;
      context.fillRect(from, top, width, height);
      context.globalAlpha = 1;
    } else {
      context.fillRect(from, top, width, height);
    }
    if (state === JobState.ABORTED)
      this.drawAborted(from, width, top, height);
    if (state === JobState.IN_FLIGHT && width > 4) {
      context.fillStyle = this.ink;
      for (let y = top; y < top + height; y += 4)
        context.fillRect(from + width - 2, y, 2, 2);
    }
    if (mark === this.selected.mark) {
      context.lineWidth = 2;
      context.strokeStyle = this.ink;
      context.strokeRect(from + 1, top + 1, Math.max(1, width - 2), height - 2);
    }
    this.drawLabel(row, mark, from, width, top);
  }

  // Calls that nobody told apart, as if they were spread evenly: how busy each column of pixels is, or how many it has.
  drawSums(row, top) {
    const { context } = this.pen;
    const changes = new Float64Array(this.plot + 2);
    for (const { from, to, raw, isSum } of row.marks) {
      if (!isSum || to < this.from || from > this.to)
        continue;
      const left = Math.floor(Math.max(0, this.x(from) - LABELS));
      const right = Math.ceil(Math.min(this.plot, this.x(to) - LABELS));
      const rate = (row.busy > 0 ? raw[3] : raw[2]) / Math.max(to - from, 1 / this.scale);
      changes[left] += rate;
      changes[Math.max(left + 1, right)] -= rate;
    }
    let rate = 0;
    const rates = changes.map(change => rate = Math.max(0, rate + change));
    const most = row.busy > 0 ? 1 : rates.reduce((a, b) => Math.max(a, b), 0);
    context.fillStyle = colourText(row.tracks[0].colour, 0);
    for (let x = 0; x < this.plot; x++)
      if (rates[x] > most * 1e-9) {
        const high = Math.max(1, (row.height - 2) * Math.min(1, rates[x] / most));
        context.fillRect(LABELS + x, top + row.height - 2 - high, 1, high);
      }
  }

  // Stripes: a shape, not only a colour.
  drawAborted(left, width, top, height) {
    const { context } = this.pen;
    context.save();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
    context.strokeStyle = this.ink;
    context.lineWidth = 1.5;
    for (let x = left - height; x < left + width; x += 6) {
      context.beginPath();
      context.moveTo(x, top + height);
      context.lineTo(x + height, top);
      context.stroke();
    }
    context.restore();
  }

  drawLabel(row, { raw, track, isSum }, left, width, top) {
    const { context } = this.pen;
    if (width < 3 * this.pen.letter + 2 * PADDING)
      return;
    const name = row.kind === Track.JOBS ? `${raw[6]}` : this.names.npu.functions[raw[7]].name;
    const text = this.pen.shorten(isSum ? `${raw[2].toLocaleString('en')} × ${name}` : name, width - 2 * PADDING);
    const isLight = isSum || (row.kind === Track.JOBS && raw[4] > raw[5]);
    context.fillStyle = isLight ? this.ink : textColourOn(track.colour);
    context.fillText(text, left + PADDING, top + LANE / 2);
  }

  // The slots in sight, as many together as a pixel has room for: each with the tracks that have something there.
  slotMarks(row) {
    const { slotWidth: width, slotBegin: begin } = this.names.npu;
    if (!row.slots.length)
      return [];
    const together = Math.max(1, Math.ceil(1 / (width * this.scale)));
    const marks = new Map();
    for (const track of row.slots)
      for (const [number, count, busy, waiting, aborted] of track.slots) {
        const first = number - number % together;
        const from = begin + first * width, to = from + together * width;
        if (to < this.from || from > this.to)
          continue;
        if (!marks.has(first))
          marks.set(first, { slot: { from, to }, from, to, parts: [] });
        const { parts } = marks.get(first);
        let part = parts.find(known => known.track === track);
        if (!part)
          parts.push(part = { track, count: 0, busy: 0, waiting: 0, aborted: 0 });
        part.count += count;
        part.busy += busy;
        part.waiting += waiting;
        part.aborted += aborted;
      }
    return [...marks.values()].sort((a, b) => a.from - b.from);
  }

  // How busy a slot was, from below; where no durations are known, how many there were.
  drawSlot(row, { from, to, parts }, top) {
    const { context } = this.pen;
    // Whole pixels: slots beside each other have no seams.
    const left = Math.floor(this.x(from)), width = Math.max(1, Math.floor(this.x(to)) - left);
    const height = row.height - 2;
    let level = top + height;
    for (const { track, count, busy, aborted } of parts) {
      const most = row.mostInSlot * (to - from) / this.names.npu.slotWidth;
      const share = row.busy > 0 ? busy / (to - from) : count / most;
      const high = Math.min(level - top, Math.max(count || busy ? 1 : 0, height * share));
      level -= high;
      context.fillStyle = colourText(track.colour, 0);
      context.fillRect(left, level, width, high);
      if (aborted)
        this.drawAborted(left, width, level, high);
    }
  }

  drawLevels(row, top) {
    const { context } = this.pen;
    const { points } = row.gauge;
    context.fillStyle = colourText(OTHER_COLOURS[Track.LEVEL], 0);
    points.forEach((point, i) => {
      const until = i + 1 < points.length ? points[i + 1][0] : point[1];
      const left = this.x(point[0]), width = Math.max(1, this.x(until) - left);
      const high = row.highest > 0 ? Math.max(0, (row.height - 3) * point[5] / row.highest) : 0;
      context.fillRect(left, top + row.height - 2 - high, width, high + 1);
    });
  }
}

// A step of 1, 2 or 5 times a power of 10 that is not below a number of ns.
function stepOf(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map(times => times * power).find(step => step >= least) || 10 * power;
}

function tickText(time, step) {
  const [name, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]].find(([, unit]) => unit <= step * 10);
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(time / size).toLocaleString('en', form)} ${name}`;
}
