#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples in code objects of vendors that the core does not know, from a plugin that is built against the installed
headers: an AMD code object as clang and lld build it, and an ELF in the form of a cubin. Each sample must join the
kernel that it was made for, at its offset, and the launch site of that kernel.

usage: test_code_objects.py IAPROF SOURCE BUILD
"""
import csv
import os
import re
import shutil
import subprocess
import sys

IAPROF, SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:])
DATA = os.path.join(SOURCE, 'tests/abi/code_objects')
sys.path.insert(0, DATA)
from cubin import cubin  # noqa: E402
from out_of_tree import case, cases, install, run, run_cases  # noqa: E402

AMD, CUBIN, EBPF = 224, 190, 247
LOADED = 0x7f0000000000
parts = {}


def build_plugins():
    prefix = install(SOURCE, BUILD)
    flags = run('pkg-config', f'--define-variable=prefix={prefix}', '--cflags', 'iaprof').split()
    for name in 'scripted', 'cubin':
        run('cc', '-O1', '-g', '-std=gnu11', '-Wall', '-Wextra', '-Werror', '-fPIC', '-fvisibility=hidden', '-shared',
            *flags, '-o', f'iaprof-{name}.so', os.path.join(DATA, f'iaprof-{name}.c'))
    run('cc', '-O1', '-std=c11', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-fPIC', '-fvisibility=hidden', '-shared', *flags,
        '-o', 'iaprof-ebpf.so', os.path.join(SOURCE, 'examples/iaprof-ebpf.c'))


def functions(path):
    """{name: (p_vaddr, size)}, from readelf."""
    text = run('readelf', '-sW', path)
    return {match[3]: (int(match[1], 16), int(match[2]))
            for match in re.finditer(r'^ *\d+: ([0-9a-f]+) +(\d+) FUNC .* (\S+)$', text, re.M)}


def build_images():
    for scale in 2, 3:
        path = f'amd{scale}.co'
        made = subprocess.run(['clang', '-x', 'cl', '-target', 'amdgcn-amd-amdhsa', '-mcpu=gfx90a', '-nogpulib', '-O1',
                               '-g', f'-DSCALE={scale}', '-o', path, os.path.join(DATA, 'kernels.cl')],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if not made.returncode:
            parts[path] = functions(path)
        for dwarf in 4, 5:
            run('cc', '-c', '-O1', f'-gdwarf-{dwarf}', '-ffunction-sections', f'-DSCALE={scale}', '-o', 'object.o',
                os.path.join(DATA, 'kernels.c'))
            path = f'cubin{scale}-{dwarf}'
            parts[path] = cubin('object.o', path)


class Script:
    """Records, and what becomes of the samples: {(launch site or '', function, offset): count}."""

    def __init__(self):
        self.lines, self.wanted, self.next = [], {}, 10

    def add(self, *line):
        self.lines.append(' '.join(map(str, line)))

    def sample(self, address, site, function, offset):
        self.next += 1
        self.add('sample', address, self.next)
        self.wanted[(site, function, offset)] = self.next

    def samples_of(self, kernel, name, address, size):
        """At the kernel's first and last bytes, and between."""
        self.add('launch', kernel)
        for offset in 0, size // 2, size - 1:
            self.sample(address + offset, f'launch_site_{kernel}', name, offset)

    def run(self, *options):
        with open('script', 'w', encoding='utf-8') as file:
            file.write('\n'.join(self.lines) + '\n')
        outcome = subprocess.run([IAPROF, '-s', './iaprof-scripted.so:script=script', *options, '-k',
                                  'folded:lines=yes,output=out.folded'], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, encoding='utf-8', check=True, timeout=1800)
        found = {}
        self.lines_found = set()
        with open('out.folded', encoding='utf-8') as file:
            for line in file:
                stack, count = line.rstrip('\n').rsplit(' ', 1)
                frames = stack.split(';')
                offset = int(frames[-1].removesuffix('_[g]'), 16)
                function, _, place = frames[-3].removesuffix('_[G]').partition(':')
                self.lines_found.add((function, place))
                site = '' if frames[2] == '-' else frames[2].partition(':')[0]
                key = site, function, offset
                found[key] = found.get(key, 0) + int(count)
        assert found == self.wanted, f'found {found}, not {self.wanted}'
        return outcome.stderr

    def has_lines(self, file, wanted):
        for name, lines in wanted.items():
            places = {place for function, place in self.lines_found if function == name}
            # Some code has no line of its own: line 0 in DWARF.
            assert places - {file} and places <= {file, *(f'{file}:{line}' for line in lines)}, f'{name}: {places}'

    def joins(self, *options):
        errors = self.run(*options)
        assert re.search(r' 0 ambiguous, 0 unmatched;', errors), errors
        return errors


