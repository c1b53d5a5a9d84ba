#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shares of a profile are right: compared with a program whose shares are known, and against perf on the same run.

The limit of 3 percentage points is for errors of iaprof; chance has to stay clear of it. The number of samples makes
3 points more than four standard deviations of a share of one half, the worst: then one share in 20,000 is outside by
chance. Programs run for a CPU time, so that the number of samples does not depend on how busy the machine is.
"""
import collections
import math
import os
import re
import shutil
import subprocess

from harness import (LOAD, Skip, case, iaprof, main, needs_perf, needs_sampling, read, require, write)

POINTS = float(os.environ.get('TEST_SHARE_POINTS', '3'))
DEVIATIONS = 4
SHARES = {'burn_50': 50, 'burn_30': 30, 'burn_15': 15, 'burn_5': 5}
# High, so that the programs need to run for only a few seconds.
FREQUENCY = 4999
# Programs of the run that perf and iaprof both see from beginning to end, under names that nobody else has.
LOAD_NAME, COMPILER_NAME = 'truth-load', 'truth-cc1'


def deviation_of(count, measurements):
    """The standard deviation of a share of one half among count samples, in percentage points."""
    return 100 * math.sqrt(measurements * 0.25 / max(count, 1))


def stacks(path):
    """(frames, value) of each line of folded text."""
    for line in read(path).splitlines():
        stack, value = line.rsplit(' ', 1)
        yield stack.split(';'), int(value)


def shares(counted):
    """Shares in percent of functions as leaf and anywhere in a stack, from (frames without the program, value)."""
    leaf, inclusive = collections.Counter(), collections.Counter()
    total = 0
    for frames, value in counted:
        total += value
        leaf[frames[-1] if frames else '[no stack]'] += value
        for name in set(frames):
            inclusive[name] += value
    require(total, 'there are no samples')
    return tuple(collections.Counter({name: 100 * value / total for name, value in sums.items()})
                 for sums in (leaf, inclusive))


@case('shares known by construction', needs=[needs_sampling])
def known_shares():
    outcome = iaprof('--scope', 'command', '-s', f'cpu-stack:frequency={FREQUENCY}', '-o', 'out', LOAD, 'shares',
                     '1200').completes()
    burning = [(frames[1:], value) for frames, value in stacks('out')
               if frames[0] == 'load' and any(name in SHARES for name in frames)]
    # The load uses one CPU at a time, so that the frequency gives the number of its samples.
    samples = sum(value for _, value in burning) * FREQUENCY / 1e9
    require(POINTS > DEVIATIONS * deviation_of(samples, 1), f'{samples:.0f} samples of the program are too few')
    _, inclusive = shares(burning)
    for name, share in SHARES.items():
        require(abs(inclusive[name] - share) <= POINTS, f'{name}: {inclusive[name]:.1f} %, not {share} %')
    print(f'# {samples:.0f} samples: ' + ', '.join(f'{name} {inclusive[name]:.1f} %' for name in SHARES))
    require('lost: cpu-stack' not in outcome.err, 'samples were lost')


def perf_stacks():
    """(program, frames from the root) of each sample in perf.data."""
    script = subprocess.run(['perf', 'script', '-i', 'perf.data', '-F', 'comm,ip,sym', '--comm',
                             f'{LOAD_NAME},{COMPILER_NAME}'], check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, encoding='utf-8', errors='replace')
    lost = re.search(r'samples and lost ([0-9.]+)%', script.stderr)
    if script.returncode:
        raise Skip(f'perf script ended with {script.returncode}: {script.stderr.strip().splitlines()[-1:]}')
    if lost and float(lost.group(1)) > 0.5:
        raise Skip(f'perf lost {lost.group(1)} % of its samples')
    for sample in script.stdout.split('\n\n'):
        program, *lines = sample.strip('\n').split('\n')
        if program.strip():
            yield program.strip(), [line.split(None, 1)[1] for line in reversed(lines) if len(line.split(None, 1)) > 1]


def common_name(frame):
    """One name for what the two write differently: suffixes, symbol versions, offsets, and what nobody can name."""
    frame = re.sub(r'_\[[kji]\]$', '', frame)
    frame = re.sub(r'@.*|\+0x[0-9a-f]+$', '', frame)
    return '[unknown]' if frame.startswith('[') else frame


def compiler():
    """A real compiler under the name that only this run has, or nothing."""
    path = subprocess.run(['cc', '-print-prog-name=cc1'], stdout=subprocess.PIPE, encoding='utf-8', check=False).stdout
    return path.strip() if shutil.which('cc') and os.path.isabs(path.strip()) else None


@case('perf on the same run', needs=[needs_sampling, needs_perf])
def same_as_perf():
    os.symlink(LOAD, LOAD_NAME)
    # Two measurements need 8,900 samples: the load alone has as many, whatever the compiler adds.
    commands = [f'./{LOAD_NAME} shares 2000 > /dev/null']
    if compiler():
        os.symlink(compiler(), COMPILER_NAME)
        write('job.c', '\n'.join(f'int f{i}(int a, int b) {{ int s = 0; for (int i = a; i < b; i++) s += i * {i} ^ '
                                 f's >> (i % 7); return s; }}' for i in range(150)))
        commands.append(f'./{COMPILER_NAME} -quiet -O2 job.c -o /dev/null')
    write('job', '#!/bin/sh\n' + ' &\n'.join(commands) + '\nwait\n', 0o755)

    # perf's window lies inside of iaprof's, and both see all of the two programs. -m: a busy machine leaves perf
    # little time to read its buffers.
    iaprof('--scope', 'command', '-s', f'cpu-stack:frequency={FREQUENCY},unwind=fp', '-o', 'out', 'perf', 'record', '-q', '-m', '8M', '-e', 'cpu-clock',
           '-F', str(FREQUENCY), '-a', '-g', '-o', 'perf.data', './job').completes()
    programs = (LOAD_NAME, COMPILER_NAME)
    ours = [([common_name(name) for name in frames[1:]], value) for frames, value in stacks('out')
            if frames[0] in programs]
    theirs = [([common_name(name) for name in frames], 1) for program, frames in perf_stacks()
              if program in programs]
    require(POINTS > DEVIATIONS * deviation_of(len(theirs), 2), f'{len(theirs)} samples of perf are too few')
    wrong, compared = [], []
    for kind, our, their in zip(('leaf', 'inclusive'), shares(ours), shares(theirs)):
        for name, share in their.items():
            if share > 2 and name != '[unknown]':
                compared.append(f'{name} ({kind}) {our[name]:.1f} %, perf {share:.1f} %')
                if abs(our[name] - share) > POINTS:
                    wrong.append(compared[-1])
    require(any(name.startswith('burn_50') for name in compared), f'the program is not in: {compared}')
    for line in compared:
        print(f'# {line}')
    require(not wrong, '; '.join(wrong))


if __name__ == '__main__':
    main()
