#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of the lab: each way in which a test can fail is a failed line, and a change selects the tests that cover it.
TAP."""
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

from runner import guest, kernels, report, selection, tests
from runner.selection import changes

import needs_full_run

STACK = '[ 1.0] CPU: 0 PID: 1\n[ 1.0] Call Trace:\n[ 1.0]  <TASK>\n[ 1.0]  ivpu_probe+0x1/0x2\n[ 1.0]  </TASK>\n'
# What a test did: exit status, output, kernel log, expected stack -> passed, failed, skipped
CASES = {
    'a good end': ((0, 'all well\n', ''), (1, 0, 0)),
    'a bad status': ((3, 'why\n', ''), (0, 1, 0)),
    'a signal': ((139, '', ''), (0, 1, 0)),
    'a skip': ((77, 'no such device\n', ''), (0, 0, 1)),
    'a skip after a failed TAP line': ((77, 'not ok 1 - a\n', ''), (0, 1, 0)),
    'a line that only looks like TAP': ((0, 'ok: 3 nodes\n', ''), (1, 0, 0)),
    'each TAP line': ((0, '1..3\nok 1 - a\nok 2 - b # SKIP why\nok 3\n', ''), (2, 0, 1)),
    'a failed TAP line': ((1, '1..2\nok 1 - a\nsaid\nnot ok 2 - b\n', ''), (1, 1, 0)),
    'a failed TAP line of a test that ends well': ((0, 'not ok 1 - b\n', ''), (0, 1, 0)),
    'a bad status that no TAP line explains': ((1, 'ok 1 - a\n', ''), (1, 1, 0)),
    'TAP that ends too early': ((0, '1..2\nok 1 - a\n', ''), (1, 1, 0)),
    'TAP that skips all': ((0, '1..0 # SKIP no perf\n', ''), (0, 0, 1)),
    'a kernel warning': ((0, '', '[ 1.0] WARNING: CPU: 0 PID: 1 at x.c:1\n'), (0, 1, 0)),
    'a kernel warning after good TAP': ((0, 'ok 1 - a\n', '[ 1.0] BUG: x\n'), (1, 1, 0)),
    'a kernel warning of a test that skips': ((77, 'why\n', STACK), (0, 1, 1)),
    'a stack that is expected': ((0, '', STACK, 'ivpu_probe'), (1, 0, 0)),
    'an oops where a stack is expected': ((0, '', STACK.replace('CPU: 0', 'Oops: 0'), 'ivpu_probe'), (0, 1, 0)),
    'a stack that is not the expected one': ((0, '', STACK, 'xe_probe'), (0, 1, 0)),
    'a complaint after an expected one': ((0, '', STACK + 'x\ny\nz\n[ 1.0] Oops: 1\n', 'ivpu_probe'), (0, 1, 0)),
}


def outcome(status, output, log, expected=''):
    results = report.Report(io.StringIO())
    results.result('test', status, output, report.complaints(log, expected))
    ended, printed = results.end(), results.output.getvalue()
    lines = [line for line in printed.splitlines() if line.startswith(('ok', 'not ok'))]
    counts = results.passed, results.failed, results.skipped
    assert len(lines) == sum(counts) and ended == (1 if results.failed else 0), printed
    return counts


def shows_comments():
    """The output of a failed test is shown, whether before its line or, as comments, below it; not that of a passed one."""
    results = report.Report(io.StringIO())
    results.result('test', 1, 'why a\nnot ok 1 - a\n# more of a\nok 2 - b\n# of b\n', ())
    printed = results.output.getvalue()
    return all(word in printed for word in ('why a', 'more of a')) and 'of b' not in printed


SOURCES = {
    'core/a.c': '', 'core/deep/b.h': '', 'plugins/one/one.c': '', 'plugins/one/README.md': '', 'plugins/two/two.bpf.c': '',
    'tests/lab/harness/cases.py': 'from . import other\n', 'tests/lab/harness/other.py': '', 'tests/tap.sh': '',
    'tests/lab/doubles/npu/play.c': '', 'tests/lab/guest/init': '', 'tests/lab/chroot-packages': '', 'meson.build': '',
    'tests/lab/tests/test_one.py': '# lab: guest 6.12 newest\n# lab: short 6.12\n# lab: covers plugins/one/**\nfrom harness import cases\n',
    'tests/lab/tests/test_boot.sh': '# lab: guest 6.1 newest\n# lab: covers core/*.[ch]\n. "$LAB_SOURCE/tests/tap.sh"\n',
    'tests/lab/tests/test_device.sh': '# lab: guest newest\n# lab: module intel_vpu\n# lab: covers absent/*.c\n',
    'tests/lab/tests/test_slow.sh': '# lab: chroot\n# lab: short none\n# lab: covers plugins/two/*.bpf.c\n',
}
# A changed file -> the tests that it touches
TOUCHED = {
    'core/a.c': ['boot'], 'core/deep/b.h': [], 'plugins/one/one.c': ['one'], 'plugins/one/README.md': [],
    'plugins/two/two.bpf.c': ['slow'], 'tests/lab/harness/other.py': ['one'], 'tests/tap.sh': ['boot'],
    'tests/lab/doubles/npu/play.c': ['device'], 'tests/lab/guest/init': ['boot', 'device', 'one'],
    'tests/lab/chroot-packages': ['boot', 'device', 'one', 'slow'], 'tests/lab/tests/test_one.py': ['one'],
}


class Repository:
    """A repository with SOURCES, until the end of a with statement. Its first commit has a name of its own."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name).resolve()
        self.git('init', '--quiet', '--initial-branch', 'main')
        for name, text in SOURCES.items():
            self.write(name, text)
        self.first = self.commit()
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def git(self, *arguments):
        return subprocess.run(['git', '-c', 'user.name=test', '-c', 'user.email=test', *arguments], cwd=self.path, check=True,
                              stdout=subprocess.PIPE, encoding='utf-8', env={**os.environ, 'GIT_CONFIG_GLOBAL': '/dev/null',
                                                                             'GIT_CONFIG_SYSTEM': '/dev/null'}).stdout.strip()

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')

    def commit(self):
        self.git('add', '--all')
        self.git('commit', '--quiet', '--message', 'change')
        return self.git('rev-parse', 'HEAD')

    def tests(self):
        return [tests.read(path) for path in sorted((self.path / 'tests/lab/tests').iterdir())]

    def land(self, *levels):
        """Records a landing of HEAD for each level."""
        with open(self.path / changes.LANDINGS, 'a', encoding='utf-8') as file:
            for level in levels:
                file.write(f'{self.git("rev-parse", "HEAD")} {level} 3 passed, 0 failed, 0 skipped\n')
        return self.commit()

    def base(self, **options):
        return changes.find_base(self.path, **options)[0]


