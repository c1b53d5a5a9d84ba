#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Source replay on what other programs wrote as text: folded stacks and perf script. TAP.

What is expected comes from the first text of a round trip, from a reader of a few lines here, or from how the text was
made.
"""
import bz2
import collections
import csv
import gzip
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys

from stacks import (CALL, COUNT, JIT, LINUX_KERNEL, NANOSECONDS, PROGRAM, UNKNOWN, Frame, equal, gpu_stack, run_cases,
                    write_profile)

PROBES = ['ivpu_submit_ioctl', 'ivpu_bo_pin', 'ivpu_mmu_context_map_sgt', 'ivpu_mmu_context_map_page',
          'ivpu_hw_irq_handler']
NAMES = ['</script>', '"quoted" \\ back', '🔥', 'a' * 10000, 'f(int&&)::g<T>', 'a b  c', 'worker 12', '-', '_[k]',
         '[x', '12', '0x10', '<- x', 'x_[z]', "it's", '#1', '[a/b.so]', '[a b.so]', '[lost]', '[deleted]',
         '[unknown]', '[libc.so.6]']


def iaprof(*arguments, status=0, **options):
    run = subprocess.run([os.environ['TEST_IAPROF'], *map(str, arguments)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE,
                         check=False, **options)
    assert run.returncode == status, f'status {run.returncode}: {run.stderr}'
    run.stdout, run.stderr = run.stdout.decode(), run.stderr.decode()
    return run


def write(name, text):
    path = pathlib.Path(name)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def replay(path, *arguments):
    return iaprof('-q', '--replay', path, '-k', 'folded', *arguments).stdout


def table(path, *arguments):
    """-> {(value type, unit, stack): (value, count)}"""
    text = iaprof('-q', '--replay', path, *arguments, '-k', 'csv:newline=lf').stdout
    found = {}
    for row in csv.DictReader(text.splitlines()):
        found[row['value_type'], row['unit'], row['stack']] = int(row['value']), int(row['count'])
    return found


def comes_back(path):
    """A folded text is written again as it was, line for line."""
    before, after = path.read_text(encoding='utf-8').splitlines(), replay(path).splitlines()
    equal([line for line in after if line not in before], [line for line in before if line not in after],
          f'other lines of {path}')
    equal(after, before, f'the replay of {path}')


def chosen_stacks_come_back():
    program = Frame('program', PROGRAM, pid=7)
    stacks = [(0, 10 + i, [program, Frame('main'), Frame(name, kind)])
              for i, (name, kind) in enumerate((name, kind) for name in NAMES for kind in (2, LINUX_KERNEL, JIT))]
    stacks += [(0, 5, [Frame(name, PROGRAM), Frame('f')]) for name in NAMES]
    stacks += [(0, 3, [program]), (0, 2, [program, Frame('[unknown]', flags=UNKNOWN)]),
               (0, 1, [program, Frame('ioctl', CALL)])]
    comes_back(write_profile('folded', pathlib.Path('cpu'), [NANOSECONDS], stacks))


def stacks_of_a_gpu_come_back():
    stacks = [(0, 1 + i,
               gpu_stack(7 + i % 3, f'caller {i % 4}', f'send.{i % 5}', f'reason{i % 6}', 16 * i)) for i in range(60)]
    path = write_profile('folded', pathlib.Path('gpu'), [COUNT], stacks)
    comes_back(path)
    events = iaprof('-q', '--replay', path, '-k', 'csv').stdout
    equal({row['pid'] for row in csv.DictReader(events.splitlines())}, {'7', '8', '9'}, 'processes')


def a_run_of_the_npu_comes_back():
    write('trace', ''.join(f'kprobe:intel_vpu:{name}\n' for name in PROBES * 3))
    iaprof('-q', '-s', 'ivpu-trace:input=trace', '--record', 'capture')
    comes_back(write('npu', iaprof('-q', '--replay', 'capture', '-k', 'folded').stdout))
    equal(sum(int(line.rsplit(' ', 1)[1]) for line in replay('npu').splitlines()), 3 * len(PROBES), 'calls')


def a_run_of_the_cpu_comes_back():
    if iaprof_cannot_sample():
        print('# no CPU samples here: left out')
        return
    iaprof('-q', '-s', 'cpu-stack:frequency=999', '--record', 'capture', 'sh', '-c', 'ls -R /usr/lib > /dev/null')
    path = write('cpu', iaprof('-q', '--replay', 'capture', '-k', 'folded').stdout)
    assert path.stat().st_size > 0, 'no stacks'
    comes_back(path)


def iaprof_cannot_sample():
    return subprocess.run([os.environ['TEST_IAPROF'], '--check', '-s', 'cpu-stack'], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False).returncode


def what_was_lost_is_lost():
    run = iaprof('--replay', write('lost', 'a;b 1\n[lost];xe-eustall;buffer full 7\n'), '-k', 'folded')
    equal(run.stdout, '[lost];xe-eustall;buffer full 7\na;b 1\n', 'folded text')
    assert 'lost: xe-eustall: buffer full: ' in run.stderr, run.stderr


def habits_of_other_programs():
    text = ('# made by hand\n\n  a;b 2  \r\na;b 3\na;c;d\t4\na;e 2.0\na;f 2.6\n;g 1\na;b;-;c_[k] 5\n'
            'a;Class::m(int, char)_[j];x_[i] 6\n18446744073709551615 1\nz 18446744073709551615')
    run = iaprof('--replay', write('others', text), '-k', 'folded')
    equal(sorted(run.stdout.splitlines()),
          sorted(['a;b 5', 'a;c;d 4', 'a;e 2', 'a;f 3', '[unknown];g 1', 'a;b;-;c_[k] 5', 'a;Class::m(int, char)_[j] 6',
                  '18446744073709551615 1', 'z 18446744073709551615']), 'folded text')
    assert 'replayed more than 18446744073709551614 samples' in run.stderr, run.stderr
    assert '1 value with a fraction and rounded' in run.stderr and ' skipped, ' not in run.stderr, run.stderr
    equal(replay('others', '-k', 'folded.lines:lines=yes,output=with').count('x_[i]'), 0,
          'inlined functions by default')
    assert 'a;Class::m(int, char)_[j];x_[i] 6' in pathlib.Path('with').read_text(encoding='utf-8'), 'inlined function'


def what_cannot_be_read_is_counted_with_its_line():
    text = b'a;b 1\nno value\na;b x\na;b -3\na;b 99999999999999999999\n\xff;\xfe 2\nnul\0;b 3\n'
    text += b'l' * 1200000 + b';x 4\na;c 5'
    run = iaprof('--replay', write('bad', text), '-k', 'folded')
    equal(sorted(run.stdout.splitlines()), ['?;? 2', 'a;b 1', 'a;c 5'], 'folded text')
    assert re.search(r'bad: 6 lines skipped, the first is line 2, which does not end with a '
                     r'value: "no value"', run.stderr), run.stderr
    assert 'lost: replay: lines that could not be read: 6' in run.stderr, run.stderr


def values_can_be_named():
    write('named', 'a;b 500\n')
    equal(table('named'), {('samples', 'count', 'a;b'): (500, 500)}, 'by default')
    text = iaprof('-q', '-s', 'replay:file=named,value=cpu,unit=nanoseconds', '-k', 'csv:newline=lf').stdout
    row, = csv.DictReader(text.splitlines())
    equal([row[key] for key in ('value_type', 'unit', 'value', 'count')], ['cpu', 'nanoseconds', '500', '1'], 'row')


def files_of_sink_folded_name_their_values():
    """Nanoseconds are no samples."""
    for name, key in (('run.cpu.folded', ('cpu', 'nanoseconds')), ('run.npu-time.folded', ('npu-time', 'nanoseconds')),
                      ('run.npu-calls.folded', ('npu-calls', 'count')), ('run.gpu-stalls.folded', ('gpu-stalls', 'count')),
                      ('cpu.folded', ('samples', 'count')), ('run.other.folded', ('samples', 'count'))):
        write(name, 'a;b 500\n')
        equal(table(name), {(*key, 'a;b'): (500, 1 if key[1] == 'nanoseconds' else 500)}, name)
    assert 'replayed 1 sample' in iaprof('--replay', 'run.cpu.folded', '-k', 'folded:output=out.folded').stderr
    text = iaprof('-q', '-s', 'replay:file=run.cpu.folded,unit=count', '-k', 'csv:newline=lf').stdout
    row, = csv.DictReader(text.splitlines())
    equal([row[key] for key in ('value_type', 'unit', 'count')], ['cpu', 'count', '500'], 'the user knows better')


def standard_input_and_pipes():
    text = 'a;b 1\n' * 20000
    write('text', text)
    with open('text', 'rb') as file:
        equal(iaprof('-q', '--replay', '-', '-k', 'folded', stdin=file).stdout, 'a;b 20000\n', 'from a file')
    with subprocess.Popen(['cat', 'text'], stdout=subprocess.PIPE) as cat:
        equal(iaprof('-q', '--replay', '/dev/stdin', '-k', 'folded', stdin=cat.stdout).stdout, 'a;b 20000\n',
              'from a pipe')


def what_is_none_of_them_is_refused():
    for text in b'', b'a:x:0:0:/bin/sh\n', b'\x7fELF' + bytes(100), b'<html>\n<body>\n</body>\n', b'\n' * 70000:
        run = iaprof('-q', '--replay', write('other', text), status=1)
        assert 'other: not a capture of iaprof, nor folded stacks, text of perf script' in run.stderr, run.stderr
        equal(len(run.stderr.splitlines()), 1, 'lines')


HTML = '<!DOCTYPE html>\n<html><body>\n<p>x 5\n<script>for (i = 0; i < 5; i++) a;b 1\n</script></body></html>\n'
PYTHON = 'import os\nA = 1\nB = 2\nx = 1; y = 2\n\nfor i in range(3):\n    add 1\n    print(i)\nelse:\n    exit 0\n'
# Contents, what they look like, and the line that is named.
OTHERS = [
    (HTML, 'an HTML page', 'line 1 is not a stack: "<!DOCTYPE html>"'),
    ('\n\n<HTML>\n' + 'a;b 1\n' * 100, 'an HTML page', ''),
    ('#!/bin/sh\nsleep 1\nexit 0\n', 'a shell script', 'line 1 is not a stack: "#!/bin/sh"'),
    ('#!/usr/bin/env bash\nsleep 1\n', 'a shell script', 'line 1'),
    ('#!/usr/bin/python3 -I\nx = 1\n', 'a Python program', 'line 1'),
    (PYTHON, 'a Python program', 'line 1 is not a stack: "import os"'),
    ('/* text */\n#include <stdio.h>\nint a = 1;\n', 'C or C++ source code', 'line 1'),
    ('{\n  "a": 1,\n  "b": 2\n}\n', 'JSON', 'line 1 is not a stack: "{"'),
    ('{"traceEvents": [{"ph": "X"}]}', "a trace in Chrome's JSON format", 'line 1'),
    ('[{"name": "a", "ph": "X"}\n]', 'JSON', 'line 1'),
    ('<?xml version="1.0"?>\n<svg width="5">\n</svg>\n', 'an SVG image', 'line 1'),
    (b'\x89PNG\r\n\x1a\n' + bytes(range(256)) * 4, 'a PNG image', ''),
    (b'\xff\xd8\xff\xe0' + bytes(range(256)), 'a JPEG image', ''),
    (b'SQLite format 3\0' + bytes(100), 'an SQLite database', ''),
    (bytes(range(256)) * 9, 'binary data', ''),
    ('a;b 1\n'.encode('utf-16'), 'UTF-16 text', 'use iconv -f UTF-16 -t UTF-8 other | iaprof --replay -'),
    (gzip.compress(HTML.encode()), 'a gzip file that contains an HTML page', ''),
    (gzip.compress(b'a;b 1\n' * 9), 'a gzip file that contains stacks', 'use gzip -dc other | iaprof --replay -'),
    (gzip.compress(b'{"traceEvents":[]}'), "a gzip file that contains a trace in Chrome's", ''),
    (b'\x1f\x8b\x08\0\0', 'a gzip file', ''),
    (bz2.compress(b'a;b 1\n'), 'a bzip2 file', 'use bzip2 -dc other | iaprof --replay -'),
    (lzma.compress(b'a;b 1\n'), 'an xz file', 'use xz -dc other | iaprof --replay -'),
    ('key: value 5\nother: 7\nlist:\n  - x\n', '', 'line 1 is not a stack: "key: value 5"'),
    ('a;b 1\n' * 4 + 'and this is prose,\nas long as it is\n' * 3, '', 'line 5 is not a stack: "and this is prose,"'),
]


def what_it_is_instead_is_named():
    for text, name, line in OTHERS:
        for command in ['--replay', write('other', text)], ['--diff', write('good', 'a;b 1\n'), 'other']:
            run = iaprof('-q', *command, '-k', 'csv', status=1)
            assert not name or f': it looks like {name}' in run.stderr, (text[:40], run.stderr)
            assert f'({line}' in run.stderr or not line, (text[:40], run.stderr)
            equal((len(run.stderr.splitlines()), run.stdout), (1, ''), 'lines and output')


def sources_of_this_test_are_none():
    """What is around here: programs, manual pages, and prose."""
    top = pathlib.Path(__file__).resolve().parents[2]
    files = [*top.glob('tests/cli/*.py'), *top.glob('lib/*/*.c'), *top.glob('man/*.7'), *top.glob('*.md')]
    assert len(files) > 60, files
    for path in files:
        iaprof('-q', '--replay', path, '-k', 'folded', status=1)


def half_of_the_lines_are_enough():
    """Of 100 lines; what comes later is not looked at."""
    good, bad = 'a;b 1\n', 'what is this, please?\n'
    for text, status in ((good * 50 + bad * 50, 0), (good * 49 + bad * 51, 1), (bad * 15 + good * 15, 0),
                         (bad * 15 + good * 14, 1), (good * 50 + bad * 500, 0), ('# x\n\n' * 90 + good, 0)):
        iaprof('-q', '--replay', write('half', text), '-k', 'folded', status=status)


def a_hint_that_is_followed(command, path):
    """-> what the command in a message prints"""
    run = iaprof('-q', '--replay', path, '-k', 'folded', status=1)
    hint = re.search(r'\(use (.*) \| iaprof --replay -\)$', run.stderr.strip())
    assert hint and hint[1].startswith(command), run.stderr
    return subprocess.run(['sh', '-c', f'{hint[1]} | "$TEST_IAPROF" -q --replay - -k folded'], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout.decode()


def hints_work():
    write("a 'gz' file.gz", gzip.compress(b'a;b 1\n'))
    assert 'gzip -dc FILE | ' in iaprof('-q', '--replay', "a 'gz' file.gz", status=1).stderr, 'a name with quotes'
    for name in 'plain.gz', 'with blank.gz', '-dash.gz':
        shutil.copy("a 'gz' file.gz", name)
        if not name.startswith('-'):
            equal(a_hint_that_is_followed('gzip -dc ', name), 'a;b 1\n', name)
    write('text.bz2', bz2.compress(b'a;b 2\n'))
    write('text.xz', lzma.compress(b'a;b 3\n'))
    write('text.16', 'a;b 4\n'.encode('utf-16'))
    for command, name, value in ('bzip2', 'text.bz2', 2), ('xz', 'text.xz', 3), ('iconv', 'text.16', 4):
        if shutil.which(command):
            equal(a_hint_that_is_followed(command, name), f'a;b {value}\n', name)


def a_recording_of_perf_gets_the_hint():
    perf = shutil.which('perf')
    record = [perf, 'record', '-q', '-o', 'a perf.data', '-F', '997', '-g', '-e', 'cpu-clock', '--', 'sh', '-c',
              'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done']
    if not perf or subprocess.run(record, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        print('# perf cannot record here: left out')
        return
    text = subprocess.run([perf, 'script', '-i', 'a perf.data'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True).stdout
    equal(a_hint_that_is_followed("perf script -i 'a perf.data'", 'a perf.data'), replay(write('text', text)), 'stacks')


FRAMES = '\t    7f01 leaf+0x1f (/usr/lib/libc.so.6)\n\t  55c2 main (/usr/bin/a b (deleted))\n\n'
STACK = ';main;leaf'
# What -F can leave out, as perf script of Linux 6.1 prints it: (first line, value type, unit, value, program).
HEADERS = [
    ('prog 23495  1095.746430:    2004008 cpu-clock: ', 'cpu-clock', 'nanoseconds', 2004008, 'prog'),
    ('prog   100/101   [003]  1095.746430123:    250000 cycles:u: ', 'cycles:u', 'count', 250000, 'prog'),
    ('my prog 12 x   100/101   [003]  1095.746430:     1 task-clock:ppp: ', 'task-clock:ppp', 'nanoseconds', 1,
     'my prog 12 x'),
    ('kworker/0:1-eve   100   [003]  1095.746430: cycles: ', 'cycles', 'samples', 1, 'kworker/0:1-eve'),
    ('prog   100 [003] d..1. 1095.746430: sched:sched_switch: prev_comm=x 12 ==> next_comm=y:3', 'sched:sched_switch',
     'samples', 1, 'prog'),
    ('prog   100 [003] U     1095.746430:  77 cpu_core/cycles/P: ', 'cpu_core/cycles/P', 'count', 77, 'prog'),
    ('prog 1095.746430: cycles: ', 'cycles', 'samples', 1, 'prog'),
    ('prog  5 cycles: ', 'cycles', 'samples', 1, 'prog'),
    ('prog cycles: ', 'cycles', 'samples', 1, 'prog'),
    ('prog   100 1095.746430: ', 'samples', 'samples', 1, 'prog'),
    ('prog   100 ', 'samples', 'samples', 1, 'prog'),
    ('prog ', 'samples', 'samples', 1, 'prog'),
    ('   100/100  1095.746430:   9 cycles: ', 'cycles', 'count', 9, '[unknown]'),
    ('1095.746430: cycles: ', 'cycles', 'samples', 1, '[unknown]'),
    ('cycles: ', 'cycles', 'samples', 1, '[unknown]'),
    (':-1    -1 [000] 1.000001:   9 cycles: ', 'cycles', 'count', 9, ':-1'),
]


def every_first_line_of_a_sample():
    for line, value_type, unit, value, program in HEADERS:
        for head in '', '# ========\n# captured on    : Sun 22\n# nrcpus online : 4\n#\n':
            equal(table(write('perf', f'{head}{line}\n{FRAMES}' * 3)),
                  {(value_type, unit, program + STACK): (3 * value, 3)}, line)


def frames_of_perf():
    text = ('p 1 1.000000: 1 cycles: \n'
            '\tffffffff81000010 do_idle+0x20 ([kernel.kallsyms])\n'
            '\tffffffffc0000010 xe_job+0x2 ([xe])\n'
            '\tffffffffc0000020 ivpu_job+0x2 (/lib/modules/6.12.0/kernel/drivers/accel/ivpu/intel_vpu.ko.xz)\n'
            '\tffffffffa0000000 bpf_prog_6deef7357e7b4530_f+0x2 (bpf_prog_6deef7357e7b4530_f)\n'
            '\t    7fff0010 __vdso_time+0x2 ([vdso])\n'
            '\t    7f330010 py::train:/a b.py+0x8 (/tmp/perf-12.map)\n'
            '\t    7f330010 inner (inlined)\n'
            '\t    7f330010 std::map<int, char (*)(int)>::at(int const&) const+0x1f (/opt/a.out)\n'
            '\t    7f330020 [unknown] (/usr/lib/libz.so.1)\n'
            '\t    7f330030 [unknown] ([unknown])\n'
            '\tffffffff81000011 [unknown] ([kernel.kallsyms])\n\n')
    wanted = ('p;[kernel.kallsyms]_[k];[unknown];[libz.so.1];std::map<int, char (*)(int)>::at(int const&) const;'
              'inner_[i];'
              'py::train:/a b.py_[j];__vdso_time;bpf_prog_6deef7357e7b4530_f_[k];ivpu_job_[k];xe_job_[k];do_idle_[k]')
    write('perf', text)
    equal(replay('perf'), wanted.replace(';inner_[i]', '') + ' 1\n', 'stack')
    iaprof('-q', '--replay', 'perf', '-k', 'folded:lines=yes,output=lines')
    equal(pathlib.Path('lines').read_text(encoding='utf-8'), wanted + ' 1\n', 'stack with inlined functions')


def samples_of_one_line():
    text = ('             ls 23495  1095.746430:    2004008 cpu-clock:      55c278e2484e main+0x1 (/usr/bin/ls)\n'
            '            bad 23495  1095.756444:    2004008 cpu-clock:      7f8c5cd57120 [unknown] (/usr/lib/libc.so.6)\n'
            '             ls 23495  1095.758455:          1 dummy: \n')
    equal(table(write('perf', text)), {('cpu-clock', 'nanoseconds', 'ls;main'): (2004008, 1),
                                       ('cpu-clock', 'nanoseconds', 'bad;[libc.so.6]'): (2004008, 1),
                                       ('dummy', 'count', 'ls'): (1, 1)}, 'samples')


def other_lines_of_perf():
    text = ('p 1 1.000000: PERF_RECORD_COMM exec: p:1/1\n'
            'p 1 1.500000: PERF_RECORD_MMAP2 1/1: [0x1(0x2) @ 0 08:01 12 0]: r-xp /bin/p\n'
            'p 1 2.000000: 1 cycles: \n\t10 f (/bin/p)\n  file.c:12\n\t20 main (/bin/p)\n  ??:0\n\n'
            'what is this, please?\n'
            'p 1 3.000000: PERF_RECORD_LOST lost 17\n\tnot a frame\n')
    run = iaprof('--replay', write('perf', text), '-k', 'folded:lines=yes')
    equal(run.stdout, 'p;main;f:file.c:12 1\n', 'stack')
    assert 'perf: 2 lines skipped, the first is line 9, which is ' in run.stderr, run.stderr
    assert 'lost: perf: lost: 17' in run.stderr, run.stderr


def without_first_lines():
    equal(table(write('perf', FRAMES * 2)), {('samples', 'samples', '[unknown]' + STACK): (2, 2)}, 'samples')


def times_make_intervals():
    text = ''.join(f'p 1 [000] {10 + i // 4}.{i % 4}00000: 7 cycles: \n\t10 f{i // 4} (/bin/p)\n\n' for i in range(12))
    rows = csv.DictReader(iaprof('-q', '-i', '1s', '--replay', write('perf', text), '-k',
                                 'csv:newline=lf').stdout.splitlines())
    found = collections.defaultdict(int)
    for row in rows:
        found[row['interval'], row['stack']] += int(row['value'])
    equal(dict(found), {(str(i), f'p;f{i}'): 28 for i in range(3)}, 'intervals')


def deep_stacks_keep_the_leaf():
    text = 'p 1 1.000000: 5 cycles: \n' + ''.join(f'\t10 f{i} (/bin/p)\n' for i in range(3000)) + '\n'
    run = iaprof('--replay', write('perf', text), '-k', 'folded')
    stack, value = run.stdout.rsplit(' ', 1)
    equal((stack.split(';')[0], stack.split(';')[-1], stack.count(';'), int(value)), ('p', 'f0', 1359, 5), 'stack')
    assert '1 stack too deep and truncated' in run.stderr, run.stderr


def count_perf_script(text):
    """-> {event: (sum of periods, samples)}, and {comm and frames: sum of periods} as stackcollapse-perf.pl has it"""
    events, stacks = collections.defaultdict(lambda: (0, 0)), collections.Counter()
    for block in text.strip('\n').split('\n\n'):
        lines = block.split('\n')
        comm, period, event = re.match(r'(\S.*?)\s+\d+/\d+\s.*?:\s+(\d+)\s+(\S+):\s*$', lines[0]).groups()
        frames = []
        for line in lines[1:]:
            name, module = re.match(r'\s*[0-9a-f]+ (.+) \((.*)\)$', line).groups()
            name = re.sub(r'\+0x[0-9a-f]+$', '', name)
            if name == '[unknown]' and module != '[unknown]':
                name = '[' + os.path.basename(module).strip('[]') + ']'
            frames.append(name.replace(';', ':'))
        total, count = events[event]
        events[event] = total + int(period), count + 1
        stacks[';'.join([comm, *reversed(frames)])] += int(period)
    return dict(events), stacks


def a_real_recording_of_perf():
    perf = shutil.which('perf')
    record = [perf, 'record', '-q', '-o', 'perf.data', '-F', '997', '--sample-cpu', '-g', '-e',
              'cpu-clock,page-faults', '--', 'sh', '-c',
              'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; ls -R /usr/share > /dev/null']
    if not perf or subprocess.run(record, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        print('# perf cannot record here: left out')
        return
    fields = ['-F', 'comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso']
    with open('perf.txt', 'wb') as output:
        subprocess.run([perf, 'script', '-i', 'perf.data', '--no-inline', *fields], stdout=output,
                       stderr=subprocess.DEVNULL, check=True)
    events, stacks = count_perf_script(pathlib.Path('perf.txt').read_text(encoding='utf-8', errors='replace'))
    assert len(events) == 2 and sum(count for _, count in events.values()) > 100, events
    found, by_stack = collections.defaultdict(lambda: (0, 0)), collections.Counter()
    for (event, _, stack), (value, count) in table('perf.txt').items():
        found[event] = found[event][0] + value, found[event][1] + count
        by_stack[re.sub(r'_\[[kj]\](?=;|$)', '', stack)] += value
    equal(dict(found), events, 'events')
    equal({unit for (event, unit, _) in table('perf.txt') if event.startswith('cpu-clock')}, {'nanoseconds'}, 'unit')
    equal(by_stack, stacks, 'stacks')
    # What describes samples adds none, and no line is lost.
    for fields in ['-F', '+srcline'], ['-F', '+insn'], ['--show-task-events', '--show-mmap-events', '-F', '+srcline,+insn']:
        with open('perf.txt', 'wb') as output:
            if subprocess.run([perf, 'script', '-i', 'perf.data', '--no-inline', *fields], stdout=output,
                              stderr=subprocess.DEVNULL, check=False).returncode:
                continue
        run = iaprof('--replay', 'perf.txt', '-k', 'csv:newline=lf')
        assert 'skipped' not in run.stderr, f'{fields}: {run.stderr}'
        counted = collections.Counter()
        for row in csv.DictReader(run.stdout.splitlines()):
            counted[row['value_type']] += int(row['count'])
        equal(dict(counted), {event: count for event, (_, count) in events.items()}, fields)
    # The same samples without periods, as perf prints them by default for some events.
    for fields in ['comm,tid,time,event,ip,sym,dso'], ['comm,pid,tid,ip,sym,dso'], ['comm,ip,sym']:
        with open('perf.txt', 'wb') as output:
            subprocess.run([perf, 'script', '-i', 'perf.data', '--no-inline', '-F', *fields], stdout=output,
                           stderr=subprocess.DEVNULL, check=True)
        equal(sum(count for _, count in table('perf.txt').values()), sum(count for _, count in events.values()), fields)


DETAILS = """sh     0     0.000000: PERF_RECORD_COMM: sh:12/12
sh    12     1.000000: PERF_RECORD_COMM exec: sh:12/12
sh    12     1.100000:    1000 cpu-clock:
\t            34f4 inner+0x28 (/bin/sh)
  sh.c:39
