#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 600
# lab: runtime
# lab: covers plugins/ze-usdt/** plugins/sink-csv/** lib/bpf/**
# lab: covers tests/lab/level_zero/**
"""Code objects, kernels and launches of a program on Intel's unpatched runtime, compared with what it prints. TAP."""
import collections
import csv
import functools
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import Failure, run
from harness.profiler import SLOW

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
PROGRAMS = BUILD / 'tests/lab/level_zero'
# Only the program is in the chroot, as in a container.
IN_CHROOT = SOURCE / 'tests/lab/guest/in-chroot'
# How the compiler's symbol for a kernel of C++ is shown.
SHOWN = {'_ZTS5scaleIfE': 'scale<float>'}
CALLS = {'append_launch': 'zeCommandListAppendLaunchKernel',
         'append_cooperative': 'zeCommandListAppendLaunchCooperativeKernel',
         'append_indirect': 'zeCommandListAppendLaunchKernelIndirect',
         'append_multiple_indirect': 'zeCommandListAppendLaunchMultipleKernelsIndirect',
         'append_with_parameters': 'zeCommandListAppendLaunchKernelWithParameters',
         'append_with_arguments': 'zeCommandListAppendLaunchKernelWithArguments'}

# Options of the program.
CASES = {
    'every way to launch': [],
    'from three threads, the modules reloaded twice': ['--threads', '3', '--turns', '20', '--reloads', '2'],
    'a regular list, executed often': ['--lists', 'regular', '--turns', '5', '--executions', '40'],
    'native modules': ['--formats', 'native', '--turns', '2'],
    'five sites in proportion': ['--turns', '50', '--sites', 'embedding_count=1,attention_scores=2,attention_softmax=4,'
                                 'feed_forward_up=8,feed_forward_gelu=16'],
    'a forked child': ['--child', 'fork', '--turns', '3'],
    'the process executes itself': ['--child', 'exec', '--turns', '3'],
}


def equal(found, expected, what):
    if found != expected:
        missing, more = (sorted(collections.Counter(a).items()) for a in (
            collections.Counter(expected) - collections.Counter(found),
            collections.Counter(found) - collections.Counter(expected)))
        raise Failure(f'{what}: missing {missing}, not expected {more}')


def read_truth(name='truth'):
    rows = collections.defaultdict(list)
    for line in pathlib.Path(name).read_text(encoding='utf-8').splitlines():
        kind, *fields = line.split('\t')
        rows[kind].append(fields)
    return rows


