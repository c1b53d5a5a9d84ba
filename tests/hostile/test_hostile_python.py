#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks on Python frames: programs that pretend to be CPython, with structures that lie."""
import os

import attack
from harness import case, main, needs_root, needs_sampling

FORGED = os.path.join(os.environ['TEST_HOSTILE_PROGRAMS'], 'forged_python')
SECONDS = 1
# The deepest stack.
DEPTH = 1024


def profile(mode):
    """-> stacks of a forged interpreter, which a run beside a real program survives"""
    with attack.Programs() as programs:
        forged = programs.start(attack.user_program('forged_python', FORGED), mode, ready=True).pid
        run = attack.Run('-p', str(forged), '-s', 'cpu-stack', *attack.PROFILE, signal_at=SECONDS, sampled=[forged],
                         programs=programs)
        run.requires(run.status == 0, f'exit status {run.status}')
        stacks = [frames for frames, _ in attack.folded('profile')]
        run.requires(stacks, 'no stacks')
        run.requires(all(len(frames) <= DEPTH + 8 for frames in stacks), f'{max(map(len, stacks))} frames')
        run.requires(not any('\x1b' in frame for frames in stacks for frame in frames), 'a control character')
        run.judge()
        return run, stacks


def python_frames(stacks):
    return [frame for frames in stacks for frame in frames if 'forged' in frame and '.py' in frame]


@case('python-cycle', needs=[needs_root, needs_sampling])
def cycle():
    run, stacks = profile('cycle')
    run.requires(python_frames(stacks), f'the cycle has no frames: {stacks[:2]}')


@case('python-huge', needs=[needs_root, needs_sampling])
def huge():
    run, stacks = profile('huge')
    run.requires(any(frame.startswith('[python]') for frames in stacks for frame in frames), f'no [python]: {stacks[:2]}')


@case('python-churn', needs=[needs_root, needs_sampling])
def churn():
    run, stacks = profile('churn')
    run.requires(python_frames(stacks), f'no Python frames: {stacks[:2]}')


@case('python-wild', needs=[needs_root, needs_sampling])
def wild():
    run, stacks = profile('wild')
    run.requires(all(len(frames) < 16 for frames in stacks), f'frames in the Linux kernel: {stacks[:2]}')


if __name__ == '__main__':
    main()
