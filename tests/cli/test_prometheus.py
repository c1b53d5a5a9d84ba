#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink prometheus: known sums, read by promtool and by a Prometheus that scrapes them, and clients that misbehave."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request

from harness import (COMPLETE, FAILED, PLUGINS, USAGE, Skip, case, end, equal, iaprof, main, needs_program, needs_root,
                     needs_sampling, require, start, wait_until, write)
from slow_clients import SERVER_PATIENCE, SlowClients, answers_meanwhile
from web_server import Receiver

METRICS_SOURCE = os.path.join(PLUGINS, 'iaprof-metrics-source.so')
# A run that takes the place of another one forks while threads run, which ThreadSanitizer does not support.
SHARED_SOURCE = f'{METRICS_SOURCE}:isolate=no' if os.environ['TEST_SANITIZERS'] == 'thread' else METRICS_SOURCE
# Control characters and invalid UTF-8 are replaced, quotes and backslashes are escaped.
DEVICE = 'say "hi" \\ ??end'


class Run:
    """A run that serves metrics until the end of a with statement."""

    def __init__(self, *arguments, options=''):
        self.arguments, self.options = arguments, options

    def __enter__(self):
        self.log = open('log', 'w+', encoding='utf-8')
        self.process = start(*self.arguments, '-v', '-i', '100ms', '-k', f'prometheus:address=127.0.0.1:0{self.options}',
                             stderr=self.log)
        self.port = int(wait_until(lambda: self.ports() or self.process.poll() is not None and [0], 'the server')[0])
        return self

    def ports(self):
        with open('log', encoding='utf-8') as file:
            return re.findall(r'http://127\.0\.0\.1:(\d+)/metrics', file.read())

    def __exit__(self, *ignored):
        self.process.send_signal(signal.SIGINT)
        self.outcome = end(self.process)
        self.log.close()

    def text(self):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/metrics', timeout=600) as answer:
            equal(answer.headers['Content-Type'], 'text/plain; version=0.0.4; charset=utf-8', 'type')
            return answer.read().decode()

    def metrics(self):
        """-> {(name, ((label, value), ...)): value}, each of which occurs once"""
        found = {}
        for line in self.text().splitlines():
            if line.startswith('#'):
                continue
            name, labels, value = re.fullmatch(r'([a-z_]+)(?:\{(.*)\})? (\S+)', line).groups()
            pairs = re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', labels or '')
            key = name, tuple(sorted((key, re.sub(r'\\(.)', r'\1', text)) for key, text in pairs))
            require(key not in found, f'twice: {line}')
            found[key] = float(value)
        return found

    def wait_for(self, name):
        """Waits until there is a metric of a name. -> all of them"""
        return wait_until(lambda: (found := self.metrics()) and any(key[0] == name for key in found) and found, name)


def of(metrics, name):
    return {labels: value for (found, labels), value in metrics.items() if found == name}


def labels(**pairs):
    return tuple(sorted(pairs.items()))


def known(**options):
    text = ','.join(f'{key.replace("_", "-")}={value}' for key, value in options.items())
    return Run('-s', f'{METRICS_SOURCE}{":" + text if text else ""}')


@case('sums of devices, stall reasons, jobs and losses are those of the source')
def sums():
    with known() as run:
        metrics = run.wait_for('iaprof_lost_events_total')
    equal(run.outcome.status, COMPLETE, 'status')
    device = {'source': 'metrics-source', 'device': DEVICE}
    addresses = [f'0000:0{number}:00.0' for number in (1, 2)]
    wanted = {labels(**device, address=address): 0.25 for address in addresses}
    wanted[labels(source='metrics-source', device='NPU')] = 0.2
    equal(of(metrics, 'iaprof_device_busy_seconds_total'), wanted, 'busy')
    equal(of(metrics, 'iaprof_device_utilization_ratio'),
          {labels(source='metrics-source', device='NPU', engine='compute'): 0.5,
           **{labels(**device, address=address, engine='compute'): 0.125 for address in addresses}}, 'utilization')
    for name, value in ('memory_bytes', 3 << 30), ('power_watts', 75.25):
        equal(of(metrics, f'iaprof_device_{name}'), {labels(**device, address=address): value for address in addresses}, name)
    equal(of(metrics, 'iaprof_stall_samples_total'),
          {labels(**device, address=address, reason=reason): value for address in addresses
           for reason, value in (('sbid', 80), ('send', 20))}, 'stalls')
    equal(of(metrics, 'iaprof_device_jobs_total'),
          {labels(source='metrics-source', device='NPU', state=state): value
           for state, value in (('done', 3), ('aborted', 1))}, 'jobs')
    equal(of(metrics, 'iaprof_lost_events_total')[labels(source='metrics-source', reason='reason 0')], 3, 'lost')
    equal(of(metrics, 'iaprof_metrics_dropped_records_total'), {(): 0}, 'dropped')


