#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of programs whose call chains are known by construction: BPF has each of them, down to the outermost frame, and
copies of these stacks unwind to the same chains. TAP."""
import bisect
import collections
import os
import re
import subprocess
import sys

from cases import require_root, run_cases, wait_for_work

# The functions of the program, the outermost first, as expressions; what is of libraries is "...". Part of a chain is right,
# too: the program is on its way there, or back.
CHAINS = {
    'frameless': 'main frameless_one frameless_two spin_frameless',
    'alloca': 'main with_alloca spin',
    'realigned': 'main realigned spin',
    'large': 'main large_frame spin',
    'registers': 'main many_registers spin',
    'recursion': 'main' + 61 * ' recursive' + ' spin',
    'tail': 'main tail_end spin',
    'signal': 'main interrupted ... handler spin',
    'signal-stack': 'main interrupted ... handler spin',
    'timer': 'main interrupted_anywhere spin_frameless ... handler spin',
    'exception': 'main catcher spin|main catcher thrower thrower thrower thrower thrower thrower ...',
    'vdso': 'main in_clock ...',
    'library': 'main through_library ... compare spin',
    'thread': 'in_thread spin|main threads ...',
}
# Most samples are in the innermost function, but where a timer begins it.
SELDOM = 'timer'
SAMPLES = 300
# The callers are on another stack, or further up than the copy reaches.
NOT_COPIED = ('signal-stack', 'large')


class Symbols:
    def __init__(self, path):
        lines = subprocess.run(['nm', '--defined-only', '--numeric-sort', '--print-size', '--demangle', path], check=True,
                               encoding='utf-8', stdout=subprocess.PIPE).stdout.splitlines()
        self.items = [(int(words[0], 16), int(words[1], 16), words[3].split('(')[0].split('.')[0])
                      for words in (line.split(None, 3) for line in lines) if len(words) == 4 and words[2] in 'tTwW']
        self.starts = [item[0] for item in self.items]

    def name(self, offset):
        start, size, name = self.items[bisect.bisect_right(self.starts, offset) - 1]
        return name if start <= offset < start + size else '?'


def chain_of(words, path, symbols, own):
    """-> the functions of the program, the outermost first; what is not its own is '...'"""
    names = []
    for position, word in reversed(list(enumerate(words))):
        file, _, offset = word.rpartition('+')
        name = symbols.name(int(offset, 16) - (position > 0)) if file == path else '...'
        names.append(name if name in own else '...')
    short = [name for at, name in enumerate(names) if name != '...' or at == 0 or names[at - 1] != '...']
    return ' '.join(short[1:] if short[0] == '...' else short)


def run(path, scenario):
    """-> {(end, chain): samples}, {'equal', 'shorter', 'different': copies}"""
    symbols = Symbols(path)
    own = {word for chain in CHAINS.values() for word in chain.replace('|', ' ').split()} | {'tail_jump'}
    with subprocess.Popen([path, scenario]) as program:
        try:
            wait_for_work(program.pid, 0.03)
            outcome = subprocess.run([os.environ['UNWIND_SAMPLE'], str(program.pid), str(SAMPLES), '3999'], check=True,
                                     encoding='utf-8', stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        finally:
            program.kill()
    chains = collections.Counter()
    for line in outcome.stdout.splitlines():
        end, *words = line.split(' ')
        chains[end, chain_of(words, path, symbols, own)] += 1
    counts = re.search('copies: (.*)', outcome.stderr)[1]
    return chains, {name: int(count) for count, name in map(str.split, counts.split(', '))}


def judge(scenario, chains, copies):
    wanted = CHAINS[scenario].split('|')
    parts = {' '.join(words[:length]).removesuffix(' ...') for words in map(str.split, wanted)
             for length in range(1, len(words) + 1)}
    total = sum(chains.values())
    right = {chain: count for (end, chain), count in chains.items()
             if end == 'complete' and chain.removesuffix(' ...') in parts}
    good = sum(right.values())
    whole = sum(count for chain, count in right.items() if chain.removesuffix(' ...') == wanted[0].removesuffix(' ...'))
    if total < SAMPLES or good < 0.99 * total or whole < total * (0.01 if scenario == SELDOM else 0.5):
        raise AssertionError(f'{whole} whole, {good} right of {total}: {chains.most_common(8)}')
    if copies['different'] or copies['equal'] + copies['shorter'] != total or \
            (copies['shorter'] and scenario not in NOT_COPIED):
        raise AssertionError(f'copies of {total}: {copies}')
    return f'{good} of {total} right, {whole} whole; {copies["equal"]} equal copies'


def main():
    require_root()
    run_cases([(f'{os.path.basename(path)}: {scenario}',
                lambda path=path, scenario=scenario: judge(scenario, *run(path, scenario)))
               for path in map(os.path.realpath, sys.argv[1:]) for scenario in CHAINS])


main()
