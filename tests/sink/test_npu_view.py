#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NPU's view of the page in a real browser, held against the jobs and calls that it was made of. TAP.

Where things are drawn, and in which colour, is read from the canvas; what they say from the tooltip and from what is
said to who does not see it. Words on the command line choose cases.
"""
import collections
import os
import pathlib
import random
import re
import subprocess
import sys

import reader as sink_reader
from browser import CONTROL
from reader import THIN, run_file, share, time_text
from stacks import COUNT, FUNCTION, NANOSECONDS, PROGRAM, REASON, UNKNOWN, Frame, Times, equal, gpu_stack, record, write_profile

# enum iaprof_job_state, iaprof_call_kind, iaprof_finding_severity, iaprof_process_event, of include/iaprof/record.h
DONE, ABORTED, IN_FLIGHT = 1, 2, 3
API, IOCTL, FUNCTION, CONTEXT = 1, 2, 3, 4
NOTE, WARNING, PROBLEM = 1, 2, 3
EXISTING, FORK, EXEC, NAME, EXIT = 1, 2, 3, 4, 5
BEGIN = 1000  # of the profiles of test_profile.c
MS = 1000000
# page/timeline.js, with 13 pixels a rem: pixels at the left and above, and of a row
LABELS, AXIS, LANE, GAP = 247, 25, 17, 5


def at(milliseconds):
    return BEGIN + round(milliseconds * MS)


def job(number, submitted, queued, started, end, state=DONE, pid=7, **more):
    times = {name: at(time) for name, time in (('submitted', submitted), ('queued', queued), ('started', started))
             if time is not None}
    members = {'source': 1, 'id': number, 'pid': pid, 'tid': pid, 'device': 1, 'context': 3, 'engine': 'compute',
               'state': state, **times, **more}
    return record('job', time=at(end), **members)


def sources():
    return [record('source', number=1, name='ivpu'), record('source', number=2, name='xe-eustall'),
            record('device', source=1, id=1, name='Intel NPU', address='0000:00:0b.0'),
            record('process', pid=7, event=EXISTING, name='python3'),
            record('process', pid=8, event=EXISTING, name='other')]


def tree():
    """Functions and nodes: 1 an API call, 2 a request in it, 3 what the driver does for it, 4 a boot, 6 an interrupt"""
    functions = [(1, 'zeGraphExecute', 'API', API), (2, 'DRM_IOCTL_IVPU_SUBMIT', 'jobs', IOCTL),
                 (3, 'ivpu_bo_pin', 'buffers', FUNCTION), (4, 'ivpu_boot', 'firmware', FUNCTION),
                 (5, '[interrupt]', '', CONTEXT), (6, 'ivpu_irq', 'hardware', FUNCTION)]
    nodes = [(1, 0, 1), (2, 1, 2), (3, 2, 3), (4, 0, 4), (5, 0, 5), (6, 5, 6)]
    return [*(record('call_function', source=1, id=number, name=name, family=family, kind=kind)
              for number, name, family, kind in functions),
            *(record('call_node', source=1, id=number, parent=parent, function=function)
              for number, parent, function in nodes)]


def call(node, begin, duration, count=1, last=None, own=None, **more):
    """Times in ms; last: when the last of several began"""
    last = begin if last is None else last
    members = {'pid': 7, 'tid': 7, **more}
    return record('call', source=1, node=node, time=at(last), first_time=at(begin), count=count,
                  duration=round(duration * MS), self_duration=round((duration if own is None else own) * MS),
                  **members)


def make_page(records, stacks=()):
    return write_profile('flamegraph', pathlib.Path('page.html'), [COUNT], stacks, records=records)


class Reader(sink_reader.Reader):
    """Somebody who looks at the view."""

    def __init__(self, window, page, fragment='#view=timeline'):
        super().__init__(window, page, fragment)

    def graph(self):
        return self.place_of('#npu-graph')

    def pixel_at(self, share, lane):
        """A share of the time in sight and a lane of the whole timeline, counted with gaps -> pixels of the canvas"""
        width = self.graph()[2]
        return LABELS + share * (width - LABELS), AXIS + lane + LANE / 2 - 1

    def point(self, share, lane):
        """-> the tooltip's lines"""
        left, top, *_ = self.graph()
        x, y = self.pixel_at(share, lane)
        return [line for line in self.tip_at(left + x, top + y).lines if line]

    def colour(self, share, lane, below=0):
        x, y = self.pixel_at(share, lane)
        return self.pixel('npu-graph', int(x), int(y) + below)

    def press(self, key):
        return super().press(key, 'npu-graph')

    def figures(self):
        """-> { label: value } of the key figures"""
        return dict(self.evaluate('[...document.querySelectorAll("#npu-figures .kpi")].map(figure => ['
                                  'figure.lastChild.textContent, figure.firstChild.textContent])'))

    def found(self):
        """-> severity, name and text of the findings"""
        return self.evaluate('[...document.querySelectorAll("#panel .finding")].map(item => [item.querySelector('
                             '"[role=img]").ariaLabel, item.querySelector("b").textContent, item.querySelector(".text").textContent])')

    def labels(self):
        """The rows, by the keyboard, as they are said"""
        self.press('ArrowUp')
        rows = [self.press('ArrowUp')]
        for _ in range(100):
            row = self.press('ArrowDown')
            if row == rows[-1]:
                return rows
            rows.append(row)
        raise AssertionError(f'the rows do not end: {rows[:10]}')

    def table(self, name):
        return self.window.evaluate(f'[...document.querySelectorAll("#{name} tbody tr")].map(row => '
                                    '[...row.cells].map(cell => cell.textContent))')


