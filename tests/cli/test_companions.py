#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sources that bring others in, and what sources tell --check. The program runs from a tree with only their plugins."""
import os
import shutil

from harness import COMPLETE, FAILED, NOTHING, PLUGINS, PROGRAM, USAGE, case, equal, iaprof, main, require, write

BRINGING, BROUGHT, FOLDED = 'bringing-source', 'brought-source', 'folded'


def tree(*names):
    """A copy of the program that finds these plugins only, as one in a build tree does."""
    os.makedirs('tree/meson-info')
    shutil.copy(PROGRAM, 'tree/iaprof')
    os.makedirs('tree/examples')
    shutil.copy(os.path.join(os.path.dirname(PROGRAM), 'examples/code.rules'), 'tree/examples')
    for name in names:
        os.makedirs(f'tree/plugins/{name}')
        folder = os.path.join(os.path.dirname(PROGRAM), 'plugins', f'sink-{name}') if name == FOLDED else PLUGINS
        shutil.copy(os.path.join(folder, f'iaprof-{name}.so'), f'tree/plugins/{name}')
    return os.path.abspath('tree/iaprof')


def messages(*arguments, names=(BRINGING, BROUGHT, FOLDED), status=COMPLETE):
    """What the sources of a run printed when they started, and the warnings of the core."""
    outcome = iaprof(*arguments, '-o', 'out', program=tree(*names))
    equal(outcome.status, status, 'exit status')
    lines = [line.removeprefix('iaprof: warning: ') for line in outcome.err.splitlines() if 'warning: ' in line]
    shutil.rmtree('tree')
    return lines


def checked(*arguments, names=(BRINGING, BROUGHT, FOLDED), status=COMPLETE):
    outcome = iaprof('--check', *arguments, program=tree(*names))
    equal(outcome.status, status, 'exit status')
    shutil.rmtree('tree')
    return [line for line in outcome.out.splitlines() if not line.startswith('sink ')]


@case('a source brings in its companion, with its defaults')
def brought():
    equal(messages('-s', BRINGING), [f'{BRINGING}: level 1', f'{BROUGHT}: level 1, kind 7'])


@case('a companion takes the options that both have, of the same type')
def options():
    equal(messages('-s', f'{BRINGING}:level=5,kind=text,own=3'), [f'{BRINGING}: level 5', f'{BROUGHT}: level 5, kind 7'])


@case('a companion that the user named is not brought in again, before and after')
def named():
    lines = [f'{BRINGING}: level 1', f'{BROUGHT}: level 9, kind 7']
    equal(messages('-s', BRINGING, '-s', f'{BROUGHT}:level=9'), lines)
    equal(messages('-s', f'{BROUGHT}:level=9', '-s', BRINGING), lines[::-1])
    equal(messages('-s', f'{BROUGHT}.other:level=9', '-s', BRINGING), [f'{BROUGHT}.other: level 9, kind 7', lines[0]])


@case('two instances bring in one companion')
def instances():
    equal(messages('-s', f'{BRINGING}.a:level=2', '-s', f'{BRINGING}.b:level=3'),
          [f'{BRINGING}.a: level 2', f'{BRINGING}.b: level 3', f'{BROUGHT}: level 2, kind 7'])


@case('the option with its name keeps a companion out')
def unwanted():
    equal(messages('-s', f'{BRINGING}:brought-source=no'), [f'{BRINGING}: level 1'])


@case('without named sources each comes once')
def of_machine():
    equal(messages(), [f'{BRINGING}: level 1', f'{BROUGHT}: level 1, kind 7'])


@case('a companion that cannot run here is left out with a line, and the run goes on')
def left_out():
    why = f'source {BRINGING} runs without its companion: source {BROUGHT}: no device: plug one in'
    equal(messages('-s', f'{BRINGING}:level=55'), [why, f'{BRINGING}: level 55'])
    equal(checked('-s', f'{BRINGING}:level=55'),
          [f'source {BRINGING}: ready', f'source {BROUGHT} (with {BRINGING}): cannot run here',
           f'  source {BROUGHT}: no device: plug one in'])


@case('a companion that fails to start ends alone, with status 1; one that the user named ends the run')
def fails_to_start():
    failure = f'iaprof: source {BROUGHT}: the device is busy'
    for arguments, level in (['-s', f'{BRINGING}:level=44'], 44), (['-s', f'{BRINGING}', '-s', f'{BROUGHT}:level=44'], 1):
        outcome = iaprof('-q', *arguments, '-o', 'out', program=tree(BRINGING, BROUGHT, FOLDED))
        equal((outcome.status, outcome.err.splitlines(), os.path.exists('out')), (FAILED, [failure], level == 44), arguments)
        if level == 44:
            os.unlink('out')
        shutil.rmtree('tree')


