#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink summary: its JSON is valid by its schema, and its numbers are those of the stacks. TAP."""
import json
import os
import pathlib
import subprocess
import sys

from stacks import (COUNT, FUNCTION, LIBRARY, NANOSECONDS, PROGRAM, REASON, SEPARATOR, WAIT, Frame, equal, gpu_stack, record,
                    run_cases, write_profile)

try:
    import jsonschema
except ImportError:
    print('1..0 # SKIP no python3-jsonschema')
    sys.exit(0)

SOURCE = pathlib.Path(os.environ['TEST_SOURCE_FOLDER'])
SCHEMA = json.loads((SOURCE / 'plugins/sink-summary/summary.schema.json').read_text(encoding='utf-8'))


def summary(types, stacks, lost=()):
    path = write_profile('summary', pathlib.Path('out.json'), types, stacks, lost, options=['format=json'])
    found = json.loads(path.read_text(encoding='utf-8'))
    jsonschema.validate(found, SCHEMA)
    return found


def gpu_time_is_explained():
    found = summary([NANOSECONDS, COUNT], [
        (0, 9000, [Frame('model', PROGRAM), Frame('main')]), (1, 700, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)),
        (1, 100, gpu_stack(7, 'attention', 'mov', 'active', 32)), (1, 200, gpu_stack(7, 'norm', 'mov', 'sync', 0))],
        lost=[(3, 'source', 'ring full')])
    equal([found['value_type'], found['total'], found['stalled'], found['matched']], ['gpu-stalls', 1000, 900, 1000],
          'sums')
    equal([(kernel['name'], kernel['value'], kernel['reasons']) for kernel in found['kernels']],
          [('matmul', 1000, {'Data dependency': 700, 'Barrier': 200, 'Issuing': 100})], 'kernels')
    equal(found['kernels'][0]['launched_by'], {'name': 'attention'}, 'who launched most of it')
    equal([(cause['kernel'], cause['hardware_name'], cause['value'], cause['share']) for cause in found['causes']],
          [('matmul', 'sbid', 700, 0.7), ('matmul', 'sync', 200, 0.2)], 'causes')
    equal(found['lost'], [{'source': 'source', 'reason': 'ring full', 'count': 3, 'is_complete': True}], 'losses')


def idle_time_has_reasons():
    kernel = [Frame('model', PROGRAM), Frame('-', SEPARATOR), Frame('gemm', FUNCTION)]
    waits = [(1, value, [Frame('model', PROGRAM), Frame('load'), Frame(reason, WAIT), Frame('[GPU idle]', WAIT)])
             for reason, value in (('[disk]', 300), ('[running]', 600))]
    found = summary([('gpu-time', 'nanoseconds'), ('gpu-idle', 'nanoseconds')], [(0, 100, kernel), *waits])
    equal((found['total'], found['idle']), (100, 900), 'times')
    equal(found['idle_reasons'], [{'name': '[running]', 'value': 600}, {'name': '[disk]', 'value': 300}], 'reasons')


def kernels_have_their_use_of_the_device():
    """Of samples per time; 99 samples are too few, and a kernel without any has no number."""
    kernels = {'narrow': (800, 120), 'wide': (100, 1200), 'few': (90, 99), 'none': (10, 0)}
    stacks = [(i, values[i], [Frame('p', PROGRAM), Frame('-', SEPARATOR), Frame(name, FUNCTION), Frame('sbid', REASON)])
              for name, values in kernels.items() for i in (0, 1) if values[i]]
    found = summary([('gpu-time', 'nanoseconds'), COUNT], stacks)
    equal({kernel['name']: kernel.get('device_use') for kernel in found['kernels']},
          {'narrow': 0.0125, 'wide': 1, 'few': None, 'none': None}, 'use')
    equal(found['fullest_kernel'], 'wide', 'compared with')
    assert 'fullest_kernel' not in summary([('gpu-time', 'nanoseconds')], stacks[:1]), 'without samples'


def cpu_time_is_by_function():
    found = summary([NANOSECONDS], [(0, 600, [Frame('one', PROGRAM), Frame('main'), Frame('hot')]),
                                    (0, 300, [Frame('one', PROGRAM), Frame('main')])])
    equal([(function['name'], function['value']) for function in found['functions']], [('hot', 600), ('main', 300)],
          'functions')
    equal(found['causes'], [], 'causes')


