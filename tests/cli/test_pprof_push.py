#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The sink pprof-push: what a server gets is the profile, as go tool pprof reads it, and nothing is lost uncounted."""
import base64
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import uuid

from harness import (FAILED, SOURCE, USAGE, case, equal, iaprof, main, needs_program, needs_root, needs_sampling, read,
                     require, write)
from web_server import Receiver, Server

sys.path.append(os.path.join(SOURCE, 'tests/sink'))
from pprof_profile import samples_of  # below the path that leads to it

DEMO = os.path.join(SOURCE, 'examples/demo.iaprof')
PUSH = '/push.v1.PusherService/Push'


def send(server, *arguments, options='', **more):
    return iaprof('--replay', DEMO, '-k', f'pprof-push:url={server.url}{options}', *arguments, **more)


def series(body):
    """-> {name: (the other labels, the profile)}"""
    found = {}
    for one in json.loads(body)['series']:
        labels = {label['name']: label['value'] for label in one['labels']}
        equal(len(labels), len(one['labels']), 'labels')
        sample, = one['samples']
        equal(str(uuid.UUID(sample['ID'], version=4)), sample['ID'], 'id')
        name = labels.pop('__name__')
        require(name not in found, f'{name} twice')
        found[name] = labels, base64.b64decode(sample['rawProfile'], validate=True)
    return found


def pprof(profile, *arguments):
    write('received.pb.gz', profile)
    return subprocess.run(['go', 'tool', 'pprof', *arguments, 'received.pb.gz'], check=True, capture_output=True,
                          encoding='utf-8', env={**os.environ, 'HOME': os.getcwd(), 'PPROF_TMPDIR': os.getcwd()}).stdout


def totals(profile):
    """-> {(value type, unit): sum of the samples}, from go tool pprof -raw"""
    text = pprof(profile, '-raw')
    types = re.search(r'^Samples:\n(.*)$', text, re.M)[1].replace('[dflt]', '').split()
    sums = collections.Counter()
    for line in text.split('\nSamples:\n')[1].split('\nLocations\n')[0].splitlines()[1:]:
        values = re.match(r'\s*((?:\d+\s+)*\d+):', line)
        if values:
            sums.update(dict(zip(types, map(int, values[1].split()))))
    return {tuple(name.split('/')): value for name, value in sums.items()}


def folded(name):
    return sum(int(line.rpartition(' ')[2]) for line in read(f'out.{name}.folded').splitlines())


WANTED = {'process_cpu': ('cpu', 'nanoseconds'), 'gpu_stalls': ('gpu-stalls', 'count'),
          'npu_calls': ('npu-calls', 'count'), 'npu_time': ('npu-time', 'nanoseconds')}


@case('Pyroscope gets a series for each value type, with its total', needs=[needs_program('go')])
def pushed():
    with Receiver() as server:
        send(server, '-k', 'folded:output=out.folded', options=r',service=say "x",labels=region=eu\,rack=7').completes()
    equal([(path, headers['Content-Type']) for path, headers in server.asked], [(PUSH, 'application/json')], 'request')
    found = series(server.bodies[0])
    equal(sorted(found), sorted(WANTED), 'series')
    for name, (labels, profile) in found.items():
        equal(labels, {'service_name': 'say "x"', 'region': 'eu', 'rack': '7'}, 'labels')
        equal(totals(profile), {WANTED[name]: folded(WANTED[name][0])}, name)
    top = pprof(found['gpu_stalls'][1], '-top', '-tagfocus=reason=sbid')
    require('feed_forward' in top, top)


# What Pyroscope takes by default.
SAMPLES_MAX, BURST = 16000, 2 << 20


@case('a series of many stacks is divided as Pyroscope takes it', 40000, '')
@case('a series of long names is divided as Pyroscope takes it', 20000, 'function_' * 30)
def divided(count, name):
    write('in.folded', ''.join(f'program;main;{name}{i} {i % 7 + 1}\n' for i in range(count)))
    with Receiver() as server:
        iaprof('-s', 'replay:file=in.folded', '-k', f'pprof-push:url={server.url},labels=region=eu').completes()
    total, ids = 0, set()
    for body in server.bodies:
        size = 0
        for one in json.loads(body)['series']:
            equal({label['name'] for label in one['labels']}, {'__name__', 'service_name', 'region'}, 'labels')
            sample, = one['samples']
            ids.add(sample['ID'])
            profile = gzip.decompress(base64.b64decode(sample['rawProfile'], validate=True))
            values = samples_of(profile)
            require(len(values) <= SAMPLES_MAX, f'{len(values)} samples')
            total += sum(value for value, in values)
            size += len(profile)
        require(size <= BURST, f'{size} bytes')
    require(len(ids) > 1, f'{len(ids)} profiles')
    equal(total, sum(i % 7 + 1 for i in range(count)), 'sum of all requests')


