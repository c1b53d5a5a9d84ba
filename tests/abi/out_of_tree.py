# SPDX-License-Identifier: Apache-2.0
"""Tests of plugins that are built outside the tree, from an installed iaprof in a temporary folder. TAP."""
import os
import shutil
import subprocess
import sys
import tempfile

cases = []


def case(function):
    cases.append(function)
    return function


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8',
                          **options).stdout


def skip(reason):
    print(f'1..0 # SKIP {reason}')
    sys.exit()


def install(source, build):
    """Installs into the folder "root". -> the prefix there; pkg-config finds its files from then on."""
    root = os.path.abspath('root')
    run('sh', os.path.join(source, 'tests/stage.sh'), build, root)
    folders = {os.path.dirname(path) for path in run('find', root, '-name', '*.pc').split()}
    os.environ['PKG_CONFIG_PATH'] = ':'.join(sorted(folders))
    return root + run('pkg-config', '--variable=prefix', 'iaprof').strip()


def run_cases(reason, tools, build, missing=lambda function: None):
    """Builds in a temporary folder and runs the cases there, as root. reason: why root, None if it is not needed;
    missing(case): why it is skipped, or nothing."""
    if reason and os.getuid():
        skip(f'not root: {reason}')
    for tool in tools:
        if not shutil.which(tool):
            skip(f'no {tool} here')
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        build()
        print(f'1..{len(cases)}')
        for number, function in enumerate(cases, 1):
            name = function.__name__.replace('_', ' ')
            if missing(function):
                print(f'ok {number} - {name} # SKIP {missing(function)}')
                continue
            try:
                function()
                print(f'ok {number} - {name}', flush=True)
            except (AssertionError, subprocess.SubprocessError) as error:
                failed = 1
                print(f'not ok {number} - {name}')
                print('\n'.join(f'# {line}' for line in str(error).splitlines() +
                                str(getattr(error, 'stderr', '') or '').splitlines()), flush=True)
        os.chdir('/')
    sys.exit(failed)
