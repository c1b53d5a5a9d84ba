// CPU functions with their source lines, in the form of GPU functions (code_data.js), without instructions.

const isCpuLine = (frames, frame) => CODE_KINDS.has(frames.kind[frame]) &&
  frames.line[frame] > 0 && Boolean(frames.files[frame]);

// Also the frame of a function with several lines.
const isCpuCode = (frames, frame) => isCpuLine(frames, frame) || (frame >= frames.own && CODE_KINDS.has(frames.kind[frame]) && Boolean(frames.files[frame]));

function hasCpuLines(frames) {
  if (frames.hasCpuLines === undefined)
    frames.hasCpuLines = frames.line.some((line, frame) => line && isCpuLine(frames, frame));
  return frames.hasCpuLines;
}

// The functions of a file with lines, the largest self first. The self value of a line is what ends in it; its total
// also includes everything below it; recursion counts once.
function cpuFunctionsOf(model, { view, self, total }, files) {
  const { frames } = model, items = new Map(), lines = new Map(), numbers = new Map(files.map(({ name }, i) => [name, i]));
  const itemOf = new Array(frames.count), lineOf = new Array(frames.count);
  const addLine = frame => {
    const name = frames.names[frame], file = frames.files[frame], line = frames.line[frame], key = `${name}\n${file}`;
    if (!numbers.has(file))
      numbers.set(file, files.push({ name: file, why: '' }) - 1);
    if (!items.has(key))
      items.set(key, { name, isCpu: true, listed: { frames: [name], leftOut: 0 }, attributes: new Map(), rows: [],
        byOffset: new Map(), lines: new Map(), mix: new Float64Array(REASONS.length), total: 0, self: 0, open: 0 });
    const item = items.get(key), place = `${numbers.get(file)}:${line}`;
    if (!item.lines.has(place)) {
      item.lines.set(place, { file: numbers.get(file), line, rows: [], mix: item.mix, total: 0, self: 0, open: 0 });
      lines.set(item.lines.get(place), item);
    }
    itemOf[frame] = item;
    lineOf[frame] = item.lines.get(place);
  };
  const open = [];
  for (let node = 1; node < view.count; node++) {
    while (open.length && view.end[open[open.length - 1]] <= node) {
      const frame = view.frame[open.pop()];
      itemOf[frame].open--;
      lineOf[frame].open--;
    }
    const frame = view.frame[node];
    if (!(total[node] > 0) || !isCpuLine(frames, frame))
      continue;
    if (!lineOf[frame])
      addLine(frame);
    for (const at of [itemOf[frame], lineOf[frame]]) {
      at.self += self[node];
      at.total += at.open++ ? 0 : total[node];
    }
    open.push(node);
  }
  return [...items.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}
