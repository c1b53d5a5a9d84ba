#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many attackers at once, in a cgroup that is small; and renames that fill what others need."""
import contextlib
import os
import re

import attack
import attacks
from harness import Skip, case, main, read, wait_until

CGROUP_MEMORY = 256 << 20
COUNT = 64
# While they map and are ended, all at once, they keep the machine busy for a second each.
MAKING_COUNT = 16
NICENESS = 19
SECONDS = 3


class Cgroup:
    """A cgroup of either version with a limit of memory; wrap is a command that runs another one in it."""

    def __init__(self, limit):
        root = '/sys/fs/cgroup'
        version_2 = os.path.exists(f'{root}/cgroup.controllers')
        self.path = f'{root}/{"" if version_2 else "memory/"}iaprof-hostile-{os.getpid()}'
        self.limit, self.events = (('memory.max', 'memory.events') if version_2 else
                                   ('memory.limit_in_bytes', 'memory.oom_control'))
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise Skip(f'no cgroup can be made here: {error}') from None
        try:
            with open(f'{self.path}/{self.limit}', 'w', encoding='ascii') as file:
                file.write(str(limit))
            self.kills()
        except OSError as error:
            os.rmdir(self.path)
            raise Skip(f'cgroups have no limit of memory here: {error}') from None
        self.wrap = ['sh', '-c', f'echo $$ > {self.path}/cgroup.procs && exec "$@"', 'sh']

    def kills(self):
        match = re.search(r'^oom_kill (\d+)', read(f'{self.path}/{self.events}'), re.M)
        return int(match[1]) if match else 0

    def remove(self):
        with contextlib.suppress(OSError):
            wait_until(lambda: not read(f'{self.path}/cgroup.procs'), 'the end of all in the cgroup')
            os.rmdir(self.path)


def start_crowd(programs):
    """Starts all attackers. -> {kind, which is part of file names: process that is certainly sampled}"""
    kinds = {
        'debuglink-sparse': attacks.image_with_sparse_debug_file,
        'shstrtab-3g': attacks.image_with_long_names,
        'sections-60000': lambda name: attacks.image_with_many_sections(name, size=2 << 20),
        'altlink-fifo': attacks.image_with_names_in_fifo,
        'zdebug-bomb': attacks.image_with_bomb,
    }
    paths = []
    for number in range(COUNT):
        kind = list(kinds)[number % len(kinds)]
        paths.append(kinds[kind](f'{kind}-{number:02}'))
    # So many may take the CPUs away from whoever profiles them; that is the scheduler's matter.
    started = [programs.start(path, niceness=NICENESS if number >= len(kinds) else 0).pid for number, path in enumerate(paths)]
    return dict(zip(kinds, started))


@case('sixty-four', needs=attack.needs())
def sixty_four():
    with attack.Programs() as programs:
        kinds = start_crowd(programs)
        cgroup = Cgroup(CGROUP_MEMORY)
        programs.callback(cgroup.remove)
        run = attack.attacked(programs, refused=kinds, sampled=kinds.values(), seconds=SECONDS, wrap=cgroup.wrap)
        kills = cgroup.kills()
        run.requires(not kills, f'{kills} processes were killed for memory in a cgroup of {CGROUP_MEMORY >> 20} MiB')
        run.judge()


def needs_memory():
    """The Linux kernel keeps some 250 bytes for each mapping."""
    if int(re.search(r'MemAvailable:\s+(\d+)', read('/proc/meminfo'))[1]) << 10 < 4 << 30:
        raise Skip('4 GiB of memory are needed')


def mapping_attackers(programs):
    """64 processes with as many mappings as Linux allows by default, all executable."""
    binary = attack.user_program('many_mappings', attack.MANY_MAPPINGS)
    for _ in range(COUNT):
        programs.start(binary, '65000', ready=True)


@case('many-mappings', needs=[*attack.needs(), needs_memory])
def many_mappings():
    with attack.Programs() as programs:
        mapping_attackers(programs)
        run = attack.attacked(programs, refused=[f'mappings of processes of user {attack.USER}'], seconds=SECONDS)
        run.judge()


@case('invented-paths', needs=attack.needs())
def invented_paths():
    with attack.Programs() as programs:
        binary = attack.user_program('invented_paths', attack.INVENTED_PATHS)
        programs.start(binary, ready=True, cwd=attack.attack_folder())
        run = attack.attacked(programs, refused=['names and paths of users who have too many'], seconds=SECONDS)
        run.judge()


@case('many-mappings: made during the run', needs=[*attack.needs(), needs_memory])
def many_mappings_made():
    with attack.Programs() as programs:
        truth = attack.start_truth(programs)
        binary = attack.user_program('many_mappings', attack.MANY_MAPPINGS)

        def follow(recorded, _):
            if recorded > 0.3 and len(programs.pids) < MAKING_COUNT:
                programs.start(binary, '65000', niceness=NICENESS)
        run = attack.Run(*attack.PROFILE, signal_at=SECONDS, sampled=truth, programs=programs, during=follow)
        run.completes().judge()


RENAME_STORM = os.environ['TEST_RENAME_STORM']


def needs_rename_storm():
    if not os.path.exists(RENAME_STORM):
        raise Skip('the program rename_storm is not built')


def lost_process_events(err):
    """Lines of standard error that say that process events were lost."""
    return [line for line in err.splitlines() if re.search(r'lost|dropped', line, re.I) and
            re.search(r'process|rename|side-?band|comm', line, re.I) and 'cannot read the memory map' not in line]


@case('rename-storm', 'colliding', needs=[*attack.needs(), needs_rename_storm])
@case('rename-storm: ordinary names', 'ordinary', needs=[*attack.needs(), needs_rename_storm])
def rename_storm(names):
    path = attack.user_program('rename_storm', RENAME_STORM)
    with attack.Programs() as programs:
        truth = attack.start_truth(programs)
        started = []

        def follow(recorded, _):
            if recorded > 0.3 and not started:
                started.append(programs.start(path, names, '40000', '20000'))
        run = attack.Run(*attack.PROFILE, signal_at=1, sampled=truth, programs=programs, during=follow,
                         until=lambda: started and started[0].poll() is not None).completes()
        lost = lost_process_events(run.err)
        run.requires(not lost, f'process events were lost: {lost}').judge()


if __name__ == '__main__':
    main()
