#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: short newest
# lab: module xe
# lab: seconds 900
# lab: runtime
# lab: covers tools/self-test/** plugins/xe-eustall/stream.c plugins/xe-eustall/device.c
"""
The self-test of Intel GPUs on the double of the device: Intel's real runtime runs its program, a layer plays the times of
its launches, the double plays the rows of its kernels. One fault at a time is planted, and the line about it fails. TAP.
"""
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from flame_graph import double
from harness.cases import Failure, check, equal, run

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
PROGRAMS = BUILD / 'tests/lab/level_zero'
KERNELS = ('memory', 'wide', 'narrow', 'barrier', 'caller')
EUS = 32  # of the product that run-without-gpu makes
LAUNCH_TIME = 150000  # us: long beside what a launch costs in a guest
RUN_TIME = 2000  # ms, of each kernel
# Offsets in self_test_caller, whose callee begins with its second half.
DISASSEMBLE = f'''import sys
sys.path.insert(0, {str(SOURCE / 'tests/lab/level_zero')!r})
from judges import elf, iga
for kernel in elf.kernels(open('image.bin', 'rb').read()):
    print('==', kernel.name)
    print(iga.library_text('bmg', kernel.code))
'''


def write_program():
    """-> a program to which --self-test can leave its launches: the real one, in the chroot with Intel's runtime."""
    times = ','.join(f'self_test_{name}={LAUNCH_TIME}' for name in KERNELS)
    program = pathlib.Path('gpu-program').absolute()
    program.write_text(f'''#!/bin/bash
exec {SOURCE}/tests/lab/guest/in-chroot env PLAYED_TIMES={times} ZE_ENABLE_ALT_DRIVERS={PROGRAMS}/played-device.so \\
  {SOURCE}/tests/lab/level_zero/run-without-gpu bmg {BUILD}/iaprof-self-test-gpu {RUN_TIME} "$2"
''', encoding='utf-8')
    program.chmod(0o755)
    return program


class Code:
    """Where the program's kernels are, and what an independent disassembler says of them."""

    def __init__(self, program):
        said = subprocess.run([program, '', 'no-events'], input='\n', check=True, stdout=subprocess.PIPE, encoding='ascii').stdout
        self.addresses = {name: int(address, 16) & 0xffffffff
                          for name, address in re.findall(r'^kernel self_test_(\w+) (\w+)$', said, re.MULTILINE)}
        pathlib.Path('image.bin').write_bytes(bytes.fromhex(re.search(r'^image (\w+)$', said, re.MULTILINE)[1]))
        text = subprocess.run([SOURCE / 'tests/lab/guest/in-chroot', 'python3', '-c', DISASSEMBLE], check=True,
                              stdout=subprocess.PIPE, encoding='ascii').stdout
        self.lines = {}
        for part in text.split('== self_test_')[1:]:
            name, *lines = part.splitlines()
            found = (re.match(r'/\* \[([0-9A-F]+)\] *\*/(.*)', line) for line in lines)
            self.lines[name] = [(int(match[1], 16), match[2]) for match in found if match]

    def load_wait(self):
        """The offset of the instruction that waits for the load in the loop of the memory kernel."""
        lines = self.lines['memory']
        load, token = next((offset, re.search(r'\{.*(\$\d+)', text)[1]) for offset, text in reversed(lines) if 'load.ugm' in text)
        return next(offset for offset, text in lines if offset > load and f'{token}.dst' in text)

    def callee(self):
        """Offsets in the function that self_test_caller calls."""
        start = next(int(re.search(r'L(\d+)', text)[1]) for _, text in self.lines['caller'] if ' call ' in text)
        return [offset for offset, _ in self.lines['caller'] if offset >= start]

    def after(self, kernel, offset):
        return next(other for other, _ in self.lines[kernel] if other > offset)


