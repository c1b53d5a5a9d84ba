#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: module xe
# lab: seconds 900
# lab: by-name
# lab: runtime
# lab: covers tests/lab/demo/** tests/lab/level_zero/** tests/lab/programs/level_zero/**
"""Makes examples/demo.iaprof and examples/demo-fixed.iaprof: a program with a slow kernel, and the same with that kernel
fixed. TAP.

    sudo tests/lab/run -k newest demo-capture --keep examples

An assistant (demo/assistant, in Python) answers a question with a small language model on a GPU, while a transcriber
(demo/transcriber.c) turns speech into text on an NPU. The programs, Intel's runtime, GPU code, launches, stacks and CPU
samples are real; doubles stand in for the devices:

- EU stalls are drawn, from a seed, from a model that follows the instructions of each kernel (demo/stall_model.py). A
  launch lasts as long as its threads need by that model, so that a kernel which waits less is faster.
- feed_forward multiplies matrices, and reads each operand from global memory where it needs it. In the second capture it
  is compiled with -D TILED, and reads them through local memory. All else is the same: as many tokens, as many launches.
- The NPU answers in 3 ms at first. Then its firmware sends a message every 3 ms, and a job lasts 450 ms.

It takes two minutes on a machine that does nothing else; on a busy one the emulated processors are late, and it fails.
"""
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE), str(HERE / 'demo'), str(HERE.parent / 'cli')]

import capture_file
import stall_model
from flame_graph import double
from flame_graph import heaps
from flame_graph.profile import BUILD, SOURCE, TRACER
from harness import npu_double
from harness.cases import check, named, run, started
from harness.profiler import Profiler

PRODUCT = 'lnl'
PROGRAMS = BUILD / 'tests/lab/level_zero'
TRANSCRIBER = BUILD / 'tests/lab/demo/transcriber'

