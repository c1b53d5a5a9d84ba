# SPDX-License-Identifier: Apache-2.0
"""Profiles that a test chooses, for a sink to write."""
import functools
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'lab'))

from harness.cases import equal, named, run

# enum iaprof_frame_kind and iaprof_frame_flag of include/iaprof/record.h
PROGRAM, USER, LINUX_KERNEL, JIT, SEPARATOR, SOURCE, FUNCTION, INSTRUCTION, REASON, OFFSET, CALL, LOST = range(1, 13)
UNKNOWN = 2
NANOSECONDS, COUNT = ('cpu', 'nanoseconds'), ('gpu-stalls', 'count')


class Frame:
    def __init__(self, name, kind=USER, flags=0, line=0, pid=0, file='', offset=0):
        self.name, self.kind, self.flags, self.line, self.pid = name, kind, flags, line, pid
        self.file, self.offset = file, offset

    def text(self):
        name = self.name if isinstance(self.name, bytes) else self.name.encode()
        return f'{self.kind},{self.flags},{self.line},{self.pid},{self.offset},{self.file.encode().hex()},{name.hex()}'


def gpu_stack(pid, caller, instruction, reason, offset):
    return [Frame('model', PROGRAM, pid=pid), Frame('main'), Frame(caller), Frame('-', SEPARATOR),
            Frame('tile.cl', SOURCE), Frame('matmul', FUNCTION), Frame(instruction, INSTRUCTION), Frame(reason, REASON),
            Frame(f'{offset:#x}', OFFSET, offset=offset)]


def write_profile(sink, path, types, stacks, lost=(), options=()):
    """types: (name, unit); stacks: (index of a type, value, frames); lost: (count, source, reason)"""
    lines = [f'type {name.encode().hex()} {unit.encode().hex()}' for name, unit in types]
    lines += [f'lost {count} {source.encode().hex()} {reason.encode().hex()}' for count, source, reason in lost]
    lines += [' '.join([str(kind), str(value), *(frame.text() for frame in frames)]) for kind, value, frames in stacks]
    with open(path, 'wb') as output:
        subprocess.run([os.environ['TEST_PROFILE_WRITE'], sink, *options],
                       input=''.join(f'{line}\n' for line in lines).encode(), stdout=output, check=True)
    return path


def run_cases(cases, *arguments):
    """Functions as cases, each with these arguments. -> how many failed"""
    return run([(name, functools.partial(case, *arguments)) for name, case in named(*cases)])
