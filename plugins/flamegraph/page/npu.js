// The view of the NPU: its timeline, and below it histograms, calls by family and by function, and what was found.

const SEVERITIES = Object.freeze({ 1: 'note', 2: 'warning', 3: 'problem' });
const FUNCTIONS_SHOWN = 20;
// What stands at the right in a table: a number, with its unit.
const NUMBER = /^(-|[-−]?\d[\d.,]*( (ns|µs|ms|s|%))?)$/;

function tableRow(cells, kind = 'td') {
  const row = document.createElement('tr');
  for (const cell of cells) {
    const item = document.createElement(kind);
    item.append(cell);
    if (kind === 'td' && typeof cell === 'string' && NUMBER.test(cell))
      item.className = 'number';
    row.append(item);
  }
  return row;
}

function fillTable(table, titles, rows) {
  const head = document.createElement('thead'), body = document.createElement('tbody');
  head.append(tableRow(titles, 'th'));
  for (const title of head.querySelectorAll('th'))
    title.scope = 'col';
  body.append(...rows.map(cells => tableRow(cells)));
  table.append(head, body);
  table.hidden = rows.length === 0;
}

// What sources found, in the header of the page: it is of every view.
function showFindings(findings) {
  if (!findings)
    return;
  const counts = [3, 2, 1].map(severity => [findings.items.filter(found => found.severity === severity).length,
    SEVERITIES[severity]]).filter(([count]) => count);
  const serious = new Set(findings.items.filter(({ severity }) => severity > 1).map(({ name }) => name));
  element('found-summary').textContent = `Findings: ${counts.map(pair => countText(...pair)).join(', ')}` +
    (serious.size ? ` (${[...serious].join(', ')})` : '');
  const number = value => value.toLocaleString('en', { maximumFractionDigits: 3 });
  fillTable(element('found'), ['Severity', 'Finding', 'What was seen', 'Value', 'Limit', 'Times', 'Process', 'Source'],
    findings.items.map(({ severity, name, text, value, threshold, count, pid, source }) =>
      [SEVERITIES[severity] || `severity ${severity}`, name, text, number(value), threshold ? number(threshold) : '',
        number(count), pid ? `${pid}` : '', source]));
  element('found-more').textContent = findings.dropped
    ? `${countText(findings.dropped, 'finding was', 'findings were')} too many to keep.` : '';
  element('findings').hidden = false;
}

class NpuView {
  constructor(npu, metadata) {
    this.npu = npu;
    this.names = new NpuRows(npu);
    this.timeline = new Timeline({ canvas: element('npu-graph'), space: element('npu-space'), view: element('npu-view'),
      rows: this.names, length: npu.length, begin: npu.begin });
    this.reader = new TimelineReader(this.timeline, element('said'));
    this.timeline.onShow = () => this.tellPart();
    this.tell(metadata.filter(([key]) => key === 'times of the trace').map(([key, value]) => `${key}: ${value}`));
    this.tellPart();
    this.listProcesses();
    this.listHistograms();
    this.listFamilies();
    this.listFunctions();
    const on = (name, handle) => element(name).addEventListener('click', handle);
    on('npu-in', () => this.timeline.zoom(0.5));
    on('npu-out', () => this.timeline.zoom(2));
    on('npu-back', () => this.timeline.back());
    on('npu-whole', () => this.timeline.whole());
    new ResizeObserver(() => this.timeline.resize()).observe(element('npu'));
    // Another theme has other colours.
    new MutationObserver(() => this.timeline.draw())
      .observe(document.documentElement, { attributeFilter: ['data-theme'] });
  }

