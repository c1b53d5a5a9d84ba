#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The order of the folders: test_folder_order.py SOURCE BUILD.

lib/ includes only itself; a folder of core/ includes lib/, include/ and the folders of core/ before it, and nothing of
engine/; a folder of engine/ includes those of core/ but run, too, and the files of engine/ itself all of its folders; a
plugin includes lib/, include/ and its own folder. main(), in core/ itself, includes all. What is included comes from the dependencies that the compiler wrote, so a
header that is reached through others counts as well. Part of the test checks that it would notice.
"""
import pathlib
import sys

from compiled import read_dependencies, within

SHARED = (('core', 'config'), ('core', 'plugin'), ('core', 'bus'))
CORE = (*SHARED, ('core', 'run'))
ENGINE = (*SHARED, ('engine', 'process'), ('engine', 'symbolizer'), ('engine', 'correlator'), ('engine', 'profile'),
          ('engine', ''))
FOLDERS = {*CORE, *ENGINE}


def owner(path):
    """-> ('lib', ''), ('include', ''), one of FOLDERS, ('core', '') for a main(), ('plugins', NAME), None"""
    parts = path.parts
    if parts[0] in ('lib', 'include'):
        return parts[0], ''
    if parts[0] in ('core', 'engine', 'plugins') and len(parts) > 1:
        return parts[0], parts[1] if len(parts) > 2 else ''
    return None


def may_include(user, used):
    """Both as owner() returns them."""
    if used is None or used[0] == 'include' or used == user:
        return True
    if user[0] in ('lib', 'include'):
        return used[0] == 'lib' and user[0] == 'lib'
    if used[0] == 'lib':
        return True
    if user == ('core', ''):
        return used in FOLDERS
    order = ENGINE if user[0] == 'engine' else CORE
    return user in order and used in order[:order.index(user)]


def check(compiled):
    """[files of one object, relative to the source] -> ['FILE includes FILE']"""
    user = owner(compiled[0])
    if user is None:
        return []
    return [f'{compiled[0]} includes {used}' for used in compiled[1:] if not may_include(user, owner(used))]


def relative(files, source):
    return [path for file in files if (path := within(file, source))]


def wrong_if_added(source_file, header):
    return check([pathlib.PurePath(source_file), pathlib.PurePath(header)])


def main():
    source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    objects = [files for files in (relative(files, source) for files in read_dependencies(build).values()) if files]
    # A build folder within the source has generated files, which belong to nobody.
    seen = {owner(files[0]) for files in objects}
    expected = {*FOLDERS, ('lib', '')}
    folders = {(part, path.name) for part in ('core', 'engine') for path in (source / part).iterdir() if path.is_dir()}
    folders.add(('engine', ''))
    headers = [pathlib.PurePath(*path.relative_to(source).parts) for path in (source / 'include').rglob('*.h')]
    violations = sorted({line for files in objects for line in check(files)})
    bad = (('lib/base/log.c', 'core/config/value.h'), ('lib/base/log.c', 'plugins/ivpu/usage.h'),
           ('core/bus/bus.c', 'engine/profile/loss.h'), ('engine/symbolizer/resolver.c', 'engine/correlator/kernels.h'),
           ('engine/profile/loss.c', 'core/run/run.h'), ('core/run/run.c', 'plugins/ivpu/usage.h'),
           ('core/run/run.c', 'engine/profile/loss.h'), ('core/run/run.c', 'engine/engine.h'),
           ('engine/engine.c', 'core/run/run.h'), ('engine/profile/loss.c', 'engine/engine.h'),
           ('plugins/ivpu/usage.c', 'core/bus/bus.h'), ('plugins/sink-csv/csv.c', 'plugins/ivpu/usage.h'))
    good = (('engine/profile/loss.c', 'engine/correlator/kernels.h'), ('core/main.c', 'core/run/run.h'),
            ('core/main.c', 'engine/engine.h'), ('engine/engine.c', 'engine/profile/loss.h'),
            ('core/run/run.c', 'core/bus/engine.h'), ('engine/engine.c', 'core/bus/engine.h'),
            ('plugins/ivpu/usage.c', 'lib/base/log.h'), ('core/bus/bus.c', 'include/iaprof/record.h'))
    checks = (
        ('every folder of core/ and engine/ has its place in the order', sorted(folders ^ FOLDERS)),
        ('lib/, every folder of core/ and engine/, and plugins were compiled',
         [f'nothing of {"/".join(missing)}' for missing in sorted(expected - seen)] +
         ['no plugin'] * (not any(user and user[0] == 'plugins' for user in seen))),
        ('an include against the order would be noticed',
         [f'{user} including {used} is not noticed' for user, used in bad if not wrong_if_added(user, used)] +
         [f'{user} including {used} is refused' for user, used in good if wrong_if_added(user, used)]),
        ('each file includes only earlier folders', violations),
        ('the public headers include only each other',
         [f'{header}: {line.strip()}' for header in headers for line in (source / header).read_text().splitlines()
          if line.startswith('#include "')]),
    )
    print(f'1..{len(checks)}')
    for number, (name, wrong) in enumerate(checks, 1):
        print('not ' * bool(wrong) + f'ok {number} - {name}')
        for line in wrong:
            print(f'# {line}')
    return any(wrong for _, wrong in checks)


if __name__ == '__main__':
    sys.exit(main())