@case('what becomes of the profiles of other sinks')
def sinks():
    with Receiver((400, {}), (400, {})) as server, \
         Run('--continuous', '-s', SHARED_SOURCE, '-k', f'otlp-metrics.x:endpoint={server.url}', '-k',
             'ring:folder=kept') as run:
        def counts():
            metrics = run.metrics()
            return {(dict(labels)['sink'], dict(labels)['outcome']): value
                    for labels, value in of(metrics, 'iaprof_sink_items_total').items()}, metrics

        def arrived():
            found, metrics = counts()
            return found.get(('otlp-metrics.x', 'delivered')) and found.get(('ring', 'delivered')) and (found, metrics)
        found, metrics = wait_until(arrived, 'deliveries')
        # They go on after a reload, which chooses another port here.
        run.process.send_signal(signal.SIGHUP)
        run.port = int(wait_until(lambda: run.ports()[1:], 'the new server')[0])
        again, _ = wait_until(lambda: counts()[0].get(('otlp-metrics.x', 'refused')) and counts(), 'metrics')
        require(all(again[key] >= found[key] for key in found), (found, again))
    equal((found['ring', 'dropped'], found['otlp-metrics.x', 'dropped']), (0, 0), 'dropped')
    require(found['otlp-metrics.x', 'refused'] > 0, found)
    require(('ring', 'refused') not in found, found)
    stored, waiting = of(metrics, 'iaprof_sink_stored_bytes'), of(metrics, 'iaprof_sink_waiting_items')
    require(0 < stored[labels(sink='ring')] <= sum(file.stat().st_size for file in os.scandir('kept')), stored)
    equal((list(stored), list(waiting)), ([labels(sink='ring')], [labels(sink='otlp-metrics.x')]), 'series')


@case('the number of series is bounded, and what is beyond is counted')
def bounded():
    with known(devices=200, losses=500) as run:
        metrics = run.wait_for('iaprof_lost_events_total')
    stalls, lost = of(metrics, 'iaprof_stall_samples_total'), of(metrics, 'iaprof_lost_events_total')
    equal((len(of(metrics, 'iaprof_device_busy_seconds_total')), len(stalls)), (32, 31 * 2), 'series of devices')
    require(len(lost) <= 64, f'{len(lost)} series of losses')
    ours = {dict(pairs)['reason']: value for pairs, value in lost.items()
            if dict(pairs)['source'] in ('metrics-source', '[others]')}
    require(sum(ours.values()) >= 1500 and ours['[others]'] >= 1500 - 3 * 64, ours)
    require(of(metrics, 'iaprof_metrics_dropped_records_total')[()] >= 169 * 2, metrics)


@contextlib.contextmanager
def container(name):
    """A process in the cgroup of a container. -> its pid"""
    for folder in ('/sys/fs/cgroup', '/sys/fs/cgroup/cpu', '/sys/fs/cgroup/pids'):
        path = os.path.join(folder, name)
        process = subprocess.Popen(['sleep', '600'])
        try:
            if os.path.exists(os.path.join(folder, 'cgroup.procs')):
                os.mkdir(path)
                write(os.path.join(path, 'cgroup.procs'), str(process.pid))
                yield process.pid
                return
        except OSError:
            continue
        finally:
            process.kill()
            process.wait()
            with contextlib.suppress(OSError):
                os.rmdir(path)
    raise Skip('no cgroup can be made here')


