#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time strip of the flame graph page in a real browser: lanes, cells of the heatmap, and the part of a run that is
chosen in it. TAP.

Expected numbers are sums of the chosen values, made here. Words on the command line choose cases.
"""
import os
import pathlib
import random
import subprocess
import sys

from browser import SHIFT
from reader import THIN, Reader, make_page, run_file, share
from stacks import COUNT, NANOSECONDS, PROGRAM, Frame, Times, equal, gpu_stack, record, write_profile

MS, SECOND = 10 ** 6, 10 ** 9
BEGIN = 1000  # of the run, in these profiles
LEFT, RIGHT, TOP, AXIS = 4.1 * 13, 1.4 * 13, 0.5 * 13, 2 * 13  # of the strip: where time begins and ends, above and below


class Looker(Reader):
    """A reader of the strip, in which the run is so long."""

    def __init__(self, window, page, seconds, fragment=''):
        self.seconds = seconds
        super().__init__(window, page, fragment)

    def place_at(self, seconds, part=0.5):
        """-> where a time is, a part of the height from below: x, y"""
        left, top, width, height = self.place_of('#strip-canvas')
        return (left + LEFT + seconds / self.seconds * (width - LEFT - RIGHT),
                top + TOP + (1 - part) * (height - AXIS))

    def point_at(self, seconds, part=0.5):
        return self.tip_at(*self.place_at(seconds, part))

    def drag(self, begin, end):
        self.window.drag(self.place_at(begin), self.place_at(end))
        self.drawn()

    def is_drawn_at(self, seconds, part):
        left, top, *_ = self.place_of('#strip-canvas')
        x, y = self.place_at(seconds, part)
        return self.pixel('strip-canvas', x - left, y - top)[3] > 0

    def press_strip(self, key, modifiers=0):
        return self.press(key, 'strip-canvas', modifiers=modifiers)

    def whole(self):
        return self.text('whole-sum').removesuffix(' samples')

    def chip(self):
        return self.text('strip-range').replace('  ×', '') if self.is_seen('#strip-range') else ''

    def heatmap(self):
        left, top, width, height = self.place_of('#strip')
        self.window.mouse('mouseMoved', left + width / 2, top + height / 2)
        self.click_text('#strip-mode button', 'Heatmap')


def stack(name):
    return [Frame('one', PROGRAM), Frame('main'), Frame(name)]


def of_two_seconds():
    """Early in the first second `left`, late in it and in the second one `right`."""
    return [(0, 100, stack('left'), 5 * MS), (0, 20, stack('left'), 19 * MS), (0, 300, stack('left'), 25 * MS),
            (0, 7, stack('right'), 990 * MS), (0, 1000, stack('right'), 1500 * MS)]


def slots_have_their_values(window):
    looker = Looker(window, make_page([COUNT], of_two_seconds(), times=Times(2 * SECOND)), 2)
    for seconds, value in (0.01, 120), (0.03, 300), (0.99, 7), (1.51, 1000), (1.53, 0):
        equal(looker.point_at(seconds).rows['gpu-stalls'], f'{value:,}', f'at {seconds} s')
    equal(looker.point_at(1.51).title, f'1.5{THIN}s to 1.52{THIN}s', 'the slot, to the digits of its width')
    assert f'Resolution 20{THIN}ms' in looker.text('facts-shown'), looker.text('facts-shown')
    equal(window.wrong(), [], 'errors')


def cells_have_their_values(window):
    """A column of 2 s, a row of 200 ms."""
    stacks = [(0, 100, stack('f'), 100 * MS), (0, 20, stack('f'), 190 * MS), (0, 300, stack('f'), 450 * MS),
              (0, 7, stack('f'), 1990 * MS), (0, 1000, stack('f'), 2 * SECOND + 990 * MS)]
    page = make_page([COUNT], stacks, times=Times(4 * SECOND), options=['column=2s', 'row=200ms'])
    looker = Looker(window, page, 4)
    looker.heatmap()
    assert 'strip=heatmap' in looker.fragment(), 'it is in the address'
    for column, row, value in (0, 0, 120), (0, 2, 300), (0, 9, 7), (1, 4, 1000), (1, 5, 0):
        part = (row + 0.5) / 10
        tip = looker.point_at(2 * column + 1, part)
        equal(tip.rows['gpu-stalls'], f'{value:,}', f'cell {column}, {row}')
        equal(looker.is_drawn_at(2 * column + 1, part), value > 0, f'cell {column}, {row} is coloured')
    equal(looker.point_at(3, 0.45).title, f'2.8{THIN}s to 3{THIN}s', 'when it is')
    looker.drag(2.1, 3.9)
    equal(looker.whole(), '1,000', 'a part is chosen here as well')
    equal(Looker(window, page, 4, looker.fragment()).whole(), '1,000', 'by a link')


def a_part_is_chosen(window):
    looker = Looker(window, make_page([COUNT], of_two_seconds(), times=Times(2 * SECOND)), 2)
    equal((looker.whole(), looker.chip()), ('1,427', ''), 'the whole run')
    looker.drag(0.022, 0.998)
    equal(looker.whole(), '307', 'from 20 ms to 1 s')
    equal(looker.chip(), f'980{THIN}ms from 20{THIN}ms', 'what is chosen')
    equal(looker.point(0.5, 3).title, 'left', 'most of it is left')
    looker.drag(1.6, 0.95)
    equal(looker.whole(), '1,007', 'backwards')
    equal(looker.point(0.5, 3).title, 'right', 'all of it is right')
    looker.click(0.5, 3)
    equal(looker.crumbs(), ['All gpu-stalls', 'one', 'main', 'right'], 'zoomed in')
    looker.press_strip('Escape')
    equal((looker.whole(), looker.crumbs()[-1]), ('1,427', 'right'), 'the whole run again, still zoomed in')
    looker.drag(0.002, 0.018)
    equal((looker.whole(), looker.crumbs()), ('120', ['All gpu-stalls']), 'right is not there')
    looker.click_on('#strip-range')
    equal((looker.whole(), looker.chip()), ('1,427', ''), 'by its button')
    looker.drag(1.7, 1.9)
    equal(looker.whole(), '0', 'nothing was there')
    assert 'No samples in the selected time' in looker.text('graph-empty'), looker.text('graph-empty')
    looker.click_text('#graph-empty button', 'Clear selection')
    equal(looker.whole(), '1,427', 'all of it')
    looker.drag(1.2, 5)
    equal(looker.whole(), '1,000', 'dragged out of the strip: to its end')
    window.click(*looker.place_at(0.5))
    looker.drawn()
    equal(looker.whole(), '1,427', 'a click clears it')
    looker.undo()
    equal(looker.whole(), '1,000', 'undone')
    # An edge is moved.
    looker.drag(0.51, 1.8)
    looker.drag(0.5, 0.03)
    equal(looker.whole(), '1,307', 'by its edge')


def all_that_is_shown_follows(window):
    stacks = [(0, 30, gpu_stack(7, 'a', 'dpas', 'sbid', 16), 100 * MS), (0, 60, gpu_stack(7, 'b', 'dpas', 'send', 16), 900 * MS)]
    looker = Looker(window, make_page([COUNT], stacks, times=Times(SECOND)), 1)
    looker.drag(0.05, 0.3)
    equal(looker.texts('#reason-bar button'), [f'Data dependency100{THIN}%'], 'reasons')
    assert 'selected time' in looker.text('reason-title'), looker.text('reason-title')
    assert looker.evaluate('document.querySelector("#panel .lead").textContent').startswith(f'100{THIN}%'), 'the answer'
    looker.view('Table')
    equal(looker.texts('#table-body tbody td.name')[0].split()[0], 'matmul', 'the table')
    equal(looker.evaluate('document.querySelector("#table-body tbody td.n").title'), '30', 'its values')


def keys_choose_too(window):
    looker = Looker(window, make_page([COUNT], of_two_seconds(), times=Times(2 * SECOND)), 2)
    looker.press_strip('ArrowRight', SHIFT)
    equal((looker.whole(), looker.chip()), ('420', f'40{THIN}ms from 0{THIN}ns'), 'the begin')
    looker.press_strip('ArrowRight')
    equal(looker.whole(), '0', 'the next 40 ms')
    looker.press_strip('ArrowLeft')
    equal(looker.whole(), '420', 'and back')
    for _ in range(24):
        looker.press_strip('ArrowRight', SHIFT)
    equal(looker.whole(), '427', 'the first second')
    assert looker.text('said').startswith(f'1{THIN}s from '), looker.text('said')


def each_value_type_has_its_own(window):
    stacks = [(0, 5 * 10 ** 6, stack('busy'), 100 * MS), (1, 30, gpu_stack(7, 'matmul', 'dpas', 'sbid', 16), 300 * MS),
              (1, 12, gpu_stack(7, 'matmul', 'dpas', 'send', 16), 310 * MS)]
    looker = Looker(window, make_page([NANOSECONDS, COUNT], stacks,
                                      times=Times(SECOND, added_up=[(0, 0), (1, 100 * MS)])), 1)
    tip = looker.point_at(0.31)
    equal((tip.rows['GPU samples'], tip.rows['Collected in batches of']), ('42', f'100{THIN}ms at most'), 'stalls')
    equal(tip.rows['Data dependency'], share(30, 42), 'their reasons')
    equal(looker.point_at(0.11).rows['GPU samples'], '0', 'none')
    looker.drag(0.29, 0.33)
    # A lane has its own samples, whichever are shown elsewhere; the resolution is that of the data, which came in batches.
    for value, resolution in ('gpu-stalls', 100), ('cpu', 20):
        looker.choose('value', value)
        assert f'Resolution {resolution}{THIN}ms' in looker.text('facts-shown'), looker.text('facts-shown')
        tip = looker.point_at(0.11, 0.1)
        equal((tip.rows, tip.sub), ({'CPU time': f'5{THIN}ms'}, ''), f'the lane of the CPU, with {value}')
        equal(looker.point_at(0.31).rows['GPU samples'], '42', f'the lane of the GPU, with {value}')
        equal([looker.is_drawn_at(seconds, 0.12) for seconds in (0.105, 0.305)], [True, False], f'samples, with {value}')
    equal(looker.text('whole-sum'), f'0{THIN}ns of CPU time', 'none in the part that is chosen')
    looker.choose('value', 'gpu-stalls')
    equal(looker.whole(), '42', 'a part of the run')


def jobs_are_shown_too(window):
    """Two jobs, of which one never was, in the lane of the NPU."""
    jobs = [record('job', source=1, submitted=when - ran - 5 * MS, queued=when - ran, time=when, id=1, pid=7, state=1)
            for when, ran in ((BEGIN + 550 * MS, 450 * MS), (BEGIN + 1600 * MS, 200 * MS), (2 ** 63, 5 * MS))]
    looker = Looker(window, make_page([COUNT], of_two_seconds(), times=Times(2 * SECOND), records=[
        record('source', number=1, name='ivpu'), *jobs]), 2)
    left, _, _, height = looker.place_of('#strip-canvas')

    def is_busy(seconds):
        return looker.pixel('strip-canvas', looker.place_at(seconds)[0] - left, height - 1.5 * 13 - 7)[3] > 0
    equal([is_busy(seconds) for seconds in (0.05, 0.3, 0.5, 0.7, 1.3, 1.5, 1.7)],
          [False, True, True, False, False, True, False], 'when they ran')
    looker.drag(0.001, 0.03)
    equal(looker.whole(), '420', 'the flame graph of that time')


def stacks_may_be_kept_by_wider_slots(window):
    stacks = [(0, 2 ** i, stack(f'f{i}'), i * 20 * MS) for i in range(12)]
    looker = Looker(window, make_page([COUNT], stacks, times=Times(SECOND, width=80 * MS)), 1)
    equal(looker.point_at(0.11).rows['gpu-stalls'], '32', 'sums are finer')
    assert f'Resolution 80{THIN}ms' in looker.text('facts-shown'), looker.text('facts-shown')
    looker.drag(0.102, 0.118)
    equal(looker.whole(), str(2 ** 4 + 2 ** 5 + 2 ** 6 + 2 ** 7), 'the slot around it')
    equal(looker.chip(), f'80{THIN}ms from 80{THIN}ms', 'label of the selection')


def an_hour_fits(window):
    chance = random.Random(1)
    seconds = 3600
    values = [chance.randrange(1, 1000) for _ in range(seconds)]
    stacks = [(0, value, stack(f'f{i % 10}'), i * SECOND + i % 50 * 20 * MS) for i, value in enumerate(values)]
    looker = Looker(window, make_page([COUNT], stacks, times=Times(seconds * SECOND, width=SECOND)), seconds)
    equal(looker.whole(), f'{sum(values):,}', 'the whole run')
    looker.drag(600, 1200)
    begin, end = looker.fragment().split('time=')[1].split('-')
    assert abs(float(begin) / 1000 - 600) < 5 and abs(float(end) / 1000 - 1200) < 5, looker.fragment()
    expected = sum(values[round(float(begin) / 1000):round(float(end) / 1000)])
    equal(looker.whole(), f'{expected:,}', 'what was dragged over')
    looker.heatmap()
    assert any(looker.is_drawn_at(second, 0.5) for second in range(100, 200)), 'a heatmap of an hour'
    equal(window.wrong(), [], 'errors')


def times_that_cannot_be_do_no_harm(window):
    stacks = [(0, 3, stack('f'), 2 ** 63), (0, 4, stack('f'), 0), (0, 5, stack('f'), 2 ** 64 - 2 ** 30)]
    looker = Looker(window, make_page([COUNT], stacks, times=Times(2 ** 64 - 1)), 1)
    equal(looker.whole(), '12', 'the whole run')
    looker.heatmap()
    looker.drag(0.1, 0.9)
    for time in '5-1', '0-0', '99999999999999999999-1', '0-99999999999999999999', '1.5-1.6':
        looker = Looker(window, 'page.html', 1, f'#time={time}')
        equal(window.wrong(), [], 'errors')


def a_comparison_has_both_runs(window):
    """Each since it began, to one scale: as lanes, and as two heatmaps. A selection is the same time of both."""
    frames = [gpu_stack(7, name, 'mov', 'sbid', 0) for name in ('a', 'b')]
    runs = {'before': [(0, 300, frames[0], BEGIN + SECOND // 2 + 30 * MS), (0, 100, frames[1], BEGIN + 3 * SECOND // 2 + 30 * MS)],
            'after': [(0, 50, frames[0], BEGIN + SECOND // 2 + 30 * MS), (0, 120, frames[1], BEGIN + 3 * SECOND // 2 + 30 * MS)]}
    for name, stacks in runs.items():
        write_profile('capture', pathlib.Path(name), [COUNT], stacks, times=Times(BEGIN + 2 * SECOND))
    subprocess.run([os.environ['TEST_IAPROF'], '-q', '--diff', 'before', 'after', '-k', 'flamegraph', '-o', 'diff.html'], check=True)
    looker = Looker(window, pathlib.Path('diff.html'), 2)
    for at, changes in ((0.53, ('300', '50')), (1.53, ('100', '120')), (1.0, ('0', '0'))):
        found = looker.point_at(at)
        equal((found.rows['Baseline'], found.rows['After']), changes, f'at {at} s')
    looker.heatmap()
    for half in (0.55, 0.99), (0.01, 0.45):  # of the height: the baseline above the other run
        for at, changes in ((0.5, (300, 50)), (1.5, (100, 120)), (1.0, (0, 0))):
            tips = [looker.point_at(at + 0.015, half[0] + i / 2 * (half[1] - half[0])) for i in range(3)]
            cells = {tip.title: [int(tip.rows[name].replace(',', '')) for name in ('Baseline', 'After')] for tip in tips}
            equal(tuple(map(sum, zip(*cells.values()))), changes, f'cells of {at} s')
    looker.evaluate('window.iaprof.state.set({ strip: "timeline" })')
    looker.drawn()
    painted = lambda seconds, part: looker.is_drawn_at(seconds, part) and looker.pixel('strip-canvas', *(
        place - corner for place, corner in zip(looker.place_at(seconds, part), looker.place_of('#strip-canvas'))))
    equal([bool(painted(0.53, part)) for part in (0.9, 0.4)], [True, False], 'the baseline has all of its lane, the other a sixth')
    looker.drag(0.2, 0.9)
    equal([looker.text(f'compare-{what}') for what in ('before', 'after')], ['300', '50'], 'the first second of both')
    looker.drag(1.2, 1.9)
    equal([looker.text(f'compare-{what}') for what in ('before', 'after')], ['100', '120'], 'the second one')
    equal(window.wrong(), [], 'errors')


def none_is_shown_without_times(window):
    for page in (make_page([COUNT], [(0, 5, stack('f'))]),
                 make_page([COUNT], of_two_seconds(), times=Times(SECOND), options=['row=0'])):
        looker = Looker(window, page, 1)
        equal(looker.is_seen('#strip'), False, 'the strip')


PAGE_CASES = (slots_have_their_values, cells_have_their_values, a_part_is_chosen, all_that_is_shown_follows,
              keys_choose_too, each_value_type_has_its_own, jobs_are_shown_too, stacks_may_be_kept_by_wider_slots,
              an_hour_fits, times_that_cannot_be_do_no_harm, a_comparison_has_both_runs, none_is_shown_without_times)


if __name__ == '__main__':
    sys.exit(run_file())
