#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --check tells of this machine and of programs that run: real processes with Level Zero's loader or a double."""
import os
import re
import shutil
import subprocess

from harness import PROGRAM, Skip, case, equal, main, needs_program, needs_root, read, require, wait_until

LOADER = os.environ['TEST_LOADER_DOUBLE']


def needs_loader():
    if not LOADER or not os.path.exists(LOADER):
        raise Skip('the double of Level Zero\'s loader is not built')


def items(source, *arguments, wrap=()):
    """The items of a source and its companions: {name: [(state, text)]}. wrap: a command that begins the run."""
    # Not as other runs of these tests, which wait until this process has no child left.
    outcome = subprocess.run([*wrap, PROGRAM, '--check', '-s', source, *arguments], stdin=subprocess.DEVNULL, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False)
    if 'no source "' in outcome.stderr:
        raise Skip(f'not built: {outcome.stderr.strip()}')
    require(not outcome.stderr, f'standard error: {outcome.stderr}')
    found = {}
    for line in outcome.stdout.splitlines():
        if match := re.match(r'  (good|limited|missing) +(.*?): (.*)$', line):
            found.setdefault(match[2], []).append((match[1], match[3]))
    require(found, outcome.stdout)
    return found


class Program:
    """A process with a name of its own that has a copy of the double as its Level Zero loader."""

    def __init__(self, name, loader, environment=None, arguments=()):
        shutil.copy(LOADER, loader)
        shutil.copy(shutil.which('tail'), name)
        fifo = f'{name}.fifo'
        os.mkfifo(fifo)
        self.process = subprocess.Popen([os.path.abspath(name), *arguments, '-f', fifo], stdout=subprocess.DEVNULL,
                                        env={'LD_PRELOAD': os.path.abspath(loader), **(environment or {})})
        wait_until(lambda: loader in read(f'/proc/{self.process.pid}/maps'), 'the mapping of the loader')

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


@case('ze-usdt: how the launches of a running program can be seen', needs=[needs_root, needs_loader])
def running():
    with Program('program', 'libze_loader.so.1.32.0') as pid:
        found = items('ze-usdt:tracer=yes')[f'process {pid} (program)']
        equal([state for state, _ in found], ['limited'], 'states')
        require(f'-p {pid} -s ze-usdt:tracer=inject' in found[0][1], found)
        require('source lines of GPU code' in items('ze-usdt'), 'nothing of source lines')
    require(not any(f'process {pid} ' in name for name in items('ze-usdt')), 'a process that has ended')


@case('ze-usdt: a loader that is too old', needs=[needs_root, needs_loader])
def old_loader():
    with Program('program', 'libze_loader.so.1.15.7') as pid:
        state, text = items('ze-usdt')[f'process {pid} (program)'][0]
        equal(state, 'limited', 'state')
        require('libze_loader.so.1.15.7 is older than 1.15.8' in text, text)


for name, environment, expected in (
        ('python3.12', {}, ('limited', 'PYTHONPERFSUPPORT=1')),
        ('python3.12', {'PYTHONPERFSUPPORT': '0'}, ('limited', 'PYTHONPERFSUPPORT=1')),
        ('python3.13', {'PYTHONPERFSUPPORT': '1'}, ('good', 'Python 3.13 tells its functions')),
        ('python3.11', {'PYTHONPERFSUPPORT': '1'}, ('limited', 'Python 3.11 does not tell'))):
    @case(f'ze-usdt: Python, by a program that is called {name}, {environment}', name, environment, expected,
          needs=[needs_root, needs_loader])
    def python(name, environment, expected):
        with Program(name, 'libze_loader.so.1.32.0', environment) as pid:
            found = items('ze-usdt')[f'process {pid} ({name})']
            equal((len(found), found[1][0]), (2, expected[0]), 'items and state')
            require(expected[1] in found[1][1], found)


@case('ze-usdt: a program chooses its name, and cannot write to the terminal or make lines', needs=[needs_root, needs_loader])
def hostile():
    with Program('x\n\x1b[31m', 'libze_loader.so.1.32.0') as pid:
        require(any(name.startswith(f'process {pid} (x??[31m)') for name in items('ze-usdt')), 'the name')


