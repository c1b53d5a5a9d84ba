#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flame graph page in a real browser, held against the stacks that it was made of. TAP.

What the page shows is read as a reader gets it: the tooltip below the mouse, what is said to who does not see it, the
texts around the graph, and the pixels. Words on the command line choose cases.
"""
import collections
import json
import os
import pathlib
import random
import re
import sys
import xml.etree.ElementTree

from browser import CONTROL, SHIFT
from reader import REASONS, THIN, Reader, make_page, run_file, share
from stacks import (CALL, COUNT, FUNCTION, JIT, NANOSECONDS, PROGRAM, REASON, SEPARATOR, UNKNOWN, Frame, equal, gpu_stack)


def stacks_of_two():
    return [(0, 600, [Frame('one', PROGRAM), Frame('main'), Frame('left')]),
            (0, 300, [Frame('one', PROGRAM), Frame('main'), Frame('right')]),
            (0, 100, [Frame('two', PROGRAM), Frame('main')])]


def frames_have_their_shares(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    equal(reader.text('whole-sum'), '1,000 samples', 'all')
    for part, level, name, value in ((0.5, 0, 'All gpu-stalls', 1000), (0.45, 1, 'one', 900), (0.95, 1, 'two', 100),
                                     (0.3, 3, 'left', 600), (0.75, 3, 'right', 300)):
        tip = reader.point(part, level)
        equal((tip.title, tip.rows['Total']), (name, f'{value:,} ({share(value, 1000)} of all)'), 'a frame')
    assert not reader.point(0.95, 3), 'nothing is there'
    assert reader.colour(0.95, 3)[3] == 0 and reader.colour(0.3, 3)[3] == 255, 'drawn where there is something'
    # The edge between two frames is where the values say.
    equal([reader.point(part, 3).title for part in (0.597, 0.603)], ['left', 'right'], 'beside the edge')
    equal(reader.point(0.45, 2).rows.get('Self'), None, 'no samples end in main')
    equal(window.wrong(), [], 'errors')


def numbers_are_those_of_the_terminal(window):
    """Of the table with which tests/unit/test_quantity.c tests the texts of the terminal."""
    source = pathlib.Path(os.environ['TEST_SOURCE_FOLDER'])
    script = (source / 'plugins/sink-flamegraph/page/text.js').read_text(encoding='utf-8')
    lines = (source / 'tests/data/quantities.txt').read_text(encoding='utf-8').splitlines()
    rows = [line.split(' ', 3) for line in lines if not line.startswith('#')]
    forms = {'share': 'shareText({}, {})', 'time': 'timeText({})', 'count': 'countText({})'}
    calls = ', '.join(forms[kind].format(amount, whole) for kind, amount, whole, _ in rows)
    found = window.evaluate(f'(() => {{ {script} return [{calls}]; }})()')
    found = [text.replace(THIN, ' ').replace('µ', 'u').replace(',', '') for text in found]
    equal([[*row[:3], text] for row, text in zip(rows, found, strict=True)], rows, 'texts')
    assert len(rows) > 30, rows
    lines = (source / 'tests/data/short_names.txt').read_text(encoding='utf-8').splitlines()
    names = [line.split('\t') for line in lines if not line.startswith('#')]
    found = window.evaluate(f'(() => {{ {script} return {json.dumps(names)}.map(([limit, , name]) => shortName(name, Number(limit))); }})()')
    equal(found, [short for _, short, _ in names], 'names')


def zoom_and_back(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    reader.click(0.3, 3)
    equal(reader.crumbs(), ['All gpu-stalls', 'one', 'main', 'left'], 'path')
    for level, name in enumerate(('All gpu-stalls', 'one', 'main', 'left')):
        equal(reader.point(0.9, level).title, name, f'level {level} is as wide as all')
    reader.click_text('#crumbs button', 'one')
    equal(reader.crumbs(), ['All gpu-stalls', 'one'], 'path after a click into it')
    equal(reader.point(0.65, 3).title, 'left', 'two thirds of one')
    equal(reader.point(0.8, 3).rows['Of one'], share(300, 900), 'a share of the zoomed frame')
    reader.undo()
    equal(reader.crumbs(), ['All gpu-stalls', 'one', 'main', 'left'], 'back, as it was before')
    reader.undo('Backspace')
    equal(reader.crumbs(), ['All gpu-stalls'], 'the whole')
    equal(reader.point(0.65, 3).title, 'right', 'all of it again')
    reader.evaluate('history.forward()')
    reader.window.wait_for('location.hash')
    reader.drawn()
    equal(reader.crumbs(), ['All gpu-stalls', 'one', 'main', 'left'], 'forward')
    before = reader.evaluate('history.length')
    reader.click(0.3, 3)
    equal((reader.crumbs()[-1], reader.evaluate('history.length')), ('left', before), 'the zoomed frame does not zoom')


def zooming_moves_and_ends(window):
    """Without the wish for less motion it moves, and ends where it should."""
    reader = Reader(window, make_page([COUNT], stacks_of_two()), moves=True)
    reader.click(0.3, 3)
    equal(reader.point(0.9, 3).title, 'left', 'zoomed')
    wide = [reader.colour(part, 3)[3] for part in (0.01, 0.5, 0.99)]
    equal(wide, [255] * 3, 'as wide as all')


def keys_go_everywhere(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    window.press('Tab')
    assert reader.evaluate('document.activeElement !== document.body'), 'the first Tab goes somewhere'
    # Arrows go to the graph from wherever the keyboard is, but from what has a use for them.
    window.press('ArrowUp')
    reader.drawn()
    assert reader.text('said').startswith('one, '), reader.text('said')
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    for key, name in (('ArrowUp', 'one'), ('ArrowRight', 'two'), ('ArrowLeft', 'one'), ('ArrowUp', 'main'),
                      ('ArrowUp', 'left'), ('ArrowRight', 'right'), ('ArrowDown', 'main')):
        assert reader.press(key).startswith(f'{name}, '), f'{key}: {reader.text("said")}, not {name}'
    reader.size(900, 600, 2)
    equal(reader.point(0.65, 3).title, 'right', 'in a smaller window')
    reader.size(1200, 800)
    for key in 'ArrowUp', 'ArrowUp', 'Enter':
        reader.press(key)
    equal(reader.crumbs(), ['All gpu-stalls', 'one', 'main'], 'zoomed to where the keyboard was')
    reader.undo('Backspace')
    equal(reader.crumbs(), ['All gpu-stalls'], 'back')
    reader.press('ArrowUp')
    reader.press('Enter')
    reader.press('0')
    equal(reader.crumbs(), ['All gpu-stalls'], 'all')
    reader.press('/')
    equal(reader.evaluate('document.activeElement.id'), 'search', 'where the keyboard is')
    window.press('Escape')
    equal(reader.evaluate('document.activeElement.id'), 'graph', 'out of the search')
    reader.press('?')
    equal(reader.evaluate('document.getElementById("dialog").open'), True, 'all keys')
    assert 'search' in reader.text('dialog'), reader.text('dialog')
    window.press('Escape')
    reader.press('2')
    equal(reader.is_seen('#table'), True, 'views have numbers')
    reader.undo()
    equal(reader.is_seen('#flame'), True, 'Escape undoes')


def tab_reaches_all_in_order(window):
    """Bar, panel, time, reasons, tools, graph; a ring shows where the keyboard is."""
    stacks = [(1, 500, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)), (0, 10, [Frame('a', PROGRAM), Frame('b')])]
    reader = Reader(window, make_page([NANOSECONDS, COUNT], stacks))
    seen = []
    for _ in range(60):
        window.press('Tab')
        seen.append(reader.evaluate(
            '(() => { const now = document.activeElement, box = now.getBoundingClientRect();'
            'const part = now.closest("#bar, #panel, #strip, #reasons, #tools, #graphbox");'
            'return [part ? part.id : now.tagName, now.id, getComputedStyle(now).outlineStyle !== "none" || '
            'now.id === "search", box.width > 0]; })()'))
        if seen[-1][1] == 'graph':
            break
    parts = [part for i, (part, *_) in enumerate(seen) if not i or seen[i - 1][0] != part]
    equal(parts, ['BUTTON', 'bar', 'panel', 'reasons', 'tools', 'graphbox'], 'in order')
    stops = collections.Counter(part for part, *_ in seen)
    equal((seen[0][1], stops['panel'], stops['reasons'], stops['tools']), ('skip', 1, 1, 4), 'one stop for each group of buttons')
    # Arrows move within a group, and the first stop skips everything before the graph.
    reader.evaluate('document.querySelector("#tabs [aria-selected=true]").focus()')
    window.press('ArrowRight')
    equal(reader.evaluate('document.activeElement.textContent'), 'Table', 'the next tab')
    window.press('Enter')
    reader.drawn()
    equal((reader.is_seen('#table'), reader.evaluate('document.activeElement.textContent')), (True, 'Table'), 'it is chosen')
    reader.view('Flame graph')
    reader.evaluate('document.getElementById("skip").focus()')
    window.press('Enter')
    equal(reader.evaluate('document.activeElement.id'), 'graph', 'skipped')
    assert all(ring and wide for _, _, ring, wide in seen), seen
    assert {'value', 'search', 'theme', 'more'} <= {name for _, name, *_ in seen}, seen


def search_shows_the_share(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    equal(reader.search('main'), f'100{THIN}% found (1,000)', 'main, below each other or not')
    equal(reader.search('RIGHT'), f'30.0{THIN}% found (300)', 'in capitals')
    found = reader.colour(0.75, 3)
    equal(reader.search('^(left|two)$'), 'Nothing matches “^(left|two)$”', 'a plain text')
    equal(reader.search('/^(left|two)$/'), f'70.0{THIN}% found (700)', 'an expression')
    assert reader.colour(0.3, 3)[:3] == found[:3] != reader.colour(0.75, 3)[:3], 'found frames have a colour of their own'
    reader.click(0.3, 3)
    equal(reader.text('matched'), f'100{THIN}% found (600)', 'zoomed in')
    entries = reader.evaluate('history.length')
    assert 'not a valid expression' in reader.search('/(/'), reader.text('matched')
    equal(reader.evaluate('history.length'), entries, 'typing adds nothing to the history')
    equal(window.wrong(), [], 'an error in an expression is shown, not thrown')
    equal(reader.search(''), '', 'no search')


def found_in_folded_rows(window):
    """Search looks into rows of several functions."""
    frames = [Frame('one', PROGRAM), *(Frame(f'f{i}') for i in range(6))]
    reader = Reader(window, make_page([COUNT], [(0, 60, frames), (0, 40, [Frame('one', PROGRAM), Frame('z')])]))
    before = reader.colour(0.3, 2)
    equal(reader.search('f3'), f'60.0{THIN}% found (60)', 'in the middle of a folded row')
    assert reader.colour(0.3, 2) != before, 'the row is marked'
    assert reader.colour(0.8, 2) != reader.colour(0.3, 2), 'another one is not'


def folded_runs_unfold(window):
    frames = [Frame('one', PROGRAM), *(Frame(f'f{i}') for i in range(6))]
    reader = Reader(window, make_page([COUNT], [(0, 60, frames), (0, 40, [Frame('one', PROGRAM), Frame('z')])]))
    equal(reader.levels(), [0, 1, 2], 'six functions in a row')
    tip = reader.point(0.1, 2)
    equal(tip.title, 'f5', 'the innermost one')
    assert '6 functions, one calling the next' in tip.sub, tip
    left, top = reader.place()[:2]
    x, width = next(cell for cell in reader.evaluate(
        'window.iaprof.flame.layout.cells.filter(cell => cell.chip).map(cell => cell.chip)'))
    window.click(left + x + width / 2, reader.at(0.3, 2)[1])
    reader.drawn()
    equal(reader.levels(), list(range(8)), 'unfolded')
    equal([reader.point(0.3, level).title for level in range(2, 8)], [f'f{i}' for i in range(6)], 'each function')
    equal(reader.crumbs(), ['All gpu-stalls'], 'it did not zoom')
    reader.undo()
    equal(reader.levels(), [0, 1, 2], 'folded again')
    # What is no plain function is in a row of its own.
    kinds = [Frame('p', PROGRAM), Frame('a.py', file='a.py'), Frame('jit', JIT), Frame('call', CALL), Frame('f'), Frame('g')]
    reader = Reader(window, make_page([COUNT], [(0, 1, kinds)]))
    equal([reader.point(0.3, level).title for level in reader.levels()], ['All gpu-stalls'] + [frame.name for frame in kinds],
          'frames that never fold')


def gpu_stacks():
    return [(0, 9000, [Frame('model', PROGRAM, pid=7), Frame('main')]),
            (1, 500, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)),
            (1, 200, gpu_stack(7, 'attention', 'dpas', 'send', 16)),
            (1, 200, gpu_stack(8, 'attention', 'dpas', 'sbid', 32)), (1, 100, gpu_stack(8, 'ffn', 'mov', 'sync', 0))]


def stall_reasons_are_shown_and_hidden(window):
    reader = Reader(window, make_page([NANOSECONDS, COUNT], gpu_stacks()))
    equal(reader.text('whole-sum'), '1,000 samples', 'a device\'s values come first')
    equal(reader.point(0.35, 1).title, 'model (7)', 'a process')
    tip = reader.point(0.1, 'kernel')
    equal((tip.title, tip.sub.split(',')[0]), ('matmul', 'GPU function'), 'a kernel')
    tip = reader.point(0.1, 'reason')
    equal((tip.title, tip.sub, tip.rows['Total']), ('Data dependency', 'Stall reason (sbid)',
                                                   f'500 ({share(500, 1000)} of all)'), 'a reason')
    assert tip.text.startswith('Waits for'), f'its sentence: {tip}'
    equal(reader.texts('#reason-bar button'), [f'Data dependency70.0{THIN}%', f'Send queue20.0{THIN}%', f'Barrier10.0{THIN}%'],
          'all reasons')
    equal(reader.text('reason-note').split(',')[0], f'100{THIN}% stalled', 'nothing issues')
    # A click highlights one: the others are pale.
    before = [reader.colour(part, 'reason') for part in (0.1, 0.6)]
    reader.click_on('#reason-bar button')
    after = [reader.colour(part, 'reason') for part in (0.1, 0.6)]
    assert after[0] == before[0] and after[1] != before[1], f'{before} {after}'
    equal(reader.evaluate('document.querySelector("#reason-bar button").getAttribute("aria-pressed")'), 'true', 'pressed')
    reader.click_on('#reason-bar button')
    equal([reader.colour(part, 'reason') for part in (0.1, 0.6)], before, 'clicked again')
    # With Control it hides.
    reader.click_on('#reason-bar button', 1, modifiers=CONTROL)
    equal(reader.text('whole-sum'), '800 samples', 'without what was sent')
    assert 'Send queue hidden' in reader.text('reason-note'), reader.text('reason-note')
    reader.click_on('.hidden-reason')
    equal(reader.text('whole-sum'), '1,000 samples', 'shown again')
    reader.choose('value', 'cpu')
    equal((reader.text('whole-sum'), reader.is_seen('#reasons')), (f'9{THIN}µs of CPU time', False), 'another value type')


def details_show_more(window):
    stacks = [(0, 60, [*gpu_stack(7, 'a', 'dpas', 'sbid', 16)]), (0, 40, [*gpu_stack(7, 'a', 'mov', 'sbid', 32)])]
    for _, _, frames in stacks:
        frames.insert(-3, Frame('inner', FUNCTION))
    stacks[0][2][-3].file = stacks[1][2][-3].file = 'k.cl'
    stacks[0][2][-3].line, stacks[1][2][-3].line = 5, 9
    reader = Reader(window, make_page([COUNT], stacks))
    equal([level for level in reader.levels() if isinstance(level, str)], ['kernel', 'inner', 'reason'], 'lines')
    equal([tip.title for tip in reader.all_tips('inner')], ['k.cl:5', 'k.cl:9'], 'lines of the kernel')
    for detail, bands, inner in (('Kernel', ['kernel', 'reason'], []), ('Function', ['kernel', 'inner', 'reason'], ['inner']),
                                 ('Instruction', ['kernel', 'inner', 'instruction', 'reason'], ['k.cl:5', 'k.cl:9'])):
        reader.click_text('#detail button', detail)
        equal([level for level in reader.levels() if isinstance(level, str)], bands, detail)
        if inner:
            equal([tip.title for tip in reader.all_tips('inner')], inner, detail)
        equal([tip.rows['Total'].split()[0] for tip in reader.all_tips('kernel')], ['100'], detail)
    equal([tip.title for tip in reader.all_tips('instruction')], ['dpas', 'mov'], 'instructions')


def reasons_are_in_their_order(window):
    """In every cell, whichever is largest: the graph, the bar of all, and the bars of the panel."""
    chance = random.Random(3)
    stacks = []
    for kernel in range(3):
        names = list(REASONS)
        chance.shuffle(names)
        stacks += [(0, chance.randrange(300, 900), [Frame('p', PROGRAM), Frame(f'caller{kernel}'), Frame('-', SEPARATOR),
                                                   Frame(f'kernel{kernel}', FUNCTION), Frame(name, REASON)])
                   for name in names]
    reader = Reader(window, make_page([COUNT], stacks))
    order = list(REASONS.values())
    reader.click_text('#detail button', 'Kernel')
    sums = {}
    for _, value, frames in stacks:
        sums[frames[-2].name] = sums.get(frames[-2].name, 0) + value
    kernels = sorted(sums, key=lambda name: -sums[name])
    tips = reader.all_tips('reason')
    equal([tip.title for tip in tips], order * 3, 'in the graph')
    expected = {(frames[-2].name, REASONS[frames[-1].name]): value for _, value, frames in stacks}
    equal([int(tip.rows['Total'].split()[0].replace(',', '')) for tip in tips],
          [expected[kernel, label] for kernel in kernels for label in order], 'values')
    equal([reader.evaluate(f'document.querySelectorAll("#reason-bar button")[{i}].ariaLabel').rsplit(' ', 1)[0]
           for i in range(10)], order, 'in the bar of all')
    bars = reader.evaluate('[...document.querySelectorAll("#panel .krow .mix")].map(bar => [...bar.children].map('
                           'part => part.dataset.reason))')
    equal(bars, [order] * 3, 'in the panel')


def hostile_names_stay_names(window):
    names = ['</script><script>throw 1</script>', '"><img src=x onerror=alert(1)>', "'--><!--", '&lt;b&gt;', '🔥 emoji',
             'a' * 10000, b'\xff\xfe not UTF-8 \x80', b'\x1b[31m \x07 control', '\u202e reversed', '\\u0041 \\', '${1+1}`']
    stacks = [(0, 100, [Frame('program', PROGRAM), Frame(name)]) for name in names]
    page = make_page([COUNT], stacks, lost=[(3, 'a<b', '</script><script>throw 2</script>')],
                     options=['title=</title><b>'])
    equal(page.read_bytes().count(b'<script'), 2, 'script elements')
    reader = Reader(window, page)
    seen = {reader.point((i + 0.5) / len(names), 2).title for i in range(len(names))}
    equal(len(seen), len(names), 'each is there')
    for name in names[:6]:
        assert name in seen, f'{name[:40]!r} is not among {[text[:40] for text in seen]}'
    assert not any(re.search('[\x00-\x1f\x7f\u202e\ufffd]', text) for text in seen), seen
    equal(reader.evaluate('document.title'), '</title><b> - iaprof', 'title')
    equal(reader.quality()['a<b: </script><script>throw 2</script>'], '3 lost', 'losses')
    reader.view('Table')
    equal(len(reader.texts('#table-body tbody tr')), len(names) + 1, 'rows')
    for key in 'focus', 'search':
        reader = Reader(window, page, f'#{key}=%3C%2Fscript%3E%3Cscript%3Ethrow%203&view=<b>&zoom=<b>')
        equal(window.wrong(), [], f'{key}: nothing of it was code')


def the_policy_holds(window):
    """Nothing but the page's own script and style: neither a request nor a script that somebody puts in."""
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    reader.evaluate('void (document.body.insertAdjacentHTML("beforeend", "<img src=x onerror=window.broken=1>'
                    '<script>window.broken=1</script>"))')
    reader.evaluate('(() => { const s = document.createElement("script"); s.textContent = "window.broken = 1";'
                    'document.body.append(s); })()')
    asked = reader.evaluate('fetch("https://example.org/").then(() => "was allowed", () => "was refused")')
    equal(asked, 'was refused', 'a request')
    equal(reader.evaluate('window.broken'), None, 'a script that was put in')
    assert len(window.wrong()) >= 3, f'rejected input is reported: {window.wrong()}'


