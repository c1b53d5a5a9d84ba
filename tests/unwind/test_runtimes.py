#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of runtimes that keep frame pointers (Go, node, Java) have stacks that are as complete with unwind tables as by
frame pointers alone. TAP."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from cases import run_cases, samples, skip_all, wait_for_work

OUTERMOST = re.compile(r'(_start|_?_?clone3?|__libc_start\w*|start_thread|runtime\.(goexit|mstart|rt0_go|mcall|systemstack)\S*)$')
GO = """package main

import "strings"

func work(depth int) int {
	if depth > 0 {
		return work(depth-1) + 1
	}
	return len(strings.Repeat("ab", 1000))
}

func main() {
	for sum := 0; ; sum += work(20) {
	}
}
"""
JAVA = """class Busy {
    static long work(int depth) { return depth > 0 ? work(depth - 1) + 1 : String.valueOf(depth).hashCode(); }
    public static void main(String[] arguments) { for (long sum = 0; ; sum += work(20)) { } }
}
"""
NODE = 'function work(depth) { return depth ? work(depth - 1) + 1 : JSON.stringify([depth]).length } for (;;) work(20)'


def go(folder):
    (folder / 'busy.go').write_text(GO, encoding='ascii')
    environment = os.environ | {'GOCACHE': str(folder / 'cache'), 'GOFLAGS': '-mod=mod', 'GO111MODULE': 'off', 'GOPROXY': 'off'}
    subprocess.run(['go', 'build', '-o', 'busy', 'busy.go'], cwd=folder, env=environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return [str(folder / 'busy')]


def java(folder):
    (folder / 'Busy.java').write_text(JAVA, encoding='ascii')
    subprocess.run(['javac', 'Busy.java'], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return ['java', '-XX:+PreserveFramePointer', '-cp', str(folder), 'Busy']


def node(_):
    return ['node', '-e', NODE]


RUNTIMES = {('go',): go, ('java', 'javac'): java, ('node',): node}


def shares(pid, way):
    """-> of the samples of a process, those with an outermost function, for every 300 samples"""
    for stacks in samples(pid, f'cpu-stack:kernel=no,unwind={way},', 300):
        total = sum(value for _, value in stacks)
        yield sum(value for stack, value in stacks if any(map(OUTERMOST.match, stack.split(';')[1:]))) / total


# By which two shares of 300 samples may differ: four standard deviations of shares of 0.96.
TOLERANCE = 0.06


def check(make):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with subprocess.Popen(make(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
            try:
                wait_for_work(program.pid, 0.5)
                with contextlib.closing(shares(program.pid, 'fp')) as found:
                    chains = next(found)
                with contextlib.closing(shares(program.pid, 'tables')) as found:
                    next(found) # the first samples are taken before iaprof has the tables
                    tables = next(found)
            finally:
                program.kill()
    if tables < chains - TOLERANCE:
        raise AssertionError(f'whole by frame pointers {chains:.3f}, by tables {tables:.3f}')
    return f'whole by frame pointers {chains:.3f}, by tables {tables:.3f}'


def main():
    runtimes = {programs[0]: make for programs, make in RUNTIMES.items() if all(map(shutil.which, programs))}
    if os.geteuid() or not runtimes:
        skip_all('root and one of go, javac and node are required')
    run_cases([(name, lambda make=make: check(make)) for name, make in runtimes.items()])


main()
