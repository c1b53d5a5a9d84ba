# SPDX-License-Identifier: Apache-2.0
"""Answers a question with a small language model on a GPU: assistant.py MODULE TOKENS

Prints "kernel NAME ADDRESS WORK-ITEMS" for each kernel and "ready", and begins after a line on standard input, which has
two numbers: TOKENS tokens, one every so many ms, and for so many of them the GPU works. It prints "begun" once it has
read the question, "answered" after the last token, and ends with its input. The launches and the CPU's work are real,
nothing executes on a GPU.
"""
import sys
import time

from beam_search import BeamSearch
from model import LanguageModel

QUESTION = 'Which of my kernels is slow, and what should I try?'
TYPING = 0.3  # s a word


def say(line):
    print(line, flush=True)


def sleep_until(moment):
    time.sleep(max(0, moment - time.monotonic()))


def read_question(search):
    """As somebody types it. Meanwhile a profiler that has just begun learns where this process has which functions."""
    for word in QUESTION.split():
        search.read(word)
        time.sleep(TYPING)


def answer_question(model, tokens, period, gpu_time):
    search = BeamSearch()
    read_question(search)
    model.plan_token()
    model.decode_token()
    say('begun')
    start = time.monotonic()
    for token in range(tokens):
        began = start + token * period
        model.decode_token()
        sleep_until(began + gpu_time)
        search.choose_token(until=began + gpu_time + 0.7 * (period - gpu_time))
        sleep_until(began + period)
    say('answered')


def main():
    model = LanguageModel(sys.argv[1])
    for name, address, work_items in model.kernels:
        say(f'kernel {name} {address:#x} {work_items}')
    say('ready')
    times = sys.stdin.readline().split()
    if times:
        period, gpu_time = (int(milliseconds) / 1000 for milliseconds in times)
        answer_question(model, int(sys.argv[2]), period, gpu_time)
    sys.stdin.read()


if __name__ == '__main__':
    main()
