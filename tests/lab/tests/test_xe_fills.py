#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: module xe
# lab: seconds 1800
# lab: runtime
# lab: covers plugins/ze-usdt/** engine/correlator/** tests/lab/flame_graph/** tests/lab/level_zero/** tests/lab/opencl/**
"""Rows in kernels inside Intel's driver are credited to the fills, copies and queries that it runs them for, and to no other
kernel. TAP.

The program finds the driver's kernels in its memory, and so their true addresses. What cannot be decided is named as such.
"""
import functools
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from flame_graph import double, heaps
from flame_graph.profile import BUILD, SOURCE, TRACER, Profile
from harness.cases import check, equal, run, started

PROGRAMS = BUILD / 'tests/lab/level_zero'
FILL, COPY, IMAGE_FILL, IMAGE_COPY, TIMESTAMPS = (
    '[memory fill]', '[memory copy]', '[image fill]', '[image copy]', '[kernel timestamps]')
# What the driver's kernels begin with.
CLASSES = {'FillBuffer': FILL, 'CopyBufferTo': COPY, 'CopyBufferRect': COPY, 'FillImage': IMAGE_FILL, 'CopyImage': IMAGE_COPY,
           'QueryKernelTimestamps': TIMESTAMPS}
LEVEL_ZERO = {'fill': FILL, 'copy': COPY, 'region': COPY, 'image': IMAGE_COPY, 'timestamps': TIMESTAMPS}
OPENCL = {'fill': FILL, 'copy': COPY, 'rectangle': COPY, 'svm_copy': COPY, 'image': IMAGE_COPY, 'image_fill': IMAGE_FILL}
OWN = {'fills': 'tiny', 'opencl-fills': 'add'}


