#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink otlp: what a receiver gets is the profile, and what becomes of requests that a receiver does not take."""
import collections
import csv
import os
import re
import shutil
import signal
import subprocess
import sys

from harness import (COMPLETE, FAILED, SOURCE, USAGE, case, end, equal, iaprof, main, needs_root, needs_sampling, own_mounts,
                     read, require, small_disk, start, wait_until, write)
from otlp_request import Request
from web_server import Receiver, Server, reply, take

DEMO = os.path.join(SOURCE, 'examples/demo.iaprof')
# TSan ends a process that begins threads if it was forked by one that had some.
ISOLATED = 'isolate=yes,' if os.environ['TEST_SANITIZERS'] == 'none' else ''


def requests(server):
    return [Request(body) for body in server.bodies]


def send(server, *arguments, **options):
    return iaprof('--replay', DEMO, '-k', f'otlp:endpoint={server.url}', *arguments, **options)


def folded(path):
    """-> {stack: value}"""
    sums = collections.Counter()
    for line in read(path).splitlines():
        stack, _, value = line.rpartition(' ')
        sums[tuple(stack.split(';'))] += int(value)
    return sums


def cpu_time(receiver):
    """The time that samples of a receiver stand for, in ns."""
    return sum(sum(profile[-1].values()) * profile[4] for request in requests(receiver) for profile in request.profiles
               if profile[1] == 'samples')


@case('a receiver gets the values and stacks of the profile')
def values():
    with Receiver() as server:
        iaprof('--replay', DEMO, '-k', f'otlp:lines=no,endpoint={server.url}', '-k',
               'folded:annotate=no,pid=no,output=out.folded').completes()
    equal([path for path, _ in server.asked], ['/v1development/profiles'], 'paths')
    equal(server.asked[0][1]['Content-Type'], 'application/x-protobuf', 'type')
    request, = requests(server)
    types = {(name, unit): (period_type, period) for _, name, unit, period_type, period, _ in request.profiles}
    equal(sorted(types), [('gpu-stalls', 'count'), ('npu-calls', 'count'), ('npu-time', 'nanoseconds'),
                          ('samples', 'count')], 'types')
    period_type, period = types['samples', 'count']
    equal(period_type, 'cpu', 'period type')
    wanted = folded('out.cpu.folded')
    found = collections.Counter()
    for _, name, _, _, _, samples in request.profiles:
        for (attributes, stack), count in samples.items():
            if name == 'samples':
                found[dict(attributes)['process.executable.name'], *stack] += count * period
    equal(found, wanted, 'CPU stacks')
    for name in ('gpu-stalls', 'npu-calls', 'npu-time'):
        sums = sum(sum(profile[-1].values()) for profile in request.profiles if profile[1] == name)
        equal(sums, sum(folded(f'out.{name}.folded').values()), name)


def cpu_seconds(pid):
    return int(read(f'/proc/{pid}/schedstat').split()[0]) / 1e9


@case('sums are right when the CPU budget lowers the rate', needs=[needs_root, needs_sampling])
def lowered():
    # Of one program, so that little has to be read; all of its samples are delivered before the end.
    burner = subprocess.Popen([sys.executable, '-S', '-c', 'while True: pass'])
    with Receiver() as server:
        process = start_continuous('-v', '-i', '500ms', '--budget', '0.001%', '--finish-within', '60s', '-p', str(burner.pid),
                                   '-k', 'ring:folder=kept', '-k', f'otlp:endpoint={server.url}',
                                   source='cpu-stack:frequency=999')
        wait_until(lambda: re.search(r'1 of \d+ samples', read('err')), 'a lower rate')
        lowered_at, used = len(server.bodies), cpu_seconds(burner.pid)
        wait_until(lambda: len(server.bodies) >= lowered_at + 3 and cpu_seconds(burner.pid) >= used + 2, 'requests')
        process.send_signal(signal.SIGINT)
        burner.kill()
        burner.wait()
        equal(end(process).status, COMPLETE, read('err'))
    iaprof('--replay', 'kept', '-k', 'csv:output=all.csv,newline=lf').completes()
    rows = [row for row in csv.DictReader(read('all.csv').splitlines()) if row['value_type'] == 'cpu']
    found = cpu_time(server)
    equal(found, sum(int(row['value']) for row in rows), 'CPU time')
    samples = sum(int(row['count']) for row in rows)
    require(found > (samples + 1) * 10 ** 9 / 999, 'all samples count alike')


