#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether .ci/full is due. Prints each reason and exits 0 if it is, 1 if it is not, 2 for usage errors.

It is due when, since the last landing that passed it (tests/landings.txt), one of FILES changed, or ten landings or 200
commits went by. With --since, changes are counted from the merge base with that revision. --record appends HEAD, which
passed at that level with that summary line, to tests/landings.txt; the next commit has that change.
"""
import argparse
import sys

sys.dont_write_bytecode = True

import changes

# How everything is built (meson.build of a folder lists its files), code that the Linux kernel's verifier judges, and copies of
# drivers' interfaces.
FILES = ('meson.build', 'meson_options.txt', '**/*.bpf.*', '**/*_uapi.h')
LANDINGS = 10
# Landings that nobody recorded are noticed, too.
COMMITS = 200


def reasons(source=changes.SOURCE, since=None):
    """Returns why a full run is due; nothing if it is not."""
    passed = changes.landings(source)
    last = next((number for number in reversed(range(len(passed))) if passed[number].level == 'full'), None)
    if last is None:
        return [f'no ancestor of HEAD is recorded in {changes.LANDINGS} as having passed .ci/full']
    base = changes.find_base(source, since)[0] if since else passed[last].commit
    found = [f'{path} changed since {base[:12]}' for path in changes.changed_files(base, source)
             if changes.matches(path, FILES)]
    if len(passed) - last >= LANDINGS:
        found.append(f'{len(passed) - last} landings with this one since {passed[last].commit[:12]}, the last full run')
    commits = int(changes.git(source, 'rev-list', '--count', f'{passed[last].commit}..HEAD'))
    if commits >= COMMITS:
        found.append(f'{commits} commits since {passed[last].commit[:12]}, the last full run')
    return found


def record(source, level, summary):
    """Appends HEAD to the landings."""
    if changes.git(source, 'status', '--porcelain', '--untracked-files=no') != '':
        return 'the working tree differs from HEAD, which is what passed'
    head = changes.git(source, 'rev-parse', 'HEAD').strip()
    with open(source / changes.LANDINGS, 'a', encoding='utf-8') as file:
        file.write(f'{head} {level} {" ".join(summary.split())}\n')
    return None


def main():
    parser = argparse.ArgumentParser(prog='tests/needs_full_run.py', description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--since', metavar='REV', help='count changes from the merge base with this revision')
    parser.add_argument('--record', nargs=2, metavar=('LEVEL', 'SUMMARY'),
                        help='append HEAD, which passed at this level (run or full), to tests/landings.txt')
    chosen = parser.parse_args()
    if chosen.record:
        if chosen.record[0] not in changes.LEVELS:
            parser.error(f'--record: {chosen.record[0]!r} is not one of {", ".join(changes.LEVELS)}')
        wrong = record(changes.SOURCE, *chosen.record)
        if wrong:
            parser.error(f'--record: {wrong}')
        return 0
    try:
        found = reasons(since=chosen.since)
    except (changes.UnknownRevision, ValueError) as error:
        parser.error(str(error))
    print('\n'.join(f'full run due: {reason}' for reason in found) or 'full run not due')
    return 0 if found else 1


if __name__ == '__main__':
    sys.exit(main())
