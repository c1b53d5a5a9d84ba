#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Device code in a run: what the events and the summary say of it, also in a replay; bad images; decoders."""
import csv
import os
import re
import shutil
import subprocess

from harness import FAILED, PLUGINS, PROGRAM, SOURCE, USAGE, Skip, case, equal, iaprof, main, read, require, write

FAILING_DECODER = os.path.join(PLUGINS, 'iaprof-failing-decoder.so')
DEVICE_SOURCE = os.path.join(PLUGINS, 'iaprof-device-source.so')
ZEBIN = os.path.join(SOURCE, 'tests/data/zebin')
EVENTS = ['-k', 'csv:rows=events,output=events.csv,newline=lf,escape=no']


def rows(path='events.csv'):
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def functions(found):
    return {row['text']: row for row in found if row['record'] == 'code-function'}


def wanted_attributes(path):
    """Of each kernel, from the section's text: what is plain under execution_env."""
    text = subprocess.run(['readelf', '-p', '.ze_info', path], stdout=subprocess.PIPE, encoding='utf-8', check=True).stdout
    lines = [re.sub(r'^ *\[ *[0-9a-f]+\] *|\\n$', '', line) for line in text.splitlines()]
    kernels, kernel = {}, None
    for line in lines:
        if line.startswith('kernels_misc_info'):
            break
        if match := re.match(r"(?: *)- name: +'?([^' ]+)'?$", line):
            kernel = match[1]
            kernels.setdefault(kernel, {})
        elif kernel and (match := re.match(r' *([a-z0-9_]+): +(-?\d+|true|false)$', line)):
            kernels[kernel].setdefault(match[1], {'true': '1', 'false': '0'}.get(match[2], match[2]))
    return kernels


@case('samples without a launch of the command: the last line names --scope system')
def foreign_samples():
    hint = r'^iaprof: 100 % of GPU samples belong to no launch of the command: .* --scope system$'
    for options, is_hinted in ('samples=20,outside=yes', True), ('samples=20', False):
        outcome = iaprof('--scope', 'command', '-s', f'{DEVICE_SOURCE}:{options}', '-o', 'out', 'sleep', '1000')
        equal(bool(re.search(hint, outcome.err.splitlines()[-1])), is_hinted, outcome.err)
    outcome = iaprof('--scope', 'system', '-s', f'{DEVICE_SOURCE}:samples=20,outside=yes', '-o', 'out', 'sleep', '1000')
    require('--scope system' not in outcome.err, outcome.err)


@case('events list functions of the image with the compiler\'s attributes, and launches of them', 'bmg', '.bin')
@case('events list functions of the image with the compiler\'s attributes, and launches of them', 'pvc',
      '.loaded-debug.elf')
def listed(product, suffix):
    image = os.path.join(ZEBIN, product, 'transformer' + suffix)
    outcome = iaprof('-d', '200ms', '-s', f'{DEVICE_SOURCE}:image={image},kernel=_ZTS5scaleIfE', *EVENTS)
    outcome.completes('device code: 1 code object \\(1 image\\), 1 kernel, 42 launches')
    # The launches are of a process that is not there: their stack has no names, and that is said.
    require(not re.search(r'warning: (?!1 launch or call stack not resolved)', outcome.err), f'standard error: {outcome.err!r}')
    found = functions(rows())
    wanted = wanted_attributes(image)
    equal(sorted(found), sorted(wanted), 'functions')
    equal(found['_ZTS5scaleIfE']['name'], 'scale<float>', 'shown name')
    for name, row in found.items():
        attributes = dict(part.split('=') for part in row['attributes'].split(';'))
        require(len(attributes) >= 3, f'{name} has {attributes}')
        for key, value in attributes.items():
            equal(wanted[name].get(key), value, f'{key} of {name}')
        equal(row['kind'], 'kernel', f'kind of {name}')
        equal(row['source'], 'device-source', f'source of {name}')
    launches = [row for row in rows() if row['record'] == 'launch']
    equal([(row['name'], row['count'], row['attributes']) for row in launches],
          [('scale<float>', '42', found['_ZTS5scaleIfE']['attributes'])], 'launches')
    objects = [row for row in rows() if row['record'].startswith('code-object')]
    equal([(row['record'], row['id']) for row in objects], [('code-object', '1'), ('code-object-unload', '1')],
          'code objects')


