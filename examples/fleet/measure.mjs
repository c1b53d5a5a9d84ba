// SPDX-License-Identifier: Apache-2.0
// measure.mjs FOLDER DATABASE [HOSTS]: make an hour of a fleet of 1,000 machines from the profiles that
// record_programs.py recorded into FOLDER, and print rows, bytes on disk, times of the queries, and what the comparison of
// releases finds. Each machine runs one service, which is a few of the programs; each of its profiles draws stacks from
// theirs. Ends with status 1 if a planted difference is not found or too many comparisons of a release with itself differ.
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {compare, generator, matrix} from './comparison.mjs';
import {Fleet} from './fleet.mjs';

const [folder, database, hosts_text = '1000'] = process.argv.slice(2);
const HOSTS = Number(hosts_text);
const INTERVALS = 12, INTERVAL_S = 300;
const BEGIN_MS = Date.UTC(2026, 10, 30, 12);
const SAMPLE_NS = Math.round(1e9 / 19); // the sampling frequency of the packaged service
// The service with two releases runs on every second machine; nine others run on the rest.
const RELEASED = {service: 'web', programs: ['python-json', 'sqlite3', 'zstd', 'openssl', 'node'], samples: 600};
const OTHERS = ['cart', 'search', 'mail', 'login', 'billing', 'images', 'queue', 'reports', 'builds'];
const OTHER_SAMPLES = 300;
const HOST_SPREAD = 0.1;   // standard deviation of the logarithm of a function's weight on a machine
const PLANTED = 1.05;      // of one function in version 1.1, on half of the machines
const OUTLIER = 3;         // of one function on one machine, and of the use of one device
const COMPARISONS = 1000, FALSE_ALARMS = COMPARISONS / 100, LEVEL = 0.005;

const random = generator(1);
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const failures = [];

function line(name, text) {
  console.log(`${name.padEnd(44)} ${text}`);
}

function require_that(condition, text) {
  if (!condition)
    failures.push(text);
}

// Stacks of the recorded programs by program: {stack, leaf, weight}, whose weights add up to 1 in each.
async function recorded_stacks(fleet) {
  const programs = new Map();
  for (const row of await fleet.rows(`SELECT service, stack_id, coalesce(function_id, -1) AS leaf, count::DOUBLE AS count
      FROM sample JOIN profile USING (profile_id) JOIN stack USING (stack_id)
      WHERE value_type = 'cpu' AND program <> '[lost]' ORDER BY service, stack_id`))
    programs.set(row.service, [...(programs.get(row.service) ?? []), row]);
  for (const rows of programs.values()) {
    const total = rows.reduce((sum, row) => sum + row.count, 0);
    rows.forEach(row => row.weight = row.count / total);
  }
  return programs;
}

function services(programs) {
  const others = [...programs.keys()].filter(name => !RELEASED.programs.includes(name));
  const stacks = names => names.flatMap(name => programs.get(name) ?? []);
  return [{...RELEASED, stacks: stacks(RELEASED.programs)},
    ...OTHERS.map((service, i) => ({service, samples: OTHER_SAMPLES, stacks: stacks(others.filter((_, j) => j % OTHERS.length === i))}))];
}

function largest_leaf(stacks) {
  const sums = new Map();
  stacks.forEach(({leaf, weight}) => sums.set(leaf, (sums.get(leaf) ?? 0) + weight));
  return [...sums].filter(([leaf]) => leaf >= 0).sort((x, y) => y[1] - x[1])[0][0];
}

// Draws of an interval: a map of stacks to their numbers of samples.
function draw(stacks, factors, samples) {
  const sums = new Float64Array(stacks.length);
  let sum = 0;
  stacks.forEach(({leaf, weight}, i) => sums[i] = sum += weight * factors.get(leaf));
  const counts = new Map();
  for (let n = 0; n < samples; n++) {
    const x = random() * sum;
    let low = 0, high = stacks.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] > x)
        high = middle;
      else
        low = middle + 1;
    }
    counts.set(stacks[low].stack_id, (counts.get(stacks[low].stack_id) ?? 0) + 1);
  }
  return counts;
}

