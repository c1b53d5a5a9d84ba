#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profiled command and the end of a run: iaprof has its status, and Ctrl-C ends both."""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import time

from harness import (CAPTURE, COMPLETE, FAILED, FAILING_SINK, FAILING_SOURCE, NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE,
                     TIMEOUT, USAGE, Skip, case, end, equal, iaprof, main, needs_program, no_children_left, read,
                     require, start, wait_until, write)

IGNORING_INTERRUPTS = ['sh', '-c', 'trap "" INT; exec "$@"', 'sh']
# A source that goes on until it is stopped, for runs whose end is another one's.
ENDLESS = ['-s', FAILING_SOURCE, '-o', 'out']
# The same signal is another one after this time, in s.
TOGETHER = 0.3


@case('a command that succeeds is not spoken of')
def succeeds():
    outcome = iaprof(*ENDLESS, 'true').completes()
    equal([line for line in outcome.err.splitlines() if 'true' in line], ['iaprof: profiling true and its descendants'],
          'lines about it')
    outcome.leaves('out')


def ends(outcome, status, *patterns):
    """A complete run of a command with a status."""
    equal(outcome.status, status, 'exit status')
    for pattern in patterns:
        require(re.search(pattern, outcome.err, re.M), f'no {pattern!r} on standard error')
    return outcome


@case('a command with a status: iaprof reports it and has it, and the file of --status-file has its own')
def status():
    ends(iaprof(*ENDLESS, '--status-file', 'status', 'sh', '-c', 'exit 7'), 7,
         '^iaprof: .*sh ended with status 7$').leaves('out', 'status')
    equal(read('status'), '0\n', 'the result of the profile')


@case('a command that dies by a signal: it is reported')
def dies():
    ends(iaprof(*ENDLESS, 'sh', '-c', 'kill -SEGV $$'), 128 + signal.SIGSEGV,
         r'^iaprof: .*sh was killed by SIGSEGV$').leaves('out')


@case('a command that dies by a signal, and -q: not even that')
def quiet():
    outcome = iaprof('-q', *ENDLESS, 'sh', '-c', 'kill -9 $$')
    equal((outcome.status, outcome.err), (128 + signal.SIGKILL, ''), 'status and standard error')


@case('a command\'s arguments, input, output and errors are its own')
def own_streams():
    process = start('-q', *ENDLESS, '--', 'sh', '-c', 'cat; echo "$0 $1" >&2', '-d', '--list',
                    stdin=os.open(write('input', 'typed\n'), os.O_RDONLY))
    outcome = end(process)
    equal((outcome.status, outcome.out, outcome.err), (COMPLETE, 'typed\n', '-d --list\n'), 'status and streams')


@case('a command gets no file descriptors of iaprof\'s')
def descriptors():
    outcome = iaprof('-q', *ENDLESS, 'sh', '-c', 'ls /proc/$$/fd', close_fds=True)
    equal(outcome.out.split(), ['0', '1', '2'], 'file descriptors')


@case('a command gets the signals that iaprof was given')
def signals():
    def ignored(text):
        return int(re.search(r'^SigIgn:\s*(\S+)', text, re.M).group(1), 16)

    def blocked(text):
        return int(re.search(r'^SigBlk:\s*(\S+)', text, re.M).group(1), 16)
    outcome = iaprof('-q', *ENDLESS, 'cat', '/proc/self/status')
    equal((ignored(outcome.out), blocked(outcome.out)), (0, 0), 'ignored and blocked')
    outcome = iaprof('-q', *ENDLESS, 'cat', '/proc/self/status', wrap=['nohup'])
    equal(ignored(outcome.out), 1 << (signal.SIGHUP - 1), 'ignored under nohup')
    outcome = iaprof('-q', *ENDLESS, 'cat', '/proc/self/status', wrap=IGNORING_INTERRUPTS)
    equal(ignored(outcome.out), 1 << (signal.SIGINT - 1), 'ignored in the background of sh')


@case('a command whose interpreter is not there: the run fails, nothing is written')
def no_interpreter():
    write('script', '#!/none/such\n', 0o755)
    iaprof('-q', *ENDLESS, './script').fails(NOT_FOUND, r'command \./script: No such file or directory')


@case('a command whose file another process keeps to itself: the run fails, nothing is written')
def file_that_does_not_open():
    """An exec waits for the holder of a write lease, 45 s by default, and would succeed then."""
    shutil.copy('/bin/true', 'leased')
    os.chmod('leased', 0o755)
    with open('leased', 'rb') as file:
        before = signal.signal(signal.SIGIO, lambda *_: None)  # how the holder is notified
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as error:
            raise Skip(f'no lease on files here: {error}') from None
        iaprof('-q', *ENDLESS, './leased').fails(OWN_FAILURE, r'command \./leased: not started within 10 s')
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        signal.signal(signal.SIGIO, before)


