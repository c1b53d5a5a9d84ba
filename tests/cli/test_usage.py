#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage and configuration errors: one line with what failed, the cause and the remedy, status 2, and nothing started."""
import os

from harness import (CAPTURE, COMPLETE, FAILED, FAILING_SOURCE, NOT_EXECUTABLE, NOT_FOUND, NOTHING, OWN_FAILURE, PROGRAM,
                     USAGE, case, equal, iaprof, main,
                     read, require, write)

# What is typed, and what the one line has to say.
WRONG_USAGE = {
    'no such source': (['-s', 'cpu-stak'], 'no source "cpu-stak"', 'did you mean "cpu-stack"'),
    'no such sink': (['-k', 'foldde'], 'no sink "foldde"', 'did you mean "folded"'),
    'a source that resembles none': (['-s', 'zzzzzzzz'], 'no source "zzzzzzzz"', 'iaprof --list'),
    'a sink as a source': (['-s', 'folded'], '"folded" is a sink, not a source'),
    'a source as a sink': (['-k', 'cpu-stack'], '"cpu-stack" is a source, not a sink'),
    'no such option': (['--durration', '3'], 'unknown option --durration', 'did you mean --duration'),
    'no such letter': (['-x'], 'unknown option -x', 'iaprof --help all'),
    'too little of an option': (['--re', 'x'], '--record', '--replay'),
    'an option without its value': (['-d'], '--duration requires a value'),
    'a value for an option without': (['--list=all'], '--list does not take a value'),
    'unknown key': (['-s', 'cpu-stack:frequenzy=3'], "unknown key 'frequenzy'", "did you mean 'frequency'"),
    'key without a value': (['-s', 'cpu-stack:frequency'], 'frequency', 'frequency=VALUE'),
    'a key twice': (['-s', 'cpu-stack:frequency=1,frequency=2'], 'frequency', 'twice'),
    'value below the range': (['-s', 'cpu-stack:frequency=0'], 'frequency: 0 is out of range', '1 to 10000'),
    'value above the range': (['-s', 'cpu-stack:frequency=10001'], 'frequency: 10001 is out of range', '1 to 10000'),
    'value above all ranges': (['-s', 'cpu-stack:frequency=99999999999999999999'], 'frequency', '1 to 10000'),
    'negative value': (['-s', 'cpu-stack:frequency=-5'], 'frequency', "'?-5'?"),
    'not a number': (['-s', 'cpu-stack:frequency=fast'], 'frequency', 'fast'),
    'not a choice': (['--scope', 'sistem'], 'scope', 'sistem', 'system'),
    'not a time': (['-d', '5x'], 'duration', "'5x' is not a time"),
    'value that does not fit into 64 bits': (['-k', 'ring:size=17179869184GiB'],
                                             'size: 17179869184GiB is out of range: it does not fit into 64 bits'),
    'time below the range': (['-d', '1us'], 'duration', 'out of range', '1ms'),
    'time above the range': (['-i', '9000h'], 'interval', 'out of range', '8760h'),
    'not a process id': (['-p', 'init'], 'pid', "'init' is not a process ID"),
    'process that does not exist': (['-p', '4194304', '-d', '1s'], '4194304', 'no such process'),
    'scope and process': (['--scope', 'system', '-p', '1'], 'scope', 'pid', 'are mutually exclusive'),
    'scope without a command': (['--scope', 'command'], 'requires a command'),
    'verbose and quiet': (['-v', '-q'], 'verbose', 'quiet', 'are mutually exclusive'),
    'replay and source': (['--replay', CAPTURE, '-s', 'cpu-stack'], 'replay', 'source', 'are mutually exclusive'),
    'replay and command': (['--replay', CAPTURE, 'true'], 'replay', 'command', 'are mutually exclusive'),
    'replay and another source by name': (['-s', f'replay:file={CAPTURE}', '-s', 'cpu-stack'], 'only source'),
    'an option after its plugin': (['-k', 'folded', 'outpt=x'], 'command outpt=x', 'did you mean -k NAME:output='),
    'another option after its plugin': (['-k', 'folded', 'zzz=x'], 'command zzz=x', '-k NAME:KEY=VALUE'),
    'command that does not exist': (['no-such-command-of-anybody'], 'no-such-command-of-anybody', 'not found in PATH'),
    'command that is not executable': (['/etc/passwd'], '/etc/passwd', 'not an executable'),
    'command that is a folder': (['/tmp'], '/tmp', 'not an executable'),
    'empty command': ([''], 'command', 'empty'),
    'configuration that is not there': (['-c', 'none.ini'], 'none.ini', 'No such file'),
    'configuration that is a folder': (['-c', '/'], 'cannot read /', 'folder'),
    'configuration that is a device': (['-c', '/dev/zero'], '/dev/zero', 'not a regular file'),
    'a source that resembles a sink': (['-s', 'perf'], 'no source "perf" \\(iaprof --list'),
    'a source with an underscore': (['-s', 'cpu_stack'], 'no source "cpu_stack"', 'did you mean "cpu-stack"'),
    'a format of a sink': (['-k', 'svg'], 'no sink "svg"', 'did you mean "flamegraph:format=svg"'),
    'another format of a sink': (['-k', 'json'], 'no sink "json"', 'did you mean "summary:format=json"'),
    'a sink by the name of its files': (['-k', 'html'], 'no sink "html"', 'did you mean "flamegraph"'),
    'key of every sink misspelt': (['-k', 'folded:outpt=x'], "unknown key 'outpt'", "did you mean 'output'"),
    'unknown key of a sink': (['-k', 'folded:name=x'], r"unknown key 'name' \(keys: output, value, lines"),
    'the letter of another profiler': (['-F', '49'], r'unknown option -F: use -s cpu-stack:frequency=49$'),
    'the same in one word': (['-F49', 'true'], r'unknown option -F: use -s cpu-stack:frequency=49$'),
    'the same without a number': (['-F'], r'unknown option -F: use -s cpu-stack:frequency=99$'),
    'the same with a value that is not repeated': (['-F', 'max;reboot'], r'-F: use -s cpu-stack:frequency=99$'),
    'the long form': (['--freq=49'], r'unknown option --freq: use -s cpu-stack:frequency=49$'),
    'the long form in two words': (['--frequency', '49'], r'unknown option --frequency: use .*frequency=49$'),
    'all CPUs': (['-a', '-d', '1s'], r'unknown option -a: omit it \(the whole system'),
    'stacks': (['-g'], r'unknown option -g: omit it \(stacks'),
    'stacks in the long form': (['--call-graph', 'dwarf'], 'unknown option --call-graph: omit it'),
    'several letters': (['-ag'], 'unknown option -a: omit it'),
    'events': (['-e', 'cycles'], 'unknown option -e: use -s SOURCE'),
    'threads': (['--tid', '1'], 'unknown option --tid: use -p PID'),
    'a time with a word': (['--timeout', '5'], r'unknown option --timeout: use -d 5$'),
    'record': (['record', 'true'], r'record is not a subcommand: use --record run\.iaprof \('),
    'report': (['report'], r'report is not a subcommand: use --replay run\.iaprof \('),
    'stat': (['stat', 'true'], r'stat is not a subcommand: use -k summary \('),
    'top': (['top'], r'top is not a subcommand: use -k top \('),
    'diff': (['diff', 'a', 'b'], r'use --diff before\.iaprof after\.iaprof \('),
    'capture as a command': ([CAPTURE], r'not an executable file \(--replay FILE reads'),
    'help for no plugin': (['--help', 'foldde'], 'did you mean "folded"'),
}
# The status of those with a command.
STATUSES = {
    'replay and command': OWN_FAILURE, 'too little of an option': OWN_FAILURE, 'the same in one word': OWN_FAILURE,
    # The words after an unknown option, unless they are numbers.
    'the same with a value that is not repeated': OWN_FAILURE, 'stacks in the long form': OWN_FAILURE, 'events': OWN_FAILURE,
    'record': OWN_FAILURE, 'report': OWN_FAILURE,
    'stat': OWN_FAILURE, 'top': OWN_FAILURE, 'diff': OWN_FAILURE,
    'an option after its plugin': NOT_FOUND, 'another option after its plugin': NOT_FOUND,
    'command that does not exist': NOT_FOUND, 'empty command': NOT_FOUND,
    'command that is not executable': NOT_EXECUTABLE, 'command that is a folder': NOT_EXECUTABLE,
    'capture as a command': NOT_EXECUTABLE,
}
for wrong, (typed, *said) in WRONG_USAGE.items():
    @case(wrong, typed, said, STATUSES.get(wrong, USAGE))
    def wrong_usage(typed, said, status):
        iaprof(*typed).fails(status, *said)



