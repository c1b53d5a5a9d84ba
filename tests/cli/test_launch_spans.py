#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches have the span that their thread works on, and those of a command list the one of the thread that executes it.

The program counts what it launches under each span, which the profile has to agree with.
"""
import collections
import csv
import functools
import gzip
import os
import re
import signal
import subprocess
import tempfile
import threading

from harness import (COMPLETE, SOURCE, Skip, case, equal, iaprof, main, needs_program, needs_root, needs_sampling, require,
                     start, wait_until, write)
import live_rows
import processes

FOLDER = os.path.join(SOURCE, 'tests/cli/spans')
PROGRAMS = os.path.join(SOURCE, 'tests/programs')
SDT = '/usr/include/x86_64-linux-gnu/sys/sdt.h', '/usr/include/sys/sdt.h'


def needs_probes():
    if not any(map(os.path.exists, SDT)):
        raise Skip('needs sys/sdt.h (systemtap-sdt-dev)')


BUILT = tempfile.TemporaryDirectory(prefix='iaprof-cli-')
NEEDS = [needs_root, needs_sampling, needs_program('gcc'), needs_probes]
ROUNDS = 100
MANY = 5000
# Of the lines that a program obeys: repeated until a launch has a span.
UNTIL_KNOWN = 'launch 1'
UNTIL_KNOWN_BRIEFLY = 'spans 1'


@functools.cache
def build(*arguments):
    """-> the program; one that has no variable with -DNO_CONTEXT"""
    program = os.path.join(tempfile.mkdtemp(dir=BUILT.name), 'launches')
    subprocess.run(['gcc', '-O0', '-g', '-pthread', '-o', program, f'{FOLDER}/launches.c', f'{FOLDER}/variable.c',
                    f'{PROGRAMS}/ze_probes.c', *arguments], check=True)
    return program


def profile(program, *lines, source=''):
    """lines: what the program obeys -> {(thread, span, kernel): count} of the program, without those that are 0"""
    known = threading.Event()
    live_rows.follow('live', lambda row: row['record'] == 'launch' and row['span_id'] and known.set())
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        equal(target.stdout.readline(), b'ready\n', 'the program')
        process = start('-v', '-p', str(target.pid), '-s', f'ze-usdt:tracer=no,library={program}{source}', '-i', '250ms', '-k',
                        'csv:output=events.csv,rows=events,newline=lf', '-k', 'csv.live:output=live,rows=events', '--record', 'run')
        wait_until(lambda: os.path.exists('run') or process.poll() is not None, 'the beginning of the run')

        def obey(line):
            target.stdin.write(f'{line}\n'.encode())
            target.stdin.flush()
            equal(target.stdout.readline(), b'done\n', 'the program')
        for line in lines:
            obey(line)
            if line in (UNTIL_KNOWN, UNTIL_KNOWN_BRIEFLY):
                wait_until(lambda: known.wait(0.05) or obey(line), 'a launch with a span')  # pylint: disable=cell-var-from-loop
        process.send_signal(signal.SIGINT)
        process.communicate()
        target.stdin.close()
        counts = [line.decode().split() for line in target.stdout]
    equal(process.returncode, COMPLETE, 'exit status')
    return {(thread, int(span), kernel): int(count) for thread, span, kernel, count in counts if int(count)}


def read_rows(path='events.csv'):
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def text_of(rows, name):
    return next((row['text'] for row in rows if row['record'] == 'metadata' and row['name'] == name), None)


def early_of(rows):
    """-> launches before the files of the program were known"""
    return int(re.search(r'(\d+) before tables were ready', text_of(rows, 'launch stacks unwound')).group(1))


def launches_of(rows):
    """-> {(thread, span, kernel): count}"""
    counts = collections.Counter()
    for row in rows:
        if row['record'] != 'launch':
            continue
        trace, span, thread = row['trace_id'], row['span_id'], row['thread']
        equal(bool(trace), bool(span), 'ids')
        # Executions have no thread: that of the span is in the trace id.
        owner = bytes.fromhex(trace[:2]).decode() if trace else thread[:1]
        if thread and trace:
            equal(trace, thread[:1].encode().hex() * 16, 'trace')
        counts[{'f': 'first', 's': 'second', '': ''}[owner], int(span or '0', 16), row['name']] += int(row['count'])
    return dict(counts)


def check(found, wanted, early):
    """Launches before the files of the program are known have no span."""
    by_kernel = [collections.Counter(), collections.Counter()]
    missing = 0
    for counts, sums in zip((found, wanted), by_kernel):
        for (thread, _, kernel), count in counts.items():
            sums[thread, kernel] += count
    equal(*by_kernel, 'launches of each thread and kernel')
    for key in found.keys() | wanted.keys():
        if key[1]:
            missing += wanted.get(key, 0) - found.get(key, 0)
            require(found.get(key, 0) <= wanted.get(key, 0), f'{key}: {found.get(key)} of {wanted.get(key)}')
    require(0 <= missing <= early, f'{missing} launches have no span, and {early} were early')


@case('of a program with the variable', ['-no-pie', '-fno-pie'], needs=NEEDS)
@case('of a program that exports the variable', ['-Wl,--export-dynamic-symbol=otel_thread_ctx_v1'], needs=NEEDS)
def immediate(arguments):
    wanted = profile(build(*arguments), f'launch {ROUNDS}', UNTIL_KNOWN, f'launch {ROUNDS}')
    rows = read_rows()
    early = early_of(rows)
    check(launches_of(rows), wanted, early)
    counts = [int(number) for number in re.findall(r'\d+', text_of(rows, 'spans of threads'))]
    # It is known before the tables are.
    launched = sum(wanted.values())
    require(launched - early <= sum(counts) <= launched, f'{counts} of {launched} launches, {early} early')
    require(sum(count for (_, span, _), count in wanted.items() if span) - early <= counts[0], f'spans: {counts}')
    # The replay has the same launches.
    iaprof('--replay', 'run', '-k', 'csv:rows=events,newline=lf', '-o', 'replayed.csv').completes()
    equal(launches_of(read_rows('replayed.csv')), launches_of(rows), 'replayed launches')


@case('of command lists: of the thread that executes them', needs=NEEDS)
def lists():
    profile(build(), UNTIL_KNOWN, 'lists')
    equal(launches_of(row for row in read_rows() if not row['thread']), {('first', 2, 'add'): 30, ('first', 2, 'multiply'): 30, ('', 0, 'add'): 400,
                        ('', 0, 'multiply'): 400, ('first', 3, 'add'): 5000, ('first', 3, 'multiply'): 5000}, 'executions')


@case('more spans than the maps have room for: launches count without', needs=NEEDS)
def too_many():
    wanted = profile(build(), UNTIL_KNOWN_BRIEFLY, f'spans {MANY}', source=',map-size=256,drain=1s')
    rows = read_rows()
    found = collections.Counter()
    for row in rows:
        if row['record'] == 'launch' and row['name'] == 'one':
            found[bool(row['span_id'])] += int(row['count'])
    equal(sum(found.values()), wanted['main', 0, 'one'], 'launches')
    dropped = int(text_of(rows, 'spans dropped').split()[0])
    require(0 <= found[False] - dropped <= early_of(rows), f'dropped {dropped} spans of {found}')
    # One half of the map.
    require(found[True] >= 128 - early_of(rows), f'launches with a span: {found[True]}')


@case('spans=no: none', ',spans=no', needs=NEEDS)
@case('unwind=fp: none', ',unwind=fp', needs=NEEDS)
def unwanted(source):
    wanted = profile(build(), 'launch 3', source=source)
    found = launches_of(read_rows())
    equal({span for _, span, _ in found}, {0}, 'spans')
    equal(sum(found.values()), sum(wanted.values()), 'launches')


@case('spans that no sink writes are not recorded', False, needs=NEEDS)
@case('spans for the records of a sink', True, 'perfetto:output=trace', needs=NEEDS)
@case('spans for the stacks of a sink', True, 'pprof:spans=yes,output=profile', needs=NEEDS)
def unwritten(recorded, *sinks):
    program = build()
    process = start('--scope', 'command', '-s', f'ze-usdt:tracer=no,library={program}', '-s', 'cpu-stack', '-s', 'off-cpu',
                    *(argument for sink in ['firefox:output=run.json.gz', *sinks] for argument in ('-k', sink)), '--',
                    program, stdin=subprocess.PIPE)
    # The program ends when iaprof has read its files, for which its first launches ask.
    process.stdin.write(f'launch {ROUNDS}\n'.encode())
    process.stdin.flush()
    equal(process.stdout.readline(), b'ready\n', 'the program')
    equal(process.stdout.readline(), b'done\n', 'the program')
    wait_until(processes.Idle(process.pid), 'iaprof to be idle')
    process.stdin.write(f'launch {ROUNDS}\n'.encode())
    text = process.communicate()[1]
    equal(process.returncode, COMPLETE, f'exit status, with {text}')
    with gzip.open('run.json.gz', 'rt', encoding='utf-8') as file:
        metadata = set(re.findall(r'"(spans of threads[^"]*)"', file.read()))
    names = {f'spans of threads{source}' for source in ('', ' (ze-usdt)', ' (cpu-stack)', ' (off-cpu)')}
    require(len(metadata) == 3 and metadata < names if recorded else not metadata, f'metadata: {metadata}')


@case('spans=yes without spans warns that no program published any', '', 'no program published thread contexts', needs=NEEDS)
@case('spans=yes without unwind tables warns', ':unwind=fp', 'no source read thread contexts (', needs=NEEDS)
def missing(source, reason):
    for sink in ('csv', 'pprof', 'flamegraph'):
        # Other programs on this machine may have spans.
        result = iaprof('--scope', 'command', '-s', f'cpu-stack{source}', '-k', f'{sink}:spans=yes', '-o', f'out-{sink}',
                        '--', 'true')
        said = result.completes().err
        require(f'{sink}: spans=yes: no sample has a span: {reason}' in said, f'{sink}: {said}')


@case('spans=yes for stacks of a file warns, too')
def missing_in_file():
    write('in.folded', 'main;work 10\n')
    said = iaprof('-s', 'replay:file=in.folded', '-k', 'csv:spans=yes', '-o', 'out').completes().err
    require('csv: spans=yes: no sample has a span: no source read thread contexts (' in said, said)


if __name__ == '__main__':
    main()
