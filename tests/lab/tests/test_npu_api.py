#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: module intel_vpu
# lab: seconds 600
# lab: covers plugins/ivpu/** lib/npu/** plugins/sink-folded/**
# lab: covers tests/lab/programs/npu_* tests/lab/programs/level_zero/**
"""Calls of Level Zero around those of the NPU's driver, and the program's stack around both: stand-ins for the libraries
on the double of the NPU, with a program that calls them a known number of times. TAP; arguments choose."""
import collections
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness import npu_double, profiler
from harness.cases import check, named, run, started
from harness.npu_double import BUILD, PLAYER, SCENARIOS, wait_until_asleep
from harness.profiler import ROWS, instance

CALLER = str(BUILD / 'tests/lab/programs/npu_api')
TEXTS, IMAGES = 30, 12
# What each function of Level Zero asks the driver for, and how often the program calls it.
REQUESTS = {'zeMemAllocHost': ('BO_CREATE', 'ivpu_bo_create_ioctl', 2),
            'zeCommandQueueCreate': ('GET_PARAM', 'ivpu_get_param_ioctl', 1)}


def scenario_load():
    text = (SCENARIOS / 'steady.txt').read_text() + 'ioctl GET_PARAM\n    ivpu_get_param_ioctl\n'
    (npu_double.CONTROL / 'scenario').write_text(text)


