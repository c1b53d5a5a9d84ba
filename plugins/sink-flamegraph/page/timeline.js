// Draws rows over time onto a canvas, of which the reader selects a part: labels at the left, an axis above.

const ROW_GAP = 5;
const CPU_COLOUR = Object.freeze(['#cc6f4a', '#d08468']);
const SHORTEST_VIEW = 20; // ns

class Timeline {
  // rows: an NpuRows; length: of the timeline, ns; begin: its start, relative to the start of the run.
  constructor({ canvas, view, rows, length, begin }) {
    Object.assign(this, { canvas, view, names: rows, rows: rows.rows, begin });
    // The view has the height of its rows, the canvas that of the visible part.
    const timeline = this;
    this.pen = new Pen(canvas, { get clientWidth() { return view.clientWidth; }, get clientHeight() { return timeline.seen().high; } });
    this.length = Math.max(length, SHORTEST_VIEW);
    this.from = 0;
    this.to = this.length;
    this.trail = []; // parts that were shown before
    this.selected = { row: 0, mark: null };
    this.measure();
    this.draw = oncePerFrame('timeline', () => this.view.clientWidth && this.drawNow());
    this.chosen = null; // the range being dragged over, in pixels
    this.onShow = () => {}; // called when another part is shown
  }

  // Sizes in pixels: of a lane, of the labels at the left, and of the axis above.
  measure() {
    const unit = rem();
    this.lane = Math.round(1.3 * unit);
    this.labels = Math.min(Math.round(19 * unit), Math.round(this.view.clientWidth * 0.36));
    this.axis = Math.round(1.9 * unit);
    let top = 0;
    for (const row of this.rows) {
      row.top = top;
      row.height = row.lanes * this.lane * (row.gauge ? 1.6 : row.samples ? 2 : 1);
      top += row.height + ROW_GAP;
    }
    this.height = top;
  }

  // The element that scrolls the view (on a phone, the page): where its contents begin on the screen, and the canvas
  // height.
  seen() {
    const section = this.view.closest('section'), isPage = getComputedStyle(section).overflowY === 'visible';
    const top = isPage ? element('bar').offsetHeight : section.getBoundingClientRect().top;
    const room = isPage ? window.innerHeight - top - element('tabs').offsetHeight : section.clientHeight;
    return { scroller: isPage ? document.scrollingElement : section, top, inset: isPage ? top : 0,
      high: Math.max(1, Math.min(this.wholeHeight, room)) };
  }

  get wholeHeight() { return this.height + this.axis + 2; }

  // How much of the rows is above the canvas.
  get scrolled() {
    const { top, high } = this.seen();
    return Math.max(0, Math.min(top - this.view.getBoundingClientRect().top, this.wholeHeight - high));
  }

  scrollTo(scrolled) {
    const { scroller, top } = this.seen();
    scroller.scrollTop += this.view.getBoundingClientRect().top - top + scrolled;
  }

  get plot() { return Math.max(1, this.view.clientWidth - this.labels); }
  get scale() { return this.plot / (this.to - this.from); }
  x(time) { return this.labels + (time - this.from) * this.scale; }
  time(x) { return this.from + (x - this.labels) / this.scale; }

  resize() {
    this.measure();
    this.view.style.height = `${this.wholeHeight}px`;
    this.canvas.style.top = `${this.seen().inset}px`;
    this.draw();
  }

