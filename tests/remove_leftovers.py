#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Removes what tests that were killed left in the folder for temporary files: files and folders with the names of tests,
of this user, and older than any run. It is the first test of each suite."""
import os
import re
import shutil
import tempfile
import time

# Not those of iaprof itself, such as iaprof-ze-.
NAMES = re.compile(r'iaprof-(test(-[a-z]+)?|bench|browser|cache|cli|code-view|configuration|decoder|device-code|files|'
                   r'fuse|fuzz-cache|isolation|kept|lab|preservation|system)-[A-Za-z0-9_]{6,8}')
AGE = 24 * 3600  # seconds


def remove(folder):
    for entry in os.scandir(folder):
        if not NAMES.fullmatch(entry.name):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
            if status.st_uid != os.geteuid() or time.time() - status.st_mtime < AGE:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
            print(f'removed {entry.path}')
        except OSError as error:  # another run removes it, too, or it is a mount
            print(f'{entry.path}: {error.strerror}')


def check():
    """Old folders, files and links of tests go; those of a run in progress, of iaprof and of others stay."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f'{folder}/iaprof-cli-abcd1234/sub')
        os.symlink('/', f'{folder}/iaprof-test-abcdef')
        with open(f'{folder}/iaprof-test-symbols-abcdef', 'w', encoding='utf-8'):
            pass
        kept = ['iaprof-ze-abcdef', 'iaprof-cli', 'notes']
        for name in kept:
            os.mkdir(f'{folder}/{name}')
        for name in os.listdir(folder):
            os.utime(f'{folder}/{name}', (1, 1), follow_symlinks=False)
        os.mkdir(f'{folder}/iaprof-cli-running1')
        remove(folder)
        left = sorted(os.listdir(folder))
        assert left == sorted([*kept, 'iaprof-cli-running1']), left


check()
remove(tempfile.gettempdir())
