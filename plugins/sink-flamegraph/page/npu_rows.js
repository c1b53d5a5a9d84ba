// The rows of the NPU's timeline, from its tracks (plugins/sink-flamegraph/page_npu.h), and descriptions of their
// marks.

const DEVICE_GPU = 1; // enum iaprof_device_kind

const Track = Object.freeze({ JOBS: 1, BOOTS: 2, API: 3, REQUEST: 4, FAMILY: 5, CONTEXT: 6, LEVEL: 7, LAUNCHES: 8,
  SAMPLES: 9 });
// Copies keep no device busy.
const isBusyTrack = ({ kind, isCopy }) => kind === Track.JOBS && !isCopy;
const TRACK_NAMES = Object.freeze({ 1: 'jobs', 2: 'boots, sleep and resets', 3: 'API calls',
  8: 'GPU launches', 9: 'samples', 4: 'requests to the driver', 5: "the driver's functions", 6: "the driver's functions", 7: 'levels' });
const JobState = Object.freeze({ DONE: 1, ABORTED: 2, IN_FLIGHT: 3 });
const JOB_STATES = Object.freeze({ 1: 'done', 2: 'aborted', 3: 'in flight when the run ended' });

// Colours of marks without a process: light, dark.
const OTHER_COLOURS = Object.freeze({ 2: ['#8a63b8', '#a98bd6'], 5: ['#8b919c', '#7a818d'], 6: ['#9aa3b2', '#6b7482'],
  7: ['#4b7fc9', '#5a8fdd'] });
// Limit on the lanes of overlapping jobs in a row.
const LANES_MAX = 8;

const threadLabel = (name, tid) => `thread ${name ? threadText(name, tid) : tid}`;


class NpuRows {
  constructor(npu) {
    this.npu = npu;
    this.rows = [];
    const known = new Map();
    for (const track of npu.tracks) {
      const key = track.kind === Track.JOBS ? JSON.stringify([track.source, track.device, track.address, track.name])
        : `${known.size}`;
      if (!known.has(key))
        known.set(key, { kind: track.kind, tracks: [], label: this.labelOf(track) });
      known.get(key).tracks.push(track);
    }
    this.rows.push(...known.values());
    for (const gauge of npu.gauges)
      this.rows.push({ kind: Track.LEVEL, tracks: [], gauge, label: [gauge.name, gauge.device].filter(Boolean).join(' · ') });
    for (const samples of npu.samples || [])
      this.rows.push({ kind: Track.SAMPLES, tracks: [], samples, label: samples.label });
    for (const row of this.rows)
      this.fillRow(row);
    // GPU samples and launches first, then jobs and what led to them; within a kind by process, rows with the most
    // marks first.
    const place = row => row.kind === Track.LEVEL ? 1.5 : row.kind === Track.LAUNCHES ? 0.5
      : row.kind === Track.SAMPLES ? row.samples.isDevice ? 0.2 : 1.8 : row.kind;
    this.rows.sort((a, b) => place(a) - place(b) || a.process - b.process || b.count - a.count);
  }

  processName(process) {
    const known = this.npu.processes[process];
    if (!known)
      return process < 0 ? '' : '[unknown]';
    if (!known.pid)
      return known.name || '[no program]';
    return known.name ? `${known.name} (${known.pid})` : `process ${known.pid}`;
  }

  // The text of a row for searches: its label and the names of its functions.
  wordsOf(row) {
    const called = new Set(row.tracks.flatMap(track => (track.calls || []).map(raw => raw[7])));
    row.words = row.words || [row.label, ...[...called].map(number => this.npu.functions[number].name)].join('\n');
    return row.words;
  }

  labelOf(track) {
    if (track.kind === Track.JOBS)
      return [track.device || (track.name ? track.source : 'other jobs'), track.name].filter(Boolean).join(' · ');
    const name = track.name || (track.kind === Track.FAMILY ? 'other' : 'other calls');
    return track.process >= 0 ? `${name} · ${this.processName(track.process)}` : name;
  }

  colourOf(track) {
    if (track.process < 0 || OTHER_COLOURS[track.kind])
      return OTHER_COLOURS[track.kind] || OTHER_COLOURS[Track.FAMILY];
    return PALETTE.processes[track.process % PALETTE.processes.length];
  }

