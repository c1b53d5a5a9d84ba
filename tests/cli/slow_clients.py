# SPDX-License-Identifier: Apache-2.0
"""Clients of an HTTP server that never complete a request, and connect again whenever they are dropped."""
import contextlib
import errno
import socket
import threading
import time

from harness import equal, require, wait_until

SERVER_PATIENCE = 10  # s without a byte after which the server drops a client (HTTP_SERVER_TIMEOUT)
COUNT = 200  # more than a server holds (ACCEPTOR_PENDING_MAX)
# What each sends at first, and from then on a byte at a time.
KINDS = ((b'', b''), (b'GET /metr', b''), (b'GET / HTTP/1.1\r\nHost: localhost\r\n', b''), (b'GET / HTTP/1.1\r\nX-Trickle: ', b'x'))


class SlowClients:
    """Clients of all kinds until the end of a with statement."""

    def __init__(self, port, count=COUNT):
        self.port, self.count = port, count
        self.dropped = [0] * len(KINDS)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        self.wait_for_drops()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def wait_for_drops(self):
        """Waits until the server has dropped as many clients of each kind as there are."""
        before = list(self.dropped)
        wait_until(lambda: all(now - then >= self.count // len(KINDS) for now, then in zip(self.dropped, before)), 'dropped clients')

    def connect(self, kind):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(('127.0.0.1', self.port))
        return [client, KINDS[kind][0]]

    def step(self, clients, number):
        """Sends what a client has to send, and connects it again if it was dropped."""
        kind = number % len(KINDS)
        client, unsent = clients[number]
        try:
            unsent = unsent or KINDS[kind][1]
            if unsent:
                clients[number][1] = unsent[client.send(unsent):]
            if client.recv(4096):
                return  # an answer to a request that is none
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ENOTCONN, errno.EINPROGRESS):
                return
        client.close()
        self.dropped[kind] += 1
        clients[number] = self.connect(kind)

    def run(self):
        with contextlib.ExitStack() as stack:
            clients = [self.connect(number % len(KINDS)) for number in range(self.count)]
            stack.callback(lambda: [client.close() for client, _ in clients])
            while not self.stop.is_set():
                for number in range(self.count):
                    self.step(clients, number)
                time.sleep(0.01)


def answers_meanwhile(port, ask):
    """Asks while clients occupy the server: each answer comes, and one comes before the server can have dropped them."""
    with SlowClients(port) as clients:
        durations = []
        for _ in range(5):
            begin = time.monotonic()
            equal(ask(), 200, 'status while clients send nothing')
            durations.append(time.monotonic() - begin)
        clients.wait_for_drops()
    require(min(durations) < SERVER_PATIENCE, f'answers took {durations} s')
