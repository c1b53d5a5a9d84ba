#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink pprof by go tool pprof: totals, stacks, labels, lines, and views of CPU, GPU and NPU profiles. TAP."""
import collections
import contextlib
import html
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import xml.etree.ElementTree

from stacks import (COUNT, FUNCTION, INSTRUCTION, LINUX_KERNEL, NANOSECONDS, PROGRAM, UNKNOWN, Frame, Skip, Span, equal,
                    gpu_stack, module, run_cases, wait_until, write_profile)

INLINED = 1


def pprof(path, *arguments):
    if not shutil.which('go'):
        raise Skip('there is no go tool pprof')
    environment = {**os.environ, 'HOME': os.getcwd(), 'PPROF_TMPDIR': os.getcwd()}
    outcome = subprocess.run(['go', 'tool', 'pprof', *arguments, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding='utf-8', env=environment, check=False)
    assert outcome.returncode == 0, f'pprof {arguments}: {outcome.stderr}'
    return outcome.stdout


def traces(path, *arguments):
    """-> {stack, the leaf first: value}, from pprof -traces in plain numbers"""
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


def spans_are_labels_on_request():
    trace, ids = '0af7651916cd43dd8448eb211c80319c', ('00f067aa0ba902b7', '1234567890123456')
    stack = [Frame('one', PROGRAM, pid=1), Frame('main')]
    stacks = [(0, 600, [Span(trace, ids[0]), *stack]), (0, 300, [Span(trace, ids[1]), *stack]), (0, 50, stack)]
    path = write_profile('pprof', 'p.pb.gz', [COUNT], stacks, options=['spans=yes'])
    equal(top(path)[1]['main'], (950, 950), 'all')
    equal(top(path, f'-tagfocus=span_id={ids[0]}')[1]['main'], (600, 600), 'a span')
    equal(top(path, f'-tagfocus=trace_id={trace}')[1]['main'], (900, 900), 'a trace')
    path = write_profile('pprof', 'p.pb.gz', [COUNT], stacks)
    equal(traces(path), {('main', 'one'): 950}, 'stacks')
    assert 'span_id' not in pprof(path, '-raw'), 'a span that nobody wants'


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


def time_of_a_device_is_the_default():
    """Samples are counts, and a comment states what they count."""
    stack = gpu_stack(7, 'attention', 'dpas', 'sbid', 16)
    types = [NANOSECONDS, (*COUNT, 'scheduler'), ('gpu-time', 'nanoseconds'), ('npu-stalls', 'count')]
    path = write_profile('pprof', 'p.pb.gz', types, [(0, 10**10, [Frame('model', PROGRAM)]), (1, 5000, stack),
                                                     (2, 3 * 10**6, stack), (3, 1, stack)])
    raw = pprof(path, '-raw')
    assert 'cpu/nanoseconds gpu-stalls/count gpu-time/nanoseconds[dflt] npu-stalls/count' in raw, raw
    equal([line for line in pprof(path, '-comments').splitlines() if line], [
        'gpu-stalls: GPU samples (scheduler-time)', 'gpu-time: GPU time', 'npu-stalls: NPU samples'], 'comments')
    path = write_profile('pprof', 'p.pb.gz', [('npu-stalls', 'count')], [(0, 1, stack)])
    assert 'NPU kernel matmul' in pprof(path, '-raw'), 'an NPU is called a GPU'


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


def npu_capture():
    """Of what iaprof itself profiles: a trace of the NPU's driver, in which the calls are known, 101 of them."""
    lines = ['kprobe:intel_vpu:ivpu_open', *['kprobe:intel_vpu:ivpu_bo_create_ioctl', 'kprobe:intel_vpu:ivpu_bo_pin'] * 40,
             *['kprobe:intel_vpu:ivpu_submit_ioctl'] * 20]
    pathlib.Path('npu.txt').write_text('\n'.join(lines) + '\n', encoding='ascii')
    subprocess.run([os.environ['TEST_IAPROF'], '-s', 'ivpu-trace:input=npu.txt', '-k', 'pprof:output=npu.pb.gz', '-k',
                    'folded:output=npu.folded'], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ours = sum(int(line.rsplit(' ', 1)[1]) for line in pathlib.Path('npu.folded').read_text(encoding='utf-8').splitlines())
    equal(ours, 101, 'calls')
    return 'npu.pb.gz'


def gpu_profile():
    """A kernel whose source is at hand: 700 stalls in line 7, 300 in line 9."""
    pathlib.Path('tile.cl').write_text(''.join(f'line {i}\n' for i in range(1, 20)), encoding='ascii')
    source = f'{os.getcwd()}/tile.cl'
    stacks = [(0, value, gpu_stack(7, caller, instruction, reason, offset))
              for value, caller, instruction, reason, offset in ((500, 'attention', 'dpas', 'sbid', 16),
                                                                 (200, 'attention', 'dpas', 'send', 16),
                                                                 (300, 'ffn', 'mov', 'sbid', 32))]
    for _, _, frames in stacks:
        for frame in frames:
            if frame.kind in (FUNCTION, INSTRUCTION):
                frame.file, frame.line = source, 9 if frame.name == 'mov' else 7
    return write_profile('pprof', 'gpu.pb.gz', [COUNT], stacks)


def cpu_profile():
    stacks = [(0, 600, [Frame('one', PROGRAM, pid=1), Frame('main'), Frame('left')]),
              (0, 350, [Frame('one', PROGRAM, pid=2), Frame('sys_read', LINUX_KERNEL)])]
    return write_profile('pprof', 'cpu.pb.gz', [('samples', 'count')], stacks)


# Of each a value type, a function, what ends in it, and the total, by what the profiles are made of.
RUNS = ((cpu_profile, 'samples', 'left', 600, 950), (gpu_profile, 'gpu-stalls', 'dpas', 700, 1000),
        (npu_capture, 'npu-calls', 'ivpu_submit_ioctl', 20, 101))


def sum_of_raw(path, value_type):
    """Of the numbers of a value type, which pprof -raw prints as they are in the file."""
    types, samples = pprof(path, '-raw').split('Samples:\n')[1].split('\n', 1)
    column = [name.split('/')[0] for name in types.split()].index(value_type)
    rows = re.findall(r'^([ \d]+):', samples.split('Locations\n')[0], re.MULTILINE)
    return sum(int(row.split()[column]) for row in rows)


def every_view_opens():
    for make, value_type, name, flat, all_of_it in RUNS:
        path = make()
        total, rows = top(path, f'-sample_index={value_type}')
        equal((total, rows[name]), (all_of_it, (flat, flat)), f'{path}: total, and of {name}')
        for view in '-raw', '-dot', '-tree', '-peek=.', '-callgrind', '-traces', '-proto':
            assert pprof(path, view, '-output=view') or pathlib.Path('view').stat().st_size, f'{path}: {view} is empty'
        equal(sum_of_raw(path, value_type), all_of_it, f'{path}: the sum of -raw')


def pictures_have_the_total():
    if not shutil.which('dot'):
        raise Skip('pprof -svg needs dot, of graphviz')
    for make, value_type, name, flat, all_of_it in RUNS:
        pprof(make(), '-svg', '-output=graph.svg', f'-sample_index={value_type}')
        picture = xml.etree.ElementTree.parse('graph.svg')
        texts = [''.join(text.itertext()) for text in picture.iter('{http://www.w3.org/2000/svg}text')]
        assert any(re.search(rf'of {all_of_it} total|Total samples = {all_of_it}\b', text) for text in texts), texts
        assert any(name in text for text in texts) and any(text.startswith(str(flat)) for text in texts), texts


class Server:
    """pprof -http, on a port of this machine alone."""

    def __init__(self, path, *arguments):
        with socket.socket() as chosen:
            chosen.bind(('127.0.0.1', 0))
            self.port = chosen.getsockname()[1]
        environment = {**os.environ, 'HOME': os.getcwd(), 'PPROF_TMPDIR': os.getcwd()}
        self.process = subprocess.Popen(
            ['go', 'tool', 'pprof', f'-http=127.0.0.1:{self.port}', '-no_browser', *arguments, path],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True)
        wait_until(self.listens, 'pprof -http')

    def listens(self):
        """Its message comes before it serves."""
        equal(self.process.poll(), None, 'how pprof -http ended')
        with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', self.port)):
            return True
        return False

    def page(self, path):
        connection = http.client.HTTPConnection('127.0.0.1', self.port)
        connection.request('GET', f'/ui{path}')
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        equal(answer.status, 200, f'{path}: {text[:200]}')
        return html.unescape(text).replace('\\u0022', '"')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGTERM)  # of the tool, and of go that started it
        self.process.wait()


def served_pages_have_the_totals():
    for make, value_type, name, flat, all_of_it in RUNS:
        with Server(make(), f'-sample_index={value_type}') as server:
            table = re.search(r'TopTable\( *(\d+) *, *(\[.*?\])\)', server.page('/top'))
            equal(int(table[1]), all_of_it, f'{name}: total of /top')
            row, = (row for row in json.loads(table[2]) if row['Name'] == name)
            equal((row['Flat'], row['Cum']), (flat, flat), f'{name} in /top')
            tree = server.page('/flamegraph')
            # The data of a tree in pprof of Go 1.22 and older, of stacks in newer ones.
            root = re.search(r'"n":"root".*?"v":(\d+)', tree) or re.search(r'"Total":(\d+)', tree)
            equal(int(root[1]), all_of_it, f'{name}: total of /flamegraph')
            assert name in tree, f'{name} is not in /flamegraph'
            assert re.search(rf'^ *{flat} .* {name}\b', server.page(f'/peek?f={name}'), re.MULTILINE), f'{name}: /peek'
            if shutil.which('dot'):
                assert '<svg' in server.page('/') and name in server.page('/'), f'{name}: /'
            if make is gpu_profile:
                assert re.search(r'>700 +700 .*line 7|700 +700 +line 7', server.page('/source?f=dpas')), 'lines in /source'


def device_instructions_have_addresses():
    """pprof disassembles files of this machine's code with objdump; a device's code it lists by address and line."""
    path = gpu_profile()
    listed = pprof(path, '-addresses', '-top')
    for flat, place in (700, '0010 dpas .*tile.cl:7'), (300, '0020 mov .*tile.cl:9'):
        assert re.search(rf'^ *{flat} .* 0+{place}$', listed, re.MULTILINE), listed
    lines = pprof(path, '-list=.', '-lines')
    for number, value in (7, 700), (9, 300):
        assert re.search(rf'^ *{value} +\d+ +{number}:line {number}$', lines, re.MULTILINE), lines


def mappings(path):
    """-> {file: build id, '' without one}"""
    lines = pprof(path, '-raw').split('Mappings\n')[1].splitlines()
    found = [re.match(r'\d+: 0x\w+/0x\w+/0x\w+ (.*?) ([0-9a-f]*) *(?:\[\w\w\])*$', line) for line in lines]
    return {match[1]: match[2] for match in found if match and match[1]}


def mappings_have_build_ids():
    stacks = [(0, 10, [Frame('one', PROGRAM), Frame('main')])]
    for modules, expected in (([('/usr/bin/one', 'c0ffee01')], 'c0ffee01'), ([], None),
                              ([('/usr/bin/one', 'c0ffee01'), ('/usr/bin/one', 'c0ffee02')], ''),
                              ([('/usr/bin/one', f'c0ffee0{i}') for i in range(3)], ''),
                              ([('/usr/bin/two', 'c0ffee02'), ('/usr/bin/three', 'c0ffee03'),
                                ('/usr/bin/one', 'c0ffee01')], 'c0ffee01')):
        path = write_profile('pprof', 'p.pb.gz', [COUNT], stacks, modules=modules)
        equal(mappings(path), {'/usr/bin/one': expected} if modules else {}, f'build ids of {modules}')


def build_ids_are_those_of_the_files():
    """Of a real run, and of its capture: by readelf."""
    spin = 'import time\nwhile time.process_time() < 0.5: pass'
    # Not of other programs, whose files may change, and with time enough to read them.
    profiled = subprocess.run([os.environ['TEST_IAPROF'], '-s', 'cpu-stack', '--scope', 'command', '--finish-within', '60s',
                               '-k', 'pprof:output=run.pb.gz', '--record', 'run.iaprof', sys.executable, '-c', spin],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding='utf-8', check=False)
    if profiled.returncode:
        raise Skip(f'CPUs cannot be profiled here: {profiled.stderr.splitlines()[-1]}')
    subprocess.run([os.environ['TEST_IAPROF'], '--replay', 'run.iaprof', '-k', 'pprof:output=replayed.pb.gz'], check=True,
                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = {path: build_id for path, build_id in mappings('run.pb.gz').items() if build_id}
    equal(mappings('replayed.pb.gz'), mappings('run.pb.gz'), 'mappings of the capture')
    compared = 0
    for path, build_id in found.items():
        notes = subprocess.run(['readelf', '-n', path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               encoding='utf-8', check=False).stdout
        if match := re.search(r'Build ID: (\w+)', notes):
            equal(build_id, match[1], path)
            compared += 1
    assert compared, f'no build id of a file that is here: {mappings("run.pb.gz")}'
    return f'{compared} of {len(found)} files compared'


def the_main_binary_names_the_profile():
    """The program with the largest value, not the first file, and not a library below it."""
    def stacks(kind, *values):
        for (path, program), value in zip((('/usr/bin/make', 'make'), ('/opt/train.sock', 'train'),
                                           ('/usr/bin/cc1', 'cc1')), values):
            yield module('/lib/libc.so.6')
            yield kind, value, [Frame(program, PROGRAM), Frame('start_thread')]
            yield module(path)
            yield kind, value, [Frame(program, PROGRAM), Frame('main')]

    def header(path):
        return re.findall(r'^(File|Type): (.*)$', pprof(path, '-top'), re.MULTILINE)

    path = write_profile('pprof', 'p.pb.gz', [NANOSECONDS], stacks(0, 10, 500, 20))
    equal(header(path), [('File', 'train.sock'), ('Type', 'cpu')], 'hottest program')
    first, *_ = re.findall(r'^(\d+): 0x\w+/0x\w+/0x\w+ (\S+)', pprof(path, '-raw').split('Mappings\n')[1], re.MULTILINE)
    equal(first[1], '/opt/train.sock', 'first mapping')
    equal(top(path)[1]['main'], (530, 530), 'functions')
    stalls = [module('/opt/model'), (1, 3, gpu_stack(7, 'attention', 'dpas', 'sbid', 16))]
    path = write_profile('pprof', 'p.pb.gz', [NANOSECONDS, COUNT, ('last', 'count')], [*stacks(0, 10, 500, 20), *stalls])
    equal(header(path), [('File', 'model'), ('Type', 'gpu-stalls')], 'with a device')
    only = [module('/lib/libc.so.6'), (0, 5, [Frame('one', PROGRAM), Frame('brk')])]
    equal(header(write_profile('pprof', 'p.pb.gz', [NANOSECONDS, COUNT], only)), [('File', 'libc.so.6'), ('Type', 'cpu')],
          'without a program')


def unknown_functions_have_the_name_of_their_file():
    path = write_profile('pprof', 'p.pb.gz', [COUNT], [module('/usr/lib/libone.so'), (0, 10, [
        Frame('one', PROGRAM), Frame('[unknown]', flags=UNKNOWN), Frame('[deleted]', flags=UNKNOWN)])])
    equal(traces(path), {('[deleted]', '[libone.so]', 'one'): 10}, 'stacks')


def an_empty_profile_is_read():
    path = write_profile('pprof', 'p.pb.gz', [COUNT], [])
    assert 'gpu-stalls/count' in pprof(path, '-raw'), pprof(path, '-raw')


CASES = (totals_and_stacks_are_ours, spans_are_labels_on_request, stall_reasons_are_labels_or_types,
         time_of_a_device_is_the_default,
         inlined_functions_and_lines_are_listed,
         every_view_opens, pictures_have_the_total, served_pages_have_the_totals, device_instructions_have_addresses,
         mappings_have_build_ids, build_ids_are_those_of_the_files, the_main_binary_names_the_profile,
         unknown_functions_have_the_name_of_their_file, an_empty_profile_is_read)

if __name__ == '__main__':
    if not shutil.which('go'):
        print('1..0 # SKIP there is no go tool pprof')
        sys.exit(0)
    sys.exit(run_cases(CASES) != 0)
