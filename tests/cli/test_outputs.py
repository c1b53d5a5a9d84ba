#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where outputs go: who may read a file, names of other users, and readers that are not there or have stopped."""
import array
import contextlib
import csv
import fcntl
import gzip
import json
import os
import pty
import re
import signal
import socket
import stat
import termios
import time
import xml.etree.ElementTree

from harness import (CAPTURE, COMPLETE, FAILED, FAILING_SOURCE, PLUGINS, USAGE, Failure, case, end, equal, iaprof, main,
                     needs_root, read, require, start, wait_until, write)

OTHER_USER = 65534
KNOWN_SOURCE = os.path.join(PLUGINS, 'iaprof-known-source.so')
SAMPLES = ['-q', '-s', f'{FAILING_SOURCE}:samples=3']
# More than a pipe, a socket or a terminal holds.
MANY = ['-q', '-s', f'{FAILING_SOURCE}:samples=50000', '-k', 'csv:rows=events']
STOPPED = 'its reader does not read'


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


for umask in 0o022, 0o027, 0o002:
    @case(f'captures and events are for their owner, others follow umask {umask:03o}', umask)
    def modes(umask):
        before = os.umask(umask)
        try:
            iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=3', '--record', 'run').completes()
            iaprof('-q', '--replay', CAPTURE, '-k', 'csv:rows=events,output=events', '-k',
                   'csv.stacks:output=stacks', '-k', 'folded:output=folded', '-k', 'perfetto:output=trace', '-k',
                   'pprof:output=pprof').completes()
        finally:
            os.umask(before)
        for private in 'run', 'events':
            equal(mode(private), 0o600, f'mode of {private}')
        for public in 'stacks', 'folded', 'trace', 'pprof':
            equal(mode(public), 0o666 & ~umask, f'mode of {public}')


@case('a capture that takes the place of a file that all may read is for its owner')
def mode_of_replaced():
    write('run', 'earlier', 0o644)
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=3', '--record', 'run').completes()
    equal(mode('run'), 0o600, 'mode')


def unpacked(path):
    with gzip.open(path) as file:
        return file.read()


FOLDED = 'program;one 3\nprogram;two 4\n'
# Whether a file has the format that its name states, as a program that reads the format finds it.
FORMATS = {
    'a.html': lambda path: read(path).lower().startswith('<!doctype html>'),
    'a.svg': lambda path: xml.etree.ElementTree.parse(path).getroot().tag == '{http://www.w3.org/2000/svg}svg',
    'a.json': lambda path: 'functions' in json.loads(read(path)) or 'kernels' in json.loads(read(path)),
    'a.speedscope.json': lambda path: 'speedscope' in json.loads(read(path))['$schema'],
    'a.firefox.json.gz': lambda path: 'threads' in json.loads(unpacked(path)),
    'a.pb.gz': lambda path: unpacked(path).startswith(b'\x0a'),  # sample_type, the first field of a Profile
    'a.folded': lambda path: read(path) == FOLDED,
    'a.csv': lambda path: len({len(row) for row in csv.reader(read(path).splitlines()) if row and row[0][0] != '#'}) == 1,
    'a.pftrace': lambda path: read(path).startswith('\n'),  # packet, the only field of a Trace
    'a.perfetto-trace': lambda path: read(path).startswith('\n'),
    'a.txt': lambda path: read(path) == FOLDED,
    'a': lambda path: read(path) == FOLDED,
}
for name, has_format in FORMATS.items():
    @case(f'the name of an output states its format: {name}', name, has_format)
    def named_format(name, has_format):
        write('in', FOLDED)
        iaprof('--replay', 'in', '-o', name).completes(rf'^iaprof: wrote {re.escape(name)}$').leaves(name)
        require(has_format(name), f'another format: {read(name)[:200]!r}')
        # Standard output has no name.
        equal([iaprof('-q', '--replay', 'in', *to).out for to in ((), ('-o', '-'))], [FOLDED, FOLDED], 'standard output')


@case('the name of an output states its format: a capture, which can be replayed')
def named_capture():
    write('in', FOLDED)
    iaprof('-q', '--replay', 'in', '-o', 'again.iaprof').completes().leaves('again.iaprof')
    equal(iaprof('-q', '--replay', 'again.iaprof').out, FOLDED, 'its profile')


@case('an output whose name and sink contradict each other is an error, and nothing is written')
def contradicting_name():
    for arguments in ['-k', 'pprof', '-o', 'a.html'], ['-k', 'folded:output=a.svg'], ['--record', 'a.csv'], \
            ['-k', 'flamegraph:format=svg', '-o', 'a.html']:
        iaprof('--replay', CAPTURE, *arguments).fails(USAGE, r'does not write \.(html|svg|csv) files: a\.')


@case('a FIFO without a reader')
def no_reader():
    os.mkfifo('pipe')
    iaprof('--replay', CAPTURE, '-o', 'pipe').fails(USAGE, 'output pipe: no reader has opened this FIFO')


