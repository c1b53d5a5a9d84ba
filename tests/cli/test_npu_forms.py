#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One event list of the NPU's driver in each form that tools write: what a form carries is right and equal, what it does
not carry is blank, and what is ambiguous is refused. The table of iaprof-ivpu-trace(7) is CARRIES."""
import collections
import csv
import json
import os
import pathlib
import re

import npu_events
from harness import case, equal, iaprof, main, require, write
from npu_events import MS, SECOND, US, bpftrace_columns, uniq
from npu_scenarios import SCENARIOS, contexts_reported, nanoseconds, steady, table_of

SAMPLES = pathlib.Path(os.environ['TEST_SOURCE_FOLDER']) / 'tests/data/npu'
# What a form carries: counts, order (nesting), times, durations, processes, jobs.
CARRIES = {
    'bpftrace_map': 'counts',
    'bpftrace_lines': 'counts order',
    'bpftrace_columns': 'counts order times processes',
    'tutorial': 'counts order times',
    'uniq': 'counts',
    'histogram': 'histograms',
    'ftrace_function': 'counts order times processes',
    'function_graph': 'counts order durations processes',
    'trace_cmd': 'counts order times durations processes',
    'perf_vpu': 'times processes jobs',
    'ftrace_vpu': 'times processes jobs',
    'drm_sched': 'times processes jobs',
}


def event_list():
    """Two programs, a boot, jobs with mappings, interrupts, and a suspend."""
    run = steady(30, 8, sleeps=True)
    run.program = (4321, 'Web Content', 1)
    run.open()
    run.allocate(2)
    run.submit(pins=2, pages=8)
    run.finish()
    run.wait()
    run.close()
    return run


def rows_of(text, *options):
    write('trace', text)
    pathlib.Path('rows').unlink(missing_ok=True)
    outcome = iaprof('-s', ','.join(('ivpu-trace:input=trace', *options)), '-k', 'csv:rows=events,output=rows,newline=lf')
    outcome = outcome.completes().leaves('rows')
    with open('rows', encoding='utf-8', newline='') as file:
        rows = collections.defaultdict(list)
        for row in csv.DictReader(file):
            rows[row['record']].append(row)
    return rows, outcome.err


def refusal(text, *options):
    write('trace', text)
    pathlib.Path('out').unlink(missing_ok=True)
    outcome = iaprof('-s', ','.join(('ivpu-trace:input=trace', *options)), '-o', 'out')
    require(outcome.status, f'not refused: {outcome.err}')
    return outcome.err


def counts_of(rows):
    counts = collections.Counter()
    for row in rows['call']:
        counts[row['name']] += int(row['count'])
    return counts


def paths_of(rows):
    nodes = {row['id']: row for row in rows['call-node']}
    counts = collections.Counter()
    for row in rows['call']:
        path, node = [], row['id']
        while node in nodes:
            path.insert(0, nodes[node]['name'])
            node = nodes[node]['parent']
        counts[tuple(path)] += int(row['count'])
    return counts


def findings_of(rows):
    return sorted(row['name'] for row in rows['finding'] if not re.match(r'npu-(calls|rates|no-findings|process|users.*|context.*|phase.*)$', row['name']))


def contexts_of(run):
    """-> {(pid, context): [jobs, ns on the NPU]}"""
    contexts, begun, free = {}, {}, 0
    for job in run.jobs():
        if job.event == 'create':
            owner = contexts.setdefault((job.pid, job.context), [0, 0])
        elif job.event == 'submit':
            begun[job.context, job.number] = job.time, owner
        else:
            begin, its = begun.pop((job.context, job.number))
            its[0] += 1
            its[1] += job.time - max(begin, free)
            free = job.time
    return contexts


def note(said, name):
    return re.findall(rf'^iaprof: {name}: (.*)$', said, re.M)


def the_same(form):
    run, carries = event_list(), CARRIES[form].split()
    rows, said = rows_of(getattr(npu_events, form)(run))
    require('warning' not in said, said)
    equal(findings_of(rows), [], 'findings')
    counts = run.counts() if 'counts' in carries else {}
    equal(counts_of(rows), counts, 'counts')
    if 'order' in carries:
        equal(paths_of(rows), run.paths(), 'paths')
        phases = table_of(said, 'time', 'phase')
        equal(sum(int(cells[2]) for cells in phases.values() if cells[2] != '-'), sum(counts.values()), 'calls of all phases')
    else:
        require(' in submissions' not in said, said)
    length = run.calls()[-1].time - run.calls()[0].time
    rates = note(said, 'npu-rates')
    equal(len(rates), int('times' in carries), 'notes about rates')
    if 'times' in carries:
        told = nanoseconds(re.search(r'over ([0-9.]+ m?s)', rates[0]).group(1)) / SECOND
        # Jobs begin after the first call and end before the last one.
        require(abs(told - length / SECOND) <= 0.02 * length / SECOND, f'{told} s, not {length / SECOND} s')
    durations = collections.Counter()
    for row in rows['call']:
        durations[row['name']] += int(row['duration'])
    wanted = collections.Counter()
    for call in run.calls():
        wanted[call.name] += call.duration
    equal(durations if 'durations' in carries else sum(durations.values()), wanted if 'durations' in carries else 0,
          'durations')
    names = {row['name'] for row in rows['process']}
    programs = {'matmul', 'Web Content'}
    if form == 'function_graph':  # the tracer writes seven characters, and no task before the first switch
        programs = {'Web Con'}
    equal(names & programs, programs if 'processes' in carries else set(), 'processes')
    equal(len(rows['job']), 9 if 'jobs' in carries else 0, 'jobs')
    contexts, told = contexts_of(run), contexts_reported(said)
    if 'jobs' not in carries:  # functions: jobs of processes
        contexts = {(pid, 0): its for (pid, _), its in contexts.items() if {'times', 'processes'} <= set(carries)}
    equal({key: jobs for key, (jobs, _) in told.items()}, {key: jobs for key, (jobs, _) in contexts.items()},
          'jobs of contexts')
    # Three digits; functions are entered some microseconds before the events.
    exact = 0.006 if 'jobs' in carries else 0.03
    require(all(abs(told[key][1] - time) <= exact * time for key, (_, time) in contexts.items()), f'{told}, not {contexts}')
    equal(len(rows['histogram']) > 0, 'histograms' in carries, 'histograms')


for form_name in CARRIES:
    case(f'{form_name}: what it carries is right, and the rest is blank', form_name)(the_same)


def with_options(text, suffix):
    """What options of function_graph and trace-cmd add to the lines of calls and returns."""
    return re.sub(r'^(.*\|\s+)(\w+(?: \[\w+\])?\(\)|\})( \{|;|)(.*)$', lambda line: line[1] + suffix(line[2], line[3]) + line[4], text,
                  flags=re.M)


# funcgraph-retaddr, funcgraph-retval, and of trace-cmd fgraph:depth and its results.
OPTIONS = {
    'caller before the brace': lambda call, end: f'{call} /* <-caller+0x1/0x2 */ {{' if end == ' {' else call + end,
    'caller after the brace': lambda call, end: f'{call}{end} /* <-caller */' if end else call,
    'result': lambda call, end: call + end if end == ' {' else f'{call}{end} (ret=0x0)',
    'result in a comment': lambda call, end: call + end if end == ' {' else f'{call}{end} /* = 0xfffffff4 */',
    'depth': lambda call, end: f'{call}{end} (2)',
}


@case('what options of function_graph add does not change what it carries')
def graph_options():
    run = event_list()
    for form in ('function_graph', 'trace_cmd'):
        text = getattr(npu_events, form)(run)
        rows, _ = rows_of(text)
        for name, suffix in OPTIONS.items():
            changed = with_options(text, suffix)
            require(changed != text, f'{form}: {name}: nothing was added')
            found, said = rows_of(changed)
            require('warning' not in said, f'{form}: {name}: {said}')
            equal(paths_of(found), paths_of(rows), f'{form}: {name}: paths')
            equal(sum(int(row['duration']) for row in found['call']), sum(int(row['duration']) for row in rows['call']),
                  f'{form}: {name}: durations')


@case('the latency format has the calls and times of the usual one')
def latency_format():
    run = event_list()
    text = npu_events.ftrace_function(run)
    rows, _ = rows_of(text)
    for convert in (lambda cpu, time: f'{int(cpu)}d..1.   {time}', lambda cpu, time: f'{int(cpu)}.N.2 {time}'):
        found, said = rows_of(re.sub(r'\[(\d+)\] \S+ +(\d+\.\d+:)', lambda line: convert(line[1], line[2]), text))
        require('warning' not in said, said)
        equal((counts_of(found), paths_of(found)), (counts_of(rows), paths_of(rows)), 'calls')
        equal({row['name'] for row in found['process']}, {row['name'] for row in rows['process']}, 'processes')
    # ftrace itself: microseconds since the first event.
    begin = min(float(time) for time in re.findall(r' (\d+\.\d+): ', text))
    found, said = rows_of(re.sub(r'\[(\d+)\] \S+ +(\d+\.\d+):', lambda line: f'{int(line[1])}d..1 '
                                 f'{round((float(line[2]) - begin) * 1e6):4}us{"+" if int(line[1]) else " "}:', text))
    require('warning' not in said, said)
    equal((counts_of(found), paths_of(found)), (counts_of(rows), paths_of(rows)), 'calls with microseconds')


def rows_of_map(text, form):
    """A map of counts as bpftrace -f json writes it, and with keys that have a stack of the Linux kernel."""
    counts = dict(re.findall(r'^@\w*\[(.+)\]: (\d+)$', text, re.M))
    functions = {key: key.rpartition(':')[2] for key in counts}
    if form == 'json':
        return json.dumps({'type': 'attached_probes', 'data': {'probes': 9}}) + '\n\n' + json.dumps(
            {'type': 'map', 'data': {'@calls': {key: int(count) for key, count in counts.items()}}}) + '\n'
    if form == 'json with stacks':
        return json.dumps({'type': 'map', 'data': {'@calls': {
            f'\n    {functions[key]}+1\n    do_syscall_64+89\n,matmul': int(count) for key, count in counts.items()}}}) + '\n'
    end = ', matmul]' if form == 'stack and name' else ']'
    begin = 'matmul, ' if form == 'name and stack' else ''
    name = '' if form == 'stack' else 'calls'
    return ''.join(f'@{name}[{begin}\n    {functions[key]}+1\n    do_syscall_64+89\n{end}: {count}\n'
                   for key, count in counts.items())


@case('maps as JSON, and with stacks in their keys, have the counts of the usual ones')
def maps_in_other_forms():
    text = npu_events.bpftrace_map(event_list())
    rows, _ = rows_of(text)
    for form in 'json', 'json with stacks', 'stack', 'stack and name', 'name and stack':
        found, said = rows_of(rows_of_map(text, form))
        require('warning' not in said, f'{form}: {said}')
        equal(counts_of(found), counts_of(rows), form)


@case('printed lines and histograms as JSON are those of the usual form, and damaged lines are refused')
def json_lines():
    text = npu_events.bpftrace_columns(event_list())
    rows, _ = rows_of(text)
    lines = ''.join(json.dumps({'type': 'printf', 'data': line + '\n'}) + '\n' for line in text.splitlines())
    found, said = rows_of(lines)
    require('warning' not in said, said)
    equal((paths_of(found), {row['name'] for row in found['process']}),
          (paths_of(rows), {row['name'] for row in rows['process']}), 'calls')
    plain, _ = rows_of('@usecs[ivpu_open]:\n[0]  1 |@|\n[4, 8)  3 |@@@|\n[1K, 2K)  2 |@|\n')
    found, said = rows_of(json.dumps({'type': 'hist', 'data': {'@usecs': {'ivpu_open': [
        {'min': 0, 'max': 0, 'count': 1}, {'min': 4, 'max': 7, 'count': 3}, {'min': 1024, 'max': 2047, 'count': 2}]}}}) + '\n')
    equal({row['name'] for row in found['histogram']}, {'usecs[ivpu_open]'}, 'histograms')
    equal([{key: value for key, value in row.items() if key not in ('time', 'begin')} for row in found['histogram']],
          [{key: value for key, value in row.items() if key not in ('time', 'begin')} for row in plain['histogram']], 'histogram')
    found, said = rows_of(lines + lines.splitlines()[1][:40] + '\n')
    require('skipped lines' in said and '1 in total' in said, said)
    equal(paths_of(found), paths_of(rows), 'calls beside a damaged line')


@case('events of the driver with other fields are not called a trace without calls')
def unknown_event_fields():
    said = refusal('player-1234 [001] ..... 100.000001: vpu:job: event=create ctx:1 engine:0 job:1\n')
    require('is not a trace of calls' in said and 'contains no calls' not in said, said)


@case('an output without stacks is reported')
def no_stacks():
    write('trace', '@usecs[ivpu_open]:\n[4, 8)  3 |@@@|\n')
    for sink in 'folded', 'pprof', 'speedscope':
        outcome = iaprof('-s', 'ivpu-trace:input=trace', '-k', f'{sink}:output=out').completes()
        require('the output has no stacks: the run has only jobs or histograms' in outcome.err, f'{sink}: {outcome.err}')


@case('each call has the number and the name of its thread, in the forms that carry them')
def threads_have_names():
    run = event_list()
    wanted = {(str(call.pid), call.comm) for call in run.calls() if call.pid}
    for form in ('bpftrace_columns', 'ftrace_function', 'trace_cmd'):
        rows, _ = rows_of(getattr(npu_events, form)(run), 'mode=events')
        equal({(row['tid'], row['thread']) for row in rows['call'] if row['tid']}, wanted, form)
    rows, _ = rows_of(npu_events.ftrace_function(run))
    equal({(row['tid'], row['thread']) for row in rows['call']}, {('', '')}, 'sums')


@case('models that take turns share the time of the device: each has what its jobs ran, and not what they waited')
def turns_are_divided():
    run = SCENARIOS['two models that take turns'][0]()  # 201 jobs of 2 ms each, one after the other
    for form, names in ('perf_vpu', ('detect (1234), context 20', 'classify (1235), context 21')), (
            'bpftrace_columns', ('detect (1234)', 'classify (1235)')):
        rows, said = rows_of(getattr(npu_events, form)(run))
        users = table_of(said, 'jobs', 'NPU user')
        equal([(name, *users[name][:3]) for name in names], [(names[0], '100', '200 ms', '49.7%'), (
            names[1], '101', '202 ms', '50.3%')], f'{form}: users')
        equal(users['all'][:2], ['201', '402 ms'], f'{form}: all')
        # What begins each phase; jobs alone say nothing of phases.
        roots = {'allocate': 'bo_create_ioctl bo_info_ioctl', 'open': 'open get_param_ioctl', 'teardown': 'gem_bo_free postclose'}
        calls = collections.Counter((event.pid, event.path[0]) for event in run.events if hasattr(event, 'path'))
        heading = re.search(r'^ *(open .*)  NPU user and phase \(calls\)$', said, re.M)
        equal(bool(heading), form == 'bpftrace_columns', f'{form}: phases of users')
        for name, pid in ((names[0], 1234), (names[1], 1235)) if heading else ():
            cells = dict(zip(re.split(r' {2,}', heading[1]), table_of(said, 'open', r'NPU user and phase \(calls\)')[name]))
            for phase, functions in roots.items():
                wanted = sum(calls[pid, f'ivpu_{function}'] for function in functions.split())
                equal(cells[phase], str(wanted), f'{name}: {phase}')
            equal(cells['firmware boot'] != '-', pid == 1235, f'{name}: boot')
        # Which of the two models the device works on is not known, except for the last job, which is alone.
        equal([row['value'] != '' for row in rows['job']][:-1], [False] * (len(rows['job']) - 1), f'{form}: known starts')
        ran = [int(row['duration']) for row in rows['job']]
        require(all(2 * MS <= time <= 4 * MS + 30 * US for time in ran), f'{form}: {ran}')


@case('a histogram stays one: each bucket has its count, and what it does not have is blank')
def histograms():
    rows, said = rows_of('@usecs[ivpu_submit_ioctl]: \n[0]                    1 |@@@          |\n'
                         '[1]                    2 |@@@@@@       |\n[4, 8)                12 |@@@@@@@@@@@@@|\n'
                         '[2K, 4K)               3 |@@@@         |\n\n')
    equal([(row['name'], row['count']) for row in rows['histogram']],
          [('usecs[ivpu_submit_ioctl]', count) for count in ('3', '12', '3')], 'buckets')
    require(re.search(r'^ +18 .* - +-  usecs\[ivpu_submit_ioctl\]$', said, re.M), said)
    _, said = rows_of('@lin: \n[0, 1000)              12 |@@@@@@@@@@@@@|\n[1000, 2000)            3 |@@@          |\n'
                      '@n[kprobe:ivpu_open]: 3\n')
    require('(a linear histogram)' in said and '2 in total' in said, said)


@case('a map, mutated: the same run in other units is refused, with both readings')
def mutated_units():
    run = SCENARIOS['cold start'][0]()
    for unit, name in ((1, 'ns'), (US, 'us'), (MS, 'ms')):
        right, _ = rows_of(bpftrace_columns(run, unit, name))
        equal(counts_of(right), run.counts(), f'counts in {name}')
        for wrong in {'ns', 'us', 'ms', 's'} - {name}:
            said = refusal(bpftrace_columns(run, unit, wrong))
            require(f'contradicts its times, which are not in {wrong}' in said and f'in {name}, ' in said, said)
            # The user's setting is used, and a contradiction is reported.
            _, said = rows_of(bpftrace_columns(run, unit, wrong), f'time-unit={wrong}')
            require('warning: ivpu-trace: trace: times are hardly in' in said, said)
        # Without a heading, magnitudes decide.
        rows, said = rows_of(bpftrace_columns(run, unit, heading=False))
        equal(counts_of(rows), run.counts(), f'counts in {name} without a heading')
        require([row for row in rows['metadata'] if row['name'] == 'unit of times' and row['text'] == name], f'{name}')


@case('times that may be in several units are refused, and time-unit= decides')
def ambiguous_units():
    text = ''.join(f'{1000000 + 33 * i} kprobe:ivpu_submit_ioctl\n' for i in range(40))
    said = refusal(text)
    require('the unit of the times in trace is not known' in said and 'set time-unit=' in said, said)
    require('in ms, 40 calls in 1.29 s' in said and 'in us, 40 calls in 0.00129 s' in said, said)
    _, said = rows_of(text, 'time-unit=ms')
    require('over 1.29 s' in said, said)


@case('counts of uniq -c are counts; numbers that may be times, too, are refused')
def ambiguous_counts():
    run = event_list()
    rows, _ = rows_of(uniq(run).replace('kprobe:intel_vpu:', ''))
    equal(counts_of(rows), run.counts(), 'counts of func')
    large = '4131000 kprobe:ivpu_mmu_context_map_page\n     12 kprobe:ivpu_open\n'
    equal(dict(counts_of(rows_of(large)[0])), {'ivpu_mmu_context_map_page': 4131000, 'ivpu_open': 12}, 'large counts')
    said = refusal(''.join(f'{1000 + i:7} kprobe:ivpu_open\n' for i in range(20)))
    require('can be counts of uniq -c or times' in said, said)


@case('lines of several CPUs are in the order of their times')
def disordered():
    run = event_list()
    head, *lines = bpftrace_columns(run).splitlines(keepends=True)[1:]
    # As bpftrace writes them: what CPU 0 had in a while is after what CPU 1 had.
    parts, half = [], 200
    for begin in range(0, len(lines), half):
        part = lines[begin:begin + half]
        parts += sorted(part, key=lambda line: ('matmul' not in line and 'Web' not in line))
    rows, _ = rows_of(head + ''.join(parts), 'mode=events')
    times = [int(row['time']) for row in rows['call']]
    first = run.calls()[0].time
    equal([time - times[0] for time in times], [call.time - first for call in run.calls()], 'times')
    equal(paths_of(rows), run.paths(), 'paths')


def number_commas(text):
    return re.sub(r'^(\d+)(\d{9}) ', r'\1,\2 ', text, flags=re.M)


def clocked(text, digits):
    return re.sub(r'^(\d+) ', lambda found: f'{int(found.group(1)):,} '.replace(',', digits), text, flags=re.M)


# What other versions, options, locales and editors make of a form: name, change, and whether a message is expected.
CHANGES = {
    'line ends of Windows': lambda text: text.replace('\n', '\r\n'),
    'a byte order mark': lambda text: '\ufeff' + text,
    'blanks at the end': lambda text: text.replace('\n', ' \t\n'),
    'comments': lambda text: '# recorded on a laptop\n\n' + text,
    'bpftrace 0.24': lambda text: 'Attached 223 probes\n' + text,
    'lost events': lambda text: text + 'WARNING: Lost 3 events\n',
}
VARIANTS = {
    'columns with tabs': ('bpftrace_columns', lambda text: re.sub(' {2,}', '\t', text)),
    'a decimal comma': ('bpftrace_columns', lambda text: number_commas(text.replace('TIME(ns)', 'TIME(s)'))),
    'fentry': ('bpftrace_lines', lambda text: text.replace('kprobe:intel_vpu:', 'fentry:intel_vpu:')),
    'kfunc': ('bpftrace_lines', lambda text: text.replace('kprobe:intel_vpu:', 'kfunc:')),
    'counts that are not aligned': ('uniq', lambda text: re.sub(r'^ +(\d+) ', r'\1 ', text, flags=re.M)),
    'counts with tabs': ('uniq', lambda text: re.sub(r'^ +(\d+) ', r'\1\t', text, flags=re.M)),
    'sort -rn': ('uniq', lambda text: ''.join(sorted(text.splitlines(True), key=lambda line: -int(line.split()[0])))),
    'a map with a name': ('bpftrace_map', lambda text: text.replace('@[', '@calls[')),
    'func as key': ('bpftrace_map', lambda text: text.replace('kprobe:intel_vpu:', '')),
    'sym-offset': ('ftrace_function', lambda text: re.sub(r'(ivpu_\w+) <-(\w+)', r'\1+0x4/0x90 <-\2+0x10/0x40', text)),
    'modules': ('ftrace_function', lambda text: re.sub(r'(ivpu_\w+) <-', r'\1 [intel_vpu] <-', text)),
    'record-tgid': ('ftrace_function', lambda text: re.sub(r'-(\d+) +\[', r'-\1 (  \1) [', text)),
    'four flags': ('ftrace_function', lambda text: text.replace(' ..... ', ' d.h1 ')),
    'funcgraph-retval': ('function_graph', lambda text: re.sub(r'\(\);$', '(); /* = 0x0 */', text, flags=re.M)),
    'funcgraph-tail': ('function_graph', lambda text: re.sub(r'\}$', '} /* ivpu_open [intel_vpu] */', text, flags=re.M)),
    'funcgraph-args': ('function_graph', lambda text: text.replace('()', '(vdev=0xffff8881, size=4096)')),
    'nofuncgraph-cpu': ('function_graph', lambda text: ''.join(
        line[4:] + '\n' for line in text.splitlines() if re.match(r' \d\) .*\|', line))),
}


def the_same_counts(run, text, name):
    rows, said = rows_of(text)
    equal(counts_of(rows), run.counts(), f'{name}: counts')
    require('skipped lines' not in said and 'no calls' not in said, f'{name}: {said}')
    return said


@case('what other versions, options, locales and editors write is read, too')
def variants():
    run = steady(30, 2)
    for form in 'bpftrace_map', 'bpftrace_columns', 'uniq', 'ftrace_function', 'function_graph':
        for name, change in CHANGES.items():
            said = the_same_counts(run, change(getattr(npu_events, form)(run)), f'{form}, {name}')
            require(('bpftrace lost events: 3' in said) == (name == 'lost events'), said)
    for name, (form, change) in VARIANTS.items():
        the_same_counts(run, change(getattr(npu_events, form)(run)), name)
    probes = ''.join(f'{call.comm:>16} {call.pid:5} {npu_events.seconds(call.time):>12}: probe:{call.name}: (ffffffffc08fa07c)\n'
                     for call in run.calls())
    the_same_counts(run, probes, 'perf probe, without CPUs')
    rows, _ = rows_of(re.sub(r' \[\d+\]', '', npu_events.perf_vpu(run)))
    equal(len(rows['job']), 2, 'jobs of perf script without CPUs')


@case('what is no trace of calls, or in a form that is not known, is refused: no empty profile')
def refused():
    run = steady(30, 2)
    for name, text in {
            'thousands': clocked(bpftrace_columns(run), ','), 'JSON of another program': ''.join(
                f'{{"call": "{call.name}"}}\n' for call in run.calls()),
            'an average': '@avg[ivpu_open]: 300\n@avg_us[ivpu_boot]: 12\n', 'strace': 'ioctl(3, 0x40206445, 0x7ffd) = 0\n' * 9,
            'zeros': '\0\0\0\n'}.items():
        said = refusal(text)
        require('skipped lines' in said and 'is not a trace of calls' in said, f'{name}: {said}')
    said = refusal(''.join(f'{10 + i} {name}\n' for i, name in enumerate(sorted(run.counts()))))
    require('in ms, ' in said and f'as counts of uniq -c, ' in said, said)
    rows, _ = rows_of('@s[ivpu_open]: count 3, average 12, total 36\n')
    equal(dict(counts_of(rows)), {'ivpu_open': 3}, 'stats()')


@case('jobs of a GPU in the events of gpu_scheduler are none of the NPU')
def gpu_jobs():
    run = steady(30, 5)
    rows, said = rows_of(npu_events.drm_sched(run).replace('0000:00:0b.0', '0000:03:00.0'))
    equal((len(rows['job']), 'NPU user' in said), (0, False), 'jobs')


@case('torn lines are counted and shown, and the others are read')
def torn_lines():
    run = event_list()
    for form in 'bpftrace_lines', 'ftrace_function', 'function_graph', 'trace_cmd', 'perf_vpu', 'drm_sched':
        lines = getattr(npu_events, form)(run).splitlines()
        whole, _ = rows_of('\n'.join(lines) + '\n')
        # Two halves of lines, which are no lines of the form.
        head = lines[20][:6 if form == 'bpftrace_lines' else 12 if form == 'function_graph' else 27]
        torn = [*lines[:20], head, lines[21][-5:], *lines[20:]]
        rows, said = rows_of('\n'.join(torn) + '\n')
        equal(counts_of(rows), counts_of(whole), f'{form}: counts')
        require('skipped lines' in said and 'line 21 ' in said and ', 2 in total' in said, f'{form}: {said}')


@case('the output of the other scripts of the tutorial is read, and lines that are not calls are reported')
def scripts():
    rows, _ = rows_of('Attaching 3 probes...\nBuffer allocation took 12 us\nBuffer allocation took 20 us\n\n'
                      'Buffer Allocation Latency (microseconds):\n@alloc_latency: \n[8, 16)    1 |@@@|\n'
                      '[16, 32)   1 |@@@|\n\n')
    equal(dict(counts_of(rows)), {'ivpu_bo_create_ioctl': 2}, 'allocations')
    equal(sum(int(row['duration']) for row in rows['call']), 32000, 'time')
    equal([row['count'] for row in rows['histogram']], ['1', '1'], 'buckets')
    rows, _ = rows_of('Attaching 3 probes...\nIPC messages/sec: 57\nIPC messages/sec: 3\n')
    equal(dict(counts_of(rows)), {'ivpu_ipc_receive': 60}, 'rates')
    rows, _ = rows_of('[API] Submit command queue\n[KERNEL] Submit ioctl\n[FIRMWARE] IPC interrupt\n')
    equal(dict(counts_of(rows)), {'ivpu_submit_ioctl': 1, 'ivpu_ipc_irq_handler': 1}, 'calls')


@case('functions of a newer driver are named, and those of Linux 7.2 are in their places')
def newer_driver():
    rows, said = rows_of('kprobe:ivpu_open\nkprobe:ivpu_quantum_get\nkprobe:ivpu_quantum_get\nkprobe:ivpu_foam_put\n')
    require('no family for 2 functions with 3 calls' in said and 'ivpu_quantum_get ivpu_foam_put' in said, said)
    path = ['ivpu_submit_ioctl', 'ivpu_submit.constprop.0', 'ivpu_cmdq_create', 'ivpu_bo_create_global', 'ivpu_bo_create']
    rows, said = rows_of(''.join(f'kprobe:{name}\n' for name in (
        'ivpu_open', 'ivpu_user_limits_get', *path, 'ivpu_job_destroy_work_fn', 'ivpu_job_destroy', 'ivpu_file_priv_put')))
    require('no family' not in said, said)
    equal(set(paths_of(rows)), {('ivpu_open',), ('ivpu_open', 'ivpu_user_limits_get'), ('ivpu_job_destroy_work_fn',), (
        'ivpu_job_destroy_work_fn', 'ivpu_job_destroy'), ('ivpu_job_destroy_work_fn', 'ivpu_job_destroy', 'ivpu_file_priv_put'),
        *(tuple(path[:i + 1]) for i in range(len(path)))}, 'paths')


@case('a trace without times has none in its rows, and nothing of this machine is in it')
def no_times():
    rows, said = rows_of(npu_events.bpftrace_lines(event_list()))
    equal(len({row['time'] for row in rows['call']}), 1, 'times')
    known = {row['name'] for row in rows['metadata']}
    equal(known & {'kernel release', 'machine', 'boot id', 'realtime offset'}, set(), 'facts of this machine')
    require('calls/s' in said and not re.search(r'calls/s\n.*[0-9.]+% +[0-9]+', said), said)


def sample(name):
    """A sample of a real tool, recorded in the lab while the double of the NPU counted its calls."""
    wanted = collections.Counter()
    for line in (SAMPLES / f'{name}.counts').read_text(encoding='ascii').splitlines():
        function, count = line.split()
        wanted[function] += int(count)
    is_graph = 'graph' in name  # its calls are printed when they return
    options = [] if is_graph else ['mode=events']
    rows, said = rows_of((SAMPLES / f'{name}.txt').read_text(encoding='utf-8'), *options)
    if name == 'bpftrace-hist':
        require('line 10 (a linear histogram)' in said and ', 3 in total' in said, said)
        # Sums of the lines "[4, 8)  12 |@@@|" below each title.
        histograms = collections.Counter()
        for row in rows['histogram']:
            histograms[row['name']] += int(row['count'])
        equal(dict(histograms), {'ns': 5, 'usecs[drm_ioctl_kernel]': 5}, 'histograms')
    else:
        require('not part of a trace' not in said, said)
    times = [int(row['time']) for row in rows['call']]
    require(is_graph or times == sorted(times), f'order of the calls: {times}')
    found = counts_of(rows)
    if rows['job']:
        found['jobs'] = len(rows['job'])
    equal(dict(found - wanted), {}, f'{name}: too many')
    equal(dict(wanted - found), {}, f'{name}: too few')


for sample_path in sorted(SAMPLES.glob('*.txt')):
    case(f'a sample of a real tool is read: {sample_path.stem}', sample_path.stem)(sample)


if __name__ == '__main__':
    main()
