#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures from somebody else: what a small file can cost its reader is bounded, and one line gives the reason."""
import itertools
import os
import struct
import subprocess

from capture_file import Writer, string_record
from harness import FAILED, PROGRAM, SOURCE, case, equal, iaprof, main, require

BLOCK_SIZE = 1 << 20
FILE_SIZE = 950000
MEMORY_MAX = 340 << 20  # 290 to 311 MiB were seen, of the same run
LONG = b'x' * 59000

STACK, RECORD_SOURCE, VALUE_TYPE, PROCESS, MAPPING, SAMPLE = 2, 3, 5, 6, 7, 8
FRAMES, SYNC, STACK_FRAMES, PROFILE_STACK, PROFILE_VALUE = 21, 22, 24, 26, 27


class Capture(Writer):
    def __init__(self, path):
        super().__init__(open(path, 'wb'), BLOCK_SIZE)  # pylint: disable=consider-using-with
        for number, text in enumerate((b'source', b'cpu', b'nanoseconds', b'shell', b'/bin/sh'), 1):
            self.string(number, text)
        self.add(RECORD_SOURCE, struct.pack('<II', 1, 1))
        self.add(VALUE_TYPE, struct.pack('<IIIIQ', 1, 2, 3, 0, 10))

    def add(self, kind, body, time=1):
        body += b'\0' * (-len(body) % 8)
        super().add(struct.pack('<IHHQ', 16 + len(body), kind, 1, time) + body)

    def string(self, number, text):
        super().add(string_record(number, text, 1, 1))

    def end(self):
        super().end()
        self.file.close()


def frame(name, address=0):
    return struct.pack('<6IQQQ', name, 0, 0, 0, 0, 0, 0, address, 0)


def strings(capture, number):
    capture.string(number + 5, struct.pack('<I', number * 2654435761 & 0xffffffff | 0x01010101) + LONG)


def equal_strings(capture, number):
    capture.string(number + 5, LONG)


def stacks(capture, number):
    capture.add(STACK, struct.pack('<4IQ', number, 1024, 0, 0, number) + b'\1' * 8184)


def names(capture, number):
    capture.add(FRAMES, struct.pack('<Q4I', number, 1, 1, 64, 0) + frame(2, number) * 64)


def names_of_stacks(capture, number):
    capture.add(STACK_FRAMES, struct.pack('<4I', number, 5, 1024, 0) + frame(2, number) * 1024)


def profile_stacks(capture, number):
    capture.add(PROFILE_STACK, struct.pack('<II', number, 1360) + frame(2, number) + frame(4) * 1359)
    capture.add(PROFILE_VALUE, struct.pack('<IIQQQQ', number, 1, 1, 1, 0, 0))


def deep_stacks_of_long_names(capture, number):
    if number == 1:
        capture.string(6, LONG)
    capture.string(6 + number, b'f%d' % number)
    capture.add(PROFILE_STACK, struct.pack('<II', number, 1360) + frame(6 + number) + frame(6) * 1359)
    capture.add(PROFILE_VALUE, struct.pack('<IIQQQQ', number, 1, 1, 1, 0, 0))


def processes(capture, number):
    capture.add(PROCESS, struct.pack('<4I', number, 0, 1, 4))


def mappings(capture, number):
    capture.add(MAPPING, struct.pack('<IIQQQQQ4I', number // 1000 + 1, 5, number << 16, 4096, 0, 1, 0, 1, 1, 0, 0) +
                b'\0' * 24)


def samples_without_sync(capture, number):
    capture.add(SAMPLE, struct.pack('<8IQQQ', number, 0, 4, 0, 0, 0, 1, 0, 1, 10, 1))


def syncs(capture, _):
    """A block of them, for millions are needed."""
    record = struct.pack('<IHHQQ', 24, SYNC, 1, 5, 1)
    capture.records = [record] * (BLOCK_SIZE // len(record))
    capture.size = len(record) * len(capture.records)
    capture.flush()


def write_capture(add):
    """About 1 MB, or less with enough records to exceed a limit."""
    capture = Capture('capture')
    number = 0
    while capture.file.tell() < FILE_SIZE and capture.totals[2] < 200 << 20:
        number += 1
        add(capture, number)
    capture.end()


SINKS = 'folded', 'flamegraph', 'pprof'
# Each sink replays every third kind of capture, and every kind in the suite 'long'.
kinds = itertools.count()


@case('a capture that costs much: strings', strings)
@case('a capture that costs much: equal strings', equal_strings)
@case('a capture that costs much: stacks', stacks)
@case('a capture that costs much: names', names)
@case('a capture that costs much: names of stacks', names_of_stacks)
@case('a capture that costs much: profile stacks', profile_stacks)
@case('a capture that costs much: deep stacks of long names', deep_stacks_of_long_names)
@case('a capture that costs much: processes', processes)
@case('a capture that costs much: mappings', mappings)
@case('a capture that costs much: samples without sync', samples_without_sync)
@case('a capture that costs much: syncs', syncs)
def hostile(add):
    write_capture(add)
    chosen = next(kinds) % len(SINKS)
    for sink in SINKS if 'TEST_LONG' in os.environ else SINKS[chosen:chosen + 1]:
        with subprocess.Popen([PROGRAM, '-q', '--replay', 'capture', '-k', sink, '-o', 'out'],
                              stderr=subprocess.PIPE) as process:
            errors = process.stderr.read().decode()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if os.environ['TEST_SANITIZERS'] == 'none':
            require(usage.ru_maxrss << 10 < MEMORY_MAX, f'{sink}: {usage.ru_maxrss >> 10} MiB of memory')
            equal(process.returncode, FAILED, f'{sink}: exit status, with {errors}')
        if process.returncode:
            require('exceed the limit, the rest is not replayed' in errors, errors)
            equal(errors.count('\n'), 1, f'lines of {errors}')
        if os.path.exists('out'):
            os.unlink('out')
    os.unlink('capture')


@case('a limit that the user sets counts')
def limit_of_the_user():
    capture = Capture('capture')
    for number in range(1, 2000):
        strings(capture, number)
    capture.end()
    iaprof('-q', '-s', 'replay:file=capture,memory=2GiB', '-k', 'folded', '-o', '-').completes()
    iaprof('-q', '-s', 'replay:file=capture', '-k', 'folded', '-o', '-').fails(FAILED, 'exceed the limit')


@case('captures of real runs are within the limits')
def real():
    iaprof('-q', '--replay', os.path.join(SOURCE, 'examples/demo.iaprof'), '-k', 'csv', '-o', '-').completes()


if __name__ == '__main__':
    main()
