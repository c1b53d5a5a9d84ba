#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: module xe
# lab: covers plugins/xe-eustall/activity/** lib/bpf/gpu_job.bpf.h
# lab: covers tests/lab/programs/xe_activity.c tests/lab/programs/xe_jobs.c tests/lab/level_zero/gpu_jobs.*
"""Who was busy on a device, from the tracepoints of the real DRM scheduler, against jobs whose times are known. TAP."""
import collections
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import Failure, named, run

PROGRAMS = pathlib.Path(os.environ['LAB_BUILD']) / 'tests/lab/programs'
ADDRESS, NODE = '0000:00:10.0', '/dev/dri/renderD128'
SCHEDULER, STATISTICS = 1, 2
READING_PERIOD_MAX = 1000000000  # ns, as in client_watch.c

Activity = collections.namedtuple('Activity', 'begin end pid busy kind label')


def start(jobs):
    return [subprocess.Popen([PROGRAMS / 'xe_jobs', NODE, *map(str, arguments)], stdout=subprocess.PIPE, encoding='utf-8')
            for arguments in jobs]


def watch(jobs, milliseconds, period=10, before=False):
    """Runs programs of jobs (arguments of xe_jobs each), which have the device open before it is watched, or begin later
    -> their pids, their time in ns by the device's own clock, the records, other lines."""
    programs = start(jobs) if before else []
    for program in programs:
        program.stdout.readline()  # it has opened the device
    with subprocess.Popen([PROGRAMS / 'xe_activity', ADDRESS, str(milliseconds), str(period)], stdout=subprocess.PIPE,
                          encoding='utf-8') as watcher:
        lines = []
        for line in watcher.stdout:
            lines.append(line.rstrip())
            if line == 'ready\n':
                break
        programs = programs or start(jobs)
        lines += watcher.stdout.read().splitlines()
        printed = [program.communicate()[0].split() for program in programs]
    if watcher.returncode or any(program.returncode for program in programs):
        raise Failure(f'{watcher.returncode} {lines[-5:]} {printed}')
    records = [Activity(*map(int, line.split()[1:])) for line in lines if line.startswith('activity ')]
    others = [line for line in lines if not line.startswith('activity ')]
    others = [line for line in others if not line.startswith('job ')]
    # A program that is preempted misses what happens on its CPU meanwhile: a job is then lost, but no time.
    if any(line.startswith('lost ') and 'GPU jobs: ' not in line for line in others):
        raise Failure(f'lost: {others}')
    for words in printed:
        asked, busy = map(int, words[-2:])
        print(f'# {words[-3]} jobs: {asked / 1e6:.0f} ms asked, {busy / 1e6:.1f} ms by the device\'s clock')
        if busy < asked * 0.99:  # a timer is late, never early
            raise Failure(f'the device was busy for less than its jobs: {words}')
    return [program.pid for program in programs], [int(words[-1]) for words in printed], records, others


def busy_by_pid(records):
    sums = collections.Counter()
    for record in records:
        sums[record.pid] += record.busy
    return sums


def expect_kind(records, kind):
    if not records or any(record.kind != kind for record in records):
        raise Failure(f'not all of kind {kind}: {records[:3]}')


def expect_scheduler(records):
    """Linux before 6.18 does not report all jobs; a client that was just found is read once more before it does."""
    if tuple(map(int, os.uname().release.split('.')[:2])) < (6, 18):
        expect_kind(records, STATISTICS)
    elif sum(record.kind == SCHEDULER for record in records) < len(records) / 2:
        raise Failure(f'most are not of the scheduler: {records[:3]}')


def expect_busy(found, expected, what):
    """The scheduler reports a job a moment before or after the device begins and ends it."""
    if not expected * 0.95 <= found <= expected * 1.05:
        raise Failure(f'{what}: {found / 1e6:.1f} ms, not {expected / 1e6:.1f} ms')


def one_process():
    pids, times, records, others = watch([('compute', 20000, 2000)], 3500)
    expect_scheduler(records)
    sums = busy_by_pid(records)
    print(f'# {sums[pids[0]] / 1e6:.1f} ms seen')
    if set(sums) != set(pids):
        raise Failure(f'{sums} of {pids}')
    expect_busy(sums[pids[0]], times[0], 'busy')
    if 'processes 2' in others or 'processes 1' not in others:
        raise Failure('how many processes')


