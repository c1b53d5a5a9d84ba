#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 900
# lab: runtime
# lab: covers plugins/ze-usdt/**
# lab: covers tests/lab/level_zero/graphs/** tests/lab/level_zero/*
"""Executions of graphs, command lists and mutable lists on Intel's real runtime: each kernel ran as often as the program prints. TAP."""
import collections
import csv
import functools
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import Failure, run
from harness.profiler import SLOW

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
PROGRAMS = BUILD / 'tests/lab/level_zero'
IN_CHROOT = SOURCE / 'tests/lab/guest/in-chroot'

WAYS = {
    'simple': 'a graph, executed ten times',
    'twice': 'two executables of a graph that is destroyed before them',
    'fork': 'a capture that three lists join',
    'both': 'two captures at once, beside a list that executes',
    'paused': 'a capture with a pause',
    'regular': 'a graph in a regular list, executed often',
    'nested': 'a graph in a graph',
    'list-in-graph': 'a regular list in a graph',
    'invalid': 'captures that fail',
    'threads': 'four threads',
}
LIST_WAYS = {
    'lists': 'a list that is recorded twice, executed ten times each',
    'mutable': 'a mutable list whose arguments change',
    'changeable': 'a mutable list whose kernel may change',
}


def command(functions, way):
    return [IN_CHROOT, SOURCE / 'tests/lab/level_zero/run-without-gpu', 'bmg', PROGRAMS / 'graphs',
            PROGRAMS / 'modules/transformer.bmg.bin', functions, way]


def execute(*arguments):
    return subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, encoding='utf-8',
                          errors='replace')


def profile(*arguments):
    # Other programs on this machine may launch, too.
    outcome = execute(BUILD / 'iaprof', *SLOW, '--scope', 'command', '-s', 'ze-usdt:tracer=yes', '-k',
                      'csv:rows=events,newline=lf', '-o', 'out.csv', '--', *arguments)
    with open('out.csv', encoding='utf-8', newline='') as file:
        return outcome, [row for row in csv.DictReader(file) if row['record'] == 'launch']


def executions(text):
    return {name: int(count) for name, count in re.findall(r'^executed (\S+) (\d+)$', text, re.MULTILINE)}


def check(functions, way):
    alone = execute(*command(functions, way))
    if alone.returncode:
        raise Failure(f'the program ended with {alone.returncode}: {alone.stdout}')
    outcome, rows = profile(*command(functions, way))
    if outcome.returncode or 'lost: ze-usdt' in outcome.stdout or alone.stdout not in outcome.stdout:
        raise Failure(f'iaprof ended with {outcome.returncode}: {outcome.stdout}; alone: {alone.stdout}')
    counts = collections.Counter()
    for row in rows:
        counts[row['name']] += int(row['count'])
        if f'way_{way.replace("-", "_")};' not in row['functions'] and way != 'threads':
            raise Failure(f'the launch is not on the stack: {row["functions"]}')
    if counts != executions(alone.stdout):
        raise Failure(f'counted {dict(counts)}, executed {executions(alone.stdout)}')


def check_attached(preloaded, source, reason):
    """A graph that was captured before iaprof came is lost, with the reason; later ones count."""
    tracer = [f'LD_PRELOAD={BUILD}/plugins/ze-usdt/libiaprof-ze-tracer.so'] if preloaded else []
    arguments = command('loader', 'replay')
    arguments[3:3] = ['env', *tracer]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding='utf-8') as program:
        pid = program.stdout.readline().split()[1]
        outcome = execute(BUILD / 'iaprof', '-d', '5', '-p', pid, '-s', source, '-k', 'csv:rows=events,newline=lf',
                          '-o', 'out.csv')
        program.stdin.close()
        printed = program.stdout.read()
    if outcome.returncode or program.returncode or len(executions(printed)) != 2:
        raise Failure(f'iaprof ended with {outcome.returncode}, the program with {program.returncode}: '
                      f'{outcome.stdout}{printed}')
    if reason not in outcome.stdout:
        raise Failure(f'not reported: {reason}: {outcome.stdout}')
    with open('out.csv', encoding='utf-8', newline='') as file:
        rows = [row for row in csv.DictReader(file) if row['record'] == 'launch']
    counts = collections.Counter()
    for row in rows:
        counts[row['name']] += int(row['count'])
    ran = executions(printed)
    for name, count in counts.items():
        if not 0 < count < ran[name] * 2 / 3:
            raise Failure(f'{name}: counted {count} of {ran[name]}')
    if set(counts) != set(ran):
        raise Failure(f'counted {dict(counts)}, executed {ran}')


def cases():
    for functions in 'loader', 'driver':
        for way, what in WAYS.items():
            yield f'{what} (functions of the {functions})', check, (functions, way)
    for way, what in LIST_WAYS.items():
        yield what, check, ('loader', way)
    yield 'a graph from before the profiler, in a program with the tracer', check_attached, (
        True, 'ze-usdt:tracer=no', 'launches of a command list or graph from before the profiler was attached')
    yield 'a graph from before the tracer, which is loaded into the program', check_attached, (
        False, 'ze-usdt:tracer=inject', 'launches of a command list or graph from before the tracer was loaded')


sys.exit(run([(what, functools.partial(function, *arguments)) for what, function, arguments in cases()]) != 0)