// Writes tables of profiles, samples and uses of devices, with ids of the dictionary. Returns what was planted.
function write_fleet(names, programs, devices) {
  const files = names.map(name => fs.openSync(name, 'w'));
  const [profiles, samples, uses] = files;
  const all = services(programs);
  const planted = {function: largest_leaf(all[0].stacks), host: `machine-${HOSTS - 1}`};
  let profile = 0;
  for (let h = 0; h < HOSTS; h++) {
    const host = `machine-${h}`;
    const service = h % 2 ? all[1 + (h >> 1) % OTHERS.length] : all[0];
    const factors = new Map(service.stacks.map(({leaf}) => [leaf, 0]));
    for (const leaf of factors.keys())
      factors.set(leaf, Math.exp(HOST_SPREAD * normal()));
    if (host === planted.host) {
      planted.outlier = largest_leaf(service.stacks);
      factors.set(planted.outlier, factors.get(planted.outlier) * OUTLIER);
    }
    const device = h % 5 === 0 ? devices[(h / 5) % devices.length] : null;
    const offset = Math.floor(random() * INTERVAL_S * 1000);
    for (let t = 0; t < INTERVALS; t++) {
      const released = t >= INTERVALS / 2;
      if (t === INTERVALS / 2 && service === all[0] && h % 4 === 0)
        factors.set(planted.function, factors.get(planted.function) * PLANTED);
      profile++;
      const begin = new Date(BEGIN_MS + t * INTERVAL_S * 1000 + offset).toISOString().slice(0, -1);
      fs.writeSync(profiles, `${profile},${host},${service.service},${released ? '1.1' : '1.0'},,${begin},${INTERVAL_S * 1e9}\n`);
      const text = [...draw(service.stacks, factors, service.samples)].map(([stack, count]) =>
        `${profile},${stack},cpu,nanoseconds,${count * SAMPLE_NS},${count}\n`);
      fs.writeSync(samples, text.join(''));
      for (const slot of device ? [0, 1] : []) {
        planted.device ??= host;
        const factor = Math.exp(0.1 * normal()) * (host === planted.device && slot === 0 ? OUTLIER : 1);
        fs.writeSync(uses, `${profile},${device.device},0000:0${slot + 1}:00.0,${device.program},${device.jobs},`
                     + `${Math.round(device.busy_ns * factor)},${device.waiting_ns}\n`);
      }
    }
  }
  files.forEach(file => fs.closeSync(file));
  return planted;
}

async function make_fleet() {
  const fleet = await Fleet.open(database);
  const start = performance.now();
  const {loaded} = await fleet.load([folder], {host: 'recorder'});
  const [read] = await fleet.rows('SELECT count(*)::INTEGER AS rows FROM incoming_row');
  line('recorded profiles loaded from CSV', `${loaded} profiles, ${read.rows} rows in ${seconds(performance.now() - start)}`);
  require_that(loaded >= 50, 'fewer than 50 recorded profiles');
  const programs = await recorded_stacks(fleet);
  const devices = await fleet.rows(`SELECT device, program, sum(jobs)::BIGINT AS jobs, sum(busy_ns)::DOUBLE AS busy_ns,
    sum(waiting_ns)::BIGINT AS waiting_ns FROM device_use GROUP BY ALL ORDER BY ALL`);
  const temporary = ['profile', 'sample', 'device_use'].map(name => `${database}.${name}.csv`);
  const planted = write_fleet(temporary, programs, devices);
  await fleet.run('DELETE FROM profile; DELETE FROM sample; DELETE FROM device_use');
  for (const [i, table] of ['profile', 'sample', 'device_use'].entries())
    await fleet.run(`COPY ${table} FROM '${temporary[i].replaceAll("'", "''")}' (HEADER false)`);
  temporary.forEach(name => fs.rmSync(name));
  await fleet.run('DELETE FROM stack WHERE stack_id NOT IN (SELECT stack_id FROM sample)');
  await fleet.run('CHECKPOINT');
  fleet.close();
  return planted;
}

function seconds(ms) {
  return `${Number((ms / 1000).toPrecision(3))} s`;
}

// Ends the caching of the database in memory, which dd does for a file of which it copies nothing.
function drop_cache() {
  execFileSync('sync');
  execFileSync('dd', [`if=${database}`, 'iflag=nocache', 'count=0', 'status=none']);
}

async function timed(work) {
  const start = performance.now(), cpu = process.cpuUsage();
  await work();
  const {user, system} = process.cpuUsage(cpu);
  return {ms: performance.now() - start, cpu_ms: (user + system) / 1000};
}

// Cold: a new connection to a file that is not in memory. Warm: the same query again.
async function time_queries() {
  const work = {
    top: fleet => fleet.query('top'), services: fleet => fleet.query('services'), devices: fleet => fleet.query('devices'),
    outliers: fleet => fleet.query('outliers'), losses: fleet => fleet.query('losses'),
    check: async fleet => {
      await fleet.set({a: '1.0', b: '1.1'});
      compare(matrix(await fleet.query('compare')));
    },
  };
  for (const [name, query] of Object.entries(work)) {
    drop_cache();
    let fleet;
    const cold = await timed(async () => {
      fleet = await Fleet.open(database);
      await fleet.select(name === 'check' ? {service: RELEASED.service} : {});
      await query(fleet);
    });
    const warm = await timed(() => query(fleet));
    fleet.close();
    line(`query ${name}`, `cold ${seconds(cold.ms)} (CPU ${seconds(cold.cpu_ms)}), warm ${seconds(warm.ms)} (CPU ${seconds(warm.cpu_ms)})`);
  }
}

async function function_name(fleet, id) {
  const [row] = await fleet.rows(`SELECT name FROM function WHERE function_id = ${id}`);
  return row.name;
}