def two_jobs():
    """The first waits from 0 to 20 ms and runs until 50, the second one waits meanwhile and runs from 50 to 100."""
    return [*sources(), job(17, 0, 10, 20, 50), job(18, 30, 40, 50, 100, pid=8, status=5, thread_name='worker')]


def jobs_are_where_they_were(window):
    reader = Reader(window, make_page(two_jobs()))
    equal(reader.labels(), ['Intel NPU · compute, 2 jobs, busy 80 ms'], 'rows')
    lines = reader.point(0.3, 0)
    equal(lines, ['Job 17, done', 'python3 (7), thread 7', 'Intel NPU · compute, context 3',
                  'submitted at 0 ns, over at 50 ms', 'waited 20 ms, the device had it at 10 ms', 'ran 30 ms',
                  'status 0'], 'a job')
    lines = reader.point(0.9, LANE)
    equal((lines[0], lines[1], lines[3], lines[6]), ('Job 18, done', 'other (8), thread worker (8)',
                                                     'submitted at 30 ms, over at 100 ms', 'status 5'), 'the other one')
    # Each in its own lane; lighter while it waits; nothing elsewhere; the edges are where the times say.
    equal(reader.point(0.6, 0), [], 'after the first job')
    equal(reader.point(0.25, LANE), [], 'before the second one')
    assert reader.point(0.498, 0) and not reader.point(0.506, 0), 'the end of the first job'
    assert reader.point(0.302, LANE) and not reader.point(0.294, LANE), 'the begin of the second one'
    waits, runs, other = reader.colour(0.1, 0, 5), reader.colour(0.35, 0, 5), reader.colour(0.8, LANE, 5)
    assert waits[3] < runs[3] == 255 and other[:3] != runs[:3] and other[3] == 255, f'{waits} {runs} {other}'
    assert reader.colour(0.193, 0, 5) == waits and reader.colour(0.207, 0, 5) == runs, 'where waiting ends'
    equal(reader.colour(0.7, 0, 5)[3], 0, 'where nothing is')
    figures = reader.figures()
    equal((figures['jobs done'], 'aborted' in figures, figures['device busy']), ('2', False, f'80{THIN}ms'), 'figures')
    equal(reader.texts('#tabs button')[-1], 'NPU', 'what the view is called')
    equal(window.evaluate('[...document.querySelectorAll("#npu-legend li")].map(item => item.textContent)'),
          ['python3 (7)', 'other (8)'], 'colours')


def zoom_by_all_means(window):
    reader = Reader(window, make_page(two_jobs()))
    left, top, width, _ = reader.graph()
    x = left + LABELS + 0.5 * (width - LABELS)
    window.mouse('mouseWheel', x, top + AXIS + 4, deltaX=0, deltaY=-100, modifiers=CONTROL)
    reader.drawn()
    part = 100 / 1.2 ** 2  # ms: page/timeline_reader.js
    length, begin = re.fullmatch(r'([\d.]+)\sms from ([\d.]+)\sms', reader.text('npu-part')).groups()
    assert abs(float(length) - part) < 0.1 and abs(float(begin) - 50 + part / 2) < 0.1, f'by the wheel: {length} from {begin}'
    assert reader.point(0.49, 0) and not reader.point(0.51, 0), 'what is below the mouse stays there'
    reader.press('Escape')
    equal(reader.text('npu-part'), f'100{THIN}ms from the start', 'back')
    # From 25 to 75 ms.
    for kind, share in ('mousePressed', 0.25), ('mouseMoved', 0.5), ('mouseMoved', 0.75), ('mouseReleased', 0.75):
        window.mouse(kind, left + LABELS + share * (width - LABELS), top + AXIS + 4, button='left', buttons=1,
                     clickCount=1)
    reader.drawn()
    length, begin = re.fullmatch(r'([\d.]+)\sms from ([\d.]+)\sms', reader.text('npu-part')).groups()
    assert abs(float(length) - 50) < 0.2 and abs(float(begin) - 25) < 0.2, f'{length} from {begin}'
    assert reader.point(0.48, 0) and not reader.point(0.52, 0), 'what was dragged over is as wide as the view'
    reader.press('+')
    assert abs(float(reader.text('npu-part').split(f'{THIN}ms from ')[0]) - 25) < 0.1, reader.text('npu-part')
    reader.press('0')
    equal(reader.text('npu-part'), f'100{THIN}ms from the start', 'all of it')
    assert reader.press('ArrowRight').startswith('Job 17, '), reader.text('said')
    assert reader.press('ArrowRight').startswith('Job 18, '), reader.text('said')
    reader.press('Enter')
    equal(reader.text('npu-part'), f'73.5{THIN}ms from 26.5{THIN}ms', 'a job with a little around it')
    window.evaluate('document.getElementById("npu-whole").click()')
    equal(reader.text('npu-part'), f'100{THIN}ms from the start', 'by the button')


