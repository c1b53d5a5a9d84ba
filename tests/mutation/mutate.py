#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation score: how many small defects of the core the tests notice.

    tests/mutation/mutate.py --seed 1 --count 200       mutants chosen by a seed
    tests/mutation/mutate.py --stored                   the mutants of stored.txt
    tests/mutation/mutate.py --stored --seed 7 --count 20
    tests/mutation/mutate.py --stored --record          also writes the results into stored.txt
    tests/mutation/mutate.py --list-lost                checks suites.txt, equivalent.txt and stored.txt, runs nothing
    tests/mutation/mutate.py --replace-lost --seed 7    replaces stored mutants that the source no longer contains

Makes one change at a time (mutations.py) in a C file that suites.txt lists, compiles it, links the tests named there
with it, and runs them in their order until one fails. If none fails, runs them again with AddressSanitizer and
UndefinedBehaviorSanitizer. The source tree is only read, and nothing in the build folders is replaced: a mutant's
source, object and programs are in temporary folders inside them. A test is a program that is linked with the core, or
a script that runs iaprof. The helper programs that they start are linked with the mutant, too, if its file is in
symbolizer/ or lib/child/. The result of a mutant is one of:

    killed          a test failed
    survived        every test passed: a test is missing, or the code is redundant
    timed out       a test did not end; counted separately
    not compiled    counted separately
    equivalent      its object code is the same, or equivalent.txt says why no test can notice it; counted separately

Prints each survivor as a diff with the tests that ran, and as last line "N passed, N failed, N skipped": killed and
timed out; survived; not compiled or equivalent. Exits with status 1 if the share of killed mutants is below --minimum.

The id of a mutant is a hash of the name of its function (or macro), the line, the mutated line, and its number among
equal ones of the function. It does not depend on the path or name of the file, nor on other lines. A seed orders
mutants by a hash of their ids, so that it chooses the same ones after changes elsewhere.

stored.txt lists mutants by id, with the result that --record wrote (killed, which includes timed out; survived; or
unknown). They are found again by content in any C file of
core, engine and lib; if the function has another name now, by the two lines, provided that only one mutant has them.
With --stored, a survivor fails unless it is stored as survived, which is skipped. Reports lost mutants, whose line the
source no longer contains; exits with status 1 if they are more than a tenth. --replace-lost removes lost mutants from
stored.txt, and adds new ones, chosen by --seed, with their results, up to --count (default 200). --record removes those
that are not compiled or equivalent; --replace-lost replaces these, too.

A C file of core or engine to which no pattern of suites.txt applies is an error, as is a pattern without a file.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import mutations

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
RESULTS = ['killed', 'survived', 'timed out', 'not compiled', 'equivalent']
TESTED = RESULTS[:3]
SANITIZERS = {'ASAN_OPTIONS': 'hard_rss_limit_mb=2000:symbolize=0',
              'UBSAN_OPTIONS': 'halt_on_error=1:symbolize=0'}
# A test's limit is as many times what it needs without a mutation, but never less than so many seconds; without one, it
# only has to end.
TIME_FACTOR, TIME_LEAST, TIME_MOST = 10, 30, 3600

STORED = FOLDER / 'stored.txt'
STORED_COUNT = 200
LOST_MOST = 0.1 # share of the stored mutants
# A C file in these folders needs a pattern, which is relative to them; one in the others can have one.
FOLDERS, OTHER_FOLDERS = ['core', 'engine'], ['lib']
HELPERS = ['iaprof-broker', 'iaprof-worker', 'iaprof-code-worker']

Mutant = collections.namedtuple('Mutant', 'id file mutation old new')
Stored = collections.namedtuple('Stored', 'id result function old new')
Outcome = collections.namedtuple('Outcome', 'mutant result tests detail')


