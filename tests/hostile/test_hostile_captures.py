#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures that somebody else made, to read the reader's files or to use up memory."""
import base64
import os
import re
import zlib

import attack
import capture_file
from harness import SOURCE, Skip, case, main, needs_root, read, require, write

DEMO = os.path.join(SOURCE, 'examples/demo.iaprof')
# The folder that the demo's GPU code was compiled in.
DEMO_FOLDER = b'/model'
MARK = b'mark_of_a_private_file'
# A replay has no duration; it reads a capture of a megabyte.
REPLAY_SECONDS = 10


def readers_file(run):
    """Whether the file of whoever replays is in the page, whose data are base64 of gzip."""
    if run.killed or not os.path.exists('attack/page.html'):
        return False
    parts = re.findall(r'H4sI[A-Za-z0-9+/=]+', read('attack/page.html'))
    require(parts, 'the page has no data')
    return any(MARK in zlib.decompress(base64.b64decode(part), wbits=31) for part in parts)


@case('capture-names-source', needs=[needs_root])
def capture_names_source():
    """The one who replays it is not root, as root's replays have never looked elsewhere."""
    folder = attack.attack_folder()
    private = os.path.join(folder, 'private')
    os.mkdir(private)
    attack.give(private)
    source = read(os.path.join(SOURCE, 'tests/lab/demo/kernels/decoder.cl'))
    attack.give(write(os.path.join(private, 'decoder.cl'), source.replace('\n', f' // {MARK.decode()}\n'), 0o600))
    with open(DEMO, 'rb') as file:
        demo = file.read()
    capture = os.path.join(folder, 'capture-names-source')
    with open(capture, 'wb') as file:
        file.write(capture_file.rewrite(demo, [(re.escape(DEMO_FOLDER), private.encode())]))
    attack.give(capture)

    def replay(options):
        return attack.Run('-q', '--replay', capture, '-k', f'flamegraph:{options}output={folder}/page.html',
                          seconds=REPLAY_SECONDS, **attack.as_user(attack.USER))
    run = replay('')
    if 'Permission denied' in run.err and run.status != 0 and not os.path.exists('attack/page.html'):
        raise Skip(f'user {attack.USER} cannot run iaprof here: {run.err.strip()}')
    run.requires(run.status == 0, f'exit status {run.status}')
    run.requires(not readers_file(run), "the page has a file of the reader's that the capture names").judge()
    # With the folder named by the one who replays, it is what was asked for.
    run = replay(f'sources={private},')
    run.requires(readers_file(run), 'the page lacks the source below a folder of sources=').judge()


@case('capture-strings-bomb', needs=[needs_root])
def capture_strings_bomb():
    with open('capture-strings-bomb', 'wb') as file:
        writer = capture_file.Writer(file, 128 << 10)
        for i in range(20000):
            writer.add(capture_file.string_record(i + 1, str(i).encode().ljust(60000, b'a')))
        writer.end()
    require(os.path.getsize('capture-strings-bomb') < 1 << 20, 'the capture is not small')
    run = attack.Run('--replay', 'capture-strings-bomb', '-k', 'folded', '-o', 'profile', seconds=REPLAY_SECONDS)
    run.names('capture-strings-bomb', 'string').judge()


if __name__ == '__main__':
    main()
