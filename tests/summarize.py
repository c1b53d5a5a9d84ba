#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what `meson test` ran: summarize.py BUILD [LOGNAME].

Prints passed, failed, skipped and seconds for each suite, each subtest of a TAP test counted as a test, the reason of
each skip, what each failed test said (behind "  | "), and as the last line the totals. Exits 1 when something failed or
nothing ran.
"""
import json
import pathlib
import re
import sys

TAP_LINE = re.compile(r'^(not )?ok(?=\s|$)\s*\d*\s*-?\s*([^#]*)(?:#\s*(\w+)\s*(.*))?$')
SHOWN_LINES = 40
TAP_SKIPPED_PLAN = re.compile(r'^1\.\.0\s*#\s*skip\S*\s*(.*)$', re.IGNORECASE)


def last_line(record):
    """What an exit-status test printed last: where a skip's reason is."""
    lines = ((record.get('stdout') or '') + (record.get('stderr') or '')).strip().splitlines()
    return lines[-1].strip() if lines else 'no reason given'


def count_tap(record):
    """-> passed, failed, [(subtest, skip reason)]"""
    passed, failed, skipped = 0, 0, []
    for line in (record.get('stdout') or '').splitlines():
        match = TAP_LINE.match(line)
        if match:
            directive = (match[3] or '').lower()
            if directive.startswith('skip'):
                skipped.append((match[2].strip(), match[4].strip() or 'no reason given'))
            elif match[1] and directive != 'todo':
                failed += 1
            else:
                passed += 1
        elif TAP_SKIPPED_PLAN.match(line):
            skipped.append(('', TAP_SKIPPED_PLAN.match(line)[1].strip() or 'no reason given'))
    return passed, failed, skipped


def count(record, is_tap):
    result = record['result']
    passed, failed, skipped = count_tap(record) if is_tap else (0, 0, [])
    if result in ('OK', 'EXPECTEDFAIL'):
        if not is_tap:
            passed = 1
    elif result == 'SKIP':
        if not skipped:
            skipped = [('', last_line(record))]
    elif not failed:
        failed = 1  # ended early, by a signal, by time, or with a status that its output does not explain
    return passed, failed, skipped


def printed_lines(record, is_tap):
    """The lines that explain a failure: failed subtests with the comments below each, and what came last on stderr."""
    lines = (record.get('stdout') or '').splitlines()
    if is_tap:
        shown, explains = [], False
        for line in lines:
            explains = bool(re.match(r'not ok|Bail out', line)) or (explains and line.startswith('#'))
            shown += [line] if explains else []
        lines = shown
    errors = (record.get('stderr') or '').strip().splitlines()
    return [*lines[-SHOWN_LINES:], *errors[-SHOWN_LINES:]]


def read_log(build, name):
    """-> {name of a test: its record}"""
    records = map(json.loads, (build / 'meson-logs' / f'{name}.json').read_text().splitlines())
    return {record['name']: record for record in records}


def is_within(words, command):
    return any(command[at:at + len(words)] == words for at in range(len(command)))


def summarize(build, name='testlog'):
    tests = json.loads((build / 'meson-info' / 'intro-tests.json').read_text())
    records = read_log(build, name)
    suites = {}
    seconds = {}
    skips = []
    failures = []
    for record in records.values():
        # A wrapper such as valgrind comes before the test's own command, arguments of this run behind it.
        known = next((test for test in tests if is_within(test['cmd'], record['command'])
                      and record['name'].split(' / ')[-1] == test['name']), None)
        suite = known['suite'][0].split(':')[-1] if known and known['suite'] else 'other'
        is_tap = bool(known) and known['protocol'] == 'tap'
        passed, failed, skipped = count(record, is_tap)
        counts = suites.setdefault(suite, [0, 0, 0])
        seconds[suite] = seconds.get(suite, 0) + record.get('duration', 0)
        for index, number in enumerate((passed, failed, len(skipped))):
            counts[index] += number
        name = f'{suite}/{record["name"]}'
        skips += [f'{name}{": " + what if what else ""}: {reason}' for what, reason in skipped]
        if failed:
            failures.append(f'failed: {name}: {record["result"]}')
            failures += [f'  | {line}' for line in printed_lines(record, is_tap)]
    for skip in skips:
        print(f'skipped: {skip}')
    for line in failures:
        print(line)
    for suite, counts in sorted(suites.items()):
        print(f'suite {suite}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped, {seconds[suite]:.0f} s')
    total = [sum(counts[index] for counts in suites.values()) for index in range(3)]
    print(f'{total[0]} passed, {total[1]} failed, {total[2]} skipped')
    return 0 if total[1] == 0 and total[0] > 0 else 1


def main():
    build, *logs = sys.argv[1:]
    return summarize(pathlib.Path(build), *logs)


if __name__ == '__main__':
    sys.exit(main())
