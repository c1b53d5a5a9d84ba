#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of Go programs whose runtime runs C and its own code on other stacks: callers are those of the source. TAP."""
import collections
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from cases import run_cases, samples, skip_all, wait_for_work

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 0.01  # of samples that are not right
SAMPLES = 1000
BEGIN = r'^runtime\.goexit\S*;runtime\.main;main\.main;'
CHAINS = {  # of stacks with a function: what all of them match
    'spin_in_c': BEGIN + r'main\.calls_c;.*_Cfunc_spin_in_c\S*;runtime\.asmcgocall\S*;spin_in_c',
    'main.spin_in_go': BEGIN + r'main\.calls_back;.*_Cfunc_call_go\S*;runtime\.asmcgocall\S*;call_go;back_in_go;crosscall2;'
                       r'runtime\.cgocallback\S*;.*_cgoexp_\w+_back_in_go;main\.spin_in_go',
    'main.allocates': BEGIN + r'main\.allocates'}
# Functions have no names then, but those that C exports.
NAMELESS = {'back_in_go': r'^(\[program\+\w+\];){4,}back_in_go;crosscall2;'}
SWITCH = re.compile(r'runtime\.(systemstack|asmcgocall)')


def build(folder, options):
    shutil.copytree(HERE / 'go_switches', folder / 'switches')
    environment = os.environ | {'GOCACHE': str(folder / 'cache'), 'GO111MODULE': 'off', 'GOPROXY': 'off', 'CGO_ENABLED': '1'}
    subprocess.run(['go', 'build', *options, '-o', folder / 'program', 'main.go'], cwd=folder / 'switches', env=environment,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder / 'program'


def check(options, chains=None):
    chains = chains or CHAINS
    with tempfile.TemporaryDirectory() as name:
        program = build(pathlib.Path(name), options)
        with subprocess.Popen([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_for_work(process.pid, 0.5)
                with contextlib.closing(samples(process.pid, 'cpu-stack:kernel=no,', SAMPLES)) as found:
                    next(found)  # the first samples are taken before iaprof has the tables
                    stacks = next(found)
            finally:
                process.kill()
    total, wrong = collections.Counter(), collections.Counter()
    for stack, value in stacks:
        frames = stack.split(';')[1:]
        name = next((name for name in chains if name in frames), 'other')
        total[name] += value
        total['switched'] += value * (chains is NAMELESS or any(map(SWITCH.match, frames)))
        if '[no unwind table]' in frames or name in chains and not re.match(chains[name], ';'.join(frames)):
            wrong[stack] += value
    if not all(total[name] for name in [*chains, 'switched']) or wrong.total() > LIMIT * total.total():
        raise AssertionError(f'{dict(total)}, wrong {wrong.total()}: {wrong.most_common(3)}')
    return f'{dict(total)}, wrong {wrong.total()}'


def main():
    if os.geteuid() or not shutil.which('go') or not shutil.which('gcc'):
        skip_all('root, go and gcc are required')
    run_cases([('C called from Go, and Go from C', lambda: check([])),
               ('a program without symbols', lambda: check(['-ldflags', '-s -w'], NAMELESS))])


main()
