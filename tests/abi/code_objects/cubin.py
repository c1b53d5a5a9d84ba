# SPDX-License-Identifier: Apache-2.0
"""Gives a relocatable object file of x86-64 the form of a cubin: ELF machine 190, ET_EXEC, one section .text.NAME for
each kernel, none of which has an address, and relocations R_CUDA_32 (1) and R_CUDA_64 (2) for debug information."""
import struct

SECTION = struct.Struct('<IIQQQQIIQQ')
SHT_RELA, SHT_SYMTAB = 4, 2
TYPES = {1: 2, 10: 1, 11: 1}  # R_X86_64_64, _32, _32S


def sections(image):
    start, = struct.unpack_from('<Q', image, 40)
    size, count, names = struct.unpack_from('<HHH', image, 58)
    found = [list(SECTION.unpack_from(image, start + i * size)) for i in range(count)]
    text = found[names][4]
    for i, header in enumerate(found):
        end = image.index(b'\0', text + header[0])
        yield image[text + header[0]:end].decode(), header, start + i * size


def cubin(path, made):
    """Writes the file and returns {kernel: size}."""
    with open(path, 'rb') as file:
        image = bytearray(file.read())
    struct.pack_into('<HH', image, 16, 2, 190)
    listed = list(sections(bytes(image)))
    for name, header, where in listed:
        if header[1] == SHT_RELA and name.startswith('.rela.debug'):
            for at in range(header[4], header[4] + header[5], 24):
                info, = struct.unpack_from('<Q', image, at + 8)
                struct.pack_into('<Q', image, at + 8, info & ~0xffffffff | TYPES[info & 0xffffffff])
        elif header[1] == SHT_RELA or name == '.eh_frame':
            struct.pack_into('<I', image, where + 4, 0)  # SHT_NULL
    kernels = {}
    for _, header, _ in listed:
        if header[1] != SHT_SYMTAB:
            continue
        strings = listed[header[6]][1][4]
        for at in range(header[4], header[4] + header[5], 24):
            name, info, _, _, _, size = struct.unpack_from('<IBBHQQ', image, at)
            if info & 15 == 2:
                end = image.index(b'\0', strings + name)
                kernels[image[strings + name:end].decode()] = size
    with open(made, 'wb') as file:
        file.write(image)
    return kernels
