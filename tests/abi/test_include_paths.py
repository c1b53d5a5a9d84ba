#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin cannot reach headers of core/ and engine/, nor they a plugin's: test_include_paths.py SOURCE BUILD.

What can be included is proved with the include paths of each compilation, what is included with the dependencies that
the compiler wrote.
"""
import json
import pathlib
import shlex
import sys

from compiled import read_dependencies, within


def include_paths(entry):
    words = shlex.split(entry['command'])
    folder = pathlib.Path(entry['directory'])
    for index, word in enumerate(words):
        for option in ('-I', '-isystem', '-iquote', '-include'):
            if word.startswith(option):
                yield (folder / (word[len(option):] or words[index + 1])).resolve()


def main():
    source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    own, plugins = {source / 'core', source / 'engine'}, {source / 'plugins'}
    seen = {'core or engine': 0, 'plugin': 0}
    wrong_paths, wrong_files = [], []
    dependencies = read_dependencies(build)
    for entry in json.loads((build / 'compile_commands.json').read_text()):
        file = (pathlib.Path(entry['directory']) / entry['file']).resolve()
        of_plugin = not plugins.isdisjoint(file.parents)
        if not of_plugin and own.isdisjoint(file.parents):
            continue
        seen['plugin' if of_plugin else 'core or engine'] += 1
        foreign = own if of_plugin else plugins
        name = file.relative_to(source)
        wrong_paths += [f'{name} can include from {path.relative_to(source)}'
                        for path in include_paths(entry) if not foreign.isdisjoint((path, *path.parents)) or path == source]
        wrong_files += [f'{name} includes {used.relative_to(source)}'
                        for used in dependencies.get(entry['output'], []) if any(within(used, path) for path in foreign)]
        if entry['output'] not in dependencies:
            wrong_files.append(f'{name}: the compiler wrote no dependencies for {entry["output"]}')

    status = 0
    print('1..3')
    for number, (name, wrong) in enumerate((
            ('core, engine and plugins were compiled', [f'no {what} file' for what, count in seen.items() if not count]),
            ('no include path leads from a plugin to core or engine, or back', wrong_paths),
            ('no plugin includes a header of core or engine, nor they one of a plugin', wrong_files)), 1):
        print('not ' * bool(wrong) + f'ok {number} - {name}')
        for line in wrong:
            print(f'# {line}')
        status |= bool(wrong)
    return status


if __name__ == '__main__':
    sys.exit(main())
