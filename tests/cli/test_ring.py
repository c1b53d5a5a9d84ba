#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Continuous runs and their ring on disk: what it has, what bounds it, and what it survives."""
import collections
import csv
import ctypes
import gzip
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile

from harness import (COMPLETE, FAILED, PLUGINS, PROGRAM, TIMEOUT, USAGE, case, children, end, equal, iaprof, library,
                     main, needs_root, own_mounts, require, small_disk, start, wait_until, write)

KNOWN = os.path.join(PLUGINS, 'iaprof-known-source.so')
DEVICE_SOURCE = os.path.join(PLUGINS, 'iaprof-device-source.so')
# A run that takes the place of another one forks the process of this source while threads run, and that has threads,
# which ThreadSanitizer does not support.
SHARED = os.environ['TEST_SANITIZERS'] == 'thread'
# Of a turn of the source: samples, or stalls, by program or kernel.
TURN = {('cpu', 'hot'): 30, ('cpu', 'warm'): 10, ('gpu-stalls', 'matmul'): 6, ('gpu-stalls', 'softmax'): 4}
SEGMENT = re.compile(r'\d{8}T\d{6}\.\d{9}Z-\d+\.iaprof')


def segments(folder='kept'):
    return sorted(name for name in os.listdir(folder) if SEGMENT.fullmatch(name)) if os.path.isdir(folder) else []


def begin(*arguments, folder='kept', interval='200ms', keys='', **options):
    return start('--continuous', '-i', interval, '-s', f'{KNOWN}:isolate=no' if SHARED else KNOWN, '--hold', '20ms',
                 '-k', f'ring:folder={folder}{keys}', *arguments, **options)


def recorded(count, *arguments, **options):
    """Adds at least so many segments to a ring, with a run that ends as it should."""
    before = set(segments())
    process = begin(*arguments, **options)
    wait_until(lambda: len(set(segments()) - before) >= count, 'segments')
    process.send_signal(signal.SIGINT)
    outcome = end(process)
    equal(outcome.status, COMPLETE, f'exit status: {outcome.err}')
    return outcome


