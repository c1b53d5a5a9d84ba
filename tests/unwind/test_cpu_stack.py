#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""iaprof's own CPU samples reach main in programs without frame pointers, as soon as their tables are there. TAP."""
import contextlib
import itertools
import os
import re
import shutil
import subprocess
import sys
import time

from cases import PATIENCE, Skip, require_root, run_cases, samples

SCENARIOS = os.environ.get('TEST_SCENARIOS', 'frameless signal-stack library thread').split()
# Copies have only the stack that is in use.
COPIED = [scenario for scenario in SCENARIOS if scenario in ('frameless', 'thread')]
OUTERMOST = re.compile(r';(_start|clone3?|__clone3?);|;(__libc_start_main|start_thread)')


def shares(path, scenario, options='unwind=tables,'):
    """-> for each interval of a run, the share of samples with the outermost frame"""
    with subprocess.Popen([path, scenario]) as program:
        try:
            for stacks in samples(program.pid, f'cpu-stack:{options}'):
                yield sum(value for stack, value in stacks if OUTERMOST.search(stack)) / sum(value for _, value in stacks)
        finally:
            program.kill()


def tables(path, scenario):
    """Until the tables have been made, stacks are incomplete."""
    found, end = [], time.monotonic() + PATIENCE
    with contextlib.closing(shares(path, scenario)) as intervals:
        for share in intervals:
            found.append(share)
            if share >= 0.99:
                return found
            if time.monotonic() > end:
                raise AssertionError(f'shares of samples with the outermost frame, by interval: {found}')


def from_the_first(path, scenario):
    """Samples of before the tables are unwound from copies of their stacks."""
    with contextlib.closing(shares(path, scenario, '')) as intervals:
        found = next(intervals)
    if found < 0.99:
        raise AssertionError(f'share of samples with the outermost frame: {found}')
    return [found]


def return_probes(path):
    """Another profiler's uretprobes are in the place of two return addresses."""
    program = ' '.join(f'uretprobe:{path}:{name} {{ @calls = count(); }}' for name in ('frameless_two', 'frameless_one'))
    with subprocess.Popen(['bpftrace', '-B', 'line', '-e', f'{program} interval:ms:100 {{ print(@calls); }}'], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, encoding='utf-8') as tracer:
        try:
            if not tracer.stdout.readline().startswith('Attaching'):
                raise Skip('bpftrace cannot trace here')
            found = tables(path, 'frameless')
        finally:
            tracer.terminate()
            counted = re.findall(r'@calls: (\d+)', tracer.stdout.read())
    if not counted or int(counted[-1]) < 100:
        raise AssertionError(f'the probes have not run: {counted[-3:]}')
    return found


def frame_pointers(path):
    with contextlib.closing(shares(path, 'frameless', 'unwind=fp,')) as intervals:
        found = list(itertools.islice(intervals, 3))
    if max(found) > 0.5:
        raise AssertionError(f'frame pointers reach the start: {found}')
    return found


def main():
    require_root()
    cases = [(f'{os.path.basename(path)}: {scenario}', lambda path=path, scenario=scenario: tables(path, scenario))
             for path in sys.argv[1:] for scenario in SCENARIOS]
    cases += [(f'{os.path.basename(path)}: {scenario}, from the first sample on',
               lambda path=path, scenario=scenario: from_the_first(path, scenario))
              for path in sys.argv[1:] for scenario in COPIED]
    cases += [(f'{os.path.basename(path)}: with uretprobes', lambda path=path: return_probes(path))
              for path in sys.argv[1:] if 'static' not in path and 'frameless' in SCENARIOS and shutil.which('bpftrace')]
    cases.append(('frame pointers alone do not', lambda: frame_pointers(sys.argv[1])))
    run_cases([(what, lambda run=run: ', '.join(f'{share:.3f}' for share in run())) for what, run in cases])


main()
