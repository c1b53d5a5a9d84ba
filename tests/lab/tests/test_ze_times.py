#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 900
# lab: runtime
# lab: covers plugins/ze-usdt/** engine/correlator/device_time.*
# lab: covers tests/lab/level_zero/layer/** tests/lab/level_zero/*
# lab: covers tests/lab/opencl/timed.c tests/lab/opencl/played_device.c
"""
Consistency of kernel times with a played device: Intel's real runtime, tracer and iaprof between a layer that plays the
device and the profile. No GPU is involved: that its time stamps are right is not shown. TAP.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import Failure, check, equal, run
from harness.profiler import SLOW

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
PROGRAMS = BUILD / 'tests/lab/level_zero'

# Microseconds. The first ones are of launches that are timed.
TIMED = {'matmul_tile': 300, 'rotate_spill': 200, 'matmul_dpas': 120, 'bias_gelu': 90, 'add$residual': 50, 'softmax_row': 35}
SITES = ('attention_scores=3,attention_softmax=2,attention_values=1,feed_forward_up=1,feed_forward_gelu=1,'
         'feed_forward_residual=1,embedding_rotate=1')
OTHERS = {'histogram': 40, 'tiny': 40, '_ZTS5scaleIfE': 40}


def program(product, name, *arguments, played=True):
    times = ','.join(f'{kernel}={time}' for kernel, time in {**TIMED, **OTHERS}.items())
    layer = ['env', f'PLAYED_TIMES={times}', 'PLAYED_TRUTH=truth', f'ZE_ENABLE_ALT_DRIVERS={PROGRAMS}/played-device.so']
    return [SOURCE / 'tests/lab/guest/in-chroot', *(layer if played else []),
            SOURCE / 'tests/lab/level_zero/run-without-gpu', product, PROGRAMS / name, *arguments]


# The kernels of opencl/timed.c.
OPENCL_TIMED = {name.replace('$', '_'): time for name, time in TIMED.items()}
# Where no device writes time stamps, Intel's driver would wait for them forever, on some products.
NO_TIME_STAMPS = 'EnableTimestampWaitForQueues=0', 'EnableTimestampWaitForEvents=0'


def opencl(product, name, *arguments, played=True):
    times = ','.join(f'{kernel}={time}' for kernel, time in {**OPENCL_TIMED, 'add': 40, 'scale': 40, 'sum': 40}.items())
    # iaprof preloads the tracer.
    layer = ['env', f'PLAYED_TIMES={times}', 'PLAYED_TRUTH=truth', 'sh', '-c', 'LD_PRELOAD="$LD_PRELOAD:$0" exec "$@"',
             PROGRAMS / 'opencl-played-device.so']
    return [SOURCE / 'tests/lab/guest/in-chroot', SOURCE / 'tests/lab/level_zero/run-without-gpu', product,
            'env', *NO_TIME_STAMPS, *(layer if played else []), PROGRAMS / name, *arguments]


def execute(*arguments):
    # A program that waits for an event would do so forever.
    return subprocess.run(arguments, timeout=100, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, encoding='utf-8',
                          errors='replace')


TIMES = '-k', 'folded:value=gpu-time,output=time.folded', '-k', 'summary:output=summary'


def profile(mode, *command, sinks=()):
    outcome = execute(BUILD / 'iaprof', *SLOW, '--scope', 'command', '-s', f'ze-usdt:tracer=yes,time={mode}',
                      *(sinks or ('-k', 'csv:rows=events,output=out.csv')), '--', *command)
    if outcome.returncode:
        raise Failure(f'iaprof ended with {outcome.returncode}: {outcome.stdout}')
    return outcome.stdout


def truth():
    """-> of each kernel launches and ns, ns of idle time, launches with an event. No event was used wrongly, or is left."""
    kernels, rest = {}, {'alive': 0}
    for words in (line.split('\t') for line in pathlib.Path('truth').read_text(encoding='utf-8').splitlines()):
        if words[0] == 'time':
            kernels[words[1]] = int(words[2]), int(words[3])
        else:
            rest[words[0]] = int(words[1])
    equal(rest['wrong'], 0, 'uses of an event that the specification forbids, or that can wait')
    equal(rest['alive'], 0, 'events of the tracer that are left')
    return kernels, rest['idle'], rest['event']


def found():
    """-> ns of each kernel, and percent of idle time."""
    times = collections.Counter()
    for name, time in re.findall(r';([^;]*)_\[G\] (\d+)$', pathlib.Path('time.folded').read_text(encoding='utf-8'), re.MULTILINE):
        times[name] += int(time)
    summary = pathlib.Path('summary').read_text(encoding='utf-8')
    return times, float(re.search(r'^The GPU was idle ([\d.]+) %', summary, re.MULTILINE)[1]), summary


def idle_is(percent, kernels, idle):
    expected = 100 * idle / (idle + sum(time for _, time in kernels.values()))
    check(abs(percent - expected) < 2, f'idle: {percent} %, not {expected} %')


def every_launch(product, lists, threads):
    """time=all: each kernel has its time to 1 % (a launch that finds the tracer busy is left out), and idle time is right."""
    profile('all', *program(product, 'launcher-nofp', '--lists', lists, '--threads', threads, '--turns', '200', '--sites', SITES), sinks=TIMES)
    launches, events = every_launch_is_in_profile(TIMED)
    check(0.99 * launches <= events <= launches, f'{events} of {launches} launches had an event')


def every_launch_is_in_profile(names):
    """-> launches, and those with an event."""
    kernels, idle, events = truth()
    times, percent, summary = found()
    check('(estimated)' not in summary, f'an estimate: {summary}')
    for name in names:
        check(0.99 <= times[name] / kernels[name][1] <= 1.001, f'{name}: {times[name]} ns, not {kernels[name][1]}')
    idle_is(percent, kernels, idle)
    return sum(count for count, _ in kernels.values()), events


def every_opencl_launch(product, order, events, wait, threads):
    """The same of OpenCL, whose program may have events of its own."""
    profile('all', *opencl(product, 'opencl-timed', order, events, wait, threads, '60', '0'), sinks=TIMES)
    launches, of_tracer = every_launch_is_in_profile(OPENCL_TIMED)
    equal(launches, 540 * int(threads), 'launches')
    check(of_tracer == 0 if events != 'none' else 0.99 * launches <= of_tracer <= launches,
          f'{of_tracer} of {launches} launches had an event of the tracer')


def some_launches(product, lists):
    """time=sample: shares and idle time within two points, and the five largest in their order."""
    profile('sample', *program(product, 'launcher-nofp', '--lists', lists, '--duration', '8000', '--rate', '450', '--sites', SITES), sinks=TIMES)
    launches, events = shares_are_in_profile(TIMED)
    check(100 < events < launches / 3, f'{events} of {launches} launches had an event')
    return f'{events} of {launches} launches'


def shares_are_in_profile(names):
    """-> launches of these kernels, and those with an event."""
    kernels, idle, events = truth()
    times, percent, summary = found()
    check('GPU time (estimated) by kernel' in summary, f'no estimate: {summary}')
    launches, whole = (sum(kernels[name][i] for name in names) for i in range(2))
    for name in names:
        share, expected = 100 * times[name] / sum(times.values()), 100 * kernels[name][1] / whole
        check(abs(share - expected) < 2, f'{name}: {share:.2f} %, not {expected:.2f} %')
    order = sorted(names, key=lambda name: -kernels[name][1])[:5]
    equal([name for name, _ in times.most_common(5)], order, 'the largest kernels')
    idle_is(percent, kernels, idle)
    return launches, events


def some_opencl_launches(product, order, events, wait, threads):
    """The same of OpenCL. Times are read when the program waits: what it does not wait for would be missing at the end."""
    said = profile('sample', *opencl(product, 'opencl-timed', order, events, wait, threads, str(3600 // int(threads)),
                                     str(450 // int(threads))), sinks=TIMES)
    check('no time on the device' not in said, said)
    launches, of_tracer = shares_are_in_profile(OPENCL_TIMED)
    check(of_tracer == 0 if events != 'none' else 100 < of_tracer < launches / 3,
          f'{of_tracer} of {launches} launches had an event of the tracer')
    return f'{of_tracer} of {launches} launches'


def launches_that_are_not_timed_are_reported():
    """Cooperative launches, and several with one call, have no event; a regular list neither."""
    said = profile('all', *program('bmg', 'launcher-nofp', '--turns', '50', '--sites', 'embedding_count=1,embedding_scale=1,attention_scores=1'))
    check('150 of 200 launches have no time on the device' in said, said)
    equal(truth()[2], 50, 'launches with an event')
    said = profile('all', *program('bmg', 'launcher-nofp', '--lists', 'regular', '--turns', '20', '--sites', SITES))
    check('200 of 200 launches have no time on the device' in said, said)
    equal(truth()[2], 0, 'launches with an event')


def programs_behave_the_same(mode):
    """Each program prints what it prints alone, where events happen and where they never do."""
    module = PROGRAMS / 'modules/transformer.bmg.bin'
    for name, *arguments in (('graphs', module, 'loader', 'fork'), ('graphs', module, 'driver', 'nested'),
                             ('graphs', module, 'loader', 'threads'), ('graphs', module, 'loader', 'changeable'),
                             *(('awkward', module, 'tiny', way, 'immediate')
                               for way in ('threads', 'forks', 'signals', 'coroutines', 'cancel', 'tracer'))):
        for played in (False, True):
            command = program('bmg', name, *arguments, played=played)
            alone = execute(*command)
            said = profile(mode, *command)
            equal(alone.returncode, 0, f'status of {name} {arguments[1:]} alone: {alone.stdout}')
            # How often the forked children launch depends on time.
            check(alone.stdout in said or 'forks' in arguments and '\nlaunched ' in said,
                  f'{name} {arguments[1:]}: {said}; alone: {alone.stdout}')


def normal(text):
    """What opencl/jobs.c printed, without addresses and ids of processes and threads."""
    words = [line.split('\t') for line in text.splitlines()]
    return sorted([kind, *(rest[1:2] if kind == 'kernel' else rest[2:])] for kind, *rest in words if kind in ('kernel', 'launch'))


def opencl_programs_behave_the_same(mode):
    """What a program sees of queues, events and errors is what it sees alone, with and without time stamps."""
    jobs = (('opencl-jobs', '--threads', '2', '--turns', '3'), ('opencl-jobs-alone', '--loader', 'own', '--fork'),
            ('opencl-jobs-alone', '--loader', 'driver', '--rebuild'))
    for product, played, name, *arguments in (
            *((product, played, 'opencl-timed', 'sees') for product in ('bmg', 'lnl') for played in (False, True)),
            *(how for command in jobs for how in (('bmg', False, *command), ('lnl', True, *command)))):
        command = opencl(product, name, *arguments, played=played)
        alone = execute(*command)
        said = profile(mode, *command)
        equal(alone.returncode, 0, f'status of {name} {arguments} alone: {alone.stdout}')
        if name == 'opencl-timed':
            check(alone.stdout.endswith('context\t1\n') and alone.stdout in said,
                  f'{name} on {product}: {said}; alone: {alone.stdout}')
        else:
            check(normal(said), said)
            equal(normal(said), normal(alone.stdout), f'{name} {arguments} on {product}')


CASES = [
    *((f'all launches, {product}, {lists} lists, {threads} threads',
       lambda product=product, lists=lists, threads=threads: every_launch(product, lists, threads))
      for product, lists, threads in (('bmg', 'in-order', '1'), ('bmg', 'immediate', '3'), ('pvc', 'in-order', '2'),
                                      ('lnl', 'in-order', '1'))),
    *((f'consistency of sampled launches, {product}, {lists} lists',
       lambda product=product, lists=lists: some_launches(product, lists))
      for product, lists in (('bmg', 'in-order'), ('pvc', 'immediate'))),
    *((f'all OpenCL launches, {product}, {order}, {events} events, {wait}, {threads} threads',
       lambda values=(product, order, events, wait, threads): every_opencl_launch(*values))
      for product, order, events, wait, threads in (
          ('bmg', 'in-order', 'none', 'finish', '1'), ('lnl', 'out-of-order', 'none', 'read', '2'),
          ('lnl', 'in-order', 'own', 'events', '3'), ('pvc', 'out-of-order', 'profiled', 'events', '1'),
          ('lnl', 'in-order', 'profiled', 'poll', '2'))),
    *((f'consistency of sampled OpenCL launches, {product}, {order}, {events} events, {wait}, {threads} threads',
       lambda values=(product, order, events, wait, threads): some_opencl_launches(*values))
      for product, order, events, wait, threads in (('lnl', 'in-order', 'none', 'finish', '1'),
                                                    ('bmg', 'out-of-order', 'own', 'events', '2'))),
    ('launches that are not timed are reported', launches_that_are_not_timed_are_reported),
    ('programs behave the same with all launches timed', lambda: programs_behave_the_same('all')),
    ('OpenCL programs behave the same with all launches timed', lambda: opencl_programs_behave_the_same('all')),
    ('programs behave the same with some launches timed', lambda: programs_behave_the_same('sample')),
]

sys.exit(run(CASES, long={'programs behave the same with some launches timed'}) != 0)
