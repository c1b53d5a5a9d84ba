#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profiled command and the end of a run: its status is reported, iaprof's is its own, and Ctrl-C ends both."""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import time

from harness import (COMPLETE, FAILED, FAILING_SINK, FAILING_SOURCE, TIMEOUT, Skip, case, end, equal, iaprof, main,
                     no_children_left, read, require, start, wait_until, write)

IGNORING_INTERRUPTS = ['sh', '-c', 'trap "" INT; exec "$@"', 'sh']
# A source that goes on until it is stopped, for runs whose end is another one's.
ENDLESS = ['-s', FAILING_SOURCE, '-o', 'out']
# The same signal is another one after this time, in s.
TOGETHER = 0.3


@case('a command that succeeds is not spoken of')
def succeeds():
    outcome = iaprof(*ENDLESS, 'true').completes()
    require('true' not in outcome.err, f'standard error: {outcome.err}')
    outcome.leaves('out')


@case('a command with a status: it is reported, iaprof has its own')
def status():
    iaprof(*ENDLESS, 'sh', '-c', 'exit 7').completes('^iaprof: .*sh ended with status 7$').leaves('out')


@case('a command that dies by a signal: it is reported')
def dies():
    iaprof(*ENDLESS, 'sh', '-c', 'kill -SEGV $$').completes(
        r'^iaprof: .*sh was killed by SIGSEGV$').leaves('out')


@case('a command that dies by a signal, and -q: not even that')
def quiet():
    outcome = iaprof('-q', *ENDLESS, 'sh', '-c', 'kill -9 $$')
    equal((outcome.status, outcome.err), (COMPLETE, ''), 'status and standard error')


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
    iaprof('-q', *ENDLESS, './script').fails(FAILED, r'command \./script: No such file or directory')


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
        iaprof('-q', *ENDLESS, './leased').fails(FAILED, r'command \./leased: not started within 10 s')
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
        equal((outcome.status, outcome.out, outcome.err), (COMPLETE, '', ''), 'status and output')
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
    end(process).completes().leaves('out')


@case('the same signal twice at a time is one, as timeout(1) sends it')
def together():
    os.mkfifo('began')
    process = start('-s', FAILING_SOURCE, '-o', 'out', 'sh', '-c', 'echo > began; exec sleep 1000')
    read('began')
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
    end(process).completes().leaves('out')


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
    equal((outcome.status, outcome.err),
          (128 + signal.SIGINT, 'iaprof: second signal: stopped at once, unfinished outputs are removed\n'),
          'status and standard error')
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
