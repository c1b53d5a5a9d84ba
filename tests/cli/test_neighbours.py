#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other profilers of the machine: perf, bpftrace and a second iaprof, each several times beside a run and around as many
runs.

One is the command of the other, so both profile from the beginning of the inner one to its end, whatever the time. The
program that all of them see has a name of its own in each repetition, and functions that are known.
"""
import collections
import contextlib
import os
import re
import subprocess
import threading

from harness import (LOAD, PROGRAM, TIMEOUT, Failure, Skip, case, equal, iaprof, main, needs_perf, needs_program,
                     needs_root, needs_sampling, read, require, write)

REPETITIONS = 10 if 'TEST_LONG' in os.environ else 1
NAMES = [f'near-{number}' for number in range(REPETITIONS)]
# CPU time of each, in ms: at 99 Hz, chance leaves out the function that runs half of it once in 2^30.
DURATION = 300
KNOWN, OTHERS = 'burn_50', {'burn_30', 'burn_15', 'burn_5', 'shares_run', 'threads_run', 'main'}


def needs_bpftrace():
    needs_program('bpftrace')()
    needs_root()
    tried = subprocess.run(['bpftrace', '-e', 'BEGIN { exit(); }'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           check=False)
    if tried.returncode:
        raise Skip(f'bpftrace cannot run here: {tried.stdout.decode(errors="replace").strip().splitlines()[-1:]}')


def perf_events_of_others():
    """Names of processes with perf events that did not begin below this one."""
    parents, names, holders = {}, {}, set()
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError, ValueError):
            head, _, rest = read(f'/proc/{pid}/stat').rpartition(')')
            parents[pid], names[pid] = rest.split()[1], head.partition('(')[2]
            for descriptor in os.listdir(f'/proc/{pid}/fd'):
                if os.readlink(f'/proc/{pid}/fd/{descriptor}') == 'anon_inode:[perf_event]':
                    holders.add(pid)
                    break

    def is_ours(pid):
        while pid in parents and pid != str(os.getpid()):
            pid = parents[pid]
        return pid == str(os.getpid())
    return {names[pid] for pid in holders if not is_ours(pid)}


@contextlib.contextmanager
def undisturbed():
    """A failure counts only where nobody else profiled meanwhile: others' build ids make perf 6.1 abort as well."""
    seen, ended = set(), threading.Event()

    def watch():
        while not ended.wait(0.2):
            seen.update(perf_events_of_others())
    watcher = threading.Thread(target=watch)
    watcher.start()
    failure = None
    try:
        yield
    except Failure as failed:
        failure = failed
    finally:
        ended.set()
        watcher.join()
    if failure and seen:
        raise Skip(f'others profile this machine, too ({", ".join(sorted(seen))}): {str(failure)[:200]!r}')
    if failure:
        raise failure


def job(command):
    """A script that runs a command for each name; NAME in it is the program, which is a link of that name."""
    lines = ['#!/bin/sh']
    for name in NAMES:
        os.symlink(LOAD, name)
        lines += [f'{command} > NAME.log 2>&1'.replace('NAME', name), f'echo $? > {name}.status']
    return os.path.abspath(write('job', '\n'.join(lines) + '\n', 0o755))


def all_ended_well():
    for name in NAMES:
        equal(read(f'{name}.status'), '0\n', f'{name}: {read(f"{name}.log")[-1000:]}: status')


def sane(found, *said):
    """found: (program, functions) of stacks. Each program must be present, with its own functions only. said: messages
    of the runs."""
    counted = collections.defaultdict(collections.Counter)
    for program, functions in found:
        counted[program].update(set(functions))
    for name in NAMES:
        if not counted[name][KNOWN] and any('process events (perf ring full)' in text for text in said):
            raise Skip('process events were lost: more processes begin here than a run can follow')
        require(counted[name][KNOWN], f'{name} has no sample in {KNOWN}: {counted[name].most_common(5)}')
        require(set(counted[name]) & OTHERS, f'{name} has no callers: {counted[name].most_common(5)}')


def of_iaprof(path):
    for line in read(path).splitlines():
        program, *functions = line.rsplit(' ', 1)[0].split(';')
        yield program, functions


def sane_inner_runs():
    sane((entry for name in NAMES for entry in of_iaprof(f'{name}.folded')), *(read(f'{name}.log') for name in NAMES))


def of_perf(path):
    script = subprocess.run(['perf', 'script', '-i', path, '-F', 'comm,ip,sym'], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, encoding='utf-8', errors='replace', timeout=TIMEOUT, check=False)
    equal(script.returncode, 0, f'perf script: {script.stderr[-1000:]}: status')
    for sample in script.stdout.split('\n\n'):
        program, *lines = sample.strip('\n').split('\n')
        yield program.strip(), [line.split(None, 1)[1] for line in lines if len(line.split(None, 1)) > 1]


