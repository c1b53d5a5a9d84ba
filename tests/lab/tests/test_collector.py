#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: short none
# lab: collector
# lab: seconds 600
# lab: covers plugins/sink-otlp/** plugins/sink-otlp-metrics/** plugins/sink-capture/** plugins/sink-folded/** plugins/replay/*
# lab: covers lib/otlp/** lib/http/** lib/metrics/** lib/capture/**
"""Profiles and metrics at a real OpenTelemetry Collector: what it prints is what the capture of the same run has. TAP."""
import collections
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import check, equal, run

SOURCE, BUILD, COLLECTOR = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD', 'LAB_COLLECTOR'))
IAPROF = BUILD / 'iaprof'
DEMO = SOURCE / 'examples/demo.iaprof'
CONFIGURATION = '''
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters: {{debug: {{verbosity: {verbosity}, sampling_initial: 100000}}}}
service:
  telemetry: {{metrics: {{level: none}}, logs: {{sampling: {{enabled: false}}}}}}
  pipelines:
    profiles: {{receivers: [otlp], exporters: [debug]}}
    metrics: {{receivers: [otlp], exporters: [debug]}}
'''
MACHINES = 50
# Short-lived programs with many different stacks.
BUSY = 'for file in /usr/lib/python3/dist-packages/*.py /usr/lib/python3.*/*.py; do [ $(($(date +%s) - begun)) -lt 10 ] || exit 0; ' \
       'python3 -m tokenize "$file"; gzip -c "$file"; sort "$file"; done >/dev/null'


def free_port():
    with socket.socket() as server:
        server.bind(('127.0.0.1', 0))
        return server.getsockname()[1]


class Collector:
    """A Collector that runs until the end of a with statement."""

    def __init__(self, port=None, verbosity='detailed'):
        self.port, self.verbosity = port or free_port(), verbosity
        self.url = f'http://127.0.0.1:{self.port}'

    def __enter__(self):
        pathlib.Path('config.yaml').write_text(CONFIGURATION.format(port=self.port, verbosity=self.verbosity), encoding='ascii')
        with open('collector.log', 'wb') as log:
            self.process = subprocess.Popen([COLLECTOR, '--config', 'config.yaml', '--feature-gates=+service.profilesSupport'],
                                            stdout=log, stderr=log)
        end = time.monotonic() + 60
        while 'Everything is ready' not in self.messages():
            check(time.monotonic() < end and self.process.poll() is None, self.messages())
            time.sleep(0.05)
        return self

    def __exit__(self, *ignored):
        with contextlib.suppress(OSError):
            self.cpu_time = sum(int(text) for text in pathlib.Path(f'/proc/{self.process.pid}/stat').read_text(
                encoding='ascii').rpartition(')')[2].split()[11:13]) / os.sysconf('SC_CLK_TCK')
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def messages(self):
        return pathlib.Path('collector.log').read_text(encoding='utf-8', errors='replace')

    def profiles(self):
        """-> sums of the profiles' values, in their order"""
        return [sum(int(value) for value in re.findall(r'^ +Values: \[(\d+)\]$', part, re.M))
                for part in re.split(r'^Profile #\d+$', self.messages(), flags=re.M)[1:]]


def iaprof(*arguments, **variables):
    outcome = subprocess.run([IAPROF, *map(str, arguments)], capture_output=True, encoding='utf-8', check=False, timeout=200,
                             env={**os.environ, **variables})
    return outcome.returncode, outcome.stderr


def folded_sums():
    """-> {name of the file: sum of its values}"""
    return {path.name: sum(int(line.rpartition(' ')[2]) for line in path.read_text(encoding='utf-8').splitlines())
            for path in pathlib.Path('.').glob('out*.folded')}


def fold(capture):
    equal(iaprof('--replay', capture, '-k', 'folded:output=out.folded')[0], 0, 'status')
    return folded_sums()


