// SPDX-License-Identifier: Apache-2.0
// Compares the functions of two releases by resampling over machines: whether a machine ran A or B is what would be
// random if the releases were equal, while samples of one machine are not independent of each other.

// Mulberry32: 32 random bits from a seed, the same in every run.
export function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Rows of queries/compare.sql as {functions, a, b}: a and b map a machine to its value in each function, as a part of
// the machine's total or, per seconds, in CPUs.
export function matrix(rows, per = 'total') {
  const functions = [...new Set(rows.map(row => row.function).filter(name => name !== null))];
  const index = new Map(functions.map((name, i) => [name, i]));
  const sides = {functions, a: new Map(), b: new Map()};
  const divisors = new Map();
  for (const row of rows.filter(row => row.function === null)) {
    const divisor = per === 'seconds' ? row.duration_ns : row.value;
    if (divisor > 0) {
      divisors.set(`${row.is_b} ${row.host}`, divisor);
      (row.is_b ? sides.b : sides.a).set(row.host, new Float64Array(functions.length));
    }
  }
  for (const row of rows.filter(row => row.function !== null)) {
    const divisor = divisors.get(`${row.is_b} ${row.host}`);
    if (divisor)
      (row.is_b ? sides.b : sides.a).get(row.host)[index.get(row.function)] = row.value / divisor;
  }
  return sides;
}

function mean(machines, f) {
  return machines.reduce((sum, values) => sum + values[f], 0) / machines.length;
}

// Sums of functions over machines, each multiplied by what weight() returns for it.
function weighted_sums(machines, width, weight) {
  const sums = new Float64Array(width);
  for (let m = 0; m < machines.length; m++) {
    const factor = weight(m), values = machines[m];
    for (let f = 0; factor !== 0 && f < width; f++)
      sums[f] += factor * values[f];
  }
  return sums;
}

// Machines that ran both releases: their differences, whose signs are random if the releases are equal.
function paired(sides) {
  const hosts = [...sides.a.keys()].filter(host => sides.b.has(host));
  const before = hosts.map(host => sides.a.get(host)), after = hosts.map(host => sides.b.get(host));
  const data = hosts.map((_, m) => after[m].map((value, f) => value - before[m][f]));
  return {before, after, data, observed: () => 1, resample: random => () => random() < 0.5 ? -1 : 1};
}

// Machines that ran one of them: their values, whose assignment to A and B is random if the releases are equal.
function groups(sides) {
  const before = [...sides.a].filter(([host]) => !sides.b.has(host)).map(([, values]) => values);
  const after = [...sides.b].filter(([host]) => !sides.a.has(host)).map(([, values]) => values);
  const all = [...before, ...after];
  const middle = sides.functions.map((_, f) => mean(all, f));
  const data = all.map(values => values.map((value, f) => value - middle[f]));
  return {before, after, data, observed: m => m < before.length ? 0 : 1, resample(random) {
    const labels = new Uint8Array(all.length);
    for (let i = 0; i < after.length; i++)
      labels[i] = 1;
    for (let i = all.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [labels[i], labels[j]] = [labels[j], labels[i]];
    }
    return m => labels[m];
  }};
}

// Compares two sides of matrix(). Returns {design, machines, rows}, a row for each function with its mean in A and B and
// its p. p is that of the largest statistic of all functions in a resample (Westfall and Young), so that the chance of
// any false alarm in the comparison is the level, however many functions there are. If `level` is set, resampling ends
// as soon as no p can be that low.
export function compare(sides, {resamples = 1999, seed = 1, level = 0} = {}) {
  const both = [...sides.a.keys()].filter(host => sides.b.has(host)).length;
  const design = 2 * both >= sides.a.size + sides.b.size - both ? 'paired' : 'groups';
  const test = design === 'paired' ? paired(sides) : groups(sides);
  const width = sides.functions.length;
  if (Math.min(test.before.length, test.after.length) < 8)
    throw new Error(`too few machines: ${test.before.length} and ${test.after.length} (at least 8 of each release)`);
  // Neither random signs nor random labels change the sum of squares, by which functions become comparable.
  const scale = weighted_sums(test.data.map(values => values.map(value => value * value)), width, () => 1).map(Math.sqrt);
  // A function that does not vary cannot differ.
  const statistic = weight => weighted_sums(test.data, width, weight).map((sum, f) => scale[f] > 0 ? Math.abs(sum) / scale[f] : 0);
  const observed = statistic(test.observed);
  const exceeded = new Uint32Array(width);
  const random = generator(seed);
  const largest_observed = Math.max(...observed);
  const top = observed.indexOf(largest_observed);
  let drawn = 0;
  while (drawn < resamples && (!level || (exceeded[top] + 1) / (resamples + 1) <= level)) {
    const largest = Math.max(...statistic(test.resample(random))) * (1 + 1e-12);
    for (let f = 0; f < width; f++)
      exceeded[f] += largest >= observed[f] ? 1 : 0;
    drawn++;
  }
  const rows = sides.functions.map((name, f) => ({function: name, a: mean(test.before, f), b: mean(test.after, f),
    p: (exceeded[f] + 1) / (drawn + 1)}));
  return {design, machines: design === 'paired' ? both : test.data.length, rows};
}
