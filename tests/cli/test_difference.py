#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--diff: what it refuses, what it shows on a terminal, files that are damaged, and a real program that changed."""
import fcntl
import os
import re
import shutil
import signal
import struct
import termios

from harness import (CAPTURE, FAILED, FAILING_SINK, FAILING_SOURCE, LOAD, OWN_FAILURE, USAGE, case, end, equal, iaprof, main,
                     needs_sampling, read, require, start, terminal, wait_until, write)

TWO_FILES = ['--diff', CAPTURE, CAPTURE]


def record(name, samples):
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples={samples}', '--record', name).completes()
    return name


def record_calls(name, counts):
    """Calls of a driver, from a trace: {function: how often}"""
    write('trace', ''.join(f'kprobe:intel_vpu:{function}\n' * count for function, count in counts.items()))
    iaprof('-q', '-s', 'ivpu-trace:input=trace', '--record', name).completes()
    return name


REFUSED = {
    'one file': (['--diff', CAPTURE], '--diff requires two files'),
    'one file and an option': (['--diff', CAPTURE, '-o', 'out'], '--diff requires two files'),
    'a file that is not there': (['--diff', CAPTURE, 'none'], '--diff none: No such file'),
    'another one': (['--diff', 'none', CAPTURE], '--diff none: No such file'),
    'a replay': ([*TWO_FILES, '--replay', CAPTURE], r'--diff and --replay are mutually exclusive'),
    'a capture to write': ([*TWO_FILES, '--record', 'out'], r'--diff and --record are mutually exclusive'),
    'a source': ([*TWO_FILES, '-s', 'cpu-stack'], r'--diff and --source are mutually exclusive'),
    'processes': ([*TWO_FILES, '-p', '1'], r'--diff and --pid are mutually exclusive'),
    'a duration': ([*TWO_FILES, '-d', '1'], r'--diff and --duration are mutually exclusive'),
    'intervals': ([*TWO_FILES, '-i', '1s'], r'--diff and --interval are mutually exclusive'),
    'a command': ([*TWO_FILES, 'true'], r'--diff and a command \(true\) are mutually exclusive'),
    'normalization of nothing': (['--replay', CAPTURE, '--normalize', 'total'], 'requires --diff BEFORE AFTER'),
    'another normalization': ([*TWO_FILES, '--normalize', 'all'], "'all' is not one of none, total, duration"),
    'a sink of records': ([*TWO_FILES, '-k', 'capture:output=out'], 'sink capture does not support differences', '--replay'),
    'a sink of one profile': ([*TWO_FILES, '-k', 'pprof', '-o', 'out'], 'sink pprof does not support differences',
                              '--replay'),
    'another one of those': ([*TWO_FILES, '-k', 'speedscope'], 'sink speedscope does not support differences', '--replay'),
    'a sink of somebody else': ([*TWO_FILES, '-k', FAILING_SINK], 'does not support differences', '--replay'),
    'one of several sinks': ([*TWO_FILES, '-k', 'folded:output=out', '-k', 'pprof:output=other'], 'sink pprof does not support'),
}
for what, (arguments, *said) in REFUSED.items():
    @case(f'refused: {what}', arguments, said)
    def refused(arguments, said):
        iaprof(*arguments).fails(OWN_FAILURE if 'true' in arguments else USAGE, *said)


@case('refused: the files themselves as output')
def over_input():
    for name in 'old', 'new':
        shutil.copy(CAPTURE, name)
    os.symlink('old', 'link')
    for output in 'old', 'new', './new':
        iaprof('--diff', 'old', 'new', '-o', output).fails(USAGE, 'is the file that is replayed')
    iaprof('--diff', 'link', 'new', '-o', 'old').fails(USAGE, 'is the file that is replayed')


@case('rows of events are refused, which have no differences')
def events():
    iaprof('-q', *TWO_FILES, '-k', 'csv:rows=events,output=out').fails(FAILED, 'sink csv', 'requires rows=stacks')


@case('no sink, no terminal: folded text with both values; -o and an INI file do the same')
def folded():
    old, new = record('old', 3), record('new', 8)
    equal(iaprof('-q', '--diff', old, new).out, 'sampled program 3 8\n', 'standard output')
    iaprof('-q', '--diff', old, new, '-o', 'out').completes().leaves('out')
    equal(read('out'), 'sampled program 3 8\n', 'the file')
    write('run.ini', 'before = old\nafter = new\nnormalize = total\n'.join(['[iaprof]\n', '']))
    equal(iaprof('-q', '-c', 'run.ini').out, 'sampled program 8 8\n', 'with an INI file')
    equal(iaprof('-q', '-c', 'run.ini', '--normalize', 'none', '--diff', 'new', 'old').out, 'sampled program 8 3\n',
          'and the command line over it')
    equal(iaprof('-c', 'run.ini', '--check').completes().out,
          'source replay: ready\nsink folded: ready, writes standard output\n', 'what is checked')


