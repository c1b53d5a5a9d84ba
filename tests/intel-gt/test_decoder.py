#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the decoder's output (`describe`) with Intel's disassembly of the same bytes, kernel by kernel.

    test_decoder.py DESCRIBE DATA-FOLDER

DATA-FOLDER has zebin/ (GPU ELF files) and gt-code/ (code alone, FILE.GENERATION.code), each with the disassembly.
"""
import lzma
import pathlib
import re
import subprocess
import sys
import tempfile

import reference

FULL_NAMES = ('sync', 'math')
GROUPS = {'sync': 'sync', 'math': 'math', 'dpas': 'matrix', 'dpasw': 'matrix', 'bdpas': 'matrix'}
passed = failed = 0


def report(problems, name):
    global passed, failed
    number = passed + failed + 1
    print(f"{'not ' if problems else ''}ok {number} - {name}")
    for problem in problems[:10]:
        print(f'# {problem}')
    if problems:
        failed += 1
    else:
        passed += 1


def describe(program, path, generation):
    """Kernels by name: generation, size, instructions, producers, offsets that are incomplete."""
    output = subprocess.run([program, path] + ([generation] if generation else []), check=True, capture_output=True,
                            text=True).stdout
    kernels = {}
    for line in output.splitlines():
        what, *fields = line.split('\t')
        if what == 'kernel':
            current = kernels[fields[0]] = {'generation': fields[1], 'size': int(fields[2]), 'instructions': [],
                                            'producers': set(), 'incomplete': set()}
        elif what == 'instruction':
            current['instructions'].append(fields)
        elif what == 'producer':
            current['producers'].add((int(fields[0]), int(fields[1]), fields[2], int(fields[3])))
        else:
            current['incomplete'].add(int(fields[0]))
    return kernels


def check_frames(said, expected):
    problems = []
    offsets = [one.offset for one in expected]
    sizes = [8 if 'C' in one.flags else 16 for one in expected]
    if [int(fields[0]) for fields in said['instructions']] != offsets:
        problems.append('other offsets')
    if [int(fields[1]) for fields in said['instructions']] != sizes:
        problems.append('other lengths')
    if offsets and offsets[-1] + sizes[-1] != said['size']:
        problems.append(f"{offsets[-1] + sizes[-1]} bytes, not {said['size']}")
    return problems


def check_names(said, expected):
    problems = []
    for fields, one in zip(said['instructions'], expected):
        mnemonic, _, operation = fields[2].partition(' ')
        base = one.base
        name = one.mnemonic if base in FULL_NAMES or base.startswith('send') else base
        group = 'memory' if base.startswith('send') else 'control' if base in reference.BRANCHES else 'alu'
        group = GROUPS.get(base, group)
        if (mnemonic, operation or None, fields[3]) != (name, one.operation, group):
            problems.append(f'{one.offset:#x}: {fields[2]!r} ({fields[3]}), expected {name} {one.operation} ({group})')
    return problems


def check_fields(said, expected):
    problems = []
    for fields, one in zip(said['instructions'], expected):
        flags = {flag for flag in fields[6] if flag in 'WP~CEBN'}
        wanted = set(one.flags) | ({'B'} if one.base in ('goto', 'else') and one.mnemonic.endswith('.b') else set())
        wanted |= {'N'} if one.to_nothing else set()
        if flags != wanted:
            problems.append(f'{one.offset:#x} {one.mnemonic}: flags {sorted(flags)}, expected {sorted(wanted)}')
        if one.width and (int(fields[4]), int(fields[5])) != (one.width, one.channel):
            problems.append(f'{one.offset:#x} {one.mnemonic}: {fields[4:6]}, expected {one.width}, {one.channel}')
    return problems


def check_scoreboard(said, expected):
    return [f'{one.offset:#x} {one.mnemonic}: {fields[7]!r}, expected {one.scoreboard!r}'
            for fields, one in zip(said['instructions'], expected) if fields[7] != one.scoreboard]


def check_targets(said, expected):
    problems = []
    for fields, one in zip(said['instructions'], expected):
        targets = [int(target) for target in fields[8:10] if target != '-']
        wanted = one.targets if one.base != 'calla' else []
        if targets != wanted:
            problems.append(f'{one.offset:#x} {one.mnemonic}: goes to {targets}, expected {wanted}')
    return problems


def check_pipes(said, expected):
    problems = []
    for fields, one in zip(said['instructions'], expected):
        wanted = [reference.pipe(said['generation'], one) or '-', reference.inferred_pipe(said['generation'], one)]
        if fields[10:12] != wanted:
            problems.append(f'{one.offset:#x} {one.mnemonic}: pipes {fields[10:12]}, expected {wanted}')
    return problems


def check_producers(said, expected):
    wanted = reference.producers(said['generation'], expected)
    problems = [f'{offset:#x} waits for {other:#x} ({why} {token}): not found'
                for offset, other, why, token in sorted(wanted - said['producers'])]
    problems += [f'{offset:#x} does not wait for {other:#x} ({why} {token})'
                 for offset, other, why, token in sorted(said['producers'] - wanted)]
    problems += [f'{offset:#x}: incomplete' for offset in sorted(said['incomplete'])]
    return problems


CHECKS = {'offsets and lengths': check_frames, 'names': check_names, 'widths and masks': check_fields,
          'scoreboard': check_scoreboard, 'targets': check_targets, 'pipes': check_pipes, 'producers': check_producers}


def compare(program, path, disassembly, generation, title):
    with lzma.open(disassembly, 'rt') as lines:
        expected = reference.read(lines)
    said = describe(program, path, generation)
    report([] if said.keys() == expected.keys() and expected else [f'kernels {list(said)}, expected {list(expected)}'],
           f'{title}: kernels')
    for name in expected.keys() & said.keys():
        for what, check in CHECKS.items():
            problems = check(said[name], expected[name])
            if not expected[name]:
                problems.append('no instructions')
            report(problems, f'{title}: {name}: {what} of {len(expected[name])} instructions')


def describe_bytes(program, code, generation):
    with tempfile.NamedTemporaryFile() as file:
        file.write(code)
        file.flush()
        return describe(program, file.name, generation)['code']


def check_all_opcodes(program, path):
    """Each opcode, or that it is none."""
    wanted = {}
    with lzma.open(path, 'rt') as lines:
        for line in lines:
            generation, instruction, name = line.rstrip('\n').split('\t')
            code, names = wanted.setdefault(generation, (bytearray(), []))
            code += bytes.fromhex(instruction)
            names.append('?' if name == '-' else name)
    for generation, (code, names) in wanted.items():
        said = [re.split('[. ]', fields[2])[0] for fields in describe_bytes(program, code, generation)['instructions']]
        problems = [] if len(said) == 128 else [f'{len(said)} instructions, expected 128']
        problems += [f'opcode {opcode:#x}: {one}, expected {name}'
                     for opcode, (one, name) in enumerate(zip(said, names)) if one != name]
        report(problems, f'{generation}: 128 opcodes')


def check_all_indices(program, path):
    """Each value of the indices in instructions of 8 bytes, against what IGA prints of them."""
    wanted = {}
    with lzma.open(path, 'rt') as lines:
        for line in lines:
            generation, instruction, text = line.rstrip('\n').split('\t')
            code, expected = wanted.setdefault(generation, (bytearray(), []))
            expected.append(reference.parse_line(len(code), text))
            code += bytes.fromhex(instruction)
    for generation, (code, expected) in wanted.items():
        said = describe_bytes(program, code, generation)
        for what in ('offsets and lengths', 'names', 'widths and masks', 'pipes'):
            report(CHECKS[what](said, expected), f'{generation}: {what} of {len(expected)} short instructions')


def check_all_scoreboards(program, path):
    """Each value of the scoreboard's bits in each kind of instruction, against what IGA prints."""
    wanted = {}
    with lzma.open(path, 'rt') as lines:
        for line in lines:
            generation, kind, instruction, value, text = line.rstrip('\n').split('\t')
            code, texts = wanted.setdefault(generation, (bytearray(), []))
            code += (int.from_bytes(bytes.fromhex(instruction), 'little') | int(value) << 8).to_bytes(16, 'little')
            texts.append((kind, value, text))
    for generation, (code, texts) in wanted.items():
        said = [fields[7] for fields in describe_bytes(program, code, generation)['instructions']]
        problems = [] if len(said) == len(texts) else [f'{len(said)} instructions, expected {len(texts)}']
        problems += [f'{kind} {value}: {one!r}, expected {text!r}'
                     for one, (kind, value, text) in zip(said, texts) if one != text]
        report(problems, f'{generation}: {len(texts)} values of the scoreboard')


def main():
    program, data = sys.argv[1], pathlib.Path(sys.argv[2])
    for disassembly in sorted(data.glob('zebin/*/*.disassembly.txt.xz')):
        module = disassembly.name.removesuffix('.disassembly.txt.xz')
        for suffix in ('.bin', '.loaded-debug.elf'):
            path = disassembly.with_name(module + suffix)
            compare(program, path, disassembly, None, f'{path.parent.name}/{path.name}')
    for path in sorted(data.glob('gt-code/*.code')):
        disassembly = path.with_suffix('.disassembly.txt.xz')
        compare(program, path, disassembly, path.name.split('.')[-2], path.name)
    check_all_opcodes(program, data / 'gt-code' / 'opcodes.tsv.xz')
    check_all_indices(program, data / 'gt-code' / 'short.tsv.xz')
    check_all_scoreboards(program, data / 'gt-code' / 'scoreboard.tsv.xz')
    print(f'1..{passed + failed}')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