  fillRow(row) {
    const sum = key => row.tracks.reduce((all, track) => all + (track[key] || 0), 0);
    row.count = row.gauge ? 0 : row.samples ? row.samples.total : sum('count');
    row.busy = sum('busy');
    row.process = row.tracks.length && row.kind !== Track.JOBS ? row.tracks[0].process : -1;
    row.marks = [];
    row.slots = row.tracks.filter(track => track.slots);
    row.lanes = 1;
    for (const track of row.tracks) {
      track.colour = this.colourOf(track);
      for (const raw of track.jobs || [])
        row.marks.push({ from: raw[0], run: raw[0] + raw[4], to: raw[3], raw, track, lane: 0 });
      for (const raw of track.calls || [])
        row.marks.push({ from: raw[0], run: raw[0], to: raw[1], raw, track, lane: 0, isSum: raw[2] > 1 });
    }
    row.hasSums = row.marks.some(mark => mark.isSum);
    row.marks.sort((a, b) => a.from - b.from || b.to - a.to);
    if (row.kind === Track.JOBS)
      this.spreadOverLanes(row);
    if (row.samples)
      row.highest = Math.max(...[...row.samples.slots.values()].map(mix => mix.reduce((all, value) => all + value, 0)));
    if (row.gauge)
      row.highest = Math.max(...row.gauge.points.map(point => point[4]));
    row.mostInSlot = Math.max(1, ...row.slots.map(track => Math.max(...track.slots.map(slot => slot[1]))));
  }

  // Places each job in the first free lane, because jobs wait while others run.
  spreadOverLanes(row) {
    const ends = [];
    for (const mark of row.marks) {
      let lane = ends.findIndex(end => end <= mark.from);
      if (lane < 0)
        lane = ends.length < LANES_MAX ? ends.length : LANES_MAX - 1;
      mark.lane = lane;
      ends[lane] = mark.to;
    }
    row.lanes = Math.max(1, ends.length);
  }

  // When devices were busy with jobs: { begin, end, busy }, in ns since the run began.
  jobs() {
    const { npu } = this;
    return npu.tracks.filter(isBusyTrack).flatMap(track => track.slots
      ? track.slots.map(([number, , busy]) => ({ begin: npu.begin + npu.slotBegin + number * npu.slotWidth,
        end: npu.begin + npu.slotBegin + (number + 1) * npu.slotWidth, busy }))
      : track.jobs.map(([, , , end, , busy]) => ({ begin: npu.begin + end - busy, end: npu.begin + end, busy })));
  }

  time(at) { return exactSigned(this.npu.begin + at); }

  // The description of a mark, in lines.
  describe(row, mark) {
    if (mark.slot)
      return this.describeSlot(row, mark);
    if (mark.sample)
      return this.describeSample(row, mark);
    if (mark.point)
      return this.describeLevel(row, mark.point);
    return row.kind === Track.JOBS ? this.describeJob(row, mark) : this.describeCalls(row, mark);
  }

  describeJob(row, { raw, track }) {
    const [begin, queued, started, end, waiting, busy, id, context, tid, state, status, thread] = raw;
    const isOver = state !== JobState.IN_FLIGHT;
    return [`Job ${id}, ${JOB_STATES[state] || `state ${state}`}`,
      this.processName(track.process) + (tid ? `, ${threadLabel(thread, tid)}` : ''),
      `${row.label}, context ${context}`,
      `submitted at ${this.time(begin)}${isOver ? `, over at ${this.time(end)}` : ''}`,
      `waited ${exactTime(waiting)}${queued >= 0 ? `, the device had it at ${this.time(queued)}` : ''}`,
      ...(isOver ? [`ran ${exactTime(busy)}${started < 0 && queued >= 0 ? ', from when the device had it' : ''}`] : []),
      `status ${status}`];
  }

