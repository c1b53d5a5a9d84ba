#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: short none
# lab: module intel_vpu
# lab: seconds 900
# lab: covers plugins/ivpu/** lib/npu/** plugins/sink-flamegraph/** plugins/sink-folded/** plugins/sink-csv/** plugins/sink-summary/**
# lab: covers examples/npu.ini tests/cli/npu_scenarios.py tests/lab/programs/npu_*
"""Reports of iaprof -c examples/npu.ini: its tables, its flame graph, its findings: each broken scenario raises
its own and no other. The truth is the double's. TAP; arguments choose."""
import collections
import functools
import pathlib
import re
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[up] / name) for up, name in ((1, ''), (2, 'cli'))]

from harness import npu_double, profiler
from harness.cases import check, named, run
from harness.npu_double import FOLDER, PUBLISHED_TRACE, SCENARIOS, SOURCE
from harness.profiler import PROGRAM
from harness.npu_labelled import HEAD, scenario, submits
from npu_scenarios import findings_in, table_of


def profile(scenario, *options):
    """A run of the example's configuration around a scenario: what it said on standard error."""
    process = profiler.Profiler('-c', str(SOURCE / 'examples/npu.ini'), *options,
                                ready=lambda said: ' functions of intel_vpu in ' in said)
    npu_double.play('--load', scenario)
    time.sleep(1.2)  # what is counted by the second has been
    return process.end().said


def findings(said):
    return sorted(findings_in(said))


def healthy_runs_have_no_findings():
    for name in 'steady', 'two', 'boot':
        said = profile(SCENARIOS / f'{name}.txt')
        expected = ['npu-cold-start'] if name == 'boot' else []  # one job, behind the boot
        check(findings(said) == expected, f'{name}: {findings_in(said)}')
    if PUBLISHED_TRACE.exists():
        with open('matmul', 'w', encoding='utf-8') as file:
            subprocess.run([sys.executable, FOLDER / 'make_scenario.py', PUBLISHED_TRACE], stdout=file, check=True)
        said = profile('matmul')
        check(findings(said) == ['npu-cold-start'], f'the published trace: {findings_in(said)}')  # one job, too


def each_broken_run_has_its_own():
    for name, expected in ('storm', ['npu-ipc-storm']), ('leak', ['npu-buffer-growth']), ('hang', ['npu-recovery']):
        said = profile(SCENARIOS / f'{name}.txt')
        check(findings(said) == expected, f'{name}: {findings_in(said)}, not {expected}')


def jobs_are_summed_up():
    for name, done, aborted in ('two', 75, 0), ('hang', 3, 1):
        said = profile(SCENARIOS / f'{name}.txt')
        reported = re.search(r'^jobs: (\d+) done, (\d+) aborted, 0 in flight', said, re.M)
        # An event that the Linux kernel did not give to a BPF program is counted as lost, and its job with it.
        lost = sum(int(count) for count in re.findall(r'lost: ivpu: NPU jobs: [^:]*: (\d+)', said))
        check(reported and done - lost <= int(reported[1]) <= done and aborted - lost <= int(reported[2]) <= aborted, f'{name}: {said}')
        # Jobs beside those of another queue, whose begin is not known, have times of their own.
        times = re.findall(r'^ +(\d+) .* jobs: (?:run time|submission to completion)$', said, re.M)
        check(sum(map(int, times)) == int(reported[1]), f'{name}: {times}: {said}')


