#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that other users chose, in what every sink writes, as an independent reader of its format sees them: each name is
there, harmless, with its value, and the total is the profile's. TAP.

A sink that is added gets a line in SINKS, with a function that reads its file -> {name: what is in and below it}.
"""
import collections
import csv
import functools
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

from firefox_profile import FirefoxProfile
from reader import Reader, run_file
from stacks import PROGRAM, Frame, equal, write_profile
from perfetto_trace import Trace
from test_pprof import top

# A name, how it is shown (None: as it is), and in stacks whose frames have semicolons between them (None: the same).
NAMES = (
    ('plain', None, None),
    ('</script><script>throw 1</script>', None, None),
    (']]>--><!--&lt;b', None, ']]>--><!--&lt:b'),
    ('"quoted" \'twice\' \\ back', None, None),
    ('🔥 fire', None, None),
    ('long' * 2500, None, None),
    ('f(int&&)::g<T>', None, None),
    ('${1+1}`%s%n\\u0041', None, None),
    ('=1+1', None, None),
    ('semi;colon', None, 'semi:colon'),
    ('ends in 12', None, 'ends in_12'),
    ('a\ttab', 'a?tab', None),
    ('new\nline\r', 'new?line?', None),
    (b'\x01 and \x1b[31m \x7f', '? and ?[31m ?', None),
    (b'\xff\xfe not \xc3(', '?? not ?(', None),
    ('\u2028 separates', '? separates', None),
    ('\u202e reversed', '? reversed', None),
)


VALUE_TYPE = ('</script>"', 'count')


def bytes_of(name):
    return name if isinstance(name, bytes) else name.encode()


def make_stacks():
    """Each name as a function below one program, and, after a "P", as a program with one function."""
    stacks = []
    for i, (name, shown, _) in enumerate(NAMES):
        stacks.append((0, 1000 + i, [Frame('program', PROGRAM, pid=1), Frame(name, file='' if shown else name, line=7)]))
        stacks.append((0, 2000 + i, [Frame(b'P' + bytes_of(name), PROGRAM, pid=100 + i), Frame('main')]))
    return stacks


def expected(has_semicolons):
    totals = {'program': sum(1000 + i for i in range(len(NAMES))), 'main': sum(2000 + i for i in range(len(NAMES)))}
    for i, (name, shown, in_stack) in enumerate(NAMES):
        text = has_semicolons and in_stack or shown or name
        totals |= {text: 1000 + i, f'P{text}': 2000 + i}
    return totals


def sum_by_name(stacks):
    totals = collections.Counter()
    for frames, value in stacks:
        for name in set(frames):
            totals[name] += value
    return dict(totals)


def read_folded(path):
    lines = path.read_bytes().decode().split('\n')
    equal(lines.pop(), '', 'behind the last line')
    return sum_by_name((stack.split(';'), int(value)) for stack, value in (line.rsplit(' ', 1) for line in lines))


def read_csv(path):
    with open(path, encoding='utf-8', newline='') as file:
        rows = list(csv.DictReader(file, strict=True))
    assert all(None not in row and None not in row.values() for row in rows), 'each row has all columns'
    return sum_by_name((row['stack'].split(';'), int(row['value'])) for row in rows if row['value_type'] == VALUE_TYPE[0])


def read_pprof(path):
    return {name: int(whole) for name, (_, whole) in top(path)[1].items()}


def read_speedscope(path):
    file = json.loads(path.read_bytes().decode())
    names = [re.sub(r' \(\d+\)$', '', frame['name']) for frame in file['shared']['frames']]
    profile, = file['profiles']
    return sum_by_name(([names[frame] for frame in stack], weight)
                       for stack, weight in zip(profile['samples'], profile['weights'], strict=True))


def read_firefox(path):
    profile = FirefoxProfile(path)
    return sum_by_name(([frame.name for frame in frames], weight)
                       for thread in profile.threads for _, frames, weight in profile.samples(thread))


def read_perfetto(path):
    trace = Trace(path)
    return sum_by_name(([name for _, name in sample.stack], sample.period) for sample in trace.samples)


def read_svg(path):
    totals = collections.Counter()
    for title in xml.etree.ElementTree.parse(path).iter('{http://www.w3.org/2000/svg}title'):
        name, value = title.text.split('\n')
        totals[re.sub(r' \(\d+\)$', '', name)] += int(value.split()[0])
    return dict(totals)


def read_page(window, path):
    """By its keys, as somebody reads it who does not see it: each frame is said."""
    reader = Reader(window, path)
    totals = collections.Counter()

    def press(key):
        name, value = re.match(r'(.*?)(?: \(\d+\))?, Total ([\d,]+) \(', reader.press(key), re.DOTALL).groups()
        return name, int(value.replace(',', ''))

    for _ in 'programs', 'functions':
        here, before = press('ArrowUp'), None
        while here != before:
            here, before = press('ArrowLeft'), here
        before = None
        while here != before:
            totals[here[0]] += here[1]
            here, before = press('ArrowRight'), here
    equal(window.evaluate('document.title'), '</title><b> - iaprof', 'title')
    equal(window.wrong(), [], 'nothing of it was code')
    equal(reader.text('whole-sum'), f'{sum(value for _, value, _ in make_stacks()):,} samples', 'all')
    return dict(totals)


# A sink, its options, its file, whether stacks in it have semicolons between frames, and who reads it.
SINKS = (
    ('folded', [], 'out.folded', True, read_folded),
    ('csv', ['rows=stacks'], 'out.csv', True, read_csv),
    ('pprof', [], 'out.pb.gz', False, read_pprof),
    ('speedscope', ['title=</title><b>'], 'out.speedscope.json', False, read_speedscope),
    ('firefox', ['title=</title><b>'], 'out.firefox.json.gz', False, read_firefox),
    ('perfetto', [], 'out.pftrace', False, read_perfetto),
    ('flamegraph', ['format=svg', 'title=</title><b>'], 'out.svg', False, read_svg),
)


def names_are_harmless(sink, options, file_name, has_semicolons, read):
    path = write_profile(sink, pathlib.Path(file_name), [VALUE_TYPE], make_stacks(),
                         lost=[(3, 'a<b', '</script><script>throw 2</script>\n')], options=options)
    found, wanted = read(path), expected(has_semicolons)
    missing = {name[:60]: value for name, value in wanted.items() if found.pop(name, None) != value}
    equal((missing, {name[:60]: value for name, value in found.items()}), ({}, {}), 'what is missing, and what is too much')


def names_in_the_page(window):
    names_are_harmless('flamegraph', ['title=</title><b>'], 'out.html', False, functools.partial(read_page, window))


CASES = [(f'names in {" ".join([sink, *options])}', functools.partial(names_are_harmless, sink, options, *how))
         for sink, options, *how in SINKS]
PAGE_CASES = (names_in_the_page,)
WINDOW = 2600, 1000  # in which every name has room for a label

if __name__ == '__main__':
    sys.exit(run_file(CASES))
