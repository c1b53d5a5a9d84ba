#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: module intel_vpu
# lab: seconds 600
# lab: covers plugins/ivpu/** lib/npu/** plugins/off-cpu/** engine/profile/device_gaps.[ch] engine/profile/wait*
# lab: covers tests/lab/programs/npu_*
"""Waits for an NPU have its name and complete stacks, and its idle gaps are those between its jobs. TAP."""
import collections
import csv
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness import profiler
from harness.cases import check, equal, named, run
from harness.npu_double import PLAYER, SCENARIOS

JOBS = 20
RUNS = 4


def scenario():
    """Jobs of 20 ms, ten times a second."""
    text = (SCENARIOS / 'steady.txt').read_text(encoding='ascii')
    for old, new in ('after 2ms', 'after 20ms'), ('repeat 100 rate 100', f'repeat {JOBS} rate 10'):
        check(old in text, f'steady.txt has no "{old}"')
        text = text.replace(old, new)
    pathlib.Path('slow.txt').write_text(text, encoding='ascii')
    return 'slow.txt'


def stacks():
    """-> {value type: [(functions, ns)]}"""
    found = collections.defaultdict(list)
    with open('stacks.csv', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            found[row['value_type']].append((row['stack'].split(';')[1:], int(row['value'])))
    return found


def gaps_between(jobs):
    """-> ns between jobs, in their order; a job has the NPU from when it has been queued"""
    gaps = busy_until = 0
    for begin, end in sorted((int(job['time']) - int(job['value']), int(job['time'])) for job in jobs):
        gaps += max(0, begin - busy_until) if busy_until else 0
        busy_until = max(busy_until, end)
    return gaps


def record():
    """Profiles a scenario -> ns of waits for jobs with complete stacks"""
    sources = 'ivpu:functions=ivpu_open,api=no', 'off-cpu:share=0', 'cpu-stack'
    sinks = 'csv:rows=stacks,newline=lf,output=stacks.csv', 'csv.events:rows=events,newline=lf,output=events.csv'
    options = [word for source in sources for word in ('-s', source)]
    options += [word for sink in sinks for word in ('-k', sink)]
    outcome = subprocess.run([profiler.PROGRAM, *profiler.SLOW, '--scope', 'system', *options, '--', PLAYER, '--load', scenario()],
                             check=False, capture_output=True, encoding='utf-8', timeout=300)
    check(outcome.returncode == 0, f'{outcome.returncode} {outcome.stdout} {outcome.stderr}')
    found = stacks()
    waits = [(frames, value) for frames, value in found['off-cpu'] if 'ivpu_bo_wait_ioctl' in ' '.join(frames)]
    equal({frames[-1] for frames, _ in waits}, {'[NPU job: intel_vpu]'}, 'reasons of waits for jobs')
    whole = sum(value for frames, value in waits if frames[0].startswith('_start') and
                any(frame.startswith('npu_wait_for_inference') for frame in frames))
    total = sum(value for _, value in waits)
    print(f'# {total / 1e6:.0f} ms of waits for jobs, {whole / 1e6:.0f} ms with complete stacks')
    jobs = profiler.read_rows('ivpu', 'events.csv')['job']
    # On an emulated processor, programs that interrupt each other miss some.
    check(JOBS / 2 < len(jobs) <= JOBS, f'{len(jobs)} of {JOBS} jobs')
    idle, between = sum(value for _, value in found['device-idle']), gaps_between(jobs)
    print(f'# idle for {idle / 1e6:.1f} ms, {between / 1e6:.1f} ms between jobs')
    check(abs(idle - between) <= 0.01 * between, f'idle for {idle} ns, not {between} ns: {outcome.stderr} {jobs}')
    return whole


def waits_and_gaps():
    """The first waits come before the unwind tables, which take long on an emulated processor, and are kept then."""
    check(any(record() for _ in range(RUNS)), f'no complete stacks in {RUNS} runs')


sys.exit(run(named(waits_and_gaps)) != 0)
