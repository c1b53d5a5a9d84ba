#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Outputs that cannot be written: one line, status 1 (2 when it is known before the start), and no half of a file."""
import os

from harness import (CAPTURE, COMPLETE, FAILED, FAILING_SOURCE, OWN_FAILURE, USAGE, Skip, case, equal, iaprof, main,
                     needs_root, own_mounts, read, require, small_disk, start, end, write)

SAMPLES = ['-q', '-s', f'{FAILING_SOURCE}:samples=3']
NO_SPACE = 'No space left on device'
SINKS = {'folded': ['-k', 'folded:output={}'], 'csv': ['-k', 'csv:output={}'],
         'csv of events': ['-k', 'csv:rows=events,output={}'], 'flamegraph': ['-k', 'flamegraph:output={}'],
         'picture': ['-k', 'flamegraph:format=svg,output={}'], 'pprof': ['-k', 'pprof:output={}'],
         'firefox': ['-k', 'firefox:output={}'], 'speedscope': ['-k', 'speedscope:output={}'], 'iaprof': ['-k', 'iaprof:output={}'],
         'perfetto': ['-k', 'perfetto:output={}'], 'top': ['-k', 'top:batch=yes,output={}'],
         'capture': ['--record', '{}']}


def sink_arguments(sink, path):
    return [argument.format(path) for argument in SINKS[sink]]


for sink in SINKS:
    @case(f'{sink}: folder that is not there', sink)
    def no_folder(sink):
        iaprof(*SAMPLES, *sink_arguments(sink, 'none/out')).fails(USAGE, 'output none/out: folder none: No such file')

    @case(f'{sink}: file for a folder', sink)
    def file_for_folder(sink):
        write('file', '')
        iaprof(*SAMPLES, *sink_arguments(sink, 'file/out')).fails(USAGE, 'output file/out: file is not a folder')

    @case(f'{sink}: the output is a folder', sink)
    def output_is_folder(sink):
        os.mkdir('folder')
        for name in ('folder', 'folder/', '.', '/'):
            iaprof(*SAMPLES, *sink_arguments(sink, name)).fails(USAGE, 'is a folder \\(name a file in it\\)')

    @case(f'{sink}: no name', sink)
    def no_name(sink):
        iaprof(*SAMPLES, *sink_arguments(sink, '')).fails(USAGE, 'no file name|missing file name|no value')

    @case(f'{sink}: name too long', sink)
    def long_name(sink):
        iaprof(*SAMPLES, *sink_arguments(sink, 'x' * 256)).fails(FAILED, 'File name too long')

    @case(f'{sink}: folder on a disk that is read-only', sink, needs=[needs_root])
    def read_only(sink):
        with small_disk('disk', 'size=64k,ro'):
            iaprof(*SAMPLES, *sink_arguments(sink, 'disk/out')).fails(
                USAGE, 'output disk/out: cannot write in folder disk: Read-only file system')

    @case(f'{sink}: folder without permission', sink, needs=[needs_root])
    def no_permission(sink):
        os.mkdir('folder', 0o755)
        # Outside of the case's folder nothing of this user's can be seen, so the output is named from inside.
        iaprof('-q', '--replay', CAPTURE, *sink_arguments(sink, 'folder/out'),
               wrap=['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']).fails(
                   USAGE, 'output folder/out: cannot write in folder folder: Permission denied')

    @case(f'{sink}: disk full', sink, needs=[needs_root])
    def disk_full(sink):
        with small_disk('disk', 'size=64k'):
            with open('disk/filler', 'wb') as filler:
                filler.write(bytes(64 << 10))
            iaprof(*SAMPLES, *sink_arguments(sink, 'disk/out')).fails(FAILED, f'cannot write to disk/out: {NO_SPACE}')
            os.unlink('disk/filler')
            equal(os.listdir('disk'), [], 'what is left on the disk')

    @case(f'{sink}: disk without a place for another file', sink, needs=[needs_root])
    def no_inode(sink):
        with small_disk('disk', 'nr_inodes=1'):
            iaprof(*SAMPLES, *sink_arguments(sink, 'disk/out')).fails(
                FAILED, f'cannot create output disk/out: folder disk: {NO_SPACE}')

    @case(f'{sink}: the file of an earlier run stays when the disk is full', sink, needs=[needs_root])
    def earlier_stays(sink):
        with small_disk('disk', 'size=64k'):
            write('disk/out', 'earlier')
            with open('disk/filler', 'wb') as filler:
                filler.write(bytes(60 << 10))
            iaprof(*SAMPLES, *sink_arguments(sink, 'disk/out')).fails(FAILED, NO_SPACE)
            equal(read('disk/out'), 'earlier', 'the file of an earlier run')
            equal(sorted(os.listdir('disk')), ['filler', 'out'], 'what is on the disk')

    @case(f'{sink}: a device that is full', sink)
    def device_full(sink):
        iaprof(*SAMPLES, *sink_arguments(sink, '/dev/full')).fails(FAILED, f'cannot write to /dev/full: {NO_SPACE}')

    @case(f'{sink}: standard output is full', sink)
    def standard_output_full(sink):
        with open('/dev/full', 'wb') as full:
            iaprof(*SAMPLES, *sink_arguments(sink, '-'), stdout=full).fails(
                FAILED, f'cannot write to standard output: {NO_SPACE}')

    @case(f'{sink}: standard output has lost its reader', sink)
    def reader_gone(sink):
        reader, writer = os.pipe()
        os.close(reader)
        process = start(*SAMPLES, *sink_arguments(sink, '-'), stdout=writer)
        os.close(writer)
        end(process).fails(FAILED, 'cannot write to standard output: Broken pipe')

    @case(f'{sink}: standard output is closed', sink)
    def standard_output_closed(sink):
        # What is opened first must not take its place and get the profile.
        outcome = iaprof(*SAMPLES, *sink_arguments(sink, '-'), wrap=['sh', '-c', 'exec "$@" >&-', 'sh'])
        outcome.fails(FAILED, 'standard output: Bad file descriptor')

    @case(f'{sink}: a file with standard output, input and error closed', sink)
    def all_closed(sink):
        iaprof(*SAMPLES, '--record', 'run').completes()
        outcome = iaprof('--replay', 'run', *sink_arguments(sink, 'out'),
                         wrap=['sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh'])
        equal(outcome.status, COMPLETE, 'exit status')
        outcome.leaves('out')
        iaprof('--replay', 'run', *sink_arguments(sink, 'again')).completes()
        require(read('out') == read('again'), 'the output is another one')


