# SPDX-License-Identifier: Apache-2.0
"""Debian 12 with systemd: a fresh system, into which packages are installed, and which boots in a guest."""
import os
import pathlib
import shutil
import tempfile
import time

from . import guest, kernels, pieces

PIECE = 'debian12'
# What the packages of iaprof depend on is there, so that their installation fetches nothing.
PACKAGES = ('systemd', 'systemd-sysv', 'dbus', 'curl', 'python3-minimal', 'libelf1', 'libdw1', 'libinih1', 'libsodium23',
            'libyaml-0-2', 'libprotobuf-c1', 'libseccomp2', 'libcap-ng0', 'libcurl4', 'libmicrohttpd12', 'libbpf1')
UNIT = '''[Unit]
After=multi-user.target

[Service]
Type=oneshot
ExecStart=/bin/sh -c '/bin/bash /lab/script >/lab/output 2>&1; echo $? >/lab/status; journalctl -b --no-pager >/lab/journal; sync; poweroff -f'

[Install]
WantedBy=multi-user.target
'''


def base():
    """The system without the packages, made when it is not there."""
    if os.geteuid():
        raise pieces.Missing('a chroot needs root; run tests/lab/run as root')
    pieces.need_programs('mmdebstrap=mmdebstrap')

    def make(new):
        pieces.say(f'makes a Debian 12 with {" ".join(PACKAGES)}')
        pieces.command('mmdebstrap', '--variant=minbase', '--aptopt=Acquire::Check-Valid-Until "false"',
                       f'--include={",".join(PACKAGES)}', 'bookworm', new, pieces.archive_mirror())
    return pieces.piece(PIECE, ' '.join(PACKAGES) + '\n', make)


class System:
    """A copy of the system, until the end of a with statement."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='iaprof-system-'))
        self.root = self.folder / 'root'
        pieces.command('cp', '-a', '--reflink=auto', base(), self.root)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def install(self, packages):
        """Returns what apt prints."""
        for package in packages:
            shutil.copy(package, self.root / 'tmp')
        return pieces.command('chroot', self.root, 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LC_ALL=C.UTF-8',
                              'DEBIAN_FRONTEND=noninteractive', 'apt-get', 'install', '-y', '-o', 'Dpkg::Use-Pty=0',
                              *(f'/tmp/{package.name}' for package in packages))

    def boot(self, script, seconds, kernel='6.12'):
        """Boots the system and runs a script of bash in it -> its status, None if it did not end, what it said, the journal"""
        chosen = kernels.KERNELS[kernel]
        unit = self.root / 'etc/systemd/system/lab.service'
        unit.write_text(UNIT, encoding='ascii')
        wanted = self.root / 'etc/systemd/system/multi-user.target.wants'
        wanted.mkdir(exist_ok=True)
        (wanted / 'lab.service').symlink_to('../lab.service')
        with guest.Guest(chosen, {}, [], root=self.root) as machine:
            machine.write('system', '')
            machine.write('script', script)
            machine.start([])
            end = time.monotonic() + seconds
            while machine.process.poll() is None and time.monotonic() < end:
                time.sleep(0.2)
            status = machine.read('status').strip()
            said = machine.read('output') or machine.read('console')[-8000:]
            return int(status) if status else None, said, machine.read('journal')
