#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--diff of two captures whose stacks a test chose: as folded text, in the page, as a picture, as a table. TAP.

What is expected comes from what each file has alone, subtracted here. Words on the command line choose cases.
"""
import collections
import csv
import io
import math
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

from reader import THIN, Reader, run_file
from stacks import COUNT, NANOSECONDS, PROGRAM, UNKNOWN, Frame, equal, gpu_stack, write_profile
from harness.cases import Skip


def capture(name, stacks, types=(COUNT,), lost=(), duration=None):
    return write_profile('capture', pathlib.Path(name), types, stacks, lost, duration=duration)


def iaprof(*arguments):
    return subprocess.run([os.environ['TEST_IAPROF'], *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, check=True, encoding='utf-8')


def folded_of(path, value_type):
    """What --replay makes of one file, without the instruction offsets, which are other ones in another build."""
    sums = collections.Counter()
    for line in iaprof('-q', '--replay', path, '-k', f'folded:pid=no,value={value_type}').stdout.splitlines():
        stack, value = line.rsplit(' ', 1)
        sums[re.sub(r';0x[0-9a-f]+_\[g\]$', '', stack)] += int(value)
    return sums


def difference_of(before, after, value_type, *options):
    """-> {stack: (before, after)}, read by the rules of flamegraph.pl, which takes the last number off a line twice."""
    number = re.compile(r'^(.*)\s+?(\d+(?:\.\d*)?)$')
    found = {}
    for line in iaprof('-q', '--diff', before, after, *options, '-k', f'folded:value={value_type}').stdout.splitlines():
        stack, later = number.match(line).groups()
        stack, earlier = number.match(stack).groups()
        assert stack not in found, line
        found[stack] = float(earlier), float(later)
    return found


def two_runs():
    """Other processes, instruction offsets and places of files in the second one; each has what the other has not."""
    before = [(0, 600, [Frame('one', PROGRAM, pid=1), Frame('main', file='/old/a.c', line=3), Frame('left')]),
              (0, 300, [Frame('one', PROGRAM, pid=1), Frame('main', file='/old/a.c', line=3), Frame('right')]),
              (0, 50, [Frame('one', PROGRAM, pid=2), Frame('main', file='/old/a.c', line=3), Frame('left')]),
              (0, 7, [Frame('old', PROGRAM, pid=3), Frame('gone 12')]),
              (1, 500, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)),
              (1, 200, gpu_stack(7, 'attention', 'dpas', 'sbid', 32)),
              (1, 100, gpu_stack(7, 'attention', 'dpas', 'send', 32))]
    after = [(0, 100, [Frame('one', PROGRAM, pid=11), Frame('main', file='/new/a.c', line=5), Frame('left')]),
             (0, 900, [Frame('one', PROGRAM, pid=12), Frame('main', file='/new/a.c', line=5), Frame('right')]),
             (0, 40, [Frame('one', PROGRAM, pid=12), Frame('main', file='/new/a.c', line=5), Frame('added')]),
             (1, 350, gpu_stack(17, 'attention', 'dpas', 'sbid', 64)),
             (1, 250, gpu_stack(17, 'attention', 'mov', 'send', 80))]
    types = [NANOSECONDS, COUNT]
    return capture('before', before, types, duration=10**9), capture('after', after, types, duration=4 * 10**9)


def close(found, expected, within, what):
    equal(set(found), set(expected), f'{what}: stacks')
    for stack, values in expected.items():
        assert all(abs(a - b) <= within for a, b in zip(found[stack], values)), \
            f'{what}: {stack}: {found[stack]}, not {values}'


def folded_text_is_the_two_files_joined():
    before, after = two_runs()
    for value_type, size in (('cpu', 4), ('gpu-stalls', 3)):
        old, new = folded_of(before, value_type), folded_of(after, value_type)
        joined = {stack: (old[stack], new[stack]) for stack in {*old, *new}}
        equal(len(joined), size, 'what the files are made of')
        equal(difference_of(before, after, value_type), joined, value_type)


def earlier_values_are_scaled():
    """--normalize total is difffolded.pl -n, which cuts fractions off; duration is of 1 and 4 seconds."""
    before, after = two_runs()
    for value_type in 'cpu', 'gpu-stalls':
        old, new = folded_of(before, value_type), folded_of(after, value_type)
        for normalization, factor in (('total', sum(new.values()) / sum(old.values())), ('duration', 4), ('none', 1)):
            found = difference_of(before, after, value_type, '--normalize', normalization)
            # Three digits after the point are written.
            close(found, {stack: (old[stack] * factor, new[stack]) for stack in {*old, *new}}, 0.0005,
                  f'{value_type}, {normalization}')
            if normalization == 'total':
                assert abs(sum(a - b for a, b in found.values())) <= 0.0005 * len(found), found
                equal([math.floor(earlier + 0.0005) for earlier, _ in found.values()],
                      [int(old[stack] * sum(new.values()) / sum(old.values())) for stack in found], 'as difffolded.pl')
            said = iaprof('--diff', before, after, '--normalize', normalization, '-k', 'folded', '-o', 'out').stderr
            times = re.search(rf'^iaprof: {value_type}: .* times ([0-9.]+) is .*--normalize {normalization}\)$', said,
                              re.M)
            assert normalization == 'none' or abs(float(times[1]) - factor) < 1e-5, said


def a_file_has_no_difference_to_itself(window):
    before, _ = two_runs()
    for normalization in 'none', 'total', 'duration':
        found = difference_of(before, before, 'cpu', '--normalize', normalization)
        assert found and all(earlier == later for earlier, later in found.values()), found
    page = pathlib.Path('page.html')
    iaprof('-q', '--diff', before, before, '-k', 'flamegraph:value=cpu', '-o', page)
    reader = Reader(window, page)
    equal(reader.text('compare-change'), f'0{THIN}%', 'in all')
    assert 'The same' in reader.evaluate('document.querySelector("#panel .lead").textContent'), 'the answer'
    colours = set()
    for part, level in (0.001, 1), (0.5, 2), (0.2, 3), (0.9, 3):
        colours.add(reader.colour(part, level))
        change = reader.point(part, level).rows['Change']
        assert change.startswith(f'0{THIN}%, 0{THIN}%'), change
    equal(colours, {(0xe6, 0xe9, 0xee, 255)}, 'a frame that did not change is grey')


def one_side_can_be_empty(window):
    before, _ = two_runs()
    nothing = capture('nothing', [], [NANOSECONDS, COUNT], duration=10**9)
    old = folded_of(before, 'cpu')
    for normalization in 'none', 'total', 'duration':
        equal(difference_of(before, nothing, 'cpu', '--normalize', normalization),
              {stack: (value, 0) for stack, value in old.items()}, 'all is gone')
        equal(difference_of(nothing, before, 'cpu', '--normalize', normalization),
              {stack: (0, value) for stack, value in old.items()}, 'all is new')
    said = iaprof('--diff', nothing, before, '--normalize', 'total', '-k', 'folded:value=cpu').stderr
    assert 'warning: cpu: not normalized (only one file has this value type)' in said, said
    equal(iaprof('-q', '--diff', nothing, nothing).stdout, '', 'nothing and nothing')
    for files in (before, nothing), (nothing, before), (nothing, nothing), [capture('no-types', [], [])] * 2:
        iaprof('-q', '--diff', *files, '-k', 'flamegraph', '-o', 'page.html')
        Reader(window, pathlib.Path('page.html'))
        equal(window.wrong(), [], 'errors in the page')
        iaprof('-q', '--diff', *files, '-k', 'flamegraph:format=svg', '-o', 'picture.svg')
        xml.etree.ElementTree.parse('picture.svg')


def a_value_type_can_be_of_one_side():
    before = capture('before', [(0, 5, [Frame('one', PROGRAM)])], [NANOSECONDS])
    after = capture('after', [(0, 3, [Frame('one', PROGRAM)]), (1, 4, [Frame('one', PROGRAM)])], [COUNT, NANOSECONDS])
    equal(difference_of(before, after, 'cpu'), {'one': (5, 4)}, 'by name and unit, whatever its number')
    equal(difference_of(before, after, 'gpu-stalls'), {'one': (0, 3)}, 'of the later one only')
    equal(difference_of(after, before, 'gpu-stalls'), {'one': (3, 0)}, 'of the earlier one only')
    stalls = gpu_stack(7, 'main', 'send', 'sbid', 16)
    types = [COUNT, ('gpu-time', 'nanoseconds')]
    samples, times = capture('samples', [(0, 5, stalls)], types), capture('times', [(0, 4, stalls), (1, 9, stalls)], types)
    for files, wanted in ((samples, times), ['5 4']), ((times, samples), ['4 5']), ((times, times), ['9 9']):
        lines = iaprof('-q', '--diff', *files, '-k', 'folded').stdout.splitlines()
        equal([' '.join(line.split()[-2:]) for line in lines], wanted, 'what both have is the default')
    other_unit = capture('other', [(0, 9, [Frame('one', PROGRAM)])], [('cpu', 'cycles')])
    equal(difference_of(before, other_unit, 'cpu-nanoseconds'), {'one': (5, 0)}, 'another unit is another type')


def files_of_pages():
    before = [(0, 600, [Frame('one', PROGRAM), Frame('main'), Frame('grows')]),
              (0, 300, [Frame('one', PROGRAM), Frame('main'), Frame('shrinks')]),
              (0, 100, [Frame('one', PROGRAM), Frame('main'), Frame('stays')]),
              (0, 250, [Frame('one', PROGRAM), Frame('old'), Frame('[unknown]', flags=UNKNOWN)])]
    after = [(0, 1000, [Frame('one', PROGRAM), Frame('main'), Frame('grows')]),
             (0, 100, [Frame('one', PROGRAM), Frame('main'), Frame('shrinks')]),
             (0, 100, [Frame('one', PROGRAM), Frame('main'), Frame('stays')]),
             (0, 50, [Frame('one', PROGRAM), Frame('new')])]
    return (capture('before', before, lost=[(3, 'cpu-stack', 'ring full'), (1, 'gpu', 'a<b')], duration=10**9),
            capture('after', after, lost=[(5, 'cpu-stack', 'ring full')], duration=2 * 10**9))


def lines_of(reader, part, level, name):
    """-> the earlier value, the later one, and how much that is"""
    tip = reader.point(part, level)
    equal(tip.title, name, 'a frame')
    before = next(value for key, value in tip.rows.items() if key.startswith('Baseline'))
    return before, tip.rows['After'], tip.rows['Change'].replace(THIN, '').replace(' of the baseline', '')


def hue(reader, part, level):
    """Which way a pixel's colour says that a frame changed, and how strongly: orange is above 0, blue below."""
    red, _, blue, alpha = reader.colour(part, level)
    assert alpha == 255, 'nothing is drawn there'
    return red - blue


