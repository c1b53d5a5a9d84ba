#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spans of traces in a page: its table, the filter, and the search for an id. Profiles are made here. TAP."""
import subprocess
import sys

from reader import NoWindow, Reader, make_page, run_file, share
from stacks import (COUNT, NANOSECONDS, PROGRAM, Frame, Origin, Span, Times, equal, gpu_stack, record, span_words,
                    write_profile)

OFF_CPU = ('off-cpu', 'nanoseconds')
SLOW, FAST = '0af7651916cd43dd8448eb211c80319c', '4bf92f3577b34da6a3ce929d0e0e4736'  # traces
PARSE, QUERY, REPLY = 'b7ad6b7169203331', '00f067aa0ba902b7', 'add0face00000001'
LATE = 30_000_000


def stack(trace, span, *names, tid=7, thread='p7', pid=7):
    return [Origin(tid=tid, thread=thread), *([Span(trace, span)] if trace else []), Frame(f'p{pid}', PROGRAM, pid=pid),
            *map(Frame, names)]


# (index of the type, value, frames, time): a slow request with two spans of two threads, a fast one, and no request.
STACKS = [(0, 500, stack(SLOW, PARSE, 'main', 'parse'), 1_000),
          (0, 100, stack(SLOW, PARSE, 'main', 'parse', 'add'), LATE),
          (0, 300, stack(SLOW, QUERY, 'work', 'query', tid=8, thread='pool'), 1_000),
          (0, 70, stack(FAST, REPLY, 'main', 'reply', pid=20, tid=20, thread='p20'), 1_000),
          (0, 30, stack('', '', 'main', 'idle'), 1_000),
          (1, 2_000, stack(SLOW, QUERY, 'work', 'read', tid=8, thread='pool'), LATE),
          (1, 90, stack('', '', 'main', 'poll'), 1_000)]
CPU = {(SLOW, PARSE): 600, (SLOW, QUERY): 300, (FAST, REPLY): 70}


def page(*options, stacks=STACKS):
    return make_page([NANOSECONDS, OFF_CPU], stacks, times=Times(60_000_000), options=['value=cpu', *options])


def rows(reader, part='tbody'):
    """-> {ids or name: values by metric}, in the order of the table"""
    found = reader.evaluate(f'[...document.querySelectorAll("#spans-body {part} tr")].map(row => [[...row.cells].slice(0, '
                            f'{2 if part == "tbody" else 1}).map(cell => cell.textContent), [...row.querySelectorAll('
                            '"[data-value]")].map(cell => Number(cell.dataset.value)), row.querySelector(".owner").title])')
    return {tuple(ids) if len(ids) > 1 else ids[0]: (tuple(values), owners) for [ids, values, owners] in found}


def values(reader, part='tbody'):
    return {key: found[0] for key, found in rows(reader, part).items()}


def functions(reader):
    """-> {function: total} of the view Table"""
    reader.view('Table')
    return dict(reader.evaluate('[...document.querySelectorAll("#table-body tbody tr")].map(row => ['
                                'row.cells[0].firstChild.nextSibling.textContent, Number(row.cells[2].dataset.value)])'))


def chips(reader):
    return reader.texts('#filters button')


def the_table_has_spans(window):
    reader = Reader(window, page('spans=yes'))
    equal(reader.texts('#tabs button'), ['Flame graph', 'Table', 'Spans', 'Timeline'], 'views')
    reader.view('Spans')
    equal(list(rows(reader).items()),
          [((SLOW, PARSE), ((600, 0), 'p7 (7), p7 (7)')), ((SLOW, QUERY), ((300, 2_000), 'p7 (7), pool (8)')),
           ((FAST, REPLY), ((70, 0), 'p20 (20)'))], 'spans, the largest first')
    equal(values(reader, 'tfoot'), {'No span': (30, 90), 'Total': (1_000, 2_090)}, 'what is left, and all')
    equal(reader.texts('#spans-body tbody tr:first-child td.n b'), [share(600, 1_000), ''], 'shares')
    reader.click_text('#spans-body th button', 'Waiting')
    equal(list(values(reader)), [(SLOW, QUERY), (SLOW, PARSE), (FAST, REPLY)], 'sorted by another metric')
    reader.click_text('#spans-by button', 'Trace')
    equal(rows(reader), {(SLOW, '2'): ((900, 2_000), 'p7 (7), p7 (7)\np7 (7), pool (8)'),
                         (FAST, '1'): ((70, 0), 'p20 (20)')}, 'by trace')


