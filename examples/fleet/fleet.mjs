#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Loads and queries profiles of many machines with DuckDB: README.md.
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {parseArgs} from 'node:util';
import {compare, matrix} from './comparison.mjs';

const FOLDER = path.dirname(fileURLToPath(import.meta.url));
const USAGE = `usage: fleet.mjs [--database FILE] COMMAND

  load FILE|FOLDER...    load CSV files of iaprof; the options --host, --service, --version and
                         --container identify them where their path (host=h1/service=web/...) does not
  top, services, devices, outliers, losses
                         functions with the most time, the same by service and version, device time by
                         model, machines and devices that differ from others, what machines lost
  check A B              compare two versions; status 1 if a function needs more time in B
  retain DAYS            remove profiles that are older than the newest by more than DAYS

  --from TIME, --until TIME     range (default: the last hour of the data), such as 2026-11-30T21:00:00Z
  --host, --service, --version, --container NAME    only these
  --value-type NAME             default cpu
  --limit NUMBER                rows (default 20)
  --per total|seconds           check: time in relation to the machine's samples (default) or to its time
  --level NUMBER                check: chance of a false alarm (default 0.005)
  --json                        one JSON object a line
`;
const QUERIES = ['top', 'services', 'devices', 'outliers', 'losses'];

function sql_file(name) {
  return fs.readFileSync(path.join(FOLDER, name), 'utf8');
}

// SQL text of a value.
function literal(value) {
  if (value === undefined || value === null)
    return 'NULL';
  if (Array.isArray(value))
    return `[${value.map(literal).join(', ')}]`;
  if (value instanceof Date)
    return `TIMESTAMP '${value.toISOString().slice(0, -1)}'`;
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}

export class Fleet {
  static async open(file) {
    // require() also searches the folders of NODE_PATH, which import does not.
    const {DuckDBInstance} = createRequire(import.meta.url)('@duckdb/node-api');
    const fleet = new Fleet();
    fleet.instance = await DuckDBInstance.create(file);
    fleet.connection = await fleet.instance.connect();
    await fleet.run("SET TimeZone = 'UTC'");
    await fleet.run(sql_file('schema.sql'));
    return fleet;
  }

  close() {
    this.connection.closeSync();
    this.instance.closeSync();
  }

  async run(sql) {
    await this.connection.run(sql);
  }

  async rows(sql) {
    const reader = await this.connection.runAndReadAll(sql);
    return reader.getRowObjectsJS();
  }

  async set(variables) {
    for (const [name, value] of Object.entries(variables))
      await this.run(`SET VARIABLE "${name}" = ${literal(value)}`);
  }

  async transaction(files) {
    await this.run('BEGIN');
    try {
      for (const name of files)
        await this.run(sql_file(name));
      await this.run('COMMIT');
    } catch (error) {
      await this.run('ROLLBACK');
      throw error;
    }
  }

  // Loads files and folders with CSV files, all or none. Returns the number of profiles that were new, and of those
  // that were not.
  async load(paths, identity = {}) {
    const tables = {stacks: [], jobs: []};
    for (const file of csv_files(paths))
      tables[kind_of_table(file)].push(file);
    if (!tables.stacks.length)
      throw new Error('no CSV file with stacks');
    const {host, service, version, container} = identity;
    await this.set({host, service, version, container, stack_files: tables.stacks, job_files: tables.jobs});
    await this.transaction(['load.sql', ...(tables.jobs.length ? ['load_jobs.sql'] : [])]);
    const [counts] = await this.rows('SELECT (SELECT count(*) FROM incoming_new)::INTEGER AS loaded, '
                                     + '(SELECT count(*) FROM incoming)::INTEGER AS found');
    return {loaded: counts.loaded, known: counts.found - counts.loaded};
  }

  // Sets what queries read: by default the hour before the end of the newest profile.
  async select({from, until, host, service, version, container, value_type = 'cpu', limit = 20} = {}) {
    const [newest] = await this.rows('SELECT epoch_ms(max(begin_time))::DOUBLE AS ms FROM profile');
    // A profile belongs to the range in which it begins, and the end of the range is not in it.
    const end = until ?? new Date((newest.ms ?? 0) + 1);
    await this.set({from: from ?? new Date(end.getTime() - 3600_000), until: end, host, service, version, container,
                    value_type, limit});
    await this.run(sql_file('queries/selection.sql'));
  }

  async query(name) {
    return this.rows(sql_file(`queries/${name}.sql`));
  }

  async retain(days) {
    await this.run(`SET VARIABLE until = (SELECT max(begin_time) - INTERVAL 1 SECOND * ${days * 86400} FROM profile)`);
    await this.transaction(['retain.sql']);
    await this.run('CHECKPOINT');
  }
}