@case('a profile that is larger than a request may be is sent in parts')
def parts():
    limit = 16 << 10
    sums, sizes = [], []
    for option in '', f',request-size={limit}':
        with Receiver() as server:
            iaprof('--replay', DEMO, '-k', f'otlp:compression=none,endpoint={server.url}{option}').completes()
        sizes.append([len(body) for body in server.bodies])
        sums.append(collections.Counter())
        for request in requests(server):
            for resource, name, unit, *_, samples in request.profiles:
                for key, value in samples.items():
                    sums[-1][tuple(sorted(resource.items())), name, unit, key] += value
    equal(len(sizes[0]), 1, 'requests without a limit')
    require(sizes[0][0] > 2 * limit, f'it is no large profile: {sizes}')
    require(len(sizes[1]) > 2 and max(sizes[1]) <= limit, sizes)
    equal(sums[1], sums[0], 'values of all parts')


@case('samples of a device have its name, their stall reason and the class of their kernel')
def device():
    with Receiver() as server:
        send(server).completes()
    samples = next(profile[-1] for profile in requests(server)[0].profiles if profile[1] == 'gpu-stalls')
    reasons, classes = collections.Counter(), {}
    for (attributes, stack), value in samples.items():
        kernel, = {'feed_forward', 'softmax', 'attention_scores', 'rms_norm', 'bias_gelu'} & set(stack)
        classes.setdefault(kernel, set()).add(dict(attributes).get('device.kernel.class'))
        if 'feed_forward' in stack:
            reasons[dict(attributes).get('device.stall.reason')] += value
            require('main' in stack, f'no caller: {stack}')
    iaprof('--replay', DEMO, '-k', 'folded:annotate=no,output=out.folded').completes()
    wanted = collections.Counter()
    for stack, value in folded('out.gpu-stalls.folded').items():
        if 'feed_forward' in stack:
            wanted.update({reason: value for reason in reasons if reason in stack})
    equal(reasons, wanted, 'stall reasons of the kernel')
    require(reasons['sbid'] > sum(reasons.values()) / 2, reasons)
    equal(classes, {'feed_forward': {'matrix product'}, 'softmax': {'softmax'}, 'attention_scores': {'attention'},
                    'rms_norm': {'normalization'}, 'bias_gelu': {'activation'}}, 'classes of kernels')


@case('the variables of OpenTelemetry are used', needs=[])
def variables():
    with Receiver() as server:
        environment = {**os.environ, 'OTEL_EXPORTER_OTLP_ENDPOINT': server.url + '/',
                       'OTEL_EXPORTER_OTLP_HEADERS': 'authorization=Bearer%20x, X-Tenant = a%2Cb ,,',
                       'OTEL_EXPORTER_OTLP_COMPRESSION': 'none',
                       'OTEL_RESOURCE_ATTRIBUTES': 'deployment.environment=test%20bed,service.namespace=models'}
        iaprof('--replay', DEMO, '-k', 'otlp', env=environment).completes()
    (path, headers), = server.asked
    equal(path, '/v1development/profiles', 'path')
    equal((headers['authorization'], headers['X-Tenant'], headers['Content-Encoding']), ('Bearer x', 'a,b', None),
          'headers')
    for resource, *_ in requests(server)[0].profiles:
        equal(resource, {'deployment.environment': 'test bed', 'service.namespace': 'models'}, 'resource')


