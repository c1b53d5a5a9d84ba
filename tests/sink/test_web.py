#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of iaprof-web in a real browser: what it shows of a ring, and from a selection to flame graphs and back. TAP.

The ring has one segment of a known source at known times. Words on the command line choose cases.
"""
import contextlib
import datetime
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from browser import SHIFT, NoPage
from reader import Reader, run_file
from stacks import Skip, equal

PROGRAM, WEB = os.environ['TEST_IAPROF'], os.environ['TEST_IAPROF_WEB']
HOUR = 3600


def has_samples(path):
    return b'hot' in subprocess.run([PROGRAM, '-q', '--replay', path, '-k', 'csv', '-o', '-'], stdout=subprocess.PIPE,
                                    check=True).stdout


@functools.cache
def record(wrap=()):
    """-> the contents of a segment, whose programs are hot and warm, 3 to 1"""
    shutil.rmtree('recorded', ignore_errors=True)
    folder = pathlib.Path('recorded')
    with subprocess.Popen([*wrap, PROGRAM, '-q', '--continuous', '-i', '300ms', '-s', os.environ['TEST_KNOWN_SOURCE'], '--hold', '20ms',
                           '-k', f'ring:folder={folder}'], stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 60
            # On a busy machine an interval may pass before the source sends anything.
            while not (found := next(filter(has_samples, sorted(folder.glob('2*.iaprof'))[1:]), None)):
                assert time.monotonic() < end and process.poll() is None, 'no segments'
                time.sleep(0.02)
            contents = found.read_bytes()
        finally:
            process.send_signal(signal.SIGINT)
    assert process.returncode == 0, 'the run failed'
    return contents


class Visitor(Reader):
    """Somebody who looks at the page of a ring with these segments: minutes before `now`, which is a whole hour."""

    def __init__(self, window, minutes, wrap=()):
        if not WEB:
            raise Skip('built without libmicrohttpd')
        window.leave()
        shutil.rmtree('ring', ignore_errors=True)
        segment = record(wrap)
        os.mkdir('ring')
        # In the past, so that the page does not move on meanwhile.
        self.now = int(time.time()) // HOUR * HOUR - 48 * HOUR
        for minute in minutes:
            date = datetime.datetime.fromtimestamp(self.now - 60 * minute, datetime.timezone.utc)
            pathlib.Path(f'ring/{date:%Y%m%dT%H%M%S}.000000000Z-60000000000.iaprof').write_bytes(segment)
        self.process = subprocess.Popen([WEB, '--folder', 'ring', '--iaprof', PROGRAM, '--address', '127.0.0.1:0'],
                                        stdout=subprocess.PIPE, encoding='utf-8')
        self.window = window
        window.events.clear()
        window.call('Page.navigate', url=self.process.stdout.readline().strip())
        self.wait()

    def wait(self):
        self.window.wait_for('window.overview && overview.data && !overview.data.unread && document.documentElement?.dataset.heatmap > 0')
        self.drawn()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.window.leave()
        self.process.terminate()
        equal(self.process.wait(60), 0, 'exit status of the server')

    def place_at(self, minutes, row=-1):
        """-> x and y of a time, so many minutes before now; row: of the heatmap, or the bars"""
        left, top, *_ = self.place_of('#heatmap')
        begin, end, rows, high = self.evaluate('[overview.heatmap.left, overview.heatmap.right, overview.heatmap.rowsTop, overview.heatmap.rowHeight]')
        return left + begin + (60 - minutes) / 60 * (end - begin), top + (rows + (row + 0.5) * high if row >= 0 else 60)

    def select(self, begin, end, modifiers=0):
        for kind, minutes in (('mouseMoved', begin), ('mousePressed', begin), ('mouseMoved', end), ('mouseReleased', end)):
            self.window.mouse(kind, *self.place_at(minutes), modifiers=modifiers,
                              **({} if kind == 'mouseMoved' and minutes == begin else {'button': 'left', 'buttons': 1, 'clickCount': 1}))
        self.drawn()

    def point_at(self, minutes, row=-1):
        self.window.mouse('mouseMoved', *self.place_at(minutes, row))
        return self.text('pointed')

    def follow(self, name):
        """Opens a flame graph."""
        self.click_on(f'#{name}', leaves=True)
        self.window.wait_for('location.pathname.endsWith("flamegraph") && document.documentElement?.dataset.ready === "yes"')
        self.drawn()

    def back(self):
        with contextlib.suppress(NoPage):  # it can be gone before it answers
            self.evaluate('history.back()')
        self.wait()


def values_are_where_they_were(window):
    with Visitor(window, [40, 39, 20, 1]) as visitor:
        assert 'no data' not in visitor.point_at(39.5), visitor.text('pointed')
        assert visitor.point_at(30).endswith('no data'), visitor.text('pointed')
        equal(visitor.evaluate('overview.data.rows.map(row => row.name)'), ['hot', 'warm'], 'programs')
        for row, name in enumerate(('hot', 'warm')):
            assert f' {name} ' in visitor.point_at(19.5, row), visitor.text('pointed')
        sums = visitor.evaluate('overview.data.rows.map(row => row.sum)')
        assert abs(sums[0] - 3 * sums[1]) < 1e-5 * sums[0] > 0, sums
        equal(visitor.text('state'), '4 intervals', 'intervals')
        visitor.click_text('#group button', 'Devices')
        visitor.wait()
        equal(window.wrong(), [], 'errors')


def a_selection_leads_to_flame_graphs(window):
    with Visitor(window, [40, 39, 20, 1]) as visitor:
        equal(visitor.is_seen('#open') or visitor.is_seen('#compare'), False, 'links without a selection')
        visitor.select(39.5, 38.2)
        equal((visitor.is_seen('#open'), visitor.is_seen('#compare')), (True, False), 'links')
        equal(visitor.evaluate('[overview.range.from, overview.range.to]'),
              [(visitor.now - 40 * 60) * 1000, (visitor.now - 38 * 60) * 1000], 'whole slots')
        selected = visitor.text('selected')
        visitor.follow('open')
        equal(window.wrong(), [], 'errors')
        visitor.back()
        equal(visitor.text('selected'), selected, 'the selection after Back')
        left, top, *_ = visitor.place_of('#heatmap')
        window.click(left + 20, visitor.place_at(0, 1)[1])
        visitor.drawn()
        visitor.follow('open')
        assert 'focus=/^warm$/' in visitor.fragment(), visitor.fragment()
        visitor.back()
        visitor.select(19.5, 19.5, SHIFT)
        equal(visitor.is_seen('#compare'), True, 'a comparison')
        visitor.follow('compare')
        assert visitor.is_seen('#compare-bar'), 'not a comparison'
        visitor.back()
        visitor.click_on('#clear')
        equal((visitor.text('selected'), visitor.is_seen('#open')), ('No range selected', False), 'nothing')
        equal(window.wrong(), [], 'errors')


def a_service_leads_to_its_flame_graph(window):
    roots = ('/sys/fs/cgroup', '/sys/fs/cgroup/unified', '/sys/fs/cgroup/systemd', '/sys/fs/cgroup/pids')
    root = next((root for root in roots if os.access(f'{root}/cgroup.procs', os.W_OK)), None)
    if not root:
        print('# SKIP a_service_leads_to_its_flame_graph: cannot make a cgroup')
        return
    name = f'iaprof-test-{os.getpid()}.service'
    cgroup = pathlib.Path(root, name)
    cgroup.mkdir()
    try:
        with Visitor(window, [40, 39, 1], ('sh', '-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(cgroup))) as visitor:
            visitor.click_text('#group button', 'Services')
            visitor.wait()
            visitor.window.wait_for(f'overview.data.rows.length === 1 && overview.data.rows[0].name === "{name}"')
            visitor.drawn()
            left = visitor.place_of('#heatmap')[0]
            window.click(left + 20, visitor.place_at(0, 0)[1])
            visitor.select(39.5, 38.2)
            visitor.follow('open')
            assert f'service={name}' in visitor.fragment(), visitor.fragment()
            equal(visitor.evaluate('[iaprof.model.services, iaprof.model.service]'), [[name], name], 'services of the flame graph')
            total = visitor.evaluate('iaprof.model.values().total[0]')
            assert total > 0, total
            equal(window.wrong(), [], 'errors')
    finally:
        end = time.monotonic() + 60
        while (cgroup / 'cgroup.procs').read_text() and time.monotonic() < end:
            time.sleep(0.02)
        cgroup.rmdir()


def the_keyboard_selects(window):
    with Visitor(window, [2, 1]) as visitor:
        visitor.evaluate('document.getElementById("heatmap").focus()')
        window.press('ArrowLeft')
        for _ in range(3):
            window.press('ArrowLeft', modifiers=SHIFT)
        equal(visitor.evaluate('(overview.range.to - overview.range.from) / 60000'), 4, 'minutes')
        window.press('Escape')
        equal(visitor.text('selected'), 'No range selected', 'nothing')
        equal(window.wrong(), [], 'errors')


def both_themes_are_readable(window):
    """The contrast of texts with what is behind them (WCAG 2.1): 4.5."""
    with Visitor(window, [2, 1]) as visitor:
        for theme in 'light', 'dark':
            if visitor.evaluate('document.documentElement.dataset.theme') != theme:
                visitor.click_on('#theme')
            equal(visitor.evaluate('document.documentElement.dataset.theme'), theme, 'the theme')
            found = visitor.evaluate('''(() => {
              const rgb = text => text.match(/[\\d.]+/g).map(Number);
              const luminance = colour => { const [r, g, b] = colour.map(part => { const value = part / 255;
                return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4; });
                return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
              const ground = element => { for (let at = element; at; at = at.parentElement) {
                const colour = rgb(getComputedStyle(at).backgroundColor); if (colour.length < 4 || colour[3] > 0) return colour; }
                return [255, 255, 255]; };
              return [...document.querySelectorAll('#facts, #selected, #foot span, .seg button:not(:disabled), h1')].map(
                element => { const [low, high] = [luminance(rgb(getComputedStyle(element).color).slice(0, 3)),
                  luminance(ground(element).slice(0, 3))].sort((a, b) => a - b);
                  return [element.textContent, (high + 0.05) / (low + 0.05)]; }).filter(([, contrast]) => contrast < 4.5); })()''')
            equal(found, [], f'texts that are pale in the {theme} theme')


PAGE_CASES = (values_are_where_they_were, a_selection_leads_to_flame_graphs, a_service_leads_to_its_flame_graph,
              the_keyboard_selects, both_themes_are_readable)

if __name__ == '__main__':
    sys.exit(run_file())
