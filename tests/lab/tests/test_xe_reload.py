#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: module xe
# lab: seconds 900
# lab: covers plugins/xe-eustall/** core/run/run_switch.c core/run/run_continuous.c
# lab: covers tests/lab/programs/xe_jobs.c tests/lab/level_zero/gpu_jobs.*
"""A continuous run with xe-eustall that reads its configuration again, on the double of the device: each row that was read
is in one run, and the data of the later run states that rows are missing. TAP; arguments choose."""
import collections
import functools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from flame_graph import double
from harness import profiler
from harness.cases import check, equal, run, started
from harness.profiler import PROGRAM, SLOW

BUILD = pathlib.Path(os.environ['LAB_BUILD'])
FAILING = BUILD / 'tests/cli/iaprof-failing-source.so'
RELOADS = 3
NAME = 'Intel Data Center GPU Max 1550 GT'
ADDRESSES = 40
RESTARTED = 'samples: the run was restarted'


def scenario(*settings):
    """Rows of two GTs, also while nobody samples: those are counted as unsampled."""
    rows = [double.Row(gt, core, 0x4000 + 0x10 * number + 0x100000 * gt, double.make_counts('pvc', number + gt))
            for number in range(ADDRESSES) for gt in (0, 1) for core in (0, 2)]
    double.write('scenario', double.scenario_text('pvc', rows, ['gt 0 main cores 0-3', 'gt 1 main cores 0-3', 'play always',
                                                                'loop forever', *settings]))


def configure(number, *settings, more='', budget='none'):
    pathlib.Path('run.new').write_text(
        f'[iaprof]\ncontinuous = yes\ninterval = 1s\nbudget = {budget}\n'
        '[source:xe-eustall]\nze-usdt = no\n' + ''.join(f'{line}\n' for line in settings) + more +
        f'[sink:csv.events]\noutput = out{number}.csv\nrows = events\nnewline = lf\n', encoding='utf-8')
    os.rename('run.new', 'run.ini')


class Runs:
    """iaprof -v, from when its streams are enabled."""

    def __init__(self):
        self.messages = tempfile.TemporaryFile()  # pylint: disable=consider-using-with
        self.process = started(subprocess.Popen([PROGRAM, '-v', *SLOW, '-c', 'run.ini'], stdout=subprocess.DEVNULL,
                                                stderr=self.messages))
        self.wait_for(lambda: double.state().count('enabled 1') == 2, 'streams')

    def printed(self):
        return os.pread(self.messages.fileno(), 1000000, 0).decode()

    def wait_for(self, condition, what):
        double.wait_until(lambda: condition() or self.process.poll() is not None, what, 120,
                          lambda: f'{double.state()}{self.printed()}')
        check(self.process.poll() is None, f'iaprof ended with {self.process.returncode}: {self.printed()}')

    def reload(self, replaced, *text):
        """Until the run of this number has ended, or, if that is None, until iaprof has printed the text."""
        before = len(self.printed())
        self.process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: all(words in self.printed()[before:] for words in text) and
                      (replaced is None or os.path.exists(f'out{replaced}.csv')), f'end of run {replaced}')

    def end(self, status=0, stop=True):
        if stop:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(120)
        equal(self.process.returncode, status, f'exit status: {self.printed()}')
        check('stream' not in double.state().replace('streams', ''), f'a stream is open: {double.state()}')


def read_run(number):
    return profiler.read_rows('xe-eustall', f'out{number}.csv')


def samples(rows):
    sums = collections.defaultdict(collections.Counter)
    for row in rows['stall-sample']:
        sums[int(row['device'].rsplit(' ', 1)[1]), int(row['address'], 16)][row['name']] += int(row['count'])
        check(0 < int(row['begin']) <= int(row['time']), f'an interval ends before it begins: {row}')
    return sums


def row_count(rows):
    """By the counters of the GTs, which begin with each run."""
    return sum(max((int(float(row['value'])) for row in rows['counter-value']
                    if row['name'] == 'rows' and row['device'] == f'{NAME} {gt}'), default=0) for gt in (0, 1))


def stop_rows():
    double.write('command', 'pause')
    double.wait_until(double.rows_are_read, 'rows to be read')
    return double.truth()