@case('a command that forks and exits ends the run; its child goes on')
def forks_and_exits():
    os.mkfifo('hold')
    process = start('-q', *ENDLESS, 'sh', '-c', 'cat hold > child-had & exit 0',
                    stdin=None, stdout=None, stderr=None)
    equal(process.wait(TIMEOUT), COMPLETE, 'exit status')
    require(os.path.exists('out'), 'no profile is there')
    with open('hold', 'w', encoding='ascii') as hold:
        hold.write('something\n')
    no_children_left()
    equal(read('child-had'), 'something\n', 'what the child had to do')


def shell_status(*words):
    return subprocess.run(['sh', '-c', '"$@"', 'sh', *words], stderr=subprocess.DEVNULL, check=False).returncode


@case('programs that cannot be executed have the statuses of a shell, whatever the result of the profile')
def not_executed():
    write('text', 'text\n')
    write('script', '#!/no/such/interpreter\n', 0o755)
    os.mkdir('folder')
    for name, status in ('./no-such', NOT_FOUND), ('no-such-command', NOT_FOUND), ('./text', NOT_EXECUTABLE), \
            ('./folder', NOT_EXECUTABLE), ('./script', NOT_FOUND):
        equal(status, shell_status(name), f'status of the shell: {name}')
        outcome = iaprof(*ENDLESS, '--status-file', 'status', name)
        equal(outcome.status, status, f'exit status: {name}')
        equal(read('status'), f'{FAILED if name == "./script" else USAGE}\n', f'the result of the profile: {name}')


@case('failures of iaprof have a status of their own with a command, and those of the command are not taken for them')
def own_failures():
    for options in ['-s', 'no-such'], ['-d', 'soon'], ['--no-such'], ['-F', '99'], ['-c', 'none.ini'], \
            ['-o', 'none/out'], ['-k', f'{FAILING_SINK}:in=start'], ['--replay', CAPTURE]:
        outcome = iaprof(*(['-s', FAILING_SOURCE] if options[0] in ('-k', '-o') else []), *options, '--', 'sh', '-c', 'exit 1')
        equal(outcome.status, OWN_FAILURE, f'exit status: {options}')
        require(outcome.err, 'no reason')
    # One that ends with 127 was executed.
    equal(iaprof('-q', *ENDLESS, 'sh', '-c', 'exit 127').status, 127, 'exit status')
    equal(iaprof('-q', '-s', FAILING_SOURCE, '-k', f'{FAILING_SINK}:in=finish', 'sh', '-c', 'exit 127').status, OWN_FAILURE,
          'exit status')
    # Without a command, and with sleep, it is the result of the profile.
    equal(iaprof('-q', '-s', FAILING_SOURCE, '-k', f'{FAILING_SINK}:in=finish', 'sleep', '0').status, FAILED, 'exit status')
    equal(iaprof('--no-such').status, USAGE, 'exit status')
    equal(iaprof('-F', '99').status, USAGE, 'exit status')


@case('sleep is a timer: its status is not iaprof\'s, unless --scope command profiles it')
def timer():
    write('sleep', '#!/bin/sh\nexit 9\n', 0o755)
    ends(iaprof(*ENDLESS, './sleep'), COMPLETE, '^iaprof: profiling system-wide during ./sleep$', 'sleep ended with status 9')
    ends(iaprof(*ENDLESS, '--scope', 'system', './sleep'), COMPLETE, '^iaprof: profiling system-wide during ./sleep$')
    ends(iaprof(*ENDLESS, '--scope', 'command', './sleep'), 9, '^iaprof: profiling ./sleep and its descendants$')
    ends(iaprof(*ENDLESS, '-p', str(os.getpid()), './sleep'), COMPLETE,
         rf'^iaprof: profiling process {os.getpid()} \(.*\) during ./sleep$')
    ends(iaprof(*ENDLESS, '--scope', 'system', 'sh', '-c', 'exit 3'), 3, '^iaprof: profiling system-wide during sh')
    ends(iaprof(*ENDLESS, '-p', str(os.getpid()), 'sh', '-c', 'exit 3'), 3)


@case('the file of --status-file is checked before the command starts, and is that of no sink')
def status_file():
    iaprof(*ENDLESS, '--status-file', 'none/status', 'touch', 'ran').fails(OWN_FAILURE, '--status-file: .*none/status')
    iaprof('-s', FAILING_SOURCE, '-o', 'out', '--status-file', './out', 'touch', 'ran').fails(OWN_FAILURE, 'two .* write out', left=['out'])
    equal(read('out'), f'{USAGE}\n', 'the result of the profile')
    os.remove('out')
    iaprof('-s', FAILING_SOURCE, '--status-file', 'status', '-k', f'{FAILING_SINK}:in=finish', '-d', '1ms').leaves('status')
    equal(read('status'), '1\n', 'the result of the profile')


@case('a duration that is over ends the command')
def duration_ends_command():
    iaprof('-q', '-d', '1ms', *ENDLESS, 'sleep', '1000').completes().leaves('out')


@case('the command ends before the duration is over')
def command_ends_first():
    iaprof('-q', '-d', '8760h', *ENDLESS, 'true').completes().leaves('out')


@case('a source that has sent all ends the command')
def source_ends_command():
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=1', '-o', 'out', 'sleep', '1000').completes().leaves('out')


