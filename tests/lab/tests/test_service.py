#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: machine
# lab: short none
# lab: seconds 1800
# lab: covers debian/** packaging/** service/** web/** core/run/run_continuous.c plugins/sink-ring/** plugins/sink-prometheus/**
"""The Debian packages on a fresh Debian 12 with systemd, in a guest: what their installation enables, the service as it
runs, its rating, its stop, its removal. TAP."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from harness.cases import Skip, check, equal, run
from runner import pieces
from runner.system import System

SOURCE = pathlib.Path(os.environ['LAB_SOURCE'])
# Each line "== NAME" begins the output of a command.
SCRIPT = r'''
part() { echo "== $1"; shift; "$@" 2>&1; echo "-- $?"; }
python3 -c 'while True: pass' &
part enabled systemctl is-enabled iaprof
part active systemctl is-active iaprof
part start systemctl start iaprof
for ((i = 0; i < 600; i++)); do
  curl -s http://127.0.0.1:9859/metrics >/tmp/metrics && grep -q '^iaprof_samples_total.* [1-9]' /tmp/metrics && break
  sleep 0.5
done
part metrics cat /tmp/metrics
part status systemctl show iaprof -p ActiveState,SubState,User,MemoryCurrent,NRestarts
part rating systemd-analyze security --no-pager iaprof
part web_start systemctl start iaprof-web
for ((i = 0; i < 240; i++)); do [[ -s /run/iaprof-web/url ]] && break; sleep 0.5; done
page=$(curl -sL -o /tmp/page -w '%{url_effective}' -c /tmp/cookies -b /tmp/cookies "$(cat /run/iaprof-web/url)")
part web_page grep -c 'Last hours' /tmp/page
part web_data curl -sf -b /tmp/cookies "${page}overview.json?from=1000&to=2000&slots=1"
part web_status systemctl show iaprof-web -p ActiveState,User,NRestarts
part web_rating systemd-analyze security --no-pager iaprof-web
part web_stop systemctl stop iaprof-web
part reload systemctl reload iaprof
sleep 5
part reloaded systemctl show iaprof -p ActiveState,NRestarts
begin=$(date +%s%N)
part stop systemctl stop iaprof
echo "stopped in $((($(date +%s%N) - begin) / 1000000)) ms"
part result systemctl show iaprof -p ActiveState,Result,ExecMainStatus
part files find /var/lib/iaprof -type f -printf '%m %u %s %p\n'
part ring iaprof --replay /var/lib/iaprof/ring:-1h..now -k folded:annotate=no -o /tmp/ring.folded
part stacks grep -c python3 /tmp/ring.folded
part remove env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 purge -y iaprof iaprof-export
part left ls -d /etc/iaprof /usr/bin/iaprof /usr/lib/x86_64-linux-gnu/iaprof
'''


def built_packages():
    folder = pathlib.Path.cwd() / 'packages'
    source = folder / 'iaprof'
    source.mkdir(parents=True)
    if subprocess.run(['sh', '-c', 'command -v dpkg-buildpackage dh'], stdout=subprocess.DEVNULL, check=False).returncode:
        raise Skip('not installed: dpkg-dev debhelper')
    files = subprocess.run(['git', '-c', f'safe.directory={SOURCE}', 'ls-files', '-z'], cwd=SOURCE, check=True, stdout=subprocess.PIPE).stdout
    archive = subprocess.Popen(['tar', '-c', '--null', '-T', '-'], cwd=SOURCE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(['tar', '-x'], cwd=source, stdin=archive.stdout)
    archive.stdin.write(files)
    archive.stdin.close()
    equal((unpack.wait(), archive.wait()), (0, 0), 'tar')
    # -d: what is installed is what bootstrap installs, which has the names of the packages that the build needs.
    built = subprocess.run(['dpkg-buildpackage', '-b', '-us', '-uc', '-d'], cwd=source, check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, encoding='utf-8', errors='replace',
                           env={**os.environ, 'DEB_BUILD_OPTIONS': 'nocheck noautodbgsym parallel=2'})
    equal(built.returncode, 0, built.stdout[-3000:])
    packages = [path for path in folder.glob('*.deb') if path.name.startswith(('iaprof_', 'iaprof-export_'))]
    equal(len(packages), 2, 'packages')
    return packages


def parts_of(said):
    """-> {name: (what it said, its status)}"""
    return {name: (text, int(status)) for name, text, status in re.findall(r'^== (\w+)\n(.*?)^-- (\d+)$', said, re.S | re.M)}


def packages_on_a_fresh_system():
    try:
        with System() as system:
            system.install(built_packages())
            status, said, journal = system.boot(SCRIPT, 1200)
    except pieces.Missing as missing:
        raise Skip(str(missing)) from missing
    ours = '\n'.join(line for line in journal.splitlines() if 'iaprof' in line)[-4000:]
    equal(status, 0, said[-4000:])
    parts = parts_of(said)
    equal((parts['enabled'][0], parts['active'][0]), ('disabled\n', 'inactive\n'), 'what the installation enables')
    equal(parts['start'], ('', 0), ours)
    samples = re.search(r'^iaprof_samples_total\{type="cpu"\} (\d+)$', parts['metrics'][0], re.M)
    check(samples and int(samples[1]) > 0, f'{parts["metrics"][0]}\n{ours}')
    for text in 'ActiveState=active', 'SubState=running', 'User=iaprof', 'NRestarts=0':
        check(f'{text}\n' in parts['status'][0], f'no {text}: {parts["status"][0]}\n{ours}')
    rating = re.search(r'exposure level for iaprof\.service: ([\d.]+)', parts['rating'][0])
    check(float(rating[1]) <= 2.5, parts['rating'][0])
    equal(parts['web_start'], ('', 0), ours)
    check(int(parts['web_page'][0]) > 0, f'{parts["web_page"][0]}\n{ours}')
    # Its user reads the ring by the group of the profiler.
    check('"folder":"/var/lib/iaprof/ring"' in parts['web_data'][0], f'{parts["web_data"]}\n{ours}')
    for text in 'ActiveState=active', 'User=iaprof-web', 'NRestarts=0':
        check(f'{text}\n' in parts['web_status'][0], f'no {text}: {parts["web_status"][0]}\n{ours}')
    web_rating = re.search(r'exposure level for iaprof-web\.service: ([\d.]+)', parts['web_rating'][0])
    check(float(web_rating[1]) <= 1.5, parts['web_rating'][0])
    equal(parts['web_stop'], ('', 0), ours)
    equal(parts['reload'], ('', 0), ours)
    equal(parts['reloaded'][0], 'NRestarts=0\nActiveState=active\n', ours)
    # One that does not end by itself is killed, which is no success.
    equal((parts['stop'], parts['result'][0]), (('', 0), 'Result=success\nExecMainStatus=0\nActiveState=inactive\n'), ours)
    print(f'# measured: rated {rating[1]}, iaprof-web {web_rating[1]}; {re.search("stopped in .*", said)[0]}, emulated')
    for line in parts['files'][0].splitlines():
        mode, user, size, path = line.split(' ', 3)
        check(user == 'iaprof' and not int(mode, 8) & 0o007, f'{line}')
    equal(parts['ring'][1], 0, f'{parts["ring"][0]}\n{ours}')
    check(int(parts['stacks'][0]) > 0, f'{parts["ring"][0]}: no stacks of python3')
    equal(parts['remove'][1], 0, parts['remove'][0])
    equal(parts['left'][1], 2, parts['left'][0])
    check('/usr/bin/iaprof\n' not in parts['left'][0].replace("'", ''), parts['left'][0])


sys.exit(run([('packages on a fresh system', packages_on_a_fresh_system)]) != 0)
