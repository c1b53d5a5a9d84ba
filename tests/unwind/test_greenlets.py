#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python threads whose frames belong to several C stacks: greenlets by the package itself, gevent, eventlet and SQLAlchemy,
and interpreters that enter each other. Each chain of calls that a program reports of itself is found; native frames are
where the program has them, and those of other greenlets are not shown; few stacks are marked. TAP."""
import collections
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.argv[1:] = ['']
from test_python_programs import HERE, PYTHON_FRAME, WRONG, group_of, read_reports, run, running  # noqa: E402

SYSTEM = '/usr/bin/python3'
# The module that each needs; Debian packages: python3-greenlet and so on.
PLACES = {'greenlets': 'greenlet', 'gevent': 'gevent', 'eventlet': 'eventlet', 'sqlalchemy': 'sqlalchemy',
          'interpreters': '_xxsubinterpreters'}
# Places that have greenlets in which each function of Python is the outermost one.
OUTERMOST = re.compile(r'^(greenlets.<locals>.(inner|outer)|gevent.<locals>.work|GreenPool._spawn_n_impl|sqlalchemy.<locals>.query):')
MARK = re.compile(r'\[(no unwind table|truncated|unreadable|unknown|python[]:]|lost)')


def is_installed(module):
    return not subprocess.run([SYSTEM, '-c', f'import {module}'], stderr=subprocess.DEVNULL, check=False).returncode


def native_error(frames, python):
    """-> what is wrong with native frames between and before functions of Python"""
    between = frames[python[0]:python[-1]]
    in_greenlet = bool(OUTERMOST.match(frames[python[0]]))
    if any('_greenlet.' in frame or 'greenlet::' in frame for frame in between):
        return 'switches between functions of Python'
    begin = frames.index('[other greenlet]') if in_greenlet and '[other greenlet]' in frames else 0
    if bool(begin) != in_greenlet or frames.count('[other greenlet]') != in_greenlet or '_start' in frames[:begin]:
        return 'the begin of a greenlet'
    if any('sqlite3_step' in frame for frame in between) != any(frame.startswith('callback:') for frame in between):
        return 'a callback'
    return ''


class Place:
    """A program, and what was seen of it"""
    def __init__(self, folder):
        self.folder, self.program, self.total = folder, None, 0
        self.chains, self.rests, self.errors = collections.Counter(), set(), collections.Counter()

    def see(self, row):
        frames, value = row['stack'].split(';'), int(row['value'])
        python = [i for i, frame in enumerate(frames) if PYTHON_FRAME.match(frame)]
        names = [frames[i] for i in python]
        ends = [i for i, name in enumerate(names) if name.startswith(('spin:', 'rest:'))]
        if row['value_type'] == 'cpu':
            self.total += value
            if MARK.search(row['stack']):
                self.errors['marked: ' + ';'.join(frames)] += value
        if not ends:
            return
        chain = ';'.join(names[:ends[-1]])
        if row['value_type'] == 'off-cpu' and names[ends[-1]].startswith('rest:'):
            self.rests.add(chain)
        elif row['value_type'] == 'cpu' and names[ends[-1]].startswith('spin:'):
            self.chains[chain] += value
            error = native_error(frames, python[:ends[-1] + 1])
            if error:
                self.errors[f'{error}: {";".join(frames)}'] += value

    def is_complete(self):
        reports = read_reports(self.folder)
        return bool(reports) and reports <= set(self.chains) and read_reports(self.folder, 'rests') <= self.rests

    def problem(self):
        reports = read_reports(self.folder)
        for chain, value in self.chains.items():
            if chain not in reports:
                self.errors[f'not reported: {chain}'] += value
        if not self.is_complete():
            return f'not found: {list(reports - set(self.chains))[:2]}, {list(read_reports(self.folder, "rests") - self.rests)[:2]}'
        return '' if self.errors.total() <= WRONG * self.total else \
            f'{self.errors.total() / self.total:.3f}: {self.errors.most_common(3)}'


def check(folder, names):
    places = {name: Place(f'{folder}/{name}') for name in names}
    groups = {}

    def see(row):
        if row['value_type'] not in ('cpu', 'off-cpu') or row['stack'].startswith('[lost]'):
            return
        if row['pid'] not in groups:
            group = group_of(row['pid'])
            groups[row['pid']] = next((place for place in places.values() if place.program.pid == group), None)
        if groups[row['pid']]:
            groups[row['pid']].see(row)

    def is_enough():
        # A few samples come before the tables of a program do: they are less than the limit of 6 s.
        return all(place.is_complete() and len(place.chains) and place.total > 6e9 for place in places.values())

    with contextlib.ExitStack() as stack:
        for name, place in places.items():
            place.program = stack.enter_context(running([SYSTEM, HERE / 'python_greenlets.py', name], place.folder))
        run(folder, [place.program.pid for place in places.values()], 'cpu-stack:frequency=199', 'pid=yes', see, is_enough,
            ['off-cpu'])
    return {name: place.problem() for name, place in places.items()}


def main():
    names = [name for name, module in PLACES.items() if is_installed(module)] if os.path.exists(SYSTEM) else []
    if os.geteuid() or not names:
        print('1..0 # SKIP root and /usr/bin/python3 are required')
        return
    with tempfile.TemporaryDirectory() as folder:
        found = check(folder, names)
    for number, name in enumerate(PLACES, 1):
        error = found.get(name)
        print(f'ok {number} - {name} # SKIP {PLACES[name]} is not installed' if error is None else
              f'not ok {number} - {name}\n# {error}' if error else f'ok {number} - {name}', flush=True)
    print(f'1..{len(PLACES)}')


if __name__ == '__main__':
    main()
