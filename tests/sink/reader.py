# SPDX-License-Identifier: Apache-2.0
"""Somebody who looks at a page of the sink flamegraph: in a browser, by what it shows."""
import json
import pathlib

import browser
from stacks import run_cases, write_profile


def make_page(types, stacks, lost=(), options=(), times=None, records=()):
    return write_profile('flamegraph', pathlib.Path('page.html'), types, stacks, lost, options, times, records=records)


class Reader:
    """Somebody who looks at a page."""

    def __init__(self, window, page):
        self.window = window
        window.open(page)
        self.drawn()

    def drawn(self):
        """Nothing is left to be drawn."""
        self.window.wait_for('Number(document.documentElement.dataset.drawn) >= 1 && new Promise(done => '
                             'requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame('
                             '() => done(true)))))')

    def text(self, name):
        return self.window.evaluate(f'document.getElementById("{name}").textContent')

    def choose(self, name, value):
        member = 'checked' if isinstance(value, bool) else 'value'
        self.window.evaluate(f'(() => {{ const choice = document.getElementById("{name}"); choice.{member} = '
                             f'{json.dumps(value)}; choice.dispatchEvent(new Event("change")); }})()')
        self.drawn()

    def search(self, text):
        self.window.evaluate('document.getElementById("search").focus()')
        self.window.evaluate('document.getElementById("search").select()')
        self.window.call('Input.insertText', text=text)
        self.drawn()
        return self.text('matched')

    def press(self, key):
        self.window.evaluate('document.getElementById("graph").focus()')
        self.window.press(key)
        self.drawn()
        return self.text('said')

    def place(self):
        return self.window.evaluate('(() => { const r = document.getElementById("graph").getBoundingClientRect();'
                                    'return [r.left, r.top, r.width, r.height]; })()')

    def at(self, share, level):
        """Where a level's frame is, a share of the width from the left, with the root at the bottom -> x, y"""
        left, top, width, height = self.place()
        return left + share * width, top + height - level * 18 - 9

    def point(self, share, level):
        """-> the tooltip's lines"""
        self.window.mouse('mouseMoved', *self.at(share, level))
        if self.window.evaluate('document.getElementById("tooltip").hidden'):
            return []
        return self.text('tooltip').split('\n')

    def click(self, share, level):
        self.window.click(*self.at(share, level))
        self.drawn()

    def colour(self, share, level):
        x, y = self.at(share, level)
        left, top, *_ = self.place()
        return self.window.evaluate(
            'Array.from(document.getElementById("graph").getContext("2d").getImageData('
            f'Math.round({x - left}), Math.round({y - top} - 7), 1, 1).data)')


def run_in_browser(cases, *size):
    """Each case gets the window of a Chromium. -> the exit status of a test"""
    if not browser.find():
        print('1..0 # SKIP there is no Chromium')
        return 0
    with browser.Browser(*size) as window:
        return int(run_cases(cases, window) != 0)