def sums_agree_with_the_graph(window):
    reader = Reader(window, page('spans=yes'))
    for fragment in ('', '#process=7', '#thread=pool', '#focus=parse', '#ignore=query', '#time=20-60', '#threads=yes',
                     f'#trace={SLOW}', f'#trace={SLOW}&threads=name', '#hide=main', '#value=off-cpu'):
        reader.go(fragment)
        total = reader.evaluate('window.iaprof.model.values().total[0]')
        reader.view('Spans')
        position = 1 if 'value' in fragment else 0
        sums = [found[position] for part in ('tbody', 'tfoot') for key, found in values(reader, part).items()
                if key != 'Total']
        equal((sum(sums), values(reader, 'tfoot')['Total'][position]), (total, total), f'sum with {fragment}')
    reader.go('#time=20-60&view=spans')
    equal(values(reader), {(SLOW, PARSE): (100, 0), (SLOW, QUERY): (0, 2_000)}, 'in a part of the time')


def threads_stay_above_their_functions(window):
    reader = Reader(window, page('spans=yes'), '#threads=yes')
    above = reader.evaluate('(() => { const { model } = window.iaprof, { frame, parent } = model.view(), { names } = model.frames;'
                            'return Array.from(frame, (own, node) => node && [names[own], names[frame[parent[node]]]]).slice(1);'
                            '})()')
    equal([found for found in above if found[0] in ('pool', 'work', 'query')],
          [['pool', 'p7'], ['work', 'pool'], ['query', 'work']], 'what each function is called by')


def a_click_shows_one(window):
    reader = Reader(window, page('spans=yes'))
    reader.view('Spans')
    reader.click_on('#spans-body tbody tr', 1)
    equal((reader.evaluate('window.iaprof.view'), chips(reader)), ('flame', [f'span {QUERY}  ×']), 'view and filter')
    equal(functions(reader), {'p7 (7)': 300, 'work': 300, 'query': 300}, 'its graph')
    reader.click_text('#filters button', f'span {QUERY}  ×')
    equal(functions(reader)['main'], 700, 'without the filter')
    reader.undo()
    reader.undo()
    equal(chips(reader), [f'span {QUERY}  ×'], 'back')
    reader.go('#view=spans&spans=trace')
    reader.click_on('#spans-body tbody tr')
    equal(chips(reader), [f'trace {SLOW}  ×'], 'filter')
    equal(functions(reader), {'p7 (7)': 900, 'main': 600, 'parse': 600, 'work': 300, 'query': 300, 'add': 100}, 'of a trace')
    reader.go('#trace=ffffffffffffffff')
    equal((functions(reader)['main'], chips(reader)), (700, []), 'a span that is not there is ignored')
    # A span that has nothing of the metric shown is shown with one that it has.
    reader.go('#view=spans&value=off-cpu')
    reader.click_on('#spans-body tbody tr', 2)
    equal(functions(reader), {'p20 (20)': 70, 'main': 70, 'reply': 70}, 'the other metric')


def the_keyboard_does_the_same(window):
    reader = Reader(window, page('spans=yes'), '#view=spans')
    equal(reader.texts('#keys-shown kbd'), ['Click', '↑ ↓', 'Enter', 'Esc'], 'keys')
    reader.evaluate('document.querySelector("#spans-body tr[tabindex=\'0\']").focus()')
    for key in ('ArrowDown', 'ArrowDown', 'ArrowUp'):
        window.press(key)
    equal(reader.evaluate('[...document.querySelectorAll("#spans-body tr[tabindex]")].map(row => row.tabIndex)'),
          [-1, 0, -1], 'stops of Tab')
    window.press('Enter')
    reader.drawn()
    equal(chips(reader), [f'span {QUERY}  ×'], 'filter')
    reader.press('3')
    equal(reader.evaluate('window.iaprof.view'), 'spans', 'the key of the view')
    equal(reader.evaluate('document.querySelector("#spans-body th[aria-sort]").textContent'), 'CPU time ↓', 'sorted by')