@case('what hints name works')
def hints():
    hinted = [['-k', 'summary'], ['-k', 'summary:format=json'], ['-o', 'run.html'], ['-k', 'csv:rows=events'],
              ['-k', 'flamegraph:format=svg', '-o', 'run.svg']]
    for arguments in hinted:
        iaprof('--replay', CAPTURE, *arguments).completes()
    iaprof('--diff', CAPTURE, CAPTURE, '-k', 'csv').completes()
    iaprof('--replay', CAPTURE, '--record', 'run.iaprof').completes()
    iaprof('--list').completes()
    iaprof('--version').completes()
    outcome = iaprof('--check', '-s', 'cpu-stack:frequency=49', '-d', '5', '-p', str(os.getpid()))
    require('frequency' not in outcome.err and outcome.status != USAGE, outcome.err)


@case('a program with the name of a subcommand runs after -- and by its path')
def program_named_so():
    write('record', '#!/bin/sh\necho ran >> ran\n', 0o755)
    path = dict(os.environ, PATH=f'{os.getcwd()}:{os.environ["PATH"]}')
    for command in ['--', 'record'], ['./record']:
        iaprof('-s', FAILING_SOURCE, '-o', 'out', *command, env=path).completes()
    equal(read('ran'), 'ran\nran\n', 'what the program wrote')


