#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the source costs a program: pairs of runs without and with iaprof, in alternating order, and the change of the
program's speed with its 95 % confidence interval. The program prints "N steps/s", as train.py does.

usage: overhead.py [--pairs N] [--iaprof PROGRAM] [--source PLUGIN:OPTIONS] COMMAND...
"""
import argparse
import math
import re
import statistics
import subprocess

# Quantiles of Student's t distribution, two-sided, 95 %, by degrees of freedom.
T = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201, 12: 2.179,
     13: 2.160, 14: 2.145, 15: 2.131, 16: 2.120, 17: 2.110, 18: 2.101, 19: 2.093}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--pairs', type=int, default=10, choices=[count + 1 for count in T])
    parser.add_argument('--iaprof', default='iaprof')
    parser.add_argument('--source', default='cuda')
    parser.add_argument('command', nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error('no command')
    return arguments


def speed(command):
    """Returns the program's speed, and what iaprof said in the end."""
    done = subprocess.run(command, capture_output=True, encoding='utf-8', check=False)
    found = re.search(r'^([0-9.]+) steps/s$', done.stdout, re.M)
    if not found:
        raise SystemExit(f'{" ".join(command)}: no speed\n{done.stdout}{done.stderr}')
    return float(found[1]), done.stderr.strip()


def main():
    arguments = parse_arguments()
    alone = arguments.command
    profiled = [arguments.iaprof, '-s', arguments.source, '-k', 'folded:output=/dev/null', '--', *alone]
    changes = []
    for pair in range(arguments.pairs):
        order = [alone, profiled] if pair % 2 == 0 else [profiled, alone]
        results = {id(command): speed(command) for command in order}
        (without, _), (with_iaprof, said) = results[id(alone)], results[id(profiled)]
        changes.append(100 * (with_iaprof / without - 1))
        print(f'pair {pair + 1}: {without:.3f} steps/s alone, {with_iaprof:.3f} with iaprof: {changes[-1]:+.2f} %'
              + ('' if pair else f'\n{said}'), flush=True)
    mean = statistics.mean(changes)
    half = T[len(changes) - 1] * statistics.stdev(changes) / math.sqrt(len(changes))
    print(f'change of speed: {mean:+.2f} % of {len(changes)} pairs, 95 % interval {mean - half:+.2f} to {mean + half:+.2f} %')


main()
