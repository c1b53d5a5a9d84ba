#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation score: how many small defects of the core the tests notice.

    tests/mutation/mutate.py --seed 1 --count 200

Makes one change at a time (mutations.py) in a C file that suites.txt lists, compiles it, links the tests named there
with it, and runs them in their order until one fails. When none does, they run again with AddressSanitizer and
UndefinedBehaviorSanitizer. The source tree is only read, and nothing of the build folders is replaced: a mutant's
source, object and programs are in temporary folders inside them. A test is a program that is linked with the core, or
a script that runs iaprof. A mutant is

    killed          a test failed
    survived        every test passed: a test is missing, or the code is not needed
    timed out       a test did not end; counted apart
    not compiled    counted apart
    equivalent      its object code is the same, or equivalent.txt says why nobody can notice it; counted apart

Prints each survivor as a diff with the tests that ran, and as last line "N passed, N failed, N skipped": killed and
timed out, survived, not compiled or equivalent. Exits 1 when the share of killed mutants is below --minimum.

A seed orders mutants by a hash of file name, line and change, so that a seed chooses the same ones after a change
elsewhere.
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
SANITIZERS = {'ASAN_OPTIONS': 'hard_rss_limit_mb=2000:symbolize=0',
              'UBSAN_OPTIONS': 'halt_on_error=1:symbolize=0'}
# A test's limit is as many times what it needs without a mutation, but never less than so many seconds.
TIME_FACTOR, TIME_LEAST, TIME_MOST = 10, 30, 600

Mutant = collections.namedtuple('Mutant', 'id file mutation old new')
Outcome = collections.namedtuple('Outcome', 'mutant result tests detail')


def read_suites():
    """-> [(pattern, [test])]: a '-' as the only test: files that are not mutated"""
    rows = []
    for line in (FOLDER / 'suites.txt').read_text().splitlines():
        if line and not line.startswith('#'):
            pattern, tests = line.split(':')
            rows.append((pattern.strip(), tests.split()))
    return rows


def read_equivalents():
    """-> {(file name, line, mutated line)}: paragraphs of a path, '- line', '+ line' and the reason"""
    found = {}
    for paragraph in re.split(r'\n\s*\n', (FOLDER / 'equivalent.txt').read_text()):
        lines = [line for line in paragraph.splitlines() if not line.startswith('#')]
        old = [one_line(line[2:]) for line in lines if line.startswith('- ')]
        new = [one_line(line[1:]) for line in lines if line.startswith('+')]
        if not lines:
            continue
        if len(old) != 1 or not new or len(lines) < 3 or not lines[-1].startswith('  '):
            sys.exit(f'equivalent.txt: not "FILE, - line, + lines, reason":\n{paragraph}')
        if old[0] not in one_line((ROOT / lines[0]).read_text()):
            sys.exit(f'equivalent.txt: no longer in the source:\n{paragraph}')
        for line in new:
            found[pathlib.PurePath(lines[0]).name, old[0], line] = lines[0]
    return found


def one_line(text):
    return ' '.join(text.split())


def changed_lines(text, mutation):
    """The lines that a mutation changes, before and after."""
    begin = text.rfind('\n', 0, mutation.begin) + 1
    end = text.find('\n', mutation.end)
    old = text[begin:end]
    return old, text[begin:mutation.begin] + mutation.text + text[mutation.end:end]


def find_mutants(seed, paths, suites):
    mutants = []
    for path in sorted(ROOT.glob('core/**/*.c')):
        name = str(path.relative_to(ROOT))
        if not tests_of(name, suites) or (paths and not any(fnmatch.fnmatch(name, pattern) for pattern in paths)):
            continue
        text = path.read_text()
        seen = collections.Counter()
        for mutation in mutations.mutations(text):
            old, new = changed_lines(text, mutation)
            key = f'{path.name}:{one_line(old)}:{one_line(new)}'
            seen[key] += 1
            digest = hashlib.sha256(f'{key}:{seen[key]}'.encode()).hexdigest()[:10]
            mutants.append(Mutant(digest, name, mutation, old, new))
    return sorted(mutants, key=lambda mutant: hashlib.sha256(f'{seed}:{mutant.id}'.encode()).digest())


def tests_of(name, suites):
    for pattern, tests in suites:
        if fnmatch.fnmatch(name, pattern):
            return [] if tests == ['-'] else tests
    return []


