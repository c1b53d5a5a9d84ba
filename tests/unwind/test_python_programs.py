#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python code in child processes, in a virtual environment, below libraries, in programs that contain the interpreter and
in several interpreters of one process; and the Python callers of launches. Each chain of calls that a program reports of
itself is found, and none that it does not report; a capture replays to the same text. TAP.

test_python_programs.py LIBRARY (tests/programs/ze_probes.c, or "")
"""
import collections
import contextlib
import csv
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
IAPROF = os.environ['TEST_IAPROF']
LIBRARY = sys.argv[1] and os.path.abspath(sys.argv[1])
# How long tables may take to come on a busy machine, s.
PATIENCE = int(os.environ.get('TEST_PATIENCE', '600'))
PLACES = ['plain', 'fork', 'spawn', 'pool', 'generator', 'tasks', 'thread', 'extension', 'subinterpreter']
# Those of the newest and the oldest interpreter suffice for versions that differ in nothing else.
PLACES_OF_OTHERS = ['plain', 'subinterpreter']
PYTHON_FRAME = re.compile(r'^(.*):([^:;]+\.py|<string>):(\d+)$')
# Of samples: in chains that no program reported.
WRONG = 0.01
# Native functions between the outermost and the innermost frame of Python.
NATIVE = {'extension': re.compile(r';extension:[^;]*;.*sqlite3_step[^;]*;.*spin:'),
          'launch': re.compile(r'^(?!<module>).*;<module>:.*kernel:[^;]*;.*;ffi_call[^;]*;.*ze_probes_launch_short[^;]*$'),
          'embedded': re.compile(r';main[^;]*;run_inside[^;]*;[^;]*(;[^;]*)*;main:python_places')}


def others():
    """-> other versions that are installed, without numbers of releases"""
    found = [*map(str, sorted(pathlib.Path.home().glob('.pyenv/versions/3.*/bin/python3'))),
             *os.environ.get('TEST_PYTHONS', '').split()]
    return [path for path in found if re.search(r'/3\.(8|12|13|14|15)\.', path) or '/versions/' not in path]


def build_embedded(folder):
    """-> the program; None without the headers of this Python"""
    if not shutil.which('python3-config') or not os.path.exists('/usr/include/python3.11/Python.h'):
        return None
    flags = [subprocess.run(['/usr/bin/python3-config', '--embed', what], check=True, capture_output=True, text=True)
             .stdout.split() for what in ('--includes', '--ldflags')]
    program = f'{folder}/python_embedded'
    subprocess.run(['cc', '-g', '-O2', '-fomit-frame-pointer', *flags[0], HERE / 'python_embedded.c', '-o', program, *flags[1]],
                   check=True)
    return program


def commands(folder):
    """-> the command of each place"""
    system = '/usr/bin/python3'
    found = {place: [system, HERE / 'python_places.py', place] for place in PLACES}
    for name, options in (('virtual environment', []), ('its copy', ['--copies'])):
        home = f'{folder}/{name}'
        subprocess.run([system, '-m', 'venv', '--without-pip', *options, home], check=True)
        found[name] = [f'{home}/bin/python', HERE / 'python_places.py', 'plain']
    found['namespace'] = ['unshare', '--pid', '--mount', '--fork', '--mount-proc', *found['plain']]
    embedded = build_embedded(folder)
    if embedded:
        found['embedded'] = [embedded, HERE]
    for path in others():
        version = path.split('/')[-3] if '/versions/' in path else path
        for place in PLACES_OF_OTHERS:
            found[f'{version} {place}'] = [path, HERE / 'python_places.py', place]
    return found


def read_reports(folder, kind='chains'):
    """-> what a program has reported so far; its last line can be incomplete"""
    found = set()
    for path in pathlib.Path(folder).glob(f'{kind}-*'):
        found.update(path.read_text(encoding='utf-8').split('\n')[:-1])
    return found


@contextlib.contextmanager
def running(command, folder, **environment):
    """A program in a group of processes of its own, which ends with the test."""
    os.makedirs(folder, exist_ok=True)
    with subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, 'PYTHONDONTWRITEBYTECODE': '1', 'CHAINS_FOLDER': folder, **environment}) as program:
        try:
            yield program
        finally:
            os.killpg(program.pid, signal.SIGKILL)


def run(folder, pids, source, sink, see, is_enough, others=()):
    """Profiles processes, and lets see() see each row, until is_enough(), or for too long."""
    begin = looked = time.monotonic()
    done = False
    sinks = [f'csv:lines=yes,{sink},output=-', 'csv.events:rows=events,lines=yes,output=events.csv',
             'folded:lines=yes,output=live.folded', 'capture:output=run.iaprof']
    with subprocess.Popen([IAPROF, '-q', '-p', ','.join(map(str, pids)), '-i', '250ms', '--finish-within', '1m',
                           *[word for each in (source, *others) for word in ('-s', each)],
                           *[word for sink in sinks for word in ('-k', sink)]], cwd=folder, stdout=subprocess.PIPE,
                          text=True, encoding='utf-8') as profiler:
        for row in csv.DictReader(profiler.stdout):
            see(row)
            now = time.monotonic()
            if not done and now > looked + 0.25:
                looked = now
                done = is_enough() or now > begin + PATIENCE
                if done:
                    profiler.send_signal(signal.SIGINT)
        if profiler.wait(PATIENCE):
            raise AssertionError(f'iaprof: status {profiler.returncode}')


def group_of(pid):
    try:
        return os.getpgid(int(pid))
    except ProcessLookupError:
        return 0


def chain_to_spin(stack):
    """-> the Python functions that lead to spin(), if that is the innermost one"""
    python = [frame for frame in stack.split(';') if PYTHON_FRAME.match(frame)]
    return ';'.join(python[:-1]) if python and python[-1].startswith('spin:') else None


class Place:
    """A program, and what was seen of it"""
    def __init__(self, folder, command):
        self.folder, self.command, self.program = folder, command, None
        self.chains = collections.Counter()
        self.has_native = False

    def see(self, name, stack, value):
        chain = chain_to_spin(stack)
        if chain:
            self.chains[chain] += value
        self.has_native |= name not in NATIVE or bool(NATIVE[name].search(stack))

    def is_complete(self):
        reports = read_reports(self.folder)
        return bool(reports) and self.has_native and reports <= set(self.chains)


def check_places(folder):
    places = {name: Place(f'{folder}/{name}', command) for name, command in commands(folder).items()}
    groups = {}

    def see(row):
        if row['value_type'] != 'cpu' or row['stack'].startswith('[lost]'):
            return
        if row['pid'] not in groups:
            group = group_of(row['pid'])
            groups[row['pid']] = next((name for name, place in places.items() if place.program.pid == group), None)
        name = groups[row['pid']]
        if name:
            places[name].see(name, row['stack'], int(row['value']))

    def is_enough():
        return all(place.is_complete() for place in places.values())

    with contextlib.ExitStack() as stack:
        for place in places.values():
            place.program = stack.enter_context(running(place.command, place.folder))
        run(folder, [place.program.pid for place in places.values()], 'cpu-stack:frequency=199', 'pid=yes', see,
            is_enough)
    wrong = collections.Counter()
    for name, place in places.items():
        reports = read_reports(place.folder)
        yield name, '' if place.is_complete() else f'native callers {place.has_native}; not found: {list(reports - set(place.chains))[:2]}; ' \
                                                   f'found: {place.chains.most_common(3)}'
        wrong.update({f'{name}: {chain}': value for chain, value in place.chains.items() if chain not in reports})
    total = sum(sum(place.chains.values()) for place in places.values())
    yield 'chains that no program reported', '' if wrong.total() <= WRONG * total else f'{wrong.total() / total:.3f}: {wrong.most_common(3)}'


def check_events(folder):
    """Samples in the table of events have the names of Python functions, too."""
    with open(f'{folder}/events.csv', encoding='utf-8', newline='') as file:
        found = {chain_to_spin(row['stack']) for row in csv.DictReader(file) if row['record'] == 'sample'}
    reports = set().union(*(read_reports(path) for path in pathlib.Path(folder).iterdir() if path.is_dir()))
    yield 'samples in the table of events', f'not found: {list(reports - found)[:3]}' if reports - found else ''


def check_stripped(folder):
    """Functions of an interpreter without symbols are one frame."""
    program, nameless, collapsed = f'{folder}/python3.11', set(), set()
    if not shutil.which('objcopy') or os.path.basename(os.path.realpath('/usr/bin/python3')) != 'python3.11':
        return
    os.makedirs(folder)
    subprocess.run(['objcopy', '--strip-all', '--remove-section', '.gnu_debuglink', '/usr/bin/python3', program], check=True)
    # With another build id, debug information of the original is not found.
    notes = subprocess.run(['readelf', '-n', program], check=True, capture_output=True, text=True).stdout
    build_id = bytes.fromhex(re.search('Build ID: ([0-9a-f]+)', notes)[1])
    file = pathlib.Path(program)
    file.write_bytes(file.read_bytes().replace(build_id, bytes(len(build_id)), 1))

    def see(row):
        frames = row['stack'].split(';') if row['value_type'] == 'cpu' else []
        nameless.update(frame for frame in frames if frame.startswith('[python3.11+'))
        for before, frame, after in zip(frames, frames[1:], [*frames[2:], '']):
            if before.startswith('sort_words:') and frame == '[python3.11]':
                collapsed.add(after)

    code = 'words = [str(i) for i in range(999)]\ndef sort_words(): sorted(words, key=str.lower)\nwhile True: sort_words()'
    with running([program, '-c', code], folder, PYTHONHOME='/usr') as process:
        run(folder, [process.pid], 'cpu-stack:frequency=499', 'pid=yes', see, lambda: bool(collapsed))
    yield 'an interpreter without symbols', '' if collapsed and not nameless and '[python3.11]' not in collapsed else \
        f'{nameless}; behind the collapsed frame: {collapsed}'


def check_launches(folder):
    """The callers of a launch, by unwind tables and by a chain of frame pointers, as far as that reaches."""
    seen, mixed = set(), set()

    def see(row):
        if row['record'] == 'launch':
            if NATIVE['launch'].match(row['functions']):
                mixed.add(row['name'])
            python = [frame for frame in row['functions'].split(';') if PYTHON_FRAME.match(frame)]
            seen.add(';'.join([row['name'], *python]))

    def is_enough():
        return mixed == {'matmul', 'softmax'} and seen >= read_reports(folder, 'launches')

    with running(['/usr/bin/python3', HERE / 'python_places.py', 'launch'], folder, LAUNCH_LIBRARY=LIBRARY) as program:
        run(folder, [program.pid], f'ze-usdt:tracer=no,library={LIBRARY},drain=50ms', 'rows=events', see, is_enough)
    wanted = read_reports(folder, 'launches')
    yield 'launches', '' if is_enough() else f'native callers: {mixed}; reported: {wanted - seen}; found: {seen - wanted}'


def check_replay(folder):
    subprocess.run([IAPROF, '-q', '--replay', 'run.iaprof', '-k', 'folded:lines=yes,output=replayed.folded'], check=True, cwd=folder)
    live, replayed = [(pathlib.Path(folder) / f'{name}.folded').read_text(encoding='utf-8') for name in ('live', 'replayed')]
    has_python = any(PYTHON_FRAME.match(frame) for line in live.splitlines() for frame in line.rsplit(' ', 1)[0].split(';'))
    yield 'a capture replays to the same text', '' if has_python and live == replayed else f'Python frames: {has_python}, {len(live)} and {len(replayed)} bytes'


def main():
    if os.geteuid() or not os.path.exists('/usr/bin/python3'):
        print('1..0 # SKIP root and /usr/bin/python3 are required')
        return
    number = 0
    with tempfile.TemporaryDirectory() as folder:
        runs = [check_places, check_events, check_replay, lambda folder: check_stripped(f'{folder}/stripped')]
        if LIBRARY:
            runs += [lambda folder: check_launches(f'{folder}/launches')]
        for check in runs:
            for name, error in check(folder):
                number += 1
                print(f'not ok {number} - {name}\n# {error}' if error else f'ok {number} - {name}', flush=True)
    print(f'1..{number}')


if __name__ == '__main__':
    main()
