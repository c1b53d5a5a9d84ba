#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record_programs.py IAPROF FOLDER [SECONDS]: record each of the programs below that is installed, with root's rights,
into FOLDER/service=NAME/stacks.csv, and convert recorded jobs of devices. measure.mjs makes a fleet of them."""
import pathlib
import shutil
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parents[2]
# Each file of the tree on its own, so that no build is needed; a file that does not compile exercises diagnostics.
C_FILES = 'for f in lib/*/*.c engine/*/*.c core/*/*.c; do %s "$f" >/dev/null 2>&1; done'
PYTHON_FILES = 'for f in tests/*/*.py; do %s "$f" >/dev/null 2>&1; done'
TEXT = 'cat man/* doc/*.md engine/*/*.c lib/*/*.c'

# Name, the program that it needs, a command that the shell repeats.
PROGRAMS = [
    ('gcc-O0', 'gcc', C_FILES % 'gcc -w -O0 -I. -Iinclude -S -o /dev/null'),
    ('gcc-O2', 'gcc', C_FILES % 'gcc -w -O2 -I. -Iinclude -S -o /dev/null'),
    ('gcc-O3', 'gcc', C_FILES % 'gcc -w -O3 -funroll-loops -I. -Iinclude -S -o /dev/null'),
    ('gcc-debug', 'gcc', C_FILES % 'gcc -w -g3 -I. -Iinclude -c -o /dev/null'),
    ('gcc-analyzer', 'gcc', C_FILES % 'gcc -w -fanalyzer -I. -Iinclude -S -o /dev/null'),
    ('cpp', 'cpp', C_FILES % 'cpp -I. -Iinclude'),
    ('clang-O0', 'clang', C_FILES % 'clang -w -O0 -I. -Iinclude -S -o /dev/null'),
    ('clang-O2', 'clang', C_FILES % 'clang -w -O2 -I. -Iinclude -S -o /dev/null'),
    ('clang-bpf', 'clang', C_FILES % 'clang -w -O2 -target bpf -I. -Iinclude -S -o /dev/null'),
    ('clang-syntax', 'clang', C_FILES % 'clang -w -fsyntax-only -I. -Iinclude'),
    ('clang-tidy', 'clang-tidy', C_FILES % 'clang-tidy --quiet'),
    ('clang-format', 'clang-format', C_FILES % 'clang-format'),
    ('g++', 'g++', 'echo "#include <bits/stdc++.h>" | g++ -x c++ -O2 -S -o /dev/null -'),
    ('g++-regex', 'g++', 'echo "#include <regex>\nbool f(char *s) { return std::regex_match(s, std::regex(s)); }" |'
      ' g++ -x c++ -O2 -S -o /dev/null -'),
    ('clang++', 'clang++', 'echo "#include <bits/stdc++.h>" | clang++ -x c++ -O2 -S -o /dev/null -'),
    ('objdump', 'objdump', 'objdump -d /usr/bin/python3* /usr/bin/git >/dev/null 2>&1'),
    ('objdump-source', 'objdump', 'objdump -dlC /usr/lib/x86_64-linux-gnu/libc.so.6 >/dev/null 2>&1'),
    ('readelf', 'readelf', 'readelf -aW /usr/bin/git /usr/bin/gdb >/dev/null 2>&1'),
    ('nm', 'nm', 'nm -DC /usr/lib/x86_64-linux-gnu/*.so >/dev/null 2>&1'),
    ('strings', 'strings', 'strings -a /usr/bin/* >/dev/null 2>&1'),
    ('gofmt', 'gofmt', 'gofmt -d "$(go env GOROOT)/src/cmd/compile" >/dev/null'),
    ('go-vet', 'go', 'cd "$(go env GOROOT)/src/net/http" && go vet . >/dev/null 2>&1; cd /'),
    ('python-json', 'python3', 'python3 -c "import json\nfor _ in range(2000): json.dumps(json.loads(json.dumps(list(range(3000)))),'
      ' indent=1)"'),
    ('python-compile', 'python3', PYTHON_FILES % 'python3 -c "import sys, ast; [ast.unparse(ast.parse(open(sys.argv[1]).read()))'
      ' for _ in range(9)]"'),
    ('python-regex', 'python3', PYTHON_FILES % 'python3 -c "import sys, re; re.sub(r\'(\\w+)\\s+(\\w+)\', r\'\\2 \\1\','
      ' open(sys.argv[1]).read() * 50)"'),
    ('python-pydoc', 'python3', 'python3 -m pydoc subprocess asyncio email argparse typing >/dev/null'),
    ('python-tokenize', 'python3', PYTHON_FILES % 'python3 -m tokenize'),
    ('python-fractions', 'python3', 'python3 -c "from fractions import Fraction\nprint(sum(Fraction(1, i) for i in range(1, 3000)))"'
      ' >/dev/null'),
    ('python-import', 'python3', 'python3 -X importtime -c "import asyncio, email, http.client, xml.dom, sqlite3, unittest" 2>/dev/null'),
    ('perl', 'perl', TEXT + ' | perl -ne "for (split) { \\$n{lc \\$_}++ } END { print join q( ), sort keys %n }" >/dev/null'),
    ('perl-pod', 'pod2text', 'pod2text "$(find /usr/share/perl /usr/lib -name "*.pod" -size +9k | shuf -n 1)" >/dev/null 2>&1'),
    ('node', 'node', 'node -e "const m = {}; for (let i = 0; i < 3e6; i++) m[`k${i % 5e4}`] = [i]; JSON.stringify(m)"'),
    ('node-check', 'node', 'node --check "$(find /usr/lib/node_modules /usr/share -name "*.js" -size +9k | shuf -n 1)" 2>/dev/null'),
    ('npm', 'npm', 'npm help install >/dev/null 2>&1'),
    ('java', 'java', 'java -XshowSettings:all -version >/dev/null 2>&1'),
    ('php', 'php', 'php -r "for (\\$i = 0; \\$i < 2000000; \\$i++) \\$a[md5(\\$i)] = \\$i; ksort(\\$a);"'),
    ('rustc', 'rustc', 'echo "use std::collections::*; pub fn f(m: &mut BTreeMap<String, Vec<u8>>) { m.retain(|_, v| { v.sort();'
      ' v.len() > 1 }) }" | rustc --crate-type lib -O -o /dev/null -'),
    ('tclsh', 'tclsh', 'echo "for {set i 0} {\\$i < 900000} {incr i} {dict set d \\$i [expr {\\$i * 2}]}" | tclsh'),
    ('sqlite3', 'sqlite3', 'sqlite3 :memory: "with recursive c(x) as (select 1 union all select x + 1 from c where x < 400000)'
      ' select x % 97, group_concat(x), sum(x) from c group by 1 order by 3" >/dev/null'),
    ('git-log', 'git', 'git log -p -n 400 --stat >/dev/null'),
    ('git-blame', 'git', C_FILES % 'git blame'),
    ('git-pack', 'git', 'git pack-objects --all --no-reuse-delta --stdout </dev/null >/dev/null 2>&1'),
    ('awk', 'awk', TEXT + ' | awk "{for (i = 1; i <= NF; i++) n[\\$i]++} END {for (w in n) print n[w], w}" >/dev/null'),
    ('sort', 'sort', TEXT + ' | sort -f | uniq -c >/dev/null'),
    ('grep', 'grep', 'grep -rnE "([a-z]+)_\\1" engine core lib >/dev/null'),
    ('sed', 'sed', TEXT + ' | sed -E "s/([a-z]+) ([a-z]+)/\\2 \\1/g; y/abc/xyz/" >/dev/null'),
    ('bc', 'bc', 'echo "scale=1500; 4*a(1)" | bc -l >/dev/null'),
    ('xz', 'xz', TEXT + ' | xz -6 >/dev/null'),
    ('zstd', 'zstd', TEXT + ' | zstd -15 -q >/dev/null'),
    ('gzip', 'gzip', TEXT + ' | gzip -9 >/dev/null'),
    ('bzip2', 'bzip2', TEXT + ' | bzip2 -9 >/dev/null'),
    ('tar', 'tar', 'tar -c doc man engine core lib tests | wc -c >/dev/null'),
    ('openssl', 'openssl', 'openssl genrsa 3072 2>/dev/null >/dev/null'),
    ('mandoc', 'mandoc', 'for f in man/*; do mandoc -T html "$f" >/dev/null 2>&1; done'),
    ('dot', 'dot', '(echo "digraph {"; seq 250 | awk "{print \\$1 \\"->\\" (\\$1 * 7 % 83) \\";\\"}"; echo "}") | dot -Tsvg >/dev/null'),
    ('shellcheck', 'shellcheck', 'shellcheck bootstrap tests/*.sh >/dev/null 2>&1'),
    ('bash', 'bash', 'bash -c "for ((i = 0; i < 90000; i++)); do a[i % 100]=\\${i/1/2}; done"'),
    ('zsh', 'zsh', 'zsh -fc "for i in {1..60000}; do a[i%100]=\\${i/1/2}; done"'),
    ('processes', 'find', 'for i in 1 2 3 4 5 6 7 8 9; do find lib -name "*.h" -exec basename {} \\; >/dev/null; done'),
    ('gdb', 'gdb', 'gdb -batch -nx -ex "info functions alloc" /usr/bin/git >/dev/null 2>&1'),
    ('cmake', 'cmake', 'cmake --help-full >/dev/null'),
    ('jq', 'jq', 'seq 200000 | jq -s "map({a: ., b: tostring}) | group_by(.a % 7) | map(length)" >/dev/null'),
    ('xmllint', 'xmllint', 'xmllint --noout /usr/share/mime/packages/*.xml 2>/dev/null'),
    ('gpg', 'gpg', TEXT + ' | gpg --batch --homedir /tmp --print-mds >/dev/null 2>&1'),
    ('dpkg', 'dpkg-query', 'dpkg-query -S /usr/bin/git >/dev/null; dpkg-query -l >/dev/null'),
    ('apt-cache', 'apt-cache', 'apt-cache dumpavail 2>/dev/null >/dev/null; apt-cache depends gcc >/dev/null'),
]

def place(folder, service, name):
    path = folder / f'service={service}' / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path

def main():
    iaprof, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    seconds = sys.argv[3] if len(sys.argv) > 3 else '5'
    for capture in ('decoder', 'demo'):
        for name, rows in (('stacks.csv', 'stacks'), ('stacks.jobs.csv', 'jobs')):
            subprocess.run([iaprof, '--replay', TREE / f'examples/{capture}.iaprof', '-k', f'csv:rows={rows},newline=lf,escape=no',
                      '-o', place(folder, capture, name)], check=True, stderr=subprocess.DEVNULL)
    for name, needs, command in PROGRAMS:
        if not shutil.which(needs):
            continue
        subprocess.run([iaprof, '--scope', 'command', '-s', 'cpu-stack:frequency=4999',
                    '-k', 'csv:newline=lf,escape=no,pid=no', '-o', place(folder, name, 'stacks.csv'), '--',
                    'timeout', seconds, 'sh', '-c', f'while :; do {command}; done'],
                                      cwd=TREE, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

main()
