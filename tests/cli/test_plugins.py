#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that are wrong: each is refused or ends the run with one line that names it, and leaves nothing behind."""
import csv
import os
import re
import shutil

from harness import (COMPLETE, FAILED, FAILING_SINK, FAILING_SOURCE, NOTHING, OWN_FAILURE, PLUGINS, USAGE, case,
                     equal, iaprof, main, needs_program, needs_root, read, require, write)

FAULTY = os.environ['TEST_FAULTY_PLUGINS']
WITH_OUTPUT = ['-q', '-k', 'folded:output=out', '-s']
NOBODY = 65534

# Plugins that are refused before anything is started, and why.
REFUSED = {
    'member': r'a source needs stop\(\)',
    'abi': r'is built for version 5 of the plugin interface, this iaprof supports up to version 4 \(update iaprof\)',
    'earlier': r'is built for version 3 of the plugin interface, this iaprof supports version 4 and later \(rebuild it: '
               r'iaprof-plugin\(7\), Porting\)',
    'schema': r'is built for version 2 of the record schema, this iaprof supports up to version 1 \(update iaprof\)',
    'plugin-flags': r'has the unknown flags 0x80000000, which a later version of iaprof defines \(update iaprof\)',
    'operations': r'its source operations are cut off: 16 bytes, at least [0-9]+',
    'cut': r'its description is cut off: 64 bytes, at least [0-9]+',
    'companion': r'its companions are not up to 16 names of other plugins',
    'null': r'iaprof_plugin_register\(\) returns NULL',
    'symbol': r'has no symbol iaprof_plugin_register: it is not a plugin of iaprof',
    'kind': r'unknown kind 9 of plugin',
    'default': r'number.*many',
}
for fault, why in REFUSED.items():
    @case(f'refused: {fault}', fault, why)
    def refused(fault, why):
        path = os.path.join(FAULTY, f'iaprof-faulty-{fault}.so')
        iaprof(*WITH_OUTPUT, path, 'touch', 'ran').fails(OWN_FAILURE, f'iaprof-faulty-{fault}.so: ', why)
        iaprof('--check', '-s', path).fails(USAGE, why)


@case('refused: not ELF')
def not_elf():
    write('iaprof-text.so', 'not a program\n')
    iaprof(*WITH_OUTPUT, './iaprof-text.so').fails(USAGE, r'plugin \./iaprof-text\.so: ', 'ELF|file too short')


@case('refused: empty')
def empty():
    write('iaprof-empty.so', '')
    iaprof(*WITH_OUTPUT, './iaprof-empty.so').fails(USAGE, r'plugin \./iaprof-empty\.so: ', 'too short')


@case('refused: half a plugin')
def half():
    with open(FAILING_SOURCE, 'rb') as file:
        contents = file.read()
    # Cut inside of the ELF header's program headers, where the loader looks at lengths before it maps anything.
    write('iaprof-failing-source.so', contents[:100])
    iaprof(*WITH_OUTPUT, './iaprof-failing-source.so').fails(USAGE, 'too short|cannot read|ELF')


@case('refused: a program that is no plugin')
def program():
    shutil.copy(shutil.which('true'), 'iaprof-true.so')
    iaprof(*WITH_OUTPUT, './iaprof-true.so').fails(USAGE, r'iaprof-true\.so: ', 'executable|no symbol')


@case('refused: not there')
def missing():
    iaprof(*WITH_OUTPUT, './iaprof-none.so').fails(USAGE, r'\./iaprof-none\.so', 'No such file')


@case('refused: a folder')
def folder():
    os.mkdir('iaprof-folder.so')
    iaprof(*WITH_OUTPUT, './iaprof-folder.so').fails(USAGE, r'\./iaprof-folder\.so')


@case('refused: another file name than its own')
def renamed():
    shutil.copy(FAILING_SOURCE, 'iaprof-other.so')
    iaprof(*WITH_OUTPUT, './iaprof-other.so').fails(USAGE, 'calls itself "failing-source"', 'iaprof-failing-source.so')


@case('refused: no plugin\'s file name')
def misnamed():
    shutil.copy(FAILING_SOURCE, 'other.so')
    iaprof(*WITH_OUTPUT, './other.so').fails(USAGE, 'other.so', 'iaprof-NAME.so')


def writable_plugin(folder_mode, file_mode, owner):
    os.mkdir('plugins', 0o755)
    os.chmod('plugins', folder_mode)
    path = './plugins/iaprof-failing-source.so'
    shutil.copy(FAILING_SOURCE, path)
    os.chmod(path, file_mode)
    os.chown(path, owner, -1)
    return path


