#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that a busy machine or a short life could cost: time in which iaprof and its helpers wait for a processor does
not count, ends are in time all the same, and a program's files are kept as soon as it is seen."""
import os

import attack
import attacks
from harness import case, main, needs_program

LOOPS_PER_CPU = 8
SECONDS = 0.9
# On an idle machine this is enough to read the files of all loops, but not beside so many loops.
QUICK = 0.3


def start_loops(programs):
    """Programs at normal priority, each a file of its own and the user's, which is read by a process of its own.
    -> {name: process id}"""
    names = [attack.own_name(f'loop{i}') for i in range(LOOPS_PER_CPU * len(os.sched_getaffinity(0)))]
    return {name: programs.start(attack.user_program(name)).pid for name in names}


@case('all-names', needs=attack.needs())
def all_names():
    with attack.Programs() as programs:
        loops = start_loops(programs)
        run = attack.Run(*attack.PROFILE, finish_within=QUICK, signal_at=SECONDS,
                         sampled=loops.values(), programs=programs)
        found = {frames[0]: frames[-1] for frames, _ in attack.folded('profile') if frames[0] in loops and
                 not frames[-1].endswith('_[k]')}
        nameless = [name for name in found if not found[name].startswith('hostile_spin')]
        run.requires(len(found) == len(loops), f'{len(loops) - len(found)} programs were not sampled')
        run.requires(not nameless or run.is_cut_short(), f'{len(nameless)} programs have no names after '
                     f'{run.end_elapsed:.2f} s: {nameless[:5]}').judge()


@case('blocked', needs=[*attack.needs(), attacks.needs_fuse])
def blocked():
    with attack.Programs() as programs:
        loops = start_loops(programs)
        silent, bomb = attacks.start_silent_program(programs), attacks.image_with_bomb('busy-bomb')
        sampled = [*loops.values(), programs.start(bomb).pid]
        run = attack.Run(*attack.PROFILE, signal_at=SECONDS, sampled=sampled, programs=programs)
        for path in silent, bomb:
            run.names(os.path.basename(path))
        run.judge()


# Seconds after which the program is killed: of its CPU time, and of time in which iaprof did not wait for a CPU.
SHORT_LIFE = 0.3


@case('short-lived', needs=[*attack.needs(), needs_program('unshare')])
def short_lived():
    """A program of 0.3 s on a file system that goes with it, in a mount namespace of its own."""
    name = attack.own_name('short')
    script = (f'mount -t tmpfs tmpfs /mnt && cp {attack.BURNER} /mnt/{name} && exec setpriv --reuid {attack.USER} '
              f'--regid {attack.USER} --clear-groups /mnt/{name}')
    with attack.Programs() as programs:
        started = patience = None

        def follow(recorded, profiler):
            nonlocal started, patience
            if recorded > 0.3 and not started:
                started = programs.start('unshare', '--mount', 'sh', '-c', script, user=0)
            if not started or started.pid not in programs.pids or attack.name_of(started.pid) != name:
                return
            patience = patience or attack.Patience([profiler])
            if attack.cpu_time(started.pid) > SHORT_LIFE and patience.is_over([profiler], SHORT_LIFE):
                programs.kill(started)

        def has_ended():
            return started and started.pid not in programs.pids
        run = attack.Run(*attack.PROFILE, signal_at=1, until=has_ended, programs=programs, during=follow)
        # When it ends, its memory goes before the Linux kernel has closed its files.
        stacks = [frames for frames, _ in attack.folded('profile') if frames[0] == name and
                  not all(frame.endswith('_[k]') for frame in frames[1:])]
        run.requires(stacks, 'the program was not sampled')
        nameless = [stack for stack in stacks if '_start' not in ';'.join(stack)]
        run.requires(not nameless or run.is_cut_short(), f'it has no names: {nameless[:3]}').judge()


if __name__ == '__main__':
    main()
