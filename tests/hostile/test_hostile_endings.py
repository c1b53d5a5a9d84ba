#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ends of runs: SIGTERM while an attack blocks, SIGKILL while recording, plugins that end the program."""
import csv
import os
import re
import signal
import time

import attack
import attacks
from harness import case, main, require
import processes

ENDING_SOURCE = os.path.join(attack.PROGRAMS, 'iaprof-ending-source.so')
CSV_FIELD_MAX = 1 << 24


def judge_signal(start):
    """SIGTERM ends a run with a complete profile, if names do not take longer than it may wait for them."""
    with attack.Programs() as programs:
        path = start(programs)
        sampled = [*attack.start_truth(programs), *filter(attack.is_running, programs.pids)]
        run = attack.Run('-d', '600', *attack.PROFILE, signal_at=1, sampled=sampled, programs=programs).completes()
        run.names(os.path.basename(path)).judge()


def start_image(programs, make, name):
    path = make(name)
    programs.start(path)
    return path


for name, make in {
        'debuglink-sparse': attacks.image_with_sparse_debug_file,
        'altlink-fifo': attacks.image_with_names_in_fifo,
        'zdebug-bomb': attacks.image_with_bomb,
        }.items():
    case(f'sigterm-ends: {name}', lambda programs, name=name, make=make: start_image(programs, make, name),
         needs=attack.needs())(judge_signal)
case('sigterm-ends: fuse-silent', attacks.start_silent_program,
     needs=[*attack.needs(), attacks.needs_fuse])(judge_signal)


def sample_times(capture):
    """(times of the samples of a capture, the run that replayed it)"""
    run = attack.Run('--replay', capture, '-k', 'csv:rows=events', '-o', 'events.csv', seconds=10)
    if not os.path.exists('events.csv'):
        return [], run
    csv.field_size_limit(CSV_FIELD_MAX)
    with open('events.csv', newline='', encoding='utf-8', errors='replace') as file:
        return [int(row['time']) for row in csv.DictReader(file) if row['record'] == 'sample'], run


def left_capture(wanted):
    """The capture that a run left, under the name that it was to have or another one of the folder."""
    found = [name for name in os.listdir('.') if name == wanted or wanted in name and name.startswith('.')]
    require(found, f'no capture is there, but {sorted(os.listdir("."))}')
    return max(found, key=os.path.getsize)


RECORD_SECONDS = 5
# Samples stay in the Linux kernel for up to a second, and blocks in memory for another one.
UNRECORDED_MAX = 2.5 * 1e9


@case('record-sigkill', needs=attack.needs())
def record_sigkill():
    with attack.Programs() as programs:
        attack.start_truth(programs)
        patience, waits = None, []  # times, and for how long the processes of iaprof had waited for a CPU

        def kill(recorded, pid):
            nonlocal patience
            patience = patience or attack.Patience([pid])
            waits.append((time.monotonic_ns(), patience.sums(processes.descendants(pid))[1] * 1e9))
            if recorded > RECORD_SECONDS:
                os.kill(pid, signal.SIGKILL)
        run = attack.Run('-d', '600', '--record', 'capture', seconds=600, programs=programs, during=kill)
        run.requires(run.status == -signal.SIGKILL, f'exit status {run.status}')
        times, replay = sample_times(left_capture('capture'))
        killed, waited = waits[-1]
        last = max(times, default=waits[0][0])
        waited -= max((waited for at, waited in waits if at <= last), default=0)
        run.requires(killed - last - waited < UNRECORDED_MAX, f'the last {(killed - last) / 1e9:.1f} s are missing, in which iaprof '
                         f'waited {waited / 1e9:.1f} s for a CPU')
        run.requires(re.search(r'trunc|cut|incomplete|end', replay.err), f'the replay does not say that it is cut off: '
                     f'{replay.err}').judge()


# A run that ends in stop() is longer than what it may leave unrecorded; of the others, no capture is read.
PLUGIN_SECONDS = {'prepare': 0.2, 'start': 0.2, 'stop': UNRECORDED_MAX / 1e9 + 1}


@case('plugin-crash', 'crash', ('prepare', 'start', 'stop'), needs=attack.needs())
@case('plugin-exit', 'exit', ('prepare', 'start', 'stop'), needs=attack.needs())
def plugin_ends(how, callbacks):
    for callback in callbacks:
        seconds = PLUGIN_SECONDS[callback]
        run = attack.Run('-d', f'{seconds}s', '-s', 'cpu-stack', '-s', f'{ENDING_SOURCE}:at={callback},how={how}', '--record',
                         f'capture-{callback}', '-o', 'profile', seconds=seconds)
        run.requires(run.status == 1, f'{callback}(): exit status {run.status}')
        named = any('ending-source' in line and re.search(rf'\b{callback}\b', line) for line in run.err.splitlines())
        run.requires(named, f'no line names plugin ending-source and its callback {callback}()')
        if callback == 'stop':
            times, replay = sample_times(left_capture(f'capture-{callback}'))
            run.requires(len(times) > 0, f'{callback}(): the capture has no samples: {replay.err}')
        run.judge()


if __name__ == '__main__':
    main()