@case('a companion that the user named has to run, and --check reports one whose source cannot run')
def must_run():
    equal(checked('-s', BRINGING, '-s', f'{BROUGHT}:level=55', status=NOTHING),
          [f'source {BRINGING}: ready', f'source {BROUGHT}: cannot run here',
           f'  source {BROUGHT}: no device: plug one in'])
    equal(checked('-s', f'{BRINGING}:fails=yes,check=good', status=NOTHING),
          [f'source {BRINGING}: cannot run here', f'  source {BRINGING}: no device: plug one in',
           '  good     what it needs: level 1?[1m', f'source {BROUGHT} (with {BRINGING}): ready',
           '  good     what it needs: level 1?[1m'])
    iaprof('-s', f'{BRINGING}:fails=yes', '-o', 'out', program=tree(BRINGING, BROUGHT, FOLDED)).fails(
        NOTHING, f'source {BRINGING}: no device: plug one in')


@case('a companion of two sources stays with the one that can run here')
def shared():
    names = 'absent-source', 'present-source', 'shared-source', FOLDED
    equal(messages(names=names), ['present-source: level 1', 'shared-source: level 1, kind 7'])
    equal(checked(names=names), ['source absent-source: cannot run here',
                                 '  source absent-source: no device: plug one in', 'source present-source: ready',
                                 'source shared-source (with present-source): ready'])
    # With nobody it has nothing to do.
    equal(messages(names=(BRINGING, BROUGHT, 'absent-source', 'shared-source', FOLDED)),
          [f'{BRINGING}: level 1', f'{BROUGHT}: level 1, kind 7'])


@case('a companion that is not installed is left out with a line')
def not_installed():
    equal(messages('-s', BRINGING, names=(BRINGING, FOLDED)),
          [f'source {BRINGING} runs without its companion: no source "{BROUGHT}" (iaprof --list lists the plugins)',
           f'{BRINGING}: level 1'])


@case('a value that only the companion refuses: one line names both')
def refused():
    iaprof('-s', f'{BRINGING}:level=70', '-o', 'out', program=tree(BRINGING, BROUGHT, FOLDED)).fails(
        USAGE, f'source {BRINGING}, companion {BROUGHT}: .*level: 70 is out of range')


@case('--eu-stall-subsample is the option of each source that has one, and needs one')
def subsample():
    lines = [f'{BRINGING}: level 1', f'{BRINGING}: subsample 9', f'{BROUGHT}: level 1, kind 7', f'{BROUGHT}: subsample 9']
    equal(messages('--eu-stall-subsample=9', '-s', BRINGING), lines)
    equal(messages('--eu-stall-subsample', '9'), lines)
    equal(messages('--eu-stall-subsample', '5', '--eu-stall-subsample', '9', '-s', f'{BRINGING}:subsample=2'), lines)
    write('run.ini', '[iaprof]\neu-stall-subsample = 9\n[source:bringing-source]\nsubsample = 3\n')
    equal(messages('-c', 'run.ini'), lines)
    for value in '', '-1', 'all':
        iaprof(f'--eu-stall-subsample={value}', '-s', BRINGING, '-o', 'out', program=tree(BRINGING, BROUGHT, FOLDED)).fails(
            USAGE, f"command line: eu-stall-subsample: {BRINGING}: subsample: '{value}' is not a whole number")
        shutil.rmtree('tree')
    iaprof('--eu-stall-subsample=9', '-s', 'failing-source', '-o', 'out', program=tree('failing-source', BROUGHT, FOLDED)).fails(
        USAGE, 'command line: eu-stall-subsample: no source of this run has this option \\(add one with --source\\)')
    shutil.rmtree('tree')
    iaprof('--eu-stall-subsample=9', '-s', 'failing-source', '-o', 'out', program=tree('failing-source', FOLDED)).fails(
        USAGE, 'unknown option --eu-stall-subsample: see iaprof --help all')


@case('--check reports which source adds a companion, and the items of each')
def check():
    equal(checked('-s', f'{BRINGING}:check=good,level=4'),
          [f'source {BRINGING}: ready', '  good     what it needs: level 4?[1m',
           f'source {BROUGHT} (with {BRINGING}): ready', '  good     what it needs: level 4?[1m'])
    equal(checked('-s', f'{BRINGING}:check=limited,brought-source=no'),
          [f'source {BRINGING}: ready', '  limited  what it needs: level 1?[1m'])


@case('--check: nothing to profile where something is missing')
def check_missing():
    equal(checked('-s', f'{BROUGHT}:check=missing', status=NOTHING),
          [f'source {BROUGHT}: cannot profile here', '  missing  what it needs: level 1?[1m'])
    # One of several that were named: the run as the user wants it cannot be.
    checked('-s', f'{BROUGHT}:check=missing', '-s', f'{BRINGING}:check=good', status=NOTHING)
    # The items of check() are reported although the probe failed.
    equal(checked('-s', f'{BROUGHT}:level=55,check=limited', status=NOTHING),
          [f'source {BROUGHT}: cannot run here', f'  source {BROUGHT}: no device: plug one in',
           '  limited  what it needs: level 55?[1m'])


@case('--help names the companions of a source')
def documented():
    outcome = iaprof('--help', BRINGING, program=tree(BRINGING)).completes()
    require(f'Also runs source {BROUGHT}' in outcome.out, outcome.out)


if __name__ == '__main__':
    main()
