#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions without a size in programs of musl, whose assembler code has none, have their names up to the next symbol. TAP."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from cases import run_cases, skip_all

# musl's memcpy() is one of them.
SOURCE = """
#include <string.h>
static char from[1 << 16], to[1 << 16];
__asm__(".text\\n"
        ".type without_size, @function\\n.globl without_size\\nwithout_size:\\n"
        "mov $3000000, %ecx\\n1: dec %ecx\\njnz 1b\\nret\\n"
        ".type behind_it, @function\\n.globl behind_it\\nbehind_it:\\n"
        "mov $3000000, %ecx\\n1: dec %ecx\\njnz 1b\\nret\\n");
void without_size(void), behind_it(void);
volatile int forever = 1;
int main(void)
{
	while (forever) {
		for (int i = 0; i < 300; i++)
			memcpy(to, from, sizeof to - forever);
		without_size();
		behind_it();
	}
}
"""
EXPECTED = {'without_size', 'behind_it', 'memcpy'}
# The loops of main() itself.
POSSIBLE = EXPECTED | {'main'}
PATIENCE = 600  # s


def leaves(path):
    """-> the innermost user functions of samples"""
    folder = path.parent
    with subprocess.Popen([path]) as program:
        try:
            subprocess.run([os.environ['TEST_IAPROF'], '-q', '-p', str(program.pid), '-d', '1s', '-s', 'cpu-stack:kernel=no', '-k',
                            'folded', '-o', 'out'], check=True, cwd=folder, timeout=PATIENCE)
        finally:
            program.kill()
    return {line.rpartition(' ')[0].rpartition(';')[2] for line in (folder / 'out').read_text('utf-8').splitlines()}


def check(*arguments):
    with tempfile.TemporaryDirectory() as name:
        source, path = pathlib.Path(name) / 'program.c', pathlib.Path(name) / 'program'
        source.write_text(SOURCE, encoding='ascii')
        subprocess.run(['musl-gcc', '-O2', '-fno-builtin', *arguments, source, '-o', path], check=True)
        end, found = time.monotonic() + PATIENCE, set()
        while not EXPECTED <= found and time.monotonic() < end:
            found |= leaves(path)
    if not EXPECTED <= found <= POSSIBLE:
        raise AssertionError(f'functions: {sorted(found)}')


def main():
    if os.geteuid() or not shutil.which('musl-gcc') or os.uname().machine != 'x86_64':
        skip_all('root, x86-64 and musl-gcc are required')
    run_cases([('a static program', lambda: check('-static')), ('a dynamic program', check)])


main()
