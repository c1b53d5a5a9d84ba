#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page's table, callers, callees and focus against go tool pprof -top -cum, -peek and -focus of the same capture. TAP."""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

from reader import Reader, run_file
from stacks import NANOSECONDS, PROGRAM, Frame, Skip, equal, write_profile

DEMO = pathlib.Path(os.environ['TEST_SOURCE_FOLDER']) / 'examples/demo.iaprof'
ALL = '-nodecount=1000000', '-nodefraction=0', '-edgefraction=0'
UNITS = {'cpu': 'nanoseconds', 'gpu-stalls': 'count'}


def pprof(path, value, *arguments):
    if not shutil.which('go'):
        raise Skip('there is no go tool pprof')
    environment = {**os.environ, 'HOME': os.getcwd(), 'PPROF_TMPDIR': os.getcwd()}
    outcome = subprocess.run(['go', 'tool', 'pprof', *ALL, f'-sample_index={value}', f'-unit={UNITS[value]}', *arguments, path],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', env=environment, check=False)
    assert outcome.returncode == 0, f'pprof {arguments}: {outcome.stderr}'
    return outcome.stdout


def number(text):
    return int(re.match(r'\d+', text)[0])


def top(path, value, *arguments):
    """-> {function: (flat, cumulative)}"""
    rows = re.findall(r'^ *(\d\S*) +\S+% +\S+% +(\d\S*) +\S+%  (.*)$', pprof(path, value, '-top', '-cum', *arguments), re.MULTILINE)
    return {name: (number(flat), number(whole)) for flat, whole, name in rows}


def peek(path, value, function):
    """-> {caller: value}, {callee: value}"""
    callers, callees, found = {}, {}, None
    for line in pprof(path, value, '-peek', f'^{re.escape(function)}$').splitlines():
        edge = re.match(r'^ *(\d\S*) +\S+% \|   (.*)$', line)
        if re.match(r'^ *\d\S* +\S+% +\S+% +\d\S* +\S+% +\| ' + re.escape(function) + '$', line):
            found = True
        elif edge:
            (callees if found else callers)[edge[2]] = number(edge[1])
    assert found, f'pprof knows no {function}'
    return callers, callees


def both(capture):
    """-> the page and the pprof profile of a capture"""
    page, profile = pathlib.Path('page.html'), pathlib.Path('page.pb.gz')
    subprocess.run([os.environ['TEST_IAPROF'], '-q', '--replay', capture, '--sink', f'flamegraph:output={page}', '--sink',
                    f'pprof:output={profile},lines=no'], check=True)
    return page, profile


def functions_of(reader):
    """-> {name: (self, total)} of the table, without processes, whose names have their pid, and code without a name"""
    reader.evaluate('window.iaprof.table.most = 1e9, window.iaprof.table.fill()')
    rows = reader.evaluate('[...document.querySelectorAll("#table-body tbody tr")].map(row => [row.cells[0].title, '
                           '[...row.cells].slice(1, 3).map(cell => Number(cell.dataset.value))])')
    return {name: tuple(values) for name, values in rows
            if not re.search(r' \(\d+\)$', name) and not name.startswith('[')}


def around(reader, name):
    """-> {caller: value}, {callee: value}; the value of a program is that of all its processes"""
    reader.evaluate(f'window.iaprof.state.set({{ name: {name!r} }})')
    reader.drawn()
    equal(reader.text('sandwich-title'), name, 'what is chosen')
    found = reader.evaluate('(() => { const { sandwich } = window.iaprof.table, { frames } = window.iaprof.model;'
                            'return [sandwich.above(sandwich.callers), sandwich.below(sandwich.callees)].map(cells => '
                            'cells.map(({ frame, value }) => [frames.kind[frame], frames.names[frame], value])); })()')
    sums = []
    for cells in found:
        sums.append({})
        for kind, own, value in cells:
            # Lines and reasons of a kernel are no functions; Python's have the last kind.
            if (kind < 8 or kind == 14) and not own.startswith('['):
                sums[-1][own] = sums[-1].get(own, 0) + value
    return sums


def check(window, capture, value, focuses, limit):
    page, profile = both(capture)
    reader = Reader(window, page, f'#view=table&value={value}&sort=total')
    ours, theirs = functions_of(reader), top(profile, value)
    assert len(ours) >= 5, f'{value}: {len(ours)} functions'
    for name, (own, total) in ours.items():
        flat, cumulative = theirs[name]
        equal(total, cumulative, f'{value}: total of {name}')
        if value == 'cpu':  # to pprof, instructions of device code are functions
            equal(own, flat, f'{value}: self of {name}')
    shown = reader.texts('#table-body tbody td.name')
    equal(len(shown), len(set(shown)), 'rows')
    recursive = set(reader.evaluate('(() => { const { values } = window.iaprof.table, { view } = values, found = new Set();'
                                    'const { names } = window.iaprof.model.frames;'
                                    'for (let node = 1; node < view.count; node++)'
                                    '  for (let at = view.parent[node]; at > 0; at = view.parent[at])'
                                    '    if (view.frame[at] === view.frame[node]) found.add(names[view.frame[node]]);'
                                    'return [...found]; })()'))
    peeked = [name for name in ours if name not in recursive][:limit]
    assert len(peeked) >= 4, f'{value}: {peeked}'
    for name in peeked:
        callers, callees = peek(profile, value, name)
        found = around(reader, name)
        known = lambda sums: {name: value for name, value in sums.items() if not name.startswith('[')}
        equal(found[0], known(callers), f'{value}: callers of {name}')
        if all(callee in theirs and callee in ours for callee in callees):
            equal(found[1], known(callees), f'{value}: callees of {name}')
    for focus in focuses:
        reader = Reader(window, page, f'#view=table&value={value}&sort=total&focus=/^{focus}$/')
        ours, theirs = functions_of(reader), top(profile, value, f'-focus=^{focus}$')
        assert focus in ours, f'{focus}: {ours}'
        equal({name: total for name, (_, total) in ours.items()},
              {name: theirs[name][1] for name in ours}, f'{value}: totals with the focus on {focus}')
        page_sum = reader.evaluate('window.iaprof.table.values.total[0]')
        equal(page_sum, max(total for _, total in theirs.values()), f'all that the focus on {focus} leaves')
    equal(window.wrong(), [], 'errors')


def the_demonstration_has_the_numbers_of_pprof(window):
    folded = subprocess.run([os.environ['TEST_IAPROF'], '-q', '--replay', DEMO, '-k', 'folded:value=gpu-stalls'], check=True,
                            stdout=subprocess.PIPE, encoding='utf-8').stdout
    kernels = set(re.findall(r';-;(?:[^;]*_\[G\];)?([^;.]*)_\[G\]', folded))
    callers = set(re.findall(r';([a-z_]+);-;', folded))
    assert kernels and callers, folded[:500]
    check(window, DEMO, 'gpu-stalls', sorted(kernels)[:2] + sorted(callers)[:1], 12)
    check(window, DEMO, 'cpu', [], 5)


def recursion_counts_as_pprof_counts_it(window):
    for seed in range(2):
        chance = random.Random(seed)
        stacks = {}
        for _ in range(200):
            names = ('p', 'main', f'work{chance.randrange(3)}', *(f'f{int(chance.expovariate(0.35))}' for _ in
                                                                 range(chance.randrange(1, 7))), f'leaf{chance.randrange(4)}')
            stacks[names] = stacks.get(names, 0) + chance.randrange(1, 2000)
        capture = write_profile('capture', pathlib.Path('random.iaprof'), [NANOSECONDS], [
            (0, value, [Frame(names[0], PROGRAM), *map(Frame, names[1:])]) for names, value in stacks.items()])
        check(window, capture, 'cpu', ['f1', 'work1', 'leaf2'], 8)


PAGE_CASES = (the_demonstration_has_the_numbers_of_pprof, recursion_counts_as_pprof_counts_it)
WINDOW = 1280, 800

if __name__ == '__main__':
    sys.exit(run_file())
