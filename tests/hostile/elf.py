# SPDX-License-Identifier: Apache-2.0
"""ELF files that run as before and whose section headers claim whatever a test wants; compressed sections that unpack
to far more than they hold."""
import dataclasses
import os
import struct
import zlib

SHT_PROGBITS, SHT_STRTAB = 1, 3
SHF_COMPRESSED = 0x800
ELFCOMPRESS_ZLIB = 1
ALIGNMENT = 16

FILE_HEADER = struct.Struct('<16sHHIQQQIHHHHHH')  # Elf64_Ehdr
SECTION_HEADER = struct.Struct('<IIQQQQIIQQ')  # Elf64_Shdr


@dataclasses.dataclass
class Section:
    name: str
    type: int = SHT_PROGBITS
    flags: int = 0
    address: int = 0
    offset: int = 0
    size: int = 0
    link: int = 0
    info: int = 0
    alignment: int = 1
    entry_size: int = 0
    data: bytes | None = None  # None: what the file already has at offset

    def header(self, name_offset):
        return SECTION_HEADER.pack(name_offset, self.type, self.flags, self.address, self.offset, self.size, self.link,
                                   self.info, self.alignment, self.entry_size)


class Image:
    """A program's ELF file. Segments, and so the program, stay as they are; sections are added behind the file."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            self.bytes = file.read()
        self.fields = list(FILE_HEADER.unpack_from(self.bytes))
        if self.fields[0][:6] != b'\x7fELF\x02\x01':
            raise ValueError(f'{path} is no ELF file of 64 bits, little-endian')
        table, entry_size, count, names_index = self.fields[6], *self.fields[11:]
        headers = [SECTION_HEADER.unpack_from(self.bytes, table + i * entry_size) for i in range(count)]
        names = headers[names_index][4]
        self.sections = [
            Section(self.bytes[names + header[0]:self.bytes.index(b'\0', names + header[0])].decode(), *header[1:])
            for header in headers]
        self.names = self.sections.pop(names_index)

    def find(self, name):
        return next(section for section in self.sections if section.name == name)

    def contents(self, name):
        section = self.find(name)
        return self.bytes[section.offset:section.offset + section.size]

    def put(self, name, data, **members):
        """Adds a section, or replaces one in its place, so that numbers of others stay."""
        section = Section(name, data=data, size=len(data), **members)
        for position, old in enumerate(self.sections):
            if old.name == name:
                self.sections[position] = section
                return
        self.sections.append(section)

    def rename(self, old, new):
        self.find(old).name = new

    def write(self, path, names_size=None, names=None, extra_names=()):
        """Writes the file. names_size is what the section of names claims, backed by a hole; names replaces its
        contents; extra_names are offsets in it, each the name of one more empty section."""
        blob = bytearray(self.bytes)

        def append(data):
            blob.extend(bytes(-len(blob) % ALIGNMENT))
            blob.extend(data)
            return len(blob) - len(data)
        own_names = bytearray(b'\0')
        offsets = []
        for section in self.sections:
            offsets.append(len(own_names) if section.name else 0)
            own_names += section.name.encode() + b'\0' if section.name else b''
            if section.data is not None:
                section.offset = append(section.data)
        self.names.data, name_of_names = None, len(own_names)
        own_names += b'.shstrtab\0'
        headers = [section.header(offset) for section, offset in zip(self.sections, offsets)]
        headers += [Section('').header(offset) for offset in extra_names]
        # The table comes before the names, which may be followed by a hole.
        table = append(bytes(SECTION_HEADER.size * (len(headers) + 1)))
        contents = bytes(own_names) if names is None else names
        self.names.offset = append(contents)
        self.names.size = names_size or len(contents)
        headers.append(self.names.header(name_of_names))
        blob[table:table + SECTION_HEADER.size * len(headers)] = b''.join(headers)
        self.fields[6], self.fields[11:] = table, [SECTION_HEADER.size, len(headers), len(headers) - 1]
        FILE_HEADER.pack_into(blob, 0, *self.fields)
        with open(path, 'wb') as file:
            file.write(blob)
            if names_size:
                file.truncate(self.names.offset + names_size)
        os.chmod(path, 0o755)


def debug_link(name, checksum):
    """Contents of .gnu_debuglink."""
    text = name.encode() + b'\0'
    return text + bytes(-len(text) % 4) + struct.pack('<I', checksum)


def alternative_link(path):
    """Contents of .gnu_debugaltlink: a path and a build id."""
    return path.encode() + b'\0' + bytes(range(20))


# DWARF: a unit with one function, whose names have this form.
DW_FORM_STRING, DW_FORM_GNU_STRP_ALT = 0x08, 0x1f21


def number_leb128(number):
    encoded = bytearray()
    while number > 0x7f:
        encoded.append(number & 0x7f | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def debug_abbreviations(name_form):
    """.debug_abbrev: a compile unit with children, and a subprogram; each has DW_AT_name, low_pc (addr), high_pc
    (data8)."""
    attributes = b'\x03' + number_leb128(name_form) + b'\x11\x01\x12\x07\0\0'
    return b'\x01\x11\x01' + attributes + b'\x02\x2e\x00' + attributes + b'\0'


def debug_unit(section, name):
    """.debug_info of a unit and a function that cover a section of code; name is encoded as the form wants it."""
    entry = name + struct.pack('<QQ', section.address, section.size)
    body = struct.pack('<HIB', 4, 0, 8) + b'\x01' + entry + b'\x02' + entry + b'\0'
    return struct.pack('<I', len(body)) + body


def adler32_repeated(chunk, count):
    """zlib.adler32(chunk * count), from the one of the chunk."""
    modulus = 65521
    one = zlib.adler32(chunk)
    first, second = 1, 0
    for _ in range(count):
        second = (second + (one >> 16) + (first - 1) * len(chunk)) % modulus
        first = (first + (one & 0xffff) - 1) % modulus
    return second << 16 | first


def zlib_repeated(chunk, count):
    """A zlib stream of chunk * count, made from one compressed chunk."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    # A full flush ends on a byte and forgets what was before, so the piece can be repeated.
    piece = compressor.compress(chunk) + compressor.flush(zlib.Z_FULL_FLUSH)
    return b'\x78\xda' + piece * count + b'\x03\x00' + struct.pack('>I', adler32_repeated(chunk, count))


def gnu_compressed(chunk, count):
    """Contents of a .zdebug section."""
    return b'ZLIB' + struct.pack('>Q', len(chunk) * count) + zlib_repeated(chunk, count)


def compressed(chunk, count):
    """Contents of a section with SHF_COMPRESSED: Elf64_Chdr and the stream."""
    return struct.pack('<IIQQ', ELFCOMPRESS_ZLIB, 0, len(chunk) * count, 1) + zlib_repeated(chunk, count)
