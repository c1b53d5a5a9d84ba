#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launch stacks of a program without frame pointers, whose call chains are known by construction, are exactly right as soon
as its tables are there, however deep they are; and what they cost by the Linux kernel's own count (BPF statistics). TAP."""
import collections
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from cases import require_root, run_cases

# How long tables may take to come, s.
PATIENCE = 240 if os.environ.get('LAB_KERNEL') else 600  # a guest's processors are emulated
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


def profile(path, argument, seconds, options='', at_end=lambda: None):
    """-> rows of launches; the program ends some seconds after it began, or after many launches, and at_end is called before"""
    with tempfile.TemporaryDirectory() as folder:
        command = [os.environ['TEST_IAPROF'], '-q', '-s', f'ze-usdt:tracer=no,library={path}{options}', '-k',
                   'csv:rows=events,output=out.csv', '--', path, *argument]
        with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            if not seconds:
                program.stdout.readline()
            time.sleep(seconds)
            at_end()
            program.stdin.close()
            program.wait(PATIENCE)
        with open(pathlib.Path(folder) / 'out.csv', encoding='utf-8', newline='') as file:
            rows = list(csv.DictReader(file))
    lost = [(row['name'], row['count']) for row in rows if row['record'] == 'lost' and row['source'] == 'ze-usdt']
    if program.returncode or lost:
        raise AssertionError(f'status {program.returncode}, lost {lost}')
    return [row for row in rows if row['record'] == 'launch']


def wrong_chains(rows, wanted):
    """-> how many rounds are right up to the end, and what is wrong in the last one that is not"""
    rounds = collections.defaultdict(collections.Counter)
    for row in rows:
        name, _, number = row['name'].partition('@')
        if not number:
            continue  # its name could not be read: the round is one short
        rounds[int(number)][name, chain_of(row['functions'])] += int(row['count'])
    right = collections.Counter(wanted.items())
    wrong = [number for number, chains in rounds.items() if chains != right]
    last = max(wrong, default=-1)
    return max(rounds, default=-1) - last, sorted((rounds[last] - right).items())[:3] if wrong else []


def check(path, argument, wanted):
    begin, seconds = time.monotonic(), 2
    while True:
        rows = profile(path, argument, seconds)
        good, wrong = wrong_chains(rows, wanted)
        if good >= ROUNDS:
            return f'{good * len(wanted)} launches of the last {good} rounds'
        if time.monotonic() - begin > PATIENCE:
            raise AssertionError(f'{good} rounds are right, in {seconds} s: {wrong}')
        seconds *= 2


def statistics():
    """-> runs of the program of launches, and the time that they took, ns"""
    programs = json.loads(subprocess.run(['bpftool', '-j', 'prog', 'show'], check=True, stdout=subprocess.PIPE).stdout)
    found = [program for program in programs if program.get('name', '').startswith('launch_kernel')]
    return sum(program.get('run_cnt', 0) for program in found), sum(program.get('run_time_ns', 0) for program in found)


def cost(path, options, before=10):
    found = []
    rows = profile(path, [str(LAUNCHES), str(before)], 0, options, lambda: found.extend(statistics()))
    count = collections.Counter()
    for row in rows:
        if row['name'] == 'many@0':
            count[chain_of(row['functions'])] += int(row['count'])
    if sum(count.values()) != LAUNCHES or not found[0]:
        raise AssertionError(f'{sum(count.values())} launches: {count.most_common(3)}; {found}')
    return count, found[1] / found[0]


def cost_by_tables(path):
    """The tables are ready at some time: the more launches there are before, the more likely."""
    wanted, before = {'... main' + 8 * ' recursive' + ' launch': LAUNCHES}, 50
    begin = time.monotonic()
    while (found := cost(path, '', before))[0] != wanted:
        if time.monotonic() - begin > PATIENCE:
            raise AssertionError(f'{found[0].most_common(3)}')
        before *= 2
    return found[1]


def costs(path):
    enabled = STATISTICS.read_text(encoding='ascii')
    STATISTICS.write_text('1', encoding='ascii')
    try:
        _, before = cost(path, ',unwind=fp')
        after = cost_by_tables(path)
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
