#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Outputs where others can interfere: names that lead to a FIFO or a device, modes of files, readers that stop."""
import contextlib
import os
import re
import stat
import subprocess

import attack
from harness import LOAD, Skip, case, main, needs_program, require


@case('output-fifo', needs=attack.needs())
def output_fifo():
    fifo = os.path.join(attack.attack_folder(), 'output-fifo')
    os.mkfifo(fifo)
    attack.give(fifo)
    run = attack.Run('-d', '1', '-o', fifo)
    run.requires(run.killed or run.status != 0, 'the profile went nowhere, and the exit status is 0')
    run.names('output-fifo').judge()
    require(stat.S_ISFIFO(os.stat(fifo).st_mode), 'the FIFO was replaced')


@contextlib.contextmanager
def block_device():
    """A block device node whose contents are a file of this test: (node, file)."""
    with open('disk', 'wb') as file:
        file.truncate(1 << 20)
    result = subprocess.run(['losetup', '--find', '--show', 'disk'], capture_output=True, check=False)
    if result.returncode:
        raise Skip(f'no loop device: {result.stderr.decode().strip()}')
    loop = result.stdout.decode().strip()
    try:
        os.mknod('node', stat.S_IFBLK | 0o600, os.stat(loop).st_rdev)
        yield os.path.abspath('node'), os.path.abspath('disk')
    finally:
        subprocess.run(['losetup', '--detach', loop], check=True)


@case('output-symlink-device', needs=[*attack.needs(), needs_program('losetup')])
def output_symlink_device():
    with block_device() as (node, disk):
        link = os.path.join(attack.attack_folder(), 'output-link')
        os.symlink(node, link)
        attack.give(link)
        run = attack.Run('-d', '1', '-o', link)
        subprocess.run(['blockdev', '--flushbufs', node], check=True)
        with open(disk, 'rb') as file:
            run.requires(not any(file.read()), 'the device was written to')
        # The link may be refused, or replaced by the profile; nothing behind it is touched.
        if os.path.islink(link):
            run.requires(run.status != 0, 'the profile went nowhere, and the exit status is 0').names('output-link')
        run.judge()


# The page of the vsyscalls is at the same address everywhere.
LINUX_KERNEL_ADDRESS = re.compile(rb'0x(?!ffffffffff600000)ffff[0-9a-f]{12}')


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@case('output-modes', needs=attack.needs())
def output_modes():
    """What has addresses of the Linux kernel is for its owner only; the rest follows the umask."""
    os.umask(0o022)
    with attack.Programs() as programs:
        copy = programs.start('dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', stderr=subprocess.DEVNULL).pid
        run = attack.Run('--record', 'capture', '-k', 'folded:output=folded', '-k', 'csv:rows=events,output=events',
                         signal_at=1, sampled=[copy], programs=programs)
    run.requires(run.status == 0, f'exit status {run.status}')
    with open('events', 'rb') as file:
        require(LINUX_KERNEL_ADDRESS.search(file.read()), 'the events have no address of the Linux kernel')
    for name, wanted in {'capture': 0o600, 'events': 0o600, 'folded': 0o644}.items():
        run.requires(mode_of(name) == wanted, f'{name} has mode {mode_of(name):o}, not {wanted:o}')
    run.judge()


@contextlib.contextmanager
def stalled_pipe():
    """The writing end of a pipe that is full, and that nobody reads."""
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        yield writer
    finally:
        os.close(reader)
        os.close(writer)


# A sink's queues hold 24 MiB of profiles and as many of blocks (core/run/sink_queue.h); without bounds it is 1 GiB in 6 s.
QUEUES_MAX = 64 << 20


@case('stalled-reader', needs=attack.needs())
def stalled_reader():
    """A sink that cannot write keeps neither memory nor the other sink waiting."""
    sizes = []
    with attack.Programs() as programs, stalled_pipe() as writer:
        truth = attack.start_truth(programs)
        programs.start(LOAD, 'deep', '100000')
        run = attack.Run('--interval', '2ms', '-k', 'csv:output=-', '-k', 'folded:lines=yes,output=profile',
                         signal_at=6, sampled=truth, programs=programs, stdout=writer,
                         during=lambda recorded, pid: sizes.append((recorded, attack.memory_of(pid))))
    # Of the process that has the queues, until the run ends: symbols are read then.
    begin, end = (max(size for recorded, size in sizes if recorded < limit) for limit in (1, 6))
    run.requires(end < begin + QUEUES_MAX, f'grows from {begin >> 20} MiB after 1 s to {end >> 20} MiB')
    run.requires(run.is_cut_short() or attack.truth_stacks() == attack.truth_alone(), 'the stacks of the other sink are not complete')
    run.names('csv', 'standard output').judge()


if __name__ == '__main__':
    main()
