#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A plugin cannot reach the core's headers, and the core reaches no plugin's: test_include_paths.py SOURCE BUILD.

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
    core, plugins = source / 'core', source / 'plugins'
    seen = {'core': 0, 'plugin': 0}
    wrong_paths, wrong_files = [], []
    dependencies = read_dependencies(build)
    for entry in json.loads((build / 'compile_commands.json').read_text()):
        file = (pathlib.Path(entry['directory']) / entry['file']).resolve()
        of_plugin, of_core = plugins in file.parents, core in file.parents
        if not of_plugin and not of_core:
            continue
        seen['plugin' if of_plugin else 'core'] += 1
        foreign = core if of_plugin else plugins
        name = file.relative_to(source)
        wrong_paths += [f'{name} can include from {path.relative_to(source)}'
                        for path in include_paths(entry) if path == foreign or foreign in path.parents or path == source]
        wrong_files += [f'{name} includes {used.relative_to(source)}'
                        for used in dependencies.get(entry['output'], []) if within(used, foreign)]
        if entry['output'] not in dependencies:
            wrong_files.append(f'{name}: the compiler wrote no dependencies for {entry["output"]}')

    status = 0
    print('1..3')
    for number, (name, wrong) in enumerate((
            ('core and plugins were compiled', [f'no {what} file' for what, count in seen.items() if not count]),
            ('no include path leads from a plugin to the core or back', wrong_paths),
            ('no plugin includes a header of the core, nor the core one of a plugin', wrong_files)), 1):
        print('not ' * bool(wrong) + f'ok {number} - {name}')
        for line in wrong:
            print(f'# {line}')
        status |= bool(wrong)
    return status


if __name__ == '__main__':
    sys.exit(main())