def counts(path):
    """(value type, name) -> samples, or stalls, of a CSV file, all intervals together."""
    found = collections.Counter()
    with open(path, encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            for key in TURN:
                if row['value_type'] == key[0] and re.search(rf'(^|;){key[1]}(_\[\w\])?(;|$)', row['stack']):
                    found[key] += int(row['value']) // (1000000 if key[0] == 'cpu' else 1)
            if row['stack'].startswith('[lost]'):
                found['lost'] += int(row['value'])
    return found


def replayed(spec):
    """What a replay has; beside other runs, too."""
    result = subprocess.run([PROGRAM, '--replay', spec, '-k', 'csv:output=replayed.csv,newline=lf,escape=no'],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    equal(result.returncode, COMPLETE, f'exit status: {result.stderr.decode()}')
    found = counts('replayed.csv')
    os.unlink('replayed.csv')
    return found


def turns(found):
    """How many turns of the source are in what was found: its shares are exact, but for what was on its way."""
    number = found['cpu', 'hot'] / 30
    for key, count in TURN.items():
        require(abs(found[key] / count - number) <= 2, f'{key}: {found[key]}, in {number} turns')
    return number


def time_of(name):
    """The beginning of a segment, as --replay takes it."""
    date = re.sub(r'(....)(..)(..)T(..)(..)(..)\..*', r'\1-\2-\3T\4:\5:\6', name)
    require(date != name, name)
    return f'{date}Z'


@case('a ring has every sample of its run, as the other sinks do')
def ring_is_complete():
    outcome = recorded(4, '-k', 'csv:output=run.csv,newline=lf,escape=no')
    written, found = counts('run.csv'), replayed('kept')
    equal(found, written, 'replayed')
    require(turns(found) > 4, f'{found}')
    lost = int(re.search(r'lost: known-source: known loss: (\d+)', outcome.err)[1])
    again = iaprof('--replay', 'kept', '-o', 'again.folded')
    equal(int(re.search(r'known loss: (\d+)', again.err)[1]), lost, 'known loss')


@case('samples that waited for the end of the run are in the ring, even if an interval ended at the same time')
def ends_with_an_interval():
    # Intervals are so short that the last SYNC ends one, and the samples are held until the run ends.
    outcome = end(start('--continuous', '-i', '1ms', '-s', f'{DEVICE_SOURCE}:samples=20', '--hold', '2s',
                        '-k', 'ring:folder=kept'))
    equal(outcome.status, COMPLETE, outcome.err)
    iaprof('--replay', 'kept', '-k', 'csv:output=all.csv,newline=lf,escape=no').completes('replayed')
    with open('all.csv', encoding='utf-8', newline='') as file:
        found = sum(int(row['count']) for row in csv.DictReader(file) if row['value_type'] == 'gpu-stalls')
    equal(found, sum(range(1, 21)), 'samples in the ring')


@case('files of a ring are for their owner, and are whole captures')
def modes():
    recorded(2)
    equal(stat.S_IMODE(os.stat('kept').st_mode), 0o700, 'folder')
    for name in os.listdir('kept'):
        require(SEGMENT.fullmatch(name), f'foreign file {name}')
        equal(stat.S_IMODE(os.stat(f'kept/{name}').st_mode), 0o600, name)
    iaprof('--replay', f'kept/{segments()[0]}', '-o', 'one.folded').completes('replayed')


@case('a run that is killed leaves a ring with whatever was complete, and the next run goes on with it')
def killed():
    process = begin()
    wait_until(lambda: len(segments()) >= 3, 'segments')
    process.kill()
    end(process)
    kept = segments()
    write(f'kept/.partial-{kept[0]}', b'incomplete')
    write('kept/.partial-mine', b'incomplete')
    require(turns(replayed('kept')) > 1, 'no samples after a kill')
    recorded(2)
    equal(segments()[:len(kept)], kept, 'segments of the run that was killed')
    equal(sorted(name for name in os.listdir('kept') if name.startswith('.')), ['.partial-mine'], 'incomplete files')


@case('parts of a range add up to it, also while it is written')
def ranges():
    process = begin(interval='500ms')
    wait_until(lambda: len({time_of(name) for name in segments()}) > 2, 'three seconds')
    first = time_of(segments()[0])
    before = replayed(f'kept:{first}..now')
    require(turns(before) > 1, f'{before}')
    number = len(segments())
    wait_until(lambda: len(segments()) > number, 'one more segment')
    require(turns(replayed('kept:-1h..now')) > turns(before), 'a ring that grows')
    process.send_signal(signal.SIGINT)
    equal(end(process).status, COMPLETE, 'exit status')
    whole, parts = replayed('kept'), {name: replayed(f'kept/{name}') for name in segments()}
    equal(sum(parts.values(), collections.Counter()), whole, 'segments one by one')
    equal(replayed('kept:'), whole, 'a range without limits')
    # A segment in which a range ends is in it, the one that begins then is not.
    last = max(time_of(name) for name in parts)
    equal(replayed(f'kept:..{last}'), sum((found for name, found in parts.items() if time_of(name) < last),
                                          collections.Counter()), 'up to a second in which segments begin')


@case('--diff compares two ranges')
def difference():
    recorded(3, interval='500ms')
    names = segments()
    outcome = iaprof('--diff', f'kept/{names[0]}', 'kept:-1h..now', '-o', 'out.folded')
    outcome.completes(r'^iaprof: before, kept/', r'^iaprof: after, kept:-1h\.\.now:')
    with open('out.cpu.folded', encoding='utf-8') as file:
        columns = [line.rsplit(' ', 2) for line in file]
    before = sum(int(column[1]) for column in columns if 'hot' in column[0])
    after = sum(int(column[2]) for column in columns if 'hot' in column[0])
    require(0 < before < after, f'{before} before, {after} after')


@case('a ring is bounded by its size: the oldest segments go')
def size():
    process = begin(interval='20ms', keys=',size=64KiB')
    first = wait_until(segments, 'a segment')[0]

    def is_rotated():
        # The sum may be of segments that are removed meanwhile, never of more.
        sizes = [os.stat(f'kept/{name}').st_size for name in segments() if os.path.exists(f'kept/{name}')]
        require(sum(sizes) <= 65536 + max(sizes, default=0), f'{sum(sizes)} bytes')
        return first not in segments()
    try:
        wait_until(is_rotated, 'the end of the first segment')
    except FileNotFoundError:
        pass
    process.send_signal(signal.SIGINT)
    equal(end(process).status, COMPLETE, 'exit status')
    require(sum(os.stat(f'kept/{name}').st_size for name in segments()) <= 65536, 'too large')
    require(turns(replayed('kept')) > 0, 'nothing is left')


@case('a ring is bounded by its age, by the names of its segments')
def age():
    recorded(1)
    old = '20010101T000000.000000000Z-1000000000.iaprof'
    with open(f'kept/{segments()[0]}', 'rb') as file:
        write(f'kept/{old}', file.read())
    recorded(1)
    require(old not in segments(), f'{segments()}')


@case('foreign files, links and damage in the folder do no harm')
def hostile_folder():
    recorded(3)
    names = segments()
    whole = replayed('kept')
    victim = write('victim', 'precious')
    os.symlink('../victim', 'kept/20010101T000000.000000000Z-1000000000.iaprof')
    os.mkdir('kept/20010101T000001.000000000Z-1000000000.iaprof')
    os.mkfifo('kept/20010101T000002.000000000Z-1000000000.iaprof')
    write('kept/20010231T000002.000000000Z-1000000000.iaprof', 'no such day')
    write('kept/notes.txt', 'mine')
    foreign = set(os.listdir('kept')) - set(names)
    equal(replayed('kept'), whole, 'with foreign files')
    recorded(2)
    equal(foreign - set(os.listdir('kept')), set(), 'removed')
    with open(victim, encoding='utf-8') as file:
        equal(file.read(), 'precious', 'the target of a link')
    path = f'kept/{names[1]}'
    size_before = os.stat(path).st_size
    os.truncate(path, size_before // 2)
    outcome = iaprof('--replay', 'kept', '-o', 'out.folded')
    equal(outcome.status, FAILED, 'exit status with a damaged segment')
    require(names[1] in outcome.err and '1 of ' in outcome.err, outcome.err)


@case('one run writes to a ring at a time, and only to a folder that others cannot write to')
def folder_is_refused():
    process = begin()
    wait_until(segments, 'a segment')
    second = begin()
    _, err = second.communicate(timeout=TIMEOUT)
    equal(second.returncode, FAILED, 'exit status')
    require(b'in use by another iaprof' in err, err)
    process.send_signal(signal.SIGINT)
    equal(end(process).status, COMPLETE, 'exit status')
    os.mkdir('open')
    os.chmod('open', 0o777)
    outcome = end(begin(folder='open'))
    equal(outcome.status, FAILED, 'exit status')
    require('other users can write to it' in outcome.err, outcome.err)
    os.mkdir('target', 0o700)
    os.symlink('target', 'link')
    outcome = end(begin(folder='link'))
    equal(outcome.status, FAILED, 'exit status')
    equal(os.listdir('target'), [], 'files behind a link')


@case('the folder of a ring is created, but not the folders that contain it')
def parents():
    outcome = end(begin(folder='no/such/ring'))
    equal(outcome.status, FAILED, 'exit status')
    require('no/such/ring: No such file or directory' in outcome.err, outcome.err)
    require(not os.path.exists('no'), 'the parent was created')


@case('mistakes in the options of a ring are found before the run')
def wrong_options():
    os.mkdir('one')
    for sinks, pattern in ((['ring:folder='], r'sink ring: folder= is empty'),
                           (['ring:folder=a', 'ring.b:folder=a'],
                            r'sink ring\.b: sink ring of this run has the same folder: a \(set folder=\)'),
                           (['ring:folder=one', 'ring.b:folder=./one'], 'has the same folder: one'),
                           (['ring:folder=new', 'ring.b:folder=one/../new/'], 'has the same folder: new'),
                           (['ring', 'ring.b'], 'has the same folder: the default')):
        arguments = ['--continuous', '-s', KNOWN, *(word for sink in sinks for word in ('-k', sink))]
        for check in [], ['--check']:
            iaprof(*arguments, *check).fails(USAGE, pattern)
    iaprof('--check', '-s', KNOWN, '-k', 'ring:folder=one', '-k', 'ring.b:folder=one/one').completes()


@case('a full disk drops intervals, which are counted, and does not end the run', needs=[needs_root])
def full_disk():
    own_mounts()
    with small_disk('disk', 'size=16k,mode=700') as disk, tempfile.TemporaryFile() as err:
        process = begin(folder=disk, interval='50ms', stderr=err)

        def text():
            return os.pread(err.fileno(), 100000, 0).decode()
        wait_until(lambda: 'intervals are dropped' in text(), 'a full disk')
        for name in segments(disk):
            os.unlink(f'{disk}/{name}')
        wait_until(lambda: 'writing resumed' in text(), 'a disk with room')
        process.send_signal(signal.SIGINT)
        equal(end(process).status, FAILED, f'exit status: {text()}')
        dropped, every = map(int, re.search(r'disk: (\d+) of (\d+) intervals could not be written', text()).groups())
        require(0 < dropped < every, text())
        # The gap is part of the data.
        replay = iaprof('--replay', disk, '-k', 'folded:output=out', '-v')
        found = re.search(r'ring: intervals: not written: (\d+)', replay.err)
        require(found and int(found[1]) <= dropped, replay.err)


@case('a folder that was removed is made again', needs=[needs_root])
def removed_folder():
    process = begin(interval='50ms')
    wait_until(segments, 'a segment')
    os.rename('kept', 'removed')
    # Files may still be added.
    wait_until(lambda: shutil.rmtree('removed', ignore_errors=True) or not os.path.exists('removed'), 'its removal')
    wait_until(lambda: os.path.isdir('kept') and segments(), 'a segment in a folder of the same name')
    process.send_signal(signal.SIGINT)
    outcome = end(process)
    equal(outcome.status, COMPLETE, outcome.err)
    require('dropped' not in outcome.err, outcome.err)


@case('ranges without data, and what is no range, are errors that say so')
def errors():
    recorded(1)
    for spec, pattern in (('kept:-3h..-2h', r'no data in this range \(kept has 2.*\.\.2'),
                          ('kept:-1h..1h', "'1h' is not a time"), ('ring:13:00', 'is not a range of times')):
        outcome = iaprof('--replay', spec, '-o', 'out.folded')
        require(outcome.status != COMPLETE and re.search(pattern, outcome.err), f'{spec}: {outcome}')
    for spec, pattern in (('kept:2026-02-31..now', "'2026-02-31' is a date that does not exist"),
                          ('kept:..2027-02-29T13:00Z', "'2027-02-29T13:00Z' is a date that does not exist"),
                          ('kept:x..now', "'x' is not a time"), ('kept:now..-1h', 'ends before it begins'),
                          ('ring:-1h', 'is not a range of times'), ('ring2:-2m', r'\(use ring:FROM\.\.TO .* or FOLDER:'),
                          ('ring2:-2m..now', r'\(use ring:FROM\.\.TO'), ('ring2:', r'\(use ring:FROM\.\.TO')):
        iaprof('--replay', spec, '-o', 'out.folded').fails(USAGE, re.escape(spec), pattern)
        iaprof('--replay', spec, '--check').fails(USAGE, pattern)
    iaprof('--replay', 'kept:2028-02-29..', '-o', 'out.folded').fails(FAILED, 'no data in this range')
    iaprof('--replay', 'no:file.iaprof', '-o', 'out.folded').fails(USAGE, 'No such file or directory$')
    os.mkdir('empty')
    outcome = iaprof('--replay', 'empty', '-o', 'out.folded')
    require(outcome.status != COMPLETE and 'there is no segment' in outcome.err, outcome.err)


@case('the default folder is that of the service, and ring: reads it')
def default_folder():
    environment = {**os.environ, 'STATE_DIRECTORY': f'{os.getcwd()}/state'}
    process = start('--continuous', '-i', '200ms', '-s', KNOWN, env=environment)
    wait_until(lambda: segments('state/ring'), 'a segment')
    process.send_signal(signal.SIGINT)
    equal(end(process).status, COMPLETE, 'exit status')
    iaprof('--replay', 'ring:-1h..now', '-o', 'out.folded', env=environment).completes('replayed')


@case('SIGHUP reads the configuration again; one that is wrong changes nothing')
def reload():
    def configure(text):
        source = f'[source:{KNOWN}]\n{"isolate = no" if SHARED else ""}\n'
        write('run.ini', f'[iaprof]\ncontinuous = yes\ninterval = 200ms\nhold = 20ms\n{source}{text}')
    configure('[sink:ring]\nfolder = first\n')
    with tempfile.TemporaryFile() as err:
        process = start('-c', 'run.ini', stderr=err)

        def text():
            return os.pread(err.fileno(), 100000, 0).decode()
        wait_until(lambda: segments('first'), 'a segment')
        for wrong, pattern in (('[sink:ring]\nfolders = x\n', "unknown key 'folders'"),
                               ('[sink:folded]\n', 'sink folded writes the whole run'), ('[', 'run.ini')):
            configure(wrong)
            before = text()
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: 'SIGHUP: ' in text()[len(before):], 'a refusal')  # pylint: disable=cell-var-from-loop
            require(pattern in text()[len(before):], text())
        count = len(segments('first'))
        wait_until(lambda: len(segments('first')) > count, 'the earlier configuration')
        configure('[sink:ring]\nfolder = second\n')
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: segments('second'), 'a segment with the new configuration')
        wait_until(lambda: 'iaprof: SIGHUP: reloaded the configuration\n' in text(), 'a message')
        require(text().index('reloaded') > text().rindex('the run continues'), text())
        # Valid, but not possible: the folder belongs to nobody who could write to it.
        write('file', '')
        configure('[sink:ring]\nfolder = file/ring\n')
        before = text()
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: 'the run continues' in text()[len(before):], 'a configuration that does not start')
        count = len(segments('second'))
        wait_until(lambda: len(segments('second')) > count, 'the earlier configuration')
        # What another run has, it may have as well: that is seen only when the earlier run has ended.
        other = begin(folder='taken')
        wait_until(lambda: segments('taken'), 'a segment of another run')
        configure('[sink:ring]\nfolder = taken\n')
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: re.search(r'back to the earlier one\n(.*\n)*.* no samples for \d+\.\d{3} s\n', text()),
                   'the earlier configuration, which is restarted')
        count = len(segments('second'))
        wait_until(lambda: len(segments('second')) > count, 'the earlier configuration')
        process.send_signal(signal.SIGINT)
        other.send_signal(signal.SIGINT)
        for ending in process, other:
            equal(end(ending).status, COMPLETE, f'exit status: {text()}')
        equal(text().count('reloaded'), 1, f'successful reloads in {text()}')
    require(turns(replayed('first')) > 0 and turns(replayed('second')) > 0, 'no samples')
    outcome = iaprof('--replay', f"second/{segments('second')[-1]}", '-k', 'firefox', '-o', 'out.json.gz')
    outcome.completes('replayed')
    with gzip.open('out.json.gz', 'rt', encoding='utf-8') as file:
        require('gap before this run' in file.read(), 'the gap is not in the data')