@case('a file that is no program, by its name')
def capture_as_command():
    write('run.iaprof', '')
    iaprof('run.iaprof').fails(NOT_FOUND, r'not found in PATH \(--replay FILE reads', left=())
    write('tool', '#!/bin/sh\n', 0o755)
    iaprof('tool').fails(NOT_FOUND, r'not found in PATH \(write \./ before', left=())


# A configuration file, and what the one line has to say.
WRONG_FILES = {
    'unknown key': ('[iaprof]\nduration = 1s\n\n[source:cpu-stack]\nfrequenzy = 9\n',
                    r'wrong\.ini:5: .*frequenzy', "did you mean 'frequency'"),
    'unknown key of the run': ('[iaprof]\nduratoin = 1s\n', r'wrong\.ini:2: .*duratoin', "did you mean 'duration'"),
    'unknown section': ('# comment\n[sorce:cpu-stack]\n', r'wrong\.ini:2: unknown section', r'\[source:cpu-stack\]'),
    'unknown plugin': ('\n[sink:foldde]\n', r'wrong\.ini:2: no sink "foldde"', 'did you mean "folded"'),
    'value out of range': ('[source:cpu-stack]\nfrequency = 0\n', r'wrong\.ini:2: .*frequency: 0 is out of range'),
    'value out of range of the run': ('[iaprof]\nduration = 0s\n', r'wrong\.ini:2: .*duration.* out of range'),
    'value missing': ('[source:cpu-stack]\nfrequency\n', r'wrong\.ini:2: expected key = value'),
    'key outside of sections': ('duration = 1s\n', r'wrong\.ini:1: .*duration.* outside of a section'),
    'heading without end': ('[iaprof\n', r"wrong\.ini:1: .*without '\]'"),
    'section twice': ('[iaprof]\n[iaprof]\n', r'wrong\.ini:2: duplicate', r'wrong\.ini:1'),
    'key twice': ('[iaprof]\nduration=1s\nduration=2s\n', r'wrong\.ini:3: .*duration.*twice|wrong\.ini:3: .*already'),
    'very long line': ('[iaprof]\noutput = ' + 'x' * 100000 + '\n', r'wrong\.ini:2: .*longer than'),
    'huge': (b'# x\n' * 500000, r'wrong\.ini is too large', '1 MiB'),
    'binary junk': (bytes(range(1, 256)) * 20, r'wrong\.ini:1: byte 0x01 is not text'),
    'zero bytes': (bytes(4096), r'wrong\.ini:1: byte 0x00 is not text'),
}
for wrong, (contents, *said) in WRONG_FILES.items():
    @case(f'INI file: {wrong}', contents, said)
    def wrong_file(contents, said):
        write('wrong.ini', contents)
        iaprof('-c', 'wrong.ini', '-d', '1s').fails(USAGE, *said)
        iaprof('-c', 'wrong.ini', '--check').fails(USAGE, *said)


@case('INI file: a program')
def program_as_file():
    iaprof('-c', PROGRAM, '--check').fails(USAGE, 'byte 0x7f is not text|too large')


@case('INI file: empty is no fault')
def empty_file():
    write('empty.ini', '')
    outcome = iaprof('-c', 'empty.ini', '--replay', CAPTURE)
    equal(outcome.status, COMPLETE, 'exit status')


@case('INI file: a name is looked up in the current folder, then among the examples, and the program prints its path')
def name_of_example():
    examples = os.path.join(os.path.dirname(PROGRAM), 'examples')
    outcome = iaprof('-c', 'cpu.ini', '--check')
    require(f'iaprof: configuration: {examples}/cpu.ini\n' in outcome.err, outcome.err)
    write('cpu.ini', 'wrong\n')
    iaprof('-c', 'cpu.ini', '--check').fails(USAGE, r'^iaprof: cpu\.ini:1: ')
    write('cpu.ini', '')
    outcome = iaprof('-v', '-c', 'cpu.ini', '--replay', CAPTURE)
    require('iaprof: configuration: ./cpu.ini\n' in outcome.err, outcome.err)
    # A name with a folder is that file.
    iaprof('-c', './gpu.ini', '--check').fails(USAGE, r'cannot read \./gpu\.ini: No such file')
    outcome = iaprof('-v', '-c', './cpu.ini', '--replay', CAPTURE)
    require('configuration:' not in outcome.err, outcome.err)
    os.remove('cpu.ini')
    os.symlink('nowhere', 'cpu.ini')
    iaprof('-c', 'cpu.ini', '--check').fails(USAGE, r'cannot read cpu\.ini: No such file')