def every_state_has_a_shape(window):
    reader = Reader(window, make_page([*sources(), job(1, 0, 0, 0, 40, ABORTED, status=4),
                                       job(2, 40, 50, None, 100, IN_FLIGHT), job(3, 100, 120, None, 200)]))
    lines = reader.point(0.1, 0)
    assert lines[0] == 'Job 1, aborted' and lines[-1] == 'status 4', lines
    lines = reader.point(0.3, 0)
    equal(lines[0], 'Job 2, in flight when the run ended', 'in flight')
    assert not any(line.startswith('ran') for line in lines), f'nobody knows when it ran: {lines}'
    equal([line for line in reader.point(0.75, 0) if line.startswith('ran')],
          ['ran 80 ms, from when the device had it'], 'without its begin')
    across = {reader.colour(0.1 + i / 950, 0) for i in range(12)}
    assert len(across) > 2, f'an aborted job is striped: {across}'
    equal(len({reader.colour(0.75 + i / 950, 0, 5) for i in range(12)}), 1, 'another one is not')
    figures = reader.figures()
    equal([figures[name] for name in ('job done', 'aborted', 'in flight at the end')], ['1', '1', '1'], 'figures')
    equal(reader.labels(), ['Intel NPU · compute, 3 jobs, busy 120 ms'], 'what is busy: 40 and 80 ms')


def calls_have_their_rows(window):
    calls = [call(1, 0, 50, own=20, thread_name='loader'), call(2, 10, 30, own=20), call(3, 20, 10, result=-22), call(4, 60, 20),
             call(6, 90, 1, pid=0, tid=0), call(2, 70, 6, count=3, last=78, pid=8)]
    reader = Reader(window, make_page([*sources(), *tree(), *calls]))
    equal(reader.labels(), ['ivpu_boot, 1 call, busy 20 ms', 'zeGraphExecute · python3 (7), 1 call, busy 50 ms',
                            'DRM_IOCTL_IVPU_SUBMIT · python3 (7), 1 call, busy 30 ms',
                            'DRM_IOCTL_IVPU_SUBMIT · other (8), 3 calls, busy 6 ms', 'buffers, 1 call, busy 10 ms',
                            '[interrupt], 1 call, busy 1 ms'], 'rows')
    row = LANE + GAP
    length = 91  # ms, to the end of the last one
    equal(reader.point(5 / length, row),
          ['zeGraphExecute', 'python3 (7), thread loader (7)', 'API, zeGraphExecute · python3 (7)', 'at 0 ns', '50 ms'],
          'a call of the API')
    equal(reader.point(25 / length, 4 * row), ['ivpu_bo_pin', 'thread 7', 'buffers', 'at 20 ms', '10 ms', 'result -22'],
          'a call in it')
    equal(reader.point(31 / length, 4 * row), [], 'after it')
    lines = reader.point(75 / length, 3 * row)
    equal(lines[0], '3 calls of DRM_IOCTL_IVPU_SUBMIT, added up', 'calls that were added up')
    assert '6 ms together' in lines and 'from 70 ms to 80 ms' in lines, lines
    # 6 of 10 ms: the lower part of the row.
    low, high = (reader.colour(75 / length, 3 * row, below) for below in (3, -6))
    assert low[3] == 255 and high[3] == 0, 'density'
    assert 'drawn as density' in reader.text('npu-kept'), reader.text('npu-kept')
    equal(reader.table('npu-families'),
          [[name, str(count), share(count, 8), time_text(own * MS), share(own, 77)] for name, count, own in (
              ('jobs', 4, 26), ('API', 1, 20), ('firmware', 1, 20), ('buffers', 1, 10), ('hardware', 1, 1))], 'families')
    equal(reader.table('npu-functions')[0], ['DRM_IOCTL_IVPU_SUBMIT', 'jobs', '4', share(4, 8), time_text(36 * MS),
                                             time_text(26 * MS), time_text(9 * MS)], 'the function of most calls')


def launches_and_samples_are_lanes_too(window):
    """Launches by thread, samples by process, in the order of the rows; what is in sight is the time of all views."""
    slot, second = 20 * MS, 1000 * MS
    stalls = lambda reason: gpu_stack(7, 'infer', 'mov', reason, 0)
    records = [*sources(), *(record('kernel', source=2, id=number, pid=7, name=name) for number, name in ((1, 'matmul'), (2, 'gelu'))),
               record('launch', source=2, time=at(100), first_time=at(100), kernel=1, pid=7, tid=70, count=1),
               record('launch', source=2, time=at(900), first_time=at(500), kernel=2, pid=7, tid=70, count=40),
               record('launch', source=2, time=at(300), first_time=at(300), kernel=1, pid=7, tid=71, count=1),
               job(17, 0, 10, 20, 50)]
    stacks = [(1, 30, stalls('sbid'), BEGIN + 11 * slot), (1, 10, stalls('send'), BEGIN + 11 * slot),
              (1, 20, stalls('sbid'), BEGIN + 41 * slot),
              (0, 5 * MS, [Frame('python3', PROGRAM, pid=7), Frame('main')], BEGIN + slot)]
    page = write_profile('flamegraph', pathlib.Path('page.html'), [NANOSECONDS, COUNT], stacks, times=Times(BEGIN + second),
                         records=records)
    reader = Reader(window, page)
    equal(reader.labels(), ['GPU samples · model (7), 60', 'GPU launches, thread 70 · python3 (7), 41 launches',
                            'GPU launches, thread 71 · python3 (7), 1 launch', 'Intel NPU · compute, 1 job, busy 30 ms',
                            f'CPU samples · python3 (7), 5{THIN}ms'], 'rows')
    # A row of samples is as high as two lanes.
    left, top, width, _ = reader.graph()

    def point(share, y):
        tip = reader.tip_at(left + LABELS + share * (width - LABELS), top + AXIS + y)
        return [line for line in tip.lines if line]
    lines = point(0.225, LANE)
    equal((lines[0], lines[2:]), ('GPU samples · model (7)', ['40', f'Data dependency {share(30, 40)}',
                                                              f'Send queue {share(10, 40)}']), 'a slot of samples')
    equal(point(0.5, LANE), [], 'no samples')
    launches = 2 * LANE + GAP + LANE / 2
    equal(point(0.1, launches)[:2], ['matmul', 'python3 (7), thread 70'], 'a launch')
    equal(point(0.7, launches)[0], '40 launches of gelu, added up', 'launches that the source had added up')
    equal(point(0.3, launches + LANE + GAP)[:2], ['matmul', 'python3 (7), thread 71'], 'of another thread')
    equal(point(0.03, launches + 2 * (LANE + GAP))[0], 'Job 17, done', 'a job is where it was')
    # A part is chosen here, and seen elsewhere.
    reader.window.drag(*((left + LABELS + share * (width - LABELS), top + AXIS + LANE) for share in (0.6, 0.999)))
    window.wait_for('location.hash.includes("time=")')
    reader.view('Flame graph')
    equal(reader.text('whole-sum'), '20 samples', 'what the part has')
    reader.evaluate('window.iaprof.state.set({ time: "200-300" })')
    reader.drawn()
    equal(reader.text('whole-sum'), '40 samples', 'another part')
    reader.view('NPU')
    assert reader.text('npu-part').startswith(f'100{THIN}ms from '), reader.text('npu-part')
    reader.press('0')
    window.wait_for('!location.hash.includes("time=")')
    equal(window.wrong(), [], 'errors')