@case('a plain upload is the profile of sink pprof', needs=[needs_program('go')])
def plain():
    with Receiver() as server:
        send(server, '-k', 'folded:output=out.folded', '-k', 'pprof:output=out.pb.gz',
             options='/up/load?x=1,format=plain').completes()
    equal([(path, headers['Content-Type']) for path, headers in server.asked],
          [('/up/load?x=1', 'application/octet-stream')], 'request')
    equal(totals(server.bodies[0]), {kind: folded(kind[0]) for kind in WANTED.values()}, 'totals')
    received = gzip.decompress(server.bodies[0])
    with gzip.open('out.pb.gz') as file:
        # Without the comments of findings, which are of a whole run.
        require(abs(len(received) - len(file.read())) < 4096, f'{len(received)} bytes')


@case('intervals add up to the profile of the whole run', needs=[needs_program('go')])
def intervals():
    with Receiver() as server:
        send(server, '--interval', '2s').completes()
    require(len(server.bodies) > 2, f'{len(server.bodies)} requests')
    sums = collections.Counter()
    for body in server.bodies:
        for _, profile in series(body).values():
            sums.update(totals(profile))
    with Receiver() as server:
        send(server).completes()
    whole = collections.Counter()
    for _, profile in series(server.bodies[0]).values():
        whole.update(totals(profile))
    equal(sums, whole, 'sums')


@case('a request is sent again when the server asks for it, with the headers of the user')
def again():
    with Receiver((503, {'Retry_After': '1'}), (429, {})) as server:
        send(server, options=',headers=X-Scope-OrgID=team%201').completes('HTTP status 503')
    equal((len(server.asked), len(server.bodies)), (3, 1), 'requests')
    equal({headers['X-Scope-OrgID'] for _, headers in server.asked}, {'team 1'}, 'tenant')


@case('what a server does not want is counted, and not sent again')
def refused():
    with Receiver((400, {})) as server:
        outcome = send(server)
    equal(outcome.status, FAILED, 'status')
    require('4 of 4 profiles were not delivered' in outcome.err, outcome.err)
    equal(len(server.asked), 1, 'requests')


@case('a server that does not answer delays only the end', needs=[needs_root, needs_sampling])
def absent():
    with Server(lambda handler, server: server.ending.wait(60)) as silent:
        outcome = iaprof('-s', 'cpu-stack:idle=yes', '-d', '500ms', '-k', f'pprof-push:url={silent.url}', '-k',
                         'folded:output=out')
    equal(outcome.status, FAILED, 'status')
    require('1 of 1 profile was not delivered' in outcome.err, outcome.err)
    require(read('out'), 'the other sink has nothing')


@case('a live run has the label of its machine', needs=[needs_root, needs_sampling])
def live():
    with Receiver() as server:
        iaprof('-s', 'cpu-stack:idle=yes', '-d', '500ms', '-k', f'pprof-push:url={server.url}').completes()
    (labels, _), = series(server.bodies[0]).values()
    equal(labels, {'service_name': 'iaprof', 'hostname': os.uname().nodename}, 'labels')


@case('options that are wrong are errors')
def wrong():
    names = r'\,'.join(f'l{i}=x' for i in range(28))
    for options, message in (('a', "'a' is not NAME=VALUE"), ('dash-ed=c', r"'dash-ed' is not a name \(use letters, digits and _"),
                             ('1a=c', "'1a' is not a name"), ('=c', "'' is not a name"),
                             (r'a=1\,b=2\,a=3', 'a is set twice'), ('service_name=x', 'service_name is set with service='),
                             ('__name__=x', '__name__ is the value type of a series'), (names, 'more than 27 labels')):
        iaprof('--replay', DEMO, '-k', f'pprof-push:labels={options}', '--check').fails(
            USAGE, f'^iaprof: sink pprof-push: labels: {message}')
    with Receiver() as server:
        send(server, options=',labels=' + names.rpartition(r'\,')[0]).completes()
    (labels, _), *_ = series(server.bodies[0]).values()
    equal(len(labels), 28, 'labels')


if __name__ == '__main__':
    main()
