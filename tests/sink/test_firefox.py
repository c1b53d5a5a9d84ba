#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink firefox: its profiles by a schema of Firefox Profiler's types (firefox_profile.schema.json), their tables,
and threads, times, weights, categories and files by what they were made of. TAP."""
import collections
import fractions
import os
import pathlib
import subprocess
import sys
import uuid

from firefox_profile import FirefoxProfile
from stacks import (CALL, COUNT, FUNCTION, JIT, LINUX_KERNEL, LOST, NANOSECONDS, PROGRAM, UNKNOWN, Frame, Times, equal,
                    gpu_stack, module, record, run_cases, write_profile)

MS, SECOND = 1_000_000, 1_000_000_000
INLINED = 1


def write(types, stacks, options=(), **how):
    return FirefoxProfile(write_profile('firefox', pathlib.Path('out.json.gz'), types, stacks, options=options, **how))


def names(profile, thread):
    return [(tuple(frame.name for frame in frames), weight) for _, frames, weight in profile.samples(thread)]


def a_process_has_a_thread_for_each_value_type():
    """The hottest process is first, and in it what the viewer shows first."""
    profile = write([NANOSECONDS, (*COUNT, 'EU'), ('unused', 'count')], [
        (0, 600 * MS + 1, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('left')]),
        (0, 300, [Frame('two', PROGRAM, pid=2), Frame('main')]), (1, 70, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)),
        (0, 5, [Frame('model', PROGRAM, pid=7), Frame('main')])])
    equal([(thread['processName'], thread['pid'], thread['name'], thread['samples']['weightType'],
            thread['isMainThread']) for thread in profile.threads],
          [('model', '7', 'GPU samples (EU-time)', 'samples', True), ('model', '7', 'CPU time', 'tracing-ms', False),
           ('one', '1', 'CPU time', 'tracing-ms', True), ('two', '2', 'CPU time', 'tracing-ms', True)], 'threads')
    equal([names(profile, thread) for thread in profile.threads],
          [[(('model', 'main', 'attention', '-', 'tile.cl', 'matmul', 'dpas', 'sbid', '0x10'), 70)],
           [(('model', 'main'), fractions.Fraction('0.000005'))],
           [(('one', 'main', 'left'), fractions.Fraction('600.000001'))],
           [(('two', 'main'), fractions.Fraction('0.0003'))]], 'samples')
    equal(profile.meta['initialSelectedThreads'], [0], 'selected thread')
    equal(profile.meta['initialVisibleThreads'], [0, 2], 'threads with half a percent or more')


def samples_have_times():
    """In ms since the run began, at 1000 ns; samples of a slot are spread over it."""
    left, right = ([Frame('one', PROGRAM, pid=1), Frame(name)] for name in ('left', 'right'))
    profile = write([COUNT], [(0, 5, left, 3 * SECOND), (0, 7, left, SECOND), (0, 1, right, SECOND)],
                    times=Times(end=5 * SECOND, width=20 * MS))
    thread, = profile.threads
    begin = fractions.Fraction('0.001')
    equal([(time + begin, frames[-1].name, weight) for time, frames, weight in profile.samples(thread)],
          [(1000, 'left', 7), (1010, 'right', 1), (3000, 'left', 5)], 'samples')
    equal((profile.meta['interval'], profile.meta['profilingEndTime']), (20, 5000 - begin), 'interval and end')


def without_times_samples_are_spread_over_the_run():
    profile = write([COUNT], [(0, number, [Frame('one', PROGRAM, pid=1), Frame(f'f{number}')]) for number in (4, 3)],
                    duration=10 * SECOND)
    thread, = profile.threads
    equal([(time, weight) for time, _, weight in profile.samples(thread)], [(0, 4), (5000, 3)], 'samples')


def categories_are_those_of_the_code():
    program = Frame('one', PROGRAM, pid=1)
    expected = {'Linux kernel': ([program, Frame('read', LINUX_KERNEL)], 'orange'),
                'User': ([program, Frame('main')], 'yellow'), 'JIT': ([program, Frame('lambda', JIT)], 'lightblue'),
                'Driver call': ([program, Frame('ioctl', CALL)], 'lightred'),
                'GPU': ([program, Frame('matmul', FUNCTION)], 'blue'),
                'Data dependency': (gpu_stack(1, 'attention', 'dpas', 'sbid', 16), 'red'),
                'Issuing': (gpu_stack(1, 'attention', 'dpas', 'active', 16), 'green'),
                'Barrier': (gpu_stack(1, 'attention', 'dpas', 'sync', 16), 'orange'),
                'Other': ([program], 'grey'), 'Lost': ([Frame('[lost]', LOST), Frame('ivpu', LOST)], 'darkgrey')}
    profile = write([COUNT], [(0, number, frames) for number, (frames, _) in enumerate(expected.values(), 1)])
    found = {weight: frames[-1].category for thread in profile.threads for _, frames, weight in profile.samples(thread)}
    equal(found, dict(enumerate(expected, 1)), 'category of each stack')
    colors = {category['name']: category['color'] for category in profile.meta['categories']}
    equal({name: colors[name] for name in expected}, {name: color for name, (_, color) in expected.items()}, 'colours')
    equal(len(colors), len(profile.meta['categories']), 'names of categories')


def functions_have_their_files_and_lines():
    build_id = '7e020766d0d619f9f6d51969dbd3784bcc6e5e3b'
    stacks = [module('/usr/bin/one', build_id), (0, 10, [
        Frame('one', PROGRAM), Frame('outer', file='/src/one.c', line=3),
        Frame('inner', flags=INLINED, file='/src/one.h', line=7), Frame('[unknown]', flags=UNKNOWN)])]
    profile = write([COUNT], stacks, options=['lines=yes'])
    (_, frames, _), = profile.samples(profile.threads[0])
    equal([tuple(frame)[:4] for frame in frames],
          [('one', None, None, None), ('outer', '/src/one.c', 'one', 3), ('inner', '/src/one.h', 'one', 7),
           ('[one]', None, 'one', None)], 'frames')
    library, = profile.file['libs']
    equal((library['name'], library['path'], library['codeId']), ('one', '/usr/bin/one', build_id), 'file')
    equal(library['breakpadId'], uuid.UUID(bytes_le=bytes.fromhex(build_id)[:16]).hex.upper() + '0', 'its Breakpad ID')
    profile = write([COUNT], stacks)
    equal(names(profile, profile.threads[0]), [(('one', 'outer', '[one]'), 10)], 'without lines')


def counters_have_their_changes():
    """A level begins with its value; of a sum, the first value is no change."""
    records = [record('device', source=1, id=1, name='GPU'),
               *(record('counter', source=1, id=number, name=name, unit=unit, kind=number, device=1)
                 for number, name, unit in ((1, 'memory', 'bytes'), (2, 'rows', 'rows'))),
               *(record('counter_value', source=1, time=SECOND * time, counter=number, value=value)
                 for time, number, value in ((1, 1, 500), (2, 1, 300), (3, 1, 900), (1, 2, 70), (2, 2, 75)))]
    profile = write([COUNT], [(0, 1, [Frame('one', PROGRAM, pid=1)])], records=records)
    found = {counter['name']: (counter['display']['label'], counter['display']['graphType'],
                               counter['samples']['count']) for counter in profile.file['counters']}
    equal(found, {'memory': ('GPU: memory (bytes)', 'line-accumulated', [500, -200, 600]),
                  'rows': ('GPU: rows (rows)', 'line-rate', [0, 5])}, 'counters')
    times = [time + fractions.Fraction('0.001') for time in profile.file['counters'][0]['samples']['time']]
    equal(times, [1000, 2000, 3000], 'times')


def time_of_a_device_is_shown_before_its_samples():
    stack = gpu_stack(7, 'attention', 'dpas', 'sbid', 16)
    profile = write([COUNT, ('gpu-time', 'nanoseconds')], [(0, 70, stack), (1, MS, stack)])
    equal([(thread['name'], thread['samples']['weightType']) for thread in profile.threads],
          [('GPU time', 'tracing-ms'), ('GPU samples', 'samples')], 'threads')
    equal(profile.meta['initialSelectedThreads'], [0], 'selected thread')


def code_of_a_device_is_called_by_its_kind():
    for name, wanted in ('gpu-stalls', 'GPU'), ('npu-stalls', 'NPU'), ('stalls', 'Device'):
        profile = write([(name, 'count')], [(0, 70, gpu_stack(7, 'attention', 'dpas', 'sbid', 16))])
        (_, frames, _), = profile.samples(profile.threads[0])
        equal([frame.category for frame in frames if frame.name == 'matmul'], [wanted], 'category')
        equal(profile.threads[0]['name'], f'{wanted} samples'.replace('Device', 'device'), 'thread')


def losses_are_reported():
    profile = write([COUNT], [], lost=[(3, 'ivpu', 'ring full')])
    extra = {section['label']: section['entries'] for section in profile.meta['extra']}
    equal(extra['Lost'], [{'label': 'ivpu: ring full', 'format': 'string', 'value': '3'}], 'losses')
    equal(profile.threads, [], 'threads of an empty profile')


def the_title_names_the_profile():
    equal(write([COUNT], [], options=['title=a <run>']).meta['product'], 'a <run>', 'product')


def the_demo_is_its_folded_stacks():
    demo = pathlib.Path(os.environ['TEST_SOURCE_FOLDER'], 'examples/demo.iaprof')
    subprocess.run([os.environ['TEST_IAPROF'], '-q', '--replay', demo, '-k', 'firefox:output=demo.json.gz,step=1s', '-k',
                    'folded:output=demo.folded,annotate=no,pid=no'], check=True)
    found = collections.defaultdict(collections.Counter)
    for thread, stacks in FirefoxProfile('demo.json.gz').values().items():
        found[thread.rpartition(': ')[2]].update(stacks)  # "python3: CPU time", a thread's samples of one value type
    files = {'NPU driver time': 'npu-time', 'NPU driver calls': 'npu-calls', 'CPU time': 'cpu',
             'GPU samples': 'gpu-stalls'}
    for name, stacks in found.items():
        wanted = collections.Counter()
        for line in pathlib.Path(f'demo.{files[name]}.folded').read_text(encoding='utf-8').splitlines():
            stack, value = line.rsplit(' ', 1)
            wanted[tuple(stack.split(';'))] += int(value)
        equal(dict(stacks), dict(wanted), name)
    equal(set(found), set(files), 'value types')


CASES = (a_process_has_a_thread_for_each_value_type, samples_have_times, without_times_samples_are_spread_over_the_run,
         categories_are_those_of_the_code, functions_have_their_files_and_lines, counters_have_their_changes,
         time_of_a_device_is_shown_before_its_samples, code_of_a_device_is_called_by_its_kind, losses_are_reported,
         the_title_names_the_profile, the_demo_is_its_folded_stacks)

if __name__ == '__main__':
    sys.exit(run_cases(CASES) != 0)
