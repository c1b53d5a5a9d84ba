#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of code whose unwind information needs other registers or values on the stack: hand-written assembler, and
OpenSSL, whose stacks begin in the C library. TAP.

test_expressions.py PROGRAM (expressions.c)
"""
import collections
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

from cases import run_cases, skip_all

IAPROF = os.environ['TEST_IAPROF']
CHAINS = {'in_register': '', 'register_behind_call': ';helper', 'value_on_stack': ';spin', 'value_below_stack': '',
          'value_in_frame': ';spin', 'indexed_value': ''}
OPENSSL = ['rsa2048', 'dsa2048', 'ecdsap384', 'sha512', 'aes-128-cbc', 'camellia-128-cbc', '-evp chacha20-poly1305',
           '-evp aes-128-gcm', '-evp aes-128-cbc-hmac-sha1']
LIMIT = 0.01  # of samples that are not right
FIRST = 2  # samples from before all mappings are known


def profile(command, limits=()):
    """-> samples by stack, without the program's name and frames of the Linux kernel"""
    found = collections.Counter()
    with tempfile.NamedTemporaryFile('w+', suffix='.csv', encoding='utf-8') as file:
        outcome = subprocess.run([IAPROF, '-q', *limits, '-s', 'cpu-stack:frequency=499', '-k', f'csv:output={file.name}', '--',
                                  *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if outcome.returncode:
            raise AssertionError(f'iaprof: {outcome.stderr[-300:]}')
        with open(file.name, encoding='utf-8', newline='') as rows:
            for row in csv.DictReader(rows):
                program, *frames = row['stack'].split(';')
                if row['value_type'] == 'cpu' and program == os.path.basename(command[0]):
                    found[';'.join(frame for frame in frames if not frame.endswith('_[k]'))] += int(row['count'])
    return found


def check_program():
    found = profile([sys.argv[1]], ['-d', '5s'])
    total = {name: 0 for name in CHAINS}
    right = dict(total)
    for stack, count in found.items():
        name = next((name for name in CHAINS if re.search(rf'(^|;){name}(;|$)', stack)), None)
        if name:
            total[name] += count
            right[name] += count * bool(re.search(rf'^clone3?;start_thread;run;caller;{name}{CHAINS[name]}$', stack))
    for name, count in total.items():
        if not count or right[name] < (1 - LIMIT) * count - FIRST:
            raise AssertionError(f'{name}: {right[name]} of {count} are right: '
                                 f'{[stack for stack in found if name in stack][:3]}')
    return f'{total}'


def check_openssl(arguments):
    found = profile(['openssl', 'speed', '-seconds', '1', *arguments.split()])
    total = sum(found.values())
    wrong = collections.Counter({stack: count for stack, count in found.items() if '__libc_start_main' not in stack and not stack.startswith('_start;')})
    if not any('libcrypto' in stack for stack in found) or wrong.total() > LIMIT * total + FIRST:
        raise AssertionError(f'{wrong.total()} of {total}: {wrong.most_common(3)}')
    return f'{total} samples'


def main():
    if os.geteuid():
        skip_all('root is required')
    cases = [('assembler', check_program)]
    if shutil.which('openssl'):
        cases += [(f'openssl speed {name}', lambda name=name: check_openssl(name)) for name in OPENSSL]
    run_cases(cases)


main()
