#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests compare.py with planted changes: each has to make it fail and be printed, unless renamed.txt lists it. TAP."""
import contextlib
import functools
import io
import os
import pathlib
import shutil
import sys
import tempfile
from unittest import mock

import compare

HERE = pathlib.Path(__file__).resolve().parent
CASE = 'known-source'
IAPROF = pathlib.Path(os.environ['TEST_IAPROF']).resolve()
LINE = f'{CASE} capture {HERE}/captures/{CASE}.iaprof\n'
# What the expectation lacks without a planted change, as in renamed.txt.
ADDED = 'column\t-\tkernel_class\ta later version\n'


make_facts = compare.make_facts


@functools.cache
def facts_of_iaprof(path):
    """The output of iaprof itself, which no planted change is in."""
    return make_facts(path, compare.Case(LINE))


def facts_of_run(path, case):
    return facts_of_iaprof(path) if path == IAPROF else make_facts(path, case)


def run(change=lambda facts: facts, table='', program=None, words=()):
    """Runs compare.py on one case with a changed expectation; returns its status and output."""
    facts = change(dict(compare.read_expected(HERE / 'expected' / f'{CASE}.txt.xz')))
    folder = pathlib.Path('expected')
    shutil.rmtree(folder, ignore_errors=True)
    compare.write_expected(folder / f'{CASE}.txt.xz', facts, preset=0)
    pathlib.Path('list').write_text(LINE, encoding='utf-8')
    pathlib.Path('table').write_text(ADDED + table, encoding='utf-8')
    arguments = ['compare.py', '--program', program or IAPROF, '--list', 'list', '--expected', folder, '--renamed', 'table', *words]
    with contextlib.redirect_stdout(io.StringIO()) as said, mock.patch.object(sys, 'argv', list(map(str, arguments))), \
            mock.patch.object(compare, 'make_facts', facts_of_run):
        status = compare.main()
    return status, said.getvalue()


def same(**options):
    status, said = run(**options)
    assert status == 0 and f'ok 1 - {CASE}\n' in said and 'not ok' not in said, f'{status}: {said}'


def differs(*wanted, **options):
    """Requires that it fails and prints each of these texts."""
    status, said = run(**options)
    assert status == 1 and f'not ok 1 - {CASE}\n' in said, f'{status}: {said}'
    for text in wanted:
        assert text in said, f'{text!r} is not in: {said}'


def edited(view, column, old, new, limit=1 << 30, **where):
    """Returns a change that replaces text in a column of matching rows; it fails if no row matches."""
    def change(facts):
        result, count = {}, 0
        for (name, columns), times in facts.items():
            row = dict(columns)
            if (view in (None, name) and column in row and old in row[column] and count < limit and
                    all(row.get(key) == text for key, text in where.items())):
                columns = tuple((key, text.replace(old, new) if key == column else text) for key, text in columns)
                count += 1
            result[name, columns] = result.get((name, columns), 0) + times
        assert count, f'no {column} of {view} has {old!r}'
        return result
    return change


def both(*changes):
    def change(facts):
        for each in changes:
            facts = each(facts)
        return facts
    return change


def unchanged():
    same()


def one_more(view, column, **where):
    """Returns a change that makes one number of the expectation smaller by one."""
    def change(facts):
        for (name, columns), times in facts.items():
            row = dict(columns)
            if name == view and column in row and all(row.get(key) == text for key, text in where.items()):
                row[column] = str(int(row[column]) - 1)
                del facts[name, columns]
                facts[name, tuple(row.items())] = times
                return facts
        raise AssertionError(f'no {column} in {view}')
    return change


def a_value():
    for view, column, where in (('stacks', 'value', {}), ('stacks', 'count', {}), ('detailed', 'value', {}),
                                ('folded', 'value', {}), ('intervals', 'value', {}),
                                ('events', 'count', {'record': 'lost'}), ('events', 'value', {'record': 'sample'}),
                                ('events', 'duration', {'record': 'call'}), ('events', 'time', {'record': 'job'}),
                                ('events', 'count', {'record': 'stall-sample'}), ('events', 'id', {'record': 'job'})):
        differs(f'- 1\t{view}\t', f'+ 1\t{view}\t', change=one_more(view, column, **where))


def a_row_more_or_less():
    def drop(facts):
        del facts[next(fact for fact in facts if fact[0] == 'stacks')]
        return facts

    def add(facts):
        view, columns = next(fact for fact in facts if fact[0] == 'folded')
        facts[view, tuple((name, f'{text}9') for name, text in columns)] = 1
        return facts

    def twice(facts):
        facts[next(fact for fact in facts if dict(fact[1]).get('record') == 'call')] += 1
        return facts
    differs('+ 1\tstacks', '1 differences', change=drop)
    differs('- 1\tfolded', '1 differences', change=add)
    differs('- 1\tevents', '1 differences', change=twice)


def numbers_of_summed_rows():
    differs('- 1\tevents', 'stall-sample', '2 differences',
            change=edited('events', 'digest of numbers', '', '0', record='stall-sample'))
    differs('- 1\tintervals', '2 differences', change=edited('intervals', 'digest of numbers', '', '0'))