def read_suites():
    """-> [(pattern, [test])]: no tests for files that are not mutated. Exits if a file has no pattern."""
    rows, errors = [], []
    for line in (FOLDER / 'suites.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            pattern, _, tests = (part.strip() for part in line.partition(':'))
            if tests.startswith('-'):
                if not tests[1:].strip():
                    errors.append(f'{pattern}: excluded without a reason')
                tests = ''
            elif not tests:
                errors.append(f'{pattern}: no tests')
            rows.append((pattern, tests.split()))
    used = set()
    for path in source_files():
        row = row_of(path, rows)
        if row:
            used.add(row[0])
        elif path.split('/')[0] in FOLDERS:
            errors.append(f'{path}: no pattern')
    errors += [f'{pattern}: no such file' for pattern, _ in rows if pattern not in used]
    if errors:
        sys.exit('\n'.join(f'suites.txt: {error}' for error in errors))
    return rows


def source_files():
    return sorted(str(path.relative_to(ROOT)) for folder in FOLDERS + OTHER_FOLDERS
                  for path in ROOT.glob(f'{folder}/**/*.c'))


def row_of(path, rows):
    """The first row that applies to a path."""
    folder, _, rest = path.partition('/')
    name = rest if folder in FOLDERS else path
    return next((row for row in rows if fnmatch.fnmatch(name, row[0])), None)


def tests_of(path, suites):
    row = row_of(path, suites)
    return row[1] if row else []


def read_equivalents(mutants):
    """-> {(function, line, mutated line)}: paragraphs of the function, '- line', '+ line' and the reason"""
    by_lines, found = collections.defaultdict(set), set()
    for mutant in mutants:
        function, *changed = mutant_key(mutant)
        by_lines[tuple(changed)].add(function)
    for paragraph in re.split(r'\n\s*\n', (FOLDER / 'equivalent.txt').read_text()):
        lines = [line for line in paragraph.splitlines() if not line.startswith('#')]
        old = [one_line(line[2:]) for line in lines if line.startswith('- ')]
        new = [one_line(line[1:]) for line in lines if line.startswith('+')]
        if not lines:
            continue
        if len(old) != 1 or not new or len(lines) < 3 or not lines[-1].startswith('  '):
            sys.exit(f'equivalent.txt: not "FUNCTION, - line, + lines, reason":\n{paragraph}')
        for line in new:
            functions = by_lines[old[0], line]
            if lines[0] not in functions and len(functions) != 1: # one: the function has another name now
                sys.exit(f'equivalent.txt: no longer in the source:\n{paragraph}')
            found |= {(name, old[0], line) for name in functions & {lines[0]} or functions}
    return found


def read_stored():
    lines = STORED.read_text().splitlines() if STORED.exists() else []
    return [Stored(*line.split('\t')) for line in lines if line and not line.startswith('#')]


def stored_result(result):
    return 'survived' if result == 'survived' else 'killed'


def write_stored(stored):
    header = [line for line in STORED.read_text().splitlines() if line.startswith('#')]
    rows = sorted(stored, key=lambda row: (row.function, row.old, row.id))
    STORED.write_text('\n'.join(header + ['\t'.join(row) for row in rows]) + '\n')


def find_stored(stored, mutants):
    """-> [(Stored, Mutant)], [(Stored, reason)]: those in the source, and those that are lost"""
    by_id, by_lines = collections.defaultdict(list), collections.defaultdict(list)
    for mutant in mutants:
        by_id[mutant.id].append(mutant)
        by_lines[mutant_key(mutant)[1:]].append(mutant)
    found, lost = [], []
    for row in stored:
        same = by_id[row.id] or by_lines[row.old, row.new]
        if len(same) == 1:
            found.append((row, same[0]._replace(id=row.id)))
        else:
            lost.append((row, 'in several places' if same else 'no such line'))
    return found, lost


def show_lost(lost):
    for row, reason in lost:
        print(f'lost: {row.function} [{row.id}]: {reason}\n  - {row.old}\n  + {row.new}')


def one_line(text):
    return ' '.join(text.split())


def changed_lines(text, mutation):
    """The lines that a mutation changes, before and after."""
    begin = text.rfind('\n', 0, mutation.begin) + 1
    end = text.find('\n', mutation.end)
    old = text[begin:end]
    return old, text[begin:mutation.begin] + mutation.text + text[mutation.end:end]


def mutant_key(mutant):
    return mutant.mutation.function, one_line(mutant.old), one_line(mutant.new)


def mutants_of(path):
    """The mutants of a C file."""
    text = (ROOT / path).read_text()
    seen = collections.Counter()
    for mutation in mutations.mutations(text):
        old, new = changed_lines(text, mutation)
        key = ':'.join((mutation.function, one_line(old), one_line(new)))
        seen[key] += 1
        digest = hashlib.sha256(f'{key}:{seen[key]}'.encode()).hexdigest()[:10]
        yield Mutant(digest, path, mutation, old, new)


def in_order(seed, items):
    return sorted(items, key=lambda item: hashlib.sha256(f'{seed}:{item.id}'.encode()).digest())


class Build:
    """A build folder, from which the commands are taken."""

    def __init__(self, folder, options, wanted):
        self.folder = folder.resolve()
        if not (self.folder / 'build.ninja').exists():
            run_or_exit(['meson', 'setup', str(self.folder), str(ROOT), '-Dtests=true', *options])
        run_or_exit(['ninja', '-C', str(self.folder), '--quiet', 'build.ninja']) # which tests there are now
        tests = json.loads(self.output('meson', 'introspect', '--tests', str(self.folder)))
        self.tests = {test_name(test): test for test in tests
                      if test_name(test) in wanted and (test['cmd'][0].startswith(str(self.folder)) or is_script(test))
                      and not (options and 'not-in-sanitizers' in suites_of(test))}
        for name in sorted(wanted - {test_name(test) for test in tests}):
            print(f'suites.txt: no test {name} in this build')
        targets = {self.target(name) for name in self.tests} | self.needed()
        run_or_exit(['ninja', '-C', str(self.folder), '--quiet', *sorted(targets)])
        self.links = {target: shlex.split(self.output('ninja', '-C', str(self.folder), '-t', 'commands', '-s',
                                                      target).splitlines()[-1])
                      for target in {self.target(name) for name in self.tests} | set(HELPERS)}
        self.compiles, self.objects = {}, collections.defaultdict(set)
        for entry in json.loads((self.folder / 'compile_commands.json').read_text()):
            path = os.path.relpath(os.path.join(entry['directory'], entry['file']), ROOT)
            self.objects[path].add(entry['output'])
            if path not in self.compiles or not entry['output'].startswith('tests/'):
                self.compiles[path] = self.compile_command(entry)
        self.linker = ['-fuse-ld=lld'] if shutil.which('ld.lld') else []
        self.times = self.logged_times()
        self.locks = {name: threading.Lock() for name in self.tests}

    @staticmethod
    def output(*command):
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def needed(self):
        """What the tests start or load: the core's own programs, dependencies, and files that their environment names."""
        paths = {path for test in self.tests.values() for path in test['env'].values()}
        ids = {dependency for test in self.tests.values() for dependency in test['depends']}
        if any(is_script(test) for test in self.tests.values()):
            paths.update(str(path) for path in self.folder.glob('plugins/*'))
        return {os.path.relpath(target['filename'][0], self.folder)
                for target in json.loads(self.output('meson', 'introspect', '--targets', str(self.folder)))
                if target['type'] in ('executable', 'shared library', 'shared module')
                and (target['id'] in ids or paths.intersection(target['filename'])
                     or os.path.dirname(target['filename'][0]) in paths
                     or target['name'] in HELPERS)}

    def logged_times(self):
        """-> {test: seconds} of tests that passed in the last `meson test`, of programs that are not newer."""
        log = self.folder / 'meson-logs' / 'testlog.json'
        if not log.exists():
            return {}
        passed = {tuple(record['command']): record['duration'] for record in map(json.loads, log.read_text().splitlines())
                  if record['result'] == 'OK'}
        logged = {name: passed.get(tuple(test['cmd'])) for name, test in self.tests.items()}
        return {name: seconds for name, seconds in logged.items() if seconds is not None
                and (self.folder / self.target(name)).stat().st_mtime < log.stat().st_mtime}

    def target(self, name):
        test = self.tests[name]
        return os.path.relpath(test['env']['TEST_IAPROF'] if is_script(test) else test['cmd'][0], self.folder)

    @staticmethod
    def compile_command(entry):
        command = shlex.split(entry['command'])
        while not command[0].startswith('-') and os.path.basename(command[0]) == 'ccache':
            command.pop(0)
        for option, values in (('-o', 1), ('-MF', 1), ('-MQ', 1), ('-c', 1), ('-MD', 0)):
            at = command.index(option)
            del command[at:at + 1 + values]
        return [word for word in command if word != '-Werror'] + ['-w', '-g0']

    def compile(self, name, source, output, *options):
        """Returns whether it compiled."""
        command = self.compiles[name] + [*options, '-c', str(source), '-o', str(output)]
        return not subprocess.run(command, cwd=self.folder, stderr=subprocess.DEVNULL).returncode

    def link(self, target, name, mutant_object, output):
        original = self.links[target]
        command = [str(mutant_object) if word in self.objects[name] else word for word in original]
        is_replaced = command != original
        at = command.index('-o')
        command[at + 1] = str(output)
        # The object before the archive that contains the original, which the linker does not use then.
        command[at + 2:at + 2] = self.linker if is_replaced else [str(mutant_object), *self.linker]
        subprocess.run(command, cwd=self.folder, check=True)

    def run(self, test, program):
        """Returns 'killed', 'survived' or 'timed out', and the first failure."""
        introspected = self.tests[test]
        environment = {**os.environ, 'CK_TIMEOUT_MULTIPLIER': '5', **introspected['env'], **SANITIZERS}
        # A terminal gets each line at once.
        terminal, output = pty.openpty()
        command = [str(program), *introspected['cmd'][1:]]
        if is_script(introspected):
            environment['TEST_IAPROF'] = str(program)
            command = introspected['cmd']
        process = subprocess.Popen(command, cwd=introspected['workdir'] or self.folder,
                                   env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                   start_new_session=True)
        os.close(output)
        limit = max(TIME_LEAST, TIME_FACTOR * self.times[test]) if test in self.times else TIME_MOST
        is_late = threading.Event()
        timer = threading.Timer(limit, lambda: (is_late.set(), end(process)))
        timer.start()
        failure = None
        for line in lines_of(terminal):
            if not failure and line.startswith('not ok'):
                failure = line
                end(process)
        status = process.wait()
        timer.cancel()
        os.close(terminal)
        if (is_late.is_set() and not failure) or (failure and 'Test timeout expired' in failure):
            return 'timed out', failure or f'{test}: no end'
        if failure or status:
            return 'killed', failure or f'{test}: status {status}'
        return 'survived', None

    def measure(self, test):
        """Runs a test without a mutation, once, unless `meson test` has: how long it takes; it has to pass."""
        with self.locks[test]:
            if test in self.times:
                return
            began = time.monotonic()
            result, detail = self.run(test, self.folder / self.target(test))
            if result != 'survived':
                raise SystemExit(f'{test} fails without a mutation: {detail}')
            self.times[test] = time.monotonic() - began


def suites_of(test):
    return [suite.split(':')[-1] for suite in test['suite']]


def test_name(test):
    """fuzz:NAME for the replay of a corpus: its name can be that of a unit test."""
    return f'fuzz:{test["name"]}' if 'fuzz' in suites_of(test) else test['name']


def is_script(test):
    """Whether a test runs iaprof, rather than being a program that is linked with the core."""
    return 'TEST_IAPROF' in test['env']


def end(process):
    """Check's runner ends its children when it is asked to end; what remains of its session ends at once."""
    for number, seconds in ((signal.SIGTERM, 2), (signal.SIGKILL, 10)):
        try:
            os.killpg(process.pid, number)
            process.wait(seconds)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def look_like_build_tree(folder, build):
    """iaprof looks for plugins and helper programs beside itself."""
    for name in ('meson-info', 'plugins', *HELPERS):
        if not (folder / name).exists():
            (folder / name).symlink_to(build / name)


def lines_of(terminal):
    rest = b''
    while True:
        try:
            read = os.read(terminal, 65536)
        except OSError: # the last one that had it open has ended
            read = b''
        *lines, rest = (rest + read).split(b'\n')
        yield from (line.decode(errors='replace').strip() for line in lines)
        if not read:
            return


def run_or_exit(command):
    if subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
        sys.exit(f'failed: {shlex.join(command)}')


class Judge:
    def __init__(self, builds, suites, equivalents):
        self.builds, self.suites, self.equivalents = builds, suites, equivalents
        self.originals, self.lock = {}, threading.Lock()

    def original(self, build, name, source, output):
        """The object code without a mutation."""
        with self.lock:
            if name not in self.originals:
                source.write_text((ROOT / name).read_text())
                if not build.compile(name, source, output):
                    sys.exit(f'{name} does not compile')
                self.originals[name] = output.read_bytes()
            return self.originals[name]

    def outcome(self, mutant):
        if mutant_key(mutant) in self.equivalents:
            return Outcome(mutant, 'equivalent', [], 'listed')
        ran = []
        for number, build in enumerate(self.builds):
            # In the build folder, for programs look there for others that they start.
            with tempfile.TemporaryDirectory(prefix='mutant-', dir=build.folder) as folder:
                result, detail = self.judge(build, mutant, pathlib.Path(folder), not number, ran)
            if result != 'survived':
                return Outcome(mutant, result, ran, detail)
        return Outcome(mutant, 'survived', ran, None)

    def judge(self, build, mutant, folder, is_first, ran):
        # Of one name in every folder: the object code may hold it.
        if mutant.file not in build.compiles:
            return 'not compiled', 'the file is not part of this build'
        source, compiled = folder / pathlib.PurePath(mutant.file).name, folder / 'mutant.o'
        original = self.original(build, mutant.file, source, compiled) if is_first else None
        source.write_text(mutations.apply((ROOT / mutant.file).read_text(), mutant.mutation))
        if not build.compile(mutant.file, source, compiled):
            return 'not compiled', None
        if compiled.read_bytes() == original:
            return 'equivalent', 'same object code'
        has_helpers = '/symbolizer/' in mutant.file or mutant.file.startswith('lib/child/')
        if has_helpers:
            for helper in HELPERS:
                build.link(helper, mutant.file, compiled, folder / helper)
        for test in tests_of(mutant.file, self.suites):
            if test not in build.tests:
                continue
            build.measure(test)
            program = folder / os.path.basename(build.target(test))
            if has_helpers or is_script(build.tests[test]):
                look_like_build_tree(folder, build.folder)
            build.link(build.target(test), mutant.file, compiled, program)
            if test not in ran:
                ran.append(test)
            result, detail = build.run(test, program)
            program.unlink()
            if result != 'survived':
                return result, detail
        return 'survived', None


def show(outcome, is_verbose):
    mutant = outcome.mutant
    if outcome.result != 'survived' and not is_verbose:
        return
    print(f'{outcome.result}: {mutant.file}:{mutant.mutation.line}: {mutant.mutation.kind} [{mutant.id}]'
          f'{": " + outcome.detail if outcome.detail else ""}')
    if outcome.result in ('survived', 'timed out'):
        print('\n'.join(f'  - {line.strip()}' for line in mutant.old.splitlines()))
        print('\n'.join(f'  + {line.strip()}' for line in mutant.new.splitlines()))
        print(f'  tests: {" ".join(outcome.tests) or "none"}')
    sys.stdout.flush()


def judge_all(judge, mutants, count, jobs, done):
    """Judges mutants in order until so many were tested, and calls done(outcome) for each."""
    waiting, tested = iter(mutants), 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = set()
        while True:
            while len(running) < min(jobs, count - tested):
                mutant = next(waiting, None)
                if not mutant:
                    break
                running.add(pool.submit(judge.outcome, mutant))
            if not running:
                return
            ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ended:
                outcome = future.result()
                tested += outcome.result in TESTED
                done(outcome)


def parse_arguments():
    parser = argparse.ArgumentParser(description='Mutation score of the core.')
    parser.add_argument('--seed', default='1', help='chooses the mutants (default 1)')
    parser.add_argument('--count', type=int, help='number of mutants (default 200; with --stored, all)')
    parser.add_argument('--minimum', type=float, default=0, help='exit status 1 below this share of killed, in percent')
    parser.add_argument('--file', action='append', metavar='PATTERN', help='only files with such a path')
    parser.add_argument('--mutant', action='append', metavar='ID', help='only this mutant, as survivors are shown')
    parser.add_argument('--stored', action='store_true', help='only the mutants of stored.txt')
    parser.add_argument('--record', action='store_true', help='with --stored: write the results into stored.txt')
    parser.add_argument('--list-lost', action='store_true', help='print lost mutants of stored.txt, and run nothing')
    parser.add_argument('--replace-lost', action='store_true', help='replace the lost mutants of stored.txt')
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build',
                        help='build folder (default build; made if it is missing)')
    parser.add_argument('--sanitized', type=pathlib.Path, default=ROOT / 'build-sanitizers',
                        help='build folder with sanitizers (default build-sanitizers; made if it is missing)')
    parser.add_argument('--quick', action='store_true', help='without the sanitizers')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='mutants at a time (default: one per CPU)')
    parser.add_argument('--verbose', action='store_true', help='show every mutant')
    arguments = parser.parse_args()
    if arguments.record and not arguments.stored:
        parser.error('--record requires --stored')
    return arguments