class Build:
    """A build folder, from which the commands are taken."""

    def __init__(self, folder, options, wanted):
        self.folder = folder.resolve()
        if not (self.folder / 'build.ninja').exists():
            run_or_exit(['meson', 'setup', str(self.folder), str(ROOT), '-Dtests=true', *options])
        run_or_exit(['ninja', '-C', str(self.folder), '--quiet', 'build.ninja']) # which tests there are now
        tests = json.loads(self.output('meson', 'introspect', '--tests', str(self.folder)))
        skipped = {'fuzz'} # a corpus is replayed under the name of the unit test of the same code
        if options:
            skipped.add('not-in-sanitizers')
        self.tests = {test['name']: test for test in tests
                      if test['name'] in wanted and (test['cmd'][0].startswith(str(self.folder)) or is_script(test))
                      and not skipped.intersection(suite.split(':')[-1] for suite in test['suite'])}
        for name in sorted(wanted - {test['name'] for test in tests}):
            print(f'suites.txt: no test {name} in this build')
        targets = {self.target(name) for name in self.tests} | self.needed()
        run_or_exit(['ninja', '-C', str(self.folder), '--quiet', *sorted(targets)])
        self.links = {name: shlex.split(self.output('ninja', '-C', str(self.folder), '-t', 'commands', '-s',
                                                    self.target(name)).splitlines()[-1]) for name in self.tests}
        self.compiles = {}
        for entry in json.loads((self.folder / 'compile_commands.json').read_text()):
            path = os.path.relpath(os.path.join(entry['directory'], entry['file']), ROOT)
            if entry['output'].startswith('core/lib'):
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
                     or target['name'] in ('iaprof-broker', 'iaprof-worker', 'iaprof-code-worker'))}

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

    def link(self, test, mutant_object, output):
        command = list(self.links[test])
        at = command.index('-o')
        command[at + 1] = str(output)
        # The object before the archive that has the original: that one is not taken then.
        command[at + 2:at + 2] = [str(mutant_object)] + self.linker
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
    for name in ('meson-info', 'plugins', 'iaprof-broker', 'iaprof-worker', 'iaprof-code-worker'):
        if not (folder / name).is_symlink():
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
        key = pathlib.PurePath(mutant.file).name, one_line(mutant.old), one_line(mutant.new)
        if key in self.equivalents:
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
        source, compiled = folder / pathlib.PurePath(mutant.file).name, folder / 'mutant.o'
        original = self.original(build, mutant.file, source, compiled) if is_first else None
        source.write_text(mutations.apply((ROOT / mutant.file).read_text(), mutant.mutation))
        if not build.compile(mutant.file, source, compiled):
            return 'not compiled', None
        if compiled.read_bytes() == original:
            return 'equivalent', 'same object code'
        for test in tests_of(mutant.file, self.suites):
            if test not in build.tests:
                continue
            build.measure(test)
            program = folder / os.path.basename(build.target(test))
            if is_script(build.tests[test]):
                look_like_build_tree(folder, build.folder)
            build.link(test, compiled, program)
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


def main():
    parser = argparse.ArgumentParser(description='Mutation score of the core.')
    parser.add_argument('--seed', default='1', help='chooses the mutants (default 1)')
    parser.add_argument('--count', type=int, default=200, help='mutants that are tested (default 200)')
    parser.add_argument('--minimum', type=float, default=0, help='exit status 1 below this share of killed, in percent')
    parser.add_argument('--file', action='append', metavar='PATTERN', help='only files with such a path')
    parser.add_argument('--mutant', action='append', metavar='ID', help='only this mutant, as survivors are shown')
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build',
                        help='build folder (default build; made if it is missing)')
    parser.add_argument('--sanitized', type=pathlib.Path, default=ROOT / 'build-asan',
                        help='build folder with sanitizers (default build-asan; made if it is missing)')
    parser.add_argument('--quick', action='store_true', help='without the sanitizers')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='mutants at a time (default: one per CPU)')
    parser.add_argument('--verbose', action='store_true', help='show every mutant')
    arguments = parser.parse_args()

    suites, equivalents = read_suites(), read_equivalents()
    mutants = find_mutants(arguments.seed, arguments.file, suites)
    if arguments.mutant:
        mutants = [mutant for mutant in mutants if mutant.id in arguments.mutant]
    # Some of the first ones are not compiled, or are equivalent.
    mutants = mutants[:2 * arguments.count + 10]
    wanted = {test for mutant in mutants for test in tests_of(mutant.file, suites)}
    builds = [Build(arguments.build, [], wanted)]
    if not arguments.quick:
        builds.append(Build(arguments.sanitized, ['-Db_sanitize=address,undefined'], wanted))
    judge = Judge(builds, suites, equivalents)
    counts = collections.Counter()
    waiting = iter(mutants)
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        running = set()
        while True:
            tested = counts['killed'] + counts['survived'] + counts['timed out']
            while len(running) < min(arguments.jobs, arguments.count - tested):
                mutant = next(waiting, None)
                if not mutant:
                    break
                running.add(pool.submit(judge.outcome, mutant))
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                outcome = future.result()
                counts[outcome.result] += 1
                show(outcome, arguments.verbose)
    judged = counts['killed'] + counts['survived']
    score = 100 * counts['killed'] / judged if judged else 0
    print(', '.join(f'{counts[result]} {result}' for result in RESULTS) +
          f': {score:.1f} % killed, in {time.monotonic() - began:.0f} s')
    print(f'{counts["killed"] + counts["timed out"]} passed, {counts["survived"]} failed, '
          f'{counts["not compiled"] + counts["equivalent"]} skipped')
    failed = counts['survived'] > 0 if not arguments.minimum else score < arguments.minimum
    return 1 if failed or not judged else 0


if __name__ == '__main__':
    sys.exit(main())
