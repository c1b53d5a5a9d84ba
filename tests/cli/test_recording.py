#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is left of a recording when the run does not come to its end."""
import csv
import os
import re
import signal
import stat

from harness import (COMPLETE, FAILED, FAILING_SOURCE, case, equal, iaprof, main, no_children_left, read, require, start,
                     wait_until)

RECORD = ['-q', '-s', f'{FAILING_SOURCE}.one:samples=10', '-s', f'{FAILING_SOURCE}.two', '--record', 'run']


def killed():
    """A recording of ten samples whose run is killed once they are in the file."""
    process = start(*RECORD)
    wait_until(lambda: os.path.exists('run'), 'the file')
    equal(stat.S_IMODE(os.stat('run').st_mode), 0o600, 'mode of the file')
    equal(os.listdir('.'), ['run'], 'files')
    process.send_signal(signal.SIGKILL)
    process.communicate()
    no_children_left()


@case('a run that is killed leaves a capture up to its last second')
def kill():
    killed()
    iaprof('-q', '--replay', 'run', '-o', 'out').fails(
        FAILED, r'source replay: run: capture is truncated in block [0-9]+ at byte [0-9]+; the [0-9]+ records before',
        left=['out'])
    with open('out', encoding='ascii') as out:
        equal(out.read(), 'sampled program 10\n', 'profile')


@case('a capture that is cut anywhere is replayed up to there')
def cut_anywhere():
    killed()
    with open('run', 'rb') as file:
        whole = file.read()
    # Around the header's end, the first block's, and the file's, byte by byte.
    first_end = 32 + 32 + int.from_bytes(whole[40:44], 'little')
    places = [*range(29, 36), *range(first_end - 2, first_end + 3), *range(len(whole) - 2, len(whole) + 1)]
    for size in places:
        with open('cut', 'wb') as file:
            file.write(whole[:size])
        outcome = iaprof('-q', '--replay', 'cut', '-o', '-')
        equal(outcome.status, FAILED, f'exit status of {size} bytes')
        equal(len(re.findall('capture is truncated', outcome.err)), 1, f'messages about {size} bytes')
        equal(len(outcome.err.splitlines()), 1, f'lines about {size} bytes')
    equal(iaprof('-q', '--replay', 'run', '-o', '-').out, 'sampled program 10\n', 'profile of the last size')


@case('a recording knows what was profiled: the command as a shell reads it, and the target')
def profiled():
    def facts(*words):
        iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=3', '--record', 'run', *words)
        rows = csv.DictReader(iaprof('-q', '--replay', 'run', '-k', 'csv:rows=events', '-o', '-').completes().out.splitlines())
        return {row['name']: row['text'] for row in rows if row['record'] == 'metadata'}
    quoted = facts('--', 'sh', '-c', "exit $0; echo it's", '0')
    equal((quoted['command'], quoted['target']), ("sh -c 'exit $0; echo it'\\''s' 0", 'command'), 'a command')
    for scope, words in (('system', ['true', '']), ('auto', ['sleep', '0'])):
        found = facts('--scope', scope, '--', *words)
        quoted = ' '.join(word or "''" for word in words)
        equal((found['target'], 'command' in found), (f'system-wide during {quoted}', False), 'the system')
    name = read(f'/proc/{os.getpid()}/comm').strip()
    found = facts('-d', '100ms', '-p', str(os.getpid()))
    equal(found['target'], f'process {os.getpid()} ({name})', 'a process')
    equal('command' in found, False, 'a command of a process')


@case('a recording that is ended in good order replays without a word')
def complete():
    process = start(*RECORD)
    wait_until(lambda: os.path.exists('run'), 'the file')
    process.send_signal(signal.SIGINT)
    process.communicate()
    equal(process.returncode, COMPLETE, 'exit status')
    outcome = iaprof('-q', '--replay', 'run', '-o', '-')
    equal((outcome.status, outcome.err, outcome.out), (COMPLETE, '', 'sampled program 10\n'), 'replay')
    require(not [name for name in os.listdir('.') if name.startswith('.')], 'a temporary file is left')


if __name__ == '__main__':
    main()
