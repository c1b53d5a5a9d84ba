#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest newest-la57
# lab: short newest-la57
# lab: module xe
# lab: seconds 900
# lab: runtime
# lab: covers plugins/ze-usdt/** engine/correlator/** tests/lab/flame_graph/** tests/lab/level_zero/** tests/lab/opencl/**
"""Rows are credited to the right kernel wherever drivers place their instruction heaps. TAP.

On a processor with addresses of 57 bits each driver reserves a range of its own, and OpenCL programs have two drivers. The
truth is what Linux returned to the drivers, seen by the program.
"""
import functools
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from flame_graph import code_scenarios, double, heaps
from flame_graph.profile import BUILD, SOURCE, TRACER, Profile
from harness.cases import check, equal, run, started

PAGE_TABLES_OF_FIVE_LEVELS = os.environ['LAB_KERNEL'] == 'newest-la57'
KERNELS = 'add', 'scale', 'sum'
# A program that executes rows at the first instruction of a kernel is in that kernel.
COUNTS = {'add': 7, 'scale': 11, 'sum': 13}
REPEATS = 100


class Jobs:
    """An OpenCL program that has launched its kernels, and waits."""

    def __init__(self, product, preload=''):
        self.process = started(subprocess.Popen(
            [SOURCE / 'tests/lab/guest/in-chroot', 'env', f'LD_PRELOAD={preload}',
             SOURCE / 'tests/lab/level_zero/run-without-gpu', product, BUILD / 'tests/lab/level_zero/opencl-jobs', '--wait'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding='utf-8'))
        self.said = ''
        while 'waits' not in self.said:
            line = self.process.stdout.readline()
            check(line, f'the program ended: {self.said}')
            self.said += line
        self.pid = int(self.said.split()[-1])
        self.starts = heaps.read_reservations(self.said).get(self.pid, [])

    def end(self):
        self.process.communicate('\n')
        equal(self.process.returncode, 0, 'status of the program')

    def kernels(self):
        """{name: address in its heap}"""
        words = [line.split('\t') for line in self.said.splitlines()]
        return {name: int(address, 16) - heaps.base(self.starts, int(address, 16))
                for kind, *(_pid, name, address) in (word for word in words if word[0] == 'kernel')}


def opencl(product):
    alone = Jobs(product)
    alone.end()
    check(bool(alone.starts) == PAGE_TABLES_OF_FIVE_LEVELS, f'reservations: {alone.starts}')
    places = alone.kernels()
    rows = [double.Row(0, '0-3', places[name], {'active': COUNTS[name]}) for name in KERNELS] * REPEATS
    with Profile(product, rows, ['pace 20000']) as profile:
        program = Jobs(product, TRACER)
        equal(program.kernels(), places, 'kernels of the run before')
        double.play()
        samples, _totals = double.truth()
        program.end()
    produced = {name: sum(samples[0, places[name]].values()) for name in KERNELS}
    found = dict.fromkeys(KERNELS, 0)
    for line in profile.folded.splitlines():
        stack, _, count = line.rpartition(' ')
        names = [name for name in KERNELS if f';{name}' in stack]
        check(len(names) == 1 and 'line_await' in stack and '[ambiguous]' not in stack, f'not of a kernel: {line}')
        found[names[0]] += int(count)
    check(all(produced.values()), f'the double played nothing: {produced}')
    equal(found, produced, f'samples of kernels ({profile.said})')
    reports = profile.reports()
    equal(reports[0]['matched'], sum(produced.values()), 'matched samples')
    return f'{sum(produced.values())} samples'


def level_zero(product):
    return code_scenarios.one_stack(product)


if not os.environ.get('LAB_CHROOT'):
    print('there is no chroot with Intel\'s runtime')
    sys.exit(77)
sys.exit(run([(f'{product}: {what}', functools.partial(function, product))
              for product in ('bmg', 'lnl')
              for what, function in {'OpenCL': opencl, 'Level Zero': level_zero}.items()]) != 0)
