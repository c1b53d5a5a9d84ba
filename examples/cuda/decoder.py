#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program to profile: a small decoder with a cache of keys and values generates one token a step with PyTorch, and
prints the steps per second.

usage: decoder.py KIND [SECONDS [--judge FILE]]

KIND: eager; graphs: torch.compile with CUDA graphs; static: likewise, with the cache where it is, so that PyTorch need
not copy it into the graph's own memory at each step; captured: a CUDA graph that the program captures itself, with a
kernel three times in one function and NVTX range, and once in another; two: a kernel of one block and a kernel of the
whole device; streams: the same on two streams at once. FILE: kernel times as PyTorch's profiler (Kineto, CUPTI's
activity records) reports them, for times.py.
"""
import collections
import json
import sys
import time

import torch
import triton
from torch import nn
from triton import language

LAYERS, WIDTH, HEADS, LENGTH, BATCH = 6, 1024, 16, 16384, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.project_in = nn.Linear(WIDTH, 3 * WIDTH)
        self.project_out = nn.Linear(WIDTH, WIDTH)
        self.project_up = nn.Linear(WIDTH, 4 * WIDTH)
        self.project_down = nn.Linear(4 * WIDTH, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))

    def attend(self, values, keys, cached, position):
        query, key, value = self.project_in(values).view(BATCH, 3, HEADS, WIDTH // HEADS).unbind(1)
        keys[:, :, position] = key
        cached[:, :, position] = value
        found = nn.functional.scaled_dot_product_attention(query.unsqueeze(2), keys, cached)
        return self.project_out(found.reshape(BATCH, WIDTH))

    def forward(self, values, keys, cached, position):
        values = values + self.attend(self.norms[0](values), keys, cached, position)
        return values + self.project_down(nn.functional.gelu(self.project_up(self.norms[1](values))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, values, caches, position):
        for block, (keys, cached) in zip(self.blocks, caches):
            values = block(values, keys, cached, position)
        return values


def make_decoder(is_compiled, is_static):
    model = Decoder().to('cuda', torch.bfloat16).eval()
    forward = torch.compile(model, mode='reduce-overhead') if is_compiled else model
    shape = BATCH, HEADS, LENGTH, WIDTH // HEADS
    caches = [tuple(torch.zeros(shape, device='cuda', dtype=torch.bfloat16) for _ in range(2)) for _ in range(LAYERS)]
    if is_static:
        for tensor in (tensor for pair in caches for tensor in pair):
            torch._dynamo.mark_static_address(tensor)
    values, position = torch.randn(BATCH, WIDTH, device='cuda', dtype=torch.bfloat16), torch.zeros((), dtype=torch.long, device='cuda')

    def generate_token():
        with torch.no_grad():
            return forward(values, caches, position)
    return generate_token


@triton.jit
def spin(values, rounds, BLOCK: language.constexpr):
    places = language.program_id(0) * BLOCK + language.arange(0, BLOCK)
    value = language.load(values + places)
    for _ in range(rounds):
        value = value * 0.999 + 0.001
    language.store(values + places, value)


@triton.jit
def spin_narrow(values, rounds, BLOCK: language.constexpr):
    spin(values, rounds, BLOCK)


@triton.jit
def spin_wide(values, rounds, BLOCK: language.constexpr):
    spin(values, rounds, BLOCK)


def make_two(uses_streams):
    values = torch.ones(1056 * 256, device='cuda')
    streams = [torch.cuda.Stream() if uses_streams else torch.cuda.current_stream() for _ in range(2)]

    def narrow():
        with torch.cuda.stream(streams[0]):
            spin_narrow[(1,)](values, 40000, BLOCK=64, num_warps=2)

    def wide():
        with torch.cuda.stream(streams[1]):
            spin_wide[(1056,)](values, 4000, BLOCK=256, num_warps=8)

    def run_both():
        narrow()
        wide()
    return run_both


def make_captured():
    values, graph = torch.ones(1056 * 256, device='cuda'), torch.cuda.CUDAGraph()

    def thrice():
        for _ in range(3):
            spin_wide[(1056,)](values, 400, BLOCK=256, num_warps=8)

    def once():
        spin_wide[(1056,)](values, 400, BLOCK=256, num_warps=8)
    once()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        with torch.cuda.nvtx.range('first part'):
            thrice()
        with torch.cuda.nvtx.range('second part'):
            once()
    return graph.replay


def run(kind, seconds):
    torch.manual_seed(1)
    if kind in ('two', 'streams'):
        step = make_two(kind == 'streams')
    elif kind == 'captured':
        step = make_captured()
    else:
        step = make_decoder(kind in ('graphs', 'static'), kind == 'static')
    for _ in range(20):
        step()
    torch.cuda.synchronize()
    start, cpu = time.perf_counter(), time.thread_time()
    steps = 0
    while time.perf_counter() - start < seconds:
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        steps += 10
    return steps / (time.perf_counter() - start), 1e6 * (time.thread_time() - cpu) / steps


def shares_of(executions):
    """Divides the time equally among the kernels that run at the same time: {name: ns}. executions: (begin, end, name)."""
    shares, running, before = collections.Counter(), collections.Counter(), 0
    changes = sorted((at, change, name) for begin, end, name in executions for at, change in ((begin, 1), (end, -1)))
    for at, change, name in changes:
        count = sum(running.values())
        for other in running:
            shares[other] += (at - before) * running[other] / count if count else 0
        running[name] += change
        if not running[name]:
            del running[name]
        before = at
    return shares


def judged(kind, seconds, path):
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, acc_events=True) as profiler:
        speed = run(kind, seconds)
    executions = []
    for event in profiler.profiler.kineto_results.events():
        name = event.name()
        if event.device_type() != torch.autograd.DeviceType.CUDA or name.startswith(('Memcpy', 'Memset')) or event.is_user_annotation():
            continue
        executions.append((event.start_ns(), event.start_ns() + event.duration_ns(), name))
    length = max(end for _, end, _ in executions) - min(begin for begin, _, _ in executions)
    with open(path, 'w', encoding='utf-8') as file:
        json.dump({'kernels': shares_of(executions), 'length': length, 'executions': len(executions)}, file)
    return speed


def main():
    kind = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5
    speed, cpu_per_step = judged(kind, seconds, sys.argv[4]) if len(sys.argv) > 4 else run(kind, seconds)
    print(f'{speed:.3f} steps/s', flush=True)
    print(f'{cpu_per_step:.1f} us of CPU time a step', flush=True)


main()
