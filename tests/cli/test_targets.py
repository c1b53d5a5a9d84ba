#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which processes a run profiles: descendants of -p, cgroups of both versions, containers by the id of their cgroup."""
import contextlib
import os
import re
import signal
import subprocess
import time

from harness import (COMPLETE, FAILING_SOURCE, USAGE, Skip, case, end, equal, iaprof, main, needs_program,
                     needs_root, needs_sampling, read, require, start, wait_until, write)

SAMPLED = ['-s', 'cpu-stack:frequency=997,clock=software,drain=100ms', '-k', 'folded', '-o', 'out', '--record', 'run']
CPU_TICKS = 10  # of 10 ms: 100 samples
FIRST, SECOND = '3f2a' + 'b' * 60, '3f2c' + '0' * 60


@contextlib.contextmanager
def ended_at_last(process):
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def busy(name, waits=False):
    """A shell command that runs a program of this name, which is busy until there is a file stop, or no folder any more.

    One that waits for let_go() has no children meanwhile: Linux writes a new name over the old one in two steps, and a
    sample between them shows a mixture of both.
    """
    if not os.path.exists(name):
        os.symlink('/bin/sh', name)
    if waits:
        os.mkfifo(f'{name}.go')
    wait = f'read go <{name}.go;' if waits else ''
    return f"./{name} -c '{wait} while [ -e {name} ] && [ ! -e stop ]; do :; done; :'"


def let_go(name):
    with open(f'{name}.go', 'w', encoding='ascii'):
        pass


def ticks(name):
    """The CPU time of the processes of a name so far."""
    total = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            found, fields = re.fullmatch(r'\d+ \((.*)\) (.*)\n', read(f'/proc/{pid}/stat'), re.S).groups()
            if found == name:
                total += sum(map(int, fields.split()[11:13]))
    return total


def let_run(process, *names):
    """Waits until a run has begun and each program has used CPU time since, and lets the programs end."""
    wait_until(lambda: os.path.exists('run') or process.poll() is not None, 'the beginning of the run')
    before = {name: ticks(name) for name in names}
    wait_until(lambda: process.poll() is not None or
               all(ticks(name) >= before[name] + CPU_TICKS for name in names), 'CPU time of all programs')


def programs(path='out'):
    return {line.partition(';')[0] for line in read(path).splitlines()}


@case('processes of a parallel program are apart by rank', needs=[needs_sampling])
def ranks():
    commands = [f'OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 {busy("mpi")}',
                f'OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 {busy("mpi")}',
                f'WORLD_SIZE=8 LOCAL_RANK=1 RANK=5 {busy("torch")}', f'SLURM_NTASKS=3 SLURM_PROCID=2 {busy("slurm")}',
                f'RANK=7 {busy("alone")}']
    process = start(*SAMPLED, '--', 'sh', '-c', ' & '.join([*commands, 'wait']))
    let_run(process, 'mpi', 'torch', 'slurm', 'alone')
    write('stop', '')
    equal(end(process).status, COMPLETE)
    wanted = {'mpi (rank 0)', 'mpi (rank 1)', 'torch (rank 5)', 'slurm (rank 2)', 'alone'}
    equal({name for name in programs() if name.partition(' ')[0] in ('mpi', 'torch', 'slurm', 'alone')}, wanted)


def beside_strangers(command, *options):
    """The programs in the profile of a command that ends when there is a file stop, beside a stranger."""
    with ended_at_last(subprocess.Popen(['sh', '-c', busy('stranger', waits=True)])):
        process = start(*SAMPLED, *options, '--', *command)
        wait_until(lambda: os.path.exists('run') or process.poll() is not None, 'the beginning of the run')
        let_go('stranger')
        yield process
        write('stop', '')
        outcome = end_run(process)
    equal(outcome.status, COMPLETE, outcome.text)
    yield programs()


@case('a command: itself and its descendants, also in other sessions, of other users and without a parent', needs=[
    needs_root, needs_sampling, needs_program('setsid'), needs_program('setpriv')])
