#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory of iaprof beside many threads and processes: peak of its own processes and of its BPF maps, with one Python
process, with one that has 2,000 threads, and with 2,000 Python processes: bench_crowd.py IAPROF [NUMBER].

All of them call functions, wait, and are sampled by cpu-stack and off-cpu.
"""
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

IAPROF = os.path.abspath(sys.argv[1])
NUMBER = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
SECONDS = 10
MEBIBYTE = 1 << 20
GOAL = 256  # MiB of resident memory, and of maps
# Together they work for a tenth of a CPU, or so.
PROGRAM = '''
import os, signal, sys, threading, time
kind, number = sys.argv[1], int(sys.argv[2])
def compute(depth):
    return compute(depth - 1) if depth else sum(i * i for i in range(1000))
def live(which):
    time.sleep(which / number)
    while True:
        compute(which % 20)
        time.sleep(number / 1000)
if kind == 'processes':
    for which in range(number):
        if not os.fork():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            live(which)
threading.stack_size(1 << 16)
for which in range(number if kind == 'threads' else 1):
    threading.Thread(target=live, args=[which], daemon=True).start()
print('ready', flush=True)
sys.stdin.read()
os.killpg(0, signal.SIGKILL)
'''


def children(pid):
    """-> processes that a process has started, and theirs"""
    found = []
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
            for child in task.joinpath('children').read_text('ascii').split():
                found += [int(child), *children(child)]
    return found


def resident(pid):
    """-> peak of a process's memory, bytes; 0 when it has ended"""
    with contextlib.suppress(OSError):
        found = re.search(r'^VmHWM:\s*(\d+) kB', pathlib.Path(f'/proc/{pid}/status').read_text('utf-8'), re.MULTILINE)
        return int(found[1]) << 10 if found else 0
    return 0


def maps_of(pid):
    """-> bytes of the BPF maps that a process has open"""
    sizes = {}
    with contextlib.suppress(OSError):
        for entry in pathlib.Path(f'/proc/{pid}/fdinfo').iterdir():
            with contextlib.suppress(OSError):
                said = dict(line.split(':', 1) for line in entry.read_text('ascii').splitlines() if ':' in line)
                if 'map_id' in said and 'memlock' in said:
                    sizes[said['map_id']] = int(said['memlock'])
    return sum(sizes.values())


def share(path, pids, function):
    """-> the share of a profile's values of processes that has a function"""
    whole = found = 0
    for line in path.read_text('utf-8').splitlines():
        stack, value = line.rsplit(' ', 1)
        frames = stack.split(';')
        if frames[1].isdecimal() and int(frames[1]) in pids:
            whole += int(value)
            found += int(value) if function in frames else 0
    return found / whole if whole else 0


def measure(kind, folder):
    """-> peaks in MiB of iaprof, its workers, maps; shares of CPU time and waits in Python; what iaprof printed"""
    with subprocess.Popen(['/usr/bin/python3', '-c', PROGRAM, kind, str(NUMBER)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, start_new_session=True, text=True) as program:
        program.stdout.readline()
        time.sleep(1)
        peaks, maps, pids = {}, 0, {program.pid, *children(program.pid)}
        with subprocess.Popen([IAPROF, '-v', '-d', f'{SECONDS}s', '-s', 'cpu-stack', '-s', 'off-cpu',
                               '-k', 'folded:value=cpu,pid=yes,output=out',
                               '-k', 'folded.waits:value=off-cpu,pid=yes,output=waits'],
                              cwd=folder, stderr=subprocess.PIPE, text=True) as profiler:
            while profiler.poll() is None:
                for pid in [profiler.pid, *children(profiler.pid)]:
                    peaks[pid] = max(peaks.get(pid, 0), resident(pid))
                maps = max(maps, maps_of(profiler.pid))
                time.sleep(0.1)
            messages = profiler.stderr.read()
        program.stdin.close()
        program.wait()
    own = peaks.pop(profiler.pid, 0)
    python = [share(pathlib.Path(folder, name), pids, 'live') for name in ('out', 'waits')]
    return own / MEBIBYTE, sum(peaks.values()) / MEBIBYTE, maps / MEBIBYTE, python, messages


def main():
    with tempfile.TemporaryDirectory() as folder:
        first = None
        for kind in sys.argv[3:] or ['one', 'threads', 'processes']:
            own, workers, maps, python, messages = measure(kind, folder)
            first = first or own
            name = 'one Python process' if kind == 'one' else f'{NUMBER} Python {kind}'
            print(f'{name:24} {own:6.1f} MiB ({own / first:.2f} times the first), workers {workers:6.1f} MiB, BPF maps '
                  f'{maps:6.1f} MiB; ratio to {GOAL} MiB: {(own + workers) / GOAL:.2f} and {maps / GOAL:.2f}; '
                  f'Python functions in {python[0]:.0%} of CPU time, {python[1]:.0%} of waits', flush=True)
            for line in messages.splitlines():
                if 'warning' in line or ' samples in ' in line:
                    print(f'  {line}')


if __name__ == '__main__':
    main()