def files_touch_tests():
    """Each changed file touches the tests that cover or use it, and no other."""
    with Repository() as repository:
        found = {name: [test.name for test in selection.touched(repository.tests(), [name], repository.path)] for name in TOUCHED}
    return found == TOUCHED or found


def touched_tests_run_on_few_kernels():
    """A touched test runs with its short kernels, the ones that always run with the newest, a full one not at all."""
    def plan(changed):
        return {test.name: (test.kernels, test.level)
                for test in selection.for_change(repository.tests(), changed, repository.path)}
    with Repository() as repository:
        found = [plan(changed) for changed in ([], ['plugins/one/one.c', 'plugins/two/two.bpf.c'], None)]
    always = {'boot': (('newest',), 'essential')}
    one, newest = {'one': (('6.12',), 'touched')}, (('newest',), 'touched')
    return found == [always, {**always, **one}, {'boot': (('6.1', 'newest'), 'touched'), 'device': newest, **one}] or found


def uncovered_files_are_listed():
    """Files that no test covers are listed, and patterns that match none."""
    with Repository() as repository:
        found = selection.uncovered(repository.tests(), changes.source_files(repository.path), repository.path)
    return found == ['core/deep/b.h: no lab test covers it',
                     'tests/lab/tests/test_device.sh: "# lab: covers absent/*.c" matches no file'] or found


def changes_are_counted_from_a_known_base():
    """Named revision, environment, main of origin, last landing: the first of them that is known."""
    found = []
    os.environ.pop('IAPROF_BASE', None)
    with Repository() as repository:
        found.append(repository.base() is None)
        repository.write('core/a.c', 'changed')
        second = repository.land('run')
        found.append(repository.base() == repository.first)
        found.append(changes.changed_files(repository.first, repository.path) == ['core/a.c', changes.LANDINGS])
        repository.write('plugins/one/new.c', '')
        (repository.path / 'meson.build').unlink()
        found.append(changes.changed_files(second, repository.path) == ['meson.build', 'plugins/one/new.c'])
        third = repository.commit()
        repository.git('update-ref', 'refs/remotes/origin/main', third)
        found.append(repository.base() == repository.first)
        repository.git('update-ref', 'refs/remotes/origin/main', second)
        found.append(repository.base() == second)
        os.environ['IAPROF_BASE'] = 'HEAD'
        found.append(repository.base() == third and repository.base(since=second) == second)
        del os.environ['IAPROF_BASE']
        try:
            found.append(not repository.base(since='absent'))
        except changes.UnknownRevision:
            found.append(True)
        # A landing that is no ancestor is none of this history's.
        repository.git('update-ref', '-d', 'refs/remotes/origin/main')
        repository.write(changes.LANDINGS, f'{"0" * 40} full\n')
        found.append(repository.base() is None)
    return all(found) or found


