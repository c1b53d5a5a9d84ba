#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The output of a run: its default destination, terminals, captures and replays, files and options."""
import csv
import os
import re
import shutil

from harness import (COMPLETE, FAILED, FAILING_SOURCE, LOAD, SOURCE, case, equal, files_below, iaprof, main,
                     needs_sampling, read, require, terminal, write)

SAMPLES = ['-s', f'{FAILING_SOURCE}:samples=3']
FOLDED = 'sampled program 3\n'
ESCAPE = '\x1b'


@case('no sink, standard output is no terminal: folded text there')
def to_pipe():
    outcome = iaprof(*SAMPLES).completes()
    equal(outcome.out, FOLDED, 'standard output')
    outcome.leaves()


@case('no sink, standard output is a file: folded text there')
def to_file():
    with open('out', 'wb') as out:
        iaprof('-q', *SAMPLES, stdout=out).completes()
    equal(read('out'), FOLDED, 'the file')
    equal(files_below('.'), ['out'], 'files')


@case('standard error is no terminal: no status line, no escape sequences')
def no_status_line():
    outcome = iaprof(*SAMPLES).completes()
    require(ESCAPE not in outcome.err and '\r' not in outcome.err, f'standard error: {outcome.err!r}')
    require(re.fullmatch(r'iaprof: 3 samples in .*\n', outcome.err), f'standard error: {outcome.err!r}')


@case('a terminal: a file, a table, a line with its path, and a status line')
def on_terminal():
    outcome = terminal(*SAMPLES).completes().leaves('iaprof.folded')
    require('tests: 3 count' in outcome.out and 'Hottest stacks' in outcome.out, 'no table')
    require('sampled program' in outcome.out and '100.00%' in outcome.out, 'not all in the table')
    require('iaprof: wrote iaprof.folded' in outcome.out, 'no word on the file')
    equal(read('iaprof.folded'), FOLDED, 'the file')
    for line in outcome.out.splitlines():
        require(len(re.sub(rf'\r|{ESCAPE}\[K', '', line)) <= 100 or line.startswith('iaprof: '), f'too wide: {line}')


@case('a terminal: a status line, which the summary takes the place of')
def status_line():
    # It is written at least once a second, or every interval.
    outcome = terminal('-i', '1ms', '-s', FAILING_SOURCE, '-o', 'out', 'sleep', '0.2').completes()
    line = rf'\r{ESCAPE}\[K'
    require(re.search(rf'({line}\d+ s  0 samples  0 lost)+{line}iaprof: 0 samples', outcome.out), 'no status line')
    outcome = terminal('-q', '-i', '1ms', '-s', FAILING_SOURCE, '-o', 'out', 'sleep', '0.2').completes()
    equal(outcome.out, '', 'what is shown with -q')


@case('a terminal and -o: the file, no table')
def terminal_and_output():
    outcome = terminal(*SAMPLES, '-o', 'out').completes().leaves('out')
    require('hottest' not in outcome.out, 'a table')


@case('a terminal, -q and a sink: nothing')
def terminal_quiet():
    outcome = terminal('-q', *SAMPLES, '-k', 'folded:output=out').completes().leaves('out')
    equal(outcome.out, '', 'what is shown')


@case('a terminal and a capture on standard output: refused')
def terminal_binary():
    outcome = terminal('-q', *SAMPLES, '--record', '-')
    equal(outcome.status, 2, 'exit status')
    require('iaprof: sink capture: binary output to a terminal (set output=FILE' in outcome.out, 'another message')


@case('a terminal and pprof, by any name of it: refused, and the hint works', ['-k', 'pprof'])
@case('the same by its device', ['-k', 'pprof', '-o', '/dev/stdout'])
@case('the same by the name of every terminal', ['-k', 'pprof:output=/dev/tty'])
@case('a terminal and a trace: refused', ['-k', 'perfetto'])
def terminal_binary_sinks(arguments):
    outcome = terminal('-q', *SAMPLES, *arguments)
    equal(outcome.status, 2, 'exit status')
    require('binary output to a terminal (set output=FILE or -o FILE, or use a pipe)' in outcome.out, outcome.out)
    sink = arguments[:2]
    if 'output' not in sink[1]:
        iaprof('-q', *SAMPLES, *sink, '-o', 'file').completes().leaves('file')


@case('-q prints nothing')
def quiet():
    outcome = iaprof('-q', *SAMPLES, '-o', 'out')
    equal((outcome.status, outcome.out, outcome.err), (COMPLETE, '', ''), 'status and output')
    outcome.leaves('out')


