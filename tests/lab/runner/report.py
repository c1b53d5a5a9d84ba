# SPDX-License-Identifier: Apache-2.0
"""What the lab prints: TAP, one line a test, the output of a failed one below its line; and what counts as a failure."""
import functools
import re
import sys
import threading

SKIPPED = 77
# What the Linux kernel prints when something went wrong in it.
COMPLAINT = re.compile(r'BUG:|BUG at|Oops|WARNING:|Call Trace|general protection fault|Kernel panic|unable to handle|'
                       r'refcount_t:|list_(add|del) corruption|UBSAN:|KASAN:|blocked for more than|soft lockup|'
                       r'rcu_preempt (self-)?detected|possible recursive locking|leaked|still has \d+ ')
TAP_LINE = re.compile(r'^(not )?ok(?=\s|$)\s*\d*\s*-?\s*([^#]*?)\s*(?:#\s*(\w+)\s*(.*))?$')
# What no test may expect: more than a stack that a driver prints by intent.
FATAL = re.compile(r'BUG|Oops|general protection|unable to handle|panic|WARNING:')
TAP_PLAN = re.compile(r'^1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$', re.IGNORECASE)
SHOWN_LINES = 60
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
        """Prints lines that are no result of a test."""
        self.print(f'# {what}', *(f'#   {line}' for line in lines))

    @whole
    def seconds(self, name, seconds, spent, note=''):
        """What a test took: time, and CPU time of all its processes or of its guest."""
        self.print(f'# {name}: {seconds:.1f} s, {spent:.1f} s of CPU time{note}')

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
            # A status that the lines explain is not reported again.
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

    def tap(self, name, lines):
        """Reports the TAP lines of a test -> how many failed, or nothing when it printed none."""
        results, failures, planned, printed = 0, 0, None, []
        explained = SHOWN_LINES  # comments below a failure that were shown: at first there is none
        for line in lines:
            plan, found = TAP_PLAN.match(line), TAP_LINE.match(line)
            if plan:
                planned = int(plan[1])
                if not planned:
                    self.skip(name, plan[2])
                    return 0
            elif found:
                results += 1
                what = f'{name}: {found[2].strip()}'
                directive = (found[3] or '').lower()
                if directive == 'skip':
                    self.skip(what, found[4].strip())
                elif found[1] and directive != 'todo':
                    failures += 1
                    self.failure(what, printed[-SHOWN_LINES:])
                else:
                    self.success(what)
                printed = []
                explained = 0 if found[1] else SHOWN_LINES
            elif line.startswith('# measured: '):
                self.print(line)
            elif line.startswith('#') and explained < SHOWN_LINES:
                explained += 1
                self.print(f'#   {line[1:].strip()}')
            else:
                printed.append(line)
        if not results and planned is None:
            return None
        if planned is not None and results != planned:
            failures += 1
            self.failure(f'{name}: {results} of {planned} tests reported a result', printed[-SHOWN_LINES:])
        return failures

    def end(self):
        """The closing line -> the exit status."""
        self.print(f'1..{self.number}', f'# {self.passed} passed, {self.failed} failed, {self.skipped} skipped')
        return 1 if self.failed or not self.number else 0
