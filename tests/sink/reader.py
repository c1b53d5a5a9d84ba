# SPDX-License-Identifier: Apache-2.0
"""Somebody who looks at a page of the sink flamegraph: in a browser, by what it shows."""
import functools
import json
import os
import pathlib
import sys

import browser
from stacks import Skip, named, run, write_profile

THIN = '\u202f'  # before units and percent signs
# Labels of stall reasons in the order in which the page always has them, by hardware name.
REASONS = {'sbid': 'Data dependency', 'send': 'Send queue', 'dist_acc': 'ALU result', 'pipestall': 'Pipeline busy',
           'sync': 'Barrier', 'control': 'Branch', 'inst_fetch': 'Fetch', 'tdr': 'Pixel order', 'other': 'Other',
           'active': 'Issuing'}

# In the page: what a level of the flame graph is, from its cells. A number is a row of the CPU, a name a row of devices.
LEVEL = '''const { drawing, layout } = window.iaprof.flame;
  const own = layout.cells.filter(cell => !cell.isGap && (typeof level === "number" ? cell.row === level
    : cell.band !== undefined && cell.band === layout.band.indexOf(level)));'''


# In the page: what the tooltip has; null: nothing.
TIP = '''const tip = document.getElementById("tip");
  const text = name => [...tip.querySelectorAll(name)].map(found => found.textContent).join("\\n");
  const read = () => !tip.firstChild ? null : { title: text("h3"), sub: text(".sub"),
    text: text(":scope > p:not(.sub), :scope > code"),
    rows: [...tip.querySelectorAll(".row")].map(row => [...row.children].map(part => part.textContent)) };'''


def make_page(types, stacks, lost=(), options=(), times=None, **how):
    return write_profile('flamegraph', pathlib.Path('page.html'), types, stacks, lost, options, times, **how)


def share(part, whole):
    """As the page writes a share."""
    percent = 100 * part / whole
    text = '0' if not part else '100' if part == whole else f'{percent * (1 + 1e-12):#.3g}'
    return f'{text}{THIN}%'


def time_text(nanoseconds):
    """As the page writes a time: three digits."""
    unit, size = next(((unit, size) for unit, size in (('s', 1e9), ('ms', 1e6), ('µs', 1e3)) if nanoseconds >= size * 0.9995),
                      ('ns', 1))
    return f'{float(f"{nanoseconds / size:.3g}"):g}{THIN}{unit}'


class Tip:
    """The tooltip of the element below the pointer; false if there is none."""

    def __init__(self, found):
        self.title, self.sub, self.text = (found or {}).get('title', ''), (found or {}).get('sub', ''), (found or {}).get(
            'text', '')
        self.rows = dict((found or {}).get('rows', []))
        self.lines = [self.title, *self.text.split('\n')] if found else []

    def __bool__(self):
        return bool(self.lines)

    def __repr__(self):
        return f'{self.title!r} {self.sub!r} {self.text!r} {self.rows!r}'


