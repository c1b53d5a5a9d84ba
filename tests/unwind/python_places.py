# SPDX-License-Identifier: Apache-2.0
"""Runs Python code in one of the places where it can be: python_places.py PLACE, until it is killed. Reports the chain
of calls that leads to each spin()."""
import multiprocessing
import os
import sys
import threading
import time

from python_chains import chain_of, report, spin


def work():
    while True:
        spin()


def child(method):
    process = multiprocessing.get_context(method).Process(target=work, daemon=True)
    process.start()
    process.join()


def fork():
    child('fork')


def spawn():
    child('spawn')


def pool():
    with multiprocessing.Pool(1) as workers:
        workers.apply(work)


def plain():
    work()


def extension():
    """A library that calls back, by a C extension that the distribution has built."""
    import sqlite3
    connection = sqlite3.connect(':memory:')
    connection.create_function('spin', 0, spin)
    while True:
        connection.execute('SELECT spin()').fetchall()


def generator():
    def numbers():
        while True:
            spin()
            yield 1
    for _ in numbers():
        spin()


def tasks():
    import asyncio

    async def inner():
        spin()
        await asyncio.sleep(0)

    async def outer():
        while True:
            await asyncio.gather(inner(), inner())
    asyncio.run(outer())


def thread():
    other = threading.Thread(target=work, daemon=True)
    other.start()
    while True:
        spin()


def subinterpreter():
    """Each is new: their number does not grow."""
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    run = getattr(interpreters, 'exec', None) or interpreters.run_string
    while True:
        spin()
        inside = interpreters.create()
        text = f'import sys; sys.path[:0] = {sys.path!r}; import python_chains; python_chains.outer = OUTER; python_chains.spin()'
        run(inside, text.replace('OUTER', repr(chain_of(sys._getframe(0)) + ';')))
        interpreters.destroy(inside)


def launch():
    """Launches of GPU kernels, by a library that only ctypes knows."""
    import ctypes

    class Launch(ctypes.Structure):
        _fields_ = [('base', ctypes.c_uint64), ('address', ctypes.c_uint64), ('size', ctypes.c_uint64),
                    ('name', ctypes.c_char_p), ('module', ctypes.c_uint64), ('list', ctypes.c_uint64)]

    library = ctypes.CDLL(os.environ['LAUNCH_LIBRARY'])

    def kernel(name, call):
        made = Launch(0x800000000000, 0x800000001000, 64, name.encode(), 1, 0)
        report(f'{name};{chain_of(sys._getframe(0))}', 'launches'), call(ctypes.byref(made))

    def forward():
        kernel('matmul', library.ze_probes_launch_short)
        kernel('softmax', library.ze_probes_launch_short)

    def backward(): kernel('gradient', library.ze_probes_launch)

    while True:
        forward()
        backward()
        time.sleep(0.01)


def main():
    globals()[sys.argv[1]]()


if __name__ == '__main__':
    main()
