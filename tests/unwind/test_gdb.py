#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of stopped programs of the distribution are those that gdb shows, from the same registers. TAP."""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

from cases import PATIENCE, run_cases, skip_all, wait_for_work, wait_until

PROGRAMS = {
    'bash': 'exec bash -c "while :; do x=${x}a; x=${x#aa}; done"',
    'gzip': 'exec gzip -9 -c /dev/urandom',
    'openssl': 'exec openssl speed -seconds 1000 sha256',
    'perl': "exec perl -e 'while (1) { my %h; $h{$_ % 97} .= $_ for 1 .. 1000; join q(,), sort keys %h }'",
    'python3': "exec /usr/bin/python3 -c 'while True: sorted(str(i) for i in range(1000))'",
    'xz': 'exec xz -9 -c /dev/zero',
}
STOPS = 2
STARTED = 0.25  # s of CPU time
GDB = """
set debuginfod enabled off
set backtrace past-main on
set backtrace past-entry on
set backtrace limit 1100
python
frame = gdb.newest_frame()
print('registers', *('%x' % (int(gdb.parse_and_eval('$' + name)) & (1 << 64) - 1) for name in ('pc', 'sp', 'rbp')))
pcs = []
while frame:
    if frame.type() != gdb.INLINE_FRAME:
        pcs.append('%x' % frame.pc())
    frame = frame.older()
print('stack', *pcs)
end
detach
"""


def state(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        return file.read().rpartition(') ')[2][0]


def ask_gdb(pid, script):
    """-> 'PC SP FP', and the addresses of all frames"""
    outcome = subprocess.run(['gdb', '-batch', '-nx', '-p', str(pid), '-x', script], encoding='utf-8', errors='replace',
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    lines = dict(line.partition(' ')[::2] for line in outcome.stdout.splitlines())
    if 'stack' not in lines:
        raise AssertionError(f'gdb: {outcome.stderr[-500:]}')
    return lines['registers'], lines['stack'].split()


def compare(pid, unwinder, script):
    registers, theirs = ask_gdb(pid, script)
    unwinder.stdin.write(registers + '\n')
    unwinder.stdin.flush()
    end, *ours = unwinder.stdout.readline().split()
    wanted = theirs if end == 'complete' else theirs[:len(ours)] if end == 'truncated' else None
    if ours != wanted:
        raise AssertionError(f'{end} {" ".join(ours)}, gdb {" ".join(theirs)}')
    return len(ours)


def check(command):
    """Stops a program at some moments. -> depths of its stacks"""
    depths, chance = [], random.Random(command)
    with tempfile.NamedTemporaryFile('w', suffix='.gdb') as script, \
            subprocess.Popen(['sh', '-c', command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        script.write(GDB)
        script.flush()
        try:
            wait_for_work(program.pid, STARTED)
            with subprocess.Popen([os.environ['UNWIND_SAMPLE'], str(program.pid)], encoding='ascii', stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as unwinder:
                if unwinder.stdout.readline() != 'ready\n':
                    raise AssertionError('no unwind tables')
                for _ in range(STOPS):
                    program.send_signal(signal.SIGSTOP)
                    wait_until(lambda: state(program.pid) in 'Tt', 'the stop of the program')
                    depths.append(compare(program.pid, unwinder, script.name))
                    program.send_signal(signal.SIGCONT)
                    wait_until(lambda: state(program.pid) in 'RSD', 'the program')
                    time.sleep(chance.random() / 10)
                unwinder.stdin.close()
        finally:
            program.kill()
    return depths


def main():
    if os.geteuid() or not shutil.which('gdb'):
        skip_all('root and gdb are required')
    run_cases([(name, lambda command=command: f'stacks of {", ".join(map(str, check(command)))} frames')
               for name, command in PROGRAMS.items() if shutil.which(name)])


main()