class Reader:
    """Somebody who looks at a page."""

    def __init__(self, window, page, fragment='', moves=False):
        self.window = window
        window.call('Emulation.setEmulatedMedia', features=[
            {'name': 'prefers-reduced-motion', 'value': 'no-preference' if moves else 'reduce'}])
        window.mouse('mouseMoved', 1, 1)
        window.open(page, fragment, 'document.documentElement.dataset.ready === "yes"')
        self.drawn()
        self.evaluate('window.iaprof.tip.delay = 0')  # tooltips, of which there are many, appear at once

    def evaluate(self, expression):
        return self.window.evaluate(expression)

    def drawn(self):
        self.window.drawn()

    def text(self, name):
        return self.evaluate(f'document.getElementById("{name}").textContent')

    def texts(self, selector):
        """-> the texts of all that is seen of it"""
        return self.evaluate(f'[...document.querySelectorAll({json.dumps(selector)})].filter(found => '
                             'found.getClientRects().length).map(found => found.textContent)')

    def is_seen(self, selector):
        return self.evaluate(f'(() => {{ const found = document.querySelector({json.dumps(selector)}); return Boolean(found '
                             '&& found.getClientRects().length && getComputedStyle(found).visibility !== "hidden"); })()')

    def place_of(self, selector, position=0):
        """-> left, top, width, height of what is brought into sight"""
        return self.evaluate(f'(() => {{ const found = document.querySelectorAll({json.dumps(selector)})[{position}];'
                             'found.scrollIntoView({ block: "nearest", inline: "nearest" });'
                             'const box = found.getBoundingClientRect();'
                             'return [box.left, box.top, box.width, box.height]; })()')

    def click_on(self, selector, position=0, leaves=False, **more):
        """leaves: what is clicked leads to another page, and this one may be gone before it is drawn."""
        left, top, width, height = self.place_of(selector, position)
        self.window.click(left + width / 2, top + height / 2, **more)
        if not leaves:
            self.drawn()

    def click_text(self, selector, text):
        """Clicks what is seen of these and has this text."""
        found = self.texts(selector)
        assert text in found, f'{text!r} is not among {found}'
        position = self.evaluate(f'[...document.querySelectorAll({json.dumps(selector)})].findIndex(found => '
                                 f'found.getClientRects().length && found.textContent === {json.dumps(text)})')
        self.click_on(selector, position)

    def bars(self):
        """-> {heading of the panel: its bars as the terminal writes them, such as "json 12.0 %, copy 3.00 %"}"""
        found = self.evaluate('[...document.querySelectorAll("#panel section")].map(section => [section.querySelector("h2"), section]).filter(([head]) => head)'
                              '.map(([head, section]) => [head.firstChild.textContent, [...section.querySelectorAll(".krow")].map(row => '
                              'row.firstChild.textContent + " " + row.lastChild.textContent)])')
        return {heading: ', '.join(rows).replace(THIN, ' ') for heading, rows in found if rows}

    def view(self, name):
        self.click_text('#tabs button', name)

    def choose(self, name, value):
        """Of a choice, as its event is when somebody has chosen."""
        member = 'checked' if isinstance(value, bool) else 'value'
        self.evaluate(f'(() => {{ const choice = document.getElementById("{name}"); choice.{member} = '
                      f'{json.dumps(value)}; choice.dispatchEvent(new Event("change")); }})()')
        self.drawn()

    def type_into(self, name, text):
        self.evaluate(f'(() => {{ const field = document.getElementById("{name}"); field.focus(); field.select(); }})()')
        if text:
            self.window.call('Input.insertText', text=text)
        else:
            self.window.press('Backspace')
        self.drawn()

    def search(self, text):
        self.type_into('search', text)
        return self.evaluate('(document.getElementById("matched") || { textContent: "" }).textContent')

    def go(self, fragment):
        """Follows a link to another view of the page."""
        self.evaluate(f'''new Promise(done => {{ const fragment = {json.dumps(fragment)};
          if (location.hash === fragment) done(true);
          addEventListener("hashchange", () => done(true), {{ once: true }});
          location.hash = fragment; }})''')
        self.drawn()

    def fragment(self):
        return self.evaluate('decodeURIComponent(location.hash)')

    def press(self, key, on='graph', **more):
        self.evaluate(f'document.getElementById("{on}").focus()')
        self.window.press(key, **more)
        self.drawn()
        return self.text('said')

    def undo(self, key='Escape'):
        """A key that goes back in the history of the page."""
        before = self.evaluate('location.hash')
        self.window.press(key)
        self.window.wait_for(f'location.hash !== {json.dumps(before)}')
        self.drawn()

    def place(self):
        return self.place_of('#graph')

    def at(self, part, level):
        """Where a level is, a part of the width from the left -> x, y"""
        left, top, width, _ = self.place()
        middle = self.evaluate(f'(level => {{ {LEVEL} const [top, high] = own.length ? drawing.span(own[0]) : [0, 0];'
                               f'return own.length ? top + high / 2 : null; }})({json.dumps(level)})')
        assert middle is not None, f'there is no level {level}'
        return left + part * width, top + middle

    def levels(self):
        """-> which there are, as numbers and names"""
        return self.evaluate('(() => { const { layout } = window.iaprof.flame; return [...new Set(layout.cells.filter('
                             'cell => !cell.isGap).map(cell => cell.band === undefined ? cell.row : '
                             'layout.band[cell.band]))]; })()')

    def places_of(self, level):
        """-> [left, width] of the cells of a level, parts of the whole width, in order"""
        return self.evaluate(f'(level => {{ {LEVEL} return own.map(({{ x, w }}) => [x / layout.width, w / layout.width])'
                             f'.sort((a, b) => a[0] - b[0]); }})({json.dumps(level)})')

    def tip_at(self, x, y):
        self.window.mouse('mouseMoved', 1, 1)
        self.evaluate('document.getElementById("tip").replaceChildren()')
        self.window.mouse('mouseMoved', x, y)
        return Tip(self.evaluate(f'''new Promise(done => {{ {TIP}
          let frames = 2;
          const look = () => !tip.firstChild && frames-- ? requestAnimationFrame(look) : done(read());
          look(); }})'''))

    def point(self, part, level):
        return self.tip_at(*self.at(part, level))

    def all_tips(self, level):
        """-> the tooltip of each cell of a level that a pointer, which has whole pixels, hits"""
        left, _, width, _ = self.place()
        _, y = self.at(0, level)
        places = [left + (begin + wide / 2) * width for begin, wide in self.places_of(level) if wide * width > 2]
        # Without moving the pointer, which would wait for the screen each time: there may be hundreds.
        return [Tip(tip) for tip in self.evaluate(f'''(() => {{ {TIP}
          const graph = document.getElementById("graph");
          const found = {json.dumps(places)}.map(clientX => {{
            tip.replaceChildren();
            graph.dispatchEvent(new MouseEvent("mousemove", {{ clientX, clientY: {y} }}));
            return read(); }});
          graph.dispatchEvent(new MouseEvent("mouseleave"));
          return found; }})()''')]

    def click(self, part, level, **more):
        self.window.click(*self.at(part, level), **more)
        self.drawn()

    def colour(self, part, level):
        """Of the upper edge of a frame, where there is no text."""
        x, y = self.at(part, level)
        left, top, *_ = self.place()
        high = self.evaluate(f'(level => {{ {LEVEL} return drawing.span(own[0])[1]; }})({json.dumps(level)})')
        return self.pixel('graph', x - left, y - top - high / 2 + 3)

    def pixel(self, canvas, x, y):
        return tuple(self.evaluate(f'Array.from(document.getElementById("{canvas}").getContext("2d").getImageData('
                                   f'Math.round({x} * devicePixelRatio), Math.round({y} * devicePixelRatio), 1, 1).data)'))

    def crumbs(self):
        return self.texts('#crumbs button')

    def size(self, width, height, scale=1):
        self.window.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=scale,
                         mobile=False)
        self.drawn()

    def quality(self):
        """-> the text of the data panel"""
        return dict(self.evaluate('[...document.querySelectorAll(".quality dt")].map(name => [name.textContent, '
                                  'name.nextSibling.textContent])'))


