# SPDX-License-Identifier: Apache-2.0
"""What independent tools say of each instruction of the launcher's native modules: tests/data/zebin has it."""
import lzma
from collections import namedtuple

from harness.cases import Skip

# frames: (function, file, line) of each, the kernel first and what it calls or is inlined into it after; line 0: none.
Instruction = namedtuple('Instruction', 'offset mnemonic frames')

MODULES = ('transformer', 'systolic')


class OtherCode(Skip):
    """The modules are not those that the tools were asked about."""


def read_instructions(text):
    """A file instructions.tsv -> the instructions of each kernel, in their order."""
    kernels = {}
    for line in text.splitlines():
        if line.startswith('#'):
            continue
        _address, kernel, offset, _bytes, mnemonic, *places = line.split('\t')
        frames = []
        for place in reversed(places):
            function, file, number = place.rsplit(' ', 2)
            # eu-addr2line demangles what a SYCL compiler names a kernel.
            frames.append((function.removeprefix('typeinfo name for '), file, int(number)))
        kernels.setdefault(kernel, []).append(Instruction(int(offset, 16), mnemonic, tuple(frames)))
    return {kernel: below_kernel(instructions) for kernel, instructions in kernels.items()}


def below_kernel(instructions):
    """A function that a kernel calls follows it in its section: the kernel, at no line, is what called it. Its own
    name is that of its entry."""
    function, file, _line = instructions[0].frames[0]
    return [instruction if instruction.frames[0][0] == function else
            instruction._replace(frames=((function, file, 0), *instruction.frames)) for instruction in instructions]


def read_code(source, build, product):
    """The instructions of every kernel of a product. Raises OtherCode where another compiler made the modules."""
    kernels = {}
    for module in MODULES:
        data = source / 'tests/data/zebin' / product
        built = build / 'tests/lab/level_zero/modules' / f'{module}.{product}.bin'
        if (data / f'{module}.bin').read_bytes() != built.read_bytes():
            raise OtherCode(f'{built.name} is not the one of tests/data/zebin: another version of the '
                            'compiler made it; tests/lab/level_zero/make_fixtures makes that folder anew')
        listed = lzma.decompress((data / f'{module}.instructions.tsv.xz').read_bytes()).decode()
        kernels.update(read_instructions(listed))
    return kernels
