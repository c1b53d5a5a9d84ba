#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flame graph page in a real browser, held against the stacks that it was made of. TAP.

What the page shows is read as a reader gets it: the tooltip below the mouse, what is said to who does not see it, the
lines above the graph, and the pixels. Words on the command line choose cases.
"""
import re
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True

from reader import Reader, make_page, run_in_browser
from stacks import COUNT, NANOSECONDS, PROGRAM, UNKNOWN, Frame, equal, gpu_stack

def stacks_of_two():
    return [(0, 600, [Frame('one', PROGRAM), Frame('main'), Frame('left')]),
            (0, 300, [Frame('one', PROGRAM), Frame('main'), Frame('right')]),
            (0, 100, [Frame('two', PROGRAM), Frame('main')])]


def frames_have_their_shares(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    assert '1,000 in all' in reader.text('facts'), reader.text('facts')
    for share, level, name, value in ((0.5, 0, 'all', '1,000, 100.00 %'), (0.45, 1, 'one', '900, 90.00 %'),
                                      (0.95, 1, 'two', '100, 10.00 %'), (0.3, 3, 'left', '600, 60.00 %'),
                                      (0.75, 3, 'right', '300, 30.00 %')):
        lines = reader.point(share, level)
        assert lines and lines[0] == name and any(line.startswith(value) for line in lines), f'{name}: {lines}'
    equal(reader.point(0.95, 3), [], 'nothing is there')
    assert reader.colour(0.95, 3)[3] == 0 and reader.colour(0.3, 3)[3] == 255, 'drawn where there is something'
    # The edge between two frames is where the values say.
    assert reader.point(0.597, 3)[0] == 'left' and reader.point(0.603, 3)[0] == 'right'


def zoom_and_back(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    reader.click(0.3, 3)
    equal(reader.text('trail'), 'all › one › main › left', 'trail')
    for level, name in enumerate(('all', 'one', 'main', 'left')):
        equal(reader.point(0.9, level)[0], name, f'level {level} is as wide as all')
    reader.window.evaluate('document.querySelectorAll("#trail button")[1].click()')
    reader.drawn()
    equal(reader.text('trail'), 'all › one', 'trail after a click into it')
    equal(reader.point(0.65, 3)[0], 'left', 'two thirds of one')
    assert '33.33 % of one' in reader.point(0.8, 3), reader.point(0.8, 3)
    reader.press('Escape')
    equal(reader.text('trail'), '', 'trail')
    equal(reader.point(0.65, 3)[0], 'right', 'all of it again')


def keys_go_everywhere(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    for key, name in (('ArrowUp', 'one'), ('ArrowRight', 'two'), ('ArrowLeft', 'one'), ('ArrowUp', 'main'),
                      ('ArrowUp', 'left'), ('ArrowRight', 'right'), ('ArrowDown', 'main')):
        assert reader.press(key).startswith(f'{name}, '), f'{key}: {reader.text("said")}, not {name}'
    window.call('Emulation.setDeviceMetricsOverride', width=900, height=600, deviceScaleFactor=2, mobile=False)
    reader.drawn()
    equal(reader.point(0.65, 3)[0], 'right', 'in a smaller window')
    window.call('Emulation.setDeviceMetricsOverride', width=1200, height=800, deviceScaleFactor=1, mobile=False)
    reader.drawn()
    reader.press('Enter')
    equal(reader.text('trail'), 'all › one › main', 'trail, from where the keyboard was')
    reader.press('Backspace')
    equal(reader.text('trail'), 'all › one', 'trail')
    reader.press('0')
    equal(reader.text('trail'), '', 'trail')
    reader.press('/')
    equal(window.evaluate('document.activeElement.id'), 'search', 'where the keyboard is')


def search_tells_the_share(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    equal(reader.search('main'), '100.00 % found (1,000)', 'main, below each other or not')
    equal(reader.search('RIGHT'), '30.00 % found (300)', 'in capitals')
    found = reader.colour(0.75, 3)
    equal(reader.search('^(left|two)$'), '0.00 % found (0)', 'a plain text')
    reader.choose('expression', True)
    equal(reader.text('matched'), '70.00 % found (700)', 'an expression')
    assert reader.colour(0.3, 3)[:3] == found[:3] != reader.colour(0.75, 3)[:3], 'found frames have a colour of their own'
    reader.click(0.3, 3)
    equal(reader.text('matched'), '100.00 % found (600)', 'zoomed in')
    reader.search('(')
    assert 'Invalid regular expression' in reader.text('matched'), reader.text('matched')
    equal(window.wrong(), [], 'a wrong expression is told, not thrown')
    equal(reader.search(''), '', 'no search')


def gpu_stalls_are_chosen(window):
    stacks = [(0, 9000, [Frame('model', PROGRAM, pid=7), Frame('main')]),
              (1, 500, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)),
              (1, 200, gpu_stack(7, 'attention', 'dpas', 'send', 16)),
              (1, 200, gpu_stack(8, 'attention', 'dpas', 'sbid', 32)), (1, 100, gpu_stack(8, 'ffn', 'mov', 'sync', 0))]
    reader = Reader(window, make_page([NANOSECONDS, COUNT], stacks))
    assert '1,000 in all' in reader.text('facts'), f'a device\'s values come first: {reader.text("facts")}'
    equal(reader.point(0.35, 1)[0], 'model (7)', 'a process')
    equal(reader.point(0.1, 7)[:2], ['dpas', 'GPU instruction'], 'an instruction')
    equal(reader.point(0.1, 8)[:2], ['sbid', 'stall reason'], 'a reason')
    equal(reader.point(0.1, 9)[:2], ['0x10', 'offset'], 'an offset is the last')
    reader.choose('reason', '=sbid')
    assert '700 in all' in reader.text('facts'), reader.text('facts')
    reader.choose('merge', True)
    lines = reader.point(0.5, 1)
    assert lines[0] == 'model' and any(line.startswith('700, 100.00 %') for line in lines), lines
    reader.choose('offsets', False)
    assert reader.point(0.5, 8)[0] == 'sbid' and not reader.point(0.5, 9), 'offsets are left out, what was in them is not'
    reader.choose('reason', '')
    reader.choose('merge', False)
    assert '1,000 in all' in reader.text('facts'), reader.text('facts')
    reader.choose('type', 0)
    assert '9 µs in all' in reader.text('facts'), reader.text('facts')


def hostile_names_stay_names(window):
    names = ['</script><script>throw 1</script>', '"><img src=x onerror=alert(1)>', "'--><!--", '&lt;b&gt;', '🔥 emoji',
             'a' * 10000, b'\xff\xfe not UTF-8 \x80', b'\x1b[31m \x07 control', '\u202e reversed', '\\u0041 \\', '${1+1}`']
    stacks = [(0, 100, [Frame('program', PROGRAM), Frame(name)]) for name in names]
    page = make_page([COUNT], stacks, lost=[(3, 'a<b', '</script><script>throw 2</script>')],
                     options=['title=</title><b>'])
    equal(page.read_bytes().count(b'<script'), 2, 'script elements')
    reader = Reader(window, page)
    seen = {reader.point((i + 0.5) / len(names), 2)[0] for i in range(len(names))}
    equal(len(seen), len(names), 'each is there')
    for name in names[:6]:
        assert name in seen, f'{name[:40]!r} is not among {[text[:40] for text in seen]}'
    assert not any(re.search('[\x00-\x1f\x7f\u202e\ufffd]', text) for text in seen), seen
    equal(window.evaluate('document.title'), '</title><b>', 'title')
    assert '</script><script>throw 2</script>: 3' in reader.text('missing'), reader.text('missing')
    equal(window.wrong(), [], 'nothing of it was code')


def the_policy_holds(window):
    """Nothing but the page's own script and style: neither a request nor a script that somebody puts in."""
    Reader(window, make_page([COUNT], stacks_of_two()))
    window.evaluate('void (document.body.innerHTML += "<img src=x onerror=window.broken=1>'
                    '<script>window.broken=1</script>")')
    window.evaluate('(() => { const s = document.createElement("script"); s.textContent = "window.broken = 1";'
                    'document.body.append(s); })()')
    asked = window.evaluate('fetch("https://example.org/").then(() => "was allowed", () => "was refused")')
    equal(asked, 'was refused', 'a request')
    equal(window.evaluate('window.broken'), None, 'a script that was put in')
    assert len(window.wrong()) >= 3, f'what was refused is told: {window.wrong()}'