def read_rows(truth, name='out.csv'):
    """The rows of the program's processes: other programs on this machine may use Level Zero too."""
    pids = {pid for pid, *_ in truth['module']}
    rows = collections.defaultdict(list)
    with open(name, encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            if row['pid'] in pids:
                rows[row['record']].append(row)
    return rows


def launches_of_truth(truth):
    counts = collections.Counter()
    for pid, _load, _thread, _name, layer, site, call, kernel, _appended, executed in truth['launch']:
        counts[(int(pid), layer, site, call, SHOWN.get(kernel, kernel))] += int(executed)
    return counts


def launches_of_rows(rows):
    counts = collections.Counter()
    for row in rows['launch']:
        functions = row['functions'].split(';')
        layer, site, append = functions[-3:] if len(functions) > 2 else ('?', '?', row['functions'])
        counts[(int(row['pid']), layer, site, CALLS.get(append, append), row['name'])] += int(row['count'])
    return counts


def check_code(rows, truth):
    equal(collections.Counter((row['pid'], row['address'], row['size']) for row in rows['code-object']),
          collections.Counter((pid, address, size) for pid, _load, _module, _format, address, size in
                              truth['module']), 'modules')
    launched = {(pid, load, kernel) for pid, load, *_, kernel, _appended, executed in truth['launch'] if int(executed)}
    known = {row['id']: row for row in rows['code-object']}
    kernels = {(pid, SHOWN.get(kernel, kernel), address, size) for pid, load, _module, kernel, address, size in
               truth['kernel'] if (pid, load, kernel) in launched}
    equal({(row['pid'], row['name'], row['address'], row['size']) for row in rows['kernel']}, kernels, 'kernels')
    for row in rows['kernel']:
        code = known.get(row['parent'])
        if not code or not (int(code['address'], 16) <= int(row['address'], 16) <
                            int(code['address'], 16) + int(code['size'])):
            raise Failure(f'kernel {row["name"]} is in no code object: {row}')


def iaprof(*arguments, **options):
    return subprocess.run([BUILD / 'iaprof', *SLOW, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, encoding='utf-8', errors='replace', **options)


def launcher(product, variant, *arguments):
    return [IN_CHROOT, SOURCE / 'tests/lab/level_zero/run-without-gpu', product, PROGRAMS / f'launcher-{variant}',
            '--truth', f'{os.getcwd()}/truth', *arguments]


def profile(product, variant, *arguments):
    # With a GPU, or its double, nothing has to be said of the tracer.
    source = os.environ.get('TEST_ZE_USDT', 'ze-usdt:tracer=yes')
    outcome = iaprof('-s', source, '-k', 'csv:rows=events,newline=lf', '-o', 'out.csv', '--',
                     *launcher(product, variant, *arguments))
    if outcome.returncode or 'lost: ze-usdt' in outcome.stdout or 'error' in outcome.stdout:
        raise Failure(f'iaprof ended with {outcome.returncode}: {outcome.stdout}')
    truth = read_truth()
    return read_rows(truth), truth


def check(product, variant, arguments):
    rows, truth = profile(product, variant, *arguments)
    if not truth['launch']:
        raise Failure('the program launched nothing')
    check_code(rows, truth)
    equal(launches_of_rows(rows), launches_of_truth(truth), 'launches')
    stacks = {row['functions'] for row in rows['launch']}
    for stack in stacks:
        if ';worker_run;' not in f';{stack};':
            raise Failure(f'the stack does not reach the thread\'s first function: {stack}')


def check_attributes(product):
    rows, _ = profile(product, 'nofp')
    by_name = {row['name']: dict(pair.split('=') for pair in row['attributes'].split(';')) for row in rows['launch']}
    spill = by_name['rotate_spill']
    if not all(name in spill for name in ('simd_size', 'grf_count')) or int(spill.get('spill_size', 0)) <= 0:
        raise Failure(f'attributes of rotate_spill: {spill}')
    if int(by_name['matmul_tile'].get('slm_size', 0)) <= 0:
        raise Failure(f'attributes of matmul_tile: {by_name["matmul_tile"]}')


def check_attached(product):
    """The program runs before iaprof does: what was loaded before is announced at its next launch."""
    duration = '15' if os.environ.get('LAB_KERNEL') else '5'  # a guest's processors are emulated
    with subprocess.Popen(launcher(product, 'nofp', '--rate', '50', '--duration', '120000', '--steps'),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding='utf-8', bufsize=1) as program:
        pid = int(program.stdout.readline().split()[1])
        program.stdin.write('\n')
        while program.stdout.readline() not in ('turns\n', ''):
            pass  # it loads its modules and launches for the first time
        outcome = iaprof('-d', duration, '-p', str(pid), '-s', 'ze-usdt:tracer=inject', '-k',
                         'csv:rows=events,newline=lf', '-o', 'out.csv')
        program.stdin.close()
        program.stdout.read()
    if outcome.returncode or program.returncode:
        raise Failure(f'iaprof ended with {outcome.returncode}, the program with {program.returncode}: '
                      f'{outcome.stdout}')
    truth = read_truth()
    rows = read_rows(truth)
    found, expected = launches_of_rows(rows), launches_of_truth(truth)
    equal(set(found), set(expected), 'places that launch')
    for place, count in found.items():
        if not 20 < count < expected[place]:
            raise Failure(f'{place}: {count} launches of {expected[place]}')
    equal({(row['name'], row['address'], row['size']) for row in rows['kernel']},
          {(SHOWN.get(kernel, kernel), address, size) for _pid, _load, _module, kernel, address, size in
           truth['kernel']}, 'kernels')


def read_counted(name='out.csv'):
    """Launches that were counted in memory, instead of firing the probe."""
    with open(name, encoding='utf-8', newline='') as file:
        found = [row['text'] for row in csv.DictReader(file) if row['name'] == 'launches counted in memory']
    return int(found[0].split()[0]) if found else 0


def check_awkward(way, locked=False):
    """Launches from threads, signal handlers, coroutines and so on: each is counted once, under its own stack."""
    # Other programs on this machine may launch, too.
    command = [BUILD / 'iaprof', *SLOW, '--scope', 'command', '-s', 'ze-usdt:tracer=yes', '-k', 'csv:rows=events,newline=lf',
               '-o', 'out.csv', '--',
               IN_CHROOT, SOURCE / 'tests/lab/level_zero/run-without-gpu', 'bmg', PROGRAMS / 'awkward',
               PROGRAMS / 'modules/transformer.bmg.bin', 'tiny', way, 'immediate']
    # Another profiler counts in memory: this one gets each launch by the probe.
    lock = ['flock', BUILD / 'plugins/ze-usdt/libiaprof-ze-tracer.so'] if locked else []
    outcome = subprocess.run(lock + command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                             encoding='utf-8', errors='replace')
    said = [line.split()[1] for line in outcome.stdout.splitlines() if line.startswith('launched ')]
    if outcome.returncode or 'lost: ze-usdt' in outcome.stdout or not said:
        raise Failure(f'iaprof ended with {outcome.returncode}: {outcome.stdout}')
    depths, found = collections.Counter(), 0
    with open('out.csv', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            functions = row['functions'].split(';')
            if row['record'] == 'launch' and 'launch_here' in functions and f'way_{way}' in functions:
                found += int(row['count'])
                depths[functions.count('frame_of')] += int(row['count'])
            elif row['record'] == 'launch':
                raise Failure(f'launches with another stack: {row}')
    equal([found], [int(said[0])], 'launches')
    if way == 'alloca':
        equal(depths, collections.Counter(i % 11 + 1 for i in range(found)), 'depths of frame_of')
    if locked and read_counted():
        raise Failure('launches were counted in memory that another profiler reads')
    if way == 'forks' and not locked and not read_counted():
        raise Failure('no launch was counted in memory')


def bpf_maps(process, name):
    """-> ids of the BPF maps of this name that a process has open; others of the machine may be iaprof, too"""
    own = set()
    for path in pathlib.Path(f'/proc/{process}/fdinfo').iterdir():
        try:
            own |= set(re.findall(r'^map_id:\s*(\d+)$', path.read_text(encoding='ascii'), re.MULTILINE))
        except FileNotFoundError:
            pass  # closed meanwhile
    shown = subprocess.run(['bpftool', 'map', 'show'], stdout=subprocess.PIPE, check=True, encoding='utf-8').stdout
    return own & set(re.findall(rf'^(\d+): \S+\s+name {name} ', shown, re.MULTILINE))


def until_spans_are_read(pid, process):
    """Waits until iaprof's BPF program knows where the process publishes its spans."""
    while process.poll() is None:
        for number in bpf_maps(process.pid, 'thread_context_'):
            dump = subprocess.run(['bpftool', 'map', 'dump', 'id', number], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, check=False, encoding='utf-8').stdout
            if f'"key": {pid},' in dump:
                return
        time.sleep(0.05)
    raise Failure('iaprof has ended')


def check_spans(product, arguments):
    """Each launch has the span that its thread worked on when it was executed."""
    command = [BUILD / 'iaprof', *SLOW, '-s', 'ze-usdt:tracer=yes', '-k', 'csv:rows=events,newline=lf', '-o', 'out.csv', '--',
               *launcher(product, 'spans', '--steps', '--spans', '5', *arguments)]
    with open('said', 'w', encoding='utf-8') as said, subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, encoding='utf-8', bufsize=1) as process:
        pid = int(process.stdout.readline().split()[1])
        while process.stdout.readline() not in ('step loaded 0\n', ''):
            pass
        until_spans_are_read(pid, process)
        process.stdin.close()
        process.stdout.read()
    if process.returncode:
        raise Failure(f'iaprof ended with {process.returncode}: {pathlib.Path("said").read_text(encoding="utf-8")}')
    truth = read_truth()
    numbers, turns = {}, collections.defaultdict(dict)
    for _pid, _load, thread, number, span, count in truth['span']:
        numbers[int(number)] = thread
        turns[thread][int(span)] = int(count)
    expected, found = collections.Counter(), collections.Counter()
    for _pid, _load, thread, _name, _layer, _site, _call, kernel, _appended, executed in truth['launch']:
        # Each turn launches the same.
        a_turn, rest = divmod(int(executed), sum(turns[thread].values()))
        equal([rest], [0], 'launches of a turn')
        for span, count in turns[thread].items():
            expected[(thread if span or '--lists' not in arguments else '', span, SHOWN.get(kernel, kernel))] += \
                a_turn * count
    for row in read_rows(truth)['launch']:
        trace, span = bytes.fromhex(row['trace_id']), int(row['span_id'] or '0', 16)
        thread = numbers[trace[0]] if trace else row['tid']
        if len(set(trace)) > 1 or (row['tid'] and row['tid'] != thread):
            raise Failure(f'the span of another thread: {row}')
        found[(thread, span, row['name'])] += int(row['count'])
    equal(found, expected, 'launches of each thread, span and kernel')
    if read_counted():
        raise Failure('launches of several spans were counted together')


def check_invalid(product):
    """Modules that the runtime refuses: the program ends as it would, and nothing is said of its loader."""
    modules = pathlib.Path('modules')
    modules.mkdir()
    for name in 'transformer', 'systolic':
        (modules / f'{name}.spv').write_bytes(b'This is no SPIR-V.' * 100)
    arguments = '--formats', 'spirv', '--modules', str(modules.resolve())
    alone = subprocess.run(launcher(product, 'fp', *arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           check=False, encoding='utf-8')
    outcome = iaprof('-s', 'ze-usdt:tracer=yes', '-k', 'csv:rows=events', '-o', 'out.csv', '--',
                     *launcher(product, 'fp', *arguments))
    said = alone.stdout.splitlines()[-1]
    if 'Invalid' not in said or not alone.returncode:
        raise Failure(f'the runtime accepts the modules: {alone.stdout}')
    if said not in outcome.stdout or f'ended with status {alone.returncode}' not in outcome.stdout:
        raise Failure(f'the program ends in another way: {alone.stdout} and {outcome.stdout}')
    if 'failed calls of zeModuleCreate or clBuildProgram: 1' not in outcome.stdout or 'older' in outcome.stdout:
        raise Failure(f'the cause is not named: {outcome.stdout}')


def checks():
    for product in 'bmg', 'lnl':
        for what, arguments in CASES.items():
            yield f'{product}: {what}', check, (product, 'nofp', arguments)
        for variant in 'fp', 'late':
            yield f'{product}: every way to launch ({variant})', check, (product, variant, [])
        yield f'{product}: attributes of kernels', check_attributes, (product,)
        yield f'{product}: a program that runs already', check_attached, (product,)
        yield f'{product}: spans of immediate launches', check_spans, (product, ['--threads', '3', '--turns', '60'])
        yield f'{product}: spans of executions', check_spans, (product, ['--turns', '60', '--lists', 'regular',
                                                                         '--executions', '3'])
        yield f'{product}: modules that are none', check_invalid, (product,)
    for way in 'threads', 'forks', 'alloca', 'signals', 'coroutines', 'cancel', 'tracer':
        yield f'awkward: {way}', check_awkward, (way,)
    for way in 'forks', 'alloca':
        yield f'awkward, without counts in memory: {way}', check_awkward, (way, True)


sys.exit(run([(what, functools.partial(function, *arguments)) for what, function, arguments in checks()]) != 0)
