# SPDX-License-Identifier: Apache-2.0
"""The double of the xe device: its scenario, its commands, and what became of each row. doubles/xe/README.md."""
import pathlib
from collections import namedtuple

from harness import cases

# Where the guest has the device that the double takes.
DEVICE = '0000:00:10.0'
CONTROL = pathlib.Path('/sys/kernel/debug/xe-double')
REASONS = ('active', 'tdr', 'other', 'control', 'pipestall', 'send', 'dist_acc', 'sbid', 'sync', 'inst_fetch')
# Layout of rows and class of the device's instruction heap, by product.
LAYOUTS = {'pvc': 'pvc', 'bmg': 'xe2', 'lnl': 'xe2'}

Row = namedtuple('Row', 'gt core address counts')


class Stuck(cases.Failure):
    """The double does not do what it was asked for."""


def write(file, text):
    """Lines go in pieces that end with a line, for a bad one is named by its number."""
    try:
        with open(CONTROL / file, 'w', encoding='ascii') as control:
            control.write(text)
    except OSError as error:
        said = (CONTROL / 'error').read_text(encoding='utf-8').strip()
        raise Stuck(f'{file}: {error.strerror}: {said}') from error


def scenario_text(product, rows, settings=()):
    """Rows that happen in their order; settings are lines such as "pace 20000" or "gt 0 main cores 0-3"."""
    lines = [f'platform {product}', *settings]
    for row in rows:
        counts = ' '.join(f'{reason} {count}' for reason, count in row.counts.items())
        lines.append(f'row gt {row.gt} core {row.core} address {row.address:#x} {counts}')
    return '\n'.join([*lines, 'end', ''])


def make_counts(product, number):
    """Counts of a few reasons, others for each number; some need more than the 8 bits that a row has for them."""
    reasons = [reason for reason in REASONS if product != 'pvc' or reason != 'tdr']
    counts = {}
    for step in range(1 + number % 3):
        reason = reasons[(number * 7 + step * 3) % len(reasons)]
        counts[reason] = 1 + (number * 37 + step * 101) % (600 if number % 5 == 0 else 200)
    return counts


def read_truth(text):
    """-> {(gt, address): {reason: samples that were read}}, {gt: {word: number}} of the lines "totals"."""
    samples, totals = {}, {}
    for line in text.splitlines():
        words = line.split()
        if words[0] != 'gt':
            continue
        if words[2] == 'totals':
            totals[int(words[1])] = dict(zip(words[3::2], map(int, words[4::2])))
        elif words[2] == 'address' and words[4] == 'read':
            numbers = dict(zip(words[5::2], map(int, words[6::2])))
            del numbers['rows']
            samples[int(words[1]), int(words[3], 16)] = {reason: n for reason, n in numbers.items() if n}
    return samples, totals


def truth():
    return read_truth((CONTROL / 'truth').read_text(encoding='ascii'))


def state():
    return (CONTROL / 'state').read_text(encoding='utf-8')


def wait_until(condition, what, seconds=60, describe=state):
    cases.wait_until(condition, what, seconds, describe)


def device_node():
    """The node on which programs run jobs."""
    nodes = pathlib.Path('/sys/bus/pci/devices', DEVICE, 'drm').glob('renderD*')
    return next(f'/dev/dri/{node.name}' for node in nodes)


def plug_in():
    """A fresh device, after it was unplugged."""
    for action in 'unbind', 'bind':
        pathlib.Path('/sys/bus/pci/drivers/xe', action).write_text(DEVICE, encoding='ascii')


def rows_are_read():
    """The player stands still, and nothing of what it wrote waits in a ring."""
    return 'player playing' not in state() and not any(numbers['waiting'] for numbers in truth()[1].values())


def play():
    """Lets the rows happen, from the first again when they were over, until all of them have been read."""
    write('command', 'start')
    wait_until(rows_are_read, 'rows to be read')
