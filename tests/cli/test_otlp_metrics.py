#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink otlp-metrics: known sums, read by the definition of OTLP metrics, and receivers that do not take them."""
import os
import re
import sys

from harness import COMPLETE, FAILED, PLUGINS, case, equal, iaprof, main, needs_root, needs_sampling, require
from otlp_request import metrics_of
from web_server import Receiver

METRICS_SOURCE = os.path.join(PLUGINS, 'iaprof-metrics-source.so')
# Control characters and invalid UTF-8 are replaced.
DEVICE = 'say "hi" \\ ??end'


def send(server, *arguments, **options):
    return iaprof('-s', METRICS_SOURCE, '-d', '1', '-k', f'otlp-metrics:endpoint={server.url}', *arguments, **options)


def attributes(**pairs):
    return tuple(sorted((name.replace('_', '.'), value) for name, value in pairs.items()))


@case('sums, units and kinds are those of the source and of the semantic conventions')
def sums():
    with Receiver() as server:
        send(server).completes()
    equal([path for path, _ in server.asked], ['/v1/metrics'], 'paths')
    resource, metrics = metrics_of(server.bodies[0])
    equal(resource['service.name'], 'iaprof', 'service')
    require(resource['host.name'] and resource['os.type'] == 'linux', resource)
    device = {'iaprof_source': 'metrics-source', 'hw_name': DEVICE}
    addresses = [f'0000:0{number}:00.0' for number in (1, 2)]
    of_devices = {'hw.gpu.utilization': ('1', 'gauge', {'hw_gpu_task': 'compute'}, 0.125),
                  'hw.gpu.memory.usage': ('By', 'sum', {}, 3 << 30), 'hw.power': ('W', 'gauge', {}, 75.25)}
    for name, (unit, kind, more, value) in of_devices.items():
        equal(metrics[name], (unit, kind, {attributes(**device, **more, hw_id=address): value for address in addresses}), name)
    equal(metrics['iaprof.device.utilization'], ('1', 'gauge', {attributes(
        iaprof_source='metrics-source', hw_name='NPU', hw_id='NPU', iaprof_device_engine='compute'): 0.5}), 'of an NPU')
    require('iaprof.device.memory.usage' not in metrics, 'memory of an NPU')
    busy = {attributes(**device, hw_id=address): 0.25 for address in addresses}
    busy[attributes(iaprof_source='metrics-source', hw_name='NPU', hw_id='NPU')] = 0.2
    equal(metrics['iaprof.device.busy.time'], ('s', 'counter', busy), 'busy')
    equal(metrics['iaprof.device.stall.samples'], ('{sample}', 'counter', {
        attributes(**device, hw_id=address, iaprof_reason=reason): value for address in addresses
        for reason, value in (('sbid', 80), ('send', 20))}), 'stalls')
    equal(metrics['iaprof.events.lost'].points[attributes(iaprof_source='metrics-source', iaprof_reason='reason 0')], 3, 'lost')
    equal(metrics['iaprof.helper.memory.usage'][:2], ('By', 'sum'), 'memory of helpers')
    unit, kind, points = metrics['process.cpu.time']
    require((unit, kind) == ('s', 'counter') and 0 < points[()] < 60, points)


@case('each interval sends the sums since the beginning', needs=[needs_root, needs_sampling])
def intervals():
    with Receiver() as server:
        iaprof('-s', 'cpu-stack', '-d', '2', '-i', '500ms', '-k', f'otlp-metrics:endpoint={server.url}').completes()
    found = [metrics_of(body)[1] for body in server.bodies]
    require(len(found) >= 3, f'{len(found)} requests')
    for name in 'iaprof.intervals', 'process.cpu.time':
        values = [metrics[name].points[()] for metrics in found]
        equal(values, sorted(values), name)
    equal(found[-1]['iaprof.intervals'].points[()], len(found), 'intervals')


@case('the variables of OpenTelemetry are used')
def variables():
    with Receiver() as server:
        environment = {**os.environ, 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT': f'{server.url}/of/metrics',
                       'OTEL_EXPORTER_OTLP_ENDPOINT': 'http://127.0.0.1:9', 'OTEL_SERVICE_NAME': 'gpu fleet',
                       'OTEL_RESOURCE_ATTRIBUTES': 'host.name=elsewhere,deployment.environment=test%20bed'}
        iaprof('-s', METRICS_SOURCE, '-d', '1', '-k', 'otlp-metrics', env=environment).completes()
    equal([path for path, _ in server.asked], ['/of/metrics'], 'paths')
    resource, _ = metrics_of(server.bodies[0])
    equal([resource[key] for key in ('host.name', 'deployment.environment', 'service.name')],
          ['elsewhere', 'test bed', 'gpu fleet'], 'resource')


@case('what a receiver does not want is counted, and the run goes on')
def refused():
    with Receiver((400, {})) as server:
        outcome = send(server)
    equal(outcome.status, FAILED, 'status')
    require(re.search(r'[0-9]+ of [0-9]+ data points were not delivered', outcome.err), outcome.err)


@case('what a receiver that is down did not get is in the spool, and sent by the next run')
def spool():
    arguments = ['-s', METRICS_SOURCE, '-d', '300ms', '--finish-within', '2s', '-k']
    for _ in range(2):
        outcome = iaprof(*arguments, 'otlp-metrics:spool=waiting,endpoint=http://127.0.0.1:9')
        require(re.search(r'warning: .*[0-9]+ data points wait in the spool for the next run that uses it', outcome.err), outcome.err)
        equal(outcome.status, COMPLETE, 'status')
    equal(os.stat('waiting').st_mode & 0o777, 0o700, 'mode of the folder')
    equal([os.stat(f'waiting/{name}').st_mode & 0o777 for name in os.listdir('waiting')], [0o600] * 2, 'modes')
    with Receiver() as server:
        iaprof(*arguments, f'otlp-metrics:spool=waiting,endpoint={server.url}').completes()
    equal(os.listdir('waiting'), [], 'files')
    ends = [min(metrics_of(body)[1]['iaprof.profile.timestamp'].points.values()) for body in server.bodies]
    equal(len(set(ends)), 3, 'runs')


@case('the number of data points is bounded')
def bounded():
    with Receiver() as server:
        iaprof('-s', f'{METRICS_SOURCE}:devices=200,losses=500', '-d', '1', '-k',
               f'otlp-metrics:endpoint={server.url}').completes()
    _, metrics = metrics_of(server.bodies[0])
    equal((len(metrics['iaprof.device.busy.time'].points), len(metrics['hw.power'].points)), (32, 31), 'points')
    require(metrics['iaprof.metrics.dropped_records'].points[()] >= 169 * 2, metrics)


sys.exit(main())
