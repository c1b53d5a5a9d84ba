# SPDX-License-Identifier: Apache-2.0
"""Replaces text in the strings of a capture. plugins/sink-capture/README.md describes the format."""
import ctypes
import re
import struct
import zlib

BLOCK, END = 0x434f4c42, 0x21444e45
STRING = 1  # enum iaprof_record_type
HEADER = struct.Struct('=7I')


class Zstd:
    """libzstd, which Python's library includes from 3.14 on."""

    def __init__(self):
        self.library = ctypes.CDLL('libzstd.so.1')
        for name in 'ZSTD_compress', 'ZSTD_decompress', 'ZSTD_compressBound':
            getattr(self.library, name).restype = ctypes.c_size_t

    def decompress(self, data, size):
        buffer = ctypes.create_string_buffer(size)
        if self.library.ZSTD_decompress(buffer, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) != size:
            raise ValueError('a block is damaged')
        return buffer.raw

    def compress(self, data):
        room = self.library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
        buffer = ctypes.create_string_buffer(room)
        size = self.library.ZSTD_compress(buffer, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 19)
        return buffer.raw[:size]


def rewrite_records(data, patterns):
    result, offset, count = [], 0, 0
    while offset < len(data):
        size, kind = struct.unpack_from('=IH', data, offset)
        record = data[offset:offset + size]
        offset += size
        count += 1
        if kind == STRING:
            identity, length = struct.unpack_from('=II', record, 16)
            old = record[24:24 + length]
            text = old
            for pattern, replacement in patterns:
                text = re.sub(pattern, replacement, text)
            if text != old:
                body = text + bytes(8 - len(text) % 8)  # a NUL, and zeros to a multiple of 8
                record = struct.pack('=IH', 24 + len(body), kind) + record[6:16] + \
                    struct.pack('=II', identity, len(text)) + body
        result.append(record)
    return b''.join(result), count


def sealed(kind, number, payload, size, count):
    header = HEADER.pack(kind, number, len(payload), size, count, 0, zlib.crc32(payload))
    return header + struct.pack('=I', zlib.crc32(header)) + payload


def rewrite(capture, patterns):
    """Returns the capture after replacing patterns, pairs of regular expression and replacement, in its strings."""
    zstd, result, offset = Zstd(), [capture[:32]], 32
    blocks = records = total = 0
    while offset < len(capture):
        kind, number, compressed, size, _, _, _ = HEADER.unpack_from(capture, offset)
        payload = capture[offset + 32:offset + 32 + compressed]
        offset += 32 + compressed
        if kind == END:
            result.append(sealed(END, number, struct.pack('=3Q', blocks, records, total), 24, 0))
            return b''.join(result)
        data, count = rewrite_records(zstd.decompress(payload, size), patterns)
        result.append(sealed(BLOCK, number, zstd.compress(data), len(data), count))
        blocks, records, total = blocks + 1, records + count, total + len(data)
    raise ValueError('the capture is truncated')


def strings(capture):
    """Yields the strings of a capture."""
    zstd, offset = Zstd(), 32
    while offset < len(capture):
        kind, _, compressed, size, _, _, _ = HEADER.unpack_from(capture, offset)
        payload = capture[offset + 32:offset + 32 + compressed]
        offset += 32 + compressed
        if kind == BLOCK:
            data, place = zstd.decompress(payload, size), 0
            while place < len(data):
                length, record = struct.unpack_from('=IH', data, place)
                if record == STRING:
                    yield data[place + 24:place + 24 + struct.unpack_from('=I', data, place + 20)[0]]
                place += length
