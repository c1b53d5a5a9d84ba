#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins in the process of iaprof that crash, end it or never return: one line names plugin and callback, status 1, and what was
recorded stays."""
import os
import signal

from harness import (COMPLETE, FAILED, FAILING_SINK, FAILING_SOURCE, Skip, case, end, equal, iaprof, main, read,
                     start, wait_until)

SIGNALS = {'segv': 'SIGSEGV', 'bus': 'SIGBUS', 'fpe': 'SIGFPE', 'ill': 'SIGILL', 'abort': 'SIGABRT',
           'overflow': 'SIGSEGV'}
SOURCE_PLACES = ['configure', 'probe', 'prepare', 'start', 'timer', 'descriptor', 'thread', 'stop', 'finish']
SINK_PLACES = ['configure', 'prepare', 'start', 'records', 'profile', 'finish']


def no_sanitizer():
    """A sanitizer's own handlers report faults, and leaks of a forked child."""
    if os.environ['TEST_SANITIZERS'] != 'none':
        raise Skip('a sanitizer handles signals, and exit() in a child')


def arguments(kind, place, ending):
    if kind == 'source':
        return ['-s', f'{FAILING_SOURCE}:in={place},ends={ending},isolate=no', '-o', 'out', '-d', '60']
    return ['-s', f'{FAILING_SOURCE}:samples=3', '-k', f'{FAILING_SINK}:in={place},ends={ending},isolate=no,output=out']


PLACES = [('source', place) for place in SOURCE_PLACES] + [('sink', place) for place in SINK_PLACES]
for kind, place in PLACES:
    @case(f'{kind}: crash in {place}', kind, place, needs=[no_sanitizer])
    def crash(kind, place):
        run = ['-q', *arguments(kind, place, 'segv')]
        if place in ('stop', 'finish') and kind == 'source':
            run[-1] = '1ms'
        iaprof(*run).fails(FAILED, rf'{kind} failing-{kind}: crashed with SIGSEGV in callback {place}$')

for ending, name in SIGNALS.items():
    @case(f'every fatal signal: {ending}', ending, name, needs=[no_sanitizer])
    def signals(ending, name):
        for kind, place in ('source', 'start'), ('source', 'thread'), ('sink', 'records'):
            iaprof('-q', *arguments(kind, place, ending)).fails(
                FAILED, rf'{kind} failing-{kind}: crashed with {name} in callback {place}$')

for ending in 'exit', 'quick-exit':
    @case(f'{ending} in a callback', ending)
    def exits(ending):
        for kind, place in ('source', 'start'), ('source', 'thread'), ('source', 'timer'), ('sink', 'profile'):
            iaprof('-q', *arguments(kind, place, ending)).fails(
                FAILED, rf'{kind} failing-{kind}: called exit\(\) in callback {place}$')


@case('_exit in a callback', needs=[no_sanitizer])
def exits_at_once():
    for kind, place in ('source', 'start'), ('source', 'thread'), ('source', 'timer'), ('sink', 'profile'):
        iaprof('-q', *arguments(kind, place, 'at-once')).fails(
            FAILED, rf'{kind} failing-{kind}: called _exit\(\) in callback {place}$')


@case("exit in a plugin's own thread")
def thread_exits():
    iaprof('-q', *arguments('sink', 'profile', 'thread-exit')).fails(
        FAILED, r'iaprof: a thread of a plugin called exit\(\)$')


@case("exit in a plugin's own child is no affair of the run", needs=[no_sanitizer])
def child_exits():
    outcome = iaprof('-q', *arguments('sink', 'profile', 'child-exit'))
    equal((outcome.status, outcome.err), (COMPLETE, ''), 'status and messages')


@case('a sink that computes for ever', ['profile'], 'loop')
@case('a sink that hangs', ['records', 'profile', 'finish'], 'hang')
def hangs(places, ending):
    for place in places:
        iaprof(*arguments('sink', place, ending), '-k', 'folded:output=other', '--finish-within', '100ms', '-q').fails(
            FAILED, rf'sink failing-sink: callback {place} does not return', left=['other'])
        equal(read('other'), 'sampled program 3\n', 'the profile of another sink')
        os.unlink('other')


@case('what was recorded before a crash stays readable', needs=[no_sanitizer])
def recorded():
    process = start('-q', '-s', f'{FAILING_SOURCE}.one:samples=10', '-s', f'{FAILING_SOURCE}.two:in=stop,ends=segv,isolate=no',
                    '--record', 'run')
    wait_until(lambda: os.path.exists('run'), 'the file')
    process.send_signal(signal.SIGINT)
    end(process).fails(FAILED, 'source failing-source.two: crashed with SIGSEGV in callback stop$', left=['run'])
    iaprof('-q', '--replay', 'run', '-o', 'out').fails(FAILED, 'capture is truncated', left=['out'])
    with open('out', encoding='ascii') as out:
        equal(out.read(), 'sampled program 10\n', 'profile')


if __name__ == '__main__':
    main()
