#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The budget of CPU time of a continuous run: it lowers the sampling rate, the data states it, and sums stay right."""
import csv
import math
import os
import re
import signal
import subprocess
import sys

from harness import (COMPLETE, PROGRAM, USAGE, Skip, case, end, equal, iaprof, main, needs_root, needs_sampling, read, require,
                     start, wait_until)

BURN = 'import os; os.read(0, 1)\nwhile True: pass'
FREQUENCY = 999
# At the lowest rate, at which a sample stands for a second: that not one is taken has a probability of exp(-9).
BURN_SECONDS = 9
BURNERS = 8


def start_logged(*arguments):
    """Its standard error is in the file err."""
    with open('err', 'wb') as err:
        return start(*arguments, stderr=err)


def strides():
    return [int(number) for number in re.findall(r'budget: .* allowed: 1 of (\d+) samples', read('err'))]


def segments():
    return [name for name in os.listdir('kept') if name[0] != '.'] if os.path.isdir('kept') else []


def rows(path):
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def replayed():
    """-> rows of all segments"""
    replay = subprocess.run([PROGRAM, '--replay', 'kept', '-k', 'csv:output=all.csv,newline=lf,escape=no'], check=False,
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    equal(replay.returncode, COMPLETE, replay.stderr.decode())
    return rows('all.csv')


class Burners:
    """Programs of which nothing else has the name, and that use CPU time from begin() on."""

    def __init__(self):
        os.symlink(sys.executable, 'burner')
        self.processes = [subprocess.Popen(['./burner', '-S', '-c', BURN], stdin=subprocess.PIPE) for _ in range(BURNERS)]

    def begin(self):
        for process in self.processes:
            process.stdin.write(b'x')
            process.stdin.close()

    def used(self):
        """CPU time so far, s"""
        return sum(int(read(f'/proc/{process.pid}/schedstat').split()[0]) for process in self.processes) / 1e9

    def end(self):
        """-> CPU time, s"""
        used = 0
        for process in self.processes:
            process.terminate()
            usage = os.wait4(process.pid, 0)[2]
            used += usage.ru_utime + usage.ru_stime
        return used


def judge_sum(found, used, period):
    """Compares sampled with used CPU time, s. One tick of each block is a sample; it finds the program with the
    program's share of the block, so that the variance of the sum is at most the used time multiplied by the block's."""
    deviation = math.sqrt(used * period)
    require(found > 0 and abs(found - used) < 5 * deviation,
            f'{found:.2f} s sampled, {used:.2f} s used, deviation {deviation:.2f} s')


@case('a tiny budget lowers the rate, which the data states, and the CPU time of a program stays right',
      needs=(needs_root, needs_sampling))
def tiny():
    burners = Burners()
    process = start_logged('--continuous', '-v', '-i', '1s', '--budget', '0.001%', '-s', f'cpu-stack:frequency={FREQUENCY}',
                           '-k', 'ring:folder=kept', '-k', 'csv:output=events.csv,rows=events,newline=lf',
                           '-k', 'csv.counters:output=counters.csv,rows=counters,newline=lf')
    wait_until(strides, 'a lower rate')
    burners.begin()
    wait_until(lambda: len(strides()) >= 3 and burners.used() >= BURN_SECONDS / 2, 'lower rates')
    used = burners.end()
    ended = len(segments())
    wait_until(lambda: len(segments()) >= ended + 2, 'the interval in which the program ended')
    process.send_signal(signal.SIGINT)
    equal(end(process).status, COMPLETE, read('err'))
    require(strides() == sorted(strides()) and strides()[0] > 1, f'strides {strides()}: {read("err")}')

    texts = [f"{row['name']}: {row['text']}" for row in rows('events.csv') if row['record'] == 'metadata']
    require(any(re.search(r'frequency.*lowered from 999 Hz by the budget', text) for text in texts), f'{texts}')
    require(any(re.search(r'1 of \d+ samples.*, to hold the CPU budget, of which source cpu-stack uses most', text)
                for text in texts), f'{texts}')
    costs = re.findall(r'budget: used .*\(cpu-stack ([\d.e-]+) %, of which (\d+) % depended on the rate', read('err'))
    require(any(float(used) > 0 for used, _ in costs), f'{costs}: {read("err")}')
    require(any('CPU use of iaprof' in text for text in texts), f'{texts}')
    rates = [float(row['minimum']) for row in rows('counters.csv') if row['name'] == 'sampling-rate']
    require(rates and min(rates) < 1, f'rates {rates}')

    mine = [(int(row['value']), int(row['count'])) for row in replayed()
            if row['value_type'] == 'cpu' and row['program'] == 'burner']
    judge_sum(sum(value for value, _ in mine) / 1e9, used, max(strides()) / FREQUENCY)
    require(sum(value for value, _ in mine) > 1.5 * 1e9 / FREQUENCY * sum(count for _, count in mine),
            'no longer blocks')


@case('above a budget, process events are not followed, and programs that start have names',
      needs=(needs_root, needs_sampling))
def without_events():
    process = start_logged('--continuous', '-v', '-i', '1s', '--budget', '0.001%', '-s', 'cpu-stack:frequency=19',
                           '-k', 'ring:folder=kept')
    wait_until(lambda: 'processes read from /proc' in read('err'), 'events that are not followed')
    burners = Burners()
    burners.begin()
    wait_until(lambda: burners.used() >= BURN_SECONDS, 'CPU time of the programs')
    used = burners.end()
    ended = len(segments())
    wait_until(lambda: len(segments()) >= ended + 2, 'the interval in which the programs ended')
    process.send_signal(signal.SIGINT)
    equal(end(process).status, COMPLETE, read('err'))
    require('lost: iaprof: process events (CPU budget)' in read('err'), read('err'))
    mine = [row for row in replayed() if row['value_type'] == 'cpu' and row['program'] == 'burner']
    found = sum(int(row['value']) for row in mine) / 1e9
    judge_sum(found, used, 1)
    named = sum(int(row['value']) for row in mine if re.search('<module>|_PyEval', row['stack'])) / 1e9
    require(named > 0.5 * found, f'{named:.2f} of {found:.2f} s have names: {mine}')


# Prints the time in which it neither ran nor waited for a CPU.
SLEEP = """import select, time
def awake():
    with open('/proc/thread-self/schedstat') as file:
        return sum(map(int, file.read().split()[:2]))
begin = time.monotonic_ns() - awake()
while not select.select([0], [], [], 0)[0]:
    time.sleep(0.005)
print(time.monotonic_ns() - awake() - begin)
"""


@case('a tiny budget passes short waits and raises the shortest one, and the time that programs wait stays right',
      needs=(needs_root, needs_sampling))
def tiny_off_cpu():
    if subprocess.run([PROGRAM, '--check', '-s', 'off-cpu'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      check=False).returncode:
        raise Skip('source off-cpu does not run here')
    os.symlink(sys.executable, 'sleeper')
    process = start('--continuous', '-v', '-i', '1s', '--budget', '0.001%', '-s', 'off-cpu:unwind=fp,short=sample',
                    '-k', 'ring:folder=kept', '-k', 'csv:output=events.csv,rows=events,newline=lf')
    wait_until(lambda: len(segments()) >= 3, 'a rate that is lower')
    before = len(segments())
    sleepers = [subprocess.Popen(['./sleeper', '-S', '-c', SLEEP], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                for _ in range(8)]
    wait_until(lambda: len(segments()) >= before + 7, 'intervals')
    for sleeper in sleepers:
        sleeper.stdin.write(b'x')
    slept = sum(int(sleeper.communicate()[0]) for sleeper in sleepers) / 1e9
    ended = len(segments())
    wait_until(lambda: len(segments()) >= ended + 2, 'the interval in which the programs ended')
    process.send_signal(signal.SIGINT)
    outcome = end(process)
    equal(outcome.status, COMPLETE, outcome.err)
    texts = [row['text'] for row in rows('events.csv') if row['record'] == 'metadata' and row['name'] == 'shortest wait']
    require(any(re.search(r'; 1 of \d+ waits of threads', text) for text in texts), f'{texts}')
    require(any('raised from 1000 us by the budget' in text for text in texts), f'{texts}')
    mine = [(int(row['value']), int(row['count'])) for row in replayed()
            if row['program'] == 'sleeper' and row['value_type'] == 'off-cpu']
    # Of waits that count as the shortest one, or not at all.
    found, deviation = sum(value for value, _ in mine) / 1e9, math.sqrt(sum(v * v / count for v, count in mine)) / 1e9
    print(f'# {found:.1f} s recorded, {slept:.1f} s slept, deviation {deviation:.2f} s; {texts}')
    require(abs(found - slept) < 6 * deviation + 0.05 * slept,
            f'{found:.1f} s recorded, {slept:.1f} s slept, deviation {deviation:.2f} s')


@case('a generous budget keeps the rate', needs=(needs_root, needs_sampling))
def generous():
    process = start('--continuous', '-v', '-i', '200ms', '--budget', '100%', '-s', 'cpu-stack',
                    '-k', 'ring:folder=kept')
    wait_until(lambda: len(segments()) >= 5, 'intervals')
    process.send_signal(signal.SIGINT)
    outcome = end(process)
    equal(outcome.status, COMPLETE, outcome.err)
    require('budget: ' not in outcome.err, outcome.err)


@case('a budget is a share of CPU time, of a continuous run')
def wrong():
    iaprof('--budget', '1%', '-s', 'cpu-stack').fails(USAGE, r'--budget requires continuous')
    for text in '1', '0%', '0.0001%', '101%', 'nan%', '%', 'x%', '-1%':
        iaprof('--continuous', '--budget', text).fails(USAGE, 'is not a share of CPU time')


main()