def main():
    arguments = parse_arguments()
    suites = read_suites()
    mutants = [mutant for path in source_files() if tests_of(path, suites) for mutant in mutants_of(path)]
    equivalents = read_equivalents(mutants)
    stored = read_stored()
    found, lost = find_stored(stored, mutants)
    too_many_lost = len(lost) > LOST_MOST * len(stored)
    if arguments.list_lost:
        show_lost(lost)
        print(f'{len(found)} stored mutants found, {len(lost)} lost')
        return 1 if too_many_lost else 0

    rows = {row.id: row for row in stored}
    expected = {row.id: row.result for row in stored}
    count = STORED_COUNT if arguments.count is None else arguments.count
    if arguments.stored:
        show_lost(lost)
        mutants = [mutant for _, mutant in found]
        count = len(mutants) if arguments.count is None else arguments.count
    elif arguments.replace_lost:
        known = {mutant.id for _, mutant in found}
        times = collections.Counter(mutant.id for mutant in mutants)
        mutants = [mutant for mutant in mutants if times[mutant.id] == 1 and mutant.id not in known]
        count -= len(found)
    if arguments.file:
        mutants = [mutant for mutant in mutants if any(fnmatch.fnmatch(mutant.file, name) for name in arguments.file)]
    if arguments.mutant:
        mutants += [] if arguments.stored else [mutant for _, mutant in found]
        mutants = list({mutant.id: mutant for mutant in mutants if mutant.id in arguments.mutant}.values())
        count = len(mutants)
    mutants = in_order(arguments.seed, mutants)
    # Some of the first ones are not compiled, or are equivalent: of the stored ones, those count.
    mutants = mutants[:count if arguments.stored else 2 * max(count, 0) + 10]
    wanted = {test for mutant in mutants for test in tests_of(mutant.file, suites)}
    builds = [Build(arguments.build, [], wanted)]
    if not arguments.quick:
        builds.append(Build(arguments.sanitized, ['-Db_sanitize=address,undefined'], wanted))
    counts, outcomes = collections.Counter(), []
    began = time.monotonic()

    def done(outcome):
        counts[outcome.result] += 1
        outcomes.append(outcome)
        show(outcome, arguments.verbose)
        if arguments.record: # at once: a run of all takes hours
            row = rows.pop(outcome.mutant.id)
            if outcome.result in TESTED:
                rows[row.id] = row._replace(result=stored_result(outcome.result))
            write_stored(rows.values())

    judge_all(Judge(builds, suites, equivalents), mutants, count, arguments.jobs, done)
    judged = counts['killed'] + counts['survived']
    score = 100 * counts['killed'] / judged if judged else 0
    print(', '.join(f'{counts[result]} {result}' for result in RESULTS) +
          f': {score:.1f} % killed, in {time.monotonic() - began:.0f} s')
    if arguments.replace_lost:
        write_stored([row for row, _ in found] +
                     [Stored(outcome.mutant.id, stored_result(outcome.result), *mutant_key(outcome.mutant))
                      for outcome in outcomes if outcome.result in TESTED])
    failed, skipped = counts['survived'], counts['not compiled'] + counts['equivalent']
    if arguments.stored:
        known = [outcome.mutant.id for outcome in outcomes
                 if outcome.result == 'survived' and expected[outcome.mutant.id] == 'survived']
        for outcome in outcomes:
            if outcome.result == 'killed' and expected[outcome.mutant.id] == 'survived' and not arguments.record:
                print(f'stored as survived, killed now: --stored --record --mutant {outcome.mutant.id} records it')
        print(f'{len(lost)} lost, {len(known)} survived as stored')
        failed, skipped = failed - len(known), skipped + len(known) + len(lost)
    print(f'{counts["killed"] + counts["timed out"]} passed, {failed} failed, {skipped} skipped')
    if arguments.minimum and score < arguments.minimum:
        return 1
    if arguments.stored and too_many_lost:
        print('too many stored mutants are lost: run mutate.py --replace-lost')
        return 1
    return 1 if (failed and not arguments.minimum) or not judged else 0


if __name__ == '__main__':
    sys.exit(main())