def command_and_descendants():
    names = 'pipe', 'session', 'user', 'orphan'
    os.chmod('.', 0o777)
    first, second, third, fourth = (busy(name) for name in names)
    script = (f'{first} | cat & setsid sh -c "{second}" & setpriv --reuid=65534 --clear-groups sh -c "{third}" & '
              f'(({fourth}) &) ; while [ ! -e stop ]; do sleep 0.1; done; wait')
    steps = beside_strangers(['sh', '-c', script])
    let_run(next(steps), *names, 'stranger')
    equal(next(steps) & {*names, 'stranger'}, set(names), 'programs')


@case('sleep and --scope system: the whole system', needs=[needs_sampling])
def whole_system():
    os.symlink('/bin/sh', 'sleep')
    waits = 'while [ ! -e stop ]; do sleep 0.1; done'
    for options, command in ((), ['./sleep', '-c', waits]), (('--scope', 'system'), ['sh', '-c', waits]):
        steps = beside_strangers(command, *options)
        let_run(next(steps), 'stranger')
        require('stranger' in next(steps), 'another program is not in the profile')
        for name in 'stop', 'out', 'run', 'stranger.go':
            os.remove(name)


@case('a command that hardly used the CPU: the last line names --scope system', needs=[needs_sampling])
def idle_command():
    hint = r'^iaprof: sh used .* of one CPU: if other processes work for it, .* --scope system$'
    idle = start(*SAMPLED, 'sh', '-c', 'read line; :', stdin=subprocess.PIPE)
    time.sleep(1)
    lines = end(idle).completes().err.splitlines()
    require(re.match(hint, lines[-1]), f'last line: {lines[-1]}')
    equal([line for line in lines if line.startswith('iaprof: wrote')], ['iaprof: wrote run', 'iaprof: wrote out'], 'files')
    for options, command in ((), busy('alone')), (('--scope', 'system'), 'read line; :'), (('-q',), 'read line; :'):
        for name in 'out', 'run':
            os.remove(name)
        process = start(*SAMPLED, *options, 'sh', '-c', 'exec ' + command if not options else command, stdin=subprocess.PIPE)
        if options:
            time.sleep(1)
        else:
            let_run(process, 'alone')
            write('stop', '')
        outcome = end(process).completes()
        require('--scope system' not in outcome.err, f'standard error: {outcome.err}')


@case('-p: descendants of before and of later, until the last one has ended', needs=[needs_sampling])
def descendants():
    early, late, stranger = (busy(name, waits=True) for name in ('early', 'late', 'stranger'))
    with ended_at_last(subprocess.Popen(['sh', '-c', f'{early} & ({late}) & wait'])) as parent, \
            ended_at_last(subprocess.Popen(['sh', '-c', stranger])):
        process = start(*SAMPLED, '-p', str(parent.pid))
        wait_until(lambda: os.path.exists('run'), 'the beginning of the run')
        for name in 'early', 'late', 'stranger':
            let_go(name)
        let_run(process, 'early', 'late', 'stranger')
        parent.kill()
        parent.wait()
        let_run(process, 'early', 'late')
        equal(process.poll(), None, 'exit status while descendants run')
        write('stop', '')
        outcome = end(process)
    require('process has ended' in outcome.err, f'standard error: {outcome.err}')
    equal(programs() - {'sh'}, {'early', 'late'}, 'programs')


@case('--children no: the processes themselves, until they have ended', needs=[needs_sampling])
def no_children():
    os.symlink('/bin/sh', 'itself')
    with ended_at_last(subprocess.Popen(['./itself', '-c', busy('child') + ' & while [ ! -e stop ]; do :; done'])) \
            as parent:
        process = start(*SAMPLED, '-p', str(parent.pid), '--children', 'no')
        let_run(process, 'itself', 'child')
        parent.kill()
        parent.wait()
        wait_until(lambda: process.poll() is not None, 'the end of the run, while a child runs')
        write('stop', '')
        outcome = end(process)
    equal((outcome.status, programs()), (COMPLETE, {'itself'}), 'status and programs')


