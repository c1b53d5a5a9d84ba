# SPDX-License-Identifier: Apache-2.0
"""A Python program with stacks worth keeping in a capture: methods, generators, comprehensions, recursion, a callback
below C. With PYTHONPERFSUPPORT=1 its functions have names. Runs for about half a second."""
import hashlib
import time


class Model:
    """Something to train."""

    def __init__(self):
        self.weights = list(range(500))

    def forward(self, turn):
        return sum(weight * turn for weight in self.weights)

    def backward(self, turn):
        self.weights = [weight + turn % 3 for weight in self.weights]


def fibonacci(number):
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


def order(number):
    return -number


def train(seconds):
    model, turn = Model(), 0
    end = time.process_time() + seconds
    while time.process_time() < end:
        model.forward(turn)
        model.backward(turn)
        sorted(model.weights, key=order)
        fibonacci(12)
        hashlib.sha256(bytes(100000)).hexdigest()
        turn += 1


train(0.5)