WRONG_HEADERS = {
    'secret': 'pair 1 is not NAME=VALUE', 'a=secret,secret': 'pair 2 is not NAME=VALUE', '=secret': 'pair 1 has no name',
    'Authorization: Bearer secret=': "pair 1: the name of a header cannot contain ':'",
    'secret key=secret': '.*without blanks', 'sécret=secret': '.*ASCII letters',
    'a=secret,bad=secret%0d%0aX-Evil: 1': r'pair 2 \(bad\): the value contains a line break',
    'bad=secret%00': r'pair 1 \(bad\): the value contains a control character',
    'authorization=': r'pair 1 \(authorization\) has no value', 'authorization=%20': r'pair 1 \(authorization\) has no value',
    **{f'{name}=secret': rf'pair 1 \({name}\): iaprof sets this header' for name in (
        'Content-Length', 'content-type', 'Content-Encoding', 'HOST', 'Transfer-Encoding', 'Expect')}}


@case('headers that are wrong are found before the run, and no value of them is shown')
def wrong_headers():
    for headers, pattern in WRONG_HEADERS.items():
        option = headers.replace(',', r'\,')
        for sink, name, environment in (
                (f'otlp:headers={option}', 'headers', {}),
                ('otlp', 'OTEL_EXPORTER_OTLP_HEADERS', {'OTEL_EXPORTER_OTLP_HEADERS': headers}),
                ('otlp-metrics', 'OTEL_EXPORTER_OTLP_METRICS_HEADERS', {'OTEL_EXPORTER_OTLP_METRICS_HEADERS': headers}),
                (f'pprof-push:headers={option}', 'headers', {})):
            check = [] if name == 'headers' else ['--check']
            outcome = iaprof('--replay', DEMO, '-k', sink, *check, env={**os.environ, **environment})
            outcome.fails(USAGE, f'^iaprof: sink {sink.partition(":")[0]}: {name}: {pattern}')
            require('secret' not in outcome.err, outcome.err)