def the_answer_is_a_function_of_the_program():
    malloc = Frame('malloc', flags=LIBRARY, kernel_class='allocation')
    found = summary([NANOSECONDS], [(0, 600, [Frame('one', PROGRAM), Frame('main'), Frame('hot', file='/src/hot.c', line=7), malloc]),
                                    (0, 100, [Frame('one', PROGRAM), Frame('main'), Frame('hot', file='/src/hot.c', line=9)]),
                                    (0, 300, [Frame('two', PROGRAM), Frame('main')])])
    equal(found['answer'], {'program': 'one', 'function': {'name': 'hot', 'file': '/src/hot.c', 'line': 7}, 'line_value': 600, 'value': 700, 'share': 0.7,
                            'spent_in': [{'name': 'allocation', 'value': 600}, {'name': 'its own code', 'value': 100}]}, 'answer')
    equal(found['programs'], [{'name': 'one', 'value': 700}, {'name': 'two', 'value': 300}], 'programs')
    assert 'idle_waits' not in found, found


def waits_have_reasons_without_idle_ones():
    poll = Frame('uv__io_poll', flags=LIBRARY, kernel_class='idle')
    found = summary([('off-cpu', 'nanoseconds')], [(0, 600, [Frame('one', PROGRAM), Frame('work'), Frame('[disk]', WAIT)]),
                                                   (0, 300, [Frame('one', PROGRAM), Frame('work'), Frame('[lock]', WAIT)]),
                                                   (0, 5000, [Frame('one', PROGRAM), Frame('main'), poll, Frame('[poll]', WAIT)])])
    equal(found['wait_reasons'], [{'name': 'the disk', 'value': 600}, {'name': 'locks', 'value': 300}], 'reasons')
    equal((found['total'], found['idle_waits'], found['answer']['share']), (5900, 5000, 1), 'sums')


def the_text_has_warnings_and_losses():
    path = write_profile('summary', pathlib.Path('out.txt'), [COUNT],
                         [(0, 100, gpu_stack(7, 'attention', 'dpas', 'sbid', 16))],
                         lost=[(3, 'source', 'ring full')],
                         records=[record('finding', name='storm', text='900 messages: send fewer', severity=2, time=1),
                                  record('finding', name='usual', text='all is well', severity=1, time=1)])
    lines = path.read_text(encoding='utf-8').splitlines()
    equal(lines[-2:], ['Storm: 900 messages: send fewer.', 'lost: source: ring full: 3'], 'the end')
    assert not any('usual' in line for line in lines), lines


def tables(form):
    stacks = [(0, 600, [Frame('one', PROGRAM), Frame('main'), Frame('hot')]),
              (1, 100, gpu_stack(7, 'attention', 'dpas', 'sbid', 16))]
    records = [record('finding', name='storm', text='900 messages: send fewer', severity=2, time=1),
               record('finding', name='use', text='|| jobs | phase', severity=1, time=1),
               record('finding', name='use of boot', text='| 12 | boot', severity=1, time=1)]
    return write_profile('summary', pathlib.Path('out.txt'), [NANOSECONDS, COUNT], stacks, records=records,
                         options=form).read_text(encoding='utf-8')


def tables_are_apart():
    text = tables(['format=functions'])
    assert '\n100.00% 100.00%  hot\n' in text and 'gpu-stalls: 100 count' in text and 'Hottest stacks' in text, text
    assert 'gpu-stalls' not in tables(['format=functions', 'value=cpu']), 'another value type'
    equal(tables(['format=calls']), 'jobs  phase\n  12  boot\n\n', 'tables of a source')
    text = tables(['format=stalls'])
    assert text.startswith('100 % of GPU samples ') and 'Storm' not in text, text


def names_are_json():
    name = '"},\n{"\\u0041\x1b[31m'
    found = summary([NANOSECONDS], [(0, 600, [Frame('one', PROGRAM), Frame(name)])])
    equal(len(found['functions']), 1, 'functions')


def nothing_is_valid():
    found = summary([], [])
    equal([found['total'], found['functions']], [0, []], 'nothing')


def the_demo_is_valid():
    capture = SOURCE / 'examples/demo.iaprof'
    output = subprocess.run([os.environ['TEST_IAPROF'], '-q', '--replay', capture, '-k', 'summary:format=json', '-o', '-'],
                            stdout=subprocess.PIPE, check=True).stdout
    found = json.loads(output)
    jsonschema.validate(found, SCHEMA)
    equal(sum(kernel['value'] for kernel in found['kernels']), found['matched'], 'all kernels')
    assert found['findings'], found


CASES = [gpu_time_is_explained, idle_time_has_reasons, kernels_have_their_use_of_the_device, cpu_time_is_by_function, the_answer_is_a_function_of_the_program,
         waits_have_reasons_without_idle_ones, the_text_has_warnings_and_losses,
         tables_are_apart, names_are_json, nothing_is_valid, the_demo_is_valid]

if __name__ == '__main__':
    sys.exit(run_cases(CASES) != 0)
