#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: module xe
# lab: seconds 600
# lab: by-name
"""Makes examples/demo.iaprof: a capture of a model that uses a GPU and an NPU, which doubles stand in for. TAP.

    sudo tests/lab/run -k newest demo-capture --keep examples

GPU kernels, their code and launches are those of Intel's real runtime, of which five places of the program have work
done, in three phases; what the EUs wait for is chosen by the scenario. The NPU's driver has jobs of two programs, and
one that is in trouble. The CPU's part is what really happened.
"""
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from flame_graph import double
from flame_graph.code_scenarios import FIVE_SITES
from flame_graph.known import KNOWN, all_kernels, sites
from flame_graph.launcher import ENDLESS, Launcher
from flame_graph.profile import BUILD, SOURCE, TRACER
from harness import npu_double
from harness.cases import check, named, run, started
from harness.profiler import PROGRAM

PRODUCT = 'lnl'
# What the five places launch.
LAUNCHED = ['bias_gelu', 'histogram', 'matmul_tile', 'rotate_spill']
CAPTURE = 'demo.iaprof'
CALLER = str(BUILD / 'tests/lab/programs/npu_api')


def play_npu(name):
    outcome = subprocess.run([npu_double.PLAYER, '--load', npu_double.SCENARIOS / f'{name}.txt'], check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8')
    check(outcome.returncode == 0, f'npu_player: {outcome.stdout}')


def call_npu():
    """A program that uses the NPU by Level Zero."""
    text = (npu_double.SCENARIOS / 'steady.txt').read_text() + 'ioctl GET_PARAM\n    ivpu_get_param_ioctl\n'
    (npu_double.CONTROL / 'scenario').write_text(text)
    caller = subprocess.Popen([CALLER, '60', '25'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding='utf-8')
    check(caller.stdout.readline() == 'ready\n', 'the program does not begin')
    time.sleep(1)  # its libraries are found
    said, _ = caller.communicate('\n', timeout=120)
    check(said == 'done\n', f'the program failed: {said}')


def record():
    npu_double.load()
    rows = KNOWN.rows(PRODUCT, all_kernels(PRODUCT, LAUNCHED, step=1), cores='0-1')
    double.write('scenario', double.scenario_text(PRODUCT, rows, ['pace 2000', 'loop 4', 'gt 0 main cores 0-3']))
    command = ['sh', '-c', 'echo ready; exec cat >/dev/null']
    profiler = started(subprocess.Popen(
        [PROGRAM, '-s', 'xe-eustall', '-s', 'cpu-stack', '-s', 'ivpu', '--record', CAPTURE, '--', *command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    check(profiler.stdout.readline() == b'ready\n', 'iaprof does not begin')
    double.wait_until(lambda: ' enabled 1 ' in double.state(), 'the stream to be open')
    program = Launcher(SOURCE, BUILD, PRODUCT, [*sites(**FIVE_SITES), '--rate', 20, *ENDLESS], preload=TRACER,
                       truth='truth')
    program.go_to('loaded 0')
    program.make_turns()
    double.play()
    time.sleep(0.7)
    call_npu()
    double.play()
    play_npu('two')
    play_npu('storm')
    double.play()
    program.end()
    said = profiler.communicate(timeout=120)[1].decode()
    check(profiler.returncode == 0, f'iaprof: {said}')
    print('\n'.join(f'# {line}' for line in said.splitlines()))
    samples, _totals = double.truth()
    check(f'{sum(sum(counts.values()) for counts in samples.values())} samples' in said, 'not all samples are there')
    pathlib.Path(os.environ['LAB_KEEP'], CAPTURE).write_bytes(pathlib.Path(CAPTURE).read_bytes())
    print(f'# measured: {pathlib.Path(CAPTURE).stat().st_size} bytes')
    subprocess.run(['rmmod', 'intel_vpu'], check=True)


if not os.environ.get('LAB_CHROOT'):
    print('there is no chroot with Intel\'s runtime')
    sys.exit(77)
sys.exit(run(named(record)) != 0)
