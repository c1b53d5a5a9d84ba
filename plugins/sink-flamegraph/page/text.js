// Numbers and names as the page writes them: three significant digits, and a narrow space before units.

const THIN = '\u202f';
// Made once: toLocaleString() makes one for each number.
const GROUPED = new Intl.NumberFormat('en');
const grouped = value => GROUPED.format(value);

function three(value) {
  if (!(value > 0))
    return '0';
  if (value >= 999.5)
    return grouped(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

function countText(value) {
  const [unit, size] = [['G', 1e9], ['M', 1e6], ['k', 1e4]].find(([, least]) => value >= least) || ['', 1];
  return unit ? `${three(value / (unit === 'k' ? 1e3 : size))}${THIN}${unit}` : grouped(Math.round(value));
}

function timeText(nanoseconds) {
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]].find(([, least]) => nanoseconds >= least * 0.9995)
    || ['ns', 1];
  return `${three(nanoseconds / size)}${THIN}${unit}`;
}

// "12.3 ms", "1.23 M samples"
function valueText(value, unit) {
  if (unit === 'nanoseconds')
    return timeText(value);
  return `${countText(value)}${unit && unit !== 'count' ? ` ${unit}` : ''}`;
}

// Counts with all digits; times, which sampling does not know better, with three.
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
  const [name, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]].find(([, least]) => nanoseconds >= least) ||
    ['ns', 1];
  return `${(nanoseconds / size).toLocaleString('en', { maximumFractionDigits: name === 's' ? 6 : 3 })} ${name}`;
}

const manyText = (count, one, many = `${one}s`) => `${grouped(count)} ${count === 1 ? one : many}`;
