#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same frame has the same text in every sink: of one capture, the names that a reader of each format sees are those of
folded stacks without suffixes. The captures are one whose frames the test chose, and the demonstration. TAP.

A sink that is added gets an entry in SINKS: its options, and a function that reads its file -> names of frames.
"""
import csv
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

from firefox_profile import FirefoxProfile
from perfetto_trace import Trace
from reader import Reader, run_file
from stacks import (CALL, COUNT, JIT, LINUX_KERNEL, NANOSECONDS, OFFSET, PROGRAM, REASON, SEPARATOR, SOURCE, UNKNOWN,
                    Frame, equal, gpu_stack, module, write_profile)
from test_pprof import pprof

INLINED = 1
# Frames below a program, one after the other, and their names.
CHOSEN = (
    (Frame('main', file='/src/one.c', line=3), 'main'), (Frame('[unknown]', flags=UNKNOWN), '[libone.so.1]'),
    (Frame('[deleted]', flags=UNKNOWN), '[deleted]'), (Frame('std::vector<int>::at(unsigned long)'),) * 2,
    (Frame('outer', file='/src/one.c', line=7), 'outer'),
    (Frame('step', flags=INLINED, file='/src/one.h', line=9), 'step'), (Frame('lambda', JIT),) * 2,
    (Frame('zeCommandListAppend', CALL),) * 2, (Frame('do_syscall_64', LINUX_KERNEL),) * 2,
    (Frame('[unknown]', LINUX_KERNEL, flags=UNKNOWN), '[unknown]'))
VDSO = (Frame('[unknown]', flags=UNKNOWN), '[vdso]')


def text_of(frame_and_name):
    frame, name = frame_and_name
    return name.name if isinstance(name, Frame) else name


def chosen_capture():
    program = Frame('one', PROGRAM, pid=1)
    frames = [frame for frame, _ in CHOSEN]
    stacks = [module('/usr/lib/libone.so.1'),
              *((0, 1000, [program, *frames[:depth]]) for depth in range(1, len(frames) + 1)),
              (1, 700, gpu_stack(7, 'attention', 'send.ugm load', 'sbid', 16)), module('[vdso]'),
              (0, 1000, [program, VDSO[0]])]
    return write_profile('capture', pathlib.Path('chosen.iaprof'), [NANOSECONDS, COUNT], stacks)


def chosen_names(lines):
    """What they are by how they were made."""
    return {text_of(item) for item in (*CHOSEN, VDSO) if lines or not item[0].flags & INLINED} | {
        'one', 'model', 'main', 'attention', '-', 'tile.cl', 'matmul', 'send.ugm load', 'sbid', '0x10'}


def demo_capture():
    return pathlib.Path(os.environ['TEST_SOURCE_FOLDER'], 'examples/demo.iaprof').resolve()


def replay(capture, sink, options, path):
    path = pathlib.Path(path)
    for old in pathlib.Path('.').glob(f'{path.name.split(".")[0]}.*'):
        old.unlink()
    subprocess.run([os.environ['TEST_IAPROF'], '-q', '--replay', capture, '-k',
                    ','.join([f'{sink}:output={path}', *options])], check=True)
    return path


def read_folded(path):
    found = set()
    for part in pathlib.Path('.').glob(f'{path.stem}*.folded'):
        for line in part.read_text(encoding='utf-8').splitlines():
            found |= set(line.rsplit(' ', 1)[0].split(';'))
    return found


def read_csv(path):
    with open(path, encoding='utf-8', newline='') as file:
        return {name for row in csv.DictReader(file) for name in row['stack'].removeprefix("'").split(';')}


def read_speedscope(path):
    file = json.loads(path.read_text(encoding='utf-8'))
    return {re.sub(r' \(\d+\)$', '', frame['name']) for frame in file['shared']['frames']}


def read_firefox(path):
    profile = FirefoxProfile(path)
    return {frame.name for thread in profile.threads for _, frames, _ in profile.samples(thread) for frame in frames}


def read_perfetto(path):
    return {name for sample in Trace(path).samples for _, name in sample.stack}


def read_pprof(path):
    located = pprof(path, '-raw').split('\nLocations\n')[1].split('\nMappings\n')[0]
    lines = [re.match(r'(?: *\d+: 0x\w+(?: M=\d+)?)? +(.*) (?:\S*):\d+(?::\d+)? s=\d+', line) for line in
             located.splitlines()]
    assert all(lines), located
    return {line[1] for line in lines}


def read_page(window, path):
    """Without inlined functions of the CPU, which the page has and hides at first."""
    Reader(window, path)
    return set(window.evaluate('(({ names, kind, flags, own }) => names.slice(0, own).filter((_, frame) => !(flags[frame] & 1) || kind[frame] > 5))'
                               '(window.iaprof.model.frames)'))


def read_svg(path):
    titles = xml.etree.ElementTree.parse(path).iter('{http://www.w3.org/2000/svg}title')
    return {re.sub(r' \(\d+\)$', '', title.text.split('\n')[0]) for title in titles}


def read_summary(path):
    summary = json.loads(path.read_text(encoding='utf-8'))
    return {entry['name'] for kind in ('kernels', 'functions') for entry in summary.get(kind, [])}


# A sink: its options, its file, its reader, and kinds of frames that the format has in other places than names.
PLACES = (SEPARATOR, SOURCE, REASON, OFFSET)
SINKS = {
    'csv': (['annotate=no', 'pid=no', 'escape=no'], 'out.csv', read_csv, ()),
    'speedscope': ([], 'out.speedscope.json', read_speedscope, ()),
    'firefox': (['step=10s'], 'out.firefox.json.gz', read_firefox, ()),
    'perfetto': ([], 'out.pftrace', read_perfetto, ()),
    'pprof': (['lines=no'], 'out.pb.gz', read_pprof, PLACES),
}
# Sinks that show only a part.
PARTS = {'flamegraph': (['format=svg', 'value=cpu'], 'out.svg', read_svg),
         'summary': (['format=json'], 'out.json', read_summary)}
# Sinks that write the table of all frames.
LISTS = ('speedscope', 'flamegraph')
WITH_LINES = ('csv', 'speedscope', 'firefox', 'pprof')


def folded(capture, lines=False):
    options = ['annotate=no', 'pid=no', *(['lines=yes'] if lines else [])]
    return read_folded(replay(capture, 'folded', options, 'names.folded'))


def chosen_frames_have_their_names(sink, options, path, read, places):
    wanted = chosen_names(False) - ({'-', 'tile.cl', 'sbid', '0x10'} if places else set())
    equal(read(replay(chosen_capture(), sink, options, path)), wanted, f'names in {sink}')


def inlined_frames_have_their_names(sink):
    """With lines they are frames. In text, the place follows the name; other formats have it in a member."""
    options, path, read, places = SINKS[sink]
    options = [option for option in options if not option.startswith('lines=')] + ['lines=yes']
    found = read(replay(chosen_capture(), sink, options, path))
    wanted = chosen_names(True) - ({'-', 'tile.cl', 'sbid', '0x10'} if places else set())
    if sink == 'csv':
        wanted = wanted - {'outer', 'step'} | {'main:one.c:3', 'outer:one.c:7', 'step:one.h:9'}
    equal(found, wanted, f'names in {sink}')


def folded_stacks_have_the_names():
    equal(folded(chosen_capture()), chosen_names(False), 'names in folded stacks')
    annotated = read_folded(replay(chosen_capture(), 'folded', ['pid=no'], 'names.folded'))
    equal({re.sub(r'_\[[kjiGg]\]$', '', name) for name in annotated}, chosen_names(False), 'names before suffixes')


def the_demo_has_the_same_names(sink, options, path, read, _places):
    """Names that pprof has in other places are left out, and stacks that Perfetto has no sample of."""
    wanted = folded(demo_capture())
    found = read(replay(demo_capture(), sink, options, path))
    # Losses without a value are rows of csv, and frames of nothing else.
    losses = {name for name in found - wanted if sink == 'csv'}
    # An interpreter's functions without names are merged; these sinks list their frames, too, which no stack has.
    merged = {name for name in found if re.match(r'\[(lib)?python[^+]*\+0x', name)} if sink in LISTS else set()
    equal(found - wanted - losses - merged, set(), f'names that only {sink} has')
    if sink == 'csv':
        with open(path, encoding='utf-8', newline='') as file:
            lost = [row['stack'] for row in csv.DictReader(file) if row['value_type'].startswith('lost')]
        assert losses <= {name for stack in lost for name in stack.split(';')}, losses
    if sink in ('csv', 'speedscope', 'firefox', 'flamegraph'):
        equal(wanted - found, set(), f'names that {sink} lacks')
    assert len(found) > len(wanted) / 3, f'{sink} has {len(found)} of {len(wanted)} names'


def parts_have_the_same_names(sink):
    options, path, read = PARTS[sink]
    for capture, wanted in (chosen_capture(), chosen_names(False)), (demo_capture(), folded(demo_capture())):
        found = read(replay(capture, sink, options, path))
        assert found and found <= wanted, f'{sink}: {found - wanted}'


def top_has_the_names():
    text = replay(chosen_capture(), 'top', ['batch=yes', 'count=100'], 'out.txt').read_text(encoding='utf-8')
    functions = chosen_names(False) - {'-', 'tile.cl', 'sbid', '0x10', 'attention'}
    equal({name for name in functions if name not in text}, set(), 'names that top lacks')


def names_in_the_page(window):
    for check in chosen_frames_have_their_names, the_demo_has_the_same_names:
        check('flamegraph', [], 'out.html', functools.partial(read_page, window), ())


def cases():
    yield 'names in folded stacks', folded_stacks_have_the_names
    for sink, how in SINKS.items():
        yield f'names in {sink}', functools.partial(chosen_frames_have_their_names, sink, *how)
        yield f'names of the demo in {sink}', functools.partial(the_demo_has_the_same_names, sink, *how)
    for sink in WITH_LINES:
        yield f'inlined names in {sink}', functools.partial(inlined_frames_have_their_names, sink)
    for sink in PARTS:
        yield f'names in a part: {sink}', functools.partial(parts_have_the_same_names, sink)
    yield 'names in top', top_has_the_names


PAGE_CASES = (names_in_the_page,)

if __name__ == '__main__':
    sys.exit(run_file(cases()))
