#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink speedscope: its file by the rules of the format, and in speedscope itself where that is. TAP.

speedscope is no package of the distributions: npm install speedscope somewhere, and TEST_SPEEDSCOPE=.../node_modules/speedscope
in the environment has it open the files.
"""
import base64
import collections
import json
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True

import browser
from stacks import COUNT, NANOSECONDS, PROGRAM, Frame, equal, gpu_stack, run_cases, write_profile

NAMES = ['</script>', '"quoted" \\ back', '🔥', 'a' * 10000, b'\xff\xfe', b'\x1b[31m', 'new\nline', 'f(int&&)::g<T>', '\u2028']


def write(types, stacks, options=()):
    return write_profile('speedscope', pathlib.Path('out.speedscope.json'), types, stacks, options=options)


def read(path):
    """-> {profile's name: (unit, {stack, the root first: value})}, checked as the format's schema has it"""
    file = json.loads(path.read_text(encoding='utf-8'))
    equal(file['$schema'], 'https://www.speedscope.app/file-format-schema.json', 'schema')
    frames = file['shared']['frames']
    assert all(isinstance(frame['name'], str) and set(frame) <= {'name', 'file', 'line', 'col'} for frame in frames)
    found = {}
    for profile in file['profiles']:
        equal(profile['type'], 'sampled', 'type')
        assert profile['unit'] in ('none', 'nanoseconds', 'microseconds', 'milliseconds', 'seconds', 'bytes')
        equal(len(profile['samples']), len(profile['weights']), 'weights')
        equal((profile['startValue'], profile['endValue']), (0, sum(profile['weights'])), 'range')
        sums = collections.Counter()
        for stack, weight in zip(profile['samples'], profile['weights']):
            sums[tuple(frames[frame]['name'] for frame in stack)] += weight
        found[profile['name']] = profile['unit'], dict(sums)
    return found


def every_value_type_is_a_profile(_window):
    stacks = [(0, 600, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('left')]),
              (0, 300, [Frame('one', PROGRAM, pid=2), Frame('main')]),
              (1, 70, gpu_stack(7, 'attention', 'dpas', 'sbid', 16))]
    found = read(write([NANOSECONDS, COUNT, ('unused', 'count')], stacks))
    device = ('model (7)', 'main', 'attention', '-', 'tile.cl', 'matmul', 'dpas', 'sbid', '0x10')
    equal(found, {'cpu': ('nanoseconds', {('one (1)', 'main', 'left'): 600, ('one (2)', 'main'): 300}),
                  'gpu-stalls': ('none', {device: 70})}, 'profiles')


def hostile_names_are_text(_window):
    path = write([COUNT], [(0, 10, [Frame('program', PROGRAM), Frame(name)]) for name in NAMES], options=['title="\\'])
    (_, stacks), = read(path).values()
    equal(len(stacks), len(NAMES), 'stacks')
    assert not any(re.search('[\x00-\x1f\x7f\u2028]', name) for stack in stacks for name in stack), stacks


def an_empty_profile_is_a_file(_window):
    equal(read(write([COUNT], [])), {}, 'profiles')


def speedscope_shows_it(window):
    stacks = [(0, 600_000_000, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('left')]),
              (0, 300_000_000, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('right<T>')])]
    text = write([NANOSECONDS], stacks, options=['title=a run']).read_bytes()
    pathlib.Path('profile.js').write_text(
        f'speedscope.loadFileFromBase64("out.speedscope.json", "{base64.b64encode(text).decode()}")', encoding='ascii')
    page = pathlib.Path(os.environ['TEST_SPEEDSCOPE'], 'dist/release/index.html').resolve()
    window.call('Page.navigate', url=f'{page.as_uri()}#localProfilePath={pathlib.Path("profile.js").resolve()}')
    window.wait_for('document.body?.innerText.includes("Sandwich")')
    window.press('3')
    shown = window.wait_for('/left/.test(document.body.innerText) && document.body.innerText')
    for value, share, name in ('600.00ms', '67%', 'left'), ('300.00ms', '33%', 'right<T>'):
        assert re.search(rf'{value} \({share}\)\s+{value} \({share}\)\s+{re.escape(name)}', shown), shown
    assert 'a run' in shown or 'cpu' in window.evaluate('document.title + document.body.innerText'), shown


CASES = [every_value_type_is_a_profile, hostile_names_are_text, an_empty_profile_is_a_file]

if __name__ == '__main__':
    if os.environ.get('TEST_SPEEDSCOPE') and browser.find():
        with browser.Browser() as chromium:
            sys.exit(run_cases([*CASES, speedscope_shows_it], chromium) != 0)
    sys.exit(run_cases(CASES, None) != 0)
