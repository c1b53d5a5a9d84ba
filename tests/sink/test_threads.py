#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads in every output, by what reads it: a program whose threads have known names and ids is profiled once, and the
capture is replayed for each sink. Devices of profiles that are made here. TAP.
"""
import collections
import csv
import functools
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from perfetto_trace import Trace
from reader import Reader, make_page, run_file
from stacks import COUNT, NANOSECONDS, PROGRAM, Frame, Origin, Skip, Times, equal, gpu_stack, write_profile
from test_pprof import pprof

FOLDER = tempfile.TemporaryDirectory()  # of what all cases read
NAMES = ['reader', 'writer', 'pool', 'pool', 'a;b']


def iaprof(*arguments):
    return subprocess.run([os.environ['TEST_IAPROF'], '-q', *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, encoding='utf-8', check=False)


@functools.lru_cache(maxsize=None)
def recorded():
    """-> {tid: name}, as the program printed them; its capture"""
    path = pathlib.Path(FOLDER.name, 'run.iaprof')
    outcome = iaprof('--scope', 'command', '-s', 'cpu-stack:frequency=999', '-k', f'capture:output={path},times=20ms', '--',
                     os.environ['TEST_THREAD_PROGRAM'], '0.2', *NAMES)
    if outcome.returncode == 3 or os.geteuid():
        raise Skip(f'this machine cannot be profiled: {outcome.stderr}')
    equal(outcome.returncode, 0, outcome.stderr)
    threads = {int(tid): name for name, tid in (line.rsplit(' ', 1) for line in outcome.stdout.splitlines())}
    equal(sorted(threads.values()), sorted(NAMES), 'threads of the program')
    return threads, path


def program_threads():
    return recorded()[0]


def replayed(sink, path, *options):
    outcome = iaprof('--replay', recorded()[1], '-k', ','.join([f'{sink}:output={path}', *options]))
    equal(outcome.returncode, 0, outcome.stderr)
    return pathlib.Path(path)


def folded(*options):
    """-> {frames of the program's stacks: value}"""
    lines = replayed('folded', 'run.folded', *options).read_text(encoding='utf-8').splitlines()
    stacks = collections.Counter()
    for line in lines:
        stack, value = line.rsplit(' ', 1)
        if stack.startswith('thread_program'):
            stacks[tuple(stack.split(';'))] += int(value)
    return stacks


def shown():
    """-> names with ids, as they are in stacks: a ';' would end a frame"""
    return {f'{name.replace(";", ":")} ({tid})' for tid, name in program_threads().items()}


def burning(stacks):
    """Stacks of the threads' function: the main thread does little, and may have no samples."""
    return {stack: value for stack, value in stacks.items() if 'burn' in stack}


def folded_text_has_threads_on_request():
    merged, each, by_name = folded(), folded('threads=yes'), folded('threads=name')
    equal({stack[1] for stack in burning(each)}, shown(), 'threads')
    equal({stack[1] for stack in burning(by_name)}, {name.replace(';', ':') for name in NAMES}, 'names')
    for stacks in each, by_name:
        without = collections.Counter()
        for (program, _, *rest), value in stacks.items():
            without[(program, *rest)] += value
        equal(without, merged, 'stacks without their threads')


def csv_has_columns():
    def rows(*options):
        with open(replayed('csv', 'run.csv', *options), encoding='utf-8', newline='') as file:
            return [row for row in csv.DictReader(file) if row['program'] == 'thread_program' and 'burn' in row['stack']]
    equal({(row['tid'], row['thread']) for row in rows()}, {('', '')}, 'merged threads')
    equal({(int(row['tid']), row['thread']) for row in rows('threads=yes')}, set(program_threads().items()), 'threads')
    equal({(row['tid'], row['thread']) for row in rows('threads=name')}, {('', name) for name in NAMES}, 'names')
    with open(replayed('csv', 'run.csv', 'rows=events'), encoding='utf-8', newline='') as file:
        events = [row for row in csv.DictReader(file) if row['record'] == 'sample' and row['name'] == 'thread_program']
    # The main thread may have samples from before it named itself.
    equal({(int(row['tid']), row['thread']) for row in events if int(row['tid']) in program_threads()} -
          {(tid, 'thread_program') for tid in program_threads()}, set(program_threads().items()), 'samples')


def pprof_has_labels():
    path = replayed('pprof', 'run.pb.gz')
    text = pprof(path, '-tagfocus=thread=.', '-focus=burn', '-tags')
    tags, key = collections.defaultdict(set), None
    for line in text.splitlines():
        if match := re.match(r' *(\w+): Total ', line):
            key = match[1]
        elif match := re.match(r' *\S+ +\( *[\d.]+%\): (.*)$', line):
            tags[key].add(match[1])
    equal(tags['thread'] & set(NAMES), set(NAMES), 'names')
    assert {str(tid) for tid in program_threads()} <= tags['thread_id'], tags


def perfetto_has_tracks():
    trace = Trace(replayed('perfetto', 'run.pftrace'))
    found = {(sample.tid, trace.threads.get((sample.pid, sample.tid))) for sample in trace.samples
             if any(name == 'burn' for _, name in sample.stack)}
    equal({tid: name.decode() if isinstance(name, bytes) else name for tid, name in found}, program_threads(), 'tracks')


def speedscope_has_profiles():
    whole = json.loads(replayed('speedscope', 'run.json').read_text(encoding='utf-8'))
    equal([profile['name'] for profile in whole['profiles']], ['CPU time'], 'profiles by default')
    each = json.loads(replayed('speedscope', 'run.json', 'threads=yes').read_text(encoding='utf-8'))
    names = {profile['name'] for profile in each['profiles']}
    wanted = {f'CPU time: thread_program {name} ({tid})' for tid, name in program_threads().items()}
    assert wanted <= names, f'{wanted} are not among {names}'
    equal(sum(sum(profile['weights']) for profile in each['profiles']), sum(whole['profiles'][0]['weights']), 'sum')
    equal(len(names), len(each['profiles']), 'names are different')
    hottest = max(each['profiles'], key=lambda profile: sum(profile['weights']))
    equal(sum(each['profiles'][each['activeProfileIndex']]['weights']), sum(hottest['weights']), 'the first shown')


def firefox_has_threads():
    profile = json.loads(gzip.decompress(replayed('firefox', 'run.json.gz').read_bytes()))
    threads = {thread['tid']: thread['name'] for thread in profile['threads'] if thread['processName'] == 'thread_program'}
    for tid, name in program_threads().items():
        found = {found for key, found in threads.items() if key.split('/')[0] == str(tid)}
        # It may have been sampled before it gave itself its name.
        equal(found - {'thread_program: CPU time'}, {f'{name}: CPU time'}, 'name')


def top_has_rows():
    outcome = iaprof('--replay', recorded()[1], '-k', 'top:batch=yes,table=processes,count=10000')
    for tid, name in program_threads().items():
        assert re.search(rf' thread_program:\d+/{tid} {name}$', outcome.stdout, re.MULTILINE), f'{tid} is not in {outcome.stdout}'


def labels_have_devices():
    stacks = [(0, 70, [Origin(12, 'main', 'GPU 0'), *gpu_stack(7, 'caller', 'send', 'sbid', 16)]),
              (0, 30, [Origin(12, 'main', 'GPU 1'), *gpu_stack(7, 'caller', 'send', 'sbid', 16)])]
    path = write_profile('pprof', 'devices.pb.gz', [COUNT], stacks)
    text = pprof(path, '-tags')
    assert re.search(r' 70\.0 .*: GPU 0\n +30\.0 .*: GPU 1\n', text), text


def program(pid, *names, **origin):
    return [Origin(**origin), Frame(f'p{pid}', PROGRAM, pid=pid), *map(Frame, names)]


def thread_page():
    """Threads of two processes, of which one has only its main thread; samples of two devices."""
    stacks = [(0, 400, program(7, 'main', 'left', tid=7, thread='p7'), 1_000),
              (0, 300, program(7, 'work', 'left', tid=8, thread='pool'), 1_000),
              (0, 150, program(7, 'work', 'right', tid=9, thread='pool'), 30_000_000),
              (0, 100, program(7, 'work', 'right', tid=10, thread='other'), 30_000_000),
              (0, 40, program(20, 'main', tid=20, thread='p20'), 30_000_000),
              (1, 70, [Origin(8, 'pool', 'GPU 0'), *gpu_stack(7, 'launch', 'send', 'sbid', 16)], 1_000),
              (1, 30, [Origin(8, 'pool', 'GPU 1'), *gpu_stack(7, 'launch', 'send', 'sbid', 16)], 1_000),
              (1, 9, [Origin(9, 'pool', 'GPU 1'), *gpu_stack(7, 'other', 'dpas', 'send', 32)], 30_000_000)]
    return make_page([NANOSECONDS, COUNT], stacks, times=Times(60_000_000), options=['value=cpu'])


def options_of(reader, name):
    return reader.evaluate(f'[...document.getElementById("{name}").options].map(option => option.value)')


def sums(reader):
    """-> {name: total} of the function table"""
    reader.view('Table')
    return dict(reader.evaluate('[...document.querySelectorAll("#table-body tbody tr")].map(row => ['
                                'row.cells[0].firstChild.nextSibling.textContent, '
                                'Number(row.cells[2].title.replace(/[^0-9]/g, ""))])'))


def the_page_chooses_threads(window):
    reader = Reader(window, thread_page())
    whole = {'p7 (7)': 950, 'p20 (20)': 40, 'main': 440, 'work': 550, 'left': 700, 'right': 250}
    equal(sums(reader), whole, 'threads are merged at first')
    equal(options_of(reader, 'thread'), ['', 'other (10)', 'p7 (7)', 'pool', 'pool (8)', 'pool (9)'], 'choices')
    reader.choose('thread', 'pool')
    equal(sums(reader), {'p7 (7)': 450, 'work': 450, 'left': 300, 'right': 150}, 'threads of one name')
    reader.choose('thread', 'pool (9)')
    equal(sums(reader), {'p7 (7)': 150, 'work': 150, 'right': 150}, 'a thread')
    assert 'thread=pool+%289%29' in reader.evaluate('location.hash'), reader.evaluate('location.hash')
    reader.view('Flame graph')
    reader.click_text('#filters button', 'thread pool (9)  ×')
    equal(sums(reader), whole, 'the choice is removed')
    reader.choose('process', '20')
    equal(options_of(reader, 'thread'), [''], 'choices of a process with one thread')
    reader = Reader(window, 'page.html', '#thread=pool+(8)&view=table')
    equal(sums(reader), {'p7 (7)': 300, 'work': 300, 'left': 300}, 'by the address')
    reader = Reader(window, 'page.html', '#thread=nobody&device=none')
    equal(sums(reader), whole, 'a thread that is not there is ignored')


def the_page_shows_threads(window):
    reader = Reader(window, thread_page())
    reader.choose('threads', 'yes')
    found = sums(reader)
    equal({name: found.get(name) for name in ('p7 (7)', 'pool (8)', 'pool (9)', 'other (10)', 'left')},
          {'p7 (7)': 950, 'pool (8)': 300, 'pool (9)': 150, 'other (10)': 100, 'left': 700}, 'each')
    reader.choose('threads', 'name')
    found = sums(reader)
    equal({name: found.get(name) for name in ('pool', 'other', 'right')}, {'pool': 450, 'other': 100, 'right': 250}, 'by name')
    reader.choose('threads', 'no')
    reader.choose('table-group', 'thread')
    equal(sums(reader), {'p7 (7)': 400, 'pool (8)': 300, 'pool (9)': 150, 'other (10)': 100}, 'grouped by thread')
    reader = Reader(window, make_page([NANOSECONDS], [(0, 5, program(7, 'main', tid=7, thread='p7')),
                                                      (0, 6, program(7, 'work', tid=8, thread='pool'))],
                                      options=['threads=yes']))
    equal(sums(reader), {'p7 (7)': 5 + 6, 'main': 5, 'work': 6, 'pool (8)': 6}, 'by the option')


def the_page_chooses_devices(window):
    reader = Reader(window, thread_page(), '#value=gpu-stalls')
    equal(options_of(reader, 'device'), ['', 'GPU 0', 'GPU 1'], 'choices')
    equal(sums(reader)['matmul'], 109, 'all devices')
    reader.choose('device', 'GPU 1')
    found = sums(reader)
    equal((found['matmul'], found['launch'], found['other']), (39, 30, 9), 'a device')
    reader.choose('thread', 'pool (8)')
    found = sums(reader)
    equal((found['matmul'], 'other' in found), (30, False), 'a device and a thread')


def lanes_are_of_threads(window):
    reader = Reader(window, thread_page())
    rows = reader.evaluate('window.iaprof.activity.samples.map(row => [row.label, row.total])')
    equal(dict(rows), {'CPU samples · p7 (7)': 400, 'CPU samples · pool (8) · p7 (7)': 300,
                       'CPU samples · pool (9) · p7 (7)': 150, 'CPU samples · other (10) · p7 (7)': 100,
                       'CPU samples · p20 (20)': 40, 'GPU samples · GPU 0 · model (7)': 70,
                       'GPU samples · GPU 1 · model (7)': 39}, 'lanes')


CASES = (folded_text_has_threads_on_request, csv_has_columns, pprof_has_labels, perfetto_has_tracks,
         speedscope_has_profiles, firefox_has_threads, top_has_rows, labels_have_devices)
PAGE_CASES = (the_page_chooses_threads, the_page_shows_threads, the_page_chooses_devices, lanes_are_of_threads)


if __name__ == '__main__':
    sys.exit(run_file(CASES))
