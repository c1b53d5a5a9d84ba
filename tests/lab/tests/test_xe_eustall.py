#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest 6.12 newest
# lab: short newest
# lab: module xe
# lab: seconds 600
# lab: covers plugins/xe-eustall/** plugins/sink-ring/** plugins/replay/* lib/ring/**
# lab: covers tests/lab/programs/xe_*
"""The source xe-eustall on the double of the device, whose truth every sample is held against. TAP; arguments choose."""
import collections
import csv
import fcntl
import glob
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from flame_graph import double
from harness import profiler
from harness.cases import check, named, run, started
from harness.profiler import PROGRAM, ROWS, instance

SLOT = '0000:00:10.0'
# include/uapi/drm/xe_drm.h
VM_CREATE, VM_BIND, OBSERVATION, STREAM_ENABLE = 0xc0206443, 0x40886445, 0x4020644b, 0x6900


def contains(text, *wanted):
    for words in wanted:
        check(words in text, f'{words!r} is not in {text!r}')


class Run:
    """iaprof with this source, from when its streams are enabled."""

    def __init__(self, *options, streams=1, arguments=()):
        self.process = started(subprocess.Popen([PROGRAM, '-s', instance('xe-eustall', 'ze-usdt=no', *options), *ROWS,
                                                 *arguments], stderr=subprocess.PIPE, encoding='utf-8'))
        try:
            double.wait_until(lambda: self.process.poll() is not None or double.state().count('enabled 1') == streams,
                              'streams')
            check(self.process.poll() is None, f'iaprof ended: {self.process.poll()}')
        except Exception:
            self.process.kill()
            print('#', self.process.communicate()[1])
            raise

    def end(self, status=0, stop=True):
        if stop:
            self.process.send_signal(signal.SIGINT)
        self.err = self.process.communicate(timeout=60)[1]
        check(self.process.returncode == status, f'iaprof ended with {self.process.returncode}: {self.err}')
        self.rows = profiler.read_rows('xe-eustall')
        self.rows['finding'] = profiler.read_rows()['finding']
        return self

    def samples(self):
        sums = collections.defaultdict(collections.Counter)
        for row in self.rows['stall-sample']:
            gt = int(row['device'].rsplit(' ', 1)[1])
            sums[gt, int(row['address'], 16)][row['name']] += int(row['count'])
            check(0 < int(row['begin']) <= int(row['time']), f'an interval ends before it begins: {row}')
        return {key: dict(counts) for key, counts in sums.items()}

    def counter(self, name, gt=0):
        values = [float(row['value']) for row in self.rows['counter-value']
                  if row['name'] == name and row['device'].endswith(f' GT {gt}')]
        check(values == sorted(values), f'the counter {name} went backwards')
        return int(values[-1]) if values else 0

    def lost(self):
        return collections.Counter(row['name'] for row in self.rows['lost'])

    def metadata(self):
        return profiler.metadata(self.rows)


def refused(*options, status, wrap=(), arguments=()):
    """Returns what iaprof prints if it does not begin."""
    ended, said = profiler.refused('-s', instance('xe-eustall', 'ze-usdt=no', *options), *arguments, wrap=wrap)
    check(ended == status, f'{ended}, not {status}: {said}')
    return said


def scenario(platform, *lines):
    double.write('scenario', '\n'.join([f'platform {platform}', *lines, 'end', '']))


def some_rows(platform, gts, addresses=40):
    base = 0x7_0123_4567_8000 if platform == 'cri' else 0x4000
    return [f'row gt {gt} core {core} address {base + 0x10 * number + 0x100 * gt:#x} ' +
            ' '.join(f'{reason} {count}' for reason, count in double.make_counts(platform, number + gt).items())
            for gt in gts for number in range(addresses) for core in (0, 2 + number % 2)]


def node():
    return sorted(glob.glob('/dev/dri/renderD*'))[-1]


class Client:
    """A process of its own that does something with the device until its end is requested."""

    def __init__(self, function):
        ready, notified = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                function()
                os.write(notified, b'+')
                signal.pause()
                status = 0
            finally:
                os._exit(status)
        os.close(notified)
        began = os.read(ready, 1)
        os.close(ready)
        check(began, 'the client failed')

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def take_stream(gt=0):
    """STREAM_OPEN with the property of the GT alone. Returns the node's descriptor."""
    device = os.open(node(), os.O_RDWR)
    memory = bytearray(struct.pack('=QIIIIQQQ', 0, 0, 0, 1, 0, gt, 0, 0))
    import ctypes
    buffer = (ctypes.c_char * len(memory)).from_buffer(memory)
    fcntl.ioctl(device, OBSERVATION, struct.pack('=QQQQ', 0, 1, 0, ctypes.addressof(buffer)))
    return device


