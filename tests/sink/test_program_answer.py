#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The answer of CPU time and of waits: the page and the terminal say the same, which follows from how stacks were made. TAP."""
import pathlib
import re
import sys

from reader import THIN, Reader, make_page, run_file
from stacks import LIBRARY, LINUX_KERNEL, NANOSECONDS, PROGRAM, UNKNOWN, WAIT, Frame, equal, write_profile

PYTHON, INLINED = 14, 1
WAITING = ('off-cpu', 'nanoseconds')
EVALUATE = Frame('_PyEval_EvalFrameDefault', flags=LIBRARY, kernel_class='interpreter')


def python(name, line, file='/srv/app.py'):
    return Frame(name, PYTHON, file=file, line=line)


SERVICE = [(0, 300, [Frame('python3', PROGRAM, pid=7), python('main', 3), python('parse', 41), EVALUATE]),
           (0, 200, [Frame('python3', PROGRAM, pid=8), python('main', 3), python('parse', 43), EVALUATE,
                     Frame('malloc', flags=LIBRARY, kernel_class='allocation')]),
           (0, 100, [Frame('python3', PROGRAM, pid=7), python('main', 5), python('parse.<locals>.<listcomp>', 50), EVALUATE]),
           (0, 250, [Frame('python3', PROGRAM, pid=7), python('main', 4), Frame('do_syscall_64', LINUX_KERNEL)]),
           (0, 150, [Frame('cron', PROGRAM, pid=9), Frame('[unknown]', flags=UNKNOWN)])]
BUILD = [(0, 400, [Frame('cc1', PROGRAM, pid=7), Frame('[unknown]', flags=UNKNOWN)]),
         (0, 350, [Frame('cc1', PROGRAM, pid=8), Frame('[unknown]', flags=UNKNOWN),
                   Frame('memcpy', flags=LIBRARY, kernel_class='copy')]),
         (0, 200, [Frame('meson', PROGRAM, pid=9), python('load', 7)]), (0, 50, [Frame('cc1', PROGRAM, pid=8), Frame('lex')])]
LOCK = Frame('[lock]', WAIT)
THREADS = [(0, 700, [Frame('python3', PROGRAM, pid=7), python('worker', 9), LOCK]),
           (0, 100, [Frame('python3', PROGRAM, pid=7), python('worker', 9), Frame('take_gil', flags=LIBRARY, kernel_class='wait for the GIL'), LOCK]),
           (0, 200, [Frame('python3', PROGRAM, pid=7), python('worker', 12), Frame('[sleep]', WAIT)]),
           (0, 500, [Frame('python3', PROGRAM, pid=7), python('main', 30), Frame('_run_once', PYTHON, LIBRARY, 9, file='/lib/python3/base.py',
                                                                                   kernel_class='idle'), Frame('[poll]', WAIT)])]
LOOPS = [(0, 950, THREADS[3][2]), (0, 40, THREADS[0][2]), (0, 10, THREADS[2][2])]
NOTHING = [(0, 950, THREADS[3][2])]

ANSWERS = {
    'service': (NANOSECONDS, SERVICE, ['50.0 % of CPU time is in parse, app.py:41.', '  Program: python3', '  Hottest line: app.py:41 (30.0 %)',
                                       '  Where it goes: interpreter 30.0 %, allocation 20.0 %', 'CPU time by program: python3 85.0 %, cron 15.0 %',
                                       'CPU time by function of the program: parse 50.0 %, main 35.0 %']),
    'build': (NANOSECONDS, BUILD, ['80.0 % of CPU time is in cc1.', '  Where it goes: code without symbols 40.0 %, copy 35.0 %, its own code 5.00 %',
                                   'CPU time by program: cc1 80.0 %, meson 20.0 %', 'CPU time by function of the program: load 20.0 %, lex 5.00 %']),
    'threads': (WAITING, THREADS, ['70.0 % of waiting is for locks, most in worker, app.py:9.', 'Waiting by reason: locks 70.0 %, sleeps to end 20.0 %, the GIL 10.0 %',
                                   'Waiting by function of the program: worker 100 %', 'Idle waits of event loops and pools, not counted above: 500 ns']),
    'loops': (WAITING, LOOPS, ['95.0 % of waiting is idle: event loops and pools without work.', 'Of the rest, 80.0 % is for locks, most in worker, app.py:9.',
                               'Waiting by reason: locks 80.0 %, sleeps to end 20.0 %', 'Waiting by function of the program: worker 100 %',
                               'Idle waits of event loops and pools, not counted above: 950 ns']),
    'nothing': (WAITING, NOTHING, ['100 % of waiting is idle: event loops and pools without work.', 'Idle waits of event loops and pools: 950 ns'])}


