#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unwind tables of programs of this machine are what readelf makes of them. TAP."""
import bisect
import os
import pathlib
import re
import subprocess

from cases import run_cases

FDE = re.compile(r'^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=[0-9a-f]+ pc=([0-9a-f]+)\.\.([0-9a-f]+)')
# Small and large, C, C++ and assembler; those that are not there are left out.
FILES = ['/bin/true', '/usr/bin/xz', '/usr/bin/python3', '/usr/bin/perl', '/usr/bin/gdb', '/usr/bin/openssl',
         *map(str, pathlib.Path('/usr/lib').glob('*-linux-gnu/lib[cm].so.6')),
         *map(str, pathlib.Path('/usr/lib').glob('*-linux-gnu/lib{crypto,stdc++,elf,dw}.so*')),
         *map(str, pathlib.Path('/usr/lib').glob('*-linux-gnu/libcrypto.so.*')),
         *map(str, pathlib.Path('/usr/lib').glob('*-linux-gnu/libstdc++.so.6')),
         *map(str, pathlib.Path('/usr/lib').glob('*-linux-gnu/ld-linux-x86-64.so.2'))]
STACK, FRAME = 'rsp', 'rbp'


def wanted(path):
    """-> [(address, end, cfa, frame pointer, return address)] in readelf's words"""
    output = subprocess.run(['readelf', '--wide', '--debug-dump=frames-interp', path], check=False, encoding='utf-8',
                            errors='replace', stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    rows, end, columns = [], 0, []
    for line in output.splitlines():
        if match := FDE.match(line):
            end, columns = int(match[2], 16), None
        elif re.match(r'^[0-9a-f]+ .* CIE ', line):
            columns = []
        elif columns is None and line.strip().startswith('LOC'):
            columns = line.split()
        elif columns and (words := line.split()) and len(words) == len(columns) and re.match('^[0-9a-f]{16}$', words[0]):
            values = dict(zip(columns, words))
            rows.append((int(words[0], 16), end, values['CFA'], values.get(FRAME, 'u'), values.get('ra', 'u')))
    return rows


def made(path):
    """-> [(address, rule)], the numbers of the last line"""
    output = subprocess.run([os.environ['UNWIND_TABLE_PRINT'], path], check=True, encoding='ascii',
                            stdout=subprocess.PIPE).stdout.splitlines()
    rows = [(int(address, 16), rule) for address, rule in (line.split(' ', 1) for line in output[:-1])]
    return rows, dict(zip(output[-1].split()[::2], map(int, output[-1].split()[1::2])))


def expected(cfa, frame, back):
    """-> what rules may stand there"""
    if back == 'u':
        return lambda rule: rule == 'end'
    if cfa == 'exp':
        return lambda rule: re.match(r'(plt|\*frame|\*stack|\*index)', rule)
    register, offset = re.match('([a-z0-9]+)([+-][0-9]+)', cfa).groups()
    base = {STACK: 'stack', FRAME: 'frame'}.get(register, register) + offset
    if not back.startswith('c'):
        return lambda rule: rule == 'none'
    place = 'u' if frame in 'us' else frame if frame.startswith('c') else None
    text = f'{base} frame={place} ra={back}'
    return lambda rule: rule == text or (place is None and rule.startswith(f'{base} frame='))


def compare(path):
    rows, numbers = made(path)
    addresses = [address for address, _ in rows]
    checked = 0
    for address, end, *values in wanted(path):
        if address >= end:
            continue
        rule = rows[bisect.bisect_right(addresses, address) - 1][1]
        if not expected(*values)(rule):
            raise AssertionError(f'{path} {address:x}: {values} became {rule!r}')
        checked += 1
    if not checked or numbers['skipped']:
        raise AssertionError(f'{path}: {checked} rows checked, {numbers}')
    return checked


def main():
    files = [path for path in dict.fromkeys(os.path.realpath(path) for path in FILES) if os.path.exists(path)]
    run_cases([(os.path.basename(path), lambda path=path: f'{compare(path)} rows') for path in files])


main()
