#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls, jobs, counters, histograms and findings in each sink whose format can carry them, read by a reader of the
format. TAP."""
import csv
import gzip
import io
import os
import pathlib
import shutil
import subprocess
import sys

from protobuf import varint
from stacks import COUNT, Skip, equal, gpu_stack, record, run_cases, write_profile

DONE, ABORTED = 1, 2  # enum iaprof_job_state
API, IOCTL = 1, 2  # enum iaprof_call_kind
GAUGE, CUMULATIVE = 1, 2  # enum iaprof_counter_kind
NOTE, PROBLEM = 1, 3  # enum iaprof_finding_severity
EXISTING = 1  # enum iaprof_process_event

RECORDS = [
    record('source', number=1, name='npu'),
    record('device', source=1, id=1, name='An NPU', address='0000:00:0b.0'),
    record('process', pid=7, event=EXISTING, name='model'),
    record('call_function', source=1, id=1, name='run;now', family='API', kind=API),
    record('call_function', source=1, id=2, name='SUBMIT', family='jobs', kind=IOCTL),
    record('call_node', source=1, id=1, parent=0, function=1),
    record('call_node', source=1, id=2, parent=1, function=2),
    record('call', source=1, node=1, time=1000, first_time=1000, count=1, duration=500, self_duration=200, pid=7,
           tid=8),
    record('call', source=1, node=2, time=1100, first_time=1050, count=3, duration=300, self_duration=300, pid=7,
           tid=8),
    record('job', source=1, time=9000, id=5, pid=7, tid=8, device=1, context=3, engine='compute', state=DONE,
           submitted=1000, queued=2000, started=4000),
    record('job', source=1, time=20000, id=6, pid=7, tid=8, device=1, context=3, engine='compute', state=ABORTED,
           status=9, submitted=10000, queued=11000),
    record('counter', source=1, id=1, name='frequency', unit='hertz', kind=GAUGE, device=1),
    record('counter', source=1, id=2, name='rows', unit='count', kind=CUMULATIVE),
    record('counter', source=1, id=3, name='lost weight', unit='kg', kind=GAUGE),
    record('counter_value', source=1, counter=1, time=2000, value=1.5),
    record('counter_value', source=1, counter=1, time=3000, value=2.5),
    record('counter_value', source=1, counter=2, time=2500, value=77),
    record('counter_value', source=1, counter=3, time=2500, value=-1e300),
    record('histogram', source=1, time=5000, name='size', unit='bytes', count=3, sum=70, maximum=60,
           bucket_count=[0, 0, 1, 1, 0, 1]),
    record('finding', source=1, severity=NOTE, name='rates', text='4 jobs/s', value=4),
    record('finding', source=1, severity=PROBLEM, name='hang', text='the device hangs, =reset it', pid=7, value=12,
           threshold=10),
]


def table(rows, *options):
    path = write_profile('csv', pathlib.Path('out.csv'), [COUNT], [], records=RECORDS,
                         options=[f'rows={rows}', *options])
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def some(rows, *columns):
    return [tuple(row[column] for column in columns) for row in rows]


def csv_has_the_call_tree():
    equal(some(table('calls'), 'source', 'kind', 'stack', 'family', 'depth', 'count', 'duration', 'self_duration'),
          [('npu', 'api', 'run:now', 'API', '0', '1', '500', '200'),
           ('npu', 'ioctl', 'run:now;SUBMIT', 'jobs', '1', '3', '300', '300')], 'calls')
    equal(some(table('calls'), 'function'), [('run;now',), ('SUBMIT',)], 'functions')


def csv_has_jobs():
    equal(some(table('jobs'), 'device', 'address', 'engine', 'program', 'pid', 'tid', 'id', 'context', 'state'),
          [('An NPU', '0000:00:0b.0', 'compute', 'model', '7', '8', '5', '3', 'done'),
           ('An NPU', '0000:00:0b.0', 'compute', 'model', '7', '8', '6', '3', 'aborted')], 'jobs')
    equal(some(table('jobs'), 'begin', 'queued', 'started', 'end', 'count', 'status', 'aborted'),
          [('1000', '2000', '4000', '9000', '1', '0', '0'), ('10000', '11000', '', '20000', '1', '9', '1')], 'times')
    equal(some(table('jobs'), 'waiting', 'busy')[0], ('3000', '5000'), 'how long the first waited and ran')


def csv_has_counters_of_devices_and_others():
    rows = table('counters', 'escape=no')
    equal(some(rows, 'name', 'unit', 'kind', 'device', 'begin', 'end', 'count'),
          [('frequency', 'hertz', 'gauge', 'An NPU', '2000', '2000', '1'),
           ('frequency', 'hertz', 'gauge', 'An NPU', '3000', '3000', '1'),
           ('rows', 'count', 'cumulative', '', '2500', '2500', '1'),
           ('lost weight', 'kg', 'gauge', '', '2500', '2500', '1')], 'counters')
    equal([float(row['mean']) for row in rows], [1.5, 2.5, 77, -1e300], 'values')


def csv_has_histograms():
    rows = [row for row in table('histograms') if row['name'] == 'size']
    equal(some(rows, 'source', 'unit', 'count', 'sum', 'maximum'), [('npu', 'bytes', '3', '70', '60')], 'histogram')
    assert 4 <= int(rows[0]['p50']) <= 16 and 32 <= int(rows[0]['p99']) <= 60, rows
    jobs = {row['name']: row['count'] for row in table('histograms')}
    equal(jobs['jobs: run time'], '1', 'the job whose start is known')


def csv_has_findings():
    equal(some(table('findings'), 'severity', 'name', 'pid', 'count', 'value', 'threshold', 'text'),
          [('note', 'rates', '', '1', '4', '0', '4 jobs/s'),
           ('problem', 'hang', '7', '1', '12', '10', 'the device hangs, =reset it')], 'findings')


def sqlite_reads_the_tables():
    if not shutil.which('sqlite3'):
        raise Skip('sqlite3 is missing')
    table('counters', 'newline=lf')
    outcome = subprocess.run(['sqlite3', ':memory:', '.import --csv out.csv t',
                              "select name, max(maximum + 0) from t where device = '' and unit = 'count' group by 1"],
                             stdout=subprocess.PIPE, encoding='utf-8', check=True)
    equal(outcome.stdout, 'rows|77\n', 'the counter without a device')


def iaprof(*arguments):
    return subprocess.run([os.environ['TEST_IAPROF'], '-q', *arguments], stdout=subprocess.PIPE, encoding='utf-8',
                          check=True).stdout


def csv_has_tables_of_the_run_also_with_intervals():
    write_profile('capture', pathlib.Path('out.iaprof'), [COUNT], [], records=[
        *RECORDS, *(record('sync', time=second * 1000000000) for second in (1, 2, 3, 4))])
    for rows in ('calls', 'jobs', 'counters', 'histograms', 'findings'):
        arguments = '--replay', 'out.iaprof', '-k', f'csv:rows={rows}'
        whole = list(csv.reader(io.StringIO(iaprof(*arguments))))
        assert len(whole) > 1, rows
        equal(list(csv.reader(io.StringIO(iaprof('-i', '1s', *arguments)))), whole, rows)


def top_has_counters_and_findings():
    text = write_profile('top', pathlib.Path('out.txt'), [COUNT], [], records=RECORDS,
                         options=['batch=yes']).read_text()
    tables = dict(part.split('\n', 1) for part in text.split('\n\n')[1:])
    equal([line.split(None, 1) for line in tables['counters'].splitlines()[1:]],
          [['2.5', 'frequency [hertz], An NPU'], ['77', 'rows [count], npu'], ['-1e+300', 'lost weight [kg], npu']],
          'counters')
    equal([line.split(None, 1) for line in tables['findings'].splitlines()[1:]],
          [['problem', 'hang, process 7: the device hangs, =reset it'], ['note', 'rates: 4 jobs/s']], 'findings')
    only = write_profile('top', pathlib.Path('out.txt'), [COUNT], [], records=RECORDS,
                         options=['batch=yes', 'table=counters', 'count=1']).read_text()
    assert 'frequency' in only and '... 2 more' in only and 'hang' not in only and 'rows' not in only, only


def fields(message):
    """The top-level fields of a protobuf message. -> [(number, value or bytes)]"""
    found, at = [], 0
    while at < len(message):
        key, at = varint(message, at)
        value, at = varint(message, at)
        assert key & 7 in (0, 2), key
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
        found.append((key >> 3, value))
    return found


def pprof_has_findings_as_comments():
    path = write_profile('pprof', pathlib.Path('out.pb.gz'), [COUNT], [(0, 3, gpu_stack(7, 'f', 'add', 'sbid', 16))],
                         records=RECORDS)
    message = fields(gzip.decompress(path.read_bytes()))  # profile.proto: string_table = 6, comment = 13
    strings = [value.decode() for number, value in message if number == 6]
    comments = [index for number, value in message if number == 13
                for index in (value if isinstance(value, bytes) else [value])]
    equal([strings[index] for index in comments], ['gpu-stalls: GPU samples', 'rates: 4 jobs/s', 'hang: the device hangs, =reset it'],
          'comments')


def iaprof_has_counters_as_metrics():
    text = write_profile('iaprof', pathlib.Path('out.txt'), [COUNT], [(0, 3, gpu_stack(7, 'f', 'add', 'sbid', 16))],
                         records=[*RECORDS, record('counter_value', source=1, counter=3, time=9000, value=12.5)],
                         lost=[(9, 'npu', 'queue full')]).read_text()
    metrics = [line.split('\t')[1:] for line in text.splitlines() if line.startswith('metric')]
    equal(metrics, [['frequency An NPU', '3'], ['rows', '77'], ['_lost weight', '13'], ['lost npu queue full', '9']],
          'metrics')
    rows = csv.DictReader(io.StringIO(iaprof('--replay', 'out.txt', '-k', 'csv:rows=counters')))
    equal([(row['name'], float(row['mean'])) for row in rows],
          [('frequency An NPU', 3), ('rows', 77), ('_lost weight', 13)], 'counters of the replay')
    equal(iaprof('--replay', 'out.txt', '-k', 'iaprof'), text, 'the stream of the replay')


def iaprof_has_the_counters_of_each_interval():
    values = 5, -7, 9223372036854774784
    stream = 'string\t1\t[unknown file]\n' + ''.join(
        f'interval\t{i}\t{100 + i}.000000\nmetric\tdepth\t{value}\n' for i, value in enumerate(values))
    pathlib.Path('metrics').write_text(stream, encoding='ascii')
    equal(iaprof('-i', '1s', '--replay', 'metrics', '-k', 'iaprof'), stream, 'the stream of the replay')


CASES = [csv_has_the_call_tree, csv_has_jobs, csv_has_counters_of_devices_and_others, csv_has_histograms,
         csv_has_findings, sqlite_reads_the_tables, csv_has_tables_of_the_run_also_with_intervals,
         top_has_counters_and_findings, pprof_has_findings_as_comments, iaprof_has_counters_as_metrics,
         iaprof_has_the_counters_of_each_interval]

if __name__ == '__main__':
    sys.exit(run_cases(CASES) != 0)
