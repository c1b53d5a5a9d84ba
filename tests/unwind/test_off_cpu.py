#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""off-cpu against a program that knows how long it waits where: time, reason, complete stacks, wakers, both ends of the
run, and what a storm of waits costs. TAP.

test_off_cpu.py PROGRAM (tests/programs/waits.c)
"""
import collections
import contextlib
import csv
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from cases import PATIENCE, require_root, run_cases, wait_until
import processes

REASONS = {'wait_asleep': '[sleep]', 'wait_in_pipe': '[pipe]', 'wait_in_socket': '[local socket]',
           'wait_for_mutex': '[lock]', 'wait_in_poll': '[poll]'}
LINKS = 3
OUTERMOST = re.compile(r'^(_start|clone3?|__clone3?)$')
# Between the clock that the Linux kernel keeps of a thread's time on a CPU, and the tracepoint.
PART = 0.98
EXHAUSTED = 'CPU share exhausted'
WAITS_IN_PYTHON = pathlib.Path(__file__).with_name('python_waits.py')
# How much of all waits may be without stacks, because the programs took more than their share of a CPU.
EXHAUSTED_PART = 0.1
# Where they take too long for that, no limit applies.
NO_SHARE = ('share=0',) if 'TEST_NO_SHARE' in os.environ else ()


def read_rows(path):
    """-> (value type, frames without the program, value, count) of each row"""
    with open(path, encoding='utf-8', newline='') as file:
        return [(row['value_type'], row['stack'].split(';')[1:], int(row['value']), int(row['count']))
                for row in csv.DictReader(file)]


def name_of(frame):
    return re.sub(r'(_\[\w\]|@.*)$', '', frame)


def record(folder, options, *arguments, program=None, functions=0):
    """Profiles a run of a program -> ({function: (time, time off the CPU)}, rows, what iaprof printed)"""
    functions = functions or (2 if arguments else len(REASONS))
    options += NO_SHARE
    output = pathlib.Path(folder) / 'out.csv'
    with subprocess.Popen([program or PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        wait_until(lambda: processes.are_asleep(program.pid), 'the program to be asleep', 0.02)
        with subprocess.Popen([os.environ['TEST_IAPROF'], '-v', '-p', str(program.pid), '-s',
                               'off-cpu' + ':' * bool(options) + ','.join(options), '-k', f'csv:rows=stacks,output={output}',
                               '-k', f'folded:threads=name,value=off-cpu,output={folder}/out.folded',
                               '-k', f'capture:output={folder}/run.iaprof'],
                              stderr=subprocess.PIPE, text=True) as iaprof:
            try:
                wait_until(lambda: iaprof.poll() is not None or attached(iaprof.pid), 'iaprof to attach', 0.02)
                if iaprof.poll() is None:
                    wait_until(processes.Idle(iaprof.pid), 'iaprof to be idle')
                program.stdin.write('x')
                program.stdin.flush()
                lines = []
                for line in program.stdout:
                    lines.append(line.split())
                    if len(lines) == functions:
                        break
                if not arguments:
                    wait_until(lambda: processes.are_asleep(program.pid), 'the program to be asleep', 0.02)
            finally:
                iaprof.send_signal(signal.SIGINT)
                messages = iaprof.communicate(timeout=PATIENCE)[1]
                program.kill()
        if iaprof.returncode:
            raise AssertionError(f'iaprof failed: {messages}')
    return {name: (int(total), int(off)) for name, total, off in lines}, read_rows(output), messages


@functools.cache
def recorded(*options):
    """A run that several cases judge -> its folder, and what record() returns"""
    folder = tempfile.mkdtemp(dir=RUNS)
    return folder, *record(folder, options)


def attached(pid):
    """Whether the programs of a run are attached: at fork, sched_switch and sched_waking, the last one at last."""
    links = 0
    for file in pathlib.Path(f'/proc/{pid}/fdinfo').iterdir():
        with contextlib.suppress(OSError):
            links += 'link_type' in file.read_text(encoding='ascii')
    return links >= LINKS


def sums(rows, function):
    """-> value by value type, of stacks with a function"""
    found = collections.Counter()
    for value_type, frames, value, _ in rows:
        if function in [name_of(frame) for frame in frames]:
            found[value_type] += value
    return found


def others(rows):
    """-> rows of stacks that are in none of the program's functions"""
    return [row for row in rows if not any(frame.startswith('wait_') for frame in row[1])]


def of_no_function(rows):
    """-> the longest of them, innermost frames only, for a message"""
    return [(value, value_type, frames[-4:]) for value_type, frames, value, _ in sorted(others(rows), key=lambda row: -row[2])[:8]]


def exhausted(rows):
    """-> time that has no stacks, because the programs had used their share of the CPU"""
    return sum(value for value_type, frames, value, _ in rows
               if value_type in ('off-cpu', 'runnable') and EXHAUSTED in ' '.join(frames))


