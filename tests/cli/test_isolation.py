#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins in processes of their own: whatever a callback does ends its plugin alone, which is named; the data of
the other ones is written, and the exit status is 1."""
import concurrent.futures
import csv
import os
import pathlib
import re
import signal
import subprocess

from harness import (CAPTURE, COMPLETE, FAILED, FAILING_SINK, FAILING_SOURCE, LOAD, NOTHING, OWN_FAILURE, PLUGINS, PROGRAM, TIMEOUT, USAGE,
                     Skip, case, end, equal, iaprof, main, needs_sampling, read, require, start, wait_until, write)
import processes

FAILING_DECODER = os.path.join(PLUGINS, 'iaprof-failing-decoder.so')
FAILING_LOAD = os.path.join(PLUGINS, 'iaprof-failing-load.so')
KNOWN_SOURCE = os.path.join(PLUGINS, 'iaprof-known-source.so')
WATCHING_SOURCE = os.path.join(PLUGINS, 'iaprof-watching-source.so')
PLACES = ['configure', 'probe', 'prepare', 'start', 'timer', 'descriptor', 'thread', 'stop', 'finish', 'destroy']
SINK_PLACES = ['configure', 'prepare', 'start', 'records', 'profile', 'finish', 'destroy']
ENDINGS = {'segv': 'crashed with SIGSEGV in callback {}', 'abort': 'crashed with SIGABRT in callback {}',
           'overflow': 'crashed with SIGSEGV in callback {}', 'exit': 'called exit() in callback {}',
           'at-once': 'called _exit() in callback {}'}
HANGS = 'callback {} does not return: ended after 4 s (isolate=no waits for it)'
# Others have a quarter of --finish-within to wait.
HANGS_AT_STOP = 'callback {} does not return: ended after 0.5 s (isolate=no waits for it)'
STOPPED_PLACES = ['timer', 'descriptor', 'thread', 'stop', 'finish']
HANGS_AT_END = r'callback {} does not return: ended after [0-9.]+ s \(isolate=no waits for it\)'
# What no progress is in profile() and finish(), where a sink may compute and write.
ENDLESS = [('loop', 'nothing'), ('not', 'output')]
LOAD_ENDINGS = {'segv': 'crashed with SIGSEGV in callback {}', 'abort': 'crashed with SIGABRT in callback {}',
                'overflow': 'crashed with SIGSEGV in callback {}', 'exit': 'called exit() in callback {}',
                'at-once': 'called exit() in callback {}', 'hang': 'callback {} does not return: ended after 4 s'}
# More at once would only wait for a processor.
RUNS_AT_ONCE = 24


def no_sanitizer():
    """A sanitizer's own handlers report faults, and programs that are busy until they are killed take long with one."""
    if os.environ['TEST_SANITIZERS'] != 'none':
        raise Skip('a sanitizer handles signals and _exit(), and slows down what never ends')


def root():
    """Processes are followed with BPF and perf events."""
    if os.geteuid():
        raise Skip('following processes requires root')


