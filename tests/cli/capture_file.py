# SPDX-License-Identifier: Apache-2.0
"""Reads and writes captures, in the format that plugins/sink-capture/README.md describes."""
import ctypes
import functools
import io
import math
import re
import struct
import zlib

RECORDS, END = 0x434f4c42, 0x21444e45
FILE_HEADER, BLOCK_HEADER = struct.Struct('=8s5I'), struct.Struct('=7I')  # a checksum follows each
STRING = 1
STRING_RECORD = struct.Struct('=IHHQII')


@functools.cache
def zstd():
    """libzstd, which Python's library includes from 3.14 on."""
    library = ctypes.CDLL('libzstd.so.1')
    for function in library.ZSTD_compress, library.ZSTD_decompress, library.ZSTD_compressBound:
        function.restype = ctypes.c_size_t
    return library


def compress(data, level):
    room = zstd().ZSTD_compressBound(ctypes.c_size_t(len(data)))
    buffer = ctypes.create_string_buffer(room)
    size = zstd().ZSTD_compress(buffer, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), level)
    return buffer.raw[:size]


def decompress(data, size):
    buffer = ctypes.create_string_buffer(size)
    if zstd().ZSTD_decompress(buffer, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) != size:
        raise ValueError('a block is damaged')
    return buffer.raw


def with_checksum(header):
    return header + struct.pack('=I', zlib.crc32(header))


def string_record(identifier, text, source=0, time=0):
    size = STRING_RECORD.size + len(text) + 1
    size += -size % 8
    return (STRING_RECORD.pack(size, STRING, source, time, identifier, len(text)) + text).ljust(size, b'\0')


def string_of(record):
    """The text of a STRING record; None of another one."""
    if struct.unpack_from('=H', record, 4)[0] != STRING:
        return None
    return record[STRING_RECORD.size:STRING_RECORD.size + STRING_RECORD.unpack_from(record)[5]]


def blocks(capture):
    """Yields the records of each block."""
    position = FILE_HEADER.size + 4
    while position < len(capture):
        kind, _, compressed_size, size, *_ = BLOCK_HEADER.unpack_from(capture, position)
        position += BLOCK_HEADER.size + 4
        if kind == END:
            return
        data, start, records = decompress(capture[position:position + compressed_size], size), 0, []
        position += compressed_size
        while start < size:
            length, = struct.unpack_from('=I', data, start)
            records.append(data[start:start + length])
            start += length
        yield records
    raise ValueError('the capture is truncated')


class Writer:
    """Writes a capture in blocks of at most block_size bytes of records."""

    def __init__(self, file, block_size, level=3, schema=1):
        self.file, self.block_size, self.level = file, block_size, level
        self.records, self.size, self.totals = [], 0, [0, 0, 0]  # blocks, records and bytes so far
        file.write(with_checksum(FILE_HEADER.pack(b'\x89IAPROF\n', 0x01020304, 1, schema, 0, 0)))

    def block(self, kind, payload, size, count):
        header = BLOCK_HEADER.pack(kind, self.totals[0], len(payload), size, count, 0, zlib.crc32(payload))
        self.file.write(with_checksum(header) + payload)

    def add(self, record):
        if self.records and self.size + len(record) > self.block_size:
            self.flush()
        self.records.append(record)
        self.size += len(record)

    def flush(self):
        self.block(RECORDS, compress(b''.join(self.records), self.level), self.size, len(self.records))
        self.totals = [self.totals[0] + 1, self.totals[1] + len(self.records), self.totals[2] + self.size]
        self.records, self.size = [], 0

    def end(self):
        if self.records:
            self.flush()
        self.block(END, struct.pack('=3Q', *self.totals), 24, 0)


def rewrite(capture, patterns):
    """Returns a capture after replacing patterns, pairs of regular expression and replacement, in its strings."""
    file = io.BytesIO()
    writer = Writer(file, math.inf, 19, FILE_HEADER.unpack_from(capture)[3])
    for records in blocks(capture):
        for record in records:
            if (text := string_of(record)) is not None:
                replaced = text
                for pattern, replacement in patterns:
                    replaced = re.sub(pattern, replacement, replaced)
                if replaced != text:
                    _, _, source, time, identifier, _ = STRING_RECORD.unpack_from(record)
                    record = string_record(identifier, replaced, source, time)
            writer.add(record)
        writer.flush()
    writer.end()
    return file.getvalue()
