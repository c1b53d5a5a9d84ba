#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program on an overlay that its user mounted above a silent FUSE server, executed outside of the mount namespace of
the overlay: overlay_program.py DEVICE PROGRAM KEPT-BEGIN KEPT-END USER.

A child of another user and mount namespace mounts both, and sends an open file of the overlay, which this process
executes. DEVICE is a node of /dev/fuse that everybody may open. It prints "ready" before; when a line comes, the server
stops to answer (silent_fuse.py), and prints "ready" again.
"""
import array
import ctypes
import os
import socket
import sys

import silent_fuse

CLONE_NEWNS, CLONE_NEWUSER, PR_SET_DUMPABLE = 0x20000, 0x10000000, 4
library = ctypes.CDLL(None, use_errno=True)


def check(failed, what):
    if failed:
        print(f'{what}: {os.strerror(ctypes.get_errno())}', flush=True)
        sys.exit(1)


def write(path, text):
    """Without the modules of Python that are not loaded yet, which the user may not read."""
    file = os.open(path, os.O_WRONLY)
    os.write(file, text.encode())
    os.close(file)


def enter_namespaces(user):
    # The maps are root's until then, because the user has changed.
    library.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    check(library.unshare(CLONE_NEWUSER | CLONE_NEWNS), 'unshare')
    write('/proc/self/setgroups', 'deny')
    write('/proc/self/uid_map', f'0 {user} 1')
    write('/proc/self/gid_map', f'0 {user} 1')


def send_file(channel, device, server, kept):
    server.descriptor = os.open(device, os.O_RDWR)
    check(library.mount(b'none', b'/tmp', b'tmpfs', 0, None), 'mount of tmpfs')
    folders = lower, empty, merged = [f'/tmp/{name}' for name in ('lower', 'empty', 'merged')]
    for folder in folders:
        os.mkdir(folder)
    check(silent_fuse.mount(library, server.descriptor, lower, 0), 'mount of FUSE')
    if os.fork() == 0:
        silent_fuse.serve_until_silent(server, *kept)
        sys.exit()
    os.close(server.descriptor)
    check(library.mount(b'overlay', merged.encode(), b'overlay', 0, f'lowerdir={lower}:{empty}'.encode()),
          'mount of an overlay')
    file = os.open(os.path.join(merged, silent_fuse.FILE_NAME), os.O_RDONLY)
    channel.sendmsg([b'file'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [file]))])
    channel.close()
    os.close(file)
    os.wait()


def main(device, program, *numbers):
    *kept, user = map(int, numbers)
    with open(program, 'rb') as file:
        server = silent_fuse.Server(-1, file.read())
    silent_fuse.become(user)
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        enter_namespaces(user)
        send_file(theirs, device, server, kept)
        sys.exit()
    theirs.close()
    text, descriptors, _, _ = socket.recv_fds(ours, 16, 1)
    if text:
        print('ready', flush=True)
        os.execve(descriptors[0], [silent_fuse.FILE_NAME], {})


if __name__ == '__main__':
    main(*sys.argv[1:])