FRAME = both(edited(None, 'stack', 'warm', 'tepid'), edited(None, 'program', 'warm', 'tepid'))


def a_frame():
    differs('stack=tepid', 'stack=warm', change=FRAME)
    differs('stack=tepid', change=FRAME, table='frame\twarm\ttepid\tthe wrong way\n')
    differs('stack=tepid', change=FRAME, table='name\ttepid\twarm\tof events alone\n')
    same(change=FRAME, table='# kind\told\tnew\treason\n\nframe\ttepid\twarm\ta test\n')


def a_value_type():
    change = both(edited(None, 'value_type', 'gpu-stalls', 'stalls'))
    differs('value_type=stalls', change=change)
    same(change=change, table='value-type\tstalls\tgpu-stalls\ta test\n')


def a_text_of_events():
    change = edited('events', 'name', 'known loss', 'loss', record='lost')
    differs('name=loss', 'name=known loss', change=change)
    same(change=change, table='name\tloss\tknown loss\ta test\n')


def columns():
    def renamed(facts):
        return {(view, tuple(('came', text) if name == 'begin' else (name, text) for name, text in row)): count
                for (view, row), count in facts.items()}

    def added(facts):
        return {(view, tuple(pair for pair in row if pair[0] != 'begin')): count for (view, row), count in facts.items()}

    def dropped(facts):
        return {(view, (*row, ('shade', 'blue')) if view == 'events' else row): count
                for (view, row), count in facts.items()}
    differs('came=', change=renamed)
    same(change=renamed, table='column\tcame\tbegin\ta test\n')
    differs('begin=', change=added)
    same(change=added, table='column\t-\tbegin\ta test\n')
    differs('shade=blue', change=dropped)
    same(change=dropped, table='column\tshade\t-\ta test\n')


def records():
    def without(facts):
        return {fact: count for fact, count in facts.items() if dict(fact[1]).get('record') != 'job'}

    def without_loss(facts):
        return {fact: count for fact, count in facts.items()
                if fact[0] != 'events' or dict(fact[1]).get('name') != 'known loss'}

    def more(facts):
        return {**facts, ('events', (('record', 'weather'), ('name', 'fair'))): 3}
    differs('+ 1\tevents', 'record=job', change=without)
    same(change=without, table='record\t-\tjob\ta test\n')
    differs('+ 1\tevents', 'name=known loss', change=without_loss)
    same(change=without_loss, table='name\t-\tknown loss\ta test\n')
    differs('- 3\tevents\tname=fair\trecord=weather', change=more)
    same(change=more, table='record\tweather\t-\ta test\n')
    change = edited('events', 'record', 'job', 'work', record='job')
    differs('record=work', change=change)
    same(change=change, table='record\twork\tjob\ta test\n')


def unused_entries():
    status, said = run(table='frame\tnot there\tnor there\ta test\n')
    assert status == 1 and f'ok 1 - {CASE}\n' in said and 'not ok 2' in said and 'frame not there' in said, said
    same(table='frame\tnot there\tnor there\ta test\n', words=[CASE])  # other cases may use it


def invalid_tables():
    for table in ('frame\ta\tb\n', 'frame\ta\ta\tthe same\n', 'frame\ta\t-\tgone\n', 'frame\ta\tb\tx\nframe\ta\tc\tx\n'):
        status, said = run(table=table)
        assert status == 2 and 'Bail out! table:' in said, f'{status}: {said}'


def program(text):
    """Returns a program that runs iaprof and then a shell command on its output."""
    path = pathlib.Path('program').resolve()
    path.write_text(f'#!/bin/sh\n"$TEST_IAPROF" "$@" || exit\n{text}\n', encoding='utf-8')
    path.chmod(0o755)
    return path


def changed_output():
    differs('stack=warm', 'stack=cold', program=program('sed -i s/warm/cold/ folded*'))
    differs('- 1\tevents', 'record=job', program=program('sed -i "/,job,/d" *events || :'))
    differs('status 1', program=program('exit 1'))
    differs('stacks was not written', program=program('rm -f stacks'))
    same(program=program(':'))


def empty_expectation():
    differs('contains no facts', change=lambda facts: {})
    status, said = run(words=['nobody'])
    assert status == 2 and 'no case named nobody' in said, said


CASES = [unchanged, a_value, a_row_more_or_less, numbers_of_summed_rows, a_frame, a_value_type, a_text_of_events,
         columns, records, unused_entries, invalid_tables, changed_output, empty_expectation]


def main():
    failed = 0
    print(f'1..{len(CASES)}')
    for number, case in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory(prefix='iaprof-preservation-') as folder:
            os.chdir(folder)
            try:
                case()
                wrong = None
            except AssertionError as error:
                wrong = str(error)
            os.chdir('/')
        failed += wrong is not None
        print(f'{"not ok" if wrong is not None else "ok"} {number} - {case.__name__.replace("_", " ")}')
        print(''.join(f'# {line}\n' for line in (wrong or '').splitlines()), end='', flush=True)
    return int(failed > 0)


if __name__ == '__main__':
    sys.exit(main())
