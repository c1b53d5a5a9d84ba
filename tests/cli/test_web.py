#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""iaprof-web: who may read the page, what it refuses, and that its numbers and flame graphs are those of the ring."""
import contextlib
import datetime
import http.client
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import urllib.parse

from harness import (COMPLETE, FAILED, PLUGINS, PROGRAM, TIMEOUT, USAGE, Skip, case, end, equal, iaprof, main, needs_program, needs_root,
                     require, start, wait_until, write)
from slow_clients import SlowClients, answers_meanwhile

WEB = os.environ['TEST_IAPROF_WEB']
KNOWN = os.path.join(PLUGINS, 'iaprof-known-source.so')
SEGMENT = re.compile(r'\d{8}T\d{6}\.\d{9}Z-\d+\.iaprof')
T = 1790000000  # s: when rings that are made here begin
POLICY = "default-src 'none'"


def needs_web():
    if not WEB:
        raise Skip('built without libmicrohttpd')


def web_case(name, needs=()):
    return case(name, needs=[needs_web, *needs])


def recorded(keys='', count=2, folder='recorded', wrap=()):
    """Segments of the known source. -> their names"""
    process = start('--continuous', '-i', '300ms', '-s', KNOWN, '--hold', '20ms', '-k', f'ring:folder={folder}{keys}', wrap=wrap)

    def segments():
        require(process.poll() in (None, COMPLETE), 'the run failed')
        return sorted(filter(SEGMENT.fullmatch, os.listdir(folder))) if os.path.isdir(folder) else []
    wait_until(lambda: len(segments()) >= count, 'segments')
    process.send_signal(signal.SIGINT)
    equal(end(process).status, COMPLETE, 'exit status')
    return segments()


def segment_name(begin, seconds):
    date = datetime.datetime.fromtimestamp(begin, datetime.timezone.utc)
    return f'{date:%Y%m%dT%H%M%S}.000000000Z-{seconds * 10 ** 9}.iaprof'


def ring(*times, folder='ring'):
    """A ring with the same segment at several times: (begin, seconds). -> its file"""
    os.mkdir(folder, 0o700)
    # One segment for the whole run: the stalls of an interval may be in the next one.
    iaprof('--continuous', '-i', '1h', '-d', '500ms', '-s', KNOWN, '--hold', '20ms', '-k', 'ring:folder=recorded').completes()
    path = 'recorded/' + next(filter(SEGMENT.fullmatch, os.listdir('recorded')))
    for begin, seconds in times:
        shutil.copy(path, f'{folder}/{segment_name(begin, seconds)}')
    return path


def empty_segment():
    """A ring for programs that do not read it: with an interval from 1 s to 4 s."""
    os.mkdir('ring')
    write(f'ring/{segment_name(1, 3)}', '')


class Web:
    """A server until the end of a with statement, and its visitor."""

    def __init__(self, *arguments, folder='ring', program=PROGRAM, wrap=(), warning=''):
        self.warning = warning
        self.arguments = ['--folder', folder, '--iaprof', program, '--address', '127.0.0.1:0', *arguments]
        self.wrap = wrap

    def __enter__(self):
        self.process = start(*self.arguments, program=WEB, wrap=self.wrap, bufsize=0)
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r'http://127\.0\.0\.1:(\d+)(/\?token=([0-9a-f]{64}))\n', line)
        require(found, f'no address: {line} {self.process.stderr.read() if not line else ""}')
        self.port, self.entrance, self.token = int(found[1]), found[2], found[3]
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        outcome = end(self.process)
        if kind is None:
            equal(outcome.status, COMPLETE, 'the end of the server')
            require(re.fullmatch(self.warning, outcome.err), f'messages: {outcome.err}')

    def ask(self, path, method='GET', host=None, **headers):
        """-> status, headers, body"""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=1800)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True)
            for name, value in {'Host': host or f'127.0.0.1:{self.port}', **headers}.items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def enter(self):
        """Visits with the token, as a browser does."""
        status, headers, _ = self.ask(self.entrance)
        equal(status, 303, 'status with the token')
        self.folder = headers['Location']
        self.cookie = headers['Set-Cookie'].split(';')[0]
        self.attributes = headers['Set-Cookie'].split('; ')[1:]
        return self

    def get(self, page='', **query):
        return self.ask(f'{self.folder}{page}{"?" if query else ""}{urllib.parse.urlencode(query)}', Cookie=self.cookie)

    def overview(self, begin, end, slots, **more):
        """Asks until all segments were read."""
        def answer():
            status, headers, body = self.get('overview.json', **{'from': begin * 1000, 'to': end * 1000, 'slots': slots}, **more)
            equal((status, headers['Content-Type']), (200, 'application/json'), f'{body}')
            found = json.loads(body)
            return not found['unread'] and found
        return wait_until(answer, 'all segments')