def run(folder, *arguments):
    os.makedirs(folder)
    ended = subprocess.run([PROGRAM, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False)
    # LeakSanitizer finds a thread that is about to end.
    ended.stderr = re.sub(r'^==\d+==Unable to get registers from thread \d+\.\n', '', ended.stderr, flags=re.MULTILINE)
    return ended


def check_neighbour(place, message, *settings):
    """One source fails in a callback, and the one beside it has sent seven samples."""
    source = ','.join([f'{FAILING_SOURCE}:in={place}', *settings])
    folder = f'{place}-{settings[0].partition("=")[2]}'
    ended = run(folder, '-q', '-s', f'{FAILING_SOURCE}.one:samples=7', '-s', source, '-o', 'out', '-d', '300ms')
    what = f'{place}, {settings}: '
    equal(ended.stderr.splitlines()[-1:], [f'iaprof: source failing-source: {message.format(place)}'], what + 'message')
    equal((ended.returncode, ended.stdout), (FAILED, ''), what + 'status and output')
    equal(os.listdir(folder), ['out'], what + 'files')
    return ended


def check_decoder(ending):
    """A decoder fails in configure(), which iaprof calls to check the settings."""
    folder = f'decoder-{ending}'
    ended = run(folder, '-q', '-s', f'{FAILING_SOURCE}:samples=7', '--decoder', f'{FAILING_DECODER}:in=configure,ends={ending}',
                '-o', 'out', '-d', '1ms')
    message = ENDINGS.get(ending, HANGS).format('configure')
    equal((ended.returncode, ended.stderr), (FAILED, f'iaprof: decoder failing-decoder: {message}\n'), f'{folder}: end')
    equal(read(f'{folder}/out'), 'sampled program 7\n', f'{folder}: profile')


def check_load(ending):
    """A plugin fails while its description is read: others are listed, and a run does not need it."""
    folder = f'load-{ending}'
    os.makedirs(f'{folder}/plugins')
    os.symlink(FAILING_LOAD, f'{folder}/plugins/iaprof-failing-load.so')
    message = LOAD_ENDINGS[ending].format('iaprof_plugin_register')
    def load(*arguments):
        return subprocess.run([PROGRAM, '-q', '--plugin-path', 'plugins', *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False,
                              env={**os.environ, 'TEST_LOAD_ENDS': ending})
    listed = load('--list')
    equal((listed.returncode, listed.stderr), (FAILED, f'iaprof: plugin plugins/iaprof-failing-load.so: {message}\n'.replace(
        'plugins/', f'{os.path.realpath(folder)}/plugins/')), f'{folder}: end of --list')
    require('\n  folded ' in listed.stdout and 'failing-load' not in listed.stdout, listed.stdout)
    ended = load('-s', f'{FAILING_SOURCE}:samples=7', '-k', 'folded:output=out', '-d', '1ms')
    equal((ended.returncode, ended.stderr, read(f'{folder}/out')), (COMPLETE, '', 'sampled program 7\n'), f'{folder}: run')


def hangs_in(place):
    return HANGS_AT_STOP if place in STOPPED_PLACES else HANGS


def in_parallel(check, places):
    """Calls check() with each of the argument lists."""
    with concurrent.futures.ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
        for done in [pool.submit(check, *arguments) for arguments in places]:
            done.result()


def check_ending(place, ending):
    ended = check_neighbour(place, ENDINGS.get(ending, hangs_in(place)), f'ends={ending}')
    equal(len(ended.stderr.splitlines()), 1, f'{place}: lines of messages')
    equal(read(f'{place}-{ending}/out'), 'sampled program 7\n', f'{place}: profile of the other source')


def check_flood(place, floods):
    ended = check_neighbour(place, hangs_in(place), f'floods={floods}')
    profile = read(f'{place}-{floods}/out')
    require(re.fullmatch(r'(\[lost\];failing-source;samples: queue full \d+\n)?sampled program \d+\n'
                         if floods == 'records' else 'sampled program 7\n', profile), profile)
    # 100 in a tenth of a second, for 4 s, and up to three times as long on a busy machine.
    count = ended.stderr.count('\n')
    require(count < 20000 if floods == 'messages' else count == 1, f'{place}: {count} messages')


def check_replay(place, ending, floods):
    """A replay waits for slow sinks, but not for one that never returns."""
    folder = f'replay-{place}-{ending}-{floods}'
    ended = run(folder, '-q', '--replay', CAPTURE, '-k', 'folded:output=out', '-k',
                f'{FAILING_SINK}:in={place},ends={ending},floods={floods},output=half')
    require(re.fullmatch(f'iaprof: sink failing-sink: {HANGS_AT_END.format(place)}\n', ended.stderr), ended.stderr[-1000:])
    equal((ended.returncode, os.listdir(folder)), (FAILED, ['out']), f'{folder}: status and files')


def check_sink(place, ending, floods='nothing', patience='300ms'):
    """A sink fails in a callback, beside one that does not; half of what it has written must not stay."""
    folder = f'sink-{place}-{ending}-{floods}-{patience}'
    ended = run(folder, '-q', '-s', f'{FAILING_SOURCE}:samples=7', '-k', 'folded:output=out', '-k',
                f'{FAILING_SINK}:in={place},ends={ending},floods={floods},output=half', '-k',
                f'{FAILING_SINK}.whole:output=whole', '--finish-within', patience, '-d', '300ms')
    is_last = place in ('profile', 'finish')
    message = HANGS_AT_END.format(place) if ending not in ENDINGS and is_last else re.escape(
        ENDINGS.get(ending, HANGS).format(place))
    what = f'sink, {place}, {ending}, {floods}: '
    said = ended.stderr.splitlines()
    require(re.fullmatch(f'iaprof: sink failing-sink: {message}', said[-1] if said else ''), what + ended.stderr[-1000:])
    require(len(said) == 1 or floods == 'messages', what + ended.stderr[-1000:])
    equal((ended.returncode, ended.stdout), (FAILED, ''), what + 'status and output')
    # A file that was complete before is kept.
    equal(sorted(os.listdir(folder)), ['half', 'out', 'whole'] if place == 'destroy' else ['out', 'whole'], what + 'files')
    equal((read(f'{folder}/out'), read(f'{folder}/whole')), ('sampled program 7\n', 'half\n'), what + 'other outputs')


for ending in ENDINGS:
    @case(f'every callback: {ending}', ending, needs=[] if ending == 'exit' else [no_sanitizer])
    def ends(ending):
        in_parallel(lambda check, *arguments: check(*arguments), [(check_ending, place, ending) for place in PLACES] +
                    [(check_sink, place, ending) for place in SINK_PLACES] + [(check_decoder, ending), (check_load, ending)])


@case('every callback: does not return, with and without a flood of records, messages or output',
      needs=[no_sanitizer])
def hangs():
    floods = [('timer', 'records'), ('stop', 'messages')]
    sinks, replays = [('prepare', 'not', 'messages'), ('profile', 'loop', 'nothing', '2s')], [('finish', 'hang', 'nothing')]
    if 'TEST_LONG' in os.environ:
        floods = [(place, 'records') for place in ('start', 'timer', 'finish')]
        floods += [(place, 'messages') for place in ('prepare', 'timer', 'stop')]
        sinks = [(place, 'not', 'messages') for place in SINK_PLACES] + [('records', 'not', 'output')]
        sinks += [(place, *way, '2s') for place in ('profile', 'finish') for way in ENDLESS]
        replays = [(place, *way) for place in ('profile', 'finish') for way in [('hang', 'nothing')] + ENDLESS]
    in_parallel(lambda check, *arguments: check(*arguments),
                [(check_ending, place, 'hang') for place in PLACES] + [(check_flood, *flood) for flood in floods] +
                [(check_sink, place, 'hang') for place in SINK_PLACES] + [(check_sink, *sink) for sink in sinks] +
                [(check_replay, *replay) for replay in replays] +
                [(check_decoder, 'hang'), (check_load, 'hang')])


def check_stop(folder, *arguments):
    """Sources hang while they are stopped, two of them at once, beside one that samples processes."""
    hanging = [f'{FAILING_SOURCE}.{name}:in={place},ends=hang' for name, place in (('a', 'stop'), ('b', 'stop'), ('c', 'finish'))]
    ended = run(folder, '-s', 'cpu-stack', *(argument for source in hanging for argument in ('-s', source)),
                '-k', 'folded:output=out', *arguments)
    equal(ended.returncode, OWN_FAILURE, ended.stderr)
    time = '2' if '8s' in arguments else '0.5'
    equal(re.findall(r'^iaprof: source failing-source\.(.: callback .* does not return: ended after .*) s ', ended.stderr, re.M),
          [f'a: callback stop does not return: ended after {time}', f'b: callback stop does not return: ended after {time}',
           f'c: callback finish does not return: ended after {time}'], 'messages')
    return ended


@case('a source that floods the queue costs the one beside it nothing')
def floods_cost_neighbours_nothing():
    for floods in 'records', 'losses', 'strings':
        # The order in which the sources are named is that of their turns.
        for known_first in True, False:
            sources = [KNOWN_SOURCE, f'{FAILING_SOURCE}:in=thread,floods={floods}'][::1 if known_first else -1]
            iaprof('-q', *(argument for source in sources for argument in ('-s', source)), '-k', 'csv:output=out', '-d', '1s')
            values = {row['stack']: int(row['count']) for row in csv.DictReader(read('out').splitlines())
                      if row['value_type'] in ('cpu', 'lost')}
            losses = {stack: count for stack, count in values.items() if stack.startswith('[lost];known-source')}
            # A loss of 5 in each turn, and no other.
            turns = losses.get('[lost];known-source;known loss', 0) // 5
            require(turns and len(losses) == 1, f'{floods}: {losses}')
            equal((values['hot'], values['warm']), (30 * turns, 10 * turns), f'{floods}, {known_first}')


@case('a child of a plugin ends with it, however it ends, and does not hold the pipes of iaprof', needs=[no_sanitizer])
def child_of_a_plugin():
    # subprocess reads the pipes until nobody has them open.
    ended = run('returns', '-q', '-s', f'{FAILING_SOURCE}:samples=7,forks=yes', '-o', 'out')
    equal((ended.returncode, ended.stderr, read('returns/out')), (COMPLETE, '', 'sampled program 7\n'), 'returns')
    for ending in 'segv', 'at-once':
        check_neighbour('timer', ENDINGS[ending], f'ends={ending}', 'forks=yes')


@case('a plugin that overwrites shared memory harms itself alone')
def overwrites_memory():
    ended = run('run', '-q', '-s', f'{FAILING_SOURCE}.one:samples=7', '-s', f'{FAILING_SOURCE}.two:in=start,floods=memory', '-k',
                'folded:output=out', '-k', f'{FAILING_SINK}:output=half', '-d', '300ms')
    require(re.fullmatch(r'iaprof: source failing-source\.two: .*\n', ended.stderr), ended.stderr)
    equal((ended.returncode, read('run/out'), read('run/half')), (FAILED, 'sampled program 7\n', 'half\n'), 'status and outputs')


@case('the process of a plugin shares memory with iaprof alone, and other users see none of its settings')
def shares_memory():
    process = start('-q', '-s', f'{FAILING_SOURCE}.one', '-s', f'{FAILING_SOURCE}.two', '-k', f'{FAILING_SINK}:output=half', '--record',
                    'run')
    wait_until(lambda: os.path.exists('run'), 'the file')
    arguments = {pid: read(f'/proc/{pid}/cmdline').split('\0')[:-1] for pid in processes.descendants(process.pid)}
    plugins = [pid for pid, words in arguments.items() if words[:1] == ['iaprof-plugin']]
    shared = [[line.split()[4] for line in read(f'/proc/{pid}/maps').splitlines() if ' rw-s ' in line] for pid in plugins]
    process.send_signal(signal.SIGINT)
    end(process)
    equal([arguments[pid][1:] for pid in plugins], 2 * [[FAILING_SOURCE]] + [[FAILING_SINK]], 'arguments')
    equal((list(map(len, shared)), len(set(sum(shared, [])))), ([1] * 3, 3), 'files in memory')


@case('sources that hang when they are stopped do not cost others symbols', needs=[no_sanitizer, needs_sampling])
def stop_leaves_symbols():
    ended = check_stop('run', '--scope', 'command', LOAD, 'shares', '300')
    require('burn_50' in read('run/out'), read('run/out'))
    require('run ended before' not in ended.stderr, ended.stderr)


@case('process events are read while sources that hang are waited for', needs=[no_sanitizer, needs_sampling])
def stop_leaves_events():
    # In twice 2 s, many times the processes that ring buffers have room for: if nobody reads them, most are lost.
    check_stop('run', '--finish-within', '8s', '-k', 'csv:rows=events,output=events', '-d', '100ms', 'sh', '-c',
               'while :; do /bin/true; done')
    rows = list(csv.DictReader(read('run/events').splitlines()))
    events = sum(row['record'] in ('process', 'mapping') for row in rows)
    lost = sum(int(row['count'] or 0) for row in rows if row['name'] == 'process events (perf ring full)')
    require(events > lost, f'{events} process events, {lost} lost')


@case('the only source has the time of other callbacks to stop', needs=[no_sanitizer])
def only_source_stops():
    ended = run('run', '-q', '-s', f'{FAILING_SOURCE}:in=stop,ends=hang', '-o', 'out', '-d', '1ms')
    equal((ended.returncode, ended.stderr), (FAILED, f'iaprof: source failing-source: {HANGS.format("stop")}\n'), 'run')


@case('a sink that progresses may take longer than one that does not')
def slow_sink():
    """It sleeps three times as long as the limit, with a line of output now and then."""
    ended = run('run', '-q', '-s', f'{FAILING_SOURCE}:samples=7', '-k', f'{FAILING_SINK}:pauses=8,output=slow',
                '--finish-within', '1s', '-d', '1ms')
    equal((ended.returncode, ended.stderr, read('run/slow')), (COMPLETE, '', 'half\n' + 8 * 'pause\n'), 'run')


def interrupt(*arguments):
    """Interrupts a run that would not end. Returns its outcome."""
    process = start('-s', FAILING_SOURCE, *arguments, '--record', 'run')
    wait_until(lambda: os.path.exists('run'), 'the file')
    process.send_signal(signal.SIGINT)
    return end(process)


@case('an interrupted run does not wait for a slow sink: it drops the records that wait', ['yes', 'no'])
def interrupted_slow_sink(isolate_choices):
    for isolate in isolate_choices:
        # More blocks than the sink receives within minutes.
        outcome = interrupt('-s', f'{FAILING_SOURCE}.one:samples=200000', '-k', f'{FAILING_SINK}:slow=yes,isolate={isolate},output=out',
                            '--finish-within', '8s')
        equal(outcome.status, COMPLETE, outcome.err)
        require(re.search(r'sink failing-sink was too slow: dropped \d+ records$', outcome.err, re.M), outcome.err)
        equal(read('out'), 'half\n', 'output')
        for name in 'out', 'run':
            os.unlink(name)


@case('an interrupted run does not wait for a sink that progresses', 'yes',
      'not finished within --finish-within of an interrupted run: ended in callback profile')
@case('an interrupted run does not wait for a sink that progresses', 'no', 'callback profile does not return')
def interrupted_sink(isolate, message):
    outcome = interrupt('-q', '-k', f'{FAILING_SINK}:pauses=100,isolate={isolate},output=out', '--finish-within', '500ms')
    outcome.fails(FAILED, f'^iaprof: sink failing-sink: {message}', left=['run'])


@case('a thread that sends records without end stops when requested')
def thread_floods():
    ended = run('run', '-s', f'{FAILING_SOURCE}.one:samples=7', '-s', f'{FAILING_SOURCE}:in=thread,floods=records',
                '-d', '1s', '-o', 'out')
    equal(ended.returncode, COMPLETE, ended.stderr)
    written = int(read('run/out').split()[-1])
    lost = re.search(r'lost: failing-source: samples: queue full: ([0-9,]+)', ended.stderr)
    require(written > 7, f'{written} samples')
    require(not lost or int(lost[1].replace(',', '')) > 0, ended.stderr)


@case('--check names a source that ends in check()')
def ends_in_check():
    outcome = iaprof('--check', '-s', f'{FAILING_SOURCE}:in=check,ends=exit')
    message = 'source failing-source: called exit() in callback check'
    equal((outcome.status, outcome.err), (NOTHING, f'iaprof: {message}\n'), 'status and message')
    require(f'source failing-source: cannot run here\n  {message}\n' in outcome.out, outcome.out)


@case('--check names a sink that ends in check(), and one that cannot run here')
def sink_check():
    arguments = '--check', '-s', f'replay:file={CAPTURE}', '-k'
    outcome = iaprof(*arguments, f'{FAILING_SINK}:in=check,ends=exit,output=out')
    message = 'sink failing-sink: called exit() in callback check'
    equal((outcome.status, outcome.err, outcome.new_files), (NOTHING, f'iaprof: {message}\n', []), 'run')
    require(f'sink failing-sink: cannot run here, writes out\n  {message}\n' in outcome.out, outcome.out)
    for isolate in 'yes', 'no':
        outcome = iaprof(*arguments, f'{FAILING_SINK}:in=check,output=out,isolate={isolate}')
        equal((outcome.status, outcome.err, outcome.new_files), (NOTHING, '', []), 'run')
        require('sink failing-sink: cannot run here, writes out\n  missing  what it needs: none?here\n' in outcome.out,
                outcome.out)
    iaprof(*arguments, f'{FAILING_SINK}:output=out').completes().leaves()


@case('a callback for unwind tables that exits', 'unwind', 'unwind', needs=[root])
@case('a callback for mapped files that exits', 'watch', 'mapped file', needs=[root])
def ends_in_mapped_file(key, callback):
    ended = run('run', '-q', '-s', f'{FAILING_SOURCE}.one:samples=7', '-s', f'{WATCHING_SOURCE}:{key}=yes,ends=exit',
                '-o', 'out', '-d', '60s')
    equal(ended.stderr, f'iaprof: source watching-source: called exit() in callback {callback}\n', 'message')
    equal((ended.returncode, read('run/out')), (FAILED, 'sampled program 7\n'), 'status and profile')


@case('the only source of a run')
def only_source():
    for place, left in ('configure', ()), ('start', ()), ('finish', ('out',)):
        iaprof('-q', '-s', f'{FAILING_SOURCE}:in={place},ends=exit', '-o', 'out', '-d', '1ms').fails(
            FAILED, rf'source failing-source: called exit\(\) in callback {place}$', left=left)
        if left:
            os.unlink('out')


@case('the only sink of a run')
def only_sink():
    for place in 'configure', 'start', 'profile':
        iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=7', '-k', f'{FAILING_SINK}:in={place},ends=exit', '-o', 'out').fails(
            FAILED, rf'^iaprof: sink failing-sink: called exit\(\) in callback {place}$')


@case('a sink that fails with a message is as in the process of iaprof')
def sink_reports_why():
    for place in 'prepare', 'records', 'profile', 'finish':
        iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=7', '-k', f'{FAILING_SINK}:in={place}', '-o', 'out').fails(
            FAILED, rf'^iaprof: sink failing-sink: the {place} fails as requested$')


