#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: module xe
# lab: seconds 1500
# lab: runtime
# lab: covers core/** engine/** lib/**
# lab: covers plugins/xe-eustall/** plugins/ze-usdt/** plugins/decoder-intel-gt/** plugins/sink-folded/**
# lab: covers tests/lab/level_zero/** tests/lab/guest/in-chroot
"""AI flame graphs of a device whose every row is known: how much of the profile is right. TAP; arguments choose.

Intel's real runtime provides code, addresses and launches, the double of the device provides the rows.
A guest is slow: every scenario runs on the newest kernel, those that depend on the layout of rows with another one, too,
and those that depend on the kernel on an older one. LAB_FLAME_GRAPH=all in the environment of tests/lab/run has all of
them run everywhere, and with a third product.
"""
import functools
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from flame_graph import code_scenarios, device_scenarios, process_scenarios
from harness.cases import run

# Where what is read or found depends on the layout of rows or on how a product's runtime places code.
OF_EACH_LAYOUT = {
    'one kernel, one stack': code_scenarios.one_stack,
    'another module at the address': code_scenarios.another_module,
}
SCENARIOS = {
    **OF_EACH_LAYOUT,
    '207 kernels': code_scenarios.many_kernels,
    'one kernel from five stacks': code_scenarios.five_stacks,
    'stacks of the Linux kernel': code_scenarios.linux_stacks,
    'two GTs': code_scenarios.two_gts,
    'only the source is named': code_scenarios.plain_run,
    'launches are reported after their samples': process_scenarios.late_launches,
    'a short life': process_scenarios.short_life,
    'two processes in turns': process_scenarios.in_turns,
    'two processes at once': process_scenarios.at_once,
    'overflow every second': device_scenarios.overflows,
    'a reset': device_scenarios.reset,
    'the stream is taken': device_scenarios.taken,
    'as many rows as fit': device_scenarios.long_run,
    'the device vanishes': device_scenarios.vanishes,
}
# Where it depends on the Linux kernel: its scheduler's tracepoints, its clock's ticks, its files and processes.
OF_EACH_KERNEL = ('one kernel, one stack', 'one kernel from five stacks', 'a short life', 'two processes in turns',
                  'two processes at once', 'overflow every second', 'a reset', 'the stream is taken',
                  'the device vanishes')


def chosen():
    """(product, what, scenario): pvc has one layout of rows, lnl and bmg the other."""
    everything = os.environ.get('LAB_FLAME_GRAPH') == 'all'
    if everything:
        plan = {product: SCENARIOS for product in ('lnl', 'pvc', 'bmg')}
    elif os.environ.get('LAB_KERNEL') == '6.12':
        plan = {'pvc': {what: SCENARIOS[what] for what in OF_EACH_KERNEL}}
    else:
        plan = {'lnl': SCENARIOS, 'pvc': OF_EACH_LAYOUT}
    for product, scenarios in plan.items():
        for what, scenario in scenarios.items():
            yield product, f'{product}: {what}', scenario


if not os.environ.get('LAB_CHROOT'):
    print('there is no chroot with Intel\'s runtime')
    sys.exit(77)
# They take long; what they are about is in others, too, or in tests without a guest.
LONG = {'another module at the address', '207 kernels', 'stacks of the Linux kernel', 'two GTs', 'only the source is named',
        'two processes in turns', 'overflow every second', 'the stream is taken', 'the device vanishes'}

ESSENTIAL = {'lnl: one kernel, one stack'}

sys.exit(run([(what, functools.partial(scenario, product)) for product, what, scenario in chosen()], long=LONG,
             essential=ESSENTIAL) != 0)
