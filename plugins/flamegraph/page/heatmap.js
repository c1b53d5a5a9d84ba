// The heatmap: a column for each second or so of the run, in which a row is a part of that time, as FlameScope draws it.
// Where it is dark, much was added. A part of the run that is chosen in it is what the flame graph shows.

// More cells in one direction are not drawn: columns, or rows, are made longer.
const COLUMNS_MOST = 8192, ROWS_MOST = 512;
const COLUMN_LENGTHS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600].map(s => s * 1e9);
const ROWS_OF_A_SLOT = [1, 2, 5, 10, 25, 50, 100, 250, 500];
const LABELS_LEFT = 52, LABELS_BELOW = 16, HEAT_HEIGHT = 100;

function timeText(nanoseconds) {
  return `${(Math.round(nanoseconds / 1e6) / 1e3 || 0).toFixed(3)} s`; // || 0: not -0
}

function lengthText(nanoseconds) {
  return nanoseconds >= 60e9 ? `${nanoseconds / 60e9} min` : valueText(nanoseconds, 'nanoseconds');
}

class Heatmap {
  // choose(range): a part of the run was chosen, { begin, end }; null: all of it.
  constructor(times, header, choose) {
    this.times = times;
    this.header = header;
    this.choose = choose;
    this.canvas = element('heatmap');
    this.context = this.canvas.getContext('2d');
    this.last = times.last();
    this.cursor = this.anchor = null; // cells, numbered by time
    this.range = null;
    element('heat').hidden = false;
    element('heat').open = window.innerHeight >= 760; // in a low window the graph needs the room
    this.fillLengths();
    this.listen();
  }

  fillLengths() {
    const { times } = this;
    const shortest = Math.max(this.last / COLUMNS_MOST, times.totalWidth);
    const lengths = [...new Set([times.column, ...COLUMN_LENGTHS])].sort((a, b) => a - b).filter(it => it >= shortest);
    if (!lengths.length)
      lengths.push(2 ** Math.ceil(Math.log2(shortest)));
    const chosen = lengths.find(length => length >= times.column) || lengths[lengths.length - 1];
    for (const length of lengths)
      element('heat-column').add(new Option(lengthText(length), length, false, length === chosen));
    this.fillRows(times.row);
  }

  // Rows are whole slots, and not more than there is room for.
  fillRows(wanted) {
    const { totalWidth } = this.times;
    const select = element('heat-row');
    const column = Number(element('heat-column').value);
    const lengths = [...new Set([Math.ceil(this.times.row / totalWidth), ...ROWS_OF_A_SLOT])].sort((a, b) => a - b)
      .map(slots => slots * totalWidth).filter(it => it <= column && column / it <= ROWS_MOST);
    if (!lengths.length)
      lengths.push(Math.ceil(column / ROWS_MOST / totalWidth) * totalWidth);
    const chosen = lengths.find(length => length >= wanted && column / length <= 60) || lengths[lengths.length - 1];
    select.replaceChildren(...lengths.map(length => new Option(lengthText(length), length, false, length === chosen)));
  }

  // What there is of a value type: { type, name, unit }; or how long jobs of devices ran, when the reader chose that.
  show(heat) {
    const { times } = this;
    this.shown = heat;
    const ofJobs = this.jobs && element('heat-of').value === 'jobs';
    this.heat = ofJobs ? { type: -1, name: 'jobs', unit: 'nanoseconds' } : heat;
    this.column = Number(element('heat-column').value);
    this.row = Number(element('heat-row').value);
    this.rows = Math.ceil(this.column / this.row);
    this.columns = Math.ceil(this.last / this.column);
    this.cells = new Float64Array(this.columns * this.rows);
    for (let i = 0; i < times.totals.count; i++)
      if (times.totals.type[i] === this.heat.type)
        this.cells[this.cellOfTime(times.totals.slot[i] * times.totalWidth)] += times.totals.value[i];
    if (ofJobs)
      this.addJobs();
    this.most = this.cells.reduce((most, value) => Math.max(most, value), 0);
    this.tellResolution();
    this.draw();
  }

  // Jobs, each { begin, end, busy }: what each cell has of the time in which they ran.
  addJobs() {
    const { cells } = this;
    const covering = new Float64Array(cells.length + 1); // by how much more than the cell before a cell is covered
    for (const { begin, end, busy } of this.jobs) {
      const weight = busy / (end - begin);
      const first = this.cellOfTime(begin), last = this.cellOfTime(end);
      if (!(weight > 0) || first < 0 || last >= cells.length)
        continue;
      if (first === last) {
        cells[first] += busy;
        continue;
      }
      cells[first] += weight * (this.timeOfCell(first).end - begin);
      cells[last] += weight * (end - this.timeOfCell(last).begin);
      covering[first + 1] += weight;
      covering[last] -= weight;
    }
    let cover = 0;
    for (let cell = 0; cell < cells.length; cell++) {
      cover += covering[cell];
      const { begin, end } = this.timeOfCell(cell);
      if (cover > 1e-9)
        cells[cell] += cover * (end - begin);
    }
  }