def short_jobs_are_all_seen():
    """Shorter than the period, and the program ends before anybody looks."""
    pids, times, records, _ = watch([('compute', 3000, 60)], 2500, 1000)
    sums = busy_by_pid(records)
    print(f'# {sums[pids[0]] / 1e6:.1f} ms seen')
    if set(sums) != set(pids) or not times[0] * 0.99 <= sums[pids[0]] <= times[0] * 2:
        raise Failure(f'{sums}, not {times}')


def two_at_once():
    pids, times, records, others = watch([('compute', 20000, 2500), ('compute', 10000, 2500)], 3500)
    expect_scheduler(records)
    sums = busy_by_pid(records)
    for pid, time in zip(pids, times):
        print(f'# {pid}: {time / 1e6:.1f} ms of jobs, {sums[pid] / 1e6:.1f} ms seen')
        expect_busy(sums[pid], time, f'busy of {pid}')
    if set(sums) != set(pids) or 'processes 2' not in others:
        raise Failure(f'{sums} of {pids}')


def two_in_turns():
    """200 ms each: in a window that is one's own, nobody else is reported."""
    pids, times, records, _ = watch([('compute', 5000, 2500, 200, 200, 0), ('compute', 5000, 2500, 200, 200, 200)], 3500)
    sums = busy_by_pid(records)
    wrong = total = 0
    for record in records:
        total += record.busy
        # Where jobs may be late is left out; on an emulated processor some are later than that.
        number, phase = divmod(record.begin // 1000000, 200)
        if 20 <= phase and record.end // 1000000 // 200 == number and record.pid != pids[number % 2]:
            wrong += record.busy
    print(f'# {total / 1e6:.0f} ms, {wrong / 1e6:.2f} ms of them wrong; ' +
          ', '.join(f'{sums[pid] / 1e6:.0f} of {time / 1e6:.0f}' for pid, time in zip(pids, times)))
    if set(sums) != set(pids) or wrong > total / 33:
        raise Failure(f'{wrong} of {total}: {sums}')
    for pid, time in zip(pids, times):
        expect_busy(sums[pid], time, f'busy of {pid}')


def copies_are_no_code():
    pids, _, records, _ = watch([('compute', 20000, 1000), ('copy', 20000, 1000)], 1800)
    if {record.pid for record in records} != {pids[0]}:
        raise Failure(f'{records[:5]} of {pids}')


def statistics_without_programs():
    """Without the right to load BPF programs. No event announces a new client then, and how soon it is found depends on
    how long /proc takes to read: the client starts first."""
    pids, times, records, others = watch([('compute', 20000, 4000)], 5000, 100, before=True)
    expect_kind(records, STATISTICS)
    sums = busy_by_pid(records)
    print(f'# {sums[pids[0]] / 1e6:.1f} ms seen')
    if set(sums) != set(pids) or not any('usage statistics only' in line for line in others):
        raise Failure(f'{sums} of {pids}: {others}')
    # From when the client is found, nothing of its jobs is missing; until the next reading, at most a second later, it is
    # taken to go on.
    span = max(record.end for record in records) - min(record.begin for record in records)
    seen = sums[pids[0]]
    if not span * 0.8 <= seen <= min(span, times[0] + READING_PERIOD_MAX) * 1.1 or seen < times[0] / 10:
        raise Failure(f'{seen} in {span}, of {times[0]}')


def a_right_that_is_missing_is_named():
    others = watch([], 200, 100)[3]
    if not any('CAP_SYS_ADMIN' in line for line in others):
        raise Failure(f'{others}')


def without_rights(dropped, what):
    """A case of its own process."""
    return subprocess.run(['setpriv', f'--bounding-set={dropped}', sys.executable, __file__, what],
                          check=False).returncode


def main():
    if 'without-programs' in sys.argv:
        return run(named(statistics_without_programs), 6, False)
    if 'without-types' in sys.argv:
        return run(named(a_right_that_is_missing_is_named), 7, False)
    failures = run(named(one_process, short_jobs_are_all_seen, two_at_once, two_in_turns, copies_are_no_code), 1, False)
    failures += without_rights('-bpf,-perfmon,-sys_admin', 'without-programs')
    failures += without_rights('-sys_admin', 'without-types')
    print('1..7')
    return failures


sys.exit(main() != 0)