class Fills:
    """A program that does one step after another."""

    def __init__(self, product, name, kind, preload=''):
        arguments = [PROGRAMS / f'modules/transformer.{product}.bin', kind] if name == 'fills' else []
        self.own = OWN[name]
        self.process = started(subprocess.Popen(
            [SOURCE / 'tests/lab/guest/in-chroot', 'env', f'LD_PRELOAD={preload}',
             SOURCE / 'tests/lab/level_zero/run-without-gpu', product, PROGRAMS / name, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding='utf-8'))
        self.said = self.process.stdout.readline()

    def steps(self, *names):
        for name in names:
            self.process.stdin.write(f'{name}\n')
            self.process.stdin.flush()
            line = ''
            while not line.startswith('done'):
                line = self.process.stdout.readline()
                check(line, f'the program ended in step {name}: {self.said}')
                self.said += line

    def code(self):
        """{class or name of the program's kernel: addresses of rows in it, relative to the heap}"""
        self.steps('addresses')
        starts = heaps.read_reservations(self.said)
        found = {}
        for kind, *words in (line.split('\t') for line in self.said.splitlines()):
            if kind != 'code':
                continue
            pid, name, address, size = int(words[0]), words[1], int(words[2], 16), int(words[3])
            place = address - heaps.base(starts.get(pid, []), address)
            known = next((known for start, known in CLASSES.items() if name.startswith(start)), name)
            # Where the instructions of the program's kernel begin is known of the first one only.
            size = min(size, 256) if known in CLASSES.values() else 1
            found.setdefault(known, set()).update(range(place, place + size, 16))
        return {name: sorted(places) for name, places in found.items()}

    def end(self):
        self.process.communicate()
        equal(self.process.returncode, 0, 'status of the program')


def make_rows(code, names):
    return [double.Row(0, '0-3', place, {'active': 3 + number % 50, 'sbid': 1 + number % 7})
            for name in names for number, place in enumerate(code[name])]


def produced(code, samples, name):
    return sum(sum(samples.get((0, place), {}).values()) for place in code[name])


def lines(profile):
    """(frames, count) of each line."""
    for line in profile.folded.splitlines():
        stack, _, count = line.rpartition(' ')
        yield stack.split(';'), int(count)


def is_launched_by(frames, step):
    return any(frame == f'launch_{step}' or frame.startswith(f'launch_{step}:') for frame in frames)


def each_step(product, name, kind, wanted):
    """The program's own kernel and one call for which the driver runs another, in a run of its own: all rows of the driver's
    kernels are of that call, and all others of the program's kernel."""
    program = Fills(product, name, kind, TRACER)
    program.steps('kernel', *wanted)
    code = program.code()
    check(set(code) >= {program.own, *wanted.values()}, f'kernels: {code}')
    total = 0
    for step, kernel in wanted.items():
        with Profile(product, make_rows(code, (program.own, kernel)), ['pace 20000']) as profile:
            program.steps('kernel', step)
            double.play()
            samples, _totals = double.truth()
        found = {program.own: 0, kernel: 0}
        for frames, count in lines(profile):
            is_driver = f'{kernel}_[G]' in frames
            check((is_driver or any(frame.startswith(f'{program.own}:') or frame == f'{program.own}_[G]' for frame in frames))
                  and is_launched_by(frames, step if is_driver else 'kernel') and '[ambiguous]' not in frames,
                  f'{step}: wrong: {frames} ({profile.said})')
            found[kernel if is_driver else program.own] += count
        equal(found, {name: produced(code, samples, name) for name in found}, f'{step}: samples ({profile.said})')
        check(all(found.values()), f'the double played nothing: {found}')
        total += sum(found.values())
    program.end()
    return f'{total} samples'


def two_at_once(product):
    """Fills and copies in one interval: rows of either are of one of them, and of no other kernel."""
    program = Fills(product, 'fills', 'immediate', TRACER)
    program.steps('kernel', 'fill', 'copy')
    code = program.code()
    with Profile(product, make_rows(code, (FILL, COPY, 'tiny')), ['pace 20000']) as profile:
        program.steps('kernel', 'fill', 'copy')
        double.play()
        samples, _totals = double.truth()
        program.end()
    either = own = 0
    for frames, count in lines(profile):
        if f'{COPY} or {FILL}_[G]' in frames:
            check('[ambiguous]' in frames, f'not marked: {frames}')
            either += count
        else:
            check(any(frame.startswith('tiny') for frame in frames) and '[ambiguous]' not in frames, f'neither: {frames}')
            own += count
    equal((either, own), (produced(code, samples, FILL) + produced(code, samples, COPY), produced(code, samples, 'tiny')),
          f'samples ({profile.said})')


def known_before(product):
    """What rows at an address are is known for later ones, for which there are several possibilities."""
    program = Fills(product, 'fills', 'immediate', TRACER)
    program.steps('kernel', 'fill')
    code = program.code()
    with Profile(product, make_rows(code, (FILL, 'tiny')), ['pace 20000']) as profile:
        program.steps('kernel', 'fill')
        double.play()
        program.steps('fill', 'copy', 'image', 'timestamps', 'kernel')
        double.play()
        samples, _totals = double.truth()
        program.end()
    found = {name: sum(count for frames, count in lines(profile) if '[ambiguous]' not in frames and any(
        frame.startswith(name) for frame in frames)) for name in (FILL, 'tiny')}
    equal(found, {name: produced(code, samples, name) for name in found}, f'samples ({profile.said}) {profile.folded}')


CASES = {
    'bmg: Level Zero': functools.partial(each_step, 'bmg', 'fills', 'immediate', LEVEL_ZERO),
    'bmg: OpenCL': functools.partial(each_step, 'bmg', 'opencl-fills', '', OPENCL),
    'bmg: regular lists': functools.partial(each_step, 'bmg', 'fills', 'regular', {'fill': FILL, 'image': IMAGE_COPY}),
    'bmg: fills and copies at once': functools.partial(two_at_once, 'bmg'),
    'bmg: copies after fills': functools.partial(known_before, 'bmg'),
    'lnl: Level Zero': functools.partial(each_step, 'lnl', 'fills', 'immediate', LEVEL_ZERO),
    'lnl: OpenCL with reads and maps': functools.partial(each_step, 'lnl', 'opencl-fills', '', {**OPENCL, 'read': COPY, 'map': COPY}),
}
if not os.environ.get('LAB_CHROOT'):
    print('there is no chroot with Intel\'s runtime')
    sys.exit(77)
# What they are about is in others, too.
LONG = {'regular lists', 'copies after fills', 'OpenCL with reads and maps'}
sys.exit(run(list(CASES.items()), long=LONG) != 0)
