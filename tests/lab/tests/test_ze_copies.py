#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 600
# lab: runtime
# lab: covers plugins/ze-usdt/** tests/lab/level_zero/**
"""Programs with several copies of the Level Zero loader, with a copy that is linked statically, and beside another profiler:
each ends as it does without the tracer, and the launches through each copy are those that it prints. TAP."""
import collections
import csv
import functools
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import check, equal, run
from harness.profiler import SLOW

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
PROGRAMS = BUILD / 'tests/lab/level_zero'
TRACER = BUILD / 'plugins/ze-usdt/libiaprof-ze-tracer.so'
LOADER = '/usr/lib/x86_64-linux-gnu/libze_loader.so.1'
# Two folders with copies of the loader and its layers; a plugin that is linked to the one beside it.
PREPARE = ('for copy in one two; do mkdir -p /tmp/$$/$copy; cp -L /usr/lib/x86_64-linux-gnu/libze_*.so.1 /tmp/$$/$copy; done; '
           'cp "$1/copies-plugin.so" "$1/copies-renamed.so" /tmp/$$/two; '
           'cp /tmp/$$/two/libze_loader.so.1 /tmp/$$/two/libze_loader-1a2b3c4d.so.1; cp "$1/copies-static.so" /tmp/$$; cd /tmp/$$; '
           'test -z "$PROFILER" || export LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$1/profiler.so"; '
           'shift; exec "$@"')
# Behind the name of a program: with a preloaded library that traces as unitrace does.
PROFILER = '+profiler'
# Calls the driver without the loader that it opens, unless the environment enables that one's tracing layer.
UNTRACED = 'copies-static-tables'
LAYER = '+layer'
# The profiler cannot see what is in another namespace.
UNSEEN = 'n'

CASES = {
    'two copies that are opened': ('copies-alone', 'o:one/libze_loader.so.1', 'o:two/libze_loader.so.1'),
    'the loader that is linked, and a copy': ('copies', 'l:', 'd:two/libze_loader.so.1'),
    'a copy, and the loader that is linked': ('copies', 'd:one/libze_loader.so.1', 'l:'),
    'a plugin with a copy of another name': ('copies-alone', 'p:two/copies-renamed.so', f'o:{LOADER}'),
    'the loader of the machine, and a plugin with a copy of another name': ('copies-alone', f'o:{LOADER}',
                                                                           'p:two/copies-renamed.so'),
    'the loader of the machine, and a plugin with a copy of its own': ('copies-alone', f'o:{LOADER}', 'p:two/copies-plugin.so'),
    'a plugin with a copy of its own, beside the loader that is linked': ('copies', 'p:two/copies-plugin.so', 'l:'),
    'a program that wraps the loader': ('copies-wrapper', 'l:', 'd:two/libze_loader.so.1'),
    'with RTLD_DEEPBIND': ('copies-alone', 'd:one/libze_loader.so.1', 'd:two/libze_loader.so.1', f'o:{LOADER}'),
    'a plugin with RTLD_DEEPBIND': ('copies-alone', f'o:{LOADER}', 'pd:two/copies-plugin.so'),
    'a copy that is loaded and unloaded in a loop': ('copies-alone', f'o:{LOADER}', 'oc:one/libze_loader.so.1',
                                                     'oc:two/libze_loader.so.1'),
    'a namespace of its own': ('copies-alone', f'o:{LOADER}', 'n:one/libze_loader.so.1'),
    'a namespace of its own, first': ('copies-alone', 'n:one/libze_loader.so.1', f'o:{LOADER}'),
    'a loader that is linked statically': ('copies-static', 'l:'),
    'a loader that is linked statically, and a copy': ('copies-static', 'l:', 'd:one/libze_loader.so.1'),
    'a plugin with a loader that is linked statically': ('copies-alone', 'p:./copies-static.so', f'o:{LOADER}'),
    'the loader of the machine, and a plugin with one that is linked statically': ('copies', 'l:', 'pd:./copies-static.so'),
    'a loader before 1.21.9 that is linked statically': (UNTRACED, 'l:'),
    'a loader before 1.21.9 that is linked statically, with the layer': (UNTRACED + LAYER, 'l:'),
    'beside another profiler': ('copies' + PROFILER, 'l:'),
    'beside another profiler, with a loader that is opened': ('copies-alone' + PROFILER, f'o:{LOADER}'),
    'beside another profiler, with a loader that is linked statically': ('copies-static' + PROFILER, 'l:'),
    'beside another profiler, with a program that wraps the loader': ('copies-wrapper' + PROFILER, 'l:'),
}