def amd(script, number, path, loaded, stated, kernels=True):
    """A code object and both of its kernels, loaded at an address; stated: the address in its record."""
    script.add('object', number, AMD, stated, 0, path)
    for i, name in enumerate(('scale', 'add')):
        start, size = parts[path][name]
        kernel = 2 * (number - 1) + i
        if kernels:
            script.add('kernel', kernel or 9, number, loaded + start, size, name)
            script.samples_of(kernel or 9, name, loaded + start, size)


@case
def amd_code_object_with_its_load_address():
    script = Script()
    amd(script, 2, 'amd2.co', LOADED, LOADED)
    script.joins()
    script.has_lines('kernels.cl', {'scale': range(11, 15), 'add': range(16, 21)})


@case
def amd_code_object_with_the_address_of_its_text():
    script = Script()
    amd(script, 2, 'amd2.co', LOADED, LOADED + parts['amd2.co']['helper'][0])
    script.joins()


@case
def amd_code_object_whose_kernels_alone_have_addresses():
    script = Script()
    amd(script, 2, 'amd2.co', LOADED, 0)
    script.joins()


@case
def kernels_of_one_name_in_two_amd_code_objects():
    script = Script()
    amd(script, 2, 'amd2.co', LOADED, LOADED)
    amd(script, 3, 'amd3.co', LOADED + 0x10000, LOADED + 0x10000)
    script.joins()


@case
def kernels_of_one_amd_code_object_that_is_loaded_twice():
    script = Script()
    amd(script, 2, 'amd2.co', LOADED, LOADED)
    amd(script, 3, 'amd2.co', LOADED + 0x10000, LOADED + 0x11800)
    script.joins()


@case
def amd_code_object_without_symtab():
    run('llvm-strip', '--strip-all', '-o', 'stripped.co', 'amd2.co')
    parts['stripped.co'] = {name: parts['amd2.co'][name] for name in ('scale', 'add')}
    script = Script()
    script.add('object', 1, AMD, LOADED, 0, 'stripped.co')
    for name in 'scale', 'add':
        script.sample(LOADED + parts['stripped.co'][name][0] + 4, '[launch not seen]', name, 4)
    script.run()


@case
def a_function_of_several_kernels_goes_to_those_that_were_launched():
    script = Script()
    amd(script, 2, 'amd2.co', LOADED, LOADED)
    address = LOADED + parts['amd2.co']['helper'][0] + 8
    script.add('sample', address, 10)
    script.wanted |= {(f'launch_site_{kernel}', 'helper', 8): 5 for kernel in (2, 3)}
    errors = script.run()
    assert ' 10 ambiguous, 0 unmatched;' in errors, errors


@case
def a_kernel_record_wins_over_the_name_in_the_image():
    script = Script()
    start, size = parts['amd2.co']['add']
    script.add('object', 1, AMD, LOADED, 0, 'amd2.co')
    script.add('kernel', 4, 1, LOADED + start + 8, size - 8, 'second_entry')
    script.samples_of(4, 'second_entry', LOADED + start + 8, size - 8)
    script.joins()


@case
def a_kernel_of_another_name_keeps_its_launches_and_the_lines_of_its_image():
    script = Script()
    start, size = parts['amd2.co']['add']
    script.add('object', 1, AMD, LOADED, 0, 'amd2.co')
    script.add('kernel', 4, 1, LOADED + start, size, 'add(float*,int)')
    script.add('kernel', 5, 1, LOADED + parts['amd2.co']['scale'][0], parts['amd2.co']['scale'][1], 'scale')
    script.add('launch', 5)
    script.add('launch', 4)
    script.sample(LOADED + start + 4, 'launch_site_4', 'add', 4)
    script.joins()


def cubin_kernels(script, number, path):
    """Each section at a place of its own, in no order."""
    script.add('object', number, CUBIN, 0, 0, path)
    for i, name in enumerate(('scale', 'add')):
        kernel, address, size = 2 * (number - 1) + i, LOADED + 0x1000 * (10 * number - i), parts[path][name]
        script.add('kernel', kernel, number, address, size, name)
        script.samples_of(kernel, name, address, size)


def each_cubin(function):
    for dwarf in 4, 5:
        cases.append(lambda dwarf=dwarf: function(dwarf))
        cases[-1].__name__ = f'{function.__name__}_dwarf_{dwarf}'