@case('without its decoder an image has its functions, and the summary reports once what is missing')
def without_decoder():
    os.makedirs('tree/meson-info')
    os.makedirs('tree/plugins/sink-csv')
    build = os.path.dirname(PROGRAM)
    for name in 'iaprof', 'iaprof-broker', 'iaprof-worker', 'iaprof-code-worker':
        shutil.copy(os.path.join(build, name), 'tree')
    shutil.copy(os.path.join(build, 'plugins/sink-csv/iaprof-csv.so'), 'tree/plugins/sink-csv')
    image = os.path.join(ZEBIN, 'bmg', 'transformer.bin')
    outcome = iaprof('-d', '200ms', '-s', f'{DEVICE_SOURCE}:image={image},kernel=_ZTS5scaleIfE,objects=3', *EVENTS,
                     program=os.path.abspath('tree/iaprof'))
    outcome.completes('device code: 3 code objects \\(1 image\\), 1 kernel, 42 launches')
    equal(len(re.findall('warning: no decoder for device code of ELF machine 205: ', outcome.err)), 1,
          f'what is said of decoders: {outcome.err}')
    found = functions(rows())
    equal(sorted(found), sorted(wanted_attributes(image)), 'functions')
    for name, row in found.items():
        equal(row['attributes'], '', f'attributes of {name}')
    shutil.rmtree('tree')


@case('a replay passes on what a capture has of images that are gone')
def replayed():
    with open(os.path.join(ZEBIN, 'bmg', 'transformer.bin'), 'rb') as file:
        image = write('image', file.read())
    iaprof('-d', '200ms', '-s', f'{DEVICE_SOURCE}:image={os.path.abspath(image)},kernel=_ZTS5scaleIfE', *EVENTS,
           '--record', 'capture').completes()
    os.unlink(image)
    live = functions(rows())
    outcome = iaprof('--replay', 'capture', *EVENTS).completes()
    require('warning' not in outcome.err, f'standard error: {outcome.err!r}')
    equal(functions(rows()), live, 'functions')
    # What images are is known from the start.
    kernels = [row for row in rows() if row['record'] == 'kernel']
    equal([(row['name'], row['attributes']) for row in kernels],
          [('scale<float>', live['_ZTS5scaleIfE']['attributes'])], 'kernels')


def intervals(path):
    """(interval, stack) -> samples of the device."""
    samples = {}
    for row in rows(path):
        if row['value_type'] == 'gpu-stalls':
            key = row['interval'], row['stack']
            samples[key] = samples.get(key, 0) + int(row['value'])
    return samples


