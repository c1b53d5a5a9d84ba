#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares of device time: those that iaprof shows beside those of PyTorch's profiler, of two runs of decoder.py. Prints
the kernels with the most time, the largest difference in percentage points, and whether the first five are the same.

usage: times.py [--iaprof PROGRAM] [--source PLUGIN:OPTIONS] KIND [SECONDS]
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

DECODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'decoder.py')


def plain(name):
    """A name without what two demanglers write differently: spaces, the return type and parameters."""
    name = re.sub(r'\(anonymous namespace\)', '{}', name.removesuffix('_[G]'))
    name = name.replace('_[i]', '').replace(' ', '')
    depth, end = 0, len(name)
    for at, character in enumerate(name):
        depth += (character == '<') - (character == '>' and name[at - 1] != '-')
        if character == '(' and depth == 0:
            end = at
            break
    return name[:end].removeprefix('void')


def kernels_of(path):
    times = collections.Counter()
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            stack, value = line.rstrip('\n').rsplit(' ', 1)
            frames = stack.split(';')
            kernels = [frame for frame in frames[frames.index('-'):] if frame.endswith('_[G]')] if '-' in frames else []
            if kernels:
                times[plain(kernels[1] if kernels[0].startswith('[') and len(kernels) > 1 else kernels[0])] += int(value)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--iaprof', default='iaprof')
    parser.add_argument('--source', default='cuda')
    parser.add_argument('kind')
    parser.add_argument('seconds', nargs='?', default='5')
    arguments = parser.parse_args()
    command = [sys.executable, DECODER, arguments.kind, arguments.seconds]
    with tempfile.TemporaryDirectory() as folder:
        judge, folded, summary = (os.path.join(folder, name) for name in ('judge.json', 'out.folded', 'summary.json'))
        subprocess.run([*command[:-1], '1'], check=True)  # what is compiled is kept, and not measured again
        subprocess.run([*command, '--judge', judge], check=True)
        subprocess.run([arguments.iaprof, '-s', arguments.source, '-k', f'folded:value=gpu-time,output={folded}',
                        '-k', f'summary:format=json,output={summary}', '--', *command], check=True)
        with open(summary, encoding='utf-8') as file:
            idle = json.load(file).get('idle', 0)
        with open(judge, encoding='utf-8') as file:
            truth = json.load(file)
        ours = kernels_of(folded)
    theirs = collections.Counter()
    for name, value in truth['kernels'].items():
        theirs[plain(name)] += value
    whole, all_theirs = sum(ours.values()) or 1, sum(theirs.values()) or 1
    differences = {name: 100 * ours[name] / whole - 100 * theirs[name] / all_theirs for name in {*ours, *theirs}}
    print(f'{"iaprof":>8} {"judge":>8} {"points":>7}  kernel')
    for name in sorted(differences, key=lambda name: -max(ours[name] / whole, theirs[name] / all_theirs))[:12]:
        print(f'{100 * ours[name] / whole:7.2f}% {100 * theirs[name] / all_theirs:7.2f}% {differences[name]:+7.2f}  {name[:100]}')
    first = [[name for name, value in times.most_common(5) if value > 0.001 * sum(times.values())] for times in (ours, theirs)]
    print(f'largest difference {max(map(abs, differences.values())):.2f} points; the first five are '
          f'{"the same" if first[0] == first[1] else "not the same"}')
    print(f'idle: {100 * idle / (idle + whole):.2f} % of {(idle + whole) / 1e9:.3f} s; judge: '
          f'{100 - 100 * all_theirs / truth["length"]:.2f} % of {truth["length"] / 1e9:.3f} s, {truth["executions"]} executions')


main()