class Plan:
    """Rows of a GPU that does what iaprof assumes; a fault changes some of it."""

    def __init__(self, code):
        self.wait = code.load_wait()
        self.memory_reason, self.barrier_reason, self.arithmetic_reason = 'sbid', 'sync', 'active'
        self.unit = EUS  # how many times the samples of the narrow kernel the wide one has
        self.shift, self.count, self.code = 0, 250, code

    def rows(self):
        narrow = 1100  # rows, for a clock above 0.2 GHz
        callee = self.code.callee()
        for kernel, offset, counts, number in (
                ('memory', self.wait, {self.memory_reason: self.count}, 2 * narrow),
                ('memory', 0x40, {'active': 30, 'dist_acc': 20}, narrow),
                ('wide', 0x100, {self.arithmetic_reason: self.count}, narrow * self.unit),
                ('narrow', 0x100, {self.arithmetic_reason: self.count}, narrow),
                ('barrier', 0x100, {self.barrier_reason: self.count}, narrow),
                ('caller', callee[1], {'pipestall': self.count}, narrow)):
            for _ in range(number):
                yield double.Row(0, '0', self.code.addresses[kernel] + offset + self.shift, counts)

    def scenario(self):
        return double.scenario_text('bmg', list(self.rows()), ['pace 10000', 'gt 0 main cores 0-3'])


def wait_for_rows():
    double.wait_until(lambda: ' enabled 1 ' in double.state(), 'the stream', 60)


def self_test(program, plan=None, save='saved'):
    """-> {line: (verdict, text)} of a run beside which rows are played, once for each of its two parts."""
    double.write('scenario', plan.scenario() if plan else double.scenario_text('bmg', [], ['gt 0 main cores 0-3']))
    for folder in pathlib.Path('/tmp').glob('iaprof-self-test-*'):
        subprocess.run(['rm', '-rf', folder], check=True)
    with subprocess.Popen([BUILD / 'iaprof-self-test', BUILD / 'iaprof', program, '--save', save], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding='utf-8') as process:
        wait_for_rows()
        if plan:
            double.play()
        double.wait_until(lambda: any('begin self_test_wide' in file.read_text(encoding='utf-8')
                                      for file in pathlib.Path('/tmp').glob('iaprof-self-test-*/program')), 'the profile', 100)
        if plan:
            double.play()
        said = process.communicate()[0]
    print('\n'.join(f'# {line}' for line in said.splitlines()), flush=True)
    where = re.search(r'^saved:(\d+): damaged', said, re.MULTILINE)
    check(not where, where and pathlib.Path(save).read_text(encoding='utf-8').splitlines()[int(where[1]) - 1][:300])
    lines = {match[2]: (match[1], match[3])
             for match in re.finditer(r'^(pass|FAIL|-) +(\S.*?)  +(.*)$', said, re.MULTILINE)}
    equal(process.returncode, int(any(verdict == 'FAIL' for verdict, _ in lines.values())), 'status')
    return lines


def failures(lines):
    return sorted(name for name, (verdict, _) in lines.items() if verdict == 'FAIL')


PROGRAM = write_program()
CODE = Code(PROGRAM)


def assumptions_hold():
    lines = self_test(PROGRAM, Plan(CODE))
    equal(failures(lines), [], 'failures')
    passed = {name for name, (verdict, _) in lines.items() if verdict == 'pass'}
    equal(sorted(set(lines) - passed), ['overflow', 'resets'], 'lines that were not checked')
    saved = subprocess.run([BUILD / 'iaprof', '--self-test', '--replay', 'saved'], check=False, stdout=subprocess.PIPE, encoding='utf-8')
    equal(saved.returncode, 0, 'status of the replay')
    keep = os.environ.get('LAB_KEEP')
    if keep:
        pathlib.Path(keep, 'self-test').write_bytes(pathlib.Path('saved').read_bytes())
    return f'{len(passed)} lines passed'


def fault(lines, **changes):
    plan = Plan(CODE)
    for name, value in changes.items():
        setattr(plan, name, value)
    equal(failures(self_test(PROGRAM, plan)), lines, 'failures')


def no_rows():
    lines = self_test(PROGRAM)
    equal(failures(lines), ['profile: matched', 'rows arrive'], 'failures')
    check(lines['hot instruction'][0] == '-', f'{lines["hot instruction"]}')


CASES = [
    ('all assumptions hold', assumptions_hold),
    ('a skid of one instruction', lambda: fault(['hot instruction'], wait=CODE.after('memory', CODE.load_wait()))),
    ('reasons in another order', lambda: fault(['reason of memory waits'], memory_reason='send')),
    ('samples of something else', lambda: fault(['a sample is of'], unit=3 * EUS)),
    ('counters at their maximum', lambda: fault(['saturated counters'], count=255)),
    ('rows at other addresses', lambda: fault(['addresses', 'profile: matched'], shift=0x4000)),
    ('no rows', no_rows),
]

sys.exit(run(CASES, long={name for name, _ in CASES[2:]}) != 0)
