# SPDX-License-Identifier: Apache-2.0
"""The double of the NPU: its scenarios, who plays them, and what really happened. doubles/npu/README.md."""
import os
import pathlib
import subprocess

from .cases import check, started, wait_until

SOURCE, BUILD = (pathlib.Path(os.environ.get(name, '.')) for name in ('LAB_SOURCE', 'LAB_BUILD'))
FOLDER = SOURCE / 'tests/lab/doubles/npu'
SCENARIOS = FOLDER / 'scenarios'
PUBLISHED_TRACE = SOURCE.parent / 'shared/data/npu/matmul-bpftrace.txt'
PLAYER = str(BUILD / 'tests/lab/programs/npu_player')
CONTROL = pathlib.Path('/sys/kernel/debug/intel_vpu_double')
STATUS = pathlib.Path('/sys/class/accel/accel0/device/power/runtime_status')
# The kernel runs no BPF program on a CPU where another one was interrupted or preempted: those calls are missed, and
# counted. Here that takes ten to twenty times as long as on a real processor, and happens so much oftener.
INTERRUPTED = 'calls: came while a BPF program ran on their CPU'


def truth_lines():
    return [line.split() for line in (CONTROL / 'truth').read_text(encoding='ascii').splitlines()]


def totals():
    """-> {word: number}"""
    return {words[0]: int(words[1]) for words in truth_lines() if words[0] != 'call'}


def calls():
    """-> {(pid, function): (entries, ns)}, {pid: name}; pid 0: interrupts"""
    lines = [words for words in truth_lines() if words[0] == 'call']
    return ({(int(words[1]), words[2]): (int(words[3]), int(words[4])) for words in lines},
            {int(words[1]): words[5] for words in lines})


def wait_until_asleep():
    """Nothing of the scenario is to come, and the device sleeps."""
    wait_until(lambda: totals()['events_waiting'] == 0 and STATUS.read_text(encoding='ascii').strip() == 'suspended',
               'sleep of the device')


def load(*parameters):
    """The double's module, which was not loaded."""
    subprocess.run(['insmod', pathlib.Path(os.environ['LAB_MODULES']) / 'intel_vpu.ko', *parameters], check=True)
    wait_until(lambda: CONTROL.exists() and STATUS.exists(), 'double')


def one_job(milliseconds):
    """The scenario steady with one job, of that length."""
    text = (SCENARIOS / 'steady.txt').read_text(encoding='ascii')
    for old, new in ('after 2ms', f'after {milliseconds}ms'), ('repeat 100 rate 100', 'repeat 1'):
        check(old in text, f'steady.txt has no "{old}"')
        text = text.replace(old, new)
    return text


def play_in_background(path, *arguments):
    """-> the player, once it has queued its first job."""
    player = started(subprocess.Popen([PLAYER, '--load', str(path), *arguments], stdout=subprocess.PIPE, encoding='utf-8'))
    wait_until(lambda: player.poll() is not None or totals()['jobs_submitted'], 'job')
    return player


def play(*arguments):
    """A scenario to its end, the device's sleep -> what the player said."""
    outcome = subprocess.run([PLAYER, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             encoding='utf-8', check=False)
    check(outcome.returncode == 0, f'npu_player: {outcome.stdout}')
    wait_until_asleep()
    return outcome.stdout
