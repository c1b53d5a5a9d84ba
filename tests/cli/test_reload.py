#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A continuous run that reads its configuration again misses no sample and counts none twice: its samples are compared
with the ticks of clocks of the same rate, which the Linux kernel has on each CPU meanwhile (reference_clock.c)."""
import bisect
import collections
import csv
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile

from harness import (COMPLETE, FAILING_SOURCE, PLUGINS, case, end, equal, main, needs_root, needs_sampling, require, start,
                     wait_until, write)

TIMES = os.path.join(PLUGINS, 'iaprof-times-sink.so')
EXCLUSIVE = os.path.join(PLUGINS, 'iaprof-exclusive-source.so')
REFERENCE = os.path.join(PLUGINS, 'reference-clock')
FREQUENCY = 250
PERIOD = 1000000000 // FREQUENCY
RELOADS = 4
# The clocks of two runs are not in step: from the last tick of one to the first of the next it may be two periods.
TICKS_MISSED = 3
# Periods in which samples are counted: less than two runs would overlap.
WINDOW = 40


def configure(number, more=''):
    write('run.ini', f'[iaprof]\ncontinuous = yes\ninterval = 200\nbudget = none\n'
          f'[source:cpu-stack]\nclock = software\nfrequency = {FREQUENCY}\nidle = yes\nunwind = fp\nkernel = no\n{more}'
          f'[sink:{TIMES}]\nisolate = no\n'
          f'[sink:csv.events]\noutput = events{number}.csv\nrows = events\nnewline = lf\n'
          f'[sink:csv.stacks]\noutput = -\nnewline = lf\n')


def events(number):
    with open(f'events{number}.csv', encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def begin_reference():
    reference = subprocess.Popen([REFERENCE, str(PERIOD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    equal(reference.stdout.readline(), b'started\n', 'reference clock')
    return reference


def end_reference(reference):
    """CPU -> times of its ticks."""
    ticks = collections.defaultdict(list)
    out, _ = reference.communicate()
    equal(reference.returncode, 0, 'reference clock')
    for line in out.decode().splitlines():
        cpu, time = map(int, line.split())
        ticks[cpu].append(time)
    return ticks


def burners():
    """A program on each CPU that burns it."""
    return [subprocess.Popen([sys.executable, '-S', '-c',
                              f'import os\nos.sched_setaffinity(0, [{cpu}])\nwhile True: pass'])
            for cpu in os.sched_getaffinity(0)]


@case('after SIGHUP no sample is missing, and none is counted twice', needs=(needs_root, needs_sampling))
def no_gap():
    burning, reference = burners(), begin_reference()
    configure(0)
    with tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as out:
        process = start('-v', '-c', 'run.ini', stderr=err, stdout=out)

        def messages():
            return os.pread(err.fileno(), 1000000, 0).decode()

        def intervals():
            return os.fstat(out.fileno()).st_size
        wait_until(intervals, 'an interval')
        for number in range(1, RELOADS + 1):
            # Its source cannot be prepared: the run goes on undisturbed.
            configure('never', f'[source:{FAILING_SOURCE}]\nin = prepare\n')
            before = len(messages())
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: 'the run continues' in messages()[before:], 'a refusal')  # pylint: disable=cell-var-from-loop
            configure(number)
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: os.path.exists(f'events{number - 1}.csv'), 'the output of a run that has ended')  # pylint: disable=cell-var-from-loop
            size = intervals()
            wait_until(lambda: intervals() > size, 'an interval')  # pylint: disable=cell-var-from-loop
        process.send_signal(signal.SIGINT)
        wait_until(lambda: os.path.exists(f'events{RELOADS}.csv'), 'the last output')
        ticks = end_reference(reference)
        for program in burning:
            program.kill()
            program.wait()
        equal(end(process).status, COMPLETE, messages())
        text = messages()
    equal(text.count('the run continues'), RELOADS, f'refusals: {text}')
    require('never' not in ' '.join(os.listdir()), 'output of a run that was not to be')
    rows = [row for number in range(RELOADS + 1) for row in events(number)]
    samples = sorted((int(row['time']), int(row['count'])) for row in rows
                     if row['record'] == 'sample' and row['source'] == 'cpu-stack')
    lost = sum(int(row['count'] or 0) for row in rows if row['record'] == 'lost' and row['source'] == 'cpu-stack')
    first, last = samples[0][0], samples[-1][0]
    merged = sorted(time for times in ticks.values() for time in times)

    def expected(begin, until):
        """Ticks of all CPUs between two times."""
        return bisect.bisect_left(merged, until) - bisect.bisect_right(merged, begin)
    hole = max(expected(before[0], after[0]) for before, after in zip(samples, samples[1:]))
    require(hole <= TICKS_MISSED * len(ticks), f'{hole} ticks of {len(ticks)} CPUs without a sample\n{text}')

    # Where the machine stood still, each clock may have a tick more than the other one.
    stalls = sorted(after for times in ticks.values() for before, after in zip(times, times[1:])
                    if after - before > 3 * PERIOD // 2)
    sums = list(itertools.accumulate((count for _, count in samples), initial=0))
    starts = [time for time, _ in samples]
    most, least = 0, 1
    for number, begin in enumerate(starts):
        until = begin + WINDOW * PERIOD
        if until > last:
            break
        found = sums[bisect.bisect_left(starts, until)] - sums[number]
        wanted = expected(begin - 1, until)
        stood = bisect.bisect_left(stalls, until) - bisect.bisect_left(stalls, begin)
        most = max(most, found - wanted - stood)
        least = min(least, (found + stood) / wanted if wanted else 1)
    print(f'# {sums[-1]} samples, {expected(first - 1, last + 1)} ticks of the reference, {lost} lost, {len(stalls)} stalls; '
          f'largest hole {hole} ticks; in {WINDOW} periods at most {most} too many, at least {100 * least:.0f} %')
    # Two sources that sampled at the same time would have half of the window twice.
    require(most <= 3 * len(ticks), f'{most} samples too many\n{text}')
    # The Linux kernel omits ticks while the maps of BPF programs are read.
    require(least > 0.5, f'{100 * least:.0f} % of the samples\n{text}')


@case('samples of helpers of earlier runs have names and unwind tables', needs=(needs_root, needs_sampling))
def helpers():
    write('run.ini', '[iaprof]\ncontinuous = yes\ninterval = 200\nbudget = none\n[source:cpu-stack]\nfrequency = 4999\n'
          '[sink:csv]\noutput = -\nnewline = lf\n')
    with tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as out:
        process = start('-c', 'run.ini', stderr=err, stdout=out)

        def messages():
            return os.pread(err.fileno(), 1000000, 0).decode()
        wait_until(lambda: os.fstat(out.fileno()).st_size, 'an interval')
        for number in range(RELOADS):
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: messages().count('reloaded the configuration') > number, 'a reload')  # pylint: disable=cell-var-from-loop
            size = os.fstat(out.fileno()).st_size
            wait_until(lambda: os.fstat(out.fileno()).st_size > size, 'an interval')  # pylint: disable=cell-var-from-loop
        process.send_signal(signal.SIGINT)
        equal(end(process).status, COMPLETE, messages())
        require('iaprof-worker: its process has ended' not in messages(), messages())


def exclusive(number, name):
    write('run.ini', f'[iaprof]\ncontinuous = yes\ninterval = 200\n[source:{name}]\nisolate = no\nnumber = {number}\n'
          '[sink:csv]\noutput = -\n')


@case('a source of which there can be only one is passed on to the next run, if that has one with its name')
def one_at_a_time():
    exclusive(0, EXCLUSIVE)
    with tempfile.TemporaryFile() as err:
        process = start('-c', 'run.ini', stderr=err, stdout=subprocess.DEVNULL)

        def messages():
            return re.findall(r'(?:number )?(\w+)[: ] ?(\w+)$', '\n'.join(
                line for line in os.pread(err.fileno(), 100000, 0).decode().splitlines() if 'exclusive' in line), re.MULTILINE)
        wait_until(lambda: ('0', 'start') in messages(), 'the start of the source')
        before = len(messages())
        for number, name, later_first in (1, EXCLUSIVE, True), (2, f'{EXCLUSIVE}.other', False), (3, f'{EXCLUSIVE}.other', True):
            exclusive(number, name)
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: {(str(number - 1), 'destroy'), (str(number), 'start')} <= set(messages()[before:]), 'a reload')  # pylint: disable=cell-var-from-loop
            earlier, later = str(number - 1), str(number)
            equal(messages()[before:],
                  [('after', earlier), (later, 'inherit'), (later, 'prepare'), (later, 'start'), (earlier, 'end'),
                   (later, 'begin'), (earlier, 'stop'), (earlier, 'destroy')] if later_first else
                  [(earlier, 'stop'), (earlier, 'destroy'), (later, 'prepare'), (later, 'start')], f'callbacks of run {number}')
            before = len(messages())
        process.send_signal(signal.SIGINT)
        equal(end(process).status, COMPLETE, f'exit status: {messages()}')


main()
