# SPDX-License-Identifier: Apache-2.0
"""What the lab fetches from the Debian archive or builds once, and where it keeps it: outside the tree.

A piece is a folder that appears under its name only when it is complete, with a file PIECE in it that names what it was
made from.
"""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

STAMP = 'PIECE'
KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'


class Missing(Exception):
    """Something that this machine does not have or cannot fetch: what, why, and what to do."""


class Broken(Exception):
    """Something of the project's own does not build: what the compiler said."""


def cache_folder():
    named = os.environ.get('IAPROF_LAB_CACHE')
    if named:
        return pathlib.Path(named).resolve()
    base = os.environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    return (pathlib.Path(base) / 'iaprof-lab').resolve()


@contextlib.contextmanager
def locked():
    """The cache, while nobody else fetches; yields (folder, share): after share() others may use it, too, as it is."""
    cache = cache_folder()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Missing(f'{cache}: {error.strerror}; name another folder by IAPROF_LAB_CACHE') from error
    with open(cache / 'lock', 'w', encoding='ascii') as file:
        lock(file, f'uses {cache}')
        yield cache, lambda: fcntl.flock(file, fcntl.LOCK_SH)


def lock(file, what):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f'waits for another run, which {what}')
        fcntl.flock(file, fcntl.LOCK_EX)


def say(text):
    print(f'# {text}', file=sys.stderr, flush=True)


def need_programs(*packages):
    """packages: "program=package" for each that has to be installed."""
    absent = [pair.split('=')[1] for pair in packages if not shutil.which(pair.split('=')[0])]
    if absent:
        raise Missing(f'not installed: {" ".join(absent)}; ./bootstrap lab installs them')


def command(*arguments, **options):
    """Runs a command; its last line of output is the reason when it fails."""
    ended = subprocess.run([str(argument) for argument in arguments], check=False, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', errors='replace',
                           **options)
    if ended.returncode:
        lines = ended.stdout.strip().splitlines()
        # What apt and make say first is the cause; what they say last is only that they stop.
        cause = next((line for line in lines if line.startswith(('E:', 'error:')) or ' error: ' in line),
                     lines[-1] if lines else f'status {ended.returncode}')
        raise Missing(f'{arguments[0]}: {cause}')
    return ended.stdout


def build(make, *arguments, **options):
    """Builds something of the project with a command; that it fails is no reason to skip."""
    try:
        return make(*arguments, **options)
    except Missing as missing:
        raise Broken(str(missing)) from missing


def digest(*paths):
    """A text that changes with the files at these paths and below them, but for those that only meson or people read."""
    found = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob('*')) if path.is_dir() else [path]:
            if file.is_file() and file.name != 'meson.build' and file.suffix != '.md':
                found.update(f'{file.relative_to(path)}\0{file.stat().st_mode & 0o111}\0{file.stat().st_size}\0'.encode())
                found.update(file.read_bytes())
    return found.hexdigest()


def archive_mirror():
    """The Debian mirror that this machine's own package lists name, or the one of IAPROF_LAB_MIRROR."""
    named = os.environ.get('IAPROF_LAB_MIRROR')
    if named:
        return named
    need_programs('apt-get=apt')
    for line in command('apt-get', 'indextargets', '--format', '$(REPO_URI) $(ORIGIN) $(LABEL)').splitlines():
        address, *names = line.split()
        if names == ['Debian', 'Debian']:
            return address
    raise Missing('no Debian archive among this machine\'s package lists (run apt-get update?); '
                  'name a mirror by IAPROF_LAB_MIRROR')


class Archive:
    """Package lists of one Debian suite in a state of their own: the machine's apt is left alone."""

    def __init__(self, suite):
        self.suite = suite
        folder = cache_folder() / 'lists' / suite
        for name in 'lists/partial', 'packages/archives/partial':
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / 'sources.list').write_text(f'deb [signed-by={KEYRING}] {archive_mirror()} {suite} main\n',
                                             encoding='ascii')
        settings = {'Dir::State::lists': folder / 'lists', 'Dir::Etc::sourcelist': folder / 'sources.list',
                    'Dir::Etc::sourceparts': '-', 'Dir::Cache': folder / 'packages', 'Dir::State::status': '/dev/null',
                    'Acquire::Languages': 'none', 'APT::Sandbox::User': 'root',
                    # A mirror that stands still is good enough here, and its signature is checked all the same.
                    'Acquire::Check-Valid-Until': 'false'}
        self.options = [word for name, value in settings.items() for word in ('-o', f'{name}={value}')]
        say(f'reads the package lists of {suite}')
        command('apt-get', *self.options, 'update', '--error-on=any')

    def dependencies(self, package):
        """The packages that one needs, first alternatives only."""
        lines = command('apt-cache', *self.options, 'depends', '--important', package).splitlines()
        return [line.split('Depends: ')[1].strip() for line in lines if ' Depends: ' in line or '|Depends: ' in line]

    def unpack(self, packages, folder):
        """Downloads packages and unpacks their files, without installing anything."""
        folder.mkdir(parents=True, exist_ok=True)
        say(f'fetches {" ".join(packages)}')
        command('apt-get', *self.options, 'download', *packages, cwd=folder)
        for file in sorted(folder.glob('*.deb')):
            command('dpkg', '-x', file, folder)
            file.unlink()


failures = {}  # why a piece could not be made: it is not tried twice in one run


def piece(name, made_from, make):
    """The folder of a piece, made by make(folder) when it is not there or was made from something else."""
    if name in failures:
        raise failures[name]
    try:
        return fetch_piece(name, made_from, make)
    except Missing as missing:
        failures[name] = missing
        raise


def fetch_piece(name, made_from, make):
    folder = cache_folder() / name
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text(encoding='utf-8') == made_from:
        return folder
    fresh = folder.with_name(folder.name + '.new')
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    make(fresh)
    (fresh / STAMP).write_text(made_from, encoding='utf-8')
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    return folder