  // Jobs can be shown instead; times are ns since the run began.
  setJobs(jobs) {
    const { begin } = this.times;
    this.jobs = jobs.map(job => ({ begin: job.begin + begin, end: job.end + begin, busy: job.busy }))
      .filter(job => job.begin >= 0 && job.end <= this.last);
    element('heat-of-choice').hidden = !this.jobs.length;
  }

  cellOfTime(time) {
    const column = Math.floor(time / this.column);
    return column * this.rows + Math.floor((time - column * this.column) / this.row);
  }

  // When a cell is; rows that do not divide a column leave a shorter one.
  timeOfCell(cell) {
    const column = Math.floor(cell / this.rows);
    const begin = column * this.column + cell % this.rows * this.row;
    return { begin, end: Math.min(begin + this.row, (column + 1) * this.column) };
  }

  tellResolution() {
    const { times, heat } = this;
    if (heat.type < 0) {
      element('heat-resolution').textContent = 'When devices had jobs; of several at once each counts';
      return;
    }
    const parts = [`slots of ${lengthText(times.totalWidth)}`];
    if (times.width !== times.totalWidth)
      parts.push(`stacks are known in slots of ${lengthText(times.width)}`);
    if (times.addedUp[heat.type] >= times.totalWidth)
      parts.push(`${heat.name} was added up over ${lengthText(times.addedUp[heat.type])} at most, and is spread evenly`);
    element('heat-resolution').textContent = `Kept: ${parts.join('; ')}`;
  }

  // Sizes in pixels.
  measure() {
    const room = element('heat-view').clientWidth - LABELS_LEFT - 4;
    this.cellWidth = Math.min(24, Math.max(3, Math.floor(room / this.columns)));
    this.cellHeight = Math.max(this.rows > HEAT_HEIGHT ? 1 : 2, Math.floor(HEAT_HEIGHT / this.rows));
    this.width = LABELS_LEFT + this.columns * this.cellWidth;
    this.height = this.rows * this.cellHeight + LABELS_BELOW;
  }

  left(column) { return LABELS_LEFT + column * this.cellWidth; }
  top(row) { return (this.rows - 1 - row) * this.cellHeight; }