@web_case('only the token opens, and then the cookie, within its folder')
def access():
    os.mkdir('ring')
    with Web() as web:
        wrong = '0' * 64 if web.token[0] != '0' else '1' * 64
        for path in ('/', '/?token=', f'/?token={web.token[:-1]}', f'/?token={wrong}', f'/?token={web.token}0',
                     f'/x?token={web.token}', '/overview.json', f'/overview.json?token={web.token}', '/favicon.ico'):
            status, headers, _ = web.ask(path)
            equal((status, headers['Set-Cookie']), (403, None), path)
        web.enter()
        equal(web.attributes, [f'Path={web.folder}', 'HttpOnly', 'SameSite=Strict'], 'the cookie')
        require(web.token not in web.cookie + web.folder and re.fullmatch('/[0-9a-f]{64}/', web.folder), web.folder)
        status, headers, body = web.get()
        equal(status, 200, 'status with the cookie')
        require(b'Last hours' in body, body[:200])
        for name, part in (('Content-Security-Policy', POLICY), ('Referrer-Policy', 'no-referrer'),
                           ('X-Content-Type-Options', 'nosniff'), ('Cache-Control', 'no-store')):
            require(part in headers[name], f'{name}: {headers[name]}')
        require("frame-ancestors 'none'" in headers['Content-Security-Policy'], 'it can be embedded')
        equal(web.get('no-such-page')[0], 404, 'another page')
        for path, cookie in ((web.folder, ''), (web.folder, f'iaprof={wrong}'), (web.folder, f'iaprof={web.token}'),
                             ('/', web.cookie), (f'/{wrong}/', web.cookie), (web.folder[:-1], web.cookie),
                             (f'{web.folder[:-1]}x/', web.cookie)):
            equal(web.ask(path, Cookie=cookie)[0], 403, f'{path} with {cookie}')


@web_case('names of other machines in Host, and methods that could change something, are refused')
def hosts_and_methods():
    os.mkdir('ring')
    with Web() as web:
        web.enter()
        for host, wanted in (('localhost', 200), (f'LOCALHOST:{web.port}', 200), ('[::1]:8080', 200), ('127.0.0.1', 200),
                             ('evil.example', 421), (f'evil.example:{web.port}', 421), ('127.0.0.1.evil.example', 421),
                             ('localhost.', 421), ('127.0.0.1:80@evil.example', 421), ('127.0.0.2', 421), ('', 421)):
            equal(web.ask(web.folder, host=host or ' ', Cookie=web.cookie)[0], wanted, host)
            if wanted == 421:
                equal(web.ask(web.entrance, host=host or ' ')[0], 421, f'the token from {host}')
        for method in 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE':
            status, headers, _ = web.ask(web.folder, method=method, Cookie=web.cookie)
            equal((status, headers['Allow']), (405, 'GET, HEAD'), method)
        status, headers, body = web.ask(web.folder, method='HEAD', Cookie=web.cookie)
        require(status == 200 and int(headers['Content-Length']) > 1000 and not body, f'HEAD: {status} {headers}')
        with socket.create_connection(('127.0.0.1', web.port), timeout=600) as client:
            client.sendall(f'GET {web.entrance} HTTP/1.0\r\n\r\n'.encode())
            require(b' 421 ' in client.recv(4096), 'without a Host')