@case('a FIFO with a reader gets what a file gets')
def with_reader():
    os.mkfifo('pipe')
    iaprof(*SAMPLES, '-o', 'file').completes()
    reader = os.open('pipe', os.O_RDONLY | os.O_NONBLOCK)
    os.symlink('pipe', 'link')
    iaprof(*SAMPLES, '-o', 'link').completes()
    equal(os.read(reader, 1 << 16).decode(), read('file'), 'what the reader got')
    os.close(reader)


@case('--check leaves the reader of a FIFO alone')
def check_of_fifo():
    os.mkfifo('pipe')
    iaprof('--check', '-s', f'replay:file={CAPTURE}', '-k', 'folded:output=pipe').completes()


def waiting_bytes(reader):
    count = array.array('i', [0])
    fcntl.ioctl(reader, termios.FIONREAD, count)
    return count[0]


def full(name):
    """Ends of something whose reader reads nothing: what the program writes to, and what stays here."""
    if name == 'pipe':
        reader, writer = os.pipe()
    elif name == 'socket':
        ends = socket.socketpair()
        reader, writer = (end.detach() for end in ends)
    else:
        reader, writer = pty.openpty()
    return reader, writer


for kind in 'pipe', 'socket', 'terminal':
    @case(f'standard output is a {kind} whose reader reads nothing', kind)
    def reader_stops(kind):
        reader, writer = full(kind)
        flags = fcntl.fcntl(writer, fcntl.F_GETFL)
        process = start(*MANY, stdout=writer)
        end(process).fails(FAILED, f'sink csv: cannot write to standard output: {STOPPED}')
        equal(fcntl.fcntl(writer, fcntl.F_GETFL), flags, 'flags of an open file that others have, too')
        os.close(reader)
        os.close(writer)


@case('a pipe of another user whose reader reads nothing', needs=[needs_root])
def reader_of_other_user_stops():
    # It cannot be opened again for non-blocking writes.
    os.chmod('.', 0o777)
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=50000', '--record', 'run').completes()
    os.chown('run', OTHER_USER, OTHER_USER)
    reader, writer = os.pipe()
    process = start('-q', '--replay', 'run', '-k', 'csv:rows=events', stdout=writer,
                    wrap=['setpriv', f'--reuid={OTHER_USER}', f'--regid={OTHER_USER}', '--clear-groups'])
    wait_until(lambda: waiting_bytes(reader) >= 32768, 'a full pipe')
    process.send_signal(signal.SIGINT)
    end(process).fails(FAILED, f'sink csv: cannot write to standard output: {STOPPED}')
    os.close(reader)
    os.close(writer)


@case('a FIFO whose reader reads nothing')
def reader_of_fifo_stops():
    os.mkfifo('pipe')
    reader = os.open('pipe', os.O_RDONLY | os.O_NONBLOCK)
    iaprof(*MANY[:-1], 'csv:rows=events,output=pipe').fails(FAILED, f'sink csv: cannot write to pipe: {STOPPED}')
    os.close(reader)


@case('other sinks are complete when a reader stops')
def others_are_complete():
    reader, writer = os.pipe()
    outcome = end(start(*MANY, '-k', 'csv.file:rows=events,output=file', stdout=writer))
    outcome.fails(FAILED, f'sink csv: cannot write to standard output: {STOPPED}', left=['file'])
    equal(sum(',sample,' in line for line in read('file').splitlines()), 50000, 'samples in the file')
    os.close(reader)
    os.close(writer)


@case('a replay waits for its reader, until it is interrupted')
def interrupted():
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=50000', '--record', 'run').completes()
    reader, writer = os.pipe()
    process = start('-q', '--replay', 'run', '-k', 'csv:rows=events', stdout=writer)
    os.close(writer)

    wait_until(lambda: waiting_bytes(reader) >= 32768, 'a full pipe')
    process.send_signal(signal.SIGINT)
    end(process).fails(FAILED, STOPPED)
    os.close(reader)


for name in 'block device', 'symbolic link to a block device':
    @case(f'{name} is never written', name, needs=[needs_root])
    def block_device(name):
        try:
            os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(7, 4000))
        except PermissionError as error:
            raise Failure(str(error)) from None
        os.symlink('disk', 'link')
        iaprof('--replay', CAPTURE, '-o', 'disk' if name == 'block device' else 'link').fails(USAGE, 'a block device')


def other_user_makes(kind, path, target='/dev/null'):
    if kind == 'link':
        os.symlink(target, path)
    else:
        os.mkfifo(path)
    os.chown(path, OTHER_USER, OTHER_USER, follow_symlinks=False)


@case('a symbolic link of another user in a sticky folder', needs=[needs_root])
def link_in_sticky_folder():
    os.mkdir('sticky')
    os.chmod('sticky', 0o1777)
    os.mkdir('target')
    write('target/file', 'there')
    for target, path in (('/dev/null', 'sticky/out'), (os.path.abspath('target/file'), 'sticky/out'),
                         (os.path.abspath('target'), 'sticky/out/file')):
        other_user_makes('link', 'sticky/out', target)
        iaprof('--replay', CAPTURE, '-o', path).fails(USAGE, 'a symbolic link of another user in a world-writable folder')
        os.unlink('sticky/out')
    equal(read('target/file'), 'there', 'what the link led to')