def the_page_shows_both_runs(window):
    iaprof('-q', '--diff', *files_of_pages(), '-k', 'flamegraph', '-o', 'page.html')
    reader = Reader(window, pathlib.Path('page.html'))
    equal([reader.text(f'compare-{what}') for what in ('before', 'after', 'change')], ['1,250', '1,250', f'0{THIN}%'], 'in all')
    equal(reader.texts('#tabs button')[0], 'Compare', 'the view')
    # These captures do not say when they were made.
    equal(reader.quality(), {'Baseline': f'1{THIN}s', 'After': f'2{THIN}s', 'cpu-stack: ring full': '3, 5 lost',
                             'gpu: a<b': '1, 0 lost'}, 'runs and losses')
    # After: main has 1200 of 1250, in it 1000 grows, 100 shrinks, 100 stays.
    equal(lines_of(reader, 0.4, 3, 'grows'), ('600', '1,000', '+66.7%, +32.0%'), 'grows')
    shrinks_at = next(part for part in (0.84, 0.92) if reader.point(part, 3).title == 'shrinks')
    stays_at = 0.84 + 0.92 - shrinks_at
    equal(lines_of(reader, shrinks_at, 3, 'shrinks'), ('300', '100', '−66.7%, −16.0%'), 'shrinks')
    equal(lines_of(reader, stays_at, 3, 'stays'), ('100', '100', '0%, 0%'), 'stays')
    equal(lines_of(reader, 0.98, 2, 'new'), ('0', '50', 'new, +4.00%'), 'new')
    grows, shrinks, stays, new = (hue(reader, *at) for at in ((0.4, 3), (shrinks_at, 3), (stays_at, 3), (0.98, 2)))
    assert grows > new > 0 > stays > shrinks and abs(stays) < 10, f'colours: {grows, new, stays, shrinks}'
    equal(lines_of(reader, 0.4, 2, 'main'), ('1,000', '1,200', '+20.0%, +16.0%'), 'main, with what it calls')
    assert hue(reader, 0.4, 2) > 0, 'main is larger with what it calls'
    lists = {title: reader.evaluate(f'[...[...document.querySelectorAll("#panel section")].find(section => '
                                    f'(section.querySelector("h2") || {{}}).textContent === "{title}").querySelectorAll('
                                    '".drow")].map(row => [...row.children].map(part => part.textContent))')
             for title in ('Less', 'More')}
    equal([row[:2] for row in lists['More']], [['grows', f'+32.0{THIN}%'], ['new', f'+4.00{THIN}%']], 'what grew')
    equal([row[:2] for row in lists['Less']], [['[unknown]', f'−20.0{THIN}%'], ['shrinks', f'−16.0{THIN}%']], 'what shrank')
    # Before: main has 1000 of 1250, and what is gone has the rest.
    reader.press('w')
    equal(reader.evaluate('document.querySelector("#compare-width [aria-pressed=true]").textContent'), 'Baseline', 'widths')
    equal(lines_of(reader, 0.9, 2, 'old'), ('250', '0', 'gone, −20.0%'), 'old')
    equal(lines_of(reader, 0.4, 3, 'grows'), ('600', '1,000', '+66.7%, +32.0%'), 'grows, at its earlier place')
    equal([reader.point(part, 3).title for part in (0.478, 0.482)], ['grows', 'shrinks'], 'where the edge is')
    equal(reader.search('old'), f'20.0{THIN}% found (250)', 'a search in the widths that are shown')
    reader.search('')
    reader.click(0.9, 2)
    equal(reader.crumbs()[-1], 'old', 'zoomed into what is gone')
    reader.click_text('#compare-width button', 'After')
    equal(reader.crumbs(), ['All gpu-stalls'], 'which is not there')
    reader.click_text('#order button', 'Callers')
    assert reader.point(0.3, 1).title == 'grows', 'callers of the later run'
    equal(window.wrong(), [], 'errors')