@web_case('parameters are numbers within their ranges, and nothing else')
def parameters():
    os.mkdir('ring')
    with Web() as web:
        web.enter()
        good = {'from': '1000', 'to': '2000'}
        for page, base in (('overview.json', {**good, 'slots': '10'}), ('flamegraph', good),
                           ('flamegraph', {**good, 'diff_from': '1', 'diff_to': '2'})):
            for name in base:
                for value in ('', 'x', '-1', '+1', ' 1', '1.5', '0x10', '1e3', '99999999999999', '9' * 40, '1;touch x', '$(touch x)',
                              '1\n', '1\0', '..', '1..2'):
                    equal(web.get(page, **{**base, name: value})[0], 400, f'{page}, {name}={value!r}')
                equal(web.get(page, **{key: value for key, value in base.items() if key != name})[0], 400, f'{page} without {name}')
            for to in '1000', '999':
                equal(web.get(page, **{**base, 'to': to})[::2], (400, b'from must be before to\n'), f'{page}: a range that ends at {to}')
        equal(web.get('flamegraph', **good, diff_from='5', diff_to='5')[::2], (400, b'diff_from must be before diff_to\n'), 'an empty baseline')
        equal(web.get('flamegraph', **good, diff_from='5')[::2], (400, b'diff_from and diff_to must be milliseconds since 1970\n'), 'no end')
        for name, value in (('slots', '0'), ('slots', '1001'), ('group', '4'), ('metric', '33'), ('metric', 'cpu')):
            equal(web.get('overview.json', **{**good, 'slots': '10', name: value})[0], 400, f'{name}={value}')
        equal(os.listdir('.'), ['ring'], 'files')


@web_case('the overview has the sums of the ring, spread over the time of its segments')
def overview():
    path = ring((T, 60), (T + 60, 30), (T + 120, 20))
    subprocess.run([PROGRAM, '-q', '--replay', path, '-k', 'folded:output=one.folded'], check=True)
    with open('one.cpu.folded', encoding='utf-8') as file:
        counts = [line.rsplit(' ', 1) for line in file if not line.startswith('[lost]')]
    known = {name: sum(int(count) for stack, count in counts if stack.split(';')[0] == name) for name in ('hot', 'warm')}
    require(known['hot'] == 3 * known['warm'] > 0, f'{known}')
    with Web() as web:
        web.enter()
        found = web.overview(T - 30, T + 150, 6)
        equal((found['begin'], found['end'], found['segments'], found['damaged'], found['omitted']),
              (T * 1000, (T + 140) * 1000, 3, 0, 0), 'the ring')
        metric = [one['name'] for one in found['metrics']].index('cpu')
        equal(found['metrics'][metric]['unit'], 'nanoseconds', 'unit')
        found = web.overview(T - 30, T + 150, 6, metric=metric)
        equal(found['covered'], [None, 30, 30, 30, None, 20], 'seconds with data')
        equal([row['name'] for row in found['rows']], ['hot', 'warm'], 'programs')

        def near(values, wanted, what):
            equal([value is None for value in values], [value is None for value in wanted], what)
            require(all(value is None or abs(value - want) <= 1e-5 * want for value, want in zip(values, wanted)),
                    f'{what}: {values}, not {wanted}')
        for name, values in (('hot', found['rows'][0]['values']), ('warm', found['rows'][1]['values']), ('all', found['total'])):
            whole = known.get(name, sum(known.values()))
            near(values, [None, whole / 2, whole / 2, whole, None, whole], name)
        stalls = [one['name'] for one in found['metrics']].index('gpu-stalls')
        total = sum(filter(None, web.overview(T - 30, T + 150, 6, metric=stalls)['total']))
        # 10 stalls for 40 samples of 1 ms
        require(abs(total / 3 * 4e6 - sum(known.values())) <= 1e-5 * total * 4e6, f'{total} stalls')
        # A part of a segment has its part of the values.
        near(web.overview(T + 15, T + 30, 1, metric=metric)['total'], [sum(known.values()) / 4], 'a quarter')


def needs_cgroups():
    if not cgroups():
        raise Skip('cannot make a cgroup')


def cgroups():
    """-> the root of a hierarchy of version 2 or 1"""
    roots = ('/sys/fs/cgroup', '/sys/fs/cgroup/unified', '/sys/fs/cgroup/systemd', '/sys/fs/cgroup/pids')
    return next((root for root in roots if os.access(f'{root}/cgroup.procs', os.W_OK)), None)


