#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs for which iaprof would wait forever if it read their memory or their files itself."""
import itertools
import os

import attack
import attacks
from harness import Skip, case, main, read
import web_server

HELD = f'processes of user {attack.USER}'
NEEDS = [*attack.needs(), attacks.needs_fuse]


@case('memory-held', needs=NEEDS)
def memory_held():
    with attack.Programs() as programs:
        attacks.start_held_program(programs)
        attack.attacked(programs, refused=[f'environments of {HELD}', f'mappings of {HELD}']).judge()


@case('memory-held: --check', needs=NEEDS)
def memory_held_check():
    with attack.Programs() as programs:
        process = attacks.start_held_program(programs)
        run = attack.Run('--check', '-s', 'ze-usdt', programs=programs)
        if 'ze-usdt' not in run.out:
            raise Skip('built without source ze-usdt')
        line = next((line for line in run.out.splitlines() if f'process {process.pid} ' in line), '')
        run.requires('could not be read in time' in line, f'process {process.pid} is not named: {run.out}').judge()


@case('fuse-silent: sources that look for libraries', needs=NEEDS)
def fuse_silent_libraries():
    with attack.Programs() as programs:
        path = attacks.start_silent_program(programs)
        attack.attacked(programs, '-s', 'cpu-stack', '-s', 'ze-usdt:tracer=yes', refused=[os.path.basename(path)]).judge()


@case('overlay-above-silent-fuse', needs=NEEDS)
def overlay_above_silent_fuse():
    """The processes of its namespaces wait for it, and end with the server."""
    with attack.Programs() as programs:
        name = attacks.start_overlay_program(programs)
        attack.attacked(programs, refused=[name]).judge()


@case('announced-on-silent-fuse', needs=NEEDS)
def announced_on_silent_fuse():
    """A probe of the program announces code in a file that nobody can open."""
    program = os.environ['TEST_ZE_FIRE']
    if not os.path.exists(program):
        raise Skip('built without programs with probes')
    with attack.Programs() as programs:
        server, path = attacks.mount_fuse(programs, (4096, 8192))
        attacks.silence(server)
        process = programs.start(program)
        module = itertools.count(1)

        def announce(recorded, _):
            if recorded > 0:
                process.stdin.write(f'compile {path} {next(module)}\n'.encode())
                process.stdin.flush()
        pids = attack.start_truth(programs)
        run = attack.Run(*attack.PROFILE, '-s', 'cpu-stack', '-s', 'ze-usdt:tracer=no', '-p',
                         ','.join(map(str, [process.pid, *pids])), signal_at=1, sampled=pids, programs=programs, during=announce,
                         until=lambda: path in read('iaprof.err'))
        run.completes().names(path).judge()


@case('stack-on-silent-file', needs=NEEDS)
def stack_on_silent_file():
    with attack.Programs() as programs:
        process = attacks.start_on_unread_page(programs, 'stack_on_file')
        pids = attack.start_truth(programs)
        run = attack.Run(*attack.PROFILE, '-s', 'cpu-stack', '-s', 'off-cpu', '-p', ','.join(map(str, [process.pid, *pids])),
                         signal_at=1, sampled=pids, programs=programs)
        run.requires(run.killed or run.status == 0, f'exit status {run.status}')
        run.names('cannot read the threads that are asleep').judge()


@case('context-on-silent-file', needs=NEEDS)
def context_on_silent_file():
    with attack.Programs() as programs, web_server.Receiver() as server:
        process = attacks.start_on_unread_page(programs, 'silent_context')
        sampled = [*attack.start_truth(programs), process.pid]
        run = attack.Run('-k', 'folded:lines=yes,output=profile', '-k', f'otlp:endpoint={server.url}', signal_at=1,
                         sampled=sampled, programs=programs).completes()
        if 'no sink otlp' in run.err:
            raise Skip('built without sink otlp')
        run.requires(run.killed or server.bodies, 'no profile was sent').judge()


if __name__ == '__main__':
    main()