  // Shows a part; the previous part is kept so that the reader can go back, unless the view is only moved.
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
    this.pen.setFont(12);
    this.ink = this.pen.text;
    this.quiet = this.pen.text2;
    this.edge = this.pen.line;
    const height = this.pen.height, { scrolled } = this;
    context.clearRect(0, 0, this.view.clientWidth, height);
    const step = stepOf((this.to - this.from) / Math.max(1, this.plot / 110));
    this.drawGrid(step, height);
    for (const row of this.rows) {
      const top = this.axis + row.top - scrolled;
      if (top + row.height >= this.axis && top <= height)
        this.drawRow(row, top);
    }
    context.clearRect(0, 0, this.view.clientWidth, this.axis);
    this.drawAxis(step);
    if (this.chosen) {
      context.globalAlpha = 0.25;
      context.fillStyle = this.ink;
      context.fillRect(this.chosen[0], this.axis, this.chosen[1] - this.chosen[0], height);
      context.globalAlpha = 1;
    }
  }

  drawGrid(step, height) {
    const { context } = this.pen;
    context.fillStyle = this.edge;
    for (const at of this.ticks(step))
      context.fillRect(Math.round(this.x(at - this.begin)), this.axis, 1, height);
  }

  drawAxis(step) {
    const { context } = this.pen;
    for (const at of this.ticks(step)) {
      const x = this.x(at - this.begin);
      context.fillStyle = this.edge;
      context.fillRect(Math.round(x), this.axis - 5, 1, 5);
      context.fillStyle = this.ink;
      context.fillText(tickText(at, step), x + 3, this.axis / 2);
    }
  }

  // Times since the start of the run, at most 100: a step can be too small for the precision of a large time.
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
    context.rect(this.labels, top, this.plot, row.height);
    context.clip();
    if (row.gauge)
      this.drawLevels(row, top);
    if (row.samples)
      this.drawSamples(row, top);
    for (const mark of this.slotMarks(row))
      this.drawSlot(row, mark, top);
    if (row.hasSums)
      this.drawSums(row, top);
    this.drawMarks(row, top);
    const isFound = !this.expression || this.expression.test(this.names.wordsOf(row));
    if (!isFound) {
      context.globalAlpha = 0.76;
      context.fillStyle = this.pen.surface;
      context.fillRect(this.labels, top, this.plot, row.height);
      context.globalAlpha = 1;
    }
    context.restore();
    context.fillStyle = this.edge;
    context.fillRect(0, top + row.height + 1, this.view.clientWidth, 1);
    context.fillStyle = (this.expression && isFound) || (row === this.rows[this.selected.row] &&
      document.activeElement === this.canvas) ? this.ink : this.quiet;
    context.fillText(this.pen.shorten(row.label, this.labels - 12), 6, top + this.lane / 2);
    if (row.gauge && row.gauge.unit !== 'boolean') {
      this.pen.setFont(11);
      context.fillStyle = this.pen.text3;
      context.fillText(this.pen.shorten(`peak ${levelText(row.highest, row.gauge.unit)}`, this.labels - 12), 6, top + 1.3 * this.lane);
      this.pen.setFont(12);
    }
  }

  drawMarks(row, top) {
    const last = new Array(row.lanes).fill(-1);
    for (const mark of row.marks) {
      if (mark.from > this.to)
        break;
      if (mark.to < this.from || (mark.isSum && mark !== this.selected.mark))
        continue;
      const left = this.x(mark.from), right = this.x(mark.to);
      // Of several marks in the same pixel column, the first is drawn.
      if (right < last[mark.lane] + 1 && Math.floor(right) <= last[mark.lane] && mark !== this.selected.mark)
        continue;
      last[mark.lane] = Math.floor(Math.max(right, left + 1));
      this.drawMark(row, mark, left, right, top + mark.lane * this.lane);
    }
  }

  drawMark(row, mark, left, right, top) {
    const { context } = this.pen;
    const { raw, track } = mark;
    const from = Math.max(left, this.labels - 2), to = Math.min(right, this.labels + this.plot + 2);
    const width = Math.max(1, to - from), height = this.lane - 2;
    const fill = colourOf(track.colour);
    const isJob = row.kind === Track.JOBS, state = isJob ? raw[9] : 0;
    context.fillStyle = fill;
    if (isJob) {
      // The time in which it waits is lighter than that in which it runs.
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

  // Aggregated calls, as if spread evenly: the utilization of each pixel column, or its number of calls.
  drawSums(row, top) {
    const { context } = this.pen;
    const changes = new Float64Array(this.plot + 2);
    for (const { from, to, raw, isSum } of row.marks) {
      if (!isSum || to < this.from || from > this.to)
        continue;
      const left = Math.floor(Math.max(0, this.x(from) - this.labels));
      const right = Math.ceil(Math.min(this.plot, this.x(to) - this.labels));
      const rate = (row.busy > 0 ? raw[3] : raw[2]) / Math.max(to - from, 1 / this.scale);
      changes[left] += rate;
      changes[Math.max(left + 1, right)] -= rate;
    }
    let rate = 0;
    const rates = changes.map(change => rate = Math.max(0, rate + change));
    const most = row.busy > 0 ? 1 : rates.reduce((a, b) => Math.max(a, b), 0);
    context.fillStyle = colourOf(row.tracks[0].colour);
    for (let x = 0; x < this.plot; x++)
      if (rates[x] > most * 1e-9) {
        const high = Math.max(1, (row.height - 2) * Math.min(1, rates[x] / most));
        context.fillRect(this.labels + x, top + row.height - 2 - high, 1, high);
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
    if (width < 3 * this.pen.rem)
      return;
    const name = row.kind === Track.JOBS ? `${raw[6]}` : this.names.npu.functions[raw[7]].name;
    const text = isSum ? this.pen.shorten(`${grouped(raw[2])} × ${name}`, width - 2 * PADDING) : this.pen.shortenName(name, width - 2 * PADDING);
    const isLight = isSum || (row.kind === Track.JOBS && raw[4] > raw[5]);
    context.fillStyle = isLight ? this.ink : inkOn(colourOf(track.colour));
    context.fillText(text, left + PADDING, top + this.lane / 2);
  }

  // The slots in view, merged to the resolution of the screen, each with the tracks that have data in it.
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

  // The utilization of a slot, from below; if durations are unknown, the number of calls or jobs.
  drawSlot(row, { from, to, parts }, top) {
    const { context } = this.pen;
    // Whole pixels, so that adjacent slots have no gaps.
    const left = Math.floor(this.x(from)), width = Math.max(1, Math.floor(this.x(to)) - left);
    const height = row.height - 2;
    let level = top + height;
    for (const { track, count, busy, aborted } of parts) {
      const most = row.mostInSlot * (to - from) / this.names.npu.slotWidth;
      const share = row.busy > 0 ? busy / (to - from) : count / most;
      const high = Math.min(level - top, Math.max(count || busy ? 1 : 0, height * share));
      level -= high;
      context.fillStyle = colourOf(track.colour);
      context.fillRect(left, level, width, high);
      if (aborted)
        this.drawAborted(left, width, level, high);
    }
  }

  // Slots of samples in view: { sample, from, to }
  sampleMarks(row) {
    const { slots, width, begin } = row.samples, marks = [];
    for (const [slot, sample] of slots) {
      const from = slot * width - begin - this.begin;
      if (from + width >= this.from && from <= this.to)
        marks.push({ sample, from: Math.max(0, from), to: Math.min(this.length, from + width) });
    }
    return marks.sort((a, b) => a.from - b.from);
  }

  // Columns of two pixels; slots that share one are averaged.
  drawSamples(row, top) {
    const { context } = this.pen, columns = Math.ceil(this.plot / 2), { isDevice } = row.samples;
    const colours = isDevice ? PALETTE.reasons.map(colourOf) : [colourOf(CPU_COLOUR)];
    const sums = Array.from({ length: columns }, () => new Float64Array(colours.length));
    for (const { sample, from, to } of this.sampleMarks(row)) {
      const left = (this.x(from) - this.labels) / 2, right = Math.max(left + 1e-6, (this.x(to) - this.labels) / 2);
      for (let column = Math.max(0, Math.floor(left)); column < Math.min(columns, right); column++) {
        const part = Math.min(right, column + 1) - Math.max(left, column);
        sample.forEach((value, i) => { sums[column][i] += value * part; });
      }
    }
    const high = row.height - 2;
    sums.forEach((mix, column) => {
      let level = top + high;
      mix.forEach((value, i) => {
        const tall = high * value / row.highest;
        context.fillStyle = colours[i];
        if (tall > 0.05)
          context.fillRect(this.labels + 2 * column, level - tall, 2, tall + 0.2);
        level -= tall;
      });
    });
  }

  drawLevels(row, top) {
    const { context } = this.pen;
    const { points } = row.gauge;
    context.fillStyle = colourOf(OTHER_COLOURS[Track.LEVEL]);
    points.forEach((point, i) => {
      const [from, until] = this.names.spanOfPoint(row.gauge, i);
      const left = this.x(from), width = Math.max(1, this.x(until) - left);
      const high = row.highest > 0 ? Math.max(0, (row.height - 3) * point[5] / row.highest) : 0;
      context.fillRect(left, top + row.height - 2 - high, width, high + 1);
    });
  }
}

// The smallest step of 1, 2 or 5 times a power of 10 that is at least a number of ns.
function stepOf(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map(times => times * power).find(step => step >= least) || 10 * power;
}

// "1.4 GHz", "3 MiB", "12 requests"
function levelText(value, unit) {
  if (value < 0)
    return `−${levelText(-value, unit)}`;
  if (unit === 'boolean')
    return value === 1 ? 'on' : value === 0 ? 'off' : `${three(100 * value)}${THIN}% on`;
  if (unit === 'bytes')
    return sizeText(value);
  if (unit === 'hertz')
    return value >= 1e9 ? `${three(value / 1e9)}${THIN}GHz` : value >= 1e6 ? `${three(value / 1e6)}${THIN}MHz` : `${three(value)}${THIN}Hz`;
  return unit === 'percent' ? `${three(value)}${THIN}%` : unit === 'nanoseconds' ? timeText(value) : `${three(value)} ${unit}`;
}

// A time as exact as steps between such times are: "3.05 s"
function pointText(time, step) {
  const [name, size] = unitOf(TIMES, Math.abs(time));
  const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(Math.max(step, 1) / size) - 1e-9)));
  return `${(time / size).toLocaleString('en', { maximumFractionDigits: digits }).replace('-', '−')}${THIN}${name}`;
}

function tickText(time, step) {
  const [name, size] = unitOf(TIMES, step * 10);
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(time / size).toLocaleString('en', form)} ${name}`;
}