def the_footer_follows_the_zoom(window):
    """Of 100 samples 60 are in a known kernel; of those in sight as many are, however far one zooms."""
    unknown = [Frame('model', PROGRAM, pid=7), Frame('main'), Frame('[unknown]', FUNCTION, flags=UNKNOWN), Frame('sbid', REASON)]
    stacks = [(0, value, frames, BEGIN + slot * 20 * MS) for slot in range(1, 41)
              for value, frames in ((6, gpu_stack(7, 'infer', 'mov', 'sbid', 0)), (4, unknown))]
    page = write_profile('flamegraph', pathlib.Path('page.html'), [COUNT], stacks, times=Times(BEGIN + 1000 * MS),
                         records=two_jobs())
    reader = Reader(window, page)
    facts = lambda: reader.text('facts-shown')
    assert f'60.0{THIN}% matched' in facts() and facts().startswith('400 samples'), facts()
    for _ in range(3):
        reader.press('+')
        window.wait_for('location.hash.includes("time=")')
        reader.drawn()
    window.wait_for('!document.getElementById("facts-shown").textContent.startsWith("400")')
    assert f'60.0{THIN}% matched' in facts(), facts()
    # Keys work without the focus, and each step is undone in order.
    reader.evaluate('document.activeElement.blur()')
    part = reader.text('npu-part')
    window.press('Escape')
    reader.drawn()
    assert reader.text('npu-part') != part and 'view=timeline' in reader.fragment(), 'a step back'
    window.press('0')
    window.wait_for('!location.hash.includes("time=")')
    window.wait_for('document.getElementById("facts-shown").textContent.startsWith("400")')


def too_many_launches_are_counted(window):
    launch = record('launch', source=2, time=at(10), first_time=at(5), kernel=1, pid=7, tid=7, count=2)
    reader = Reader(window, make_page([*sources(), record('kernel', source=2, id=1, pid=7, name='k'), *[launch] * (65536 + 5)]))
    equal(reader.labels(), ['GPU launches, thread 7 · process 7, 131,072 launches'], 'rows')
    assert 'Left out: 10 GPU launches beyond the limit.' in reader.text('npu-kept'), reader.text('npu-kept')


def a_run_without_devices_has_lanes(window):
    """Of CPU samples by process."""
    stacks = [(0, 5 * MS, [Frame(name, PROGRAM, pid=pid), Frame('main')], BEGIN + pid * 20 * MS)
              for pid, name in ((7, 'one'), (8, 'two'), (8, 'two'))]
    page = write_profile('flamegraph', pathlib.Path('page.html'), [NANOSECONDS], stacks, times=Times(BEGIN + 1000 * MS))
    reader = Reader(window, page)
    equal(reader.texts('#tabs button'), ['Flame graph', 'Table', 'Timeline'], 'views')
    equal(reader.labels(), [f'CPU samples · two (8), 10{THIN}ms', f'CPU samples · one (7), 5{THIN}ms'], 'rows')
    equal(reader.figures(), {}, 'no figures')
    equal(window.wrong(), [], 'errors')


def about(times):
    """Percentiles of several values, which are estimates"""
    return [f'≈{time_text(time)}' for time in times]


