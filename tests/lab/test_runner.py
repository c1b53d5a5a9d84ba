#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the lab makes of a test's end: each way in which a test can fail has to be a failed line. TAP."""
import io
import pathlib
import sys
import textwrap

from runner import report, tests

STACK = '[ 1.0] CPU: 0 PID: 1\n[ 1.0] Call Trace:\n[ 1.0]  <TASK>\n[ 1.0]  ivpu_probe+0x1/0x2\n[ 1.0]  </TASK>\n'
# What a test did: exit status, output, kernel log, expected stack -> passed, failed, skipped
CASES = {
    'a good end': ((0, 'all well\n', ''), (1, 0, 0)),
    'a bad status': ((3, 'why\n', ''), (0, 1, 0)),
    'a signal': ((139, '', ''), (0, 1, 0)),
    'a skip': ((77, 'no such device\n', ''), (0, 0, 1)),
    'a skip after a failed TAP line': ((77, 'not ok 1 - a\n', ''), (0, 1, 0)),
    'a line that only looks like TAP': ((0, 'ok: 3 nodes\n', ''), (1, 0, 0)),
    'each TAP line': ((0, '1..3\nok 1 - a\nok 2 - b # SKIP why\nok 3\n', ''), (2, 0, 1)),
    'a failed TAP line': ((1, '1..2\nok 1 - a\nsaid\nnot ok 2 - b\n', ''), (1, 1, 0)),
    'a failed TAP line of a test that ends well': ((0, 'not ok 1 - b\n', ''), (0, 1, 0)),
    'a bad status that no TAP line explains': ((1, 'ok 1 - a\n', ''), (1, 1, 0)),
    'TAP that ends too early': ((0, '1..2\nok 1 - a\n', ''), (1, 1, 0)),
    'TAP that skips all': ((0, '1..0 # SKIP no perf\n', ''), (0, 0, 1)),
    'a kernel warning': ((0, '', '[ 1.0] WARNING: CPU: 0 PID: 1 at x.c:1\n'), (0, 1, 0)),
    'a kernel warning after good TAP': ((0, 'ok 1 - a\n', '[ 1.0] BUG: x\n'), (1, 1, 0)),
    'a kernel warning of a test that skips': ((77, 'why\n', STACK), (0, 1, 1)),
    'a stack that is expected': ((0, '', STACK, 'ivpu_probe'), (1, 0, 0)),
    'an oops where a stack is expected': ((0, '', STACK.replace('CPU: 0', 'Oops: 0'), 'ivpu_probe'), (0, 1, 0)),
    'a stack that is not the expected one': ((0, '', STACK, 'xe_probe'), (0, 1, 0)),
    'a complaint after an expected one': ((0, '', STACK + 'x\ny\nz\n[ 1.0] Oops: 1\n', 'ivpu_probe'), (0, 1, 0)),
}


def outcome(status, output, log, expected=''):
    results = report.Report(io.StringIO())
    results.result('test', status, output, report.complaints(log, expected))
    ended, printed = results.end(), results.output.getvalue()
    lines = [line for line in printed.splitlines() if line.startswith(('ok', 'not ok'))]
    counts = results.passed, results.failed, results.skipped
    assert len(lines) == sum(counts) and ended == (1 if results.failed else 0), printed
    return counts


def shows_comments():
    """What a failed one said is shown, whether before its line or, as comments, below it; of a good one nothing is."""
    results = report.Report(io.StringIO())
    results.result('test', 1, 'why a\nnot ok 1 - a\n# more of a\nok 2 - b\n# of b\n', ())
    printed = results.output.getvalue()
    return all(word in printed for word in ('why a', 'more of a')) and 'of b' not in printed


def second_attempts():
    """What fails once is told and is unsteady, what fails twice has failed, and what is well at once is neither."""
    results = report.Report(io.StringIO())
    tried = [(results.attempt(name, status, ''), results.unsteady[:]) for name, status in (('good', 0), ('bad', 1))]
    results.second_attempt('bad', 0, '')
    results.second_attempt('worse', 1, '')
    lines = [line for line in results.output.getvalue().splitlines() if not line.startswith('#')]
    return tried == [(True, []), (False, [])] and results.unsteady == ['bad: status 1'] and lines == [
        'ok 1 - good', 'ok 2 - bad', 'not ok 3 - worse: status 1']


def main():
    print(f'1..{len(CASES) + 4}')
    failed = False
    for number, (name, (arguments, wanted)) in enumerate(CASES.items(), 1):
        found = outcome(*arguments)
        failed |= found != wanted
        print(f'{"" if found == wanted else "not "}ok {number} - {name}: {found}')
    print(f'ok {len(CASES) + 1} - {len(tests.find())} tests say where they run')
    readme = (pathlib.Path(__file__).parent / 'README.md').read_text(encoding='utf-8')
    example = textwrap.indent((tests.FOLDER / 'test_idle_cpus.sh').read_text(encoding='utf-8'), '    ')
    failed |= example not in readme
    print(f'{"not " if example not in readme else ""}ok {len(CASES) + 2} - the example of README.md is a test that runs')
    failed |= not shows_comments()
    print(f'{"" if shows_comments() else "not "}ok {len(CASES) + 3} - what a failed test said is shown')
    failed |= not second_attempts()
    print(f'{"" if second_attempts() else "not "}ok {len(CASES) + 4} - what fails once is run again, and told')
    return failed


if __name__ == '__main__':
    sys.exit(main())