def the_page_shows_factors(window):
    before, after = files_of_pages()
    iaprof('-q', '--diff', before, after, '--normalize', 'duration', '-k', 'flamegraph', '-o', 'page.html')
    reader = Reader(window, pathlib.Path('page.html'))
    equal([reader.text(f'compare-{what}') for what in ('before', 'after', 'change')], ['2,500', '1,250', f'−50.0{THIN}%'], 'in all')
    assert 'compared by duration' in reader.text('panel'), reader.text('panel')
    assert 'Baseline (scaled by 2)' in reader.point(0.4, 3).rows, 'the factor'
    equal(lines_of(reader, 0.4, 3, 'grows'), ('1,200', '1,000', '−16.7%, −8.00%'), 'grows, but by less than the time')
    assert hue(reader, 0.4, 3) < 0, 'it shrank'
    gpu_before = capture('before', [(0, 300, gpu_stack(7, 'a', 'dpas', 'sbid', 16)),
                                    (0, 100, gpu_stack(7, 'a', 'dpas', 'send', 16))])
    gpu_after = capture('after', [(0, 600, gpu_stack(8, 'a', 'dpas', 'sbid', 48)),
                                  (0, 0, gpu_stack(8, 'a', 'dpas', 'send', 16))])
    iaprof('-q', '--diff', gpu_before, gpu_after, '--normalize', 'total', '-k', 'flamegraph', '-o', 'page.html')
    reader = Reader(window, pathlib.Path('page.html'))
    assert 'Baseline (scaled by 1.5)' in reader.point(0.5, 'reason').rows, 'the factor'
    equal(lines_of(reader, 0.5, 'reason', 'Data dependency'), ('450', '600', '+33.3%, +25.0%'), 'a reason')
    assert hue(reader, 0.5, 'reason') > hue(reader, 0.5, 1), 'the cause is darker than what is above it'
    reader.view('Table')
    equal(window.wrong(), [], 'errors')


