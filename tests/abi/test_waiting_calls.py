#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where iaprof reads other processes itself: test_waiting_calls.py SOURCE.

Reading the memory of a process, its files in /proc or a file that it named can wait forever for a file system of its
user, so iaprof-broker does it. waiting_calls.txt lists the other places, with the reason why they do not wait or who
may. A new one fails this test, and so does an entry whose place is gone. Part of the test checks that it would notice.
"""
import collections
import pathlib
import re
import sys

FOLDERS = ('core', 'engine', 'lib', 'plugins')
KINDS = {
    'proc': re.compile(r'"/proc/%'),
    'memory': re.compile(r'\b(process_vm_\w+|ptrace|SYS_pidfd_getfd|SYS_process_vm_\w+|bpf_copy_from_user_task)\b\s*[(,]'),
    'function': re.compile(r'(?<!int )(?<!char \*)(?<!state )(?<!ssize_t )\b'
                           r'(process_rank_read|process_file_read|process_file_open\w*|process_folder_open|'
                           r'process_root_open|target_read)\('),
}
COMMENT = re.compile(r'/\*.*?\*/', re.DOTALL)


def count_calls(text):
    """-> {kind: number of lines}"""
    lines = COMMENT.sub('', text).splitlines()
    return {kind: count for kind, pattern in KINDS.items() if (count := sum(bool(pattern.search(line)) for line in lines))}


def read_allowed(path):
    """-> {(path, kind): number of lines}"""
    allowed = {}
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        if not line or line.startswith('#'):
            continue
        match = re.fullmatch(r'(\S+) (\w+) (\d+): .+', line)
        if not match or match[2] not in KINDS:
            raise SystemExit(f'{path}:{number}: an entry is: PATH {"|".join(KINDS)} LINES: REASON')
        allowed[match[1], match[2]] = int(match[3])
    return allowed


def find_calls(source):
    """-> {(path, kind): number of lines}"""
    found = {}
    for folder in FOLDERS:
        for path in sorted((source / folder).rglob('*.[ch]')):
            for kind, count in count_calls(path.read_text(encoding='utf-8')).items():
                found[str(path.relative_to(source)), kind] = count
    return found


def compare(found, allowed):
    return [f'{path} has {found.get((path, kind), 0)} lines of kind {kind}, not {allowed.get((path, kind), 0)}'
            for path, kind in sorted({*found, *allowed}) if found.get((path, kind)) != allowed.get((path, kind))]


def notices():
    """Whether each kind is found, also in a file that has an entry."""
    text = ('snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", pid);\n/* ptrace() waits. */\n'
            'process_vm_readv(pid, &here, 1, &there, 1, 0);\nint file = process_file_open(pid, path, &status);\n'
            'int process_file_open(uint32_t process, const char *path, struct stat *status)\n')
    found = {('a.c', kind): count for kind, count in count_calls(text).items()}
    return (found == {('a.c', kind): 1 for kind in KINDS} and len(compare(found, {})) == 3
            and len(compare(found, collections.Counter({('a.c', 'proc'): 1}))) == 2 and compare({}, found))


def main():
    source = pathlib.Path(sys.argv[1])
    wrong = compare(find_calls(source), read_allowed(source / 'tests/abi/waiting_calls.txt'))
    print('1..2')
    for number, (good, name) in enumerate(((not wrong, 'places that read other processes are listed'),
                                           (notices(), 'a new place is noticed')), 1):
        print(f'{"ok" if good else "not ok"} {number} - {name}')
    for text in wrong:
        print(f'# {text} (let iaprof-broker do it, broker/broker.h, or state in waiting_calls.txt why it does not wait)')
    return bool(wrong) or not notices()


if __name__ == '__main__':
    sys.exit(main())