async function find_planted(fleet, planted) {
  await fleet.set({a: '1.0', b: '1.1'});
  await fleet.select({service: RELEASED.service});
  const result = compare(matrix(await fleet.query('compare')));
  const name = await function_name(fleet, planted.function);
  const found = result.rows.find(row => row.function === name);
  const alarms = result.rows.filter(row => row.p <= LEVEL && row.b > row.a);
  line('planted +5 % on half of the machines', `${name}: ${(100 * found.a).toFixed(2)} % before, `
       + `${(100 * (found.b / found.a - 1)).toFixed(2)} % more, p ${found.p}; ${alarms.length} of ${result.rows.length} functions reported`);
  require_that(found.p <= LEVEL && found.b > found.a, 'the planted difference was not found');
  require_that(alarms.every(row => row.function === name), 'a function without a planted difference was reported');
}

async function find_outliers(fleet, planted) {
  await fleet.select();
  const rows = await fleet.query('outliers');
  const outlier = await function_name(fleet, planted.outlier);
  line('outliers', `${rows.length} rows, first ${rows.slice(0, 2).map(row => `${row.host}: ${row.measure}`).join(', ')}`);
  require_that(rows.some(row => row.host === planted.host && row.measure === `share of ${outlier}`), 'the planted outlier was not found');
  require_that(rows.some(row => row.host === planted.device && row.measure.startsWith('busy')), 'the planted device was not found');
  require_that(rows.every(row => row.host === planted.host || row.host === planted.device), 'a machine without a planted difference is listed');
}

// Values of each machine of the first release in each of its profiles, as the rows of queries/compare.sql.
async function release_by_profile(fleet) {
  const rows = await fleet.rows(`WITH v AS (
      SELECT host, profile_id, function_id, sum(value)::DOUBLE AS value
      FROM sample JOIN profile USING (profile_id) JOIN stack USING (stack_id)
      WHERE service = '${RELEASED.service}' AND version = '1.0' GROUP BY ALL)
    SELECT host, profile_id, f.name AS function, value FROM v JOIN function AS f USING (function_id)
    WHERE function_id IN (SELECT function_id FROM v GROUP BY ALL HAVING sum(value) >= 0.005 * (SELECT sum(value) FROM v))
    UNION ALL SELECT host, profile_id, NULL, sum(value) FROM v GROUP BY ALL ORDER BY ALL`);
  const machines = new Map();
  for (const row of rows)
    machines.set(row.host, [...(machines.get(row.host) ?? []), row]);
  return machines;
}

// Adds up rows of profiles that are on one side.
function summed(host, rows, is_b) {
  const sums = new Map();
  rows.forEach(row => sums.set(row.function, (sums.get(row.function) ?? 0) + row.value));
  return [...sums].map(([name, value]) => ({host, is_b, function: name, value}));
}

function shuffled(items) {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j], copy[i]];
  }
  return copy;
}

// A release against itself: a random half of each machine's profiles against the other half, or of the machines.
const SPLITS = {
  'profiles of each machine': machines => [...machines].flatMap(([host, rows]) => {
    const ids = shuffled(new Set(rows.map(row => row.profile_id)));
    const second = new Set(ids.slice(ids.length / 2));
    return [false, true].flatMap(is_b => summed(host, rows.filter(row => second.has(row.profile_id) === is_b), is_b));
  }),
  'machines': machines => shuffled(machines).flatMap(([host, rows], i) => summed(host, rows, i % 2 === 1)),
};

async function compare_with_itself(fleet) {
  const machines = await release_by_profile(fleet);
  for (const [name, split] of Object.entries(SPLITS)) {
    let alarms = 0;
    for (let n = 0; n < COMPARISONS; n++) {
      const {rows} = compare(matrix(split(machines)), {seed: n + 1, level: LEVEL});
      alarms += rows.some(row => row.p <= LEVEL) ? 1 : 0;
    }
    line(`a release with itself, halves of ${name}`, `${alarms} false alarms in ${COMPARISONS} comparisons`);
    require_that(alarms <= FALSE_ALARMS, `more than ${FALSE_ALARMS} false alarms`);
  }
}

async function main() {
  fs.rmSync(database, {force: true});
  const planted = await make_fleet();
  let fleet = await Fleet.open(database);
  const [counts] = await fleet.rows(`SELECT (SELECT count(*) FROM profile)::INTEGER AS profiles, count(*)::INTEGER AS rows,
    (SELECT count(DISTINCT host) FROM profile)::INTEGER AS hosts, count(DISTINCT stack_id)::INTEGER AS stacks FROM sample`);
  const bytes = fs.statSync(database).size;
  line('fleet', `${counts.hosts} machines, ${counts.profiles} profiles, ${counts.rows} rows, ${counts.stacks} distinct stacks`);
  line('on disk', `${Number((bytes / 1048576).toPrecision(3))} MiB, ${Number((bytes / counts.rows).toPrecision(3))} bytes a row`);
  require_that(HOSTS < 1000 || counts.stacks >= 100_000, 'fewer than 100,000 distinct stacks');
  fleet.close();
  await time_queries();
  fleet = await Fleet.open(database);
  await find_outliers(fleet, planted);
  await find_planted(fleet, planted);
  await compare_with_itself(fleet);
  fleet.close();
  failures.forEach(text => console.log(`FAILED: ${text}`));
  return failures.length ? 1 : 0;
}

process.exitCode = await main();
