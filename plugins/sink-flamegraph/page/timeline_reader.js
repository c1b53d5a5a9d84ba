// The reader's actions on a timeline: pointing, zooming with the wheel, dragging over a part, moving between marks by
// keys.

// Distance in pixels within which the pointer hits a mark; a press that moves less is not a drag.
const NEAR = 2;

class TimelineReader {
  constructor(timeline, said, tip) {
    this.tip = tip;
    this.timeline = timeline;
    this.said = said;
    this.pressed = null; // where, in pixels
    const { canvas } = timeline;
    const on = (target, kind, handle, options) => target.addEventListener(kind, handle, options);
    on(canvas, 'wheel', event => this.wheel(event), { passive: false });
    on(canvas, 'mousemove', event => this.point(event));
    on(canvas, 'mouseleave', () => this.tip.show(null));
    on(canvas, 'mousedown', event => this.press(event));
    on(window, 'mouseup', event => this.release(event));
    on(window, 'mousemove', event => this.drag(event));
    on(canvas, 'dblclick', event => this.open(event));
    on(canvas, 'keydown', event => this.key(event) && event.preventDefault());
    on(canvas, 'focus', () => timeline.draw());
    on(canvas, 'blur', () => timeline.draw());
    on(document, 'scroll', () => timeline.draw(), { capture: true, passive: true });
  }

