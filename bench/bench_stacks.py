#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many stacks reach the start of their thread, and what they cost: iaprof beside perf record -g, perf record
--call-graph dwarf and bpftrace, in turns, while programs of the distribution run: bench_stacks.py IAPROF [SECONDS].

A stack is whole if a function that begins a thread or a program is in it, by its name. CPU time is that of the profiler's
processes from their start until the stacks have names: perf record and perf script together, iaprof as a whole. The time
of BPF programs, which is spent in what they interrupt, is what Linux counts (kernel.bpf_stats_enabled); perf has no
such count. Bytes are those of the profile, or of perf.data.

The last part is a short run without cached unwind tables beside more programs than CPUs: how many stacks are whole in
the programs whose stacks are whole for perf.
"""
import collections
import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FREQUENCIES = 99, 999
ROUNDS = 2
SETTLING = 2
LIMIT = 1000  # seconds after which the programs end, whatever has become of this one
PATIENCE = 120  # seconds that a profiler gets to name its stacks
STARTS = re.compile(r'(_start|main|__libc_start_\w*|start_thread|_?_?clone3?|_dl_start_user)(@.*|\+0x.*)?$')
STATISTICS = pathlib.Path('/proc/sys/kernel/bpf_stats_enabled')
SOURCE = '''#include <map>
#include <regex>
#include <string>
std::map<std::string, std::regex> table;
int main() { return std::regex_match("a", table["b"]); }
'''
# Programs as Debian ships them, by the name that Linux knows them by, and the command that keeps them busy.
PROGRAMS = {
    'cc1plus': 'while :; do g++ -O2 -c source.cc -o /dev/null; done',
    'openssl': 'exec openssl speed -seconds 1000 sha256',
    'perl': "exec perl -e 'while (1) { my %h; $h{$_ % 97} .= $_ for 1 .. 1000; join q(,), sort keys %h }'",
    'python3': "exec python3 -c 'while True: sorted(str(i) for i in range(1000))'",
    'xz': 'exec xz -9 -c /dev/zero',
}
# More of them, for a machine that has not enough CPUs. Programs that read from others are named by the last one.
MORE_PROGRAMS = {
    'b2sum': 'exec b2sum /dev/zero',
    'base64': 'exec base64 /dev/urandom',
    'bash': "exec bash -c 'while :; do x=${x}a; x=${x#aa}; done'",
    'bzip2': 'exec bzip2 -c /dev/urandom',
    'dash': "exec dash -c 'while :; do x=$((x + 1)); done'",
    'gdb': "exec gdb -batch -ex 'python while True: len(str(2**1000))'",
    'git': 'cd / && while :; do git hash-object --stdin </bin/bash; done',
    'grep': "yes abcdefgh | exec grep -E '(a|b)*x'",
    'gzip': 'exec gzip -9 -c /dev/urandom',
    'mawk': """exec mawk 'BEGIN { for (;;) { s = s "x"; if (length(s) > 1000) s = ""; gsub(/y/, "z", s) } }'""",
    'md5sum': 'exec md5sum /dev/zero',
    'od': 'exec od -x /dev/urandom',
    'sed': "yes abc | exec sed -n 's/a\\(.*\\)c/\\1/p'",
    'sha256sum': 'exec sha256sum /dev/zero',
    'sort': 'while :; do seq 300000 | sort -R | tail -1; done',
    'sqlite3': "exec sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c'",
    'zstd': 'exec zstd -19 -c /dev/zero',
}
SHORT = 2  # seconds
FEW = 8  # samples of a program that are too few for a share


def busy(programs):
    """-> the programs that are installed, and the processes that keep them running"""
    pathlib.Path('source.cc').write_text(SOURCE, encoding='ascii')
    commands = {name: command for name, command in programs.items()
                if shutil.which({'cc1plus': 'g++'}.get(name, name))}
    return commands, [subprocess.Popen(['timeout', str(LIMIT), 'sh', '-c', command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True) for command in commands.values()]


@contextlib.contextmanager
def running(programs):
    commands, processes = busy(programs)
    try:
        time.sleep(SETTLING)
        yield list(commands)
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Measured:
    def __init__(self):
        self.whole, self.all = collections.Counter(), collections.Counter()
        self.cpu = self.bpf = self.runs = self.bytes = self.seconds = 0
        self.ended = True

    def add(self, program, frames, count):
        self.all[program] += count
        self.whole[program] += count * any(STARTS.match(frame) for frame in frames)


def bpf_time(pid):
    """-> (ns, runs) of the BPF programs that a process has open"""
    sums = [0, 0]
    with contextlib.suppress(OSError):
        for entry in os.scandir(f'/proc/{pid}/fdinfo'):
            with contextlib.suppress(OSError):
                said = dict(line.split(':', 1) for line in pathlib.Path(entry.path).read_text('ascii').splitlines() if ':' in line)
                if 'run_time_ns' in said:
                    sums[0] += int(said['run_time_ns'])
                    sums[1] += int(said['run_cnt'])
    return sums


def run(measured, seconds, command, output=None):
    """Runs a profiler that ends by itself, or after the time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(output or os.devnull, 'w', encoding='utf-8') as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL)
    end = time.monotonic() + seconds
    last = [0, 0]
    while time.monotonic() < end and process.poll() is None:
        time.sleep(0.25)
        last = max(last, bpf_time(process.pid))
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        measured.ended = False
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured.cpu += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    measured.bpf += last[0]
    measured.runs += last[1]


