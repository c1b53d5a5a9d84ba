# SPDX-License-Identifier: Apache-2.0
"""Scenarios of code: kernels, stacks that launch them, modules that come and go. Each takes a product."""
import pathlib
import time

from . import double, expected
from .known import KNOWN, PACE, all_kernels, check_one, sites
from .launcher import ENDLESS, Launcher
from .profile import BUILD, SOURCE, Ended, Profile, Wrong, check, wanted_of

FIVE_SITES = {'embedding_rotate': 1, 'attention_scores': 2, 'feed_forward_up': 4, 'feed_forward_gelu': 8,
              'embedding_count': 16}
# An address where the runtime has no code.
STRANGE = 0x1000


def one_stack(product):
    """Every instruction of a kernel that is launched from one place."""
    kernels = KNOWN.kernels(product)[0]
    rows = KNOWN.rows(product, expected.row_addresses(KNOWN.code(product), kernels, ['bias_gelu'], 1))
    with Profile(product, rows, [PACE]) as profile:
        program = profile.launcher(*sites(feed_forward_gelu=1), '--turns', 3)
        program.go_to('launched 0')
        double.play()
        samples, totals = double.truth()
        program.end()
    return check_one(profile, program, samples, totals).text()


def linux_stacks(product):
    """The Linux kernel's stack of the job that a launch was is between the program's frames and the device's."""
    kernels = KNOWN.kernels(product)[0]
    rows = KNOWN.rows(product, expected.row_addresses(KNOWN.code(product), kernels, ['bias_gelu'], 1))
    with Profile(product, rows, [PACE], sources=['xe-eustall:kernel=yes'], linux=True) as profile:
        program = profile.launcher('--jobs', double.device_node(), *sites(feed_forward_gelu=1), *ENDLESS)
        program.go_to('loaded 0')
        program.make_turns()
        double.play()
        samples, totals = double.truth()
        program.end()
    return check_one(profile, program, samples, totals).text()


def five_stacks(product):
    """A kernel that five places launch while its rows happen: for 4 s, as the turns that are cut at both ends weigh less then."""
    name = 'matmul_tile'
    rows = KNOWN.rows(product, expected.row_addresses(KNOWN.code(product), KNOWN.kernels(product)[0], [name], 7))
    with Profile(product, rows, ['pace 500', 'loop 100']) as profile:
        program = profile.launcher(*sites(**FIVE_SITES), '--site-kernel', name, '--rate', 20, *ENDLESS)
        program.go_to('loaded 0')
        program.make_turns()
        double.play()
        samples, totals = double.truth()
        program.end()
    truth = program.truth()
    verdict = check(profile, wanted_of(KNOWN.code(product), samples, (truth, program.pid, 0)), samples, totals)
    errors = expected.share_errors(verdict, program.pid, name, truth.launches[program.pid, 0, name])
    worst = max(map(abs, errors.values()))
    if len(errors) != 5 or worst > 2:
        raise Wrong(f'shares are off by {errors} percentage points')
    return f'{verdict.text()}; shares within {worst:.2f} percentage points'


def many_kernels(product):
    """207 kernels, the same nine at 23 places, each with instructions of its own in the profile."""
    loads, arguments = 23, ('--reloads', 22, '--keep')
    places = KNOWN.kernels(product, *arguments)
    addresses = []
    for load in range(loads):
        for name, (start, _size) in places[load].items():
            instructions = KNOWN.code(product)[name]
            addresses += [start + instruction.offset
                          for instruction in instructions[load % len(instructions)::loads]]
    with Profile(product, KNOWN.rows(product, addresses, cores='0'), [PACE]) as profile:
        program = profile.launcher(*arguments)
        program.go_to(f'launched {loads - 1}')
        double.play()
        samples, totals = double.truth()
        program.end()
    truth = program.truth()
    kernels = sum(map(len, truth.kernels.values()))
    wanted = wanted_of(KNOWN.code(product), samples, *((truth, program.pid, load) for load in range(loads)))
    return f'{check(profile, wanted, samples, totals).text()}; {kernels} kernels, {len(addresses)} instructions'


def two_gts(product):
    """Both GTs of a device, with code at the same addresses, and rows of nobody's code."""
    addresses = all_kernels(product)
    rows = KNOWN.rows(product, addresses, gts=(0, 1), cores='0-1') + [double.Row(1, '0', STRANGE, {'other': 77})]
    with Profile(product, rows, ['gt 0 main cores 0-3', 'gt 1 main cores 0-1', PACE], gts=2) as profile:
        program = profile.launcher()
        program.go_to('launched 0')
        double.play()
        samples, totals = double.truth()
        program.end()
    wanted = wanted_of(KNOWN.code(product), samples, (program.truth(), program.pid, 0), strange=[STRANGE])
    verdict = check(profile, wanted, samples, totals)
    if not all(totals[gt]['read'] for gt in (0, 1)):
        raise Wrong(f'not both GTs had rows: {totals}')
    return verdict.text()


def another_module(product):
    """Code is unloaded, and other code comes to its address; the runtime is asked until it does that."""
    loads = 3 if product == 'lnl' else 180  # where it keeps a pool, that has to be full
    arguments = ('--reloads', loads, '--alternate')
    places = KNOWN.kernels(product, *arguments)

    def instructions_of(load):
        return {start + instruction.offset: (name, instruction.offset)
                for name, (start, _size) in places[load].items() for instruction in KNOWN.code(product)[name]}
    before = {load: instructions_of(load) for load in places}
    pairs = ((earlier, later) for later in sorted(places) for earlier in range(later))
    for earlier, later in pairs:
        shared = [address for address in before[earlier].keys() & before[later].keys()
                  if before[earlier][address] != before[later][address]]
        if len(shared) > 20:
            break
    else:
        raise Wrong('no module came to where another one was')
    with Profile(product, KNOWN.rows(product, sorted(shared)), [PACE]) as profile:
        program = profile.launcher(*arguments)
        program.go_to(f'launched {earlier}')
        double.play()
        # In an interval in which both modules were there rows would be ambiguous: it has none.
        time.sleep(1)
        first, _totals = double.truth()
        program.go_to(f'launched {later}')
        time.sleep(1)
        double.play()
        samples, totals = double.truth()
        program.end()
    truth = program.truth()
    wanted = (wanted_of(KNOWN.code(product), first, (truth, program.pid, earlier)) +
              wanted_of(KNOWN.code(product), expected.difference(samples, first), (truth, program.pid, later)))
    return f'{check(profile, wanted, samples, totals).text()}; loads {earlier} and {later}, {len(shared)} addresses'


def plain_run(product):
    """Only the source, the sink and the program are specified: ze-usdt, which records launches, joins by itself."""
    rows = KNOWN.rows(product, all_kernels(product))
    double.write('scenario', double.scenario_text(product, rows, [PACE, 'gt 0 main cores 0-3']))
    plain = [BUILD / 'iaprof', '--source', 'xe-eustall', '--sink', 'folded', '--output', 'out.folded', '--']
    with open('iaprof.err', 'wb') as errors:
        program = Launcher(SOURCE, BUILD, product, [], profiler=plain, errors=errors)
    try:
        program.go_to('launched 0')
        double.play()
        samples, totals = double.truth()
        program.end()
    except BaseException:
        program.kill()
        raise
    said, folded = (pathlib.Path(name).read_text(encoding='utf-8') for name in ('iaprof.err', 'out.folded'))
    ended = Ended(program.process.returncode, said, folded, lines=False)
    wanted = wanted_of(KNOWN.code(product), samples, (program.truth(), program.pid, 0))
    return check(ended, wanted, samples, totals).text()
