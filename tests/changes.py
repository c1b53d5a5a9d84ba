# SPDX-License-Identifier: Apache-2.0
"""Which files changed since a commit that passed the checks. For tests/lab/run --touched and tests/needs_full_run.py.

LANDINGS has a line for each landing that passed, oldest first: commit, level (run: .ci/run; full: .ci/full), and the
summary line of that run. tests/needs_full_run.py --record appends one.
"""
import dataclasses
import os
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent
LANDINGS = 'tests/landings.txt'
LEVELS = 'run', 'full'


class UnknownRevision(Exception):
    """A revision that the user named is not in the repository."""


@dataclasses.dataclass
class Landing:
    """A commit that passed, and what it passed."""
    commit: str
    level: str


def git(source, *arguments):
    """Returns what git prints, or None if it fails or there is no git."""
    try:
        ended = subprocess.run(['git', '-c', f'safe.directory={source}', '-C', source, *arguments], check=False,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               encoding='utf-8', errors='surrogateescape')
    except FileNotFoundError:
        return None
    return ended.stdout if ended.returncode == 0 else None


def landings(source=SOURCE):
    """Returns the landings that are ancestors of HEAD, oldest first."""
    try:
        lines = (source / LANDINGS).read_text(encoding='utf-8').splitlines()
    except FileNotFoundError:
        return []
    found = []
    for number, line in enumerate(lines, 1):
        if not line or line.startswith('#'):
            continue
        words = line.split(maxsplit=2)
        if len(words) < 2 or not re.fullmatch('[0-9a-f]{12,}', words[0]) or words[1] not in LEVELS:
            raise ValueError(f'{LANDINGS}:{number}: not "COMMIT {"|".join(LEVELS)} SUMMARY": {line!r}')
        if git(source, 'merge-base', '--is-ancestor', words[0], 'HEAD') is not None:
            found.append(Landing(words[0], words[1]))
    return found


def merge_base(source, revision):
    """Returns the merge base of HEAD and a revision, or None."""
    return (git(source, 'merge-base', 'HEAD', revision) or '').strip() or None


def find_base(source=SOURCE, since=None):
    """Returns the commit that changes are counted from, or None, and how it was found.

    The first of: since, the environment variable IAPROF_BASE, the branch main of origin if HEAD has commits that it has
    not, and the last landing. In a clone of what is to land, main of origin is HEAD itself.
    """
    since, named = (since, '--since') if since else (os.environ.get('IAPROF_BASE'), 'IAPROF_BASE')
    if since:
        base = merge_base(source, since)
        if not base:
            raise UnknownRevision(f'{named}: no commit {since!r} with a common ancestor')
        return base, f'{named} {since}'
    head = (git(source, 'rev-parse', 'HEAD') or '').strip()
    base = merge_base(source, 'refs/remotes/origin/main')
    if base and base != head:
        return base, 'merge base with origin/main'
    passed = landings(source)
    if passed:
        return passed[-1].commit, f'last landing in {LANDINGS}'
    return None, f'no known base: main of origin is HEAD or absent, and {LANDINGS} has no ancestor of HEAD'


def changed_files(base, source=SOURCE):
    """Returns the paths that differ from a commit, in commits or in the working tree; of a renamed file both."""
    names = [git(source, 'diff', '--name-only', '--no-renames', '-z', base),
             git(source, 'ls-files', '--others', '--exclude-standard', '-z')]
    if None in names:
        raise UnknownRevision(f'git cannot compare with {base}')
    return sorted({name for text in names for name in text.split('\0') if name})


def source_files(source=SOURCE):
    """Returns the paths of all files that git has or would add."""
    names = git(source, 'ls-files', '--cached', '--others', '--exclude-standard', '-z')
    return None if names is None else sorted({name for name in names.split('\0') if name and (source / name).exists()})


def matches(path, patterns):
    """Whether a path matches one of the patterns: * is within a folder, ** over any number of folders, [ch] one letter."""
    return any(expression(pattern).fullmatch(path) for pattern in patterns)


_expressions = {}


def expression(pattern):
    if pattern not in _expressions:
        regular = {'**/': '(?:.*/)?', '**': '.*', '*': '[^/]*'}
        parts = re.split(r'(\*\*/|\*\*|\*|\[\w+\])', pattern)
        _expressions[pattern] = re.compile(''.join(
            regular.get(part) or (part if part.startswith('[') else re.escape(part)) for part in parts))
    return _expressions[pattern]