@case('a long profile and a reader that takes one line')
def head():
    reader, writer = os.pipe()
    process = start('-q', '-s', f'{FAILING_SOURCE}:samples=200000', '-k', 'csv:rows=events', stdout=writer)
    os.close(writer)
    os.read(reader, 100)
    os.close(reader)
    end(process).fails(FAILED, 'sink csv: cannot write to standard output: Broken pipe')


@case('the disk gets full in the middle of a file', needs=[needs_root])
def full_in_the_middle():
    with small_disk('disk', 'size=256k'):
        iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=50000', '-k', 'csv:rows=events,output=disk/out').fails(
            FAILED, f'sink csv: cannot write to disk/out: {NO_SPACE}')


@case('a file that may not grow')
def file_size_limit():
    limited = ['sh', '-c', 'trap "" XFSZ; ulimit -f 64; exec "$@"', 'sh']
    outcome = iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=50000,isolate=no', '-k', 'csv:rows=events,output=out',
                     wrap=limited)
    outcome.fails(FAILED, 'cannot write to out: File too large')
    # The memory that iaprof shares with the process of a plugin is a file, too.
    iaprof('-q', '-s', FAILING_SOURCE, '-k', 'csv:output=out', wrap=limited).fails(
        USAGE, 'cannot start a process for the plugin: File too large', 'ulimit -f')


@case('the folder goes away while the run goes on')
def folder_goes():
    os.mkdir('folder')
    iaprof(*SAMPLES[:1], '-s', f'{FAILING_SOURCE}', '-k', 'folded:output=folder/out', 'rmdir', 'folder').fails(
        OWN_FAILURE, 'folder/out', 'No such file')


for arguments in (['--version'], ['--help'], ['--help', 'folded'], ['--list'],
                  ['--check', '-s', f'replay:file={CAPTURE}']):
    @case(f'{arguments[0]} {" ".join(arguments[1:2])}: standard output is full, or closed', arguments)
    def print_fails(arguments):
        with open('/dev/full', 'wb') as full:
            iaprof(*arguments, stdout=full).fails(FAILED, f'standard output: {NO_SPACE}')
        iaprof(*arguments, wrap=['sh', '-c', 'exec "$@" >&-', 'sh']).fails(FAILED, 'standard output: Bad file')


if __name__ == '__main__':
    try:
        own_mounts()
    except Skip:
        pass  # the cases that mount find out for themselves
    main()