@case('-o - is standard output; the mode of a file follows the umask')
def output_names():
    equal(iaprof('-q', *SAMPLES, '-o', '-').out, FOLDED, 'standard output')
    for mask, mode in ((0o022, 0o644), (0o077, 0o600)):
        iaprof('-q', *SAMPLES, '-o', 'out', umask=mask).completes()
        equal(os.stat('out').st_mode & 0o777, mode, 'mode')


@case('several sinks at once')
def several_sinks():
    iaprof('-q', *SAMPLES, '-k', 'folded:output=a.folded', '-k', 'folded.second:output=b.folded', '-k',
           'csv:output=c.csv', '--record', 'd').completes().leaves('a.folded', 'b.folded', 'c.csv', 'd')
    equal((read('a.folded'), read('b.folded')), (FOLDED, FOLDED), 'folded files')


@case('an INI file: sections, a second instance, and the command line over them')
def from_file():
    write('run.ini', f'''[iaprof]
duration = 8760h
quiet = yes
[source:{FAILING_SOURCE}]
samples = 1
[sink:folded]
output = first
[sink:folded.second]
output = second
''')
    iaprof('-c', 'run.ini').completes().leaves('first', 'second')
    equal((read('first'), read('second')), ('sampled program 1\n', 'sampled program 1\n'), 'files')
    iaprof('-c', 'run.ini', '-s', f'{FAILING_SOURCE}:samples=3', '-k', 'folded.second:output=third').completes().leaves(
        'third')
    equal((read('first'), read('third')), (FOLDED, FOLDED), 'files')


@case('a replay without a sink: on a terminal a page named after the capture, otherwise folded stacks')
def replay_is_a_page():
    os.mkdir('kept')
    iaprof('-q', *SAMPLES, '--record', 'kept/run.1.iaprof').completes()
    outcome = iaprof('--replay', 'kept/run.1.iaprof').completes()
    equal((sorted(files_below('.')), outcome.out), (['kept/run.1.iaprof'], FOLDED), 'files, standard output')
    outcome = terminal('--replay', 'kept/run.1.iaprof').completes()
    equal(sorted(files_below('.')), ['kept/run.1.iaprof', 'run.1.html'], 'files')
    require('Hottest stacks' in outcome.out and 'wrote run.1.html' in outcome.out, f'no table: {outcome.out}')
    require(read('run.1.html').startswith('<!DOCTYPE html>'), 'no page')


@case('-o with a name that ends in .html: a page')
def page_by_name():
    iaprof('-q', *SAMPLES, '-o', 'out.html').completes().leaves('out.html')
    require(read('out.html').startswith('<!DOCTYPE html>'), 'no page')


@case('the replay of a capture is byte for byte the run\'s folded text')
def replay_same():
    iaprof('-q', *SAMPLES, '-k', 'folded:output=live', '--record', 'run').completes()
    equal(iaprof('-q', '--replay', 'run', '-o', '-').out, read('live'), 'the replay')


@case('the replay of a real capture is byte for byte the run\'s folded text', needs=[needs_sampling])
def replay_same_live():
    iaprof('-q', '-s', 'cpu-stack:frequency=999', '--record', 'run', '-k', 'folded:output=live', '-k',
           'folded.lines:lines=yes,output=live.lines', LOAD, 'shares', '300').completes()
    require(re.search(r'^load;.*burn_50 \d+$', read('live'), re.M), 'the program is not in the profile')
    iaprof('-q', '--replay', 'run', '-k', 'folded:output=again', '-k',
           'folded.lines:lines=yes,output=again.lines').completes()
    equal(read('again') == read('live'), True, 'the replay is the same')
    equal(read('again.lines') == read('live.lines'), True, 'the replay with lines is the same')
    # As the program has ended and its file may be another one now, names have to come out of the capture.
    iaprof('-q', '--record', 'copy', '--replay', 'run').completes()
    equal(iaprof('-q', '--replay', 'copy', '-o', '-').out == read('live'), True, 'the replay of a replay is the same')


@case('a truncated capture is replayed up to its end, with a message, and fails')
def replay_cut():
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=100000', '--record', 'run').completes()
    size = os.path.getsize('run')
    for part in (0.3, 0.6, 0.95):
        shutil.copy('run', 'cut')
        os.truncate('cut', int(size * part))
        outcome = iaprof('-q', '--replay', 'cut', '-o', 'out')
        outcome.fails(FAILED, r'source replay: cut: .*(ends|cut off|truncated|damaged).*\d', left=['out'])
        os.unlink('out')
        counts = re.findall(r'^sampled program (\d+)$', iaprof('-q', '--replay', 'cut', '-o', '-').out, re.M)
        require(len(counts) <= 1 and all(int(count) <= 100000 for count in counts), f'counts {counts}')
    equal(iaprof('-q', '--replay', 'run', '-o', '-').out, 'sampled program 100000\n', 'the whole one')


