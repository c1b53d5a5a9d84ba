#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short 6.12
# lab: module xe
# lab: seconds 300
# lab: runtime
# lab: covers plugins/ze-usdt/** lib/bpf/gpu_job.bpf.h
# lab: covers tests/lab/level_zero/*
"""kernel=yes of ze-usdt: the Linux kernel's stack of the job that a launch was, with the real GPU scheduler. TAP."""
import bisect
import collections
import csv
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import Failure, named, run

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
JOBS = ['--jobs', '/dev/dri/renderD128']
# Launches two kernels at once, of which the job goes to the first.
SECOND_OF_TWO = 'scale<float>'


def kernel_symbols():
    """-> functions of the Linux kernel and its modules by address, in order"""
    symbols = []
    with open('/proc/kallsyms', encoding='utf-8') as file:
        for line in file:
            address, kind, name = line.split()[:3]
            if kind in 'tT':
                symbols.append((int(address, 16), name))
    return sorted(symbols)


def functions(symbols, stack):
    """The names of a stack's functions, the root first."""
    places = (bisect.bisect_right(symbols, (int(address, 16), '\x7f')) - 1 for address in stack.split(';') if address)
    return [symbols[place][1] if place >= 0 else '?' for place in places]


def profile(option, *arguments):
    """-> how often each kernel was launched with each of the Linux kernel's stacks, and what iaprof said"""
    outcome = subprocess.run(
        [BUILD / 'iaprof', '-s', f'ze-usdt:{option}', '-k', 'csv:rows=events,newline=lf', '-o', 'out.csv', '--',
         SOURCE / 'tests/lab/guest/in-chroot', SOURCE / 'tests/lab/level_zero/run-without-gpu', 'bmg',
         BUILD / 'tests/lab/level_zero/launcher-fp', '--turns', '4', '--truth', f'{os.getcwd()}/truth', *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', errors='replace', check=False)
    if outcome.returncode or 'lost: ze-usdt' in outcome.stdout:
        raise Failure(f'{outcome.returncode}: {outcome.stdout}')
    counts = collections.defaultdict(collections.Counter)
    with open('out.csv', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            if row['record'] == 'launch':
                counts[row['name']][row['kernel_stack']] += int(row['count'])
    if len(counts) != 9:
        raise Failure(f'{len(counts)} kernels: {outcome.stdout}')
    return counts, outcome.stdout


def check_stack(symbols, name, stack):
    names = functions(symbols, stack)
    if 'xe_exec_ioctl' not in names or 'drm_ioctl' not in names[:names.index('xe_exec_ioctl')]:
        raise Failure(f'{name}: {names}')
    # What is called by the driver is the scheduler, and of the tracepoint at most its own function is left.
    if 'drm_sched_entity_push_job' not in names[-2:] or any('bpf' in function for function in names):
        raise Failure(f'{name}: the leaf: {names}')


def immediate_lists():
    symbols = kernel_symbols()
    counts, _ = profile('kernel=yes', *JOBS)
    for name, stacks in counts.items():
        if (name == SECOND_OF_TWO) != (set(stacks) == {''}) or (name != SECOND_OF_TWO and '' in stacks):
            raise Failure(f'{name}: {stacks}')
        for stack in stacks:
            if stack:
                check_stack(symbols, name, stack)


def regular_lists():
    symbols = kernel_symbols()
    counts, _ = profile('kernel=yes', *JOBS, '--lists', 'regular', '--executions', '3')
    for name, stacks in counts.items():
        for stack in stacks:
            check_stack(symbols, name, stack)
        if sum(stacks.values()) % 12:
            raise Failure(f'{name}: {stacks}, not 4 turns of 3 executions')


def jobs_of_the_copy_engine():
    """What the driver queues for memory, in the same system calls of the same thread, is no launch."""
    counts, _ = profile('kernel=yes', *JOBS, '--job-engine', 'copy')
    with open('truth', encoding='utf-8') as file:
        jobs = [int(line.split('\t')[4]) for line in file if line.startswith('jobs\t')]
    if len(jobs) != 1 or not jobs[0] or any(set(stacks) != {''} for stacks in counts.values()):
        raise Failure(f'{jobs} jobs: {counts}')


def without_jobs():
    counts, _ = profile('kernel=yes')
    if any(set(stacks) != {''} for stacks in counts.values()):
        raise Failure(f'{counts}')


def not_by_default():
    counts, _ = profile('drain=100ms', *JOBS)
    if any(set(stacks) != {''} for stacks in counts.values()):
        raise Failure(f'{counts}')


if not os.environ.get('LAB_CHROOT'):
    print('there is no chroot with Intel\'s runtime')
    sys.exit(77)
sys.exit(run(named(immediate_lists, regular_lists, jobs_of_the_copy_engine, without_jobs, not_by_default),
             long={'regular lists', 'not by default'}) != 0)
