// Draws the layout of a flame graph, and finds the cell at a position. Row heights depend on the available space.

const ROW_LEAST = 18, ROW_MOST = 30; // pixels, at 13 pixels per rem

class FlameDrawing {
  constructor(canvas) {
    this.pen = new Pen(canvas);
    this.scroll = 0; // of the CPU rows, pixels from the root
    this.moving = null;
  }

  // scene: { layout, isIcicle, look(cell) }
  show(scene, moves = false) {
    const before = this.scene && moves && !matchMedia('(prefers-reduced-motion: reduce)').matches ? this.positions() : null;
    this.scene = scene;
    this.measure();
    this.moving = before ? { before, start: performance.now() } : null;
  }

  positions() {
    const found = new Map();
    for (const cell of this.scene.layout.cells)
      if (!cell.isGap)
        found.set(FlameDrawing.keyOf(cell), [cell.x, cell.w]);
    return found;
  }

  static keyOf(cell) { return `${cell.node}:${cell.band === undefined ? 'c' : cell.band}:${cell.slot}:${cell.more || ''}`; }

  measure() {
    const { layout } = this.scene, { pen } = this;
    pen.rem = rem();
    const unit = pen.rem / 13, height = pen.height;
    const bands = layout.hasBand ? layout.band.length : 0, cpu = layout.deepest + 1;
    const least = ROW_LEAST * unit, most = (window.innerWidth >= 1800 ? 44 * 13 / 14 : ROW_MOST) * unit;
    this.boundary = bands ? 1.1 * pen.rem : 0;
    const rows = cpu + (bands ? bands - 1 + 1.6 : 0);
    this.row = Math.max(least, Math.min(most, (height - this.boundary) / rows));
    const rest = height - this.boundary - cpu * this.row - Math.max(0, bands - 1) * this.row;
    this.reasonRow = bands ? Math.max(1.6 * this.row, rest) : 0;
    this.bandHeight = bands ? (bands - 1) * this.row + this.reasonRow : 0;
    this.cpuHeight = Math.max(0, height - this.boundary - this.bandHeight);
    this.scrollMost = Math.max(0, cpu * this.row - this.cpuHeight);
    this.scroll = Math.min(this.scroll, this.scrollMost);
    // If there is space left, the band is directly above the deepest row.
    this.cpuUsed = Math.min(this.cpuHeight, cpu * this.row);
  }

  // Top and height of a cell.
  span(cell) {
    const { layout, isIcicle } = this.scene, { pen, row } = this;
    const flip = (top, high) => isIcicle ? pen.height - top - high : top;
    const ground = pen.height, edge = ground - this.cpuUsed - this.boundary;
    if (cell.isGap) {
      const top = ground - this.cpuUsed, bottom = ground - cell.row * row + this.scroll;
      return [flip(top, Math.max(0, bottom - top)), Math.max(0, bottom - top)];
    }
    if (cell.band === undefined)
      return [flip(ground - (cell.row + 1) * row + this.scroll, row), row];
    const last = layout.band.length - 1;
    if (cell.band === last)
      return [flip(edge - last * row - this.reasonRow, this.reasonRow), this.reasonRow];
    return [flip(edge - (cell.band + 1) * row, row), row];
  }

  // The area of the CPU rows: top and bottom.
  cpuArea() {
    const top = this.pen.height - this.cpuUsed;
    return this.scene.isIcicle ? [0, this.cpuUsed] : [top, this.pen.height];
  }

  // -> whether the animation continues
  draw() {
    const { pen, scene } = this;
    if (!scene || !pen.width)
      return false;
    pen.fit();
    this.measure();
    const share = this.moving ? Math.min(1, (performance.now() - this.moving.start) / 160) : 1;
    const eased = 1 - (1 - share) ** 3;
    const [cpuTop, cpuBottom] = this.cpuArea();
    const { context } = pen;
    context.save();
    context.beginPath();
    context.rect(0, cpuTop, pen.width, cpuBottom - cpuTop);
    context.clip();
    for (const cell of scene.layout.cells)
      if (cell.band === undefined)
        this.drawCell(cell, eased, cpuTop, cpuBottom);
    context.restore();
    for (const cell of scene.layout.cells)
      if (cell.band !== undefined)
        this.drawCell(cell, eased, 0, pen.height);
    if (scene.layout.hasBand)
      this.drawBoundary();
    if (scene.selected)
      this.outline(scene.selected, pen.accent, 2);
    else if (scene.hovered)
      this.outline(scene.hovered, pen.text, 1);
    if (share < 1)
      return true;
    this.moving = null;
    return false;
  }