# Files that somebody else could change: what they may do, and what is to be done.
for name, folder_mode, file_mode, owner, said in (
        ('a file that all can write', 0o755, 0o777, 0, ('iaprof-failing-source.so', 'chmod go-w')),
        ('a file in a folder that all can write', 0o1777, 0o755, 0, ('plugins ', 'chmod go-w')),
        ('a file of another user', 0o755, 0o755, NOBODY, (f'belongs to user {NOBODY}', 'chown it to root'))):
    @case(f'refused with rights: {name}', folder_mode, file_mode, owner, said, needs=[needs_root])
    def unsafe(folder_mode, file_mode, owner, said):
        path = writable_plugin(folder_mode, file_mode, owner)
        environment = {key: value for key, value in os.environ.items() if key != 'SUDO_UID'}
        iaprof(*WITH_OUTPUT, path, env=environment).fails(USAGE, *said)


@case('with rights: the plugin of the one who called sudo', needs=[needs_root])
def of_caller():
    path = writable_plugin(0o755, 0o755, NOBODY)
    outcome = iaprof('-q', '-s', f'{path}:samples=1', env={**os.environ, 'SUDO_UID': str(NOBODY)})
    equal((outcome.status, outcome.err), (COMPLETE, ''), 'status and standard error')


@case('with rights: a link to a file that all can write', needs=[needs_root])
def link_to_unsafe():
    path = writable_plugin(0o755, 0o777, 0)
    os.mkdir('safe')
    os.symlink(f'.{path}', 'safe/iaprof-failing-source.so')
    iaprof(*WITH_OUTPUT, './safe/iaprof-failing-source.so').fails(USAGE, 'chmod go-w')


@case('a folder of --plugin-path is searched')
def named_folder():
    os.mkdir('empty')
    os.mkdir('plugins', 0o755)
    shutil.copy(FAILING_SOURCE, 'plugins')
    shutil.copy(FAILING_SINK, 'plugins/iaprof-folded.so')  # it calls itself otherwise
    write('a.ini', '[iaprof]\nplugin-path = plugins\n')
    environment = {key: value for key, value in os.environ.items() if key != 'SUDO_UID'}
    for chosen in ['--plugin-path', 'plugins'], ['--plugin-path=/usr/share:plugins'], ['-c', 'a.ini']:
        if 'share' in chosen[0]:
            iaprof(*chosen, '-q', '-s', 'failing-source').fails(USAGE, 'plugin-path: folder /usr/share has no plugin')
            continue
        outcome = iaprof(*chosen, '-q', '-s', 'failing-source:samples=1', '-k', 'csv', env=environment)
        equal((outcome.status, outcome.err), (COMPLETE, ''), f'{chosen}: status and standard error')
        iaprof(*chosen, '-q', '-s', 'failing-source', '-k', 'folded', env=environment).fails(
            USAGE, 'plugins/iaprof-folded.so', 'calls itself "failing-sink"')
    require('failing-source' in iaprof('--plugin-path', 'plugins', '--list', env=environment).out, '--list lacks it')
    for folder, why in ('none', 'No such file'), ('a.ini', 'not a folder'), ('empty', 'iaprof-NAME.so'):
        iaprof('--plugin-path', folder, '-s', 'failing-source').fails(USAGE, f'plugin-path: .*{folder}.*{why}')


@case('texts of a plugin cannot control the terminal')
def hostile_texts():
    with open(FAILING_SOURCE, 'rb') as file:
        contents = file.read()
    # Terminals interpret C1 control characters as well (U+009B, and some the byte 0x9b), and option texts may have those.
    for old, new in ((b'fails in the requested callback', b'f\x1b[2J\x1b]0;title\x07\n\xc2\x9b3'), (b'the callback that fails', b'the \xc2\x9b31m\x9b callback'),
                     (b'what it sends without end', '\u202ewhat it sends w'.encode())):
        require(contents.count(old) == 1, f'{old} is not once in the plugin')
        contents = contents.replace(old, new.ljust(len(old)))
    os.mkdir('plugins')
    write('plugins/iaprof-failing-source.so', contents)
    listed = iaprof('--plugin-path', 'plugins', '--list').completes().out
    line = next(line for line in listed.splitlines() if 'failing-source' in line)
    require(line.rstrip().endswith(' f?[2J?]0;title????3'), f'{line!r}')
    described = iaprof('--plugin-path', 'plugins', '--help', 'failing-source').completes().out
    for wanted in '(source): f?[2J?]0;title????3', 'The ??31m? callback', '???what it sends w':
        require(wanted in described, f'{wanted} is not in {described!r}')
    for text in listed, described:
        equal(re.findall('[\0-\x09\x0b-\x1f\x7f-\x9f\u202e\ufffd]', text), [], 'control characters')


