#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""iaprof's own CPU samples reach main in programs without frame pointers, as soon as their tables are there. TAP."""
import collections
import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from cases import Skip, require_root, run_cases

# How long tables may take to come.
PATIENCE = int(os.environ.get('TEST_PATIENCE', '600'))
SCENARIOS = os.environ.get('TEST_SCENARIOS', 'frameless signal-stack library thread').split()
# Copies have only the stack that is in use.
COPIED = [scenario for scenario in SCENARIOS if scenario in ('frameless', 'thread')]
OUTERMOST = re.compile(r';(_start|clone3?|__clone3?);|;(__libc_start_main|start_thread)')


def shares(path, scenario, seconds, *options):
    """-> for each quarter of so many seconds, the share of samples with the outermost frame"""
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen([path, scenario]) as program:
        try:
            subprocess.run([os.environ['TEST_IAPROF'], '-q', '-p', str(program.pid), '-d', f'{seconds}s',
                            '--interval', f'{250 * seconds}ms',
                            '-s', ':'.join(('cpu-stack', *options)), '-k', 'csv:rows=stacks,output=out.csv'],
                           check=True, cwd=folder, timeout=PATIENCE)
        finally:
            program.kill()
        total, reached = collections.Counter(), collections.Counter()
        with open(pathlib.Path(folder) / 'out.csv', encoding='utf-8', newline='') as file:
            for row in csv.DictReader(file):
                if row['value_type'] == 'cpu':
                    total[row['interval']] += int(row['value'])
                    reached[row['interval']] += int(row['value']) if OUTERMOST.search(row['stack']) else 0
        return [reached[interval] / total[interval] for interval in sorted(total)]


def until(is_right, path, scenario, *options):
    """Runs of 2 s and, on a busy machine, of more, until one is right. -> its shares"""
    begin, seconds = time.monotonic(), 2
    while not is_right(found := shares(path, scenario, seconds, *options)):
        if time.monotonic() - begin > PATIENCE:
            raise AssertionError(f'shares of samples with the outermost frame, by quarter: {found}')
        seconds = min(2 * seconds, 8)
    return found


def tables(path, scenario):
    return until(lambda found: max(found) >= 0.99, path, scenario, 'unwind=tables')


def from_the_first(path, scenario):
    """Samples of before the tables are unwound from copies of their stacks."""
    return until(lambda found: found[0] >= 0.99, path, scenario)


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
    found = shares(path, 'frameless', 1, 'unwind=fp')
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
