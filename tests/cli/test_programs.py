#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose code is not simply the file that they were started from: names and callers are right in at least 99 %
of their samples, by construction: main() calls hot_outer(), that hot_middle(), that hot_inner(), and clock()."""
import os
import subprocess
import sys

from harness import Skip, case, iaprof, main, needs_program, needs_root, needs_sampling, read, require, write

SOURCE = 'cpu-stack:frequency=999'
CALLS = ['hot_outer', 'hot_middle', 'hot_inner']
RIGHT_SHARE = 0.99
COPIED_TEXT = [path for path in os.environ['TEST_COPIED_TEXT'].split(':') if path]
FORMS = ('none', 'part', 'whole')
# Milliseconds of CPU time: about as many samples.
WORK = 2000


def stacks(path, programs):
    """(frames without the program and those of the Linux kernel, value) of the samples of programs by name."""
    for line in read(path).splitlines():
        stack, value = line.rsplit(' ', 1)
        program, *frames = stack.split(';')
        if program in programs:
            yield [frame for frame in frames if not frame.endswith('_[k]')], int(value)


def is_right(frames):
    if 'main' not in frames:
        return False
    called = frames[frames.index('main') + 1:]
    return called == CALLS[:len(called)] or called[:1] == ['clock']


def share_right(path, programs):
    counted = list(stacks(path, programs))
    total = sum(value for _, value in counted)
    require(total > 0.5 * WORK / 2 * 1e6, f'only {total / 1e9} s of the program were sampled')
    wrong = [(value, frames) for frames, value in counted if not is_right(frames)]
    return 1 - sum(value for value, _ in wrong) / total, sorted(wrong, reverse=True)[:3]


def judge(path, programs):
    share, wrong = share_right(path, programs)
    print(f'# {share:.2%} right')
    require(share >= RIGHT_SHARE, f'only {share:.2%} of the samples are right; wrong ones: {wrong}')


def program_name(path):
    return os.path.basename(path)[:15]


def sampled_later(arguments, *options):
    """A run with -p of a program that runs already, and has reported that it copied its code."""
    with subprocess.Popen([*arguments, str(3 * WORK)], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        return iaprof('-p', str(process.pid), '-s', SOURCE, '-k', 'folded', '-o', 'out', *options)


def copied(path, form):
    iaprof('--scope', 'command', '-s', SOURCE, '-k', 'folded', '-o', 'out', path, form, str(WORK)).completes()
    judge('out', [program_name(path)])


def copied_before(path, form):
    sampled_later([path, form]).completes()
    judge('out', [program_name(path)])


for program in COPIED_TEXT:
    for kind in FORMS:
        linker = program.rpartition('_')[2]
        case(f'code copied to anonymous memory: {kind}, {linker}', program, kind, needs=[needs_sampling])(copied)
        case(f'code copied before the run: {kind}, {linker}', program, kind, needs=[needs_sampling])(copied_before)


@case('other code where a file was mapped has no names of that file', needs=[needs_sampling])
def other_code():
    if not COPIED_TEXT:
        raise Skip('the linker does not support -fuse-ld')
    for run in ('exec', 'pid'):
        if run == 'exec':
            outcome = iaprof('--scope', 'command', '-s', SOURCE, '-k', 'folded', '-o', 'out', COPIED_TEXT[0], 'other',
                             str(WORK)).completes()
        else:
            outcome = sampled_later([COPIED_TEXT[0], 'other']).completes()
        names = {frame for frames, _ in stacks('out', [program_name(COPIED_TEXT[0])]) for frame in frames}
        require(not names & set(CALLS), f'{run}: names of code that is not there: {names & set(CALLS)}')
        require('[JIT]_[j]' in names and 'generated code without names' in outcome.err, f'{run}: not marked: {names}')


LAUNCHER = """import os, sys
file = os.memfd_create('launched', os.MFD_CLOEXEC)
with open(sys.argv[1], 'rb') as program:
    os.write(file, program.read())
os.dup2(file, 97, inheritable=False)
os.execve(97, sys.argv[1:], os.environ)
"""
# Linux 6.14 and later call the program by the name of its file, earlier ones by the number of its descriptor.
LAUNCHED = ['memfd:launched', '97']


@case('a program that was started from a file in memory', needs=[needs_sampling])
def memory_program():
    if not COPIED_TEXT:
        raise Skip('the linker does not support -fuse-ld')
    launcher = [sys.executable, write('launch.py', LAUNCHER), COPIED_TEXT[0], 'none']
    iaprof('--scope', 'command', '-s', SOURCE, '-k', 'folded', '-o', 'out', *launcher, str(WORK)).completes()
    judge('out', LAUNCHED)
    sampled_later(launcher).completes()
    judge('out', LAUNCHED)


GENERATOR = """import ctypes, mmap, os, sys
file = os.memfd_create('generated')
os.write(file, bytes.fromhex('b900000010ffc975fcc3').ljust(4096, b'\\0'))  # mov $0x10000000, %ecx; dec %ecx; jnz; ret
memory = mmap.mmap(file, 4096, flags=int(sys.argv[1]), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
call = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
for _ in range(10):
    call()
"""


@case('generated code in a file in memory is no damaged program', needs=[needs_sampling])
def memory_code():
    for sharing in ('1', '2'):  # MAP_SHARED, MAP_PRIVATE
        outcome = iaprof('--scope', 'command', '-s', SOURCE, '-k', 'folded', '-o', 'out', sys.executable,
                         write('generate.py', GENERATOR), sharing).completes()
        require('JIT]_[j]' in read('out'), f'flags {sharing}: the code is not marked as generated')
        require('ignored' not in outcome.err, f'flags {sharing}: a file was reported')


# Names its code as runtimes do. The folder /tmp is its own.
CONTAINED = GENERATOR.replace("os.memfd_create('generated')", 'os.open("/tmp/code", os.O_RDWR | os.O_CREAT)').replace(
    'for _', """import time
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(memory[:4096])
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
with open(f'/tmp/perf-{os.getpid()}.map', 'w') as names:
    names.write(f'{address:x} a generated_one\\n')
call = ctypes.CFUNCTYPE(None)(address)
begin = time.process_time()
while time.process_time() < begin + 3:
    call()
for _""").replace('range(10)', 'range(0)')


@case('the perf map of a container that has ended', needs=[needs_sampling, needs_root, needs_program('unshare')])
def contained_map():
    outcome = iaprof('--scope', 'command', '-s', SOURCE, '-k', 'folded', '-o', 'out', 'unshare', '--mount', 'sh', '-c',
                     'mount -t tmpfs none /tmp && "$0" -c "$1" 1', sys.executable, CONTAINED)
    outcome.completes()
    counted = [(frames[-1:], value) for frames, value in stacks('out', [os.path.basename(sys.executable)[:15], 'python3'])
               if frames[-1:] in (['generated_one_[j]'], ['[JIT]_[j]'], ['[Python JIT]_[j]'])]
    total = sum(value for _, value in counted)
    named = sum(value for frames, value in counted if frames == ['generated_one_[j]'])
    require(total > 2e9 and named >= RIGHT_SHARE * total, f'{named / 1e9} s of {total / 1e9} s have the name')
    require('ignored' not in outcome.err, 'a map was reported')


if __name__ == '__main__':
    main()