@case('after SIGHUP, sinks go on where those of the run before wrote')
def reload_in_place():
    with tempfile.TemporaryFile() as err:
        process = begin('-k', 'prometheus:address=127.0.0.1:0', '-k', 'csv:output=run.csv,newline=lf', stderr=err)
        for _ in range(3):
            count = len(segments())
            wait_until(lambda: len(segments()) > count, 'a segment')  # pylint: disable=cell-var-from-loop
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: os.path.exists('run.csv'), 'the output of a run that has ended')
            os.unlink('run.csv')
        process.send_signal(signal.SIGINT)
        equal(end(process).status, COMPLETE, 'exit status')
        said = os.pread(err.fileno(), 100000, 0).decode()
    require('dropped' not in said, said)
    equal((said.count('samples in'), said.count('SIGHUP: reloaded the configuration\n')), (4, 3), f'runs: {said}')
    require(turns(replayed('kept')) > 0, 'no samples')


def copies(folder):
    """Copies of the descriptors of a folder that processes of a run have: as a child has between fork() and exec()."""
    SYS_PIDFD_OPEN, SYS_PIDFD_GETFD = 434, 438  # asm-generic/unistd.h
    for pid in children():
        for number in os.listdir(f'/proc/{pid}/fd'):
            if os.readlink(f'/proc/{pid}/fd/{number}') == os.path.abspath(folder):
                process = library.syscall(SYS_PIDFD_OPEN, pid, 0)
                copy = library.syscall(SYS_PIDFD_GETFD, process, int(number), 0)
                require(copy >= 0, f'no copy of descriptor {number} of {pid}: {os.strerror(ctypes.get_errno())}')
                yield copy


