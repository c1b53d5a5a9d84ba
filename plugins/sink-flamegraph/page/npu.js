// The timeline view: jobs, calls and levels over time, and below them distributions and calls.

const FUNCTIONS_SHOWN = 20;
// Cells that are right-aligned in a table: a number with its unit.
const NUMBER = /^(-|[≈<]?[-−]?\d[\d.,]*([ \u202f](ns|µs|ms|s|%|[KMGT]?i?B))?)$/;

function tableRow(cells, kind = 'td') {
  const row = document.createElement('tr');
  for (const cell of cells) {
    const item = document.createElement(kind);
    item.append(cell);
    if (kind === 'td' && typeof cell === 'string' && NUMBER.test(cell))
      item.className = 'n';
    row.append(item);
  }
  return row;
}

function fillTable(table, titles, rows) {
  const head = document.createElement('thead'), body = document.createElement('tbody');
  head.append(tableRow(titles, 'th'));
  for (const title of head.querySelectorAll('th'))
    title.scope = 'col';
  // Headings are aligned like their columns.
  head.rows[0].childNodes.forEach((title, i) => title.classList.toggle('n', rows.length > 0 && rows.every(cells =>
    typeof cells[i] === 'string' && (NUMBER.test(cells[i]) || cells[i] === '-'))));
  body.append(...rows.map(cells => tableRow(cells)));
  table.replaceChildren(head, body);
  table.closest('section').hidden = rows.length === 0;
}

class NpuView {
  constructor(app) {
    const { findings } = app.model.header, npu = app.activity;
    this.app = app;
    this.npu = npu;
    this.names = new NpuRows(npu);
    this.timeline = new Timeline({ canvas: element('npu-graph'), view: element('npu-view'),
      rows: this.names, length: npu.length, begin: npu.begin });
    this.reader = new TimelineReader(this.timeline, element('said'), app.tip);
    this.timeline.onShow = () => {
      this.tellPart();
      this.share();
    };
    this.tellFigures(findings);
    this.tellKept();
    this.tellPart();
    this.listProcesses();
    element('npu-distributed').closest('.lists').prepend(...sourceTables(npu.tables || []));
    this.listHistograms();
    this.listFamilies();
    this.listFunctions();
    const on = (name, handle) => element(name).addEventListener('click', handle);
    on('npu-in', () => this.timeline.zoom(0.5));
    on('npu-out', () => this.timeline.zoom(2));
    on('npu-back', () => this.timeline.back());
    on('npu-whole', () => this.timeline.whole());
    new ResizeObserver(() => this.show()).observe(element('timeline'));
  }

  // Shows the selected time, if it was selected elsewhere.
  show() {
    const { state, model } = this.app, { timeline, npu } = this, time = state.get('time'), { range } = model;
    if (this.shared !== time && model.times) {
      this.shared = time;
      if (range)
        timeline.show(range.begin - model.times.begin - npu.begin, range.end - model.times.begin - npu.begin);
      else
        timeline.whole();
    }
    timeline.resize();
  }

  // The visible part becomes the selected time of all views once it stops moving.
  share() {
    const { timeline, npu } = this, { times } = this.app.model;
    if (!times || !element('timeline').offsetParent)
      return;
    const isWhole = timeline.from === 0 && timeline.to === timeline.length;
    this.shared = isWhole ? '' : this.app.strip.timeText(timeline.from + npu.begin + times.begin, timeline.to + npu.begin + times.begin);
    clearTimeout(this.sharing);
    this.sharing = setTimeout(() => this.app.state.set({ time: this.shared }, true), 150);
  }

  // When devices were busy, for the time strip: { begin, end, busy, process, isAborted }, in ns since the run began.
  jobs() {
    const { npu } = this;
    return npu.tracks.filter(isBusyTrack).flatMap(track => track.slots
      ? track.slots.map(([number, , busy, , aborted]) => ({ begin: npu.begin + npu.slotBegin + number * npu.slotWidth,
        end: npu.begin + npu.slotBegin + (number + 1) * npu.slotWidth, process: track.process, isAborted: aborted > 0, busy }))
      : track.jobs.map(raw => ({ begin: npu.begin + raw[3] - raw[5], end: npu.begin + raw[3], busy: raw[5], process: track.process,
        isAborted: raw[9] === JobState.ABORTED })));
  }

