#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits have the span that their thread works on, and so has their time until the thread runs again.

The function that waits identifies the span: one is right or wrong for each single record.
"""
import collections
import csv
import functools
import glob
import os
import re
import signal
import subprocess
import tempfile

from harness import (COMPLETE, SOURCE, case, equal, iaprof, main, needs_program, needs_root, needs_sampling, require,
                     start, wait_until)
from otlp_request import Request
from web_server import Receiver

FOLDER = os.path.join(SOURCE, 'tests/cli/spans')
VALUE_TYPES = {'off-cpu', 'runnable'}  # and not "lost", which a busy machine adds
SPANS = {'span_1', 'span_2', 'span_3', 'span_4'}
OTHERS = {'no_record', 'half_a_span'}
BUILT = tempfile.TemporaryDirectory(prefix='iaprof-cli-')
NEEDS = [needs_root, needs_sampling, needs_program('gcc'), needs_program('nm')]


@functools.cache
def build():
    """-> the program, and its functions: (address, end, name)"""
    program = os.path.join(BUILT.name, 'waits')
    subprocess.run(['gcc', '-O1', '-g', '-pthread', '-no-pie', '-fno-pie', '-o', program, f'{FOLDER}/waits.c',
                    f'{FOLDER}/variable.c', '-Wl,--export-dynamic-symbol=otel_thread_ctx_v1'], check=True)
    lines = subprocess.run(['nm', '-S', program], check=True, capture_output=True, text=True).stdout.splitlines()
    symbols = [line.split() for line in lines]
    return program, [(int(fields[0], 16), int(fields[0], 16) + int(fields[1], 16), fields[3])
                     for fields in symbols if len(fields) == 4 and fields[3] in SPANS | OTHERS]


def asleep(pid, name):
    """Whether the thread of this name has called the function that it sleeps in."""
    for thread in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{thread}/stat', encoding='ascii') as file:
            text, _, state = file.read().rpartition(') ')
        if text.endswith(f'({name}') and state[0] == 'S':
            return True
    return False


def profile(program, *sinks, source='off-cpu:share=0', arguments=(), begins='run'):
    """Profiles some rounds of the program: as many as it takes until a wait of them has been recorded. begins: a pattern
    of the file that the run begins with, a capture, which is recorded, or another one."""
    with subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
        try:
            equal(target.stdout.readline(), b'ready\n', 'the program')
            wait_until(lambda: asleep(target.pid, 'third'), 'the thread that is asleep')
            record = ['--record', 'run'] if begins == 'run' else []
            process = start('-p', str(target.pid), '-s', source, *record, *sinks)
            wait_until(lambda: glob.glob(begins) or process.poll() is not None, 'the beginning of the run')
            for _ in range(3):
                target.stdin.write(b'begin\n')
                target.stdin.flush()
                equal(target.stdout.readline(), b'done\n', 'the program')
            process.send_signal(signal.SIGINT)
            process.communicate()
        finally:
            target.stdin.close()
    equal(process.returncode, COMPLETE, 'exit status')


Wait = collections.namedtuple('Wait', 'begin end thread function span value_type')


def read_waits(path, functions):
    with open(path, encoding='utf-8', newline='') as file:
        rows = [row for row in csv.DictReader(file) if row['record'] == 'sample']
    waits = []
    for row in rows:
        addresses = [int(frame, 16) for frame in row['stack'].split(';') if frame.startswith('0x')]
        function = next((name for first, end, name in functions for address in addresses if first < address <= end), None)
        if function:
            waits.append(Wait(int(row['begin']), int(row['time']), row['thread'], function,
                              (row['trace_id'], row['span_id']), row['value_type']))
    return waits


def span_of(thread, function):
    """As waits.c makes them."""
    name = thread[:1].encode()
    return name.hex() * 16, f'{name.hex()}{"00" * 6}{int(function[-1]):02x}'


def check(waits):
    """Waits before the tables of the process were ready have no span: all that end before the first one that has."""
    ready = min((wait.end for wait in waits if any(wait.span)), default=None)
    require(ready is not None, f'no wait has a span: {collections.Counter(wait.function for wait in waits)}')
    for wait in waits:
        if wait.function in OTHERS:
            equal(wait.span, ('', ''), f'span of {wait}')
        elif any(wait.span) or wait.begin > ready:
            equal(wait.span, span_of(wait.thread, wait.function), f'span of {wait}')
    wanted = {(thread, f'span_{i}') for thread in ('first', 'second') for i in (1, 2, 3)}
    found = {value_type: {(wait.thread, wait.function) for wait in waits if wait.value_type == value_type and any(wait.span)}
             for value_type in ('off-cpu', 'runnable')}
    require(found['off-cpu'] >= wanted, f'waits with spans: {found["off-cpu"]}')
    # Where a processor is free, a thread that is woken runs at once.
    require(found['runnable'], 'no time that a thread was runnable has a span')


@case('each wait has the span of its thread, and the threads that were asleep before, too', needs=NEEDS)
def live():
    program, functions = build()
    profile(program, '-k', 'csv:rows=events,output=events.csv,newline=lf')
    waits = read_waits('events.csv', functions)
    check(waits)
    equal({wait.span for wait in waits if wait.function == 'span_4'}, {span_of('third', 'span_4')}, 'the one asleep')


@case('links of waits, and the same ones in a replay', needs=NEEDS)
def links():
    program, _ = build()
    found = []
    with Receiver() as server:
        profile(program, '-k', f'otlp:lines=no,endpoint={server.url}')
        found.append(server.bodies[:])
    with Receiver() as server:
        iaprof('--replay', 'run', '-k', f'otlp:lines=no,endpoint={server.url}').completes()
        found.append(server.bodies[:])
    sums = []
    for bodies in found:
        counts = collections.Counter()
        for request in map(Request, bodies):
            for _, name, *_, samples in request.profiles:
                if name not in VALUE_TYPES:
                    continue
                for (attributes, stack), value in samples.items():
                    function = next((frame for frame in stack if frame in SPANS | OTHERS), None)
                    link = dict(attributes).get('link')
                    if function and link:
                        equal(link, span_of(dict(attributes)['thread.name'], function), f'link in {function}')
                    counts[name, function, link] += value
        sums.append(counts)
    equal(sums[1], sums[0], 'replayed')
    require({('off-cpu', function) for function in SPANS} <= {key[:2] for key in sums[0] if key[2]}, f'links: {sums[0]}')


def sums_of_rows(path, *columns):
    """-> {values of the columns: sum}, of the waits in an output of the sink csv"""
    sums = collections.Counter()
    with open(path, encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            if row['value_type'] in VALUE_TYPES:
                sums[tuple(row[column] for column in columns)] += int(row['value'])
    return sums


def sums_of_labels(path):
    """-> {(value type, trace, span): sum}, from go tool pprof -raw"""
    text = subprocess.run(['go', 'tool', 'pprof', '-raw', path], check=True, capture_output=True, encoding='utf-8',
                          env={**os.environ, 'HOME': os.getcwd(), 'PPROF_TMPDIR': os.getcwd()}).stdout
    types, *lines = text.split('\nSamples:\n')[1].split('\nLocations\n')[0].splitlines()
    types = [name.partition('/')[0] for name in types.replace('[dflt]', '').split()]
    sums, values = collections.Counter(), []
    for line in lines + ['0:']:
        if match := re.match(r'\s*((?:\d+\s+)*\d+):', line):
            sums.update({(name, *span): value for name, value in zip(types, values) if name in VALUE_TYPES})
            values, span = list(map(int, match[1].split())), ('', '')
        elif 'span_id:' in line:
            span = tuple(re.search(rf'{name}:\[(\w+)\]', line)[1] for name in ('trace_id', 'span_id'))
    return +sums


@case('sinks pprof, pprof-push and csv have the same spans', needs=[*NEEDS, needs_program('go')])
def formats():
    program, _ = build()
    profile(program, '-k', 'folded:output=/dev/null')
    with Receiver() as server:
        iaprof('--replay', 'run', '-k', 'pprof:spans=yes,output=out.pb.gz', '-k', 'pprof.plain:output=plain.pb.gz',
               '-k', 'csv:spans=yes,output=out.csv,newline=lf', '-k', 'csv.events:rows=events,output=events.csv,newline=lf',
               '-k', f'pprof-push:format=plain,spans=yes,url={server.url}').completes()
    with open('events.csv', encoding='utf-8', newline='') as file:
        wanted = collections.Counter()
        for row in csv.DictReader(file):
            if row['record'] == 'sample':
                wanted[row['value_type'], row['trace_id'], row['span_id']] += int(row['value'])
    require({key[1:] for key in wanted} >= {span_of(thread, f'span_{i}') for thread in ('first', 'second')
                                            for i in (1, 2, 3)}, f'spans: {wanted}')
    equal(sums_of_rows('out.csv', 'value_type', 'trace_id', 'span_id'), wanted, 'rows')
    equal(sums_of_labels('out.pb.gz'), wanted, 'labels')
    require(all(key[1:] == ('', '') for key in sums_of_labels('plain.pb.gz')), 'labels that nobody wants')
    pushed = collections.Counter()
    for body in server.bodies:
        with open('pushed.pb.gz', 'wb') as file:
            file.write(body)
        pushed.update(sums_of_labels('pushed.pb.gz'))
    equal(pushed, wanted, 'pushed')


def rows_of(path):
    """-> {(value type, trace, span, thread, stack): value}"""
    return sums_of_rows(path, 'value_type', 'trace_id', 'span_id', 'thread', 'stack')


def links_of(requests):
    """-> {(value type, trace, span): sum}"""
    sums = collections.Counter()
    for request in requests:
        for _, name, *_, samples in request.profiles:
            for (attributes, _), value in samples.items() if name in VALUE_TYPES else ():
                sums[name, *(dict(attributes).get('link') or ('', ''))] += value
    return sums


@case('a replay of a ring that keeps spans has the same ones as the sinks of its run', needs=[*NEEDS, needs_program('go')])
def ring():
    program, _ = build()
    # The plain ring is that of a run that separates spans for another sink.
    profile(program, '--continuous', '-i', '200ms', '-k', 'ring:folder=kept,spans=yes', '-k', 'ring.plain:folder=plain',
            '-k', 'csv:spans=yes,threads=name,output=run.csv,newline=lf', begins='kept/*.iaprof')
    sinks = ['-k', 'csv:spans=yes,threads=name,output=out.csv,newline=lf', '-k', 'pprof:spans=yes,output=out.pb.gz']
    with Receiver() as server:
        iaprof('--replay', 'kept', *sinks, '-k', f'otlp:lines=no,endpoint={server.url}').completes()
    live, replayed = rows_of('run.csv'), rows_of('out.csv')
    found = {(thread, function, (trace, span)) for _, trace, span, thread, stack in replayed for function in SPANS | OTHERS
             if span and function in stack.split(';')}
    for thread, function, span in found:
        equal(span, span_of(thread, function), f'span of {function}')
    require({function for _, function, _ in found} >= {'span_1', 'span_2', 'span_3'}, f'spans: {found}')
    equal(replayed, live, 'rows')
    sums = collections.Counter()
    for (value_type, trace, span, *_), value in live.items():
        sums[value_type, trace, span] += value
    equal(sums_of_labels('out.pb.gz'), sums, 'labels')
    equal(links_of(map(Request, server.bodies)), sums, 'links')
    iaprof('--replay', 'plain', *sinks).completes()
    merged = collections.Counter()
    for (value_type, _, _, thread, stack), value in live.items():
        merged[value_type, '', '', thread, stack] += value
    equal(rows_of('out.csv'), merged, 'a ring that keeps none')


@case('a ring that keeps no spans has each stack once, even if another sink has it once for each span', needs=NEEDS)
def plain_ring():
    program, _ = build()
    profile(program, '--continuous', '-i', '200ms', '-k', 'ring:folder=plain', '-k', 'csv:spans=yes,output=run.csv,newline=lf',
            arguments=['fresh'], begins='plain/*.iaprof')
    live = collections.Counter(key[-1] for key in rows_of('run.csv'))
    threads = 2 + 3 * 2  # of the program, and those of its three rounds
    require(max(live.values()) > 2 * threads, f'spans of a stack: {live}')
    for segment in glob.glob('plain/*.iaprof'):
        iaprof('--replay', segment, '-k', 'csv:rows=events,output=events.csv,newline=lf').completes()
        with open('events.csv', encoding='utf-8', newline='') as file:
            kept = collections.Counter(row['functions'] for row in csv.DictReader(file) if row['record'] == 'profile-stack')
        os.remove('events.csv')
        require(max(kept.values(), default=0) <= threads, f'records of a stack: {kept}')


@case('waits of too many spans are recorded without them, and counted', needs=NEEDS)
def many():
    program, functions = build()
    profile(program, '-k', 'csv:rows=events,output=events.csv,newline=lf', source='off-cpu:share=0,min=0,map-size=64',
            arguments=['fresh'])
    with open('events.csv', encoding='utf-8', newline='') as file:
        texts = {row['name']: row['text'] for row in csv.DictReader(file) if row['record'] == 'metadata'}
    require(int(texts.get('spans dropped', '0').split()[0]) > 0, f'spans dropped: {texts}')
    waits = read_waits('events.csv', functions)
    kept, dropped = collections.Counter(), collections.Counter()
    for wait in waits:
        if wait.function in SPANS and any(wait.span):
            trace, span = span_of(wait.thread, wait.function)
            equal((wait.span[0], wait.span[1][:2], wait.span[1][-2:]), (trace, span[:2], span[-2:]), f'span of {wait}')
        (kept if any(wait.span) else dropped)[wait.function] += 1
    require(kept, 'no wait has a span')
    require(set(dropped) & SPANS, f'waits without their spans: {dropped}')


@case('spans=no: no wait has a span', needs=NEEDS)
def unwanted():
    program, functions = build()
    profile(program, '-k', 'csv:rows=events,output=events.csv,newline=lf', source='off-cpu:share=0,spans=no')
    waits = read_waits('events.csv', functions)
    require({wait.function for wait in waits} >= SPANS, 'waits')
    equal({wait.span for wait in waits}, {('', '')}, 'spans')


if __name__ == '__main__':
    main()