def hierarchies():
    """A folder of each mounted hierarchy in which cgroups can be made: v2, and one of v1."""
    found = {}
    for line in read('/proc/self/mounts').splitlines():
        folder, kind, options = line.split()[1:4]
        if kind == 'cgroup2' or kind == 'cgroup' and {'pids', 'name=systemd', 'freezer'} & set(options.split(',')):
            found.setdefault(options if kind == 'cgroup' else kind, folder)
    return found


@contextlib.contextmanager
def cgroups(root, *names):
    """Makes cgroups below a hierarchy, and removes them when they are empty."""
    top = os.path.join(root, f'iaprof-test-{os.getpid()}')
    made = [top, *(os.path.join(top, name) for name in names)]
    try:
        for folder in made:
            try:
                os.makedirs(folder, exist_ok=True)
            except OSError as error:
                raise Skip(f'no cgroup can be made: {error}') from None
        yield top
    finally:
        for folder in reversed(made):
            wait_until(lambda: not os.path.exists(f'{folder}/cgroup.procs') or not read(f'{folder}/cgroup.procs'),
                       'the end of the processes in a cgroup')
        for folder, _, _ in sorted(os.walk(top), reverse=True):
            os.rmdir(folder)


def entering(folder, command):
    return ['sh', '-c', f'echo $$ > {folder}/cgroup.procs; {command}']


for version in ('v2', 'v1'):
    @case(f'--cgroup of {version}: processes in it, below it, and those that enter and leave', version,
          needs=[needs_root, needs_sampling])
    def cgroup(kind):
        mounted = {options: folder for options, folder in hierarchies().items() if (options == 'cgroup2') == (kind == 'v2')}
        if not mounted:
            raise Skip(f'no hierarchy of {kind}')
        for number, folder in enumerate(mounted.values()):
            os.makedirs(f'{kind}-{number}')
            with inside(f'{kind}-{number}'):
                one_cgroup(folder)


@contextlib.contextmanager
def inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def one_cgroup(root):
    with contextlib.ExitStack() as stack:
        top = stack.enter_context(cgroups(root, 'target', 'target/below', 'other'))
        stack.callback(lambda: write('stop', ''))

        def run(command):
            return stack.enter_context(ended_at_last(subprocess.Popen(command)))
        run(entering(f'{top}/target', 'exec ' + busy('member', waits=True)))
        run(entering(f'{top}/target/below', 'exec ' + busy('below', waits=True)))
        run(entering(f'{top}/other', 'exec ' + busy('beside', waits=True)))
        run(['sh', '-c', 'exec ' + busy('outside', waits=True)])
        enters = run(entering(f'{top}/other', 'exec ' + busy('enters', waits=True)))
        leaves = run(entering(f'{top}/target', 'exec ' + busy('leaves', waits=True)))
        process = start(*SAMPLED, '--cgroup', f'{top}/target')
        wait_until(lambda: os.path.exists('run') or process.poll() is not None, 'the beginning of the run')
        write(f'{top}/target/below/cgroup.procs', str(enters.pid))
        write(f'{top}/other/cgroup.procs', str(leaves.pid))
        for name in 'member', 'below', 'beside', 'outside', 'enters', 'leaves':
            let_go(name)
        let_run(process, 'member', 'below', 'beside', 'outside', 'enters', 'leaves')
        process.send_signal(signal.SIGINT)
        write('stop', '')
        outcome = end_run(process)
    equal(outcome.status, COMPLETE, 'status')
    found = programs() - {'sh'}
    # Until it left, it waited.
    # Lost samples are nobody's.
    equal(found - {'leaves', '[lost]'}, {'member', 'below', 'enters'}, 'programs')
    samples = sum(int(line.rsplit(' ', 1)[1]) for line in read('out').splitlines() if line.startswith('leaves;'))
    require(samples < CPU_TICKS * 10_000_000 / 2, f'{samples} ns of the process that left')


def end_run(process):
    """As harness.end(), while children of this process still run."""
    out, err = process.communicate()
    class Result:
        status, text = process.returncode, err.decode()
    require(out == b'', 'standard output')
    return Result


