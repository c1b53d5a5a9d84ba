#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares each kernel's share of the samples in continuous mode with its share in serialized mode, in which kernels run
one at a time, so that no sample can be another kernel's. Exits with 1 if a share differs by more than --limit
percentage points.

usage: shares.py [--iaprof PROGRAM] [--source PLUGIN[:OPTIONS]] [--limit POINTS] COMMAND...
"""
import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter

KERNEL = '_[G]'
SHOWN = 20


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--iaprof', default='iaprof')
    parser.add_argument('--source', default='cuda')
    parser.add_argument('--limit', type=float, default=2)
    parser.add_argument('command', nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error('no command')
    return arguments


def shares(arguments, mode):
    """Profiles the command. Returns {kernel: percent of the samples in kernels with a name}."""
    source = arguments.source + (',' if ':' in arguments.source else ':') + f'mode={mode}'
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, 'folded')
        done = subprocess.run([arguments.iaprof, '-s', source, '-k', f'folded:value=gpu-stalls,output={output}', '--',
                               *arguments.command], capture_output=True, encoding='utf-8', check=False)
        samples, others = Counter(), 0
        if os.path.exists(output):
            with open(output, encoding='utf-8') as file:
                for line in file:
                    stack, _, count = line.rpartition(' ')
                    kernel = next((frame for frame in stack.split(';') if frame.endswith(KERNEL)), None)
                    if kernel:
                        samples[kernel.removesuffix(KERNEL)] += int(count)
                    else:
                        others += int(count)
    total = samples.total()
    if not total:
        raise SystemExit(f'{mode}: no samples\n{done.stdout}{done.stderr}')
    print(f'{mode}: {total} samples in {len(samples)} kernels, {others} in none; the program: {done.stdout.strip()}\n'
          f'{done.stderr.strip()}', flush=True)
    return {kernel: 100 * count / total for kernel, count in samples.items()}


def main():
    arguments = parse_arguments()
    serialized = shares(arguments, 'serialized')
    continuous = shares(arguments, 'continuous')
    kernels = sorted(serialized.keys() | continuous.keys(), key=lambda kernel: -serialized.get(kernel, 0))
    print(f'{"serialized":>10} {"continuous":>10} {"difference":>10}  kernel')
    worst = 0
    for number, kernel in enumerate(kernels):
        alone, together = serialized.get(kernel, 0), continuous.get(kernel, 0)
        worst = max(worst, abs(together - alone))
        if number < SHOWN or abs(together - alone) > arguments.limit:
            print(f'{alone:8.2f} % {together:8.2f} % {together - alone:+10.2f}  {kernel[:120]}')
    print(f'largest difference: {worst:.2f} percentage points of {len(kernels)} kernels')
    return worst > arguments.limit


sys.exit(main())
