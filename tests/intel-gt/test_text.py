#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The text of single instructions equals that of libiga64 for whole kernels: test_text.py DESCRIBE DATA-FOLDER.

IGA_LIBRARY is the path of libiga64; without it one that is installed is taken.
"""
import lzma
import os
import pathlib
import re
import subprocess
import sys

import reference

NO_LIBRARY = 77


def expected_texts(path):
    """Kernels by name: offset and text of each instruction, with targets as offsets."""
    kernels, current = {}, None
    with lzma.open(path, 'rt') as lines:
        for line in lines:
            heading = re.match(r'=== (.*) ===', line)
            if heading:
                current = kernels.setdefault(heading.group(1), {})
            found = reference.LINE.match(line)
            if found:
                if current is None:
                    current = kernels.setdefault('code', {})
                text = re.sub(r'\bL(\d+)\b', lambda label: f'{int(label.group(1)):#x}', found.group(2))
                current[int(found.group(1), 16)] = ' '.join(text.split())[:255]
    return kernels


def printed_texts(program, library, path, generation):
    command = [program, '--library', library, path] + ([generation] if generation else [])
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == NO_LIBRARY:
        print('1..0 # SKIP libiga64 is not installed: set IGA_LIBRARY to the path of one')
        sys.exit(0)
    kernels = {}
    for line in result.stdout.splitlines():
        what, first, *rest = line.split('\t')
        if what == 'kernel':
            current = kernels[first] = {}
        else:
            current[int(first)] = rest[0]
    return kernels


def main():
    program, data, library = sys.argv[1], pathlib.Path(sys.argv[2]), os.environ.get('IGA_LIBRARY', '')
    paths = [(path, path.with_name(path.name.replace('.disassembly.txt.xz', '.bin')), None)
             for path in sorted(data.glob('zebin/*/*.disassembly.txt.xz'))]
    paths += [(path.with_suffix('.disassembly.txt.xz'), path, path.name.split('.')[-2])
              for path in sorted(data.glob('gt-code/*.code'))]
    failed = 0
    for number, (disassembly, path, generation) in enumerate(paths, 1):
        expected, said = expected_texts(disassembly), printed_texts(program, library, path, generation)
        print(f'{"ok" if said == expected and expected else "not ok"} {number} - text of {path.relative_to(data)}')
        if said != expected or not expected:
            failed += 1
            problems = [f'{name} {offset:#x}: {said.get(name, {}).get(offset)!r}, expected {text!r}'
                        for name, texts in expected.items() for offset, text in texts.items()
                        if said.get(name, {}).get(offset) != text]
            print('\n'.join(f'# {problem}' for problem in problems[:5]))
    print(f'1..{len(paths)}')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
