#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --check reports about this machine, sinks, and running programs: real processes with Level Zero's loader or a double."""
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.request

from harness import (CAPTURE, COMPLETE, NOTHING, PLUGINS, PROGRAM, Skip, case, end, equal, iaprof, main, needs_program, needs_root,
                     own_mounts, read, require, small_disk, start, terminal, wait_until, write)
from web_server import Server

LOADER = os.environ['TEST_LOADER_DOUBLE']


def needs_loader():
    if not LOADER or not os.path.exists(LOADER):
        raise Skip('the double of Level Zero\'s loader is not built')


def items(source, *arguments, wrap=()):
    """The items of a source and its companions: {name: [(state, text)]}. wrap: a command that begins the run."""
    # Not as other runs of these tests, which wait until this process has no child left.
    outcome = subprocess.run([*wrap, PROGRAM, '--check', '-s', source, *arguments], stdin=subprocess.DEVNULL, timeout=600,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', check=False)
    if 'no source "' in outcome.stderr:
        raise Skip(f'not built: {outcome.stderr.strip()}')
    require(not outcome.stderr, f'standard error: {outcome.stderr}')
    found = {}
    for line in outcome.stdout.splitlines():
        if match := re.match(r'  (good|limited|missing) +(.*?): (.*)$', line):
            found.setdefault(match[2], []).append((match[1], match[3]))
    require(found, outcome.stdout)
    return found


class Program:
    """A process with a name of its own that has a copy of the double as its Level Zero loader."""

    def __init__(self, name, loader, environment=None, arguments=()):
        shutil.copy(LOADER, loader)
        shutil.copy(shutil.which('tail'), name)
        fifo = f'{name}.fifo'
        os.mkfifo(fifo)
        self.process = subprocess.Popen([os.path.abspath(name), *arguments, '-f', fifo], stdout=subprocess.DEVNULL,
                                        env={'LD_PRELOAD': os.path.abspath(loader), **(environment or {})})
        wait_until(lambda: loader in read(f'/proc/{self.process.pid}/maps'), 'the mapping of the loader')

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


@case('ze-usdt: how the launches of a running program can be seen', needs=[needs_root, needs_loader])
def running():
    with Program('program', 'libze_loader.so.1.32.0') as pid:
        found = items('ze-usdt:tracer=yes')[f'process {pid} (program)']
        equal([state for state, _ in found], ['limited'], 'states')
        require(f'-p {pid} -s ze-usdt:tracer=inject' in found[0][1], found)
        for name in 'source lines of GPU code', 'names of GPU code':
            require(name in items('ze-usdt'), f'nothing of {name}')
    require(not any(f'process {pid} ' in name for name in items('ze-usdt')), 'a process that has ended')


@case('ze-usdt: a loader that is too old', needs=[needs_root, needs_loader])
def old_loader():
    with Program('program', 'libze_loader.so.1.15.7') as pid:
        state, text = items('ze-usdt')[f'process {pid} (program)'][0]
        equal(state, 'limited', 'state')
        require('libze_loader.so.1.15.7 is older than 1.15.8' in text, text)


for name, environment, expected in (
        ('python3.16', {}, ('limited', 'PYTHONPERFSUPPORT=1')),
        ('python3.16', {'PYTHONPERFSUPPORT': '0'}, ('limited', 'PYTHONPERFSUPPORT=1')),
        ('python3.16', {'PYTHONPERFSUPPORT': '1'}, ('good', 'Python 3.16 reports function names')),
        ('python3.15', {}, ('good', 'functions, files and lines of Python 3.15')),
        ('python3.8', {}, ('good', 'functions, files and lines of Python 3.8')),
        ('python3.7', {'PYTHONPERFSUPPORT': '1'}, ('limited', 'Python 3.7 functions have no names'))):
    @case(f'ze-usdt: Python, by a program that is called {name}, {environment}', name, environment, expected,
          needs=[needs_root, needs_loader])
    def python(name, environment, expected):
        with Program(name, 'libze_loader.so.1.32.0', environment) as pid:
            found = items('ze-usdt')[f'process {pid} ({name})']
            equal((len(found), found[1][0]), (2, expected[0]), 'items and state')
            require(expected[1] in found[1][1], found)


@case('ze-usdt: a program chooses its name, and cannot write to the terminal or make lines', needs=[needs_root, needs_loader])
def hostile():
    with Program('x\n\x1b[31m', 'libze_loader.so.1.32.0') as pid:
        require(any(name.startswith(f'process {pid} (x??[31m)') for name in items('ze-usdt')), 'the name')


@case('xe-eustall: the Linux kernel, as uname reports it')
def kernel():
    state, text = items('xe-eustall')['Linux kernel'][0]
    release = os.uname().release
    version = tuple(int(part) for part in re.match(r'(\d+)\.(\d+)', release).groups())
    require(text.startswith(release), text)
    require(state == 'good' if version >= (6, 15) else True, state)


@case('xe-eustall: GPUs of Intel, as sysfs has them; its companion reports its requirements, too')
def gpus():
    found = items('xe-eustall')
    wanted = []
    for node in sorted(os.listdir('/sys/class/drm')) if os.path.isdir('/sys/class/drm') else []:
        device = f'/sys/class/drm/{node}/device'
        if node.startswith('renderD') and read(f'{device}/vendor').strip() == '0x8086':
            wanted.append(f'GPU at {os.path.basename(os.path.realpath(device))}')
    equal(sorted(name for name in found if name.startswith('GPU at ')), sorted(wanted), 'GPUs')
    if not wanted:
        equal(found['GPU with EU stalls'][0][0], 'missing', 'state')
    require('Level Zero loader' in found, 'nothing of Level Zero')
    loaded = os.path.isdir('/sys/module/xe')
    equal(found['driver xe'][0][0] == 'missing', not loaded, 'driver xe is missing')
    require('Level Zero loader' not in items('xe-eustall:ze-usdt=no'), 'the companion that is not wanted')


@case('xe-eustall: the right to sample, with and without', needs=[needs_root, needs_program('setpriv')])
def rights():
    equal(items('xe-eustall')['right to sample'][0][0], 'good', 'for root')
    nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    state, text = items('xe-eustall', wrap=nobody)['right to sample'][0]
    path = '/proc/sys/dev/xe/observation_paranoid'
    if os.path.exists(path) and read(path).strip() == '0':
        raise Skip(f'{path} is 0: everybody may')
    equal(state, 'missing', 'for nobody')
    require('CAP_PERFMON' in text and 'dev.xe.observation_paranoid=0' in text, text)


def pretended(settings=None, lockdown=None):
    """A command that begins a run where Linux has these settings: in a mount namespace of its own."""
    script = ['set -e', 'mount --make-rprivate /']
    if settings is not None:
        script += ['mount -t tmpfs tmpfs /proc/sys/kernel', 'mkdir /proc/sys/kernel/yama']
        script += [f'echo {value} > /proc/sys/kernel/{name}' for name, value in settings.items()]
    if lockdown is not None:
        script += ['mount -t tmpfs tmpfs /sys/kernel/security', f'echo "{lockdown}" > /sys/kernel/security/lockdown']
    tried = subprocess.run(['unshare', '-m', 'sh', '-c', '; '.join(script)], capture_output=True, check=False)
    if tried.returncode:
        raise Skip(f'cannot mount here: {tried.stderr.decode().strip()}')
    return ['unshare', '-m', 'sh', '-c', '; '.join([*script, 'exec "$@"']), 'sh']


def source_line(*arguments, wrap=()):
    return subprocess.run([*wrap, PROGRAM, '--check', *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, encoding='utf-8', timeout=600, check=False).stdout.splitlines()[0]


for lockdown, state, words in (('[none] integrity confidentiality', 'good', 'none'),
                               ('none [integrity] confidentiality', 'good', 'integrity'),
                               ('none integrity [confidentiality]', 'missing', 'lockdown=integrity')):
    @case(f'kernel lockdown: {lockdown}', lockdown, state, words, needs=[needs_root, needs_program('unshare')])
    def locked_down(lockdown, state, words):
        wrap = pretended(lockdown=lockdown)
        found = items('cpu-stack', wrap=wrap)['kernel lockdown'][0]
        require(found[0] == state and words in found[1], found)
        if state == 'missing':
            equal(source_line('-s', 'cpu-stack', wrap=wrap), 'source cpu-stack: cannot profile here', 'the source')
        equal(items('ze-usdt:tracer=yes', wrap=wrap)['kernel lockdown'][0][0], state, 'ze-usdt')


NO_ADMIN = ['setpriv', '--bounding-set=-sys_admin', '--inh-caps=-sys_admin']
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']

for paranoid, setpriv, state, words in ((3, NO_ADMIN, 'missing', 'CAP_SYS_ADMIN'), (2, NO_ADMIN, 'good', 'CAP_PERFMON'),
                                        (3, [], 'good', 'is 3'), (2, NOBODY, 'missing', 'at most 0 (it is 2)'),
                                        (0, NOBODY, 'good', 'is 0'), (-1, NOBODY, 'good', 'is -1')):
    @case(f'kernel.perf_event_paranoid={paranoid}, {" ".join(setpriv) or "root"}', paranoid, setpriv, state, words,
          needs=[needs_root, needs_program('setpriv'), needs_program('unshare')])
    def paranoid(paranoid, setpriv, state, words):
        wrap = [*pretended({'perf_event_paranoid': paranoid, 'perf_event_max_stack': 127}), *setpriv]
        found = items('cpu-stack', wrap=wrap)['right to sample CPUs'][0]
        require(found[0] == state and words in found[1], found)


@case('the right to load BPF programs, with and without', needs=[needs_root, needs_program('setpriv')])
def bpf_rights():
    name = 'right to load BPF programs'
    equal(items('cpu-stack')[name][0][0], 'good', 'for root')
    for dropped, missing, there in (('bpf,-sys_admin', 'requires CAP_BPF in addition', 'CAP_PERFMON'),
                                    ('perfmon,-sys_admin', 'requires CAP_PERFMON in addition', 'CAP_BPF')):
        wrap = ['setpriv', f'--bounding-set=-{dropped}', f'--inh-caps=-{dropped}']
        state, text = items('cpu-stack', wrap=wrap)[name][0]
        require(state == 'missing' and missing in text and there in text, text)
    wrap = [*pretended({'unprivileged_bpf_disabled': 0, 'perf_event_max_stack': 127}), *NOBODY]
    state, text = items('cpu-stack', wrap=wrap)[name][0]
    require(state == 'missing' and 'unprivileged_bpf_disabled=0 does not suffice' in text, text)


for scope, setpriv, state, words in ((3, [], 'missing', 'until the next boot'), (1, [], 'good', 'CAP_SYS_PTRACE'),
                                     (1, NOBODY, 'missing', 'kernel.yama.ptrace_scope is not 0'),
                                     (0, NOBODY, 'missing', 'CAP_SYS_PTRACE')):
    @case(f'ze-usdt:tracer=inject with kernel.yama.ptrace_scope={scope}, {" ".join(setpriv) or "root"}', scope, setpriv,
          state, words, needs=[needs_root, needs_program('setpriv'), needs_program('unshare')])
    def yama(scope, setpriv, state, words):
        wrap = [*pretended({'yama/ptrace_scope': scope, 'perf_event_max_stack': 127}), *setpriv]
        found = items('ze-usdt:tracer=inject', '-p', str(os.getpid()), wrap=wrap)
        state_found, text = found['right to load the tracer into a process'][0]
        require(state_found == state and words in text, (state_found, text))


@case('kernel.kptr_restrict hides the names of the Linux kernel\'s functions', needs=[
    needs_root, needs_program('setpriv'), needs_program('unshare')])
def kptr_restrict():
    wrap = [*pretended({'kptr_restrict': 2, 'perf_event_max_stack': 127}), *NOBODY]
    state, text = items('cpu-stack', wrap=wrap)["Linux kernel symbols"][0]
    require(state == 'limited' and 'kernel.kptr_restrict=1' in text, text)


@case('with tables, stacks are as deep as the core keeps them', needs=[needs_root])
def depth_of_tables():
    equal(items('cpu-stack')['stack depth'], [('good', '1024 addresses')], 'item')


@case('without, the depth of stacks is the sysctl\'s')
def depth():
    wanted = read('/proc/sys/kernel/perf_event_max_stack').strip()
    state, text = items('cpu-stack:unwind=fp')['stack depth'][0]
    require(text.startswith(f'{wanted} addresses'), text)
    equal(state, 'good' if int(wanted) >= 512 else 'limited', 'state')


@case('frame pointers: as objdump shows the C library', needs=[needs_program('objdump'), needs_program('ldd')])
def frame_pointers():
    found = items('cpu-stack:unwind=fp')
    if 'frame pointers' not in found:
        raise Skip('not looked at on this architecture')
    library = re.search(r'libc\.so\.6 => (\S+)', subprocess.run(['ldd', shutil.which('tail')], stdout=subprocess.PIPE,
                                                             encoding='utf-8', check=True).stdout)[1]
    code = subprocess.run(['objdump', '-d', '--no-show-raw-insn', library], stdout=subprocess.PIPE, encoding='utf-8',
                          check=True).stdout
    sets = len(re.findall(r'mov +%rsp,%rbp', code))
    calls = len(re.findall(r'\n\n', code))
    # Nearly each function of a library with frame pointers sets one, few of one without do.
    equal(found['frame pointers'][0][0], 'good' if sets * 3 > calls or sets > 1500 else 'limited',
          f'state; {sets} of {calls} set one')


@case('with tables, user stacks do not need frame pointers', needs=[needs_root])
def eh_frame():
    version = tuple(map(int, re.match(r'(\d+)\.(\d+)', os.uname().release).groups()))
    if os.uname().machine != 'x86_64' or version < (5, 17):
        raise Skip('not here')
    for source in 'cpu-stack', 'cpu-stack:unwind=tables':
        found = items(source)
        equal(found['user stacks'][0], ('good', 'unwound by .eh_frame'), 'user stacks')
        require('frame pointers' not in found, found)
    require('user stacks' not in items('cpu-stack:unwind=fp'), 'not asked for')
    require('user stacks' not in items('cpu-stack', wrap=NOBODY), 'not known without the right to ask')


@case('names of the Linux kernel\'s functions: seen by root', needs=[needs_root])
def kernel_names():
    shown = any(not line.startswith('0000000000000000') for line in read('/proc/kallsyms').splitlines())
    equal(items('cpu-stack')['Linux kernel symbols'][0][0], 'good' if shown else 'limited', 'state')
    require('Linux kernel symbols' not in items('cpu-stack:kernel=no'), 'not asked for')


@case('on a terminal, --check wraps lines at its width below the text of an item, and colours states')
def terminal_lines():
    ESCAPE = re.compile('\x1b\\[[0-9]+m')
    arguments = ['--check', '-s', 'xe-eustall', '-s', 'cpu-stack', '-k', 'folded:output=/dev/null']
    plain = iaprof(*arguments).out
    require(max(map(len, plain.splitlines())) > 80 and '\x1b' not in plain, plain)
    colours = {'good': '\x1b[32m', 'limited': '\x1b[33m', 'missing': '\x1b[31m'}
    for columns in 80, 60:
        shown = terminal(*arguments, columns=columns).out
        lines = ESCAPE.sub('', shown).splitlines()
        # Only a word that is too long by itself is in a longer line.
        require(all(len(line) <= columns or len(line.split()) <= 2 for line in lines), lines)
        joined = re.sub(r'\n {11}(?! )', ' ', '\n'.join(lines))
        items = [line for line in plain.splitlines() if re.match('  (good|limited|missing) ', line)]
        for item in items:
            require(item in joined.splitlines(), f'{item!r} is not in {joined}')
            require(f'  {colours[item.split()[0]]}{item[2:11]}\x1b[0m' in shown, shown)
    os.environ['NO_COLOR'] = '1'
    require('\x1b' not in terminal(*arguments).out, 'colours despite NO_COLOR')
    os.environ.pop('NO_COLOR')


def sinks(*specs, status, wrap=()):
    """What --check prints of sinks: the lines after that of the source."""
    words = [word for spec in specs for word in ('-k', spec)]
    outcome = subprocess.run([*wrap, PROGRAM, '--check', '-s', f'replay:file={CAPTURE}', *words], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', timeout=1800, check=False)
    equal((outcome.returncode, outcome.stderr), (status, ''), f'status and standard error; {outcome.stdout}')
    lines = outcome.stdout.splitlines()
    equal(lines[0], 'source replay: ready', 'first line')
    return lines[1:]


FOLDER_SINKS = {'ring': 'folder', 'otlp': 'spool', 'otlp-metrics': 'spool', 'pprof-push': 'spool',
                'pprof-push:isolate=yes,format=plain': 'spool'}


def folder_item(sink, path, status, wrap=()):
    """The item of the folder of a sink."""
    option = FOLDER_SINKS[sink]
    line, item = sinks(f'{sink}{"," if ":" in sink else ":"}{option}={path}', status=status, wrap=wrap)
    equal(line, f'sink {sink.partition(":")[0]}: {"ready" if status == COMPLETE else "cannot run here"}', 'sink')
    state, text = re.fullmatch(rf'  (good|limited|missing) +{option}: (.*)', item).groups()
    equal(state == 'missing', status != COMPLETE, f'state: {item}')
    return text


@case('the folder of a ring and of a spool: as the sink would find it, and nothing is created')
def sink_folders():
    os.mkdir('there', 0o700)
    os.mkdir('open')
    os.chmod('open', 0o777)
    os.symlink('there', 'link')
    write('file', '')
    for sink, option in FOLDER_SINKS.items():
        for path in 'there', 'there/':
            equal(folder_item(sink, path, COMPLETE), path, 'a folder')
        for path in 'new', 'there/new', 'there/new/':
            equal(folder_item(sink, path, COMPLETE), f'{path} will be created', 'a new folder')
        for path, why in (('open', 'other users can write to it'), ('file', 'Not a directory'), ('link', 'Not a directory'),
                          ('file/new', 'Not a directory'), ('no/new', 'No such file or directory')):
            equal(folder_item(sink, path, NOTHING), f'{path}: {why} (set {option}=)', 'a folder that cannot be used')
    equal((sorted(os.listdir('.')), os.listdir('there')), (['file', 'link', 'open', 'there'], []), 'files')


@case('the folder of a ring on a disk that cannot be written to, or of another user', needs=[
    needs_root, needs_program('setpriv')])
def foreign_folders():
    own_mounts()
    with small_disk('disk', 'size=64k,mode=700') as disk:
        os.mkdir(f'{disk}/ring', 0o700)
        subprocess.run(['mount', '-o', 'remount,ro', disk], check=True)
        for sink, option in FOLDER_SINKS.items():
            for path in f'{disk}/ring', f'{disk}/new':
                equal(folder_item(sink, path, NOTHING), f'{path}: Read-only file system (set {option}=)', 'read-only')
    os.mkdir('theirs', 0o700)
    os.chown('theirs', 65534, 65534)
    equal(folder_item('ring', 'theirs', NOTHING), 'theirs: it belongs to another user (set folder=)', 'of another user')
    os.mkdir('/tmp/iaprof-test-ring', 0o755)
    try:
        equal(folder_item('ring', '/tmp/iaprof-test-ring/new', NOTHING, NOBODY),
              '/tmp/iaprof-test-ring/new: Permission denied (set folder=)', 'of nobody')
    finally:
        os.rmdir('/tmp/iaprof-test-ring')


@case('the default folder of a ring is created with the folders that contain it')
def default_folder():
    environment = ['env', f'STATE_DIRECTORY={os.getcwd()}/state']
    equal(sinks('ring', status=COMPLETE, wrap=environment),
          ['sink ring: ready', f'  good     folder: {os.getcwd()}/state/ring will be created'], 'ring')
    unknown = ['env', '-u', 'HOME', '-u', 'XDG_STATE_HOME', '-u', 'STATE_DIRECTORY']
    if os.geteuid():
        equal(sinks('ring', status=NOTHING, wrap=unknown)[1],
              '  missing  folder: the default folder is not known (set folder=)', 'without a home')
    equal(os.listdir('.'), [], 'files')


@case('the address of prometheus: free, of this machine, or in use by another program')
def addresses():
    def item(address, status):
        line, found = sinks(f'prometheus:address={address}', status=status)
        equal(line, f'sink prometheus: {"ready" if status == COMPLETE else "cannot run here"}', 'sink')
        return found
    for address in '127.0.0.1:0', ':0':
        equal(item(address, COMPLETE), f'  good     address: {address}', 'free')
    equal(item('192.0.2.1:9859', NOTHING), '  missing  address: cannot listen on 192.0.2.1:9859: '
          'Cannot assign requested address (set address=HOST:PORT)', 'of another machine')
    with socket.create_server(('127.0.0.1', 0)) as taken, Server(lambda handler, server: handler.send_error(404)) as web:
        # A program that does not answer is waited for, for a limited time.
        for port in taken.getsockname()[1], int(web.url.rpartition(':')[2]):
            equal(item(f'127.0.0.1:{port}', NOTHING), f'  missing  address: cannot listen on 127.0.0.1:{port}: '
                  'Address already in use (set address=HOST:PORT)', 'in use')


@case('beside a service, --check with its configuration reports what it uses, and does not disturb it')
def beside_a_service():
    source = os.path.join(PLUGINS, 'iaprof-known-source.so')
    spools = ['otlp:spool=waiting,endpoint=http://127.0.0.1:9', 'otlp-metrics:spool=waiting,endpoint=http://127.0.0.1:9',
              'pprof-push:spool=waiting,url=http://127.0.0.1:9']
    with open('log', 'wb') as log:
        service = start('--continuous', '-v', '-i', '200ms', '-s', f'{source}:isolate=no', '-k', 'ring:folder=kept',
                        '-k', 'prometheus:address=127.0.0.1:0', *(word for spool in spools for word in ('-k', spool)),
                        stderr=log)
    port = wait_until(lambda: re.search(r'http://127\.0\.0\.1:(\d+)/metrics', read('log')), 'the server')[1]

    def segments():
        return [name for name in os.listdir('kept') if name.endswith('.iaprof')]
    count = len(wait_until(segments, 'a segment'))
    in_use = 'in use by a running iaprof'
    for address in f'127.0.0.1:{port}', f'0.0.0.0:{port}', f':{port}':
        equal(sinks(f'prometheus:address={address}', status=COMPLETE),
              ['sink prometheus: ready', f'  limited  address: {address}: {in_use}'], 'address')
    equal(sinks('ring:folder=kept', status=COMPLETE), ['sink ring: ready', f'  limited  folder: kept: {in_use}'], 'ring')
    for spool in spools:
        equal(sinks(spool, status=COMPLETE),
              [f'sink {spool.partition(":")[0]}: ready', f'  limited  spool: waiting: {in_use}'], 'spool')
    # Another kind of request has files of its own.
    equal(sinks('pprof-push:format=plain,spool=waiting', status=COMPLETE)[1], '  good     spool: waiting', 'other files')
    wait_until(lambda: len(segments()) > count, 'one more segment')
    with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=600) as answer:
        require(b'iaprof_intervals_total' in answer.read(), 'metrics')
    service.send_signal(signal.SIGINT)
    equal(end(service).status, COMPLETE, read('log'))
    equal(sinks('ring:folder=kept', status=COMPLETE)[1], '  good     folder: kept', 'ring of a service that has ended')


if __name__ == '__main__':
    main()