def hostile_names_stay_names(window):
    names = ['</script><script>throw 1</script>', '"><img src=x onerror=alert(1)>', '🔥 emoji', 'a' * 10000,
             b'\xff\xfe not UTF-8 \x80', b'\x1b[31m \x07 control', 'ends like values 1 2', 'new\nline']
    before = capture('before', [(0, 100, [Frame('program', PROGRAM), Frame(name)]) for name in names])
    after = capture('after', [(0, 101, [Frame('program', PROGRAM), Frame(name)]) for name in names])
    found = difference_of(before, after, 'gpu-stalls')
    equal(sorted(found.values()), [(100, 101)] * len(names), 'each is a line of two values')
    iaprof('-q', '--diff', before, after, '-k', 'flamegraph', '-o', 'page.html')
    reader = Reader(window, pathlib.Path('page.html'))
    seen = {reader.point((i + 0.5) / len(names), 2).title for i in range(len(names))}
    assert len(seen) == len(names) and names[0] in seen, seen
    equal(window.wrong(), [], 'nothing of it was code')
    iaprof('-q', '--diff', before, after, '-k', 'flamegraph:format=svg', '-o', 'picture.svg')
    xml.etree.ElementTree.parse('picture.svg')


def pictures_have_colours_and_values():
    iaprof('-q', '--diff', *files_of_pages(), '-k', 'flamegraph:format=svg', '-o', 'picture.svg')
    svg = xml.etree.ElementTree.parse('picture.svg').getroot()
    space = {'s': 'http://www.w3.org/2000/svg'}
    equal(svg.findall('s:text', space)[1].text,
          'gpu-stalls: 1250 count; orange grew, blue shrank: before 1250, difference +0, 5 lost, 4 lost before', 'what stands above')
    frames = {}
    for group in svg.findall('s:g', space):
        name, after, before = group.find('s:title', space).text.split('\n')
        colour = re.fullmatch(r'hsl\((\d+),(\d+)%,(\d+)%\)', group.find('s:rect', space).get('fill')).groups()
        frames[name] = after.split()[0], before, tuple(map(int, colour))
    equal({name: values[:2] for name, values in frames.items()},
          {'one': ('1250', 'before 1250, difference +0'), 'main': ('1200', 'before 1000, difference +200'),
           'grows': ('1000', 'before 600, difference +400'), 'shrinks': ('100', 'before 300, difference -200'),
           'stays': ('100', 'before 100, difference +0'), 'new': ('50', 'before 0, difference +50')}, 'frames')
    colours = {name: values[2] for name, values in frames.items()}
    equal((colours['one'], colours['stays']), ((0, 0, 92),) * 2, 'what did not change')
    equal((colours['grows'][0], colours['new'][0], colours['shrinks'][0]), (24, 24, 214), 'hues')
    assert colours['grows'][2] < colours['main'][2] < colours['new'][2], f'darker the larger the change: {colours}'


