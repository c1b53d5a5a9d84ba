#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verifier of the Linux kernel accepts the BPF programs that unwind, and processes few instructions of them, by the
kernel's own count: this is most of the time until a source starts. TAP."""
import contextlib
import os
import pathlib
import re
import subprocess

from cases import Skip, require_root, run_cases

# Programs have 4,000 to 5,500 instructions. Without global functions and bpf_loop(), 300,000 were processed.
LIMIT = 40000
SOURCES = {'cpu-stack': LIMIT, 'cpu-stack:unwind=fp': LIMIT, 'off-cpu': LIMIT, 'off-cpu:waker=yes': LIMIT,
           'ze-usdt:tracer=no': 1.5 * LIMIT, 'ze-usdt:tracer=no,time=sample': 1.5 * LIMIT}
PATIENCE = 240  # an emulated processor is slow


def counts(pid):
    """-> for each BPF program that a process has open, the number of instructions that were processed"""
    texts = []
    for entry in pathlib.Path(f'/proc/{pid}/fdinfo').iterdir():
        with contextlib.suppress(FileNotFoundError):  # another file, which was closed meanwhile
            texts.append(entry.read_text(encoding='ascii'))
    return [int(count) for text in texts for count in re.findall(r'^verified_insns:\s*(\d+)', text, re.M)]


def largest(source):
    """Looks while the command waits for the end of its input: it was released after all programs were loaded."""
    with subprocess.Popen([os.environ['TEST_IAPROF'], '-v', '-s', source, '-k', 'folded:output=/dev/null', '--', 'cat'],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as profiler:
        try:
            profiler.stdin.write(b'started\n')
            profiler.stdin.flush()
            if profiler.stdout.readline() != b'started\n':
                raise AssertionError(f'iaprof ended: {profiler.wait(PATIENCE)}')
            found = counts(profiler.pid)
            messages = profiler.communicate(timeout=PATIENCE)[1]
        finally:
            profiler.kill()
    if b'the Linux kernel refuses' in messages:
        raise AssertionError(messages)
    return max(found, default=0)


def check(source):
    found = largest(source)
    if not found:
        raise Skip('the Linux kernel does not count them: it does since 5.16')
    # The smallest of these programs has 2,000 instructions: the one that unwinds was among those counted.
    if not 2000 < found < SOURCES[source]:
        raise AssertionError(f'{found} instructions')
    return f'{found} instructions'


def main():
    require_root()
    run_cases([(source, lambda source=source: check(source)) for source in SOURCES])


main()
