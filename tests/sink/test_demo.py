#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The capture of the demonstration, which was made in the lab: every view of its page has what it should, and every other
reader has the same totals. TAP."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import browser
from stacks import Skip, equal, run_cases

CAPTURE = pathlib.Path(os.environ['TEST_SOURCE_FOLDER']) / 'examples/demo.iaprof'
VALUE_TYPES = 'gpu-stalls', 'cpu', 'npu-time', 'npu-calls'


def iaprof(*arguments):
    """-> what it said on standard error"""
    outcome = subprocess.run([os.environ['TEST_IAPROF'], '--replay', CAPTURE, *arguments], check=True,
                             stderr=subprocess.PIPE, encoding='utf-8')
    return outcome.stderr


def folded(value):
    """-> {stack: value}"""
    iaprof('-q', '-k', f'folded:value={value}', '-o', 'out.folded')
    lines = pathlib.Path('out.folded').read_text(encoding='utf-8').splitlines()
    return {stack: int(number) for stack, _, number in (line.rpartition(' ') for line in lines)}


def total(value):
    return sum(folded(value).values())


def the_page_has_every_view():
    said = iaprof()
    assert 'iaprof: wrote demo.html\n' in said, said
    if not browser.find():
        raise Skip('there is no Chromium')
    with browser.Browser() as window:
        window.open('demo.html')
        window.wait_for('document.documentElement.dataset.drawn')
        views = window.evaluate('[...document.querySelectorAll("#views button")].map(button => button.textContent)')
        equal(views, ['Flame graph', 'GPU code', 'NPU'], 'views')
        options = window.evaluate('[...document.getElementById("type").options].map(({ value, text }) => [value, text])')
        equal({text.split()[0] for _, text in options}, set(VALUE_TYPES), 'value types')
        assert not window.evaluate('document.getElementById("heat").hidden'), 'there is no heatmap'
        for value, text in options:
            window.evaluate(f'(() => {{ const type = document.getElementById("type"); type.value = {value!r};'
                            'type.dispatchEvent(new Event("change")); })()')
            facts = window.evaluate('document.getElementById("facts").textContent')
            if 'count' in text:
                assert f' {total(text.split()[0]):,} in all' in facts, f'{text}: {facts}'
            assert window.evaluate('document.getElementById("heat-resolution").textContent').startswith('Kept: '), text
        window.evaluate('document.querySelectorAll("#views button")[1].click()')
        functions = window.evaluate('[...document.querySelectorAll("#code-list tr")].map(row => '
                                    '[...row.cells].map(cell => cell.textContent))')
        stalls = {}
        for stack, number in folded('gpu-stalls').items():
            kernel = next(frame for frame in stack.split(';-;')[1].split(';') if frame.endswith('_[G]') and
                          '.cl' not in frame).removesuffix('_[G]')
            stalls[kernel] = stalls.get(kernel, 0) + number
        shown = {row[2]: int(row[0].replace(',', '')) for row in functions}
        equal(shown, stalls, 'stalls of kernels')
        facts = window.evaluate('document.getElementById("npu-facts").textContent')
        jobs = re.search(r'^jobs: (\d+) done, (\d+) aborted', said, re.M)
        if jobs:
            assert f'{jobs.group(1)} done, {jobs.group(2)} aborted' in facts, facts
        assert 'npu-ipc-storm' in window.evaluate('document.getElementById("findings").textContent')
        equal(window.wrong(), [], 'errors')


def pprof_has_the_same_totals():
    if not shutil.which('go'):
        raise Skip('there is no go')
    iaprof('-q', '-k', 'pprof', '-o', 'demo.pb.gz')
    for value in VALUE_TYPES:
        raw = subprocess.run(['go', 'tool', 'pprof', '-raw', f'-sample_index={value}', 'demo.pb.gz'], check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding='utf-8').stdout
        head, _, samples = raw.partition('Samples:\n')
        names = [name.split('/')[0] for name in samples.splitlines()[0].replace('[dflt]', '').split()]
        column = names.index(value)
        numbers = [line.partition(':')[0].split() for line in samples.partition('Locations')[0].splitlines()[1:]]
        equal(sum(int(row[column]) for row in numbers if row and all(number.isdecimal() for number in row)),
              total(value), f'{value}: {head[:80]}')


def flamegraph_pl_draws_it():
    program = os.environ.get('FLAMEGRAPH_PL') or shutil.which('flamegraph.pl')
    if not program:
        raise Skip('flamegraph.pl is not in the PATH, nor named by FLAMEGRAPH_PL')
    expected = total('gpu-stalls')
    picture = subprocess.run([program, 'out.folded'], check=True, stdout=subprocess.PIPE, encoding='utf-8').stdout
    assert f'<title>all ({expected:,} samples, 100%)</title>' in picture, picture[-2000:]


def others_read_it():
    """The formats' own tests have their readers; here, that there is something in each."""
    for sink, least in ('speedscope', 100000), ('perfetto', 10000), ('iaprof', 10000):
        iaprof('-q', '-k', sink, '-o', f'demo.{sink}')
        size = pathlib.Path(f'demo.{sink}').stat().st_size
        assert size > least, f'{sink}: {size} bytes'
    lines = pathlib.Path('demo.iaprof').read_text(encoding='utf-8').splitlines()
    rows = [line.split('\t') for line in lines if line.startswith('eustall\t')]
    equal(sum(sum(map(int, row[3:])) for row in rows), total('gpu-stalls'), 'stalls in the stream')


CASES = (the_page_has_every_view, pprof_has_the_same_totals, flamegraph_pl_draws_it, others_read_it)


if __name__ == '__main__':
    sys.exit(run_cases(CASES) != 0)