def unknown_and_lost_are_shown(window):
    unknown = Frame('[unknown]', flags=UNKNOWN)
    stacks = [(0, 750, [Frame('one', PROGRAM), Frame('main'), unknown, unknown]),
              (0, 250, [Frame('one', PROGRAM), Frame('main')])]
    reader = Reader(window, make_page([COUNT], stacks, lost=[(1234, 'cpu-stack', 'ring buffer full')]))
    equal(reader.quality(), {'Innermost function resolved': f'25.0{THIN}%', 'cpu-stack: ring buffer full': '1,234 lost'},
          'quality')
    equal(reader.text('lost-sum'), '1,234 lost', 'in the line below')
    tip = reader.point(0.3, 3)
    equal((tip.title, tip.sub), ('[unknown]', 'Not resolved'), 'a frame that is not known')


def narrow_frames_are_merged(window):
    """What is too narrow for a label is one cell, which counts what it is made of."""
    stacks = [(0, 1, [Frame('one', PROGRAM), Frame(f'f{i}'), Frame('leaf')]) for i in range(5000)]
    stacks.append((0, 5000, [Frame('one', PROGRAM), Frame('z')]))
    reader = Reader(window, make_page([COUNT], stacks))
    equal(reader.text('whole-sum'), '10,000 samples', 'all')
    equal(reader.point(0.25, 2).title, 'z', 'the wide half, which is first')
    tip = reader.point(0.75, 2)
    equal((tip.title, tip.rows['Total']), ('5000 more', f'5,000 ({share(1, 2)} of all)'), 'the narrow ones')
    assert reader.colour(0.75, 2)[3] == 255, 'drawn'
    equal(reader.search('leaf'), f'50.0{THIN}% found (5,000)', 'what is narrow is found')


