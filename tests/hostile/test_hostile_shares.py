#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One user who fills a table or a queue that all users share: the others keep their part of it."""
import os
import shutil
import subprocess

import attack
from harness import Skip, case, main

MOUNT_NAMESPACES = os.path.join(attack.PROGRAMS, 'mount_namespaces')
# More than the limit on root folders of all users.
NAMESPACE_COUNT = 1100
SECONDS = 3


def start_in_container(programs, name):
    """A copy of the program of known truth that is only in a mount namespace of root."""
    os.mkdir('container')
    shutil.copyfile(attack.TRUTH, name)
    os.chmod(name, 0o755)
    script = (f'mount --make-rprivate / && mount -t tmpfs none container && cp {name} container/{name} && rm {name} && '
              f'exec container/{name}')
    return programs.start('unshare', '-m', 'sh', '-c', script, user=0, ready=True)


def needs_namespaces():
    if subprocess.run(['unshare', '-Um', 'true'], **attack.as_user(attack.USER), capture_output=True, check=False).returncode:
        raise Skip('users cannot make namespaces here')


@case('mount namespaces of a user, beside a container', needs=[*attack.needs(), needs_namespaces])
def mount_namespaces():
    with attack.Programs() as programs:
        binary = attack.user_program('mount_namespaces', MOUNT_NAMESPACES)
        programs.start(binary, str(NAMESPACE_COUNT), ready=True)
        name = attack.own_name('inside')
        contained = []

        def follow(recorded, _):
            if recorded > 0.3 and not contained:
                contained.append(start_in_container(programs, name))
            # Then only the root folder that was opened leads to its file.
            elif contained and contained[0].poll() is None and attack.cpu_time(contained[0].pid) > 2 * attack.SAMPLED_TIME:
                contained[0].kill()
        run = attack.attacked(programs, refused=[f'mount namespaces of user {attack.USER}'], seconds=SECONDS, during=follow,
                              until=lambda: contained and contained[0].poll() is not None)
        found = [frames for frames, _ in attack.folded('profile') if frames[0] == name]
        named = [frames for frames in found if any(frame.startswith('truth_c:truth.c') for frame in frames)]
        run.requires(run.is_cut_short() or named, f'no names in the container: {found[:3]}').judge()


# One for each CPU that the run can use.
STORM_COUNT = os.cpu_count()


@case('events of processes that rename themselves without pause', 'renames', needs=attack.needs())
@case('events of processes that map a file with a long path without pause', 'mappings', needs=attack.needs())
def event_storm(kind):
    """Others' events are lost, too: the ring buffers are the Linux kernel's. Who caused it is named."""
    with attack.Programs() as programs:
        binary = attack.user_program('event_storm', os.path.join(attack.PROGRAMS, 'event_storm'))
        for _ in range(STORM_COUNT):
            programs.start(binary, kind, ready=True, cwd=attack.attack_folder(), niceness=19)
        run = attack.attacked(programs, seconds=SECONDS, sampled=[])
        lost = [line for line in run.err.splitlines() if 'perf ring full' in line]
        # Not in each turn: the user of a process that has ended is not known.
        run.requires(not lost or any(f'most are of user {attack.USER}' in line for line in lost), f'not named: {lost}').judge()


TRACER = os.path.join(os.path.dirname(attack.PROGRAM), 'plugins/ze-usdt/libiaprof-ze-tracer.so')
# More than the limit on files of all users.
PROBED_COUNT = 130


def needs_tracer():
    if not os.path.exists(TRACER):
        raise Skip('the tracer of ze-usdt is not built')


@case('files in memory with probes, to which iaprof attaches', needs=[*attack.needs(), needs_tracer])
def probed_memfds():
    with attack.Programs() as programs:
        binary = attack.user_program('probed_memfds', os.path.join(attack.PROGRAMS, 'probed_memfds'))
        library = attack.user_program('tracer', TRACER)
        programs.start(binary, str(PROBED_COUNT), library, ready=True)
        run = attack.attacked(programs, '-s', 'cpu-stack', '-s', 'ze-usdt:tracer=no', seconds=SECONDS,
                              refused=['probes of /memfd:probed'])
        run.requires('too many files of its owner have such probes' in run.err, 'no message of the share').judge()


if __name__ == '__main__':
    main()