def caller_start(*arguments):
    caller = started(subprocess.Popen([CALLER, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      encoding='utf-8'))
    check(caller.stdout.readline() == 'ready\n', 'the program does not begin')
    return caller


def caller_go(caller):
    caller.stdin.write('\n')
    caller.stdin.flush()
    check(caller.stdout.readline() == 'done\n', f'the program failed: {caller.poll()}')


class Run(profiler.Profiler):
    """iaprof with this source, from when it is attached to the driver and to so many libraries."""

    def __init__(self, *options, libraries=2, arguments=()):
        super().__init__('-s', instance('ivpu', *options), *ROWS, '-k', 'folded:value=npu-calls,output=out.folded',
                         *arguments,
                         ready=lambda said: ' functions of intel_vpu in ' in said and said.count(' in process ') >= libraries)
        self.rows, self.stacks = None, collections.Counter()

    def end(self, status=0, stop=True):
        begin = time.monotonic()
        super().end(status, stop)
        print(f'# ended in {time.monotonic() - begin:.2f} s')
        for line in pathlib.Path('out.folded').read_text(encoding='utf-8').splitlines():
            stack, _, count = line.rpartition(' ')
            self.stacks[tuple(stack.split(';'))] += int(count)
        self.rows = profiler.read_rows('ivpu')
        return self

    def lost(self):
        return profiler.losses(self.rows)

    def ending(self, name):
        """-> {the frames before: count} of what ends with a name"""
        return {stack[:-1]: count for stack, count in self.stacks.items() if stack[-1] == name}

    def show(self):
        for stack, count in sorted(self.stacks.items()):
            if stack[0] == 'npu_api':
                print('#', ';'.join(stack), count)


def program_part(stack):
    """The program's own frames, main and below, and then what is below those."""
    check(stack[0] == 'npu_api' and 'main' in stack, f'{stack}')
    rest = stack[stack.index('main') + 1:]
    return rest[:1], rest[1:]


def sums_by_caller(found):
    sums = collections.Counter()
    for stack, count in found.items():
        sums[program_part(stack)] += count
    return dict(sums)


def counted(run, name, below):
    """What ends with a name is, for each of the program's functions, so often, and below these calls."""
    found = sums_by_caller({stack: count for stack, count in run.ending(name).items() if stack[0] == 'npu_api'})
    expected = {((caller,), calls): count for (caller, calls), count in below.items()}
    check(found == expected, f'{name}: {found}, not {expected}; lost: {run.lost()}')


def no_losses(run):
    lost = run.lost()
    missed = lost.pop(npu_double.INTERRUPTED, 0)
    # A trampoline's program may miss one end of a call: the other one then is alone.
    alone = lost.pop('calls: begin not seen', 0) + lost.pop('calls: return not seen', 0)
    check(not lost and alone <= missed, f'lost: {run.lost()}')
    print(f'# {missed} calls of interrupts missed')


def every_request_stands_below_who_asked():
    scenario_load()
    caller = caller_start(TEXTS, IMAGES)
    run = Run('functions=*')
    caller_go(caller)
    check(caller.wait() == 0, 'the program failed')
    wait_until_asleep()
    run.end().show()
    no_losses(run)
    execute, wait = 'zeCommandQueueExecuteCommandLists', 'zeFenceHostSynchronize'
    counts = {'translate_text': TEXTS, 'classify_image': IMAGES}
    # The library that the loader calls by the same names is no call of its own.
    counted(run, execute, {(caller, ()): count for caller, count in counts.items()})
    counted(run, wait, {(caller, ()): count for caller, count in counts.items()})
    counted(run, 'ivpu_submit_ioctl', {(caller, (execute, 'DRM_IOCTL_IVPU_SUBMIT')): count
                                       for caller, count in counts.items()})
    counted(run, 'ivpu_bo_pin', {(caller, (execute, 'DRM_IOCTL_IVPU_SUBMIT', 'ivpu_submit_ioctl')): 2 * count
                                 for caller, count in counts.items()})
    counted(run, 'ivpu_bo_wait_ioctl', {(caller, (wait, 'DRM_IOCTL_IVPU_BO_WAIT')): count
                                        for caller, count in counts.items()})
    for name, (request, function, count) in REQUESTS.items():
        counted(run, name, {('prepare_model', ()): count})
        counted(run, function, {('prepare_model', (name, f'DRM_IOCTL_IVPU_{request}')): count})
    counted(run, 'zeCommandListCreate', {('prepare_model', ()): 1})
    check(not any('zeCommandListCreate' in stack[:-1] for stack in run.stacks), 'a list makes a request')
    counted(run, 'ivpu_open', {('prepare_model', ('zeInit',)): 1})
    submits = [row for row in run.rows['call'] if row['name'] == execute]
    requests = [row for row in run.rows['call'] if row['name'] == 'ivpu_submit_ioctl']
    check(sum(int(row['duration']) for row in submits) > sum(int(row['duration']) for row in requests),
          'a call is shorter than what it is made of')


def a_program_of_a_gpu_is_no_user():
    """It calls the same libraries, and nothing of it is in npu-time."""
    scenario_load()
    other, caller = caller_start(TEXTS, 0, 'gpu'), caller_start(TEXTS, IMAGES)
    run = Run('functions=*')
    caller_go(other)
    caller_go(caller)
    check(caller.wait() == 0 and other.wait() == 0, 'a program failed')
    wait_until_asleep()
    run.end()
    no_losses(run)
    users = {int(row['pid'] or 0) for row in run.rows['call'] if row['name'].startswith('ze')}
    check(users == {caller.pid}, f'{users}, not {caller.pid} alone')
    check(other.pid not in {int(row['pid'] or 0) for row in run.rows['call']}, 'the other program has calls')


def functions_of_graphs():
    """Which have no symbols: the program gets a table of them from the driver, of a version that has not all."""
    scenario_load()
    caller = caller_start(TEXTS, 0, 'graphs')
    run = Run('functions=*')
    caller.stdin.write('\n')
    caller.stdin.flush()
    check(caller.stdout.readline() == 'table\n', 'the program gets no table')
    run.wait_for(lambda said: ' graph functions from the table of process ' in said)
    caller_go(caller)
    caller.wait()
    wait_until_asleep()
    run.end().show()
    no_losses(run)
    counted(run, 'zeGraphCreate2', {('compile_model', ()): 1})
    counted(run, 'zeAppendGraphExecute', {('append_model', ()): TEXTS})
    found = {stack: count for stack, count in run.ending('ivpu_bo_create_ioctl').items() if 'compile_model' in stack}
    check([(stack[stack.index('compile_model') + 1:], count) for stack, count in found.items()] ==
          [(('zeGraphCreate2', 'DRM_IOCTL_IVPU_BO_CREATE'), 1)], f'{found}')
    check('attached to 7 graph functions from the table of process ' in run.said, run.said)


def the_time_of_layers():
    """What a program reads of its model's layers and tasks, by a function that only a table has."""
    scenario_load()
    caller = caller_start(TEXTS, 0, 'layers')
    run = Run('functions=*', arguments=('-k', 'folded.layers:value=npu-layer-time,output=layers.folded'))
    caller.stdin.write('\n')
    caller.stdin.flush()
    check(caller.stdout.readline() == 'table\n', 'the program gets no table')
    run.wait_for(lambda said: 'attached to the function that returns the time of NPU layers' in said)
    caller_go(caller)
    caller.wait()
    wait_until_asleep()
    run.end()
    no_losses(run)
    found = {tuple(stack.split(';')): int(count) for stack, _, count in (
        line.rpartition(' ') for line in pathlib.Path('layers.folded').read_text(encoding='utf-8').splitlines())}
    below = {stack[stack.index('[NPU layers]') + 1:]: count for stack, count in found.items() if '[NPU layers]' in stack}
    expected = {('conv1', 'DPU'): 4500, ('conv1', 'DMA'): 1500, ('softmax', 'SW'): 2000, ('conv1/0', 'DPU'): 3000,
                ('conv1/0', 'DPU', '[stalled]'): 1000}
    # Every third inference is of the second model.
    inferences = {'model_1': TEXTS - TEXTS // 3, 'model_2': TEXTS // 3}
    check(below == {(model, *stack): count * time for model, count in inferences.items() for stack, time in
                    expected.items()}, f'{found}')


def a_program_without_the_library_is_as_before():
    caller = caller_start(TEXTS, IMAGES)
    run = Run('functions=*')
    check(subprocess.run([PLAYER, '--load', SCENARIOS / 'steady.txt'], check=False).returncode == 0, 'npu_player')
    wait_until_asleep()
    run.end()
    caller.kill()
    caller.wait()
    found = run.ending('ivpu_submit_ioctl')
    check(found == {('inference', 'DRM_IOCTL_IVPU_SUBMIT'): 100}, f'{found}')
    check(not any('zeInit' in stack for stack in run.stacks), 'a function of Level Zero')


def without_stacks():
    scenario_load()
    caller = caller_start(TEXTS, IMAGES)
    run = Run('functions=*', 'stacks=no')
    caller_go(caller)
    caller.wait()
    wait_until_asleep()
    run.end()
    no_losses(run)
    found = run.ending('ivpu_submit_ioctl')
    expected = {('npu_api', 'zeCommandQueueExecuteCommandLists', 'DRM_IOCTL_IVPU_SUBMIT'): TEXTS + IMAGES}
    check(found == expected, f'{found}')


def without_level_zero():
    scenario_load()
    caller = caller_start(TEXTS, IMAGES)
    run = Run('functions=*', 'api=no', libraries=0)
    caller_go(caller)
    caller.wait()
    wait_until_asleep()
    run.end()
    no_losses(run)
    found = run.ending('ivpu_submit_ioctl')
    check(found == {('npu_api', 'DRM_IOCTL_IVPU_SUBMIT'): TEXTS + IMAGES}, f'{found}')


def a_program_that_is_killed_in_a_call():
    """Its call is reported as lost, and what its end does in the driver is not in that call."""
    scenario_load()
    caller = caller_start(1, 1, 'wait')
    run = Run('functions=*')
    caller_go(caller)
    time.sleep(1)
    caller.kill()
    caller.wait()
    wait_until_asleep()
    run.end().show()
    lost = run.lost()
    lost.pop(npu_double.INTERRUPTED, 0)
    check(dict(lost) == {'calls: return not seen': 1}, f'{lost}')
    check(set(run.ending('ivpu_postclose')) == {('npu_api',)}, f'{run.ending("ivpu_postclose")}')


def one_process_of_two():
    """With -p another process that uses the same library is not seen."""
    scenario_load()
    caller, other = caller_start(TEXTS, IMAGES), caller_start(TEXTS, IMAGES)
    run = Run('functions=*', arguments=('-p', str(caller.pid)))
    caller_go(caller)
    caller_go(other)
    caller.wait()
    other.wait()
    wait_until_asleep()
    run.end()
    no_losses(run)
    processes = {int(row['pid'] or 0) for row in run.rows['call']}
    check(processes <= {0, caller.pid}, f'{processes}, not {caller.pid}')
    counted(run, 'zeFenceHostSynchronize', {('translate_text', ()): TEXTS, ('classify_image', ()): IMAGES})


sys.exit(run(named(every_request_stands_below_who_asked, a_program_of_a_gpu_is_no_user, functions_of_graphs,
                   the_time_of_layers, a_program_without_the_library_is_as_before, without_stacks, without_level_zero,
                   a_program_that_is_killed_in_a_call, one_process_of_two),
             long={'a program of a gpu is no user', 'without stacks', 'without level zero', 'one process of two'}) != 0)
