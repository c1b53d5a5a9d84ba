#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The decoder cuda-sass, compared with recorded disassembly. No CUDA is needed.

usage: test_cuda_sass.py SOURCE
"""
import ctypes
import os
import random
import struct
import sys

SOURCE = os.path.abspath(sys.argv[1])
from out_of_tree import case, run, run_cases  # noqa: E402

CUDA = os.path.join(SOURCE, 'examples/cuda')
RECORDED = os.path.join(SOURCE, 'tests/abi/code_objects/sass_lines.txt')
FLAGS = ('-std=gnu17', '-g', '-O1', '-I' + os.path.join(SOURCE, 'include'))
FILES = [os.path.join(CUDA, 'sass', name) for name in ('sass.c', 'flow.c')]
RESULT, OPERANDS, PIPELINE = 1, 2, 4


def build():
    run('cc', *FLAGS, '-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-o', 'dump',
        os.path.join(CUDA, 'sass/dump.c'), *FILES)
    run('cc', *FLAGS, '-fPIC', '-shared', '-o', 'plugin.so', os.path.join(CUDA, 'iaprof-cuda-sass.c'), *FILES)


def dump(lines, *arguments):
    text = ''.join(f'{sm} {offset:x} {word & (1 << 64) - 1:x} {word >> 64:x}\n' for sm, offset, word in lines)
    return run('./dump', *arguments, input=text).splitlines()


def recorded():
    """-> [(architecture, word, text)]"""
    found = []
    with open(RECORDED, encoding='utf-8') as file:
        for line in file:
            if not line.startswith('#'):
                sm, low, high, text = line.rstrip('\n').split(' ', 3)
                found.append((int(sm), int(high, 16) << 64 | int(low, 16), text))
    return found


@case
def recorded_instructions_of_each_architecture_have_the_recorded_text():
    lines = recorded()
    assert {sm for sm, _, _ in lines} == {75, 80, 86, 89, 90, 100, 120}
    for (sm, _, text), decoded in zip(lines, dump([(sm, 0, word) for sm, word, _ in lines])):
        name, _, _, found = decoded.split('\t')
        assert found == text, f'sm_{sm}: {found!r} instead of {text!r}'
        assert name in text, decoded


@case
def instructions_of_other_architectures_have_no_name():
    for line in dump([(sm, 0, word) for sm in (70, 99, 0) for _, word, _ in recorded()[:50]]):
        assert line.startswith('?\t0\t') and line.endswith('\t'), line


@case
def random_and_damaged_words_are_decoded_in_bounds():
    chosen = random.Random(1)
    words = [(90, 1 << 40, chosen.getrandbits(128)) for _ in range(3000)]
    for sm, word, _ in recorded():
        for count in 1, 2, 6, 30:
            for _ in range(count):
                word ^= 1 << chosen.randrange(128)
            words.append((sm, chosen.getrandbits(64), word))
    found = dump(words)
    assert len(found) == len(words)
    for line in found:
        _, _, waits, text = line.split('\t')
        assert len(waits) < 32 and len(text) < 256 and text.isprintable() and text == text.strip(), line
    dump([(100, 0, word) for _, _, word in words], 'kernel')


def control(word, write=7, read=7, waits=0, stall=1):
    return word & ~(((1 << 17) - 1) << 105) | stall << 105 | write << 110 | read << 113 | waits << 116


# sm_75: the offset of a branch is relative to the next instruction.
LDG, STG = 0x000ea200001ee9000000000002007381, 0x0001e200001069000000000002007386
NOP, EXIT = 0x000fc000000000000000000000007918, 0x000fea0003800000000000000000794d


def branch(number, target, predicate=7):
    offset = (target - number - 1) * 16
    return 0x000fea00038000000000000000000947 & ~0xf000 | predicate << 12 | (offset & (1 << 50) - 1) << 32


def producers(words, name='kernel', sm=75):
    found = []
    for line in dump([(sm, 0, word) for word in words], name):
        *entries, end = line.split(';')
        found.append(([(int(offset, 16) // 16, int(wait), int(token))
                       for offset, wait, token in map(str.split, entries)], end == 'incomplete'))
    return found


@case
def a_wait_has_what_set_its_barrier_on_every_path():
    found = producers([control(LDG, write=2), control(NOP), branch(2, 5, predicate=0), control(STG, write=2, read=3),
                       control(NOP, waits=1 << 4), control(NOP, waits=1 << 2 | 1 << 3), control(NOP, waits=1 << 2), EXIT])
    assert found[5] == ([(0, RESULT, 2), (3, RESULT, 2), (3, OPERANDS, 3)], False), found[5]
    assert found[6] == ([], False), found[6]
    assert found[4] == ([], False), found[4]


@case
def a_wait_in_a_loop_has_what_the_previous_iteration_set():
    found = producers([control(NOP), control(NOP, waits=1), control(LDG, write=0), branch(3, 1, predicate=0), EXIT])
    assert found[1] == ([(2, RESULT, 0)], False), found[1]


@case
def the_start_of_a_function_that_is_called_is_incomplete():
    words = [control(NOP, waits=1), EXIT]
    assert producers(words)[0] == ([], False)
    assert producers(words, '$kernel$function')[0] == ([], True)


@case
def code_behind_an_unknown_branch_is_incomplete():
    found = producers([control(LDG, write=0), EXIT, control(NOP, waits=1), EXIT])
    assert found[2] == ([], True), found[2]


@case
def a_counted_wait_leaves_out_the_last_ones():
    for word, text, wanted in ((0x000080400000791a, 'DEPBAR.LE SB0, 0x1', [0, 1]),
                               (0x000080000000791a, 'DEPBAR.LE SB0, 0x0', [0, 1, 2])):
        word |= 0x000fc80000000000 << 64
        assert dump([(80, 0, word)])[0].split('\t')[3] == text
        found = producers([control(LDG, write=0)] * 3 + [word, control(NOP, waits=1), EXIT], sm=80)
        assert found[3] == ([(number, RESULT, 0) for number in wanted], False), found[3]
        left = [] if text.endswith('0x0') else [(2, RESULT, 0)]
        assert found[4] == (left, False), found[4]


@case
def a_set_of_barriers_is_waited_for():
    word = 0x000fce0000000000 << 64 | 0x000090040000791a
    assert dump([(80, 0, word)])[0].split('\t')[3] == 'DEPBAR.LE SB1, 0x0, {2}'
    found = producers([control(LDG, write=2), control(LDG, write=1), word, control(NOP, waits=6), EXIT], sm=80)
    assert found[2] == ([(0, RESULT, 2), (1, RESULT, 1)], False), found[2]
    assert found[3] == ([], False), found[3]


@case
def a_stall_count_has_what_wrote_a_register_that_is_read():
    move, add = 0x000fc60000000f00391fcb8e00097802, 0x000fcc0007ffe0ff7fe0000009057810
    other = add & ~(0xff << 24) | 8 << 24
    texts = [line.split('\t')[3] for line in dump([(80, 0, word) for word in (move, add, other)])]
    assert texts == ['MOV R9, 0x391fcb8e', 'IADD3 R5, R9, 0x7fe00000, RZ', 'IADD3 R5, R8, 0x7fe00000, RZ'], texts
    pipeline = [(0, PIPELINE, 0)]
    for words, wanted in (([control(move, stall=4), control(add)], pipeline),
                          ([control(move, stall=1), control(add)], []),
                          ([control(move, stall=4), control(other)], []),
                          ([control(move, stall=4, write=0), control(add)], []),
                          ([control(move, stall=1), control(other, stall=3), control(add)], pipeline),
                          ([control(move, stall=8), control(other, stall=3), control(add)], [])):
        found = producers([*words, EXIT], sm=80)[len(words) - 1]
        assert found == (wanted, False), (words, found)


class Code(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('pad', ctypes.c_uint32), ('bytes', ctypes.c_char_p),
                ('byte_count', ctypes.c_uint64), ('image', ctypes.c_char_p), ('image_size', ctypes.c_uint64),
                ('name', ctypes.c_char_p)]


class Instruction(ctypes.Structure):
    _fields_ = [('struct_size', ctypes.c_uint32), ('size', ctypes.c_uint32), ('group', ctypes.c_uint32),
                ('flags', ctypes.c_uint32), ('mnemonic', ctypes.c_char_p), ('waits', ctypes.c_char * 32),
                ('text', ctypes.c_char * 256)]


def image(version, flags, machine=190):
    return struct.pack('<4sBBBBB7xHHIQQQIHHHHHH', b'\x7fELF', 2, 1, 1, 0x41, version, 2, machine, 1, 0, 0, 0, flags, 64,
                       0, 0, 0, 0, 0)


@case
def the_plugin_reads_the_architecture_of_both_versions_of_images():
    plugin = ctypes.CDLL('./plugin.so')
    # struct iaprof_plugin: six numbers, three texts, the options, then the operations of sources, sinks and decoders.
    plugin.iaprof_plugin_register.restype = ctypes.POINTER(ctypes.c_void_p * 14)
    operations = ctypes.cast(plugin.iaprof_plugin_register().contents[11], ctypes.POINTER(ctypes.c_void_p * 9))
    code_open, code_close, decode = operations.contents[1:4]
    code_open = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(code_open)
    code_close = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code_close)
    decode = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3, ctypes.c_uint64, ctypes.c_void_p)(decode)
    code = b''.join(struct.pack('<QQ', word & (1 << 64) - 1, word >> 64) for word in (LDG, EXIT)) + b'x'
    for header, known in ((image(8, 0x0a005a04), True), (image(7, 0x00500550), True), (image(8, 0x0a006302), False),
                          (image(8, 0x0a005a04, machine=62), False), (image(8, 0x0a005a04)[:40], False), (None, False)):
        description = Code(ctypes.sizeof(Code), 0, code, len(code), header, len(header or b''), b'kernel')
        handle = ctypes.c_void_p()
        result = code_open(None, None, ctypes.addressof(description), ctypes.addressof(handle))
        assert (result == 0) == known, (header, result)
        if not known:
            continue
        instruction = Instruction(ctypes.sizeof(Instruction))
        assert decode(None, None, handle, 16, ctypes.addressof(instruction)) == 0
        assert (instruction.mnemonic, instruction.text, instruction.size) == (b'EXIT', b'EXIT', 16)
        for offset in 8, 32, 48, (1 << 64) - 16:
            assert decode(None, None, handle, offset, ctypes.addressof(instruction)) < 0, offset
        code_close(None, None, handle)


run_cases(None, ('cc',), build)