@case('a terminal: a table of what grew and shrank, no file, and what each file lacks')
def table():
    old = record_calls('old', {'ivpu_open': 5, 'ivpu_bo_create_ioctl': 40, 'ivpu_submit_ioctl': 20, 'ivpu_bo_pin': 10})
    new = record_calls('new', {'ivpu_open': 5, 'ivpu_bo_create_ioctl': 10, 'ivpu_submit_ioctl': 61, 'ivpu_bo_pin': 9})
    outcome = terminal('--diff', old, new).completes().leaves()
    tables = re.sub(r'\r|\x1b\[K', '', outcome.out)
    require('\nnpu-calls: 75 before, 85 after: +10 (+13.33%)\n' in tables, 'no totals')
    rows = re.findall(r'^ +([+-]\d+) +(\d+) +(\d+)  (\w+)$', tables, re.M)
    equal(rows, [('+41', '20', '61', 'ivpu_submit_ioctl'), ('-30', '40', '10', 'ivpu_bo_create_ioctl'),
                 ('-1', '10', '9', 'ivpu_bo_pin')], 'functions that grew, and those that shrank')
    require(tables.index('functions that grew most') < tables.index('ivpu_submit_ioctl') <
            tables.index('functions that shrank most') < tables.index('ivpu_bo_create_ioctl'), 'the order of the tables')
    require('iaprof: before, old:' in tables and 'iaprof: after, new:' in tables, 'which file is which')
    outcome = terminal('--diff', old, new, '--normalize', 'total').completes().leaves()
    require('75 times 1.13333 is 85 before, 85 after: +0 (+0.00%)' in outcome.out, 'no factor')
    for line in tables.splitlines():
        require(len(line) <= 100 or line.startswith('iaprof: '), f'too wide: {line}')


@case('the sink summary writes totals, or tables; there is no JSON of a difference')
def summary():
    old, new = record('old', 3), record('new', 8)
    equal(iaprof('-q', '--diff', old, new, '-k', 'summary').out, 'tests: 3 before, 8 after: +5 (+166.67%) (--normalize none)\n',
          'the totals')
    tables = iaprof('-q', '--diff', old, new, '-k', 'summary:format=functions').out
    require(re.search(r'^ +\+5 +3 +8  sampled program$', tables, re.M), tables)
    iaprof('-q', '--diff', old, new, '-k', 'summary:format=json,output=out').fails(FAILED, 'sink summary', 'use format=text')


@case('losses of each file are reported, and part of the difference')
def losses():
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=3', '--record', 'old').completes()
    outcome = iaprof('--diff', CAPTURE, 'old', '-k', 'csv').completes('iaprof: before, ', 'iaprof: after, old:')
    one = iaprof('--replay', CAPTURE, '-k', 'csv').completes()
    for line in one.err.splitlines():
        require(line in outcome.err, f'{line!r} is not reported')


@case('a file that is no capture: nothing is written')
def no_capture():
    for files in (CAPTURE, '/etc/passwd'), ('/etc/passwd', CAPTURE):
        iaprof('-q', '--diff', *files, '-o', 'out').fails(FAILED, '/etc/passwd', 'not a capture')


@case('a truncated capture is compared up to its end, with a message, and fails')
def cut():
    whole = record('whole', 100000)
    shutil.copy(whole, 'cut')
    os.truncate('cut', int(os.path.getsize('cut') * 0.6))
    for files in (whole, 'cut'), ('cut', whole):
        iaprof('-q', '--diff', *files, '-o', 'out').fails(FAILED, 'source replay: cut: .*', left=['out'])
        os.unlink('out')


@case('Ctrl-C while a file is read: nothing is written, for half a file would be compared')
def interrupted():
    record('whole', 3)
    for files in ('pipe', 'whole'), ('whole', 'pipe'):
        os.mkfifo('pipe')
        process = start('--diff', *files, '-o', 'out')
        # Opened by the reader only when it is that file's turn; a head of a capture, and then nothing more comes.
        with open('pipe', 'wb') as pipe, open('whole', 'rb') as whole:
            pipe.write(whole.read(100))
            pipe.flush()
            wait_until(lambda: pipe_is_empty(pipe), 'the reader of the pipe')
            process.send_signal(signal.SIGINT)
            outcome = end(process)
        os.unlink('pipe')
        equal(outcome.status, FAILED, 'exit status')
        require('no output written' in outcome.err, f'standard error: {outcome.err}')
        require(not os.path.exists('out'), 'something was written')


def pipe_is_empty(pipe):
    return struct.unpack('i', fcntl.ioctl(pipe, termios.FIONREAD, b'\0' * 4))[0] == 0


@case('a program that changed: the function that does more grew', needs=[needs_sampling])
def real():
    """Its shares of time are 50, 30, 15 and 5 in the second run; the first one has another program alone."""
    sampled = ['-q', '-s', 'cpu-stack:frequency=999', '--scope', 'command', '--record']
    iaprof(*sampled, 'old', 'sha1sum', LOAD).completes()
    iaprof(*sampled, 'new', LOAD, 'shares', '300').completes()
    alone = dict(line.rsplit(' ', 1) for line in iaprof('-q', '--replay', 'new', '-k', 'folded').out.splitlines())
    found = {}
    for line in iaprof('-q', '--diff', 'old', 'new').out.splitlines():
        stack, before, after = line.rsplit(' ', 2)
        found[stack] = before, after
    equal({stack: after for stack, (_, after) in found.items() if after != '0'}, alone, 'the second run')
    require(any('burn_50' in stack and before == '0' for stack, (before, _) in found.items()), 'no burn_50')


if __name__ == '__main__':
    main()
