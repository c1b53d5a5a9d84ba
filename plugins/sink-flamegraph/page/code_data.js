// Device code: functions with their instructions, stalls, producers and source, in the format of
// plugins/sink-flamegraph/page_code.h.

const CodeFlag = Object.freeze({ INCOMPLETE: 1, UNLISTED: 2 });
const WAITS_FOR = Object.freeze({ 1: 'its result', 2: 'its operands to be read', 3: 'its token', 4: 'its pipeline' });

const offsetText = offset => `0x${offset.toString(16)}`;

// How an instruction is described in a sentence: [noun, whether it loads]
function nounOf(name) {
  if (/\b(load|ld|ldg|lds|read|gather)/i.test(name))
    return ['load', true];
  if (/atomic/i.test(name))
    return ['atomic', false];
  if (/store|write/i.test(name))
    return ['store', false];
  if (/dpas|mma|wmma/i.test(name))
    return ['matrix instruction', false];
  return [name.split(/[\s(]/)[0], false];
}

// A function with the stalls of one value type: rows of instructions, and lines by "file:line".
class CodeFunction {
  constructor(listed, type, reasons) {
    this.listed = listed;
    this.name = listed.name;
    this.attributes = new Map(listed.attributes);
    this.rows = listed.instructions.map(([offset, size, name, text, waits, file, line, flags, producers], position) => {
      const list = [];
      for (let i = 0; i < producers.length; i += 3)
        list.push({ offset: producers[i], wait: producers[i + 1], token: producers[i + 2] });
      return { offset, size, name, text: text || (waits ? `${name} {${waits}}` : name), waits, file, line, flags, position,
        place: file >= 0 && line ? `${file}:${line}` : null, producers: list, total: 0, mix: new Float64Array(REASONS.length) };
    });
    this.byOffset = new Map(this.rows.map(row => [row.offset, row]));
    this.lines = new Map();
    for (const row of this.rows) {
      if (!row.place)
        continue;
      if (!this.lines.has(row.place))
        this.lines.set(row.place, { file: row.file, line: row.line, rows: [], total: 0, mix: new Float64Array(REASONS.length) });
      this.lines.get(row.place).rows.push(row);
    }
    this.total = 0;
    this.mix = new Float64Array(REASONS.length);
    for (const [position, reason, own, value] of listed.stalls) {
      if (own !== type)
        continue;
      const row = this.rows[position], slot = slotOf(reasons[reason]);
      for (const at of [this, row, this.lines.get(row.place)])
        if (at) {
          at.total += value;
          at.mix[slot] += value;
        }
    }
  }

  get hottest() { return this.rows.reduce((a, b) => (a && a.total >= b.total ? a : b), null); }
}

class CodeData {
  constructor(model) {
    this.model = model;
    this.code = model.header.code;
    this.known = new Map();
    this.factor = 1; // of the earlier run's values, in a difference
  }

  // Adds the earlier run's values to a function's rows and lines. Instructions can be compared if their offsets are the
  // same, that is, if every stall of the earlier run is at an instruction with the same name.
  addBefore(item, type) {
    const names = new Set([item.name, ...item.listed.frames]), files = this.code.files;
    const own = this.code.before.filter(([name, , , , , , itsType]) => itsType === type && names.has(name));
    const file = position => position < 0 ? '' : baseName(files[position].name);
    const lines = new Map([...item.lines.values()].map(line => [`${file(line.file)}:${line.line}`, line]));
    item.isSameCode = own.every(([, offset, name]) => {
      const row = item.byOffset.get(offset);
      return row && row.name.split(/[\s(]/)[0] === name.split(/[\s(]/)[0];
    });
    for (const at of [item, ...item.rows, ...item.lines.values()])
      at.before = 0;
    for (const [, offset, , position, number, , , value] of own) {
      const key = `${file(position)}:${number}`;
      if (number && position >= 0 && !lines.has(key)) {
        const known = [...item.lines.values()].find(line => file(line.file) === file(position));
        const made = { file: known ? known.file : position, line: number, rows: [], total: 0, before: 0,
          mix: new Float64Array(REASONS.length) };
        lines.set(key, made);
        item.lines.set(`${made.file}:${number}`, made);
      }
      for (const at of [item, item.isSameCode ? item.byOffset.get(offset) : null, lines.get(key)])
        if (at)
          at.before += this.factor * value;
    }
  }

  // Whether the code shown is that of CPU functions: for types that do not stall, if source lines are known.
  get isCpu() { return !this.model.isDevice && hasCpuLines(this.model.frames); }

  // The value type shown, or another that has code.
  get type() {
    if (this.isCpu)
      return this.model.type;
    if (!this.types) {
      this.types = new Set(this.code.elsewhere.map(([type]) => type));
      for (const { stalls } of this.code.functions)
        for (const [, , type] of stalls)
          this.types.add(type);
    }
    return this.types.has(this.model.type) ? this.model.type : Math.min(...this.types);
  }

  // Functions with stalls, the largest first.
  functions() {
    const { type } = this;
    if (this.isCpu) {
      const values = this.model.during({ lines: 'yes' }, () => this.model.values(Detail.LINE));
      if (this.cpuValues !== values)
        this.cpuFunctions = cpuFunctionsOf(this.model, values, this.code.files);
      this.cpuValues = values;
      return this.cpuFunctions;
    }
    if (!this.known.has(type))
      this.known.set(type, this.functionsOf(type));
    return this.known.get(type);
  }

  functionsOf(type) {
    const made = this.code.functions.map(listed => new CodeFunction(listed, type, this.code.reasons));
    if (this.code.before)
      made.forEach(item => this.addBefore(item, type));
    const size = ({ total, before = 0 }) => Math.max(total, before);
    return made.filter(item => size(item) > 0).sort((a, b) => size(b) - size(a));
  }

  get elsewhere() {
    return this.isCpu ? 0 : this.code.elsewhere.reduce((sum, [type, value]) => sum + (type === this.type ? value : 0), 0);
  }

  // The function with this name in stacks; of several, the one with the line.
  functionOf(name, file = null, line = 0) {
    const found = this.functions().filter(({ listed }) => listed.frames.includes(name) || listed.name === name);
    return (line && found.find(item => this.lineOf(item, file, line))) || found[0] || null;
  }

  lineOf(item, file, line) {
    const key = this.model.fileKey(file);
    return [...item.lines.values()].find(at => at.line === line &&
      this.model.fileKey(this.code.files[at.file].name) === key) || null;
  }

  // What a cause, { kernel: { name }, line: { file, line } or null, slot }, waits for most; null: not known.
  producerOf({ kernel, line, slot }) {
    const item = this.functionOf(kernel.name, line && line.file, line ? line.line : 0);
    if (!item)
      return null;
    const at = line ? this.lineOf(item, line.file, line.line) : null;
    const rows = (at ? at.rows : item.rows).filter(row => row.mix[slot] > 0 && row.producers.length);
    const waiter = rows.reduce((a, b) => (a && a.mix[slot] >= b.mix[slot] ? a : b), null);
    const producer = waiter && item.byOffset.get(waiter.producers[0].offset);
    if (!producer || producer === waiter)
      return null;
    const [noun, isLoad] = nounOf(producer.name);
    return { waiter, row: producer, offset: producer.offset, noun, isLoad, text: producer.text, line: producer.line,
      place: producer.place ? `${baseName(this.code.files[producer.file].name)}:${producer.line}` : '' };
  }

  // Kernel, line, instruction and stall reason of a cell of the flame graph; null: not device code.
  placeOf(view, values, cell) {
    const { frames } = this.model;
    if (this.isCpu) {
      const frame = view.frame[cell.label || cell.node];
      return cell.node && !cell.more && isCpuCode(frames, frame)
        ? { kernel: frames.names[frame], file: frames.files[frame], line: frames.line[frame] } : null;
    }
    const place = { kernel: null, file: null, line: 0, slot: cell.slot };
    const nodes = cell.node === cell.nodes[0] || cell.more ? pathTo(view, cell.node) : pathTo(view, cell.nodes[0]);
    if (cell.label && !nodes.includes(cell.label))
      nodes.push(cell.label);
    for (const node of nodes) {
      const frame = view.frame[node];
      if (frames.kind[frame] === Kind.DEVICE_FUNCTION && place.kernel === null)
        place.kernel = frames.names[frame];
      else if (frames.kind[frame] === Kind.DEVICE_LINE && frames.line[frame])
        Object.assign(place, { file: frames.files[frame], line: frames.line[frame] });
    }
    return place.kernel === null ? null : place;
  }

  producerText(view, values, cell) {
    const place = this.placeOf(view, values, cell);
    if (!place || cell.slot === ISSUING || cell.nodes.length !== 1)
      return '';
    const producer = this.producerOf({ kernel: { name: place.kernel }, line: place.line ? place : null, slot: cell.slot });
    return producer ? `${producer.noun} at ${producer.place || offsetText(producer.offset)}` : '';
  }
}