# Two ways to name one file.
SAME_FILE = {
    'the same name': ('out', 'out'),
    'another spelling': ('out', './/real/../out'),
    'a folder through a link': ('real/out', 'link/out'),
    'a folder through two links': ('link2/out', 'link/out'),
    'standard output': ('-', '-'),
    'standard output by its device': ('-', '/dev/stdout'),
    'two names of one pipe': ('pipe', 'real/link-to-pipe'),
}
for kind, (one, other) in SAME_FILE.items():
    @case(f'two sinks write one file: {kind}', one, other)
    def same_file(one, other):
        os.mkdir('real')
        os.symlink('real', 'link')
        os.symlink('link', 'link2')
        os.mkfifo('pipe')
        os.symlink('../pipe', 'real/link-to-pipe')
        for sinks in (['-k', f'folded:output={one}', '-k', f'csv:output={other}'],
                      ['--record', one, '-o', other], ['--record', other, '-k', f'folded.second:output={one}']):
            outcome = iaprof('--replay', CAPTURE, *sinks)
            outcome.fails(USAGE, 'two sinks write', 'output=')


@case('two sinks write one file: standard output goes there')
def same_file_as_standard_output():
    with open('out', 'wb') as out:
        outcome = iaprof('--replay', CAPTURE, '-k', 'folded', '-k', 'csv:output=./out', stdout=out)
    outcome.fails(USAGE, 'two sinks write', 'output=')


@case('two names of one file become two files')
def two_names():
    write('there', 'before')
    os.symlink('there', 'link')
    os.link('there', 'hard-link')
    iaprof('--replay', CAPTURE, '-k', 'csv:output=link', '-k', 'csv.second:output=hard-link').completes()
    equal(read('there'), 'before', 'a file that no sink writes')
    equal(read('link'), read('hard-link'), 'what two equal sinks wrote')
    require(not os.path.islink('link') and read('link') != 'before', 'the link was not replaced')


@case('two sinks may write to /dev/null')
def two_to_null():
    iaprof('--replay', CAPTURE, '-k', 'csv:output=/dev/null', '-k', 'folded:output=/dev/null').completes()


@case('record and replay of one file')
def record_over_replay():
    with open(CAPTURE, 'rb') as file:
        contents = file.read()
    write('run', contents)
    os.symlink('run', 'link')
    for record, replay in (('run', 'run'), ('./run', 'run'), ('link', 'run')):
        iaprof('--record', record, '--replay', replay).fails(USAGE, 'same file|is the file that is replayed')
    with open('run', 'rb') as file:
        equal(file.read(), contents, 'the capture')


@case('-o with several sinks')
def output_of_several():
    iaprof('-o', 'out', '-k', 'folded', '-k', 'csv', 'true').fails(OWN_FAILURE, 'output', '2', 'output=')


@case('-o with a sink that has its own')
def output_twice():
    iaprof('-o', 'out', '-k', 'folded:output=other', 'true').fails(OWN_FAILURE, 'output', 'mutually exclusive')


@case('--check of a good configuration runs nothing')
def check_good():
    write('good.ini', f'[source:replay]\nfile = {CAPTURE}\n[sink:folded]\noutput = out.folded\n[sink:csv.x]\n'
          'output = out.csv\n')
    outcome = iaprof('-c', 'good.ini', '--check')
    equal((outcome.status, outcome.err), (COMPLETE, ''), 'status and standard error')
    equal(outcome.out.splitlines(), ['source replay: ready', 'sink folded: ready, writes out.folded',
                                     'sink csv.x: ready, writes out.csv'], 'what is checked')
    outcome.leaves()


@case('--check does not run the command')
def check_command():
    outcome = iaprof('--check', '-s', f'replay:file={CAPTURE}', 'touch', 'ran')
    require(outcome.status in (COMPLETE, USAGE, NOTHING), 'exit status')
    outcome.leaves()


@case('--check finds a command that does not exist')
def check_wrong_command():
    iaprof('--check', 'no-such-command-of-anybody').fails(USAGE, 'not found in PATH')


@case('--check of several contradictions')
def check_contradictions():
    iaprof('--check', '--list').fails(USAGE, 'are mutually exclusive')


@case('capture that is not there')
def replay_missing():
    iaprof('-q', '--replay', 'none').fails(USAGE, 'none', 'No such file')


@case('capture that is no capture')
def replay_other():
    iaprof('-q', '--replay', '/etc/passwd').fails(FAILED, '/etc/passwd', 'not a capture')


if __name__ == '__main__':
    main()