@case('the URL and the certificates of a receiver are checked before the run')
def wrong_receiver():
    os.mkdir('folder')
    write('empty.pem', '')
    write('key.pem', '-----BEGIN PRIVATE KEY-----\n')
    write('good.pem', '# of us\n-----BEGIN CERTIFICATE-----\n')
    for sinks, key in ((['otlp', 'otlp-metrics'], 'endpoint'), (['pprof-push'], 'url')):
        for sink in sinks:
            for options, pattern in ((f'{key}=ftp://x', f'{key} ftp://x: has to begin with http:// or https://'),
                                     (f'{key}=http://', f'{key} http://: '), (f'{key}=', f'{key} : has to begin with http'),
                                     (f'{key}=http://x:99999', f'{key} http://x:99999: .*[Pp]ort'),
                                     (f'{key}=http://a b', f'{key} http://a b: '),
                                     ('certificate=no.pem', 'certificate no.pem: No such file'),
                                     ('certificate=folder', 'certificate folder: Is a directory'),
                                     ('certificate=empty.pem', 'certificate empty.pem: there is no certificate in it'),
                                     ('certificate=key.pem', 'certificate key.pem: there is no certificate in it'),
                                     ('certificate=', 'certificate is empty')):
                check = ['--check'] if sink == 'otlp-metrics' else []
                iaprof('--replay', DEMO, '-k', f'{sink}:{options}', *check).fails(
                    USAGE, f'^iaprof: sink {sink}: .*{pattern}')
            iaprof('--replay', DEMO, '-k', f'{sink}:certificate=good.pem', '--check').completes()
    for name, value, pattern in (('OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'has to begin with'),
                                 ('OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT', 'https://x:y', 'https://x:y: '),
                                 ('OTEL_EXPORTER_OTLP_CERTIFICATE', 'no.pem', 'no.pem: No such file')):
        iaprof('--replay', DEMO, '-k', 'otlp', env={**os.environ, name: value}).fails(USAGE, f'^iaprof: sink otlp: {name} .*{pattern}')


@case('a request is sent again when the receiver asks for it')
def again():
    with Receiver((503, {'Retry_After': '1'}), (429, {}), (502, {}), (504, {})) as server:
        send(server).completes('HTTP status 503')
    equal((len(server.asked), len(server.bodies)), (5, 1), 'requests')


@case('what a receiver does not want is not sent again, and is counted')
def refused():
    with Receiver((400, {})) as server:
        outcome = send(server)
    equal(outcome.status, FAILED, 'status')
    require(re.search(r'4 of 4 profiles were not delivered', outcome.err), outcome.err)
    equal(len(server.asked), 1, 'requests')


@case('the reason of a receiver for a refusal is reported, with the remedy', 'application/x-protobuf', b'\x08\x03\x12\x13limit 10\x1b[31m of it', b'')
@case('so is a plain text', 'text/plain; charset=utf-8', b'limit 10\x1b[31m of it', b'\nmore')
def explained(kind, body, more):
    with Receiver((413, {'Content_Type': kind}), body=body + more) as server:
        outcome = send(server, '-q')
    equal(outcome.status, FAILED, 'status')
    require(re.search(r'not delivered to .*: HTTP status 413: limit 10.*of it \(set a smaller request-size=', outcome.err)
            and not re.search('\x1b|more', outcome.err), outcome.err)


@case('a receiver that asks for more time than is left is not waited for')
def too_late():
    # The run would hang: three minutes are left for its end, and the next try would be in five.
    with Receiver((503, {'Retry_After': '3600'})) as server:
        outcome = send(server, '--finish-within', '4m')
    equal((outcome.status, len(server.asked)), (FAILED, 1), 'status and requests')


@case('what a receiver takes in part is counted, with its reason')
def partial():
    text = b'a label\x1b[31m is too long'
    with Receiver(body=b'\x0a' + bytes([len(text) + 4]) + b'\x08\x03\x12' + bytes([len(text)]) + text) as server:
        outcome = send(server)
    equal(outcome.status, FAILED, 'status')
    require(re.search(r'3 of 4 profiles were not delivered', outcome.err), outcome.err)
    require('a label' in outcome.err and '\x1b' not in outcome.err, outcome.err)


@case('answers that are none do no harm')
def nonsense():
    for body in (b'<html>' * 100000, b'\x0a\xff\xff\xff\xff\x0f', b'\x0a\x02\x08'):
        with Receiver(body=body) as server:
            send(server).completes()


@case('a receiver that is not there, or does not answer, delays only the end, by a limited time',
      needs=[needs_root, needs_sampling])
def absent():
    silent = Server(lambda handler, server: server.ending.wait(60))
    with silent:
        for url in ('http://127.0.0.1:9', silent.url):
            outcome = iaprof('-s', 'cpu-stack:idle=yes', '-d', '1', '-k', f'otlp:endpoint={url}', '-k',
                             'folded:output=out')
            equal(outcome.status, FAILED, 'status')
            require(re.search('not delivered', outcome.err), outcome.err)
            require(folded('out'), 'the other sink has nothing')
            os.remove('out')


def send_spool(server):
    """A replay sends what is in the spool as long as it has data of its own; the next one sends the rest. -> replays"""
    replays = 0
    while not replays or os.listdir('waiting'):
        iaprof('--replay', DEMO, '-k', f'otlp:spool=waiting,endpoint={server.url}').completes()
        replays += 1
    return replays


@case('a replay does not wait for a receiver that is not there: the spool has the rest for the next run', 503, needs=[])
@case('a receiver that refuses the credentials: the spool has the rest for the next run', 401, needs=[])
def replay_into_spool(status):
    # It would take the request the next time: within the 60 s that a replay waits without a spool.
    with Receiver((status, {'Retry_After': '30'})) as server:
        outcome = iaprof('--replay', DEMO, '-k', f'otlp:spool=waiting,endpoint={server.url}')
    equal(outcome.status, COMPLETE, 'status')
    require(re.search('warning: otlp: http.*: [0-9]+ profiles wait in the spool for the next run that uses it: '
                      f'HTTP status {status}', outcome.err), outcome.err)
    waiting = os.listdir('waiting')
    require(waiting, 'the spool has nothing')
    with Receiver() as server:
        send(server).completes()
        alone = len(server.bodies)
    with Receiver() as server:
        replays = send_spool(server)
        equal(len(server.bodies), replays * alone + len(waiting), 'requests')


@case('what waits in the spool survives the end of the process', needs=[needs_root, needs_sampling])
def killed():
    with Receiver(*[(503, {})] * 1000) as server:
        process = start('--continuous', '-i', '300ms', '-s', 'cpu-stack:idle=yes', '-k',
                        f'otlp:spool=waiting,endpoint={server.url}')
        wait_until(lambda: os.path.isdir('waiting') and len(os.listdir('waiting')) > 3, 'requests in the spool')
        process.kill()
        process.communicate()
    waiting = [name for name in os.listdir('waiting') if name.endswith('.request')]
    with Receiver() as server:
        replays = send_spool(server)
        equal(len(server.bodies), replays + len(waiting), 'requests')
        require(all(request.profiles for request in requests(server)), 'a request is empty')


def runs_ended():
    return len(re.findall(' samples? in ', read('err')))


# A sanitizer takes more than a run may before it is restarted.
ENOUGH_MEMORY = '--memory', '64GiB'


def start_continuous(*arguments, source='cpu-stack:idle=yes'):
    """Its standard error is in the file err."""
    with open('err', 'wb') as err:
        return start('--continuous', '-s', source, *arguments, stderr=err)


def end_continuous(process, runs):
    process.send_signal(signal.SIGINT)
    equal(end(process).status, COMPLETE, read('err'))
    require('the run continues' not in read('err') and runs_ended() >= runs, read('err'))


class Gate:
    """A receiver that takes requests only while it is open."""

    def __init__(self, status=503):
        self.is_open, self.bodies = False, []

        def answer(handler, _):
            taken = take(handler)
            if self.is_open:
                self.bodies.append(taken)
            reply(handler, 200 if self.is_open else status)
        self.server = Server(answer)

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *ignored):
        self.server.__exit__()