def keep_busy():
    """A client that bound something is busy, for its statistics, while rows are played."""
    device = os.open(node(), os.O_RDWR)
    vm = struct.unpack('=QII16x', fcntl.ioctl(device, VM_CREATE, bytes(32)))[2]
    bind = struct.pack('=QIHHQQQIIIIQQQ', 0, 0, 0, 0, 0, 4096, 0x100000, 0, 1 << 2, 0, 0, 0, 0, 0)
    fcntl.ioctl(device, VM_BIND, struct.pack('=QIIII', 0, vm, 0, 0, 1) + bind + struct.pack('=IIQQQ', 0, 0, 0, 0, 0))


def every_sample(platform, *settings, name, layout, streams=1):
    scenario(platform, *settings, 'pace lossless', 'loop 60', *some_rows(platform, range(streams)))
    run = Run(streams=streams)
    double.play()
    truth, totals = double.truth()
    run.end()
    check(truth, 'the double gave no rows')
    found = run.samples()
    for key in truth.keys() | found.keys():
        check(found.get(key) == truth.get(key), f'{key}: {found.get(key)}, not {truth.get(key)}')
    for gt in range(streams):
        check(totals[gt]['read'] > 0 and totals[gt]['dropped'] == 0, f'GT {gt}: {totals[gt]}')
        check(run.counter('rows', gt) == totals[gt]['read'], f'GT {gt}: {run.counter("rows", gt)} rows')
        check(run.counter('overflows', gt) == 0, 'overflows')
        said = run.metadata()
        contains(said[f'{name} GT {gt}'], SLOT, 'Xe-cores', layout)
        contains(said[f'sampling rate of {name} GT {gt}'], '1757')
        contains(said[f'idle state of {name} GT {gt}'], 'RC6 is off')
        contains(said[f'full counters of {name} GT {gt}'], '255')
    check(not run.lost(), f'lost: {run.lost()}')
    devices = [row['name'] for row in run.rows['device']]
    check(devices == [f'{name} GT {gt}' for gt in range(streams)], f'devices: {devices}')


def pvc_with_two_gts():
    every_sample('pvc', 'gt 0 main cores 0-3,60', 'gt 1 main cores 0-7', name='Intel Data Center GPU Max 1550',
                 layout='PVC', streams=2)


def bmg_with_a_media_gt():
    every_sample('bmg', 'gt 0 main cores 0-3', 'gt 1 media', name='Intel Arc B580', layout='Xe2')


def ptl():
    every_sample('ptl', 'gt 0 main cores 0-3', name='Intel GPU b080', layout='Xe2')


def cri():
    every_sample('cri', 'gt 0 main cores 0-3', name='Intel GPU 674c', layout='Xe3p')


def every_third_row():
    scenario('bmg', 'pace lossless', 'loop 1000', 'row gt 0 core 0 address 0x1000 active 1')
    run = Run('subsample=3', 'drain=20ms', 'device=' + SLOT)
    double.play()
    run.end()
    check(run.counter('rows') == 1000, f'{run.counter("rows")} rows')
    check(run.samples() == {(0, 0x1000): {'active': 334}}, f'{run.samples()}')
    contains(run.metadata()['rows that are taken'], '1 of 3', 'not scaled')


def overflows():
    scenario('bmg', 'pace 2000', 'loop forever', *some_rows('bmg', [0]))
    run = Run('rate=251', 'device=' + node())
    double.write('command', 'start')
    for _ in range(3):
        double.write('command', 'overflow 0 2')
        time.sleep(0.5)
    double.write('command', 'pause')
    double.wait_until(double.rows_are_read, 'rows to be read')
    truth, _totals = double.truth()
    run.end()
    check(run.counter('overflows') == 3, f'{run.counter("overflows")} overflows')
    check(run.samples() == truth, 'other samples than were read')
    check(run.lost() == {"EU stall rows: the GPU's buffer overflowed": 3}, f'{run.lost()}')
    check(len(run.rows['finding']) == 1, 'not one finding')
    finding = run.rows['finding'][0]
    contains(finding['text'], 'EU stall buffer overflows: 3 in ', 'rate=502')
    check(finding['name'] == 'stall-overflow' and float(finding['value']) == 3, f'{finding}')