@web_case('values by service: the unit of systemd, or the container, of the cgroup of a process', needs=[needs_root, needs_cgroups])
def services():
    container = 'c0ffee' + 58 * '7'
    os.mkdir('ring', 0o700)
    names = [f'iaprof-test-{os.getpid()}.service', f'docker-{container}.scope']
    for begin, name in zip((T, T + 60), names):
        cgroup = f'{cgroups()}/{name}'
        os.mkdir(cgroup)
        try:
            segment = recorded(folder=f'recorded-{begin}', wrap=['sh', '-c', 'echo $$ >"$0/cgroup.procs" && exec "$@"', cgroup])[0]
        finally:
            wait_until(lambda path=f'{cgroup}/cgroup.procs': not open(path, encoding='utf-8').read(), 'the end of all processes')
            os.rmdir(cgroup)
        shutil.copy(f'recorded-{begin}/{segment}', f'ring/{segment_name(begin, 60)}')
    with Web() as web:
        web.enter()
        metric = [one['name'] for one in web.overview(T, T + 120, 2)['metrics']].index('cpu')
        found = web.overview(T, T + 120, 2, metric=metric, group=3)
        rows = {row['name']: [value or 0 for value in row['values']] for row in found['rows']}
        equal(sorted(rows), sorted([names[0], container[:12]]), 'services')
        require(abs(rows[names[0]][0] - found['total'][0]) <= 1e-5 * found['total'][0] and not rows[names[0]][1], f'{found}')
        require(abs(rows[container[:12]][1] - found['total'][1]) <= 1e-5 * found['total'][1], f'{found}')


@web_case('a flame graph is the page that iaprof makes of the range, and a comparison that of --diff')
def flamegraphs():
    ring((T, 60), (T + 60, 60), (T + 200, 60))
    first, second = f'{os.getcwd()}/ring:@{T}.000..@{T + 120}.500', f'{os.getcwd()}/ring:@{T + 200}.000..@{T + 201}.000'
    subprocess.run([PROGRAM, '-q', '--replay', first, '-k', 'flamegraph', '-o', 'one.html'], check=True)
    subprocess.run([PROGRAM, '-q', '--diff', first, second, '-k', 'flamegraph', '-o', 'two.html'], check=True)
    one, two = {'from': T * 1000, 'to': T * 1000 + 120500}, {'from': (T + 200) * 1000, 'to': (T + 201) * 1000}
    with Web() as web:
        web.enter()
        for path, query in (('one.html', one), ('two.html', {**two, 'diff_from': one['from'], 'diff_to': one['to']})):
            status, headers, body = web.get('flamegraph', **query)
            equal((status, headers['Content-Type']), (200, 'text/html; charset=utf-8'), f'{body[:200]}')
            with open(path, 'rb') as file:
                require(body == file.read(), f'another page than {path}')
        status, _, body = web.get('flamegraph', **{'from': 1000, 'to': 2000})
        missing = r'no data in this range \(the ring has 20\d\d-\d\d-\d\dT[\d:]{8}\.\.20\d\d-\d\d-\d\dT[\d:]{8}\)\n'
        for query in ({'from': 1000, 'to': 2000}, {**one, 'diff_from': 1000, 'diff_to': 2000}, {'from': 1000, 'to': 2000, 'diff_from': 1, 'diff_to': 2}):
            status, _, body = web.get('flamegraph', **query)
            require(status == 404 and re.fullmatch(missing, body.decode()), f'{status} {body}')
        shutil.rmtree('ring')
        status, _, body = web.get('flamegraph', **one)
        require(status == 503 and b'no such folder' in body, f'{status} {body}')


@web_case('a flame graph has the spans that the ring keeps')
def spans():
    empty_segment()
    script = write('arguments', '#!/bin/sh\necho "$@"\n', mode=0o755)
    with Web(program=os.path.abspath(script)) as web:
        web.enter()
        for more in ({}, {'diff_from': 3000, 'diff_to': 4000}):
            status, _, body = web.get('flamegraph', **{'from': 1000, 'to': 2000}, **more)
            equal((status, b' -k flamegraph:spans=yes ' in body), (200, True), f'{body[:200]}')


@web_case('segments that come, go, or are damaged')
def changes():
    path = ring((T, 10))
    with Web() as web:
        web.enter()
        equal(web.overview(T, T + 60, 6)['covered'], [10, None, None, None, None, None], 'one segment')
        shutil.copy(path, f'ring/{segment_name(T + 20, 10)}')
        equal(web.overview(T, T + 60, 6)['covered'], [10, None, 10, None, None, None], 'a new segment')
        os.unlink(f'ring/{segment_name(T, 10)}')
        write(f'ring/{segment_name(T + 30, 10)}', b'\x89IAPROF\n and nothing else')
        write('ring/notes.txt', 'mine')
        os.symlink('notes.txt', f'ring/{segment_name(T + 40, 10)}')
        found = web.overview(T, T + 60, 6)
        equal((found['segments'], found['damaged'], found['covered'][0]), (2, 1, None), 'with a damaged one')
        shutil.rmtree('ring')
        status, _, body = web.get('overview.json', **{'from': 1000, 'to': 2000, 'slots': 1})
        require(status == 503 and b'no such folder' in body, f'{status} {body}')