def program(name, *steps, environment=()):
    name, _, extra = name.partition('+')
    if extra:
        environment = [*environment, 'ZE_ENABLE_TRACING_LAYER=1']
    if extra == PROFILER[1:]:
        environment = [*environment, 'PROFILER=yes']
    return [SOURCE / 'tests/lab/guest/in-chroot', SOURCE / 'tests/lab/level_zero/run-without-gpu', 'bmg', 'env', *environment,
            'sh', '-c', PREPARE, 'sh', PROGRAMS, PROGRAMS / name, PROGRAMS / 'modules/transformer.bmg.bin', 'tiny', *steps]


def completed(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, encoding='utf-8')


def launches(text):
    """-> {step: launches}, and what another profiler saw of them"""
    found = collections.Counter()
    for line in text.splitlines():
        kind, *words = line.split('\t')
        if kind == 'profiler':
            found[kind], found['profiler, completed'] = map(int, words)
        else:
            found[f'launch_in_step_{words[1]}'] += int(words[2])
    return found


def check_case(function, *arguments):
    """Afterwards, the copies are removed, 130 MB each: the shells that made them became the programs."""
    try:
        function(*arguments)
    finally:
        for plugin in pathlib.Path('/tmp').glob('[0-9]*/copies-static.so'):
            shutil.rmtree(plugin.parent, ignore_errors=True)


def unchanged(name, *steps):
    alone = completed(program(name, *steps))
    equal((alone.returncode, alone.stderr), (0, ''), 'end of the program alone')
    traced = completed(program(name, *steps, environment=[f'LD_PRELOAD={TRACER}']))
    equal((traced.returncode, traced.stderr, launches(traced.stdout)), (0, '', launches(alone.stdout)), 'end with the tracer')


def profiled(name, *steps):
    outcome = completed([BUILD / 'iaprof', *SLOW, '--scope', 'command', '-s', 'ze-usdt:tracer=yes', '-k',
                         'csv:rows=events,newline=lf', '-o', 'out.csv', '--', *program(name, *steps)])
    equal(outcome.returncode, 0, outcome.stderr)
    check('lost: ze-usdt' not in outcome.stderr, outcome.stderr)
    wanted = launches(outcome.stdout)
    seen = wanted.pop('profiler', 0), wanted.pop('profiler, completed', 0)
    equal(seen, (wanted.total(),) * 2 if PROFILER in name else (0, 0), 'launches that the other profiler saw')
    if name == UNTRACED:
        check('statically linked and older than 1.21.9' in outcome.stderr, outcome.stderr)
        wanted.clear()
    for number, step in enumerate(steps):
        if UNSEEN in step.partition(':')[0]:
            del wanted[f'launch_in_step_{number}']
    found = collections.Counter()
    with open('out.csv', encoding='utf-8', newline='') as file:
        for row in csv.DictReader(file):
            if row['record'] == 'launch':
                names = [name for name in row['functions'].split(';') if name.startswith('launch_in_step_')]
                equal(len(names), 1, f'steps in {row["functions"]}: {outcome.stderr}')
                equal(row['name'], 'tiny', 'kernel')
                found[names[0]] += int(row['count'])
    equal(found, wanted, 'launches')


sys.exit(run([(f'{what}: {kind}', functools.partial(check_case, function, *arguments))
              for what, arguments in CASES.items()
              for kind, function in {'unchanged': unchanged, 'profiled': profiled}.items()]) != 0)