def expect_complete(rows):
    """Every stack ends with the first function of a program or thread, or reports that it is incomplete."""
    ends = {name_of(frames[0]) for _, frames, _, _ in rows if EXHAUSTED not in ' '.join(frames)}
    if not all(OUTERMOST.match(end) for end in ends):
        wrong = [row for row in rows if not OUTERMOST.match(name_of(row[1][0]))]
        raise AssertionError(f'outermost functions: {ends}: {wrong[:3]}')


def check_truth(truth, rows, most=1, spread=0):
    """spread: ns by which the sum of the waits of a function may be less than expected, since short ones are sampled"""
    without = exhausted(rows)
    every = sum(off for _, off in truth.values())
    found = {function: sum(sums(rows, function).values()) for function in truth}
    for function, (total, off) in truth.items():
        # It may be preempted before it has read the clock, and after.
        preempted = sum(sums([row for row in rows if row[1][-1:] == ['[preempted]']], function).values())
        if not (PART * off - without - spread <= found[function] and found[function] - preempted <= most * total):
            raise AssertionError(f'{function}: {found[function]} ns and {without} ns without stacks, the program was '
                                 f'off the CPU for {off} of {total}; elsewhere: {of_no_function(rows)}')
    if sum(found.values()) + without + spread < PART * every:
        raise AssertionError(f'{found} and {without} ns without stacks, the program was off the CPU for {every}')
    if without > EXHAUSTED_PART * every:
        raise AssertionError(f'{without} of {every} ns are without stacks')


def known_times():
    with tempfile.TemporaryDirectory() as folder:
        truth, rows, _ = record(folder, ('min=0',))
    check_truth(truth, rows)
    for function, reason in REASONS.items():
        reasons = {frames[-1] for value_type, frames, _, _ in rows
                   if value_type == 'off-cpu' and function in [name_of(frame) for frame in frames]}
        if reasons != {reason}:
            raise AssertionError(f'{function}: {reasons}, not {reason}')
    expect_complete(rows)
    if not any('main' in frames for _, frames, _, _ in rows):
        raise AssertionError('no stack has main')


def default_options():
    """Each wait of the program is longer than the default minimum."""
    _, truth, rows, _ = recorded()
    # A page fault on the way may be one of the short waits that count as 1 ms. Ten waits for a CPU, each of which counts
    # as 1 ms or as nothing, have a standard deviation of at most 1.6 ms.
    check_truth(truth, rows, most=1.05, spread=5000000)


def both_ends():
    """A thread that sleeps from before the run until after it, and one that is asleep at either end."""
    _, truth, rows, _ = recorded()
    ever = sums(rows, 'wait_for_ever')['off-cpu']
    everything = sum(off for _, off in truth.values())
    if ever < everything:
        raise AssertionError(f'asleep throughout: {ever} ns, other waits {everything}')
    start = [frames for value_type, frames, _, _ in rows if value_type == 'off-cpu' and 'wait_for_start' in frames]
    if not start or any(frames[-1] != '[pipe]' for frames in start):
        raise AssertionError(f'waits at both ends: {start}')
    # Twice: before the first round, and after the last one.
    count = sum(count for value_type, frames, _, count in rows
                if value_type == 'off-cpu' and 'wait_for_start' in frames)
    without = sum(count for value_type, frames, _, count in rows
                  if value_type == 'off-cpu' and EXHAUSTED in ' '.join(frames))
    if not 2 - without <= count <= 2:
        raise AssertionError(f'{count} waits for standard input and {without} without stacks, not 2')


def wakers():
    _, _, rows, _ = recorded('waker=yes')
    for function in 'wait_in_pipe', 'wait_in_socket', 'wait_for_mutex':
        found = [frames for value_type, frames, _, _ in rows
                 if value_type == 'off-cpu' and function in frames and '[woken by]' in frames]
        stacks = [[name_of(frame) for frame in frames[frames.index('[woken by]') + 1:]] for frames in found]
        if not stacks or not all('wake' in stack and 'helper' in stack and stack.index('wake') < stack.index('helper')
                                 for stack in stacks):
            raise AssertionError(f'{function} was woken by {stacks}')


def replay():
    """A capture of the run has the same waits, reasons and wakers."""
    folder, _, rows, _ = recorded('waker=yes')
    output = pathlib.Path(folder) / 'replayed.csv'
    subprocess.run([os.environ['TEST_IAPROF'], '-q', '--replay', os.path.join(folder, 'run.iaprof'), '-k',
                    f'csv:rows=stacks,output={output}'], check=True, timeout=PATIENCE)
    replayed = read_rows(output)
    if sorted(rows) != sorted(replayed):
        raise AssertionError(f'not the same: {[row for row in rows if row not in replayed][:3]}, replayed '
                             f'{[row for row in replayed if row not in rows][:3]}')


