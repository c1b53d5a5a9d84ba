#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 600
# lab: runtime
# lab: covers plugins/ze-usdt/**
# lab: covers tests/lab/opencl/** tests/lab/level_zero/**
"""Programs, kernels and launches of OpenCL programs on Intel's runtime, held against the truth that they print. TAP."""
import collections
import csv
import functools
import os
import pathlib
import shlex
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import Failure, check, equal, run, started
from harness.profiler import SLOW, Profiler

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
PROGRAMS = BUILD / 'tests/lab/level_zero'
TRACER = BUILD / 'plugins/ze-usdt/libiaprof-ze-tracer.so'
SITES = 'launch_in_order', 'launch_out_of_order', 'launch_task', 'launch_by_extension', 'launch_clone'
LOADERS = 'linked', 'dlopen', 'own', 'driver'


# Runs the rest of the command line where the build is not visible, as in a container: also if it is in /tmp.
ELSEWHERE = ('sh', '-c', 'cp "$3" program && cp "$4" run && umount "$1" "$2" && '
             '{ [ ! -e "$1/iaprof" ] || mount -t tmpfs tmpfs "$1"; } && shift 4 && exec ./run "$@"', 'elsewhere', BUILD, SOURCE)


def jobs(*arguments, loader='linked', product='bmg', environment=(), elsewhere=False):
    program = PROGRAMS / ('opencl-jobs' if loader == 'linked' else 'opencl-jobs-alone')
    if elsewhere:
        return [SOURCE / 'tests/lab/guest/in-chroot', *ELSEWHERE, program, SOURCE / 'tests/lab/level_zero/run-without-gpu',
                product, './program', '--loader', loader, *arguments]
    return [SOURCE / 'tests/lab/guest/in-chroot', SOURCE / 'tests/lab/level_zero/run-without-gpu', product, 'env',
            *environment, program, '--loader', loader, *arguments]


def completed(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, encoding='utf-8')


def read_truth(text):
    rows = collections.defaultdict(list)
    for line in text.splitlines():
        kind, *fields = line.split('\t')
        rows[kind].append(fields)
    return rows


