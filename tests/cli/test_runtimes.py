#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of language runtimes in doc/requirements.md: what is shown without settings, and what they add. The packages are
Debian's, and a row whose package is missing is skipped.

Each program calls hot_outer() and that hot_inner(), which spends almost all of the time.
"""
import os
import re
import subprocess

from harness import Skip, case, iaprof, main, needs_program, needs_sampling, read, require, write

# Shares of the samples in the program's own code: what is left is the runtime's start and its other threads.
MOST = 0.9

JAVASCRIPT = """function hot_inner(n) { let s = 0; for (let i = 0; i < n; i++) s += i * i % 7; return s }
function hot_outer(n) { return hot_inner(n) + 1 }
const begin = process.cpuUsage().user; while (process.cpuUsage().user - begin < 2e6) hot_outer(100000)
"""
PHP = """<?php
function hot_inner($n) { $s = 0; for ($i = 0; $i < $n; $i++) $s += $i * $i % 7; return $s; }
function hot_outer($n) { return hot_inner($n); }
function used() { $r = getrusage(); return $r['ru_utime.tv_sec'] + $r['ru_utime.tv_usec'] / 1e6; }
for ($begin = used(); used() - $begin < 2;) hot_outer(100000);
"""
RUBY = """def hot_inner(n) s = 0; i = 0; while i < n do s += i * i % 7; i += 1 end; s end
def hot_outer(n) hot_inner(n) end
def used() Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) end
begin_ = used
hot_outer(100000) while used - begin_ < 2
"""
LUA = """function hot_inner(n) local s = 0 for i = 1, n do s = s + i * i % 7 end return s end
function hot_outer(n) return (hot_inner(n)) end
local begin = os.clock() while os.clock() - begin < 2 do hot_outer(100000) end
"""
ERLANG = """-module(hot). -export([main/0, hot_outer/1, hot_inner/2]).
hot_inner(0, S) -> S; hot_inner(N, S) -> hot_inner(N - 1, (S + N * N) rem 7).
hot_outer(N) -> X = hot_inner(N, 0), X + 1.
run() -> case element(1, erlang:statistics(runtime)) of T when T < 3000 -> hot_outer(100000), run(); _ -> ok end.
main() -> run(), halt().
"""
OCAML = """let [@inline never] hot_inner n = let s = ref 0 in for i = 0 to n do s := !s + (i * i mod 7) done; !s
let [@inline never] hot_outer n = 1 + hot_inner n
let () = while Sys.time () < 2. do ignore (Sys.opaque_identity (hot_outer 100000)) done
"""
JAVA = """public class Hot {
static int hot_inner(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i % 7; return s; }
static int hot_outer(int n) { return hot_inner(n) + 1; }
public static void main(String[] arguments) {
var threads = java.lang.management.ManagementFactory.getThreadMXBean();
int s = 0; while (threads.getCurrentThreadCpuTime() < 3000000000L) s += hot_outer(100000); System.out.println(s); } }
"""


def profile(*command):
    outcome = iaprof('--scope', 'command', '-s', 'cpu-stack:frequency=499', '-k', 'folded', '-o', 'out', *command).completes()
    stacks = []
    for line in read('out').splitlines():
        stack, value = line.rsplit(' ', 1)
        stacks.append(([frame for frame in stack.split(';')[1:] if not frame.endswith('_[k]')], int(value)))
    return stacks, outcome.err


def share(stacks, pattern):
    total = sum(value for _, value in stacks)
    require(total, 'there are no samples')
    return sum(value for frames, value in stacks if re.search(pattern, ';'.join(frames))) / total


def build(*command):
    result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode:
        raise Skip(f'{command[0]} fails here: {result.stderr.decode(errors="replace").strip().splitlines()[-1:]}')


def marked(label, remedy, *command):
    """The code has no names: it has the mark of its runtime, and the message names the setting that provides them."""
    stacks, said = profile(*command)
    require(share(stacks, re.escape(label)) > 0.5, f'{label} is not in: {stacks[:3]}')
    require(not share(stacks, 'hot_inner'), 'names without the setting')
    require(f'{label}: generated code without names (for names: ' in said and remedy in said, said)


def named(*command, callers=True, name='hot_inner'):
    stacks, said = profile(*command)
    found = share(stacks, name)
    with_callers = share(stacks, r'hot_outer.*;.*hot_inner')
    print(f'# {found:.1%} named, {with_callers:.1%} with their caller')
    require(found > 0.5 and found >= MOST * share(stacks, r'_\[j\]|' + name), f'only {found:.1%} have names: {stacks[:3]}')
    require(not callers or with_callers >= MOST * found, f'only {with_callers:.1%} have callers: {stacks[:3]}')
    require('generated code without names' not in said, said)


def interpreted(function, *command):
    """Functions of the interpreter itself."""
    stacks, said = profile(*command)
    require(share(stacks, function) > 0.5, f'{function} is not in: {stacks[:3]}')
    require(not share(stacks, 'hot_inner'), 'names of interpreted functions: the table is out of date')
    require('generated code without names' not in said, said)


@case('node', needs=[needs_sampling, needs_program('node')])
def node():
    program = write('hot.js', JAVASCRIPT)
    marked('[v8 JIT]', 'node --perf-basic-prof', 'node', program)
    named('node', '--perf-basic-prof', program, callers=False)
    named('node', '--perf-basic-prof', '--interpreted-frames-native-stack', program)


@case('Java', needs=[needs_sampling, needs_program('javac')])
def java():
    write('Hot.java', JAVA)
    build('javac', 'Hot.java')
    marked('[HotSpot JIT]', '-XX:+PreserveFramePointer', 'java', 'Hot')
    # HotSpot inlines functions into main().
    named('java', '-XX:+PreserveFramePointer', '-XX:+UnlockDiagnosticVMOptions', '-XX:+DumpPerfMapAtExit', 'Hot',
          callers=False, name=r'Hot\.')


@case('PHP', needs=[needs_sampling, needs_program('php')])
def php():
    program = write('hot.php', PHP)
    interpreted('execute_ex', 'php', program)
    compiled = ['php', '-d', 'opcache.enable_cli=1', '-d', 'opcache.jit=tracing', '-d', 'opcache.jit_buffer_size=64M']
    if 'opcache' not in subprocess.run(['php', '-v'], stdout=subprocess.PIPE, check=False).stdout.decode().lower():
        raise Skip('PHP has no opcache')
    marked('[PHP JIT]', 'opcache.jit_debug=0x10', *compiled, program)
    named(*compiled, '-d', 'opcache.jit_debug=0x10', program, callers=False)


@case('Ruby', needs=[needs_sampling, needs_program('ruby')])
def ruby():
    program = write('hot.rb', RUBY)
    interpreted('rb_vm_exec|vm_exec', 'ruby', program)
    version = subprocess.run(['ruby', '--yjit', '-e', 'print RUBY_VERSION'], stdout=subprocess.PIPE, check=False).stdout.decode()
    if not version:
        raise Skip('ruby has no YJIT')
    marked('[Ruby JIT]', 'ruby --yjit-perf', 'ruby', '--yjit', program)
    if tuple(map(int, version.split('.')[:2])) >= (3, 3):
        named('ruby', '--yjit', '--yjit-perf', program, callers=False)


@case('LuaJIT', needs=[needs_sampling, needs_program('luajit')])
def luajit():
    program = write('hot.lua', LUA)
    marked('[LuaJIT]', 'a build with -DLUAJIT_USE_PERFTOOLS', 'luajit', program)
    interpreted('lua_pcall', 'luajit', '-joff', program)


@case('Erlang', needs=[needs_sampling, needs_program('erlc')])
def erlang():
    write('hot.erl', ERLANG)
    build('erlc', 'hot.erl')
    marked('[Erlang JIT]', 'erl +JPperf true', 'erl', '-noshell', '-s', 'hot', 'main')
    named('erl', '+JPperf', 'true', '-noshell', '-s', 'hot', 'main')


@case('OCaml', needs=[needs_sampling, needs_program('ocamlopt')])
def ocaml():
    write('hot.ml', OCAML)
    build('ocamlopt', '-o', 'hot', 'hot.ml')
    named(os.path.abspath('hot'))


if __name__ == '__main__':
    main()