@web_case('at most two flame graphs are made at a time, and the server ends with them')
def processes():
    empty_segment()
    script = write('slow', '#!/bin/sh\necho >> started\nexec sleep 1000\n', mode=0o755)
    with Web(program=os.path.abspath(script)) as web:
        web.enter()
        waiting = []
        for number in 1, 2:
            client = socket.create_connection(('127.0.0.1', web.port), timeout=1800)
            client.sendall(flamegraph_request(web))
            waiting.append(client)
            wait_until(lambda: os.path.exists('started') and os.path.getsize('started') >= number, 'a process')
        status, headers, _ = web.get('flamegraph', **{'from': 1000, 'to': 2000})
        equal((status, headers['Retry-After']), (503, '5'), 'a third one')
        equal(web.get()[0], 200, 'other pages meanwhile')
    for client in waiting:
        client.close()


@web_case('clients that send no request, or a part of one, or one byte at a time, do not delay others')
def slow_clients():
    os.mkdir('ring')
    with Web() as web:
        web.enter()
        answers_meanwhile(web.port, lambda: web.get()[0])


def flamegraph_request(web):
    return f'GET {web.folder}flamegraph?from=1000&to=2000 HTTP/1.1\r\nHost: localhost\r\nCookie: {web.cookie}\r\n\r\n'.encode()


@web_case('a client that reads its page slowly gets all of it while others are dropped')
def slow_download():
    empty_segment()
    script = write('large', f'#!/bin/sh\nhead -c {8 << 20} /dev/zero\n', mode=0o755)
    with Web(program=os.path.abspath(script)) as web, contextlib.closing(socket.socket()) as client:
        web.enter()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        client.settimeout(TIMEOUT)
        client.connect(('127.0.0.1', web.port))
        client.sendall(flamegraph_request(web))
        answer = http.client.HTTPResponse(client)
        answer.begin()
        with SlowClients(web.port) as clients:
            read = len(answer.read(4096))
            clients.wait_for_drops()
            read += len(answer.read(4096))
        equal((answer.status, read + len(answer.read())), (200, 8 << 20), 'the page')


@web_case('a flame graph that takes long is answered while others are dropped')
def long_computation():
    empty_segment()
    script = write('waiting', '#!/bin/sh\necho >started\nuntil test -e ready; do sleep 0.05; done\necho page\n', mode=0o755)
    with Web(program=os.path.abspath(script)) as web, contextlib.closing(socket.socket()) as client:
        web.enter()
        client.settimeout(TIMEOUT)
        client.connect(('127.0.0.1', web.port))
        client.sendall(flamegraph_request(web))
        wait_until(lambda: os.path.exists('started'), 'the process')
        with SlowClients(web.port):
            write('ready', '')
            answer = http.client.HTTPResponse(client)
            answer.begin()
            equal((answer.status, answer.read()), (200, b'page\n'), 'the page')


@web_case('a page that is too large, and a program that fails')
def failures():
    empty_segment()
    for text, pattern in (('head -c 70000000 /dev/zero', b'too large'), ('echo "iaprof: \033[1mwrong" >&2; exit 2', rb'iaprof: \?\[1mwrong'),
                          ('kill -9 $$', b'without a message'), ('yes "iaprof: many" | head -c 300000 >&2; exit 3', b'iaprof: many')):
        script = write('failing', f'#!/bin/sh\n{text}\n', mode=0o755)
        with Web(program=os.path.abspath(script)) as web:
            status, _, body = web.enter().get('flamegraph', **{'from': 1000, 'to': 2000})
            require(status == 502 and re.search(pattern, body), f'{text}: {status} {body[:200]}')


@web_case('the address is written to a file that only its owner can read, for the service')
def url_file():
    os.mkdir('ring')
    write('url', 'an old one', mode=0o666)
    process = start('--folder', 'ring', '--iaprof', PROGRAM, '--address', '127.0.0.1:0', '--url-file', 'url', program=WEB)

    def text():
        with contextlib.suppress(FileNotFoundError), open('url', encoding='utf-8') as file:
            return re.fullmatch(r'http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{64}\n', file.read())
    wait_until(text, 'the address')
    equal(stat.S_IMODE(os.stat('url').st_mode), 0o600, 'mode')
    process.send_signal(signal.SIGINT)
    outcome = end(process)
    equal((outcome.status, outcome.out, outcome.err), (COMPLETE, '', ''), 'the run')
    require(not os.path.exists('url'), 'the address is still there')


