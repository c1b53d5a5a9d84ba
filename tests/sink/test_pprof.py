#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink pprof by go tool pprof: totals, stacks, labels, lines, and views of CPU, GPU and NPU profiles. TAP."""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

from stacks import COUNT, LINUX_KERNEL, NANOSECONDS, PROGRAM, Frame, equal, gpu_stack, run_cases, write_profile

INLINED = 1


def pprof(path, *arguments):
    environment = {**os.environ, 'HOME': os.getcwd(), 'PPROF_TMPDIR': os.getcwd()}
    outcome = subprocess.run(['go', 'tool', 'pprof', *arguments, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding='utf-8', env=environment, check=False)
    assert outcome.returncode == 0, f'pprof {arguments}: {outcome.stderr}'
    return outcome.stdout


def traces(path, *arguments):
    """-> {stack, the leaf first: value}, from what pprof -traces says in plain numbers"""
    found, stack, value = collections.Counter(), [], None
    for line in pprof(path, '-traces', *arguments).splitlines() + ['-----------+']:
        if line.startswith('-----------+'):
            if stack:
                found[tuple(stack)] += value
            stack, value = [], None
        elif match := re.match(r'^ *([0-9.]+)([a-zA-Zµ]*)   (\S.*)$', line) if value is None else None:
            value = float(match[1])
            stack.append(match[3])
        elif value is not None and line.strip():
            stack.append(line.strip())
    return {stack: value for stack, value in found.items() if value}


def top(path, *arguments):
    """-> total, {function: (flat, cumulative)}"""
    text = pprof(path, '-top', '-nodecount=100000', '-nodefraction=0', *arguments)
    total = re.search(r'of ([0-9.]+)\S* total|Total samples = ([0-9.]+)', text)
    rows = re.findall(r'^ *([0-9.]+)\S* +[0-9.]+% +[0-9.]+% +([0-9.]+)\S* +[0-9.]+%  (.*)$', text, re.MULTILINE)
    return float(total[1] or total[2]), {name: (float(flat), float(whole)) for flat, whole, name in rows}


def totals_and_stacks_are_ours():
    stacks = [(0, 600, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('left')]),
              (0, 300, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('right')]),
              (0, 50, [Frame('one', PROGRAM, pid=2), Frame('main'), Frame('right')]),
              (0, 100, [Frame('two', PROGRAM, pid=3), Frame('sys_read', LINUX_KERNEL)])]
    path = write_profile('pprof', 'p.pb.gz', [COUNT], stacks, lost=[(7, 'source', 'ring full')])
    total, rows = top(path)
    equal(total, 1050, 'total')
    equal(rows, {'left': (600, 600), 'right': (350, 350), 'sys_read': (100, 100), 'main': (0, 950), 'one': (0, 950),
                 'two': (0, 100)}, 'functions')
    equal(traces(path), {('left', 'main', 'one'): 600, ('right', 'main', 'one'): 350, ('sys_read', 'two'): 100}, 'stacks')
    equal(top(path, '-tagfocus=pid=2')[1]['right'], (50, 50), 'of a process')
    assert 'source: ring full: 7 lost' in pprof(path, '-comments'), pprof(path, '-comments')


def stall_reasons_are_labels_or_types():
    stacks = [(0, 5000, [Frame('model', PROGRAM), Frame('main')]),
              (1, 500, gpu_stack(7, 'attention', 'dpas', 'sbid', 16)),
              (1, 200, gpu_stack(7, 'attention', 'dpas', 'send', 16)),
              (1, 300, gpu_stack(7, 'ffn', 'mov', 'sbid', 32))]
    path = write_profile('pprof', 'p.pb.gz', [NANOSECONDS, COUNT], stacks)
    equal(traces(path), {('dpas', 'matmul', 'attention', 'main', 'model'): 700, ('mov', 'matmul', 'ffn', 'main', 'model'): 300},
          'a device\'s stacks, which are shown first')
    equal(top(path, '-tagfocus=reason=sbid')[0:1], (1000.0,), 'the total stays')
    equal(top(path, '-tagfocus=reason=sbid')[1]['dpas'], (500, 500), 'of a reason')
    raw = pprof(path, '-raw')
    assert re.search(r'0x10 M=\d+ dpas tile\.cl:0', raw) and re.search(r'0x20 M=\d+ mov tile\.cl:0', raw), raw
    assert 'GPU kernel matmul' in raw, raw
    equal(top(path, '-sample_index=cpu')[1]['main'], (5, 5), 'the CPU\'s values, in microseconds')
    path = write_profile('pprof', 'p.pb.gz', [NANOSECONDS, COUNT], stacks, options=['reasons=types'])
    equal(top(path, '-sample_index=gpu-stalls/sbid')[0], 800, 'a reason as a type')
    equal(top(path, '-sample_index=gpu-stalls/send')[1]['dpas'], (200, 200), 'a reason as a type')


