#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a profiler that never ends costs: CPU time (its processes and its BPF programs, as a share of all CPUs), memory
and disk, in phases that stand for a day: idle, busy (computing programs on every CPU), compiling (programs that start
all the time), and starting (19 programs a second that do nothing, no part of the day): bench_day.py IAPROF [SECONDS
[BUDGET]].

Each profiler runs once through all phases, of which SECONDS are measured (60 by default): iaprof --continuous with
its ring and BUDGET (1% by default), the same without a budget, perf record and bpftrace. The interval of iaprof is
that of the service, 60 s, or SECONDS if that is less, because the end of an interval costs several ms. A phase stands
for hours: the first interval of iaprof in each is not measured, because the budget follows the interval before. Of
compiling, neither are those in which the budget lowers the cost step by step. All sample at 19 Hz. The time that the
Linux kernel spends for perf record in interrupts is not part of any process; that of bpftrace is that of its program. A
day is 14 hours idle, 8 busy and 2 compiling.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from process_cost import cpu_time, family, read

IAPROF = os.path.abspath(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 60
BUDGET = sys.argv[3] if len(sys.argv) > 3 else '1%'
WARM_UP = 15  # seconds in which a profiler starts, which happens once in many days
SETTLE = 2  # seconds between the begin of a load and its measurement
LOWERING = {'compiling': 6}  # intervals until a budget has lowered all that it can; 1 in other phases
DAY = {'idle': 14 / 24, 'busy': 8 / 24, 'compiling': 2 / 24, 'starting': 0}
LOADS = {
    'idle': '',
    'busy': 'for i in $(seq "$(nproc)"); do python3 -c "while True: sum(i * i for i in range(1000))" & done; wait',
    'compiling': 'cd "$(mktemp -d -p "$1")"; echo "int main(void) { return 0; }" >a.c\n'
                 'while :; do gcc -O2 -o a a.c; ./a; true | sort | uniq -c >a.out; ls -l / >a.out; done',
    'starting': 'while :; do sleep 0.05; done',
}
STATISTICS = '/proc/sys/kernel/bpf_stats_enabled'


def bpf_time(pid):
    """Seconds that the Linux kernel has measured of the BPF programs that a process has open."""
    times = {}
    with contextlib.suppress(OSError):
        for descriptor in os.listdir(f'/proc/{pid}/fdinfo'):
            values = dict(line.split(':', 1) for line in read(f'/proc/{pid}/fdinfo/{descriptor}').splitlines()
                          if ':' in line)
            if 'run_time_ns' in values and 'prog_id' in values:
                times[values['prog_id'].strip()] = int(values['run_time_ns'])
    return sum(times.values()) / 1e9


def memory(pid):
    """Proportional share of resident memory, in MiB."""
    return sum(int(line.split()[1]) for process in family(pid)
               for line in read(f'/proc/{process}/smaps_rollup').splitlines() if line.startswith('Pss:')) / 1024


def disk(folder):
    return sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)


@contextlib.contextmanager
def load(name):
    process = subprocess.Popen(['sh', '-c', LOADS[name], 'load', os.getcwd()], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True) if LOADS[name] else None
    try:
        yield
    finally:
        if process:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def measure(command, interval):
    """interval: that of the profiler; 0: none. (phase) -> share of all CPUs, share of BPF programs, MiB, bytes on disk per
    second."""
    folder = tempfile.mkdtemp(dir='.')
    with open(f'{folder}/output', 'wb') as output:
        process = subprocess.Popen([part.replace('FOLDER', folder) for part in command], stdout=output,
                                   stderr=subprocess.DEVNULL)
    time.sleep(WARM_UP + interval)
    found = {}
    has_budget = '--budget' in command and 'none' not in command
    for phase in DAY:
        with load(phase):
            time.sleep(SETTLE + interval * (LOWERING.get(phase, 1) if has_budget else 1))
            begin = time.monotonic()
            before = cpu_time(process.pid), bpf_time(process.pid), disk(folder)
            time.sleep(SECONDS)
            after = cpu_time(process.pid), bpf_time(process.pid), disk(folder)
            seconds = time.monotonic() - begin
            cpus = seconds * os.cpu_count()
            found[phase] = ((after[0] - before[0] + after[1] - before[1]) / cpus, (after[1] - before[1]) / cpus,
                            memory(process.pid), (after[2] - before[2]) / seconds)
    process.send_signal(signal.SIGINT)
    process.wait()
    shutil.rmtree(folder)
    return found


def main():
    interval = max(1, min(60, SECONDS))
    iaprof = [IAPROF, '--continuous', '-i', f'{interval:g}s', '-s', 'cpu-stack:frequency=19', '-k',
              'ring:folder=FOLDER/ring']
    commands = {f'iaprof, budget {BUDGET}': [*iaprof, '--budget', BUDGET],
                'iaprof, no budget': [*iaprof, '--budget', 'none'],
                'perf record': ['perf', 'record', '-q', '-F', '19', '-a', '-g', '-o', 'FOLDER/perf.data'],
                'bpftrace': ['bpftrace', '-e', 'profile:hz:19 { @[kstack, ustack] = count(); }']}
    results = {name: measure(command, interval if command[0] == IAPROF else 0) for name, command in commands.items()
               if shutil.which(command[0])}
    base = next(iter(results.values()))
    print(f'{os.cpu_count()} CPUs, {SECONDS:g} s a phase; in parentheses: how many times that of iaprof with a budget')
    for phase in [*DAY, 'a day']:
        for name, found in results.items():
            def sum_up(values, which):
                if phase != 'a day':
                    return values[phase][which]
                return sum(values[part][which] * share for part, share in DAY.items())
            cpu, bpf, size, growth = (sum_up(found, which) for which in range(4))
            ratio = cpu / sum_up(base, 0) if sum_up(base, 0) else 0
            print(f'{phase:>10} {name:22} {100 * cpu:7.3f} % CPU ({ratio:5.2f}), of it BPF {100 * bpf:6.4f} %, '
                  f'{size:6.1f} MiB, {growth * 3600 / 2**20:8.2f} MiB an hour on disk')


if __name__ == '__main__':
    earlier = read(STATISTICS)
    with open(STATISTICS, 'w', encoding='utf-8') as switch:
        switch.write('1')
    try:
        with tempfile.TemporaryDirectory() as scratch:
            os.chdir(scratch)
            main()
            os.chdir('/')
    finally:
        with open(STATISTICS, 'w', encoding='utf-8') as switch:
            switch.write(earlier or '0')
