#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the captures, inputs and expectations of this folder with commit 3560f6e:

    git worktree add /usr/src/iaprof 3560f6e
    meson setup /usr/src/iaprof/build /usr/src/iaprof -Dtests=true && ninja -C /usr/src/iaprof/build
    sudo tests/preservation/record.py /usr/src/iaprof record    # captures, in guests of its lab
    sudo tests/preservation/record.py /usr/src/iaprof texts     # text inputs written by perf and by its sinks
    tests/preservation/record.py /usr/src/iaprof expect         # its output for each case in cases.txt

Names of cases restrict "record" and "expect" to these. Every recording differs, so new captures need new expectations.
Captures are made in guests, which run few other processes; they contain the path of the checkout.
"""
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / 'cli'))

import capture_file

HERE = pathlib.Path(__file__).resolve().parent
CAPTURES, INPUTS = HERE / 'captures', HERE / 'inputs'
COMMIT = '3560f6e'

# Strings that identify the machine that a capture was made on.
PRIVATE = [
    (rb'^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', b'00000000-0000-0000-0000-000000000000'),  # boot id
    (re.escape(os.fsencode(HERE.parent.parent)), b'/usr/src/iaprof'),
    (re.escape(os.fsencode(os.path.expanduser('~'))) + rb'/', b'/home/'),
]

# Tests that are added to the reference's lab: name, "# lab:" line, commands with words that select cases.
SCRIPTS = {
    'preservation-cpu': ('seconds 1800', ['{here}/record.py "$LAB_SOURCE" programs']),
    'preservation-npu': ('module intel_vpu', [
        '{lab}/test_ivpu.py steady_load two_processes_are calls_in_flight what_the_ring',
        '{lab}/test_ivpu_jobs.py a_hang command_queues',
        '{lab}/test_npu_api.py every_request functions_of_graphs',
        '{lab}/test_npu_report.py usage_is_told each_broken_run']),
    'preservation-xe': ('module xe', [
        '{lab}/test_ai_flame_graph.py lnl:_one_kernel,_one pvc:_one_kernel,_one lnl:_another lnl:_one_kernel_from '
        'lnl:_stacks lnl:_two lnl:_launches lnl:_a_short lnl:_a_reset vanishes',
        '{lab}/test_xe_eustall.py pvc_with_two overflows every_third',
        'TEST_ZE_USDT=ze-usdt {lab}/test_ze_usdt.py bmg:_every bmg:_from lnl:_a_regular lnl:_native lnl:_a_forked '
        'lnl:_the_process lnl:_a_program']),
}

# Captures of the lab: name -> test, case, number of the run in that case.
LAB = {
    'xe-one-stack': ('ai_flame_graph', 'lnl-one-kernel-one-stack', 0),
    'xe-pvc': ('ai_flame_graph', 'pvc-one-kernel-one-stack', 0),
    'xe-another-module': ('ai_flame_graph', 'lnl-another-module-at-the-address', 0),
    'xe-five-stacks': ('ai_flame_graph', 'lnl-one-kernel-from-five-stacks', 0),
    'xe-linux-stacks': ('ai_flame_graph', 'lnl-stacks-of-the-linux-kernel', 0),
    'xe-two-gts': ('ai_flame_graph', 'lnl-two-gts', 0),
    'xe-late-launches': ('ai_flame_graph', 'lnl-launches-are-told-after-their-samples', 0),
    'xe-short-life': ('ai_flame_graph', 'lnl-a-short-life', 0),
    'xe-at-once': ('ai_flame_graph', 'lnl-two-processes-at-once', 0),
    'xe-reset': ('ai_flame_graph', 'lnl-a-reset', 0),
    'xe-device-vanishes': ('ai_flame_graph', 'lnl-the-device-vanishes', 0),
    'xe-rows-only': ('xe_eustall', 'pvc-with-two-gts', 0),
    'xe-overflows': ('xe_eustall', 'overflows', 0),
    'xe-subsample': ('xe_eustall', 'every-third-row', 0),
    'npu-steady': ('ivpu', 'steady-load', 0),
    'npu-two-processes': ('ivpu', 'two-processes-are-kept-apart', 0),
    'npu-in-flight': ('ivpu', 'calls-in-flight-are-told', 0),
    'npu-ring-buffer-full': ('ivpu', 'what-the-ring-buffer-cannot-take-is-lost', 0),
    'npu-hang': ('ivpu_jobs', 'tracepoint-vpu-job-a-hang', 0),
    'npu-command-queues': ('ivpu_jobs', 'tracepoint-vpu-job-jobs-of-command-queues', 0),
    'npu-api': ('npu_api', 'every-request-stands-below-who-asked', 0),
    'npu-graphs': ('npu_api', 'functions-of-graphs', 0),
    'npu-usage': ('npu_report', 'usage-is-told', 0),
    'npu-leak': ('npu_report', 'each-broken-run-has-its-own', 1),
    'ze-ways-to-launch': ('ze_usdt', 'bmg-every-way-to-launch', 0),
    'ze-threads-reloads': ('ze_usdt', 'bmg-from-three-threads-the-modules-reloaded-twice', 0),
    'ze-lists': ('ze_usdt', 'lnl-a-regular-list-executed-often', 0),
    'ze-native-modules': ('ze_usdt', 'lnl-native-modules', 0),
    'ze-fork': ('ze_usdt', 'lnl-a-forked-child', 0),
    'ze-exec': ('ze_usdt', 'lnl-the-process-executes-itself', 0),
    'ze-attached': ('ze_usdt', 'lnl-a-program-that-runs-already', 0),
}
# Captures of programs: program_runs() has their arguments.
PROGRAMS = ('cpu-c', 'cpu-c-no-frame-pointers', 'cpu-c-lines', 'cpu-c-user-only', 'cpu-cpp', 'cpu-cpp-lines',
            'cpu-python', 'cpu-shell', 'cpu-everything', 'known-source', 'known-source-hostile', 'known-and-cpu',
            'device-image', 'device-no-image', 'device-objects', 'npu-text')


class Reference:
    """The checkout of 3560f6e and its build."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        self.build = self.folder / 'build'
        real = self.build / 'iaprof.real'  # while recording_iaprof replaces it
        self.program = real if real.exists() else self.build / 'iaprof'
        head = subprocess.run(['git', '-C', self.folder, 'rev-parse', 'HEAD'], stdout=subprocess.PIPE, encoding='ascii',
                              check=True).stdout
        if not head.startswith(COMMIT):
            sys.exit(f'record.py: {self.folder} is at {head.strip()}, not {COMMIT}')

    def run(self, *arguments, folder):
        subprocess.run([str(self.program), '-q', *map(str, arguments)], check=True, cwd=folder, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)

    def plugin(self, name):
        return self.build / f'tests/cli/iaprof-{name}.so'


