#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a record from a source, and of one for a sink, in a process of its own, beside that in the process of
iaprof: CPU time and time of whole runs with and without records, in turns. It ends with ratios, and passes or fails on
none."""
import os
import subprocess
import sys
import tempfile
import time

PROGRAM, PLUGIN = sys.argv[1:]
ROUNDS = 5
FOLDER = tempfile.TemporaryDirectory(prefix='iaprof-isolation-')


def source_arguments(isolate, records):
    return ['-s', f'{PLUGIN}:records={records},isolate={isolate}', '-o', '/dev/null']


def sink_arguments(isolate, records):
    """A replay, which waits for the sink."""
    capture = os.path.join(FOLDER.name, f'{records}.iaprof')
    if not os.path.exists(capture):
        subprocess.run([PROGRAM, '-q', '-s', f'{PLUGIN}:records={records}', '--record', capture], check=True)
    return ['--replay', capture, '-k', f'csv:rows=events,isolate={isolate},output=/dev/null']


# What is isolated: the number of records, and the arguments of a run.
SUBJECTS = {'source': (8_000_000, source_arguments), 'sink': (1_000_000, sink_arguments)}


def measure(arguments):
    """Returns the CPU time and the time of a run, in seconds."""
    before, begin = os.times(), time.monotonic()
    subprocess.run([PROGRAM, '-q', *arguments], check=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.monotonic() - begin


for subject, (records, arguments_of) in SUBJECTS.items():
    runs = {(isolate, count): [] for isolate in ('no', 'yes') for count in (0, records)}
    for _ in range(ROUNDS):
        for key, results in runs.items():
            results.append(measure(arguments_of(*key)))
    costs = {}
    for isolate, name in ('no', 'shared'), ('yes', 'isolated'):
        # The fastest run is the least disturbed one.
        with_records, without = runs[isolate, records], runs[isolate, 0]
        cpu, wall = (min(run[i] for run in with_records) - min(run[i] for run in without) for i in (0, 1))
        slowest = max(run[0] for run in with_records)
        costs[isolate] = cpu, wall
        print(f'{name + " " + subject:16} {cpu / records * 1e9:8.1f} ns of CPU time per record, {records / wall / 1e6:6.1f} '
              f'million records/s ({ROUNDS} rounds, {cpu:.2f} s, up to {slowest:.2f} s)')
    print(f'isolated / shared {subject}: {costs["yes"][0] / costs["no"][0]:.2f} times the CPU time, '
          f'{costs["yes"][1] / costs["no"][1]:.2f} times the time')
