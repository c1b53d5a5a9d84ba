# SPDX-License-Identifier: Apache-2.0
"""What the lab prints: TAP, one line a test, what a failed one said below its line; and what counts as a failure."""
import functools
import io
import re
import sys
import threading

SKIPPED = 77
# What the Linux kernel says when something went wrong in it.
COMPLAINT = re.compile(r'BUG:|BUG at|Oops|WARNING:|Call Trace|general protection fault|Kernel panic|unable to handle|'
                       r'refcount_t:|list_(add|del) corruption|UBSAN:|KASAN:|blocked for more than|soft lockup|'
                       r'rcu_preempt (self-)?detected|possible recursive locking|leaked|still has \d+ ')
TAP_LINE = re.compile(r'^(not )?ok(?=\s|$)\s*\d*\s*-?\s*([^#]*?)\s*(?:#\s*(\w+)\s*(.*))?$')
# What no test may expect: more than a stack that a driver prints by intent.
FATAL = re.compile(r'BUG|Oops|general protection|unable to handle|panic|WARNING:')
TAP_PLAN = re.compile(r'^1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$', re.IGNORECASE)
SHOWN_LINES = 60
REASON_LENGTH = 250
EXPLAINED = {97: 'the double could not be unloaded', 98: 'the double could not be loaded',
             124: 'it took too long and was ended', 137: 'it took too long and was killed'}


def complaints(log, expected=''):
    """What a kernel's log has to complain about, each with its stack, but for those that name what is expected."""
    lines = log.splitlines()
    found, index = [], 0
    while index < len(lines):
        if not COMPLAINT.search(lines[index]):
            index += 1
            continue
        end = next((at for at in range(index, min(len(lines), index + 80)) if '</TASK>' in lines[at]), index + 25) + 1
        block = lines[max(0, index - 2):end]
        forgiven = expected and any(expected in line for line in block) and not any(map(FATAL.search, block))
        if not forgiven:
            found += block
        index = end
    return found


def whole(method):
    """What it prints stays together: tests run in two places at a time."""
    @functools.wraps(method)
    def locked(self, *arguments):
        with self.lock:
            return method(self, *arguments)
    return locked


class Report:
    """Prints results as they come. Its methods may be called by several threads."""

    def __init__(self, output=None):
        self.lock = threading.RLock()
        self.output = output or sys.stdout
        self.number = self.failed = self.passed = self.skipped = 0
        self.reasons = {}   # by test of which something failed the first time: that, in one line
        self.unsteady = []  # reasons of those that passed then

    def print(self, *lines):
        for line in lines:
            print(line, file=self.output)
        self.output.flush()

    def line(self, good, what, directive=''):
        self.number += 1
        # "#" would begin a directive.
        what = what.replace('#', '')
        self.print(f'{"" if good else "not "}ok {self.number} - {what}{directive}')

    @whole
    def skip(self, what, reason):
        self.skipped += 1
        self.line(True, what, f' # SKIP {reason or "no reason given"}')

    @whole
    def success(self, what):
        self.passed += 1
        self.line(True, what)

    @whole
    def comment(self, what, lines):
        """Told, and no result of a test."""
        self.print(f'# {what}', *(f'#   {line}' for line in lines))

    @whole
    def seconds(self, place, seconds):
        """How long the tests of one place ran, in the form of tests/summarize.py's suites."""
        self.print(f'# suite lab on {place}: {seconds:.0f} s')

    @whole
    def failure(self, what, lines):
        self.failed += 1
        self.line(False, what)
        self.print(*(f'#   {line}' for line in lines))

    @whole
    def result(self, name, status, output, bad_log=()):
        """One test's end: a line for it, or one for each TAP line that it printed, and one for what went wrong besides."""
        lines = output.rstrip('\n').splitlines()
        if (failures := self.tap(name, lines)) is not None:
            # A status that the lines explain is not told again.
            status = None if status == 0 or failures else status
        elif status == SKIPPED:
            self.skip(name, lines[-1].strip() if lines else '')
            status = None
        elif status == 0 and not bad_log:
            self.success(name)
            status = None
        if status:
            self.failure(f'{name}: {EXPLAINED.get(status, f"status {status}")}', lines[-SHOWN_LINES:])
        if bad_log:
            self.failure(f'{name}: the Linux kernel complains', bad_log)

    @whole
    def attempt(self, name, *ending):
        """The same, but when something of it failed that is only told, and nothing counts -> whether all was well."""
        trial = Report(io.StringIO())
        trial.result(name, *ending)
        if trial.failed:
            said = trial.output.getvalue().splitlines()
            first = next(number for number, line in enumerate(said) if line.startswith('not ok'))
            why = [line.lstrip('# ') for line in said[first + 1:first + 2]]
            self.reasons[name] = ': '.join([said[first].partition(' - ')[2], *why])[:REASON_LENGTH]
            self.comment(f'{name}: failed, and is run again', said)
        else:
            self.result(name, *ending)
        return not trial.failed

    @whole
    def second_attempt(self, name, *ending):
        failed = self.failed
        self.result(name, *ending)
        if self.failed == failed:
            self.unsteady.append(self.reasons.get(name, f'{name}: the guest stopped in it'))

    def tap(self, name, lines):
        """Reports the TAP lines of a test -> how many failed, or nothing when it printed none."""
        told, failures, planned, said = 0, 0, None, []
        explained = SHOWN_LINES  # comments below a failure that were shown: at first there is none
        for line in lines:
            plan, found = TAP_PLAN.match(line), TAP_LINE.match(line)
            if plan:
                planned = int(plan[1])
                if not planned:
                    self.skip(name, plan[2])
                    return 0
            elif found:
                told += 1
                what = f'{name}: {found[2].strip()}'
                directive = (found[3] or '').lower()
                if directive == 'skip':
                    self.skip(what, found[4].strip())
                elif found[1] and directive != 'todo':
                    failures += 1
                    self.failure(what, said[-SHOWN_LINES:])
                else:
                    self.success(what)
                said = []
                explained = 0 if found[1] else SHOWN_LINES
            elif line.startswith('# measured: '):
                self.print(line)
            elif line.startswith('#') and explained < SHOWN_LINES:
                explained += 1
                self.print(f'#   {line[1:].strip()}')
            else:
                said.append(line)
        if not told and planned is None:
            return None
        if planned is not None and told != planned:
            failures += 1
            self.failure(f'{name}: {told} of {planned} tests told their result', said[-SHOWN_LINES:])
        return failures

    def end(self):
        """The closing line -> the exit status."""
        self.print(f'1..{self.number}', *(f'# unsteady: {name}' for name in self.unsteady),
                   f'# {self.passed} passed, {self.failed} failed, {self.skipped} skipped')
        return 1 if self.failed or not self.number else 0
