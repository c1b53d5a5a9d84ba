# SPDX-License-Identifier: Apache-2.0
"""Captures made by hand: the file format of plugins/sink-capture/README.md, with checksums that are right."""
import ctypes
import ctypes.util
import struct
import zlib

from harness import Skip

BYTE_ORDER, FORMAT_VERSION, STRING = 0x01020304, 1, 1
FILE_HEADER = struct.Struct('=8sIIIII')  # without its checksum
BLOCK_HEADER = struct.Struct('=IIIIIII')  # without its checksum
STRING_RECORD = struct.Struct('=IHHQII')
BLOCK_RECORDS, BLOCK_END = 0x434f4c42, 0x21444e45
BLOCK_SIZE = 128 << 10


def zstd():
    try:
        library = ctypes.CDLL(ctypes.util.find_library('zstd') or 'libzstd.so.1')
    except OSError as error:
        raise Skip(f'no zstd library: {error}') from None
    for function in library.ZSTD_compress, library.ZSTD_decompress, library.ZSTD_compressBound:
        function.restype = ctypes.c_size_t
    return library


def compress(library, data):
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    buffer = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(buffer, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    return buffer.raw[:size]


def decompress(library, data, size):
    buffer = ctypes.create_string_buffer(size)
    if library.ZSTD_decompress(buffer, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) != size:
        raise ValueError('the block does not unpack to its size')
    return buffer.raw


def file_header(schema_version):
    header = FILE_HEADER.pack(b'\x89IAPROF\n', BYTE_ORDER, FORMAT_VERSION, schema_version, 0, 0)
    return header + struct.pack('=I', zlib.crc32(header))


def block(kind, number, payload, size, count):
    header = BLOCK_HEADER.pack(kind, number, len(payload), size, count, 0, zlib.crc32(payload))
    return header + struct.pack('=I', zlib.crc32(header)) + payload


def string_record(identifier, text, source=0, time=0):
    size = STRING_RECORD.size + len(text) + 1
    size += -size % 8
    return (STRING_RECORD.pack(size, STRING, source, time, identifier, len(text)) + text).ljust(size, b'\0')


def write_capture(path, schema_version, records):
    """Writes a capture of these records, in blocks as iaprof makes them."""
    library = zstd()
    blocks, total_count, total_size = 0, 0, 0
    with open(path, 'wb') as file:
        file.write(file_header(schema_version))

        def write_block(pending):
            nonlocal blocks
            data = b''.join(pending)
            file.write(block(BLOCK_RECORDS, blocks, compress(library, data), len(data), len(pending)))
            blocks += 1
        pending, size = [], 0
        for record in records:
            if size + len(record) > BLOCK_SIZE and pending:
                write_block(pending)
                pending, size = [], 0
            pending.append(record)
            size += len(record)
            total_count += 1
            total_size += len(record)
        if pending:
            write_block(pending)
        totals = struct.pack('=QQQ', blocks, total_count, total_size)
        file.write(block(BLOCK_END, blocks, totals, len(totals), 0))
    return path


def read_capture(path):
    """(schema version, records) of a capture."""
    library = zstd()
    with open(path, 'rb') as file:
        data = file.read()
    schema_version = FILE_HEADER.unpack_from(data)[3]
    records, position = [], FILE_HEADER.size + 4
    while True:
        kind, _, compressed_size, size, *_ = BLOCK_HEADER.unpack_from(data, position)
        position += BLOCK_HEADER.size + 4
        if kind == BLOCK_END:
            return schema_version, records
        unpacked = decompress(library, data[position:position + compressed_size], size)
        position += compressed_size
        start = 0
        while start < size:
            length, = struct.unpack_from('=I', unpacked, start)
            records.append(unpacked[start:start + length])
            start += length


def with_strings_replaced(records, old, new):
    """The records, with part of each string replaced."""
    for record in records:
        _, kind, source, time, identifier, length = STRING_RECORD.unpack_from(record.ljust(STRING_RECORD.size, b'\0'))
        text = record[STRING_RECORD.size:STRING_RECORD.size + length]
        if kind == STRING and old in text:
            record = string_record(identifier, text.replace(old, new), source, time)
        yield record
