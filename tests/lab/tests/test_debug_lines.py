#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: seconds 900
# lab: runtime
# lab: covers engine/symbolizer/device/** plugins/decoder-intel-gt/** lib/elf/**
# lab: covers tests/lab/debug_lines/** tests/lab/level_zero/kernels/**
"""Lines of GPU code in whatever Intel's compiler writes: it leaves out names of relocations at random. TAP.

Each build is compared with one of the same source by the same compiler, which has all names because memory is never
freed (level_zero/kernels/keep_memory.c). At least 99 % of the instructions that have a line there have it in each build,
and none has another.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE)]

from harness.cases import check, equal, run

BUILD = pathlib.Path(os.environ['LAB_BUILD'])
DESCRIBE = BUILD / 'tests/unit/device/describe-code'
DECODER = BUILD / 'plugins/decoder-intel-gt/iaprof-intel-gt.so'

PRODUCTS = 'bmg', 'lnl-m', 'ptl', 'pvc', 'dg2', 'cri'
BUILDS = 10
SOURCES = 'transformer', 'called', 'called-slow', 'many'

# By the kernel's number: several of one kind, some of which have the same code and the same size.
BODIES = [
    'float sum = 0;\n\tfor (int i = 0; i < n; i++)\n\t\tsum += v[i * {0}];\n\tv[g] = sum;',
    'v[g] = v[g * {0}] * 1.5f + 2.0f;\n\tv[g + {0}] = sqrt(v[g]);',
    'v[g] = called(v[g], n) * {0}.0f;',
    '__local float t[64];\n\tint l = get_local_id(0);\n\tt[l] = v[g];\n\tbarrier(CLK_LOCAL_MEM_FENCE);\n\tv[g] = t[(l + {0}) & 63];',
    'if (v[g] > {0}.0f)\n\t\tv[g] = sqrt(v[g]);\n\telse\n\t\tv[g] = -v[g];',
    'v[g] = {0}.0f;',
]
MANY = '''__attribute__((noinline)) float called(float x, int n)
{
	float sum = x;
	for (int i = 0; i < n; i++)
		sum = sum * 1.25f + native_exp(-sum);
	return sum;
}
''' + ''.join(f'''
__kernel void kernel_{number}(__global float *v, int n)
{{
	int g = get_global_id(0);
	{BODIES[number % len(BODIES)].format(number + 1)}
}}
''' for number in range(60))


def describe(path):
    """Nameless relocations, refused units, and the frames of each instruction, by section and offset."""
    output = subprocess.run([DESCRIBE, path], check=True, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, 'INTEL_GT_PLUGIN': str(DECODER)}).stdout.splitlines()
    _, _, unnamed, refused = output[0].split('\t')
    frames = {}
    for line in output[1:]:
        section, offset, *rest = line.split('\t')
        frames[section, offset] = rest
    return int(unnamed), int(refused), frames


def has_line(frames):
    return not frames[-1].endswith(':0')


def product_case(product):
    def case():
        folder = pathlib.Path.cwd()
        (folder / 'many.cl').write_text(MANY, encoding='ascii')
        subprocess.run([HERE / 'guest/in-chroot', HERE / 'debug_lines/compile', folder, product, str(BUILDS)], check=True)
        lines = found = defects = 0
        for source in SOURCES:
            unnamed, refused, wanted = describe(folder / f'{source}.{product}.intact.bin')
            equal((unnamed, refused), (0, 0), f'{source}: defects of the intact build')
            check(sum(map(has_line, wanted.values())) > 0.9 * len(wanted), f'{source}: the intact build has few lines')
            for build in range(1, BUILDS + 1):
                unnamed, refused, frames = describe(folder / f'{source}.{product}.{build}.bin')
                defects += unnamed
                equal(frames.keys(), wanted.keys(), f'{source}, build {build}: instructions')
                for place, expected in wanted.items():
                    if has_line(expected):
                        lines += 1
                        found += has_line(frames[place])
                    if has_line(frames[place]):
                        equal(frames[place], expected, f'{source}, build {build}, {place}')
                check(refused or all(has_line(frames[place]) for place in wanted if has_line(wanted[place])),
                      f'{source}, build {build}: lines are missing that no refused unit explains')
        check(defects, 'the compiler has no defect any more: this test shows nothing')
        check(found >= 0.99 * lines, f'{found} of {lines} instructions have their line')
        return f'{found} of {lines} lines, in spite of {defects} relocations that name nothing'
    return case


sys.exit(run([(product, product_case(product)) for product in PRODUCTS], long=set(PRODUCTS) - {'bmg', 'pvc'}))
