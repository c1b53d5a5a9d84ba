# SPDX-License-Identifier: Apache-2.0
"""The chroot of Debian sid: Intel's real Level Zero runtime and compilers, and what builds modules for the newest kernel."""
import os
import pathlib
import shlex
import subprocess

from . import kernels, pieces

PIECE = 'sid'
PACKAGES = pathlib.Path(__file__).parent.parent / 'chroot-packages'


def package_names():
    """chroot-packages: one package a line, a comment after #."""
    lines = PACKAGES.read_text(encoding='utf-8').splitlines()
    return [line.split('#')[0].strip() for line in lines if line.split('#')[0].strip()]


def folder():
    """The chroot, made when it is not there or when the list of its packages changed."""
    if os.geteuid():
        raise pieces.Missing('a chroot needs root; run tests/lab/run as root')
    pieces.need_programs('mmdebstrap=mmdebstrap', 'unshare=util-linux')
    # Modules for the newest kernel are built here, so the headers have to be the ones of the kernel that was fetched.
    packages = [*package_names(), f'linux-headers-{kernels.KERNELS["newest"].version()}']

    def make(new):
        pieces.say(f'makes a chroot of Debian sid with {" ".join(packages)}')
        pieces.command('mmdebstrap', '--variant=minbase', '--aptopt=Acquire::Check-Valid-Until "false"',
                       f'--include={",".join(packages)}', 'sid', new, pieces.archive_mirror())
    made = pieces.piece(PIECE, ' '.join(packages) + '\n', make)
    # Where guest/in-chroot mounts: a guest cannot make the folder.
    (made.parent / 'changes').mkdir(exist_ok=True)
    return made


def made_at():
    """When the chroot was made: what it builds is built again in a new one."""
    return (folder() / pieces.STAMP).stat().st_mtime_ns


def command_line(arguments, readable=(), writable=(), environment=None):
    """A command in the chroot. Folders appear under the path that they have outside; all mounts end with the command."""
    lower = folder()
    # Where this command's own mounts are: a folder for all, for nobody sees the others'.
    base = pieces.cache_folder() / 'mount'
    base.mkdir(exist_ok=True)
    root = base / 'root'
    script = ['set -e', f'cd {shlex.quote(str(base))}', 'mount -t tmpfs tmpfs .', f'cd {shlex.quote(str(base))}',
              'mkdir changes work root',
              f'mount -t overlay -o lowerdir={shlex.quote(str(lower))},upperdir=changes,workdir=work overlay root',
              'cd root', 'mount -t proc proc proc', 'mount --rbind /dev dev', 'mount --rbind /sys sys',
              'mount -t tmpfs -o mode=1777 tmpfs tmp']
    for path, mode in [*((path, 'ro') for path in readable), *((path, 'rw') for path in writable)]:
        inside = shlex.quote(f'{root}{path}')
        script += [f'mkdir -p {inside}', f'mount --bind {shlex.quote(str(path))} {inside}']
        script += [f'mount -o remount,bind,ro {inside}'] if mode == 'ro' else []
    assignments = {'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/tmp',
                   'LC_ALL': 'C.UTF-8', **(environment or {})}
    inner = ['env', '-i', '-C', '/tmp', *(f'{name}={value}' for name, value in assignments.items()), *(str(word) for word in arguments)]
    script += [f'exec chroot . {shlex.join(inner)}']
    return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', '\n'.join(script)]


def command(arguments, **options):
    """Runs a command in the chroot to its end; its output is the reason if it fails."""
    try:
        return pieces.command(*command_line(arguments, **options))
    except pieces.Missing as missing:
        raise pieces.Missing(f'in the chroot: {arguments[0]}: {str(missing).removeprefix("unshare: ")}') from missing


def start(arguments, **options):
    return subprocess.Popen(command_line(arguments, **options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, start_new_session=True)