def a_late_latch():
    """The driver's worker has no time for a second: its next latch has rows of all of it, as their interval states."""
    scenario('bmg', 'pace 5000', *some_rows('bmg', [0]))
    run = Run()
    time.sleep(0.5)
    double.write('command', 'late 1500')
    before = time.monotonic_ns()
    double.write('command', 'start')
    double.wait_until(lambda: 'player finished' in double.state(), 'rows')
    after = time.monotonic_ns()
    double.wait_until(double.rows_are_read, 'rows to be read')
    run.end()
    check(run.metadata()['EU stall polls of the driver'] == 'traced', f'{run.metadata()}')
    times = [(int(row['begin']), int(row['time'])) for row in run.rows['stall-sample']]
    read = min(end for _begin, end in times)
    print(f'# rows of {(after - before) / 1e6:.0f} ms, read {(read - after) / 1e6:.0f} ms after the last')
    check(times and read > after + 100e6, 'the latch was not late')
    late = [(begin - before) / 1e6 for begin, _end in times if begin > before]
    check(not late, f'intervals that begin after their rows: {late[:3]} ms')


def a_reset_that_the_driver_reports():
    scenario('bmg', 'kernel 7.2', 'pace 2000', 'loop forever', *some_rows('bmg', [0]))
    run = Run()
    double.write('command', 'start')
    time.sleep(0.5)
    double.write('command', 'reset')
    before = double.truth()[1][0]['read']
    double.wait_until(lambda: double.truth()[1][0]['read'] > before + 500, 'rows after the reset')
    double.write('command', 'pause')
    double.wait_until(double.rows_are_read, 'rows to be read')
    truth, totals = double.truth()
    run.end()
    check(run.samples() == truth, 'other samples than were read')
    check(run.counter('rows') == totals[0]['read'], 'rows')
    check(run.lost() == {'EU stalls: the GPU was reset': 1}, f'{run.lost()}')
    contains(run.err, 'Intel Arc B580 GT 0: the GPU was reset: sampling restarted')


def a_reset_without_report():
    scenario('bmg', 'kernel 7.0', 'pace 2000', 'loop forever', *some_rows('bmg', [0]))
    client = Client(keep_busy)
    try:
        run = Run()
        double.write('command', 'start')
        time.sleep(1.5)
        double.write('command', 'reset')
        time.sleep(0.2)
        before = double.truth()[1][0]['read']
        double.wait_until(lambda: double.truth()[1][0]['read'] > before + 1000, 'rows after the reset')
        double.write('command', 'pause')
        double.wait_until(double.rows_are_read, 'rows to be read')
        _truth, totals = double.truth()
        run.end()
    finally:
        client.end()
    # The driver gives rows of before the reset once more, and nothing distinguishes them from others.
    check(run.counter('rows') == totals[0]['read'] + totals[0]['stale'], f'{run.counter("rows")} rows, {totals}')
    check(list(run.lost()) == ['EU stalls: no rows though the GPU is busy, as after a reset'], f'{run.lost()}')
    lost = run.rows['lost'][0]
    check(int(lost['time']) - int(lost['begin']) > 2e9, f'lost for {int(lost["time"]) - int(lost["begin"])} ns')


def a_reset_of_one_gt_without_report():
    scenario('pvc', 'kernel 7.0', 'gt 0 main cores 0-3', 'gt 1 main cores 0-3', 'pace 2000', 'loop forever',
             *some_rows('pvc', [0, 1], addresses=4))
    run = Run(streams=2)
    double.write('command', 'start')
    double.wait_until(lambda: double.truth()[1][1]['read'] > 500, 'rows')
    double.write('command', 'reset 1')
    time.sleep(0.5)
    before = double.truth()[1][1]['read']
    double.wait_until(lambda: double.truth()[1][1]['read'] > before + 500, 'rows of GT 1 after its reset', 40)
    double.write('command', 'pause')
    run.end()
    check(list(run.lost().values()) == [1], f'{run.lost()}')
    lost = run.rows['lost'][0]
    contains(lost['name'], 'no rows though another GT')
    check(int(lost['time']) - int(lost['begin']) > 8e9, f'lost for {int(lost["time"]) - int(lost["begin"])} ns')
    contains(run.err, 'GT 1: no rows though another GT of the GPU has some', 'sampling restarted')


def the_device_is_gone():
    scenario('bmg', 'pace 2000', 'loop forever', *some_rows('bmg', [0]))
    run = Run()
    try:
        double.write('command', 'start')
        double.wait_until(lambda: double.truth()[1][0]['read'] > 500, 'rows')
        double.write('command', 'unplug')
        run.end(status=1, stop=False)
    finally:
        for action in 'unbind', 'bind':
            pathlib.Path('/sys/bus/pci/drivers/xe', action).write_text(SLOT, encoding='ascii')
    check(run.counter('rows') > 500, f'{run.counter("rows")} rows')
    check(run.samples(), 'no samples')
    check(run.lost() == {'EU stalls: the GPU was removed': 1, 'records: the plugin ended early': 1}, f'{run.lost()}')
    contains(run.err, f'Intel Arc B580 GT 0 at {SLOT} was removed', 'source xe-eustall: all sampled GPUs were removed')


