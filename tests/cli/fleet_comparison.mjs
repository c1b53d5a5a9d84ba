// SPDX-License-Identifier: Apache-2.0
// fleet_comparison.mjs COMPARISON: compares constructed releases with the functions of that module, and prints a line of
// JSON for each design: false alarms in 1,000 comparisons of a release with itself, and what a planted 5 % is seen as.
import {pathToFileURL} from 'node:url';

const {compare, generator} = await import(pathToFileURL(process.argv[2]));
const MACHINES = 400, FUNCTIONS = 8, SAMPLES = 4000, LEVEL = 0.005, COMPARISONS = 1000;
const random = generator(7);
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

// Shares of the functions of a machine: those of the first ones are large, and each machine has its own.
function machine() {
  return Array.from({length: FUNCTIONS}, (_, f) => 0.3 / (f + 1) * Math.exp(0.03 * normal()));
}

// What samples of a machine show.
function observed(shares) {
  return Float64Array.from(shares, share => share + normal() * Math.sqrt(share / SAMPLES));
}

function sides(design, plant) {
  const functions = Array.from({length: FUNCTIONS}, (_, f) => `f${f}`);
  const a = new Map(), b = new Map();
  for (let m = 0; m < MACHINES; m++) {
    const shares = machine();
    // Half of the machines that run B, of which there is one in two in the design of groups.
    const changed = shares.map((share, f) => f === 0 && m % 4 === 1 || design === 'paired' && f === 0 && m % 4 === 3
      ? share * plant : share);
    if (design === 'paired' || m % 2 === 0)
      a.set(m, observed(shares));
    if (design === 'paired' || m % 2 === 1)
      b.set(m, observed(changed));
  }
  return {functions, a, b};
}

for (const design of ['paired', 'groups']) {
  let alarms = 0;
  for (let n = 0; n < COMPARISONS; n++)
    alarms += compare(sides(design, 1), {seed: n, level: LEVEL}).rows.some(row => row.p <= LEVEL) ? 1 : 0;
  const result = compare(sides(design, 1.05));
  console.log(JSON.stringify({design: result.design, alarms, reported: result.rows.filter(row => row.p <= LEVEL)
    .map(row => ({function: row.function, more: row.b > row.a}))}));
}