def the_table_sorts_by_change(window):
    """Totals are in the table of one run; what is only in the baseline has a row, too."""
    iaprof('-q', '--diff', *files_of_pages(), '-k', 'flamegraph', '-o', 'page.html')
    reader = Reader(window, pathlib.Path('page.html'))
    reader.view('Table')
    reader.click_text('#table-body th button', 'Change')
    rows = reader.evaluate('[...document.querySelectorAll("#table-body tbody tr")].map(row => [row.cells[0].title, row.cells[3].textContent'
                           '.replaceAll("\\u202f", ""), row.cells[3].title.split(",").pop().trim().replaceAll("\\u202f", "")])')
    equal([rows[0], *sorted(rows[1:3])], [['grows', '+32.0%', '+66.7%'], ['[unknown]', '−20.0%', 'gone'], ['old', '−20.0%', 'gone']], 'the largest changes')
    equal([row[1] for row in rows if row[0] == 'stays'], ['0%'], 'what stays')
    equal(sorted(row[0] for row in rows if row[2] == 'new'), ['new'], 'what is new')
    equal('sort=change' in reader.fragment(), True, 'a link')
    reader.click_text('#table-body tbody td.name', next(text for text in reader.texts('#table-body tbody td.name') if text.startswith('old')))
    assert reader.text('sandwich-note').endswith('only in the baseline'), reader.text('sandwich-note')
    equal(reader.is_seen('#device') or reader.is_seen('#thread'), False, 'stacks of a difference have no threads and devices')