def somebody_else_samples():
    scenario('bmg', 'row gt 0 core 0 address 0x1000 active 1')
    client = Client(take_stream)
    try:
        contains(refused(status=1), f'Intel Arc B580 GT 0 at {SLOT}: EU stalls are already being sampled',
                 f'by process {client.pid} (', 'end it first')
    finally:
        client.end()


def somebody_else_samples_one_gt():
    scenario('pvc', 'gt 0 main cores 0-3', 'gt 1 main cores 0-3', 'pace lossless', *some_rows('pvc', [1]))
    client = Client(take_stream)
    try:
        run = Run()
        double.play()
        truth, _totals = double.truth()
        run.end()
    finally:
        client.end()
    check({key: sums for key, sums in truth.items() if key[0] == 1} == run.samples(), 'other samples than were read')
    contains(run.err, f'process {client.pid} (', 'the other GTs are sampled')
    check(run.lost() == {'EU stalls: a GT could not be sampled': 1}, f'{run.lost()}')


def one_gt_cannot_begin():
    scenario('pvc', 'gt 0 main cores 0-3', 'gt 1 main cores 0-3', 'pace lossless', *some_rows('pvc', [1]))
    double.write('command', 'stuck 0')
    run = Run()
    double.play()
    truth, _totals = double.truth()
    run.end()
    check(truth and truth == run.samples(), 'other samples than were read')
    contains(run.err, f'GT 0 at {SLOT}: cannot start EU stall sampling: Connection timed out (the other GTs are sampled)')
    check(run.lost() == {'EU stalls: a GT could not be sampled': 1}, f'{run.lost()}')
    double.write('command', 'stuck 1')
    contains(who_samples(), f'GT 0 at {SLOT}: cannot start EU stall sampling', f'GT 1 at {SLOT}: cannot start EU stall sampling')


def several_others_sample():
    """Whoever has the node open, too, is named; several are reported as candidates."""
    scenario('pvc', 'gt 0 main cores 0-3', 'gt 1 main cores 0-3', *some_rows('pvc', [0]))
    clients = [Client(lambda: take_stream(0)), Client(lambda: take_stream(1))]
    try:
        said = who_samples()
        for client in clients:
            contains(said, f'process {client.pid} (')
        check(said.count('by one of process ') == 2, said)
    finally:
        for client in clients:
            client.end()
    clients = [Client(lambda: take_stream(0)), Client(lambda: os.close(take_stream(1)))]
    try:
        said = who_samples()
        check(said.count(f'by process {clients[0].pid} (') == 2 and str(clients[1].pid) not in said, said)
    finally:
        for client in clients:
            client.end()


def who_samples():
    outcome = subprocess.run([PROGRAM, '-s', 'xe-eustall:ze-usdt=no', '-d', '1s', '-o', 'none'], stderr=subprocess.PIPE,
                             encoding='utf-8', timeout=60, check=False)
    check(outcome.returncode == 1, f'{outcome.returncode}: {outcome.stderr}')
    return outcome.stderr


def rights():
    scenario('bmg', 'row gt 0 core 0 address 0x1000 active 1')
    check(shutil.which('setpriv'), 'setpriv is not installed')
    poor = ['setpriv', '--bounding-set', '-perfmon,-sys_admin', '--inh-caps', '-perfmon,-sys_admin']
    contains(refused(status=3, wrap=poor), 'CAP_PERFMON', 'dev.xe.observation_paranoid=0')
    paranoid = pathlib.Path('/proc/sys/dev/xe/observation_paranoid')
    paranoid.write_text('0', encoding='ascii')
    try:
        said = subprocess.run([*poor, PROGRAM, '--check', '-s', 'xe-eustall:ze-usdt=no'], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding='utf-8', check=False).stdout
        check(re.search('good +right to sample', said), said)
    finally:
        paranoid.write_text('1', encoding='ascii')


