#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python frames in CPU samples: functions, files and lines are those that the program itself reports. TAP.

Runs with the oldest and the newest Python interpreter that is installed and the distribution's, and with those of
TEST_PYTHONS; TEST_LONG: with each that is installed.
"""
import collections
import csv
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from cases import require_root, run_cases

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / 'python_program.py'
LINES = list(enumerate(PROGRAM.read_text(encoding='utf-8').splitlines(), 1))
SPIN = {number for number, line in LINES if '# SPIN' in line}
# Before the program measures; on a busy machine, samples of then can be in a later interval.
WARM_UP = {number for number, line in LINES if '# WARM-UP' in line}
# All of them in turn; a machine that emulates its processor runs one.
SCENARIOS = os.environ.get('TEST_SCENARIOS', 'plain,builtins,generators,tasks,threads,recursion,reused,unicode,extension,imports')
# Of samples: of those in a chain of calls, and of those whose chain the program did not report.
TOLERANCE = 0.06
WRONG = 0.01
# Of samples of spin(): those at other lines of it than its loop.
OTHER_LINES = 0.05
# Samples in the interpreter without Python frames: their thread was being created, or had not entered a function.
MISSING = 0.05
PYTHON_FRAME = re.compile(r'^(.*):([^:;]+\.py):(\d+)$')


def interpreters():
    found = {}
    for path in [*glob.glob('/usr/bin/python3.*[0-9]'), *glob.glob(os.path.expanduser('~/.pyenv/versions/3.*/bin/python3')),
                 *os.environ.get('TEST_PYTHONS', '').split()]:
        version = subprocess.run([path, '-c', 'import sys; print(sys.version_info[:3])'], capture_output=True, text=True,
                                 check=False).stdout.strip()
        numbers = tuple(json.loads(version.replace('(', '[').replace(')', ']'))) if version else ()
        if numbers >= (3, 8):
            found[numbers, os.path.realpath(path)] = path
    paths = [found[key] for key in sorted(found)]
    if 'TEST_LONG' in os.environ:
        return paths
    return [path for path in paths if path in (paths[0], paths[-1]) or path.startswith('/usr/bin/') or
            path in os.environ.get('TEST_PYTHONS', '').split()]


def build_extension(python, folder):
    """Builds the extension; returns false without the headers of this Python."""
    include = subprocess.run([python, '-c', 'import sysconfig; print(sysconfig.get_path("include"))'], check=True,
                             capture_output=True, text=True).stdout.strip()
    if not os.path.exists(f'{include}/Python.h'):
        return False
    subprocess.run(['cc', '-O2', '-fomit-frame-pointer', '-shared', '-fPIC', f'-I{include}', HERE / 'python_callback.c', '-o',
                    f'{folder}/python_callback.so'], check=True)
    return True


class Profile:
    """Rows of the intervals of a run, as they come"""
    def __init__(self, pid, *options):
        self.rows = []
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [os.environ['TEST_IAPROF'], '-q', '-p', str(pid), '-i', '250ms', '-s',
             ':'.join(['cpu-stack', ','.join(['frequency=1499', *options])]), '-k', 'csv:lines=yes', '-o', '-'],
            stdout=subprocess.PIPE, text=True, encoding='utf-8')
        self.reader = csv.DictReader(self.process.stdout)

    def read(self, is_last=lambda stack: False):
        """Reads rows up to one, or all."""
        for row in self.reader:
            if row['value_type'] == 'cpu' and not row['stack'].startswith('[lost]'):
                self.rows.append((int(row['begin']), row['stack'].split(';'), int(row['value'])))
                if is_last(row['stack']):
                    return
        if self.process.wait():
            raise AssertionError(f'iaprof: status {self.process.returncode}')


def profile(python, scenario, folder, *options):
    """-> stacks with values since the program began to measure, and the seconds that it reports for each chain"""
    command = [python, PROGRAM, scenario, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        try:
            if program.stdout.readline() != 'running\n':
                raise AssertionError('the program did not start')
            recorded = Profile(program.pid, *options)
            # Tables of the interpreter are there as soon as there are stacks with the wanted frames.
            recorded.read(lambda stack: ('_PyEval_EvalFrameDefault' if 'python=native' in options else ';spin:') in stack)
            program.stdin.write('\n')
            program.stdin.flush()
            begin, seconds = json.loads(program.stdout.readline())
            program.wait()
            recorded.read()
        finally:
            program.kill()
    return [(stack, value) for interval, stack, value in recorded.rows if interval >= begin], seconds


def check_shares(found, seconds):
    total, whole = sum(found.values()), sum(seconds.values())
    if not total:
        raise AssertionError('no samples of spin()')
    wrong = {chain: value / total for chain, value in found.items() if chain not in seconds}
    if sum(wrong.values()) > WRONG:
        raise AssertionError(f'{sum(wrong.values()):.3f} in chains that the program did not report: '
                             f'{sorted(wrong.items(), key=lambda item: -item[1])[:3]}; it reported {list(seconds)[:3]}')
    for chain, spent in seconds.items():
        if abs(found[chain] / total - spent / whole) > TOLERANCE:
            raise AssertionError(f'{chain}: {found[chain] / total:.3f} of samples, {spent / whole:.3f} of CPU time')
    return total, sum(wrong.values())


def chains(stacks):
    """-> the value of each chain of calls to spin()"""
    found, lines = collections.Counter(), collections.Counter()
    for frames, value in stacks:
        python = [match for match in map(PYTHON_FRAME.match, frames) if match]
        if not python or python[-1][1] != 'spin':
            continue
        if any(match[1] == 'main' and int(match[3]) in WARM_UP for match in python):
            continue
        lines[int(python[-1][3]) in SPIN] += value
        found[';'.join(match[0] for match in python[:-1])] += value
    if lines[False] > OTHER_LINES * sum(lines.values()):
        raise AssertionError(f'samples of spin() in its loop and elsewhere: {lines[True]}, {lines[False]}')
    return found


def check_chains(python, scenarios):
    with tempfile.TemporaryDirectory() as folder:
        if 'extension' in scenarios and not build_extension(python, folder):
            scenarios = scenarios.replace(',extension,imports', '')
        stacks, seconds = profile(python, scenarios, folder)
        found = chains(stacks)
        total, wrong = check_shares(found, seconds)
        # Threads that begin or end are in no function.
        missing = sum(value for frames, value in stacks if '_PyEval_EvalFrameDefault' in ';'.join(frames) and
                      not any(map(PYTHON_FRAME.match, frames)))
        if missing > MISSING * total:
            raise AssertionError(f'{missing} of {total} are in the interpreter, and have no Python frames')
        text = [';'.join(frames) for frames, _ in stacks]
        mixed = re.compile(r';extension:[^;]*;call(:[^;]*)?;native_inner(:[^;]*)?;plain:[^;]*;(Layer.)?forward:')
        if 'extension' in scenarios and not any(map(mixed.search, text)):
            raise AssertionError('no call from Python through the extension to Python')
        return f'{len(found)} chains{"" if "extension" in scenarios else ", no Python.h"}, {wrong:.4f} wrong'


def check_choice(python, choice):
    with tempfile.TemporaryDirectory() as folder:
        stacks, seconds = profile(python, 'plain', folder, f'python={choice}')
    inner = [frames[1:] for frames, _ in stacks if any('spin:' in frame for frame in frames)]
    if choice == 'python':
        check_shares(chains(stacks), seconds)
        native = [frame for frames in inner for frame in frames
                  if not PYTHON_FRAME.match(frame) and ':<frozen ' not in frame and '_[k]' not in frame]
        if native:
            raise AssertionError(f'native frames in python=python: {native[:5]}')
    elif inner or not any('_PyEval_EvalFrameDefault' in ';'.join(frames) for frames, _ in stacks):
        raise AssertionError('python=native has Python frames, or none of the interpreter')
    return ''


def main():
    require_root()
    pythons = interpreters()
    cases = [(python, SCENARIOS, check_chains) for python in pythons]
    cases += [(pythons[-1], choice, check_choice) for choice in ('python', 'native')]
    run_cases([(f'{python}: {what}', lambda python=python, what=what, run=run: run(python, what))
               for python, what, run in cases])


if __name__ == '__main__':
    sys.exit(main())
