# SPDX-License-Identifier: Apache-2.0
"""Which tests cover which files: those that a change touches, and files that no test covers."""
import ast
import functools
import re
import sys

from . import tests

sys.path.insert(0, str(tests.FOLDER.parent.parent))

import changes

# Run by every --touched, on the newest kernel.
ALWAYS = 'boot', 'verifier', 'ai-flame-graph'
# Read by people only. A change of these touches no test.
DOCUMENTATION = '**/*.md', 'doc/**', 'man/**', 'LICENSE'
# Each of these has to be covered.
COVERED = ('core/**/*.[ch]', 'engine/**/*.[ch]', 'lib/bpf/**/*.[ch]', 'lib/npu/**/*.[ch]', 'plugins/**/*.[ch]',
           'tests/lab/**')
# What has tests outside of the lab.
ELSEWHERE = 'tests/lab/test_*.py', 'tests/lab/**/meson.build', 'plugins/ivpu-trace/*.[ch]'

RUNNER = ('tests/lab/run', 'tests/changes.py', *(f'tests/lab/runner/{name}.py' for name in (
    '__init__', 'pieces', 'report', 'selection', 'tests')))
GUEST = ('tests/lab/guest/init', 'tests/lab/guest/run-plan', 'tests/lab/runner/guest.py', 'tests/lab/runner/kernels.py')
CHROOT = ('tests/lab/chroot-packages', 'tests/lab/runner/chroot.py')
# Files of the project that a test names, in shell or in Python.
NAMED = re.compile(r'''\$LAB_SOURCE"?/([\w./-]+)|\bSOURCE / ['"]([\w./-]+)['"]''')


def module_paths(module, names):
    """The files of the lab that a Python import may read."""
    parts = 'tests/lab/' + module.replace('.', '/')
    return [f'{parts}.py', f'{parts}/__init__.py', *(f'{parts}/{name}.py' for name in names)]


@functools.cache
def imports(path, source):
    """The lab's files that a Python file imports."""
    found = set()
    folder = '.'.join(path.split('/')[2:-1])
    for node in ast.walk(ast.parse((source / path).read_text(encoding='utf-8'))):
        if isinstance(node, ast.ImportFrom):
            module = '.'.join(part for part in (folder if node.level else '', node.module) if part)
            found.update(module_paths(module, [alias.name for alias in node.names]))
        elif isinstance(node, ast.Import):
            found.update(name for alias in node.names for name in module_paths(alias.name, []))
    return {name for name in found if (source / name).is_file()}


def imported(path, source):
    """The lab's files that a Python file imports, directly or not."""
    found, new = set(), {path}
    while new:
        found |= new
        new = {name for other in new for name in imports(other, source)} - found
    return found


def implied(test, source=changes.SOURCE):
    """The patterns of what a test uses without naming it after "covers"."""
    path = str(test.path.relative_to(source))
    text = test.path.read_text(encoding='utf-8')
    found = {path, *RUNNER}
    if path.endswith('.py'):
        found |= imported(path, source)
    for name in (first or second for first, second in NAMED.findall(text)):
        if (source / name).is_file():
            found.add(name)
    found |= {*CHROOT, *(GUEST if test.kernels else ())}  # QEMU is in the chroot
    if test.runtime:
        found.add('tests/lab/guest/in-chroot')
    if test.double:
        found.add(f'tests/lab/doubles/{tests.DOUBLES[test.double]}/**')
    if test.collector:
        found |= {'tests/lab/runner/collector.py', 'tests/lab/collector/**'}
    return found


def touched(found, changed, source=changes.SOURCE):
    """Returns the tests that cover one of the changed files."""
    relevant = [path for path in changed if not changes.matches(path, DOCUMENTATION)]
    return [test for test in found
            if any(changes.matches(path, {*implied(test, source), *test.covers}) for path in relevant)]


def for_change(found, changed, source=changes.SOURCE):
    """Returns the tests of a run with --touched, of which each has the kernels that it runs with and its level. changed is
    None when it is not known: then all tests are touched."""
    chosen = []
    touched_tests = found if changed is None else touched(found, changed, source)
    for test in found:
        if test in touched_tests and not test.is_full:
            test.kernels, test.level = test.short or test.kernels, 'touched'
            chosen.append(test)
        elif test.name in ALWAYS:
            test.kernels, test.level = ('newest',), 'essential'
            chosen.append(test)
    return chosen


def uncovered(found, files, source=changes.SOURCE):
    """Returns a line for each file that has to be covered and is not, and for each pattern that matches no file. Tests that
    run only when they are named cover files of the lab only."""
    def patterns(chosen):
        return {pattern for test in chosen for pattern in (*implied(test, source), *test.covers)}
    of_lab, of_others = patterns(found), patterns(test for test in found if not test.by_name)
    lines = [f'{path}: no lab test covers it' for path in files
             if changes.matches(path, COVERED) and not changes.matches(path, (*DOCUMENTATION, *ELSEWHERE))
             and not changes.matches(path, of_lab if path.startswith('tests/lab/') else of_others)]
    return lines + [f'{test.path.relative_to(source)}: "# lab: covers {pattern}" matches no file'
                    for test in found for pattern in test.covers if not any(changes.matches(path, [pattern]) for path in files)]