def the_page_and_the_terminal_agree(window, name):
    kind, stacks, wanted = ANSWERS[name]
    lines = write_profile('summary', pathlib.Path('answer.txt'), [kind], stacks).read_text(encoding='utf-8').splitlines()
    equal(lines[:len(wanted)], wanted, 'on the terminal')
    reader = Reader(window, make_page([kind], stacks))
    shown = ' '.join(reader.texts('#panel .lead, #panel section:first-child .say')).replace(THIN, ' ').strip()
    equal(shown, ' '.join(wanted[:2] if 'Of the rest' in wanted[1] else wanted[:1]), 'in the page')
    found = reader.bars()
    for label, rows in (line.strip().split(': ', 1) for line in wanted if re.match('  Where| *[A-Z][A-Za-z ]* by ', line)):
        equal(found[label], rows, label)
    if wanted[-1].startswith('Idle'):
        equal(reader.text('idle').replace(THIN, ' '), wanted[-1], 'idle waits')
    equal(window.wrong(), [], 'no errors')


def processes_of_one_name_are_one(window):
    reader = Reader(window, make_page([NANOSECONDS], SERVICE))
    equal([(tip.title, tip.rows['Total'].split()[0]) for tip in reader.all_tips(1)], [('python3', '850'), ('cron (9)', '150')], 'programs')


def idle_waits_are_shown_on_request(window):
    reader = Reader(window, make_page([WAITING], THREADS))
    equal((reader.text('whole-sum'), reader.is_seen('#idle-option')), (f'1{THIN}µs of waiting', True), 'without idle waits')
    lead = reader.texts('#panel .lead')
    reader.choose('show-idle', True)
    equal(reader.text('whole-sum'), f'1.5{THIN}µs of waiting', 'with them')
    equal(reader.texts('#panel .lead'), lead, 'the answer is the same')
    reader.choose('show-idle', False)
    equal(reader.text('whole-sum'), f'1{THIN}µs of waiting', 'without them again')
    reader = Reader(window, make_page([WAITING], THREADS[:3]))
    equal(reader.is_seen('#idle-option'), False, 'nothing to show')


def functions_are_split_by_line_on_request(window):
    """A function with several lines is one frame without a line; one that has only one keeps it; inlined ones are hidden."""
    stacks = [(0, 300, [Frame('solve', PROGRAM, pid=7), Frame('main', file='/src/a.c', line=3), Frame('step', file='/src/a.c', line=9)]),
              (0, 200, [Frame('solve', PROGRAM, pid=7), Frame('main', file='/src/a.c', line=3), Frame('step', file='/src/a.c', line=11)]),
              (0, 100, [Frame('solve', PROGRAM, pid=7), Frame('main', file='/src/a.c', line=3), Frame('step', file='/src/a.c', line=11),
                        Frame('add', flags=INLINED, file='/src/a.h', line=5)])]
    reader = Reader(window, make_page([NANOSECONDS], stacks))
    equal([(tip.title, tip.rows['Total'].split()[0]) for tip in reader.all_tips(3)], [('step', '600')], 'one function')
    assert 'a.c:3' in reader.all_tips(2)[0].sub, reader.all_tips(2)
    reader.choose('show-lines', True)
    equal([tip.rows['Total'].split()[0] for tip in reader.all_tips(3)], ['300', '300'], 'two lines')
    equal([tip.title for tip in reader.all_tips(4)], ['add'], 'and the inlined function')
    reader.view('CPU source')
    equal(reader.texts('#code-kernels b')[0], 'step', 'source lines without an option')
    split = Reader(window, make_page([NANOSECONDS], stacks, options=['lines=yes']))
    equal(len(split.all_tips(3)), 2, 'lines=yes splits at first')


def all_answers_agree(window):
    for name in ANSWERS:
        the_page_and_the_terminal_agree(window, name)


PAGE_CASES = (all_answers_agree, processes_of_one_name_are_one, idle_waits_are_shown_on_request, functions_are_split_by_line_on_request)


if __name__ == '__main__':
    sys.exit(run_file())