def random_gpu_stacks(seed):
    """Stacks of one depth whose values end at the reasons."""
    chance = random.Random(seed)
    stacks = {}
    for _ in range(3000):
        kernel, line = f'kernel{int(chance.expovariate(0.5))}', int(chance.expovariate(0.3)) + 1
        instruction, reason = f'op{chance.randrange(4)}', chance.choice([*REASONS, 'sbid', 'sbid', 'send'])
        frames = [('p', chance.randrange(1, 4)), f'a{int(chance.expovariate(0.4))}', f'b{int(chance.expovariate(0.2))}',
                  kernel, line, instruction, reason]
        stacks[tuple(frames)] = stacks.get(tuple(frames), 0) + int(chance.paretovariate(0.7)) % 4000 + 1
    return [(0, value, [Frame('p', PROGRAM, pid=frames[0][1]), Frame(frames[1]), Frame(frames[2]), Frame('-', SEPARATOR),
                        Frame(frames[3], FUNCTION), Frame(frames[5], 8, file='k.cl', line=frames[4]),
                        Frame(frames[6], REASON)]) for frames, value in stacks.items()]


def cells_add_up_to_their_parents(window):
    """Whatever is merged, each row has all that there is, and each cell of a row what is above it."""
    for seed in range(2):
        stacks = random_gpu_stacks(seed)
        whole = sum(value for _, value, _ in stacks)
        reader = Reader(window, make_page([COUNT], stacks))
        for detail in 'Line', 'Instruction', 'Function', 'Kernel':
            reader.click_text('#detail button', detail)
            levels = reader.levels()
            for level in levels:
                # By the keyboard, which also goes to cells that no pointer can hit.
                cells = reader.places_of(level)
                assert all(left + width < after + 1e-6 for (left, width), (after, _) in zip(cells, cells[1:])), \
                    f'{detail}, {level}: nothing above another'
                if level != 3:  # above callers that are merged there is nothing but their kernels
                    assert abs(sum(width for _, width in cells) - 1) < 1e-6, f'{detail}, {level}: {cells}'
                if (detail, level) in (('Line', 'kernel'), ('Line', 'inner'), ('Kernel', 'reason')):
                    values = [int(tip.rows['Total'].split()[0].replace(',', '')) for tip in reader.all_tips(level)]
                    missing = sum(width * whole for _, width in cells if width * reader.place()[2] <= 2)
                    assert abs(sum(values) + missing - whole) < 1e-3, f'{detail}, {level}: {sum(values)} of {whole}'
            if detail == 'Line':
                assert any(tip.title.endswith('lines') for tip in reader.all_tips('inner')), 'something is merged'


