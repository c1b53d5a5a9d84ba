#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debug files from a server: the names that they give, and what is refused of servers that are hostile or broken."""
import contextlib
import functools
import os
import re
import shutil
import socket
import subprocess
import tempfile

from harness import (case, equal, iaprof, main, needs_program, needs_root, needs_sampling, read,
                     require, write)
from web_server import Server

PROGRAM = '''
#include <time.h>
volatile long sum;
__attribute__((noinline)) static void secret_name(void) { for (int i = 0; i < 100000; i++) sum += i; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 5) secret_name(); return 0; }
'''
NEEDS = [needs_root, needs_sampling, needs_program('gcc'), needs_program('objcopy'), needs_program('curl')]
BUILT = tempfile.TemporaryDirectory(prefix='iaprof-cli-')
SAMPLED = ['-s', 'cpu-stack:frequency=997,clock=software', '--scope', 'command', '-o', 'out']


@functools.cache
def built(name, text):
    """Makes a stripped program and its debug file. Returns its build id and the paths of both and of the source."""
    path = os.path.join(BUILT.name, name)
    write(f'{path}.c', text)
    subprocess.run(['gcc', '-g', '-O1', '-fno-omit-frame-pointer', '-Wl,--build-id', '-o', path, f'{path}.c'], check=True)
    notes = subprocess.run(['readelf', '-n', path], check=True, capture_output=True, text=True).stdout
    subprocess.run(['objcopy', '--only-keep-debug', path, f'{path}.debug'], check=True)
    subprocess.run(['objcopy', '--strip-all', path], check=True)
    return re.search('Build ID: ([0-9a-f]+)', notes).group(1), [path, f'{path}.debug', f'{path}.c']


def build(name, text=PROGRAM):
    """Copies a stripped program, its debug file and its source to this folder. Returns the build id."""
    build_id, paths = built(name, text)
    for path in paths:
        shutil.copy(path, '.')
    return build_id


def send_file(handler, path):
    handler.send_response(200)
    handler.send_header('Content-Length', str(os.path.getsize(path)))
    handler.end_headers()
    with open(path, 'rb') as file:
        shutil.copyfileobj(file, handler.wfile)


def rights_of(argument):
    """Yields user, capabilities and no_new_privs of curl processes with such an argument."""
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            status = read(f'/proc/{pid}/status')
            if status.startswith('Name:\tcurl\n') and argument in read(f'/proc/{pid}/cmdline'):
                yield (int(re.search(r'^Uid:\t\d+\t(\d+)', status, re.M)[1]),
                       int(re.search(r'^CapPrm:\t(\S+)', status, re.M)[1], 16), int(re.search(r'^NoNewPrivs:\t(\d)', status, re.M)[1]))


def profile(server, *arguments):
    """Profiles the program. Returns what was said, and the frames of the program's own code."""
    outcome = iaprof(*SAMPLED, *arguments, *(['--debuginfod', server.url + '/'] if server else []), './program')
    outcome.completes()
    lines = [line for line in read('out').splitlines() if line.startswith('program;')]
    require(lines, 'no sample of the program')
    return outcome.err, set(re.findall(r'secret_name|\[program\+0x[0-9a-f]+\]', '\n'.join(lines)))


def require_nameless(frames):
    require(frames and 'secret_name' not in frames, f'frames of the program: {frames}')


@case('a debug file of the server names functions, and is not requested without the option', needs=NEEDS)
def names():
    build_id, rights = build('program'), set()

    def answer(handler, server):
        rights.update(rights_of(f'buildid/{build_id}'))
        if build_id in handler.path:
            send_file(handler, 'program.debug')
        else:
            handler.send_error(404)
    with Server(answer) as server:
        require_nameless(profile(None)[1])
        equal(server.asked, [], 'requests')
        said, frames = profile(server)
        require('secret_name' in frames, f'frames: {frames}\n{said}')
        require(server.asked and all(re.fullmatch('/buildid/[0-9a-f]+/debuginfo', path) for path, _ in server.asked),
                f'requests: {server.asked}')
        # A user of DynamicUser=, no capability, no_new_privs.
        require(rights and all(61184 <= user <= 65519 and not capabilities and no_new for
                               user, capabilities, no_new in rights), f'rights of curl: {rights}')
        equal(sum(build_id in path for path, _ in server.asked), 1, 'requests for one file')


def wrong_build(handler, server):
    send_file(handler, 'other.debug')


def no_elf(handler, server):
    send_file(handler, 'program.c')


def huge(handler, server):
    handler.send_response(200)
    handler.send_header('Content-Length', str(1 << 40))
    handler.end_headers()
    handler.wfile.write(b'\x7fELF')


def endless(handler, server):
    handler.send_response(200)
    handler.end_headers()
    while not server.ending.is_set():
        handler.wfile.write(bytes(1 << 20))


def silent(handler, server):
    server.ending.wait()


def redirect(handler, server):
    handler.send_response(302)
    handler.send_header('Location', server.url + '/elsewhere')
    handler.end_headers()


def closed(handler, server):
    handler.connection.shutdown(socket.SHUT_RDWR)


for kind, text in ((wrong_build, 'belongs to another build'), (no_elf, 'is damaged or belongs to another build'),
                   (huge, 'debuginfod: .*larger than 512 MiB'), (endless, 'program: debuginfod: '), (silent, 'program: debuginfod: '),
                   (redirect, None), (closed, 'debuginfod: the server cannot be reached')):
    @case(f'a server whose answer is {kind.__name__.replace("_", " ")}: refused, and the run ends', kind, text, needs=NEEDS)
    def hostile(answer, reason):
        build('program')
        build('other', PROGRAM.replace('100000', '100001'))
        with Server(answer) as server:
            said, frames = profile(server)
            require(server.asked, 'no request')
            require(not any('elsewhere' in path for path, _ in server.asked), 'a redirection was followed')
        require_nameless(frames)
        if reason:
            require(re.search(reason, said), f'no {reason!r} in: {said}')


main()