@case('--cgroup: a path as in /proc/PID/cgroup, and what is none', needs=[needs_root])
def cgroup_paths():
    mounted = hierarchies()
    if not mounted:
        raise Skip('no cgroup hierarchy')
    with cgroups(next(iter(mounted.values())), 'inner') as top:
        iaprof('-s', FAILING_SOURCE, '-o', 'out', '--cgroup', '/' + os.path.basename(top) + '/inner', 'true').completes(
            'cannot be restricted to a cgroup')
        os.remove('out')
    iaprof('-s', FAILING_SOURCE, '-o', 'out', '--cgroup', '/none/such').fails(USAGE, r'--cgroup /none/such: no such cgroup')
    iaprof('-s', FAILING_SOURCE, '-o', 'out', '--cgroup', os.getcwd()).fails(USAGE, 'not a cgroup')


FORMS = {
    'docker with systemd': ('docker-{}.scope', 'docker with cgroupfs', 'docker/{}'),
    'podman': ('libpod-{}.scope', 'its container', 'libpod-{}.scope/container'),
    'containerd': ('kubepods.slice/cri-containerd-{}.scope', 'and its colons', 'x.slice:cri-containerd:{}'),
}
for form, (one, _, other) in FORMS.items():
    @case(f'--container of {form}: a prefix, what is ambiguous, what is unknown', one, needs=[needs_root])
    @case(f'--container of {form}, another form', other, needs=[needs_root])
    def container(pattern):
        mounted = hierarchies()
        if not mounted:
            raise Skip('no cgroup hierarchy')
        run = ['-v', '-s', FAILING_SOURCE, '-o', 'out']
        with cgroups(next(iter(mounted.values())), pattern.format(FIRST), pattern.format(SECOND),
                     f'libpod-conmon-{FIRST}.scope', f'not-{FIRST[1:]}.scope') as top:
            for name in FIRST, '3f2a', f'docker://{FIRST}':
                # The form with a folder inside of the container's is found by the container's.
                folder = re.escape(f'{top}/{pattern.format(FIRST)}'.removesuffix('/container'))
                iaprof(*run, '--container', name, 'true').completes(f'container {FIRST}: {folder}$')
                os.remove('out')
            iaprof(*run[1:], '--container', '3f2').fails(USAGE, f'ambiguous: .*{FIRST}, {SECOND}')
            iaprof(*run[1:], '--container', 'ffff').fails(USAGE, f'no such container .found: .*{FIRST}.*{SECOND}')
            os.mkdir(f'{top}/copy')
            os.mkdir(f'{top}/copy/docker-{FIRST}.scope')
            iaprof(*run[1:], '--container', '3f2a').fails(USAGE, 'two cgroups have this id: .* and .*use --cgroup')


@case('--container: a machine of systemd-nspawn by its name', needs=[needs_root])
def machine():
    mounted = hierarchies()
    if not mounted:
        raise Skip('no cgroup hierarchy')
    with cgroups(next(iter(mounted.values())), 'machine.slice', r'machine.slice/machine-iaprof\x2dweb.scope',
                 'machine.slice/systemd-nspawn@iaprof-other.service') as top:
        for name, folder in ('iaprof-web', r'machine-iaprof\x2dweb.scope'), ('iaprof-o', 'systemd-nspawn@iaprof-other.service'):
            iaprof('-v', '-s', FAILING_SOURCE, '-o', 'out', '--container', name, 'true').completes(
                re.escape(f'{top}/machine.slice/{folder}') + '$')
            os.remove('out')


@case('SIGINT ends a run in the background of a shell, which ignores it')
def background():
    process = start('-q', '-s', FAILING_SOURCE, '-o', 'out', '--record', 'run',
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    wait_until(lambda: os.path.exists('run'), 'the beginning of the run')
    process.send_signal(signal.SIGINT)
    outcome = end(process)
    equal((outcome.status, outcome.err), (COMPLETE, ''), 'status and standard error')
    outcome.leaves('out', 'run')


main()