@case('a process that was forked while a run had its ring does not keep the next run from it', needs=(needs_root,))
def forked():
    with tempfile.TemporaryFile() as err:
        process = begin(stderr=err)
        wait_until(segments, 'a segment')
        require(list(copies('kept')), 'no process has opened the ring')
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: b'SIGHUP: ' in os.pread(err.fileno(), 100000, 0), 'a reload')
        count = len(segments())
        wait_until(lambda: len(segments()) > count, 'a segment of the next run')
        process.send_signal(signal.SIGINT)
        equal(end(process).status, COMPLETE, os.pread(err.fileno(), 100000, 0).decode())


@case('a run that uses more memory than its limit is restarted, and its ring goes on')
def memory():
    with tempfile.TemporaryFile() as err:
        process = begin('--memory', '1MiB', interval='100ms', stderr=err)

        def text():
            return os.pread(err.fileno(), 100000, 0).decode()
        # The message precedes the restart: with the third one, two have been done.
        wait_until(lambda: text().count('the run is restarted') >= 3, 'three restarts')
        count = len(segments())
        wait_until(lambda: len(segments()) > count, 'one more segment')
        process.send_signal(signal.SIGINT)
        equal(end(process).status, COMPLETE, f'exit status: {text()}')
        require(re.search(r'memory: \d+ MiB, more than 1 MiB: the run is restarted', text()), text())
        require(re.search(r'the run was restarted .* after the previous restart, .* 1 MiB of memory \(raise memory=\)', text()), text())
    require(turns(replayed('kept')) > 2, 'no samples')


@case('a continuous run has no sink that needs its end, no capture, and is no replay')
def refused():
    for arguments, pattern in ((['-k', 'folded'], 'sink folded writes the whole run at its end'),
                               (['--record', 'x.iaprof'], '--continuous and --record are mutually exclusive'),
                               (['--replay', 'x.iaprof'], '--replay and --continuous are mutually exclusive')):
        iaprof('--continuous', '-s' if '--replay' not in arguments else '-q',
               *([KNOWN] if '--replay' not in arguments else []), *arguments).fails(USAGE, pattern)


main()
