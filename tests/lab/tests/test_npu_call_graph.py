#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: covers lib/npu/call_graph.[ch] lib/npu/driver_functions.[ch] plugins/ivpu/function_*.[ch]
# lab: covers tests/lab/programs/npu_callers.c
"""The functions of the real driver, as its module has them: iaprof has a family for each, and knows each direct call.
`test_npu_call_graph.py MODULE` prints what is missing for another module. TAP."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import Skip, check, named, run
from harness.module_calls import module_calls, nearest_callers

PREFIX = 'ivpu_'
PROGRAM = pathlib.Path(os.environ.get('LAB_BUILD', 'build')) / 'tests/lab/programs/npu_callers'


def missing(module):
    """-> functions and calls of a module, the lines for what iaprof does not know"""
    traced, callers = module_calls(module)
    lines = []
    for function in sorted(name for name in traced if name.startswith(PREFIX)):
        lines += [f'{caller} {function}' for caller in sorted(nearest_callers(function, PREFIX, traced, callers)) or '-']
    outcome = subprocess.run([PROGRAM], input='\n'.join(lines), stdout=subprocess.PIPE, encoding='utf-8', check=True)
    return lines, outcome.stdout.splitlines()


def each_call_of_the_module_is_known():
    if not shutil.which('objdump'):
        raise Skip('objdump is not installed')
    path = subprocess.run(['modinfo', '-n', 'intel_vpu'], stdout=subprocess.PIPE, encoding='utf-8', check=True).stdout.strip()
    lines, unknown = missing(path)
    check(len(lines) > 300, f'{len(lines)} calls in {path}')
    check(not unknown, '\n'.join(unknown))
    return f'{len(lines)} calls'


if len(sys.argv) > 1:
    print('\n'.join(missing(sys.argv[1])[1]))
else:
    sys.exit(run(named(each_call_of_the_module_is_known)) != 0)
