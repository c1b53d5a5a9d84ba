#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: short newest
# lab: module xe
# lab: seconds 900
# lab: runtime
# lab: covers plugins/ze-usdt/** engine/correlator/** tests/lab/flame_graph/** tests/lab/level_zero/**
"""Code that is unloaded and loaded again at the same address, with kernels of the same name that other places launch: no
row is credited to the launches of another load. TAP.

The rows of each load are at an instruction of their own, and happen between its launches and its end.
"""
import collections
import functools
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from flame_graph import double, heaps
from flame_graph.judge import read_folded, read_sample
from flame_graph.known import KNOWN
from flame_graph.profile import BUILD, SOURCE, TRACER, Profile
from harness.cases import check, equal, run, started

PROGRAMS = BUILD / 'tests/lab/level_zero'
PRODUCT = 'lnl'  # its runtime soon puts code where other code was
KERNEL = 'bias_gelu'
LOADS = 30
ROWS = 8  # of each load
COMMAND = double.CONTROL / 'command'


def reload(api, gap, preload='', play=()):
    """-> the process id, and (place that launches, address of the kernel in its heap) of each load"""
    process = started(subprocess.Popen(
        [SOURCE / 'tests/lab/guest/in-chroot', 'env', f'LD_PRELOAD={preload}',
         SOURCE / 'tests/lab/level_zero/run-without-gpu', PRODUCT, PROGRAMS / 'reloads', api,
         PROGRAMS / f'modules/transformer.{PRODUCT}.bin', KERNEL, str(LOADS), str(gap), *play],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding='utf-8'))
    said = process.communicate('\n')[0]
    equal(process.returncode, 0, f'status of the program: {said}')
    loads = [line.split('\t')[2:] for line in said.splitlines() if line.startswith('load')]
    equal(len(loads), LOADS, 'loads')
    return [(place, int(address, 16) - heaps.base([], int(address, 16))) for place, address in loads]


def reloads(api, gap):
    loads = reload(api, gap)
    check(len({address for _place, address in loads}) < LOADS / 2, f'no code came to where other code was: {loads}')
    offsets = [instruction.offset for instruction in KNOWN.code(PRODUCT)[KERNEL]][:LOADS]
    addresses = [address + offset for (_place, address), offset in zip(loads, offsets)]
    equal(len(set(addresses)), LOADS, 'addresses of rows')
    rows = [double.Row(0, '0', address, {'active': 50 + number}) for number, address in enumerate(addresses)
            for _ in range(ROWS)]
    with Profile(PRODUCT, rows, ['pace lossless']) as profile:
        equal(reload(api, gap, TRACER, [COMMAND, f'play {ROWS}']), loads, 'loads of the run before')
        double.wait_until(double.rows_are_read, 'rows to be read')
        samples, _totals = double.truth()
    found = [collections.Counter() for _ in loads]
    for stack, count in read_folded(profile.folded):
        sample = read_sample(stack)
        number = addresses.index(sample.offset) if sample.file is None else offsets.index(sample.offset)
        place = next((frame.split(':')[0] for frame in stack.split(';') if frame.startswith('launch_in_place')), 'unknown')
        found[number]['unmatched' if sample.file is None else f'ambiguous {place}' if sample.ambiguous else place] += count
    became = collections.Counter()
    for number, ((place, _address), counts) in enumerate(zip(loads, found)):
        produced = sum(samples[0, addresses[number]].values())
        equal(sum(counts.values()), produced, f'samples of load {number}: {counts}: {profile.said}')
        others = {name for name in counts if name.startswith('launch') and name != place}
        check(not others, f'load {number} is of {place}: {dict(counts)}: {profile.said}')
        became['right'] += counts[place]
        became['ambiguous'] += sum(count for name, count in counts.items() if name.startswith('ambiguous'))
        became['unmatched'] += counts['unmatched']
    # Between intervals of 100 ms, in which samples are collected, the code of two loads can be distinguished.
    check(not became['unmatched'] and (gap < 100 or became['right']), f'{dict(became)}: {profile.said}')
    return ', '.join(f'{what} {count}' for what, count in became.items())


if not os.environ.get('LAB_CHROOT'):
    print('there is no chroot with Intel\'s runtime')
    sys.exit(77)
sys.exit(run([(f'{what}: a gap of {gap} ms', functools.partial(reloads, api, gap))
              for what, api in {'Level Zero': 'level-zero', 'OpenCL': 'opencl'}.items()
              for gap in (0, 1, 10, 30, 100)], long={f'a gap of {gap} ms' for gap in (1, 10, 30)}) != 0)
