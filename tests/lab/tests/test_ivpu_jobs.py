#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: module intel_vpu
# lab: seconds 600
# lab: covers plugins/ivpu/** lib/npu/** lib/bpf/**
# lab: covers tests/lab/programs/npu_*
"""The NPU's jobs, against the truth of the double: from the driver's tracepoint, and from its functions. TAP."""
import collections
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness import npu_double, profiler
from harness.cases import check, equal, run
from harness.npu_double import PLAYER, SCENARIOS, wait_until_asleep
from harness.profiler import PROGRAM, ROWS, SLOW

MILLISECOND = 1000000
# Each kernel as its own driver is: 6.12 has no tracepoints.
IS_OLD = os.environ['LAB_KERNEL'] == '6.12'
WAY = 'functions' if IS_OLD else 'tracepoint vpu:job'

Played = collections.namedtuple('Played', 'pid jobs aborted')


def number(row, name):
    return int(row[name]) if row[name] else 0


def missed_of(rows):
    """Events that were lost and counted: the double's interrupt may come while a BPF program runs on its processor."""
    return sum(number(row, 'count') for row in rows['lost'] if row['name'] == 'NPU jobs: program did not run')


def jobs_of(rows, may_miss=False):
    """The rows of jobs, of which nothing may be lost; what calls lack is test_ivpu's business."""
    lost = [row for row in rows['lost'] if not row['name'].startswith('calls: ') and not (
        may_miss and row['name'].startswith(('NPU jobs: program did not run', 'NPU jobs: end not seen')))]
    check(not lost, f'lost: {lost}')
    return rows['job']


def iaprof(*arguments):
    return [PROGRAM, *SLOW, '--scope', 'system', '-s', 'ivpu', *ROWS, *arguments]


def play(scenario, *options):
    """Profiles a scenario -> what its processes say by their names, the rows."""
    outcome = subprocess.run([*iaprof(*options), '--', PLAYER, '--load', scenario], check=False,
                             capture_output=True, encoding='utf-8', timeout=200)
    check(outcome.returncode == 0, f'{outcome.returncode} {outcome.stdout} {outcome.stderr}')
    found = re.findall(r'^(\S+) pid (\d+) rounds \d+ jobs (\d+) aborted (\d+)$', outcome.stdout, re.MULTILINE)
    check(found, f'nothing was played: {outcome.stdout} {outcome.stderr}')
    return {name: Played(*map(int, values)) for name, *values in found}, profiler.read_rows()


def expect_counts(jobs):
    true = npu_double.totals()
    expected = collections.Counter({'done': true['jobs_done'], 'aborted': true['jobs_aborted']})
    equal(collections.Counter(row['kind'] for row in jobs), +expected, 'jobs')
    equal(len(jobs), true['jobs_submitted'], 'jobs')


def expect_processes(jobs, played):
    equal(collections.Counter(number(row, 'pid') for row in jobs),
          {process.pid: process.jobs for process in played.values()}, 'jobs of processes')


def play_and_compare(scenario):
    """-> what was played, the rows of its jobs, which are as many as there were, of whom they were."""
    played, rows = play(scenario)
    equal(profiler.metadata(rows)['jobs from'], WAY, 'jobs from')
    jobs = jobs_of(rows, may_miss=missed_of(rows) > 0)
    if missed_of(rows):
        print(f'# {missed_of(rows)} events were missed, and counted')
        check(0 <= npu_double.totals()['jobs_submitted'] - len(jobs) <= missed_of(rows), f'{len(jobs)} jobs')
        return played, [row for row in jobs if row['kind'] != 'in-flight']
    expect_counts(jobs)
    expect_processes(jobs, played)
    return played, jobs