@web_case('addresses that others could reach, or that are taken, and wrong usage are errors')
def errors():
    os.mkdir('ring')
    write('notes', 'not executable')
    write('text', 'no program', mode=0o755)
    with socket.create_server(('127.0.0.1', 0)) as taken:
        for arguments, status, pattern in (
                (['--address', '0.0.0.0:0'], USAGE, 'other machines could reach it'), (['--address', '[::]:0'], USAGE, 'other machines'),
                (['--address', ':0'], USAGE, 'other machines'), (['--address', '127.0.0.1'], USAGE, 'not an IP address'),
                (['--address', f'127.0.0.1:{taken.getsockname()[1]}'], FAILED, 'Address already in use'),
                (['--iaprof', '/no/such/program'], USAGE, 'cannot run /no/such/program: No such file or directory'),
                (['--iaprof', 'ring'], USAGE, 'cannot run .*/ring: Is a directory'), (['--iaprof', 'notes'], USAGE, 'cannot run .*/notes: Permission denied'),
                (['--iaprof', 'text'], USAGE, 'cannot run .*/text: Exec format error'), (['ring'], USAGE, 'unexpected argument'), (['--no-such'], USAGE, 'no-such')):
            outcome = end(start('--iaprof', PROGRAM, '--folder', 'ring', *arguments, program=WEB))
            require(outcome.status == status and re.search(pattern, outcome.err) and not outcome.out, f'{arguments}: {outcome}')


@web_case('a folder that is not that of a ring, or not yet, is a warning at the start')
def folders():
    os.mkdir('notes')
    write('notes/text', 'mine')
    for folder, warning in (('none', r'cannot read the ring .*/none: No such file or directory \(start iaprof --continuous, or set --folder=FOLDER\)'),
                            ('notes/text', r'cannot read the ring .*/text: Not a directory .*'),
                            ('notes', r'.*/notes is not the folder of a ring: .* \(set --folder=FOLDER\)')):
        with Web(folder=folder, warning=f'iaprof-web: warning: {warning}\n') as web:
            equal(web.enter().get()[0], 200, 'the page')
    with Web(folder='later', warning='iaprof-web: warning: .*/later.*\n') as web:
        os.mkdir('later', 0o700)
        write(f'later/{segment_name(T, 10)}', '')
        web.enter()
        equal(web.overview(T, T + 60, 6)['segments'], 1, 'intervals of a ring that was created later')


@web_case('another user reads the ring that its group may read', needs=[needs_root, needs_program('setpriv')])
def other_user():
    other, group = 54321, 54322
    os.mkdir('recorded', 0o700)
    os.chown('recorded', 0, group)
    os.chmod('recorded', 0o2700)
    name = recorded(keys=',group=yes')[-1]
    equal(stat.S_IMODE(os.stat('recorded').st_mode), 0o2750, 'mode of the folder')
    status = os.stat(f'recorded/{name}')
    equal((stat.S_IMODE(status.st_mode), status.st_gid), (0o640, group), 'mode and group of a segment')
    begin = int(datetime.datetime.strptime(name[:15] + '+0000', '%Y%m%dT%H%M%S%z').timestamp())
    query = {'from': (begin - 5) * 1000, 'to': (begin + 10) * 1000}
    refused = r'iaprof-web: warning: cannot read the ring .*: Permission denied \(set group=yes for the sink ring, and join its group\)\n'
    for groups, wanted, warning in ((f'--groups={group}', 200, ''), ('--clear-groups', 503, refused)):
        with Web(folder='recorded', wrap=['setpriv', f'--reuid={other}', f'--regid={other}', groups], warning=warning) as web:
            web.enter()
            status, _, body = web.get('overview.json', **query, slots=1)
            equal(status, wanted, f'{groups}: {body}')
            if wanted == 200:
                require(json.loads(body)['covered'][0] > 0, body)
                status, _, body = web.get('flamegraph', **query)
                require(status == 200 and body.endswith(b'</html>\n'), f'{body[:200]}')
            else:
                require(b'permission denied' in body, body)


main()