def a_full_run_is_due():
    """Without one on record, after ten landings, and after a change of the build, of a BPF program or of a uAPI header."""
    found = []
    with Repository() as repository:
        def is_due():
            return bool(needs_full_run.reasons(repository.path))
        found.append(is_due())
        repository.land('run')
        found.append(is_due())
        repository.land('full')
        found.append(not is_due())
        for name in 'core/a.c', 'core/meson.build', 'plugins/one/README.md':
            repository.write(name, 'changed')
        found.append(not is_due())
        for name in 'meson.build', 'plugins/two/two.bpf.c', 'lib/bpf/new.bpf.h', 'plugins/one/xe_uapi.h':
            repository.write(name, 'changed')
            found.append(is_due())
            repository.git('stash', '--include-untracked', '--quiet')
        repository.land(*['run'] * 8)
        found.append(not is_due())
        repository.land('run')
        found.append(is_due())
        found.append(needs_full_run.record(repository.path, 'full', '3 passed,  0 failed') is None and repository.commit()
                     and not is_due())
        repository.write('core/a.c', 'changed')
        found.append(needs_full_run.record(repository.path, 'full', '') is not None)
    return all(found) or found


class Machine:
    """A guest that ends each test with a status, and itself where that is None."""
    kernel = kernels.KERNELS['newest']

    def __init__(self, statuses, boots=True):
        self.statuses, self.has_booted, self.finished = statuses, boots, False

    def start(self, lines):
        assert len(lines) == len(self.statuses)

    def wait_for(self, number, _seconds):
        return self.statuses[number]

    def read(self, _name):
        return ''

    def processor_seconds(self):
        return 0

    def finish(self):
        self.finished = True
        return True


class BusyGuest(guest.Guest):
    """A guest that has spent more than the CPU time of a boot. Between two tests, the file that names the running one is empty
    for a moment."""

    def __init__(self, folder):  # pylint: disable=super-init-not-called
        self.plan, self.has_booted = pathlib.Path(folder), False
        self.process = subprocess.Popen(['sh', '-c', '>running; echo 5 >0.status; sleep 0.2; echo 6 >1.status; '
                                         'exec sleep 60'], cwd=folder)

    def processor_seconds(self):
        return guest.BOOT_PROCESSOR_SECONDS + 1 if self.read('0.status') else 0


def a_booted_guest_has_booted():
    """Only the boot has a limit of CPU time."""
    with tempfile.TemporaryDirectory() as folder, BusyGuest(folder) as machine:
        return [machine.wait_for(number, 60) for number in range(2)] == [5, 6]


def a_guest_that_ends_fails_one_test():
    """The test in which a guest ends has failed, and those behind it are left; a guest that does not boot fails once."""
    loader = importlib.machinery.SourceFileLoader('lab_run', str(pathlib.Path(__file__).with_name('run')))
    lab_run = importlib.util.module_from_spec(importlib.util.spec_from_loader('lab_run', loader))
    loader.exec_module(lab_run)
    found = []
    with Repository() as repository:
        waiting = repository.tests()[:3]
        for machine in Machine([0, 1, 0]), Machine([0, None, 0]), Machine([None] * 3, boots=False):
            results = report.Report(io.StringIO())
            left = lab_run.run_in_guest(machine, waiting, results)
            found.append((left == waiting[2:] if left else [], results.passed, results.failed, machine.finished))
    return found == [([], 2, 1, True), (True, 1, 1, False), ([], 0, 1, False)] or found


OTHERS = {
    'a guest that ends fails the test in it': a_guest_that_ends_fails_one_test,
    'a guest that has booted is not taken for one that boots': a_booted_guest_has_booted,
    'output of a failed test is shown': shows_comments,
    'a changed file touches the tests that cover it': files_touch_tests,
    'touched tests run on few kernels': touched_tests_run_on_few_kernels,
    'files without a test are listed': uncovered_files_are_listed,
    'changes are counted from a known base': changes_are_counted_from_a_known_base,
    'a full run is due after certain changes and ten landings': a_full_run_is_due,
}


def main():
    print(f'1..{len(CASES) + len(OTHERS) + 2}')
    failed = False
    for number, (name, (arguments, wanted)) in enumerate(CASES.items(), 1):
        found = outcome(*arguments)
        failed |= found != wanted
        print(f'{"" if found == wanted else "not "}ok {number} - {name}: {found}')
    print(f'ok {len(CASES) + 1} - {len(tests.find())} tests have valid directives')
    readme = (pathlib.Path(__file__).parent / 'README.md').read_text(encoding='utf-8')
    example = textwrap.indent((tests.FOLDER / 'test_idle_cpus.sh').read_text(encoding='utf-8'), '    ')
    failed |= example not in readme
    print(f'{"not " if example not in readme else ""}ok {len(CASES) + 2} - the example of README.md is a test that runs')
    for number, (name, case) in enumerate(OTHERS.items(), len(CASES) + 3):
        found = case()
        failed |= found is not True
        print(f'{"" if found is True else "not "}ok {number} - {name}{"" if found is True else f": {found}"}')
    return failed


if __name__ == '__main__':
    sys.exit(main())