  describeCalls(row, { raw, track }) {
    const [begin, end, count, busy, duration, tid, result, called, thread] = raw;
    const { name, family } = this.npu.functions[called];
    const who = [this.processName(track.process), tid ? threadLabel(thread, tid) : ''].filter(Boolean).join(', ');
    const where = [family, row.label !== name && row.label !== family ? row.label : ''].filter(Boolean).join(', ');
    const own = busy < duration ? `, ${exactTime(busy)} of it its own` : '';
    const times = duration > 0 ? [`${exactTime(duration)}${count > 1 ? ' together' : ''}${own}`] : [];
    return count > 1
      ? [row.kind === Track.LAUNCHES ? `${manyText(count, 'launch', 'launches')} of ${name}, added up`
        : `${manyText(count, 'call')} of ${name}, added up`, ...[who, where].filter(Boolean),
        this.time(begin) === this.time(end) ? `at ${this.time(begin)}` : `from ${this.time(begin)} to ${this.time(end)}`, ...times]
      : [name, ...[who, where].filter(Boolean), `at ${this.time(begin)}`, ...times,
        ...(result ? [`result ${result}`] : [])];
  }

  describeSlot(row, { slot, parts }) {
    const jobs = row.kind === Track.JOBS;
    const lines = [row.label, `from ${this.time(slot.from)}, ${exactTime(slot.to - slot.from)} long`];
    for (const { track, count, busy, waiting, aborted } of parts)
      lines.push([track.process >= 0 ? `${this.processName(track.process)}: ` : '',
        manyText(count, jobs ? 'job' : 'call'),
        busy > 0 ? `, busy ${exactTime(busy)} (${shareText(busy, slot.to - slot.from)})` : '',
        waiting > 0 ? `, waited ${exactTime(waiting)}` : '', aborted > 0 ? `, ${aborted} aborted` : ''].join(''));
    return lines;
  }

  // The time range of a point: a percentage applies to the time before it, any other level until the next point.
  spanOfPoint({ unit, points }, i) {
    const [begin, end] = points[i];
    if (unit === 'percent')
      return [i ? points[i - 1][1] : Math.max(0, begin - (points.length > 1 ? points[1][0] - end : begin)), end];
    return [begin, i + 1 < points.length ? points[i + 1][0] : end];
  }

  describeLevel({ label, gauge }, point) {
    const { unit, points } = gauge, [begin, end, count, least, most, mean] = point;
    const text = value => levelText(value, unit);
    const [from, to] = unit === 'percent' ? this.spanOfPoint(gauge, points.indexOf(point)) : [begin, end];
    return [label, to > from ? `from ${this.time(from)} to ${this.time(to)}` : `at ${this.time(begin)}`,
      count > 1 ? `${text(mean)}, ${text(least)} to ${text(most)}` : text(mean)];
  }

  describeSample(row, { sample, from, to }) {
    const whole = sample.reduce((sum, value) => sum + value, 0), { unit, isDevice } = row.samples;
    return [row.label, `${pointText(this.npu.begin + from, to - from)} to ${pointText(this.npu.begin + to, to - from)}`, exactText(whole, unit),
      ...(isDevice ? [...sample].map((value, slot) => [value, slot]).filter(([value]) => value > 0).sort((a, b) => b[0] - a[0])
        .slice(0, 4).map(([value, slot]) => `${REASONS[slot].label} ${shareText(value, whole)}`) : [])];
  }

  // The description of a row for screen readers.
  describeRow(row) {
    if (row.gauge)
      return `${row.label}, level${row.gauge.unit === 'boolean' ? '' : ` in ${row.gauge.unit}`}, ${manyText(row.gauge.points.length, 'point')}`;
    if (row.samples)
      return `${row.label}, ${exactText(row.count, row.samples.unit)}`;
    return `${row.label}, ${manyText(row.count, row.kind === Track.LAUNCHES ? 'launch' : row.kind === Track.JOBS ? 'job' : 'call', row.kind === Track.LAUNCHES
      ? 'launches' : undefined)}` +
      `${row.busy > 0 ? `, busy ${exactTime(row.busy)}` : ''}${row.slots.length ? ', merged into slots of time' : ''}`;
  }
}

function exactSigned(nanoseconds) {
  return nanoseconds < 0 ? `−${exactTime(-nanoseconds)}` : exactTime(nanoseconds);
}
