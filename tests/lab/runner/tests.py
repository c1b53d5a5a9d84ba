# SPDX-License-Identifier: Apache-2.0
"""The tests of the lab, and the directives of each: lines "# lab:" of its leading comments."""
import dataclasses
import pathlib

from . import kernels

FOLDER = pathlib.Path(__file__).parent.parent / 'tests'
SECONDS = 300  # when a test that does not end is ended


# Modules of doubles, and the folders of their sources.
DOUBLES = {'xe': 'xe', 'intel_vpu': 'npu'}


class Wrong(Exception):
    """A directive of a test is invalid."""


@dataclasses.dataclass
class Test:
    """One test file."""
    name: str
    path: pathlib.Path
    kernels: tuple = ()  # in a guest, with each of these
    short: tuple = ()  # run with --touched uses these of them; all, if there is none
    is_full: bool = False  # not run with --touched
    covers: tuple = ()  # paths and patterns of the files that it tests, see selection.py
    level: str = 'full'  # or touched, essential: how much of it runs
    chroot: bool = False  # or in the chroot, on this machine's own kernel
    machine: bool = False  # or on this machine, which sees the chroot from outside: much faster than a guest
    double: str = ''  # the double that is loaded before and unloaded after, in a guest
    runtime: bool = False  # requires Intel's runtime, and the programs that are built in the chroot
    collector: bool = False  # has an OpenTelemetry Collector
    seconds: int = SECONDS
    by_name: bool = False  # measures rather than tests: runs only when it is named
    expected: str = ''  # a function that prints its stack into the kernel's log, as a real driver may by intent


def read(path):
    test = Test(path.stem.removeprefix('test_').replace('_', '-'), path)
    for line in path.read_text(encoding='utf-8').splitlines():
        if not line.startswith('#'):
            break
        if not line.startswith('# lab:'):
            continue
        match line.removeprefix('# lab:').split():
            case ['guest', *names] if names and all(name in kernels.KERNELS for name in names):
                test.kernels = tuple(names)
            case ['short', 'none']:
                test.is_full = True
            case ['covers', *patterns] if patterns:
                test.covers += tuple(patterns)
            case ['short', *names] if names:
                test.short = tuple(names)
            case ['chroot']:
                test.chroot = True
            case ['by-name']:
                test.by_name = True
            case ['machine']:
                test.machine = True
            case ['runtime']:
                test.runtime = True
            case ['collector']:
                test.collector = True
            case ['module', name] if name in DOUBLES:
                test.double = name
            case ['expects', name]:
                test.expected = name
            case ['seconds', number] if number.isdecimal():
                test.seconds = int(number)
            case _:
                raise Wrong(f'{path}: unknown: {line!r}; see tests/lab/README.md')
    if [test.chroot, test.machine, bool(test.kernels)].count(True) != 1:
        raise Wrong(f'{path}: needs one line "# lab: guest KERNEL...", "# lab: chroot" or "# lab: machine"')
    if not set(test.short) <= set(test.kernels):
        raise Wrong(f'{path}: "# lab: short" names a kernel that "# lab: guest" does not')
    if test.collector and not test.machine:
        raise Wrong(f'{path}: "# lab: collector" requires "# lab: machine"')
    if test.double and not test.kernels:
        raise Wrong(f'{path}: "# lab: module" requires "# lab: guest"')
    return test


def find_all():
    """All tests by their names, in the order of these."""
    found = {}
    for test in (read(path) for path in sorted(FOLDER.glob('test_*')) if path.suffix in ('.sh', '.py')):
        if test.name in found:
            raise Wrong(f'{test.path} and {found[test.name].path} have the same name')
        found[test.name] = test
    return found


def find(names=()):
    """All tests but those that run only when they are named, or the named ones, in the order of their names."""
    found = find_all()
    unknown = [name for name in names if name not in found]
    if unknown:
        raise Wrong(f'no test named {unknown[0]}; there are: {" ".join(found)}')
    return [test for name, test in found.items() if (name in names if names else not test.by_name)]