  drawCell(cell, eased, least, most) {
    const [top, high] = this.span(cell);
    if (top >= most || top + high <= least || high <= 0)
      return;
    let { x, w } = cell;
    const before = this.moving && this.moving.before.get(FlameDrawing.keyOf(cell));
    if (before) {
      x = before[0] + (x - before[0]) * eased;
      w = before[1] + (w - before[1]) * eased;
    }
    const { pen } = this;
    if (cell.isGap) {
      pen.box(x, top, Math.max(0, w - 1), high, pen.sunken);
      return;
    }
    const look = this.scene.look(cell);
    const wide = w > 3 ? w - 1 : w;
    pen.box(x, top + 0.5, wide, high - 1, look.fill, cell.slot === undefined && !cell.slots ? 3 : 0);
    if (look.isFound) {
      pen.context.strokeStyle = pen.accent;
      pen.context.lineWidth = 1.5;
      pen.context.strokeRect(x + 0.75, top + 1.25, Math.max(0.5, wide - 1.5), high - 2.5);
    }
    if (look.isHatched)
      pen.hatch(x, top + 0.5, wide, high - 1, look.ink === INK_DARK ? '#12161c22' : '#ffffff22');
    if (look.stripe)
      pen.hatch(x, top + 0.5, wide, high - 1, look.stripe, 10, 3);
    const room = w - 2 * PADDING + 4;
    if (room < 14 || !look.label)
      return;
    pen.context.fillStyle = look.ink;
    if (cell.slot !== undefined || cell.slots)
      this.writeReason(look, x, top, high, room);
    else
      this.writeFrame(cell, look, x, top, high, room);
  }

  writeReason(look, x, top, high, room) {
    const { pen } = this, { context } = pen;
    const isTall = high > 2.6 * pen.rem;
    pen.setFont(12, 600);
    const left = x + PADDING - 1, middle = top + high / 2;
    if (pen.widthOf(look.label) <= room) {
      context.fillText(look.label, left, isTall ? middle - 0.55 * pen.rem : middle);
      pen.setFont(12);
      if (isTall)
        context.fillText(look.share, left, middle + 0.6 * pen.rem);
    } else {
      pen.setFont(11);
      if (pen.widthOf(look.share) <= room)
        context.fillText(look.share, left, middle);
    }
  }

  writeFrame(cell, look, x, top, high, room) {
    const { pen } = this, { context } = pen, middle = top + high / 2 + 0.5;
    let left = x + PADDING - 1, right = left + room;
    if (look.share) {
      pen.setFont(11.5, look.weight);
      const wide = pen.widthOf(look.share);
      pen.setFont(12, look.weight, look.isMono);
      if (pen.widthOf(look.label) + wide + 14 <= room || (room > 90 && wide < room / 3)) {
        pen.setFont(11.5, look.weight);
        context.globalAlpha = look.pale;
        context.fillText(look.share, right - wide, middle);
        context.globalAlpha = 1;
        right -= wide + 10;
      }
    }
    if (cell.run && cell.run.length >= FOLD_LEAST && right - left > 60) {
      cell.chip = pen.chip(`+${cell.run.length - 1}`, right, middle, this.row - 6, look.fill, look.ink);
      right = cell.chip[0] - 6;
    } else {
      cell.chip = null;
    }
    if (look.number) {
      pen.setFont(11.8, 700, true);
      const wide = pen.widthOf(look.number);
      if (wide + 8 <= right - left) {
        context.fillText(look.number, left, middle);
        left += wide + 8;
      }
    }
    pen.setFont(look.isMono ? 11.8 : 12, look.weight, look.isMono);
    left += (look.isName ? pen.writeName(look.label, left, middle, right - left) : pen.write(look.label, left, middle, right - left)) + 8;
    if (look.place && right - left > 40) {
      pen.setFont(12);
      context.globalAlpha = look.pale;
      pen.write(look.place, left, middle, right - left);
      context.globalAlpha = 1;
    }
  }

  drawBoundary() {
    const { pen } = this, { context } = pen;
    const y = this.scene.isIcicle ? this.cpuUsed + this.boundary / 2 : pen.height - this.cpuUsed - this.boundary / 2;
    pen.setFont(10, 600);
    const label = 'CPU / GPU', wide = pen.widthOf(label);
    context.strokeStyle = pen.text3;
    context.lineWidth = 1;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(0, Math.round(y) + 0.5);
    context.lineTo(pen.width - wide - 8, Math.round(y) + 0.5);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = pen.text2;
    context.fillText(label, pen.width - wide - 2, y);
  }

  outline(cell, colour, wide) {
    const now = this.scene.layout.cells.find(other => FlameDrawing.keyOf(other) === FlameDrawing.keyOf(cell) && !other.isGap);
    if (!now)
      return;
    const [top, high] = this.span(now), { context } = this.pen;
    context.strokeStyle = colour;
    context.lineWidth = wide;
    context.strokeRect(now.x + wide / 2, top + wide / 2, Math.max(1, now.w - wide - 0.5), high - wide);
  }

  cellAt(x, y) {
    if (!this.scene)
      return null;
    const [cpuTop, cpuBottom] = this.cpuArea();
    let near = null;
    for (const cell of this.scene.layout.cells) {
      if (cell.isGap || x < cell.x || x >= cell.x + Math.max(cell.w, 1))
        continue;
      if (cell.band === undefined && (y < cpuTop || y >= cpuBottom))
        continue;
      const [top, high] = this.span(cell);
      if (y < top || y >= top + high)
        continue;
      if (x < cell.x + cell.w)
        return cell;
      near = cell;
    }
    return near;
  }
}
