#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launch stacks of a program without frame pointers, whose call chains are known by construction, are exactly right as soon
as its tables are there, however deep they are; and what they cost by the Linux kernel's own count (BPF statistics). TAP."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

from cases import PATIENCE, require_root, run_cases, wait_until
import live_rows

# The deepest stack (IAPROF_STACK_DEPTH_MAX).
DEPTH = 1024
# Rounds in which all stacks are right, before the end of the program.
ROUNDS = 20
LAUNCHES = 20000
STATISTICS = pathlib.Path('/proc/sys/kernel/bpf_stats_enabled')

# The outermost function first; what is of libraries is '...'.
RUNTIME = {
    'frameless': '... main frameless_one frameless_two launch',
    'alloca': '... main with_alloca launch',
    'realigned': '... main realigned launch',
    'recursion': '... main' + 301 * ' recursive' + ' launch',
    'bottomless': 'recursive' + (DEPTH - 2) * ' recursive' + ' launch',
    'tail': '... main tail_end launch',
    'signal': '... main interrupted ... handler launch',
    'exception': '... main catcher launch',
    'library': '... main through_library ... compare launch',
    'thread': '... in_thread launch',
}
TRACER = {
    'chain': 'main' + 298 * ' recursive' + ' with_alloca',
    'bottomless-chain': 'recursive' + (DEPTH - 2) * ' recursive' + ' with_alloca',
}
OWN = {word for chain in (*RUNTIME.values(), *TRACER.values()) for word in chain.split()} | {'tail_jump', 'thread'}
OUTERMOST = ('_start', 'clone3', 'clone', '__clone3', '__clone')


def chain_of(functions):
    names = [name.split('.')[0] for name in functions.split(';')]
    names = [name if name in OWN else '...' if index or name in OUTERMOST else '?' for index, name in enumerate(names)]
    return ' '.join(name for at, name in enumerate(names) if name != '...' or at == 0 or names[at - 1] != '...')


class Launches:
    """Launches as they come: how often each kernel had which chain, by the number of the round in its name."""

    def __init__(self):
        self.lock = threading.Lock()
        self.rounds = collections.defaultdict(collections.Counter)
        self.lost = []

    def take(self, row):
        name, _, number = row['name'].partition('@')
        if row['record'] == 'launch' and number:  # without: its name could not be read, and the round is one short
            with self.lock:
                self.rounds[int(number)][name, chain_of(row['functions'])] += int(row['count'])
        elif row['record'] == 'lost' and row['source'] == 'ze-usdt':
            self.lost.append((row['name'], row['count']))

    def right_rounds(self, wanted, left_out=0):
        """-> the number of rounds up to the last one, or before the last ones, that are right, and what was before them"""
        right = collections.Counter(wanted.items())
        with self.lock:
            end = first = max(self.rounds, default=0) + 1 - left_out
            while self.rounds.get(first - 1) == right:
                first -= 1
            return end - first, self.rounds.get(first - 1, collections.Counter()) - right

    def launches_of(self, number):
        with self.lock:
            return dict(self.rounds[number])


def profile(path, argument, is_enough, options='', at_end=lambda program: None):
    """Profiles the program until is_enough(its launches so far), calls at_end(program) and ends it. -> all launches"""
    launches = Launches()
    with tempfile.TemporaryDirectory() as folder:
        output = f'{folder}/out.csv'
        reader = live_rows.follow(output, launches.take)
        command = [os.environ['TEST_IAPROF'], '-q', '-i', '250ms', '-s', f'ze-usdt:tracer=no,library={path}{options}', '-k',
                   f'csv:rows=events,output={output}', '--', path, *argument]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            try:
                wait_until(lambda: is_enough(launches), 'launches that are right', 0.1)
                at_end(program)
            finally:
                program.stdin.close()
                program.wait(PATIENCE)
        reader.join()
    if program.returncode or launches.lost:
        raise AssertionError(f'status {program.returncode}, lost {launches.lost}')
    return launches


def check(path, argument, wanted):
    """The tables are ready at some time; from then on all stacks are right."""
    # While it runs, the last round may not have come as a whole.
    launches = profile(path, argument, lambda launches: launches.right_rounds(wanted, 1)[0] >= ROUNDS)
    good, wrong = launches.right_rounds(wanted)
    if good < ROUNDS:
        raise AssertionError(f'{good} rounds are right at the end: {sorted(wrong.items())[:3]}')
    return f'{good * len(wanted)} launches of the last {good} rounds'


def statistics():
    """-> runs of the program of launches, and the time that they took, ns"""
    programs = json.loads(subprocess.run(['bpftool', '-j', 'prog', 'show'], check=True, stdout=subprocess.PIPE).stdout)
    found = [program for program in programs if program.get('name', '').startswith('launch_kernel')]
    return sum(program.get('run_cnt', 0) for program in found), sum(program.get('run_time_ns', 0) for program in found)


def cost(path, options, chain):
    """-> the time in BPF of each of many launches, ns, after one of them ended with this chain"""
    found = []

    def is_right(launch):
        return launch[1].endswith(chain)

    def many(program):
        program.stdin.write(b'\n')
        program.stdin.flush()
        program.stdout.readline()
        found.extend(statistics())
    launches = profile(path, [str(LAUNCHES)], lambda launches: any(map(is_right, launches.launches_of(0))), options, many)
    count = {answer: sum(number for launch, number in launches.launches_of(0).items()
                         if launch[0] == 'many' and is_right(launch) == answer) for answer in (True, False)}
    if count != {True: LAUNCHES, False: 0} or not found[0]:
        raise AssertionError(f'{count[True]} right launches, {count[False]} wrong ones; {found}')
    return found[1] / found[0]


def costs(path):
    enabled = STATISTICS.read_text(encoding='ascii')
    STATISTICS.write_text('1', encoding='ascii')
    try:
        before = cost(path, ',unwind=fp', 'launch')
        after = cost(path, '', '... main' + 8 * ' recursive' + ' launch')
    finally:
        STATISTICS.write_text(enabled, encoding='ascii')
    return f'a launch of 13 frames: {before:.0f} ns in BPF by frame pointers, which see one, {after:.0f} ns by tables'


def main():
    require_root()
    path = os.path.realpath(sys.argv[1])
    cases = [('the runtime\'s probes', lambda: check(path, [], RUNTIME)),
             ('the tracer\'s probes', lambda: check(path, ['chain'], TRACER))]
    # 40,000 launches take long in a guest, where their cost says little.
    if os.environ.get('LAB_LEVEL', 'full') == 'full':
        cases.append(('the cost', lambda: costs(path)))
    run_cases(cases)


main()
