#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/fleet: what its queries answer is what the tables contain, and its comparison finds what was planted."""
import collections
import csv
import functools
import json
import os
import pathlib
import random
import shutil
import subprocess

from harness import COMPLETE, SOURCE, Failure, Skip, case, equal, iaprof, main, needs_program, require

FLEET = pathlib.Path(SOURCE, 'examples/fleet')
CAPTURES = pathlib.Path(SOURCE, 'tests/preservation/captures')
LONG_AGO = ('--from', '2000-01-01', '--limit', '100000')
COLUMNS = ('interval,begin,end,begin_realtime,program,pid,function,stack,value_type,unit,value,count,tid,thread,trace_id,'
           'span_id,kernel_class')
HOUR = 3600 * 10**9
DAY = 1_796_000_000 * 10**9  # in November 2026


@functools.lru_cache
def node_environment():
    """NODE_PATH with the folders of global packages, which Node.js does not search by itself."""
    needs_program('node')()
    folders = [os.environ.get('NODE_PATH', '')]
    if shutil.which('npm'):
        folders.append(subprocess.run(['npm', 'root', '-g'], capture_output=True, text=True, check=False).stdout.strip())
    return dict(os.environ, NODE_PATH=':'.join(filter(None, folders)))


def needs_duckdb():
    script = f'require("module").createRequire("{FLEET}/fleet.mjs").resolve("@duckdb/node-api")'
    if subprocess.run(['node', '-e', script], env=node_environment(), capture_output=True, check=False).returncode:
        raise Skip('@duckdb/node-api is not installed (npm install in examples/fleet, or NODE_PATH)')


def fleet(*arguments, status=0):
    run = subprocess.run(['node', FLEET / 'fleet.mjs', '--database', 'fleet.duckdb', *arguments], env=node_environment(),
                         capture_output=True, text=True, check=False)
    require(run.returncode == status, f'fleet.mjs {arguments}: status {run.returncode}\n{run.stdout}{run.stderr}')
    return run


def query(*arguments, status=0):
    return [json.loads(line) for line in fleet(*arguments, '--json', status=status).stdout.splitlines()]


