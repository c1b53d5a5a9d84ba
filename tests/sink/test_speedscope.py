#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink speedscope: its file by the rules of the format; and in speedscope itself, where that is, its files and those
of the other sinks that speedscope reads. TAP.

No distribution packages speedscope. ./bootstrap test installs its npm package into the build folder where npm is;
TEST_SPEEDSCOPE=.../node_modules/speedscope in the environment names another copy.
"""
import base64
import collections
import json
import os
import pathlib
import re
import sys

from reader import run_file
from stacks import (CALL, COUNT, LINUX_KERNEL, NANOSECONDS, PROGRAM, UNKNOWN, Frame, Skip, Times, equal, gpu_stack,
                    write_profile)

SECOND = 1_000_000_000

# Its npm package, which ./bootstrap test installs.
FOLDER = pathlib.Path(os.environ.get('TEST_SPEEDSCOPE') or
                      os.path.join(os.environ['TEST_NPM_FOLDER'], 'node_modules/speedscope'))


def write(types, stacks, options=(), **how):
    return write_profile('speedscope', pathlib.Path('out.speedscope.json'), types, stacks, options=options, **how)


def read(path):
    """-> {profile's name: (unit, {stack, the root first: value})}, checked as the format's schema has it"""
    file = json.loads(path.read_text(encoding='utf-8'))
    equal(file['$schema'], 'https://www.speedscope.app/file-format-schema.json', 'schema')
    frames = file['shared']['frames']
    assert all(isinstance(frame['name'], str) and set(frame) <= {'name', 'file', 'line', 'col'} for frame in frames)
    found = {}
    for profile in file['profiles']:
        equal(profile['type'], 'sampled', 'type')
        assert profile['unit'] in ('none', 'nanoseconds', 'microseconds', 'milliseconds', 'seconds', 'bytes')
        equal(len(profile['samples']), len(profile['weights']), 'weights')
        equal((profile['startValue'], profile['endValue']), (0, sum(profile['weights'])), 'range')
        sums = collections.Counter()
        for stack, weight in zip(profile['samples'], profile['weights']):
            sums[tuple(frames[frame]['name'] for frame in stack)] += weight
        found[profile['name']] = profile['unit'], dict(sums)
    return found


def every_value_type_is_a_profile():
    stacks = [(0, 600, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('left')]),
              (0, 300, [Frame('one', PROGRAM, pid=2), Frame('main')]),
              (1, 70, gpu_stack(7, 'attention', 'dpas', 'sbid', 16))]
    found = read(write([NANOSECONDS, (*COUNT, 'EU'), ('unused', 'count')], stacks))
    device = ('model (7)', 'main', 'attention', '-', 'tile.cl', 'matmul', 'dpas', 'sbid', '0x10')
    equal(found, {'CPU time': ('nanoseconds', {('one (1)', 'main', 'left'): 600, ('one (2)', 'main'): 300}),
                  'GPU samples (EU-time)': ('none', {device: 70})}, 'profiles')


def an_empty_profile_is_a_file():
    equal(read(write([COUNT], [])), {}, 'profiles')


def frames_of_several_addresses_are_one():
    """In speedscope a function's total is that of its frame."""
    stacks = [(0, 10, [Frame('one', PROGRAM), Frame('main', offset=offset)]) for offset in (1, 2, 3)]
    path = write([COUNT], stacks)
    equal(len(json.loads(path.read_text(encoding='utf-8'))['shared']['frames']), 2, 'frames')


def samples_are_in_order_of_time():
    """Values without a time are at the beginning."""
    left, right = ([Frame('one', PROGRAM), Frame(name)] for name in ('left', 'right'))
    stacks = [(0, 5, left, 3 * SECOND), (0, 7, left, SECOND),
              (0, 1, right, 2 * SECOND), (0, 4, right)]
    path = write([COUNT], stacks, times=Times(end=5 * SECOND, width=20_000_000))
    file = json.loads(path.read_text(encoding='utf-8'))
    profile, = file['profiles']
    names = [file['shared']['frames'][stack[-1]]['name'] for stack in profile['samples']]
    equal(list(zip(names, profile['weights'])), [('right', 4), ('left', 7), ('right', 1), ('left', 5)], 'samples')


def values_of_devices_are_shown_first():
    device = gpu_stack(7, 'attention', 'dpas', 'sbid', 16)
    cpu, gpu, time = (0, 600, [Frame('one', PROGRAM), Frame('main')]), (1, 70, device), (2, 9, device)
    for stacks, shown in (([cpu, gpu, time], 'GPU time'), ([cpu, gpu], 'GPU samples'), ([gpu], 'GPU samples'),
                          ([cpu], 'CPU time')):
        file = json.loads(write([NANOSECONDS, COUNT, ('gpu-time', 'nanoseconds')], stacks).read_text(encoding='utf-8'))
        equal(file['profiles'][file['activeProfileIndex']]['name'], shown, 'profile that speedscope opens')


def unknown_functions_have_the_name_of_their_file():
    stacks = [(0, 10, [Frame('one', PROGRAM), Frame('[unknown]', flags=UNKNOWN), Frame('[deleted]', flags=UNKNOWN)])]
    found = read(write([COUNT], stacks, modules=[('/usr/lib/libone.so', 'c0ffee')]))
    equal(found, {COUNT[0]: ('none', {('one', '[libone.so]', '[deleted]'): 10})}, 'frames')


class Viewer:
    """speedscope in a browser."""

    def __init__(self, window):
        if not FOLDER.is_dir():
            raise Skip(f'no speedscope in {FOLDER} (./bootstrap test installs it where npm is)')
        self.window = window

    def open(self, path):
        bytes_ = base64.b64encode(path.read_bytes()).decode()
        script = pathlib.Path('profile.js')
        script.write_text(f'speedscope.loadFileFromBase64("{path.name}", "{bytes_}")', encoding='ascii')
        page = (FOLDER / 'dist/release/index.html').resolve()
        self.window.leave()
        self.window.call('Page.navigate', url=f'{page.as_uri()}#localProfilePath={script.resolve()}')
        self.window.wait_for('document.body?.innerText.includes("Sandwich")')

    def functions(self):
        """Its table -> {name: (total, self)}"""
        self.window.press('3')
        shown = self.window.wait_for('/%[)]/.test(document.body.innerText) && document.body.innerText')
        rows = re.findall(r'([\d.,]+)(\S*) \([^)]*%\)\s+([\d.,]+)(\S*) \([^)]*%\)\s+(.*)', shown)
        equal(len({name for *_, name in rows}), len(rows), 'a name is one row')
        return {name: (number_of(total, unit), number_of(own, own_unit)) for total, unit, own, own_unit, name in rows}


def number_of(text, unit):
    factor = {'': 1, 'ns': 1, 'µs': 1000, 'ms': 1_000_000, 's': 1_000_000_000}[unit]
    return round(float(text.replace(',', '')) * factor)


CPU = [(0, 600_000_000, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('left')]),
       (0, 300_000_000, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('right<T>')]),
       (0, 50_000_000, [Frame('one', PROGRAM, pid=1), Frame('main')])]