def the_search_finds_ids(window):
    reader = Reader(window, page('spans=yes'))
    for text, count, wanted in ((SLOW, 2, f'trace {SLOW}'), (SLOW[:9].upper(), 2, f'trace {SLOW[:9]}'),
                                (f' {QUERY} ', 1, f'span {QUERY}'), (f'00-{SLOW}-{PARSE}-01', 1, f'span {PARSE}')):
        equal(reader.search(text), f'{count} span{"s" if count > 1 else ""} found', f'search for {text}')
        equal(reader.evaluate('document.activeElement.id'), 'search', 'the search has the keyboard')
        window.press('Enter')
        reader.drawn()
        equal((chips(reader), reader.evaluate('document.getElementById("search").value')), ([f'{wanted}  ×'], ''), 'filter')
        equal(reader.evaluate('document.activeElement.id'), 'graph', 'the graph has the keyboard')
        reader.press('0')
        equal(chips(reader), [], 'all filters are reset')
    reader.search(SLOW)
    reader.click_text('#filters button', 'Show 2 spans')
    equal(chips(reader), [f'trace {SLOW}  ×'], 'by a click')
    reader.go('#view=spans')
    reader.search(QUERY)
    equal(list(values(reader)), [(SLOW, QUERY)], 'rows')
    equal(reader.text('matched'), f'1 row match “{QUERY}”', 'how many')
    reader.search('p20')
    equal(list(values(reader)), [(FAST, REPLY)], 'rows by process')
    reader.search('nothing')
    equal(reader.text('spans-more'), 'Nothing matches “nothing”.', 'no row')


def ids_are_no_names(window):
    """Words of hexadecimal digits are in many ids."""
    reader = Reader(window, page('spans=yes'), '#focus=add')
    equal(functions(reader), {'p7 (7)': 100, 'main': 100, 'parse': 100, 'add': 100}, 'focus')
    reader.go('#ignore=face')
    equal(functions(reader)['reply'], 70, 'ignore')
    reader.go('')
    assert reader.search('add').startswith(share(100, 1_000)), reader.text('matched')
    equal(chips(reader), [], 'no filter is offered')


def stalls_and_devices_have_spans_too(window):
    """Spans are below threads and devices, and hidden stall reasons are not part of any sum."""
    def stalls(reason, device, value, trace):
        return (0, value, [Origin(8, 'pool', device), *([Span(trace, PARSE)] if trace else []),
                           *gpu_stack(7, 'launch', 'send', reason, 16)])
    found = make_page([COUNT], [stalls('sbid', 'GPU 0', 70, SLOW), stalls('send', 'GPU 1', 20, SLOW),
                                stalls('sbid', 'GPU 1', 9, FAST), stalls('sbid', 'GPU 0', 1, '')], options=['spans=yes'])
    reader = Reader(window, found, '#view=spans')
    equal(values(reader), {(SLOW, PARSE): (90,), (FAST, PARSE): (9,)}, 'all')
    reader.go('#view=spans&device=GPU+1')
    equal(values(reader), {(SLOW, PARSE): (20,), (FAST, PARSE): (9,)}, 'a device')
    reader.go('#view=spans&without=1')
    equal((values(reader), values(reader, 'tfoot')['Total']), ({(SLOW, PARSE): (70,), (FAST, PARSE): (9,)}, (80,)),
          'a reason')
    reader.go(f'#trace={SLOW}')
    equal((reader.text('whole-sum'), functions(reader)['matmul']), ('90 samples', 90), 'a trace')


# (trace, span, kernel, count, pid, tid, time): of a span with samples, of one without, and of none.
ALONE = 'feedfacefeedface'
LAUNCHES = [(SLOW, QUERY, 1, 3, 7, 8, 1_000), (SLOW, QUERY, 2, 40, 7, 8, 1_000), (SLOW, QUERY, 1, 500, 7, 8, LATE),
            (FAST, ALONE, 2, 6_000, 20, 21, 1_000), (SLOW, ALONE, 1, 70_000, 7, 7, 1_000), ('', '', 1, 800_000, 7, 7, 1_000)]


def launch_records():
    return [*(record('kernel', source=2, id=number, pid=7, name=name) for number, name in ((1, 'matmul'), (2, 'gelu'))),
            *(record('launch', source=2, time=time, first_time=time, kernel=kernel, pid=pid, tid=tid, count=count,
                     **(span_words(trace, span) if trace else {})) for trace, span, kernel, count, pid, tid, time in LAUNCHES)]


