#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on the unwind tables of user stacks: one user's mappings leave room for those of others."""
import os
import subprocess

import attack
from harness import Skip, case, main, needs_root, needs_sampling

TABLES = ('-s', 'cpu-stack:unwind=tables')
FRAMELESS = os.environ['TEST_CHAINS']
CHAIN = ['main', 'frameless_one', 'frameless_two', 'spin_frameless']
SECONDS = 4
# Each has 4,096 with those of its program and libraries, and there is room for 32 such processes. A user's share is
# that of 8, of which those of 2 are for programs with few mappings.
MAPPINGS = 4000
COUNT, SHARE = 36, 6


def needs_tables():
    result = subprocess.run([os.environ['TEST_IAPROF'], '-q', *TABLES, '-d', '10ms', '-k', 'folded', '-o', '/dev/null'],
                            capture_output=True, encoding='utf-8', check=False)
    if result.returncode:
        raise Skip(f'no unwind tables here: {result.stderr}')
    if not os.path.exists(FRAMELESS):
        raise Skip(f'{FRAMELESS} is not built')


def is_complete(frames):
    """Only its table reaches main in the program without frame pointers."""
    names = [frame.split(':')[0] for frame in frames if not frame.endswith('_[k]')]
    return names[-len(CHAIN):] == CHAIN


@case('many-mappings', needs=[needs_root, needs_sampling, needs_tables])
def many_mappings():
    with attack.Programs() as programs:
        binary = attack.user_program('many_mappings', attack.MANY_MAPPINGS)
        pids = [programs.start(binary, str(MAPPINGS), ready=True).pid for _ in range(COUNT)]
        chains = [programs.start(FRAMELESS, 'frameless', user=0).pid]
        # A program of the attacker's user with as few mappings as is usual has its share, too.
        small = attack.user_program('small', FRAMELESS)
        chains.append(programs.start(small, 'frameless').pid)
        run = attack.Run('-p', ','.join(map(str, pids + chains)), *TABLES, '-k', 'folded', '-o', 'profile',
                         signal_at=SECONDS, sampled=chains, sampled_time=SECONDS / 2, finish_within=attack.LONG, grace=attack.LONG + attack.GRACE, programs=programs)
        run.requires(run.status == 0, f'exit status {run.status}')
        stacks = [frames for frames, _ in attack.folded('profile')]
        for name in os.path.basename(FRAMELESS), 'small':
            found = [frames for frames in stacks if frames[0].startswith(name[:15])]
            run.requires(any(map(is_complete, found)), f'no stack of {name} is complete: {found}')
        run.names(f'no unwind tables for {COUNT - SHARE} processes of user {attack.USER}')
        run.judge()


if __name__ == '__main__':
    main()
