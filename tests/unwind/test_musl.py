#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions without a size in programs of musl, whose assembler code has none, have their names up to the next symbol. TAP."""
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from cases import PATIENCE, run_cases, samples, skip_all

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


def check(*arguments):
    with tempfile.TemporaryDirectory() as name:
        source, path = pathlib.Path(name) / 'program.c', pathlib.Path(name) / 'program'
        source.write_text(SOURCE, encoding='ascii')
        subprocess.run(['musl-gcc', '-O2', '-fno-builtin', *arguments, source, '-o', path], check=True)
        found, end = set(), time.monotonic() + PATIENCE
        with subprocess.Popen([path]) as program, contextlib.closing(samples(program.pid, 'cpu-stack:kernel=no,')) as intervals:
            for rows in intervals:
                found |= {stack.rpartition(';')[2] for stack, _ in rows}
                if EXPECTED <= found or time.monotonic() > end:
                    break
            program.kill()
    if not EXPECTED <= found <= POSSIBLE:
        raise AssertionError(f'functions: {sorted(found)}')


def main():
    if os.geteuid() or not shutil.which('musl-gcc') or os.uname().machine != 'x86_64':
        skip_all('root, x86-64 and musl-gcc are required')
    run_cases([('a static program', lambda: check('-static')), ('a dynamic program', check)])


main()