def what_is_refused():
    scenario('bmg', 'kernel 6.14', 'row gt 0 core 0 address 0x1000 active 1')
    contains(refused(status=3), f'Intel Arc B580 at {SLOT}', os.uname().release, 'requires 6.15')
    for platform, name in ('dg2', '56a0'), ('mtl', '7d55'):
        double.write('scenario', f'platform {platform}\nend\n')
        contains(refused(status=3), f'Intel GPU {name} at {SLOT}: no EU stall sampling', 'Battlemage')
    scenario('bmg', 'row gt 0 core 0 address 0x1000 active 1')
    contains(refused('rate=300', status=1), 'rate=300', '251, 502, 753, 1004, 1255, 1506, 1757')
    contains(refused('device=0000:99:00.0', status=3), 'device=0000:99:00.0', 'no such GPU')


def automatic_rate():
    def rate():
        found = re.search(r'enabled 1 rate (\d+)', double.state())
        return int(found.group(1)) if found else None  # between two streams

    scenario('bmg', 'pace 500', 'loop forever', *some_rows('bmg', [0]))
    run = Run('rate=auto', 'budget=100%')
    check(rate() == 1757, f'begins with {rate()}')
    double.write('command', 'start')
    double.wait_until(lambda: rate() == 1506, 'a faster rate')
    double.write('command', 'overflow 0 0')
    double.wait_until(lambda: rate() == 1757, 'the slower rate again')
    time.sleep(5)
    check(rate() == 1757, f'does not stay at the slower rate: {rate()}')
    double.write('command', 'pause')
    double.wait_until(double.rows_are_read, 'rows to be read')
    _truth, totals = double.truth()
    run.end()
    check(run.counter('rows') == totals[0]['read'], f'{run.counter("rows")} rows, {totals}')
    check(run.lost()['EU stalls: the sampling rate changed'] == 2, f'{run.lost()}')
    # The rate that overflowed, not the one of now: the advice is what rate=auto did.
    contains(run.rows['finding'][0]['text'], 'EU stall buffer overflows: 1 in ', 'use a lower rate: rate=1757')


def a_tiny_budget():
    """Windows of time are sampled. Their rows count for the time between them, and nothing is lost of the windows."""
    scenario('bmg', 'pace 2000', 'play always', 'loop forever', *some_rows('bmg', [0]))
    run = Run(arguments=('--continuous', '-i', '1s', '--budget', '0.001%', '-k', 'ring:folder=kept'))
    double.write('command', 'start')
    # The stride grows with what rows cost.
    double.wait_until(lambda: len(glob.glob('kept/*.iaprof')) >= 12, 'intervals', 120)
    double.wait_until(lambda: double.truth()[1][0]['read'] > 600, 'rows of some windows', 120)
    double.write('command', 'pause')
    double.wait_until(double.rows_are_read, 'rows to be read')
    truth, totals = double.truth()
    run.end()
    check(run.samples() == truth, 'other samples than were read')
    check(run.counter('rows') == totals[0]['read'], f'{run.counter("rows")} rows, {totals}')
    check(not run.lost(), f'{run.lost()}')
    texts = [row['text'] for row in run.rows['metadata'] if row['name'].startswith('sampled time of ')]
    check(any(re.search(r'1 of \d+ windows of 100 ms', text) for text in texts), f'{texts}')
    replay = subprocess.run([PROGRAM, '--replay', 'kept', '-k', 'csv:output=all.csv,newline=lf'], check=False,
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding='utf-8')
    check(replay.returncode == 0, replay.stderr)
    with open('all.csv', encoding='utf-8', newline='') as file:
        rows = [row for row in csv.DictReader(file) if row['value_type'] == 'gpu-stalls']
    value, count = (sum(int(row[column]) for row in rows) for column in ('value', 'count'))
    samples = sum(sum(counts.values()) for counts in truth.values())
    check(count == samples and value > count, f'{value} for {count} samples, {samples} were read')
    # Rows happen at a steady pace. Of a window's last ones, an emulated driver that is late makes fewer available.
    estimate = samples * totals[0]['produced'] / totals[0]['read']
    print(f'# {value} stalls counted, {estimate:.0f} happened, {samples} sampled; {totals}; {texts}')
    check(0.6 * estimate < value < 1.4 * estimate, f'{value} stalls counted, {estimate:.0f} happened')


# ptl has the rows of bmg; tests/unit/test_xe_query.c knows that, and computes the windows of a budget.
sys.exit(run(named(pvc_with_two_gts, bmg_with_a_media_gt, ptl, cri, every_third_row, overflows, a_late_latch,
                   a_reset_that_the_driver_reports, a_reset_without_report, a_reset_of_one_gt_without_report,
                   the_device_is_gone, somebody_else_samples, somebody_else_samples_one_gt, one_gt_cannot_begin,
                   several_others_sample, rights, what_is_refused, automatic_rate, a_tiny_budget),
             long={'ptl', 'a_tiny_budget'}) != 0)
