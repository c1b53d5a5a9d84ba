#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Without the rights or the kernel for it, one line of iaprof states which capability or feature is missing."""
import ctypes
import errno
import os
import resource
import struct

from harness import (COMPLETE, FAILING_SOURCE, NOTHING, OWN_FAILURE, Skip, case, equal, iaprof, library, main, needs_program,
                     needs_root, needs_sampling, require, write)

NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
NOT_HERE = (('no source was named', []), ('the source was named', ['-s', 'cpu-stack']))


def without(*capabilities):
    dropped = ','.join(f'-{name}' for name in capabilities)
    return ['setpriv', f'--bounding-set={dropped}', f'--inh-caps={dropped}']


def drop_calls(numbers, error):
    """A seccomp filter for a child: these system calls (of this architecture) fail as in a kernel without them."""
    BPF_LD_W_ABS, BPF_JEQ, BPF_RET = 0x20, 0x15, 0x06
    ALLOW, ERRNO = 0x7fff0000, 0x00050000
    program = [(BPF_LD_W_ABS, 0, 0, 0)]
    for number in numbers:
        program += [(BPF_JEQ, 0, 1, number), (BPF_RET, 0, 0, ERRNO | error)]
    program.append((BPF_RET, 0, 0, ALLOW))
    code = b''.join(struct.pack('HBBI', *step) for step in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(program), ctypes.addressof(buffer)))

    def apply():
        PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
        library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if library.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_program, 0, 0):
            os._exit(99)
    apply.kept = buffer
    return apply


def system_call(name):
    numbers = {'x86_64': {'bpf': 321, 'perf_event_open': 298}, 'aarch64': {'bpf': 280, 'perf_event_open': 241}}
    machine = os.uname().machine
    if machine not in numbers:
        raise Skip(f'the number of {name}() on {machine} is not known to this test')
    return numbers[machine][name]


for how, source in NOT_HERE:
    @case(f'an ordinary user, {how}', source, needs=[needs_root, needs_program('setpriv')])
    def ordinary_user(source):
        iaprof(*source, '-d', '1s', wrap=NOBODY).fails(
            NOTHING, '^iaprof: source cpu-stack: ', 'CAP_BPF', 'CAP_PERFMON', 'run as root')

    @case(f'an ordinary user with a command, {how}', source, needs=[needs_root, needs_program('setpriv')])
    def ordinary_user_command(source):
        os.chmod('.', 0o777)
        iaprof(*source, '-o', 'out', 'touch', 'ran', wrap=NOBODY).fails(OWN_FAILURE, 'CAP_BPF')

    for missing in (('bpf', 'sys_admin'), ('perfmon', 'sys_admin')):
        @case(f'root without {" and ".join(missing)}, {how}', source, missing,
              needs=[needs_root, needs_sampling, needs_program('setpriv')])
        def root_without(source, missing):
            iaprof(*source, '-d', '1s', wrap=without(*missing)).fails(
                NOTHING, '^iaprof: source cpu-stack: ', f'CAP_{missing[0].upper()}')

    for name, error in (('bpf', errno.ENOSYS), ('bpf', errno.EPERM), ('perf_event_open', errno.ENOSYS),
                        ('perf_event_open', errno.EACCES)):
        @case(f'{name}() gives {errno.errorcode[error]}, {how}', source, name, error,
              needs=[needs_root, needs_sampling])
        def no_call(source, name, error):
            said = {('bpf', errno.ENOSYS): ('BPF', 'CONFIG_BPF_SYSCALL|has no BPF|without BPF'),
                    ('bpf', errno.EPERM): ('CAP_BPF',),
                    ('perf_event_open', errno.ENOSYS): ('perf', 'CONFIG_PERF_EVENTS|without perf events|has no perf'),
                    ('perf_event_open', errno.EACCES): ('CAP_PERFMON|perf_event_paranoid',)}[name, error]
            iaprof(*source, '-d', '1s', '-o', 'out', preexec_fn=drop_calls([system_call(name)], error)).fails(
                NOTHING, '^iaprof: source cpu-stack: ', *said)


@case('too few open files: the limit is named, whatever it is that could not be opened', needs=[
    needs_root, needs_sampling])
def open_files():
    def limit(count):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
    stopped = 0
    for count in (*range(8, 64), 96, 128, 256):  # what is open at a time depends on how busy the machine is
        outcome = iaprof('-q', '--scope', 'command', '-s', 'cpu-stack', '-o', 'out', 'true', preexec_fn=limit(count))
        if outcome.status == COMPLETE:
            break
        stopped += 1
        outcome.fails(outcome.status, fr'open files \(ulimit -n\), which is {count}$')
        require('or newer' not in outcome.err, f'{count}: a version of Linux is named')
    equal(outcome.status, COMPLETE, f'status with {count} files')
    require(stopped > 5, f'only {stopped} limits were too few')


@case('the soft limit of open files: raised for iaprof, the command has its own', needs=[needs_root, needs_sampling])
def soft_limit():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    outcome = iaprof('-q', '-s', 'cpu-stack', '-o', 'out', 'sh', '-c', 'ulimit -Sn; ulimit -Hn',
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, hard))).completes()
    equal(outcome.out.split(), ['8', str(hard) if hard != resource.RLIM_INFINITY else 'unlimited'], 'limits')


@case('--check reports it for each source, and which sources can run', needs=[needs_root, needs_program('setpriv')])
def check():
    outcome = iaprof('--check', '-s', 'cpu-stack', '-s', FAILING_SOURCE, wrap=NOBODY)
    equal((outcome.status, outcome.err), (NOTHING, ''), 'status and standard error')
    lines = outcome.out.splitlines()
    equal([line for line in lines if not line.startswith(' ')], [
        'source cpu-stack: cannot run here', 'source failing-source: ready',
        'sink folded: ready, writes standard output'], 'what is said')
    require('CAP_BPF' in lines[1], f'no capability in: {lines[1]}')


@case('an ordinary user with a source that needs no rights', needs=[needs_root, needs_program('setpriv')])
def ordinary_source():
    outcome = iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=2', wrap=NOBODY)
    equal((outcome.status, outcome.out, outcome.err), (COMPLETE, 'sampled program 2\n', ''), 'status and output')


@case('a configuration that may not be read', needs=[needs_root, needs_program('setpriv')])
def unreadable():
    write('secret.ini', '[iaprof]\n', 0o600)
    iaprof('-c', 'secret.ini', '--check', wrap=NOBODY).fails(2, 'cannot read secret.ini: Permission denied')


@case('a process that may not be profiled is refused by the source, not by the process id', needs=[
    needs_root, needs_program('setpriv')])
def process_of_another():
    iaprof('-p', '1', '-d', '1s', wrap=NOBODY).fails(NOTHING, 'CAP_BPF')


if __name__ == '__main__':
    main()