  // Key figures, and the most severe finding.
  tellFigures(findings) {
    const { npu } = this, figures = element('npu-figures');
    const jobs = npu.done + npu.aborted + npu.inFlight;
    const calls = npu.functions.reduce((sum, { count }) => sum + count, 0);
    const busy = npu.tracks.filter(isBusyTrack).reduce((sum, track) => sum + track.busy, 0);
    const waiting = npu.tracks.filter(isBusyTrack).reduce((sum, track) => sum + track.waiting, 0);
    const add = (value, label, isBad) => figures.append(make('div', { className: isBad ? 'kpi bad' : 'kpi' },
      make('b', { textContent: value }), make('small', { textContent: label })));
    if (jobs) {
      add(countText(npu.done), npu.done === 1 ? 'job done' : 'jobs done');
      if (npu.aborted)
        add(countText(npu.aborted), 'aborted', true);
      if (npu.inFlight)
        add(countText(npu.inFlight), 'in flight at the end');
      if (busy)
        add(timeText(busy), 'device busy');
      if (waiting)
        add(timeText(waiting / jobs), 'mean wait in the queue');
    }
    if (calls)
      add(countText(calls), calls === 1 ? 'call' : 'calls');
    if (jobs || calls)
      add(timeText(npu.lengthOfCalls === undefined ? npu.length : npu.lengthOfCalls), 'from first to last');
    const worst = findings && findings.items[0];
    if (worst && worst.severity > 1)
      figures.append(make('p', { className: 'callout' }, make('b', { textContent: `${worst.title}.` }), ` ${worst.text}`));
  }

  // The resolution of the data, and what was left out.
  tellKept() {
    const { npu } = this, { dropped } = npu, { launches } = this.app.model.header;
    const merged = this.names.rows.filter(row => row.slots.length);
    const summed = this.names.rows.some(row => row.hasSums);
    const together = Math.max(1, ...npu.gauges.map(gauge => gauge.together));
    element('npu-kept').textContent = [
      merged.length ? `${manyText(merged.length, 'row is', 'rows are')} merged into slots of ` +
        `${timeText(npu.slotWidth)}: there were too many jobs or calls to keep each. Sums include all.`
        : '',
      summed && 'Aggregated calls are drawn as density between their first and their last (mode=events records each call).',
      launches && launches.dropped > 0 && `Left out: ${manyText(launches.dropped, 'GPU launch', 'GPU launches')} beyond the limit.`,
      together > 1 && `A point of a level is the mean of up to ${together} values.`,
      dropped.calls && `Left out: ${manyText(dropped.calls, 'call')} of functions that were never named.`,
      dropped.rows && `In rows of the rest: ${manyText(dropped.rows, 'job or record', 'jobs or records')} of calls: ` +
        'too many rows.',
      dropped.values && `Without a histogram: ${manyText(dropped.values, 'value')} of too many kinds.`,
      dropped.levels && `Left out: ${manyText(dropped.levels, 'value')} of too many levels.`,
    ].filter(Boolean).join(' ');
  }

  tellPart() {
    const { timeline } = this;
    const length = timeline.to - timeline.from, isWhole = timeline.from === 0 && timeline.to === timeline.length;
    element('npu-part').textContent = `${timeText(Math.round(length))} from ` +
      `${isWhole && !this.npu.begin ? 'the start' : pointText(Math.round(this.npu.begin + timeline.from), length / 1000)}`;
    element('npu-back').disabled = timeline.trail.length === 0;
    element('npu-whole').disabled = isWhole;
  }

