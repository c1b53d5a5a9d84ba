#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: covers plugins/sink-capture/** plugins/sink-csv/** plugins/sink-firefox/** plugins/sink-flamegraph/**
# lab: covers plugins/sink-folded/** plugins/sink-iaprof/** plugins/sink-perfetto/** plugins/sink-pprof/**
# lab: covers plugins/sink-pprof-push/** plugins/sink-ring/** plugins/sink-speedscope/** plugins/sink-summary/**
# lab: covers plugins/sink-top/** plugins/replay/** lib/pprof/** lib/ring/** lib/capture/** lib/http/** core/run/output/**
# lab: covers tests/sink/*.py examples/demo.iaprof
"""All sinks in one run with samples of this machine: each has the total that folded has, and so have replays. TAP."""
import base64
import csv
import gzip
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[up] / name) for up, name in ((1, ''), (2, 'sink'))]

from firefox_profile import FirefoxProfile
from harness.cases import check, equal, named, run
from perfetto_trace import Trace
from pprof_profile import samples_of

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ('LAB_SOURCE', 'LAB_BUILD'))
LIVE = ('-d', '1s', '-s', 'cpu-stack:idle=yes')
FILES = ('folded:output=out.folded', 'csv:rows=stacks,newline=lf,output=out.csv', 'pprof:output=out.pb.gz',
         'speedscope:output=out.speedscope', 'firefox:output=out.firefox', 'perfetto:output=out.perfetto',
         'capture:output=out.iaprof', 'ring:folder=ring', 'summary:format=json,output=out.json',
         'top:batch=yes,table=functions,since-start=yes,output=out.top',
         'flamegraph:output=out.svg', 'flamegraph.page:output=out.html')


def iaprof(*arguments, sinks=()):
    options = [word for sink in sinks for word in ('-k', sink)]
    outcome = subprocess.run([BUILD / 'iaprof', '-q', *map(str, arguments), *options], stderr=subprocess.PIPE, check=False,
                             encoding='utf-8', timeout=300)
    equal(outcome.returncode, 0, outcome.stderr)


def folded_total(path):
    return sum(int(line.rpartition(' ')[2]) for line in pathlib.Path(path).read_text(encoding='utf-8').splitlines())


def pprof_total(profile):
    return sum(values[-1] for values in samples_of(gzip.decompress(profile)))


def files_have_the_same_total():
    iaprof(*LIVE, sinks=FILES)
    total = folded_total('out.folded')
    check(total > 0, 'no samples')
    with open('out.csv', encoding='utf-8', newline='') as file:
        rows = [row for row in csv.DictReader(file) if row['value_type'] == 'cpu']
    equal(sum(int(row['value']) for row in rows), total, 'csv')
    equal(len(Trace(pathlib.Path('out.perfetto')).samples), sum(int(row['count']) for row in rows), 'samples of perfetto')
    equal(pprof_total(pathlib.Path('out.pb.gz').read_bytes()), total, 'pprof')
    profiles = json.loads(pathlib.Path('out.speedscope').read_text(encoding='utf-8'))['profiles']
    equal(sum(sum(profile['weights']) for profile in profiles if profile['name'] == 'CPU time'), total, 'speedscope')
    values = FirefoxProfile(pathlib.Path('out.firefox')).values()
    equal(round(sum(sum(stacks.values()) for stacks in values.values())), total, 'firefox')
    summary = json.loads(pathlib.Path('out.json').read_text(encoding='utf-8'))
    equal(summary['total'], total, 'summary')
    hottest = summary['functions'][0]['name']
    for path, text in ('out.top', hottest), ('out.svg', '</svg>'), ('out.html', '</html>'):
        check(text in pathlib.Path(path).read_text(encoding='utf-8'), f'{text} is not in {path}')
    for recorded in 'out.iaprof', 'ring':
        iaprof('--replay', recorded, sinks=['folded:output=replayed.folded'])
        equal(folded_total('replayed.folded'), total, f'replay of {recorded}')


def gpu_stalls_of_iaprof_are_replayed():
    iaprof('--replay', SOURCE / 'examples/demo.iaprof',
           sinks=['iaprof:output=out.txt', 'folded:value=gpu-stalls,output=out.folded'])
    iaprof('--replay', 'out.txt', sinks=['folded:value=gpu-stalls,output=replayed.folded'])
    total = folded_total('out.folded')
    check(total > 0, 'no stalls')
    equal(folded_total('replayed.folded'), total, 'replay of the text')


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps the bodies that are posted."""
    bodies = []

    def do_POST(self):  # pylint: disable=invalid-name
        self.bodies.append(self.rfile.read(int(self.headers['Content-Length'])))
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *arguments):
        """Prints nothing."""


def pprof_push_sends_the_same_total():
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Receiver) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            iaprof(*LIVE, sinks=['folded:output=out.folded', f'pprof-push:url=http://127.0.0.1:{server.server_port}'])
        finally:
            server.shutdown()
    profiles = [sample['rawProfile'] for body in Receiver.bodies for one in json.loads(body)['series'] for sample in one['samples']]
    equal(sum(pprof_total(base64.b64decode(profile)) for profile in profiles), folded_total('out.folded'), 'what was sent')


sys.exit(run(named(files_have_the_same_total, gpu_stalls_of_iaprof_are_replayed, pprof_push_sends_the_same_total)) != 0)
