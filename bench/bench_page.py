#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the flame graph page takes to open and to zoom, and how large it is, beside flamegraph.pl's SVG of the same
stacks and speedscope in the same browser: bench_page.py WRITE_STACKS PLUGINS [SHAPE:STACKS...].

Each file is opened in a browser process of its own, several times; the fastest says most about the file. Opened is from
the navigation to the frame after the first one that has the graph in it; zoomed is from a click on a frame to the same,
and the longest of several counts. flamegraph.pl is the one that FLAMEGRAPH_PL names, one in PATH, or that of Debian's
package libdevel-nytprof-perl. By itself it leaves out frames that are narrower than a tenth of a pixel, which nobody can zoom
into then; the page has all frames, as its picture has with --minwidth=0, which is beside it as long as it opens at all.
speedscope is the npm package that TEST_SPEEDSCOPE names, or the one that ./bootstrap test installs into the build folder;
it opens the folded text of the same stacks as its own command does, from a script beside its page.
"""
import atexit
import base64
import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tests/sink'))

import browser

ROUNDS = 3
LIMIT = 120  # seconds that a browser gets for a file
SETTLING = 2  # seconds in which a browser that was started loads what is its own
ALL_FRAMES_MOST = 10000  # stacks of which the picture with all frames is made
VIEW_STACKS = 100000  # up to which views have a goal
SPEEDSCOPE_MOST = 100000  # stacks that speedscope is given
SIZES = ['cpu:10000', 'cpu:100000', 'threads:100000', 'cpu:1000000', 'gpu:1000000']
OPEN_GOAL, ZOOM_GOAL, VIEW_GOAL, FASTER_GOAL, SMALLER_GOAL, GZIP_GOAL = 1, 0.05, 0.1, 10, 20, 1
MEBIBYTE = 1 << 20

# What is drawn is told by the frame after: requestAnimationFrame runs before a frame is painted.
WATCH = '''
  window.whenDrawn = isDrawn => new Promise(done => {
    const look = () => isDrawn() ? requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look);
    requestAnimationFrame(look);
  });
  window.opened = whenDrawn(() => %s);
'''
PAGE_IS_DRAWN = 'document.documentElement && document.documentElement.dataset.drawn'
PICTURE_IS_DRAWN = 'document.readyState === "complete"'
SPEEDSCOPE_IS_DRAWN = 'document.body && /Left Heavy.*Sandwich/s.test(document.body.textContent) && document.querySelector("canvas")'

# A click on the widest frame of a level that is not as wide as all, as far as there is one, and how long it takes.
PAGE_ZOOM = '''(async () => {
  const graph = document.getElementById('graph'), place = graph.getBoundingClientRect(), root = document.documentElement;
  const { layout, drawing } = window.iaprof.flame;
  const [cell] = layout.cells.filter(cell => cell.row === %d && !cell.isGap && !cell.more && cell.w < 0.99 * layout.width)
    .sort((a, b) => b.w - a.w);
  if (!cell)
    return null;
  const [top, high] = drawing.span(cell), before = root.dataset.drawn, begin = performance.now();
  graph.dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1, clientX: place.left + cell.x + 3,
    clientY: place.top + top + high / 2 }));
  const end = await whenDrawn(() => root.dataset.drawn !== before);
  return end - begin;
})()'''
PAGE_BACK = '''(async () => {
  const root = document.documentElement, before = root.dataset.drawn, begin = performance.now();
  document.querySelector('#crumbs button').click();
  return await whenDrawn(() => root.dataset.drawn !== before) - begin;
})()'''
# Views, each shown for the first time: what is clicked, and which counter shows that it was drawn.
PAGE_VIEWS = (('callers', '#order [data-value=callers]', 'drawn'), ('calls', '#order [data-value=calls]', 'drawn'),
              ('table', '#tabs [data-view=table]', 'sandwich'), ('flame graph', '#tabs [data-view=flame]', 'drawn'))
PAGE_VIEW = '''(async () => {
  const root = document.documentElement, before = root.dataset[%s], begin = performance.now();
  document.querySelector(%s).click();
  return await whenDrawn(() => root.dataset[%s] !== before) - begin;
})()'''
PICTURE_ZOOM = '''(async () => {
  const frames = [...document.querySelectorAll('#frames > g')].map(group => [group, group.querySelector('rect')])
    .map(([group, rect]) => [group, Number(rect.getAttribute('y')), Number(rect.getAttribute('x')),
      Number(rect.getAttribute('width'))]);
  const ground = frames.reduce((most, [, y]) => Math.max(most, y), 0), middle = 600;
  const found = frames.find(([, y, x, width]) => Math.round((ground - y) / 16) === %d && x <= middle && x + width > middle);
  if (!found)
    return null;
  const begin = performance.now();
  found[0].querySelector('rect').dispatchEvent(new MouseEvent('click', { bubbles: true }));
  return await whenDrawn(() => true) - begin;
})()'''
PICTURE_BACK = '''(async () => {
  const begin = performance.now();
  document.getElementById('unzoom').dispatchEvent(new MouseEvent('click', { bubbles: true }));
  return await whenDrawn(() => true) - begin;
})()'''
ZOOM_LEVELS = 1, 2, 3, 5, 8


def find_flamegraph():
    """-> its path, or None"""
    debian = '/usr/share/perl5/Devel/NYTProf/flamegraph.pl'
    return os.environ.get('FLAMEGRAPH_PL') or shutil.which('flamegraph.pl') or (debian if os.path.exists(debian) else None)


def find_speedscope(plugins):
    """-> its page, or None"""
    folder = pathlib.Path(os.environ.get('TEST_SPEEDSCOPE') or plugins.parent / 'npm/node_modules/speedscope')
    page = folder / 'dist/release/index.html'
    return page if page.exists() else None


class Limited(browser.Browser):
    """A tab of a browser of its own, which is ended when it takes too long, for what cannot be asked to stop."""

    def __init__(self):
        browser.process.cache_clear()
        super().__init__()

    def __enter__(self):
        self.guard = threading.Timer(LIMIT, lambda: os.killpg(self.process.program.pid, signal.SIGKILL))
        self.guard.start()
        return self

    def __exit__(self, *_):
        self.guard.cancel()
        atexit.unregister(self.process.close)
        self.process.close()


def measure_once(path, is_drawn, zoom, back, fragment=''):
    """fragment: of the address
    -> seconds to open, seconds of the longest zoom; None for what takes longer than LIMIT"""
    opened, zooms = None, []
    try:
        with Limited() as window:
            time.sleep(SETTLING)
            window.call('Page.addScriptToEvaluateOnNewDocument', source=WATCH % is_drawn)
            window.call('Page.navigate', url=path.resolve().as_uri() + fragment)
            window.wait_for('typeof opened !== "undefined"')
            opened = window.evaluate('opened') / 1000
            for level in ZOOM_LEVELS:
                milliseconds = window.evaluate(zoom % level)
                if milliseconds is not None:
                    zooms += [milliseconds / 1000, window.evaluate(back) / 1000]
            if wrong := window.wrong():
                print(f'  {path.name}: {wrong}')
        return opened, max(zooms, default=None)
    except browser.Failure:
        return opened, None


def measure(path, *how):
    """-> the least of several rounds' seconds to open, and of the longest zoom; None as above"""
    best = None, None
    for _ in range(ROUNDS):
        begin = time.monotonic()
        best = tuple(min((value for value in pair if value is not None), default=None)
                     for pair in zip(best, measure_once(path, *how)))
        if time.monotonic() - begin > LIMIT / 4:
            break  # another round would find nothing new
    return best


