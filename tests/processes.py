# SPDX-License-Identifier: Apache-2.0
"""Which processes a process started, and whether they are busy, from /proc."""
import contextlib
import os
import time

LOOKS = 15
LOOK_PAUSE = 0.02  # s


def descendants(pid):
    """-> a process and all that it started, in any of its threads"""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f'/proc/{parent}/task'):
                with open(f'/proc/{parent}/task/{task}/children', encoding='ascii') as file:
                    found += map(int, file.read().split())
    return found


def are_asleep(pid):
    """Whether all threads of a process are asleep, or it has ended. Raises OSError if one has just ended."""
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/stat', encoding='ascii', errors='replace') as file:
            if file.read().rpartition(')')[2].split()[0] not in 'SZ':
                return False
    return True


class Idle:  # pylint: disable=too-few-public-methods
    """A condition: a process and its descendants slept at LOOKS looks in a row. iaprof then has read what it reads of the
    programs that it profiles."""

    def __init__(self, pid):
        self.pid, self.looks = pid, 0

    def __call__(self):
        time.sleep(LOOK_PAUSE)
        try:
            self.looks = self.looks + 1 if all(map(are_asleep, descendants(self.pid))) else 0
        except OSError:
            self.looks = 0
        return self.looks >= LOOKS
