#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stall model of the demonstration: what each kind of instruction waits for, in code whose answer is known. TAP."""
import pathlib
import sys
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / 'demo')]

import stall_model
from harness.cases import check, equal, named, run

LOAD = 'send.ugm (16|M0)  r24  r22  null:0  0x0  0x04100580  {I@1,$4} // wr:2+0, rd:1; load.ugm.d32.a64'
LOCAL = LOAD.replace('ugm', 'slm').replace('$4', '$5')
STORE = 'send.ugm (16|M0)  null  r28  r31:1  0x0  0x04000584  {F@1,$5} // wr:2+1, rd:0; store.ugm.d32.a64'
ADD = 'add (16|M0)  r1.0<1>:f  r24.0<1;1,0>:f  r3.0<1;1,0>:f'
BARRIER = '(W)     sync.bar                             0x0'
END = '(W)  send.gtwy (1|M0)  null  r127  null:0  0x0  0x02000010  {EOT,F@1,$7} // wr:1+0, rd:0; end of thread'
PADDING = ['mov (16|M0)              r1.0<1>:d  r2.0<1;1,0>:d'] * stall_model.FETCHED_AT_ENTRY


def stalls(*lines, loops=()):
    """[{reason: cycles}] of these instructions, behind a few that are fetched at the kernel's entry."""
    text = ['=== kernel ===', 'L0:']
    text += [f'/* [{16 * number:04X}]  */         {line}' for number, line in enumerate([*PADDING, *lines, END])]
    code = stall_model.parse('\n'.join(text))['kernel']
    cycles = stall_model.work_of('kernel', code, loops, 1).cycles
    return [{reason: number for reason, number in found.items() if reason != 'active'}
            for found in list(cycles.values())[len(PADDING):-1]]


def a_consumer_waits_for_its_load():
    load, between, consumer = stalls(LOAD, ADD, f'{ADD}  {{Compacted,$4.dst}}')
    check('sbid' not in load and not between, f'{load}, {between}')
    # The instruction in between took one cycle of the wait.
    equal(consumer, {'sbid': stall_model.GLOBAL_LOAD - 1}, 'the consumer')


def local_memory_is_faster():
    consumer = stalls(LOCAL, 'sync.nop  null  {Compacted,$5.dst}')[1]
    equal(consumer, {'sbid': stall_model.LOCAL_LOAD}, 'the consumer')


def a_value_that_is_stored_is_read_soon():
    writer = stalls(STORE, 'mov (16|M0)  r31.0<1>:f  0.0:f  {$5.src}')[1]
    equal(writer, {'sbid': stall_model.SOURCE_IS_READ}, 'the one that overwrites it')


def a_token_is_taken_when_it_is_free():
    again = stalls(LOAD, LOAD)[1]
    check(again['sbid'] > stall_model.GLOBAL_LOAD / 2, f'the second load: {again}')


def others_have_reasons_of_their_own():
    barrier, exponential, sum_of_it, branch = stalls(
        BARRIER, 'math.exp (16|M0)  r25.0<1>:f  r24.0<1;1,0>:f', f'{ADD}  {{M@1}}', '(W&f1.0) jmpi  L400')
    equal(barrier, {'sync': stall_model.BARRIER}, 'a barrier')
    equal(set(exponential), {'pipestall'}, 'an exponential')
    equal(sum_of_it, {'dist_acc': stall_model.MATH}, 'what needs the exponential')
    equal(branch, {'control': stall_model.BRANCH}, 'a branch')


def loops_count_as_often_as_they_run():
    begin = 16 * len(PADDING)
    once, back = stalls(BARRIER, f'(W&f1.0) jmpi  L{begin}', loops=(7,))
    equal([once, back], [{'sync': 7 * stall_model.BARRIER}, {'control': 7 * stall_model.BRANCH}], 'in a loop')
    try:
        stalls(ADD, loops=(7,))
    except ValueError:
        return
    check(False, 'a number for a loop that is not there is taken')


def rows_are_shares():
    works = [stall_model.Work('one', {0: {'sbid': 300}, 16: {'active': 100}}), stall_model.Work('two', {0: {'sync': 600}})]
    rows = stall_model.rows(works, 4000, 10, 1)
    equal(rows, stall_model.rows(works, 4000, 10, 1), 'the same seed')
    check(rows != stall_model.rows(works, 4000, 10, 2), 'another seed draws the same')
    equal([kernel for kernel, _, _ in rows], sorted(kernel for kernel, _, _ in rows), 'order of launches')
    counts = Counter()
    for kernel, offset, reasons in rows:
        equal(sum(reasons.values()), 10, 'samples of a row')
        counts[kernel, offset] += 1
    for place, wanted in (('one', 0), 1200), (('one', 16), 400), (('two', 0), 2400):
        check(abs(counts[place] - wanted) < 120, f'{place}: {counts}')


sys.exit(run(named(a_consumer_waits_for_its_load, local_memory_is_faster, a_value_that_is_stored_is_read_soon,
                   a_token_is_taken_when_it_is_free, others_have_reasons_of_their_own, loops_count_as_often_as_they_run,
                   rows_are_shares)) != 0)