  draw() {
    this.measure();
    const { canvas, context } = this;
    // A canvas has a largest size that browsers draw.
    const scale = Math.min(window.devicePixelRatio || 1, 32000 / this.width);
    canvas.width = Math.round(this.width * scale);
    canvas.height = Math.round(this.height * scale);
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.height}px`;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    this.drawLabels();
    const isDark = document.documentElement.dataset.theme === 'dark';
    for (let cell = 0; cell < this.cells.length; cell++) {
      if (!(this.cells[cell] > 0))
        continue;
      context.fillStyle = Heatmap.colour(this.cells[cell] / this.most, isDark);
      context.fillRect(this.left(Math.floor(cell / this.rows)), this.top(cell % this.rows), this.cellWidth - 0.5,
        this.cellHeight);
    }
    this.drawChosen();
    canvas.dataset.drawn = Number(canvas.dataset.drawn || 0) + 1;
  }

  // One hue, from the background on: by lightness alone, which everybody sees.
  static colour(share, isDark) {
    const rise = 0.1 + 0.9 * share;
    return isDark ? `hsl(35 90% ${18 + 62 * rise}%)` : `hsl(16 85% ${90 - 62 * rise}%)`;
  }

  drawLabels() {
    const { context } = this;
    const style = getComputedStyle(document.documentElement);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    context.fillStyle = style.getPropertyValue('--quiet');
    context.textAlign = 'right';
    context.fillText(lengthText(0), LABELS_LEFT - 6, this.height - LABELS_BELOW - 6);
    context.fillText(lengthText(this.column), LABELS_LEFT - 6, 7);
    context.textAlign = 'left';
    const step = Math.ceil(70 / this.cellWidth);
    for (let column = 0; column < this.columns; column += step)
      context.fillText(`${Number((column * this.column / 1e9).toFixed(3))} s`, this.left(column),
        this.height - LABELS_BELOW / 2);
    context.strokeStyle = style.getPropertyValue('--edge');
    context.strokeRect(LABELS_LEFT - 0.5, 0.5, this.columns * this.cellWidth, this.rows * this.cellHeight - 1);
  }

  // The cells of the range, column by column, and the one that the keyboard is at.
  drawChosen() {
    const { context } = this;
    const colour = getComputedStyle(document.documentElement).getPropertyValue('--text');
    const cells = this.cellsOf(this.range);
    context.fillStyle = colour;
    if (cells) {
      context.globalAlpha = 0.3;
      for (let column = Math.floor(cells[0] / this.rows); column <= Math.floor(cells[1] / this.rows); column++) {
        const first = Math.max(cells[0] - column * this.rows, 0);
        const last = Math.min(cells[1] - column * this.rows, this.rows - 1);
        context.fillRect(this.left(column), this.top(last), this.cellWidth, (last - first + 1) * this.cellHeight);
      }
      context.globalAlpha = 1;
    }
    if (this.cursor !== null && document.activeElement === this.canvas) {
      context.strokeStyle = colour;
      context.lineWidth = 2;
      context.strokeRect(this.left(Math.floor(this.cursor / this.rows)) - 1, this.top(this.cursor % this.rows) - 1,
        this.cellWidth + 2, this.cellHeight + 2);
      context.lineWidth = 1;
    }
  }

  // The first and the last cell of a range.
  cellsOf(range) {
    if (!range)
      return null;
    const last = Math.min(this.cellOfTime(Math.max(range.end - 1, range.begin)), this.cells.length - 1);
    return [Math.min(this.cellOfTime(range.begin), last), last];
  }

  setRange(range) {
    this.range = range && this.times.widen(range);
    const text = this.range
      ? `${timeText(this.range.begin - this.times.begin)} to ${timeText(this.range.end - this.times.begin)}` : '';
    element('heat-range').textContent = text && `Chosen: ${text} (${lengthText(this.range.end - this.range.begin)})`;
    element('heat-all').disabled = !this.range;
    this.draw();
    this.choose(this.range);
  }

  // From one cell to another, whichever is earlier, both included.
  chooseCells(one, other) {
    this.setRange({ begin: this.timeOfCell(Math.min(one, other)).begin, end: this.timeOfCell(Math.max(one, other)).end });
  }

  describe(cell) {
    const { begin, end } = this.timeOfCell(cell);
    return [`${timeText(begin - this.times.begin)} to ${timeText(end - this.times.begin)}`,
      `${valueText(this.cells[cell], this.heat.unit)} of ${this.heat.name}`];
  }

  // The cell at a place of the window; -1: none. isDragging: the nearest one.
  cellUnder(event, isDragging = false) {
    const place = this.canvas.getBoundingClientRect();
    let column = Math.floor((event.clientX - place.left - LABELS_LEFT) / this.cellWidth);
    let row = this.rows - 1 - Math.floor((event.clientY - place.top) / this.cellHeight);
    if (isDragging) {
      column = Math.max(0, Math.min(this.columns - 1, column));
      row = Math.max(0, Math.min(this.rows - 1, row));
    }
    return column >= 0 && column < this.columns && row >= 0 && row < this.rows ? column * this.rows + row : -1;
  }

  moveCursor(by, isExtending) {
    const from = this.cursor === null ? 0 : this.cursor;
    this.cursor = Math.max(0, Math.min(this.cells.length - 1, from + by));
    if (!isExtending)
      this.anchor = this.cursor;
    element('said').textContent = this.describe(this.cursor).join(', ');
    this.draw();
  }

  key(event) {
    const steps = { ArrowUp: 1, ArrowDown: -1, ArrowLeft: -this.rows, ArrowRight: this.rows };
    if (steps[event.key]) {
      this.moveCursor(steps[event.key], event.shiftKey);
      if (event.shiftKey)
        this.chooseCells(this.anchor === null ? this.cursor : this.anchor, this.cursor);
    } else if (event.key === 'Enter' && this.cursor !== null) {
      this.chooseCells(this.anchor === null ? this.cursor : this.anchor, this.cursor);
    } else if (event.key === 'Escape') {
      this.setRange(null);
    } else {
      return;
    }
    event.preventDefault();
  }

  listen() {
    const { canvas } = this;
    let from = -1; // where the mouse was pressed
    canvas.addEventListener('mousedown', event => { from = event.button === 0 ? this.cellUnder(event) : -1; });
    canvas.addEventListener('mousemove', event => {
      const cell = this.cellUnder(event);
      showTooltip(cell < 0 ? null : this.describe(cell), event);
    });
    canvas.addEventListener('mouseleave', event => showTooltip(null, event));
    window.addEventListener('mousemove', event => {
      if (from < 0 || !(event.buttons & 1))
        return;
      const cell = this.cellUnder(event, true);
      this.range = { begin: this.timeOfCell(Math.min(from, cell)).begin, end: this.timeOfCell(Math.max(from, cell)).end };
      this.draw();
    });
    window.addEventListener('mouseup', event => {
      if (from >= 0)
        this.chooseCells(from, this.cellUnder(event, true));
      from = -1;
    });
    canvas.addEventListener('keydown', event => this.key(event));
    canvas.addEventListener('focus', () => this.draw());
    canvas.addEventListener('blur', () => this.draw());
    element('heat-all').addEventListener('click', () => this.setRange(null));
    element('heat-column').addEventListener('change', () => {
      this.fillRows(this.row);
      this.cursor = this.anchor = null;
      this.show(this.shown);
    });
    element('heat-of').addEventListener('change', () => this.show(this.shown));
    element('heat-row').addEventListener('change', () => {
      this.cursor = this.anchor = null;
      this.show(this.shown);
    });
  }
}
