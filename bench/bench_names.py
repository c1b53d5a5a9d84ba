#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Symbolization: iaprof beside perf record -g and perf script, in turns, while programs of the distribution run:
bench_names.py IAPROF [SECONDS].

Both walk frame pointers, so that both have about the same addresses to name. Time until names is what a profile takes
beyond its duration. CPU time is that of all processes of a profiler, sampling included. perf script names no inlined
functions here, which iaprof does.
"""
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from bench_stacks import PROGRAMS, running

ROUNDS = 3
FREQUENCY = 999


class Cost:
    def __init__(self):
        self.wait = self.cpu = self.named = 0

    def run(self, seconds, *commands):
        """Runs commands one after the other; their last one's output is in names.txt. seconds: the time of sampling"""
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        for command in commands:
            with open('names.txt', 'wb') as output:
                subprocess.run(command, check=True, stdout=output, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.wait += time.monotonic() - begin - seconds
        self.cpu += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def iaprof(cost, program, seconds):
    cost.run(seconds, [program, '-q', '-d', f'{seconds}s', '-s', f'cpu-stack:frequency={FREQUENCY},unwind=fp', '-k',
                       'folded', '-o', 'out.folded'])
    with open('out.folded', encoding='utf-8') as file:
        frames = {frame for line in file for frame in line.rsplit(' ', 1)[0].split(';')[1:]}
    cost.named += sum(not frame.startswith('[') for frame in frames)


def perf(cost, seconds):
    cost.run(seconds, ['perf', 'record', '-q', '-F', str(FREQUENCY), '-a', '-g', '-o', 'perf.data', 'sleep', str(seconds)],
             ['perf', 'script', '--no-inline', '-i', 'perf.data', '-F', 'comm,ip,sym'])
    with open('names.txt', encoding='utf-8', errors='replace') as file:
        frames = {line.split(None, 1)[1].strip() for line in file if line[0] in ' \t' and len(line.split(None, 1)) > 1}
    cost.named += len(frames - {'[unknown]'})


def main():
    if os.geteuid() or not shutil.which('perf'):
        print('skipped: root and perf are required')
        return
    program = os.path.realpath(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    ours, theirs = Cost(), Cost()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with running(PROGRAMS):
            for _ in range(ROUNDS):
                iaprof(ours, program, seconds)
                perf(theirs, seconds)
        os.chdir('/')
    for name, cost in ('iaprof', ours), ('perf record -g, perf script', theirs):
        print(f'{name}: {cost.wait / ROUNDS:.2f} s until names, {cost.cpu / ROUNDS:.2f} s of CPU time, '
              f'{cost.named / ROUNDS:.0f} names')
    print(f'iaprof to perf: time until names {ours.wait / theirs.wait:.2f}, CPU time {ours.cpu / theirs.cpu:.2f}')


if __name__ == '__main__':
    main()