@case('intervals of a replay have the samples of the device that those of the run had')
def replayed_intervals():
    sink = 'csv:newline=lf,escape=no,output='
    iaprof('-i', '100ms', '--hold', '20ms', '-s', f'{DEVICE_SOURCE}:samples=50', '-k', f'{sink}live.csv',
           '--record', 'capture').completes('1275 samples')
    live = intervals('live.csv')
    equal(sum(live.values()), 50 * 51 // 2, 'samples')
    require(len({interval for interval, _ in live}) >= 3, f'intervals: {live}')
    iaprof('--replay', 'capture', '-i', '100ms', '-k', f'{sink}replay.csv').completes()
    equal(intervals('replay.csv'), live, 'intervals')


@case('images that are none: one message for each reason, a count, and the run goes on')
def refused():
    os.mkfifo('fifo')
    os.mkdir('folder')
    write('prose', 'no image')
    for path, reason in (('fifo', 'not a regular file'), ('folder', 'not a regular file'), ('prose', 'no code'),
                         ('nonexistent', 'removed')):
        outcome = iaprof('-d', '200ms', '-s', f'{DEVICE_SOURCE}:image={os.path.abspath(path)},objects=50', *EVENTS)
        outcome.completes('device code: 50 images could not be read',
                          'device code: 50 code objects \\(0 images\\), 1 kernel, 42 launches')
        equal(len(re.findall(reason, outcome.err)), 1, f'messages for {path}')
        equal([row['name'] for row in rows() if row['record'] == 'launch'], ['kernel'], 'launches')


@case('kernels without a size, or with one that cannot be, are counted')
def sizes():
    for size in '0', '0x8000000000000000':
        iaprof('-d', '100ms', '-s', f'{DEVICE_SOURCE}:size={size}', *EVENTS).completes(
            'device code: 1 kernel without a known size')


@case('keys of decoders: on the command line, in a file, and what is wrong with them')
def decoders():
    run = ['--check', '-s', DEVICE_SOURCE]
    outcome = iaprof(*run, '--decoder', 'intel-gt:generation=xe2').completes()
    require('decoder intel-gt: ready, ELF machine 205\n' in outcome.out, outcome.out)
    write('good.ini', '[decoder:intel-gt]\ngeneration = xe2\n')
    require('decoder intel-gt: ready' in iaprof(*run, '-c', 'good.ini').completes().out, 'the decoder of the file')
    write('bad.ini', '[decoder:intel-gt]\ngeneration = xe9\n')
    iaprof(*run, '-c', 'bad.ini').fails(USAGE, 'bad.ini:2: intel-gt: generation')
    iaprof(*run, '--decoder', 'intel-gt:genration=xe2').fails(USAGE, '--decoder: intel-gt: .*generation')
    iaprof(*run, '--decoder', 'csv').fails(USAGE, '"csv" is a sink, not a decoder')
    iaprof(*run, '--decoder', 'intel-gt', '--decoder', 'intel-gt.b').fails(USAGE, 'both for ELF machine 205')


def decoded(options):
    """A run with samples of one instruction, which the failing decoder was asked about; and its stacks."""
    image = os.path.join(ZEBIN, 'bmg', 'transformer.bin')
    outcome = iaprof('-d', '1s', '-s', f'{DEVICE_SOURCE}:image={image},kernel=_ZTS5scaleIfE,samples=20',
                     '--decoder', f'{FAILING_DECODER}{options}', '-k', 'folded:output=out.folded')
    require('device: 0 rows, 210 samples: 210 matched, 0 ambiguous, 0 unmatched' in outcome.err, outcome.err)
    lines = read('out.folded').splitlines()
    equal([line.rsplit(' ', 1)[1] for line in lines], ['210'], 'samples')
    return outcome, lines[0]


CRASHED = 'crashed with SIG(ABRT|SEGV) in callback code_decode'


@case('a decoder that fails costs its image the lines, is named, and nobody loses anything else', 'ends=segv', CRASHED)
@case('a decoder that fails costs its image the lines, is named, and nobody loses anything else', 'ends=overflow', CRASHED)
@case('a decoder that fails costs its image the lines, is named, and nobody loses anything else', 'ends=abort', CRASHED)
@case('a decoder that fails costs its image the lines, is named, and nobody loses anything else', 'ends=exit',
      'called exit\\(\\) in callback code_decode')
@case('a decoder that fails costs its image the lines, is named, and nobody loses anything else', 'ends=at-once',
      'called _exit\\(\\) in callback code_decode')
@case('a decoder that fails costs its image the lines, is named, and nobody loses anything else', 'ends=hang',
      'callback code_decode does not return')
@case('a decoder that fails costs its image the lines, is named, and nobody loses anything else', 'does=loops',
      'callback code_decode does not return')
@case('a decoder that fails costs its image the lines, is named, and nobody loses anything else', 'does=hoards',
      f'({CRASHED}|callback code_decode does not return)')
def decoder_fails(options, reason):
    outcome, stack = decoded(f':{options}')
    require(re.search(r';scale<float>_\[G\];reason 0_\[g\];0x0_\[g\] 210$', stack), stack)
    require('transformer.cl' not in stack, stack)
    # A sanitizer has signal handlers of its own, and a limit on memory; AddressSanitizer makes system calls at the end of a
    # handler that a decoder may not make, and in a loop ThreadSanitizer delivers no signal.
    ignored = r'warning: ignored \S*transformer\.bin: '
    told = {'none': [options], 'thread': ['ends=hang']}.get(os.environ['TEST_SANITIZERS'], [])
    if options not in told:
        require(re.search(ignored, outcome.err), outcome.err)
        return
    equal(outcome.status, FAILED, 'status')
    consequence = r' \(not used for other code of this run\)' if 'does not return' in outcome.err else ''
    equal(len(re.findall(rf'^iaprof: decoder failing-decoder: {reason}{consequence}$', outcome.err, re.MULTILINE)), 1, outcome.err)
    equal(len(re.findall(rf'{ignored}decoder failing-decoder: {reason}$', outcome.err, re.MULTILINE)), 1, outcome.err)


@case('a decoder that hangs is not waited for again: other images are read without it')
def decoder_hangs_once():
    if os.environ['TEST_SANITIZERS'] != 'none':
        raise Skip('a sanitizer handles signals')
    with open(os.path.join(ZEBIN, 'bmg', 'transformer.bin'), 'rb') as file:
        image = file.read()
    sources = []
    for number in range(1, 6):
        with open(f'{number}.bin', 'wb') as file:
            file.write(image + bytes([number]))
        sources += ['-s', f'{DEVICE_SOURCE}.{number}:image={os.getcwd()}/{number}.bin,kernel=_ZTS5scaleIfE,samples=20,'
                          f'address={number * 0x1000:#x}']
    outcome = iaprof('-d', '1s', *sources, '--decoder', f'{FAILING_DECODER}:ends=hang', '-k', 'folded:output=out.folded')
    equal(outcome.status, FAILED, 'status')
    message = 'iaprof: decoder failing-decoder: callback code_decode does not return (not used for other code of this run)'
    equal(outcome.err.splitlines().count(message), 1, outcome.err)
    ignored = re.findall(r'warning: ignored (.*)', outcome.err)
    require(len(ignored) == 1 and re.search(r'\.bin: decoder failing-decoder: callback code_decode does not return$', ignored[0]), ignored)
    equal(sum(int(line.rsplit(' ', 1)[1]) for line in read('out.folded').splitlines()), 5 * 210, 'samples')


@case('a decoder opens and reaches nothing', 'names', 'named')
@case('a decoder opens and reaches nothing', 'opens', 'EPERM')
@case('a decoder opens and reaches nothing', 'connects', 'EPERM')
def decoder_confined(deed, name):
    _, stack = decoded(f':does={deed}')
    require(f';scale<float>_[G];{name}_[g];reason 0' in stack, stack)


if __name__ == '__main__':
    main()