def interrupt_when_running(number, *arguments):
    """Sends a signal when the command has begun, and so the run has."""
    os.mkfifo('began')
    process = start('-q', *arguments, 'sh', '-c', 'echo > began; exec sleep 1000')
    read('began')
    process.send_signal(number)
    return process


for name in ('SIGINT', 'SIGTERM', 'SIGHUP'):
    @case(f'{name} ends the run in good order, with a profile', getattr(signal, name))
    def interrupted(number):
        outcome = end(interrupt_when_running(number, '-s', FAILING_SOURCE, '-o', 'out', '--record', 'run'))
        equal((outcome.status, outcome.out, outcome.err), (128 + number, '', ''), 'status and output')
        outcome.leaves('out', 'run')
        iaprof('-q', '--replay', 'run', '-o', 'again').completes()
        equal(read('again'), read('out'), 'the replay of the capture')


@case('Ctrl-C on a terminal reaches the command too')
def terminal_interrupt():
    os.mkfifo('began')
    process = start('-q', '-s', FAILING_SOURCE, '-o', 'out', 'sh', '-c', 'echo > began; exec sleep 1000',
                    start_new_session=True)
    read('began')
    os.killpg(process.pid, signal.SIGINT)
    ends(end(process), 128 + signal.SIGINT).leaves('out')


@case('the same signal twice at a time is one, as timeout(1) sends it')
def together():
    os.mkfifo('began')
    process = start('-s', FAILING_SOURCE, '-o', 'out', 'sh', '-c', 'echo > began; exec sleep 1000')
    read('began')
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
    ends(end(process), 128 + signal.SIGTERM).leaves('out')


@case('a second Ctrl-C while a sink is stuck ends it at once')
def second_interrupt():
    # The pipe has a reader that reads nothing, and is full: the folded sink cannot get on. The events before have a
    # file, which is not complete yet and must not stay.
    os.mkfifo('pipe')
    reader = os.open('pipe', os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open('pipe', os.O_WRONLY | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.mkfifo('began')
    process = start('-q', '-s', f'{FAILING_SOURCE}.one:samples=10', '-s', f'{FAILING_SOURCE}.two', '-k',
                    'csv:rows=events,output=pipe', '-k', 'csv.whole:rows=events,output=whole', '-k',
                    f'{FAILING_SINK}:output=half', 'sh', '-c', 'echo > began; exec sleep 1000')
    read('began')
    process.send_signal(signal.SIGINT)
    # It has taken the first one when it waits for its sinks: every file but the stuck one has its name then.
    wait_until(lambda: os.path.exists('whole') and os.path.exists('half'), 'the files of the sinks that are not stuck')
    equal(process.poll(), None, 'exit status while a sink is stuck')
    time.sleep(TOGETHER)
    process.send_signal(signal.SIGINT)
    outcome = end(process)
    equal((outcome.status, outcome.err), (128 + signal.SIGINT, ''), 'status and standard error')
    outcome.leaves('half', 'whole')
    os.close(reader)
    os.close(writer)


@case('a second Ctrl-C removes the file that is half written')
def second_interrupt_half_file():
    os.mkfifo('began')
    process = start('-s', FAILING_SOURCE, '-k', f'{FAILING_SINK}:in=stuck,output=half', '-k', 'folded:output=out',
                    'sh', '-c', 'echo > began; exec sleep 1000')
    read('began')
    process.send_signal(signal.SIGINT)
    wait_until(lambda: os.path.exists('out') and any(name.startswith('.half.') for name in os.listdir('.')),
               'the other sink\'s file and the temporary one')
    time.sleep(TOGETHER)
    process.send_signal(signal.SIGINT)
    outcome = end(process)
    equal((outcome.status, outcome.err.splitlines()[-1]),
          (128 + signal.SIGINT, 'iaprof: second signal: stopped at once, unfinished outputs are removed'),
          'status and last line')
    outcome.leaves('out')


@case('a run with -p ends when all of its processes have ended')
def targets_end():
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(subprocess.Popen(['sleep', '1000'])) for _ in range(2)]
        process = start(*ENDLESS, '-p', f'{targets[0].pid},{targets[1].pid}', '--record', 'run')
        wait_until(lambda: os.path.exists('run'), 'the beginning of the run')
        targets[0].kill()
        targets[0].wait()
        require(process.poll() is None, 'ended while a process of -p was running')
        targets[1].kill()
        targets[1].wait()
        end(process).completes('^iaprof: all profiled processes have ended$').leaves('out', 'run')


@case('a command decides when a run with -p ends')
def command_outlives_target():
    os.mkfifo('began')
    os.mkfifo('go')
    with subprocess.Popen(['sleep', '1000']) as target:
        process = start('-q', *ENDLESS, '-p', str(target.pid), 'sh', '-c', 'echo > began; read line < go')
        read('began')
        target.kill()
        target.wait()
        with open('go', 'w', encoding='ascii') as go:
            go.write('\n')
        end(process).completes().leaves('out')


if __name__ == '__main__':
    main()