def reload_with_ring(gate, sink, runs):
    """Reloads a run, whose intervals are also kept, after some of them each."""
    process = start_continuous('-i', '200ms', *ENOUGH_MEMORY, '-k', f'otlp:endpoint={gate.server.url}{sink}', '-k',
                               'ring:folder=kept')
    for number in range(runs):
        count = len(os.listdir('kept')) if os.path.isdir('kept') else 0
        wait_until(lambda: os.path.isdir('kept') and len(os.listdir('kept')) > count + 2, 'intervals')  # pylint: disable=cell-var-from-loop
        if number < runs - 1:
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: runs_ended() == number + 1, 'the end of the earlier run')  # pylint: disable=cell-var-from-loop
    equal(gate.bodies, [], 'requests')
    gate.is_open = True
    return process


@case('totals are exact after reloads: what waits is left to the next run in the spool', needs=[needs_root, needs_sampling])
def left():
    with Gate() as gate:
        process = reload_with_ring(gate, ',spool=waiting', 3)
        wait_until(lambda: not [name for name in os.listdir('waiting') if name.endswith('.request')], 'an empty spool')
        end_continuous(process, 3)
    equal(len(re.findall(r'profiles? waits? in the spool .*: HTTP status 503', read('err'))), 2, read('err'))
    require('not delivered' not in read('err'), read('err'))
    iaprof('--replay', 'kept', '-k', 'csv:output=all.csv,newline=lf').completes()
    rows = csv.DictReader(read('all.csv').splitlines())
    equal(cpu_time(gate), sum(int(row['value']) for row in rows if row['value_type'] == 'cpu'), 'CPU time')


@case('without a spool, what cannot be sent at a reload is counted', needs=[needs_root, needs_sampling])
def counted():
    with Gate() as gate:
        process = reload_with_ring(gate, '', 3)
        wait_until(lambda: gate.bodies, 'requests')
        process.send_signal(signal.SIGINT)
        equal(end(process).status, FAILED, read('err'))
    found = re.findall(r'(\d+) of (\d+) profiles? w\w+ not delivered to .* \((\d+) not sent in time: HTTP status 503\)', read('err'))
    require(len(found) == 2 and all(len(set(numbers)) == 1 and int(numbers[0]) > 2 for numbers in found), read('err'))


