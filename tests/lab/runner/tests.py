# SPDX-License-Identifier: Apache-2.0
"""The tests of the lab, and what each says of itself in its first lines, after "# lab:"."""
import dataclasses
import pathlib

from . import kernels

FOLDER = pathlib.Path(__file__).parent.parent / 'tests'
SECONDS = 300  # when a test that does not end is ended


class Wrong(Exception):
    """A test says of itself what nobody understands."""


@dataclasses.dataclass
class Test:
    """One test file."""
    name: str
    path: pathlib.Path
    kernels: tuple = ()  # in a guest, with each of these
    short: tuple = ()  # a short run takes these of them; all, when there is none
    is_long: bool = False  # a short run leaves it out
    chroot: bool = False  # or in the chroot, on this machine's own kernel
    machine: bool = False  # or on this machine, which sees the chroot from outside: much faster than a guest
    double: str = ''  # the double that is loaded before and unloaded after, in a guest
    collector: bool = False  # has an OpenTelemetry Collector
    seconds: int = SECONDS
    by_name: bool = False  # measures rather than tests: runs only when it is named
    expected: str = ''  # a function that prints its stack into the kernel's log, as a real driver may by intent


def read(path):
    test = Test(path.stem.removeprefix('test_').replace('_', '-'), path)
    for line in path.read_text(encoding='utf-8').splitlines()[:20]:
        if not line.startswith('# lab:'):
            continue
        match line.removeprefix('# lab:').split():
            case ['guest', *names] if names and all(name in kernels.KERNELS for name in names):
                test.kernels = tuple(names)
            case ['short', 'none']:
                test.is_long = True
            case ['short', *names] if names:
                test.short = tuple(names)
            case ['chroot']:
                test.chroot = True
            case ['by-name']:
                test.by_name = True
            case ['machine']:
                test.machine = True
            case ['collector']:
                test.collector = True
            case ['module', ('xe' | 'intel_vpu') as name]:
                test.double = name
            case ['expects', name]:
                test.expected = name
            case ['seconds', number] if number.isdecimal():
                test.seconds = int(number)
            case _:
                raise Wrong(f'{path}: unknown: {line!r}; tests/lab/README.md says what may stand there')
    if [test.chroot, test.machine, bool(test.kernels)].count(True) != 1:
        raise Wrong(f'{path}: needs one line "# lab: guest KERNEL...", "# lab: chroot" or "# lab: machine"')
    if not set(test.short) <= set(test.kernels):
        raise Wrong(f'{path}: a short run cannot take a kernel that is not behind "# lab: guest"')
    if test.collector and not test.machine:
        raise Wrong(f'{path}: a Collector is on this machine only')
    if test.double and not test.kernels:
        raise Wrong(f'{path}: a double is loaded in a guest only')
    return test


def find(names=(), is_short=False):
    """All tests but those that want to be named, or the named ones, in the order of their names."""
    found = {}
    for test in (read(path) for path in sorted(FOLDER.glob('test_*')) if path.suffix in ('.sh', '.py')):
        if test.name in found:
            raise Wrong(f'{test.path} and {found[test.name].path} have the same name')
        if is_short and test.short:
            test.kernels = test.short
        found[test.name] = test
    unknown = [name for name in names if name not in found]
    if unknown:
        raise Wrong(f'no test named {unknown[0]}; there are: {" ".join(found)}')
    return [test for name, test in found.items()
            if (name in names if names else not test.by_name and not (is_short and test.is_long))]
