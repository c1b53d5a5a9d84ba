# SPDX-License-Identifier: Apache-2.0
"""Profiles that a test chooses, for a sink to write."""
import functools
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'lab'))

from harness.cases import (  # pylint: disable=unused-import  # tests take them from here
    Skip, equal, named, run, wait_until)

# enum iaprof_frame_kind and iaprof_frame_flag of include/iaprof/record.h
PROGRAM, USER, LINUX_KERNEL, JIT, SEPARATOR, SOURCE, FUNCTION, INSTRUCTION, REASON, OFFSET, CALL, LOST, WAIT = range(1, 14)
UNKNOWN, LIBRARY = 2, 8
NANOSECONDS, COUNT = ('cpu', 'nanoseconds'), ('gpu-stalls', 'count')


class Frame:
    def __init__(self, name, kind=USER, flags=0, line=0, pid=0, file='', offset=0, kernel_class=''):
        self.name, self.kind, self.flags, self.line, self.pid = name, kind, flags, line, pid
        self.file, self.offset, self.kernel_class = file, offset, kernel_class

    def text(self):
        name = self.name if isinstance(self.name, bytes) else self.name.encode()
        kernel_class = f',{self.kernel_class.encode().hex()}' if self.kernel_class else ''
        return f'{self.kind},{self.flags},{self.line},{self.pid},{self.offset},{self.file.encode().hex()},{name.hex()}{kernel_class}'


class Origin:
    """The thread and device of a stack: an entry among its frames."""
    def __init__(self, tid=0, thread='', device=''):
        self.tid, self.thread, self.device = tid, thread, device

    def text(self):
        return f'@{self.tid},{self.thread.encode().hex()},{self.device.encode().hex()}'


class Span:
    """The span that the thread of a stack works on, its ids in hexadecimal: an entry among its frames."""
    def __init__(self, trace_id, span_id):
        self.trace_id, self.span_id = trace_id, span_id

    def text(self):
        return f'^{self.trace_id},{self.span_id}'


def gpu_stack(pid, caller, instruction, reason, offset):
    return [Frame('model', PROGRAM, pid=pid), Frame('main'), Frame(caller), Frame('-', SEPARATOR),
            Frame('tile.cl', SOURCE), Frame('matmul', FUNCTION), Frame(instruction, INSTRUCTION), Frame(reason, REASON),
            Frame(f'{offset:#x}', OFFSET, offset=offset)]


class Times:
    """Slots in which times are kept, and when the run ended. All in ns."""
    def __init__(self, end, width=20_000_000, total_width=20_000_000, added_up=()):
        self.end, self.width, self.total_width, self.added_up = end, width, total_width, added_up

    def lines(self):
        return [f'slots {self.width} {self.total_width} {self.end}',
                *(f'added {kind} {length}' for kind, length in self.added_up)]


def record(kind, /, **members):
    """A record, as record_lines.c reads it: text in hexadecimal, lists with commas."""
    def text(value):
        if isinstance(value, (str, bytes)):
            return (value if isinstance(value, bytes) else value.encode()).hex()
        return ','.join(map(text, value)) if isinstance(value, list) else str(value)
    return ' '.join(['record', kind, *(f'{name}={text(value)}' for name, value in members.items())])


def span_words(trace, span):
    """Members of the record of a launch: its ids, in hexadecimal."""
    ids = bytes.fromhex(trace + span)
    return {f'span_{i}': int.from_bytes(ids[8 * i:8 * i + 8], sys.byteorder) for i in range(3)}


def module(path, build_id='c0ffee'):
    """An entry among stacks: functions of those after it are in this file."""
    return f'module {path.encode().hex()} {build_id.encode().hex()}'


def stack_line(kind, value, frames, *time):
    return ' '.join([*(f'at {time}' for time in time), str(kind), str(value), *(frame.text() for frame in frames)])


def write_profile(sink, path, types, stacks, lost=(), options=(), times=None, duration=None, records=(),
                  modules=(), recorded=False, **how):
    """types: (name, unit[, unit of a sample]); stacks: (index of a type, value, frames[, time]), or module(); lost: (count, source, reason);
    duration in ns; recorded: a replay; records: of record(), or their bytes; modules: (path, build id), functions are in the last one;
    how: for subprocess.run()"""
    lines = [f'duration {duration}'] if duration else []
    lines += ['recorded yes'] if recorded else []
    lines += [' '.join(['type', *(word.encode().hex() for word in words)]) for words in types]
    lines += [f'lost {count} {source.encode().hex()} {reason.encode().hex()}' for count, source, reason in lost]
    lines += [module(*entry) for entry in modules]
    lines += times.lines() if times else []
    lines += [entry if isinstance(entry, str) else f'bytes {entry.hex()}' for entry in records]
    lines += [entry if isinstance(entry, str) else stack_line(*entry) for entry in stacks]
    with open(path, 'wb') as output:
        subprocess.run([os.environ['TEST_PROFILE_WRITE'], sink, *options],
                       input=''.join(f'{line}\n' for line in lines).encode(), stdout=output, check=True, **how)
    return path


def run_cases(cases, *arguments):
    """Functions as cases, each with these arguments. -> how many failed"""
    return run([(name, functools.partial(case, *arguments)) for name, case in named(*cases)])