def table(capture, path, rows='stacks'):
    path.parent.mkdir(parents=True, exist_ok=True)
    keys = 'newline=lf,escape=no' + (',pid=no' if rows == 'stacks' else '')
    run = iaprof('--replay', str(capture), '-k', f'csv:rows={rows},{keys}', '-o', str(path))
    equal(run.status, COMPLETE, 'exit status')
    with open(path, newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def stack_rows(stacks, begin_ns, length_ns=300 * 10**9):
    """A table of stacks, of a number of samples of 1 ms for each."""
    lines = [f'0,{5 * 10**9},{5 * 10**9 + length_ns},{DAY + begin_ns},{stack.split(";")[0]},,{stack.split(";")[-1]},{stack},cpu,'
             f'nanoseconds,{count * 1000000},{count},,,,,' for stack, count in stacks.items() if count]
    return '\n'.join([COLUMNS, *lines]) + '\n'


def write_table(path, *arguments):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(stack_rows(*arguments), encoding='utf-8')


@case('functions have the sums of the tables, over all machines and by service', needs=[needs_duckdb])
def check_sums():
    times, services, totals = collections.Counter(), collections.Counter(), collections.Counter()
    captures = [*sorted(CAPTURES.glob('cpu-*.iaprof')), pathlib.Path(SOURCE, 'examples/decoder.iaprof')]
    for number, capture in enumerate(captures):
        service = f's{number % 3}'
        for row in table(capture, pathlib.Path(f'in/host=h{number}/service={service}/{capture.stem}.csv')):
            frames = row['stack'].split(';')[1:]
            if row['value_type'] != 'cpu' or row['program'] == '[lost]' or not frames:
                continue
            times[frames[-1]] += int(row['value'])
            services[service, frames[-1]] += int(row['value'])
            for name in set(frames):
                totals[name] += int(row['value'])
    fleet('load', 'in')
    rows = query('top', *LONG_AGO)
    equal({row['function']: row['self_s'] for row in rows if row['self_s']},
          {name: round(value / 1e9, 3) for name, value in times.items() if value >= 500000}, 'own time')
    equal({row['function']: row['total_s'] for row in rows}, {name: round(value / 1e9, 3) for name, value in totals.items()},
          'time with callees')
    equal({(row['service'], row['function']): row['self_s'] for row in query('services', *LONG_AGO)
           if row['function'] and row['self_s']},
          {key: round(value / 1e9, 3) for key, value in services.items() if value >= 500000}, 'by service')
    one = query('top', '--service', 's1', *LONG_AGO)
    equal({row['function'] for row in one if row['self_s']},
          {name for (service, name), value in services.items() if service == 's1' and value >= 500000}, 'one service')


@case('device time by model is that of the jobs', needs=[needs_duckdb])
def check_devices():
    busy, jobs = collections.Counter(), collections.Counter()
    for host, name in (('h1', 'decoder'), ('h2', 'demo'), ('h3', 'demo')):
        folder = pathlib.Path('in', f'host={host}')
        table(f'{SOURCE}/examples/{name}.iaprof', folder / 'run.csv')
        for row in table(f'{SOURCE}/examples/{name}.iaprof', folder / 'run.jobs.csv', 'jobs'):
            busy[row['device'], row['program']] += int(row['busy'] or 0)
            jobs[row['device'], row['program']] += int(row['count'] or 0)
    fleet('load', 'in')
    rows = query('devices', *LONG_AGO)
    equal({(row['model'], row['program']): (row['busy_s'], row['jobs']) for row in rows},
          {key: (round(value / 1e9, 3), jobs[key]) for key, value in busy.items()}, 'devices')
    equal(len(rows) > 1, True, 'more than one model')


@case('profiles are added once, the last hour is that of the data, and losses are separate', needs=[needs_duckdb])
def check_loads():
    write_table('old.csv', {'a;main;old': 7}, 10 * HOUR)
    write_table('new.csv', {'a;main;new': 5, 'a': 3, '[lost];cpu-stack;ring buffer full': 2}, 12 * HOUR)
    identity = ('--host', "o'host", '--service', 'web')
    equal(fleet('load', *identity, 'old.csv', 'new.csv').stdout, '2 profiles loaded, 0 known\n')
    equal(fleet('load', *identity, 'new.csv').stdout, '0 profiles loaded, 1 known\n')
    equal(fleet('load', '--service', 'web', 'new.csv').stdout, '1 profiles loaded, 0 known\n')
    rows = query('top', '--host', "o'host")
    equal({row['function']: (row['self_s'], row['self_percent']) for row in rows}, {'main': (0, 0), 'new': (0.005, 62.5)},
          'last hour')
    losses = query('losses')
    equal(sorted((row['host'] or '', row['loss'], row['count']) for row in losses),
          [('', 'cpu-stack;ring buffer full', 2), ("o'host", 'cpu-stack;ring buffer full', 2)], 'losses')
    require('old' in {row['function'] for row in query('top', *LONG_AGO)}, 'the old profile is not there')
    fleet('retain', '0.05')
    equal({row['function'] for row in query('top', *LONG_AGO)}, {'main', 'new'}, 'after the old profile was removed')


@case('a file that is not complete, or not a table of stacks, loads nothing', needs=[needs_duckdb])
def check_errors():
    write_table('good.csv', {'a;main': 7}, HOUR)
    good = pathlib.Path('good.csv').read_text(encoding='utf-8')
    pathlib.Path('bad.csv').write_text(good.replace('7000000', '7x'), encoding='utf-8')
    pathlib.Path('other.csv').write_text('a,b\n1,2\n', encoding='utf-8')
    pathlib.Path('lonely.jobs.csv').write_text('device,address,program,count,busy,waiting,begin,started,end\nx,,p,1,2,3,4,5,6\n',
                                               encoding='utf-8')
    for bad, words in (('bad.csv', '7x'), ('other.csv', 'other.csv: neither'), ('lonely.jobs.csv', 'no lonely.csv beside')):
        run = fleet('load', 'good.csv', bad, status=2)
        require(words in run.stderr, f'no {words!r} in: {run.stderr}')
        equal(query('top', *LONG_AGO), [], f'after {bad}')
    equal(fleet('load', 'good.csv').stdout, '1 profiles loaded, 0 known\n')


@case('a function that needs more time in a release is found, and so are machines that differ', needs=[needs_duckdb])
def check_planted():
    numbers = random.Random(3)
    functions = {f'a;main;f{number}': 20000 // (number + 1) for number in range(12)}
    for machine in range(60):
        for version, begin in (('1', 0), ('2', HOUR // 4), ('3', HOUR // 2)):
            stacks = {}
            for stack, count in functions.items():
                changed = stack.endswith(';f3') and version == '3' and machine % 2
                odd = stack.endswith(';f5') and machine == 17
                stacks[stack] = round(count * numbers.gauss(1, 0.015) * (1.05 if changed else 1) * (2 if odd else 1))
            write_table(f'in/host=m{machine}/service=web/version={version}/p.csv', stacks, begin + HOUR)
    fleet('load', 'in')
    found = query('check', '2', '3', '--service', 'web', status=1)
    equal([row['function'] for row in found if row['result'] == 'more'], ['f3'], 'more')
    equal([row['function'] for row in query('check', '1', '2') if row['result']], [], 'equal releases')
    equal([row['function'] for row in query('check', '3', '2') if row['result'] == 'less'], ['f3'], 'less')
    equal([(row['host'], row['measure']) for row in query('outliers')][:1], [('m17', 'share of f5')], 'outliers')
    equal({row['host'] for row in query('outliers')}, {'m17'}, 'machines')


@case('at most one in 100 comparisons of a release with itself is a false alarm', needs=[needs_program('node')])
def check_false_alarms():
    script = pathlib.Path(SOURCE, 'tests/cli/fleet_comparison.mjs')
    run = subprocess.run(['node', script, FLEET / 'comparison.mjs'], capture_output=True, text=True, check=False)
    if run.returncode:
        raise Failure(run.stderr)
    results = [json.loads(line) for line in run.stdout.splitlines()]
    equal([result['design'] for result in results], ['paired', 'groups'], 'designs')
    for result in results:
        require(result['alarms'] <= 10, f'{result["alarms"]} false alarms in 1,000 ({result["design"]})')
        equal(result['reported'], [{'function': 'f0', 'more': True}], f'reported ({result["design"]})')


main()