def kernels(reader):
    return dict(reader.evaluate('[...document.querySelectorAll("#spans-kernels tbody tr")].map(row => [...row.cells].map('
                                'cell => cell.textContent))'))


def launches_of_spans_are_listed(window):
    found = make_page([NANOSECONDS, OFF_CPU], STACKS, times=Times(60_000_000), options=['value=cpu', 'spans=yes'],
                      records=launch_records())
    reader = Reader(window, found, '#view=spans')
    equal(reader.texts('#spans-body th')[:5], ['Trace', 'Span', 'CPU time ↓', 'Waiting', 'GPU launches'], 'columns')
    equal(list(rows(reader)), [(SLOW, PARSE), (SLOW, QUERY), (FAST, REPLY), (SLOW, ALONE), (FAST, ALONE)], 'rows')
    equal(reader.texts('#spans-body td.launched'), ['', '543', '', '70,000', '6,000', '800,000', '876,543'], 'launches')
    equal(rows(reader)[(FAST, ALONE)][1], 'p20 (20), thread 21', 'the owner of a span without samples')
    equal(kernels(reader), {'matmul': '70,503', 'gelu': '6,040'}, 'kernels of all spans')
    reader.search(QUERY)
    equal(kernels(reader), {'matmul': '503', 'gelu': '40'}, 'of the spans that are found')
    reader.search('')
    reader.click_on('#spans-body tbody tr', 4)
    equal((reader.evaluate('window.iaprof.view'), kernels(reader)), ('spans', {'gelu': '6,000'}), 'of one without a graph')
    reader.go(f'#view=spans&trace={QUERY}')
    equal((list(rows(reader)), kernels(reader)), ([(SLOW, QUERY)], {'matmul': '503', 'gelu': '40'}), 'of the chosen span')
    reader.go('#view=spans&time=20-60')
    equal(kernels(reader), {'matmul': '500'}, 'in a part of the time')
    reader.go('#view=spans&process=20')
    equal(kernels(reader), {'gelu': '6,000'}, 'of a process')
    reader.go('#view=spans&thread=pool')
    equal(kernels(reader), {'matmul': '503', 'gelu': '40'}, 'of a thread')
    reader.go('#view=spans&spans=trace')
    equal(reader.texts('#spans-body td.launched'), ['70,543', '6,000', '800,000', '876,543'], 'by trace')
    for width, height in ((1920, 1080), (900, 700), (390, 844)):
        reader.size(width, height)
        equal(reader.evaluate('["body", "#spans .scroll"].filter(name => { const at = document.querySelector(name);'
                              'return at.scrollWidth > at.clientWidth; })'), [], f'wider than {width} px')
    reader.size(1200, 800)


def launches_alone_have_the_table(window):
    reader = Reader(window, make_page([NANOSECONDS], [(0, 30, stack('', '', 'main'), 1_000)], times=Times(60_000_000),
                                      options=['spans=yes'], records=launch_records()), '#view=spans')
    equal(list(rows(reader)), [(SLOW, ALONE), (FAST, ALONE), (SLOW, QUERY)], 'rows')
    equal(kernels(reader), {'matmul': '70,503', 'gelu': '6,040'}, 'kernels')
    # Without the option, launches have no spans.
    plain = make_page([NANOSECONDS], [(0, 30, stack('', '', 'main'), 1_000)], times=Times(60_000_000),
                      records=launch_records())
    reader = Reader(window, plain)
    equal(reader.texts('#tabs button'), ['Flame graph', 'Table', 'Timeline'], 'views')


def a_trace_may_have_many_spans(window):
    launches = [record('kernel', source=2, id=1, pid=7, name='matmul')]
    launches += [record('launch', source=2, time=1_000, first_time=1_000, kernel=1, pid=7, tid=7, count=1,
                        **span_words(SLOW, f'{span:016x}')) for span in range(1, 65_001)]
    reader = Reader(window, make_page([NANOSECONDS], [(0, 30, stack('', '', 'main'), 1_000)], times=Times(60_000_000),
                                      options=['spans=yes'], records=launches), '#view=spans&spans=trace')
    equal(list(rows(reader)), [(SLOW, '65,000')], 'rows')
    # No span is compared with all earlier ones of its trace, which would be two billion steps.
    steps = reader.evaluate('''(() => { let steps = 0;
      for (const name of ['every', 'filter', 'find', 'findIndex', 'includes', 'indexOf', 'some']) {
        const own = Array.prototype[name];
        Array.prototype[name] = function (...given) { steps += this.length; return own.apply(this, given); };
      }
      window.iaprof.spans.show();
      return steps; })()''')
    assert 0 < steps < 1_000_000, f'{steps} steps'


