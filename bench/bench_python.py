#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python frames cost: iaprof with and without them beside perf record -g, in turns, while a Python program runs that
is so many calls deep: bench_python.py IAPROF [SECONDS].

Prints the time of a sample in BPF, by the Linux kernel's own count, and the work that the program completes, relative to
its work alone.
"""
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from bench_stacks import bpf_time

IAPROF = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 2
ROUNDS = 5
SETTLING = 2  # seconds in which the tables come
PATIENCE = 20
FREQUENCY = 999
DEPTHS = 10, 100
PYTHON = '/usr/bin/python3'
STATISTICS = pathlib.Path('/proc/sys/kernel/bpf_stats_enabled')
PROGRAM = '''
import sys, threading
count = 0
def work(depth):
    global count
    if depth:
        work(depth - 1)
    while not depth:
        total = 0
        for i in range(200):
            total += i * i
        count += 1
threading.Thread(target=work, args=[int(sys.argv[1])], daemon=True).start()
for line in sys.stdin:
    print(count, flush=True)
'''
SOURCE = f'cpu-stack:frequency={FREQUENCY}'
PROFILERS = {
    'iaprof, python=native': lambda pid: [IAPROF, '-q', '-s', f'{SOURCE},python=native', '-p', pid, '-k', 'folded:output=out'],
    'iaprof, python=mixed': lambda pid: [IAPROF, '-q', '-s', f'{SOURCE},python=mixed', '-p', pid, '-k', 'folded:output=out'],
    'perf record -g': lambda pid: ['perf', 'record', '-q', '-g', '-F', str(FREQUENCY), '-p', pid, '-o', 'perf.data'],
}


def settle(profiler):
    """Waits until the profiler records; BPF programs count their runs as soon as they do."""
    STATISTICS.write_text('1', encoding='ascii')
    end = time.monotonic() + PATIENCE
    while profiler.args[0] == IAPROF and not bpf_time(profiler.pid)[1] and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(SETTLING)


def completed(program):
    program.stdin.write('\n')
    program.stdin.flush()
    return int(program.stdout.readline())


def measure(profiler, depth, folder):
    """-> units of work in a second, and ns of a sample in BPF, if the profiler has BPF programs"""
    with subprocess.Popen([PYTHON, '-c', PROGRAM, str(depth)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        other = None
        if profiler:
            other = subprocess.Popen(profiler(str(program.pid)), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            settle(other)
        (spent, runs), work, begin = bpf_time(other.pid if other else 0), completed(program), time.monotonic()
        time.sleep(SECONDS)
        work = (completed(program) - work) / (time.monotonic() - begin)
        more_spent, more_runs = bpf_time(other.pid if other else 0)
        if other:
            other.send_signal(signal.SIGINT)
            other.wait()
        program.kill()
    return work, (more_spent - spent) / (more_runs - runs) if more_runs > runs else None


def compare(depth, folder):
    found = {name: [] for name in ('alone', *PROFILERS)}
    for _ in range(ROUNDS):
        found['alone'].append(measure(None, depth, folder))
        for name, profiler in PROFILERS.items():
            if shutil.which(profiler('1')[0]):
                found[name].append(measure(profiler, depth, folder))
    alone = statistics.median(work for work, _ in found['alone'])
    native = None
    for name in PROFILERS:
        if not found[name]:
            print(f'{depth:4} calls deep  {name:22} not here')
            continue
        work = statistics.median(work for work, _ in found[name]) / alone
        times = [spent for _, spent in found[name] if spent]
        spent = statistics.median(times) if times else None
        native = native or spent
        print(f'{depth:4} calls deep  {name:22} {100 * work:6.1f} % of the work alone'
              + (f', {spent:6.0f} ns a sample in BPF, {spent / native:.2f} times python=native' if spent and native else ''), flush=True)


def main():
    enabled = STATISTICS.read_text(encoding='ascii')
    STATISTICS.write_text('1', encoding='ascii')
    try:
        with tempfile.TemporaryDirectory() as folder:
            for depth in DEPTHS:
                compare(depth, folder)
    finally:
        STATISTICS.write_text(enabled, encoding='ascii')


main()
