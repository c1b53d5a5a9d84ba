#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the core does for sources besides records: the command's environment, and files that are mapped as code."""
import contextlib
import csv
import os
import shutil
import subprocess

from harness import FAILED, OWN_FAILURE, PLUGINS, case, end, equal, iaprof, main, needs_sampling, require, start

SOURCE = os.path.join(PLUGINS, 'iaprof-watching-source.so')
EVENTS = ['-k', 'csv:rows=events,output=out']


def mapped_files(name='out'):
    """-> [(pid, path)] of the mapped files that were reported to the source."""
    with open(name, encoding='utf-8', newline='') as file:
        rows = [row['text'].split(' ', 1) for row in csv.DictReader(file) if row['name'] == 'mapped file']
    return [(int(pid), path) for pid, path in rows]


def pids_with(path):
    return [pid for pid, mapped_path in mapped_files() if mapped_path == path]


@contextlib.contextmanager
def running(program):
    process = subprocess.Popen([program, '1000'])  # pylint: disable=consider-using-with
    try:
        yield process.pid  # the run's command ends it: no child may be left
    finally:
        process.kill()
        process.wait()


def copy_of_sleep(path):
    shutil.copy(shutil.which('sleep'), path)
    return os.path.realpath(path)


@case('a variable of the command is set; iaprof\'s other variables are the command\'s', needs=[needs_sampling])
def variable_is_set():
    outcome = iaprof('-q', '-s', f'{SOURCE}:name=ADDED,value=a value', *EVENTS, 'sh', '-c', 'echo "$ADDED|$KEPT"',
                     env={**os.environ, 'ADDED': 'before', 'KEPT': 'kept'})
    equal(outcome.out, 'a value|kept\n', 'what the command sees')


@case('a list of paths is prepended to what was there, and to what was prepended', needs=[needs_sampling])
def path_is_prepended():
    for before, after in ('/old', 'first:second:/old'), ('', 'first:second'), (None, 'first:second'):
        environment = {key: value for key, value in os.environ.items() if key != 'LIST'}
        if before is not None:
            environment['LIST'] = before
        outcome = iaprof('-q', '-s', f'{SOURCE}:path-name=LIST,path-value=first', *EVENTS, 'sh', '-c', 'echo "$LIST"',
                         env=environment)
        equal(outcome.out, f'{after}\n', f'LIST that was {before}')


@case('a change that is too large is refused, and so is one without a command', needs=[needs_sampling])
def refused():
    iaprof('-q', '-s', f'{SOURCE}:name=LARGE,value={"x" * 60000}', *EVENTS, 'echo', 'ran').fails(
        OWN_FAILURE, 'environment: Argument list too long')
    iaprof('-q', '-s', f'{SOURCE}:name=A,value=b', *EVENTS, '-d', '1ms').fails(
        FAILED, 'environment: No such file or directory')


@case('files are reported once: those mapped before the run, and those mapped during it', needs=[needs_sampling])
def files_are_reported():
    earlier, later = copy_of_sleep('earlier'), copy_of_sleep('later')
    with running(earlier) as first, running(earlier) as second:
        # The second round of the later one comes after more than a second: read again, and still reported once.
        iaprof('-q', '-s', f'{SOURCE}:watch=yes', *EVENTS, 'sh', '-c', 
               f'for i in 1 2 3; do ./later 0.6; done; kill {first} {second}')
    equal(len(pids_with(earlier)), 1, 'how often the earlier file was reported')
    require(pids_with(earlier)[0] in (first, second), 'its process')
    equal(len(pids_with(later)), 1, 'how often the later file was reported')
    require(any(path.startswith('/') and 'libc.so' in path for _, path in mapped_files()), 'the C library is reported')


@case('a file that was rewritten in place is reported again', needs=[needs_sampling])
def rewritten():
    program = copy_of_sleep('written')
    inode = os.stat(program).st_ino
    iaprof('-q', '-s', f'{SOURCE}:watch=yes', *EVENTS, 'sh', '-c',
           f'./written 3; cat "{shutil.which("sleep")}" >written; ./written 3')
    equal(os.stat(program).st_ino, inode, 'its inode')
    equal(len(pids_with(program)), 2, 'how often it was reported')


@case('another file of the same content and path, in another mount namespace, is reported, too',
      needs=[needs_sampling])
def other_namespace():
    inner = os.path.join(os.getcwd(), 'inner')
    os.mkdir('inner')
    program = copy_of_sleep('inner/program')
    # A file system of its own over the folder, with a copy of the program: same path, same build id, other file.
    script = (f'"{program}" 0.3; cp "{program}" copy; unshare -m sh -c \'mount -t tmpfs none "{inner}" && '
              f'cp copy "{program}" && "{program}" 0.3\'')
    process = start('-s', f'{SOURCE}:watch=yes', *EVENTS, 'sh', '-c', script)
    end(process).completes()
    equal(len(pids_with(program)), 2, 'how often the path was reported')


@case('only files of the chosen process are reported with -p', needs=[needs_sampling])
def only_targets():
    mine, other = copy_of_sleep('mine'), copy_of_sleep('other')
    with running(mine) as target, running(other) as bystander:
        iaprof('-q', '-s', f'{SOURCE}:watch=yes', *EVENTS, '-p', str(target), 'sh', '-c',
               f'sleep 0.3; kill {target} {bystander}')
    equal(pids_with(mine), [target], 'the target\'s program')
    equal(pids_with(other), [], 'the other program')


if __name__ == '__main__':
    main()
