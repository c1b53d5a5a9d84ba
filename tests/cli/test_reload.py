#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A continuous run that reads its configuration again counts no sample twice, and states the time without samples: both are
compared with the ticks of clocks of the same rate, which the Linux kernel has on each CPU meanwhile (reference_clock.c)."""
import bisect
import collections
import csv
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import (COMPLETE, FAILING_SOURCE, PLUGINS, case, end, equal, main, needs_root, needs_sampling, require, start,
                     wait_until, write)

TIMES = os.path.join(PLUGINS, 'iaprof-times-sink.so')
CALLBACKS = os.path.join(PLUGINS, 'iaprof-callbacks-source.so')
REFERENCE = os.path.join(PLUGINS, 'reference-clock')
FREQUENCY = 250
PERIOD = 1000000000 // FREQUENCY
RELOADS = 4
# The clocks of two runs are not in step: from the last tick of one to the first of the next it may be two periods.
TICKS_MISSED = 3
# Periods in which samples are counted: less than two runs would overlap.
WINDOW = 40
# Longest time without samples, ns, and the share of the time in which tasks may wait for a CPU on a quiet machine.
GAP_MAX = 500_000_000
QUIET = 0.05


def configure(number, more=''):
    write('run.ini', f'[iaprof]\ncontinuous = yes\ninterval = 200ms\nbudget = none\n'
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


class Continuous:
    """A continuous run with run.ini, whose messages are kept."""

    def __init__(self, *options, stdout=subprocess.DEVNULL):
        self.err = tempfile.TemporaryFile()  # pylint: disable=consider-using-with
        self.process = start(*options, '-c', 'run.ini', stderr=self.err, stdout=stdout)

    def messages(self):
        return os.pread(self.err.fileno(), 1000000, 0).decode()

    def hang_up(self, said='reloaded the configuration'):
        """Sends SIGHUP, and waits until it has said this once more."""
        before = self.messages().count(said)
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.messages().count(said) > before, said)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    def end(self):
        """When no other program of the case runs: what is left was left behind by iaprof."""
        equal(end(self.process).status, COMPLETE, self.messages())


class Runs(Continuous):
    """From its first interval on."""

    def __init__(self):
        self.out = tempfile.TemporaryFile()  # pylint: disable=consider-using-with
        super().__init__('-v', stdout=self.out)
        self.wait_for_interval(0)

    def size(self):
        return os.fstat(self.out.fileno()).st_size

    def wait_for_interval(self, size):
        wait_until(lambda: self.size() > size, 'an interval')

    def reload(self, number):
        """Until the run of this number has an interval, and the one before has ended."""
        configure(number)
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(f'events{number - 1}.csv'), 'the output of a run that has ended')
        self.wait_for_interval(self.size())


def sample_times(rows):
    return sorted((int(row['time']), int(row['count'])) for row in rows
                  if row['record'] == 'sample' and row['source'] == 'cpu-stack')


def stated_gap(rows):
    """Begin and end of the time before a run in which cpu-stack took no samples."""
    gaps = [(int(row['begin']), int(row['time'])) for row in rows
            if (row['record'], row['source'], row['name']) == ('lost', 'cpu-stack', 'samples: the run was restarted')]
    equal(len(gaps), 1, f'gaps: {gaps}')
    return gaps[0]


class Reference:
    """Ticks of all CPUs of an independent clock."""

    def __init__(self, ticks):
        self.ticks = ticks
        self.merged = sorted(time for times in ticks.values() for time in times)

    def between(self, begin, until):
        return bisect.bisect_left(self.merged, until) - bisect.bisect_right(self.merged, begin)


@case('after SIGHUP no sample is in two runs, and the data states the time without samples', needs=(needs_root, needs_sampling))
def stated_gaps():
    burning, clock = burners(), begin_reference()
    configure(0)
    runs = Runs()
    for number in range(1, RELOADS + 1):
        # Its source cannot be prepared: the run goes on undisturbed.
        configure('never', f'[source:{FAILING_SOURCE}]\nin = prepare\n')
        runs.hang_up('the run continues')
        runs.reload(number)
    runs.interrupt()
    reference = Reference(end_reference(clock))
    for program in burning:
        program.kill()
        program.wait()
    runs.end()
    text = runs.messages()
    equal(text.count('the run continues'), RELOADS, f'refusals: {text}')
    require('never' not in ' '.join(os.listdir()), 'output of a run that was not to be')
    equal(text.count('no samples for'), RELOADS, f'gaps: {text}')

    each = [events(number) for number in range(RELOADS + 1)]
    samples = [sample_times(rows) for rows in each]
    gaps = [stated_gap(rows) for rows in each[1:]]
    cpus = len(reference.ticks)
    for before, after, (begin, until) in zip(samples, samples[1:], gaps):
        last, first = before[-1][0], after[0][0]
        require(last < first, f'a sample of a run at {last} is later than one of the next run at {first}\n{text}')
        # Samples that are taken while the source stops make the hole shorter than what is stated, never longer.
        hole, stated = reference.between(last, first), reference.between(begin, until)
        print(f'# no samples for {hole} ticks of {cpus} CPUs, stated: {stated} ticks, {(until - begin) / 1e9:.3f} s')
        require(hole <= stated + TICKS_MISSED * cpus, f'{hole} ticks of {cpus} CPUs without a sample, {stated} stated\n{text}')

    # Within a run, samples are those of the reference: where the machine stood still, each may have a tick more.
    stalls = sorted(after for times in reference.ticks.values() for before, after in zip(times, times[1:])
                    if after - before > 3 * PERIOD // 2)
    every = sorted(sum(samples, []))
    sums = list(itertools.accumulate((count for _, count in every), initial=0))
    starts = [time for time, _ in every]
    most, least = 0, 1
    for number, begin in enumerate(starts):
        until = begin + WINDOW * PERIOD
        if until > starts[-1]:
            break
        found = sums[bisect.bisect_left(starts, until)] - sums[number]
        wanted = reference.between(begin - 1, until)
        stood = bisect.bisect_left(stalls, until) - bisect.bisect_left(stalls, begin)
        most = max(most, found - wanted - stood)
        if wanted and not any(begin < after + PERIOD and until > before - PERIOD for before, after in gaps):
            least = min(least, (found + stood) / wanted)
    print(f'# {sums[-1]} samples, {len(stalls)} stalls; in {WINDOW} periods at most {most} too many, '
          f'at least {100 * least:.0f} %')
    # Two sources that sampled at the same time would have half of the window twice.
    require(most <= 3 * cpus, f'{most} samples too many\n{text}')
    # The Linux kernel omits ticks while the maps of BPF programs are read.
    require(least > 0.5, f'{100 * least:.0f} % of the samples\n{text}')


def waited():
    """Time in which a task waited for a CPU, in ns; None: not known."""
    try:
        with open('/proc/pressure/cpu', encoding='utf-8') as file:
            return int(re.search(r'some .*total=(\d+)', file.read())[1]) * 1000
    except OSError:
        return None


@case('on a quiet machine, the time without samples is at most half a second', needs=(needs_root, needs_sampling))
def short_gap():
    configure(0)
    runs = Runs()
    clock, before, begin = begin_reference(), waited(), time.monotonic_ns()
    runs.reload(1)
    after, length = waited(), time.monotonic_ns() - begin
    reference = Reference(end_reference(clock))
    runs.interrupt()
    runs.end()
    rows = [events(number) for number in (0, 1)]
    last, first = (sample_times(rows[0])[-1][0], sample_times(rows[1])[0][0])
    times = reference.between(last, first) / len(reference.ticks) * PERIOD
    stated = stated_gap(rows[1])
    busy = 1 if before is None else (after - before) / length
    print(f'# no samples for {times / 1e9:.3f} s by the reference, stated {(stated[1] - stated[0]) / 1e9:.3f} s; '
          f'tasks waited for a CPU in {100 * busy:.0f} % of the time')
    require(busy > QUIET or max(times, stated[1] - stated[0]) <= GAP_MAX, f'a gap of {times} ns\n{runs.messages()}')


@case('samples of helpers of earlier runs have names and unwind tables', needs=(needs_root, needs_sampling))
def helpers():
    write('run.ini', '[iaprof]\ncontinuous = yes\ninterval = 200ms\nbudget = none\n[source:cpu-stack]\nfrequency = 4999\n'
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
        # On a busy machine, the sink is too slow for so many stacks.
        require(end(process).status == COMPLETE or 'was too slow' in messages(), messages())
        require('iaprof-worker: its process has ended' not in messages(), messages())


@case('files of earlier runs are kept')
def kept_files():
    text = (f'[iaprof]\ncontinuous = yes\ninterval = 200ms\n[source:{CALLBACKS}]\nisolate = no\n'
            '[sink:csv]\noutput = a.csv\n[sink:csv.fifo]\noutput = fifo\n')
    os.mkfifo('fifo')
    with open(os.open('fifo', os.O_RDONLY | os.O_NONBLOCK), 'rb') as fifo:
        write('run.ini', text)
        run = Continuous()
        wait_until(lambda: 'number 0: start' in run.messages(), 'the start of the source')
        run.hang_up()
        equal(sorted(name for name in os.listdir() if 'csv' in name and name[0] != '.'), ['a.csv'], 'files of the first run')
        with open('a.csv', 'rb') as file:
            first = file.read()
        write('run.ini', text.replace('a.csv', 'b.csv'))
        run.hang_up()
        write('run.ini', text)
        run.hang_up()
        run.interrupt()
        run.end()
        equal(sorted(name for name in os.listdir() if 'csv' in name), ['a.2.csv', 'a.3.csv', 'a.csv', 'b.csv'], 'files')
        with open('a.csv', 'rb') as file:
            equal(file.read(), first, 'the file of the first run')
        equal(fifo.read().count(b'interval,'), 4, 'headings of the runs in the pipe')


@case('a plugin that is missing when the configuration is read again does not end what runs')
def missing_plugin():
    plugin = os.path.abspath('iaprof-callbacks-source.so')
    shutil.copyfile(CALLBACKS, plugin)
    write('run.ini', f'[iaprof]\ncontinuous = yes\ninterval = 200ms\n[source:{plugin}]\n[source:{FAILING_SOURCE}]\n'
          '[sink:csv]\noutput = -\n')
    run = Continuous()
    wait_until(lambda: 'number 0: start' in run.messages(), 'the start of the source')
    os.rename(plugin, 'gone')
    run.hang_up('the run continues with the earlier configuration')
    require('number 0: stop' not in run.messages(), run.messages())
    os.rename('gone', plugin)
    run.hang_up()
    run.interrupt()
    run.end()


def callbacks(number, name):
    write('run.ini', f'[iaprof]\ncontinuous = yes\ninterval = 200ms\n[source:{name}]\nisolate = no\nnumber = {number}\n'
          '[sink:csv]\noutput = -\n')


@case('a source is prepared while the earlier one runs, and started when that has stopped')
def order():
    callbacks(0, CALLBACKS)
    with tempfile.TemporaryFile() as err:
        process = start('-c', 'run.ini', stderr=err, stdout=subprocess.DEVNULL)

        def messages():
            return re.findall(r'number (\d+): (\w+)$', os.pread(err.fileno(), 100000, 0).decode(), re.MULTILINE)
        wait_until(lambda: ('0', 'start') in messages(), 'the start of the source')
        before = len(messages())
        for number, name in (1, CALLBACKS), (2, f'{CALLBACKS}.other'), (3, f'{CALLBACKS}.other'):
            callbacks(number, name)
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: {(str(number - 1), 'destroy'), (str(number), 'start')} <= set(messages()[before:]), 'a reload')  # pylint: disable=cell-var-from-loop
            earlier, later = str(number - 1), str(number)
            found = messages()[before:]
            equal([message for message in found if message != (earlier, 'destroy')],
                  [(later, 'prepare'), (earlier, 'stop'), (later, 'start')], f'callbacks of run {number}')
            before = len(messages())
        process.send_signal(signal.SIGINT)
        equal(end(process).status, COMPLETE, f'exit status: {messages()}')


main()
