#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: module intel_vpu
# lab: seconds 900
# lab: by-name
# lab: covers tests/lab/programs/npu_*
"""What watching a call of the NPU's driver costs, beside bpftrace on the same calls in the same guest: in the program that
makes them, and of all processors. A processor that is emulated is no measure of a real one; a ratio nearly is. TAP."""
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness import npu_double, profiler
from harness.cases import Skip, check, named, run, started, wait_until
from harness.npu_double import PLAYER, wait_until_asleep

# Calls of one function below a request, and requests.
NESTED, REQUESTS, ROUNDS, PAIRS = 400, 250, 5, 3
CALLS = (NESTED + 1) * REQUESTS
TICK = 1e9 / os.sysconf('SC_CLK_TCK')
# The functions that the scenario calls: a kprobe for each of all takes bpftrace minutes to detach here.
CALLED = 'kprobe:ivpu_get_param_ioctl, kprobe:ivpu_hw_ip_ipc_rx_count_get'
KPROBES = pathlib.Path('/sys/kernel/debug/kprobes/list')
PRINTF = 'printf("%llu %s %d %s\\n", nsecs, probe, pid, comm);'


def scenario_write():
    text = npu_double.one_job(2)
    begin = text.index('process inference')
    text = (text[:begin] + f'ioctl GET_PARAM times 1000000\n    ivpu_get_param_ioctl\n        repeat {NESTED}\n'
            '            ivpu_hw_ip_ipc_rx_count_get\n\n'
            f'process inference\n    open\n    repeat {REQUESTS}\n        get_param CONTEXT_ID\n    close\n')
    pathlib.Path('cost').write_text(text, encoding='ascii')


def busy_ns():
    """Of all processors, since the boot."""
    words = pathlib.Path('/proc/stat').read_text(encoding='ascii').splitlines()[0].split()[1:]
    return (sum(map(int, words[:8])) - int(words[3]) - int(words[4])) * TICK