def totals_are_those_of_the_capture():
    with Collector() as collector:
        equal(iaprof('--replay', DEMO, '-k', f'otlp:endpoint={collector.url}')[0], 0, 'status')
    sums = fold(DEMO)
    cpu = sums.pop('out.cpu.folded')  # nanoseconds: 99 samples a second are sent as counts
    found = collections.Counter(collector.profiles())
    others = found - collections.Counter(sums.values())
    equal(sum((collections.Counter(sums.values()) - found).values()), 0, f'totals: {found}, not {sums}')
    (samples,) = others
    check(abs(samples * round(cpu / samples) - cpu) <= samples, f'{samples} samples, {cpu} ns')


def a_live_run_in_intervals():
    with Collector() as collector:
        status, messages = iaprof('-s', 'cpu-stack:idle=yes', '-d', '4', '-i', '1s', '-k', f'otlp:endpoint={collector.url}',
                              '-k', 'capture:output=run.iaprof')
    equal(status, 0, messages)
    found, wanted = sum(collector.profiles()), re.search(r'iaprof: ([\d,]+) samples', messages)
    check(len(collector.profiles()) >= 4, f'{len(collector.profiles())} profiles')
    equal(found, int(wanted[1].replace(',', '')), 'samples')


def a_collector_that_is_down_for_a_while():
    """Nothing is lost, and the profiler does not wait for it."""
    collector = Collector()
    process = subprocess.Popen([IAPROF, '-s', 'cpu-stack:idle=yes', '-d', '9', '-i', '1s', '-k', f'otlp:endpoint={collector.url}'],
                               stderr=subprocess.PIPE, encoding='utf-8')
    time.sleep(3)
    with collector:
        messages = process.communicate(timeout=200)[1]
    equal(process.returncode, 0, messages)
    equal(sum(collector.profiles()), int(re.search(r'iaprof: ([\d,]+) samples', messages)[1].replace(',', '')), 'samples')


def metrics():
    with Collector() as collector:
        status, messages = iaprof('-s', 'cpu-stack:idle=yes', '-d', '3', '-i', '1s', '-k', f'otlp-metrics:endpoint={collector.url}')
    equal(status, 0, messages)
    samples = re.findall(r'-> Name: iaprof\.samples\n.*?Value: (\d+)\n', collector.messages(), re.S)
    equal(samples[-1], re.search(r'iaprof: ([\d,]+) samples', messages)[1].replace(',', ''), 'samples')
    for text in '-> Name: process.cpu.time', '-> service.name: Str(iaprof)', '-> IsMonotonic: true':
        check(text in collector.messages(), f'no {text!r}')


def many_machines():
    """An interval of this machine as those of many, at once."""
    equal(iaprof('--scope', 'system', '-s', 'cpu-stack', '-k', 'capture:output=machine.iaprof', '--', 'sh', '-c', 'begun=$(date +%s); ' + BUSY)[0], 0, 'status')
    with Collector(verbosity='basic') as idle:
        pass
    with Collector(verbosity='basic') as collector:
        began = time.monotonic()
        processes = [subprocess.Popen([IAPROF, '--replay', 'machine.iaprof', '-k', f'otlp:endpoint={collector.url}'],
                                      stderr=subprocess.DEVNULL,
                                      env={**os.environ, 'OTEL_RESOURCE_ATTRIBUTES': f'host.name=machine-{number}'})
                     for number in range(MACHINES)]
        statuses = [process.wait(timeout=300) for process in processes]
        seconds = time.monotonic() - began
    equal(statuses, [0] * MACHINES, 'status')
    taken = sum(int(number) for number in re.findall(r'"resource profiles": (\d+)', collector.messages()))
    equal(taken, MACHINES, 'resources at the Collector')
    samples = sum(int(number) for number in re.findall(r'"sample records": (\d+)', collector.messages())) // MACHINES
    print(f'# measured: {MACHINES} machines in {seconds:.1f} s, {samples} stacks each; CPU time of the Collector: '
          f'{1000 * (collector.cpu_time - idle.cpu_time) / MACHINES:.1f} ms a request')


sys.exit(run([(case.__name__.replace('_', ' '), case) for case in (
    totals_are_those_of_the_capture, a_live_run_in_intervals, a_collector_that_is_down_for_a_while, metrics, many_machines)]) != 0)
