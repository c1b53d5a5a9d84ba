# SPDX-License-Identifier: Apache-2.0
"""Waits in Python functions, like waits.c: after a byte on standard input, prints "FUNCTION TIME OFF" for each, ns."""
import os
import queue
import socket
import sys
import threading
import time

ROUNDS = 5
PAUSE = 0.03

near, far = socket.socketpair()
asked = queue.SimpleQueue()
lock = threading.Lock()


def helper():
    """Wakes the main thread, a while after it asked."""
    while True:
        what = asked.get()
        time.sleep(PAUSE)
        if what == 'lock':
            lock.release()
        else:
            far.send(b'x')


def wait_asleep():
    time.sleep(PAUSE)


def wait_for_mutex():
    asked.put('lock')
    lock.acquire()


def wait_in_socket():
    asked.put('socket')
    near.recv(1)


def measure(function):
    begin, ran = time.monotonic_ns(), time.thread_time_ns()
    for _ in range(ROUNDS):
        function()
    total = time.monotonic_ns() - begin
    print(function.__name__, total, total - (time.thread_time_ns() - ran), flush=True)


lock.acquire()
threading.Thread(target=helper, daemon=True).start()
while os.read(0, 1):
    for waits in wait_asleep, wait_for_mutex, wait_in_socket:
        measure(waits)
sys.exit()
