#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sinks that block, are late or drop data, and losses, are reported while the run goes on, as messages and metrics; totals go
on when a configuration cannot be run."""
import fcntl
import os
import re
import signal
import tempfile
import urllib.request

from harness import COMPLETE, FAILED, PLUGINS, case, end, equal, main, require, start, wait_until, write
from web_server import Receiver

METRICS_SOURCE = os.path.join(PLUGINS, 'iaprof-metrics-source.so')
SHARED_SOURCE = f'{METRICS_SOURCE}:isolate=no' if os.environ['TEST_SANITIZERS'] == 'thread' else METRICS_SOURCE


class Run:
    """A continuous run with metrics, until the end of a with statement."""

    def __init__(self, *arguments, status=COMPLETE, **options):
        self.err = tempfile.TemporaryFile()  # pylint: disable=consider-using-with
        self.wanted = status
        self.process = start('--continuous', '-v', '-i', '100ms', '-k', 'prometheus:address=127.0.0.1:0', *arguments,
                             stderr=self.err, **options)

    def __enter__(self):
        return self

    def __exit__(self, kind, *ignored):
        if kind:  # the case ends what it left
            return
        self.process.send_signal(signal.SIGINT)
        equal(end(self.process).status, self.wanted, self.messages())

    def messages(self):
        return os.pread(self.err.fileno(), 1000000, 0).decode()

    def wait_for_message(self, text, count=1):
        wait_until(lambda: self.messages().count(text) >= count, text)

    def metric(self, name, **labels):
        """-> the value of a metric with these labels, as the latest server has it, or None"""
        ports = re.findall(r'http://127\.0\.0\.1:(\d+)/metrics', self.messages())
        if not ports:
            return None
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{ports[-1]}/metrics', timeout=600) as answer:
                text = answer.read().decode()
        except OSError:  # the server of an earlier run
            return None
        wanted = name + '{' + ','.join(f'{key}="{value}"' for key, value in labels.items()) + '} '
        values = [float(line[len(wanted):]) for line in text.splitlines() if line.startswith(wanted)]
        return values[0] if values else None

    def wait_for_metric(self, is_good, name, **labels):
        return wait_until(lambda: (value := self.metric(name, **labels)) is not None and is_good(value) and (value,), name)[0]


@case('a sink whose output blocks is named while the run goes on, with its time busy and its queue')
def blocked():
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    with Run('-s', METRICS_SOURCE, '-k', 'csv:rows=events,output=-', stdout=writing) as run:
        os.close(writing)
        run.wait_for_message(' has not returned for ')
        require(re.search('sink csv: callback (records|profile) has not returned for ', run.messages()), run.messages())
        run.wait_for_metric(lambda seconds: seconds >= 5, 'iaprof_sink_busy_seconds_total', sink='csv')
        run.wait_for_metric(lambda size: size > 0, 'iaprof_sink_queued_bytes', sink='csv')
        require('sink prometheus: callback' not in run.messages(), run.messages())
        with open(reading, 'rb') as reader:
            while 'sink csv: accepts data again after ' not in run.messages():
                reader.read1(65536)
            run.process.send_signal(signal.SIGINT)
            reader.read()


@case('the newest profile of a sink that delivers nothing gets older, beside one that delivers')
def late():
    with Receiver(*[(400, {})] * 10000) as server, \
         Run('-s', SHARED_SOURCE, '-k', f'otlp-metrics.x:endpoint={server.url}', '-k', 'ring:folder=kept',
             status=FAILED) as run:
        run.wait_for_message('sink otlp-metrics.x: no profile delivered for ')
        age = run.metric('iaprof_sink_profile_age_seconds', sink='otlp-metrics.x')
        require(age >= 10, age)
        # Its latest profile is of this moment, and was delivered.
        delivered = run.metric('iaprof_sink_items_total', sink='ring', outcome='delivered')
        run.wait_for_metric(lambda count: count > delivered, 'iaprof_sink_items_total', sink='ring', outcome='delivered')
        require(run.metric('iaprof_sink_profile_age_seconds', sink='ring') < age, 'age of the ring')
        require('sink ring: no profile' not in run.messages(), run.messages())
        server.statuses.clear()
        run.wait_for_message('sink otlp-metrics.x: delivers profiles again')


@case('losses are reported when they happen')
def losses():
    with Run('-s', f'{METRICS_SOURCE}:losses=2') as run:
        run.wait_for_message('lost so far: metrics-source: reason 0: 3')
        run.wait_for_message('lost so far: metrics-source: reason 1: ')


@case('totals of sinks go on when a new configuration cannot be run, and the earlier one continues')
def gone_back():
    other = start('--continuous', '-i', '100ms', '-s', SHARED_SOURCE, '-k', 'ring:folder=taken')
    wait_until(lambda: os.path.isdir('taken') and os.listdir('taken'), 'another run')
    plain = '[iaprof]\n[sink:ring]\nfolder = kept\n'
    write('run.ini', plain)
    with Run('-s', SHARED_SOURCE, '-c', 'run.ini') as run:
        first = run.wait_for_metric(lambda count: count > 3, 'iaprof_sink_items_total', sink='ring', outcome='delivered')
        busy = run.wait_for_metric(lambda seconds: True, 'iaprof_sink_busy_seconds_total', sink='ring')
        write('run.ini', f'{plain}[sink:ring.second]\nfolder = taken\n')
        run.process.send_signal(signal.SIGHUP)
        run.wait_for_message('back to the earlier one')
        run.wait_for_message('/metrics', 2)
        again = run.wait_for_metric(lambda count: True, 'iaprof_sink_items_total', sink='ring', outcome='delivered')
        require(again >= first, f'{again} after {first}')
        again = run.wait_for_metric(lambda seconds: True, 'iaprof_sink_busy_seconds_total', sink='ring')
        require(again >= busy, f'time busy: {again} after {busy}')
        other.send_signal(signal.SIGINT)
        equal(other.wait(), COMPLETE, 'the other run')


if __name__ == '__main__':
    main()
