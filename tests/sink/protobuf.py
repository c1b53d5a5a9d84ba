# SPDX-License-Identifier: Apache-2.0
"""Reads messages of protobuf by the field numbers of their definition."""
import collections
import struct

NUMBER, NUMBERS, FIXED, SIGNED, DOUBLE, TEXT, BYTES = 'number', 'numbers', 'fixed', 'signed', 'double', 'text', 'bytes'
WIDE = {FIXED: '<Q', SIGNED: '<q', DOUBLE: '<d'}


def varint(data, at):
    """-> (number, where the next field is)"""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def varints(data):
    at = 0
    while at < len(data):
        number, at = varint(data, at)
        yield number


def message(data, fields):
    """-> {name: [values]}; fields: {number: (name, kind, or the fields of a message)}; any other field is an error"""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        tag, at = varint(data, at)
        name, kind = fields[tag >> 3]
        if tag & 7 == 0:
            assert kind == NUMBER, (name, tag)
            value, at = varint(data, at)
        elif tag & 7 == 1:
            assert isinstance(kind, str) and kind in WIDE, (name, tag)
            value, = struct.unpack_from(WIDE[kind], data, at)
            at += 8
        else:
            assert tag & 7 == 2, f'wire type {tag & 7} of {name}'
            size, at = varint(data, at)
            assert at + size <= len(data), f'{name} is cut'
            part, at = data[at:at + size], at + size
            if kind == NUMBERS:
                found[name] += varints(part)
                continue
            if kind == FIXED:
                found[name] += struct.unpack(f'<{size // 8}Q', part)
                continue
            value = part if kind == BYTES else part.decode('utf-8') if kind == TEXT else message(part, kind)
        found[name].append(value)
    return found
