# SPDX-License-Identifier: Apache-2.0
"""What does not change from run to run, so that a scenario can be written before it: code, and where it comes to."""
import os

from . import code, double, expected
from .launcher import Launcher
from .profile import BUILD, SOURCE, check, wanted_of

# Rows are asked for at this pace; the rings of four Xe-cores hold four times 8192.
PACE = 'pace 20000'


class Known:
    """What does not change from run to run: a product's code, and where the runtime puts it."""

    def __init__(self):
        self.codes, self.truths = {}, {}

    def code(self, product):
        if product not in self.codes:
            self.codes[product] = code.read_code(SOURCE, BUILD, product)
        return self.codes[product]

    def kernels(self, product, *arguments):
        """{load: {kernel: (address, size)}}: a run before shows the addresses, for a scenario is written beforehand;
        what else it does matters, as on some products launches need memory of the same heap."""
        key = product, arguments
        if key not in self.truths:
            program = Launcher(SOURCE, BUILD, product, arguments, truth='truth.before')
            program.end()
            truth = program.truth()
            os.unlink('truth.before')
            self.truths[key] = {load: kernels for (_pid, load), kernels in truth.kernels.items()}
        return self.truths[key]

    def rows(self, product, addresses, gts=(0,), cores='0-3'):
        return [double.Row(gt, cores, address, double.make_counts(product, 13 * gt + number))
                for gt in gts for number, address in enumerate(addresses)]


KNOWN = Known()


def sites(**launches):
    return '--sites', ','.join(f'{site}={count}' for site, count in launches.items())


def all_kernels(product, names=None, step=5):
    """Rows at instructions of kernels of the first load."""
    places = KNOWN.kernels(product)[0]
    return expected.row_addresses(KNOWN.code(product), places, names or list(places), step)


def check_one(profile, program, samples, totals, **options):
    """check() of a run with one program, whose first load was there all the time."""
    wanted = wanted_of(KNOWN.code(profile.product), samples, (program.truth(), program.pid, 0))
    return check(profile, wanted, samples, totals, **options)