def distributions_have_their_numbers(window):
    """Of a source, and of jobs: what the shares of a known distribution are."""
    # 100 values: 90 in 2^10 to 2^11, 10 in 2^13 to 2^14. The median is 5/9 into the first of these.
    histogram = record('histogram', source=1, time=at(100), begin=at(0), count=100, sum=200000, maximum=12000,
                       name='ivpu_submit_ioctl', unit='nanoseconds', bucket_count=[0] * 10 + [90, 0, 0, 10])
    more = record('histogram', source=1, time=at(200), begin=at(100), count=1, sum=3, maximum=3, name='sizes',
                  unit='bytes', bucket_count=[0, 1])
    one = record('histogram', source=1, time=at(300), begin=at(100), count=1, sum=1900, maximum=1900, name='one',
                 unit='nanoseconds', bucket_count=[0] * 10 + [1])
    # Jobs that wait 1 ms each, and run 4 ms each, and one of which only both together are known.
    jobs = [*(job(i, 10 * i, 10 * i + 1, 10 * i + 1, 10 * i + 5) for i in range(8)), job(8, 80, 81, None, 85)]
    reader = Reader(window, make_page([*sources(), histogram, more, one, *jobs]))
    rows = {cells[0]: cells[1:7] for cells in reader.table('npu-histograms')}
    equal(rows['ivpu_submit_ioctl'],
          ['100', *about((1024 + 1024 * 50 // 90, 2048, 12000)), *map(time_text, (12000, 2000))],
          'of a source: 99 of 100 are below the largest value')
    equal(rows['sizes'], ['1', *[f'3{THIN}B'] * 5], 'of another unit: one value is known')
    equal(rows['one'], ['1', *[time_text(1900)] * 5], 'one value, which is not in the middle of its bucket')
    # 1 ms is in 2^19 to 2^20 ns, 4 ms in 2^21 to 2^22: a half is in the middle of these, and nothing above the largest.
    equal(rows['jobs: queue time'],
          ['8', *about((2 ** 19 + 2 ** 18, int(2 ** 19 * 1.9), MS)), *map(time_text, (MS, MS))],
          'queue time')
    equal(rows['jobs: run time'],
          ['8', *about((2 ** 21 * 1.5, int(2 ** 21 * 1.9), 4 * MS)), *map(time_text, (4 * MS, 4 * MS))], 'run time')
    equal(rows['jobs: submission to completion'], ['1', *[time_text(5 * MS)] * 5], 'unknown start')
    bars = window.evaluate('[...document.querySelectorAll("#npu-histograms .bars")].map(list => [...list.children].map('
                           'bar => [bar.title, bar.firstChild.getBoundingClientRect().height]))')
    equal(bars[0], [[f'{time_text(2 ** i)} to {time_text(2 ** (i + 1))}: {count}', high] for i, count, high in (
        (10, 90, 40), (11, 0, 0), (12, 0, 0), (13, 10, 4))], 'bars')


def findings_are_shown_in_every_view(window):
    found = [record('finding', source=1, severity=NOTE, name='npu-calls', text='8 calls', value=8),
             record('finding', source=1, severity=WARNING, name='npu-ipc-storm', text='old', value=250, threshold=200),
             record('finding', source=2, severity=PROBLEM, name='stall-overflow', text='rows were lost', value=1.5,
                    threshold=0, pid=42),
             record('finding', source=1, severity=NOTE, name='npu-ipc-storm', text='300 messages', value=300,
                    threshold=200)]
    reader = Reader(window, make_page([*sources(), *found]), '')
    equal(reader.found(), [['problem', 'Stall overflow', 'Rows were lost.'],
                           ['warning', 'NPU IPC storm', '300 messages. (2 times)'], ['note', 'NPU calls', '8 calls.']],
          'the newest, with the worst severity')
    equal(reader.texts('#panel h2')[-2], 'Findings1 problem, 1 warning, 1 note', 'in short')
    equal(reader.texts('#tabs button'), ['Flame graph', 'Table'], 'there is no view without jobs and calls')
    many = [record('finding', source=1, severity=NOTE, name=f'kind {i}', text='x', value=1) for i in range(300)]
    reader = Reader(window, make_page([*sources(), *many]), '')
    equal((len(reader.found()), reader.text('findings-more')), (12, '244 more, and 44 were too many to keep.'),
          'what had no room')
    # The worst of them is beside the key figures of the view.
    reader = Reader(window, make_page([*two_jobs(), *found]))
    equal(reader.texts('#npu-figures .callout'), ['Stall overflow. Rows were lost.'], 'the worst')


def tables_of_a_source_are_tables(window):
    rows = [('npu-phases', '|| time | calls | phase', 0), ('npu-phase-boot', '| 5.69 us | 2846 | firmware boot, <1 boot>', 0),
            ('npu-phase-idle', '| <0.001% | - | idle', 0), ('npu-users', '|| jobs | NPU user', 0),
            ('npu-process', '| 1 | matmul (1234), context 2', 1234)]
    found = [record('finding', source=1, severity=NOTE, name=name, text=text, value=1, pid=pid) for name, text, pid in rows]
    other = record('finding', source=1, severity=NOTE, name='npu-calls', text='8 calls', value=8)
    reader = Reader(window, make_page([*sources(), *two_jobs(), *found, other]))
    told = reader.evaluate('[...document.querySelectorAll("#timeline .of-source")].map(table => [table.closest("section").'
                           'querySelector("h2").textContent, ...[...table.rows].map(row => [...row.cells].map('
                           'cell => cell.textContent))])')
    equal(told, [['By phase', ['Phase', 'Time', 'Calls'], ['firmware boot, <1 boot>', f'5.69{THIN}µs', '2,846'],
                  ['idle', f'<0.001{THIN}%', '-']],
                 ['By NPU user', ['NPU user', 'Jobs'], ['matmul (1234), context 2', '1']]], 'tables')
    equal(len(reader.found()), 1, 'rows are no findings')


def levels_are_drawn(window):
    """A gauge of 0 to 10: as high as its value; a counter that only grows is none."""
    values = [record('counter', source=1, id=1, name='npu-frequency', unit='hertz', kind=1, device=1),
              record('counter', source=1, id=2, name='kernel-side-time', unit='nanoseconds', kind=2),
              *(record('counter_value', source=1, counter=1, time=at(10 * i), value=10 if i % 2 else 5)
                for i in range(11)),
              record('counter_value', source=1, counter=2, time=at(50), value=77)]
    reader = Reader(window, make_page([*sources(), *values]))
    equal(reader.labels(), ['npu-frequency · Intel NPU, level in hertz, 11 points'], 'rows')
    equal(reader.point(0.55, 0), ['npu-frequency · Intel NPU', 'at 50 ms', f'10{THIN}Hz'], 'a level')
    equal(reader.point(0.65, 0)[2], f'5{THIN}Hz', 'another one')
    assert reader.colour(0.55, 0, -5)[3] == 255 and reader.colour(0.65, 0, -5)[3] == 0, 'as high as their values'
    # A share of time is of the time before it was read: 100 % until 60 ms, and 0 after that.
    busy = [record('counter', source=1, id=1, name='npu-utilization', unit='percent', kind=1, device=1),
            *(record('counter_value', source=1, counter=1, time=at(time), value=value)
              for time, value in ((0, 0), (30, 0), (60, 100), (100, 0)))]
    reader = Reader(window, make_page([*sources(), *busy]))
    equal([reader.colour(share, 0, 5)[3] == 255 for share in (0.1, 0.33, 0.57, 0.63, 0.9)], [False, True, True, False, False],
          'when it was busy')
    equal(reader.point(0.5, 0)[1:], ['from 30 ms to 60 ms', f'100{THIN}%'], 'the time of a share')
    other = [record('counter', source=2, id=1, name='queue depth', unit='requests', kind=1),
             *(record('counter_value', source=2, counter=1, time=at(i), value=i) for i in range(3))]
    reader = Reader(window, make_page([*sources(), *other]))
    equal(reader.labels(), ['queue depth, level in requests, 3 points'], 'a gauge without a device')
    # More than there is room for: 5,000 values of which the first is the least and the last the greatest.
    values = [values[0], *(record('counter_value', source=1, counter=1, time=at(i), value=i) for i in range(5000))]
    reader = Reader(window, make_page([*sources(), *values]))
    assert 'A point of a level is the mean of up to 8 values' in reader.text('npu-kept'), reader.text('npu-kept')
    lines = reader.point(0.001, 0)
    equal(lines[1:], ['from 0 ns to 7 ms', f'3.5{THIN}Hz, 0{THIN}Hz to 7{THIN}Hz'], 'the first eight')
    # And values whose sum no number holds.
    extreme = [values[0],
               *(record('counter_value', source=1, counter=1, time=at(i), value=1.7e308) for i in range(3000))]
    reader = Reader(window, make_page([*sources(), *extreme]))
    assert reader.point(0.5, 0), 'a page all the same'


def too_many_are_merged(window):
    """300,000 jobs of 1 ms every 2 ms by two processes: what is kept has a bound, and the sums are of all."""
    jobs = [job(i, 2 * i, 2 * i, 2 * i + 0.25, 2 * i + 1.25, ABORTED if i == 1000 else DONE, pid=7 + i % 2)
            for i in range(300000)]
    few = [job(5, 100000, 100000, 100000, 200000, engine='copy')]
    page = make_page([*sources(), *jobs, *few])
    assert page.stat().st_size < 1 << 20, f'{page.stat().st_size} bytes'
    reader = Reader(window, page)
    equal(reader.labels(), ['Intel NPU · compute, 300,000 jobs, busy 300 s, merged into slots of time',
                            'Intel NPU · copy, 1 job, busy 100 s'], 'sums')
    figures = reader.figures()
    equal((figures['jobs done'], figures['aborted']), (f'300{THIN}k', '1'), 'figures')
    kept = reader.text('npu-kept')
    width = re.match(r'1 row is merged into slots of ([\d.]+)\sms', kept)
    assert width, kept
    # The run is 599,999.25 ms long; a slot is the narrowest power of two of microseconds of which 2,048 are as long.
    equal(float(width.group(1)), 524, 'slots')
    # There are more of them than pixels, until a part is shown.
    assert reader.point(0.5, 0)[1].endswith(', 1.048576 s long'), reader.point(0.5, 0)
    reader.press('+')
    lines = reader.point(0.5, 0)
    assert lines[0] == 'Intel NPU · compute' and lines[1].endswith(', 524.288 ms long'), lines
    for line in lines[2:]:
        name, count, busy, share, waited = re.fullmatch(
            r'(.*): (\d+) jobs, busy ([\d.]+) ms \(([\d.]+)\s%\), waited ([\d.]+) ms', line).groups()
        assert name in ('python3 (7)', 'other (8)'), line
        # A job of each process every 4 ms: a quarter of the time.
        assert abs(int(count) - 131) <= 1 and abs(float(busy) - 131.072) <= 1 and abs(float(waited) - 32.8) <= 0.5, line
        assert abs(float(share) - 25) < 0.3, line
    equal(len(lines), 4, 'a line each')
    # Half of the time the device is busy: the lower half of the row.
    busy = [reader.colour(0.47, 0, below)[3] for below in (6, -5)]
    equal(busy, [255, 0], 'as high as it is busy')
    reader.press('0')
    equal(reader.point(0.25, LANE + GAP)[0], 'Job 5, done', 'a row that has few is kept')
    reader.press('ArrowUp')
    reader.press('+')
    reader.press('+')
    equal(reader.press('ArrowRight').split(', ')[0], 'Intel NPU · compute', 'slots by the keyboard')
    first = re.search(r'from ([\d.]+) s', reader.text('said')).group(1)
    then = re.search(r'from ([\d.]+) s', reader.press('ArrowRight')).group(1)
    assert abs(float(then) - float(first) - 0.524288) < 1e-6, f'{first} {then}'


def too_many_rows_are_one(window):
    functions = [record('call_function', source=1, id=i, name=f'zeCall{i}', kind=API) for i in range(1, 401)]
    nodes = [record('call_node', source=1, id=i, function=i) for i in range(1, 401)]
    calls = [call(i, i, 0.5) for i in range(1, 401)] + [call(999, 401, 1, count=3, last=402)]
    reader = Reader(window, make_page([*sources(), *functions, *nodes, *calls]))
    rows = window.evaluate('document.getElementById("npu-view").style.height')
    equal(rows, f'{250 * (LANE + GAP) + AXIS + 2}px', 'rows: those with a place and one for the rest')
    kept = reader.text('npu-kept')
    assert 'In rows of the rest: 151 jobs or records of calls' in kept, kept
    assert 'Left out: 3 calls of functions that were never named' in kept, kept
    equal(reader.figures()['calls'], '400', 'calls')


def hostile_names_stay_names(window):
    names = ['</script><script>window.broken = 1</script>', '<img src=x onerror="window.broken = 1">',
             '"quoted" \\ back', '🔥', 'a' * 10000, b'\xff\xfe', b'\x1b[31m', 'new\nline', '__proto__', 'constructor']
    records = [record('source', number=1, name=names[0]),
               record('device', source=1, id=1, name=names[1], address=names[2])]
    for i, name in enumerate(names):
        records += [record('process', pid=20 + i, event=EXISTING, name=name),
                    job(i, 10 * i, None, 10 * i, 10 * i + 5, pid=20 + i, engine=name),
                    record('call_function', source=1, id=i + 1, name=name, family=name, kind=1 + i % 4),
                    record('call_node', source=1, id=i + 1, function=i + 1), call(i + 1, 5 * i, 2, pid=20 + i),
                    record('histogram', source=1, time=at(9), begin=at(1), count=1, sum=1, maximum=1, name=name,
                           unit=name, bucket_count=[1]),
                    record('counter', source=1, id=i + 1, name=name, unit=name, kind=1, device=1),
                    record('counter_value', source=1, counter=i + 1, time=at(i), value=i),
                    record('finding', source=1, severity=PROBLEM, name=name, text=name, value=1, threshold=2)]
    reader = Reader(window, make_page(records))
    # 10 of jobs, 10 levels, 3 of the API, 3 requests, 2 families and 2 contexts.
    equal(len(reader.labels()), 30, 'rows')
    shown = window.evaluate('document.body.innerText')
    for name in names[:4]:
        assert name in shown, f'{name} is shown as it is'
    reader.point(0.5, 0)
    equal(window.evaluate('window.broken'), None, 'nothing of it ran')
    equal(window.wrong(), [], 'errors')


def hostile_times_are_drawn(window):
    """Times that contradict each other, or are at the end of all times."""
    most = 2 ** 64 - 1
    records = [*sources(), *tree(), job(1, 0, 0, 0, 1),
               record('job', source=1, time=most, submitted=1, id=2, pid=7, state=DONE),
               record('job', source=1, time=5, submitted=most, queued=most, started=most, id=3, pid=7, state=ABORTED),
               record('call', source=1, node=1, time=most, first_time=0, count=most, duration=most, self_duration=most),
               record('call', source=1, node=2, time=0, first_time=most, count=2, duration=most),
               *(record('job', source=1, time=most - i, submitted=i * 7919, id=4, pid=7, state=DONE)
                 for i in range(40000))]
    reader = Reader(window, make_page(records))
    reader.point(0.5, 0)
    for key in '+', '+', 'ArrowRight', 'Enter', '-', '0':
        reader.press(key)
    equal(reader.figures()['jobs done'], f'40{THIN}k', 'figures')
    equal(window.wrong(), [], 'errors')


def the_view_follows_the_theme(window):
    reader = Reader(window, make_page(two_jobs()))
    ink = ('(() => { const data = document.getElementById("npu-graph").getContext("2d").getImageData('
           f'{LABELS}, 0, 60, {AXIS}).data; let sum = 0, count = 0; for (let i = 0; i < data.length; i += 4) '
           'if (data[i + 3] > 200) { sum += data[i]; count++; } return sum / count; })()')
    inks = []
    for theme in 'light', 'dark':
        if reader.evaluate('document.documentElement.dataset.theme') != theme:
            reader.click_on('#theme')
        inks.append(window.evaluate(ink))
    reader.click_on('#theme')
    light, dark = inks
    assert light < 100 and dark > 155, f'the axis is dark on light and light on dark: {light} {dark}'


def trace_path():
    path = pathlib.Path(os.environ.get('TEST_NPU_TRACE') or
                        f'{os.environ["TEST_SOURCE_FOLDER"]}/../shared/data/npu/matmul-bpftrace.txt')
    return path if path.exists() else None


def summary_of(*arguments):
    """A run of iaprof -> its summary"""
    return subprocess.run([os.environ['TEST_IAPROF'], *arguments], check=True, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, encoding='utf-8').stderr


def the_published_trace_is_shown(window):
    """Its calls, counted in the text itself."""
    path = trace_path()
    if not path:
        print('# SKIP the published trace is not here (TEST_NPU_TRACE)')
        return
    text = path.read_text(encoding='ascii')
    counts = collections.Counter(re.findall(r'^kprobe:intel_vpu:(\S+)$', text, re.MULTILINE))
    total = sum(counts.values())
    for mode in 'count', 'events':
        told = summary_of('-s', f'ivpu-trace:input={path},mode={mode}', '-k', 'flamegraph:output=page.html')
        reader = Reader(window, pathlib.Path('page.html'))
        calls = reader.figures()['calls']
        equal(calls, f'{total:,}' if total < 10000 else f'{float(f"{total / 1000:.3g}"):g}{THIN}k', 'calls')
        rows = reader.table('npu-functions')
        most = counts.most_common(20)
        equal([row[2] for row in rows], [f'{count:,}' for _, count in most], f'{mode}: the counts')
        for name, _, count, part, *_ in rows:
            equal((int(count.replace(',', '')), part), (counts[name], share(counts[name], total)), f'{mode}: {name}')
        equal(reader.text('npu-functions-more'), f'{len(counts) - 20} more functions', f'{mode}: functions')
        # The same families as on the terminal.
        families = {name: (count, rounded(part)) for count, part, name in re.findall(
            r'^ +(\d+) +([\d.]+)% +- +- +- +(\S.*)$', told.split('family')[1].split(' all\n')[0], re.MULTILINE)}
        shown = {row[0]: (row[1].replace(',', ''), row[2]) for row in reader.table('npu-families')}
        equal(shown, families, f'{mode}: families')
        said = reader.labels()
        boots = {re.match(r'(\S+), (\d+) calls?$', row).groups() for row in said if row.startswith('ivpu_')}
        equal(boots, {(name, str(count)) for name, count in counts.items()
                      if name.endswith('_boot') or re.search('resume|suspend|recovery|reset_', name)}, f'{mode}: boots')
        sums = [int(re.search(r', ([\d,]+) calls?', row).group(1).replace(',', '')) for row in said]
        equal(sum(sums), total, f'{mode}: every call is in one row')
        assert 'NPU calls' in [name for _, name, _ in Reader(window, pathlib.Path('page.html'), '').found()], 'findings'


def digits(text):
    """A time of three digits at most."""
    return f'{nanoseconds(text):.3g}'


def rounded(percent):
    """What the terminal writes with three digits, as the page writes it: of less than 10 % two digits."""
    return share(float(percent), 100) if float(percent) else f'0{THIN}%'


def nanoseconds(text):
    number, unit = text.replace(',', '').removeprefix('≈').split()
    return round(float(number) * {'ns': 1, 'us': 1e3, 'µs': 1e3, 'ms': 1e6, 's': 1e9}[unit])


def the_terminal_prints_the_same(window):
    """A capture of many jobs is replayed: the summary and the page have the same numbers."""
    chance = random.Random(5)
    jobs = []
    for number in range(500):
        waits, runs = chance.expovariate(1), chance.expovariate(0.2) + 0.01
        started = 20 * number + waits
        jobs.append(job(number, 20 * number, started, started, started + runs,
                        state=chance.choice([DONE, DONE, DONE, ABORTED])))
    jobs.append(job(500, 10000, 10001, None, 10010, state=IN_FLIGHT))
    records = [*sources(), *tree(), *jobs,
               *(call(1 + number % 4, number, chance.random(), own=0.1) for number in range(1000)),
               record('histogram', source=1, time=at(100), begin=at(0), count=1000, sum=2000000, maximum=12000,
                      name='ivpu_submit_ioctl', unit='nanoseconds', bucket_count=[0] * 9 + [13, 876, 1, 0, 110]),
               record('finding', source=1, severity=WARNING, name='npu-ipc-storm', text='300 messages', value=300,
                      threshold=200)]
    capture = write_profile('capture', pathlib.Path('run.iaprof'), [], [], records=records)
    told = summary_of('--replay', str(capture), '-k', 'flamegraph:output=page.html')
    reader = Reader(window, pathlib.Path('page.html'))
    rows = re.findall(r'^ +(\d+) +(\S+ \S+) +(\S+ \S+) +(\S+ \S+) +(\S+ \S+) +(\S+ \S+)  (\S.*)$',
                      told.split(' distribution\n')[1], re.MULTILINE)
    equal(len(rows), 3, f'distributions in {told}')
    page = {cells[0]: cells[1:7] for cells in reader.table('npu-histograms')}
    equal({name: [count, *(digits(text) for text in texts)] for count, *texts, name in rows},
          {name: [count.replace(',', ''), *(digits(text) for text in texts)] for name, (count, *texts) in page.items()},
          'distributions')
    done, aborted, in_flight = re.search(r'jobs: (\d+) done, (\d+) aborted, (\d+) in flight', told).groups()
    figures = reader.figures()
    equal([figures[name] for name in ('jobs done', 'aborted', 'in flight at the end')], [done, aborted, in_flight], told)
    table = told.split('share  family')[1].split('          all')[0]
    families = {name: (count, rounded(part), digits(time), rounded(of_time)) for count, part, time, of_time, name in re.findall(
        r'^ +(\d+) +([\d.]+)% +\S+ +(\S+ \S+) +([\d.]+)%  (\S.*)$', table, re.MULTILINE)}
    equal(len(families), 4, f'families in {told}')
    equal({name: (count, part, digits(time), of_time) for name, count, part, time, of_time in reader.table('npu-families')},
          families, 'families')
    assert 'npu-ipc-storm: 300 messages' in told and '300 messages' in reader.text('npu-figures'), told


PAGE_CASES = (jobs_are_where_they_were, zoom_by_all_means, every_state_has_a_shape, calls_have_their_rows,
              launches_and_samples_are_lanes_too, the_footer_follows_the_zoom, a_run_without_devices_has_lanes,
              too_many_launches_are_counted, distributions_have_their_numbers, findings_are_shown_in_every_view,
              tables_of_a_source_are_tables, levels_are_drawn, too_many_are_merged, too_many_rows_are_one,
              hostile_names_stay_names, hostile_times_are_drawn, the_view_follows_the_theme,
              the_published_trace_is_shown, the_terminal_prints_the_same)


if __name__ == '__main__':
    sys.exit(run_file())
