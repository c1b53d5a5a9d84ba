#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the flame graph page looks: contrast and difference of its colours, computed from the palette and the style sheet;
and that every view fits every screen. TAP.
"""
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys

from reader import Reader, run_file
from stacks import equal

TREE = pathlib.Path(os.environ['TEST_SOURCE_FOLDER'])
PAGE = TREE / 'plugins/sink-flamegraph/page'
PALETTE = json.loads((PAGE / 'palette.json').read_text(encoding='utf-8'))
INKS = '#12161c', '#ffffff'
LEAST_CONTRAST, LEAST_DIFFERENCE = 4.5, 12
# Machado, Oliveira, Fernandes 2009, severity 1, of linear RGB.
SIMULATIONS = {
    'normal': ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    'protanopia': ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    'deuteranopia': ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))}


def linear(colour):
    values = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def luminance(colour):
    return sum(part * value for part, value in zip((0.2126, 0.7152, 0.0722), linear(colour)))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def fade(colour, surface, part):
    mixed = [round(part * int(colour[at:at + 2], 16) + (1 - part) * int(surface[at:at + 2], 16)) for at in (1, 3, 5)]
    return '#' + ''.join(f'{value:02x}' for value in mixed)


def lab(rgb):
    """CIE Lab of linear RGB, D65"""
    rgb = [min(1, max(0, value)) for value in rgb]
    xyz = [sum(part * value for part, value in zip(row, rgb)) / white for row, white in zip(
        ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041)),
        (0.95047, 1, 1.08883))]
    x, y, z = [value ** (1 / 3) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116 for value in xyz]
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one, other):
    """CIEDE2000, after Sharma, Wu, Dalal 2005"""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    grow = 1.5 - 0.5 * math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7))
    c1, c2 = math.hypot(grow * a1, b1), math.hypot(grow * a2, b2)
    h1, h2 = [math.degrees(math.atan2(b, grow * a)) % 360 if a or b else 0 for a, b in ((a1, b1), (a2, b2))]
    turn = 0 if not c1 * c2 else (h2 - h1 + 180) % 360 - 180
    dl, dc, dh = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    if not c1 * c2:
        hue = h1 + h2
    elif abs(h1 - h2) <= 180:
        hue = (h1 + h2) / 2
    else:
        hue = (h1 + h2 + (360 if h1 + h2 < 360 else -360)) / 2
    cosine = lambda degrees: math.cos(math.radians(degrees))
    t = (1 - 0.17 * cosine(hue - 30) + 0.24 * cosine(2 * hue) + 0.32 * cosine(3 * hue + 6) - 0.20 * cosine(4 * hue - 63))
    sl = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    sc, sh = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    rotation = -2 * math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7)) * math.sin(
        math.radians(60 * math.exp(-((hue - 275) / 25) ** 2)))
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * dc / sc * dh / sh)


def the_formula_is_the_published_one():
    """Pairs of the table that Sharma, Wu and Dalal published with it."""
    for one, other, expected in (((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
                                 ((50, 2.5, 0), (73, 25, -18), 27.1492),
                                 ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
                                 ((50, -0.001, 2.49), (50, 0.0011, -2.49), 4.7461)):
        assert abs(difference(one, other) - expected) < 1e-4, f'{one} {other}: {difference(one, other)}'


def style(theme):
    """-> the style sheet's colours of a theme"""
    text = (PAGE / 'base.css').read_text(encoding='utf-8')
    light, dark = re.search(r':root \{(.*?)\}', text, re.S)[1], re.search(r':root\[data-theme=dark\] \{(.*?)\}', text, re.S)[1]
    found = {}
    for part in [light] + [dark] * theme:
        found.update(re.findall(r'--([\w-]+): (#[0-9a-f]{6});', part))
    return found


