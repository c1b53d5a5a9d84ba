# SPDX-License-Identifier: Apache-2.0
"""An OpenTelemetry Collector, built of Debian sid's packages of its parts in a chroot that is not kept."""
import os
import pathlib
import shutil

from . import pieces

PIECE = 'collector'
MAIN = pathlib.Path(__file__).parent.parent / 'collector/main.go'
PACKAGES = 'golang-go', 'golang-opentelemetry-collector-dev'


def program():
    """The Collector, a static program, made when it is not there or when its source changed."""
    if os.geteuid():
        raise pieces.Missing('a chroot needs root; run tests/lab/run as root')
    pieces.need_programs('mmdebstrap=mmdebstrap')

    def make(new):
        root = new / 'root'
        pieces.say(f'builds an OpenTelemetry Collector from {" ".join(PACKAGES)} of Debian sid')
        pieces.command('mmdebstrap', '--variant=minbase', '--aptopt=Acquire::Check-Valid-Until "false"',
                       f'--include={",".join(PACKAGES)}', 'sid', root, pieces.archive_mirror())
        shutil.copy(MAIN, root / 'tmp')
        # The compiler asks /proc for its own path.
        pieces.build(pieces.command, 'unshare', '--mount', '--propagation', 'private', 'sh', '-c',
                     'mount -t proc proc "$1/proc" && exec chroot "$1" env -i PATH=/usr/bin:/bin HOME=/tmp GOTELEMETRY=off '
                     'GO111MODULE=off GOPATH=/usr/share/gocode go build -o /tmp/collector /tmp/main.go', 'sh', root)
        shutil.move(root / 'tmp/collector', new / 'collector')
        shutil.rmtree(root)
    return pieces.piece(PIECE, MAIN.read_text(encoding='utf-8') + ' '.join(PACKAGES), make) / 'collector'