def mappings_are_of_files(path):
    """perf knows the programs by their inodes, not by what a build id left there; later versions by build ids."""
    script = subprocess.run(['perf', 'script', '-i', path, '--show-mmap-events', '-F', 'comm,ip'],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding='utf-8', errors='replace',
                            timeout=TIMEOUT, check=False)
    equal(script.returncode, 0, 'perf script --show-mmap-events: status')
    inodes = re.findall(r'PERF_RECORD_MMAP2 .* ([0-9a-f]+:[0-9a-f]+) (\d+) \d+\]: r-xp ' + re.escape(LOAD),
                        script.stdout)
    build_ids = re.findall(r'PERF_RECORD_MMAP2 .* <[0-9a-f]+>\]: r-xp ' + re.escape(LOAD), script.stdout)
    require(inodes or build_ids, f'no mapping of {LOAD}')
    equal({int(inode) for _, inode in inodes} - {os.stat(LOAD).st_ino}, set(), 'other inodes')


def of_bpftrace(text):
    """Samples by program name, and whether stacks of the Linux kernel were printed."""
    require(re.search(r'^@\[.*?\]: \d+$', text, re.M | re.S), f'no stacks: {text[-1000:]}')
    return {name: int(count) for name, count in re.findall(r'^@names\[(.*)\]: (\d+)$', text, re.M)}


BPFTRACE = 'profile:hz:99 { @[kstack] = count(); @names[comm] = count(); }'
# -e: perf asks for a hardware event by itself, which virtual machines may not have.
PERF = 'perf record -q -e cpu-clock -F 99 -g'


@case('perf record beside a run', needs=[needs_sampling, needs_perf])
def perf_beside_iaprof():
    with undisturbed():
        script = job(f'{PERF} -o NAME.data -- ./NAME shares {DURATION}')
        outcome = iaprof('--scope', 'system', '-s', 'cpu-stack', '-o', 'out', script).completes()
        all_ended_well()
        sane(of_iaprof('out'), outcome.err)
        sane(entry for name in NAMES for entry in of_perf(f'{name}.data'))
        for name in NAMES:
            mappings_are_of_files(f'{name}.data')


@case('runs beside perf record', needs=[needs_sampling, needs_perf])
def iaprof_beside_perf():
    with undisturbed():
        script = job(f'{PROGRAM} -s cpu-stack -o NAME.folded -- ./NAME shares {DURATION}')
        perf = subprocess.run([*PERF.split(), '-a', '-o', 'perf.data', '--', script], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
        equal(perf.returncode, 0, f'perf record: {perf.stdout.decode(errors="replace")[-1000:]}: status')
        all_ended_well()
        sane_inner_runs()
        sane(of_perf('perf.data'))
        mappings_are_of_files('perf.data')


@case('bpftrace beside a run', needs=[needs_sampling, needs_bpftrace])
def bpftrace_beside_iaprof():
    with undisturbed():
        script = job(f"bpftrace -e '{BPFTRACE}' -c '{os.getcwd()}/NAME shares {DURATION}'")
        outcome = iaprof('--scope', 'system', '-s', 'cpu-stack', '-o', 'out', script).completes()
        all_ended_well()
        sane(of_iaprof('out'), outcome.err)
        for name in NAMES:
            require(of_bpftrace(read(f'{name}.log')).get(name), f'no sample of {name}')


@case('runs beside bpftrace', needs=[needs_sampling, needs_bpftrace])
def iaprof_beside_bpftrace():
    with undisturbed():
        script = job(f'{PROGRAM} -s cpu-stack -o NAME.folded -- ./NAME shares {DURATION}')
        traced = subprocess.run(['bpftrace', '-e', BPFTRACE, '-c', f'/bin/sh {script}'], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', errors='replace',
                                timeout=TIMEOUT, check=False)
        equal(traced.returncode, 0, f'bpftrace: {traced.stdout[-1000:]}: status')
        all_ended_well()
        sane_inner_runs()
        names = of_bpftrace(traced.stdout)
        require(all(names.get(name) for name in NAMES), f'programs without a sample: {names}')


@case('runs beside a run', needs=[needs_sampling])
def iaprof_beside_iaprof():
    with undisturbed():
        script = job(f'{PROGRAM} -s cpu-stack -o NAME.folded -- ./NAME shares {DURATION}')
        outcome = iaprof('--scope', 'system', '-s', 'cpu-stack', '-o', 'out', script).completes()
        all_ended_well()
        sane(of_iaprof('out'), outcome.err)
        sane_inner_runs()


if __name__ == '__main__':
    main()