def compare(runs, truth, totals):
    """Samples of all runs together are what was read, address by address. Returns the records of each run."""
    each = [read_run(number) for number in runs]
    found = collections.defaultdict(collections.Counter)
    for rows in each:
        for key, counts in samples(rows).items():
            found[key] += counts
    for key in truth.keys() | found.keys():
        equal(dict(found.get(key, {})), truth.get(key), f'samples of {key}')
    counts = [row_count(rows) for rows in each]
    equal(sum(counts), total('read', totals), f'rows of runs {counts}')
    return each


def total(word, totals):
    return sum(numbers[word] for numbers in totals.values())


def note(each, totals):
    words = ', '.join(f'{total(word, totals)} {word}' for word in ('produced', 'read', 'unsampled', 'discarded', 'dropped'))
    return f'rows {words}; in the runs {[row_count(rows) for rows in each]}'


def losses(rows):
    return collections.Counter(row['name'] for row in rows['lost'])


def begin(pace, *settings):
    scenario(f'pace {pace}')
    configure(0, *settings)
    iaprof = Runs()
    double.write('command', 'start')
    double.wait_until(lambda: double.truth()[1][0]['read'] > 200, 'rows')
    return iaprof


def check_losses(each):
    """Each run but the first one states the time before it, and nothing else was lost."""
    for number, rows in enumerate(each):
        equal(losses(rows), {RESTARTED: 1} if number else {}, f'losses of run {number}')


def only_gaps(each, totals):
    """Each row that happened was read, except between two runs."""
    for what in 'dropped', 'stale':
        equal(total(what, totals), 0, f'{what} rows')
    equal(sum(total(what, totals) for what in ('read', 'unsampled', 'discarded')), total('produced', totals), 'rows')
    check_losses(each)
    return note(each, totals)


def keep(*changes):
    """changes: settings of each later run."""
    iaprof = begin(3000)
    for number, settings in enumerate(changes, 1):
        configure(number, *settings)
        iaprof.reload(number - 1)
        time.sleep(1)
    truth, totals = stop_rows()
    iaprof.end()
    each = compare(range(len(changes) + 1), truth, totals)
    for number, rows in enumerate(each):
        check(row_count(rows) > 100, f'run {number} has {row_count(rows)} rows')
        for gt in (0, 1):
            check('every 1757 ' in profiler.metadata(rows)[f'sampling rate of {NAME} {gt}'], 'sampling rate')
    return only_gaps(each, totals)


def change_rate():
    rates = '1757', '1506', '251', '251'
    iaprof = begin(3000)
    for number, rate in enumerate(rates[1:], 1):
        configure(number, f'rate = {rate}')
        iaprof.reload(number - 1)
        time.sleep(1)
    truth, totals = stop_rows()
    iaprof.end()
    each = compare(range(len(rates)), truth, totals)
    for number, rows in enumerate(each):
        check(row_count(rows) > 100, f'run {number} has {row_count(rows)} rows')
        for gt in (0, 1):
            check(f'every {rates[number]} ' in profiler.metadata(rows)[f'sampling rate of {NAME} {gt}'], 'sampling rate')
    check_losses(each)
    return note(each, totals)


def processes_of_their_own():
    iaprof = begin(3000, 'isolate = yes')
    configure(1, 'isolate = yes')
    iaprof.reload(0, 'no samples for')
    iaprof.wait_for(lambda: double.state().count('enabled 1') == 2, 'streams')
    time.sleep(1)
    truth, totals = stop_rows()
    iaprof.end()
    check('(xe-eustall)' in iaprof.printed(), f'no gap: {iaprof.printed()}')
    return note(compare(range(2), truth, totals), totals)


def failing(place):
    configure('never', more=f'[source:{FAILING}]\nisolate = no\nin = {place}\n')


def later_run_is_not_prepared():
    """Another source cannot be prepared: the run goes on, and can be replaced later."""
    iaprof = begin(3000)
    for _ in range(2):
        failing('prepare')
        iaprof.reload(None, 'the run continues')
        time.sleep(0.5)
    configure(1)
    iaprof.reload(0)
    time.sleep(1)
    truth, totals = stop_rows()
    iaprof.end()
    return only_gaps(compare(range(2), truth, totals), totals)