@case('a reload waits for the answer to a request, so that it is not sent twice', needs=[needs_root, needs_sampling])
def slow_answers():
    def answer(handler, server):
        taken = take(handler)
        server.ending.wait(pause)
        bodies.append(taken)
        reply(handler, 200)
    bodies, pause = [], 0.4
    with Server(answer) as server:
        process = start_continuous('-i', '500ms', *ENOUGH_MEMORY, '--finish-within', '20s', '-k', f'otlp:endpoint={server.url}',
                                   '-k', 'ring:folder=kept')
        for number in range(1, 4):
            before = len(server.asked)
            wait_until(lambda: len(server.asked) > before, 'a request')  # pylint: disable=cell-var-from-loop
            process.send_signal(signal.SIGHUP)
            wait_until(lambda: runs_ended() == number, 'the end of the earlier run')  # pylint: disable=cell-var-from-loop
        # What waits by now would take longer than the end of a run.
        pause = 0
        end_continuous(process, 4)
    equal(len(set(bodies)), len(bodies), 'different requests')
    iaprof('--replay', 'kept', '-k', 'csv:output=all.csv,newline=lf').completes()
    rows = csv.DictReader(read('all.csv').splitlines())
    found = sum(sum(profile[-1].values()) * profile[4] for body in bodies for profile in Request(body).profiles
                if profile[1] == 'samples')
    equal(found, sum(int(row['value']) for row in rows if row['value_type'] == 'cpu'), 'CPU time')


@case('each loss has its reason', needs=[needs_root, needs_sampling])
def reasons():
    with Receiver((503, {}), (400, {}), (200, {}), (503, {}), (413, {})) as server:
        process = start_continuous('-i', '100ms', '-k', f'otlp:endpoint=http://user:secret@{server.url[7:]}')
        wait_until(lambda: len(server.bodies) > 2, 'requests')
        process.send_signal(signal.SIGINT)
        equal(end(process).status, FAILED, read('err'))
    text = read('err')
    for pattern in ('HTTP status 503$', 'HTTP status 400$', 'accepts requests again$',
                    r'\d+ of \d+ profiles were not delivered to http://127.0.0.1:\d+/v1development/profiles '
                    r'\(\d+ refused: HTTP status 413 \(set'):
        require(re.search(pattern, text, re.M), f'{pattern}: {text}')
    require('secret' not in text, text)


@case('a spool whose folder was removed keeps nothing', needs=[needs_root, needs_sampling])
def removed_spool():
    with Gate() as gate:
        process = start_continuous('-i', '100ms', '-k', f'otlp:endpoint={gate.server.url},spool=waiting')
        wait_until(lambda: os.path.isdir('waiting') and len(os.listdir('waiting')) > 2, 'requests in the spool')
        shutil.rmtree('waiting')
        process.send_signal(signal.SIGINT)
        equal(end(process).status, FAILED, read('err'))
    require('dropped: the folder of the spool was removed' in read('err'), read('err'))


@case('requests in the format of an earlier configuration are dropped, and counted', needs=[needs_root, needs_sampling])
def other_form():
    def configure(compression):
        write('run.ini', f'[iaprof]\ncontinuous = yes\ninterval = 200ms\n[source:cpu-stack]\nidle = yes\n[sink:otlp]\n'
              f'endpoint = {gate.server.url}\ncompression = {compression}\nspool = waiting\n')
    with Gate() as gate, open('err', 'wb') as err:
        configure('gzip')
        process = start('-c', 'run.ini', stderr=err)
        wait_until(lambda: len(gate.server.asked) > 1, 'a request')
        configure('none')
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: 'has the format of another configuration' in read('err'), 'a message')
        gate.is_open = True
        wait_until(lambda: gate.bodies, 'a request')
        process.send_signal(signal.SIGINT)
        equal(end(process).status, FAILED, read('err'))
    left_over = int(re.search(r'(\d+) profiles? waits? in the spool', read('err'))[1])
    dropped = int(re.search(r'not delivered to .* \((\d+) dropped: a file of the spool', read('err'))[1])
    equal(dropped, left_over, read('err'))


