#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what bpftrace saw of the launch probes against the launcher's truth: launch_probes.py SEEN TRUTH PROGRAM [WORD...].

SEEN is what launch_probes.bt prints. Stacks are raw addresses, which the symbol table of PROGRAM resolves; it runs without
randomised addresses (setarch --addr-no-randomize), so that they are where the kernel then puts every such program. Each
difference is a line; the exit status is 1 when there is one. WORDs: "late", bpftrace came when the program was running,
and there may be fewer launches, the first without sizes; "exec", the process runs two programs, which number their modules alike.
"""
import bisect
import collections
import subprocess
import sys

# Where Linux puts a position-independent program that asked for no randomisation (ELF_ET_DYN_BASE, x86-64).
BASE = 0x555555554000

APPENDS = {
    'zeCommandListAppendLaunchKernel': 'append_launch',
    'zeCommandListAppendLaunchKernelWithParameters': 'append_with_parameters',
    'zeCommandListAppendLaunchKernelWithArguments': 'append_with_arguments',
    'zeCommandListAppendLaunchCooperativeKernel': 'append_cooperative',
    'zeCommandListAppendLaunchKernelIndirect': 'append_indirect',
    'zeCommandListAppendLaunchMultipleKernelsIndirect': 'append_multiple_indirect',
}


class Functions:
    def __init__(self, program):
        lines = subprocess.run(['nm', '--defined-only', program], check=True, capture_output=True, text=True).stdout
        symbols = sorted((int(address, 16), name) for address, kind, name in map(str.split, lines.splitlines())
                         if kind in 'tT')
        self.starts = [address for address, _ in symbols]
        self.names = [name for _, name in symbols]

    def name(self, return_address):
        place = bisect.bisect_right(self.starts, return_address - 1 - BASE) - 1
        return self.names[place] if place >= 0 and return_address - BASE < self.starts[-1] + 0x10000 else '?'


def read_seen(path):
    """-> launches with their stacks, executions of lists, paths of modules, modules that ended; each in its order."""
    launches, executions, images, ended = [], collections.Counter(), [], []
    stack = None
    for line in open(path, encoding='utf-8', errors='replace'):
        words = line.rstrip('\n').split('\t')
        if words[0] == 'launch':
            stack = []
            launches.append((words[1:], stack))
        elif stack is not None and line.startswith('\t'):
            stack.append(int(words[1].split()[0], 16))
        elif not line.strip():
            continue
        else:
            stack = None
            if words[0] == 'execute':
                executions[(words[1], words[2])] += 1
            elif words[0] == 'compile':
                images.append((words[1], words[3], words[2]))
            elif words[0] == 'unload' and words[2] != '0':  # 0: the program is about to create one
                ended.append((words[1], words[2]))
    return launches, executions, images, ended


def frames_of(functions, stack):
    """The launcher's functions, innermost first; the first address is the probe's own."""
    return [functions.name(address) for address in stack[1:]]


def main():
    seen, truth_path, program, *words = sys.argv[1:]
    launches, executions, images, ended = read_seen(seen)
    functions = Functions(program)
    truth = [line.rstrip('\n').split('\t') for line in open(truth_path, encoding='utf-8')]
    problems = []
    late = 'late' in words

    wanted_kernels = {(row[1], row[4], int(row[5], 16), int(row[6])) for row in truth if row[0] == 'kernel'}
    wanted = collections.Counter()
    wanted_executed = collections.Counter()
    appends = {}
    for row in truth:
        if row[0] == 'launch':
            key = (row[1], row[3], row[5], row[6], APPENDS[row[7]], row[8])
            wanted[key] += int(row[9])
            wanted_executed[key] += int(row[10])
            appends[key] = row[7]

    announced = {(pid, module) for pid, module, _ in images}
    found = collections.Counter()
    found_executed = collections.Counter()
    for (pid, tid, base, address, size, name, module, recording), stack in launches:
        frames = frames_of(functions, stack)
        key = (pid, tid, *(frames[i] if len(frames) > i else '-' for i in (2, 1, 0)), name)
        found[key] += 1
        found_executed[key] += executions[(pid, recording)] if recording != '0' else 1
        if (pid, name, int(address, 16), int(size)) not in wanted_kernels and not (late and size == '0'):
            problems.append(f'{name} of {pid} at {address} with {size} bytes: the truth has no such kernel')
        if int(base, 16) != int(address, 16) & ~0xffffffff:
            problems.append(f'{name}: instruction base {base} of {address}')
        if (pid, module) not in announced:
            problems.append(f'{name}: module {module} was not announced')
        if frames[3:4] != ['forward'] or 'worker_run' not in frames:
            problems.append(f'{name}: stack {" ".join(frames)}')
    for what, expected, actual in (('appended', +wanted, found), ('executed', +wanted_executed, +found_executed)):
        for key in sorted(expected.keys() | actual.keys()):
            if actual[key] > expected[key] or not actual[key] or (actual[key] < expected[key] and not late):
                problems.append(f'{what} {" ".join(key)}: {actual[key]} seen, {expected[key]} in the truth')
    # A program that ran before announces its modules when a probe gets a listener: again, if attaching takes long.
    if 'exec' not in words and ((len(announced) != len(images) and not late) or len(set(ended)) != len(ended)):
        problems.append('a module was announced or unloaded twice')
    if set(ended) != announced and not late:
        problems.append(f'{len(ended)} modules were unloaded of {len(announced)} that were announced')
    if not launches:
        problems.append('no launch was seen')
    print(*problems[:20], sep='\n')
    print(f'{len(launches)} launches, {len(images)} images, {sum(executions.values())} executions of lists')
    sys.exit(bool(problems))


if __name__ == '__main__':
    main()
