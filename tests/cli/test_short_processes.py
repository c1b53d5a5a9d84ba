#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many processes that begin and end during a run."""
import os
import re
import time

from harness import case, end, main, needs_sampling, read, require, start

LOST = re.compile(r'^iaprof: warning: lost: (.*?): (.*): (an unknown number|[0-9]+)', re.M)


def resident_kib(pid):
    return int(re.search(r'^VmRSS:\s*(\d+)', read(f'/proc/{pid}/status'), re.M).group(1))


# Processes that have ended are known for up to so many seconds more (RETIRE_AFTER and RETIRE_PERIOD of
# engine/symbolizer/unwind/unwind_processes.c).
KEPT = 7
SIZES = 4
# Memory is judged with 100,000 processes only: with fewer, it grows by as much for other reasons.
IS_LONG = 'TEST_LONG' in os.environ


@case('many short processes in a row: memory does not grow with them, and the samples are all there',
      needs=[needs_sampling])
def many_processes():
    os.mkfifo('done')
    os.mkfifo('go-on')
    # Again and again the program makes 100,000, reports it, and waits. The first two times, or as many as there are until
    # the first processes are forgotten, bring what is bounded to its size, which depends on how busy the machine is, and
    # may change again when that does. If more than 84 bytes were kept of each process, memory would grow in all of the
    # others.
    process = start('-d', '1h', '-o', 'out', '-s', 'cpu-stack:frequency=99', os.environ['TEST_SPAWN_PROGRAM'],
                    '100000' if IS_LONG else '10000', 'done', 'go-on')
    sizes, warm_ups, begin = [], 0, time.monotonic()
    while len(sizes) < SIZES:
        read('done')
        warm_ups += not sizes
        if sizes or (warm_ups >= 2 and (time.monotonic() - begin > KEPT or not IS_LONG)):
            sizes.append(resident_kib(process.pid))
        with open('go-on', 'w', encoding='ascii') as fifo:
            fifo.write('q' if len(sizes) == SIZES else 'x')
    outcome = end(process).completes().leaves('out')
    require(not IS_LONG or min(after - before for before, after in zip(sizes, sizes[1:])) < 8192, f'memory grew, KiB: {sizes}')
    samples = int(re.search(r'^iaprof: (\d+) samples in ([0-9.]+) s', outcome.err, re.M).group(1))
    seconds = float(re.search(r'samples in ([0-9.]+) s', outcome.err).group(1))
    require(0 < samples <= 99 * (seconds + 1) * os.cpu_count(), f'{samples} samples in {seconds} s')
    total = sum(int(line.rsplit(' ', 1)[1]) for line in read('out').splitlines())
    require(total > 0, 'the profile is empty')
    print(f'# {samples} samples in {seconds} s, {sizes} KiB after {warm_ups} warm-ups; lost: {LOST.findall(outcome.err)}')


if __name__ == '__main__':
    main()
