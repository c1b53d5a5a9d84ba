#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The heatmap of the flame graph page in a real browser: cells, and the part of a run that is chosen in it. TAP.

Expected numbers are sums of the chosen values, made here. Words on the command line choose cases.
"""
import random
import sys

sys.dont_write_bytecode = True

import browser
from reader import Reader, make_page, run_in_browser
from stacks import COUNT, NANOSECONDS, PROGRAM, Frame, Times, equal, gpu_stack, record

MS, SECOND = 10 ** 6, 10 ** 9
BEGIN = 1000  # of the run, in these profiles
LEFT, HEIGHT = 52, 100  # of the page: labels, and how high the cells are together


class Looker(Reader):
    """A reader of the heatmap, which has so many columns."""

    def __init__(self, window, page, columns):
        self.columns = columns
        super().__init__(window, page)

    def cell_at(self, column, row, rows=50):
        """-> the middle of a cell: x, y"""
        left, top, width = self.window.evaluate(
            '(() => { const place = document.getElementById("heatmap").getBoundingClientRect();'
            'return [place.left, place.top, place.width]; })()')
        wide, high = (width - LEFT) / self.columns, max(2, HEIGHT // rows)
        return left + LEFT + (column + 0.5) * wide, top + (rows - 1 - row + 0.5) * high

    def point_at(self, column, row, rows=50):
        self.window.mouse('mouseMoved', *self.cell_at(column, row, rows))
        return self.text('tooltip').split('\n')

    def drag(self, begin, end, rows=50):
        self.window.mouse('mouseMoved', *self.cell_at(*begin, rows))
        self.window.mouse('mousePressed', *self.cell_at(*begin, rows), button='left', buttons=1, clickCount=1)
        self.window.mouse('mouseMoved', *self.cell_at(*end, rows), button='left', buttons=1)
        self.window.mouse('mouseReleased', *self.cell_at(*end, rows), button='left', clickCount=1)
        self.drawn()

    def is_drawn_at(self, column, row, rows=50):
        x, y = self.cell_at(column, row, rows)
        return self.window.evaluate(
            '(() => { const canvas = document.getElementById("heatmap"), place = canvas.getBoundingClientRect();'
            f'return canvas.getContext("2d").getImageData(Math.round({x} - place.left), Math.round({y} - place.top), 1,'
            '1).data[3] > 0; })()')

    def press_heatmap(self, key, shift=False):
        self.window.evaluate('document.getElementById("heatmap").focus()')
        for kind in 'keyDown', 'keyUp':
            self.window.call('Input.dispatchKeyEvent', type=kind, key=key, modifiers=8 if shift else 0,
                             windowsVirtualKeyCode=browser.KEYS[key])
        self.drawn()
        return self.text('said')


def stack(name):
    return [Frame('one', PROGRAM), Frame('main'), Frame(name)]


def of_two_seconds():
    """Early in the first second `left`, late in it and in the second one `right`."""
    return [(0, 100, stack('left'), 5 * MS), (0, 20, stack('left'), 19 * MS), (0, 300, stack('left'), 25 * MS),
            (0, 7, stack('right'), 990 * MS), (0, 1000, stack('right'), 1500 * MS)]


def in_all(looker):
    part = next(part for part in looker.text('facts').split(' · ') if ' in all (' in part)
    return part.rpartition(' (')[0]


def cells_have_their_values(window):
    looker = Looker(window, make_page([COUNT], of_two_seconds(), times=Times(2 * SECOND)), 2)
    for column, row, value in (0, 0, '120'), (0, 1, '300'), (0, 49, '7'), (1, 25, '1,000'), (1, 26, '0'):
        lines = looker.point_at(column, row)
        equal(lines[1], f'{value} of gpu-stalls', f'cell {column}, {row}')
        equal(looker.is_drawn_at(column, row), value != '0', f'cell {column}, {row} is coloured')
    equal(looker.point_at(1, 25)[0], '1.500 s to 1.520 s', 'when it is')
    assert looker.text('heat-resolution') == 'Kept: slots of 20 ms', looker.text('heat-resolution')
    equal(window.wrong(), [], 'errors')


def a_part_is_chosen(window):
    looker = Looker(window, make_page([COUNT], of_two_seconds(), times=Times(2 * SECOND)), 2)
    equal(in_all(looker), '1,427 in all', 'the whole run')
    looker.drag((0, 1), (0, 49))
    equal(in_all(looker), '307 in all', 'from 20 ms to 1 s')
    equal(looker.text('heat-range'), 'Chosen: 0.020 s to 1.000 s (980 ms)', 'what is chosen')
    equal(looker.point(0.5, 3)[0], 'left', 'most of it is left')
    looker.drag((1, 30), (0, 2))
    equal(in_all(looker), '1,007 in all', 'backwards, across columns')
    equal(looker.point(0.5, 3)[0], 'right', 'all of it is right')
    looker.click(0.5, 3)
    equal(looker.text('trail'), 'all › one › main › right', 'zoomed in')
    looker.press_heatmap('Escape')
    equal(in_all(looker), '1,427 in all', 'the whole run again')
    equal(looker.text('trail'), 'all › one › main › right', 'still zoomed in')
    looker.drag((0, 0), (0, 0))
    equal((in_all(looker), looker.text('trail')), ('120 in all', 'all › one › main'), 'right is not there')
    window.evaluate('document.getElementById("heat-all").click()')
    looker.drawn()
    equal(in_all(looker), '1,427 in all', 'by the button')
    looker.drag((1, 0), (40, -9))
    equal(in_all(looker), '0 in all', 'dragged out of the map: to its nearest cell')


def keys_choose_too(window):
    looker = Looker(window, make_page([COUNT], of_two_seconds(), times=Times(2 * SECOND)), 2)
    equal(looker.press_heatmap('ArrowUp'), '0.020 s to 0.040 s, 300 of gpu-stalls', 'said')
    equal(looker.press_heatmap('ArrowDown'), '0.000 s to 0.020 s, 120 of gpu-stalls', 'said')
    looker.press_heatmap('ArrowUp', shift=True)
    equal(in_all(looker), '420 in all', 'two rows')
    equal(looker.press_heatmap('ArrowRight'), '1.020 s to 1.040 s, 0 of gpu-stalls', 'said')
    looker.press_heatmap('ArrowLeft')
    looker.press_heatmap('ArrowRight', shift=True)
    equal(in_all(looker), '307 in all', 'a column and a row')


def each_value_type_has_its_own(window):
    stacks = [(0, 5 * 10 ** 6, stack('busy'), 100 * MS), (1, 30, gpu_stack(7, 'matmul', 'dpas', 'sbid', 16), 300 * MS),
              (1, 12, gpu_stack(7, 'matmul', 'dpas', 'send', 16), 310 * MS)]
    looker = Looker(window, make_page([NANOSECONDS, COUNT], stacks,
                                    times=Times(SECOND, added_up=[(0, 0), (1, 100 * MS)])), 1)
    equal(looker.point_at(0, 15)[1], '42 of gpu-stalls', 'stalls')
    equal(looker.point_at(0, 5)[1], '0 of gpu-stalls', 'none')
    assert 'gpu-stalls was added up over 100 ms at most' in looker.text('heat-resolution')
    looker.drag((0, 15), (0, 16))
    looker.choose('type', 0)
    equal(looker.point_at(0, 5)[1], '5 ms of cpu', 'CPU time')
    equal(in_all(looker), '0 ns in all', 'none in the part that is chosen')
    assert 'added up' not in looker.text('heat-resolution'), looker.text('heat-resolution')
    looker.choose('type', 1)
    looker.choose('reason', '=send')
    equal(in_all(looker), '12 in all', 'a reason in a part of the run')


def jobs_are_shown_too(window):
    """Two jobs, of which one goes over rows and the other one is in one, and a third one that never was."""
    jobs = [record('job', source=1, submitted=when - ran - 5 * MS, queued=when - ran, time=when, id=1, pid=7, state=1)
            for when, ran in ((BEGIN + 150 * MS, 45 * MS), (BEGIN + 1310 * MS, 5 * MS), (2 ** 63, 5 * MS))]
    looker = Looker(window, make_page([COUNT], of_two_seconds(), times=Times(2 * SECOND), records=[
        record('source', number=1, name='ivpu'), *jobs]), 2)
    looker.choose('heat-of', 'jobs')
    for column, row, value in (0, 4, '0 ns'), (0, 5, '15 ms'), (0, 6, '20 ms'), (0, 7, '10 ms'), (1, 15, '5 ms'):
        equal(looker.point_at(column, row)[1], f'{value} of jobs', f'cell {column}, {row}')
    looker.drag((0, 0), (0, 1))
    equal(in_all(looker), '420 in all', 'the flame graph of that time')
    looker.choose('heat-of', '')
    equal(looker.point_at(0, 1)[1], '300 of gpu-stalls', 'stalls again')


def columns_and_rows_are_chosen(window):
    stacks = [(0, 1, stack('f'), i * 20 * MS) for i in range(500)]
    looker = Looker(window, make_page([COUNT], stacks, times=Times(10 * SECOND), options=['column=5s', 'row=100ms']), 2)
    equal(looker.point_at(1, 49)[1], '5 of gpu-stalls', 'as the options say')
    looker.choose('heat-column', str(2 * SECOND))
    looker.columns = 5
    looker.choose('heat-row', str(500 * MS))
    equal(looker.point_at(4, 3, 4), ['9.500 s to 10.000 s', '25 of gpu-stalls'], 'as chosen in the page')
    looker.drag((1, 0), (2, 3), 4)
    equal(in_all(looker), '200 in all', 'two columns')


def stacks_may_be_kept_by_wider_slots(window):
    stacks = [(0, 2 ** i, stack(f'f{i}'), i * 20 * MS) for i in range(12)]
    looker = Looker(window, make_page([COUNT], stacks, times=Times(SECOND, width=80 * MS)), 1)
    equal(looker.point_at(0, 5)[1], '32 of gpu-stalls', 'cells are finer')
    assert 'stacks are known in slots of 80 ms' in looker.text('heat-resolution'), looker.text('heat-resolution')
    looker.drag((0, 5), (0, 5))
    equal(in_all(looker), f'{2 ** 4 + 2 ** 5 + 2 ** 6 + 2 ** 7} in all', 'the slot around it')
    equal(looker.text('heat-range'), 'Chosen: 0.080 s to 0.160 s (80 ms)', 'which is told')


def an_hour_fits(window):
    chance = random.Random(1)
    seconds = 3600
    values = [chance.randrange(1, 1000) for _ in range(seconds)]
    stacks = [(0, value, stack(f'f{i % 10}'), i * SECOND + i % 50 * 20 * MS) for i, value in enumerate(values)]
    looker = Looker(window, make_page([COUNT], stacks, times=Times(seconds * SECOND)), seconds)
    equal(in_all(looker), f'{sum(values):,} in all', 'the whole run')
    equal(looker.point_at(120, 20)[1], f'{values[120]:,} of gpu-stalls', 'a cell')
    looker.choose('heat-column', str(60 * SECOND))
    looker.columns = 60
    rows = round(60 * SECOND / int(window.evaluate('document.getElementById("heat-row").value')))
    looker.drag((10, 0), (19, rows - 1), rows)
    equal(in_all(looker), f'{sum(values[600:1200]):,} in all', 'ten minutes')
    equal(window.wrong(), [], 'errors')


def times_that_cannot_be_do_no_harm(window):
    stacks = [(0, 3, stack('f'), 2 ** 63), (0, 4, stack('f'), 0), (0, 5, stack('f'), 2 ** 64 - 2 ** 30)]
    looker = Looker(window, make_page([COUNT], stacks, times=Times(2 ** 64 - 1)), 1)
    equal(in_all(looker), '12 in all', 'the whole run')
    assert window.evaluate('Number(document.getElementById("heatmap").dataset.drawn) > 0')
    equal(window.wrong(), [], 'errors')


def none_is_shown_without_times(window):
    for page in (make_page([COUNT], [(0, 5, stack('f'))]),
                 make_page([COUNT], of_two_seconds(), times=Times(SECOND), options=['row=0'])):
        Looker(window, page, 1)
        assert window.evaluate('document.getElementById("heat").hidden')


CASES = (cells_have_their_values, a_part_is_chosen, keys_choose_too, each_value_type_has_its_own,
         jobs_are_shown_too, columns_and_rows_are_chosen, stacks_may_be_kept_by_wider_slots, an_hour_fits, times_that_cannot_be_do_no_harm,
         none_is_shown_without_times)


if __name__ == '__main__':
    sys.exit(run_in_browser(CASES))