@case('a spool that is full, and a disk that is full, are the reason', needs=[needs_root, needs_sampling])
def no_room():
    own_mounts()
    with Gate() as gate, small_disk('disk', 'size=16k,mode=700') as disk:
        write(f'{disk}/other', 'x' * (16 << 10))
        process = start_continuous('-i', '100ms', '-k', f'otlp:endpoint={gate.server.url},spool={disk}')
        wait_until(lambda: 'requests wait in memory' in read('err'), 'a message')
        process.send_signal(signal.SIGINT)
        equal(end(process).status, FAILED, read('err'))
    require(re.search(r'dropped waiting requests: spool disk: No space left on device', read('err')), read('err'))
    require(re.search(r'profiles? w.* not delivered to .* \(\d+ dropped: spool disk: No space left on device', read('err')),
            read('err'))


@case('a run with a spool is reloaded', needs=[needs_root, needs_sampling])
def reloaded():
    with Receiver() as server:
        sinks = [f'{name}={server.url},spool=waiting' for name in ('otlp:endpoint', 'otlp-metrics:endpoint',
                                                                  f'pprof-push:{ISOLATED}url')]
        process = start_continuous('-i', '300ms', *(argument for sink in sinks for argument in ('-k', sink)))
        for number in range(3):
            wait_until(lambda: runs_ended() == number, 'the end of the earlier run')  # pylint: disable=cell-var-from-loop
            before = len(server.asked)
            wait_until(lambda: len({path for path, _ in server.asked[before:]}) == 3, 'requests of each sink')  # pylint: disable=cell-var-from-loop
            if number < 2:
                process.send_signal(signal.SIGHUP)
        end_continuous(process, 3)
    equal(os.listdir('waiting'), [], 'files')


@case('a run with a spool is restarted because of memory', needs=[needs_root, needs_sampling])
def restarted_because_of_memory():
    with Receiver() as server:
        process = start_continuous('-i', '100ms', '--memory', '1MiB', '-k', f'otlp:spool=waiting,endpoint={server.url}')
        wait_until(runs_ended, 'the end of a run')
        end_continuous(process, 2)


@case('processes have the service that they are of, also when they have ended', needs=[needs_root, needs_sampling])
def resources():
    spin = 'import time\nwhile time.process_time() < 0.7: pass'
    environment = {**os.environ, 'OTEL_SERVICE_NAME': 'trainer',
                   'OTEL_RESOURCE_ATTRIBUTES': 'service.version=7,service.name=ignored', 'PMI_RANK': '3',
                   'PMI_SIZE': '4'}
    with Receiver() as server:
        iaprof('-s', 'cpu-stack:frequency=997,drain=100ms', '--scope', 'command', '-k', f'otlp:endpoint={server.url}',
               sys.executable, '-c', spin, env=environment).completes()
    found = [profile for request in requests(server) for profile in request.profiles if profile[1] == 'samples']
    values = {profile[0].get('service.name'): sum(profile[-1].values()) for profile in found}
    require(values['trainer'] > 0.9 * sum(values.values()), values)
    resource = next(profile[0] for profile in found if profile[0].get('service.name') == 'trainer')
    equal((resource['service.version'], resource['process.rank'], resource['host.name'], resource['os.type']),
          ('7', '3', os.uname().nodename, 'linux'), 'resource')


@case('intervals add up to the profile of the whole run')
def intervals():
    with Receiver() as server:
        send(server, '--interval', '1s').completes()
    sums = collections.Counter()
    for request in requests(server):
        for _, name, *_, samples in request.profiles:
            sums[name] += sum(samples.values())
    require(len(server.bodies) > 3, f'{len(server.bodies)} requests')
    with Receiver() as server:
        send(server).completes()
    whole = collections.Counter()
    for _, name, *_, samples in requests(server)[0].profiles:
        whole[name] += sum(samples.values())
    equal(sums, whole, 'sums')


if __name__ == '__main__':
    main()