def play():
    """-> ns that the program took, ns that all processors were busy until the tools have had their time for it"""
    begin, busy = time.monotonic_ns(), busy_ns()
    outcome = subprocess.run([PLAYER, '--load', 'cost'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    took = time.monotonic_ns() - begin
    check(outcome.returncode == 0, f'npu_player: {outcome.stdout}')
    time.sleep(2)
    return took, busy_ns() - busy


def idle():
    """-> ns that all processors are busy in 2 s without a program"""
    busy = busy_ns()
    time.sleep(2)
    return busy_ns() - busy


def rounds():
    wait_until_asleep()
    play()
    waiting = idle()
    runs = [play() for _ in range(ROUNDS)]
    return statistics.median(took for took, _ in runs), statistics.median(busy for _, busy in runs) - waiting


class Bpftrace:
    """A program of bpftrace, from when it is attached."""

    def __init__(self, text):
        self.output = open('bpftrace.out', 'w+', encoding='utf-8')
        # A line in BEGIN comes before the probes are there: the Linux kernel lists them.
        self.process = started(subprocess.Popen(['bpftrace', '-B', 'full', '-e', text], stdout=self.output,
                                                stderr=subprocess.STDOUT))
        probed = re.findall(r'kprobe:(\w+)', text)
        wait_until(lambda: self.process.poll() is not None or
                   all(f' {name}+' in KPROBES.read_text(encoding='ascii') for name in probed), 'probes of bpftrace')
        check(self.process.poll() is None, 'bpftrace ended')

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(300)
        self.output.flush()
        self.output.seek(0)
        text = self.output.read()
        self.output.close()
        return text


def iaprof_start(*arguments, options=()):
    return profiler.Profiler('-s', profiler.instance('ivpu', 'hot=yes', 'api=no', *options), '-k',
                             'csv:output=out.csv,rows=events', *arguments, ready=lambda said: ' functions of intel_vpu in ' in said)


def floor_run():
    """Whose calls are of no interest: what the Linux kernel takes to run a program at each entry, which does nothing.
    The program that makes them is none of the target's descendants."""
    other = started(subprocess.Popen(['sleep', '3600']))
    process = iaprof_start('-p', str(other.pid))
    took, busy = rounds()
    process.end()
    return took, busy, 1


def iaprof_run(*options, look=lambda: None):
    process = iaprof_start(options=options)
    figures = rounds()
    look()
    said = process.end().said
    lost = sum(map(int, re.findall(r'lost: .*?: (\d+)', said)))
    rows = profiler.read_rows('ivpu')
    reported = sum(int(row['count']) for row in rows['call'] if row['name'] == 'ivpu_hw_ip_ipc_rx_count_get')
    print(f'# measured: iaprof {options}: {reported} of {NESTED * REQUESTS * (ROUNDS + 1)} reported, {lost} lost; '
          f'{profiler.metadata(rows).get("kernel-side time per call")} a call')
    return (*figures, reported / (NESTED * REQUESTS * (ROUNDS + 1)))


def bpftrace_run(text, look=lambda: None):
    process = Bpftrace(text)
    figures = rounds()
    look()
    said = process.end()
    counts = re.findall(r'^@\[kprobe:ivpu_hw_ip_ipc_rx_count_get\]: (\d+)$', said, re.M)
    reported = int(counts[0]) if counts else len(re.findall('kprobe:ivpu_hw_ip_ipc_rx_count_get', said))
    lost = sum(map(int, re.findall(r'Lost (\d+) events', said)))
    print(f'# measured: bpftrace {text}: {reported} of {NESTED * REQUESTS * (ROUNDS + 1)} reported, {lost} lost')
    check(told, said[-2000:])
    return (*figures, reported / (NESTED * REQUESTS * (ROUNDS + 1)))


def a_call_costs():
    if not shutil.which('bpftrace'):
        raise Skip('bpftrace is not installed')
    scenario_write()
    took, busy = rounds()
    print(f'# measured: alone: {took / CALLS:.0f} ns a call, {busy / CALLS:.0f} ns of all processors')
    results = {}
    for name, measure in (('iaprof, another program profiled', floor_run),
                          ('iaprof mode=count', lambda: iaprof_run()),
                          ('iaprof mode=count, attach=session', lambda: iaprof_run('attach=session')),
                          ('iaprof mode=entries', lambda: iaprof_run('mode=entries')),
                          ('bpftrace count()', lambda: bpftrace_run(CALLED + ' { @[probe] = count(); }')),
                          ('iaprof mode=events', lambda: iaprof_run('mode=events')),
                          ('bpftrace printf()', lambda: bpftrace_run(CALLED + ' { ' + PRINTF + ' }'))):
        figures = measure()
        results[name] = ((figures[0] - took) / CALLS, (figures[1] - busy) / CALLS / figures[2])
        print(f'# measured: {name}: {results[name][0]:.0f} ns a call in the program, {results[name][1]:.0f} ns of all processors for '
              f'each call reported', flush=True)
    for ours, theirs, note in (('iaprof mode=entries', 'bpftrace count()', 'goal 1.0'),
                               ('iaprof, another program profiled', 'bpftrace count()', 'goal 0.5'),
                               ('iaprof mode=count', 'bpftrace count()', 'with times and nesting'),
                               ('iaprof mode=events', 'bpftrace printf()', 'goal 0.1')):
        print(f'# measured: {ours} / {theirs}: {results[ours][0] / results[theirs][0]:.2f} in the program, '
              f'{results[ours][1] / results[theirs][1]:.2f} of all processors ({note})')


def programs():
    """-> {id: program} of the BPF programs that are loaded."""
    text = subprocess.run(['bpftool', '-j', 'prog', 'show'], stdout=subprocess.PIPE, check=True).stdout
    return {program['id']: program for program in json.loads(text)}


def instructions(program):
    """-> instructions that the verifier leaves, calls of helpers among them, bytes of machine code"""
    lines = subprocess.run(['bpftool', 'prog', 'dump', 'xlated', 'id', str(program['id'])], stdout=subprocess.PIPE,
                           encoding='utf-8', check=True).stdout.splitlines()
    return len([line for line in lines if re.match(r' *\d+: \(', line)]), len([line for line in lines if ' call ' in line]), \
        program['bytes_jited']


def counted(measure):
    """A measurement, with what each BPF program of the tool took, as the Linux kernel counts it."""
    before = programs()
    found = {}

    def look():
        found.update({program: {**data, 'size': instructions(data)} for program, data in programs().items() if
                      program not in before})
    figures = measure(look)
    ran = [data for data in found.values() if data.get('run_cnt', 0) > CALLS]
    for data in ran:
        count, calls, machine_code = data['size']
        print(f'# measured: {data["name"]}: {data["run_time_ns"] / data["run_cnt"]:.0f} ns a run; {count} instructions with '
              f'{calls} calls, {machine_code} bytes of machine code', flush=True)
    return figures[0], [data['run_time_ns'] / data['run_cnt'] for data in ran]


def counting_entries_costs():
    """Entries alone, alternately with bpftrace: the ratio of each pair, as other work on the machine comes and goes. The
    size of both programs does not depend on it."""
    for program in 'bpftrace', 'bpftool':
        if not shutil.which(program):
            raise Skip(f'{program} is not installed')
    scenario_write()
    pathlib.Path('/proc/sys/kernel/bpf_stats_enabled').write_text('1', encoding='ascii')
    took, _ = rounds()
    ratios = []
    for _ in range(PAIRS):
        ours, our_runs = counted(lambda look: iaprof_run('mode=entries', look=look))
        theirs, their_runs = counted(lambda look: bpftrace_run(CALLED + ' { @[probe] = count(); }', look=look))
        ratios.append((ours - took) / (theirs - took))
        print(f'# measured: {(ours - took) / CALLS:.0f} ns a call, bpftrace {(theirs - took) / CALLS:.0f} ns: {ratios[-1]:.2f}; in '
              f'the BPF programs {statistics.mean(our_runs) / statistics.mean(their_runs):.2f}', flush=True)
    print(f'# measured: iaprof mode=entries / bpftrace count(): {statistics.median(ratios):.2f} in the program (median of '
          f'{PAIRS} pairs, goal 1.0)')


def seconds_of(*command):
    """The median of a command's runs from start to end."""
    times = []
    for _ in range(3):
        begin = time.monotonic()
        outcome = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', check=False)
        times.append(time.monotonic() - begin)
        check(outcome.returncode == 0, f'{command}: {outcome.returncode}: {outcome.stdout}')
    return statistics.median(times)


def attaching_and_detaching_cost():
    """To the functions of the real driver: what the others take beyond the first, and all of it."""
    wait_until_asleep()
    subprocess.run(['rmmod', 'intel_vpu'], check=True)
    subprocess.run(['modprobe', 'intel_vpu'], check=True)
    times = {}
    try:
        attach_both(times)
    finally:
        subprocess.run(['rmmod', 'intel_vpu'], check=True)
        npu_double.load()
    for tool in dict.fromkeys(tool for tool, _ in times):
        every, one = times[tool, 'all'], times[tool, 'one']
        print(f'# measured: {tool}: {every:.2f} s from start to end with all functions, {one:.2f} s with one: '
              f'{(every - one) * 1000:.0f} ms more')


def attach_both(times):
    for name, functions in ('all', 'ivpu_*'), ('one', 'ivpu_boot'):
        times['iaprof', name] = seconds_of(profiler.PROGRAM, '-s', f'ivpu:api=no,hot=yes,functions={functions}', '-d', '1ms',
                                           '-o', 'none')
        if shutil.which('bpftrace'):
            times['bpftrace', name] = seconds_of('bpftrace', '-e', f'kprobe:{functions} {{ @[probe] = count(); }} '
                                                 'BEGIN { exit(); }')


sys.exit(run(named(a_call_costs, counting_entries_costs, attaching_and_detaching_cost)) != 0)
