#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the source costs a program: pairs of runs without and with iaprof, in alternating order, and the change of the
program's speed with its 95 % confidence interval. The program prints "N steps/s", as train.py does, and may print "N us of
CPU time a step" of the thread that launches, which varies less where other programs share the machine. With --base, the
first run of each pair has that source.

usage: overhead.py [--pairs N] [--iaprof PROGRAM] [--base PLUGIN:OPTIONS] [--source PLUGIN:OPTIONS] COMMAND...
"""
import argparse
import math
import re
import statistics
import subprocess

# Quantiles of Student's t distribution, two-sided, 95 %, by degrees of freedom.
T = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201, 12: 2.179,
     13: 2.160, 14: 2.145, 15: 2.131, 16: 2.120, 17: 2.110, 18: 2.101, 19: 2.093}

UNITS = 'steps/s', 'us of CPU time a step'


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--pairs', type=int, default=10, choices=[count + 1 for count in T])
    parser.add_argument('--iaprof', default='iaprof')
    parser.add_argument('--base')
    parser.add_argument('--source', default='cuda')
    parser.add_argument('command', nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error('no command')
    return arguments


def speed(command):
    """Returns what the program printed, in the units of UNITS, and what iaprof said in the end."""
    done = subprocess.run(command, capture_output=True, encoding='utf-8', check=False)
    found = {unit: re.search(rf'^([0-9.]+) {unit}$', done.stdout, re.M) for unit in UNITS}
    if not found[UNITS[0]]:
        raise SystemExit(f'{" ".join(command)}: no speed\n{done.stdout}{done.stderr}')
    return {unit: float(match[1]) for unit, match in found.items() if match}, done.stderr.strip()


def print_change(unit, changes):
    mean = statistics.mean(changes)
    half = T[len(changes) - 1] * statistics.stdev(changes) / math.sqrt(len(changes))
    print(f'change of {unit}: {mean:+.2f} % of {len(changes)} pairs, median {statistics.median(changes):+.2f} %, 95 % interval '
          f'{mean - half:+.2f} to {mean + half:+.2f} %')


def main():
    arguments = parse_arguments()
    def profiled_by(source):
        return [arguments.iaprof, '-s', source, '-k', 'folded:output=/dev/null', '--', *arguments.command]

    alone = profiled_by(arguments.base) if arguments.base else arguments.command
    profiled = profiled_by(arguments.source)
    changes = {}
    for pair in range(arguments.pairs):
        order = [alone, profiled] if pair % 2 == 0 else [profiled, alone]
        results = {id(command): speed(command) for command in order}
        (without, _), (with_iaprof, said) = results[id(alone)], results[id(profiled)]
        for unit, value in without.items():
            changes.setdefault(unit, []).append(100 * (with_iaprof[unit] / value - 1))
            print(f'pair {pair + 1}: {value:.3f} {unit} {arguments.base or "alone"}, {with_iaprof[unit]:.3f} {arguments.source}: '
                  f'{changes[unit][-1]:+.2f} %', flush=True)
        if not pair:
            print(said)
    for unit, values in changes.items():
        print_change(unit, values)


main()
