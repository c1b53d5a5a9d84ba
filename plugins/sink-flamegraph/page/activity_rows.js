// What happened when, as one timeline: jobs and calls (plugins/sink-flamegraph/page_npu.h), launches of GPU kernels by
// thread (page_launches.h), and samples by process (page_times.h). Times are relative to the start of the timeline.

const SAMPLE_ROWS = 16; // processes per value type that have a row of their own

const noActivity = () => ({ begin: 0, length: 0, done: 0, aborted: 0, inFlight: 0, processes: [], functions: [], tracks: [],
  histograms: [], gauges: [], dropped: { calls: 0, rows: 0, values: 0, levels: 0 } });

// -> the activity with rows of all of these; null: there is nothing to show
function activityOf(model) {
  const { npu, launches, difference, nanoseconds } = model.header;
  const times = difference ? null : model.times;
  if (!npu && !launches && !(times && times.totals.count))
    return null;
  const activity = npu || noActivity();
  if (launches || times)
    widenActivity(activity, Math.max(nanoseconds, times ? times.last() - times.begin : 0));
  if (launches)
    addLaunches(activity, launches, model);
  activity.samples = times ? sampleRows(model, times) : [];
  return activity;
}

// Extends the timeline to the length of the run, and shifts the times of jobs and calls to its new start.
function widenActivity(activity, length) {
  const { begin } = activity, from = Math.min(0, begin), by = begin - from;
  const move = (raw, ...places) => places.forEach(place => { raw[place] += raw[place] < 0 ? 0 : by; });
  for (const { jobs, calls } of activity.tracks) {
    for (const raw of jobs || [])
      move(raw, 0, 1, 2, 3);
    for (const raw of calls || [])
      move(raw, 0, 1);
  }
  for (const { points } of activity.gauges)
    points.forEach(point => move(point, 0, 1));
  if (activity.slotBegin !== undefined)
    activity.slotBegin += by;
  activity.lengthOfCalls = activity.length;
  activity.begin = from;
  activity.length = Math.max(activity.length + by, length - from);
}

// The names of spans under which GPU kernels were launched.
const launchedSpans = ({ launches, difference }) => launches && !difference && launches.spans || [];

// A row for each thread that launched kernels. Kernels are represented as functions without calls.
function addLaunches(activity, { kernels, items }, { frames, origins }) {
  const functions = kernels.map(name => activity.functions.push({ name, family: 'GPU kernel', kind: 0, count: 0, duration: 0,
    own: 0 }) - 1);
  const tracks = new Map(), texts = new Map(origins.threads.map(({ pid, tid, text }) => [`${pid} ${tid}`, text]));
  for (const [first, last, count, pid, tid, kernel] of items) {
    const key = `${pid} ${tid}`;
    if (!tracks.has(key))
      tracks.set(key, { source: '', device: '', address: '', name: tid ? `GPU launches, ${texts.get(key) || `thread ${tid}`}`
        : 'GPU launches',
        kind: Track.LAUNCHES, process: processNumber(activity, frames, pid), count: 0, busy: 0, waiting: 0, aborted: 0,
        inFlight: 0, calls: [] });
    const track = tracks.get(key);
    track.count += count;
    track.calls.push([first - activity.begin, last - activity.begin, count, 0, 0, tid, 0, functions[kernel]]);
  }
  activity.tracks.push(...tracks.values());
}

function processNumber(activity, frames, pid) {
  const found = activity.processes.findIndex(process => process.pid === pid);
  if (found >= 0)
    return found;
  const frame = frames.pid.findIndex((own, i) => own === pid && frames.kind[i] === Kind.PROCESS);
  return activity.processes.push({ name: frame >= 0 ? frames.names[frame] : '', pid }) - 1;
}

// What rows are about, by node of the profile: CPU samples by thread, or by process where threads are not known; samples
// of devices by process and device. -> { cpu, device: position in owners by node, owners: { process, part: frames or -1 } }
function ownersOf({ tree, frames }) {
  const cpu = new Int32Array(tree.count), device = new Int32Array(tree.count), owners = [], known = new Map();
  const find = (process, part) => {
    const key = (process + 1) * (frames.own + 1) + part + 1;
    if (!known.has(key))
      known.set(key, owners.push({ process, part }) - 1);
    return known.get(key);
  };
  cpu[0] = device[0] = find(-1, -1);
  for (let node = 1; node < tree.count; node++) {
    const frame = tree.frame[node], above = tree.parent[node], kind = frames.kind[frame];
    cpu[node] = kind === Kind.PROCESS ? find(frame, -1) : kind === Kind.THREAD ? find(owners[cpu[above]].process, frame)
      : cpu[above];
    device[node] = kind === Kind.PROCESS ? find(frame, -1) : kind === Kind.DEVICE ? find(owners[device[above]].process, frame)
      : device[above];
  }
  return { cpu, device, owners };
}

// Rows of samples, the largest first: { type, label, frame of the process, total, width, begin, slots }, of which slots
// are by number, values by stall reason, or one value of types that do not stall.
function sampleRows(model, { stacks, width, begin }) {
  const { tree, frames } = model, slotOfNode = new Int8Array(tree.count).fill(-1), { cpu, device, owners } = ownersOf(model);
  for (let node = 1; node < tree.count; node++) {
    const frame = tree.frame[node];
    slotOfNode[node] = frames.kind[frame] === Kind.STALL_REASON ? slotOf(frames.names[frame]) : slotOfNode[tree.parent[node]];
  }
  const rows = new Map(), areDevice = model.types.map((_, type) => model.isOfDevice(type));
  const areShown = model.types.map(({ name }, type) => areDevice[type] || name === 'cpu');
  for (let i = 0; i < stacks.count; i++) {
    const node = stacks.node[i], type = stacks.type[i], isDevice = areDevice[type];
    if (!areShown[type])
      continue;
    const owner = (isDevice ? device : cpu)[node], key = type * owners.length + owner, { unit } = model.types[type];
    if (!rows.has(key))
      rows.set(key, { type, unit, isDevice, frame: owners[owner].process, part: owners[owner].part, total: 0, width, begin,
        slots: new Map(), name: isDevice ? model.typeLabel(type) : 'CPU samples' });
    const row = rows.get(key), slot = stacks.slot[i];
    if (!row.slots.has(slot))
      row.slots.set(slot, new Float64Array(isDevice ? REASONS.length : 1));
    row.slots.get(slot)[!isDevice ? 0 : slotOfNode[node] < 0 ? OTHER_REASON : slotOfNode[node]] += stacks.value[i];
    row.total += stacks.value[i];
  }
  const found = [...rows.values()].sort((a, b) => b.isDevice - a.isDevice || a.type - b.type || b.total - a.total);
  const seen = new Map();
  return found.filter(row => {
    seen.set(row.type, (seen.get(row.type) || 0) + 1);
    // The main thread has the name of its process.
    const hasPart = row.part >= 0 && frames.pid[row.part] !== (row.frame >= 0 ? frames.pid[row.frame] : 0);
    row.label = [row.name, hasPart ? threadText(frames.names[row.part], frames.pid[row.part]) : '',
      row.frame >= 0 ? model.frameName(row.frame) : ''].filter(Boolean).join(' · ');
    return seen.get(row.type) <= SAMPLE_ROWS;
  });
}