@case('a symbolic link of another user to a device, in a folder of that user', needs=[needs_root])
def link_to_device():
    os.mkdir('home')
    other_user_makes('link', 'home/out')
    iaprof('--replay', CAPTURE, '-o', 'home/out').fails(USAGE, 'a symbolic link of another user to a device')
    # The folder's name can be the one that misleads.
    other_user_makes('link', 'home/folder', '/dev')
    iaprof('--replay', CAPTURE, '-o', 'home/folder/full').fails(USAGE, 'a symbolic link of another user')


@case('a FIFO of another user', needs=[needs_root])
def fifo_of_other_user():
    other_user_makes('fifo', 'pipe')
    reader = os.open('pipe', os.O_RDONLY | os.O_NONBLOCK)
    iaprof('--replay', CAPTURE, '-o', 'pipe').fails(USAGE, 'a device, FIFO or socket of another user')
    os.close(reader)


@case('the FIFO of the user who ran sudo', needs=[needs_root])
def fifo_of_sudo_user():
    other_user_makes('fifo', 'pipe')
    reader = os.open('pipe', os.O_RDONLY | os.O_NONBLOCK)
    environment = {**os.environ, 'SUDO_UID': str(OTHER_USER)}
    iaprof(*SAMPLES, '-o', 'pipe', env=environment).completes()
    require(os.read(reader, 1 << 16), 'nothing in the FIFO')
    os.close(reader)


for name in '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1':
    @case(f'{name} is standard output, also where that is a file', name)
    def standard_output_by_name(name):
        iaprof(*SAMPLES, '-o', 'file').completes()
        devices = os.listdir('/dev')
        with open('all', 'wb') as out:
            out.write(b'before\n')
            out.flush()
            equal(end(start(*SAMPLES, '-o', name, stdout=out)).status, COMPLETE, 'exit status')
        equal(read('all'), 'before\n' + read('file'), 'standard output')
        equal(iaprof(*SAMPLES, '-o', name).out, read('file'), 'standard output')
        equal(sorted(os.listdir('/dev')), sorted(devices), 'files in /dev')


@case('a descriptor that the caller opened')
def inherited():
    iaprof(*SAMPLES, '-o', 'file').completes()
    reader, writer = os.pipe()
    process = start(*SAMPLES, '-o', f'/dev/fd/{writer}', pass_fds=[writer])
    end(process).completes()
    equal(os.read(reader, 1 << 16).decode(), read('file'), 'what the reader got')
    os.close(reader)
    os.close(writer)


@case('a link that leads nowhere is replaced by the file')
def dangling():
    os.symlink('none/file', 'link')
    iaprof(*SAMPLES, '-o', 'link').completes()
    require(not os.path.islink('link') and read('link'), 'the link is still there')


def fill(write_end):
    os.set_blocking(write_end, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write_end, bytes(4096))
    os.set_blocking(write_end, True)


def without_room(kind):
    """Both ends of what has no room; nobody reads."""
    read_end, write_end = os.pipe() if kind == 'pipe' else (end.detach() for end in socket.socketpair())
    fill(write_end)
    return read_end, write_end


@case('a run ends although nobody reads its messages: a pipe', 'pipe')
@case('a run ends although nobody reads its messages: a socket', 'socket')
def unread_messages(kind):
    read_end, write_end = without_room(kind)
    process = start('-d', '1', '-s', f'{KNOWN_SOURCE}:talkative=yes', '-k', 'csv:output=out', stderr=write_end)
    equal(process.wait(), COMPLETE, 'exit status')
    require(os.path.exists('out'), 'there is no profile')
    os.close(read_end)
    os.close(write_end)


def first_message(pipe):
    """The first line behind what filled a pipe."""
    while pipe.peek(1).startswith(b'\0'):
        pipe.read(1)
    return pipe.readline()


@case('messages that nobody read in time are counted')
def counted_messages():
    read_end, write_end = without_room('pipe')
    process = start('-s', f'{KNOWN_SOURCE}:talkative=yes', '-k', 'csv:output=out', stderr=write_end)
    with open(read_end, 'rb') as pipe:
        while not (line := first_message(pipe)).startswith(b'iaprof: warning: dropped'):
            fill(write_end)  # it had nothing to say yet
            time.sleep(0.2)
        os.close(write_end)
        process.send_signal(signal.SIGINT)
        rest = pipe.read().decode()
    equal(process.wait(), COMPLETE, 'exit status')
    require(re.fullmatch(rb'iaprof: warning: dropped [1-9][0-9]* messages? \(standard error was blocked\)\n', line),
            f'the number of dropped messages does not come first: {line}')
    summary, wrote = rest.splitlines()[-2:]
    require(' samples in ' in summary and wrote == 'iaprof: wrote out', 'the summary is not the last but one')


if __name__ == '__main__':
    os.environ.pop('SUDO_UID', None)
    main()
