# SPDX-License-Identifier: Apache-2.0
"""Scenarios of processes: late news, short lives, two at the same addresses. Each takes a product."""
import os
import signal
import time

from . import double, expected
from .known import KNOWN, PACE, all_kernels, check_one, sites
from .launcher import ENDLESS
from .profile import Profile, Wrong, check, wanted_of

# Seconds between rows and the other process's turn: more than the interval that they are reported for.
APART = 0.2
# Looks in a row at which jobs of one process had gone on, and none of the other: more than a queue holds of it.
LOOKS = 10


def late_launches(product):
    """Launches are reported up to a second after they were made, and samples before that."""
    rows = KNOWN.rows(product, all_kernels(product))
    with Profile(product, rows, [PACE], sources=('xe-eustall', 'ze-usdt:drain=1s')) as profile:
        program = profile.launcher()
        program.go_to('launched 0')
        double.play()
        samples, totals = double.truth()
        program.end()
    return check_one(profile, program, samples, totals).text()


def short_life(product):
    """Programs end at once after their launches: all of a program that is on the GPU is over before anybody looks.

    A whole program of 50 ms takes some ten times longer in an emulated guest, where the runtime alone needs a second to
    start: what is short here is the time from a program's first launch to its end, which is printed.
    """
    rows = KNOWN.rows(product, all_kernels(product))
    wanted, before, longest = [], {}, 0
    with Profile(product, rows, ['pace lossless']) as profile:
        for _ in range(3):
            program = profile.launcher()
            program.go_to('loaded 0')
            begin = time.monotonic()
            program.go_to('launched 0')
            double.write('command', 'start')
            program.end()
            longest = max(longest, 1000 * (time.monotonic() - begin))
            double.wait_until(double.rows_are_read, 'rows to be read')
            samples, totals = double.truth()
            its_own = expected.difference(samples, before)
            wanted += wanted_of(KNOWN.code(product), its_own, (program.truth(), program.pid, 0))
            before = samples
    return f'{check(profile, wanted, samples, totals).text()}; {longest:.0f} ms from first launch to end at most'


def two_processes(profile, *arguments):
    """Two of the launcher, whose code is at the same addresses; both have loaded it."""
    node = double.device_node()
    programs = [profile.launcher('--jobs', node, *words) for words in arguments]
    for program in programs:
        program.go_to('loaded 0')
    return programs


def let_one_run(running, stopped):
    """Only one of two has jobs on the device."""
    os.kill(stopped.pid, signal.SIGSTOP)
    os.kill(running.pid, signal.SIGCONT)
    looks, last = 0, (None, None)

    def is_alone():
        nonlocal looks, last
        found = stopped.time_on_device(), running.time_on_device()
        looks = 0 if found[0] != last[0] else looks + (found[1] > last[1])
        last = found
        return looks == LOOKS
    double.wait_until(is_alone, 'jobs of the program whose turn it is, alone')
    time.sleep(APART)


def in_turns(product):
    """Processes with code at the same addresses run in turns, and rows happen while one of them does.

    The other one is stopped meanwhile, so that a machine that is late makes turns fewer, not wrong.
    """
    rows = KNOWN.rows(product, all_kernels(product, ['softmax_row', 'histogram']))
    words = (*sites(attention_softmax=1, embedding_count=1), *ENDLESS, '--job-time', 10000)
    of_each, before, turns = [{}, {}], {}, 0
    with Profile(product, rows, ['pace 4000', 'loop forever']) as profile:
        programs = two_processes(profile, words, words)
        for program in programs:
            program.make_turns()
        end = time.monotonic() + 6
        while turns < 4 or time.monotonic() < end:
            let_one_run(programs[turns % 2], programs[1 - turns % 2])
            double.write('command', 'start')
            time.sleep(0.1)
            double.write('command', 'pause')
            double.wait_until(double.rows_are_read, 'rows to be read')
            time.sleep(APART)
            samples, totals = double.truth()
            of_each[turns % 2] = expected.together(of_each[turns % 2], expected.difference(samples, before))
            before = samples
            turns += 1
        for program in programs:
            os.kill(program.pid, signal.SIGCONT)
        for program in programs:
            program.end()
    wanted = [item for program, its_own in zip(programs, of_each)
              for item in wanted_of(KNOWN.code(product), its_own, (program.truth(), program.pid, 0))]
    return f'{check(profile, wanted, samples, totals).text()}; {turns} turns'


def at_once(product):
    """Both keep the device busy all the time: their rows are ambiguous, and the profile marks them, and gives
    each its share of the time."""
    rows = KNOWN.rows(product, all_kernels(product, ['softmax_row', 'histogram']))
    words = (*sites(attention_softmax=1, embedding_count=1), *ENDLESS, '--job-time', 10000)
    with Profile(product, rows, ['pace 1000', 'loop 6']) as profile:
        programs = two_processes(profile, words, words)
        for program in programs:
            program.make_turns()
        double.play()
        samples, totals = double.truth()
        for program in programs:
            program.end()
    truths = [(program.truth(), program.pid, 0) for program in programs]
    verdict = check(profile, wanted_of(KNOWN.code(product), samples, *truths), samples, totals, ambiguous=True)
    share = 100 * verdict.processes[programs[0].pid] / verdict.total
    if verdict.share(verdict.ambiguous) < 99.9 or not 40 < share < 60:
        raise Wrong(f'{verdict.text()}; one of them has {share:.1f} %')
    return f'{verdict.text()}; {share:.1f} % for the first of them'