def rates_are_those_of_the_scenario():
    said = profile(SCENARIOS / 'steady.txt')
    rates = re.search(r'npu-rates: per second: ([0-9.]+) jobs, ([0-9.]+) firmware messages .* over ([0-9.]+) (m?s); '
                      r'firmware boots: (\d+), NPU resumes: (\d+)', said)
    check(rates, said)
    jobs, messages, seconds = (float(rates.group(i)) for i in (1, 2, 3))
    seconds /= 1 if rates.group(4) == 's' else 1000
    # 100 jobs with a message each, and those of boot and sleep; all are printed with three digits.
    check(abs(jobs * seconds - 100) <= 1.2, rates.group(0))
    # On a busy machine, the device sleeps between jobs.
    resumes = npu_double.totals()['resumes']
    check(resumes and -1.2 <= messages * seconds - 100 <= 1.2 + 6 * resumes, f'{resumes}: {rates.group(0)}')
    check(rates.group(5) == rates.group(6) == str(resumes), f'{resumes}: {rates.group(0)}')
    made = npu_double.totals()['bytes_created'] / 1024
    reported = re.search(r'; ([0-9.]+) (KiB|MiB) of buffers created', said)
    check(reported and abs(float(reported.group(1)) * (1 if reported.group(2) == 'KiB' else 1024) - made) <= 0.006 * made,
          f'{made} KiB: {said}')


def limits_are_options():
    said = profile(SCENARIOS / 'storm.txt', '--source', 'ivpu:ipc-rate=1000000')
    check(not findings(said), f'{findings_in(said)}')


def tables_and_flame_graph_agree_with_the_truth():
    said = profile(SCENARIOS / 'two.txt', '--source', 'ivpu:hot=yes')
    calls = collections.Counter()
    for (_, name), (entries, _) in npu_double.calls()[0].items():
        if name.startswith('ivpu_'):
            calls[name] += entries
    check(calls, 'the double did nothing')
    lost = 'warning: lost' in said
    shown = {name: int(count) for count, name in re.findall(r'^ +(\d+) +[0-9.]+% .* (ivpu_\w+)$', said, re.M)}
    wrong = {name: (count, calls.get(name)) for name, count in shown.items() if count != calls.get(name)}
    check(len(shown) >= 20 and (lost or not wrong), f'{wrong}: {said}')
    share = re.search(r'npu-calls: (\d+) calls: [a-zA-Z ]+ \d+ \(', said)
    check(share and (lost or int(share.group(1)) == sum(calls.values())), f'{share}, {sum(calls.values())}')
    check(re.search(r'^ +\d+ +[0-9.]+ \w+ +[0-9.]+ \w+ .* ivpu_submit_ioctl$', said, re.M), f'no quantiles: {said}')
    graphs = {path.name: path.read_text() for path in pathlib.Path('.').glob('npu*.folded')}
    check(len(graphs) == 2, f'{graphs.keys()}')
    for name, folded in graphs.items():
        for program in 'often', 'seldom':
            check(re.search(rf'^{program};(.*;)?ivpu_submit_ioctl;', folded, re.M), f'{program} is not in {name}')
        check('[no program];[interrupt];ivpu_hw_irq_handler' in folded, f'{name}: {folded}')
    sums = sorted(sum(int(line.rsplit(' ', 1)[1]) for line in folded.splitlines()) for folded in graphs.values())
    check(lost or sums[0] == sum(calls.values()), f'{sums}, not {sum(calls.values())} calls')


# Two contexts of a process. Without `power` in its tree, only jobs wake the device, the first one that of context 2.
TWO_CONTEXTS = '''process models
    open
    open file other
    bo_create one 4K
    bo_create two 8K file other
    repeat 6
        submit one
        wait one status 0
    repeat 2
        submit two file other
        wait two status 0 file other
    bo_destroy two file other
    bo_destroy one
    close file other
    close
'''


def calls_in(header):
    """The calls of a tree of HEAD, with those that it repeats."""
    lines = re.search(rf'^{header}\n((?: .*\n)+)', HEAD, re.M)[1].splitlines()
    return sum(int((re.search(r' x(\d+)', line) or [0, 1])[1]) for line in lines if line.lstrip().startswith('ivpu_'))


