#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Core, engine and the public headers name no vendor: test_vendor_words.py SOURCE BUILD [COMPILER...].

Looked through are the text of core/, engine/ and include/, and what the objects and programs of core and engine have in
their data and as symbols. The words and the few exceptions are in vendor_words.txt.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile


def read_words(path):
    """-> [(word, pattern)], {(path, text): reason}"""
    words, exceptions = [], {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith('#'):
            continue
        if line.startswith('except '):
            match = re.fullmatch(r'except (\S+) (.+?): (.+)', line)
            if not match:
                raise SystemExit(f'{path}:{number}: an exception is: except PATH TEXT: REASON')
            exceptions[match[1], match[2]] = match[3]
            continue
        word = line.removeprefix('=')
        pattern = '[-_ ]?'.join(re.escape(part) for part in re.split('[-_ ]', word) if part)
        if word.endswith('_'):
            pattern += '_'
        if line.startswith('='):
            # "0xe" and "\xe2" are numbers, and "_xe" is a word of its own.
            pattern = r'(?<![a-z0-9\\])' + pattern + ('' if word.endswith('_') else '(?![a-z0-9])')
        words.append((word, re.compile(pattern, re.IGNORECASE)))
    return words, exceptions


def find_words(words, text, allowed=()):
    for permitted in allowed:
        text = text.replace(permitted, '')
    return sorted({word for word, pattern in words if pattern.search(text)})


def texts_of_object(path):
    """What is in the data of an ELF file and in its table of symbols, as texts of four or more characters."""
    data = path.read_bytes()
    if data[:6] != b'\x7fELF\x02\x01':
        raise SystemExit(f'{path} is no ELF file of a 64-bit little-endian machine')
    offset, = struct.unpack_from('<Q', data, 0x28)
    size, count = struct.unpack_from('<HH', data, 0x3a)
    executable, allocated, strings, program = 4, 2, 3, 1
    for number in range(count):
        _, kind, flags, _, start, length = struct.unpack_from('<IIQQQQ', data, offset + number * size)
        if kind == strings or (kind == program and flags & allocated and not flags & executable):
            for text in re.findall(rb'[\x20-\x7e]{4,}', data[start:start + length]):
                yield text.decode()


def objects_of_core(source, build):
    found = []
    for entry in json.loads((build / 'compile_commands.json').read_text()):
        file = (pathlib.Path(entry['directory']) / entry['file']).resolve()
        if not {source / 'core', source / 'engine'}.isdisjoint(file.parents):
            found.append(build / entry['output'])
    return sorted(set(found))


def plant(words, compiler):
    """Words that are not found in an object where each is one text of its own; None: there is no compiler."""
    with tempfile.TemporaryDirectory() as folder:
        file, output = pathlib.Path(folder, 'planted.c'), pathlib.Path(folder, 'planted.o')
        names = ', '.join(f'"a {word}x b"' if word.endswith('_') else f'"a {word.upper()} b"' for word, _ in words)
        file.write_text(f'const char *const planted[] = {{ {names} }};\n')
        try:
            subprocess.run([*compiler, '-c', file, '-o', output], check=True)
        except FileNotFoundError:
            return None
        texts = [text for text in texts_of_object(output) if text.startswith('a ')]
    return [word for word, _ in words if not any(word in find_words(words, text) for text in texts)]


def main():
    source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    words, exceptions = read_words(source / 'tests/abi/vendor_words.txt')
    used = set()
    wrong = {'text': [], 'objects': [], 'exceptions': [], 'planted': []}

    files = [path for folder in ('core', 'engine', 'include') for path in sorted((source / folder).rglob('*')) if path.is_file()]
    for path in files:
        name = str(path.relative_to(source))
        wrong['text'] += [f'the name {name} has {word}' for word in find_words(words, name)]
        allowed = [text for file, text in exceptions if file == name]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            used |= {(name, text) for text in allowed if text in line}
            wrong['text'] += [f'{name}:{number} has {word}: {line.strip()}' for word in find_words(words, line, allowed)]
    allowed = [text for _, text in exceptions]
    # The build puts the names of its own plugins into the loader, which trusts them.
    built = {folder.name.removeprefix('sink-').removeprefix('decoder-') for folder in (source / 'plugins').iterdir()}
    objects = objects_of_core(source, build)
    for path in objects:
        for text in texts_of_object(path):
            if not built.issuperset(text.split()):
                wrong['objects'] += [f'{path.name} has {word}: {text}' for word in find_words(words, text, allowed)]
    if len(files) < 100 or len(objects) < 100:
        wrong['objects'].append(f'only {len(files)} files and {len(objects)} objects')
    wrong['exceptions'] = [f'{path}: {text} is not there' for path, text in exceptions if (path, text) not in used]
    missed = plant(words, sys.argv[3:] or ['cc'])
    wrong['planted'] = missed or []
    innocent = 'exec size_ 0xe1 \\xe2 rt_sigprocmask hipster damd maximalist expvc'
    wrong['planted'] += [f'{word} is found in: {innocent}' for word in find_words(words, innocent)]

    print('1..4')
    for number, (key, what) in enumerate((
            ('text', 'core/, engine/ and include/ name no vendor'),
            ('objects', "the strings and symbols of the objects of core and engine name none"),
            ('exceptions', 'each exception is of use'),
            ('planted', 'each word is found where it is, and only there')), 1):
        skipped = ' # SKIP no compiler' if key == 'planted' and missed is None else ''
        print('not ' * bool(wrong[key]) + f'ok {number} - {what}{skipped}')
        for line in wrong[key][:50]:
            print(f'# {line}')
    return int(any(wrong.values()))


if __name__ == '__main__':
    sys.exit(main())
