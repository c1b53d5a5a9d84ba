# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios until a line arrives, and then a number of rounds of them in measured(). Prints a time before
these, when it was idle, and how long each chain of Python calls has run in them."""
import json
import os
import sys
import threading
import time

from python_chains import chain_of

ROUNDS = 2
seconds_of = {}
lock = threading.Lock()
is_warm = False


def spin(seconds):
    chain = chain_of(sys._getframe(1))
    begin = now = time.thread_time()
    while now < begin + seconds:  # SPIN
        total = 0                 # SPIN
        for i in range(300):      # SPIN
            total += i * i        # SPIN
        now = time.thread_time()  # SPIN
    with lock:
        seconds_of[chain] = seconds_of.get(chain, 0) + now - begin


class Layer:
    def forward(self):
        spin(0.03)

    def backward(self): spin(0.01)

    @staticmethod
    def unrelated():
        yield from range(3)


def plain():
    layer = Layer()
    layer.forward()
    layer.backward()
    (lambda: spin(
        0.01))()


def compare(a, b):
    spin(0.002)
    return a < b


class Key:
    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        return compare(self.number, other.number)


def builtins():
    """The interpreter's own C functions call back."""
    sorted([Key(3), Key(1), Key(2)])
    list(map(lambda seconds: spin(seconds), [0.01]))


def numbers():
    spin(0.01)
    yield 1
    spin(0.005)
    yield 2


def more_numbers():
    yield from numbers()


def generators():
    for number in more_numbers():
        spin(0.002)
    sum(more_numbers())


def tasks():
    import asyncio

    async def inner():
        spin(0.01)
        await asyncio.sleep(0)
        spin(0.005)

    async def outer():
        await asyncio.gather(inner(), inner())
        await inner()
    asyncio.run(outer())


def threads():
    def work(seconds):
        spin(seconds)
    started = [threading.Thread(target=work, args=[seconds]) for seconds in (0.02, 0.01)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def extension():
    import python_callback
    python_callback.call(plain)
    python_callback.call(lambda: python_callback.call(lambda: spin(0.01)))


def recursion(depth=60):
    if depth:
        recursion(depth - 1)
    else:
        spin(0.02)


def reused():
    """Code objects that come and go, in the same memory."""
    for name in ('first', 'second', 'third', 'fourth'):
        space = {'spin': spin}
        exec(compile(f'def {name}():\n{chr(10) * len(name)}    spin(0.01)\n', f'{name}.py', 'exec'), space)
        space[name]()


def unicode():
    space = {'spin': spin}
    exec(compile('def größe():\n    spin(0.01)\ndef 大小():\n    spin(0.01)\ngröße()\n大小()\n', 'naïve.py', 'exec'),
         space)


def imports():
    """Code that the profiler has not seen yet: a library that no other process has loaded."""
    import importlib.util
    import shutil
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(os.path.join(sys.argv[2], 'python_callback.so'), os.path.join(folder, 'python_callback.so'))
        with open(path, 'ab') as file:
            file.write(os.urandom(16))
        spec = importlib.util.spec_from_file_location('python_callback', path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.call(lambda: spin(0.04))


def wait_for_line():
    global is_warm
    sys.stdin.readline()
    is_warm = True


def measured(scenarios):
    for _ in range(ROUNDS):
        for run in scenarios:
            run()


def main():
    if len(sys.argv) > 2:
        sys.path.insert(0, sys.argv[2])
    scenarios = [globals()[name] for name in sys.argv[1].split(',')]
    threading.Thread(target=wait_for_line, daemon=True).start()
    for run in scenarios:
        run()  # WARM-UP
    print('running', flush=True)
    while not is_warm:
        for run in scenarios:
            run()  # WARM-UP
    seconds_of.clear()
    begin = time.monotonic_ns()
    time.sleep(1)  # longer than an interval: one that begins from now on has all that is measured in it, and nothing else
    measured(scenarios)
    print(json.dumps([begin, seconds_of]))


main()