def iaprof(measured, seconds, frequency, program, *way):
    run(measured, seconds, [program, '-q', '-s', f'cpu-stack:frequency={frequency}', '-k', 'folded',
                             '-o', 'profile.folded', *way])
    measured.bytes += os.path.getsize('profile.folded')
    with open('profile.folded', encoding='utf-8') as file:
        for line in file:
            stack, count = line.rsplit(' ', 1)
            name, *frames = stack.split(';')
            measured.add(name, frames, round(int(count) * frequency / 1e9))


def perf(measured, seconds, frequency, *way):
    run(measured, seconds, ['perf', 'record', '-q', '-F', str(frequency), '-a', '-o', 'perf.data', *way])
    measured.bytes += os.path.getsize('perf.data')
    run(measured, 600, ['perf', 'script', '--no-inline', '-i', 'perf.data', '-F', 'comm,ip,sym'], 'perf.txt')
    text = pathlib.Path('perf.txt').read_text('utf-8', errors='replace')
    for sample in text.split('\n\n'):
        name, *lines = sample.strip('\n').split('\n')
        if name.strip():
            measured.add(name.strip(), [words[1] for words in (line.split(None, 1) for line in lines) if len(words) > 1], 1)


def bpftrace(measured, seconds, frequency):
    run(measured, seconds, ['bpftrace', '-e', f'profile:hz:{frequency} {{ @[comm, ustack(perf, 127)] = count(); }}'], 'bpftrace.txt')
    text = pathlib.Path('bpftrace.txt').read_text('utf-8', errors='replace')
    measured.bytes += len(text)
    for name, stack, count in re.findall(r'^@\[([^,\n]+), \n?(.*?)\n?\]: (\d+)$', text, re.M | re.S):
        frames = [words[1] for words in (line.split(None, 1) for line in stack.splitlines()) if len(words) > 1]
        measured.add(name, frames, int(count))


def tools(program):
    yield 'iaprof', lambda *where: iaprof(*where, program)
    if shutil.which('perf'):
        yield 'perf record -g', lambda *where: perf(*where, '-g')
        yield 'perf record --call-graph dwarf', lambda *where: perf(*where, '--call-graph', 'dwarf,16384')
    if shutil.which('bpftrace'):
        yield 'bpftrace ustack', bpftrace


def show(name, measured, frequency, names, ours):
    samples = sum(measured.all[program] for program in names)
    machine = measured.seconds * os.cpu_count()
    cost = measured.cpu + measured.bpf / 1e9
    print(f'{name}, {frequency} Hz: {samples} samples of these programs'
          + ('' if measured.ended else f' (killed: it took more than {PATIENCE} s to name them)'))
    print('  whole: ' + ', '.join(f'{program} {100 * measured.whole[program] / measured.all[program]:.1f} %'
                                  for program in names if measured.all[program]))
    print(f'  CPU time {measured.cpu:.2f} s, in BPF {measured.bpf / 1e9:.3f} s'
          + (f' ({measured.bpf / measured.runs / 1e3:.1f} us a run)' if measured.runs else '')
          + f': {100 * cost / machine:.2f} % of the machine; {measured.bytes / 1e6:.1f} MB'
          + (f', {1e6 * cost / samples:.0f} us and {measured.bytes / samples:.0f} bytes a sample' if samples else '')
          + (f'; iaprof to it: CPU time {ours.cpu / measured.cpu:.2f}' if ours and measured.cpu else ''), flush=True)


def share(measured, name):
    return 100 * measured.whole[name] / measured.all[name] if measured.all[name] else 0


def show_short(program):
    """A short run without a cache beside more programs than there are CPUs."""
    ours, theirs = Measured(), Measured()
    os.environ['IAPROF_CACHE'] = ''
    with running(PROGRAMS | MORE_PROGRAMS) as names:
        for _ in range(ROUNDS):
            iaprof(ours, PATIENCE, 99, program, '-d', f'{SHORT}s')
            if shutil.which('perf'):
                perf(theirs, PATIENCE, 99, '--call-graph', 'dwarf,16384', 'sleep', str(SHORT))
    compared = [name for name in names if theirs.all[name] >= FEW and share(theirs, name) >= 99] if theirs.all else names
    whole, samples = (sum(counter[name] for name in compared) for counter in (ours.whole, ours.all))
    print(f'{SHORT} s without cached tables beside {len(names)} programs, 99 Hz: {100 * whole / max(1, samples):.1f} % of '
          f'{samples} samples of the {len(compared)} programs that are whole for perf --call-graph dwarf; less than 99 %: '
          + (', '.join(f'{name} {share(ours, name):.1f} %' for name in compared if share(ours, name) < 99) or 'none'))


def main():
    if os.geteuid():
        print('skipped: profiling all of a machine needs root')
        return
    program = os.path.realpath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    before = STATISTICS.read_text('ascii')
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        STATISTICS.write_text('1', 'ascii')
        try:
            for frequency in FREQUENCIES:
                results = collections.defaultdict(Measured)
                with running(PROGRAMS) as names:
                    for _ in range(ROUNDS):
                        for name, measure in tools(program):
                            measure(results[name], seconds, frequency)
                            results[name].seconds += seconds
                for name, measured in results.items():
                    show(name, measured, frequency, names, results['iaprof'] if name != 'iaprof' else None)
            show_short(program)
        finally:
            STATISTICS.write_text(before, 'ascii')
            os.chdir('/')


if __name__ == '__main__':
    main()
