#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The live view: pictures on a terminal that pyte emulates, keys, every end, and the same as text.

The distributions' Python has their pyte, so it is named above.
"""
import collections
import csv
import os
import re
import signal
import subprocess

from harness import (FAILED, FAILING_SOURCE, LOAD, PLUGINS, USAGE, case, end, equal, iaprof, main, needs_program,
                     needs_sampling, read, require, wait_until)
from screen import ENTER, LEAVE, Screen

KNOWN = os.path.join(PLUGINS, 'iaprof-known-source.so')
TOTAL = 'csv:output=total.csv,newline=lf,escape=no'


def known(*arguments, keys='', sink='top', **options):
    return Screen('-s', KNOWN + keys, '--hold', '20ms', '-k', sink, *arguments, **options)


def totals(path='total.csv'):
    """(value type, stack) -> its value in the run"""
    with open(path, encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file))
    equal({row['interval'] for row in rows}, {'0'}, 'intervals of a sink that did not ask for any')
    return {(row['value_type'], row['stack']): int(row['value']) for row in rows
            if not row['stack'].startswith('[lost]')}


def names(screen):
    return [(share, name.split()[-1]) for share, _, _, name in screen.shares()]


@case('the hottest of each table with their shares, which are known; keys change tables and values')
def tables():
    screen = known('-k', TOTAL)
    screen.until(lambda: names(screen) == [(60.0, 'matmul'), (40.0, 'softmax')], 'kernels')
    lines = screen.lines()
    require(lines[0].startswith('iaprof top - '), lines[0])
    require(re.search(r'itself: \d+\.\d\d % of a CPU$', lines[0]), lines[0])
    require(re.match(r'GPU samples \d+/s; CPU time \d+ ms/s, \d+ samples/s', lines[1]), lines[1])
    require(re.match(r'lost: \d+, \d+ since the start: known-source: known loss \d+', lines[2]), lines[2])
    require(lines[3].startswith('CPU    [') and lines[4].startswith('device ['), 'utilization')
    equal(lines[5], '[kernels]  instructions  reasons  functions  stacks  calls  processes', 'tables')
    require(re.search(r'GPU KERNEL +GPU samples, (last \d\.\d s|since the start)$', lines[6]), lines[6])
    equal(lines[23].split('  ')[0], 'q quit', 'the last line')
    screen.press(b'\t')
    screen.until(lambda: screen.shares() and screen.shares()[0][3].split()[0] == 'matmul+0x10', 'instructions')
    screen.press(b'\t')
    screen.until(lambda: names(screen) == [(70.0, 'sbid'), (30.0, 'send')], 'reasons')
    screen.press(b'\x1b[C')
    screen.until(lambda: names(screen) == [(75.0, 'hot'), (25.0, 'warm')], 'functions')
    require('CPU time, ' in screen.lines()[6], screen.lines()[6])
    screen.press(b'v')
    screen.until('NPU driver calls, ', 'another value')
    equal([(row[0], row[1]) for row in screen.shares()], [(100.0, 100.0), (0.0, 100.0)], 'shares of calls')
    screen.press(b'r')
    screen.until(', by total', 'the other order')
    screen.press(b'\x1bOC')
    screen.until(lambda: '[stacks]' in screen.text() and names(screen) == [(75.0, 'hot'), (25.0, 'warm')], 'stacks')
    screen.press(b'\x1bOQ')
    screen.until(lambda: names(screen) == [(100.0, 'ivpu_bo_create_ioctl')], 'calls')
    screen.press(b'\t')
    screen.until('[processes]', 'processes')
    screen.press(b'\t')
    screen.until('[kernels]', 'the first table again')
    screen.press(b'\x1b[D')
    screen.until('[processes]', 'the one before')
    screen.press(b'6')
    screen.until('[calls]', 'the table with this number')
    screen.press(b'h')
    screen.until('Press any key', 'help')
    screen.press(b'x')
    screen.until('[calls]', 'the table again')
    screen.press(b'\x1bOP')
    screen.until('Press any key', 'help')
    screen.press(b'x')
    screen.until('[calls]', 'the table again')
    screen.quit().completes().leaves('total.csv')
    sums = collections.Counter()
    for (kind, _), value in totals().items():
        sums[kind] += value
    equal(sums['gpu-stalls'] * 4, sums['cpu'] // 1000000, 'what the other sink has')


@case('since the start all values are there, and their sums are those of the run')
def sums_of_run():
    screen = known('-k', TOTAL, sink='top:table=functions')
    screen.until('hot', 'samples')
    screen.press(b'c')
    screen.until('since the start, by self', 'sums')
    outcome = screen.quit().completes()
    require(re.search(r'^iaprof: \d+ samples in ', outcome.out, re.M), outcome.out)
    require('known loss' in outcome.out, 'the summary does not come after the screen is given back')


@case('a recording is shown as a whole, until q', b'q')
@case('a recording is shown as a whole, until Ctrl-C', signal.SIGINT)
@case('a recording is shown as a whole, until it is terminated', signal.SIGTERM)
def recording(how):
    iaprof('-d', '1s', '-s', KNOWN, '--hold', '20ms', '--record', 'capture', '-k', TOTAL).completes()
    stalls = {stack: value for (kind, stack), value in totals().items() if kind == 'gpu-stalls'}
    screen = Screen('--replay', 'capture', '-k', 'top')
    screen.until('end of recording', 'the end of the recording')
    screen.until(lambda: screen.shares(), 'rows')
    equal(sorted(int(row[2]) for row in screen.shares()),
          sorted(sum(value for stack, value in stalls.items() if kernel in stack) for kernel in ('matmul', 'softmax')),
          'sums')
    require('itself' not in screen.lines()[0], 'a replay has no overhead to speak of')
    if isinstance(how, bytes):
        screen.press(how)
    else:
        screen.signal(how)
    outcome = screen.finish().completes()
    require('replayed' in outcome.out, outcome.out)


@case('counters and findings have tables of their own')
def items():
    with open('metrics', 'w', encoding='ascii') as file:
        file.write('string\t1\t[unknown file]\ninterval\t0\t100.000000\nmetric\tqueue depth\t5\n'
                   'interval\t1\t101.000000\nmetric\tqueue depth\t7\n')
    screen = Screen('--replay', 'metrics', '-k', 'top')
    screen.until('[counters]', 'the table')
    require(any(re.match(r'7 +queue depth', line) for line in screen.lines()), screen.text())
    screen.quit().completes()


@case('a window of another size has another picture')
def resize():
    screen = known()
    screen.until('softmax', 'the picture')
    for rows, columns in (40, 130), (9, 60), (24, 30), (3, 12), (1, 1), (10, 40), (50, 300), (16, 120), (24, 80):
        screen.set_size(rows, columns)
        last = 'q quit'[:columns]
        screen.until(lambda: rows < 9 or screen.lines()[-1].startswith(last), f'{rows} rows')
        if rows < 9:
            screen.until(lambda: screen.lines()[0].strip().startswith('SELF%'[:max(columns - 2, 0)]), 'a small picture')
        if columns == 30:
            screen.until(lambda: re.match(r' 60\.00%  matmul$', screen.lines()[screen.heading() + 1]), 'a narrow row')
        if columns == 130:
            equal(screen.lines()[39].split()[-1], 'help', 'the end of the last line')
    screen.quit().completes()


# Samples of functions in processes and modules: pid, program, value, frames from the leaf on.
WHERE = [(101, 'alpha', 60, ['work /lib/libone.so', 'main /bin/alpha']),
         (102, 'alpha', 20, ['work /lib/libone.so', 'main /bin/alpha']),
         (201, 'beta', 15, ['work /lib/libtwo.so', 'main /bin/beta']),
         (201, 'beta', 5, ['xe_wait [xe]', 'syscall /lib/libc.so.6', 'main /bin/beta'])]


def replay_where(rows=20, columns=120):
    with open('where.txt', 'w', encoding='ascii') as file:
        for i, (pid, program, value, frames) in enumerate(WHERE):
            file.write(f'{program} {pid}/{pid} [000] {10 + i}.000000: {value} cycles: \n')
            file.writelines(f'\t10 {name} ({module})\n' for name, module in (frame.split() for frame in frames))
            file.write('\n')
    screen = Screen('--replay', 'where.txt', '-k', 'top', rows=rows, columns=columns)
    screen.until('end of recording', 'the end of the recording')
    screen.until(lambda: screen.heading() is not None and 'work' in screen.text(), 'rows')
    return screen


def cells(screen, *titles):
    """The cells of each row below these titles, up to the next title; numbers are right-aligned at theirs."""
    lines, heading = screen.lines(), screen.heading()
    title_line = '' if heading is None else lines[heading]
    begins = {title: title_line.index(title) for title in ('PID', 'TID', 'PROGRAM', 'MODULE', 'FUNCTION')
              if title in title_line}
    found = []
    if not set(titles) <= set(begins):
        return found
    for line in filter(None, lines[heading + 1:-1]):
        row = []
        for title in titles:
            begin = begins[title]
            end = min((other for other in begins.values() if other > begin), default=len(line) + 1)
            if title in ('PID', 'TID'):
                begin, end = begin + len(title) - 7, begin + len(title) + 1
            aligned = line[begin - 1:begin] == ' ' and (line[end - 1:end] or ' ') == ' '
            row.append(line[begin:end].strip() if aligned else f'not aligned: {line}')
        found.append(tuple(row))
    return found


def is_whole(screen, columns):
    """Whether the heading, which is drawn in reverse, reaches the last column."""
    return screen.heading() is not None and screen.emulator.buffer[screen.heading()][columns - 1].reverse


@case('columns: as many as the window has room for', 40, [], [('work',), ('work',), ('xe_wait [k]',)])
@case('columns: 80', 80, ['PROGRAM'], [('alpha', 'work'), ('beta', 'work'), ('beta', 'xe_wait [k]')])
@case('columns: 120', 120, ['PID', 'PROGRAM', 'MODULE'],
      [('several', 'alpha', 'libone.so', 'work'), ('201', 'beta', 'libtwo.so', 'work'),
       ('201', 'beta', '[xe]', 'xe_wait [k]')])
@case('columns: 300', 300, ['PID', 'PROGRAM', 'MODULE'],
      [('several', 'alpha', 'libone.so', 'work'), ('201', 'beta', 'libtwo.so', 'work'),
       ('201', 'beta', '[xe]', 'xe_wait [k]')])
def columns_of_windows(columns, titles, wanted):
    screen = replay_where(columns=columns)
    heading = screen.lines()[screen.heading()]
    equal([title for title in ('PID', 'TID', 'PROGRAM', 'MODULE') if title in heading], titles, 'columns')
    equal(cells(screen, *titles, 'FUNCTION')[:3], wanted, 'rows')
    # From this size on, and back.
    for other in *(size for size in (40, 80, 120, 300) if size != columns), columns:
        screen.until(lambda: is_whole(screen, screen.emulator.columns), 'a whole picture')
        before = len(screen.raw)
        screen.set_size(20, other)
        screen.until(lambda: len(screen.raw) > before and is_whole(screen, other), f'{other} columns')
    screen.until(lambda: cells(screen, *titles, 'FUNCTION')[:3] == wanted, 'the same rows')
    screen.quit().completes()


@case('a row for all processes, or for each')
def each_process():
    screen = replay_where()
    equal([row[0] for row in screen.shares()[:3]], [80.0, 15.0, 5.0], 'shares')
    for key in b'g', b'\x1b[15~':
        screen.press(key)
        screen.until(lambda: [row[0] for row in screen.shares()[:4]] == [60.0, 20.0, 15.0, 5.0], 'a row for each')
        equal(cells(screen, 'PID', 'PROGRAM', 'MODULE', 'FUNCTION')[:4],
              [('101', 'alpha', 'libone.so', 'work'), ('102', 'alpha', 'libone.so', 'work'),
               ('201', 'beta', 'libtwo.so', 'work'), ('201', 'beta', '[xe]', 'xe_wait [k]')], 'processes')
        screen.press(key)
        screen.until(lambda: [row[0] for row in screen.shares()[:3]] == [80.0, 15.0, 5.0], 'one row for all')
    screen.press(b'3')
    screen.press(b'7')
    screen.until('[processes]', 'processes')
    screen.until(lambda: [(row[0], row[3]) for row in screen.shares()] ==
                 [(60.0, 'alpha'), (20.0, 'alpha'), (20.0, 'beta')], 'sums of processes')
    screen.quit().completes()


@case('sort keys: each column, and the reverse')
def sort():
    screen = replay_where()
    screen.press(b'g')
    everything = cells(screen, 'PID', 'PROGRAM', 'MODULE', 'FUNCTION')
    for key, title, column in ((b's', 'total', None), (b'\x1b[17~', 'pid', 0), (b'>', 'program', 1),
                               (b's', 'module', 2), (b's', 'name', 3)):
        screen.press(key)
        screen.until(f', by {title}', title)
        screen.until(lambda: len(cells(screen, 'PID')) == 11, 'all rows')
        if column is not None:
            found = [row[column].lower() for row in cells(screen, 'PID', 'PROGRAM', 'MODULE', 'FUNCTION')]
            equal(found, sorted(found, key=lambda cell: int(cell) if column == 0 else cell), title)
            screen.press(b'I')
            screen.until(f', by {title} reversed', 'the reverse')
            back = [row[column].lower() for row in cells(screen, 'PID', 'PROGRAM', 'MODULE', 'FUNCTION')]
            equal(back, found[::-1], f'{title} reversed')
            screen.press(b'I')
        else:
            screen.until(lambda: screen.shares()[0][1] == 60.0, 'the largest total')
    screen.press(b'S')
    screen.until(', by module', 'the one before')
    screen.press(b's')
    screen.press(b's')
    screen.until(', by self', 'the first one again')
    require(everything, 'no rows')
    screen.quit().completes()


@case('a filter for rows, which is typed, kept, changed and cleared')
def filtered():
    screen = replay_where()
    screen.press(b'/LIBT')
    screen.until('filter: LIBT', 'what is typed')
    screen.until(lambda: [row[3] for row in screen.shares()] == ['work'], 'the row of the module')
    equal(screen.shares()[0][0], 15.0, 'a share, of everything')
    screen.press(b'\x7f\x7f\x7f\x7f201\r')
    screen.until(lambda: 'filter: 201  Esc clear' in screen.lines()[-1], 'what is kept')
    screen.until(lambda: {row[0] for row in cells(screen, 'PID')} == {'201'}, 'rows of the process')
    screen.press(b'\x1bOR')
    screen.press(b'nothing like it')
    screen.until('no rows match the filter', 'nothing')
    screen.press(b'\x1b')
    screen.until(lambda: {row[0] for row in cells(screen, 'PID')} == {'201'}, 'what was there before')
    screen.press(b'\x1b')
    screen.until(lambda: screen.shares()[0][0] == 80.0, 'all rows')
    # Keys of the view are text here, and other keys still scroll.
    screen.press(b'/q g\x1b[B\x15alpha\r')
    screen.until(lambda: {row[0] for row in cells(screen, 'PROGRAM')} == {'alpha'}, 'rows of the program')
    screen.press(b'\x1b[21~')
    screen.finish().completes()


def bars(screen, columns):
    """Where all bars begin and end; None: they are not aligned, or not as wide as the window needs."""
    lines = screen.lines()[3:7]
    places = {(line.rfind('['), line.rfind(']')) for line in lines}
    begin, end = next(iter(places))
    return (begin, end) if len(places) == 1 and 0 < begin < end and min(end, columns // 4) > columns // 5 else None


@case('utilization: what is known as bars with their history, what is not as blanks')
def utilization():
    screen = known(keys=':busy=yes', rows=24, columns=80)
    screen.until(lambda: re.search(r'^device +\[\|+ +(24\.9|25\.0)%\] ', screen.text(), re.M), 'a device')
    screen.until(lambda: re.search(r'^second device +\[\|+ +(59|60)\.\d%\] ', screen.text(), re.M), 'another one')
    screen.until(lambda: re.search(r'^second device .* +\u2585\u2585\u2585+$', screen.text(), re.M), 'history')
    require(re.search(r'^device .* +\u2583\u2583+$', screen.text(), re.M), screen.text())
    require(re.search(r'^\?\[2Jthird +\[ +n/a\]$', screen.text(), re.M), f'the silent one:\n{screen.text()}')
    for columns in 40, 80, 120, 300:
        before = len(screen.raw)
        screen.set_size(24, columns)
        screen.until(lambda: len(screen.raw) > before and bars(screen, columns), f'aligned bars in {columns} columns')
        begin, end = bars(screen, columns)
        found = next(line for line in screen.lines() if line.startswith('second')).count('|')
        require(abs(found - 0.6 * (end - begin - 1)) <= 1, f'{found} of {end - begin - 1} columns are not 60 %')
    screen.set_size(14, 80)
    wanted = r'CPU \d+\.\d%  device (24\.9|25\.0)%  second device (59|60)\.\d%$'
    screen.until(lambda: re.match(wanted, screen.lines()[3]), 'one line')
    screen.set_size(10, 80)
    screen.until(lambda: screen.heading() == 4, 'no line')
    equal(len(screen.shares()), 2, 'rows in a low window')
    screen.quit().completes()


@case('utilization on a terminal that has only ASCII')
def utilization_ascii():
    screen = known(keys=':busy=yes', environment={'LC_ALL': 'C'})
    screen.until(lambda: re.search(r'^second device .*\] +=+$', screen.text(), re.M), 'history')
    require(screen.raw.isascii(), 'what is not ASCII')
    screen.quit().completes()


@case('threads, if records have them', ':threads=yes', {'11': 90.0, '12': 10.0})
@case('no threads without', '', {'': 100.0})
def threads(keys, wanted):
    screen = known(keys=keys, columns=120)
    screen.until('softmax', 'the picture')
    screen.press(b'7')
    screen.until('[processes]', 'processes')
    screen.until('GPU samples, ', 'values of a device')
    while 'CPU time, ' not in screen.lines()[screen.heading()]:
        shown = screen.lines()[screen.heading()].partition(', ')[0]
        screen.press(b'v')
        screen.until(lambda: shown not in screen.lines()[screen.heading() or 0], 'another value')  # pylint: disable=cell-var-from-loop
    equal('TID' in screen.lines()[screen.heading()], bool(keys), 'the column')

    def found():
        """Both programs have one pid, so only the sums of threads are known."""
        sums = collections.Counter()
        ids = cells(screen, 'TID') if keys else [('',)] * len(screen.shares())
        for (tid,), row in zip(ids, screen.shares()):
            sums[tid] += row[0]
        return sums
    screen.until(lambda: found() == wanted, 'sums of threads')
    screen.quit().completes()


@case('rows that find no room are scrolled to')
def scroll():
    screen = known(rows=2)
    screen.until('matmul', 'the first row')
    for key, name in ((b'\x1b[B', 'softmax'), (b'\x1b[B', 'softmax'), (b'\x1b[A', 'matmul'), (b'\x1b[6~', 'softmax'),
                      (b'\x1b[H', 'matmul'), (b'\x1b[F', 'softmax'), (b'\x1b[5~', 'matmul')):
        screen.press(key)
        screen.until(name, name)
        require(name in screen.lines()[1], screen.text())
    screen.quit().completes()


@case('what is paused stays, and goes on')
def pause():
    screen = known()
    screen.until('softmax', 'the picture')
    screen.press(b'p')
    screen.until('PAUSED', 'the pause')
    paused = screen.lines()
    before = len(screen.raw)
    left = b'\x1b[D'
    for key, table in (b'\t', '[instructions]'), (b'\t', '[reasons]'), (left, '[instructions]'), (left, '[kernels]'):
        for _ in range(20):
            screen.pump()
        screen.press(key)
        screen.until(table, table)
    require(len(screen.raw) > before, 'nothing was drawn')
    equal(screen.lines(), paused, 'what is paused')
    screen.press(b'p')
    screen.until(lambda: 'PAUSED' not in screen.text() and screen.lines()[0] != paused[0], 'another picture')
    screen.quit().completes()


def colours(screen):
    return re.findall(rb'\x1b\[(?:\d*;)*(?:3\d|4\d|9\d|10\d)[;\d]*m', screen.raw)


@case('colours, unless nobody wants or has them', {}, '', True)
@case('colours: NO_COLOR', {'NO_COLOR': '1'}, '', False)
@case('colours: NO_COLOR that is overruled', {'NO_COLOR': '1'}, ':colour=yes', True)
@case('colours: a terminal of one colour', {'TERM': 'vt220'}, '', False)
@case('colours: another one', {'TERM': 'xterm-mono'}, '', False)
@case('colours: no', {}, ':colour=no', False)
def colour(environment, keys, wanted):
    screen = known(environment=environment, sink='top' + keys)
    screen.until('softmax', 'the picture')
    screen.quit().completes()
    equal(bool(colours(screen)), wanted, 'colours')


@case('names do nothing to a terminal, and are cut where its columns end', 'C.UTF-8')
@case('names on a terminal that has only ASCII', 'C')
@case('names with a locale that is not installed', 'xx_XX.UTF-8')
def hostile(locale):
    screen = known(keys=':hostile=yes', environment={'LC_ALL': locale})
    screen.until(lambda: len(screen.shares()) == 2, 'kernels')
    name = screen.shares()[0][3]
    if locale == 'C':
        require(screen.raw.isascii(), 'what is not ASCII')
        require(re.search(r'^\?+ \?{20}', name), name)
    else:
        # Each of them takes two columns, of which pyte shows one as text.
        require('\u706b' * 10 in name, name)
        require('\u202e' not in screen.raw.decode(), 'a mark that reverses text')
    first = screen.heading() + 1
    require(screen.lines()[first].lstrip().startswith('60.00%') and
            screen.lines()[first + 1].lstrip().startswith('40.00%'),
            f'a name takes more than its line:\n{screen.text()}')
    for table in 'instructions', 'reasons', 'functions':
        screen.press(b'\t')
        screen.until(f'[{table}]', table)
    screen.until(lambda: screen.shares() and screen.shares()[0][3] == '?[2J?[31mred?', 'a program')
    shown = screen.raw
    screen.quit().completes()
    equal(shown.count(b'\x1b[2J'), 1, 'how often the screen is cleared')
    require(b'\a' not in shown, 'the bell')


@case('messages wait until the screen is given back')
def messages():
    screen = known(keys=':talkative=yes')
    screen.until('softmax', 'the picture')
    outcome = screen.quit().completes()
    said = b'that is how it is'
    require(said not in screen.raw[:screen.raw.rfind(LEAVE)], 'a message in the picture')
    require(outcome.out.count(said.decode()) > 2, outcome.out)
    require(b' lost\x1b' not in screen.raw and not re.search(rb'\d s  \d+ samples', screen.raw), 'a status line')


@case('messages for somewhere else do not wait')
def messages_elsewhere():
    with open('messages', 'wb') as file:
        screen = known(keys=':talkative=yes', stderr=file)
        screen.until('softmax', 'the picture')
        wait_until(lambda: 'that is how it is' in read('messages'), 'a message')
        require(screen.process.poll() is None, 'it has ended')
        screen.quit().completes()


@case('Ctrl-C, and other signals that end a run', signal.SIGINT)
@case('and this one', signal.SIGTERM)
def interrupted(number):
    screen = known('-k', TOTAL)
    screen.until('softmax', 'the picture')
    screen.signal(number)
    screen.finish().completes().leaves('total.csv')


@case('a source that does not start', ':in=start', 'start')
@case('a source that fails on its way', ':in=timer', 'timer')
def failing(keys, place):
    screen = Screen('-s', FAILING_SOURCE + keys, '-k', 'top')
    outcome = screen.finish()
    equal(outcome.status, FAILED, 'exit status')
    require(re.search(rf'^iaprof: source failing-source: the {place} ', outcome.out, re.M), outcome.out)


@case('a second signal ends it at once, and gives the terminal back')
def interrupted_twice():
    screen = known('-k', TOTAL)
    screen.until('softmax', 'the picture')
    # Both are there when it goes on, so there is no time in between.
    for number in signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT:
        screen.signal(number)
    outcome = screen.finish()
    require(outcome.status in (128 + signal.SIGINT, 128 + signal.SIGTERM), str(outcome))


@case('the end of the time, or of the command', ['-d', '500ms'])
@case('the end of the command', ['sleep', '0.5'])
def by_itself(arguments):
    known('-k', TOTAL, *arguments).finish().completes().leaves('total.csv')


@case('a terminal that goes away ends the run in good order')
def hangup():
    screen = known('-k', TOTAL, stderr=subprocess.PIPE)
    screen.until('softmax', 'the picture')
    os.close(screen.master)
    outcome = end(screen.process)
    os.close(screen.slave)
    outcome.completes('samples in').leaves('total.csv')
    require(totals(), 'the other sink has nothing')


@case('a terminal that takes nothing holds up nobody')
def stopped():
    # Far more than the terminal takes before somebody reads it.
    screen = known('-d', '2s', '-i', '20ms', '-k', 'csv:output=total.csv,newline=lf,escape=no', rows=300, columns=400,
                   stderr=subprocess.PIPE)
    outcome = end(screen.process)
    outcome.completes('samples in').leaves('total.csv')
    require('too slow' not in outcome.err, outcome.err)
    os.close(screen.master)
    os.close(screen.slave)


@case('Ctrl-Z gives the terminal back, and the run goes on after it')
def suspended():
    screen = known(process_group=0)
    screen.until('softmax', 'the picture')
    screen.press(b'\x1a')
    pid, status = os.waitpid(screen.process.pid, os.WUNTRACED)
    equal((pid, os.WIFSTOPPED(status)), (screen.process.pid, True), 'what became of it')
    while screen.raw.count(LEAVE) < 1:
        screen.pump()
    import termios
    equal(termios.tcgetattr(screen.slave), screen.modes, 'modes of the terminal')
    screen.emulator.reset()
    screen.signal(signal.SIGCONT)
    screen.until(lambda: screen.raw.count(ENTER) == 2 and 'softmax' in screen.text(), 'the picture again')
    screen.quit().completes()


@case('in the background nothing is drawn, and the run goes on', needs=[needs_program('setsid')])
def background():
    # A shell with job control, whose own the terminal is.
    shell = ['setsid', '--ctty', 'sh', '-m', '-c', '"$@" & wait $!', 'sh']
    screen = known('-d', '2s', '-k', TOTAL, wrap=shell, take_input=True)
    outcome = screen.finish()
    require(ENTER not in screen.raw, 'the screen is taken')
    outcome.completes().leaves('total.csv')
    require('samples in' in outcome.out, outcome.out)


@case('what is no terminal is refused, and text is what to ask for')
def refused():
    iaprof('-s', KNOWN, '-k', 'top').fails(FAILED, 'sink top.*standard output is not a terminal.*batch=yes')
    iaprof('-s', KNOWN, '-k', 'top', '-o', 'out').fails(FAILED, 'sink top.*batch=yes')
    iaprof('-s', KNOWN, '-k', 'top', '-k', 'top.second').fails(USAGE, 'two sinks write standard output')
    iaprof('-s', KNOWN, '-k', 'top', '-k', 'folded').fails(USAGE, 'two sinks write standard output')
    iaprof('-s', KNOWN, '-k', 'top:table=none').fails(USAGE, 'table')
    for name in 'dumb', '':
        screen = known(environment={'TERM': name})
        outcome = screen.finish()
        equal(outcome.status, FAILED, 'exit status')
        require(re.fullmatch(r'iaprof: sink top: .*TERM.*batch=yes for text\)\n', outcome.out), outcome.out)


VALUE_TYPES = {'CPU time': 'cpu', 'GPU samples': 'gpu-stalls', 'NPU driver calls': 'npu-calls', 'NPU driver time': 'npu-time'}


def blocks(text):
    """Each interval: (table, value type) -> {what: (self, total)}"""
    found = []
    for line in text.splitlines():
        if line.startswith('iaprof top, interval '):
            found.append({})
        elif match := re.match(r'([a-z]+): ([A-Za-z ]+), (?:last|since)', line):
            table = found[-1].setdefault((match[1], VALUE_TYPES[match[2]]), {})
        elif match := re.match(r' *\d+\.\d+% +\d+\.\d+% +(\d+) +(\d+)  (.*)$', line):
            require(match[3] not in table, f'a row twice: {line}')
            table[match[3]] = int(match[1]), int(match[2])
    return found


def add(found, table, what=None):
    return sum(sums[0] for block in found for name, sums in block.get(table, {}).items() if not what or what in name)


@case('as text: a block for each interval, which add up to the run')
def batch():
    outcome = iaprof('-d', '2500ms', '-s', KNOWN, '--hold', '20ms', '-k', 'top:batch=yes', '-k', TOTAL).completes()
    found = blocks(outcome.out)
    require(len(found) >= 2, f'{len(found)} intervals in 2.5 s')  # a late one is as long as two
    require('\x1b' not in outcome.out, 'an escape sequence')
    whole = totals()
    for kind in 'cpu', 'gpu-stalls', 'npu-calls', 'npu-time':
        wanted = sum(value for (name, _), value in whole.items() if name == kind)
        require(wanted, f'no {kind}')
        for table in ('functions', 'stacks') + (('kernels', 'instructions', 'reasons') if kind == 'gpu-stalls' else ()):
            equal(add(found, (table, kind)), wanted, f'{table} of {kind}')
    for kernel in 'matmul', 'softmax':
        equal(add(found, ('kernels', 'gpu-stalls'), kernel),
              sum(value for (_, stack), value in whole.items() if kernel in stack), kernel)
    equal(add(found, ('functions', 'cpu'), 'hot'), whole['cpu', 'hot'], 'hot')
    losses = [(int(match[1]), int(match[2])) for match in
              re.finditer(r'^lost: (\d+), (\d+) since the start: known-source: known loss \2$', outcome.out, re.M)]
    equal(sum(last for last, _ in losses), losses[-1][1], 'losses')
    require(f'known loss: {losses[-1][1]}' in outcome.err, outcome.err)


@case('as text: utilization, as far as it is known')
def batch_utilization():
    outcome = iaprof('-d', '3500ms', '-s', KNOWN + ':busy=yes', '--hold', '20ms', '-k', 'top:batch=yes').completes()
    found = re.findall(r'^utilization: CPU \d+\.\d %, device (\d+)\.\d %, second device (\d+)\.\d %$', outcome.out,
                       re.M)
    require(found and all(first in ('24', '25') and second in ('59', '60') for first, second in found), outcome.out)
    require('third' not in outcome.out, 'what is unknown')


@case('as text: an interval that the user chose, one table, few rows, a file')
def batch_options():
    outcome = iaprof('-d', '1s', '-i', '100ms', '-s', KNOWN, '--hold', '20ms', '-k',
                     'top:batch=yes,table=functions,count=1,since-start=yes', '-o', 'out').completes().leaves('out')
    equal(outcome.out, '', 'standard output')
    text = read('out')
    found = blocks(text)
    require(len(found) >= 3, f'{len(found)} intervals in 1 s, of which the default would have made one or two')
    equal({table for block in found for table, _ in block}, {'functions'}, 'tables')
    equal(set(found[-1]['functions', 'cpu']), {'hot'}, 'rows')
    require('... 1 more' in text, 'what is left out is not said')
    shown = [block['functions', 'cpu']['hot'][0] for block in found if block]
    equal(shown, sorted(shown), 'sums since the start')


@case('as text: a replay is one block')
def batch_replay():
    iaprof('-d', '1s', '-i', '100ms', '-s', KNOWN, '--hold', '20ms', '--record', 'capture').completes()
    iaprof('--replay', 'capture', '-k', TOTAL).completes()
    found = blocks(iaprof('--replay', 'capture', '-k', 'top:batch=yes').completes().out)
    equal(len(found), 1, 'blocks')
    whole = totals()
    for kind in 'cpu', 'gpu-stalls', 'npu-calls':
        equal(add(found, ('stacks', kind)), sum(value for (name, _), value in whole.items() if name == kind), kind)
    one, ten = (blocks(iaprof('--replay', 'capture', '-i', interval, '-k', 'top:batch=yes').completes().out)
                for interval in ('1h', '100ms'))
    equal(add(ten, ('stacks', 'cpu')), add(one, ('stacks', 'cpu')), 'sums of intervals')
    require(len(ten) > 5 > len(one), f'{len(ten)} and {len(one)} intervals')


@case('what a program really does is at the top', needs=[needs_sampling])
def real():
    screen = Screen('-s', 'cpu-stack', '--scope', 'command', '-k', 'top',
                    'sh', '-c', f'exec "{LOAD}" shares 60000 > out')
    screen.until(lambda: names(screen) and names(screen)[0][1] == 'burn_50', 'the hottest function')
    screen.press(b'c')
    screen.until(lambda: {'burn_50', 'burn_30', 'burn_15'} <= {name for _, name in names(screen)}, 'the others')
    screen.quit().completes('')


if __name__ == '__main__':
    main()
