#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 600
# lab: runtime
# lab: covers plugins/ze-usdt/** core/run/run_switch.c core/run/run_continuous.c
# lab: covers tests/lab/programs/slow_attach.c tests/lab/level_zero/*
"""A continuous run that reads its configuration again: no launch of a program on Intel's runtime is in two runs, and each
launch has its code. TAP."""
import collections
import contextlib
import csv
import functools
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import Failure, run

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
TRACER = BUILD / 'plugins/ze-usdt/libiaprof-ze-tracer.so'
LAUNCHER = [SOURCE / 'tests/lab/guest/in-chroot', SOURCE / 'tests/lab/level_zero/run-without-gpu', 'bmg', 'env',
            f'LD_PRELOAD={TRACER}', BUILD / 'tests/lab/level_zero/launcher-nofp']
RELOADS = int(os.environ.get('TEST_RELOADS', '3'))
DEADLINE = 60
# Has iaprof attach to each probe slowly, as a busy machine does at times.
SLOW_ATTACHING = 'probes that are attached slowly'
SLOW_SECONDS = 1  # that take at least as long as this: five probes, each with two waits of slow_attach.c

# Between two of its launches, a run ends and two begin: the program does not notice, and must be asked again for its code.
FEW_LAUNCHES = 'few launches'
# It launches nothing as long as a run asks all programs, and must be asked again.
STOPPED = 'a program that is stopped meanwhile'
ASKED = 3  # seconds, more than a run asks
ROWS_WITHOUT_CODE = 4  # of a kernel: one for each reading, of which the first finds that the program has to be asked

# A thread that waits for a CPU from its look whether a profiler reads to its count, in another run.
UNKNOWN = 'launch counted in memory, but not known'
THREADS = 3

RESTARTED = 'samples: the run was restarted'
# Of a kernel whose code is known, the name is demangled.
DEMANGLED = {'_ZTS5scaleIfE': 'scale<float>'}

STEPS = 500  # per second
AT_A_RATE = 'at a constant rate'

# Name of a case -> arguments of the program, whether launches are counted in memory (None: too few to be known).
CASES = {
    'as fast as they go, counted in memory': (['--threads', str(THREADS)], True),
    AT_A_RATE: (['--rate', str(STEPS)], True),
    'another profiler counts in memory': (['--threads', '2'], False),
    FEW_LAUNCHES: (['--rate', '1'], None),
    STOPPED: (['--rate', str(STEPS)], None),
    SLOW_ATTACHING: (['--threads', str(THREADS)], None),
    'regular lists': (['--lists', 'regular', '--threads', '2'], None),
}


def configure(number):
    pathlib.Path('run.new').write_text(
        '[iaprof]\ncontinuous = yes\ninterval = 200ms\nbudget = none\n'
        '[source:ze-usdt]\ntracer = yes\n[source:cpu-stack]\nfrequency = 10\nidle = yes\n'
        '[sink:csv.stacks]\noutput = -\n'
        f'[sink:csv.events]\noutput = out{number}.csv\nrows = events\nnewline = lf\n', encoding='utf-8')
    os.rename('run.new', 'run.ini')


def wait_until(condition, what):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise Failure(f'{what} did not come')
        time.sleep(0.05)


