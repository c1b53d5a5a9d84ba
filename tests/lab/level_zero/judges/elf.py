# SPDX-License-Identifier: Apache-2.0
"""The code of each kernel in a GPU's ELF file: what is cut out for a disassembler that reads raw instructions."""
import struct
from collections import namedtuple

Kernel = namedtuple('Kernel', 'name address code')

SHT_SYMTAB = 2
STT_FUNC = 2


def kernels(data):
    """Every function symbol in the order of its address, with the bytes that its size covers (sections are padded)."""
    offset, = struct.unpack_from('<Q', data, 0x28)
    count, = struct.unpack_from('<H', data, 0x3c)
    sections = [struct.unpack_from('<IIQQQQIIQQ', data, offset + 64 * index) for index in range(count)]
    found = []
    for _, kind, _, _, start, size, link, *_ in sections:
        if kind != SHT_SYMTAB:
            continue
        strings = sections[link][4]
        for position in range(start, start + size, 24):
            name, information, _, section, value, length = struct.unpack_from('<IBBHQQ', data, position)
            if information & 15 != STT_FUNC:
                continue
            end = data.index(b'\0', strings + name)
            address, at = sections[section][3], sections[section][4]
            code = at + value - address
            found.append((section, Kernel(data[strings + name:end].decode(), value, data[code:code + length])))
    # Before it is loaded, every section is at 0: then the order is the sections'.
    return [kernel for _, kernel in sorted(found, key=lambda pair: (pair[1].address, pair[0]))]
