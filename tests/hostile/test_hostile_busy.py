#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that a busy machine or a short life could cost: time in which iaprof and its helpers wait for a processor does
not count, ends are in time all the same, and a program's files are kept as soon as it is seen."""
import os

import attack
import attacks
from harness import case, main, needs_program

# Deadlines are extended to at most this many times when processors are busy.
STRETCH_MAX = 3
FINISH_WITHIN = 2
LOOPS_PER_CPU = 8
SECONDS = 0.9


def start_loops(programs):
    """Programs at normal priority, each a file of its own and the user's, which is read by a process of its own."""
    names = [attack.own_name(f'loop{i}') for i in range(LOOPS_PER_CPU * len(os.sched_getaffinity(0)))]
    for name in names:
        programs.start(attack.user_program(name))
    return names


@case('all-names', needs=attack.needs())
def all_names():
    with attack.Programs() as programs:
        names = start_loops(programs)
        # On an idle machine this is enough to read all of the files, but not beside so many loops.
        run = attack.Run('-d', str(SECONDS), '--finish-within', '300ms', *attack.PROFILE, seconds=SECONDS,
                         grace=3 * attack.GRACE, programs=programs)
        found = {frames[0]: frames[-1] for frames, _ in attack.folded('profile') if frames[0] in names and
                 not frames[-1].endswith('_[k]')}
        nameless = [name for name in found if not found[name].startswith('hostile_spin')]
        run.requires(len(found) == len(names), f'{len(names) - len(found)} programs were not sampled')
        run.requires(not nameless, f'{len(nameless)} programs have no names: {nameless[:5]}').judge()


@case('blocked', needs=[*attack.needs(), attacks.needs_fuse])
def blocked():
    with attack.Programs() as programs:
        start_loops(programs)
        paths = [attacks.start_silent_program(programs), attacks.image_with_bomb('busy-bomb')]
        programs.start(paths[1])
        run = attack.Run('-d', str(SECONDS), *attack.PROFILE, seconds=SECONDS, programs=programs,
                         grace=STRETCH_MAX * FINISH_WITHIN + attack.GRACE)
        for path in paths:
            run.names(os.path.basename(path))
        run.judge()


@case('short-lived', needs=[*attack.needs(), needs_program('unshare')])
def short_lived():
    """A program of 0.3 s on a file system that goes with it, in a mount namespace of its own."""
    name = attack.own_name('short')
    script = (f'mount -t tmpfs tmpfs /mnt && cp {attack.BURNER} /mnt/{name} && exec setpriv --reuid {attack.USER} '
              f'--regid {attack.USER} --clear-groups timeout -s KILL 0.3 /mnt/{name}')
    with attack.Programs() as programs:
        started = []

        def follow(recorded, _):
            if recorded > 0.3 and not started:
                started.append(programs.start('unshare', '--mount', 'sh', '-c', script, user=0))
        run = attack.Run('-d', '2', *attack.PROFILE, seconds=2, programs=programs, during=follow)
        stacks = [frames for frames, _ in attack.folded('profile') if frames[0] == name]
        run.requires(stacks, 'the program was not sampled')
        nameless = [stack for stack in stacks if '_start' not in ';'.join(stack)]
        run.requires(not nameless, f'it has no names: {nameless[:3]}').judge()


if __name__ == '__main__':
    main()
