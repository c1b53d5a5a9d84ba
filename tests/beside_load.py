#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests on a busy machine: beside_load.py [-C BUILD] COUNT TEST...

Each test of meson runs COUNT times alone, beside busy loops and a program that starts 500 processes per second
(tests/programs/machine_load.c). Prints passed and failed runs of each test, and exits 1 when one failed. The output of
failed runs is in BUILD/meson-logs/beside-load-TEST.txt.
"""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys

RATE = 500  # processes per second
LOOPS = 8


@contextlib.contextmanager
def machine_load(build, loops):
    """Ends with its standard input, so also when this process is killed."""
    program = build / 'tests/programs/machine_load'
    with subprocess.Popen([program, str(loops), str(RATE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          encoding='ascii', start_new_session=True) as load:
        try:
            yield
        finally:
            started, seconds = load.communicate()[0].split()
            print(f'{loops} busy loops, {int(started) / float(seconds):.0f} processes per second')


def suites(build, test):
    """-> the suites of a test: meson leaves out some of them unless they are asked for"""
    tests = json.loads((build / 'meson-info/intro-tests.json').read_text(encoding='utf-8'))
    return sorted({suite for known in tests if known['name'] == test for suite in known['suite']})


def run_test(options, test):
    """-> passed and failed runs"""
    log = f'beside-load-{test}'
    command = ['meson', 'test', '--no-rebuild', '-C', options.build, '--logbase', log, '--num-processes', '1',
               '--repeat', str(options.count), '--maxfail', '0' if options.keep_going else '1', test]
    for suite in suites(options.build, test):
        command += ['--suite', suite]
    if options.case:
        command += ['--test-args', options.case]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False)
    with open(options.build / 'meson-logs' / f'{log}.json', encoding='utf-8') as file:
        results = [json.loads(line)['result'] for line in file]
    passed = results.count('OK')
    return passed, len(results) - passed


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('-C', dest='build', type=pathlib.Path, default='build', help='build folder (default build)')
    parser.add_argument('--case', help='regular expression of the cases to run')
    parser.add_argument('--cpu', type=int, help='load and tests on this CPU, with half as many loops')
    parser.add_argument('--keep-going', action='store_true', help='continue after a failure')
    parser.add_argument('count', type=int)
    parser.add_argument('tests', nargs='+', metavar='TEST')
    options = parser.parse_args()
    if options.cpu is not None:
        os.sched_setaffinity(0, [options.cpu])
    failures = 0
    with machine_load(options.build, LOOPS if options.cpu is None else LOOPS // 2):
        for test in options.tests:
            passed, failed = run_test(options, test)
            print(f'{test}: {passed} passed, {failed} failed', flush=True)
            failures += failed + (passed + failed == 0)
    return failures > 0


if __name__ == '__main__':
    sys.exit(main())
