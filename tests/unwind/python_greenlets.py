# SPDX-License-Identifier: Apache-2.0
"""Runs Python code in greenlets: python_greenlets.py PLACE, until it is killed. Reports the chain of calls that leads to
each spin(), as far as it belongs to the greenlet."""
import sqlite3
import sys
import time

from python_chains import chain_of, report, spin


def callback(connection):
    """Below a call from C, which has a call of the evaluation loop of its own."""
    connection.execute('SELECT spin()').fetchall()


def rest():
    report(chain_of(sys._getframe(1)), 'rests')
    time.sleep(0.005)


def connect():
    connection = sqlite3.connect(':memory:')
    connection.create_function('spin', 0, spin)
    return connection


def deeper(depth, function, *arguments):
    """Calls a function below other calls from C, so that the C stack of its caller is elsewhere."""
    if depth:
        return max([depth], key=lambda _: deeper(depth - 1, function, *arguments) or 0)
    return function(*arguments)


def greenlets():
    """Each is continued below other frames than those that started it, and starts another one."""
    import greenlet
    main = greenlet.getcurrent()

    def inner():
        connection = connect()
        while True:
            spin()
            main.switch()
            deeper(2, spin)
            rest()
            callback(connection)
            main.switch()

    def outer():
        started = greenlet.greenlet(inner, main)
        while True:
            spin()
            started.switch()
            spin()
            main.switch()

    first, second = greenlet.greenlet(inner), greenlet.greenlet(outer)
    while True:
        for depth in range(4):
            deeper(depth, first.switch)
            deeper(3 - depth, second.switch)
            spin()
            rest()


def gevent():
    import gevent
    from gevent.pool import Pool

    def work(count):
        for _ in range(count):
            spin()
            gevent.sleep(0)
            deeper(2, spin)
            gevent.sleep(0.001)
    pool = Pool(4)
    while True:
        pool.map(work, range(1, 5))
        spin()


def eventlet():
    import eventlet

    def work(connection):
        spin()
        eventlet.sleep(0)
        callback(connection)
    pool = eventlet.GreenPool(3)
    while True:
        for connection in [connect(), connect(), connect(), connect()]:
            pool.spawn_n(work, connection)
        pool.waitall()


def sqlalchemy():
    """The synchronous part of SQLAlchemy below coroutines."""
    import asyncio
    from sqlalchemy.util import await_only, greenlet_spawn

    def query(delay):
        spin()
        await_only(asyncio.sleep(delay))
        deeper(1, spin)
        await_only(asyncio.sleep(0))
        spin()

    async def request(delay):
        await greenlet_spawn(query, delay)
        spin()

    async def serve():
        while True:
            await asyncio.gather(request(0), request(0.001), request(0))
    asyncio.run(serve())


def interpreters():
    """An interpreter that enters an older one, which is not the last in the list of interpreters."""
    import _xxsubinterpreters as created
    inner, outer = created.create(), created.create()
    begin = f'import sys; sys.path[:0] = {sys.path!r}; import python_chains; python_chains.outer = '
    enter = (f'import _xxsubinterpreters as created; there = python_chains.outer + '
             f'python_chains.chain_of(sys._getframe(0)) + ";"; '
             f'created.run_string({int(inner)}, {begin!r} + repr(there) + "; python_chains.spin()"); python_chains.spin()')
    while True:
        spin()
        created.run_string(outer, f'{begin}{chain_of(sys._getframe(0)) + ";"!r}; {enter}')


def main():
    globals()[sys.argv[1]]()


if __name__ == '__main__':
    main()