def keep(name, capture):
    """Copies a capture into this folder, without names that identify the machine."""
    CAPTURES.mkdir(exist_ok=True)
    text = capture_file.rewrite(capture.read_bytes(), PRIVATE)
    (CAPTURES / f'{name}.iaprof').write_bytes(text)
    print(f'{name}: {len(text)} bytes')


def compile_programs(folder):
    for name, compiler, *options in (('stacks.c', 'gcc', '-pthread'), ('stacks.cpp', 'g++')):
        shutil.copy(HERE / 'programs' / name, folder)
        program = name.replace('.', '-')
        subprocess.run([compiler, '-O2', '-g', name, '-o', program, *options], check=True, cwd=folder)
        subprocess.run([compiler, '-O2', '-g', '-fno-omit-frame-pointer', name, '-o', f'{program}-fp', *options],
                       check=True, cwd=folder)
    shutil.copy(HERE / 'programs/stacks.py', folder)


def program_runs(reference, folder):
    """Returns {case: arguments}."""
    command, cpu = ['--scope', 'command'], 'cpu-stack:frequency=199'
    lines = ['-k', 'csv:lines=yes,output=out']
    known, device = reference.plugin('known-source'), reference.plugin('device-source')
    in_chroot = [reference.folder / 'tests/lab/guest/in-chroot', 'env', 'PYTHONPERFSUPPORT=1']
    image = reference.folder / 'tests/data/zebin/bmg/transformer.bin'
    return dict(zip(PROGRAMS, [
        [*command, '-s', cpu, '--', './stacks-c-fp'],
        [*command, '-s', cpu, '--', './stacks-c'],
        [*command, '-s', cpu, *lines, '--', './stacks-c-fp'],
        [*command, '-s', f'{cpu},kernel=no', '--', './stacks-c-fp'],
        [*command, '-s', cpu, '--', './stacks-cpp-fp'],
        [*command, '-s', cpu, *lines, '--', './stacks-cpp-fp'],
        [*command, '-s', cpu, '--', *in_chroot, 'python3', folder / 'stacks.py'],
        [*command, '-s', cpu, '--', 'sh', '-c', 'for i in 1 2 3; do ls -R /usr/include/linux | sort | md5sum; done'],
        ['-s', 'cpu-stack:idle=yes', '--', './stacks-c'],
        ['-d', '1100ms', '-s', known],
        ['-d', '700ms', '-s', f'{known}:hostile=yes'],
        ['-d', '5s', '-s', known, '-s', cpu, *command, '--', './stacks-cpp'],
        ['-d', '2s', '-s', f'{device}:image={image},kernel=_ZTS5scaleIfE,size=512,samples=12'],
        ['-d', '2s', '-s', f'{device}:samples=15'],
        ['-d', '1s', '-s', f'{device}:image={image},kernel=add_residual,objects=3'],
        ['-s', f'ivpu:input={INPUTS / "npu-boot-and-job.txt"},mode=events'],
    ]))


