# SPDX-License-Identifier: Apache-2.0
"""Cases of a test as TAP."""
import csv
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
PATIENCE = int(os.environ.get('TEST_PATIENCE', '600'))  # s, after which what has not happened does not happen
FREQUENCY = 199 if 'LAB_KERNEL' in os.environ else 997  # a guest's processors are emulated


class Skip(Exception):
    """Why a case cannot run here."""


def skip_all(reason):
    print(f'1..0 # SKIP {reason}')
    sys.exit(0)


def require_root():
    if os.geteuid():
        skip_all('root is required')


def wait_until(condition, what, pause=0.005):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f'waited in vain for {what}')
        time.sleep(pause)


def cpu_time(pid):
    """-> the CPU time of a process so far, s"""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        return sum(map(int, file.read().rpartition(') ')[2].split()[11:13])) / os.sysconf('SC_CLK_TCK')


def wait_for_work(pid, seconds):
    """Waits until a process has used so much more CPU time, so that the samples of it do not depend on how busy the
    machine is."""
    end = cpu_time(pid) + seconds
    wait_until(lambda: cpu_time(pid) >= end, f'the work of process {pid}')


def samples(pid, source, least=50):
    """Profiles a process until the generator is closed. -> for each interval, or several of them until there are so many
    samples, [(stack, value)]"""
    with subprocess.Popen([os.environ['TEST_IAPROF'], '-q', '-p', str(pid), '-i', '100ms', '-s',
                           f'{source}frequency={FREQUENCY}', '-k', 'csv:rows=stacks', '-o', '-'], stdout=subprocess.PIPE,
                          text=True, encoding='utf-8') as profiler:
        try:
            interval, rows, total = None, [], 0
            for row in csv.DictReader(profiler.stdout):
                if row['value_type'] != 'cpu' or row['stack'].startswith('[lost]'):
                    continue
                if row['interval'] != interval and total * FREQUENCY >= least * 1e9:
                    yield rows
                    rows, total = [], 0
                interval = row['interval']
                rows.append((row['stack'], int(row['value'])))
                total += int(row['value'])
        finally:
            profiler.send_signal(signal.SIGINT)
            profiler.stdout.read()
    raise AssertionError(f'iaprof ended with status {profiler.returncode}')


def run_cases(cases):
    """Runs pairs of a name and a function, which raises an exception if it fails, and may return a note."""
    print(f'1..{len(cases)}')
    for number, (name, case) in enumerate(cases, 1):
        try:
            note = case()
            print(f'ok {number} - {name}{f": {note}" if note else ""}', flush=True)
        except Skip as reason:
            print(f'ok {number} - {name} # SKIP {reason}', flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            print(f'not ok {number} - {name}\n# {error}', flush=True)