def every_text_has_contrast():
    wrong = []

    def check(what, fill, ink):
        if contrast(fill, ink) < LEAST_CONTRAST:
            wrong.append(f'{what}: {ink} on {fill}: {contrast(fill, ink):.2f}')

    for theme in 0, 1:
        own, name = style(theme), ('light', 'dark')[theme]
        fills = {**{f'frame {key}': colours[theme] for key, colours in PALETTE['frames'].items()},
                 **{f'{key} {i}': colours[theme] for key in ('reasons', 'changes', 'processes')
                    for i, colours in enumerate(PALETTE[key])}}
        best = lambda fill: max(INKS, key=lambda ink: contrast(fill, ink))
        for what, fill in fills.items():
            check(f'{name} {what}', fill, best(fill))
            if what.startswith('frame'):
                for part, surface in ((0.6, 'app'), (0.55, 'surface')):
                    check(f'{name} {what}, pale', fade(fill, own[surface], part), best(fade(fill, own[surface], part)))
            if what.startswith('reasons'):
                check(f'{name} {what}, not highlighted', fade(fill, own['surface'], 0.24), own['dim'])
        for surface in 'app', 'surface', 'sunken':
            for text in 'text', 'text2', 'text3':
                check(f'{name} {text} on {surface}', own[surface], own[text])
        for text, surface in (('accent', 'accent-soft'), ('accent', 'surface'), ('warn', 'warn-soft'), ('warn', 'surface'),
                              ('lead', 'surface'), ('less', 'surface'), ('more', 'surface'), ('text', 'accent-soft')):
            check(f'{name} {text} on {surface}', own[surface], own[text])
    equal(wrong, [], 'contrast')


# In the page: texts with too little contrast, as the browser computes colours, or with letters that are too small.
# Canvases are measured by the palette.
UNREADABLE = '''(() => {
  const rgba = text => { const parts = text.match(/[\\d.]+/g).map(Number); return text.startsWith('color(srgb')
    ? [...parts.slice(0, 3).map(part => 255 * part), parts[3] ?? 1] : [...parts.slice(0, 3), parts[3] ?? 1]; };
  const over = ([r, g, b, a], below) => [r, g, b].map((part, i) => part * a + below[i] * (1 - a));
  const light = colour => colour.map(part => part / 255).map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = found => { const above = []; let solid = null;
    for (let at = found; at && !solid; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] >= 1) solid = colour.slice(0, 3); else if (colour[3] > 0) above.push(colour); }
    return above.reverse().reduce((below, colour) => over(colour, below), solid || [255, 255, 255]); };
  const wrong = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const found = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !found.getClientRects().length || found.closest('script, style, noscript, .unseen, option, :disabled') ||
        (found.tagName !== 'SELECT' && !found.checkVisibility({ opacityProperty: true, visibilityProperty: true })))
      continue;
    const style = getComputedStyle(found), ground = behind(found);
    let faded = 1;
    for (let at = found; at; at = at.parentElement) faded *= Number(getComputedStyle(at).opacity);
    const ink = over([...rgba(style.color).slice(0, 3), rgba(style.color)[3] * faded], ground);
    const [low, high] = [light(ink), light(ground)].sort((a, b) => a - b), contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5 || parseFloat(style.fontSize) < 10.5)
      wrong.push(`${walker.currentNode.textContent.trim().slice(0, 30)} in ${found.tagName} ${found.className} ${found.closest('[id]').id}: ${
        contrast.toFixed(2)}, ${style.fontSize}`);
  }
  return wrong; })()'''


def every_text_is_readable(window):
    """Contrast and size of each text of each view in both themes, as computed; also where the pointer is, and in what is
    selected."""
    reader = Reader(window, demo())
    for theme in 'light', 'dark':
        reader.evaluate(f'window.iaprof.setTheme("{theme}"), window.iaprof.update(null)')
        reader.view('Flame graph')
        drawn = reader.evaluate('(flame => flame.layout.cells.filter(cell => !cell.isGap).map(cell => flame.look(cell)).map('
                                'look => [look.fill, look.ink, look.pale || 1]))(window.iaprof.flame)')
        equal([fill for fill, ink, part in drawn if contrast(fade(ink, fill, part), fill) < LEAST_CONTRAST], [],
              f'{theme}: places and shares in the graph')
        for name in reader.texts('#tabs button'):
            reader.view(name)
            equal(reader.evaluate(UNREADABLE), [], f'{name}, {theme}')
            for selector in ('#panel .krow', '#panel .finding', '#panel .chain button', 'tr.pick', 'tr.sel', '#code-kernels button',
                             'td .chip', '#code-instructions tbody tr', '#npu-functions tbody tr'):
                if reader.is_seen(selector):
                    left, top, width, height = reader.place_of(selector)
                    window.mouse('mouseMoved', left + width / 2, top + height / 2)
                    equal(reader.evaluate(UNREADABLE), [], f'{name}, {theme}, with the pointer on {selector}')
            window.mouse('mouseMoved', 1, 1)
        reader.view('Flame graph')
        reader.click_on('#reason-bar button')
        reader.search('feed')
        equal(reader.evaluate(UNREADABLE), [], f'{theme}: one reason, a search')
        reader.view('Table')
        reader.search('feed')
        equal(reader.evaluate(UNREADABLE), [], f'{theme}: found rows')
        reader.search('')
        reader.view('Flame graph')
        reader.click_on('#more')
        equal(reader.evaluate(UNREADABLE), [], f'{theme}: the menu')
        reader.click_on('#more')
        reader.click_on('#reason-bar button')