@case('a capture with a changed byte is found out')
def replay_damaged():
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=100000', '--record', 'run').completes()
    with open('run', 'r+b') as file:
        file.seek(os.path.getsize('run') // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0xff]))
    iaprof('-q', '--replay', 'run', '-o', 'out').fails(FAILED, r'source replay: run: .*\d', left=['out'])


@case('a capture comes and goes through pipes')
def replay_pipe():
    recorded = iaprof('-q', *SAMPLES, '--record', 'run').completes()
    require(recorded.out == '', 'something on standard output')
    with open('run', 'rb') as run:
        equal(iaprof('-q', '--replay', '/dev/stdin', '-o', '-', stdin=run).out, FOLDED, 'the replay')


@case('-i: csv has rows of every interval, folded has the whole run', needs=[needs_sampling])
def intervals():
    iaprof('-q', '-i', '50ms', '-s', 'cpu-stack:frequency=999', '-k', 'csv:output=rows.csv', '-k',
           'folded:output=whole', LOAD, 'shares', '400').completes()
    with open('rows.csv', newline='', encoding='utf-8', errors='replace') as file:
        rows = list(csv.DictReader(file))
    require(len({row['interval'] for row in rows}) > 1, 'one interval')
    total = sum(int(line.rsplit(' ', 1)[1]) for line in read('whole').splitlines() if not line.startswith('[lost]'))
    equal(sum(int(row['value']) for row in rows if not row['stack'].startswith('[lost]')), total,
          'sum of the intervals')


@case('--scope command: the command and its children, nobody else', needs=[needs_sampling])
def scope_command():
    iaprof('-q', '--scope', 'command', '-s', 'cpu-stack:frequency=999', '-o', 'out', 'sh', '-c',
           f'"{LOAD}" shares 200; :').completes()
    programs = {line.split(';')[0].rsplit(' ', 1)[0] if ';' not in line else line.split(';')[0]
                for line in read('out').splitlines()}
    require('load' in programs, f'no child of the command in {programs}')
    require(programs <= {'load', 'sh', 'iaprof', '[lost]'}, f'others too: {programs}')


@case('-p: only this process', needs=[needs_sampling])
def pid():
    import subprocess
    with subprocess.Popen([LOAD, '--gate', 'shares', '300'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as load:
        # The command ends when the process has: its gate opens once iaprof profiles.
        outcome = iaprof('-q', '-p', str(load.pid), '-s', 'cpu-stack:frequency=999', '-o', 'out', 'sh', '-c',
                         'echo >&3; exec 3>&-; while kill -0 $0; do if read -r a b state rest < /proc/$0/stat && '
                         '[ "$state" = Z ]; then break; fi; done 2>/dev/null', str(load.pid),
                         pass_fds=[load.stdin.fileno()], wrap=['sh', '-c', f'exec 3>&{load.stdin.fileno()} "$@"', 'sh'])
        outcome.completes()
    programs = {line.split(';')[0] for line in read('out').splitlines()}
    require('load' in programs and programs <= {'load', '[lost]'}, f'programs: {programs}')


@case('--list by kind, --help, --help all, --help PLUGIN, --version')
def listings_and_help():
    outcome = iaprof('--list')
    equal((outcome.status, outcome.err), (COMPLETE, ''), 'status and standard error')
    kinds = dict(re.findall(r'^(Sources|Sinks|Decoders), .*:\n((?:  .+\n)+)', outcome.out, re.M))
    for kind, name in (('Sources', 'replay'), ('Sinks', 'capture'), ('Sinks', 'csv'), ('Sinks', 'folded')):
        require(re.search(rf'^  {name} +\S', kinds[kind], re.M), f'no {name} in {kind}')
    require(max(map(len, outcome.out.splitlines())) <= 80, 'a long line')
    version = re.search(r"version: '(\S+)'", read(os.path.join(SOURCE, 'meson.build'))).group(1)
    equal(iaprof('--version').out, f'iaprof {version}\n', 'version')
    for option in ('--config', '--duration', '--interval', '--source', '--sink', '--pid', '--scope', '--output',
                   '--record', '--replay', '--list', '--help', '--check', '--version', '--verbose', '--quiet'):
        require(option in iaprof('--help', 'all').out, f'no {option} in --help all')
    equal(iaprof('-h').out, iaprof('--help').completes().out, 'the short form')
    for name in ('folded', FAILING_SOURCE):
        outcome = iaprof('--help', name)
        equal((outcome.status, outcome.err), (COMPLETE, ''), 'status and standard error')
    require('samples=' in outcome.out and 'Sends this many samples' in outcome.out, 'no help for a key')


if __name__ == '__main__':
    main()
