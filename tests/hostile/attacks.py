# SPDX-License-Identifier: Apache-2.0
"""Programs that attack whoever profiles them: each function makes one of the unprivileged user's, and returns its
path."""
import contextlib
import os
import shutil
import signal
import stat
import struct
import sys
import tempfile
import zlib

import elf
import silent_fuse
from attack import GENERATED, PROGRAMS, SAMPLED, USER, attack_folder, give, own_name, sparse_file, user_program
from harness import Skip, own_mounts, read, wait_until, write
import processes

GIB = 1 << 30
DEBUG_LINK = '.gnu_debuglink'


def hostile_image(name):
    """(path to write it to, the image of SAMPLED)"""
    return os.path.join(attack_folder(), name), elf.Image(SAMPLED)


def without_debug_info(image):
    """Leaves the debug info away, so that it is looked for elsewhere."""
    image.sections = [section for section in image.sections if not section.name.startswith('.debug')]


def image_with_debug_link(name, target, checksum=0x12345678):
    """A program whose debug info is in another file of its folder."""
    path, image = hostile_image(name)
    without_debug_info(image)
    image.put(DEBUG_LINK, elf.debug_link(target, checksum), alignment=4)
    image.write(path)
    return give(path)


def image_with_sparse_debug_file(name):
    sparse_file(os.path.join(attack_folder(), f'{name}.debug'))
    return image_with_debug_link(name, f'{name}.debug')


def image_with_long_names(name, size=3 * GIB):
    """A section of names that claims this size, which is a hole of the file."""
    path, image = hostile_image(name)
    image.write(path, names_size=size)
    return give(path)


def image_with_many_sections(name, count=60000, size=60 << 20):
    """Sections whose names have no NUL: each has to be searched to the end of all of them."""
    path, image = hostile_image(name)
    image.write(path, names=b'a' * size, extra_names=[1 + i for i in range(count - len(image.sections) - 1)])
    return give(path)


def image_with_alternative_names(name, target, section='.zgnu_debugaltlink'):
    """A program whose functions' names are in the file that the section names."""
    path, image = hostile_image(name)
    without_debug_info(image)
    image.put('.debug_abbrev', elf.debug_abbreviations(elf.DW_FORM_GNU_STRP_ALT))
    image.put('.debug_info', elf.debug_unit(image.find('.text'), struct.pack('<I', 0)))
    image.put(section, elf.alternative_link(target))
    image.write(path)
    return give(path)


def image_with_names_in_fifo(name):
    fifo = os.path.join(attack_folder(), f'{name}.pipe')
    os.mkfifo(fifo)
    return image_with_alternative_names(name, give(fifo))


