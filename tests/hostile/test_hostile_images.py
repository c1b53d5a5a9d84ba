#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose ELF files and debug info cost far more to read than they are worth: iaprof refuses each by name, and
everything else is in the profile as without them."""
import os
import sys

import attack
import attacks
import elf
from harness import case, main


def judge_image(path, *more_names):
    with attack.Programs() as programs:
        programs.start(path)
        attack.attacked(programs, refused=[(os.path.basename(path), *more_names)]).judge()


@case('debuglink-sparse', needs=attack.needs())
def debug_link_sparse():
    judge_image(attacks.image_with_sparse_debug_file('debuglink-sparse'))


@case('shstrtab-3g', needs=attack.needs())
def section_names_3g():
    judge_image(attacks.image_with_long_names('shstrtab-3g'))


@case('sections-60000', needs=attack.needs())
def sections_60000():
    judge_image(attacks.image_with_many_sections('sections-60000'))


@case('altlink-fifo', needs=attack.needs())
def alternative_link_fifo():
    judge_image(attacks.image_with_names_in_fifo('altlink-fifo'))


@case('altlink-device', needs=[*attack.needs(), attack.needs_tracing])
def alternative_link_device():
    names = []
    with attack.Programs() as programs:
        for section in '.gnu_debugaltlink', '.zgnu_debugaltlink':
            # /dev/full is a device that nobody else opens while this runs.
            path = attacks.image_with_alternative_names(f'altlink-device{section}', '/dev/full', section)
            programs.start(path)
            names.append((os.path.basename(path), '/dev/full'))
        run = attack.attacked(programs, **attack.TRACED_END,
                              refused=names, wrap=attack.TRACED)
        run.requires('/dev/full' not in attack.traced_opens(), 'the device was opened').judge()


@case('zdebug-bomb', '.zdebug_info', 0, needs=attack.needs())
@case('zdebug-bomb: SHF_COMPRESSED', '.debug_info', elf.SHF_COMPRESSED, needs=attack.needs())
def compressed_bomb(section, flags):
    judge_image(attacks.image_with_bomb('zdebug-bomb', section=section, flags=flags))


@case('two-below-limit', needs=attack.needs())
def two_below_limit():
    with attack.Programs() as programs:
        names = [f'below-limit-{number}' for number in (1, 2)]
        for name in names:
            programs.start(attacks.image_with_bomb(name, attacks.GIB - (4 << 20), '.debug_info', elf.SHF_COMPRESSED))
        attack.attacked(programs, refused=names).judge()


UNIT_COUNT = 5000
TRUNCATED_AFTER = (0, 0.0002, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016)
# Debug files, each with the seconds from when somebody opens it until it is truncated, by a process of the user.
TRUNCATER = '''
import ctypes, os, struct, sys, time
import silent_fuse
silent_fuse.become(int(sys.argv.pop(1)))
library = ctypes.CDLL(None, use_errno=True)
IN_OPEN = 0x20
descriptor = library.inotify_init()
delays = {library.inotify_add_watch(descriptor, path.encode(), IN_OPEN): (path, float(delay))
          for path, delay in (argument.rsplit("=", 1) for argument in sys.argv[1:])}
print("ready", flush=True)
while delays:
    events = os.read(descriptor, 65536)
    while events:
        watch, mask, cookie, length = struct.unpack_from("iIII", events)
        events = events[16 + length:]
        if watch in delays:
            path, delay = delays.pop(watch)
            time.sleep(delay)
            os.truncate(path, 4096)
time.sleep(1000)
'''


@case('truncate-while-read', needs=attack.needs())
def truncate_while_read():
    """Each debug file loses its pages at another moment after iaprof opened it, most of them while it is read."""
    with attack.Programs() as programs:
        names, watched = [], []
        for number, delay in enumerate(TRUNCATED_AFTER):
            name = f'truncated-{number}'
            path, checksum = attacks.debug_file(f'{name}.debug', UNIT_COUNT)
            programs.start(attacks.image_with_debug_link(name, os.path.basename(path), checksum))
            names.append(name)
            watched.append(f'{path}={delay}')
        programs.start(sys.executable, '-c', TRUNCATER, str(attack.USER), *watched, user=0, ready=True,
                       env={**os.environ, 'PYTHONPATH': os.path.dirname(os.path.abspath(__file__))})
        # The first is truncated before it can be read; when the others are is chance, and some may be read in time.
        attack.attacked(programs, refused=[names]).judge()


if __name__ == '__main__':
    main()
