#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage of core, engine and lib, from gcov: coverage.py [--keep] [--write] [BUILD [SUITE...]].

Configures BUILD with -Db_coverage=true and without optimisation if it is missing, builds it, removes the counters of
earlier runs, runs the suites (default: all but lab and unwind), and prints the share of lines that ran, for each folder
and in the last line for all. Exits 1 if a test fails, or if a total of all suites is more than 0.1 points below that of
coverage.txt. --keep only counts what has run in BUILD; --write replaces coverage.txt.

Counters are written at exit() and before exec(). Lines are therefore counted as missed if they run only in processes
that end by a signal or _exit() (plugins in processes of their own) or that cannot write files (the broker and the
worker). Unit tests and the corpora of tests/fuzz run the code of those in ordinary processes.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ('core', 'engine', 'lib')
SUITES = ('unit', 'plugin', 'cli', 'abi', 'fuzz', 'sink', 'hostile', 'preservation')
FLOOR = ROOT / 'tests' / 'coverage.txt'
TOLERANCE = 0.1  # percentage points: what differs from run to run


def run(*command):
    return subprocess.run(command, check=False).returncode


def build(folder):
    if not (folder / 'build.ninja').exists():
        # Counters are atomic, for threads. Warnings and speed are those of other builds.
        status = run('meson', 'setup', str(folder), str(ROOT), '-Dlibdir=lib', '-Dtests=true', '-Db_coverage=true',
                     '-Dbuildtype=debug', '-Dc_args=-w -fprofile-update=atomic')
        if status:
            sys.exit(f'coverage: cannot configure {folder}')
    if run('ninja', '-C', str(folder), '--quiet'):
        sys.exit(f'coverage: {folder} does not build')


def test(folder, suites):
    for counters in folder.rglob('*.gcda'):
        counters.unlink()
    options = [option for suite in suites for option in ('--suite', suite)]
    # What cannot write its counters would say so on standard error, which tests compare.
    environment = {**os.environ, 'GCOV_ERROR_FILE': '/dev/null'}
    command = ['meson', 'test', '-C', str(folder), '--no-rebuild', '--print-errorlogs', *options]
    # In this build some fail, which pass in those that they are made for: they look at exported symbols, build plugins
    # against the library without gcov's, or run where no counter can be written.
    subprocess.run(command, check=False, env=environment)


def notes_of(folder):
    """Returns the .gcno files of objects that are made of sources in FOLDERS, tests' copies included."""
    for entry in json.loads((folder / 'compile_commands.json').read_text()):
        source = (pathlib.Path(entry['directory']) / entry['file']).resolve()
        notes = (pathlib.Path(entry['directory']) / entry['output']).with_suffix('.gcno')
        if source.is_relative_to(ROOT) and notes.exists():
            yield notes


def read_counts(notes):
    """Returns {source: {line: count}} of some .gcno files and the counters beside them, as gcov prints them."""
    process = subprocess.run(['gcov', '--json-format', '--stdout', *map(str, notes)], check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=notes[0].parent)
    if process.returncode:
        sys.exit(f'coverage: gcov fails: {process.stderr.decode(errors="replace").strip()}')
    found = collections.defaultdict(dict)
    for line in process.stdout.splitlines():
        document = json.loads(line)
        for file in document['files']:
            source = os.path.normpath(os.path.join(document['current_working_directory'], file['file']))
            lines = found[os.path.relpath(source, ROOT)]
            for counted in file['lines']:
                lines[counted['line_number']] = lines.get(counted['line_number'], 0) + counted['count']
    return {source: lines for source, lines in found.items() if source.split('/')[0] in FOLDERS}


def count(folder):
    """Returns {source: {line: count}}; a file is in several programs, and a line ran if it did in one of them."""
    notes = sorted(notes_of(folder))
    parts = [notes[at:at + 32] for at in range(0, len(notes), 32)]
    sources = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(read_counts, parts):
            for source, lines in found.items():
                for number, times in lines.items():
                    sources[source][number] += times
    return sources


def percent(ran, lines):
    return 100 * ran / lines if lines else 0


def summarize(sources):
    """Prints a line for each folder; returns {first folder: (lines that ran, lines)} with 'total'."""
    folders = collections.defaultdict(lambda: [0, 0])
    for source, lines in sources.items():
        ran = sum(times > 0 for times in lines.values())
        for name in (os.path.dirname(source), source.split('/')[0], 'total'):
            # A file of core itself counts once.
            key = (name, 'all' if name in (*FOLDERS, 'total') else '')
            if name == os.path.dirname(source) and name in FOLDERS:
                continue
            folders[key][0] += ran
            folders[key][1] += len(lines)
    for (name, kind), (ran, lines) in sorted(folders.items()):
        if not kind:
            print(f'{name}: {percent(ran, lines):.1f} % of {lines} lines')
    return {name: counts for (name, kind), counts in folders.items() if kind}


def read_floor():
    """Returns {folder or 'total': percentage}."""
    rows = (line.split(': ') for line in FLOOR.read_text().splitlines() if line and not line.startswith('#'))
    return {name: float(value) for name, value in rows}


def write_floor(totals):
    lines = [line for line in FLOOR.read_text().splitlines() if line.startswith('#')]
    lines += [f'{name}: {percent(*totals[name]):.1f}' for name in (*FOLDERS, 'total') if name in totals]
    FLOOR.write_text('\n'.join(lines) + '\n')


def main():
    parser = argparse.ArgumentParser(description='Line coverage of core, engine and lib.')
    parser.add_argument('build', type=pathlib.Path, nargs='?', default=ROOT / 'build-coverage',
                        help='default build-coverage')
    parser.add_argument('suites', nargs='*', metavar='suite', help=f'default: {" ".join(SUITES)}')
    parser.add_argument('--keep', action='store_true', help='count what has run already, and run nothing')
    parser.add_argument('--write', action='store_true', help='write the totals to coverage.txt')
    parser.add_argument('--missed', metavar='PREFIX', help='print the lines that did not run')
    arguments = parser.parse_args()
    folder = arguments.build.resolve()
    if not arguments.keep:
        build(folder)
        test(folder, arguments.suites or SUITES)
    sources = count(folder)
    if not sources:
        sys.exit(f'coverage: no counters of {", ".join(FOLDERS)} in {folder}')
    for source, lines in sorted(sources.items()):
        missed = [number for number, times in sorted(lines.items()) if not times]
        if arguments.missed is not None and missed and source.startswith(arguments.missed):
            print(f'{source}: {" ".join(map(str, missed))}')
    totals = summarize(sources)
    is_low = False
    if arguments.write:
        write_floor(totals)
    elif not arguments.suites:
        for name, least in read_floor().items():
            now = percent(*totals.get(name, (0, 0)))
            if now < least - TOLERANCE:
                is_low = True
                print(f'coverage: {name} has fallen from {least} % (tests/coverage.txt) to {now:.2f} %')
    print('line coverage: ' + ', '.join(f'{name} {percent(*totals[name]):.1f} %' for name in (*FOLDERS, 'total')
                                        if name in totals))
    return int(is_low)


if __name__ == '__main__':
    sys.exit(main())