@case('with rights: a folder of --plugin-path that others can write', needs=[needs_root])
def writable_named_folder():
    writable_plugin(0o1777, 0o755, 0)
    iaprof('--plugin-path', 'plugins', '-s', 'failing-source').fails(USAGE, 'plugin-path: .*plugins .*chmod go-w')
    os.chmod('plugins', 0o755)
    os.chmod('plugins/iaprof-failing-source.so', 0o777)
    iaprof('--plugin-path', 'plugins', '-s', 'failing-source').fails(USAGE, 'failing-source.so .*chmod go-w')


def search_path_environment():
    return {**os.environ, 'IAPROF_PLUGIN_PATH': f'/none:{PLUGINS}', 'HOME': '/none'}


@case('with rights: the environment\'s folders are ignored', needs=[needs_root])
def path_ignored():
    iaprof(*WITH_OUTPUT, 'failing-source:samples=1', env=search_path_environment()).fails(
        USAGE, 'no source "failing-source"')


@case('without rights: the environment\'s folders are searched', needs=[needs_root, needs_program('setpriv')])
def path_searched():
    outcome = iaprof('-q', '-s', 'failing-source:samples=1', env=search_path_environment(),
                     wrap=['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups'])
    equal((outcome.status, outcome.err), (COMPLETE, ''), 'status and standard error')


# What a source's failure means: before it is started nothing is written; afterwards what there is.
SOURCE_FAILS = {
    'configure': USAGE, 'probe': NOTHING, 'prepare': FAILED, 'start': FAILED,
    'timer': FAILED, 'descriptor': FAILED, 'thread': FAILED, 'stop': FAILED, 'finish': FAILED,
}
STARTED = ('timer', 'descriptor', 'thread', 'stop', 'finish')
for place, status in SOURCE_FAILS.items():
    for how in ('saying-why', 'silently', 'positive'):
        @case(f'source fails in {place}, {how}', place, status, how)
        def source_fails(place, status, how):
            said = f'the {place} fails as requested' if how == 'saying-why' else r'(\(\)|callback\(?\)?) failed: '
            # A source that only fails when it ends has to come to its end.
            samples = ',samples=3' if place in ('stop', 'finish') else ''
            source = f'{FAILING_SOURCE}:in={place},how={how}{samples}'
            left = ['out'] if place in STARTED else []
            iaprof(*WITH_OUTPUT, source).fails(status, '^iaprof: source failing-source: ', said, left=left)
            if samples:
                equal(read('out'), 'sampled program 3\n', 'the profile of the samples before')


@case('source fails to start: the command does not run, another sink writes nothing')
def source_fails_with_command():
    iaprof('-q', '-s', f'{FAILING_SOURCE}:in=start', '-k', 'folded:output=out', '--record', 'run', 'touch',
           'ran').fails(OWN_FAILURE, 'source failing-source: the start fails as requested')


@case('an optional source cannot start: a warning, and the run is complete', ['yes', 'no'])
def optional_source(isolate_choices):
    for isolate in isolate_choices:
        for place in 'probe', 'prepare', 'start':
            for other in [], ['--', 'true']:
                outcome = iaprof('-s', f'{FAILING_SOURCE}.first:in={place},optional=yes,isolate={isolate}', '-s',
                                 f'{FAILING_SOURCE}.second:samples=5', '-o', 'out', *other)
                equal(outcome.status, COMPLETE, outcome.err)
                require(f'warning: source failing-source.first: the {place} fails as requested (the run continues without this '
                        'optional source)' in outcome.err, outcome.err)
                require('sampled program 5\n' in read('out'), read('out'))
                os.unlink('out')


@case('only optional sources, and none can start: the run fails')
def only_optional_sources():
    for place, status in ('probe', NOTHING), ('prepare', FAILED), ('start', FAILED):
        iaprof('-q', '-s', f'{FAILING_SOURCE}:in={place},optional=yes', '-o', 'out').fails(
            status, f'source failing-source: the {place} fails as requested')
    iaprof('-s', f'{FAILING_SOURCE}:optional=perhaps', '-o', 'out').fails(USAGE, 'optional=perhaps: expected yes or no')


@case('one of two sources fails: the other goes on to its end')
def one_of_two_sources():
    outcome = iaprof('-q', '-s', f'{FAILING_SOURCE}.first:in=thread', '-s', f'{FAILING_SOURCE}.second:samples=5',
                     '-o', 'out')
    outcome.fails(FAILED, r'source failing-source\.first: the thread fails as requested', left=['out'])
    equal(read('out'), 'sampled program 5\n', 'the profile of the other')


