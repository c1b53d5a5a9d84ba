#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md, examples/README.md and what they lead to: links lead somewhere, and commands are as iaprof takes them. Those
that need neither root nor a device are run; of the others, --check reads all options."""
import os
import re
import shlex
import subprocess

from harness import COMPLETE, NOTHING, PROGRAM, SOURCE, case, equal, iaprof, main, read, require, write

TEXTS = ('README.md', 'doc/first-steps.md', 'doc/requirements.md', 'doc/coming-from.md', 'doc/troubleshooting.md',
         'examples/README.md')
# What the commands read: as somebody would have it who follows the text.
FILES = {'examples': 'examples', 'run.iaprof': 'examples/demo.iaprof', 'later.iaprof': 'examples/demo-fixed.iaprof',
         'npu.txt': 'tests/preservation/inputs/npu-boot-and-job.txt'}


def commands(text):
    """The lines of a text that run iaprof, as words: what stands before a pipe or behind a redirection is the shell's."""
    for line in read(os.path.join(SOURCE, text)).splitlines():
        if re.match(r'(    | {7})\S', line):
            for part in line.strip().split(' | '):
                words = shlex.split(part.split(' > ')[0], comments=True)
                if words[:1] == ['sudo']:
                    words = words[1:]
                if words[:1] == ['iaprof']:
                    yield words[1:]


@case('links lead somewhere')
def links():
    found = 0
    for text in TEXTS:
        folder = os.path.dirname(os.path.join(SOURCE, text))
        for target in re.findall(r'\]\(([^)#]+)\)', read(os.path.join(SOURCE, text))):
            found += 1
            require(target.startswith('https:') or os.path.exists(os.path.join(folder, target)), f'{text}: {target}')
    require(found > 5, f'{found} links')


@case('commands are taken')
def taken():
    for name, target in FILES.items():
        os.symlink(os.path.join(SOURCE, target), name)
    write('program', '#!/bin/sh\n', 0o755)
    ran = 0
    for text in TEXTS:
        for words in commands(text):
            if '-' in words:  # reads a pipe
                with open(os.path.join(SOURCE, 'tests/preservation/inputs/perf-fields.txt'), encoding='utf-8') as file:
                    ended = subprocess.run([PROGRAM, *words], stdin=file, check=False, stderr=subprocess.PIPE,
                                           encoding='utf-8')
                equal(ended.returncode, COMPLETE, f'{text}: {words}: {ended.stderr}')
                ran += 1
            elif any(word in words for word in ('--replay', '--diff', '--list', '--help')) or 'input=' in ' '.join(words):
                outcome = iaprof(*words)
                equal(outcome.status, COMPLETE, f'{text}: {words}: {outcome.err}')
                ran += 1
            else:
                outcome = iaprof('--check', *words)
                require(outcome.status in (COMPLETE, NOTHING), f'{text}: {words}: {outcome.status}: {outcome.err}')
    require(ran > 8, f'{ran} commands were run')


@case('commands of bootstrap are there')
def bootstrap():
    usage = read(os.path.join(SOURCE, 'bootstrap'))
    for text in TEXTS:
        for name in re.findall(r'\./bootstrap (\w+)', read(os.path.join(SOURCE, text))):
            require(f'command_{name}()' in usage, f'{text}: ./bootstrap {name}')


if __name__ == '__main__':
    main()
