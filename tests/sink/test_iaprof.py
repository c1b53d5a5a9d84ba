#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink iaprof: its lines, by how the profile was made; source replay makes the same profile of them. TAP."""
import collections
import os
import pathlib
import re
import subprocess
import sys

from stacks import (COUNT, FUNCTION, INSTRUCTION, LINUX_KERNEL, LOST, NANOSECONDS, OFFSET, PROGRAM, REASON, SEPARATOR,
                    SOURCE, UNKNOWN, Frame, equal, gpu_stack, run_cases, write_profile)

REASONS = ['active', 'control', 'pipestall', 'send', 'dist_acc', 'sbid', 'sync', 'inst_fetch', 'other', 'tdr']
PRODUCER = 4


def write(types, stacks, lost=()):
    path = write_profile('iaprof', pathlib.Path('out.txt'), types, stacks, lost)
    return path.read_text(encoding='utf-8')


def iaprof(*arguments, **options):
    return subprocess.run([os.environ['TEST_IAPROF'], *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding='utf-8', check=True, **options)


def stalls(line):
    """-> {folded stack: count}, by the rules of the format alone"""
    strings, kernel, found = {'0': '[unknown]'}, None, collections.Counter()
    for fields in (text.split('\t') for text in line.splitlines()):
        if fields[0] == 'string':
            equal(len(fields), 3, 'fields of a string')
            equal(fields[1] in strings, False, 'a string twice')
            strings[fields[1]] = fields[2]
        elif fields[0] == 'kernel':
            equal(len(fields), 7, 'fields of a kernel')
            kernel = [strings[fields[2]], fields[3], *([strings[fields[4]]] if fields[4] != '0' else []), '-',
                      *([strings[fields[5]] + '_[G]'] if fields[5] not in '01' else []), strings[fields[6]] + '_[G]']
        elif fields[0] == 'eustall':
            equal(len(fields), 3 + len(REASONS), 'fields of stalls')
            for reason, count in zip(REASONS, fields[3:]):
                if int(count):
                    instruction = [strings[fields[2]] + '_[g]'] if fields[2] != '0' else []
                    found[';'.join([*kernel, *instruction, f'{reason}_[g]', f'{fields[1]}_[g]'])] += int(count)
        else:
            assert fields[0] in ('interval', 'metric') and len(fields) == 3, fields
    return found


def folded(path):
    found = collections.Counter()
    for line in iaprof('-q', '--replay', str(path), '-k', 'folded').stdout.splitlines():
        stack, value = line.rsplit(' ', 1)
        found[stack] += int(value)
    return found


def lines_are_those_of_the_format():
    text = write([COUNT], [(0, 70, gpu_stack(7, 'attention', 'dpas', 'sbid', 0x1f0)),
                           (0, 5, gpu_stack(7, 'attention', 'dpas', 'active', 0x1f0)),
                           (0, 20, gpu_stack(7, 'attention', 'send.ugm load', 'send', 0x20)),
                           (0, 3, gpu_stack(8, 'softmax', 'math', 'tdr', 0))])
    equal(text, 'string\t1\t[unknown file]\n'
                'string\t2\tmodel\nstring\t3\tmain;attention\nstring\t4\ttile.cl\nstring\t5\tmatmul\nstring\t6\tdpas\n'
                'string\t7\tsend.ugm load\nstring\t8\tmain;softmax\nstring\t9\tmath\n'
                'interval\t0\t5.000001\n'
                'kernel\t0x0\t2\t7\t3\t4\t5\n'
                'eustall\t0x20\t7\t0\t0\t0\t20\t0\t0\t0\t0\t0\t0\n'
                'eustall\t0x1f0\t6\t5\t0\t0\t0\t0\t70\t0\t0\t0\t0\n'
                'kernel\t0x0\t2\t8\t8\t4\t5\n'
                'eustall\t0x0\t9\t0\t0\t0\t0\t0\t0\t0\t0\t0\t3\n', 'stream')


def each_reason_has_its_column():
    text = write([COUNT], [(0, 10 + i, gpu_stack(7, 'f', 'dpas', reason, 16)) for i, reason in enumerate(REASONS)])
    equal(text.splitlines()[-1], 'eustall\t0x10\t6\t' + '\t'.join(str(10 + i) for i in range(10)), 'stalls')


def what_is_not_known_is_0_and_the_file_1():
    text = write([COUNT], [(0, 4, [Frame('p', PROGRAM, pid=1), Frame('-', SEPARATOR),
                                   Frame('[unknown]', FUNCTION, UNKNOWN), Frame('sbid', REASON)])])
    equal(text.splitlines()[-2:], ['kernel\t0x0\t2\t1\t0\t1\t0', 'eustall\t0x0\t0' + '\t0' * 5 + '\t4' + '\t0' * 4],
          'lines')


def others_are_counted_and_reported():
    pathlib.Path('mixed').write_text('a;b 5\na;c 6\nm;7;f;-;g.cl_[G];k_[G];i_[g];new_reason_[g];0x10_[g] 9\n',
                                     encoding='ascii')
    run = iaprof('--replay', 'mixed', '-k', 'iaprof')
    equal(run.stdout.splitlines()[-1], 'eustall\t0x10\t6' + '\t0' * 8 + '\t9\t0', 'stalls of a new reason')
    assert re.search(r'warning: iaprof: 2 values skipped: .* first type: samples\)$',
                     run.stderr, re.M), run.stderr
    assert re.search(r'warning: iaprof: 9 stalls counted as "other": .* \(first: new_reason\)$',
                     run.stderr, re.M), run.stderr


def names_are_made_safe():
    names = ['tab\tbed', 'new\nline', 'a;b', '\x1b[31m', '🔥', 'x' * 10000, b'\xff\xfe', ' blank ', '\u2028',
             'return\r']
    stacks = [(0, 1 + i, [Frame(name, PROGRAM, pid=7), Frame(name), Frame('-', SEPARATOR), Frame(name, SOURCE),
                          Frame(name, FUNCTION), Frame(name, INSTRUCTION), Frame('sbid', REASON),
                          Frame('0x10', OFFSET, offset=16)]) for i, name in enumerate(names)]
    found = stalls(write([COUNT], stacks))
    equal(sorted(found.values()), list(range(1, 1 + len(names))), 'counts')
    for stack in found:
        equal(stack.count(';'), 8, f'frames of {stack[:100]!r}')
        assert not re.search('[\x00-\x1f\x7f\u2028]', stack), stack


def marks_and_what_is_waited_for():
    found = stalls(write([COUNT], [
        (0, 6, [Frame('p', PROGRAM, pid=1), Frame('main'), Frame('ioctl', LINUX_KERNEL), Frame('-', SEPARATOR),
                Frame('[ambiguous]', SEPARATOR), Frame('k', FUNCTION), Frame('inlined', FUNCTION, 1),
                Frame('add', INSTRUCTION), Frame('load', INSTRUCTION, PRODUCER), Frame('sbid', REASON),
                Frame('0x10', OFFSET, offset=16)])]))
    equal(found, {'p;1;main;ioctl_[k];[ambiguous];-;k_[G];add_[g];sbid_[g];0x10_[g]': 6}, 'stalls')
    equal(folded('out.txt'), {'p;1;main;ioctl_[k];-;[ambiguous];k_[G];add_[g];sbid_[g];0x10_[g]': 6}, 'the replay')


def lost_amounts_are_metrics():
    text = write([COUNT], [(0, 1, gpu_stack(7, 'f', 'i', 'sbid', 0)),
                           (0, 9, [Frame('[lost]', LOST), Frame('xe-eustall', LOST), Frame('buffer full', LOST)])],
                 [(9, 'xe-eustall', 'buffer full'), (2, 'a source', 'tab\there')])
    equal(text.splitlines()[-2:], ['metric\tlost xe-eustall buffer full\t9', 'metric\tlost a_source tab?here\t2'],
          'lost')
    again = iaprof('--replay', 'out.txt', '-k', 'iaprof')
    equal(again.stdout.splitlines()[-2:], text.splitlines()[-2:], 'lost in the replay')
    assert 'lost: xe-eustall: buffer full: 9' in again.stderr, again.stderr


def a_profile_without_stalls_has_the_first_line():
    equal(write([NANOSECONDS], [(0, 600, [Frame('one', PROGRAM), Frame('main')])]),
          'string\t1\t[unknown file]\ninterval\t0\t5.000001\n', 'stream')


def the_replay_has_the_same_stacks_and_totals():
    reasons = REASONS * 7
    stacks = [(0, 3 * i + 1, gpu_stack(100 + i % 3, f'caller{i % 5}', f'send.{i % 4}', reasons[i], 16 * (i // 10)))
              for i in range(len(reasons))]
    text = write([COUNT], stacks)
    equal(sum(stalls(text).values()), sum(value for _, value, _ in stacks), 'total')
    equal(folded('out.txt'), stalls(text), 'the replay')
    equal(stalls(iaprof('-q', '--replay', 'out.txt', '-k', 'iaprof').stdout), stalls(text), 'the stream of the replay')


def each_interval_has_its_own():
    head = 'string\t1\t[unknown file]\nstring\t2\tp\nstring\t3\tmain\nstring\t4\tk\nstring\t5\tadd\n'
    kernel = 'kernel\t0x0\t2\t7\t3\t1\t4\n'
    stream = head
    for i in range(5):
        stream += f'interval\t{i}\t{100 + i}.000000\n'
        if i != 2:
            stream += kernel + f'eustall\t0x10\t5\t{i + 1}' + '\t0' * 9 + '\n'
    pathlib.Path('intervals').write_text(stream, encoding='ascii')
    equal(iaprof('-q', '-i', '1s', '--replay', 'intervals', '-k', 'iaprof').stdout, stream, 'the stream of the replay')
    equal(folded('intervals'), {'p;7;main;-;k_[G];add_[g];active_[g];0x10_[g]': 1 + 2 + 4 + 5}, 'the whole')


def a_string_defined_again_counts_from_there():
    """Strings of a kernel may change below it, by whichever of its ids; and each stall has those of its time."""
    counts = '\t1' + '\t0' * 9 + '\n'
    stream = ('string\t2\tp\nstring\t3\tmain\nstring\t4\tk\nstring\t6\tf.cl\ninterval\t0\t100.000000\n'
              'kernel\t0x0\t2\t7\t3\t6\t4\neustall\t0x10\t5' + counts)
    expected = ['p;7;main;-;f.cl_[G];k_[G];active_[g];0x10_[g]']
    for number, text, stack in ((2, 'q', 'q;7;main;-;f.cl_[G];k_[G];'), (3, 'a;b', 'q;7;a;b;-;f.cl_[G];k_[G];'),
                                (6, 'g.cl', 'q;7;a;b;-;g.cl_[G];k_[G];'), (4, 'l', 'q;7;a;b;-;g.cl_[G];l_[G];'),
                                (5, 'add', 'q;7;a;b;-;g.cl_[G];l_[G];add_[g];')):
        stream += f'string\t{number}\t{text}\neustall\t0x10\t5' + counts
        expected.append(stack + 'active_[g];0x10_[g]')
    pathlib.Path('again').write_text(stream, encoding='ascii')
    equal(folded('again'), {stack: 1 for stack in expected}, 'stacks')


def a_stack_that_is_cut_keeps_its_mark():
    """Of very many fields only those that fit, and whether the last one is the mark."""
    for last, mark in (('[ambiguous]', '-;[ambiguous];k_[G]'), ('x[ambiguous]', '-;k_[G]'), ('x', '-;k_[G]')):
        pathlib.Path('deep').write_text(
            f'string\t2\tp\nstring\t3\t{"f;" * 100000}{last}\nstring\t4\tk\ninterval\t0\t100.000000\n'
            'kernel\t0x0\t2\t7\t3\t0\t4\n' + ('eustall\t0x10\t5\t1' + '\t0' * 9 + '\n') * 2, encoding='ascii')
        (stack, value), = folded('deep').items()
        found = re.fullmatch(r'p;7;(?:f;)+(.*)', stack)
        assert found and 'f;' in stack, stack[:100]
        equal((found[1], value), (mark + ';active_[g];0x10_[g]', 2), last)


CASES = [lines_are_those_of_the_format, each_reason_has_its_column, what_is_not_known_is_0_and_the_file_1,
         others_are_counted_and_reported, names_are_made_safe, marks_and_what_is_waited_for, lost_amounts_are_metrics,
         a_profile_without_stalls_has_the_first_line, the_replay_has_the_same_stacks_and_totals,
         each_interval_has_its_own, a_string_defined_again_counts_from_there, a_stack_that_is_cut_keeps_its_mark]

if __name__ == '__main__':
    sys.exit(run_cases(CASES) != 0)