def read_rows(pids):
    rows = collections.defaultdict(list)
    with open('out.csv', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            if row['pid'] in pids:
                rows[row['record']].append(row)
    return rows


def profile(*arguments, command=None, **options):
    """The rows of a program that iaprof starts, and its truth."""
    outcome = completed([BUILD / 'iaprof', *SLOW, '-s', 'ze-usdt:tracer=yes', '-k', 'csv:rows=events,newline=lf', '-o',
                         'out.csv', '--', *(command or jobs(*arguments, **options))])
    if outcome.returncode or 'lost: ze-usdt' in outcome.stderr or 'error' in outcome.stderr:
        raise Failure(f'iaprof ended with {outcome.returncode}: {outcome.stderr}')
    truth = read_truth(outcome.stdout)
    check(truth['launch'], f'the program launched nothing: {outcome.stdout} {outcome.stderr}')
    return read_rows({pid for pid, *_ in truth['kernel']}), truth


def launches_of_truth(truth):
    counts = collections.Counter()
    for pid, thread, site, kernel, count in truth['launch']:
        counts[pid, thread, site, kernel] += int(count)
    return counts


def launches_of_rows(rows):
    counts = collections.Counter()
    for row in rows['launch']:
        stack = row['functions'].split(';')
        check('worker_run' in stack, f'the stack does not reach the thread\'s first function: {stack}')
        sites = [site for site in SITES if site in stack]
        check(len(sites) == 1, f'the stack has no place of a launch: {stack}')
        innermost = stack[stack.index(sites[0]):]
        check(innermost in ([sites[0]], [sites[0], 'launch']), f'functions below the program\'s own: {stack}')
        counts[row['pid'], row['tid'], sites[0], row['name']] += int(row['count'])
    return counts


def kernels_of_rows(rows):
    """Name and address of each kernel. Those of one program are in its code object."""
    objects = {row['id']: row for row in rows['code-object']}
    for row in rows['kernel']:
        code = objects.get(row['parent'])
        start = code and int(code['address'], 16)
        check(code and start <= int(row['address'], 16) < start + int(code['size']),
              f'kernel {row["name"]} is in no code object: {row}')
        check(int(row['size']) > 0, f'kernel {row["name"]} has no size')
    return sorted((row['pid'], row['name'], row['address']) for row in rows['kernel'])


def kernels_of_truth(truth):
    return sorted((pid, name, address) for pid, name, address in truth['kernel'])


def check_launches(arguments, loader='linked', product='bmg', environment=()):
    rows, truth = profile(*arguments, loader=loader, product=product, environment=environment)
    equal(launches_of_rows(rows), launches_of_truth(truth), 'launches')
    equal(kernels_of_rows(rows), kernels_of_truth(truth), 'kernels')


def check_rebuilt():
    """Programs come and go, and code is loaded where other code was."""
    rows, truth = profile('--rebuild', '--turns', '6')
    addresses = collections.defaultdict(set)
    for _pid, name, address in truth['kernel']:
        addresses[address].add(name)
    check(any(len(names) > 1 for names in addresses.values()), 'no address was used again by another kernel')
    equal(launches_of_rows(rows), launches_of_truth(truth), 'launches')
    equal(kernels_of_rows(rows), kernels_of_truth(truth), 'kernels')
    # In each turn: the two programs, and the one whose binary was built again.
    equal(len(rows['code-object']), 18, 'programs')


class Waiting:
    """A program that has loaded and launched kernels already, and goes on at a word."""

    def __init__(self, *arguments, **options):
        self.process = started(subprocess.Popen(jobs('--wait', *arguments, **options), stdin=subprocess.PIPE,
                                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8'))
        self.said = ''
        while not self.said.endswith('\n') or not self.said.splitlines()[-1].startswith('waits'):
            line = self.process.stdout.readline()
            check(line, f'the program ended: {self.said} {self.process.stderr.read() if not line else ""}')
            self.said += line
        self.pid = self.said.split()[-1]
        self.threads = self.count_threads()

    def count_threads(self):
        return len(os.listdir(f'/proc/{self.pid}/task'))

    def trace(self, ready='loaded libiaprof-ze-tracer.so into process'):
        """iaprof, which has loaded the tracer; its thread in the program, which starts tracing, has ended."""
        profiler = Profiler('-p', self.pid, '-s', 'ze-usdt:tracer=inject', '-k', 'csv:rows=events,newline=lf', '-o',
                            'out.csv', ready=lambda said: ready in said)
        deadline = time.monotonic() + 60
        while self.count_threads() > self.threads:
            check(time.monotonic() < deadline, 'the tracer\'s thread does not end')
            time.sleep(0.01)
        return profiler

    def finish(self):
        """Its output from then on, as of completed()."""
        said, errors = self.process.communicate('\n', timeout=120)
        return subprocess.CompletedProcess((), self.process.returncode, self.said + said, errors)


def profile_running(*arguments, **options):
    """The rows of a program that ran before, and its truth."""
    program = Waiting(*arguments, **options)
    # A copy in memory is attached to when it is seen in the mappings.
    profiler = program.trace('attached to the probes' if options.get('elsewhere') else 'loaded libiaprof-ze-tracer.so into process')
    in_memory = '/memfd:libiaprof-ze-tracer.so' in pathlib.Path(f'/proc/{program.pid}/maps').read_text(encoding='utf-8')
    equal(in_memory, options.get('elsewhere', False), 'the tracer is a file in memory')
    outcome = program.finish()
    profiler.end()
    equal((outcome.returncode, outcome.stderr), (0, ''), 'end of the program')
    check('lost: ze-usdt' not in profiler.said, profiler.said)
    truth = read_truth(outcome.stdout)
    return read_rows({program.pid}), truth


def check_injected(arguments, loader, elsewhere=False):
    """Kernels that were loaded and launched before have names and addresses, and all launches from then on count."""
    rows, truth = profile_running(*arguments, loader=loader, elsewhere=elsewhere)
    equal(launches_of_rows(rows), launches_of_truth(truth), 'launches')
    equal(kernels_of_rows(rows), kernels_of_truth(truth), 'kernels')


def check_injected_twice():
    """A second profiler finds the tracer that the first one loaded."""
    program = Waiting()
    program.trace().end()
    check(not read_rows({program.pid})['launch'], 'launches while the program waited')
    profiler = program.trace('has libiaprof-ze-tracer.so already')
    truth = read_truth(program.finish().stdout)
    profiler.end()
    rows = read_rows({program.pid})
    equal(launches_of_rows(rows), launches_of_truth(truth), 'launches')


def check_injected_unchanged(loader):
    program = Waiting('--turns', '2', loader=loader)
    profiler = program.trace()
    profiler.end()
    traced = program.finish()
    equal(normal(traced), normal(Waiting('--turns', '2', loader=loader).finish()), 'status and output')


def normal(outcome):
    """What a program printed, without process and thread ids."""
    words = [line.split('\t') for line in outcome.stdout.splitlines()]
    lines = [[kind, *rest[2 if kind == 'launch' else 1:]] if kind != 'build' else [kind, *rest] for kind, *rest in words]
    return outcome.returncode, lines, outcome.stderr


def check_unchanged(arguments, loader):
    alone = completed(jobs(*arguments, loader=loader))
    traced = completed(jobs(*arguments, loader=loader, environment=[f'LD_PRELOAD={TRACER}']))
    equal(normal(traced), normal(alone), 'status and output')


def check_ranks():
    """Two processes of a parallel program in one profile, of which each has its launches, and its rank in its name."""
    def ranked(rank):
        return shlex.join(map(str, jobs('--turns', str(rank + 1), environment=[f'RANK={rank}', 'WORLD_SIZE=2'])))
    rows, truth = profile(command=['sh', '-c', f'{ranked(0)} & {ranked(1)} & wait'])
    equal(launches_of_rows(rows), launches_of_truth(truth), 'launches')
    names = {row['pid']: row['name'] for row in rows['process'] if row['kind'] == 'exec'}
    turns = {pid: int(count) // 2 for pid, _thread, site, _kernel, count in truth['launch'] if site == 'launch_task'}
    equal(sorted((names[pid], count) for pid, count in turns.items()),
          [('opencl-jobs (rank 0)', 1), ('opencl-jobs (rank 1)', 2)], 'names')


def check_deleted():
    """A program whose file is deleted when it has just ended: its functions have names."""
    program = 'cp "$0" gone && ./gone --loader dlopen && rm gone'
    command = [SOURCE / 'tests/lab/guest/in-chroot', SOURCE / 'tests/lab/level_zero/run-without-gpu', 'bmg', 'sh', '-c',
               program, PROGRAMS / 'opencl-jobs-alone']
    rows, truth = profile(command=command)
    equal(launches_of_rows(rows), launches_of_truth(truth), 'launches')


ON_LEVEL_ZERO = 'EnableLEO=1'


def check_on_level_zero():
    """OpenCL on Level Zero inside the driver is not traced, which a run, an injection and --check report."""
    alone = completed(jobs('--no-addresses', environment=[ON_LEVEL_ZERO]))
    traced = completed(jobs('--no-addresses', environment=[ON_LEVEL_ZERO, f'LD_PRELOAD={TRACER}']))
    equal(normal(traced), normal(alone), 'status and output with the tracer')
    run_by_iaprof = completed([BUILD / 'iaprof', *SLOW, '-s', 'ze-usdt:tracer=yes', '-k', 'csv:rows=events', '-o', 'out.csv', '--',
                               *jobs('--no-addresses', environment=[ON_LEVEL_ZERO])])
    remedy = 'EnableLEO=0'
    check(remedy in run_by_iaprof.stderr, f'a run does not name the cause: {run_by_iaprof.stderr}')
    program = Waiting('--no-addresses', environment=[ON_LEVEL_ZERO])
    checked = completed([BUILD / 'iaprof', '--check', '-s', 'ze-usdt'])
    check(any(program.pid in line and remedy in line for line in checked.stdout.splitlines()),
          f'--check does not name the cause: {checked.stdout}')
    program.trace(remedy).end()
    program.finish()


def check_checked():
    program = Waiting()
    checked = completed([BUILD / 'iaprof', '--check', '-s', 'ze-usdt'])
    check(any(f'-p {program.pid} -s ze-usdt:tracer=inject' in line for line in checked.stdout.splitlines()),
          f'--check does not name the process: {checked.stdout}')
    program.finish()


def check_invalid():
    """A program that does not build: it ends as it would, and nothing is said of a Level Zero loader."""
    outcome = completed([BUILD / 'iaprof', *SLOW, '-s', 'ze-usdt:tracer=yes', '-k', 'csv:rows=events', '-o', 'out.csv', '--',
                         *jobs('--invalid')])
    check('build\t-11' in outcome.stdout and 'ended with status 3' in outcome.stderr,
          f'the program ends in another way: {outcome.stdout} {outcome.stderr}')
    check('failed calls of zeModuleCreate or clBuildProgram: 1' in outcome.stderr and 'older' not in outcome.stderr,
          f'the cause is not named: {outcome.stderr}')


def cases():
    for loader in LOADERS:
        yield f'every way to launch, from two threads ({loader})', check_launches, (('--threads', '2', '--turns', '3'), loader)
    yield 'on Lunar Lake', check_launches, ((), 'linked', 'lnl')
    for what, variable in ('two GPUs', 'CreateMultipleRootDevices=2'), ('two sub-devices', 'CreateMultipleSubDevices=2'):
        yield f'on a machine with {what}', check_launches, (('--threads', '2'), 'linked', 'bmg', [variable])
    yield 'two ranks', check_ranks, ()
    yield 'a program of SPIR-V', check_launches, (('--build', PROGRAMS / 'opencl-sum.spv'), 'driver')
    yield 'a program that is linked', check_launches, (('--build', 'linked'), 'dlopen')
    yield 'a forked child', check_launches, (('--fork',), 'dlopen')
    yield 'programs that come and go', check_rebuilt, ()
    yield 'a program whose file is deleted', check_deleted, ()
    yield 'a program that does not build', check_invalid, ()
    for loader in LOADERS:
        yield f'unchanged: {loader}', check_unchanged, (('--turns', '2'), loader)
    for loader in LOADERS:
        yield f'injected into a running program ({loader})', check_injected, (('--threads', '2', '--turns', '2'), loader)
    yield 'injected; programs come and go', check_injected, (('--rebuild', '--turns', '3'), 'own')
    yield 'injected into a container that does not have the library', check_injected, (('--turns', '2'), 'linked', True)
    yield '--check of a running program', check_checked, ()
    yield 'OpenCL on Level Zero', check_on_level_zero, ()
    yield 'injected; twice', check_injected_twice, ()
    yield 'unchanged by an injection that has ended', check_injected_unchanged, ('linked',)
    yield 'unchanged: a program that does not build', check_unchanged, (('--invalid',), 'linked')


sys.exit(run([(what, functools.partial(function, *arguments)) for what, function, arguments in cases()]) != 0)
