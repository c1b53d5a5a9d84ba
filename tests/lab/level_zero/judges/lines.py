# SPDX-License-Identifier: Apache-2.0
"""Functions and lines: eu-addr2line's answer for each address, and the same read out of what readelf prints."""
import re
import subprocess
from collections import namedtuple

# Innermost first: the function that the instruction is in, then what it was inlined into.
Frame = namedtuple('Frame', 'function file line')


def addr2line(path, addresses):
    """Frames of each address; asked at once, for the program reads the file each time."""
    output = subprocess.run(['eu-addr2line', '-e', path, '-i', '-f', '-a'], check=True, text=True,
                            input=''.join(f'{address:#x}\n' for address in addresses), stdout=subprocess.PIPE).stdout
    answers, frames = {}, None
    lines = iter(output.splitlines())
    for line in lines:
        if re.fullmatch('0x[0-9a-f]+', line):
            frames = answers.setdefault(int(line, 16), [])
            continue
        function = line.split(' inlined at ')[0]
        place = next(lines)
        file, number = re.fullmatch(r'(.+?):(\d+)(?::\d+)?(?: \(.*\))?', place).groups() if place != '??:0' else ('?', 0)
        frames.append(Frame(function, file, int(number)))
    return [answers[address] for address in addresses]


def readelf(path, *options):
    return subprocess.run(['readelf', '-W', '--no-demangle', *options, path], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def entries(text):
    """DIEs of readelf's --debug-dump=info as (depth, offset, tag, attributes)."""
    current = None
    for line in text.splitlines():
        match = re.match(r' <(\d+)><([0-9a-f]+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)', line)
        if match:
            if current:
                yield current
            current = (int(match[1]), int(match[2], 16), match[3], {})
        elif current:
            match = re.match(r' +<[0-9a-f]+> +DW_AT_(\w+) *: (?:\([^)]*\):? )?(.*)', line)
            if match:
                current[3].setdefault(match[1], match[2].strip())
    if current:
        yield current


def range_lists(text):
    lists = {}
    for line in text.splitlines():
        match = re.match(r' +([0-9a-f]{8,}) ([0-9a-f]{16}) ([0-9a-f]{16})', line)
        if match:
            lists.setdefault(int(match[1], 16), []).append((int(match[2], 16), int(match[3], 16)))
    return lists


def functions(path):
    """(name, depth, ranges, line of the call) of each function and each inlined one that has code."""
    lists = range_lists(readelf(path, '--debug-dump=Ranges'))
    names, found = {}, []
    for depth, offset, tag, attributes in entries(readelf(path, '--debug-dump=info')):
        if tag not in ('DW_TAG_subprogram', 'DW_TAG_inlined_subroutine'):
            continue
        names[offset] = attributes.get('name')
        origin = re.search('<0x([0-9a-f]+)>', attributes.get('abstract_origin', ''))
        ranges = []
        if 'ranges' in attributes:
            ranges = lists[int(attributes['ranges'].split()[0], 16)]
        elif 'low_pc' in attributes:
            ranges = [(int(attributes['low_pc'], 16), int(attributes['high_pc'].split()[0], 16))]
        found.append((int(origin[1], 16) if origin else offset, depth, ranges, int(attributes.get('call_line', 0))))
    return [(names[origin], depth, ranges, line) for origin, depth, ranges, line in found if ranges]


def rows(path):
    """(address, file, line) of the line table in order; the end of a sequence has the line None."""
    found = []
    for line in readelf(path, '--debug-dump=decodedline').splitlines():
        match = re.match(r'(\S+) +(\d+|-) +(0x[0-9a-f]+|0)\b', line)
        if match:
            found.append((int(match[3], 16), match[1], None if match[2] == '-' else int(match[2])))
    return found


def from_readelf(path, addresses):
    """(function, line) pairs of each address, innermost first, from readelf's output alone."""
    table, all_functions, answers = rows(path), functions(path), []
    for address in addresses:
        line = None
        for (start, _, number), (end, _, _) in zip(table, table[1:]):
            if start <= address < end and number is not None:
                line = number
        inside = [(depth, name, call) for name, depth, ranges, call in all_functions
                  if any(start <= address < end for start, end in ranges)]
        frames = []
        for _, name, call in sorted(inside, reverse=True):
            frames.append((name, line))
            line = call
        answers.append(frames)
    return answers
