#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code that runtimes generate: named by perf maps, also by those written late, otherwise after the runtime. A double that
jumps into anonymous memory, and node and java where they are installed. TAP.

test_generated.py PROGRAM LIBRARY (tests/programs/generated.c, runtime.c)
"""
import contextlib
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from cases import PATIENCE, Skip, require_root, run_cases, wait_for_work, wait_until

NODE = 'function spin(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; } for (;;) spin(1e6);'
JAVA = '''public class Spin {
    static long spin(int n) { long s = 0; for (int i = 0; i < n; i++) s += i % 7; return s; }
    public static void main(String[] a) {
        long end = System.nanoTime() + Long.parseLong(a[0]) * 1000000000L, s = 0;
        while (System.nanoTime() < end) s += spin(1000000);
        System.out.println(s);
    }
}
'''


def is_sampling(pid):
    """Whether a process has opened perf events that call BPF programs."""
    with contextlib.suppress(OSError):
        links = [os.readlink(entry) for entry in pathlib.Path(f'/proc/{pid}/fd').iterdir()]
        return 'anon_inode:[perf_event]' in links and 'anon_inode:bpf_link' in links
    return False


def profile(folder, command, ending=None, started=0.05, sampled=0.5, **options):
    """-> (lines of folded stacks, messages) of a command that runs until it is killed, or ended by a function. It has
    used so many seconds of CPU time before, and while iaprof samples: the first of its samples are taken before iaprof has
    the tables for stacks. No capture shows when that is: a name that comes later than its records would not be in it."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options) as program:
        try:
            wait_for_work(program.pid, started)
            with subprocess.Popen([os.environ['TEST_IAPROF'], '-p', str(program.pid), '-s', 'cpu-stack', '-k',
                                   'folded:output=out.folded'], cwd=folder, stderr=subprocess.PIPE, text=True) as iaprof:
                wait_until(lambda: is_sampling(iaprof.pid) or iaprof.poll() is not None, 'perf events of iaprof')
                wait_for_work(program.pid, sampled)
                if ending:
                    ending(program)
                else:
                    iaprof.send_signal(signal.SIGINT)
                messages = iaprof.communicate(timeout=PATIENCE)[1]
        finally:
            program.kill()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f'/tmp/perf-{program.pid}.map')
    return (pathlib.Path(folder) / 'out.folded').read_text(encoding='utf-8').splitlines(), messages


def share(lines, name):
    """-> the share of samples with a frame that contains a name"""
    values = [(line, int(line.rsplit(' ', 1)[1])) for line in lines]
    return sum(value for line, value in values if name in line) / max(1, sum(value for _, value in values))


def require(lines, messages, name, least=0.7):
    if share(lines, name) < least:
        raise AssertionError(f'{share(lines, name):.3f} of samples have {name}: {lines[:5]} {messages}')


def double(library, label, remedy):
    with tempfile.TemporaryDirectory() as folder:
        arguments = []
        if library:
            arguments = [shutil.copy(LIBRARY, os.path.join(folder, library))]
        lines, messages = profile(folder, [PROGRAM, *arguments])
    require(lines, messages, f'main;{label}')
    require(lines, messages, f'{label}_[j];work')
    if f'{label}: generated code without names' not in messages or remedy not in messages:
        raise AssertionError(f'no remedy: {messages}')


def late():
    """The map is written while the program ends."""
    with tempfile.TemporaryDirectory() as folder:
        library = shutil.copy(LIBRARY, os.path.join(folder, 'libjvm.so'))
        lines, messages = profile(folder, [PROGRAM, library, 'late'], lambda program: program.terminate())
    require(lines, messages, 'main;late_function_[j];work')


def node(options, name):
    if not shutil.which('node'):
        raise Skip('node is not installed')
    with tempfile.TemporaryDirectory() as folder:
        lines, messages = profile(folder, ['node', *options, '-e', NODE], started=0.5)
    require(lines, messages, name)


@functools.cache
def java_classes():
    folder = tempfile.mkdtemp(dir=FOLDER.name)
    (pathlib.Path(folder) / 'Spin.java').write_text(JAVA, encoding='ascii')
    subprocess.run(['javac', 'Spin.java'], check=True, cwd=folder, timeout=PATIENCE)
    return folder


def java(options, name):
    if not shutil.which('java') or not shutil.which('javac'):
        raise Skip('java and javac are not installed')
    with tempfile.TemporaryDirectory() as folder:
        lines, messages = profile(folder, ['java', '-XX:+PreserveFramePointer', *options, '-cp', java_classes(), 'Spin', '600'],
                                  lambda program: program.terminate(), started=1.5)
    require(lines, messages, name)


def main():
    require_root()
    cases = [('no runtime', lambda: double(None, '[JIT]', 'perf map')),
             ('HotSpot', lambda: double('libjvm.so', '[HotSpot JIT]', '-XX:+DumpPerfMapAtExit')),
             ('v8', lambda: double('libnode.so.108', '[v8 JIT]', '--perf-basic-prof')),
             ('.NET', lambda: double('libcoreclr.so', '[.NET JIT]', 'DOTNET_PerfMapEnabled=1')),
             ('not a runtime', lambda: double('libnodes.so', '[JIT]', 'perf map')),
             ('a map that is written late', late),
             ('node', lambda: node((), '[v8 JIT]_[j]')),
             ('node with a map', lambda: node(('--perf-basic-prof',), 'spin')),
             ('java', lambda: java((), '[HotSpot JIT]_[j]')),
             # The map has the code that is there at the end: one compiler, so that none is replaced later.
             ('java with a map at its end', lambda: java(('-XX:+UnlockDiagnosticVMOptions', '-XX:+DumpPerfMapAtExit',
                                                          '-XX:TieredStopAtLevel=1'), 'spin'))]
    run_cases(cases)


FOLDER = tempfile.TemporaryDirectory()
PROGRAM, LIBRARY = map(os.path.abspath, sys.argv[1:])
main()