def unknown_and_lost_are_told(window):
    unknown = Frame('[unknown]', flags=UNKNOWN)
    stacks = [(0, 750, [Frame('one', PROGRAM), Frame('main'), unknown, unknown]),
              (0, 250, [Frame('one', PROGRAM), Frame('main')])]
    reader = Reader(window, make_page([COUNT], stacks, lost=[(1234, 'cpu-stack', 'ring buffer full')]))
    assert '75.00 % with one or more frames that are unknown' in reader.text('facts'), reader.text('facts')
    equal(reader.text('missing'), 'Lost: cpu-stack: ring buffer full: 1,234', 'losses')


def narrow_frames_are_one_block(window):
    """What is too narrow to be drawn alone is drawn, and counts."""
    stacks = [(0, 1, [Frame('one', PROGRAM), Frame(f'f{i}'), Frame('leaf')]) for i in range(5000)]
    stacks.append((0, 5000, [Frame('one', PROGRAM), Frame('z')]))
    reader = Reader(window, make_page([COUNT], stacks))
    assert '10,000 in all' in reader.text('facts'), reader.text('facts')
    equal(reader.point(0.75, 2)[0], 'z', 'the wide half')
    assert reader.colour(0.1, 2)[3] == 255, 'the narrow half is a block'
    equal(reader.search('leaf'), '50.00 % found (5,000)', 'what is narrow is found')


