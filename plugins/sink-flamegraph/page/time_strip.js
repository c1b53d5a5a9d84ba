// Samples and jobs over time: a lane for the GPU by stall reason, one for the CPU and one for jobs; or a heatmap, in
// which a column is about a second. Dragging selects the time range for all other views.

const STRIP_STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600].map(s => s * 1e9);

const DEFAULT_COLUMN = 1e9; // of the sink's options: the page may choose

class TimeStrip {
  constructor(app, jobs) {
    this.app = app;
    this.times = app.model.times;
    this.jobs = jobs;
    this.canvas = element('strip-canvas');
    this.pen = new Pen(this.canvas);
    this.draw = oncePerFrame('strip', () => this.drawNow());
    this.drag = null;
    if (!this.times || !this.times.totals.count) {
      element('strip').hidden = true;
      this.times = null;
      return;
    }
    this.last = this.times.last();
    this.length = this.last - this.times.begin;
    this.slots = this.slotsOfReasons(this.times);
    // A comparison has a lane for each run; the time of each is relative to its start.
    this.before = app.model.beforeTimes && app.model.beforeTimes.totals.count ? app.model.beforeTimes : null;
    if (this.before) {
      this.beforeSlots = this.slotsOfReasons(this.before);
      this.length = Math.max(this.length, this.before.last() - this.before.begin);
      this.last = this.times.begin + this.length;
    }
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // By value type and slot of time: values of each stall reason. Only types that stall.
  slotsOfReasons({ stacks }) {
    const { model } = this.app, { tree, frames } = model;
    const reasonOf = new Int8Array(tree.count).fill(-1);
    for (let node = 1; node < tree.count; node++)
      reasonOf[node] = frames.kind[tree.frame[node]] === Kind.STALL_REASON ? slotOf(frames.names[tree.frame[node]])
        : reasonOf[tree.parent[node]];
    const found = new Map();
    for (let i = 0; i < stacks.count; i++) {
      const type = stacks.type[i];
      if (!model.isOfDevice(type))
        continue;
      if (!found.has(type))
        found.set(type, []);
      const slot = stacks.slot[i], list = found.get(type);
      if (!list[slot])
        list[slot] = new Float64Array(REASONS.length);
      list[slot][reasonOf[stacks.node[i]] < 0 ? OTHER_REASON : reasonOf[stacks.node[i]]] += stacks.value[i];
    }
    return found;
  }

  get isHeatmap() { return this.app.state.get('strip') === 'heatmap'; }

  show() {
    if (!this.times)
      return;
    for (const button of document.querySelectorAll('#strip-mode button'))
      button.setAttribute('aria-pressed', String(button.dataset.mode === this.app.state.get('strip')));
    const { range } = this.app.model;
    const chip = element('strip-range');
    chip.hidden = !range;
    if (range)
      chip.textContent = `${this.rangeText()}  ×`;
    this.draw();
  }

  // The selected time: "200 ms from 3.06 s"
  rangeText() {
    const { begin, end } = this.app.model.range;
    return `${timeText(end - begin)} from ${pointText(Math.max(0, begin - this.times.begin), this.times.width)}`;
  }

  get left() { return 4.1 * this.pen.rem; }
  get right() { return this.pen.width - 1.4 * this.pen.rem; }
  x(time) { return this.left + (time - this.times.begin) / this.length * (this.right - this.left); }
  time(x) { return this.times.begin + (x - this.left) / (this.right - this.left) * this.length; }

  drawNow() {
    const { pen } = this;
    if (!this.times || !pen.width)
      return;
    pen.fit();
    if (this.isHeatmap)
      this.drawHeatmap();
    else
      this.drawLanes();
    this.drawAxis();
    this.drawRange();
  }

  drawLanes() {
    if (this.before) {
      this.drawRuns();
      return;
    }
    const { pen } = this, { model } = this.app;
    const device = [...this.slots.keys()], cpu = this.cpuType();
    this.lanes = [];
    const bottom = pen.height - 1.5 * pen.rem, top = 0.6 * pen.rem;
    const small = [...(cpu >= 0 ? [this.cpuLabel(cpu)] : []), ...(this.jobs.length ? [this.jobsLabel()] : [])];
    const lane = Math.min(1.05 * pen.rem, (bottom - top) / (small.length + 1));
    if (!device.length && small.length === 1 && cpu >= 0) {
      this.lanes.push({ top, bottom, type: cpu });
      this.label(small[0], (top + bottom) / 2);
      this.drawCpu(cpu, top, bottom - top);
      return;
    }
    let low = bottom;
    for (const name of small.reverse()) {
      low -= lane;
      this.label(name, low + lane / 2);
      this.lanes.push({ top: low, bottom: low + lane, type: name === this.jobsLabel() ? -1 : cpu });
      if (name === this.jobsLabel())
        this.drawJobs(low, lane - 3);
      else
        this.drawCpu(cpu, low, lane - 3);
    }
    if (!device.length)
      return;
    const high = low - 4 - top;
    const shown = this.slots.has(model.type) ? model.type : device[0], { device: kind } = model.types[shown];
    this.label(['GPU', 'NPU'].includes(kind) ? kind : 'Device', top + high / 2);
    this.lanes.push({ top: 0, bottom: low, type: shown });
    this.drawReasons(this.slots.get(shown), this.times, top, high);
  }

  // The samples of a GPU have the lane with its name.
  jobsLabel() { return this.slots.size && this.app.jobDevice() === 'GPU' ? 'Busy' : this.app.jobDevice(); }

  cpuLabel(type) {
    const { name, role } = this.app.model.types[type];
    return name.startsWith('npu-') ? 'Calls' : role === Role.WAIT ? 'Waiting' : 'CPU';
  }

  // The value type of the CPU lane: waits if they are shown, or else CPU samples, or another type if there are none.
  cpuType() {
    const { model } = this.app, { types } = model, others = model.order.filter(type => !this.slots.has(type));
    const own = others.filter(type => types[type].role === Role.CPU_TIME), rest = others.filter(type =>
      !this.jobs.length || !types[type].name.startsWith('npu-'));
    return others.includes(model.type) && types[model.type].role === Role.WAIT ? model.type : own.length ? own[0] : rest.includes(model.type) ? model.type : rest.length ? rest[0] : -1;
  }

  // Runs of a comparison, with their slots and factors, and where their lanes are.
  runs() {
    const { compare, model } = this.app, bottom = this.pen.height - 1.5 * this.pen.rem, top = 0.4 * this.pen.rem;
    const high = (bottom - top) / 2;
    return [{ name: 'Baseline', times: this.before, slots: this.beforeSlots.get(model.type), factor: compare.factor, top, high: high - 4 },
      { name: 'After', times: this.times, slots: this.slots.get(model.type), factor: 1, top: top + high, high: high - 4 }];
  }

  // Draws both runs to the same scale, so that a lower run took less time.
  drawRuns() {
    const runs = this.runs(), columns = Math.max(1, Math.floor((this.right - this.left) / 2));
    for (const run of runs)
      run.sums = run.slots ? this.columnsOf(run.slots, run.times, columns, run.factor) : this.totalColumns(run, columns);
    const most = Math.max(...runs.flatMap(({ sums }) => sums.map(mix => mix.reduce((sum, value) => sum + value, 0))), 1e-9);
    for (const { name, sums, top, high, slots } of runs) {
      this.label(name, top + high / 2);
      this.drawColumns(sums, most, top, high, slots ? PALETTE.reasons.map(colourOf) : [colourOf(CPU_COLOUR)]);
    }
  }

  // Sums without reasons, with one part each.
  totalColumns({ times, factor, type = this.app.model.type }, columns) {
    const slots = [], { totals, totalWidth } = times;
    for (let i = 0; i < totals.count; i++)
      if (totals.type[i] === type)
        (slots[totals.slot[i]] = slots[totals.slot[i]] || new Float64Array(1))[0] += totals.value[i];
    return this.columnsOf(slots, times, columns, factor, totalWidth, 1);
  }

  label(text, y) {
    const { pen } = this;
    pen.setFont(11);
    pen.context.fillStyle = pen.text2;
    pen.context.fillText(text, Math.min(1.1 * pen.rem, this.left - pen.widthOf(text) - 4), y);
  }

  // Sums of columns about two pixels wide.
  drawReasons(slots, times, top, high) {
    const sums = this.columnsOf(slots, times, Math.max(1, Math.floor((this.right - this.left) / 2)));
    const most = Math.max(...sums.map(mix => mix.reduce((sum, value) => sum + value, 0)), 1e-9);
    this.drawColumns(sums, most, top, high, PALETTE.reasons.map(colourOf));
  }

  // width: of a slot; parts: of its values
  columnsOf(slots, times, columns, factor = 1, width = times.width, parts = REASONS.length) {
    const sums = Array.from({ length: columns }, () => new Float64Array(parts));
    slots.forEach((mix, slot) => {
      const from = (slot * width - times.begin) / this.length * columns;
      const to = ((slot + 1) * width - times.begin) / this.length * columns;
      for (let column = Math.max(0, Math.floor(from)); column < Math.min(columns, Math.ceil(to)); column++) {
        const part = factor * (Math.min(to, column + 1) - Math.max(from, column)) / (to - from);
        mix.forEach((value, reason) => { sums[column][reason] += value * part; });
      }
    });
    return sums;
  }

  drawColumns(sums, most, top, high, colours) {
    const { pen } = this, wide = (this.right - this.left) / sums.length;
    sums.forEach((mix, column) => {
      let level = top + high;
      mix.forEach((value, part) => {
        const tall = value / most * high;
        if (tall > 0.05)
          pen.box(this.left + column * wide, level - tall, wide + 0.5, tall + 0.3, colours[part]);
        level -= tall;
      });
    });
    pen.box(this.left, top + high, this.right - this.left, 1, pen.line);
  }

  drawCpu(type, top, high) {
    const sums = this.totalColumns({ times: this.times, factor: 1, type }, Math.max(1, Math.floor((this.right - this.left) / 2)));
    this.drawColumns(sums, sums.reduce((most, [sum]) => Math.max(most, sum), 1e-9), top, high, [colourOf(CPU_COLOUR)]);
  }

  drawJobs(top, high) {
    const { pen } = this;
    for (const { begin, end, process, isAborted } of this.jobs) {
      const fill = colourOf(PALETTE.processes[Math.max(0, process) % PALETTE.processes.length]);
      const left = this.x(begin + this.times.begin), wide = Math.max(1, this.x(end + this.times.begin) - left);
      pen.box(left, top, wide, high, isAborted ? colourOf(PALETTE.reasons[0]) : fill);
    }
  }

  drawAxis() {
    const { pen } = this, { context } = pen;
    const step = stepOf(this.length / Math.max(1, (this.right - this.left) / (7 * pen.rem)));
    pen.setFont(11);
    context.fillStyle = pen.text2;
    for (let at = 0; at <= this.length; at += step) {
      const x = this.x(at + this.times.begin), text = tickText(at, step);
      pen.box(Math.round(x), pen.height - 1.5 * pen.rem, 1, 0.35 * pen.rem, pen.text3);
      context.fillText(text, Math.min(x + 3, this.right - pen.widthOf(text)), pen.height - 0.7 * pen.rem);
    }
  }

  // Columns and rows of the heatmap: those of the sink's options, as far as there is space.
  cells() {
    const { times } = this, wide = this.right - this.left, runs = this.before ? 2 : 1;
    const high = (this.pen.height - 2 * this.pen.rem) / runs - (runs - 1) * 3;
    const steps = times.column === DEFAULT_COLUMN ? STRIP_STEPS : [times.column, ...STRIP_STEPS.filter(step => step > times.column)];
    const slot = Math.max(times.totalWidth, this.before ? this.before.totalWidth : 0);
    const column = steps.find(step => this.length / step <= (step === times.column ? wide / 2 : 100) && step >= slot)
      || this.length;
    let row = Math.max(times.row, slot);
    while (column / row > high / 2)
      row *= 2;
    const rows = Math.max(1, Math.ceil(column / row - 1e-9));
    const columns = Math.max(1, Math.ceil(this.length / column - 1e-9));
    return { column, rows, row, columns, high: high / rows,
      tops: Array.from({ length: runs }, (_, run) => 0.5 * this.pen.rem + run * (high + 6)) };
  }

  drawHeatmap() {
    const { pen, times } = this, { column, rows, columns, tops, high } = this.cells();
    const all = (this.before ? this.runs() : [{ times, factor: 1 }]).map(run => this.cellSums(run));
    const most = Math.max(1e-9, ...all.map(sums => sums.reduce((a, b) => Math.max(a, b), 0)));
    const fill = isDark() ? '#ffab5c' : '#b04a08';
    tops.forEach((top, run) => {
      if (this.before) {
        this.label(['Baseline', 'After'][run], top + rows * high / 2);
      } else {
        this.label(timeText(column), top + 0.45 * pen.rem);
        this.label('0', top + rows * high - 0.45 * pen.rem);
      }
      for (let at = 0; at < columns; at++) {
        const left = this.x(times.begin + at * column);
        const wide = Math.min(this.x(times.begin + (at + 1) * column), this.right) - left;
        for (let within = 0; within < rows; within++) {
          const share = all[run][at * rows + within] / most;
          if (share > 0)
            pen.box(left, top + (rows - 1 - within) * high, Math.max(1, wide - (wide > 4 ? 1 : 0)), high - (high > 3 ? 0.5 : 0),
              fade(fill, pen.surface, 0.12 + 0.88 * share));
        }
      }
    });
  }

  // Sums of cells, column by column.
  cellSums({ times, factor }) {
    const { column, rows, row, columns } = this.cells(), { totals, totalWidth } = times;
    const sums = new Float64Array(columns * rows);
    for (let i = 0; i < totals.count; i++)
      if (totals.type[i] === this.app.model.type) {
        const time = Math.max(0, totals.slot[i] * totalWidth - times.begin); // the first slot begins before the run
        const at = Math.floor(time / column), within = Math.min(rows - 1, Math.floor((time - at * column) / row));
        if (at >= 0 && at < columns)
          sums[at * rows + within] += factor * totals.value[i];
      }
    return sums;
  }

  drawRange() {
    const { pen } = this;
    const range = this.drag ? { begin: this.time(Math.min(...this.drag)), end: this.time(Math.max(...this.drag)) }
      : this.app.model.range;
    if (!range)
      return;
    const left = this.x(range.begin), right = this.x(range.end), { context } = pen;
    context.fillStyle = pen.surface;
    context.globalAlpha = 0.66;
    context.fillRect(this.left, 0, Math.max(0, left - this.left), pen.height - 1.5 * pen.rem);
    context.fillRect(right, 0, Math.max(0, this.right - right), pen.height - 1.5 * pen.rem);
    context.globalAlpha = 1;
    pen.box(left - 1, 0, 2, pen.height - 1.4 * pen.rem, pen.accent);
    pen.box(right - 1, 0, 2, pen.height - 1.4 * pen.rem, pen.accent);
  }

  // Selects a time range in whole slots; the address contains milliseconds since the start of the run.
  select(begin, end) { this.app.state.set({ time: this.timeText(begin, end) }); }

  // The format of a time range in the state.
  timeText(begin, end) {
    const { times } = this, slack = 1e-6 * times.width;
    const range = times.widen({ begin: Math.max(times.begin, begin + slack), end: Math.min(this.last, end - slack) });
    const text = at => String(Number((Math.max(0, at - times.begin) / 1e6).toFixed(3)));
    return `${text(range.begin)}-${text(Math.max(range.end, range.begin + times.width))}`;
  }

  // The sum of the displayed value type in a time range of a run, relative to its start.
  sumWithin({ totals, totalWidth, begin: origin }, begin, end, type = this.app.model.type) {
    let sum = 0;
    for (let i = 0; i < totals.count; i++) {
      const time = totals.slot[i] * totalWidth - origin;
      if (totals.type[i] === type && (time >= begin || begin <= 0) && time < end)
        sum += totals.value[i];
    }
    return sum;
  }

  // Describes the cell of the heatmap, or the time slot, at a position.
  describe(x, y) {
    const { times } = this, { model, compare } = this.app, time = Math.max(0, this.time(x) - times.begin);
    let begin, end;
    if (this.isHeatmap) {
      const { column, row, rows, tops, high } = this.cells(), top = tops.findLast(at => y >= at) || tops[0];
      const within = Math.max(0, Math.min(rows - 1, rows - 1 - Math.floor((y - top) / high)));
      begin = Math.floor(time / column) * column + within * row;
      end = Math.min(begin + row, (Math.floor(time / column) + 1) * column);
    } else {
      begin = Math.floor((time + times.begin) / times.totalWidth) * times.totalWidth - times.begin;
      end = begin + times.totalWidth;
    }
    const title = [Math.max(0, begin), end].map(at => pointText(at, end - begin)).join(' to ');
    if (this.before) {
      const [before, after] = [compare.factor * this.sumWithin(this.before, begin, end), this.sumWithin(times, begin, end)];
      return { title, mix: null, lines: [['Baseline', exactText(before, model.unit)], ['After', exactText(after, model.unit)],
        ['Change', compare.growthText(before, after)]] };
    }
    const lane = this.isHeatmap ? null : this.lanes.find(({ top, bottom }) => y >= top && y < bottom);
    const type = lane ? lane.type : model.type;
    if (type < 0)
      return { title, mix: null, lines: this.jobsWithin(begin, end) };
    const slots = this.isHeatmap ? null : this.slots.get(type);
    const mix = slots && slots[Math.floor((begin + times.begin) / times.width)];
    const added = times.addedUp[type];
    return { title, mix: mix || null,
      lines: [[model.typeLabel(type), exactText(this.sumWithin(times, begin, end, type), model.types[type].unit)],
        ...(added > times.totalWidth ? [['Collected in batches of', `${timeText(added)} at most`]] : [])] };
  }

  jobsWithin(begin, end) {
    const jobs = this.jobs.filter(job => job.begin < end && job.end > begin);
    const busy = jobs.reduce((sum, job) => sum + job.busy * (Math.min(job.end, end) - Math.max(job.begin, begin)) /
      (job.end - job.begin || 1), 0);
    return [[`${this.app.jobDevice()} busy`, shareText(Math.min(busy, end - begin), end - begin)]];
  }

  listen() {
    const { canvas } = this;
    const place = event => event.clientX - canvas.getBoundingClientRect().left;
    const height = event => event.clientY - canvas.getBoundingClientRect().top;
    let edge = null;
    canvas.addEventListener('pointerdown', event => {
      if (event.button !== 0)
        return;
      const x = place(event), { range } = this.app.model;
      const edges = range ? [this.x(range.begin), this.x(range.end)] : [];
      edge = edges.findIndex(at => Math.abs(at - x) < 5);
      this.drag = edge >= 0 ? [edges[1 - edge], x] : [x, x];
      canvas.setPointerCapture(event.pointerId);
      this.app.tip.show(null);
    });
    canvas.addEventListener('pointermove', event => {
      const x = place(event);
      if (this.drag) {
        this.drag[1] = Math.max(this.left, Math.min(this.right, x));
        this.draw();
      } else if (x >= this.left && x <= this.right) {
        this.app.tip.show(() => this.describe(x, height(event)), event);
      } else {
        this.app.tip.show(null);
      }
    });
    canvas.addEventListener('pointerleave', () => this.app.tip.show(null));
    canvas.addEventListener('pointerup', () => {
      if (!this.drag)
        return;
      const [from, to] = [Math.min(...this.drag), Math.max(...this.drag)];
      this.drag = null;
      if (to - from < 3)
        this.app.state.set({ time: '' });
      else
        this.select(this.time(from), this.time(to));
      this.draw();
    });
    canvas.addEventListener('keydown', event => this.key(event));
    element('strip-range').addEventListener('click', () => this.app.state.set({ time: '' }));
    for (const button of document.querySelectorAll('#strip-mode button'))
      button.addEventListener('click', () => this.app.state.set({ strip: button.dataset.mode }));
  }

  // The arrow keys move the selection by a fiftieth of the run; with Shift, they move its end.
  key(event) {
    const { range } = this.app.model, { times } = this;
    const step = times.width * Math.max(1, Math.round(this.length / 50 / times.width));
    const move = { ArrowLeft: -step, ArrowRight: step }[event.key];
    if (event.key === 'Escape' && range) {
      this.app.state.set({ time: '' });
    } else if (move) {
      const first = times.widen(times).begin;
      const now = range || { begin: first, end: first + (event.shiftKey ? 0 : step) };
      const by = range || event.shiftKey ? Math.max(first - now.begin, Math.min(this.last - now.end, move)) : 0;
      const begin = event.shiftKey ? now.begin : now.begin + by;
      this.select(begin, Math.max(now.end + by, begin + 1));
      element('said').textContent = element('strip-range').textContent;
    } else {
      return;
    }
    event.preventDefault();
  }
}