def deep_stacks_are_scrolled_through(window):
    frames = [Frame('one', PROGRAM)] + [Frame(f'f{i}', JIT) for i in range(2, 300)]
    reader = Reader(window, make_page([COUNT], [(0, 10, frames)]))
    equal(reader.point(0.5, 0).title, 'All gpu-stalls', 'the page begins at the root')
    reader.evaluate('document.getElementById("graph").focus()')
    for _ in range(200):
        window.press('ArrowUp')
    reader.drawn()
    assert reader.text('said').startswith('f200, '), reader.text('said')
    left, top, width, height = reader.place()

    def seen():
        return {reader.tip_at(left + width / 2, y).title for y in range(int(top) + 9, int(top + height), 60)} - {''}
    names = seen()
    assert 'All gpu-stalls' not in names and any(abs(int(name[1:]) - 200) < 60 for name in names), \
        f'where the keyboard is is in sight: {sorted(names)}'
    window.mouse('mouseWheel', left + width / 2, top + height / 2, deltaX=0, deltaY=100000)
    reader.drawn()
    equal(reader.point(0.5, 0).title, 'All gpu-stalls', 'the wheel scrolls to the root')
    window.mouse('mouseWheel', left + width / 2, top + height / 2, deltaX=0, deltaY=-100000)
    reader.drawn()
    assert 'f299' in {reader.tip_at(left + width / 2, top + y).title for y in (6, 20, 30)}, 'and to the end'
    # From the leaves the wheel goes the other way, as does what is drawn.
    reader.click_text('#order button', 'Callers')
    equal((reader.point(0.5, 0).title, reader.is_seen('#layout')), ('All gpu-stalls', False), 'the root is at the top')
    window.mouse('mouseWheel', left + width / 2, top + height / 2, deltaX=0, deltaY=100000)
    reader.drawn()
    assert 'one' in {reader.tip_at(left + width / 2, top + height - y).title for y in (6, 20, 30)}, 'to the program'
    # With device code the rows of the CPU scroll below it.
    deep = frames + [Frame('-', SEPARATOR), Frame('kernel', FUNCTION), Frame('sbid', REASON)]
    reader = Reader(window, make_page([COUNT], [(0, 10, deep)]))
    for delta in 0, 100000, -100000:
        window.mouse('mouseWheel', left + width / 2, top + height - 20, deltaX=0, deltaY=delta)
        reader.drawn()
        equal((reader.point(0.5, 'kernel').title, reader.point(0.5, 'reason').title), ('kernel', 'Data dependency'),
              'device code stays in sight')


