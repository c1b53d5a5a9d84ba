# SPDX-License-Identifier: Apache-2.0
"""Profiles that a test chooses, for a sink to write."""
import os
import subprocess
import sys
import tempfile
import traceback

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


def equal(found, expected, what):
    assert found == expected, f'{what}: {found!r}, not {expected!r}'


def run_cases(cases, *arguments):
    """Functions as cases, by their names; words on the command line choose. TAP -> how many failed"""
    chosen = [case for case in cases if not sys.argv[1:] or any(word in case.__name__ for word in sys.argv[1:])]
    failures = 0
    print(f'1..{len(chosen)}')
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number, case in enumerate(chosen, 1):
            try:
                case(*arguments)
                wrong = ''
            except Exception:  # pylint: disable=broad-except  # the next case can tell more
                wrong = traceback.format_exc()
            failures += bool(wrong)
            print(f'{"not ok" if wrong else "ok"} {number} - {case.__name__.replace("_", " ")}')
            print(''.join(f'# {line}\n' for line in wrong.splitlines()), end='', flush=True)
        os.chdir('/')
    return failures