def any_two_reasons_differ():
    """Also to who confuses red and green."""
    least = {}
    for theme in 0, 1:
        colours = [linear(pair[theme]) for pair in PALETTE['reasons']]
        for name, matrix in SIMULATIONS.items():
            seen = [lab([sum(part * value for part, value in zip(row, colour)) for row in matrix]) for colour in colours]
            least[theme, name] = min((difference(one, other), i, k) for (i, one), (k, other) in
                                     itertools.combinations(enumerate(seen), 2))
    equal({key: value for key, value in least.items() if value[0] < LEAST_DIFFERENCE}, {}, 'too alike')


def demo():
    page = pathlib.Path('demo.html')
    if not page.exists():
        subprocess.run([os.environ['TEST_IAPROF'], '-q', '--replay', TREE / 'examples/demo.iaprof', '-k', 'flamegraph', '-o',
                        page], check=True)
    return page


SIZES = (390, 844), (820, 1180), (1280, 800), (1920, 1080), (3840, 2160)


def every_view_fits_every_screen(window):
    reader = Reader(window, demo())
    views = reader.texts('#tabs button')
    try:
        for width, height in SIZES:
            reader.size(width, height)
            for name in views:
                reader.view(name)
                wide, high, seen = reader.evaluate(
                    '[Math.max(document.documentElement.scrollWidth, document.body.scrollWidth),'
                    'document.documentElement.scrollHeight, document.documentElement.clientWidth]')
                what = f'{name} at {width} x {height}'
                assert wide <= seen, f'{what}: {wide} pixels wide'
                if name == 'Table':
                    names = reader.place_of('#table-body td.name')[2]
                    assert names > 90, f'{what}: {names} pixels for names'
                assert width < 641 or high <= height, f'{what}: {high} pixels high'
                # Nothing of the bar is cut off.
                cut = reader.evaluate('[...document.querySelectorAll("#bar *, #tools *, #status *")].filter(part => {'
                                      'const box = part.getBoundingClientRect(); return box.width && (box.right > '
                                      'document.documentElement.clientWidth + 1 || box.left < -1) && !part.closest("#crumbs"); }).map(part => part.id || '
                                      'part.textContent)')
                equal(cut, [], f'{what}: cut off')
                equal(window.wrong(), [], what)
        reader.size(390, 844)
        reader.view(views[0])
        small = reader.evaluate('[...document.querySelectorAll("#tabs button, #search-box, #theme, #more, #panel button")]'
                                '.map(part => [part.textContent, part.getBoundingClientRect().height]).filter('
                                '([, high]) => high && high < 43.5)')
        equal(small, [], 'too small for a finger')
    finally:
        reader.size(1280, 800)


def the_graph_has_its_room(window):
    reader = Reader(window, demo())
    graph, reasons = reader.place()[3], reader.place_of('#reasons')[3]
    assert graph >= 0.65 * 800, f'the graph has {graph} of 800 pixels'
    assert graph + reasons >= 0.74 * 800, f'with its reasons it has {graph + reasons} of 800 pixels'


def labels_are_what_is_drawn(window):
    """Hardly anything is drawn without room for a label."""
    reader = Reader(window, demo())
    widths = [width * reader.place()[2] for level in reader.levels() for _, width in reader.places_of(level)]
    assert sum(width for width in widths if width >= 14) > 0.9 * sum(widths), sorted(widths)[:50]
    assert len(widths) < 500, f'{len(widths)} cells'


CASES = (the_formula_is_the_published_one, every_text_has_contrast, any_two_reasons_differ)
PAGE_CASES = (every_text_is_readable, every_view_fits_every_screen, the_graph_has_its_room, labels_are_what_is_drawn)
WINDOW = 1280, 800


if __name__ == '__main__':
    sys.exit(run_file(CASES))
