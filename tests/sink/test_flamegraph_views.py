#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the flame graph page shows beside its first graph: filters, callers, the table, links and exports, each held
against sums that are made here of the same stacks. TAP.
"""
import collections
import os
import pathlib
import random
import sys
import time
import urllib.parse
import xml.etree.ElementTree

import browser
from reader import THIN, Reader, make_page, run_file, share, time_text
from stacks import (COUNT, FUNCTION, INSTRUCTION, JIT, LIBRARY, NANOSECONDS, PROGRAM, REASON, SEPARATOR, UNKNOWN, USER, WAIT,
                    Frame, Origin, equal, gpu_stack, record)
from test_flamegraph_looks import LEAST_CONTRAST, contrast, fade


def random_stacks(seed, deep=9):
    """Stacks of few functions, which recur: lists of names with their values."""
    chance = random.Random(seed)
    found = {}
    for _ in range(300):
        names = ('p', *(f'f{int(chance.expovariate(0.35))}' for _ in range(chance.randrange(2, deep))))
        found[names] = found.get(names, 0) + chance.randrange(1, 2000)
    return found


def page_of(stacks, kind=USER):
    return make_page([COUNT], [(0, value, [Frame(names[0], PROGRAM), *(Frame(name, kind) for name in names[1:])])
                               for names, value in stacks.items()])


def rows_of(reader):
    """-> { name: (exact self, exact total) } of the table"""
    while reader.is_seen('#table-more button'):
        reader.click_on('#table-more button')
    return dict(reader.evaluate('[...document.querySelectorAll("#table-body tbody tr")].map(row => ['
                                'row.cells[0].firstChild.nextSibling.textContent, [...row.cells].slice(1, 3).map('
                                'cell => Number(cell.title.replace(/[^0-9]/g, "")))])'))


def the_table_has_self_and_total(window):
    """As go tool pprof -top: recursion counts once."""
    for seed in range(3):
        stacks = random_stacks(seed)
        own, total = collections.Counter(), collections.Counter()
        for names, value in stacks.items():
            own[names[-1]] += value
            for name in set(names):
                total[name] += value
        reader = Reader(window, page_of(stacks))
        reader.view('Table')
        equal(rows_of(reader), {name: [own[name], total[name]] for name in total}, 'rows')
        whole = sum(stacks.values())
        first = reader.evaluate('[...document.querySelectorAll("#table-body tbody tr")[0].cells].map(cell => '
                                'cell.textContent)')
        name, value = own.most_common(1)[0]
        assert first[0].startswith(name) and share(value, whole) in first[1] and share(total[name], whole) in first[2], first
        reader.click_text('#table-body th button', 'Total')
        names = reader.texts('#table-body tbody td.name')
        equal([total[name.split()[0]] for name in names], sorted(total.values(), reverse=True), 'by total')
        reader.click_text('#table-body th button', 'Name')
        names = [name.strip() for name in reader.texts('#table-body tbody td.name')]
        equal(sorted(names), sorted(total), 'by name')
        reader.type_into('table-filter', 'f1')
        equal({name.strip() for name in reader.texts('#table-body tbody td.name')},
              {name for name in total if 'f1' in name}, 'filtered')


def tables_have_groups(window):
    stacks = [(0, 70, [Frame('a', PROGRAM, pid=1), Frame('main'), Frame('-', SEPARATOR), Frame('k1', FUNCTION),
                       Frame('send', INSTRUCTION, file='k.cl', line=3), Frame('sbid', REASON)]),
              (0, 20, [Frame('a', PROGRAM, pid=1), Frame('main'), Frame('-', SEPARATOR), Frame('k1', FUNCTION),
                       Frame('add', INSTRUCTION, file='k.cl', line=4), Frame('active', REASON)]),
              (0, 10, [Frame('b', PROGRAM, pid=2), Frame('main'), Frame('-', SEPARATOR), Frame('k2', FUNCTION),
                       Frame('send', INSTRUCTION, file='k.cl', line=3), Frame('send', REASON)])]
    reader = Reader(window, make_page([COUNT], stacks))
    reader.view('Table')
    for group, expected in {'line': {'k.cl:3': 80, 'k.cl:4': 20}, 'kernel': {'k1': 90, 'k2': 10},
                            'reason': {'Data dependency': 70, 'Issuing': 20, 'Send queue': 10},
                            'process': {'a (1)': 90, 'b (2)': 10}, 'function': {'a (1)': 90, 'b (2)': 10, 'main': 100,
                                                                                'k1': 90, 'k2': 10}}.items():
        reader.choose('table-group', group)
        equal({name: values[1] for name, values in rows_of(reader).items()}, expected, group)
    # Bars of the reasons, in their order.
    bars = reader.evaluate('Object.fromEntries([...document.querySelectorAll("#table-body tbody tr")].map(row => ['
                           'row.cells[0].title, [...row.querySelectorAll(".mix i")].map(part => [part.dataset.reason, '
                           'Math.round(parseFloat(part.style.width))])]))')
    equal(bars['k1'], [['Data dependency', 78], ['Issuing', 22]], 'reasons of a kernel')
    equal(bars['main'], [['Data dependency', 70], ['Send queue', 10], ['Issuing', 20]], 'reasons below a function')
    # A function that a kernel calls is a part of the kernel.
    called = [(0, 60, [Frame('a', PROGRAM, pid=1), Frame('-', SEPARATOR), Frame('k1', FUNCTION), Frame('division', FUNCTION)]),
              (0, 40, [Frame('a', PROGRAM, pid=1), Frame('-', SEPARATOR), Frame('k1', FUNCTION)])]
    equal(rows_of(Reader(window, make_page([COUNT], called), '#view=table&group=kernel')), {'k1': [100, 100]}, 'kernels alone')


def cells_of_sandwich(reader):
    """-> by row, of which callers are below 0: names and values, as the pointer gets them"""
    left, top, *_ = reader.place_of('#sandwich')
    cells = reader.evaluate('(() => { const { cells, middle } = window.iaprof.table.sandwich, high = Math.round(1.7 * 13);'
                            'return cells.map(({ x, y, w }) => [x + w / 2, y + high / 2, '
                            'Math.round((y - middle) / high)]).filter(([, y]) => y > 0); })()')
    found = {}
    for x, y, row in cells:
        tip = reader.tip_at(left + x, top + y)
        found.setdefault(row if row >= 0 else row + 1, []).append((tip.title, next(iter(tip.rows.values()), '')))
    return found


def callers_and_callees_are_those_of_the_stacks(window):
    """As go tool pprof -peek: by what the function has in all, recursion once."""
    stacks = {('p', 'main', 'x', 'work', 'load'): 500, ('p', 'main', 'y', 'work', 'store'): 300,
              ('p', 'main', 'y', 'work'): 100, ('p', 'main', 'work', 'z', 'work', 'load'): 100, ('p', 'main', 'z'): 40}
    reader = Reader(window, page_of(stacks))
    reader.view('Table')
    position = [name.strip() for name in reader.texts('#table-body tbody td.name')].index('work')
    reader.click_on('#table-body tbody td.name', position)
    equal(reader.text('sandwich-title'), 'work', 'what is chosen')
    equal(reader.text('sandwich-note'), f'{share(1000, 1040)} total, {share(100, 1040)} self', 'its values')
    found = cells_of_sandwich(reader)
    equal(found[-1], [(name, f'{share(value, 1000)} ({value})') for name, value in (('x', 500), ('y', 400), ('main', 100))],
          'callers')
    equal(found[0], [(name, f'{share(value, 1000)} ({value})') for name, value in (('load', 500), ('store', 300), ('z', 100))],
          'callees')
    assert ('work', f'{share(100, 1000)} (100)') in found[1], f'what it called again: {found[1]}'
    assert 'name=work' in reader.fragment(), reader.fragment()
    # A click goes there; arrow keys go through the table.
    left, top, *_ = reader.place_of('#sandwich')
    window.click(left + 20, top + reader.evaluate('window.iaprof.table.sandwich.middle') + 8)
    reader.drawn()
    equal(reader.text('sandwich-title'), 'load', 'a callee that was clicked')
    reader.evaluate('document.querySelector("#table-body tr.sel").focus()')
    window.press('ArrowDown')
    reader.drawn()
    assert reader.text('sandwich-title') != 'load', 'the next row'


def callers_in_a_row_fold(window):
    """As in the flame graph: three functions or more, each the only one that calls the next."""
    stacks = {('p', 'main', 'a', 'b', 'c', 'work', 'x', 'y', 'z', 'load'): 60, ('p', 'idle'): 40}
    reader = Reader(window, page_of(stacks), '#view=table&name=work')

    def names():
        return {row: [title for title, _ in cells] for row, cells in cells_of_sandwich(reader).items()}
    equal(names(), {-2: ['p'], -1: ['c'], 0: ['x']}, 'folded')
    left, top, *_ = reader.place_of('#sandwich')
    x, y = reader.evaluate('(() => { const cell = window.iaprof.table.sandwich.cells.find(cell => cell.chip && cell.folded === 4 &&'
                           'cell.y < window.iaprof.table.sandwich.middle); return [cell.chip[0] + 4, cell.y + cell.h / 2]; })()')
    window.click(left + x, top + y)
    reader.drawn()
    equal(names(), {-5: ['p'], -4: ['main'], -3: ['a'], -2: ['b'], -1: ['c'], 0: ['x']}, 'unfolded')
    equal(reader.text('sandwich-title'), 'work', 'the chip does not choose')


def reasons_among_callees_keep_their_order(window):
    stacks = [(0, value, [Frame('p', PROGRAM), Frame('main'), Frame('-', SEPARATOR), Frame('k', FUNCTION), Frame(name, REASON)])
              for name, value in (('active', 500), ('sync', 300), ('sbid', 150), ('tdr', 1), ('other', 1), ('send', 40))]
    reader = Reader(window, make_page([COUNT], stacks), '#view=table&name=k')
    order = [name for name, _ in cells_of_sandwich(reader)[0]]
    wide = [name for name in order if name != 'Smaller reasons']
    equal(wide, ['Data dependency', 'Send queue', 'Barrier', 'Issuing'], 'reasons')
    assert order.index('Issuing') == len(order) - 1, order


def callers_are_the_stacks_upside_down(window):
    """Each level equals that of the inverted stacks, whichever frame is zoomed."""
    stacks = random_stacks(7)
    reader = Reader(window, page_of(stacks, JIT))  # which never folds
    whole = sum(stacks.values())
    reader.click_text('#order button', 'Callers')

    def check(start):
        """start: the innermost names that all have"""
        sums = collections.Counter()
        for names, value in stacks.items():
            upside = names[::-1]
            if upside[:len(start)] == start and len(upside) > len(start):
                sums[upside[len(start)]] += value
        tips = reader.all_tips(len(start) + 1)
        shown = {tip.title: int(tip.rows['Total'].split()[0].replace(',', '')) for tip in tips}
        merged = [name for name in shown if name.endswith(' more')]
        equal({name: value for name, value in shown.items() if name not in merged},
              {name: sums[name] for name in shown if name not in merged}, f'callers of {start}')
        narrow = sum(width for _, width in reader.places_of(len(start) + 1) if width * reader.place()[2] <= 2)
        scale = sum(value for names, value in stacks.items() if names[::-1][:len(start)] == start)
        equal(round(sum(shown.values()) + narrow * scale), sum(sums.values()), f'callers of {start}, with those merged')
        return [tip.title for tip in tips]
    first = check(())
    widths = [width for _, width in reader.places_of(1)]
    assert abs(sum(widths) - 1) < 1e-6 and widths[:-1] == sorted(widths[:-1], reverse=True), widths
    reader.click(reader.places_of(1)[1][0] + 0.01, 1)
    equal(reader.crumbs(), ['All gpu-stalls', first[1]], 'zoomed')
    check((first[1],))
    # The address has it.
    reader = Reader(window, pathlib.Path('page.html'), reader.evaluate('location.hash'))
    equal(reader.crumbs(), ['All gpu-stalls', first[1]], 'by a link')
    reader.search(first[0])
    found = sum(value for names, value in stacks.items() if names[-1] == first[1] and first[0] in names)
    mine = sum(value for names, value in stacks.items() if names[-1] == first[1])
    equal(reader.text('matched'), f'{share(found, mine)} found ({found:,})', 'a search')
    reader.search('')
    reader.click_text('#order button', 'Calls')
    equal(reader.point(0.5, 1).title, 'p', 'the right way again')
    assert whole == sum(stacks.values())


def callers_of_device_code(window):
    stacks = [(0, 500, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)), (0, 300, gpu_stack(7, 'ffn', 'dpas', 'send', 16))]
    reader = Reader(window, make_page([COUNT], stacks))
    reader.click_text('#order button', 'Callers')
    equal([reader.point(0.1, level).title for level in range(5)],
          ['All GPU samples', 'matmul', 'attention', 'main', 'model (7)'], 'from the kernel')
    equal([tip.title for tip in reader.all_tips(2)], ['attention', 'ffn'], 'who launched it')
    tip = reader.point(0.1, 1)
    equal(tip.rows['Data dependency'], share(500, 800), 'its reasons')


def filters_leave_stacks_out(window):
    stacks = {('p', 'main', 'a', 'x'): 500, ('p', 'main', 'b', 'x'): 300, ('p', 'main', 'b', 'y'): 150, ('p', 'idle'): 50}
    reader = Reader(window, page_of(stacks))

    def fill(key, text):
        reader.evaluate('document.getElementById("more").getAttribute("aria-expanded") === "true" || '
                        'document.getElementById("more").click()')
        reader.type_into(key, text)
        window.press('Enter')
        reader.click_on('#more')

    fill('focus', 'b')
    equal(reader.text('whole-sum'), '450 samples', 'stacks with b')
    equal(reader.texts('#filters button'), ['focus b  ×'], 'the selection is shown')
    fill('ignore', 'y')
    equal(reader.text('whole-sum'), '300 samples', 'but not those with y')
    reader.click_text('#filters button', 'focus b  ×')
    equal(reader.text('whole-sum'), '850 samples', 'all but those with y')
    reader.click_text('#filters button', 'ignore y  ×')
    fill('hide', '/^(main|a|b)$/')
    equal((reader.text('whole-sum'), [reader.point(0.1, level).title for level in (1, 2)]), ('1,000 samples', ['p', 'x']),
          'frames that are hidden')
    equal(reader.point(0.1, 2).rows['Total'], f'800 ({share(800, 1000)} of all)', 'what was below them is together')
    reader.click_on('#filters button')
    # By keys on a frame, and back.
    reader.press('0')
    for key in 'ArrowUp', 'ArrowUp', 'ArrowUp':
        reader.press(key)
    reader.press('i')
    equal(reader.texts('#filters button'), ['ignore /^a$/  ×'], 'a key leaves the frame out')
    equal(reader.text('whole-sum'), '500 samples', 'without a')
    reader.undo()
    equal(reader.text('whole-sum'), '1,000 samples', 'undone')
    fill('focus', 'nothing')
    assert 'The filters leave nothing' in reader.text('graph-empty'), reader.text('graph-empty')
    reader.click_text('#graph-empty button', 'Clear filters')
    equal((reader.text('whole-sum'), reader.is_seen('#graph-empty')), ('1,000 samples', False), 'all again')
    fill('focus', '/(/')
    equal(window.wrong(), [], 'a wrong expression does no harm')


def processes_are_chosen_and_merged(window):
    stacks = [(0, 500, [Frame('model', PROGRAM, pid=7), Frame('main'), Frame('a')]),
              (0, 300, [Frame('model', PROGRAM, pid=8), Frame('main'), Frame('b')]),
              (0, 200, [Frame('other', PROGRAM, pid=9), Frame('main')])]
    merged = Reader(window, make_page([COUNT], stacks))
    equal([tip.title for tip in merged.all_tips(1)], ['model', 'other (9)'], 'processes of one name are one')
    reader = Reader(window, 'page.html', '#merge=no')
    equal([tip.title for tip in reader.all_tips(1)], ['model (7)', 'model (8)', 'other (9)'], 'processes')
    reader.click(0.6, 1)
    equal(reader.crumbs(), ['All gpu-stalls', 'model (8)'], 'one of two of a name')
    again = Reader(window, pathlib.Path('page.html'), reader.evaluate('location.hash'))
    equal(again.crumbs(), ['All gpu-stalls', 'model (8)'], 'by its link')
    reader.press('0')
    equal(reader.evaluate('[...document.getElementById("process").options].map(({ text }) => text)'),
          ['All processes', 'model (7)', 'model (8)', 'other (9)'], 'choices')
    reader.choose('process', '8')
    equal((reader.text('whole-sum'), reader.texts('#filters button')), ('300 samples', ['process 8  ×']), 'one')
    reader.choose('process', '')
    reader.choose('merge', True)
    equal([(tip.title, tip.rows['Total'].split()[0]) for tip in reader.all_tips(1)], [('model', '800'), ('other (9)', '200')],
          'merged')
    equal([tip.title for tip in reader.all_tips(2)], ['main', 'main'], 'and what is below them')
    equal([(tip.title, tip.rows['Total'].split()[0]) for tip in reader.all_tips(3)], [('a', '500'), ('b', '300')], 'both')


def escape_empties_the_search(window):
    reader = Reader(window, make_page([COUNT], [(0, 500, [Frame('model', PROGRAM, pid=7), Frame('main')])]))
    assert 'Double-click' not in reader.text('keys-shown'), 'a key of a view that the page does not have'
    reader.search('mai')
    reader.press('Enter')
    reader.press('Escape')
    equal((reader.evaluate('document.getElementById("search").value'), reader.evaluate('window.iaprof.state.get("search")')), ('', ''), 'the search')


def links_show_the_same(window):
    stacks = [(1, 500, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)), (1, 300, gpu_stack(7, 'ffn', 'dpas', 'send', 16)),
              (1, 200, gpu_stack(8, 'ffn', 'dpas', 'sync', 16)), (0, 9000, [Frame('model', PROGRAM, pid=7), Frame('main')])]
    page = make_page([NANOSECONDS, COUNT], stacks)

    def looks(reader):
        return [reader.fragment(), reader.crumbs(), reader.texts('#reason-bar button'), reader.text('facts-shown'),
                [(tip.title, tip.rows['Total']) for level in reader.levels() for tip in reader.all_tips(level)],
                reader.evaluate('document.getElementById("graph").toDataURL()')]
    reader = Reader(window, page)
    reader.click(0.2, 1)
    reader.click_text('#detail button', 'Instruction')
    reader.click_text('#layout button', 'Icicle')
    reader.click_on('#reason-bar button', 1)
    reader.search('ffn')
    before = looks(reader)
    fragment = reader.evaluate('location.hash')
    for part in 'zoom=', 'detail=instruction', 'layout=icicle', 'reason=1', 'search=ffn':
        assert part in fragment, fragment
    for _ in range(4):
        reader.evaluate('document.getElementById("graph").focus()')
        reader.undo()
    equal((reader.crumbs(), reader.texts('#reason-bar button')[0]), (['All GPU samples'], f'Data dependency50.0{THIN}%'),
          'Back undoes one after the other')
    equal(looks(Reader(window, page, fragment)), before, 'the same view')
    # What makes no sense is ignored.
    for wrong in '#zoom=zzzz&detail=x&layout=y&view=none&time=9-1&value=?&reason=77&unfold=,,a&strip=q&group=x&name=y', '#%%%', \
            '#zoom=' + 'a' * 10000, '#view=table&group=__proto__&sort=constructor', '#view=code', '#view=timeline':
        again = Reader(window, page, wrong)
        equal(window.wrong(), [], f'{wrong[:60]}: errors')
        assert again.text('whole-sum') == '1,000 samples', f'{wrong[:60]}: {again.text("whole-sum")}'
    # A link that was opened is not left by undoing.
    again = Reader(window, page, fragment)
    opened = again.evaluate('location.pathname + location.search')
    window.press('Escape')
    again.drawn()
    equal(again.evaluate('location.pathname + location.search'), opened, 'the page')


def saved(reader, window, button):
    """-> the text of what the page saves"""
    folder = pathlib.Path('saved').absolute()
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    window.call('Page.setDownloadBehavior', behavior='allow', downloadPath=str(folder))
    reader.evaluate('document.getElementById("more").click()')
    reader.click_on(f'#{button}')
    end = time.monotonic() + browser.LIMIT
    while not (found := [path for path in folder.iterdir() if path.suffix in ('.svg', '.folded')]):
        assert time.monotonic() < end, f'{button}: {os.listdir(folder)}'
        time.sleep(0.05)
    return found[0].read_text(encoding='utf-8')


def exports_have_what_is_shown(window):
    stacks = {('p', 'main', 'a', 'x;y'): 500, ('p', 'main', 'b', 'x'): 300, ('p', 'main', 'b'): 150, ('q', '<&"'): 50}
    reader = Reader(window, page_of(stacks))
    stacks_of = lambda text: {stack: int(value) for stack, _, value in (line.rpartition(' ') for line in text.splitlines())}
    folded = {';'.join(name.replace(';', ':') for name in names): value for names, value in stacks.items()}
    equal(stacks_of(saved(reader, window, 'export-folded')), folded, 'folded stacks')
    svg = saved(reader, window, 'export-svg')
    root = xml.etree.ElementTree.fromstring(svg)
    titles = [title.text for title in root.iter('{http://www.w3.org/2000/svg}title')]
    for name in 'main', 'a', 'x;y', '<&"':
        assert any(title.split('\n')[0] == name for title in titles), f'{name}: {titles}'
    assert 'script' not in svg, 'an image'
    boxes = [(float(box.get('x')), float(box.get('width'))) for box in root.iter('{http://www.w3.org/2000/svg}rect')
             if box.get('x')]
    wide = reader.place()[2]
    assert any(abs(width - (wide * 0.95 - 1)) < 1 for _, width in boxes), f'p has 95 %: {boxes}'
    # A zoomed frame's stacks.
    reader.click(0.7, 3)
    equal(reader.crumbs()[-1], 'b', 'zoomed')
    equal(stacks_of(saved(reader, window, 'export-selected')), {stack: value for stack, value in folded.items() if ';b' in stack},
          'selected stacks')
    equal(stacks_of(saved(reader, window, 'export-folded')), folded, 'all of them')
    equal(window.wrong(), [], 'errors')


def the_answer_comes_first(window):
    """The panel: share, kernel, line, reason, launch site; each item opens what proves it."""
    stacks = []
    for kernel, line, reason, value in (('gemm', 52, 'sbid', 600), ('gemm', 52, 'active', 100), ('gemm', 60, 'sync', 50),
                                        ('relu', 9, 'send', 250)):
        stacks.append((0, value, [Frame('model', PROGRAM, pid=1), Frame('main', file='main.c', line=7),
                                  Frame(f'launch_{kernel}', file='main.c', line=9), Frame('-', SEPARATOR),
                                  Frame(kernel, FUNCTION), Frame('send', INSTRUCTION, file='k.cl', line=line),
                                  Frame(reason, REASON)]))
    reader = Reader(window, make_page([COUNT], stacks))
    lead = reader.evaluate('document.querySelector("#panel .lead").textContent')
    assert lead.startswith(share(600, 1000)) and 'wait for data' in lead, lead
    say = reader.evaluate('document.querySelector("#panel .say").textContent')
    assert say.startswith('in gemm, k.cl:52, until '), say
    chain = reader.evaluate('[...document.querySelectorAll("#panel .chain button")].map(button => [...button.children].map('
                            'part => part.textContent))')
    equal([[parts[0], parts[1]] for parts in chain],
          [['launch_gemm', share(750, 1000)], ['gemm', share(750, 1000)], ['line 52', share(700, 1000)],
           ['Data dependency', share(600, 1000)]], 'what leads to it')
    equal(reader.quality()['Matched to a kernel'], f'100{THIN}%', 'quality')
    reader.click_on('#panel .chain button', 1)
    equal(reader.crumbs()[-1], 'gemm', 'its kernel is zoomed')
    reader.click_on('#panel .chain button', 3)
    equal(reader.evaluate('document.querySelector("#reason-bar .on").dataset.slot'), '0', 'its reason is highlighted')
    few = [(0, 1, [Frame('p', PROGRAM), Frame('main'), Frame('-', SEPARATOR), Frame(f'k{i}', FUNCTION), Frame('sbid', REASON)])
           for i in range(50)]
    reader = Reader(window, make_page([COUNT], few))
    equal(reader.evaluate('document.querySelector("#panel .lead").textContent'), 'No single bottleneck', 'nothing dominates')
    active = [(0, 9, [Frame('p', PROGRAM), Frame('main'), Frame('-', SEPARATOR), Frame('k', FUNCTION), Frame('active', REASON)])]
    reader = Reader(window, make_page([COUNT], active))
    assert 'Nothing stalls' in reader.text('panel'), 'what issues is no stall'


def time_of_a_device_is_called_time(window):
    """Of 1,000 ns, 600 are of a kernel without a sample; the device was idle for 3,000 ns, of which a thread read for 2,000."""
    kernel = [Frame('p', PROGRAM, pid=1), Frame('main'), Frame('-', SEPARATOR), Frame('k', FUNCTION)]
    stacks = [(0, 400, kernel + [Frame('sbid', REASON)]), (0, 600, kernel), 
              (1, 2000, [Frame('p', PROGRAM, pid=1), Frame('load'), Frame('[disk]', WAIT), Frame('[GPU idle]', WAIT)]),
              (1, 1000, [Frame('p', PROGRAM, pid=1), Frame('[not sampled]', WAIT), Frame('[GPU idle]', WAIT)])]
    reader = Reader(window, make_page([('gpu-time', 'nanoseconds'), ('gpu-idle', 'nanoseconds')], stacks))
    panel = reader.text('panel')
    lead = 'document.querySelector("#panel .lead").textContent'
    equal(reader.evaluate(lead), f'75.0{THIN}% of the time, the GPU was idle', 'the answer')
    assert f'Of the 4{THIN}µs from its first execution to its last.' in panel, panel
    assert f'40.0{THIN}% of GPU time waits for data in k, until data arrives.' in panel, panel
    assert f'What the launching threads did meanwhile: [disk] 66.7{THIN}%, [not sampled] 33.3{THIN}%.' in panel, panel
    assert 'GPU time by kernel' in panel and 'GPU samples' not in panel, panel
    equal(reader.crumbs(), ['All time of the GPU'], 'the whole')
    equal([reader.point(part, 1).title for part in (0.4, 0.9)], ['[GPU idle]', 'p (1)'], 'idle time has a root of its own')
    equal(reader.point(0.4, 1).rows['Total'], f'3{THIN}µs (75.0{THIN}% of all)', 'idle time')
    reader.click_on('#show-idle')
    equal(reader.crumbs(), ['All GPU time'], 'without idle time')
    equal([reader.point(part, 1).title for part in (0.1, 0.9)], ['p (1)', 'p (1)'], 'without idle time')
    reader = Reader(window, make_page([('gpu-time', 'nanoseconds')], stacks[:2]))
    equal(reader.evaluate(lead), f'40.0{THIN}% of GPU time waits for data', 'without idle time')
    assert 'idle' not in reader.text('panel'), reader.text('panel')
    timed = [(0, value, [Frame('p', PROGRAM), Frame('main'), Frame('-', SEPARATOR), Frame(name, FUNCTION)])
             for name, value in (('long', 3), ('short', 1))]
    reader = Reader(window, make_page([('gpu-time', 'nanoseconds')], timed))
    assert 'long. What kernels waited for was not sampled.' in reader.text('panel'), reader.text('panel')
    equal(reader.evaluate(lead), f'75.0{THIN}% of GPU time is in one kernel',
          'the kernel with the most time leads')
    equal(reader.evaluate('[...document.querySelectorAll("#panel .chain small")].map((at) => at.textContent).join()'),
          'Launch site,GPU kernel', 'what leads to it')


def copies_are_beside_the_time_of_a_device(window):
    """A kernel runs for 800 ns, the GPU is idle for 200, and copies take 300 beside both, of a run of 2,000 ns."""
    def copied(name, site, line, kind, value):
        return (kind, value, [Frame('p', PROGRAM, pid=1), Frame(site, file='/s/load.c', line=line), Frame('-', SEPARATOR), Frame(name, FUNCTION)])
    pageable, memory_set = '[copy host to device (pageable)]', '[memory set]'
    stacks = [(0, 800, [Frame('p', PROGRAM, pid=1), Frame('main'), Frame('-', SEPARATOR), Frame('gemm', FUNCTION)]),
              (1, 200, [Frame('p', PROGRAM, pid=1), Frame(pageable, WAIT), Frame('[GPU idle]', WAIT)]),
              copied(pageable, 'fetch', 5, 2, 150), copied(pageable, 'read', 9, 2, 100), copied(pageable, 'fetch', 5, 3, 3 << 20),
              copied(memory_set, 'read', 10, 2, 50), copied(memory_set, 'read', 10, 3, 512)]
    types = [('gpu-time', 'nanoseconds'), ('gpu-idle', 'nanoseconds'), ('gpu-copy-time', 'nanoseconds'), ('gpu-copied', 'bytes')]
    reader = Reader(window, make_page(types, stacks, duration=2000))
    panel = reader.text('panel')
    assert (f'Copies: host to device (pageable) 3{THIN}MiB in 250{THIN}ns (12.5{THIN}% of the run), memory set 512{THIN}B in '
            f'50{THIN}ns (2.50{THIN}% of the run).') in panel, panel
    assert f'Copies of pageable host memory take 12.5{THIN}% of the run. Launch site: fetch, load.c:5.' in panel, panel
    assert f'meanwhile: {pageable} 100{THIN}%' in panel and 'What to try: pin the host memory' in panel, panel
    equal(reader.evaluate('document.querySelector("#panel .lead").textContent'), f'100{THIN}% of GPU time is in one kernel', 'the answer')
    equal(reader.point(0.1, 1).rows['Total'], f'800{THIN}ns (80.0{THIN}% of all)', 'copies take no part of the flame graph')
    reader.go('#process=1')
    assert 'Copies' not in reader.text('panel'), 'shares of a process are not known'


def idle_time_is_of_the_chosen_device(window):
    """Of two GPUs, one is idle for 1 us, and the other one for 3 us, while other kernels run for 1 us on each."""
    def on(device, value, kind, *frames):
        return (kind, value, [Frame('p', PROGRAM, pid=1), *frames, Origin(device=device)])
    kernel, idle = (Frame('-', SEPARATOR), Frame('k', FUNCTION)), Frame('[GPU idle]', WAIT)
    stacks = [on('first', 1000, 0, *kernel), on('second', 1000, 0, *kernel), on('first', 1000, 1, Frame('[disk]', WAIT), idle),
              on('second', 3000, 1, Frame('[lock]', WAIT), idle)]
    reader = Reader(window, make_page([('gpu-time', 'nanoseconds'), ('gpu-idle', 'nanoseconds')], stacks))
    for device, length, reason in ('', 4000, '[lock]'), ('first', 1000, '[disk]'), ('second', 3000, '[lock]'):
        reader.choose('device', device)
        whole = 6000 if not device else length + 1000
        equal(reader.point(0.01, 1).rows['Total'], f'{time_text(length)} ({share(length, whole)} of all)', f'idle time, {device}')
        panel = reader.text('panel')
        assert share(length, whole) in panel and f'the {time_text(whole)} from' in panel and f'meanwhile: {reason} ' in panel, panel
    reader.go('#device=first&process=1')
    assert 'idle' not in reader.text('panel'), 'idle time of a process is no time of a device'


def how_much_of_a_device_kernels_use_is_shown(window):
    """By samples per time: narrow has 1.33 % of wide, few has fewer samples than a number needs, and none has no samples."""
    kernels = {'narrow': (7500, 120), 'few': (1400, 10), 'wide': (1000, 1200), 'none': (100, 0)}
    stacks = [(kind, values[kind], [Frame('p', PROGRAM), Frame('main'), Frame('-', SEPARATOR), Frame(name, FUNCTION),
               Frame('send', INSTRUCTION, file='k.cl', line=3), Frame('sbid', REASON)])
              for name, values in kernels.items() for kind in (0, 1) if values[kind]]
    reader = Reader(window, make_page([('gpu-time', 'nanoseconds'), COUNT], stacks))
    panel = reader.text('panel')
    assert f'narrow75.0{THIN}%uses 1.3{THIN}% as muchfew14.0{THIN}%uses <6{THIN}% as muchCompared with wide, by samples per time.' in panel, panel
    equal([(tip.title, tip.rows.get('GPU use')) for tip in map(reader.point, (0.1, 0.8, 0.95, 0.995), ['kernel'] * 4)],
          [('narrow', f'1.3{THIN}%, compared with wide'), ('few', f'<6{THIN}%, compared with wide'),
           ('wide', f'100{THIN}%, compared with wide'), ('none', None)], 'tooltips')
    equal(reader.text('use-option').strip(), 'Low GPU use', 'the legend')
    names = ('(flame => [...new Set(flame.layout.cells.filter(cell => !cell.isGap && flame.look(cell).stripe).map('
             'cell => cell.band === 0 ? flame.model.nameOf(flame.view, cell.node) : "below"))])(window.iaprof.flame)')
    equal(reader.evaluate(names), ['narrow', 'below', 'few'], 'what has stripes')

    def colours(part):
        return len({reader.colour(part + i / 1000, 'kernel') for i in range(20)})
    assert colours(0.1) > 1, 'stripes are drawn'
    equal(colours(0.93), 1, 'and only there')
    for theme in 'light', 'dark':
        reader.evaluate(f'window.iaprof.setTheme("{theme}"), window.iaprof.update(null)')
        for fragment in '#reason=', '#reason=1':
            reader.go(fragment)
            drawn = reader.evaluate('(flame => flame.layout.cells.filter(cell => !cell.isGap).map(cell => flame.look(cell)).filter('
                                    'look => look.stripe).map(look => [look.fill, look.ink, look.stripe]))(window.iaprof.flame)')
            least = [min(contrast(ink, ground) for ground in (fill, fade(stripe[:7], fill, int(stripe[7:], 16) / 255)))
                     for fill, ink, stripe in drawn]
            assert min(least) >= LEAST_CONTRAST, f'{theme} {fragment}: {min(least)}'
    reader.go('#reason=')
    reader.click_on('#mark-use')
    equal((reader.fragment(), reader.evaluate(names), colours(0.1)), ('#use=no', [], 1), 'without stripes')
    reader.go('#order=callers')
    equal(reader.is_seen('#use-option'), False, 'callers of several kernels have one cell')

    reader.go('#view=table&group=kernel')
    column = ('[...document.querySelectorAll("#table-body tr")].map(row => [row.cells[0].textContent.trim(), '
              'row.cells[3].textContent, row.cells[3].firstChild?.title])')
    head, *rows = reader.evaluate(column)
    assert head[1] == 'GPU use' and 'compared with wide' in head[2], head
    equal([row[:2] for row in rows], [['narrow', f'1.3{THIN}%'], ['few', ''], ['wide', f'100{THIN}%'], ['none', '']], 'kernels')
    reader.click_text('#table-body th button', 'GPU use')
    equal([row[0] for row in reader.evaluate(column)], ['Name', 'wide', 'narrow', 'few', 'none'], 'sorted')
    reader.size(390, 844)
    try:
        assert reader.place_of('#table-body td.name')[2] > 90, 'names have room on a telephone'
    finally:
        reader.size(1280, 800)
    reader.go('#view=table&sort=name')
    equal(dict(row[:2] for row in reader.evaluate(column)[1:])['main'], '', 'a function of the CPU')
    for fragment in '#view=table&group=line', '#view=table&value=gpu-stalls':
        reader.go(fragment)
        assert 'GPU use' not in reader.text('table-body'), fragment
    reader = Reader(window, make_page([('gpu-time', 'nanoseconds')], stacks[::2]), '#view=table')
    assert 'GPU use' not in reader.text('table-body') and not reader.is_seen('#use-option'), 'without samples'


def ranks_wait_in_collectives(window):
    """What a rank spends more there than another one, it waits for that one."""
    stacks = [(0, value, [Frame(f'python3 (rank {rank})', PROGRAM), Frame('-', SEPARATOR), Frame(name, FUNCTION, kernel_class=name)])
              for rank, name, value in ((0, 'collective', 100), (0, 'matrix product', 900), (1, 'collective', 400), (1, 'matrix product', 600))]
    reader = Reader(window, make_page([('gpu-time', 'nanoseconds')], stacks))
    panel = reader.text('panel')
    assert (f'python3 (rank 1)40.0{THIN}%python3 (rank 0)10.0{THIN}%The others probably wait for python3 (rank 0), '
            'which spends least there.') in panel, panel
    reader = Reader(window, make_page([('gpu-time', 'nanoseconds')], stacks[:2]))
    assert 'by rank' not in reader.text('panel'), 'one rank'


def library_code_is_folded(window):
    """Above kernels, where there is code of the program in the same stack; in a CPU profile, what leads to such code. Callers,
    exports and tables have all."""
    framework, device = Frame('Module', flags=LIBRARY), (Frame('-', SEPARATOR), Frame('k', FUNCTION))
    stacks = [(0, 600, [Frame('p', PROGRAM), Frame('_start', flags=LIBRARY), Frame('main'), framework, Frame('layer'), framework, *device]),
              (0, 300, [Frame('p', PROGRAM), Frame('_start', flags=LIBRARY), Frame('main'), Frame('[none]', flags=UNKNOWN), *device]),
              (0, 100, [Frame('q', PROGRAM), framework, *device]),
              (1, 100, [Frame('p', PROGRAM), Frame('_start', flags=LIBRARY), Frame('main'), framework, Frame('layer'), framework]),
              (1, 100, [Frame('p', PROGRAM), Frame('_start', flags=LIBRARY), Frame('[none]', flags=UNKNOWN), Frame('layer')]),
              (1, 100, [Frame('q', PROGRAM), framework])]
    reader = Reader(window, make_page([('gpu-time', 'nanoseconds'), NANOSECONDS], stacks), '#value=gpu-time')
    drawn = lambda: reader.evaluate(
        '(({layout, view, model}) => { const path = node => node > 0 ? `${path(view.parent[node])};${model.nameOf(view, node)}` : "";'
        'return layout.cells.filter(cell => !cell.isGap && cell.nodes.length === 1).map(cell => path(cell.node).slice(1)).join(" "); })'
        '(window.iaprof.flame)')
    equal(set(drawn().split()), {'p', 'p;main', 'p;main;layer', 'p;main;layer;k', 'p;main;k', 'q', 'q;Module', 'q;Module;k'}, 'folded')
    whole = 'p;_start;main;Module;layer;Module;k'
    assert f'{whole} 600' in saved(reader, window, 'export-folded').splitlines(), 'an export has all'
    reader.click_on('#show-libraries')
    assert whole in drawn().split(), drawn()
    reader.click_on('#show-libraries')
    reader.go('#value=gpu-time&view=table&name=Module')
    assert 'Module' in reader.text('body'), 'the table has all'
    reader.go('#value=gpu-time&order=callers')
    assert 'k;Module;layer;Module;main;_start;p' in drawn().split(), drawn()
    assert not reader.is_seen('#libraries-option'), 'callers are all'
    reader.go('#value=cpu')
    folded = set(drawn().split())
    assert {'p;main;layer;Module', 'p;[none];layer', 'q;Module'} <= folded and not any('_start' in path for path in folded), folded
    reader.click_on('#show-libraries')
    assert {'p;_start;main;Module;layer;Module', 'p;_start;[none];layer'} <= set(drawn().split()), drawn()


def focus_and_hide_say_what_shares_are_of(window):
    """Of 1,000 samples 300 are in k1, 200 of those wait in one line; k2 has the rest."""
    def samples(value, kernel, line, reason):
        return (0, value, [Frame('a', PROGRAM, pid=1), Frame('main'), Frame(f'launch_{kernel}'), Frame('-', SEPARATOR),
                           Frame(kernel, FUNCTION), Frame('send', INSTRUCTION, file='k.cl', line=line), Frame(reason, REASON)])
    page = make_page([COUNT], [samples(200, 'k1', 3, 'sbid'), samples(100, 'k1', 4, 'active'), samples(600, 'k2', 7, 'sbid'),
                               samples(100, 'k2', 8, 'active')])
    lead = 'document.querySelector("#panel .lead").parentNode.textContent'
    reader = Reader(window, page)
    assert reader.evaluate(lead).startswith(f'60.0{THIN}% of GPU samples '), reader.evaluate(lead)
    kernels = reader.texts('#panel .krow')
    matched = reader.text('facts-shown')
    # Exactly as wide as the shares.
    widths = reader.evaluate('[...document.querySelectorAll("#reason-bar button")].map(part => part.getBoundingClientRect().width / '
                             'document.getElementById("reason-bar").clientWidth)')
    assert all(abs(own - part) < 0.002 for own, part in zip(widths, (0.8, 0.2), strict=True)), widths
    reader = Reader(window, page, '#focus=k1')
    text = reader.evaluate(lead)
    assert text.startswith(f'{share(200, 300)} of the focused GPU samples ') and f'{share(200, 1000)} of all GPU samples' in text, text
    equal(reader.text('reason-title'), 'Stall reasons, the focused GPU samples', 'whose reasons')
    equal(reader.texts('#filters button'), ['focus k1  ×'], 'what is chosen')
    reader.view('Table')
    equal(reader.texts('#filters button'), ['focus k1  ×'], 'what is chosen, in another view')
    for name in 'k1', 'launch_k1':
        reader.go(f'#hide={name}')
        equal((reader.texts('#panel .krow'), reader.text('facts-shown')), (kernels, matched), f'without {name}')
        assert reader.evaluate(lead).startswith(f'60.0{THIN}% of GPU samples '), reader.evaluate(lead)


def expressions_have_a_bound(window):
    """Patterns that a backtracking matcher never finishes, and others, with the number of names that they match."""
    names = ['softmax', 'soft_max', 'gemm<float, int>', 'gemm', 'a' * 60, 'load_0x1f', 'ab', 'Über']
    page = make_page([COUNT], [(0, 100, [Frame('p.', PROGRAM), Frame(name)]) for name in names])
    reader = Reader(window, page)
    for pattern, found in ((r'(.*)*(.*)*(.*)*(.*)*z$', 0), (r'^(a|aa)+$', 1), (r'(a+)+b', 1), (r'soft_?max$', 2),
                           (r'^(\w+|-)$', 6), (r'gemm(<.*>)?$', 2), (r'0x[0-9a-f]{2}\b', 1), (r'(?:soft|load)_', 2),
                           (r'^.{3,4}$', 2), (r'^[^<.]*$', 7)):
        reader.go(f'#search={urllib.parse.quote(f"/{pattern}/")}')
        text = reader.text('matched')
        assert text.startswith(f'{share(found, len(names))} found' if found else 'Nothing matches'), f'{pattern}: {text}'
    for pattern in r'soft[', r'(?=a)b', r'(a)\1', r'(a{200}){200}':
        reader.go(f'#search={urllib.parse.quote(f"/{pattern}/")}')
        assert 'not a valid expression' in reader.text('matched'), reader.text('matched')
        reader.go(f'#focus={urllib.parse.quote(f"/{pattern}/")}')
        assert 'not a valid expression' in reader.texts('#filters button')[0], 'a filter'
        equal(reader.text('whole-sum'), f'{100 * len(names)} samples', 'nothing is left out')


def links_are_undone_step_by_step(window):
    stacks = [(0, 100, [Frame('p', PROGRAM), Frame('x')]), (0, 50, [Frame('p', PROGRAM), Frame('y')])]
    reader = Reader(window, make_page([COUNT], stacks), '#focus=x&search=p')
    reader.evaluate('document.activeElement.blur()')
    for left in '#focus=x', '':
        window.press('Escape')
        reader.drawn()
        equal(reader.fragment(), left, 'a step back')
    reader = Reader(window, make_page([COUNT], stacks), '#focus=x&search=p&layout=icicle')
    reader.press('0')
    equal((reader.fragment(), reader.text('whole-sum')), ('#layout=icicle', '150 samples'), 'all at once')


def callers_are_named_after_the_nearest(window):
    """A chain of callers that is folded has the name of the one that calls, as the table has it."""
    page = make_page([COUNT], [(0, 100, [Frame('p', PROGRAM), *(Frame(f'outer{i}') for i in range(5)), Frame('nearest'),
                                         Frame(leaf)]) for leaf in ('x', 'y')])
    reader = Reader(window, page, '#order=callers')
    equal([tip.title for tip in reader.all_tips(2)], ['nearest', 'nearest'], 'who calls')


def the_header_names_what_was_profiled(window):
    """What the run knows of itself, and nothing where it does not."""
    stacks = [(0, 70, [Frame('a', PROGRAM), Frame('main')])]

    def header(*facts, options=()):
        reader = Reader(window, make_page([COUNT], stacks, options=options, records=[
            record('metadata', time=1, key=key, value=value) for key, value in facts]))
        return reader.text('title'), reader.text('facts').split(', '), reader.evaluate('document.title')

    command, target, sampled = ('command', "train 'a b'"), ('target', 'system-wide'), ('samples of GPU 9 tile 0', '7 rows')
    title, facts, window_title = header(command, target, sampled)
    equal((title, facts[:2], window_title), ("train 'a b'", ['system-wide', 'GPU 9 tile 0'], "train 'a b' - iaprof"), 'a command')
    equal([fact for fact in facts if fact.endswith('samples')], ['70 samples'], 'the sum')
    title, facts, _ = header(('target', 'container web'))
    equal((title, 'container web' in facts), ('Container web', False), 'a container')
    equal(header(command, target, options=['title=mine'])[0:1], ('mine',), 'a title')
    equal(header(command, target, options=['title=mine'])[1][:2], ["train 'a b'", 'system-wide'], 'beside a title')
    equal(header()[0], 'iaprof', 'nothing known')


PAGE_CASES = (the_header_names_what_was_profiled, time_of_a_device_is_called_time,
              copies_are_beside_the_time_of_a_device, idle_time_is_of_the_chosen_device,
              how_much_of_a_device_kernels_use_is_shown, ranks_wait_in_collectives, library_code_is_folded,
              focus_and_hide_say_what_shares_are_of, expressions_have_a_bound,
              links_are_undone_step_by_step, callers_are_named_after_the_nearest, callers_in_a_row_fold,
              the_table_has_self_and_total, tables_have_groups, callers_and_callees_are_those_of_the_stacks,
              reasons_among_callees_keep_their_order, callers_are_the_stacks_upside_down, callers_of_device_code,
              filters_leave_stacks_out, processes_are_chosen_and_merged, links_show_the_same,
              exports_have_what_is_shown, the_answer_comes_first, escape_empties_the_search)


if __name__ == '__main__':
    sys.exit(run_file())