# The program's: what it launches for each token, one after the other, and how often the loops of the kernels run.
LAYER = 'rms_norm', 'attention_scores', 'softmax', 'rms_norm', 'feed_forward', 'bias_gelu'
LAYERS = 2
TOKENS = 24
LOOPS = {'rms_norm': (16,), 'softmax': (32, 32, 32), 'feed_forward': (1024,)}
TILED_LOOPS = {**LOOPS, 'feed_forward': (1024 // 16,)}

# Cycles of all threads of the device in a millisecond, so that a token of the slow version lasts 0.32 s, and then the
# time in which the CPU chooses the token.
CYCLES_PER_MS = 2400000
CPU_MS = 120
ROWS_PER_MS = 1
SAMPLES = 48

# The transcriber's: pieces of sound, those before the flood of messages, and how often there is one.
CHUNKS, HEALTHY_CHUNKS, CHUNK_MS = 46, 42, 150

# Strings that identify the machine.
PRIVATE = [(rb'^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', b'00000000-0000-0000-0000-000000000000'),  # boot id
           (re.escape(os.fsencode(SOURCE)), b'/usr/src/iaprof'),
           (re.escape(os.fsencode(os.environ.get('LAB_CHROOT') or '/nowhere')), b'')]


def npu_scenario():
    """The storm of messages, after a time without."""
    text = (npu_double.SCENARIOS / 'storm.txt').read_text(encoding='ascii')
    trees = re.search(r'(ioctl SUBMIT times 1\n.*?)(ioctl SUBMIT times 1000000\n.*?)(?=ioctl BO_WAIT)', text, re.S)
    check(trees, 'storm.txt has another form')
    storm = '        start storm every 1ms times 1000\n        start job_done after 900ms\n'
    first, other = trees.groups()
    check(storm in first and storm in other, 'storm.txt has another form')
    healthy = '        start job_done after 3ms\n'
    sick = storm.replace('1ms times 1000', '3ms times 150').replace('900ms', '450ms')
    submits = (first.replace(storm, healthy) +
               other.replace(storm, healthy).replace('times 1000000', f'times {HEALTHY_CHUNKS - 1}') +
               other.replace(storm, sick).replace('#', ''))
    text = text.replace('generation 6.13\n', 'generation 6.13\nset autosuspend_ms 2000\n')
    return text.replace(trees.group(0), submits) + 'ioctl GET_PARAM\n    ivpu_get_param_ioctl\n'


def lines_until(program, last):
    """What a program prints before a line."""
    lines = []
    while not lines or lines[-1] != f'{last}\n':
        lines.append(program.stdout.readline())
        check(lines[-1], f'{program.args} ended')
    return lines[:-1]


def start(*command):
    return started(subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    encoding='utf-8', bufsize=1))


def works(module, kernels, loops):
    """What the launches of a token do. kernels: {name: (address, work-items)}"""
    code = stall_model.parse((PROGRAMS / f'demo/{module}.txt').read_text(encoding='utf-8'))
    made = {}
    for name in set(LAYER):
        lanes = max(instruction.lanes for instruction in code[name])
        made[name] = stall_model.work_of(name, code[name], loops.get(name, ()), kernels[name][1] // lanes)
    return [made[name] for _ in range(LAYERS) for name in LAYER]


def gpu_scenario(kernels, launches, busy, period):
    """Rows of all tokens, one period each, of which the device works in the first part."""
    lines = [f'platform {PRODUCT}', 'gt 0 main cores 0-3']
    for token in range(TOKENS):
        rows = stall_model.rows(launches, busy * ROWS_PER_MS, SAMPLES, token)
        for number, (kernel, offset, counts) in enumerate(rows):
            moment = round(1000 * (token * period + busy * number / len(rows)))
            address = kernels[kernel][0] - heaps.base([], kernels[kernel][0]) + offset
            reasons = ' '.join(f'{reason} {count}' for reason, count in counts.items())
            lines.append(f'row at {moment}us gt 0 core 0-3 address {address:#x} {reasons}')
    return '\n'.join([*lines, 'end', ''])


def interrupt_thread():
    """The thread of the NPU driver's interrupt, which belongs to no program."""
    for path in pathlib.Path('/proc').glob('[0-9]*/comm'):
        if re.match(r'irq/\d+-.*vp', path.read_text(encoding='utf-8')):
            return int(path.parent.name)
    return None


def spread(assistant, transcriber):
    """Processes to CPUs: the driver's interrupts must not come while the program that uses it is in a BPF program."""
    for path in pathlib.Path('/proc/irq').glob('*/*vpu*'):
        (path.parent / 'smp_affinity_list').write_text('0', encoding='ascii')
    os.sched_setaffinity(assistant.pid, {0})
    os.sched_setaffinity(transcriber.pid, {1})


def record(name, module, loops):
    """One capture. The emulated processor is now and then too late for a job of the NPU, which would be missing."""
    for _ in range(4):
        said = record_once(f'{name}.iaprof', module, loops)
        if 'NPU jobs' not in said:
            break
    else:
        check(False, f'jobs of the NPU are missing: {said}')
    print('\n'.join(f'# {line}' for line in said.splitlines()))
    data = capture_file.rewrite(pathlib.Path(f'{name}.iaprof').read_bytes(), PRIVATE)
    pathlib.Path(os.environ['LAB_KEEP'], f'{name}.iaprof').write_bytes(data)
    print(f'# measured: {name}.iaprof: {len(data)} bytes')


def record_once(capture, module, loops):
    """-> what iaprof said"""
    # Detaching from functions takes a grace period each, which would be an idle end of the capture.
    pathlib.Path('/sys/kernel/rcu_expedited').write_text('1', encoding='ascii')
    npu_double.load()
    (npu_double.CONTROL / 'scenario').write_text(npu_scenario(), encoding='ascii')
    command = [SOURCE / 'tests/lab/guest/in-chroot', 'env', f'LD_PRELOAD={TRACER}',
               f'PYTHONPATH={PROGRAMS}', 'PYTHONDONTWRITEBYTECODE=1',
               SOURCE / 'tests/lab/level_zero/run-without-gpu', PRODUCT, 'python3', HERE / 'demo/assistant/assistant.py',
               PROGRAMS / f'demo/{module}.bin', TOKENS]
    assistant = start(*command)
    kernels = {words[1]: (int(words[2], 16), int(words[3])) for words in map(str.split, lines_until(assistant, 'ready'))}
    launches = works(module, kernels, loops)
    busy = round(sum(map(stall_model.total, launches)) / CYCLES_PER_MS)
    period = busy + CPU_MS
    double.write('scenario', gpu_scenario(kernels, launches, busy, period))
    transcriber = start(TRANSCRIBER, CHUNKS, CHUNK_MS)
    lines_until(transcriber, 'ready')
    spread(assistant, transcriber)
    # Only these programs, from when they have loaded what they need: the demonstration is about their own work.
    # The assistant is last, for its compiler's libraries take longest to read.
    pids = [transcriber.pid, assistant.pid, interrupt_thread()]
    # The summary asks for the lines of CPU code, which are then in the capture.
    profiler = Profiler('-p', ','.join(str(pid) for pid in pids if pid), '-s', 'xe-eustall', '-s',
                        'cpu-stack:frequency=149', '-s', 'ivpu', '-k', 'summary:output=summary', '--record',
                        f'{capture},level=19,sources={HERE / "demo/kernels"}:{HERE / "demo/assistant"}',
                        ready=lambda said: ' functions of intel_vpu in ' in said)
    double.wait_until(lambda: ' enabled 1 ' in double.state(), 'the stream to be open')
    assistant.stdin.write(f'{period} {busy}\n')
    lines_until(assistant, 'begun')
    transcriber.stdin.write('\n')
    double.play()
    lines_until(assistant, 'answered')
    lines_until(transcriber, 'done')
    # Before they end, for what they do then is of no interest.
    began = time.monotonic()
    said = profiler.end().said
    print(f'# ended in {time.monotonic() - began:.1f} s')
    assistant.communicate(timeout=60)
    transcriber.communicate(timeout=60)
    samples, _totals = double.truth()
    check(f'{sum(sum(counts.values()) for counts in samples.values())} samples' in said, 'not all samples are there')
    subprocess.run(['rmmod', 'intel_vpu'], check=True)
    return said


def demo():
    record('demo', 'decoder', LOOPS)


def demo_fixed():
    record('demo-fixed', 'decoder-tiled', TILED_LOOPS)


if not os.environ.get('LAB_CHROOT'):
    print('there is no chroot with Intel\'s runtime')
    sys.exit(77)
sys.exit(run(named(demo, demo_fixed)) != 0)
