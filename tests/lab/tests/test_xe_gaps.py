#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: module xe
# lab: seconds 600
# lab: covers plugins/xe-eustall/** plugins/off-cpu/** engine/profile/device_gaps.[ch] engine/profile/wait*
# lab: covers tests/lab/programs/xe_gaps.c tests/lab/level_zero/gpu_jobs.*
"""Idle gaps of a GPU, and waits for it, against the device's own clock and a program that knows what it does. TAP."""
import collections
import csv
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from flame_graph import double
from harness import profiler
from harness.cases import check, equal, run, started

GAPS = pathlib.Path(os.environ['LAB_BUILD']) / 'tests/lab/programs/xe_gaps'
ROUNDS, JOB, COMPUTE, SLEEP = 15, 40, 60, 80
# Of the device's time; and of the program's phases, which samples show on an emulated processor.
EXACT, SAMPLED = 0.01, 0.2
REASONS = {'prepare_batch': '[running]', 'read_input': '[sleep]'}
# Wherever a thread is when it is on a CPU, or could be.
ANYWHERE = {'[running]', '[preempted]', '[runnable]'}


def jobs_of_device():
    """What the device did -> {word: number}"""
    (line,) = re.findall(r'^jobs .*', double.state(), re.MULTILINE)
    words = line.split()
    return dict(zip(words[::2], map(int, words[1::2])))


def near(found, expected, part, what):
    print(f'# {what}: {found / 1e6:.1f} ms, {expected / 1e6:.1f} ms expected')
    check(abs(found - expected) <= part * expected, f'{what}: {found / 1e6:.3f} ms, not {expected / 1e6:.3f} ms')


def launch(*arguments):
    """-> the program, which waits for a byte"""
    return started(subprocess.Popen([GAPS, double.device_node(), *map(str, arguments)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, encoding='utf-8'))


def begin(program):
    program.stdin.write('x')
    program.stdin.flush()


def profile(*arguments, source='xe-eustall:ze-usdt=no'):
    """Runs iaprof, from when the device is sampled."""
    double.write('scenario', double.scenario_text('lnl', [], ['gt 0 main cores 0-3']))
    watch = profiler.Profiler(*arguments, '-s', source, ready=lambda said: True)
    double.wait_until(lambda: ' enabled 1 ' in double.state(), 'the stream to be open')
    return watch


def record(*arguments):
    """Profiles the program -> what it prints of its functions, what the device did, rows of stacks, of jobs, messages."""
    before = jobs_of_device()
    program = launch(*arguments)
    # Sources start in this order.
    watch = profile('-p', str(program.pid), '-s', 'off-cpu:share=0', '-s', 'cpu-stack',
                    '-k', 'csv:rows=stacks,newline=lf,output=stacks.csv',
                    '-k', 'csv.events:rows=events,newline=lf,output=events.csv')
    begin(program)
    lines = [program.stdout.readline().split() for _ in range(3)]
    after = jobs_of_device()
    watch.end()
    program.communicate()
    return ({name: int(time) for name, time in lines}, {word: after[word] - before[word] for word in after}, stacks(),
            profiler.read_rows(path='events.csv'), watch.said)


def stacks():
    """-> {value type: {(functions of the program, reason): ns}}"""
    found = collections.defaultdict(collections.Counter)
    with open('stacks.csv', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            frames = [re.sub(r'(_\[\w\]|@.*)$', '', frame) for frame in row['stack'].split(';')]
            if frames[0] == 'xe_gaps':
                function = next((name for name in (*REASONS, 'wait_for_gpu') if name in frames), None)
                found[row['value_type']][function, frames[-1]] += int(row['value'])
    return found


def gaps_and_waits():
    times, device, found, events, said = record(ROUNDS, JOB, COMPUTE, SLEEP)
    idle = found['device-idle']
    for (function, reason), value in idle.most_common():
        print(f'# idle in {function}: {value / 1e6:.1f} ms {reason}')
    near(sum(idle.values()), device['idle'], EXACT, 'idle')
    for function, reason in REASONS.items():
        of_function = {reason: value for (name, reason), value in idle.items() if name == function}
        check(set(of_function) <= {reason, *ANYWHERE}, f'{function}: {of_function}')
        check(max(of_function, key=of_function.get) == reason, f'{function}: {of_function}')
        # There is no gap behind the last job.
        near(sum(of_function.values()), times[function] * (ROUNDS - 1) / ROUNDS, SAMPLED, f'idle in {function}')
    check(re.search(rf'idle for .* s between jobs of process \d+ \({ROUNDS - 1} gaps, {ROUNDS} jobs', said), said)
    jobs = [row for row in events['job'] if row['kind'] == 'done']
    equal((len(jobs), device['jobs']), (ROUNDS, ROUNDS), 'jobs')
    ran = sum(int(row['value']) for row in jobs)
    # An end is seen at its interrupt: later than the device's, but before the program goes on, by its own clock.
    latest = max(device['busy'], times['wait_for_gpu'])
    near(ran, min(max(ran, device['busy']), latest), EXACT, f'run time of jobs, at most {latest / 1e6:.1f} ms')
    waits = {reason: value for (name, reason), value in found['off-cpu'].items() if name == 'wait_for_gpu'}
    # What is left when the job has ended: the thread has to be woken.
    late = sum(value for (name, _), value in idle.items() if name == 'wait_for_gpu')
    check(late < SAMPLED * device['idle'], f'{late} ns of waits for the GPU after its jobs')
    check(set(waits) == {'[GPU fence: xe]'}, f'waits for the GPU: {waits}')
    near(sum(waits.values()), times['wait_for_gpu'], SAMPLED, 'waits for the GPU')


def a_job_in_flight():
    """The run ends while a job is running."""
    watch = profile(*profiler.ROWS)
    program = launch(1, 9000, 0, 0)
    begin(program)
    double.wait_until(lambda: jobs_of_device()['running'], 'job')
    watch.end()
    program.kill()
    (job,) = profiler.read_rows()['job']
    equal(job['kind'], 'in-flight', 'state of the job')


def without_jobs():
    """Who was busy is known all the same."""
    watch = profile(*profiler.ROWS, source='xe-eustall:ze-usdt=no,jobs=no')
    program = launch(3, 200, 0, 0)
    begin(program)
    for _ in range(3):
        program.stdout.readline()
    watch.end()
    rows = profiler.read_rows()
    equal(len(rows['job']), 0, 'jobs')
    check('tracepoints' in profiler.metadata(rows)['device activity from'], 'no device activity')


sys.exit(run([('gaps and waits', gaps_and_waits), ('a job in flight', a_job_in_flight),
              ('without jobs', without_jobs)]) != 0)