@case('xe-eustall: the Linux kernel, as uname tells it')
def kernel():
    state, text = items('xe-eustall')['Linux kernel'][0]
    release = os.uname().release
    version = tuple(int(part) for part in re.match(r'(\d+)\.(\d+)', release).groups())
    require(text.startswith(release), text)
    require(state == 'good' if version >= (6, 15) else True, state)


@case('xe-eustall: GPUs of Intel, as sysfs has them; its companion tells what it needs, too')
def gpus():
    found = items('xe-eustall')
    wanted = []
    for node in sorted(os.listdir('/sys/class/drm')) if os.path.isdir('/sys/class/drm') else []:
        device = f'/sys/class/drm/{node}/device'
        if node.startswith('renderD') and read(f'{device}/vendor').strip() == '0x8086':
            wanted.append(f'GPU at {os.path.basename(os.path.realpath(device))}')
    equal(sorted(name for name in found if name.startswith('GPU at ')), sorted(wanted), 'GPUs')
    if not wanted:
        equal(found['GPU with EU stalls'][0][0], 'missing', 'state')
    require('Level Zero loader' in found, 'nothing of Level Zero')
    loaded = os.path.isdir('/sys/module/xe')
    equal(found['driver xe'][0][0] == 'missing', not loaded, 'driver xe is missing')
    require('Level Zero loader' not in items('xe-eustall:ze-usdt=no'), 'the companion that is not wanted')


@case('xe-eustall: the right to sample, with and without', needs=[needs_root, needs_program('setpriv')])
def rights():
    equal(items('xe-eustall')['right to sample'][0][0], 'good', 'for root')
    nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    state, text = items('xe-eustall', wrap=nobody)['right to sample'][0]
    path = '/proc/sys/dev/xe/observation_paranoid'
    if os.path.exists(path) and read(path).strip() == '0':
        raise Skip(f'{path} is 0: everybody may')
    equal(state, 'missing', 'for nobody')
    require('CAP_PERFMON' in text and 'dev.xe.observation_paranoid=0' in text, text)


@case('depth of stacks is the sysctl\'s')
def depth():
    wanted = read('/proc/sys/kernel/perf_event_max_stack').strip()
    state, text = items('cpu-stack')['depth of stacks'][0]
    require(text.startswith(f'{wanted} addresses'), text)
    equal(state, 'good' if int(wanted) >= 512 else 'limited', 'state')


@case('frame pointers: as objdump shows the C library', needs=[needs_program('objdump'), needs_program('ldd')])
def frame_pointers():
    found = items('cpu-stack')
    if 'frame pointers' not in found:
        raise Skip('not looked at on this architecture')
    library = re.search(r'libc\.so\.6 => (\S+)', subprocess.run(['ldd', shutil.which('tail')], stdout=subprocess.PIPE,
                                                             encoding='utf-8', check=True).stdout)[1]
    code = subprocess.run(['objdump', '-d', '--no-show-raw-insn', library], stdout=subprocess.PIPE, encoding='utf-8',
                          check=True).stdout
    sets = len(re.findall(r'mov +%rsp,%rbp', code))
    calls = len(re.findall(r'\n\n', code))
    # Nearly each function of a library with frame pointers sets one, few of one without do.
    equal(found['frame pointers'][0][0], 'good' if sets * 3 > calls or sets > 1500 else 'limited',
          f'state; {sets} of {calls} set one')


@case('names of the Linux kernel\'s functions: seen by root', needs=[needs_root])
def kernel_names():
    shown = any(not line.startswith('0000000000000000') for line in read('/proc/kallsyms').splitlines())
    equal(items('cpu-stack')['names of the Linux kernel\'s functions'][0][0], 'good' if shown else 'limited', 'state')
    require('names of the Linux kernel\'s functions' not in items('cpu-stack:kernel=no'), 'not asked for')


if __name__ == '__main__':
    main()
