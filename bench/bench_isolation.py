#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a record from a source in a process of its own, beside that of one in the process of iaprof: CPU time and
time of whole runs with and without records, in turns. It ends with a ratio, and passes or fails on none."""
import os
import subprocess
import sys
import time

PROGRAM, PLUGIN = sys.argv[1:]
RECORDS = 8_000_000
ROUNDS = 5


def measure(isolate, records):
    """Returns the CPU time and the time of a run, in seconds."""
    before, begin = os.times(), time.monotonic()
    subprocess.run([PROGRAM, '-q', '-s', f'{PLUGIN}:records={records},isolate={isolate}', '-o', '/dev/null'],
                   check=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.monotonic() - begin


runs = {(isolate, records): [] for isolate in ('no', 'yes') for records in (0, RECORDS)}
for _ in range(ROUNDS):
    for key, results in runs.items():
        results.append(measure(*key))
costs = {}
for isolate, name in ('no', 'shared'), ('yes', 'isolated'):
    # The fastest run says most about the program.
    with_records, without = runs[isolate, RECORDS], runs[isolate, 0]
    cpu, wall = (min(run[i] for run in with_records) - min(run[i] for run in without) for i in (0, 1))
    slowest = max(run[0] for run in with_records)
    costs[isolate] = cpu, wall
    print(f'{name:10} {cpu / RECORDS * 1e9:8.1f} ns of CPU time per record, {RECORDS / wall / 1e6:6.1f} million '
          f'records/s ({ROUNDS} rounds, {cpu:.2f} s, up to {slowest:.2f} s)')
print(f'isolated / shared: {costs["yes"][0] / costs["no"][0]:.2f} times the CPU time, '
      f'{costs["yes"][1] / costs["no"][1]:.2f} times the time')