\tffffffff81000000 clear_page_erms+0x7 ([kernel.kallsyms])
  clear_page_erms+7
\tffffffff821f5b65 asm_exc+0x5 ([kernel.kallsyms])
  [kernel.kallsyms][ffffffff821f5b65]
\t            352c operator new(unsigned long)+0x9 (/lib/libc++.so)
  :0
\t            14a7 main+0x1f2 (/bin/sh)
  ??:0
 ABI:2    SP:0x7ffddc684ff8    IP:0x5637633d94f4  insn: 48 01 c8
sh    12     1.200000: PERF_RECORD_EXIT(12:12):(11:11)
sh    12     1.300000:    1000 cpu-clock:
\t            34f4 inner+0x28 (/bin/sh)
\t            14a7 main+0x1f2 (/bin/sh)
\tmain+38:
\t00000000004004ef\tinsn: eb 1a                  \t# PRED 3 cycles [3]
\t0000000000400508\tinsn: 83 7d fc 00
\t... not reaching sample ...
 insn: 48 01 c8
  bash 13     1.400000:    1000 cpu-clock:
\t            14a7 main+0x1f2 (/bin/sh)

"""


def what_describes_samples_is_no_sample():
    """By construction: -F +srcline,+iregs,+insn,+brstackinsn --show-task-events, which print these lines; with real
    text of perf in a_real_recording_of_perf()."""
    run = iaprof('--replay', write('details', DETAILS), '-k', 'folded')
    equal(sorted(run.stdout.splitlines()),
          sorted(['sh;main;operator new(unsigned long);asm_exc_[k];clear_page_erms_[k];inner 1000', 'sh;main;inner 1000',
                  'bash;main 1000']), 'stacks')
    assert 'skipped' not in run.stderr, run.stderr


def frames_of_simpleperf():
    frames = [('com.example.Main.run', '[JIT app cache]', '_[j]'), ('nterp_helper', '/apex/art/libart.so', ''),
              ('a', '[anon:dalvik-jit-code-cache]', '_[j]'), ('b', '[anon:libc_malloc]', ''),
              ('c', '/memfd:jit-cache (deleted)', '_[j]'), ('d', '[kernel.kallsyms]', '_[k]')]
    text = 'app  1234 [000]  1.000000:   1 cpu-cycles:\n' + ''.join(
        f'\t    7a1b2c3d{number:02x} {name} ({module})\n' for number, (name, module, _) in reversed(list(enumerate(frames))))
    equal(replay(write('simpleperf', text + '\n')),
          'app;' + ';'.join(name + kind for name, _, kind in frames) + ' 1\n', 'stack')


def a_byte_order_mark_is_no_text():
    for text in 'sh;main;f 3\n', f'{HEADERS[1][0]}\n{FRAMES}':
        without = replay(write('without', text))
        equal(replay(write('with', b'\xef\xbb\xbf' + text.encode())), without, text[:20])


def every_sink_takes_it():
    write('perf', f'{HEADERS[1][0]}\n{FRAMES}')
    for sink in 'flamegraph', 'speedscope', 'pprof', 'csv', 'capture':
        iaprof('-q', '--replay', 'perf', '-k', f'{sink}:output={sink}')
        assert pathlib.Path(sink).stat().st_size > 0, sink
    equal(table('capture'), table('perf'), 'a capture of it')


CASES = [files_of_sink_folded_name_their_values,
         chosen_stacks_come_back, stacks_of_a_gpu_come_back, a_run_of_the_npu_comes_back, a_run_of_the_cpu_comes_back,
         what_was_lost_is_lost, habits_of_other_programs, what_cannot_be_read_is_counted_with_its_line,
         values_can_be_named,
         standard_input_and_pipes, what_is_none_of_them_is_refused, what_it_is_instead_is_named,
         sources_of_this_test_are_none, half_of_the_lines_are_enough, hints_work, a_recording_of_perf_gets_the_hint,
         every_first_line_of_a_sample, frames_of_perf,
         samples_of_one_line, other_lines_of_perf, without_first_lines, times_make_intervals, deep_stacks_keep_the_leaf,
         what_describes_samples_is_no_sample, frames_of_simpleperf, a_byte_order_mark_is_no_text,
         a_real_recording_of_perf, every_sink_takes_it]

if __name__ == '__main__':
    sys.exit(run_cases(CASES) != 0)