def record_programs(reference):
    """Records all programs. Runs in a guest."""
    programs = reference.build / 'preservation'
    failed = []
    with tempfile.TemporaryDirectory(prefix='stacks-', dir='/tmp') as name:
        folder = pathlib.Path(name)
        os.chmod(folder, 0o755)
        shutil.copytree(programs, folder, dirs_exist_ok=True)
        for number, (case, arguments) in enumerate(program_runs(reference, folder).items()):
            end = arguments.index('--') if '--' in arguments else len(arguments)
            capture = pathlib.Path(os.environ['LAB_KEEP']) / f'newest_programs_{case}_{number:03}.iaprof'
            try:
                reference.run(*arguments[:end], '--record', capture, *arguments[end:], folder=folder)
            except subprocess.CalledProcessError as error:
                failed.append(str(error))
    sys.exit('\n'.join(failed))


def write_scripts(reference):
    lab = reference.folder / 'tests/lab/tests'
    for name, (line, commands) in SCRIPTS.items():
        needs = ['guest newest', line, *(['seconds 2400'] if 'seconds' not in line else [])]
        text = '\n'.join(['#!/bin/bash', *(f'# lab: {need}' for need in needs),
                          *(word.format(here=HERE, lab=lab) for word in commands)])
        path = lab / f'test_{name.replace("-", "_")}.sh'
        path.write_text(f'{text}\n', encoding='utf-8')
        path.chmod(0o755)


def record(reference, chosen):
    """Runs the lab's tests with recording_iaprof in place of iaprof."""
    kept, program = reference.build / 'kept', reference.build / 'iaprof'
    programs = reference.build / 'preservation'
    shutil.rmtree(kept, ignore_errors=True)
    programs.mkdir(exist_ok=True)
    compile_programs(programs)
    if not reference.program.name.endswith('.real'):
        program.rename(reference.build / 'iaprof.real')
    shutil.copy(HERE / 'recording_iaprof', program)
    cases = reference.folder / 'tests/lab/harness/cases.py'
    text = cases.read_text(encoding='utf-8')
    if 'LAB_CASE' not in text:
        cases.write_text(text.replace('            os.chdir(folder)\n',
                                      '            os.chdir(folder)\n            os.environ[\'LAB_CASE\'] = name\n', 1),
                         encoding='utf-8')
    write_scripts(reference)
    try:
        for name in SCRIPTS:
            subprocess.run([reference.folder / 'tests/lab/run', '--no-rebuild', '-k', 'newest', '--keep', kept, name],
                           check=False)
    finally:
        (reference.build / 'iaprof.real').rename(program)
    keep_all(reference, chosen)


def keep_all(reference, chosen):
    runs = {**LAB, **{case: ('programs', case, 0) for case in PROGRAMS}}
    for case, (test, words, number) in runs.items():
        if chosen and case not in chosen:
            continue
        found = sorted((path for path in (reference.build / 'kept').glob('*.iaprof')
                        if re.fullmatch(rf'newest_{test}_{words}_\d+', path.stem)),
                       key=lambda path: int(path.stem.rpartition('_')[2]))
        if len(found) > number:
            keep(case, found[number])
        else:
            print(f'{case}: no capture')


def record_texts(reference):
    """Writes the xz-compressed inputs; the others are from tests/fuzz/corpus."""
    with tempfile.TemporaryDirectory(prefix='stacks-', dir='/tmp') as name:
        folder = pathlib.Path(name)
        compile_programs(folder)
        subprocess.run(['perf', 'record', '-q', '-F', '199', '--sample-cpu', '-g', '-e', 'cpu-clock', '--',
                        './stacks-c-fp'], cwd=folder, check=True, stderr=subprocess.DEVNULL)
        with open(folder / 'perf-recorded.txt', 'wb') as output:
            subprocess.run(['perf', 'script', '--no-inline', '-F', 'comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso'],
                           cwd=folder, check=True, stdout=output, stderr=subprocess.DEVNULL)
        for text, capture, sink in (('stream-written.txt', 'xe-one-stack', 'iaprof'),
                                    ('folded-written.txt', 'xe-one-stack', 'folded:lines=yes,blame=producer')):
            reference.run('--replay', CAPTURES / f'{capture}.iaprof', '-k', sink, '-o', text, folder=folder)
        for path in folder.glob('*.txt'):
            text = path.read_bytes().replace(str(folder).encode(), b'/tmp/stacks')
            (INPUTS / f'{path.name}.xz').write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def expect(reference, chosen):
    """With the source of live cases built against the reference's headers."""
    programs = reference.build / 'preservation'
    programs.mkdir(exist_ok=True)
    subprocess.run(['gcc', '-std=gnu17', '-O2', '-fPIC', '-shared', f'-I{reference.folder}/include', '-o',
                    programs / 'iaprof-attribution-source.so', HERE / 'attribution_source.c'], check=True)
    os.environ['TEST_PRESERVATION_PLUGINS'] = str(programs)
    subprocess.run([sys.executable, HERE / 'compare.py', '--program', reference.program, '--write', *chosen], check=True)


def main():
    steps = {'record': record, 'keep': keep_all, 'expect': expect, 'texts': lambda reference, _: record_texts(reference),
             'programs': lambda reference, _: record_programs(reference)}
    if len(sys.argv) < 3 or sys.argv[2] not in steps:
        sys.exit(__doc__)
    steps[sys.argv[2]](Reference(pathlib.Path(sys.argv[1])), sys.argv[3:])


if __name__ == '__main__':
    main()