def later_run_does_not_start():
    """Another source fails when the earlier run has stopped: a run with the earlier configuration opens the streams again."""
    iaprof = begin(3000)
    failing('start')
    iaprof.reload(None, 'no samples for')
    iaprof.wait_for(lambda: double.state().count('enabled 1') == 2, 'streams')
    time.sleep(1)
    _truth, totals = stop_rows()
    iaprof.end()
    check('back to the earlier one' in iaprof.printed(), iaprof.printed())
    # Both runs write the same file. Rows of the run that failed are in none: the gap is stated.
    counts = [int(count) for count in re.findall(rf'{NAME} \d: (\d+) rows', iaprof.printed())]
    check(len(counts) == 4 and all(counts) and sum(counts) <= total('read', totals), f'{counts} of {totals}: {iaprof.printed()}')
    return f'rows of GTs {counts}, {total("read", totals)} were read'


def device_is_gone(delay):
    iaprof = begin(3000)
    configure(1)
    iaprof.process.send_signal(signal.SIGHUP)
    time.sleep(delay)
    truth, totals = double.truth()
    try:
        double.write('command', 'unplug')
        iaprof.end(status=1, stop=False)
    finally:
        double.plug_in()
    numbers = [number for number in (0, 1) if os.path.exists(f'out{number}.csv')]
    found = sum(row_count(read_run(number)) for number in numbers)
    check(truth and found >= total('read', totals), f'{found} rows, {totals}')
    return f'{found} rows in runs {numbers}, {total("read", totals)} were read before'


def jobs_and_rows():
    """Each job is in one run at most: those between two runs are in none, and one that a run knows at its end is in flight."""
    iaprof = begin(1000)
    jobs = started(subprocess.Popen([BUILD / 'tests/lab/programs/xe_jobs', double.device_node(), 'compute', '7000', '9000'],
                                    stdout=subprocess.PIPE, encoding='utf-8'))
    for number in range(1, RELOADS + 1):
        time.sleep(1)
        configure(number)
        iaprof.reload(number - 1)
    said = jobs.communicate(timeout=120)[0]
    count = int(re.search(r'^jobs \d+ (\d+)', said, re.MULTILINE).group(1))
    truth, totals = stop_rows()
    iaprof.end()
    each = compare(range(RELOADS + 1), truth, totals)
    kinds = [collections.Counter(row['kind'] for row in rows['job']) for rows in each]
    done, flight = (sum(kind[state] for kind in kinds) for state in ('done', 'in-flight'))
    lost = sum(int(row['count']) for rows in each for row in rows['lost'] if 'GPU jobs' in row['name'])
    check(done + lost + flight <= count, f'{done} jobs, {flight} in flight, {lost} lost, of {count}')
    check(sum(kind['done'] > 0 for kind in kinds) > 1, 'all jobs are in one run')
    return f'{count} jobs, lost {lost}, in the runs {[dict(kind) for kind in kinds]}; {note(each, totals)}'


def windows():
    """With a budget, windows of time are sampled."""
    scenario('pace 3000')
    configure(0, budget='0.001%')
    iaprof = Runs()
    double.write('command', 'start')
    time.sleep(12)
    for number in range(1, RELOADS + 1):
        configure(number, budget='0.001%')
        iaprof.reload(number - 1)
        time.sleep(6)
    truth, totals = stop_rows()
    iaprof.end()
    each = compare(range(RELOADS + 1), truth, totals)
    check_losses(each)
    for number, rows in enumerate(each):
        texts = [row['text'] for row in rows['metadata'] if row['name'].startswith('sampled time of ')]
        check(any(' windows of 100 ms' in text for text in texts), f'run {number}: {texts}')
    return note(each, totals)


sys.exit(run([('the same settings', functools.partial(keep, *[()] * RELOADS)),
              ('settings that the stream does not depend on',
               functools.partial(keep, ('drain = 20ms',), ('rate = auto', 'budget = 0.0001%'), ('rate = 1757', 'jobs = no'))),
              ('another rate', change_rate),
              ('processes of their own', processes_of_their_own),
              ('the later run is not prepared', later_run_is_not_prepared),
              ('the later run does not start', later_run_does_not_start),
              ('the device is gone while the later run is prepared', functools.partial(device_is_gone, 0.3)),
              ('the device is gone when the run is replaced', functools.partial(device_is_gone, 1.5)),
              ('jobs', jobs_and_rows),
              ('windows', windows)],
             long={'windows', 'the device is gone when the run is replaced'}) != 0)