class Written(Exception):
    """A page is written and would now be opened."""


class NoWindow:
    """In place of a browser's window; whatever is done with it ends the case."""

    def __getattr__(self, name):
        raise Written


def until_written(case):
    """The case up to where it opens its first page: sanitizers look at what writes pages, and not at their scripts."""
    @functools.wraps(case)
    def write(window):
        try:
            case(window)
        except Written:
            pass
    return write


# The tab of the file whose cases run, and what it was opened for.
_tab = {}


def tab_of(name, size):
    """-> the tab of a test file, in which nothing is left of the case before"""
    if _tab.get('of') == (name, size):
        _tab['window'].reset()
    else:
        close_tab()
        _tab.update(window=browser.Browser(*size), of=(name, size))
    return _tab['window']


def close_tab():
    if _tab:
        _tab['window'].close()
        _tab.clear()


def in_tab(case, name, size):
    if os.environ.get('TEST_SANITIZERS', 'none') != 'none':
        return until_written(case)(NoWindow())
    if not browser.find():
        raise Skip(browser.NONE)
    try:
        return case(tab_of(name, size))
    except BaseException:
        close_tab()  # the next case gets another one, whatever became of this
        raise


def page_cases(module):
    """The cases of a test file that open pages, its PAGE_CASES, in tabs of its WINDOW, a width and a height. -> pairs for run()"""
    size = getattr(module, 'WINDOW', ())
    return [(name, functools.partial(in_tab, case, module.__name__, size)) for name, case in named(*module.PAGE_CASES)]


def run_file(cases=()):
    """Runs a test file by itself: its cases, of which each is a function or has a name, and unless the test "pages" runs
    those, its cases that open pages. -> the exit status of a test"""
    pairs = [case if isinstance(case, tuple) else named(case)[0] for case in cases]
    if os.environ.get('TEST_PAGES') != 'elsewhere':
        pairs += page_cases(sys.modules['__main__'])
    return int(run(pairs) != 0)