@case('the use of devices has the container of the process', needs=[needs_root])
def containers():
    ids = [digit * 64 for digit in 'ab']
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(container(f'docker-{ids[0]}.scope'))
        second = stack.enter_context(container(f'libpod-{ids[1]}.scope'))
        with known(devices=1, pid=first, other_pid=second) as run:
            metrics = run.wait_for('iaprof_stall_samples_total')
            stack.close()  # before the end, when no process may be left
    found = {dict(pairs)['device']: dict(pairs).get('container')
             for pairs in of(metrics, 'iaprof_device_busy_seconds_total')}
    equal(found, {DEVICE: ids[0], 'NPU': ids[1]}, 'containers')


@case('promtool has no objection', needs=[needs_program('promtool')])
def promtool():
    with known() as run:
        run.wait_for('iaprof_lost_events_total')
        result = subprocess.run(['promtool', 'check', 'metrics'], input=run.text(), capture_output=True, text=True,
                                check=False)
    equal((result.returncode, result.stdout, result.stderr), (0, '', ''), 'promtool check metrics')


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as taken:
        return taken.getsockname()[1]


@case('Prometheus scrapes the metrics', needs=[needs_program('prometheus')])
def scraped():
    with known() as run:
        run.wait_for('iaprof_lost_events_total')
        write('prometheus.yml', 'global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs:\n'
              f'- job_name: iaprof\n  static_configs: [{{targets: ["127.0.0.1:{run.port}"]}}]\n')
        port = free_port()
        with open('prometheus.log', 'wb') as log:
            server = subprocess.Popen(['prometheus', '--config.file=prometheus.yml', '--storage.tsdb.path=data',
                                       f'--web.listen-address=127.0.0.1:{port}'], stdout=log, stderr=log)
        try:
            def query(text):
                url = f'http://127.0.0.1:{port}/api/v1/query?' + urllib.parse.urlencode({'query': text})
                with contextlib.suppress(OSError, http.client.HTTPException):
                    with urllib.request.urlopen(url, timeout=600) as answer:
                        return [(row['metric'], row['value'][1]) for row in json.load(answer)['data']['result']]
                return []
            found = wait_until(lambda: query('sum by (reason) (iaprof_stall_samples_total)'), 'a scrape')
            equal({row['reason']: value for row, value in found}, {'sbid': '160', 'send': '40'}, 'stalls')
            found = query('iaprof_device_utilization_ratio{address="0000:02:00.0"}')
            equal([(row['device'], value) for row, value in found], [(DEVICE, '0.125')], 'utilization')
            equal([value for _, value in wait_until(lambda: query('up == 1'), 'up')], ['1'], 'up')
            require(float(query('process_resident_memory_bytes')[0][1]) > 1e6, 'memory')
        finally:
            server.terminate()
            server.wait()


@case('CPU samples and the own cost rise', needs=[needs_root, needs_sampling])
def cpu():
    with Run('-s', 'cpu-stack:frequency=997,idle=yes') as run:
        first = run.wait_for('iaprof_samples_total')
        samples = of(first, 'iaprof_samples_total')
        wait_until(lambda: sum(of(run.metrics(), 'iaprof_samples_total').values()) > sum(samples.values()),
                   'more samples')
        last = run.metrics()
    for name in ('process_cpu_seconds_total', 'iaprof_intervals_total'):
        require(of(last, name)[()] > 0, name)
    matched, all_samples = (sum(of(last, f'iaprof_{name}_total').values()) for name in ('matched_samples', 'samples'))
    require(0 < matched <= all_samples, f'{matched} of {all_samples}')
    seconds = of(last, 'iaprof_sampled_seconds_total')[labels(type='cpu')]
    equal(round(seconds * 997), of(last, 'iaprof_samples_total')[labels(type='cpu')], 'time of the samples')


def request(run, method, path, **options):
    connection = http.client.HTTPConnection('127.0.0.1', run.port, timeout=600)
    connection.request(method, path, **options)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, answer.headers, body


