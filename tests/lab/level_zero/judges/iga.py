# SPDX-License-Identifier: Apache-2.0
"""Intel's disassembler: the library that comes with the compiler, and the older program where it knows the product."""
import ctypes
import re
import subprocess
import tempfile
from collections import namedtuple

Instruction = namedtuple('Instruction', 'offset mnemonic')

# iga_gen_t is major << 24 | minor (iga.h of the Intel graphics compiler); the program has names of its own, no Xe3.
PLATFORMS = {'bmg': (0x02000000, '2'), 'lnl': (0x02000000, '2'), 'ptl': (0x03000000, None), 'pvc': (0x01000004, '12p72')}

# iga.h: IGA_FORMATTING_OPT_PRINT_PC 0x8 and IGA_FORMATTING_OPT_PRINT_BFNEXPRS 0x80, which the program does unasked.
FORMATTING = 0x8 | 0x80

LINE = re.compile(r'/\* \[([0-9A-F]+)\] *\*/ (?:\(\S*\) |\(W&\S*\) )? *([a-z][\w.]*)')


class ContextOptions(ctypes.Structure):
    _fields_ = [('cb', ctypes.c_size_t), ('gen', ctypes.c_uint32)]


class DisassembleOptions(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in
                ('cb', 'formatting_opts', 'reserved0', 'reserved1', 'decoder_opts', 'base_pc_offset')]


def library_text(product, code):
    library = ctypes.CDLL('libiga64.so.2')
    context, text = ctypes.c_void_p(), ctypes.c_char_p()
    options = ContextOptions(ctypes.sizeof(ContextOptions), PLATFORMS[product][0])
    status = library.iga_context_create(ctypes.byref(options), ctypes.byref(context))
    if status:
        raise RuntimeError(f'iga_context_create: status {status} for {product}: libiga64.so.2 is too old for it')
    formatting = DisassembleOptions(ctypes.sizeof(DisassembleOptions), FORMATTING)
    status = library.iga_context_disassemble(context, ctypes.byref(formatting), code, ctypes.c_uint32(len(code)),
                                             None, None, ctypes.byref(text))
    if status:
        raise RuntimeError(f'iga_context_disassemble: status {status} for {product}')
    result = text.value.decode()
    library.iga_context_release(context)
    return result


def program_text(product, code):
    """The disassembly; None if the disassembler does not know the product."""
    platform = PLATFORMS[product][1]
    if platform is None:
        return None
    with tempfile.NamedTemporaryFile() as file:
        file.write(code)
        file.flush()
        return subprocess.run(['iga64', '-d', f'-p={platform}', '-Xprint-pc', file.name], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def instructions(text):
    """The offset and mnemonic (without what follows the point) of each line of text that is an instruction."""
    found = []
    for line in text.splitlines():
        if line.startswith('/* ['):
            match = LINE.match(line)
            if not match:
                raise RuntimeError(f'not understood in the disassembly: {line}')
            found.append(Instruction(int(match[1], 16), match[2].split('.')[0]))
    return found


def difference(one, other):
    """The first line in which two texts differ, spaces aside; None when they say the same."""
    lines = [[' '.join(line.split()) for line in text.splitlines()] for text in (one, other)]
    for first, second in zip(*lines):
        if first != second:
            return f'{first!r} and {second!r}'
    return None if len(lines[0]) == len(lines[1]) else f'{len(lines[0])} and {len(lines[1])} lines'
