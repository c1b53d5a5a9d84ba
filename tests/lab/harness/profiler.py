# SPDX-License-Identifier: Apache-2.0
"""iaprof in the background, from when it has begun, and what it said and wrote."""
import collections
import csv
import os
import pathlib
import signal
import subprocess
import threading

from .cases import Failure, check, started

PROGRAM = str(pathlib.Path(os.environ.get('LAB_BUILD', '.')) / 'iaprof')
# An emulated processor takes many times as long to read symbols.
SLOW = ('--finish-within', '60s')
# Every record of a source, in the folder of the case.
ROWS = ('-k', 'csv:rows=events,newline=lf,output=out.csv')


def instance(name, *options):
    """What -s or -k takes."""
    return f'{name}:{",".join(options)}' if options else name


def read_rows(source=None, path='out.csv'):
    """-> {record: [row]} of a source, or of all"""
    rows = collections.defaultdict(list)
    with open(path, encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            if source in (None, row['source']):
                rows[row['record']].append(row)
    return rows


def losses(rows):
    """-> {reason: count}"""
    lost = collections.Counter()
    for row in rows['lost']:
        lost[row['name']] += int(row['count'])
    return lost


def metadata(rows):
    return {row['name']: row['text'] for row in rows['metadata']}


class Profiler:
    """Runs iaprof -v until end(). ready() says, of what it has said so far, whether it has begun."""

    def __init__(self, *arguments, ready):
        self.process = started(subprocess.Popen([PROGRAM, '-v', *SLOW, *arguments], stdout=subprocess.DEVNULL,
                                                stderr=subprocess.PIPE, encoding='utf-8'))
        self.said = ''
        self.wait_for(ready)

    def wait_for(self, ready, seconds=200):
        """What does not come in this time ends iaprof, and the case."""
        deadline = threading.Timer(seconds, self.process.kill)
        deadline.start()
        while not ready(self.said):
            line = self.process.stderr.readline()
            self.said += line
            if not line:
                deadline.cancel()
                raise Failure(f'iaprof ended: {self.process.wait()}: {self.said}')
        deadline.cancel()

    def end(self, status=0, stop=True):
        """Ends it as Ctrl-C does, or waits for its end."""
        if stop:
            self.process.send_signal(signal.SIGINT)
        self.said += self.process.communicate(timeout=120)[1]
        check(self.process.returncode == status, f'iaprof ended with {self.process.returncode}: {self.said}')
        return self


def refused(*arguments, wrap=()):
    """iaprof does not begin: its status, and the one line that it prints."""
    outcome = subprocess.run([*wrap, PROGRAM, *SLOW, '-d', '1s', '-o', 'none', *arguments], stderr=subprocess.PIPE,
                             encoding='utf-8', timeout=120, check=False)
    check(outcome.stderr.count('\n') == 1, f'not one line: {outcome.stderr!r}')
    return outcome.returncode, outcome.stderr