  listProcesses() {
    const seen = new Map();
    for (const row of this.names.rows)
      for (const track of row.tracks)
        seen.set(track.process >= 0 && !OTHER_COLOURS[track.kind] ? this.names.processName(track.process)
          : TRACK_NAMES[track.kind], track.colour);
    element('npu-legend').replaceChildren(...[...seen].map(([name, colour]) => {
      const swatch = make('i', { className: 'swatch' });
      swatch.style.background = colourOf(colour);
      return make('li', {}, swatch, name);
    }));
  }

  listHistograms() {
    const { histograms } = this.npu;
    const titles = ['Value', 'Count', 'p50', 'p90', 'p99', 'Max', 'Mean', 'Distribution'];
    fillTable(element('npu-histograms'), titles, histograms.map(histogram => {
      const { name, unit, count, sum, maximum, p50, p90, p99 } = histogram;
      const text = value => unit === 'nanoseconds' ? timeText(value) : unit === 'bytes' ? levelText(value, unit)
        : grouped(value);
      // Percentiles of several values, derived from buckets, are approximate.
      const percentile = value => count === 1 ? text(maximum) : `≈${text(value)}`;
      const mean = count ? Math.floor(sum / count) : 0;
      return [name, grouped(count), ...[p50, p90, p99].map(percentile), text(maximum), text(mean),
        this.bars(histogram, text)];
    }));
  }

  // The buckets from the first to the last that has values, as bars. A list, so that it can be read.
  bars({ buckets, name }, text) {
    const list = document.createElement('ul');
    const first = Math.max(0, buckets.findIndex(count => count > 0)), most = Math.max(1, ...buckets);
    list.className = 'bars';
    list.setAttribute('aria-label', `distribution of ${name}`);
    buckets.forEach((count, i) => {
      if (i < first)
        return;
      const bar = document.createElement('li'), box = document.createElement('span');
      const label = `${text(i ? 2 ** i : 0)} to ${text(2 ** (i + 1))}: ${grouped(count)}`;
      box.style.height = `${count ? Math.max(1, Math.round(40 * count / most)) : 0}px`;
      bar.title = label;
      bar.setAttribute('aria-label', label);
      bar.append(box);
      list.append(bar);
    });
    return list;
  }

  // In the order of the summary on the terminal: by time, if it was measured.
  listFamilies() {
    const families = new Map();
    for (const { family, count, own } of this.npu.functions) {
      if (!count)
        continue;
      const known = families.get(family || 'other') || { count: 0, own: 0 };
      families.set(family || 'other', { count: known.count + count, own: known.own + own });
    }
    const rows = [...families].sort(([, a], [, b]) => b.own - a.own || b.count - a.count);
    const calls = rows.reduce((sum, [, { count }]) => sum + count, 0);
    const time = rows.reduce((sum, [, { own }]) => sum + own, 0);
    fillTable(element('npu-families'), ['Family', 'Calls', 'Share', 'Self', 'Share of time'],
      rows.map(([name, { count, own }]) => [name, grouped(count), shareText(count, calls),
        own ? timeText(own) : '-', time ? shareText(own, time) : '-']));
  }

  listFunctions() {
    const called = this.npu.functions.filter(({ count }) => count)
      .sort((a, b) => b.count - a.count || b.duration - a.duration || (a.name < b.name ? -1 : 1));
    const calls = called.reduce((sum, { count }) => sum + count, 0);
    const time = value => value ? timeText(value) : '-';
    fillTable(element('npu-functions'), ['Function', 'Family', 'Calls', 'Share', 'Total', 'Self', 'Mean'],
      called.slice(0, FUNCTIONS_SHOWN).map(({ name, family, count, duration, own }) =>
        [name, family, grouped(count), shareText(count, calls), time(duration), time(own),
          time(Math.floor(duration / count))]));
    element('npu-functions-more').textContent = called.length > FUNCTIONS_SHOWN
      ? `${manyText(called.length - FUNCTIONS_SHOWN, 'more function')}` : '';
  }
}