GPU = [(0, 500, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)), (0, 200, gpu_stack(7, 'attention', 'dpas', 'send', 16)),
       (0, 300, gpu_stack(7, 'ffn', 'mov', 'sbid', 32))]
NPU = [(0, 20, [Frame('app', PROGRAM, pid=9), Frame('main'), Frame('zeCommandQueueExecuteCommandLists', CALL),
                Frame('ivpu_submit_ioctl', LINUX_KERNEL)]),
       (0, 3, [Frame('app', PROGRAM, pid=9), Frame('main'), Frame('ivpu_open', LINUX_KERNEL)])]
# Functions that every format has, by the stacks above: (total, itself).
RUNS = {'CPU': (NANOSECONDS, CPU, {'main': (950_000_000, 50_000_000), 'left': (600_000_000,) * 2,
                                   'right<T>': (300_000_000,) * 2}),
        'GPU': (COUNT, GPU, {'main': (1000, 0), 'attention': (700, 0), 'ffn': (300, 0)}),
        'NPU': (('npu-calls', 'count'), NPU, {'main': (23, 0), 'zeCommandQueueExecuteCommandLists': (20, 0)})}


def shows_our_totals(sink, file_name, window):
    viewer = Viewer(window)
    for run, (value_type, stacks, expected) in RUNS.items():
        viewer.open(write_profile(sink, pathlib.Path(file_name), [value_type], stacks))
        found = viewer.functions()
        equal({name: found.get(name) for name in expected}, expected, f'{run}: functions')
        equal(sum(own for _, own in found.values()), sum(value for _, value, _ in stacks), f'{run}: total')


def speedscope_shows_its_own_format(window):
    shows_our_totals('speedscope', 'out.speedscope.json', window)


def speedscope_opens_the_stalls(window):
    viewer = Viewer(window)
    viewer.open(write([NANOSECONDS, COUNT], CPU + [(1, value, frames) for _, value, frames in GPU]))
    equal(viewer.functions()['attention'], (700, 0), 'the first table')


def speedscope_shows_folded_stacks(window):
    shows_our_totals('folded', 'out.folded', window)


def speedscope_shows_pprof(window):
    shows_our_totals('pprof', 'out.pb.gz', window)


def speedscope_shows_the_title(window):
    viewer = Viewer(window)
    viewer.open(write([NANOSECONDS], CPU, options=['title=a run']))
    assert 'a run' in window.evaluate('document.title + document.body.innerText')


CASES = (every_value_type_is_a_profile, an_empty_profile_is_a_file, frames_of_several_addresses_are_one,
         samples_are_in_order_of_time, values_of_devices_are_shown_first, unknown_functions_have_the_name_of_their_file)
PAGE_CASES = (speedscope_shows_its_own_format, speedscope_opens_the_stalls, speedscope_shows_folded_stacks,
              speedscope_shows_pprof, speedscope_shows_the_title)

if __name__ == '__main__':
    sys.exit(run_file(CASES))
