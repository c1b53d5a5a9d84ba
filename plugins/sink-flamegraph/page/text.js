// Numbers and names as the page writes them: three significant digits, and a narrow space before units. Shares, times and
// counts are those of lib/text/quantity.c: both are tested with tests/data/quantities.txt.

const THIN = '\u202f';
// Created once: toLocaleString() would create one for each number.
const GROUPED = new Intl.NumberFormat('en');
const grouped = value => GROUPED.format(value);

function three(value) {
  if (!(value > 0))
    return '0';
  if (value >= 999.5)
    return grouped(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

const COUNTS = [['P', 1e15], ['T', 1e12], ['G', 1e9], ['M', 1e6], ['k', 1e3]];
const TIMES = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];

const SIZES = [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 1024], ['B', 1]];

// -> the largest unit of which a value has at least a part, or else the smallest one
const unitOf = (units, value, part = 1) => units.find(([, size]) => value >= size * part) || units.at(-1);

function unitText(units, value) {
  const [unit, size] = unitOf(units, value, 0.9995);
  return `${three(value / size)}${THIN}${unit}`;
}

const countText = value => (value >= 9999.5 ? unitText(COUNTS, value) : grouped(Math.round(value)));
const timeText = nanoseconds => unitText(TIMES, nanoseconds);
const sizeText = bytes => unitText(SIZES, bytes);

// "12.3 ms", "1.23 M samples"
function valueText(value, unit) {
  if (unit === 'nanoseconds')
    return timeText(value);
  return `${countText(value)}${unit && unit !== 'count' ? ` ${unit}` : ''}`;
}

// Counts with all digits; times with three, because sampling is not more precise.
function exactText(value, unit) {
  return unit === 'nanoseconds' ? timeText(value)
    : `${grouped(Math.round(value))}${unit && unit !== 'count' ? ` ${unit}` : ''}`;
}

function shareText(part, whole) {
  if (!(whole > 0) || !(part > 0))
    return `0${THIN}%`;
  const percent = 100 * part / whole;
  const text = part === whole ? '100' : percent >= 999.5 ? grouped(Math.round(percent))
    : percent >= 99.95 && percent < 100 ? '99.9' : percent < 0.01 ? '<0.01' : percent.toPrecision(3);
  return `${text}${THIN}%`;
}

// A label within a sentence: acronyms keep their capitals.
const inSentence = label => (/^.[A-Z]/.test(label) ? label : label.replace(/^./, first => first.toLowerCase()));

const baseName = path => path.replace(/.*\//, '');

// Elements: make('p', { textContent: '…' }, child, …)
function make(name, properties, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key.includes('-') || key === 'role')
      made.setAttribute(key, value);
    else
      made[key] = value;
  }
  made.append(...children.filter(child => child !== null && child !== undefined && child !== false));
  return made;
}

// A time that was measured, to a microsecond: "1.235 ms"
function exactTime(nanoseconds) {
  const [name, size] = unitOf(TIMES, nanoseconds);
  return `${(nanoseconds / size).toLocaleString('en', { maximumFractionDigits: name === 's' ? 6 : 3 })} ${name}`;
}

const manyText = (count, one, many = `${one}s`) => `${grouped(count)} ${count === 1 ? one : many}`;

const NAME_LIMIT = 100, DEPTH_MAX = 8; // see lib/text/short_name.c

// +1 for an opening bracket, -1 for a closing one; neither operators nor arrows are brackets.
const bracketStep = (name, at) => {
  if ('<>'.includes(name[at]) && (name[at] === '>' && name[at - 1] === '-' ||
      /operator[<>-]?$/.test(name.slice(Math.max(0, at - 9), at))))
    return 0;
  return '({<'.includes(name[at]) ? 1 : ')}>'.includes(name[at]) ? -1 : 0;
};

// -> a name without the parts nested deeper in brackets, and the largest depth of the whole name
const outerName = (name, limit) => {
  let depth = 0, largest = 0, text = '';
  for (let at = 0; at < name.length; at++) {
    const before = depth, step = bracketStep(name, at);
    depth = Math.max(0, depth + step);
    largest = Math.max(largest, depth);
    if (before <= limit || depth <= limit)
      text += name[at];
    if (before <= limit && depth > limit && at + 1 < name.length && bracketStep(name, at + 1) >= 0)
      text += '...';
  }
  return { text, largest };
};

// A name without its result type, the types of its parameters and unnamed namespaces; without qualifiers also without
// namespaces, and a lambda as the function that contains it.
const plainName = (name, hasQualifiers) => {
  const skipped = hasQualifiers ? /\(anonymous namespace\)::/y : /\(anonymous namespace\)::|(?<![\w~])[a-z_][a-z_0-9]*::(?=[\w~(])/y;
  let depth = 0, inParameters = false, text = '';
  for (let at = name.startsWith('void ') ? 5 : 0; at < name.length; at++) {
    for (skipped.lastIndex = at; skipped.test(name);)
      at = skipped.lastIndex;
    if (at >= name.length || (!hasQualifiers && !depth && name.startsWith('::{lambda', at)))
      break;
    const step = bracketStep(name, at);
    depth = Math.max(0, depth + step);
    inParameters = inParameters && depth > 0;
    if (!inParameters)
      text += name[at];
    if (step > 0 && depth === 1 && name[at] === '(' && name[at + 1] !== ')') {
      inParameters = true;
      text += '...';
    }
  }
  return text;
};

// Ever shorter forms of a name, the whole one first; by name.
const FORMS = new Map();
const formsOf = name => {
  let forms = FORMS.get(name);
  if (forms)
    return forms;
  forms = [name, plainName(name, true) || name];
  const bare = plainName(name, false) || forms[1];
  forms.push(bare);
  for (let depth = Math.min(outerName(bare, 0).largest, DEPTH_MAX) - 1; depth >= 0; depth--)
    forms.push(outerName(bare, depth).text);
  FORMS.set(name, forms);
  return forms;
};

// The longest form of a name that fits, or else the shortest form.
const fittingName = (name, fits) => (fits(name) ? name : formsOf(name).find(fits) || formsOf(name).at(-1));

// A name, its head and its end, without its middle.
const withoutMiddle = (name, length, dots = '...') => {
  const head = Math.floor(length * 2 / 3);
  return name.slice(0, head) + dots + name.slice(name.length - (length - head));
};

// The arguments of a template have the room that "name<...>" leaves: the next longer form; '': the form has no room.
const withArguments = (name, form) => (form === formsOf(name).at(-1) && /<\.\.\.>(\(\.\.\.\))?$/.test(form) ? formsOf(name).at(-2) : '');

// Same as text_append_short_name() in lib/text/short_name.c.
const shortName = (name, limit = NAME_LIMIT) => {
  const form = fittingName(name, text => text.length <= limit), longer = form !== name && form.length <= limit ? withArguments(name, form) : '';
  return longer ? `${longer.slice(0, limit - 3)}...` : form.length > limit ? withoutMiddle(form, limit - 3) : form;
};

// In a narrow column, a name keeps its end, which distinguishes the kernels of a family; a template is reduced to its
// name.
function nameWithEnd(tag, name) {
  const bare = name.length > 24 ? outerName(name, 0).text.replace(/\s*(<\.\.\.>|\(.*?\)|\{\.\.\.\})/g, '').replace(/^.*::(?=.)/, '') : name;
  const label = bare.length > 2 ? bare : name, end = label.length > 16 ? label.length - 8 : label.length;
  return make(tag, { className: 'name-with-end' }, make('span', { textContent: label.slice(0, end) }),
    end < label.length && make('span', { textContent: label.slice(end) }));
}
