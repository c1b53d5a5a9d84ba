// Values over time: bars of the total, and below them a row of cells for each program or device. Dragging selects a range
// of time slots.

const NAMES_WIDTH = 13, BARS_HEIGHT = 7, AXIS_HEIGHT = 1.7, ROW_HEIGHT = 1.7, MARGIN = 1.1; // rem
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map(s => s * 1e3);

const HEAT = () => isDark() ? '#ffab5c' : '#b04a08';

const clockText = (time, seconds = true) => new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit',
  ...(seconds ? { second: '2-digit' } : {}) });
const dayText = time => new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });

class Heatmap {
  // owner: select(range, isBaseline), point(place), choose(row name)
  constructor(canvas, owner) {
    this.canvas = canvas;
    this.owner = owner;
    this.pen = new Pen(canvas);
    this.data = null;
    this.drag = null;
    this.cursor = -1; // slot of the keyboard
    this.draw = oncePerFrame('heatmap', () => this.drawNow());
    this.listen();
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // data: from the server; row: the chosen one, or ''
  show(data, range, baseline, row) {
    Object.assign(this, { data, range, baseline, row });
    this.slot = (data.to - data.from) / data.total.length;
    this.draw();
  }

  get left() { return (MARGIN + NAMES_WIDTH) * this.pen.rem; }
  get right() { return this.pen.width - MARGIN * this.pen.rem; }
  get rowsTop() { return (BARS_HEIGHT + AXIS_HEIGHT + 0.6) * this.pen.rem; }
  get rowHeight() {
    const { pen, data } = this;
    return Math.min(ROW_HEIGHT * pen.rem, Math.max(0.6 * pen.rem, (pen.height - this.rowsTop - 0.6 * pen.rem) / Math.max(1, data.rows.length)));
  }
  x(time) { return this.left + (time - this.data.from) / (this.data.to - this.data.from) * (this.right - this.left); }
  slotAt(x) {
    const at = Math.floor((x - this.left) / (this.right - this.left) * this.data.total.length);
    return Math.max(0, Math.min(this.data.total.length - 1, at));
  }
  rangeOf(one, other) {
    return { from: this.data.from + Math.min(one, other) * this.slot, to: this.data.from + (Math.max(one, other) + 1) * this.slot };
  }
  rowAt(y) {
    const at = Math.floor((y - this.rowsTop) / this.rowHeight);
    return y >= this.rowsTop ? this.data.rows[at] || null : null;
  }

  // Value per second; null without data.
  rate(values, slot) {
    return values[slot] === null ? null : values[slot] / this.data.covered[slot];
  }

  drawNow() {
    const { pen, data } = this;
    pen.fit();
    if (!data || !pen.width || !data.segments)
      return;
    const rates = data.total.map((_, slot) => this.rate(data.total, slot));
    this.drawBars(rates, Math.max(1e-12, ...rates));
    this.drawAxis();
    this.drawRows();
    this.drawRange(this.baseline, pen.text3);
    this.drawRange(this.range, pen.accent);
    if (this.drag)
      this.drawRange(this.rangeOf(this.drag.from, this.drag.to), this.drag.isBaseline ? pen.text3 : pen.accent);
    if (this.cursor >= 0 && document.activeElement === this.canvas)
      this.drawRange(this.rangeOf(this.cursor, this.cursor), pen.text);
  }

  label(text, y, isStrong = false) {
    const { pen } = this;
    pen.setFont(11.5, isStrong ? 600 : 400);
    pen.context.fillStyle = isStrong ? pen.text : pen.text2;
    pen.write(text, MARGIN * pen.rem, y, NAMES_WIDTH * pen.rem - 8);
  }

  drawBars(rates, most) {
    const { pen, data } = this, bottom = BARS_HEIGHT * pen.rem, high = bottom - 0.8 * pen.rem;
    this.label('Total', bottom - high / 2, true);
    pen.setFont(11);
    pen.context.fillStyle = pen.text3;
    pen.write(this.owner.rateText(most), MARGIN * pen.rem, 1.2 * pen.rem, NAMES_WIDTH * pen.rem);
    rates.forEach((rate, slot) => {
      const left = this.x(data.from + slot * this.slot), wide = this.x(data.from + (slot + 1) * this.slot) - left;
      if (rate === null)
        pen.hatch(left, bottom - high, wide, high, pen.line);
      else if (rate > 0)
        pen.box(left, bottom - Math.max(1, rate / most * high), Math.max(1, wide - (wide > 4 ? 1 : 0)),
          Math.max(1, rate / most * high), pen.accent);
    });
    pen.box(this.left, bottom, this.right - this.left, 1, pen.line2);
  }

  drawAxis() {
    const { pen, data } = this, span = data.to - data.from, y = (BARS_HEIGHT + AXIS_HEIGHT / 2) * pen.rem;
    const least = span * 5.5 * pen.rem / (this.right - this.left);
    const step = TIME_STEPS.find(step => step >= least) || TIME_STEPS[TIME_STEPS.length - 1];
    const shift = new Date(data.from).getTimezoneOffset() * 60e3; // steps begin at local midnight
    pen.setFont(11);
    pen.context.textAlign = 'center';
    for (let time = Math.ceil((data.from - shift) / step) * step + shift; time <= data.to; time += step) {
      const text = step >= 86400e3 || (time - shift) % 86400e3 === 0 ? dayText(time) : clockText(time, step < 60e3);
      const at = Math.round(this.x(time));
      pen.box(at, BARS_HEIGHT * pen.rem, 1, 0.35 * pen.rem, pen.line2);
      pen.context.fillStyle = pen.text2;
      if (at + 2 * pen.rem < pen.width)
        pen.context.fillText(text, at, y);
    }
    pen.context.textAlign = 'left';
  }

  drawRows() {
    const { pen, data } = this, high = this.rowHeight;
    const rates = data.rows.map(row => row.values.map((_, slot) => this.rate(row.values, slot)));
    const most = Math.max(1e-12, ...rates.flat());
    rates.forEach((row, number) => {
      const top = this.rowsTop + number * high, { name } = data.rows[number], isOff = this.row && this.row !== name;
      this.label(name, top + high / 2, this.row === name);
      row.forEach((rate, slot) => {
        const left = this.x(data.from + slot * this.slot), wide = this.x(data.from + (slot + 1) * this.slot) - left;
        if (rate === null)
          pen.hatch(left, top, wide, high - 1, pen.line);
        else
          pen.box(left, top, Math.max(1, wide - (wide > 4 ? 1 : 0)), high - 1, rate > 0 ? fade(HEAT(), pen.surface,
            (isOff ? 0.3 : 1) * (0.1 + 0.9 * Math.sqrt(rate / most))) : pen.sunken);
      });
    });
  }

  drawRange(range, colour) {
    const { pen } = this, { context } = pen;
    if (!range)
      return;
    const left = Math.max(this.left, this.x(range.from)), right = Math.min(this.right, this.x(range.to));
    if (right <= left)
      return;
    const bottom = this.rowsTop + this.data.rows.length * this.rowHeight;
    context.globalAlpha = 0.14;
    pen.box(left, 0.4 * pen.rem, right - left, bottom - 0.4 * pen.rem, colour);
    context.globalAlpha = 1;
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(left, 0.4 * pen.rem, right - left, bottom - 0.4 * pen.rem);
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  listen() {
    const { canvas } = this, on = (kind, handle) => canvas.addEventListener(kind, event => this.data && this.data.segments && handle(event));
    on('pointerdown', event => {
      const { x, y } = this.place(event);
      if (event.button)
        return;
      if (x < this.left) {
        this.owner.choose(this.rowAt(y));
        return;
      }
      canvas.setPointerCapture(event.pointerId);
      this.drag = { from: this.slotAt(x), to: this.slotAt(x), isBaseline: event.shiftKey };
      this.draw();
    });
    on('pointermove', event => {
      const { x, y } = this.place(event), slot = this.slotAt(x);
      if (this.drag)
        this.drag.to = slot;
      this.owner.point(x < this.left ? null : { slot, row: this.rowAt(y) });
      this.draw();
    });
    on('pointerup', () => {
      const { drag } = this;
      this.drag = null;
      if (drag)
        this.owner.select(this.rangeOf(drag.from, drag.to), drag.isBaseline);
      this.draw();
    });
    on('pointercancel', () => {
      this.drag = null;
      this.draw();
    });
    on('pointerleave', () => this.owner.point(null));
    for (const kind of ['focus', 'blur'])
      on(kind, () => this.draw());
    on('keydown', event => this.press(event));
  }

  press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key], last = this.data.total.length - 1;
    if (event.key === 'Enter') {
      this.owner.open();
    } else if (event.key === 'Escape') {
      this.owner.clear();
    } else if (step) {
      const before = this.cursor < 0 ? last : this.cursor;
      this.cursor = Math.max(0, Math.min(last, this.cursor < 0 ? last : this.cursor + step));
      this.anchor = event.shiftKey ? this.anchor ?? before : undefined;
      if (event.shiftKey)
        this.owner.select(this.rangeOf(this.anchor, this.cursor), false);
      this.owner.point({ slot: this.cursor, row: null });
    } else {
      return;
    }
    event.preventDefault();
    this.draw();
  }
}
