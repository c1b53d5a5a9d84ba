# SPDX-License-Identifier: Apache-2.0
"""Scenarios of the device: full rings, resets, a device that goes, a stream that is taken. Each takes a product."""
import statistics
import subprocess
import threading
import time

from . import double
from .known import KNOWN, PACE, all_kernels, check_one
from .profile import BUILD, Profile, Wrong


def overflows(product):
    """A ring overflows every second: the profile reports that rows are missing, and counts those that were read."""
    rows = KNOWN.rows(product, all_kernels(product))
    ended = threading.Event()

    def overflow():
        while not ended.wait(1):
            double.write('command', 'overflow 0 1')
    with Profile(product, rows, ['pace 3000', 'loop 20']) as profile:
        program = profile.launcher()
        program.go_to('launched 0')
        thread = threading.Thread(target=overflow)
        thread.start()
        try:
            double.play()
        finally:
            ended.set()
            thread.join()
        samples, totals = double.truth()
        program.end()
    verdict = check_one(profile, program, samples, totals)
    reported = profile.reports()[0]['overflows']
    if not reported or 'lost: xe-eustall: ' not in profile.said or 'overflowed' not in profile.said:
        raise Wrong(f'{reported} overflows were reported: {profile.said}')
    return f'{verdict.text()}; {totals[0]["forced"]} overflows, {reported} reported'


def reset(product):
    """After a reset of the GT the stream is opened anew, and rows go on."""
    rows = KNOWN.rows(product, all_kernels(product))
    with Profile(product, rows, [PACE]) as profile:
        program = profile.launcher()
        program.go_to('launched 0')
        double.play()
        double.write('command', 'reset 0')
        double.wait_until(lambda: 'reset' in profile.read_errors(), 'iaprof to notice the reset', 20)
        double.wait_until(lambda: ' enabled 1 ' in double.state(), 'the stream to be open again')
        double.play()
        samples, totals = double.truth()
        program.end()
    verdict = check_one(profile, program, samples, totals)
    if totals[0]['read'] != 2 * 4 * len(rows) and totals[0]['read'] <= 4 * len(rows):
        raise Wrong(f'no rows were read after the reset: {totals}')
    return verdict.text()


def vanishes(product):
    """The device is gone in the middle of the run: what was sampled until then stays, and the run goes on."""
    rows = KNOWN.rows(product, all_kernels(product))
    try:
        with Profile(product, rows, [PACE]) as profile:
            program = profile.launcher()
            program.go_to('launched 0')
            double.play()
            samples, totals = double.truth()
            double.write('command', 'unplug')
            double.wait_until(lambda: 'was removed' in profile.read_errors(), 'iaprof to say that the device is gone', 20,
                              profile.read_errors)
            program.end()
    finally:
        double.plug_in()
    return check_one(profile, program, samples, totals, status=1).text()


def taken(product):
    """The stream is in use: a second run reports by whom, and the first one misses nothing."""
    rows = KNOWN.rows(product, all_kernels(product))
    with Profile(product, rows, [PACE]) as profile:
        program = profile.launcher()
        program.go_to('launched 0')
        second = subprocess.run([BUILD / 'iaprof', '-d', '1', '-s', 'xe-eustall', '-o', 'second.folded'], check=False,
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding='utf-8')
        double.play()
        samples, totals = double.truth()
        program.end()
    if not second.returncode or str(profile.process.pid) not in second.stderr:
        raise Wrong(f'the second run ended with {second.returncode} and does not name {profile.process.pid}: '
                    f'{second.stderr}')
    return check_one(profile, program, samples, totals).text()


def long_run(product):
    """As many rows as fit into some seconds: a day adds no distinct ones, so memory must not grow."""
    rows = KNOWN.rows(product, all_kernels(product))
    sizes = []
    with Profile(product, rows, ['pace lossless', 'loop forever']) as profile:
        program = profile.launcher()
        program.go_to('launched 0')
        double.write('command', 'start')
        for _ in range(12):
            time.sleep(0.5)
            sizes.append(profile.own_memory())
        double.write('command', 'pause')
        double.wait_until(double.rows_are_read, 'rows to be read')
        samples, totals = double.truth()
        program.end()
    verdict = check_one(profile, program, samples, totals)
    quarter = len(sizes) // 4
    growth = statistics.median(sizes[-quarter:]) - statistics.median(sizes[quarter:2 * quarter])
    if growth > 4 << 20:  # a table that doubles; a byte for each row would be more
        raise Wrong(f'memory grew by {growth} bytes from the second quarter to the last: {sizes}')
    return (f'{verdict.text()}; {totals[0]["read"]} rows, {growth:.0f} bytes more from the second quarter to the last, '
            f'{sizes[-1] >> 20} MiB')