@case('what a plugin prints is not part of the output of a sink')
def prints():
    os.makedirs('plugins')
    os.symlink(FAILING_LOAD, 'plugins/iaprof-failing-load.so')
    ended = run('run', '-q', '--plugin-path', '../plugins', '-s', f'{FAILING_SOURCE}:samples=7,prints=yes', '-k', 'folded:output=-',
                '-k', f'{FAILING_SINK}:prints=yes,output=half')
    equal((ended.returncode, ended.stdout), (COMPLETE, 'sampled program 7\n'), 'status and output')
    printed = ended.stderr.splitlines()
    for place in 'configure', 'probe', 'prepare', 'start', 'thread', 'stop', 'finish', 'destroy', 'profile':
        require(f'printed in {place}' in printed, f'{place}: {printed}')
    listed = subprocess.run([PROGRAM, '--plugin-path', 'plugins', '--list'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            check=True, timeout=TIMEOUT, env={**os.environ, 'TEST_LOAD_PRINTS': 'printed in a constructor'})
    require('printed' not in listed.stdout and 'printed in a constructor\n' in listed.stderr, listed.stdout + listed.stderr)


@case('a plugin may pass NULL to the host where its header states so')
def omits():
    for isolate in 'yes', 'no':
        ended = run(f'run-{isolate}', '-s', f'{FAILING_SOURCE}:samples=7,omits=yes,isolate={isolate}', '-o', 'out', '--', 'true')
        equal((ended.returncode, read(f'run-{isolate}/out')), (COMPLETE, 'sampled program 7\n'), ended.stderr)
        require('lost: failing-source: : 3\n' in ended.stderr, ended.stderr)


SINKS = {'csv:rows=events': 'events.csv', 'csv.stacks:threads=yes,pid=yes': 'stacks.csv', 'flamegraph': 'page.html',
         'folded': 'out.folded', 'speedscope': 'out.json', 'firefox': 'out.json.gz', 'pprof': 'out.pb.gz', 'summary': 'out.txt',
         'perfetto': 'out.pftrace', 'capture': 'out.iaprof'}


@case('what a sink writes does not depend on its process')
def same_output():
    def outputs(folder, isolate, *input_options):
        sinks = [argument for sink, name in SINKS.items() for argument in (
            '-k', f'{sink}{"," if ":" in sink else ":"}isolate={isolate},output={name}')]
        ended = run(folder, '-q', *input_options, *(sinks if '--replay' in input_options else sinks[4:6]))
        equal((ended.returncode, ended.stderr), (COMPLETE, ''), f'{folder}: status')
        return {name: pathlib.Path(folder, name).read_bytes() for name in os.listdir(folder)}
    for name, *inputs in ('replay', '--replay', CAPTURE), ('diff', '--diff', CAPTURE, CAPTURE):
        apart, together = outputs(f'{name}-apart', 'yes', *inputs), outputs(f'{name}-together', 'no', *inputs)
        equal(sorted(apart), sorted(together), 'files')
        for file, written in apart.items():
            require(written == together[file], f'{name}: {file} differs')


@case('isolate=')
def isolate():
    def status(*settings):
        source = ','.join([f'{FAILING_SOURCE}.two:in=destroy', *settings])
        return iaprof('-q', '-s', f'{FAILING_SOURCE}.one:samples=7', '-s', source, '-o', 'out', '-d', '1ms')
    # Without a process of its own, the whole run ends in the callback.
    status('ends=exit', 'isolate=no').fails(FAILED, r'called exit\(\) in callback destroy$', left=['out'])
    os.unlink('out')
    write('run.ini', f'[source:{FAILING_SOURCE}]\nsamples = 7\nisolate = no\n')
    equal(iaprof('-q', '-c', 'run.ini', '-o', 'ini', '-d', '1ms').status, COMPLETE, 'of an INI file')
    iaprof('-s', f'{FAILING_SOURCE}:isolate=perhaps', '-o', 'out').fails(USAGE, 'isolate=perhaps: expected yes or no')
    iaprof('-s', f'replay:file={CAPTURE},isolate=yes', '-o', 'out').fails(USAGE, 'isolate=yes: a replay runs in the')
    iaprof('-q', '-s', f'{FAILING_SOURCE}:samples=7', '-k', f'{FAILING_SINK}:in=destroy,ends=exit,isolate=no', '-o', 'half',
           '-d', '1ms').fails(FAILED, r'called exit\(\) in callback destroy$', left=['half'])


if __name__ == '__main__':
    main()