def deep_stacks_are_scrolled_through(window):
    frames = [Frame('one', PROGRAM)] + [Frame(f'f{i}') for i in range(2, 300)]
    reader = Reader(window, make_page([COUNT], [(0, 10, frames)]))
    equal(reader.point(0.5, 0)[0], 'all', 'the page begins at the root')
    for _ in range(200):
        reader.window.evaluate('document.getElementById("graph").focus()')
        reader.window.press('ArrowUp')
    reader.drawn()
    assert reader.text('said').startswith('f200, '), reader.text('said')
    left, top, width, height = reader.place()
    seen = set()
    for y in range(int(top) + 9, int(top + height), 18):
        window.mouse('mouseMoved', left + width / 2, y)
        seen.add(reader.text('tooltip').split('\n')[0])
    assert 'f200' in seen and 'all' not in seen, f'where the keyboard is is in sight: {sorted(seen)}'


def an_empty_profile_is_told(window):
    reader = Reader(window, make_page([], []))
    assert '0 in all' in reader.text('facts'), reader.text('facts')
    equal(window.wrong(), [], 'errors')


def themes_and_orientation(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    light = window.evaluate('getComputedStyle(document.body).backgroundColor')
    reader.choose('theme', 'dark')
    assert window.evaluate('getComputedStyle(document.body).backgroundColor') != light
    reader.choose('icicle', True)
    left, top, width, _ = reader.place()
    window.mouse('mouseMoved', left + width / 2, top + 9)
    equal(reader.text('tooltip').split('\n')[0], 'all', 'the root is at the top')
    assert reader.press('ArrowDown').startswith('one, '), reader.text('said')


def pictures_have_their_shares(window):
    """format=svg, read by an XML parser, and drawn by the browser."""
    nasty = '</text><script>alert("&amp;")</script>\x1b'
    stacks = stacks_of_two() + [(0, 1000, [Frame('three', PROGRAM, pid=9), Frame(nasty)])]
    stacks += [(0, 1, [Frame('three', PROGRAM, pid=9), Frame(f'{i}')]) for i in range(10)]
    stacks += [(1, 5, [Frame('other', PROGRAM)])]
    page = make_page([COUNT, NANOSECONDS], stacks, lost=[(4, 'a', 'b')],
                     options=['format=svg', 'title=<&>', 'value=gpu-stalls']).rename('picture.svg')
    svg = xml.etree.ElementTree.parse(page).getroot()
    space = {'s': 'http://www.w3.org/2000/svg'}
    equal([text.text for text in svg.findall('s:text', space)],
          ['<&>', 'gpu-stalls: 2010 count, 4 lost'], 'what stands above')
    frames = {}
    for group in svg.findall('s:g', space):
        name, numbers = group.find('s:title', space).text.split('\n')
        box = group.find('s:rect', space)
        frames[name] = numbers, float(box.get('width')) / 1180, float(box.get('y'))
    for name, value in ('one', 900), ('left', 600), ('three (9)', 1010), (nasty[:-1] + '?', 1000), ('7', 1):
        numbers, width, _ = frames[name]
        equal(numbers, f'{value} count, {100 * value / 2010:.2f} %', name)
        assert abs(width - value / 2010) < 1e-4, f'{name} is {width} wide'
    assert frames['one'][2] > frames['left'][2] and 'other' not in frames, frames
    window.open(page)
    equal(window.evaluate('document.getElementsByTagName("script").length'), 0, 'scripts')
    equal(window.evaluate('Math.round(document.querySelector("g rect").getBoundingClientRect().width)'),
          round(1180 * 900 / 2010), 'the width of the first frame')
    many = [(0, 1, [Frame('one', PROGRAM), Frame(f'f{i}')]) for i in range(7000)]
    text = make_page([COUNT], many, options=['format=svg']).read_text(encoding='utf-8')
    assert '7000 frames are too narrow to be drawn' in text, text[:600]


def the_value_type_is_chosen(window):
    stacks = [(0, 30, [Frame('one', PROGRAM)]), (1, 7, [Frame('one', PROGRAM), Frame('f')])]
    reader = Reader(window, make_page([NANOSECONDS, COUNT], stacks))
    assert '30 ns in all' in reader.text('facts'), reader.text('facts')
    reader = Reader(window, make_page([NANOSECONDS, COUNT], stacks, options=['value=gpu-stalls']))
    assert '7 in all' in reader.text('facts'), reader.text('facts')


CASES = (frames_have_their_shares, zoom_and_back, keys_go_everywhere, search_tells_the_share, gpu_stalls_are_chosen,
         hostile_names_stay_names, the_policy_holds, unknown_and_lost_are_told, narrow_frames_are_one_block,
         deep_stacks_are_scrolled_through, an_empty_profile_is_told, themes_and_orientation,
         pictures_have_their_shares, the_value_type_is_chosen)


if __name__ == '__main__':
    sys.exit(run_in_browser(CASES))
