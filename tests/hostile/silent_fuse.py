# SPDX-License-Identifier: Apache-2.0
"""A FUSE file system with one file, whose server stops to answer: silent_fuse.py DESCRIPTOR FILE
KEPT-BEGIN KEPT-END USER.

It answers until it reads a line from its input. Then it has the Linux kernel forget all pages of the file but those
from KEPT-BEGIN to KEPT-END, and answers nothing any more. File and attributes are never cached by name.
"""
import contextlib
import ctypes
import os
import select
import signal
import struct
import subprocess
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = (
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 29, 36, 42)
INVALIDATE_INODE = 2
ENOENT, ENOSYS = 2, 38
FILE = 2
FILE_NAME = 'fuse-silent'
DIRECTORY_MODE, FILE_MODE = 0o040755, 0o100755
REQUEST = struct.Struct('<IIQQIIIHH')  # fuse_in_header
REPLY = struct.Struct('<IiQ')  # fuse_out_header
PAGE = os.sysconf('SC_PAGE_SIZE')


class Server:
    def __init__(self, descriptor, contents):
        self.descriptor, self.contents = descriptor, contents

    def send(self, unique, error, body=b''):
        os.write(self.descriptor, REPLY.pack(REPLY.size + len(body), error, unique) + body)

    def attributes(self, node):
        size = len(self.contents) if node == FILE else 0
        mode = FILE_MODE if node == FILE else DIRECTORY_MODE
        return struct.pack('<6Q10I', node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(),
                           os.getgid(), 0, 4096, 0)

    def answer(self, request):
        _, opcode, unique, node, *_ = REQUEST.unpack_from(request)
        body = request[REQUEST.size:]
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return
        if opcode == INIT:
            major, _, read_ahead = struct.unpack_from('<III', body)
            self.send(unique, 0, struct.pack('<IIIIHHIIHHI7I', major, 31, read_ahead, 0, 0, 0, 4096, 1, 0, 0, 0,
                                             *[0] * 7))
        elif opcode == LOOKUP and body == FILE_NAME.encode() + b'\0':
            self.send(unique, 0, struct.pack('<QQQQII', FILE, 0, 0, 0, 0, 0) + self.attributes(FILE))
        elif opcode == LOOKUP:
            self.send(unique, -ENOENT)
        elif opcode == GETATTR:
            self.send(unique, 0, struct.pack('<QII', 0, 0, 0) + self.attributes(node))
        elif opcode in (OPEN, OPENDIR):
            self.send(unique, 0, struct.pack('<QII', 1, 0, 0))
        elif opcode == READ:
            _, offset, size = struct.unpack_from('<QQI', body)
            self.send(unique, 0, self.contents[offset:offset + size])
        elif opcode == STATFS:
            self.send(unique, 0, struct.pack('<5Q10I', 0, 0, 0, 0, 0, 4096, 255, 4096, *[0] * 7))
        elif opcode in (RELEASE, RELEASEDIR, FLUSH):
            self.send(unique, 0)
        else:
            self.send(unique, -ENOSYS)

    def forget(self, begin, end):
        """Has the Linux kernel drop pages of the file. It waits for their locks, which is why this is done before."""
        body = struct.pack('<Qqq', FILE, begin, end - begin)
        with contextlib.suppress(OSError):
            os.write(self.descriptor, REPLY.pack(REPLY.size + len(body), INVALIDATE_INODE, 0) + body)

    def serve(self):
        while True:
            readable, _, _ = select.select([self.descriptor, sys.stdin], [], [])
            if sys.stdin in readable:
                return
            self.answer(os.read(self.descriptor, 1 << 20))


def become(user):
    """From root to an unprivileged user that dies with its parent, once Python is loaded: its files may be root's."""
    PR_SET_PDEATHSIG = 1
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def serve(descriptor, path, kept_begin, kept_end, user):
    with open(path, 'rb') as file:
        server = Server(descriptor, file.read())
    become(user)
    serve_until_silent(server, kept_begin, kept_end)


def serve_until_silent(server, kept_begin, kept_end):
    server.serve()
    kept_begin, kept_end = kept_begin // PAGE * PAGE, -(-kept_end // PAGE) * PAGE
    server.forget(0, kept_begin)
    server.forget(kept_end, 1 << 40)
    print('ready', flush=True)
    sys.stdin.read()


def mount(library, descriptor, folder, user):
    """Mounts the file system of a descriptor of /dev/fuse. Returns 0 or an errno."""
    MS_NOSUID, MS_NODEV = 2, 4
    text = f'fd={descriptor},rootmode=40000,user_id={user},group_id={user},allow_other'
    failed = library.mount(b'silent', folder.encode(), b'fuse', MS_NOSUID | MS_NODEV, text.encode())
    return ctypes.get_errno() if failed else 0


@contextlib.contextmanager
def mounted(folder, program, kept, user):
    """The file system at a folder, with a copy of program in it; gives the server, a process of the user. As
    fusermount3 of an administrator who set user_allow_other would mount it. At the end the server dies, so that
    nothing waits for it any more."""
    library = ctypes.CDLL(None, use_errno=True)
    MNT_DETACH = 2
    descriptor = os.open('/dev/fuse', os.O_RDWR)
    if error := mount(library, descriptor, folder, user):
        os.close(descriptor)
        raise OSError(error, f'mount of FUSE: {os.strerror(error)}')
    server = None
    try:
        command = [sys.executable, os.path.abspath(__file__), str(descriptor), program, *map(str, (*kept, user))]
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[descriptor])
        os.close(descriptor)
        descriptor = -1
        yield server
    finally:
        if server:
            server.kill()
            server.wait()
            server.stdin.close()
            server.stdout.close()
        if descriptor >= 0:
            os.close(descriptor)
        library.umount2(folder.encode(), MNT_DETACH)


if __name__ == '__main__':
    serve(int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:]))
