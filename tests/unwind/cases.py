# SPDX-License-Identifier: Apache-2.0
"""Cases of a test as TAP."""
import os
import subprocess
import sys


class Skip(Exception):
    """Why a case cannot run here."""


def skip_all(reason):
    print(f'1..0 # SKIP {reason}')
    sys.exit(0)


def require_root():
    if os.geteuid():
        skip_all('root is required')


def run_cases(cases):
    """Runs pairs of a name and a function, which raises an exception if it fails, and may return a note."""
    print(f'1..{len(cases)}')
    for number, (name, case) in enumerate(cases, 1):
        try:
            note = case()
            print(f'ok {number} - {name}{f": {note}" if note else ""}', flush=True)
        except Skip as reason:
            print(f'ok {number} - {name} # SKIP {reason}', flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            print(f'not ok {number} - {name}\n# {error}', flush=True)
