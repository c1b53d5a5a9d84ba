#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls of a driver from a trace to every end: tables on the terminal, flame graph, CSV, a capture and its replay."""
import csv
import os
import re
import threading
import time

from harness import NOTHING, Skip, case, equal, iaprof, main, read, require, screens, terminal, write

PLUGIN = 'ivpu-trace:input=trace,time-unit=ns'
# One submission with two pages mapped, a message of the firmware.
TRACE = ['ivpu_submit_ioctl', 'ivpu_bo_pin', 'ivpu_mmu_context_map_sgt', 'ivpu_mmu_context_map_page',
         'ivpu_mmu_context_map_page', 'ivpu_hw_irq_handler', 'ivpu_hw_ip_irq_handler_40xx', 'ivpu_ipc_irq_handler']
FOLDED = ('[no program];[interrupt];ivpu_hw_irq_handler 1\n'
          '[no program];[interrupt];ivpu_hw_irq_handler;ivpu_hw_ip_irq_handler_40xx 1\n'
          '[no program];[interrupt];ivpu_hw_irq_handler;ivpu_hw_ip_irq_handler_40xx;ivpu_ipc_irq_handler 1\n'
          '[no program];ivpu_submit_ioctl 1\n'
          '[no program];ivpu_submit_ioctl;ivpu_bo_pin 1\n'
          '[no program];ivpu_submit_ioctl;ivpu_bo_pin;ivpu_mmu_context_map_sgt 1\n'
          '[no program];ivpu_submit_ioctl;ivpu_bo_pin;ivpu_mmu_context_map_sgt;ivpu_mmu_context_map_page 2\n')


def write_trace():
    write('trace', 'Attaching 223 probes...\n' + ''.join(f'kprobe:intel_vpu:{name}\n' for name in TRACE))


@case('a trace becomes tables, a flame graph, rows and a capture, and the replay has the same')
def every_end():
    write_trace()
    outcome = iaprof('-s', PLUGIN, '-k', 'folded:output=out', '-k', 'csv:rows=events,output=rows,newline=lf',
                     '--record', 'capture').completes().leaves('out', 'rows', 'capture')
    equal(''.join(sorted(read('out').splitlines(keepends=True))), FOLDED, 'the flame graph')
    require(re.search(r'^ +3 +37\.5% +- +- +- +memory management$', outcome.err, re.M), 'no table by family')
    require(re.search(r'^ +2 +- +25\.0% {8}ivpu_mmu_context_map_page$', outcome.err, re.M), 'no table by nesting')
    require('npu-calls: 8 calls: memory management 3 (37.5 %)' in outcome.err, 'no overview')
    require('warning' not in outcome.err, 'a warning')
    with open('rows', encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    equal(sum(int(row['count']) for row in rows if row['record'] == 'call'), len(TRACE), 'calls in CSV')
    nodes = [row for row in rows if row['record'] == 'call-node']
    equal(sum(row['name'] == 'ivpu_mmu_context_map_page' for row in nodes), 1, 'nodes of one way of nesting')
    again = iaprof('--replay', 'capture', '-k', 'folded:output=again').completes().leaves('again')
    equal(read('again'), read('out'), 'the flame graph of the replay')
    equal([line for line in again.err.splitlines() if not re.match('iaprof: (replayed|wrote)', line)],
          [line for line in outcome.err.splitlines() if not re.match(r'iaprof: (\d+ samples|wrote)', line)],
          'the tables of the replay')


@case('each call of a trace is recorded, however long it is, and the flame graph is the same')
def every_call():
    turns = 20000
    write('trace', ''.join(f'{1000 * turn + number} kprobe:intel_vpu:{name}\n' for turn in range(1000, 1000 + turns)
                           for number, name in enumerate(TRACE)))
    outcome = iaprof('-s', f'{PLUGIN},mode=events', '-k', 'folded:output=out',
                     '-k', 'csv:rows=events,output=rows,newline=lf').completes().leaves('out', 'rows')
    require('lost' not in outcome.err, outcome.err)
    with open('rows', encoding='utf-8', newline='') as file:
        calls = [row for row in csv.DictReader(file) if row['record'] == 'call']
    equal([row['name'] for row in calls], TRACE * turns, 'calls')
    equal({row['count'] for row in calls}, {'1'}, 'counts')
    times = [int(row['time']) for row in calls]
    equal([time - times[0] for time in times],
          [1000 * turn + number for turn in range(turns) for number in range(len(TRACE))],
          'times')
    iaprof('-s', PLUGIN, '-k', 'folded:output=summed').completes().leaves('summed')
    equal(sorted(read('out').splitlines()), sorted(read('summed').splitlines()), 'the flame graph')


@case('on a terminal the table of the last moments stands in one place, and is gone at the end', 100)
@case('and where the terminal has room for half a line', 30)
def live_table(columns):
    os.mkfifo('trace')

    def feed():
        with open('trace', 'w', encoding='ascii') as trace:
            for turn in range(80):
                trace.write(''.join(f'{turn * 50000000 + number} kprobe:intel_vpu:{name}\n'
                                    for number, name in enumerate(TRACE)))
                trace.flush()
                time.sleep(0.05)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    outcome = terminal('-s', PLUGIN, '-o', 'out', columns=columns).completes().leaves('out')
    feeder.join(60)
    shown = screens(outcome.out.partition('\n     calls   share')[0].rpartition('\x1b[J')[0], columns)
    tables = [screen for screen in shown if any('calls/s' in line for line in screen)]
    require(len(tables) >= 2, outcome.out)
    for screen in tables:
        require(len([line for line in screen if 'calls/s' in line]) == 5, f'not a line for each family: {screen}')
        require(columns < 100 or screen[-1].endswith(' lost'), f'{screen}')
    require('\x1b' not in outcome.out.rpartition('\x1b[J')[2], 'something is erased after the tables at the end')


@case('without the driver, its source names the one that reads traces')
def no_driver():
    if os.path.exists('/sys/module/intel_vpu'):
        raise Skip('this machine has an NPU')
    outcome = iaprof('-s', 'ivpu', '-d', '1s', '-o', 'out')
    equal(outcome.status, NOTHING, 'status')
    require('-s ivpu-trace reads a trace of another machine' in outcome.err, outcome.err)


@case('-q leaves the tables out')
def quiet():
    write_trace()
    equal(iaprof('-q', '-s', PLUGIN, '-o', 'out').completes().leaves('out').err, '', 'standard error')


@case('names in a trace do nothing to a terminal')
def hostile_names():
    write('trace', 'kprobe:intel_vpu:ivpu_open\nkprobe:intel_vpu:ivpu_\x1b[2J\n')
    outcome = iaprof('-s', PLUGIN, '-o', 'out').completes().leaves('out')
    require('\x1b' not in outcome.err, 'an escape sequence')
    equal(read('out'), '[no program];ivpu_open 1\n', 'the flame graph')
    require('warning: ivpu-trace: trace: skipped lines that are not part of a trace of calls: line 2' in outcome.err, 'the skipped line is not reported')


if __name__ == '__main__':
    main()
