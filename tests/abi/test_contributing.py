#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each command in the table of CONTRIBUTING.md prints exactly the files beside it, at most two. TAP.

usage: test_contributing.py SOURCE_FOLDER
"""
import re
import shlex
import subprocess
import sys

ROW = re.compile(r'^\| (.+\?) \| `(grep -[a-zA-Z]+ .+)` \| (.+) \|$', re.M)

source = sys.argv[1]
with open(f'{source}/CONTRIBUTING.md', encoding='utf-8') as page:
    rows = ROW.findall(page.read())
print(f'1..{len(rows) + 1}')
failures = 0


def report(name, problem):
    global failures
    failures += bool(problem)
    number = report.number = getattr(report, 'number', 0) + 1
    print(f'{"not " if problem else ""}ok {number} - {name}')
    if problem:
        print(f'# {problem}')


report('thirteen questions', '' if len(rows) == 13 else f'{len(rows)} questions')
for question, command, files in rows:
    found = subprocess.run(shlex.split(command), cwd=source, stdout=subprocess.PIPE, encoding='utf-8', check=False)
    found, wanted = sorted(found.stdout.split()), sorted(files.split())
    report(question, '' if found == wanted and len(found) <= 2 else f'{command}: {found}, expected {wanted}')
sys.exit(1 if failures else 0)