def the_wheel_zooms_with_control(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    x, y = reader.at(0.3, 3)
    below = reader.tip_at(x, y).title
    for notch in range(3):
        window.mouse('mouseWheel', x, y, deltaX=0, deltaY=-100, modifiers=CONTROL)
        reader.drawn()
        assert 'span' in reader.fragment(), reader.fragment()
        equal(reader.tip_at(x, y).title, below, f'what is below the pointer after {notch + 1} notches')
    for _ in range(4):
        window.mouse('mouseWheel', x, y, deltaX=0, deltaY=100, modifiers=CONTROL)
        reader.drawn()
    assert 'span' not in reader.fragment(), 'and out'
    # Out of a frame.
    reader.click(0.3, 1)
    equal(reader.crumbs(), ['All gpu-stalls', 'one'], 'zoomed')
    window.mouse('mouseWheel', *reader.at(0.3, 1), deltaX=0, deltaY=100, modifiers=CONTROL)
    reader.drawn()
    equal(reader.crumbs(), ['All gpu-stalls'], 'to the frame above')


def pinching_zooms_and_dragging_pans(window):
    """By two fingers, by a touchpad (a wheel with Control that turns a little), by Shift and the wheel, by keys."""
    stacks = [(0, 10, [Frame('one', PROGRAM), Frame(f'f{i:02}', JIT)]) for i in range(100)]
    reader = Reader(window, make_page([COUNT], stacks))
    left, top, width, _ = reader.place()
    y = reader.at(0.5, 2)[1]
    equal(len(reader.places_of(2)), 1, 'a hundred functions have no room')

    def shown():
        """-> the first and the last function in sight"""
        return [reader.point(at, 2).title for at in (0.001, 0.999)]
    window.mouse('mouseWheel', left + width * 0.25, y, deltaX=0, deltaY=-49, modifiers=CONTROL)
    for _ in range(4):
        window.mouse('mouseWheel', left + width * 0.25, y, deltaX=0, deltaY=-49, modifiers=CONTROL)
    reader.drawn()
    # 1.01 ** 245 is 11.4: what is at a quarter of the width, by whole pixels, stays there.
    begin, end = (float(part) for part in reader.fragment().removeprefix('#span=').split('-'))
    assert abs(1 / (end - begin) - 1.01 ** 245) < 1e-3 and abs(begin + 0.25 * (end - begin) - 0.25) < 2e-3, (begin, end)
    equal(shown(), [f'f{int(100 * begin):02}', f'f{int(100 * end):02}'], 'what is in sight')
    at = lambda part: reader.point((part - begin) / (end - begin), 2).title
    equal([at(0.2501), at(0.2599), at(0.2601)], ['f25', 'f25', 'f26'], 'edges')
    equal(reader.point(0.5, 1).rows['Total'], f'1,000 ({share(1000, 1000)} of all)', 'values do not change')
    equal(reader.texts('#filters button'), [f'zoom {1.01 ** 245:.1f}  ×'], 'what is said')
    # Dragging to the left by half of the width.
    reader.window.drag((left + width * 0.75, y), (left + width * 0.25, y))
    reader.drawn()
    equal(reader.crumbs(), ['All gpu-stalls'], 'a drag is no click')
    moved = [float(part) for part in reader.fragment().removeprefix('#span=').split('-')]
    assert all(abs(now - before - (end - begin) / 2) < 1e-3 for now, before in zip(moved, (begin, end))), moved
    window.mouse('mouseWheel', left + 20, y, deltaX=0, deltaY=-width / 2, modifiers=SHIFT)
    reader.drawn()
    assert abs(float(reader.fragment().removeprefix('#span=').split('-')[0]) - begin) < 1e-3, reader.fragment()
    reader.undo()
    equal(reader.fragment(), '', 'undone at once')
    # Fingers, 100 pixels from each other and then 400.
    def fingers(kind, *places):
        window.call('Input.dispatchTouchEvent', type=kind, touchPoints=[{'x': x, 'y': y, 'id': i} for i, x in enumerate(places)])
    middle = left + width / 2
    fingers('touchStart', middle - 50)
    fingers('touchStart', middle - 50, middle + 50)
    for half in 100, 150, 200:
        fingers('touchMove', middle - half, middle + half)
    fingers('touchEnd')
    reader.drawn()
    begin, end = (float(part) for part in reader.fragment().removeprefix('#span=').split('-'))
    assert abs((end - begin) - 0.25) < 0.01 and abs((begin + end) / 2 - 0.5) < 0.02, (begin, end)
    equal(reader.crumbs(), ['All gpu-stalls'], 'no click')
    reader.click_on('#filters button')
    equal(reader.fragment(), '', 'all again')
    for key, wide in (('+', 0.5), ('+', 0.25), ('-', 0.5)):
        reader.press(key)
        begin, end = (float(part) for part in reader.fragment().removeprefix('#span=').split('-'))
        assert abs(end - begin - wide) < 1e-6, f'{key}: {begin} to {end}'
    reader.press('ArrowRight', modifiers=SHIFT)
    assert abs(float(reader.fragment().removeprefix('#span=').split('-')[0]) - begin - 0.125) < 1e-6, reader.fragment()
    reader.click(0.5, 1)
    assert 'span' not in reader.fragment() and reader.crumbs()[-1] == 'one', f'a frame is shown whole: {reader.fragment()}'
    equal(window.wrong(), [], 'errors')


def an_empty_profile_is_reported(window):
    for types in ([], [COUNT]):
        reader = Reader(window, make_page(types, []))
        assert 'No samples' in reader.text('graph-empty'), reader.text('graph-empty')
        for view in reader.texts('#tabs button'):
            reader.view(view)
        equal(window.wrong(), [], 'errors')


def themes_and_orientation(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    first = [reader.evaluate('getComputedStyle(document.documentElement).backgroundColor'), reader.colour(0.3, 3)]
    reader.click_on('#theme')
    second = [reader.evaluate('getComputedStyle(document.documentElement).backgroundColor'), reader.colour(0.3, 3)]
    assert first[0] != second[0] and first[1] != second[1], f'{first} {second}'
    reader = Reader(window, make_page([COUNT], stacks_of_two()))
    equal(reader.evaluate('getComputedStyle(document.documentElement).backgroundColor'), second[0], 'kept')
    reader.click_on('#theme')
    equal([reader.evaluate('getComputedStyle(document.documentElement).backgroundColor'), reader.colour(0.3, 3)], first, 'as before')
    bottom = reader.at(0.5, 0)[1]
    reader.click_text('#layout button', 'Icicle')
    assert reader.at(0.5, 0)[1] < reader.at(0.5, 1)[1] < bottom, 'the root is at the top'
    equal(reader.point(0.5, 0).title, 'All gpu-stalls', 'the root')
    assert reader.press('ArrowDown').startswith('one, '), reader.text('said')
    reader.undo()
    equal(reader.at(0.5, 0)[1], bottom, 'undone')


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
        equal(numbers, f'{value} count, {share(value, 2010).replace(THIN, " ")}', name)
        assert abs(width - value / 2010) < 1e-4, f'{name} is {width} wide'
    assert frames['one'][2] > frames['left'][2] and 'other' not in frames, frames
    window.open(page)
    equal(window.evaluate('document.getElementsByTagName("script").length'), 0, 'scripts')
    equal(window.evaluate('Math.round(document.querySelector("g rect").getBoundingClientRect().width)'),
          round(1180 * 900 / 2010), 'the width of the first frame')
    many = [(0, 1, [Frame('one', PROGRAM), Frame(f'f{i}')]) for i in range(7000)]
    text = make_page([COUNT], many, options=['format=svg']).read_text(encoding='utf-8')
    assert '7000 frames too narrow to draw' in text, text[:600]


def the_value_type_is_chosen(window):
    stacks = [(0, 30, [Frame('one', PROGRAM)]), (1, 7, [Frame('one', PROGRAM), Frame('f')])]
    reader = Reader(window, make_page([NANOSECONDS, COUNT], stacks))
    equal(reader.text('whole-sum'), f'30{THIN}ns of CPU time', 'the first one')
    reader.choose('value', 'gpu-stalls')
    equal(reader.text('whole-sum'), '7 samples', 'another one')
    reader = Reader(window, make_page([NANOSECONDS, COUNT], stacks, options=['value=gpu-stalls']))
    equal(reader.text('whole-sum'), '7 samples', 'by the option')


def what_ran_is_in_the_title(window):
    reader = Reader(window, make_page([COUNT], stacks_of_two(), options=['title=a run']))
    equal((reader.text('title'), reader.evaluate('document.title')), ('a run', 'a run - iaprof'), 'title')
    reader.click_on('#more')
    reader.click_on('#show-about')
    equal(reader.is_seen('#metadata'), True, 'metadata of the run')


PAGE_CASES = (frames_have_their_shares, numbers_are_those_of_the_terminal, zoom_and_back, zooming_moves_and_ends, keys_go_everywhere,
              tab_reaches_all_in_order, search_shows_the_share, found_in_folded_rows, folded_runs_unfold,
              stall_reasons_are_shown_and_hidden, details_show_more, reasons_are_in_their_order,
              hostile_names_stay_names, the_policy_holds, unknown_and_lost_are_shown, narrow_frames_are_merged,
              cells_add_up_to_their_parents, deep_stacks_are_scrolled_through, the_wheel_zooms_with_control,
              pinching_zooms_and_dragging_pans, an_empty_profile_is_reported, themes_and_orientation,
              pictures_have_their_shares, the_value_type_is_chosen, what_ran_is_in_the_title)


if __name__ == '__main__':
    sys.exit(run_file())
