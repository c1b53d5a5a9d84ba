# SPDX-License-Identifier: Apache-2.0
"""Cases of a test: each in an empty folder of its own, all of them whatever becomes of one, TAP on standard output."""
import os
import pathlib
import sys
import tempfile
import time
import traceback


class Failure(Exception):
    """What a case found wrong."""


class Skip(Exception):
    """Why a case cannot run here."""


def check(condition, what):
    if not condition:
        raise Failure(what)


def equal(found, expected, what):
    check(found == expected, f'{what}: {found}, not {expected}')


def wait_until(condition, what, seconds=120, describe=lambda: ''):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, f'no {what} within {seconds} s {describe()}'.rstrip())
        time.sleep(0.02)


def named(*functions):
    """Functions as cases, by their names."""
    return [(function.__name__.replace('_', ' '), function) for function in functions]


_started = []


def started(process):
    """A process that may not outlive its case."""
    _started.append(process)
    return process


def end_started():
    for process in _started:
        if process.poll() is None:
            process.kill()
        process.wait()
    _started.clear()


def place_of(error):
    """Where in the test, not in this harness, it was found."""
    steps = [step for step in traceback.extract_tb(error.__traceback__) if pathlib.Path(step.filename).parent.name != 'harness']
    return f'{pathlib.Path(steps[-1].filename).name}:{steps[-1].lineno}' if steps else 'nowhere'


def run_one(case):
    """-> what is behind the case's name: a directive or a note; and what went wrong, None when nothing did."""
    begin = time.monotonic()
    try:
        note = case()
    except Skip as reason:
        return f' # SKIP {reason}', None
    except Failure as failure:
        return '', f'{place_of(failure)}: {failure}'
    except Exception:  # pylint: disable=broad-except  # the next case may show more
        return '', traceback.format_exc()
    finally:
        end_started()
    return f'{": " + note if note else ""} ({time.monotonic() - begin:.1f} s)', None


def run(cases, first=1, plan=True, long=(), essential=()):
    """Runs pairs of a name and a function, whose result, when it has one, is a note. Words on the command line choose:
    the cases with one of them in their names. long: cases of a full run only. essential: those that are enough where the
    change touches nothing that the test covers. -> how many failed"""
    wanted = [word.replace('_', ' ') for word in sys.argv[1:]]
    level = os.environ.get('LAB_LEVEL', 'full')
    chosen = [(name, case) for name, case in cases if not plan or not wanted or any(word in name for word in wanted)]
    if not wanted and level != 'full':
        chosen = [(name, case) for name, case in chosen if name.rpartition(': ')[2] not in long]
    if not wanted and level == 'essential' and essential:
        chosen = [(name, case) for name, case in chosen if name in essential]
    failures = 0
    for number, (name, case) in enumerate(chosen, first):
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            behind, wrong = run_one(case)
            os.chdir('/')
        failures += wrong is not None
        print(f'{"not ok" if wrong else "ok"} {number} - {name}{behind}')
        print(''.join(f'# {line}\n' for line in (wrong or '').splitlines()), end='', flush=True)
    if plan:
        print(f'1..{first + len(chosen) - 1}', flush=True)
    return failures