function csv_files(paths) {
  return paths.flatMap(name => {
    if (!fs.statSync(name).isDirectory())
      return [name];
    return fs.readdirSync(name, {recursive: true}).filter(entry => entry.endsWith('.csv'))
      .map(entry => path.join(name, entry)).sort();
  });
}

function kind_of_table(file) {
  const descriptor = fs.openSync(file);
  const buffer = Buffer.alloc(4096);
  const columns = buffer.toString('utf8', 0, fs.readSync(descriptor, buffer)).split(/\r?\n/)[0].split(',');
  fs.closeSync(descriptor);
  if (['stack', 'value_type', 'begin_realtime'].every(name => columns.includes(name)) && !columns.includes('before'))
    return 'stacks';
  if (['device', 'busy', 'waiting'].every(name => columns.includes(name)) && file.endsWith('.jobs.csv'))
    return 'jobs';
  throw new Error(`${file}: neither a table of stacks nor, in a file NAME.jobs.csv, one of jobs`);
}

function print(rows, json) {
  if (json)
    rows.forEach(row => console.log(JSON.stringify(row, (_, value) => typeof value === 'bigint' ? Number(value) : value)));
  else if (!rows.length)
    console.log('no rows');
  else {
    const columns = Object.keys(rows[0]);
    const cells = [columns, ...rows.map(row => columns.map(name => String(row[name] ?? '')))];
    const widths = columns.map((_, i) => Math.min(60, Math.max(...cells.map(row => row[i].length))));
    const right = columns.map(name => typeof rows.find(row => row[name] !== null)?.[name] !== 'string');
    for (const row of cells)
      console.log(row.map((cell, i) => {
        const text = cell.length > 60 ? `${cell.slice(0, 59)}…` : cell;
        return right[i] ? text.padStart(widths[i]) : text.padEnd(widths[i]);
      }).join('  ').trimEnd());
  }
}

async function check(fleet, [a, b], options) {
  await fleet.set({a, b});
  const level = Number(options.level ?? 0.005);
  const result = compare(matrix(await fleet.query('compare'), options.per), {resamples: Math.max(1999, Math.ceil(10 / level))});
  const percent = x => Number((100 * x).toPrecision(4));
  const rows = result.rows.map(({function: name, a: before, b: after, p}) => ({function: name, [`percent_${a}`]: percent(before),
    [`percent_${b}`]: percent(after), change_percent: before > 0 ? Number((100 * (after / before - 1)).toPrecision(3)) : null, p,
    result: p > level ? '' : after > before ? 'more' : 'less'}));
  rows.sort((x, y) => x.p - y.p || Math.abs(y[`percent_${b}`] - y[`percent_${a}`]) - Math.abs(x[`percent_${b}`] - x[`percent_${a}`]));
  print(rows.slice(0, Number(options.limit ?? 20)), options.json);
  console.error(`${result.machines} machines, ${result.design === 'paired' ? 'each with both releases' : 'in two groups'}`);
  return rows.some(row => row.result === 'more') ? 1 : 0;
}

async function main() {
  const text = {type: 'string'};
  const {values, positionals} = parseArgs({allowPositionals: true, options: {database: text, host: text, service: text,
    version: text, container: text, from: text, until: text, 'value-type': text, limit: text, per: text, level: text,
    json: {type: 'boolean'}, help: {type: 'boolean'}}});
  const [command, ...words] = positionals;
  const usable = {load: words.length > 0, check: words.length === 2, retain: words.length === 1 && Number(words[0]) >= 0};
  if (values.help || !(usable[command] ?? (QUERIES.includes(command) && !words.length))) {
    process[values.help ? 'stdout' : 'stderr'].write(USAGE);
    return values.help ? 0 : 2;
  }
  const fleet = await Fleet.open(values.database ?? 'fleet.duckdb');
  try {
    if (command === 'load') {
      const {loaded, known} = await fleet.load(words, values);
      console.log(`${loaded} profiles loaded, ${known} known`);
      return 0;
    }
    if (command === 'retain') {
      await fleet.retain(Number(words[0]));
      return 0;
    }
    const time = name => values[name] === undefined ? undefined : new Date(values[name]);
    await fleet.select({...values, from: time('from'), until: time('until'), value_type: values['value-type'],
                        limit: Number(values.limit ?? 20)});
    if (command === 'check')
      return await check(fleet, words, values);
    print(await fleet.query(command), values.json);
    return 0;
  } finally {
    fleet.close();
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(fs.realpathSync(process.argv[1])).href)
  main().then(status => process.exitCode = status, error => {
    console.error(`fleet.mjs: ${error.message}`);
    process.exitCode = 2;
  });