  // How much there is, and how exactly it was kept.
  tell(facts) {
    const { npu } = this, { dropped } = npu;
    const jobs = npu.done + npu.aborted + npu.inFlight;
    const calls = npu.functions.reduce((sum, { count }) => sum + count, 0);
    element('npu-facts').textContent = [
      ...(jobs ? [`${countText(jobs, 'job')}: ${countText(npu.done, 'done', 'done')}, ` +
        `${countText(npu.aborted, 'aborted', 'aborted')}, ${countText(npu.inFlight, 'in flight', 'in flight')} at the end`]
        : []),
      ...(calls ? [countText(calls, 'call')] : []),
      `${exactTime(npu.length)} from the first to the last`, ...facts].join(' · ');
    const merged = this.names.rows.filter(row => row.slots.length);
    const summed = this.names.rows.some(row => row.hasSums);
    const together = Math.max(1, ...npu.gauges.map(gauge => gauge.together));
    element('npu-kept').textContent = [
      merged.length ? `${countText(merged.length, 'row is', 'rows are')} merged into slots of ` +
        `${exactTime(npu.slotWidth)}: there were too many jobs or calls to keep each. Sums are of all.`
        : 'Each job, and each record of calls, is kept.',
      summed && 'Calls that the source had added up are drawn as how dense they were from the first to the last, not when ' +
        'each was (mode=events tells each).',
      together > 1 && `A point of a level is of up to ${together} values.`,
      dropped.calls && `Left out: ${countText(dropped.calls, 'call')} of functions that were never named.`,
      dropped.rows && `In rows of the rest: ${countText(dropped.rows, 'job or record', 'jobs or records')} of calls, as ` +
        'there are too many rows.',
      dropped.values && `Without a histogram: ${countText(dropped.values, 'value')} of too many kinds.`,
      dropped.levels && `Left out: ${countText(dropped.levels, 'value')} of too many levels.`,
    ].filter(Boolean).join(' ');
  }

  tellPart() {
    const { timeline } = this;
    element('npu-part').textContent = `${exactTime(Math.round(timeline.to - timeline.from))} from ` +
      `${exactSigned(Math.round(this.npu.begin + timeline.from))}`;
    element('npu-back').disabled = timeline.trail.length === 0;
    element('npu-whole').disabled = timeline.from === 0 && timeline.to === timeline.length;
  }

  listProcesses() {
    const seen = new Map();
    for (const row of this.names.rows)
      for (const track of row.tracks)
        seen.set(track.process >= 0 && !OTHER_COLOURS[track.kind] ? this.names.processName(track.process)
          : TRACK_NAMES[track.kind], track.colour);
    for (const [name, colour] of seen) {
      const item = document.createElement('li'), sample = document.createElement('span');
      sample.style.background = colourText(colour, 0);
      item.append(sample, name);
      element('npu-legend').append(item);
    }
  }

  listHistograms() {
    const { histograms } = this.npu;
    const titles = ['Of', 'Count', 'p50', 'p90', 'p99', 'Max', 'Mean', 'From 2ⁿ to twice as much'];
    fillTable(element('npu-histograms'), titles, histograms.map(histogram => {
      const { name, unit, count, sum, maximum, p50, p90, p99 } = histogram;
      const text = value => unit === 'nanoseconds' ? exactTime(value) : value.toLocaleString('en');
      const mean = count ? Math.floor(sum / count) : 0;
      return [name, count.toLocaleString('en'), ...[p50, p90, p99, maximum, mean].map(text), this.bars(histogram, text)];
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
      const label = `${text(i ? 2 ** i : 0)} to ${text(2 ** (i + 1))}: ${count.toLocaleString('en')}`;
      box.style.height = `${count ? Math.max(1, Math.round(40 * count / most)) : 0}px`;
      bar.title = label;
      bar.setAttribute('aria-label', label);
      bar.append(box);
      list.append(bar);
    });
    return list;
  }

  // As the summary on the terminal has them: by time, where it was measured.
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
    fillTable(element('npu-families'), ['Family', 'Calls', 'Share', 'Own time', 'Share of time'],
      rows.map(([name, { count, own }]) => [name, count.toLocaleString('en'), shareText(count, calls),
        own ? exactTime(own) : '-', time ? shareText(own, time) : '-']));
  }

  listFunctions() {
    const called = this.npu.functions.filter(({ count }) => count)
      .sort((a, b) => b.count - a.count || b.duration - a.duration || (a.name < b.name ? -1 : 1));
    const calls = called.reduce((sum, { count }) => sum + count, 0);
    const time = value => value ? exactTime(value) : '-';
    fillTable(element('npu-functions'), ['Function', 'Family', 'Calls', 'Share', 'Time', 'Own time', 'A call'],
      called.slice(0, FUNCTIONS_SHOWN).map(({ name, family, count, duration, own }) =>
        [name, family, count.toLocaleString('en'), shareText(count, calls), time(duration), time(own),
          time(Math.floor(duration / count))]));
    element('npu-functions-more').textContent = called.length > FUNCTIONS_SHOWN
      ? `and ${countText(called.length - FUNCTIONS_SHOWN, 'more function')}` : '';
  }
}
