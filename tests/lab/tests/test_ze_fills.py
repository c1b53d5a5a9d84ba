#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 600
# lab: runtime
# lab: covers plugins/ze-usdt/** tests/lab/level_zero/fills/** tests/lab/level_zero/* tests/lab/opencl/fills.c
"""Fills, copies and queries for which Intel's driver runs kernels of its own are launches: of OpenCL, and of Level Zero's
lists of any kind unless a copy engine serves them. TAP."""
import collections
import csv
import functools
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import check, equal, run
from harness.profiler import SLOW

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
PROGRAMS = BUILD / 'tests/lab/level_zero'
NAMES = {'fill': '[memory fill]', 'copy': '[memory copy]', 'region': '[memory copy]', 'image': '[image copy]',
         'timestamps': '[kernel timestamps]', 'kernel': 'tiny',
         'rectangle': '[memory copy]', 'read': '[memory copy]', 'write': '[memory copy]', 'map': '[memory copy]',
         'svm_copy': '[memory copy]', 'svm_fill': '[memory fill]', 'image_fill': '[image fill]', 'image_map': '[image copy]'}
STEPS = ['fill', 'copy', 'kernel', 'region', 'image', 'copy', 'timestamps', 'fill', 'fill']
OPENCL_STEPS = ['fill', 'copy', 'kernel', 'rectangle', 'read', 'write', 'map', 'svm_copy', 'svm_fill', 'image', 'image_fill',
                'image_map', 'copy']


def program(product, kind):
    if kind == 'OpenCL':
        return [PROGRAMS / 'opencl-fills']
    return [PROGRAMS / 'fills', PROGRAMS / f'modules/transformer.{product}.bin', kind]


def launches(product, kind, steps, wanted_of):
    command = [SOURCE / 'tests/lab/guest/in-chroot', SOURCE / 'tests/lab/level_zero/run-without-gpu', product,
               *program(product, kind)]
    outcome = subprocess.run([BUILD / 'iaprof', *SLOW, '--scope', 'command', '-s', 'ze-usdt:tracer=yes', '-k',
                              'csv:rows=events,newline=lf', '-o', 'out.csv', '--', *command], input=' '.join(steps),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, encoding='utf-8')
    equal(outcome.returncode, 0, outcome.stderr)
    check('lost: ze-usdt' not in outcome.stderr, outcome.stderr)
    wanted, found = collections.Counter(), collections.Counter()
    for line in outcome.stdout.splitlines():
        word, step, *count = line.split('\t')
        if word == 'done':
            name = 'add' if (kind, step) == ('OpenCL', 'kernel') else NAMES[step]
            wanted[name, f'launch_{step}'] += int(count[0])
    check(sum(wanted.values()) >= len(steps), f'the program did not do its steps: {outcome.stdout} {outcome.stderr}')
    with open('out.csv', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            if row['record'] == 'launch':
                found[row['name'], row['functions'].split(';')[-1]] += int(row['count'])
    equal(found, wanted_of(wanted), 'launches')


def all_of(wanted):
    return wanted


def none_of(_wanted):
    return collections.Counter()


sys.exit(run([(f'{product}: {kind}', functools.partial(launches, product, kind, steps, wanted_of))
              for product in ('bmg', 'lnl')
              for kind, steps, wanted_of in (('OpenCL', OPENCL_STEPS, all_of), ('immediate', STEPS, all_of),
                                             ('regular', STEPS, all_of),
                                             ('copy', ['fill', 'copy', 'region'], none_of))]) != 0)
