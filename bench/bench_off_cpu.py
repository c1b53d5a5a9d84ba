#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording waits costs a storm of them, a ping-pong of two threads over pipes: off-cpu beside bpftrace's
equivalent of offcputime, offcputime of bcc and perf sched record, in turns: bench_off_cpu.py IAPROF WAITS [ROUNDS].

Prints the time of the program with each of them, relative to its time alone.
"""
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

IAPROF, WAITS = map(os.path.abspath, sys.argv[1:3])
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
SETTLING = 3
BPFTRACE = '''tracepoint:sched:sched_switch {
  @start[args->prev_pid] = nsecs; @user[args->prev_pid] = ustack; @kernel[args->prev_pid] = kstack;
  $begin = @start[args->next_pid];
  if ($begin) { @time[@user[args->next_pid], @kernel[args->next_pid]] = sum(nsecs - $begin); delete(@start[args->next_pid]); }
}'''
PROFILERS = {
    'iaprof': lambda pid: [IAPROF, '-q', '-s', 'off-cpu', '-p', pid, '-k', 'folded:output=out.folded'],
    'iaprof, min=0': lambda pid: [IAPROF, '-q', '-s', 'off-cpu:min=0', '-p', pid, '-k', 'folded:output=out.folded'],
    'iaprof, min=0, share=0': lambda pid: [IAPROF, '-q', '-s', 'off-cpu:min=0,share=0', '-p', pid, '-k',
                                           'folded:output=out.folded'],
    'iaprof, whole system': lambda pid: [IAPROF, '-q', '-s', 'off-cpu', '-k', 'folded:output=out.folded'],
    'offcputime (bcc)': lambda pid: ['offcputime-bpfcc', '-f', '-p', pid],
    'bpftrace': lambda pid: ['bpftrace', '-e', BPFTRACE],
    'perf sched record': lambda pid: ['perf', 'sched', 'record', '-q', '-o', 'perf.data'],
    'perf record -g, sched_switch': lambda pid: ['perf', 'record', '-q', '-g', '-e', 'sched:sched_switch', '-p', pid,
                                                 '-o', 'perf.data'],
}


def storm(profiler, folder):
    """-> seconds of the storm; None if the profiler does not run here"""
    with subprocess.Popen([WAITS, 'storm'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        other = None
        if profiler:
            other = subprocess.Popen(profiler(str(program.pid)), cwd=folder, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            time.sleep(SETTLING)
        runs = not other or other.poll() is None
        seconds = int(program.communicate('x')[0].split()[1]) / 1e9
        if other:
            other.send_signal(signal.SIGINT)
            other.wait()
        return seconds if runs else None


def main():
    times = {name: [] for name in ('alone', *PROFILERS)}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            times['alone'].append(storm(None, folder))
            for name, profiler in PROFILERS.items():
                if shutil.which(profiler('1')[0]) and None not in times[name]:
                    times[name].append(storm(profiler, folder))
    alone = statistics.median(times['alone'])
    print(f'{alone:.2f} s alone')
    for name in PROFILERS:
        if times[name] and None not in times[name]:
            print(f'{name:32} {statistics.median(times[name]) / alone:6.2f} times as long')
        else:
            print(f'{name:32} not here')


main()