def the_table_fits_every_screen(window):
    reader = Reader(window, page('spans=yes'), '#view=spans')
    for width, height in ((1920, 1080), (1200, 800), (900, 700), (390, 844)):
        reader.size(width, height)
        equal(reader.evaluate('["body", "#spans .scroll"].filter(name => { const at = document.querySelector(name);'
                              'return at.scrollWidth > at.clientWidth; })'), [], f'wider than {width} px')
        assert reader.texts('#spans-body th')[:3] == ['Trace', 'Span', 'CPU time ↓'], reader.texts('#spans-body th')
    reader.size(1200, 800)


MOST = 4096  # STACK_SPANS_MAX


def the_smallest_spans_share_a_row(window):
    """Spans with values 1, 2, 3, ...: those above the bound are known by their values."""
    more = 10
    stacks = [(0, value, stack(f'{1 << 64 | value:032x}', f'{1 << 60 | value:016x}', 'main'), 1_000)
              for value in range(1, MOST + more + 1)]
    reader = Reader(window, page('spans=yes', stacks=stacks), '#view=spans')
    equal(len(values(reader)), 100, 'rows at first')
    equal(reader.texts('#spans-more button'), [f'{MOST - 100:,} more rows'], 'more rows')
    count = MOST + more
    equal(values(reader, 'tfoot'), {f'{more} other spans': (more * (more + 1) // 2,), 'No span': (0,),
                                    'Total': (count * (count + 1) // 2,)}, 'sums')
    reader.click_on('#spans-more button')
    while reader.texts('#spans-more button'):
        reader.evaluate('document.querySelector("#spans-more button").click()')
    equal([found for found, in values(reader).values()], list(range(count, more, -1)), 'values')
    reader.search(f'{1 << 60 | count:016x}')
    equal(len(values(reader)), 1, 'the largest is there')


def pages_without_spans_have_nothing_of_them(window):
    """The option alone decides, whatever other sinks of the run requested; without spans, it changes no byte."""
    plain = page().read_bytes()
    if not isinstance(window, NoWindow):
        reader = Reader(window, 'page.html', '#view=spans')
        equal(reader.texts('#tabs button'), ['Flame graph', 'Table', 'Timeline'], 'views')
        equal(reader.evaluate('window.iaprof.view'), 'flame', 'the view')
        reader.search(SLOW)
        equal(chips(reader), [], 'no filter is offered')
    assert b'SpansView {' not in plain, 'a script that the page does not need'
    without = [(kind, value, [entry for entry in frames if not isinstance(entry, Span)], time)
               for kind, value, frames, time in STACKS]
    equal(page('spans=yes', stacks=without).read_bytes(), plain, 'a profile without spans')
    assert page('spans=yes').read_bytes() != plain, 'a page with spans is the same'


def images_have_none(_):
    stacks = [entry[:3] for entry in STACKS if not entry[0]]
    path = write_profile('flamegraph', 'plain.svg', [NANOSECONDS], stacks, options=['format=svg'])
    with open(path, encoding='utf-8') as file:
        assert SLOW not in file.read(), 'a trace is in an image'
    try:
        write_profile('flamegraph', 'wrong.svg', [NANOSECONDS], stacks, options=['format=svg', 'spans=yes'],
                      stderr=subprocess.DEVNULL)
    except subprocess.CalledProcessError:
        return
    raise AssertionError('spans=yes of an image is no error')


PAGE_CASES = (the_table_has_spans, sums_agree_with_the_graph, threads_stay_above_their_functions, a_click_shows_one,
              the_keyboard_does_the_same, the_search_finds_ids, ids_are_no_names, stalls_and_devices_have_spans_too,
              launches_of_spans_are_listed, launches_alone_have_the_table, a_trace_may_have_many_spans,
              the_table_fits_every_screen, the_smallest_spans_share_a_row, pages_without_spans_have_nothing_of_them,
              images_have_none)


if __name__ == '__main__':
    sys.exit(run_file())