def image_with_bomb(name, unpacked=3 * GIB, section='.zdebug_info', flags=0):
    """A program whose .debug_info unpacks to this size: valid units, each of them of its code."""
    path, image = hostile_image(name)
    without_debug_info(image)
    unit = elf.debug_unit(image.find('.text'), b'unpacked\0')
    chunk = unit * ((1 << 20) // len(unit))
    pack = elf.compressed if flags else elf.gnu_compressed
    image.put('.debug_abbrev', elf.debug_abbreviations(elf.DW_FORM_STRING))
    image.put(section, pack(chunk, unpacked // len(chunk)), flags=flags, alignment=8)
    image.write(path)
    return give(path)


def debug_file(name, unit_count):
    """(path, checksum) of a debug file with many units, each of other addresses: nothing but its size makes it slow."""
    path, image = hostile_image(name)
    text = image.find('.text')
    without_debug_info(image)
    image.put('.debug_abbrev', elf.debug_abbreviations(elf.DW_FORM_STRING))
    units = [elf.Section('', address=text.address + i * text.size, size=text.size) for i in range(unit_count)]
    image.put('.debug_info', b''.join(elf.debug_unit(unit, b'unit\0') for unit in units))
    image.write(path)
    with open(path, 'rb') as file:
        return give(path), zlib.crc32(file.read())


GENERATED_ADDRESS = 0x10000000
GENERATED_NAME = own_name('jit')


def generated_program():
    """A program that runs code which it made, and waits for a line before it does."""
    if not os.path.exists(GENERATED):
        raise Skip('no code that this machine runs is known')
    return user_program(GENERATED_NAME, GENERATED)


def generated_begin(process):
    process.stdin.write(b'\n')
    process.stdin.flush()


def perf_map_path(programs, pid):
    """Where the perf map of a process is; it is removed with the programs."""
    path = f'/tmp/perf-{pid}.map'

    def remove():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    programs.callback(remove)
    return path


def large_perf_map(path, size=57_000_000):
    """Short lines, a function each, for what a line costs in memory; the first is the code that runs."""
    lines = [f'{GENERATED_ADDRESS:x} 1000 generated_loop\n']
    lines += [f'{0x20000000 + i:x} 1 f\n' for i in range(size // 13)]
    return give(write(path, ''.join(lines)))


def perf_map_attackers(programs, count, size=57_000_000):
    """Programs whose perf maps are one large file; returns the paths."""
    binary = generated_program()
    processes = [programs.start(binary, ready=True) for _ in range(count)]
    paths = [perf_map_path(programs, process.pid) for process in processes]
    large_perf_map(paths[0], size)
    for path in paths[1:]:
        os.link(paths[0], path)
    for process in processes:
        generated_begin(process)
    return paths


def cpu_ticks(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as file:
        return int(file.read().rpartition(')')[2].split()[11])


def needs_fuse():
    """The mount is in a mount namespace of this test, and so gone when this test is."""
    if not os.path.exists('/dev/fuse'):
        raise Skip('no /dev/fuse')
    own_mounts()


def mount_fuse(programs, kept):
    """Mounts a FUSE file system with a copy of SAMPLED, of which the pages in kept stay when its server goes silent.
    Returns (server, path of the file)."""
    # Not below this folder: who walks through that would wait as well.
    folder = tempfile.mkdtemp(prefix='iaprof-fuse-')
    programs.callback(shutil.rmtree, folder, ignore_errors=True)
    try:
        server = programs.enter_context(silent_fuse.mounted(folder, SAMPLED, kept, USER))
    except OSError as error:
        raise Skip(str(error)) from None
    programs.pids.add(server.pid)
    return server, os.path.join(folder, silent_fuse.FILE_NAME)


def silence(server):
    """From now on, the server answers nothing."""
    server.stdin.write(b'\n')
    server.stdin.flush()
    server.stdout.readline()


def start_silent_program(programs):
    """A program of a file system that answered until the program ran, and does not any more; returns its path."""
    text = elf.Image(SAMPLED).find('.text')
    server, path = mount_fuse(programs, (text.offset, text.offset + text.size))
    process = programs.start(path)
    # When it has used its CPU for some ticks, its code and stack are there.
    wait_until(lambda: cpu_ticks(process.pid) > 2, 'the program on FUSE')
    silence(server)
    return path


def waits_for_memory(process):
    """Whether a process that reads the memory of another one waits for a lock. Skips if it has read it."""
    if process.poll() is not None:
        raise Skip('the lock of an address space is not held here')
    with open(f'/proc/{process.pid}/stat', encoding='ascii') as file:
        return file.read().rpartition(')')[2].split()[0] == 'D'


def start_held_program(programs):
    """A program whose lock of its address space is held while a file system does not answer."""
    page = os.sysconf('SC_PAGE_SIZE')
    server, path = mount_fuse(programs, (page, 2 * page))
    process = programs.start(os.path.join(PROGRAMS, 'held_memory'), path, ready=True)
    # Until then the program cannot end.
    programs.callback(server.kill)
    silence(server)
    process.stdin.write(b'\n')
    process.stdin.flush()
    reader = programs.start('cat', f'/proc/{process.pid}/environ')
    wait_until(lambda: waits_for_memory(reader), 'a reader of the memory')
    return process


def start_on_unread_page(programs, program):
    """A program that refers to the second page of a file whose server does not answer any more; none of it was read."""
    page = os.sysconf('SC_PAGE_SIZE')
    server, path = mount_fuse(programs, (2 * page, 3 * page))
    process = programs.start(os.path.join(PROGRAMS, program), path, ready=True)
    # Until then nothing that waits for it ends.
    programs.callback(server.kill)
    silence(server)
    process.stdin.write(b'\n')
    process.stdin.flush()
    return process


def start_overlay_program(programs):
    """A program on an overlay of its user above a silent file system, executed in this mount namespace."""
    device = os.path.join(attack_folder(), 'fuse-node')
    os.mknod(device, stat.S_IFCHR | 0o666, os.stat('/dev/fuse').st_rdev)
    os.chmod(device, 0o666)
    text = elf.Image(SAMPLED).find('.text')
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'overlay_program.py')
    process = programs.start(sys.executable, script, device, SAMPLED, str(text.offset), str(text.offset + text.size),
                             str(USER), user=0, ready=True)
    server = [pid for pid in processes.descendants(process.pid) if pid != process.pid]
    for pid in server:
        programs.callback(kill, pid)
    wait_until(lambda: read(f'/proc/{process.pid}/comm').startswith(silent_fuse.FILE_NAME[:4])
               and cpu_ticks(process.pid) > 2, 'the program on the overlay')
    silence(process)
    return silent_fuse.FILE_NAME


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
