#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies by kind, of runs of one program: how often, bytes and durations, by iaprof beside those by PyTorch's profiler
and by construction, and the time and idle time of kernels with and without copies= of the source.

usage: copies.py [--iaprof PROGRAM] [--source PLUGIN:OPTIONS] [STEPS]
       copies.py --run [--judge FILE] [STEPS]    the program alone; --judge: under PyTorch's profiler
"""
import argparse
import collections
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

MIB = 1 << 20
# Bytes of each step, by kind. Pinned memory is copied beside a product of matrices, on a stream of its own.
STEP = {'host to device': 8 * MIB, 'host to device (pageable)': 4 * MIB, 'device to host': 2 * MIB, 'on the device': 16 * MIB,
        'memory set': MIB}
# And of the CUDA graph that each step launches, from two lines.
GRAPH = {'host to device': MIB, 'on the device': 3 * MIB}


def tensor(torch, size, **options):
    return torch.empty(size, dtype=torch.uint8, **options)


def stage(pinned, staged):
    staged.copy_(pinned, non_blocking=True)


def duplicate(staged, whole):
    whole.copy_(staged)


def work(torch, steps):
    pinned, pageable, back = (tensor(torch, STEP['host to device'], pin_memory=True),
                              tensor(torch, STEP['host to device (pageable)']),
                              tensor(torch, STEP['device to host'], pin_memory=True))
    on_device = {kind: tensor(torch, size, device='cuda') for kind, size in STEP.items()}
    other = tensor(torch, STEP['on the device'], device='cuda')
    staging, staged = tensor(torch, MIB, pin_memory=True), tensor(torch, MIB, device='cuda')
    source, whole = (tensor(torch, GRAPH['on the device'], device='cuda') for _ in range(2))
    matrix = torch.ones(4096, 4096, device='cuda', dtype=torch.bfloat16)
    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        stage(staging, staged)
        duplicate(source, whole)
    for _ in range(steps):
        torch.mm(matrix, matrix)
        with torch.cuda.stream(side):
            on_device['host to device'].copy_(pinned, non_blocking=True)
        torch.mm(matrix, matrix)
        on_device['host to device (pageable)'].copy_(pageable)
        back.copy_(on_device['device to host'], non_blocking=True)
        other.copy_(on_device['on the device'])
        on_device['memory set'].zero_()
        graph.replay()
        torch.cuda.synchronize()


def kind_of(name):
    """Of a name that PyTorch's profiler gives: "Memcpy HtoD (Pageable -> Device)"."""
    if name.startswith('Memset'):
        return 'memory set'
    kinds = {'HtoD': 'host to device', 'DtoH': 'device to host', 'DtoD': 'on the device', 'PtoP': 'between devices',
             'HtoH': 'on the host'}
    kind = kinds.get(re.match(r'Memcpy (\w+)', name)[1], name)
    return f'{kind} (pageable)' if 'Pageable' in name else kind


def judge(torch, steps, path):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        work(torch, steps)
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 'trace.json')
        profiler.export_chrome_trace(trace)
        with open(trace, encoding='utf-8') as file:
            events = json.load(file)['traceEvents']
    found = collections.defaultdict(lambda: [0, 0, 0])
    for event in events:
        if event.get('cat') in ('gpu_memcpy', 'gpu_memset'):
            sums = found[kind_of(event['name'])]
            for i, value in enumerate((1, event['args']['bytes'], 1000 * event['dur'])):
                sums[i] += value
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(found, file)


def profiled(arguments, options, folder):
    """-> {kind: [count, bytes, ns]}, {kind: launch sites}, ns of kernels, idle ns"""
    values, source = os.path.join(folder, 'values.csv'), arguments.source
    source += (',' if ':' in source else ':') + f'sampling=no,{options}'
    subprocess.run([arguments.iaprof, '-s', source, '-k', f'csv:output={values}', '--', sys.executable, __file__, '--run',
                    str(arguments.steps)], check=True)
    found, sites = collections.defaultdict(lambda: [0, 0, 0]), collections.defaultdict(collections.Counter)
    times = collections.Counter()
    with open(values, encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            value, above, kernel = int(row['value']), *row['stack'].rpartition(';')[::2]
            kind = re.sub(r'^\[(copy )?|\](_\[G\])?$', '', kernel)
            times[row['value_type']] += value
            if row['value_type'] == 'gpu-copied':
                found[kind][0] += int(row['count'])
                found[kind][1] += value
                lines = [frame for frame in above.split(';') if re.match(r'(work|stage|duplicate)\b', frame)]
                sites[kind][lines[-1] if lines else 'elsewhere'] += int(row['count'])
            elif row['value_type'] in ('gpu-copy-time', 'gpu-copy-overlap'):
                found[kind][2] += value
    return found, sites, times['gpu-time'], times['gpu-idle']


def compare(arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'judge.json')
        subprocess.run([sys.executable, __file__, '--run', '--judge', path, str(arguments.steps)], check=True)
        with open(path, encoding='utf-8') as file:
            theirs = json.load(file)
        ours, sites, kernels, idle = profiled(arguments, 'copies=yes', folder)
        _, _, kernels_alone, idle_alone = profiled(arguments, 'copies=no', folder)
    built = {kind: arguments.steps * (STEP.get(kind, 0) + GRAPH.get(kind, 0)) for kind in {*STEP, *GRAPH}}
    print(f'{"kind":28} {"count":>7} {"judge":>7} {"bytes":>14} {"judge":>14} {"built":>14} {"ms":>9} {"judge":>9}')
    for kind in sorted({*ours, *theirs, *built}):
        own, other = ours[kind], theirs.get(kind, [0, 0, 0])
        print(f'{kind:28} {own[0]:7} {other[0]:7} {own[1]:14} {other[1]:14} {built.get(kind, 0):14} {own[2] / 1e6:9.3f} '
              f'{other[2] / 1e6:9.3f}')
    for kind, found in sorted(sites.items()):
        print(f'{kind}: {", ".join(f"{site} {count}" for site, count in found.most_common(4))}')
    print(f'kernels {kernels / 1e6:.3f} ms, idle {idle / 1e6:.3f} ms; with copies=no {kernels_alone / 1e6:.3f} and '
          f'{idle_alone / 1e6:.3f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--iaprof', default='iaprof')
    parser.add_argument('--source', default='cuda')
    parser.add_argument('--run', action='store_true')
    parser.add_argument('--judge')
    parser.add_argument('steps', nargs='?', type=int, default=200)
    arguments = parser.parse_args()
    if not arguments.run:
        return compare(arguments)
    import torch
    return judge(torch, arguments.steps, arguments.judge) if arguments.judge else work(torch, arguments.steps)


main()