def tables_have_both():
    before, after = files_of_pages()
    text = iaprof('-q', '--diff', before, after, '--normalize', 'duration', '-k', 'csv').stdout
    rows = {row['stack']: row for row in csv.DictReader(io.StringIO(text))}
    equal({stack: (row['before'], row['value'], row['before_factor']) for stack, row in rows.items()},
          {'one;main;grows': ('600', '1000', '2'), 'one;main;shrinks': ('300', '100', '2'), 'one;new': ('0', '50', '2'),
           'one;main;stays': ('100', '100', '2'), 'one;old;[unknown]': ('250', '0', '2'),
           '[lost];cpu-stack;ring full': ('3', '5', '1'), '[lost];gpu;a<b': ('1', '0', '1')}, 'rows')


def lines_separate_frames_on_request():
    before, after = two_runs()
    found = difference_of(before, after, 'cpu')
    equal(found['one;main;left'], (650, 100), 'another line of the same function')
    found = {}
    for line in iaprof('-q', '--diff', before, after, '-k', 'folded:value=cpu,lines=yes').stdout.splitlines():
        stack, earlier, later = line.rsplit(' ', 2)
        found[stack] = int(earlier), int(later)
    equal((found['one;main:a.c:3;left'], found['one;main:a.c:5;left']), ((650, 0), (0, 100)), 'with lines')


def folded_text_can_be_compared():
    pathlib.Path('before.folded').write_text('one;main;left 5\none;main 3\nold;gone 2\n', encoding='ascii')
    pathlib.Path('after.folded').write_text('one;main;left 9\none;new 1\none;main 3\n', encoding='ascii')
    replay = subprocess.run([os.environ['TEST_IAPROF'], '-q', '--replay', 'after.folded', '-k', 'folded'],
                            capture_output=True, check=False, encoding='utf-8')
    if 'not a capture' in replay.stderr:
        raise Skip('the source replay reads no folded text')
    expected = 'old;gone 2 0\none;main 3 3\none;main;left 5 9\none;new 0 1\n'
    equal(iaprof('-q', '--diff', 'before.folded', 'after.folded').stdout, expected, 'the difference')
    samples = capture('before', [(0, 5, [Frame('one', PROGRAM), Frame('main'), Frame('left')])], [('samples', 'count')])
    equal(iaprof('-q', '--diff', samples, 'after.folded').stdout,
          'one;main 0 3\none;main;left 5 9\none;new 0 1\n', 'a capture with the same value type')


def nothing_in_common_is_reported():
    before = capture('before', [(0, 5, [Frame('one', PROGRAM)])], [NANOSECONDS])
    after = capture('after', [(0, 3, [Frame('one', PROGRAM)])], [COUNT])
    said = iaprof('--diff', before, after, '-k', 'flamegraph', '-o', 'page.html').stderr
    assert 'warning: the files have no common value type' in said, said


CASES = (folded_text_is_the_two_files_joined, earlier_values_are_scaled, a_value_type_can_be_of_one_side,
         pictures_have_colours_and_values, tables_have_both, lines_separate_frames_on_request,
         folded_text_can_be_compared, nothing_in_common_is_reported)
PAGE_CASES = (a_file_has_no_difference_to_itself, one_side_can_be_empty, the_page_shows_both_runs,
              the_page_shows_factors, hostile_names_stay_names, the_table_sorts_by_change)


if __name__ == '__main__':
    sys.exit(run_file(CASES))