def contexts_have_their_own_calls(attach):
    """By each way of attaching: of a process with two contexts, each has its jobs, calls, bytes and boots."""
    text = scenario(submits(0), TWO_CONTEXTS, asleep_after=3000).replace('            power\n', '')
    pathlib.Path('contexts').write_text(text, encoding='ascii')
    said = profile('contexts', '--source', f'ivpu:attach={attach},hot=yes')
    users, phases = table_of(said, 'jobs', 'NPU user'), table_of(said, '.*', r'NPU user and phase \(driver time\)')
    print('\n'.join(f'# {line}' for line in said.splitlines() if 'context' in line))
    heading = re.search(r'^ *(jobs .*)  NPU user$', said, re.M)
    check(heading, said)
    rows = {name: dict(zip(re.split(r' {2,}', heading[1].strip()), cells)) for name, cells in users.items()}
    check({'context 2', 'context 3'} <= rows.keys() and {'context 2', 'context 3'} <= phases.keys(), said)
    reported = {name: [rows[name][column] for column in ('jobs', 'allocated')] for name in ('context 2', 'context 3')}
    check(reported == {'context 2': ['6', '4.00 KiB'], 'context 3': ['2', '8.00 KiB']}, f'{reported}')
    total = next(cells for name, cells in rows.items() if name.startswith(('models (', 'process ')))
    # In ivpu_open, the context does not exist yet for what it calls.
    in_open = 2 * (calls_in('open') - 1)
    calls = {name: int(rows[name]['calls']) for name in ('context 2', 'context 3')}
    lost = 'warning: lost' in said
    check(lost or sum(calls.values()) + in_open == int(total['calls']), f'{calls}, {in_open}, {total}: {said}')
    resumes = npu_double.calls()[0]
    boots = sum(entries for (_, name), (entries, _) in resumes.items() if name == 'ivpu_pm_runtime_resume_cb')
    # Five calls of a submission, one of a wait.
    expected = 1 + calls_in('ioctl BO_CREATE') + 2 * (5 + 1) + calls_in('free') + calls_in('close')
    # On a slow machine, the device may fall asleep between jobs.
    check(lost or boots != 1 or calls['context 3'] == expected, f'{calls}, not {expected}: {said}')
    check(boots != 1 or (rows['context 2']['boot'] != '-' and rows['context 3']['boot'] == '-'), said)


def usage_is_reported():
    profile(SCENARIOS / 'steady.txt')
    rows = profiler.read_rows('ivpu', 'npu.csv')
    values = collections.defaultdict(list)
    for row in rows['counter-value']:
        values[row['name']].append(float(row['value']))
    print(f'# {dict(values)}')
    check(max(values['npu-awake']) == 1 and min(values['npu-awake']) == 0, f'{values}')
    check(max(values['npu-busy-time']) > min(values['npu-busy-time']), f'{values}')
    check(0 < max(values['npu-utilization']) <= 100, f'{values}')
    devices = rows['device']
    check(len(devices) == 1 and devices[0]['text'] == '0000:00:11.0', f'{devices}')


def check_lists_what_is_here():
    outcome = subprocess.run([PROGRAM, '--check', '-s', 'ivpu'], stdout=subprocess.PIPE, encoding='utf-8', check=False)
    print('\n'.join(f'# {line}' for line in outcome.stdout.splitlines()))
    for item in 'NPU accel0', 'driver intel_vpu', 'BPF', 'functions':
        check(re.search(rf'^ +good +{item}: ', outcome.stdout, re.M), f'{item}: {outcome.stdout}')
    check(outcome.returncode == 0, f'{outcome.returncode}')


sys.exit(run(named(healthy_runs_have_no_findings, each_broken_run_has_its_own, jobs_are_summed_up,
                   rates_are_those_of_the_scenario, limits_are_options, tables_and_flame_graph_agree_with_the_truth,
                   usage_is_reported, check_lists_what_is_here) +
             [(f'contexts have their own calls by attach={way}', functools.partial(contexts_have_their_own_calls, way))
              for way in ('fsession', 'session', 'multi')]) != 0)
