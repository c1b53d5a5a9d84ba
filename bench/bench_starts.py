#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time of system-wide runs at 19 Hz, idle and while programs start, beside perf record -a -F 19:
bench_starts.py MACHINE_LOAD SECONDS ROUNDS IAPROF...

In each round, the profilers run one after the other, each with no load and with RATES program starts a second, for
SECONDS after it has settled. Several programs IAPROF are compared with each other. The summary has the smallest and the
median round, in ms of CPU time a second of all processes of the profiler, and voluntary context switches a second. Names
are looked up at the end of a run, which is not measured; what the Linux kernel spends in events is in the time of the
programs that start.
"""
import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from process_cost import cpu_time, wake_ups

LOAD = os.path.abspath(sys.argv[1])
SECONDS, ROUNDS = float(sys.argv[2]), int(sys.argv[3])
SETTLE = 10  # names and unwind tables of programs that run are read
SETTLE_LOAD = 3
RATES = (0, 300)
PROFILERS = {}
if shutil.which('perf'):
    PROFILERS['perf record'] = ['perf', 'record', '-q', '-a', '-F', '19', '-o', 'perf.data']
for path in sys.argv[4:]:
    PROFILERS[path] = [os.path.abspath(path), '-q', '-s', 'cpu-stack:frequency=19', '-d', '1h', '-o', 'profile.folded']


def starts():
    """Processes and threads that have been started since boot."""
    with open('/proc/stat', encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('processes'))


@contextlib.contextmanager
def load(rate):
    process = subprocess.Popen([LOAD, '0', str(rate)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               start_new_session=True) if rate else None
    try:
        yield
    finally:
        if process:
            process.stdin.close()
            process.wait()


@contextlib.contextmanager
def profiler(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(SETTLE)
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def measure(pid, rate):
    """CPU time in ms, wake-ups of each thread and program starts, all a second."""
    with load(rate):
        time.sleep(SETTLE_LOAD)
        begin, started, cpu, wakes = time.monotonic(), starts(), cpu_time(pid), wake_ups(pid)
        time.sleep(SECONDS)
        seconds, now = time.monotonic() - begin, wake_ups(pid)
        return (1000 * (cpu_time(pid) - cpu) / seconds,
                {key: (count - wakes.get(key, 0)) / seconds for key, count in now.items()},
                (starts() - started) / seconds)


def main():
    found = {}
    for _ in range(ROUNDS):
        for name, command in PROFILERS.items():
            with profiler(command) as pid:
                for rate in RATES:
                    found.setdefault((rate, name), []).append(measure(pid, rate))
                    cpu, wakes, started = found[rate, name][-1]
                    threads = ', '.join(f'{thread} {count:.1f}' for (_, thread), count in wakes.items() if count >= 0.05)
                    print(f'{name}, {started:.0f} starts a second: {cpu:.2f} ms; wake-ups: {threads}', flush=True)
    for (rate, name), rounds in found.items():
        cpu = [each[0] for each in rounds]
        wakes = [sum(each[1].values()) for each in rounds]
        started = statistics.median(each[2] for each in rounds)
        print(f'{rate:5} starts a second ({started:.0f} found), {name}: {min(cpu):.2f} ms of CPU a second (median '
              f'{statistics.median(cpu):.2f}), {min(wakes):.1f} wake-ups (median {statistics.median(wakes):.1f})')


if __name__ == '__main__':
    if os.geteuid():
        print('skipped: profiling all of a machine needs root')
        sys.exit()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        main()
        os.chdir('/')