def steady_load():
    _, jobs = play_and_compare(SCENARIOS / 'steady.txt')
    # An emulated processor is late, and the device's timer comes before the driver traces that it has the job.
    times = sorted(number(row, 'value') for row in jobs)
    print('# run time {:.2f} ms, {:.2f} to {:.2f}'.format(*(times[i] / MILLISECOND for i in (len(times) // 2, 0, -1))))
    check(1.5 * MILLISECOND <= times[len(times) // 2], f'{times}')
    for row in jobs:
        check(number(row, 'duration') >= number(row, 'value') and row['name'] == 'compute', f'{row}')


def two_processes():
    played, _ = play_and_compare(SCENARIOS / 'two.txt')
    equal(sorted(process.jobs for process in played.values()), [15, 60], 'jobs that were played')


def a_hang():
    _, jobs = play_and_compare(SCENARIOS / 'hang.txt')
    (aborted,) = [row for row in jobs if row['kind'] == 'aborted']
    print(f'# aborted after {number(aborted, "value") / MILLISECOND:.0f} ms')
    check(number(aborted, 'result') == 256 and number(aborted, 'value') >= 190 * MILLISECOND, f'{aborted}')
    check(not any(number(row, 'result') for row in jobs if row is not aborted), f'{jobs}')


def only_the_command():
    """A program of somebody else has jobs in the same time."""
    subprocess.run([PLAYER, '--load', SCENARIOS / 'two.txt'], check=True, capture_output=True)
    wait_until_asleep()
    with subprocess.Popen([PLAYER, '--seconds', '30', '--process', 'often', SCENARIOS / 'two.txt'],
                          stdout=subprocess.DEVNULL) as other:
        time.sleep(0.5)
        outcome = subprocess.run([*iaprof('--scope', 'command'), '--', 'sh', '-c',
                                  f'{PLAYER} --process seldom {SCENARIOS}/two.txt; true'], check=False,
                                 capture_output=True, encoding='utf-8', timeout=200)
        other.terminate()
    pid = int(re.search(r'^seldom pid (\d+)', outcome.stdout, re.MULTILINE)[1])
    rows = profiler.read_rows()
    missed = missed_of(rows)
    found = collections.Counter(number(row, 'pid') for row in jobs_of(rows, may_miss=missed > 0))
    check(outcome.returncode == 0 and set(found) == {pid} and 15 - missed <= found[pid] <= 15,
          f'{found}, not 15 of {pid}, {missed} events missed: {outcome.stderr}')


def a_job_in_flight():
    """The run ends before the job does."""
    pathlib.Path('long.txt').write_text(npu_double.one_job(8000), encoding='ascii')
    process = profiler.Profiler('-s', 'ivpu', *ROWS, ready=lambda said: ' functions of intel_vpu in ' in said)
    player = npu_double.play_in_background('long.txt')
    time.sleep(1)  # from the job to its report
    process.end()
    said = player.communicate()[0]
    jobs = jobs_of(profiler.read_rows())
    pid = int(re.search(r'pid (\d+)', said)[1])
    equal([(row['kind'], number(row, 'pid')) for row in jobs], [('in-flight', pid)], 'jobs')


def busy_time():
    """What the driver counts: the double adds up when its list of jobs is not empty -> ns"""
    return int((npu_double.STATUS.parent.parent / 'npu_busy_time_us').read_text(encoding='ascii')) * 1000


def union(intervals):
    total = until = 0
    for begin, end in sorted(intervals):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def finding(rows, name):
    return [row for row in rows['finding'] if row['name'] == name]


def play_burst(text):
    """Plays a scenario a second time, with the NPU's programs in memory -> the rows of its jobs, all rows. The driver's
    counter grows by as much as there is between the beginning and the end of any job."""
    pathlib.Path('burst.txt').write_text(text, encoding='ascii')
    subprocess.run([PLAYER, '--load', 'burst.txt'], check=True, stdout=subprocess.DEVNULL)
    wait_until_asleep()
    before = busy_time()
    subprocess.run([*iaprof(), '--', PLAYER, 'burst.txt'], check=True, stdout=subprocess.DEVNULL)
    wait_until_asleep()
    counted, rows = busy_time() - before, profiler.read_rows()
    jobs = jobs_of(rows)
    (note,) = finding(rows, 'npu-job-coverage')
    print(f'# busy for {counted / MILLISECOND:.2f} ms; {note["text"]}')
    check(note['kind'] == 'note' and abs(float(note['value']) - 100) <= 2, f'{note}')
    stated = float(re.search(r"for ([0-9.]+) ms by the driver's counter", note['text'])[1])
    check(abs(stated - counted / MILLISECOND) <= 0.02 * stated, f'not {counted} ns: {note}')
    if all(row['value'] for row in jobs):
        traced = union((number(row, 'time') - number(row, 'value'), number(row, 'time')) for row in jobs)
        check(abs(traced - counted) <= 0.02 * counted, f'{traced} ns by jobs, {counted} ns by the driver')
    return jobs, rows


BURST = 4


def jobs_of_a_burst_follow_each_other():
    """Four at once: the device needs 30 ms for each, and a job has it when the one before is over."""
    text = (SCENARIOS / 'steady.txt').read_text(encoding='ascii')
    # The first job's, and that of the others.
    tree, rest = re.findall(r'^ioctl SUBMIT times \d+\n(?: .*\n)+', text, re.MULTILINE)
    trees = ''.join(tree.replace('after 2ms', f'after {30 * (i + 1)}ms') for i in range(BURST))
    names = [f'buffer{i}' for i in range(BURST)]
    steps = ['open', *(f'bo_create {name} 4K' for name in names), *(f'submit {name}' for name in names),
             *(f'wait {name}' for name in names), 'close']
    text = text.replace(rest, '').replace(tree, trees)
    for mode in 'OS', 'HW':
        jobs, rows = play_burst(f'set sched_mode {mode}\n' + text[:text.index('process ')] + 'process burst\n' +
                                ''.join(f'    {step}\n' for step in steps))
        times = [number(row, 'value') / MILLISECOND for row in jobs]
        ends = [number(row, 'time') / MILLISECOND for row in jobs]
        between = [end - begin for begin, end in zip(ends, ends[1:])]
        print(f'# {mode}: {times}')
        check(len(jobs) == BURST and 25 <= times[0], f'{jobs}')
        check(all(abs(time - gap) <= 0.001 for time, gap in zip(times[1:], between)), f'{mode}: {times}, {between}')
        equal(finding(rows, 'npu-unknown-starts'), [], 'findings')


# What ends a job, and what aborts those of a context, by release: the last is of 6.11 to 6.14.
DONE = (SCENARIOS / 'steady.txt').read_text(encoding='ascii')
DONE = DONE[DONE.index('resume\n'):DONE.index('process ')]
ABORTS = {True: 'interrupt context_abort\n    ivpu_hw_irq_handler\n        ivpu_hw_ip_irq_handler_40xx\n'
                '            ivpu_mmu_irq_evtq_handler\n'
                'thread context_abort\n    ivpu_irq_thread_handler\n        ivpu_context_abort_thread_handler\n'
                '            job abort\n            ivpu_job_signal_and_destroy\n',
          False: 'work context_abort\n    ivpu_context_abort_work_fn\n        job abort\n'}


def jobs_of_command_queues():
    """Which Linux 6.15 and newer have: two queues of a program."""
    pathlib.Path('queues.txt').write_text(
        'ioctl CMDQ_CREATE\n    ivpu_cmdq_create_ioctl\n'
        'ioctl CMDQ_SUBMIT\n    ivpu_cmdq_submit_ioctl\n        ivpu_rpm_get\n        job submit\n'
        '        start job_done after 2ms\n' + DONE +
        'process queues\n    open\n    bo_create first 4K\n    bo_create second 4K\n    queue_create one\n'
        '    queue_create other\n    repeat 20\n        queue_submit one first\n        wait first status 0\n'
        '        queue_submit other second\n        wait second status 0\n    queue_destroy one\n'
        '    queue_destroy other\n    close\n', encoding='ascii')
    _, jobs = play_and_compare('queues.txt')
    equal(len(jobs), 40, 'jobs')


def queues_at_once():
    """A job of 90 ms in a queue, and two of 30 ms in another: which of them the device works on is not known."""
    (interrupt,) = re.findall(r'^interrupt job_done\n(?: .*\n)+', DONE, re.MULTILINE)
    (thread,) = re.findall(r'^thread job_done\n(?: .*\n)+', DONE, re.MULTILINE)
    done = DONE.replace(interrupt, '').replace(thread, '') + ''.join(
        (interrupt + thread).replace('job_done\n', f'{name}_done\n').replace('job done', f'job done queue {queue}')
        for queue, name in ((1, 'long'), (2, 'short')))
    submits = ''.join(f'ioctl CMDQ_SUBMIT times 1\n    ivpu_cmdq_submit_ioctl\n        ivpu_rpm_get\n        job submit\n'
                      f'        start {event}_done after {end}ms\n'
                      for event, end in (('long', 90), ('short', 30), ('short', 60)))
    names = 'first', 'second', 'third'
    steps = ['open', *(f'bo_create {name} 4K' for name in names), 'queue_create one', 'queue_create other',
             'queue_submit one first', 'queue_submit other second', 'queue_submit other third',
             *(f'wait {name} status 0' for name in names), 'queue_destroy one', 'queue_destroy other', 'close']
    jobs, rows = play_burst('ioctl CMDQ_CREATE\n    ivpu_cmdq_create_ioctl\n' + submits + done + 'process queues\n' +
                            ''.join(f'    {step}\n' for step in steps))
    times = [number(row, 'duration') / MILLISECOND for row in jobs]
    print(f'# {times}')
    # In the order of their ends: the second, the third, the first.
    check(len(jobs) == 3 and all(time >= end - 5 for time, end in zip(times, (30, 60, 90))), f'{jobs}')
    equal([row['value'] for row in jobs], ['', '', ''], 'times on the device, which are not known')
    (note,) = finding(rows, 'npu-unknown-starts')
    equal(float(note['value']), 3, note['text'])


def a_context_that_is_aborted():
    pathlib.Path('context.txt').write_text(
        'ioctl SUBMIT times 1\n    ivpu_submit_ioctl\n        ivpu_rpm_get\n        job submit\n'
        '        start job_done after 2ms\n'
        'ioctl SUBMIT\n    ivpu_submit_ioctl\n        ivpu_rpm_get\n        job submit\n'
        '        start context_abort after 30ms\n' + DONE + ABORTS[IS_OLD] +
        'process context\n    open\n    bo_create command 4K\n    submit command\n    wait command status 0\n'
        '    submit command\n    wait command status 256\n    close\n', encoding='ascii')
    _, jobs = play_and_compare('context.txt')
    equal([row['kind'] for row in jobs], ['done', 'aborted'], 'jobs')


def after_sleep(case):
    """The device of the case before has to sleep when this one begins."""
    def run_case():
        wait_until_asleep()
        return case()
    return run_case


def main():
    if IS_OLD:
        wait_until_asleep()
        subprocess.run(['rmmod', 'intel_vpu'], check=True)
        npu_double.load('generation=6.12')
    of_new = () if IS_OLD else (jobs_of_command_queues, queues_at_once)
    return run([(f'{WAY}: {case.__name__.replace("_", " ")}', after_sleep(case)) for case in
                (steady_load, two_processes, a_hang, a_context_that_is_aborted, *of_new, only_the_command, a_job_in_flight,
                 jobs_of_a_burst_follow_each_other)],
               long={'two processes', 'a context that is aborted', 'jobs of command queues', 'a job in flight'})


sys.exit(main() != 0)