def inlined_functions_and_lines_are_listed():
    pathlib.Path('tile.c').write_text(''.join(f'line {i}\n' for i in range(1, 20)), encoding='ascii')
    source = f'{os.getcwd()}/tile.c'
    stacks = [(0, 10, [Frame('one', PROGRAM), Frame('outer', line=3, file=source), Frame('inner', flags=INLINED, line=7, file=source)]),
              (0, 5, [Frame('one', PROGRAM), Frame('outer', line=4, file=source)])]
    path = write_profile('pprof', 'p.pb.gz', [COUNT], stacks)
    equal(traces(path), {('inner (inline)', 'outer', 'one'): 10, ('outer', 'one'): 5}, 'stacks')
    listed = pprof(path, '-list=outer|inner', '-lines')
    for number, values in (7, r'10 +10'), (3, r'\. +10'), (4, r'5 +5'):
        assert re.search(rf'^ *{values} +{number}:line {number}$', listed, re.MULTILINE), f'{number}: {listed}'


def every_view_opens():
    """Of what iaprof itself profiles: a trace of the NPU's driver, in which the calls are known."""
    lines = ['kprobe:intel_vpu:ivpu_open', *['kprobe:intel_vpu:ivpu_bo_create_ioctl', 'kprobe:intel_vpu:ivpu_bo_pin'] * 40,
             *['kprobe:intel_vpu:ivpu_submit_ioctl'] * 20]
    pathlib.Path('npu.txt').write_text('\n'.join(lines) + '\n', encoding='ascii')
    subprocess.run([os.environ['TEST_IAPROF'], '-s', 'ivpu:input=npu.txt', '-k', 'pprof:output=npu.pb.gz', '-k',
                    'folded:output=npu.folded'], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ours = sum(int(line.rsplit(' ', 1)[1]) for line in pathlib.Path('npu.folded').read_text(encoding='utf-8').splitlines())
    total, rows = top('npu.pb.gz', '-sample_index=npu-calls')
    equal((total, ours), (101, 101), 'calls')
    equal(rows['ivpu_submit_ioctl'][0], 20, 'calls of a function')
    for view in '-raw', '-dot', '-tree', '-peek=.', '-callgrind':
        assert pprof('npu.pb.gz', view), f'{view} is empty'
    if shutil.which('dot'):
        assert '<svg' in pprof('npu.pb.gz', '-svg', '-output=/dev/stdout')


def hostile_names_are_harmless():
    names = ['</script>', '"quoted" \\ back', '🔥', 'a' * 10000, b'\xff\xfe', b'\x1b[31m', 'new\nline', 'f(int&&)::g<T>']
    stacks = [(0, 10, [Frame('program', PROGRAM), Frame(name)]) for name in names]
    path = write_profile('pprof', 'p.pb.gz', [COUNT], stacks)
    total, rows = top(path)
    equal((total, len(rows)), (80, 9), 'functions')
    assert not re.search('[\x00-\x09\x0b-\x1f\x7f]', pprof(path, '-raw')), 'control characters'


def an_empty_profile_is_read():
    path = write_profile('pprof', 'p.pb.gz', [COUNT], [])
    assert 'gpu-stalls/count' in pprof(path, '-raw'), pprof(path, '-raw')


CASES = (totals_and_stacks_are_ours, stall_reasons_are_labels_or_types, inlined_functions_and_lines_are_listed,
         every_view_opens, hostile_names_are_harmless, an_empty_profile_is_read)

if __name__ == '__main__':
    if not shutil.which('go'):
        print('1..0 # SKIP there is no go tool pprof')
        sys.exit(0)
    sys.exit(run_cases(CASES) != 0)