  place(event) {
    const box = this.timeline.canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  rowAt(y) {
    const { timeline } = this, { rows } = timeline;
    const at = y - timeline.axis + timeline.scrolled;
    return y < timeline.axis ? -1 : rows.findIndex(row => at >= row.top && at < row.top + row.height);
  }

  // The marks of a row near a position, the nearest first; of nested marks the shorter first, of sums the one with the
  // most calls.
  marksAt(index, x, y) {
    const { timeline } = this, row = timeline.rows[index];
    const lane = Math.floor((y - timeline.axis + timeline.scrolled - row.top) / timeline.lane);
    const right = mark => Math.max(timeline.x(mark.to), timeline.x(mark.from) + 1);
    const distance = mark => Math.max(0, timeline.x(mark.from) - x, x - right(mark));
    const found = row.marks.filter(mark => mark.lane === lane && distance(mark) <= NEAR);
    for (const mark of timeline.slotMarks(row))
      if (distance(mark) === 0)
        found.push(mark);
    if (row.samples)
      found.push(...timeline.sampleMarks(row).filter(mark => distance(mark) === 0));
    if (row.gauge)
      found.push(...this.levelAt(row, x));
    return found.sort((a, b) => distance(a) - distance(b) || Boolean(a.isSum) - Boolean(b.isSum) ||
      (a.isSum ? b.raw[2] - a.raw[2] : (a.to - a.from) - (b.to - b.from)));
  }

  levelAt(row, x) {
    const at = this.timeline.time(x);
    const { names } = this.timeline, { points } = row.gauge;
    const found = points.findLastIndex((_, i) => names.spanOfPoint(row.gauge, i)[0] <= at);
    if (found < 0)
      return [];
    const [from, to] = names.spanOfPoint(row.gauge, found);
    return row.gauge.unit === 'percent' && at > to ? [] : [{ point: points[found], from, to: Math.max(to, at) }];
  }

  point(event) {
    const { x, y } = this.place(event);
    const index = this.rowAt(y), { timeline } = this;
    this.tip.show(null);
    if (index < 0 || this.pressed)
      return;
    const row = timeline.rows[index];
    const marks = x >= timeline.labels ? this.marksAt(index, x, y) : [];
    if (!marks.length && x >= timeline.labels)
      return;
    const lines = marks.length ? timeline.names.describe(row, marks[0]) : [timeline.names.describeRow(row)];
    if (marks.length > 1)
      lines.push(`${grouped(marks.length - 1)} more at this place: zoom in`);
    const [title, ...more] = lines;
    this.tip.show(() => ({ title, text: more.join('\n'), lines: [] }), event);
  }

  // The wheel alone scrolls, as it does everywhere else.
  wheel(event) {
    const { timeline } = this, { x } = this.place(event);
    const isPan = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (x < timeline.labels || !(isPan || event.ctrlKey || event.metaKey))
      return;
    event.preventDefault();
    if (isPan && !event.ctrlKey)
      timeline.move((event.deltaX || event.deltaY) / timeline.plot);
    else
      timeline.zoom(1.2 ** Math.max(-5, Math.min(5, event.deltaY / 50)), timeline.time(x));
  }

  press(event) {
    const { x, y } = this.place(event);
    if (event.button !== 0 || x < timeline.labels)
      return;
    this.pressed = { x, y };
    this.tip.show(null);
  }

  drag(event) {
    if (!this.pressed)
      return;
    const { timeline } = this, { x } = this.place(event);
    this.pressed.now = Math.max(timeline.labels, Math.min(x, timeline.labels + timeline.plot));
    timeline.chosen = Math.abs(this.pressed.now - this.pressed.x) > NEAR
      ? [this.pressed.x, this.pressed.now].sort((a, b) => a - b) : null;
    timeline.draw();
  }

  release() {
    if (!this.pressed)
      return;
    const { timeline, pressed } = this, { chosen } = timeline;
    this.pressed = timeline.chosen = null;
    if (chosen) {
      timeline.show(timeline.time(chosen[0]), timeline.time(chosen[1]));
      return;
    }
    const index = this.rowAt(pressed.y);
    const mark = index >= 0 && this.marksAt(index, pressed.x, pressed.y).find(({ raw }) => raw);
    if (mark)
      this.select(index, mark);
    else
      timeline.draw();
  }

  // A double click zooms to a mark.
  open(event) {
    const { x, y } = this.place(event), index = this.rowAt(y);
    const { timeline } = this, [mark] = index >= 0 && x >= this.timeline.labels ? this.marksAt(index, x, y) : [];
    if (mark)
      this.showMark(mark);
  }

  showMark({ from, to }) {
    const around = Math.max((to - from) * 0.05, SHORTEST_VIEW / 2);
    this.timeline.show(Math.max(0, from - around), Math.min(this.timeline.length, to + around));
  }

  select(index, mark) {
    const { timeline } = this, row = timeline.rows[index];
    timeline.selected = { row: index, mark };
    this.said.textContent = mark ? timeline.names.describe(row, mark).join(', ') : timeline.names.describeRow(row);
    const top = row.top - timeline.scrolled, room = timeline.pen.height - timeline.axis;
    if (top < 0 || top + row.height > room)
      timeline.scrollTo(row.top - room / 2);
    else
      timeline.canvas.scrollIntoView({ block: 'nearest' });
    if (mark && (mark.to < timeline.from || mark.from > timeline.to)) {
      const half = (timeline.to - timeline.from) / 2;
      timeline.show(mark.from - half, mark.from + half, true);
    }
    timeline.draw();
  }

  step(direction) {
    const { timeline } = this, { row: index, mark } = timeline.selected;
    const row = timeline.rows[index];
    const marks = row.samples ? timeline.sampleMarks(row) : row.slots.length ? timeline.slotMarks(row) : row.marks;
    if (!marks.length)
      return;
    // Slots are recreated each time, so they are identified by their start.
    const isMark = other => other === mark || ((mark.slot || mark.sample) && !mark.raw && other.from === mark.from);
    let at = mark ? marks.findIndex(isMark) : -1;
    if (at < 0) {
      const first = marks.findIndex(other => other.to >= timeline.from);
      at = (first < 0 ? marks.length - 1 : first) - direction;
    }
    this.select(index, marks[Math.max(0, Math.min(marks.length - 1, at + direction))]);
  }

  // -> whether the timeline has handled the key; 0 also applies to the page
  key(event) {
    const { timeline } = this, { row, mark } = timeline.selected;
    if (event.ctrlKey || event.altKey || event.metaKey || (/^(Escape|Backspace)$/.test(event.key) && !timeline.trail.length))
      return false;
    const sideways = direction => event.shiftKey ? timeline.move(direction / 4) : this.step(direction);
    const actions = {
      ArrowUp: () => this.select(Math.max(0, row - 1), null),
      ArrowDown: () => this.select(Math.min(timeline.rows.length - 1, row + 1), null),
      ArrowLeft: () => sideways(-1),
      ArrowRight: () => sideways(1),
      Enter: () => mark && this.showMark(mark),
      Escape: () => timeline.back(),
      Backspace: () => timeline.back(),
      '+': () => timeline.zoom(0.5, mark ? (mark.from + mark.to) / 2 : undefined),
      '-': () => timeline.zoom(2),
      0: () => timeline.whole(),
    };
    if (actions[event.key])
      actions[event.key]();
    return Boolean(actions[event.key]) && event.key !== '0';
  }
}