for fault in ('short', 'unaligned', 'long', 'type-zero', 'count-zero', 'backwards', 'no-bytes'):
    @case(f'source sends a malformed record: {fault}', fault)
    def malformed(fault):
        iaprof(*WITH_OUTPUT, f'{FAILING_SOURCE}:record={fault},samples=3').fails(
            FAILED, '^iaprof: source failing-source: malformed record', left=['out'])
        equal(read('out'), 'sampled program 3\n', 'the profile of the records before')


def end_records(source, *rest):
    """Runs a source beside one that sends two samples. Returns what the data has of the end of the first one: source, reason,
    number, and whether its time is within the run."""
    iaprof('-q', '-s', f'{FAILING_SOURCE}.other:samples=2', '-s', source, '-k', 'csv:rows=events,output=events', *rest).fails(
        FAILED, '^iaprof: source failing-source: ', left=['events'])
    rows = list(csv.DictReader(read('events').splitlines()))
    os.unlink('events')
    times = [int(row['time']) for row in rows]
    return [(row['source'], row['name'], row['text'], min(times) <= int(row['begin']) <= max(times))
            for row in rows if row['record'] == 'lost']


ENDED_EARLY = [('failing-source', 'records: the plugin ended early', 'count not known', True)]


@case('a source that fails after its start: the data has when', ['yes', 'no'])
def end_is_recorded(isolate_choices):
    for isolate in isolate_choices:
        for fails in *(f'in={place}' for place in STARTED), 'record=short':
            equal(end_records(f'{FAILING_SOURCE}:isolate={isolate},{fails}', '-d', '300ms'), ENDED_EARLY, f'{isolate}, {fails}')


@case('a source whose process crashes: the data has when')
def crash_is_recorded():
    for place in STARTED:
        equal(end_records(f'{FAILING_SOURCE}:in={place},ends=exit', '-d', '300ms'), ENDED_EARLY, place)


SINK_FAILS = {'configure': USAGE, 'prepare': FAILED, 'start': FAILED, 'records': FAILED, 'profile': FAILED,
              'finish': FAILED}
for place, status in SINK_FAILS.items():
    @case(f'sink fails in {place}', place, status)
    def sink_fails(place, status):
        for silently, said in (('no', f'the {place} fails as requested'), ('yes', rf'{place}\(\) failed: ')):
            iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=3', '-k',
                   f'{FAILING_SINK}:in={place},silently={silently},output=out').fails(
                       status, '^iaprof: sink failing-sink: ', said)


@case('a sink that succeeds without its output', ['yes', 'no'])
def sink_without_output(isolate_choices):
    faults = {'open': 'output half was not finished: the plugin left it open',
              'unopened': 'output half was not written: the plugin never opened it'}
    for isolate in isolate_choices:
        for leaves, said in faults.items():
            iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=3', '-k', f'{FAILING_SINK}:isolate={isolate},leaves={leaves},output=half',
                   '-k', 'folded:output=out').fails(FAILED, f'^iaprof: sink failing-sink: {said}$', left=['out'])
            os.unlink('out')
    outcome = iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=3', '-k', f'{FAILING_SINK}:leaves=open')
    equal((outcome.status, outcome.err), (FAILED, 'iaprof: sink failing-sink: output standard output was not finished: the plugin '
                                          'left it open\n'), 'of standard output')


@case('sink fails: the run ends, though its source would go on')
def sink_ends_run():
    iaprof('-q', '-s', f'{FAILING_SOURCE}', '-k', f'{FAILING_SINK}:in=records,output=out').fails(
        FAILED, 'sink failing-sink: the records fails as requested')


@case('sink fails: another one writes all')
def other_sink():
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=3', '-k', f'{FAILING_SINK}:in=records,output=half', '-k',
           'folded:output=out').fails(FAILED, 'sink failing-sink: ', left=['out'])
    equal(read('out'), 'sampled program 3\n', 'the other sink\'s output')


@case('both source and sink fail: a line for each')
def both_fail():
    outcome = iaprof('-q', '-s', f'{FAILING_SOURCE}:in=stop,samples=1', '-k', f'{FAILING_SINK}:in=finish,output=out')
    equal(outcome.status, FAILED, 'exit status')
    equal(outcome.err.splitlines(), ['iaprof: source failing-source: the stop fails as requested',
                                     'iaprof: sink failing-sink: the finish fails as requested'], 'lines')
    outcome.leaves()


if __name__ == '__main__':
    main()