def measure_views(path):
    """-> { view: the least of several rounds' seconds to show it }"""
    best = {}
    for _ in range(ROUNDS):
        try:
            with Limited() as window:
                time.sleep(SETTLING)
                window.call('Page.addScriptToEvaluateOnNewDocument', source=WATCH % PAGE_IS_DRAWN)
                window.call('Page.navigate', url=path.resolve().as_uri())
                window.wait_for('typeof opened !== "undefined"')
                window.evaluate('opened')
                for name, selector, counter in PAGE_VIEWS:
                    seconds = window.evaluate(PAGE_VIEW % tuple(map(repr, (counter, selector, counter)))) / 1000
                    best[name] = min(seconds, best.get(name, seconds))
        except browser.Failure as failure:
            print(f'  views: {failure}')
    return best


def write(program, plugins, argument, shape, stacks, path):
    name = argument.split(':')[0]
    plugin = plugins / f'sink-{name}' / f'iaprof-{name}.so'
    subprocess.run([program, plugin, argument, shape, str(stacks), path], check=True, stdout=subprocess.DEVNULL)
    return path


def seconds_text(seconds):
    return f'more than {LIMIT} s' if seconds is None else f'{seconds:.3f} s'


def line(what, path, times):
    print(f'  {what:<26} {path.stat().st_size / MEBIBYTE:8.2f} MiB, opens in {seconds_text(times[0])}, '
          f'zooms in {seconds_text(times[1])}', flush=True)


def goal(what, ratio, least=None, most=None):
    wanted = '' if least is most is None else f' (goal: at least {least})' if least else f' (goal: at most {most})'
    print(f'  {what}: {ratio:.2f}{wanted}', flush=True)


