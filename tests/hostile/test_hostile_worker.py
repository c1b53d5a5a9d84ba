#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The process that reads files of other users has no privileges that they could take over."""
import collections
import contextlib
import os
import re

import attack
from harness import case, main, read
import processes

WORKER = 'iaprof-worker'
CONFINED = {
    r'^CapInh:\s*0+$': 'inheritable capabilities',
    r'^CapPrm:\s*0+$': 'permitted capabilities',
    r'^CapEff:\s*0+$': 'effective capabilities',
    r'^CapAmb:\s*0+$': 'ambient capabilities',
    r'^NoNewPrivs:\s*1$': 'no_new_privs',
    r'^Seccomp:\s*2$': 'seccomp filter',
    r'^Uid:(\s+(?!0\b)\d+){4}$': 'user ids other than 0',
    r'^Gid:(\s+(?!0\b)\d+){4}$': 'group ids other than 0',
    r'^Groups:\s*$': 'no supplementary groups',
}


@case('worker-confined', needs=attack.needs())
def worker_confined():
    last = {}

    def look(_, pid):
        for member in processes.descendants(pid)[1:]:
            with contextlib.suppress(OSError):
                if attack.name_of(member) == WORKER:
                    for task in os.listdir(f'/proc/{member}/task'):
                        status = read(f'/proc/{member}/task/{task}/status')
                        # Until it has given up its rights, it waits for nothing.
                        if re.search(r'^(State:\s*S|Seccomp:\s*2)', status, re.M):
                            last[member, task] = status
    with attack.Programs() as programs:
        run = attack.attacked(programs, during=look)
        run.requires(last, f'no process {WORKER} was seen below iaprof')
        for status in last.values():
            lacks = [what for pattern, what in CONFINED.items() if not re.search(pattern, status, re.M)]
            run.requires(not lacks, f'a thread of {WORKER} is without: {", ".join(lacks)}')
        run.judge()


def traced_calls():
    """-> {pid: system calls in order}. strace splits a call that another process's call interrupts: its parts are joined."""
    calls, unfinished = collections.defaultdict(list), {}
    for line in read('trace').splitlines():
        number, _, call = line.partition(' ')
        pid, call = int(number), call.strip()
        if call.endswith('<unfinished ...>'):
            unfinished[pid] = call.removesuffix('<unfinished ...>')
        elif match := re.match(r'<\.\.\. \w+ resumed>', call):
            calls[pid].append(unfinished.pop(pid, '') + call[match.end():])
        else:
            calls[pid].append(call)
    return calls


def traced_workers(calls):
    """The processes that execute the worker, and those that these start."""
    pids = [pid for pid in calls
            if any(re.match(rf'execve(at)?\(.*{WORKER}.*= 0$', call) for call in calls[pid])]
    for pid in pids:
        pids += [int(match[1]) for call in calls.get(pid, []) if re.match(r'v?fork|clone3?', call) and
                 (match := re.search(r'= (\d+)(<.*>)?$', call))]
    return pids


@case('worker-opens-nothing', needs=[*attack.needs(), attack.needs_tracing])
def worker_opens_nothing():
    trace = [*attack.TRACED[:-1], attack.TRACED[-1] + ',execve,execveat,clone,clone3,fork,vfork,seccomp,prctl']
    with attack.Programs() as programs:
        run = attack.attacked(programs, **attack.TRACED_END, wrap=trace)
    calls = traced_calls()
    workers = traced_workers(calls)
    run.requires(workers, f'no process {WORKER} was seen below iaprof')
    needed, unconfined = set(), []
    for pid in workers:
        confined, opened = False, {False: set(), True: set()}
        for call in calls.get(pid, []):
            confined = confined or bool(re.match(r'seccomp\(SECCOMP_SET_MODE_FILTER|prctl\(PR_SET_SECCOMP', call) and
                                        call.endswith('= 0'))
            if re.match(r'open', call) and re.search(r'= \d+(<.*>)?$', call):
                opened[confined].add(call.rpartition(' = ')[0])
        run.requires(not opened[True], f'{WORKER} opens files: {list(opened[True])[:3]}')
        if confined:
            needed |= opened[False]
        else:
            unconfined.append(opened[False])
    run.requires(needed, f'{WORKER} sets no seccomp filter')
    # On a busy machine, the run may end a worker while it starts.
    for opened in unconfined:
        run.requires(opened <= needed, f'{WORKER} sets no seccomp filter and opens {list(opened - needed)[:3]}')
    run.judge()


if __name__ == '__main__':
    main()