@each_cubin
def cubin_with_the_relocations_of_its_decoder(dwarf):
    script = Script()
    cubin_kernels(script, 2, f'cubin2-{dwarf}')
    script.joins('--decoder', './iaprof-cubin.so')
    script.has_lines('kernels.c', {'scale': range(3, 8), 'add': range(16, 22)})


@case
def cubin_without_a_decoder():
    script = Script()
    cubin_kernels(script, 2, 'cubin2-5')
    script.joins()


@each_cubin
def kernels_of_one_name_in_two_cubins(dwarf):
    script = Script()
    cubin_kernels(script, 2, f'cubin2-{dwarf}')
    cubin_kernels(script, 3, f'cubin3-{dwarf}')
    script.joins('--decoder', './iaprof-cubin.so')


@case
def kernels_without_an_image_have_names_and_offsets():
    script = Script()
    script.add('object', 1, CUBIN, 0, 0, '-')
    for kernel, code_object in ((1, 1), (2, 0)):
        script.add('kernel', kernel, code_object, LOADED + 0x1000 * kernel, 0x100, 'same_name')
        script.add('launch', kernel)
        script.sample(LOADED + 0x1000 * kernel + 16 * kernel, f'launch_site_{kernel}', 'same_name', 16 * kernel)
    script.joins()


@case
def each_unmatched_sample_has_a_printed_reason():
    size = parts['cubin2-5']['add']
    gap = LOADED + 0x5000 - sum(parts['amd2.co']['helper'])
    wanted = {
        'between the functions of a code object': [f'object 1 {AMD} {gap} 0 amd2.co'],
        'no source announced code of their process': [],
        'outside all code objects and kernels of their process': [f'kernel 1 0 {LOADED} {size} k'],
        'a code object of their process could not be read': [f'object 1 {AMD} {LOADED} 0 nothing_here'],
        'a code object of their process has no address': [f'object 1 {CUBIN} 0 0 cubin2-5'],
        'loaded later, or unloaded before': [f'object 1 {CUBIN} 0 0 cubin2-5',
                                             f'kernel 1 1 {LOADED + 0x5000} {size} add', 'unload 1', 'later'],
    }
    for text, lines in wanted.items():
        script = Script()
        script.lines = list(lines)
        script.sample(LOADED + 0x5000, '', '[unknown device code]', LOADED + 0x5000)
        errors = script.run()
        assert re.search(rf': {script.next} samples unmatched: .*{text}', errors), errors


def named(script):
    """Kernels of one name in two images, launched from sites 2 and 3; launch 31 is from site 4."""
    for number in 2, 3:
        script.add('object', number, CUBIN, 0, 0, f'cubin{number}-5')
        script.add('kernel', number, number, 0, 0, 'add')
        script.add('launch', number)
    script.add('kernel', 4, 0, 0, 0, 'no_image')
    script.add('launch', 4, 31)


@case
def samples_that_name_a_kernel_and_an_offset_need_no_addresses():
    script = Script()
    named(script)
    size = parts['cubin2-5']['add']
    for kernel, name, offset in (2, 'add', 0), (2, 'add', size - 1), (3, 'add', 4), (4, 'no_image', 0x123456):
        script.next += 1
        script.add('named', kernel, offset, script.next, 0, 0)
        script.wanted[(f'launch_site_{kernel}', name, offset)] = script.next
    script.add('named', 3, 8, 5, 0, 31)
    script.wanted[('launch_site_4', 'add', 8)] = 5
    errors = script.joins()
    assert ' 2 code objects (2 images), 2 kernels' in errors, errors


@case
def a_sample_beyond_its_kernel_has_a_printed_reason():
    script = Script()
    named(script)
    script.add('named', 2, 0x1000, 7, 0, 0)
    script.wanted[('', '[unknown device code]', 0x1000)] = 7
    assert re.search('7 samples unmatched: .*ends before their offset', script.run())


REFUSED = ('records: unknown type', 'records: time is in the future', 'records: time is before the start of the run',
           'counter values: counter not declared', 'records: device not declared',
           'records: sent after the source had advanced past their time')