def faster(what, ours, theirs, **goals):
    if ours is not None:
        goal(f'{what}{", at least" if theirs is None else ""}', (LIMIT if theirs is None else theirs) / ours, **goals)


def compare_picture(flamegraph, folder, page, ours, *arguments):
    """With the SVG that flamegraph.pl makes with these arguments."""
    picture, what = folder / 'picture.svg', ' '.join(['flamegraph.pl', *arguments])
    begin = time.monotonic()
    with open(picture, 'wb') as output:
        subprocess.run(['perl', flamegraph, *arguments, folder / 'stacks.folded'], stdout=output, stderr=subprocess.DEVNULL,
                       check=True)
    seconds = time.monotonic() - begin
    theirs = measure(picture, PICTURE_IS_DRAWN, PICTURE_ZOOM, PICTURE_BACK)
    line(what, picture, theirs)
    print(f'    made in {seconds:.1f} s')
    faster('  faster to open', ours[0], theirs[0], least=FASTER_GOAL)
    faster('  faster to zoom', ours[1], theirs[1])
    goal('  smaller', picture.stat().st_size / page.stat().st_size, least=SMALLER_GOAL)


def compare_speedscope(page, folder, ours):
    """It opens files that are scripts; it has no zoom that is measured here."""
    script, text = folder / 'speedscope.js', (folder / 'stacks.folded').read_bytes()
    script.write_text(f'speedscope.loadFileFromBase64("stacks.folded", "{base64.b64encode(text).decode()}")', encoding='ascii')
    theirs = measure(page, SPEEDSCOPE_IS_DRAWN, 'null // %d', '', f'#localProfilePath={script.resolve()}')
    print(f'  {"speedscope":<26} {len(text) / MEBIBYTE:8.2f} MiB of folded text, opens in {seconds_text(theirs[0])}', flush=True)
    faster('  faster to open than speedscope', ours[0], theirs[0])


def compare(program, plugins, folder, shape, stacks, flamegraph):
    print(f'{stacks} different stacks ({shape})', flush=True)
    page = write(program, plugins, 'flamegraph', shape, stacks, folder / 'page.html')
    folded = write(program, plugins, 'folded', shape, stacks, folder / 'stacks.folded')
    ours = measure(page, PAGE_IS_DRAWN, PAGE_ZOOM, PAGE_BACK)
    line('page', page, ours)
    with open(folded, 'rb') as text, gzip.open(folder / 'folded.gz', 'wb', 6) as compressed:
        shutil.copyfileobj(text, compressed, 1 << 20)
    goal('  size to folded text by gzip -6', page.stat().st_size / (folder / 'folded.gz').stat().st_size, most=GZIP_GOAL)
    for what, seconds, most in ('  seconds to open', ours[0], OPEN_GOAL), ('  seconds of the longest zoom', ours[1], ZOOM_GOAL):
        goal(what, float('inf') if seconds is None else seconds, most=most)
    for name, seconds in measure_views(page).items():
        if stacks <= VIEW_STACKS:
            goal(f'  seconds to show the {name}', seconds, most=VIEW_GOAL)
        else:
            print(f'    seconds to show the {name}: {seconds:.3f}', flush=True)
    speedscope = find_speedscope(plugins)
    if speedscope and stacks <= SPEEDSCOPE_MOST:
        compare_speedscope(speedscope, folder, ours)
    if flamegraph:
        compare_picture(flamegraph, folder, page, ours)
        if stacks <= ALL_FRAMES_MOST:
            compare_picture(flamegraph, folder, page, ours, '--minwidth=0')


def main():
    program, plugins, *sizes = sys.argv[1:]
    if not browser.find():
        print('there is no Chromium: nothing to open pages with')
        return
    flamegraph = find_flamegraph()
    if not flamegraph:
        print('flamegraph.pl is neither named by FLAMEGRAPH_PL nor in PATH: no comparison')
    if not find_speedscope(pathlib.Path(plugins)):
        print('speedscope is neither named by TEST_SPEEDSCOPE nor in the build folder: no comparison')
    with tempfile.TemporaryDirectory(prefix='iaprof-bench-') as folder:
        empty = pathlib.Path(folder, 'empty.html')
        empty.write_text('<!DOCTYPE html><title>empty</title>', encoding='ascii')
        print(f'an empty page opens in {measure(empty, PICTURE_IS_DRAWN, "null // %d", "")[0]:.3f} s')
    for size in sizes or SIZES:
        shape, stacks = size.split(':')
        with tempfile.TemporaryDirectory(prefix='iaprof-bench-') as folder:
            compare(program, pathlib.Path(plugins), pathlib.Path(folder), shape, int(stacks), flamegraph)


if __name__ == '__main__':
    main()