@case('requests for anything else are refused')
def refused():
    with known() as run:
        equal(request(run, 'GET', '/')[0], 200, '/')
        equal(request(run, 'GET', '/metrics/../secret')[0], 404, 'another path')
        status, headers, _ = request(run, 'POST', '/metrics', body=b'x' * 100)
        equal((status, headers['Allow']), (405, 'GET, HEAD'), 'POST')
        status, headers, body = request(run, 'HEAD', '/metrics')
        require(status == 200 and not body and int(headers['Content-Length']) > 1000, headers)
        with contextlib.suppress(OSError, http.client.HTTPException):
            status = request(run, 'GET', '/metrics', headers={'X': 'y' * 100000})[0]
            require(status >= 400, f'a request that is too long: {status}')
        with socket.create_connection(('127.0.0.1', run.port)) as nonsense:
            nonsense.settimeout(600)
            nonsense.sendall(b'\x16\x03\x01\0\xff\r\n\r\n')
            with contextlib.suppress(OSError):
                while nonsense.recv(4096):
                    pass
        run.metrics()


@case('requests by a name that is not that of the machine, as after DNS rebinding, are refused')
def rebound():
    with Run('-s', METRICS_SOURCE, options=',hosts=scraped.example other.example') as run:
        for host, status in (('evil.example', 421), (f'evil.example:{run.port}', 421), ('localhost.evil.example', 421),
                             ('127.0.0.1.evil.example', 421), ('', 421), ('[::1', 421), ('127.0.0.1:80:80', 421),
                             ('127.0.0.1', 200), ('10.1.2.3:9859', 200), ('[fe80::1]:9859', 200), ('LocalHost', 200),
                             (f'{os.uname().nodename}:1', 200), ('scraped.example', 200), ('other.example:9859', 200),
                             ('example', 421)):
            equal(request(run, 'GET', '/metrics', headers={'Host': host})[0], status, host)
        equal(request(run, 'GET', '/', headers={'Host': 'evil.example'})[0], 421, '/')


@case('connections are limited, and those that send nothing do not delay the end')
def crowd():
    def accepted():
        """The connections that the server has accepted: those that wait for that have no inode yet."""
        with open('/proc/net/tcp', encoding='ascii') as file:
            rows = [line.split() for line in file][1:]
        return sum(row[1].endswith(f':{run.port:04X}') and row[3] == '01' and row[9] != '0' for row in rows)
    with known() as run, SlowClients(run.port):
        # A connection that is closed while the table is read, and the one that replaces it, can both be in it.
        counts = sorted(accepted() for _ in range(20))
        require(64 < counts[10] <= 128 + 16, f'{counts} connections')
    equal(run.outcome.status, COMPLETE, 'status')


@case('clients that send no request, or a part of one, or one byte at a time, do not delay a scrape')
def slow_clients():
    with known() as run:
        answers_meanwhile(run.port, lambda: request(run, 'GET', '/metrics')[0])


@case('a client that sends no complete request is disconnected, also without others')
def silent():
    with known() as run:
        SlowClients(run.port, count=4).__enter__().__exit__()
        run.metrics()


@case('clients that do not read their answers do not delay a scrape')
def unread():
    with known(devices=200, losses=500) as run, contextlib.ExitStack() as clients:
        size = len(run.wait_for('iaprof_lost_events_total') and run.text())
        for _ in range(64):
            client = clients.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            client.connect(('127.0.0.1', run.port))
            client.sendall(b'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')
        begin = time.monotonic()
        run.text()
        require(time.monotonic() - begin < SERVER_PATIENCE, f'delayed by answers of {size} bytes that were not read')


@case('an address that is in use, or is none, is an error')
def addresses():
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        iaprof('-s', METRICS_SOURCE, '-k', f'prometheus:address=127.0.0.1:{port}').fails(
            FAILED, f'cannot listen on 127.0.0.1:{port}: Address already in use')
    for address in ('example.org:1', '127.0.0.1', '::1:80x', ':', '[::1', '1.2.3.4:99999999'):
        for check in [], ['--check']:
            iaprof('-s', METRICS_SOURCE, '-k', f'prometheus:address={address}', *check).fails(
                USAGE, 'sink prometheus: address .*: not an IP address with a port')


if __name__ == '__main__':
    main()