@case
def periods_jobs_and_refused_records():
    script = Script()
    named(script)
    script.lines += ['named 2 4 5 1000 0', 'named 2 4 5 1000 31', 'job 2 5000 31', 'job 3 70 0', 'refused', 'late 3']
    with open('script', 'w', encoding='utf-8') as file:
        file.write('\n'.join(script.lines) + '\n')
    outcome = subprocess.run([IAPROF, '-s', './iaprof-scripted.so:script=script', '--record', 'run.iaprof', '-k',
                              'csv:output=live.csv'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8',
                             check=True, timeout=600)
    run(IAPROF, '--replay', 'run.iaprof', '-k', 'csv:output=replay.csv')
    wanted = {('gpu-cycles', 'launch_site_2;-;add;waits;0x4'): 5000, ('gpu-cycles', 'launch_site_4;-;add;waits;0x4'): 5000,
              ('gpu-time', 'launch_site_4;-;add;waits;0x4'): 5000, ('gpu-time', 'launch_site_3;-;add'): 70}
    for path in 'live.csv', 'replay.csv':
        found = {}
        with open(path, newline='', encoding='utf-8') as file:
            for row in csv.DictReader(file):
                frames = [frame.partition('_[')[0] for frame in row['stack'].split(';')]
                if row['value_type'].startswith('gpu-'):
                    found[row['value_type'], ';'.join(frames[2:])] = int(row['value'])
        assert found == wanted, f'{path}: {found}'
    for reason in REFUSED:
        assert f'lost: scripted: {reason}: 1\n' in outcome.stderr, outcome.stderr


# What llvm-objdump prints for instructions of each name.
EBPF_NAMES = (('ld', r'r\d = -?\d+ ll'), ('ldx', r'r\d = \*\(.*'), ('stx', r'\*\(.* = r\d'), ('mov', r'r\d = (r\d|-?\d+)'),
              ('mul', r'r\d \*= .*'), ('add', r'r\d \+= .*'), ('jsgt', 'if .* s> .* goto .*'), ('exit', 'exit'))


@case
def the_decoder_of_the_examples_names_the_instructions_that_begin_at_an_offset():
    run('clang', '-target', 'bpf', '-O1', '-c', '-o', 'ebpf.o', os.path.join(DATA, 'ebpf.c'))
    script = Script()
    script.lines = [f'object 1 {EBPF} 0 0 ebpf.o', 'kernel 1 1 0 0 scale', 'launch 1']
    wanted, end = {}, 0
    for match in re.finditer(r'^ +(\d+):\t[0-9a-f ]+\t(.*)$', run('llvm-objdump', '-d', 'ebpf.o'), re.M):
        offset, text = 8 * int(match[1]), re.sub(' <.*', '', match[2])
        wanted[offset] = next(name for name, pattern in EBPF_NAMES if re.fullmatch(pattern, text))
        end = offset + 8
    assert set(wanted.values()) == {name for name, _ in EBPF_NAMES} and len(wanted) < end // 8, wanted
    script.lines += [f'named 1 {offset} 1 0 0' for offset in range(0, end, 8)]
    with open('script', 'w', encoding='utf-8') as file:
        file.write('\n'.join(script.lines) + '\n')
    run(IAPROF, '-q', '-s', './iaprof-scripted.so:script=script', '--decoder', './iaprof-ebpf.so', '-k', 'folded:output=ebpf.folded')
    found = {}
    with open('ebpf.folded', encoding='utf-8') as file:
        for line in file:
            frames = [frame.removesuffix('_[g]').removesuffix('_[G]') for frame in line.rsplit(' ', 1)[0].split(';')]
            found[int(frames[-1], 16)] = frames[-3] if frames[-4] == 'scale' else None
    # The second half of a load of 64 bits is not an instruction.
    assert found == {offset: wanted.get(offset) for offset in range(0, end, 8)}, (found, wanted)


@case
def what_refers_to_an_undeclared_kernel_is_reported():
    with open('script', 'w', encoding='utf-8') as file:
        file.write('launch 77\nnamed 78 0 5 0 0\njob 79 70 0\n')
    outcome = subprocess.run([IAPROF, '-s', './iaprof-scripted.so:script=script', '-k', 'csv:output=unknown.csv'],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=True, timeout=600)
    assert 'device samples: 1 launched kernel never announced' in outcome.stderr, outcome.stderr
    assert re.search('5 samples unmatched: their GPU kernel was not announced', outcome.stderr), outcome.stderr
    with open('unknown.csv', newline='', encoding='utf-8') as file:
        found = {row['value_type']: (row['stack'], row['value']) for row in csv.DictReader(file)}
    assert '[unknown device code]' in found['gpu-time'][0] and found['gpu-time'][1] == '70', found


def build():
    build_plugins()
    build_images()


def missing(function):
    if 'ebpf.o' in function.__code__.co_consts and not (shutil.which('clang') and shutil.which('llvm-objdump')):
        return 'no clang or llvm-objdump here'
    needs_amd = 'amd2.co' in function.__code__.co_consts or 'amd' in function.__name__
    return 'clang does not build for amdgcn here' if needs_amd and 'amd2.co' not in parts else None


run_cases('launch sites are resolved in the process table', ('cc', 'pkg-config', 'readelf', 'llvm-strip'), build, missing)