def read_rows(number, pid):
    """Rows of the program and of the whole run, by record."""
    rows = collections.defaultdict(list)
    with open(f'out{number}.csv', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            if row['pid'] in (pid, '', '0') and row['source'] in ('ze-usdt', ''):
                rows[row['record']].append(row)
    return rows


def end_program(program):
    program.stdin.close()
    program.stdout.read()
    if program.wait():
        raise Failure(f'the program ended with {program.returncode}')


def profile(what, arguments):
    """Profiles the program over several reloads. Returns its process id, and what iaprof printed."""
    for old in pathlib.Path('.').glob('out*.csv'):
        old.unlink()
    pathlib.Path('truth').unlink(missing_ok=True)
    configure(0)
    with contextlib.ExitStack() as stack:
        err = stack.enter_context(tempfile.TemporaryFile())
        if what.startswith('another profiler'):
            other = stack.enter_context(subprocess.Popen(['flock', TRACER, 'cat'], stdin=subprocess.PIPE))
            stack.callback(other.stdin.close)
            wait_until(lambda: subprocess.run(['flock', '-n', TRACER, 'true'], check=False).returncode, 'the lock')
        intervals = stack.enter_context(tempfile.TemporaryFile())
        preloaded = {'LD_PRELOAD': str(BUILD / 'tests/lab/programs/libslow-attach.so')} if what == SLOW_ATTACHING else {}
        iaprof = stack.enter_context(subprocess.Popen([BUILD / 'iaprof', '-v', '-c', 'run.ini'], stdout=intervals, stderr=err,
                                                      env={**os.environ, **preloaded}))
        stack.callback(iaprof.kill)

        def printed():
            return os.pread(err.fileno(), 1000000, 0).decode()
        wait_until(lambda: os.fstat(intervals.fileno()).st_size, 'an interval')
        program = stack.enter_context(subprocess.Popen(
            [*LAUNCHER, '--truth', f'{os.getcwd()}/truth', '--duration', '600000', '--steps', *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding='utf-8', bufsize=1))
        stack.callback(program.kill)
        pid = program.stdout.readline().split()[1]
        program.stdin.write('\n')
        while program.stdout.readline() not in ('turns\n', ''):
            pass
        for number in range(1, RELOADS + 1):
            time.sleep(0.3 if what == FEW_LAUNCHES else ASKED)
            if what == STOPPED:
                os.kill(int(pid), signal.SIGSTOP)
            configure(number)
            iaprof.send_signal(signal.SIGHUP)
            wait_until(lambda: os.path.exists(f'out{number - 1}.csv'), 'the output of a run')  # pylint: disable=cell-var-from-loop
            if what == STOPPED:
                time.sleep(ASKED)
                os.kill(int(pid), signal.SIGCONT)
        time.sleep(8 if what == FEW_LAUNCHES else ASKED)
        end_program(program)
        iaprof.send_signal(signal.SIGINT)
        wait_until(lambda: iaprof.poll() is not None, 'the end of iaprof')
        if iaprof.returncode:
            raise Failure(f'iaprof ended with {iaprof.returncode}: {printed()}')
        return pid, printed()


def check(what, arguments, counted):
    pid, printed = profile(what, arguments)
    expected = collections.Counter()
    for line in pathlib.Path('truth').read_text(encoding='utf-8').splitlines():
        kind, *fields = line.split('\t')
        if kind == 'launch':
            expected[DEMANGLED.get(fields[7], fields[7])] += int(fields[9])
    found, lost, in_memory, each, gap = collections.Counter(), collections.Counter(), 0, [], 0
    for number in range(RELOADS + 1):
        rows = read_rows(number, pid)
        for row in rows['launch']:
            found[DEMANGLED.get(row['name'], row['name'])] += int(row['count'])
        gaps = [row for row in rows['lost'] if row['name'] == RESTARTED]
        if len(gaps) != (number > 0):
            raise Failure(f'run {number}: stated gaps: {gaps}\n{printed}')
        gap += sum(int(row['time']) - int(row['begin']) for row in gaps)
        for row in rows['lost']:
            if row['name'] != RESTARTED:
                lost[row['name'] or row['text']] += int(row['count'] or 0)
        each.append(sum(int(row['count']) for row in rows['launch']))
        known = {row['id'] for row in rows['code-object']}
        without = {row['id']: row['text'] for row in rows['kernel'] if row['parent'] not in known}
        unknown = set(without.values())
        if what in (FEW_LAUNCHES, STOPPED):
            unknown -= {row['text'] for row in rows['kernel'] if row['parent'] in known}
        missed = collections.Counter(row['id'] for row in rows['launch'] if row['id'] in without)
        # A launch that began before its thread was asked, and the others of the same reading.
        if unknown and what not in (FEW_LAUNCHES, STOPPED) and len(missed) <= THREADS and max(missed.values(), default=0) <= 2:
            unknown = set()
        if unknown and (what != FEW_LAUNCHES or number == RELOADS):
            raise Failure(f'run {number}: kernels without code: {sorted(unknown)}, rows {missed}\n{printed}')
        if what == STOPPED and (bool(missed) != (number > 0) or max(missed.values(), default=0) > ROWS_WITHOUT_CODE):
            raise Failure(f'run {number}: rows of launches without code: {missed}')
        in_memory += sum(int(row['text'].split()[0]) for row in rows['metadata']
                         if row['name'] == 'launches counted in memory')
    # Launches between two runs are in none.
    missing = {name: expected[name] - found[name] for name in expected.keys() | found.keys()}
    absent = sum(missing.values()) - sum(lost.values())
    print(f'# launches {sum(expected.values())}, in runs {each}, in memory {in_memory}, lost {dict(lost)}, '
          f'between runs {absent} in {gap / 1e9:.3f} s')
    if any(count < 0 for count in missing.values()) or absent < 0:
        raise Failure(f'launches: {found}, lost {lost}, expected {expected}')
    # With as much time again, in which a program that did not run catches up.
    if what == AT_A_RATE and absent > sum(expected.values()) / expected['tiny'] * STEPS * (2 * gap / 1e9 + 0.1 * RELOADS):
        raise Failure(f'{absent} launches are missing, in stated gaps of {gap / 1e9:.3f} s')
    if what == SLOW_ATTACHING and gap < SLOW_SECONDS * RELOADS * 1e9:
        raise Failure(f'probes were attached to in {gap / 1e9:.3f} s')
    if counted not in (None, in_memory > 0):
        raise Failure(f'{in_memory} launches were counted in memory')
    if 'regular' in arguments:
        return
    if lost.pop(UNKNOWN, 0) > THREADS * RELOADS or lost:
        raise Failure(f'lost: {lost}')
    if sum(count > 0 for count in each) < (2 if what == FEW_LAUNCHES else RELOADS + 1):
        raise Failure(f'runs without launches: {each}')


sys.exit(run([(what, functools.partial(check, what, *arguments))
              for what, arguments in CASES.items()]) != 0)