def hostile_names():
    """Names with separators of formats, newlines and escape sequences neither add frames nor lines."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'w;\n9\x1b[31m"')
        shutil.copy(PROGRAM, program)
        os.environ['WAITS_HELPER_NAME'] = 't;\n_start 7\x1b,"'
        truth, rows, messages = record(folder, ('min=0', 'waker=yes'), program=program)
        del os.environ['WAITS_HELPER_NAME']
        folded = pathlib.Path(folder, 'out.folded').read_bytes()
        written = pathlib.Path(folder, 'out.csv').read_bytes()
    check_truth(truth, rows)
    expect_complete(rows)
    names = set()
    for line in folded.decode().removesuffix('\n').split('\n'):
        if EXHAUSTED in line:
            continue
        stack, value = line.rsplit(' ', 1)
        program, thread, outermost = stack.split(';')[:3]
        if not value.isdecimal() or not OUTERMOST.match(name_of(outermost)):
            raise AssertionError(f'not a stack: {line!r}')
        names.add((program, thread))
    # The helper, and the threads that are named like the program.
    if len({program for program, _ in names}) != 1 or len(names) != 2:
        raise AssertionError(f'programs and threads: {names}')
    for text in folded, written, messages.encode():
        if re.search(rb'[\x00-\x09\x0b-\x1f\x7f]', text.replace(b'\r\n', b'\n')):
            raise AssertionError(f'control characters: {text[:400]}')


def storm(options):
    """-> (sum, count, time) of waits in a ping-pong"""
    with tempfile.TemporaryDirectory() as folder:
        truth, rows, _ = record(folder, options, 'storm')
    found = [(value, count) for value_type, frames, value, count in rows
             if value_type == 'off-cpu' and 'storm' in [name_of(frame) for frame in frames]]
    return sum(value for value, _ in found), sum(count for _, count in found), truth['storm'][0]


def short_waits():
    """Short waits are chosen in proportion to their length: the sum cannot be more than the time, by far, or nothing."""
    value, count, truth = storm(('share=0',))
    if not 0 < value < 1.5 * truth:
        raise AssertionError(f'{value} ns in {count} waits of {truth} ns')
    if storm(('short=skip', 'share=0'))[0] > truth / 2:
        raise AssertionError('short waits are recorded in spite of short=skip')


def bounded():
    """Programs that use more than their share drop waits, and report how many, and for how long."""
    with tempfile.TemporaryDirectory() as folder:
        truth, rows, messages = record(folder, ('min=0', 'share=1'), 'storm')
    dropped = sum(count for value_type, frames, _, count in rows if value_type == 'lost' and EXHAUSTED in frames)
    if not dropped:
        raise AssertionError(f'nothing was dropped: {messages}')
    found = sum(sum(sums(rows, function).values()) for function in truth) + exhausted(rows)
    total, off = map(sum, zip(*truth.values()))
    # The Linux kernel counts a part of the time from a wake-up on as time on the CPU.
    if not PART * off <= found <= total:
        raise AssertionError(f'{found} ns are recorded or dropped, the program was off the CPU for {off} of {total}')


def python_waits():
    """Waits of Python functions are in them, between the native frames, and in no frames of the interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        truth, rows, messages = record(folder, ('min=0',), str(WAITS_IN_PYTHON), program='/usr/bin/python3', functions=3)
        folded = pathlib.Path(folder, 'out.folded').read_text(encoding='utf-8')
    if 'no Python frames' in messages:
        raise AssertionError(messages)
    # measure() itself can be preempted, which is time off the CPU, but in none of the functions.
    preempted = sum(value for value_type, _, value, _ in others(rows) if value_type == 'runnable')
    check_truth(truth, rows, spread=preempted)
    for function in truth:
        stacks = [frames for value_type, frames, _, _ in rows if value_type == 'off-cpu' and function in frames]
        reasons = {frames[-1] for frames in stacks}
        # Each also waits for the interpreter's lock, when the other thread runs.
        if not {REASONS[function]} <= reasons <= {REASONS[function], '[page fault]', '[lock]'}:
            raise AssertionError(f'{function}: {reasons}')
        for frames in stacks:
            names = [name_of(frame) for frame in frames]
            if names[names.index(function) - 1] != 'measure' or any(name.startswith('_PyEval') for name in names):
                raise AssertionError(f'{function}: {frames}')
    if not re.search(r';Thread\.run(_\[\w\])?;helper(_\[\w\])?;', folded):
        raise AssertionError(f'no waits of the thread: {folded}')


def main():
    require_root()
    cases = [('times, reasons and stacks', known_times), ('default options', default_options),
             ('asleep at both ends of the run', both_ends), ('wakers', wakers), ('replay', replay),
             ('hostile names', hostile_names), ('waits in Python functions', python_waits)]
    # An emulated processor would take minutes for a storm.
    if 'TEST_NO_STORM' not in os.environ:
        cases += [('short waits', short_waits), ('the share of the CPU', bounded)]
    # A run of what a change touches, in a guest, has those that depend on the Linux kernel.
    if os.environ.get('LAB_LEVEL', 'full') != 'full':
        cases = [case for case in cases if case[1] not in (default_options, replay, hostile_names)]
    run_cases(cases)


PROGRAM = sys.argv[1]
with tempfile.TemporaryDirectory() as RUNS:
    main()
