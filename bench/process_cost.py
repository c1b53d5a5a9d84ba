# SPDX-License-Identifier: Apache-2.0
"""CPU time and context switches of a process and its descendants."""
import contextlib
import os


def read(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.read()
    except OSError:
        return ''


def family(pid):
    """A process and its descendants."""
    found = [pid]
    for process in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f'/proc/{process}/task'):
                found += map(int, read(f'/proc/{process}/task/{task}/children').split())
    return found


def cpu_time(pid):
    """Seconds of a process and its descendants, those included that have ended and were waited for."""
    total = 0
    for process in family(pid):
        with contextlib.suppress(OSError):
            for task in os.listdir(f'/proc/{process}/task'):
                total += int((read(f'/proc/{process}/task/{task}/schedstat').split() or [0])[0]) / 1e9
        fields = read(f'/proc/{process}/stat').rpartition(')')[2].split()
        if fields:
            total += (int(fields[13]) + int(fields[14])) / os.sysconf('SC_CLK_TCK')
    return total


def wake_ups(pid):
    """Voluntary context switches of each thread of a process and its descendants, by thread and name."""
    switches = {}
    for process in family(pid):
        with contextlib.suppress(OSError):
            for task in os.listdir(f'/proc/{process}/task'):
                fields = dict(line.split(':', 1) for line in read(f'/proc/{process}/task/{task}/status').splitlines())
                if fields:
                    switches[int(task), fields['Name'].strip()] = int(fields['voluntary_ctxt_switches'])
    return switches
