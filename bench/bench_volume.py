#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one machine sends: bytes of otlp, pprof-push and prometheus for each interval at their defaults, beside the size
of a raw capture and what perf record writes in the same time: bench_volume.py IAPROF [INTERVALS].

The phases are the machine as it is, and a load of many programs: shells that start compilers, interpreters and tools.
"""
import base64
import collections
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'tests/sink'))
import pprof_profile

IAPROF = os.path.abspath(sys.argv[1])
INTERVALS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
INTERVAL = 10  # the default of the sinks, in seconds
PORT = 9858
LOAD = '''
cd "$1"
echo 'int main(void) { return 0; }' >a.c
while :; do
  gcc -O2 -o a a.c; python3 -c 'import json, http.client; print(sum(i * i for i in range(200000)))' >a.out
  ls -lR /usr/share/doc 2>/dev/null | sort | gzip | wc -c >a.out; perl -e 'my $s = 0; $s += $_ for 1 .. 300000' >a.out
done
'''


class Receiver(http.server.ThreadingHTTPServer):
    """Counts what it is sent, by path. pushed: of each profile that was pushed, its bytes before compression and samples."""

    def __init__(self):
        self.sizes = sizes = collections.defaultdict(list)
        self.pushed = pushed = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                length = int(self.headers['Content-Length'])
                body = self.rfile.read(length)
                sizes[self.path].append(length)
                if self.headers['Content-Type'] == 'application/json':
                    for series in json.loads(body)['series']:
                        profiles = [gzip.decompress(base64.b64decode(sample['rawProfile'])) for sample in series['samples']]
                        pushed.extend((len(profile), len(pprof_profile.samples_of(profile))) for profile in profiles)
                self.send_response(200)
                self.send_header('Content-Length', '0')
                self.end_headers()

            def log_message(self, *arguments):
                pass
        super().__init__(('127.0.0.1', 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def measure(name):
    receiver = Receiver()
    url = f'http://127.0.0.1:{receiver.server_port}'
    seconds = INTERVAL * (INTERVALS + 1) - INTERVAL // 2
    perf = subprocess.Popen(['perf', 'record', '-q', '-a', '-g', '-F', '99', '-o', 'perf.data', '--', 'sleep',
                             str(INTERVAL * INTERVALS)]) if shutil.which('perf') else None
    run = subprocess.Popen([IAPROF, '-s', 'cpu-stack', '-d', str(seconds), '--record', 'run.iaprof', '-k',
                            f'otlp:endpoint={url}', '-k', f'pprof-push:url={url}', '-k',
                            f'prometheus:address=127.0.0.1:{PORT}'], stderr=subprocess.PIPE, encoding='utf-8')
    time.sleep(INTERVAL * INTERVALS + 2)
    with urllib.request.urlopen(f'http://127.0.0.1:{PORT}/metrics') as answer:
        page = answer.read().decode()
    samples = sum(map(float, re.findall(r'^iaprof_samples_total\S* (\S+)$', page, re.M)))
    said = run.communicate()[1]
    print(f'{name}: {samples / INTERVALS:.0f} samples in an interval of {INTERVAL} s')
    # The last request covers a shorter interval.
    for path, sizes in sorted(receiver.sizes.items()):
        sizes = sizes[:INTERVALS]
        print(f'  {path}: {statistics.mean(sizes) / 1024:.1f} KiB an interval ({min(sizes) / 1024:.1f} to '
              f'{max(sizes) / 1024:.1f}), {statistics.mean(sizes) * 3600 / INTERVAL / 2**20:.1f} MiB an hour')
    size, samples = map(max, zip(*receiver.pushed))
    print(f'  largest profile that was pushed: {size / 1024:.0f} KiB before compression, {samples} samples; '
          f'{len(receiver.pushed)} profiles')
    lines = [line for line in page.splitlines() if not line.startswith('#')]
    print(f'  /metrics: {len(page) / 1024:.1f} KiB a scrape, {len(lines)} series')
    print(f'  capture: {os.path.getsize("run.iaprof") * 3600 / seconds / 2**20:.1f} MiB an hour')
    if perf and perf.wait() == 0:
        size = os.path.getsize('perf.data') / INTERVALS
        sent = statistics.mean(receiver.sizes['/v1development/profiles'][:INTERVALS])
        print(f'  perf record -a -g: {size / 1024:.0f} KiB an interval, {size / sent:.1f} times what otlp sends')
    print('  ' + said.strip().splitlines()[-1])


def main():
    with tempfile.TemporaryDirectory() as folder:
        home = os.getcwd()
        os.chdir(folder)
        measure('as it is')
        loads = [subprocess.Popen(['sh', '-c', LOAD, 'sh', tempfile.mkdtemp(dir=folder)], start_new_session=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(os.cpu_count())]
        try:
            measure('under load')
        finally:
            for load in loads:
                os.killpg(load.pid, signal.SIGKILL)
                load.wait()
        os.chdir(home)


if __name__ == '__main__':
    main()
