#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/cuda, built out of the tree against the installed headers, with the stand-in for CUPTI: samples join their
kernels and the stacks that launched them, and whatever fails, the program runs as without the library.

usage: test_cuda.py IAPROF SOURCE BUILD
"""
import collections
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time

IAPROF, SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:])
sys.path.insert(0, os.path.join(SOURCE, 'tests/abi/code_objects'))
from cubin import cubin  # noqa: E402
from out_of_tree import case, install, run, run_cases, skip  # noqa: E402

STEPS = 400
# stand_in.h: three PCs, 4 bytes apart; at each launch, one sample of selected and four of long_scoreboard at each.
OFFSETS = range(0, 12, 4)
LAUNCHES = {'scale': STEPS // 4, 'add': STEPS - STEPS // 4}
STATUS = 3
FUNCTIONS = ('cuptiSubscribe', 'cuptiEnableCallback', 'cuptiGetDeviceId', 'cuptiPCSamplingEnable',
             'cuptiPCSamplingDisable', 'cuptiPCSamplingSetConfigurationAttribute', 'cuptiPCSamplingGetData',
             'cuptiPCSamplingGetNumStallReasons', 'cuptiPCSamplingGetStallReasons', 'cuptiGetCubinCrc')


def build():
    prefix = install(SOURCE, BUILD)
    if subprocess.run(['pkg-config', '--exists', 'iaprof-bpf'], check=False).returncode:
        skip('built without BPF')
    shutil.copytree(os.path.join(SOURCE, 'examples/cuda'), 'cuda')
    run('make', '-C', 'cuda', 'all', 'stand-in', f'PKG_CONFIG=pkg-config --define-variable=prefix={prefix}',
        'CFLAGS=-O2 -g -Wall -Wextra -Werror')
    for scale in 2, 3:
        run('cc', '-c', '-O1', '-g', '-ffunction-sections', f'-DSCALE={scale}', '-o', 'object.o',
            os.path.join(SOURCE, 'tests/abi/code_objects/kernels.c'))
        cubin('object.o', f'cubin{scale}')


def wanted_output(steps=STEPS):
    total = sum(i + 1 + bool(i % 4) for i in range(steps))
    return f'{steps} steps, {total % 2**32}\n'


def profile(*arguments, options='', rate=0, steps=STEPS, time='off', value='', **environment):
    """Runs the stand-in's program, whose status iaprof returns. Returns {(stack, kernel, reason, offset): samples} and the messages."""
    outcome = subprocess.run(
        [IAPROF, '-v', '-s', f'./cuda/iaprof-cuda.so:launch-rate={rate},time={time}{options}', '-k',
         f'folded:output=out.folded{value}', '--',
         './cuda/stand-in/program', str(steps), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False, timeout=1800,
        env={**os.environ, **environment})
    assert outcome.returncode == STATUS, outcome.stderr
    assert outcome.stdout == wanted_output(steps), f'{outcome.stdout!r} {outcome.stderr}'
    assert f'ended with status {STATUS}' in outcome.stderr, outcome.stderr
    found = {}
    with open('out.folded', encoding='utf-8') as file:
        for line in file:
            stack, count = line.rstrip('\n').rsplit(' ', 1)
            frames = stack.split(';')
            border = frames.index('-')
            key = (';'.join(frames[2:border]), frames[-3].removesuffix('_[G]'), frames[-2].removesuffix('_[g]'),
                   int(frames[-1].removesuffix('_[g]'), 16))
            found[key] = found.get(key, 0) + int(count)
    return found, outcome.stderr


def wanted(times=1):
    """{(kernel, reason, offset): samples}, of so many modules."""
    return {(kernel, reason, offset): times * count * weight for kernel, count in LAUNCHES.items()
            for reason, weight in (('selected', 1), ('long_scoreboard', 4)) for offset in OFFSETS}


def without_stacks(found):
    sums = {}
    for (_, *key), count in found.items():
        sums[tuple(key)] = sums.get(tuple(key), 0) + count
    return sums


def check(found, times=1):
    assert without_stacks(found) == wanted(times), found


COPIES = '[memset or copy of the CUDA driver]'


def check_sites(found):
    for stack, kernel, _, _ in found:
        frames = stack.split(';')
        # A stack without the program's frames has none: those of CUPTI and of the library are not the program's.
        assert frames[-1] == f'train_{kernel}' or frames == [''], f'{kernel} launched by {stack}'


@case
def samples_join_their_kernels_and_launch_sites():
    found, errors = profile('cubin2')
    check(found)
    check_sites(found)
    assert re.search(r': 6000 matched, 0 ambiguous, 0 unmatched;', errors), errors
    assert ' 1 code object (1 image), 2 kernels, 400 launches' in errors, errors


@case
def code_of_a_real_compiler_has_lines_and_instructions():
    """Samples 112 bytes apart: the second of scale is at the first comparison with n, which waits for the load of n. Lines
    are those that the compiler states for these offsets (readelf and nvdisasm print them)."""
    for name in 'training.cu', 'training.sm_90.cubin':
        shutil.copy(os.path.join(SOURCE, 'tests/data/line-tables', name), '.')
    outcome = subprocess.run(
        [IAPROF, '-s', './cuda/iaprof-cuda.so:launch-rate=0,time=off', '--decoder', './cuda/iaprof-cuda-sass.so', '-k',
         'csv:output=out.csv', '-k', 'summary:format=json,output=out.json', '--', './cuda/stand-in/program', str(STEPS), 'training.sm_90.cubin'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False, timeout=1800, env={**os.environ, 'STAND_IN_STEP': '112'})
    assert outcome.returncode == STATUS, outcome.stderr
    with open('out.json', encoding='utf-8') as file:
        summary = json.load(file)
    assert summary['with_lines'] == summary['total'] == 6000, summary
    # The first instruction of each waits for nothing; that of add in line 4 is inlined.
    causes = {(cause['kernel'], cause['line'], cause.get('waits_for', {}).get('name'), cause.get('waits_for', {}).get('line'))
              for cause in summary['causes']}
    assert causes == {('scale', 7, None, None), ('scale', 11, 'LDC', 11), ('add', 16, None, None), ('add', 4, 'FCHK', 4)}, causes
    with open('out.csv', encoding='utf-8') as file:
        stacks = {row['stack'].split(';-;')[1] for row in csv.DictReader(file) if ';-;' in row['stack']}
    assert 'training.cu_[G];scale_[G];ISETP_[g];long_scoreboard_[g];0x70_[g]' in stacks, stacks


@case
def two_modules_with_kernels_of_the_same_names():
    found, errors = profile('cubin2', 'cubin3')
    check(found, 2)
    check_sites(found)
    assert ' 0 ambiguous, 0 unmatched;' in errors, errors
    assert ' 2 code objects (2 images), 4 kernels' in errors, errors


@case
def names_and_offsets_without_cubins():
    found, errors = profile('cubin2', options=',cubins=no')
    check(found)
    check_sites(found)
    assert ' 0 code objects' in errors, errors


@case
def launches_without_stacks_have_a_printed_reason():
    found, errors = profile('cubin2', options=',stacks=no')
    check(found)
    assert {stack for stack, *_ in found} == {''}, found
    assert 'launches have no stacks: stacks=no' in errors, errors
    assert '400 launches' in errors, errors


@case
def launches_that_are_left_out_count_for_the_next():
    steps = 100000
    found, errors = profile('cubin2', rate=100, steps=steps)
    assert sum(found.values()) == 15 * steps, found
    check_sites(found)
    launches = int(re.search(r', (\d+) launches', errors)[1])
    assert 2 <= launches <= steps, errors


@case
def launches_that_are_left_out_at_the_end_have_the_last_stack():
    found, errors = profile('cubin2', rate=1)
    check(found)
    check_sites(found)
    assert ' 400 launches, 0 of their stacks missing' in errors, errors


# stand_in.h: one launch in 50 has no time.
TIMES = {'scale': 3000, 'add': 1000}
UNTIMED = STEPS // 50


@case
def times_are_divided_among_samples_below_the_launch():
    found, errors = profile('cubin2', time='all', value=',value=gpu-time')
    check_sites(found)
    assert f'executions: CUPTI states no time: {UNTIMED}' in errors, errors
    assert f' {STEPS - UNTIMED} executions, {STEPS} launches' in errors, errors
    # One step in four launches scale: so does one untimed launch in two, those whose number is not a multiple of 4.
    untimed = {'scale': sum(i % 4 == 1 for i in range(50, STEPS + 1, 50))}
    untimed['add'] = UNTIMED - untimed['scale']
    for kernel, count in LAUNCHES.items():
        parts = {key[1:]: value for key, value in without_stacks(found).items() if key[0] == kernel}
        total = TIMES[kernel] * (count - untimed[kernel])
        assert sum(parts.values()) == total, (kernel, found)
        # As its samples are: one of five selected, at three offsets.
        for (reason, _), value in parts.items():
            # The first launches may have other stacks, until the tables have come; each is divided on its own.
            assert abs(value - total * (1 if reason == 'selected' else 4) / 15) <= len({stack for stack, *_ in found}), (kernel, found)


@case
def kernels_of_graphs_are_below_the_launch_of_the_graph_and_where_they_were_captured():
    """Captured launches have the numbers 1 to 3, launches of the graph the next ones, and steps those that follow."""
    replays = 300
    found, errors = profile(f'graph={replays}', 'cubin2', time='all', value=',value=gpu-time')
    sums = {}
    for (stack, kernel, *_), value in found.items():
        launch, _, capture = stack.partition(';[captured at];')
        key = ' '.join(part.split(';')[-1] for part in (launch, capture) if part), kernel
        sums[key] = sums.get(key, 0) + value
    numbers = range(4, 4 + replays)
    timed = sum(number % 50 != 0 for number in numbers)
    wanted_sums = {('train_replay train_layer', 'scale'): timed * TIMES['scale'],
                   ('train_replay train_layer', 'add'): timed * TIMES['add'],
                   ('train_replay train_capture', 'add'): timed * TIMES['add']}
    for step in range(STEPS):
        key = ('train_add', 'add') if step % 4 else ('train_scale', 'scale')
        wanted_sums[key] = wanted_sums.get(key, 0) + TIMES[key[1]] * ((4 + replays + step) % 50 != 0)
    assert sums == wanted_sums, (sums, wanted_sums)
    # Each execution in a graph counts as a launch of its kernel, also those without times; what was captured does not.
    assert f' {3 * timed + STEPS} launches' in errors, errors


def values_of(*arguments, options='', **environment):
    """Runs the stand-in's program. -> {value type: {(innermost frames above the device, kernel): value}}, [rows of the
    events], the summary, messages"""
    found = collections.defaultdict(collections.Counter)
    outcome = subprocess.run(
        [IAPROF, '-v', '-s', f'./cuda/iaprof-cuda.so:launch-rate=0,sampling=no{options}', '-k', 'csv:output=values.csv',
         '-k', 'csv.events:rows=events,output=events.csv', '-k', 'summary:output=summary.txt', '--',
         './cuda/stand-in/program', str(STEPS), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False, timeout=1800,
        env={**os.environ, **environment})
    assert outcome.stdout == wanted_output(), f'{outcome.stdout!r} {outcome.stderr}'
    with open('values.csv', encoding='utf-8') as file:
        for row in csv.DictReader(file):
            above, _, below = row['stack'].partition(';-;')
            launch, _, capture = above.partition(';[captured at];')
            site = ' '.join(part.split(';')[-1] for part in (launch, capture) if part)
            found[row['value_type']][site, below.removesuffix('_[G]')] += int(row['value'])
    with open('events.csv', encoding='utf-8') as events, open('summary.txt', encoding='utf-8') as summary:
        return found, list(csv.DictReader(events)), summary.read(), outcome.stderr


def by_kernel(values):
    sums = collections.Counter()
    for (_, kernel), value in values.items():
        sums[kernel] += value
    return sums


TO_DEVICE, TO_HOST, ON_DEVICE, BETWEEN, SET = ('[copy host to device (pageable)]', '[copy device to host]',
                                               '[copy on the device]', '[copy between devices]', '[memory set]')
COPY_SITES = {TO_DEVICE: 'train_load', TO_HOST: 'train_store', ON_DEVICE: 'train_copy', BETWEEN: 'train_exchange',
              SET: 'train_exchange', 'add': 'train_add', 'scale': 'train_scale'}


def calls_of_steps():
    """-> [(kernel or copy, ns, bytes)] in the order of the numbers of their calls, from 1 on; see program.c."""
    calls = []
    for i in range(STEPS):
        calls.append(('add', 1000, 0) if i % 4 else ('scale', 3000, 0))
        if i % 4 == 0:
            calls.append((ON_DEVICE, 250, 1000))
        calls += [(TO_DEVICE, 500, i), (TO_HOST, 2000, 3)]
        if i % 10 == 0:
            calls += [(SET, 100, 64), (BETWEEN, 100, 32)]
    return calls


@case
def copies_have_times_and_bytes_beside_those_of_kernels():
    found, events, summary, errors = values_of('transfers', 'copy=1000', 'cubin2')
    times, sizes, untimed = {}, {}, {True: 0, False: 0}
    for number, (name, time_, size) in enumerate(calls_of_steps(), 1):
        if number % 50 == 0:
            untimed[name in TIMES] += 1
            continue
        times[name] = times.get(name, 0) + time_
        sizes[name] = sizes.get(name, 0) + size
    assert by_kernel(found['gpu-time']) == {name: times.pop(name) for name in TIMES}, (found['gpu-time'], times)
    assert not found['gpu-overlap'], found['gpu-overlap']
    # Those to the host are longer than a step, so that they overlap each other: the sum of their durations is exact.
    copies, overlap = by_kernel(found['gpu-copy-time']), by_kernel(found['gpu-copy-overlap'])
    assert set(overlap) <= {TO_HOST}, overlap
    copies[TO_HOST] += overlap.get(TO_HOST, 0)
    rounded = times[TO_HOST] - copies.pop(TO_HOST)
    assert 0 <= rounded <= STEPS, (rounded, times)
    del times[TO_HOST]
    assert copies == times, (copies, times)
    assert by_kernel(found['gpu-copied']) == {name: size for name, size in sizes.items() if name not in TIMES}, (found, sizes)
    for kind in 'gpu-time', 'gpu-copy-time', 'gpu-copied':
        assert all(site in ('', COPY_SITES[name]) for site, name in found[kind]), found[kind]
        assert {name for site, name in found[kind] if site} == set(by_kernel(found[kind])), found[kind]
    # Idle time is that between kernels, whatever is copied meanwhile.
    spans = sorted((int(row['time']) - int(row['value']), int(row['time'])) for row in events
                   if row['record'] == 'job' and row['text'] in TIMES)
    idle = sum(max(0, after[0] - before[1]) for before, after in zip(spans, spans[1:]))
    assert sum(found['gpu-idle'].values()) == idle > 0, (found['gpu-idle'], idle)
    assert f'executions: CUPTI states no time: {untimed[True]}' in errors, errors
    assert f'copies: CUPTI states no time: {untimed[False]}' in errors, errors
    assert f'host to device (pageable) {sizes[TO_DEVICE] / 1024:.3g} KiB in ' in summary, (sizes, summary)


@case
def copies_in_graphs_are_below_their_launch_and_capture():
    """Captured calls have the numbers 1 to 4, and launches of the graph the next ones."""
    found, *_ = values_of('graph=300', 'transfers', 'cubin2')
    timed = sum(number % 50 != 0 for number in range(5, 305))
    key = 'train_replay train_stage', '[copy host to device]'
    assert found['gpu-copied'][key] == 16 * timed, (found['gpu-copied'], timed)
    assert found['gpu-copy-time'][key] == 50 * timed, (found['gpu-copy-time'], timed)


@case
def without_copies_kernels_have_their_times():
    found, events, summary, _ = values_of('transfers', 'cubin2', options=',copies=no')
    assert set(by_kernel(found['gpu-time'])) == set(TIMES) and 'Copies' not in summary, (found, summary)
    assert {row['text'] for row in events if row['record'] == 'job'} == set(TIMES), events[:5]


@case
def copies_that_cupti_refuses_leave_kernels_their_times():
    found, _, _, errors = values_of('transfers', 'cubin2', STAND_IN_FAILS='copies:14')
    assert set(by_kernel(found['gpu-time'])) == set(TIMES) and not found['gpu-copied'], found
    assert 'not all copies have times: cuptiActivityEnable failed (CUPTI error 14)' in errors, errors


WATTS, HERTZ, BYTES, PERCENT, BOOLEAN = 'watts', 'hertz', 'bytes', 'percent', 'boolean'
# stand-in/nvml.c; power has 100 W more at each reading.
COUNTERS = {('gpu-sm-clock', HERTZ): 1980e6, ('gpu-memory-clock', HERTZ): 3201e6, ('gpu-memory', BYTES): 4096,
            ('gpu-utilization', PERCENT): 75, ('gpu-memory-busy', PERCENT): 20, ('gpu-power-capped', BOOLEAN): 1,
            ('gpu-thermal-slowdown', BOOLEAN): 1, ('gpu-hardware-slowdown', BOOLEAN): 0}


def counters(mode='', nvml='./cuda/stand-in/libnvidia-ml.so.1', steps=100):
    """Runs a program of 10 ms a step. -> {(name, unit): [values]}, messages"""
    outcome = subprocess.run(
        [IAPROF, '-v', '-s', f'./cuda/iaprof-cuda.so:sampling=no,counters=100ms,nvml={nvml}', '-k',
         'csv:rows=events,output=events.csv', '--', './cuda/stand-in/program', str(steps), 'pace=10000', 'cubin2'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False, timeout=600,
        env={**os.environ, 'STAND_IN_NVML': mode})
    assert outcome.stdout == wanted_output(steps), f'{outcome.stdout!r} {outcome.stderr}'
    found, devices = {}, set()
    with open('events.csv', encoding='utf-8') as file:
        for row in csv.DictReader(file):
            if row['record'] == 'counter':
                devices.add(row['device'])
            if row['record'] == 'counter-value' and row['name'].startswith('gpu-'):
                found.setdefault((row['name'], row['unit']), []).append(float(row['value']))
    assert devices <= {'CUDA device', ''}, devices
    return found, outcome.stderr


@case
def gpus_have_counters_of_nvml():
    found, errors = counters()
    power = found.pop(('gpu-power', WATTS))
    assert len(power) >= 2 and power == [100 * (i + 1) for i in range(len(power))], power
    assert {key: set(values) for key, values in found.items()} == {key: {value} for key, value in COUNTERS.items()}, found
    assert {len(values) for values in found.values()} == {len(power)}, found
    assert re.search(r'GPU counters: \d+ readings of a GPU, \d+ us each', errors), errors


@case
def counters_that_nvml_does_not_have_are_blank():
    found, errors = counters('clock')
    assert set(found) == {('gpu-power', WATTS), *COUNTERS} - {('gpu-sm-clock', HERTZ), ('gpu-memory-clock', HERTZ)}, found
    assert errors.count('some GPU counters are missing: gpu-sm-clock of 0000:3b:00.0: not supported') == 1, errors
    assert 'lost' not in errors.replace('lost: cuda: executions', ''), errors
    found, errors = counters('power')
    assert found['gpu-power', WATTS] == [200 * (i + 1) for i in range(len(found['gpu-power', WATTS]))], found
    missing = int(re.search(r'GPU counters: NVML failed: (\d+)', errors)[1])
    assert len(found['gpu-power', WATTS]) + missing == len(found['gpu-memory', BYTES]), (found, errors)
    found, errors = counters('hang')
    assert {key: set(values) for key, values in found.items()} == {('gpu-power', WATTS): {100}, **{
        key: {value} for key, value in COUNTERS.items()}}, found
    assert 'warning: cuda: NVML does not return: GPU counters end early' in errors, errors
    for mode, nvml, reason in ('init', None, 'nvmlInit_v2 failed (error 999)'), ('device', None, 'NVML does not know it (error 999)'), \
            ('', './nowhere.so', 'nowhere.so'):
        found, errors = counters(mode, **({'nvml': nvml} if nvml else {}))
        assert not found and re.search(f'no GPU counters: .*{re.escape(reason)}', errors), (found, errors)


@case
def functions_are_below_their_kernel():
    """A function that the compiler left in a kernel has samples of its own, and the kernel's launches and time."""
    profile('cubin2', time='all', value=',value=gpu-time', STAND_IN_HELPER='1')
    sums = {}
    with open('out.folded', encoding='utf-8') as file:
        for line in file:
            stack, value = line.rstrip('\n').rsplit(' ', 1)
            key = tuple(stack.partition(';-;')[2].split(';')[:-2])
            sums[key] = sums.get(key, 0) + int(value)
    times = TIMES['scale'] * (LAUNCHES['scale'] - sum(i % 4 == 1 for i in range(50, STEPS + 1, 50)))
    kernel, helper = sums.pop(('scale_[G]',)), sums.pop(('scale_[G]', 'helper_[G]'))
    assert kernel + helper == times and abs(kernel - times / 3) <= 2, (kernel, helper, times)
    assert set(sums) == {('add_[G]',)}, sums


@case
def nvtx_ranges_are_frames():
    """By NVIDIA's own headers, where they are installed, else by the stand-in: the ranges of a step, and of none."""
    found, _ = profile('graph=100', 'ranges', 'cubin2', time='all', value=',value=gpu-time')
    inner = {stack.rpartition(';train_')[2] for stack, *_ in found}
    odd = 'odd: and so long that its name is cut off after sixty-three characters'[:63]
    assert inner == {'capture', 'layer', 'scale;step;even', f'add;step;{odd}', 'add;step;even'}, inner
    found, _ = profile('ranges', 'cubin2', time='all', value=',value=gpu-time', options=',ranges=no')
    assert not any('step' in stack for stack, *_ in found), found
    found, errors = profile('ranges', 'cubin2', time='all', value=',value=gpu-time', NVTX_INJECTION64_PATH='other.so')
    assert not any('step' in stack for stack, *_ in found), found
    assert 'NVTX_INJECTION64_PATH is other.so already' in errors, errors


@case
def times_without_samples():
    found = {}
    outcome = subprocess.run(
        [IAPROF, '-s', './cuda/iaprof-cuda.so:launch-rate=0,sampling=no', '-k', 'folded:output=-', '-k',
         'summary:output=summary.txt', '--', './cuda/stand-in/program', str(STEPS), 'cubin2'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False, timeout=1800)
    for line in outcome.stdout.splitlines():
        if ';-;' in line:
            stack, value = line.rsplit(' ', 1)
            found[stack.split(';')[-1].removesuffix('_[G]')] = int(value)
    assert set(found) == {'add', 'scale'}, outcome.stdout + outcome.stderr
    with open('summary.txt', encoding='utf-8') as file:
        text = file.read()
    assert 'GPU time by kernel: ' in text and '100 % without a sample' in text and 'samples by' not in text, text


@case
def samples_alone_are_not_called_time():
    outcome = subprocess.run(
        [IAPROF, '-s', './cuda/iaprof-cuda.so:launch-rate=0,time=off', '-k', 'summary:output=summary.txt', '--',
         './cuda/stand-in/program', str(STEPS), 'cubin2'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False, timeout=1800)
    with open('summary.txt', encoding='utf-8') as file:
        text = file.read()
    assert 'GPU samples by kernel: ' in text and 'GPU time' not in text, text + outcome.stderr
    assert '% of GPU samples wait for data in add' in text, text


OVERLAP = 'several threads launch kernels at the same time'


def launches_reported(errors):
    """Those that were counted, and those whose stacks had no room."""
    lost = re.search(r'launches: no room for their stacks: (\d+)', errors)
    return int(re.search(r' (\d+) launches,', errors)[1]) + int(lost[1] if lost else 0)


@case
def launches_of_several_threads_at_a_time_are_reported():
    _, errors = profile('cubin2', 'threads=3', steps=20000, STAND_IN_YIELDS='1')
    assert errors.count(OVERLAP) == 1, errors
    assert launches_reported(errors) == 60000, errors
    _, errors = profile('cubin2', steps=20000, STAND_IN_YIELDS='1')
    assert OVERLAP not in errors, errors


@case
def launches_without_sampling():
    found, errors = profile('cubin2', 'threads=3', steps=20000, options=',sampling=no', STAND_IN_YIELDS='1')
    assert not found, found
    assert OVERLAP not in errors, errors
    assert launches_reported(errors) == 60000, errors


@case
def copies_by_the_driver_are_one_kernel_with_stacks():
    found, errors = profile('copy=1000000', 'cubin2')
    copies = {key: count for key, count in found.items() if key[1] == COPIES}
    assert {(stack.split(';')[-1], *key) for stack, *key in copies} == {('train_copy', COPIES, 'unstated', 0)}, copies
    assert sum(copies.values()) == 7 * STEPS // 4, copies
    check({key: count for key, count in found.items() if key[1] != COPIES})
    assert ' 500 launches' in errors and ' 0 unmatched;' in errors, errors


@case
def small_copies_have_no_stack():
    found, errors = profile('copy=1000', 'cubin2')
    copies = {key: count for key, count in found.items() if key[1] == COPIES}
    assert copies == {('[launch not seen]', COPIES, 'unstated', 0): 7 * STEPS // 4}, copies
    assert ' 400 launches' in errors, errors


@case
def a_context_that_is_destroyed_has_all_its_samples():
    found, _ = profile('end=destroy', 'cubin2')
    check(found)


@case
def the_program_ends_without_exit_handlers():
    profile('end=_exit', 'cubin2')


@case
def no_failure_of_cupti_harms_the_program():
    for function in FUNCTIONS:
        found, errors = profile('cubin2', STAND_IN_FAILS=f'{function}:1')
        if function in ('cuptiGetDeviceId', 'cuptiGetCubinCrc', 'cuptiPCSamplingDisable'):
            check(found)
            continue
        assert not found, f'{function}: {found}'
        assert function == 'cuptiPCSamplingGetData' or re.search(r'warning: cuda: process \d+: ', errors), \
            f'{function}: {errors}'


@case
def it_yields_to_a_profiler_that_holds_cupti():
    found, errors = profile('cubin2', STAND_IN_FAILS='cuptiSubscribe:39')
    assert not found and 'another profiler holds CUPTI' in errors, errors


@case
def a_library_that_is_injected_already_stays():
    found, errors = profile('cubin2', CUDA_INJECTION64_PATH='/nonexistent')
    assert not found and 'CUDA_INJECTION64_PATH is /nonexistent already' in errors, errors


@case
def no_cupti():
    found, errors = profile('cubin2', options=',cupti=/nonexistent')
    assert not found and 'no libcupti.so found' in errors, errors


@case
def shares_by_kernel_are_compared():
    outcome = subprocess.run(
        ['./cuda/shares.py', '--iaprof', IAPROF, '--source', './cuda/iaprof-cuda.so:launch-rate=0',
         './cuda/stand-in/program', str(STEPS), 'cubin2'],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', check=False, timeout=1800)
    assert outcome.returncode == 0, outcome.stdout
    assert re.search(r'^ *25\.00 % +25\.00 % +\+0\.00  scale$', outcome.stdout, re.M), outcome.stdout


@case
def the_library_without_iaprof_does_nothing():
    for environment in ({}, {'IAPROF_CUDA': 'nobody token 20 1000 1 1 0 1 1 1'}, {'IAPROF_CUDA': 'x'}):
        outcome = subprocess.run(['./cuda/stand-in/program', '10', 'cubin2'], stdout=subprocess.PIPE, check=False,
                                 encoding='utf-8', timeout=600,
                                 env={**os.environ, **environment,
                                      'CUDA_INJECTION64_PATH': os.path.abspath('cuda/libiaprof-cuda.so')})
        assert (outcome.returncode, outcome.stdout) == (STATUS, wanted_output(10)), outcome


@case
def a_program_must_be_given():
    outcome = subprocess.run([IAPROF, '-d', '1s', '-s', './cuda/iaprof-cuda.so', '-k', 'folded'], check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', timeout=600)
    assert outcome.returncode and 'give it after --' in outcome.stderr, outcome


class Running:
    """The stand-in's program, which runs for seconds: a step and a graph of three launches each half a millisecond."""

    def __init__(self, *before, steps=12000):
        self.steps = steps
        self.program = subprocess.Popen([*before, './cuda/stand-in/program', str(steps), 'graph=3', 'pace=500'],
                                        stdout=subprocess.PIPE, encoding='utf-8')
        while 'libcupti' not in self.maps():
            time.sleep(0.01)

    def maps(self):
        with open(f'/proc/{self.program.pid}/maps', encoding='utf-8') as file:
            return file.read()

    def command(self, seconds, options='', output='out'):
        return [IAPROF, '-v', '-d', str(seconds), '-p', str(self.program.pid), '-s', f'./cuda/iaprof-cuda.so:launch-rate=0{options}',
                '-k', f'folded:output={output}.folded,value=gpu-time']

    def profile(self, seconds=1, options='', status=0):
        """Returns {(function, kernel): ns} and the messages."""
        outcome = subprocess.run(self.command(seconds, options), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 encoding='utf-8', check=False, timeout=600)
        assert outcome.returncode == status, outcome.stderr
        found = {}
        with open('out.folded', encoding='utf-8') as file:
            for line in file:
                stack, value = line.rstrip('\n').rsplit(' ', 1)
                frames = stack.split(';')
                if '-' not in frames:
                    continue # idle
                border = frames.index('-')
                key = frames[border - 1], frames[border + 1].removesuffix('_[G]')
                found[key] = found.get(key, 0) + float(value)
        return found, outcome.stderr

    def end(self):
        """It ends as it does alone."""
        printed, _ = self.program.communicate(timeout=600)
        assert (self.program.returncode, printed) == (STATUS, wanted_output(self.steps)), (self.program.returncode, printed)


def check_shares(found):
    """In four steps, three launches of add and one of scale, and four graphs of two of add and one of scale; one in fifty
    has no time."""
    wanted = {('train_add', 'add'): 3 * 1, ('train_scale', 'scale'): 1 * 3, ('train_replay', 'add'): 4 * 2 * 1,
              ('train_replay', 'scale'): 4 * 1 * 3}
    assert found.keys() == wanted.keys(), found
    for key, part in wanted.items():
        share, due = found[key] / sum(found.values()), part / sum(wanted.values())
        assert abs(share - due) < 0.02, f'{key}: {share:.3f} instead of {due:.3f}'


@case
def running_programs_are_attached_to_again_and_again():
    program = Running(steps=24000)
    for _ in range(3):
        found, errors = program.profile()
        check_shares(found)
        assert '100 % matched to a kernel' in errors and 'not declared' not in errors, errors
    assert 'memfd:libiaprof' not in program.maps()
    program.end()


@case
def a_program_in_a_container_gets_a_copy_of_the_library():
    os.makedirs('hidden', exist_ok=True)
    shutil.copy('cuda/libiaprof-cuda.so', 'hidden')
    program = Running('unshare', '--net', '--mount', 'sh', '-c', 'mount -t tmpfs none hidden && exec "$@"', 'sh')
    found, _ = program.profile(options=',library=./hidden/libiaprof-cuda.so')
    check_shares(found)
    assert 'memfd:libiaprof-cuda.so' in program.maps()
    program.end()


@case
def sampling_goes_on_after_a_profile():
    program = Running()
    found, errors = program.profile(options=',sampling=yes')
    assert 'cannot end the sampling' in errors and found.keys() >= {('train_add', 'add'), ('train_replay', 'scale')}, errors
    outcome = subprocess.run(program.command(1, ',sampling=yes')[:-1] + ['folded:output=out.folded'], stderr=subprocess.PIPE,
                             encoding='utf-8', check=False, timeout=600)
    assert 'an earlier profile with sampling=yes' in outcome.stderr and '% of GPU samples' in outcome.stderr, outcome.stderr
    program.end()


@case
def one_iaprof_profiles_a_program_at_a_time():
    program = Running()
    with subprocess.Popen(program.command(3, output='first'), stderr=subprocess.PIPE, encoding='utf-8') as first:
        while 'libiaprof-cuda' not in program.maps():
            time.sleep(0.01)
        found, errors = program.profile(status=1)
        assert not found and 'another iaprof profiles it' in errors, errors
        assert 'no CUDA program was attached to' in errors, errors
        _, errors = first.communicate(timeout=600)
    assert '100 % matched to a kernel' in errors, errors
    program.end()


@case
def a_killed_iaprof_leaves_the_program_whole():
    program = Running(steps=18000)
    with subprocess.Popen(program.command(60), stderr=subprocess.DEVNULL) as killed:
        while 'libiaprof-cuda' not in program.maps():
            time.sleep(0.01)
        time.sleep(0.5)
        killed.kill()
    time.sleep(1) # the library looks four times a second
    check_shares(program.profile()[0])
    program.end()


TRAIN = '''
import ctypes, os, select, sys
library = ctypes.CDLL(os.path.abspath('cuda/stand-in/libcupti.so.13'))
code = open('cubin2', 'rb').read()
def launch(kernel):
    library.stand_in_launch(module, kernel)
def train_scale(): launch(b'scale')
def train_add():
    for _ in range(3):
        launch(b'add')
library.stand_in_init()
library.stand_in_create_context()
module = library.stand_in_load(code, ctypes.c_size_t(len(code)))
while not select.select([sys.stdin], [], [], 0.01)[0]:
    train_scale()
    train_add()
'''
PYTHON_CHAINS = {'scale': ['<module>:train.py:15', 'train_scale:train.py:7', 'launch:train.py:6'],
                 'add': ['<module>:train.py:16', 'train_add:train.py:10', 'launch:train.py:6']}


@case
def kernels_hang_below_the_python_line_that_launched_them():
    with open('train.py', 'w', encoding='ascii') as file:
        file.write(TRAIN)
    found, begin = {}, time.monotonic()
    with subprocess.Popen([IAPROF, '-i', '250ms', '-s', './cuda/iaprof-cuda.so:launch-rate=0,time=off', '-k', 'csv:lines=yes,output=-', '--',
                           '/usr/bin/python3', 'train.py'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          encoding='utf-8') as profiler:
        for row in csv.DictReader(profiler.stdout):
            frames = row['stack'].split(';')
            if '-' not in frames:
                continue
            border = frames.index('-')
            kernel = frames[-3].removesuffix('_[G]').split(':')[0]
            python = [frame for frame in frames[:border] if '.py:' in frame]
            if python:
                last = frames.index(python[-1])
                found[kernel] = python, any('libcupti' in frame for frame in frames[last:border])
            # The tables of the interpreter come after the first launches.
            if len(found) == 2 or time.monotonic() > begin + 600:
                profiler.stdin.close()
        assert profiler.wait() == 0
    assert found == {kernel: (chain, False) for kernel, chain in PYTHON_CHAINS.items()}, found


HOSTILE = r'''
import array, ctypes, fcntl, mmap, os, socket, struct
MAGIC = int(os.environ['CUDA_MAGIC'], 16)
HEAD = 4096
name, token = os.environ['IAPROF_CUDA'].split()[:2]
def memory(size, seals):
    descriptor = os.memfd_create('x', os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, size)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor
def connect(message, descriptors):
    end = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    end.connect('\0' + name)
    end.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', descriptors))])
    return end
def hello(size):
    return struct.pack('<QIIQQ32s', MAGIC, 1, 0, size, 0, token.encode())
def ring(records, head=None):
    descriptor = memory(HEAD + 65536, fcntl.F_SEAL_SHRINK)
    view = mmap.mmap(descriptor, HEAD + 65536)
    view[HEAD:HEAD + len(records)] = records
    view[16:24] = struct.pack('<Q', len(records) if head is None else head)
    return connect(hello(65536), [descriptor])
kept = [connect(b'short', [0]),
        connect(hello(1 << 40), [memory(4096, fcntl.F_SEAL_SHRINK)]),
        connect(hello(65535), [memory(HEAD + 65535, fcntl.F_SEAL_SHRINK)]),
        connect(hello(65536), [memory(HEAD + 65536, 0)]),
        connect(hello(65536), [os.open('/dev/zero', os.O_RDWR)]),
        connect(hello(65536), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]),
        connect(struct.pack('<QIIQQQ', MAGIC, 2, 1, 5, 1 << 50, 0), [memory(10, 0)]),
        ring(b'', 1 << 63), ring(struct.pack('<II', 0, 1)), ring(struct.pack('<II', 12, 1)),
        ring(struct.pack('<II', 1 << 31, 1)), ring(struct.pack('<II', 8, 1)), ring(struct.pack('<II', 8, 99)),
        ring(struct.pack('<IIII', 16, 4, 1, 0xffffffff)), ring(struct.pack('<IIIIQ', 24, 3, 7, 0, 0)),
        ring(struct.pack('<IIIIQQQII', 48, 6, 1, 1, 0, 0, 0, 0xffffffff, 0)),
        ring(struct.pack('<IIIIQ', 24, 3, 1, 0, 0) +
             struct.pack('<IIIIQQQIIII', 56, 6, 1, 99, 1 << 63, 1 << 63, 1 << 60, 1, 0, 77, 1)),
        ring(struct.pack('<IIIIQQQ', 40, 5, 9, 1, 1 << 63, 1 << 63, 1 << 63))]
import time
time.sleep(0.3)
'''


def magic():
    with open('cuda/transport.h', encoding='utf-8') as file:
        return {**os.environ, 'CUDA_MAGIC': re.search(r'#define CUDA_MAGIC (0x[0-9a-f]+)ull', file.read())[1]}


@case
def what_a_hostile_program_sends_is_counted_and_refused():
    outcome = subprocess.run([IAPROF, '-s', './cuda/iaprof-cuda.so', '-k', 'folded:output=out.folded', '--',
                              sys.executable, '-c', HOSTILE], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding='utf-8', check=False, timeout=600, env=magic())
    assert outcome.returncode == 0 and 'Traceback' not in outcome.stderr, outcome.stderr
    assert re.search('records of the library that could not be used', outcome.stderr), outcome.stderr


@case
def connections_of_others_are_refused():
    """The socket's name is in /proc/net/unix; what the plugin knows its programs by is not."""
    nobody = ['sh', '-c', 'setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; true', 'sh']
    for before, program in ([], HOSTILE.replace('\ndef memory', '\ntoken = "x" * 32\ndef memory', 1)), (nobody, HOSTILE):
        outcome = subprocess.run([IAPROF, '-s', './cuda/iaprof-cuda.so', '-k', 'folded:output=out.folded', '--',
                                  *before, '/usr/bin/python3', '-c', program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 encoding='utf-8', check=False, timeout=600, env=magic())
        assert outcome.returncode == 0 and 'connections of other programs were refused' in outcome.stderr, outcome.stderr


for variable in 'CUDA_INJECTION64_PATH', 'IAPROF_CUDA', 'STAND_IN_FAILS':
    os.environ.pop(variable, None)
run_cases('BPF programs are loaded', ('cc', 'clang', 'make', 'pkg-config'), build)
