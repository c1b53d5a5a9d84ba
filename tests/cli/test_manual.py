#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the manual with the output of iaprof --help: options, keys, ranges, defaults. TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

program, source = sys.argv[1:]
failures = []
number = 0


def report(name, problems, skip=None):
    global number
    number += 1
    print(f"{'not ok' if problems else 'ok'} {number} - {name}{f' # SKIP {skip}' if skip else ''}")
    for problem in problems:
        print(f'# {problem}')
    failures.extend(problems)


def read(path):
    with open(os.path.join(source, path), encoding='utf-8') as file:
        return file.read()


def output(*arguments):
    return subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, encoding='utf-8').stdout


def words(text):
    return ' '.join(text.split())


def help_keys(name):
    """key -> (its values, its description), from iaprof --help NAME."""
    text = output('--help', name)
    rows = re.split(r'^  (?=[a-z][a-z0-9-]*=)', text, flags=re.M)[1:]
    keys = {}
    for row in rows:
        key, takes, said = re.match(r'([a-z0-9-]+)=(\S+)\s+(.*)', row, re.S).groups()
        keys[key] = (takes, words(said))
    return keys


def help_options():
    """option -> its description, from iaprof --help all."""
    rows = re.findall(r'^ {2,6}(?:-[a-z], )?--([a-z-]+)(.*\n(?: {20,}.*\n)*)', output('--help', 'all'), re.M)
    return {name: words(said) for name, said in rows}


def page_option(name):
    """The same from the manual page, without its macros."""
    text = re.search(rf'^\.It (?:Fl [a-z] , )?Fl -{name}\b(.*?)^\.(?:It Fl|S[hs] )', read('man/iaprof.1'), re.M | re.S)
    return words(re.sub(r'^\.\w\w ', '', text[1], flags=re.M).replace(' Ns ', '').replace('Cm ', ''))


def page_keys(page):
    """The same from a manual page: key -> (the rest of its .It line, its text)."""
    rows = re.split(r'^\.It Cm (?=[a-z][a-z0-9-]* Ns = Ns )', page, flags=re.M)[1:]
    keys = {}
    for row in rows:
        head, text = row.split('\n', 1)
        key, takes = head.split(' Ns = Ns ', 1)
        keys[key] = (takes, words(re.split(r'^\.El', text, flags=re.M)[0]))
    return keys


def compare_plugin(name):
    path = f'man/iaprof-{name}.7'
    if not os.path.exists(os.path.join(source, path)):
        return [f'{path} is missing']
    said, written = help_keys(name), page_keys(read(path))
    problems = [f'{path} lacks the key {key}' for key in said.keys() - written.keys()]
    problems += [f'{path} has the key {key}, which the plugin lacks' for key in written.keys() - said.keys()]
    for key in said.keys() & written.keys():
        facts = re.search(r'(Range: .*)?Default: .*$', said[key][1]).group()
        if not written[key][1].endswith(facts):
            problems.append(f'{path}, {key}: does not end with "{facts}"')
        choices = said[key][0].split('|')
        if len(choices) > 1 and re.findall(r'[^\s|]+', written[key][0].replace('Cm', '')) != choices:
            problems.append(f'{path}, {key}: {written[key][0]} is not {said[key][0]}')
    return problems


def differences(name, found, wanted):
    return [f'{name} lacks {item}' for item in sorted(wanted - found)] + \
           [f'{name} has {item}, which iaprof --help lacks' for item in sorted(found - wanted)]


if not os.access(program, os.X_OK):
    print(f'1..0 # SKIP {program} is not built')
    sys.exit(0)

options = set(re.findall(r'^ {2,6}(?:-[a-z], )?--([a-z-]+)', output('--help', 'all'), re.M))
report('the help has options', [] if len(options) >= 16 else ['fewer options than there are'])
page = set(re.findall(r'^\.It (?:Fl [a-z] , )?Fl -([a-z-]+)', read('man/iaprof.1'), re.M))
report('iaprof(1) has the options', differences('iaprof(1)', page, options))
problems = []
for name, said in help_options().items():
    facts = re.search(r'(?:Range: ([^.]+(?:\.\d+)?[^.]*)\.)?(?: Without a unit: \w+\.)?(?: Default: (\S+)\.)?$', said)
    bounds = re.findall(r'\d\S*', facts[1] or '') + [facts[2]] * bool(facts[2])
    problems += [f'{name}: lacks "{bound}", as in "{said}"' for bound in bounds if bound not in page_option(name)]
report('iaprof(1) has the ranges and defaults of options', problems)
keys = set(re.findall(r'^\.It Cm ([a-z-]+)$', read('man/iaprof.ini.5'), re.M))
# --diff BEFORE AFTER is two keys.
commands = {'config', 'source', 'sink', 'decoder', 'list', 'help', 'check', 'self-test', 'version'}
wanted = options - commands - {'diff'} | {'before', 'after'}
report('iaprof.ini(5) has the keys', differences('iaprof.ini(5)', keys, wanted))

plugins = re.findall(r'^  ([a-z]\S*)', output('--list'), re.M)
report('there are plugins', [] if 'folded' in plugins else ['--list does not name the sink folded'])
for plugin in sorted(plugins):
    report(f'iaprof-{plugin}(7) has the keys of {plugin}', compare_plugin(plugin))

with tempfile.TemporaryDirectory() as folder:
    page = re.search(r'^\.Sh EXAMPLES\n\.Bd.*?\n(.*?)^\.Ed', read('man/iaprof.ini.5'), re.M | re.S).group(1)
    for name, text in [*((f'examples/{name}.ini', read(f'examples/{name}.ini')) for name in ('cpu', 'gpu', 'npu')),
                       ('the example in iaprof.ini(5)', page)]:
        with open(os.path.join(folder, 'example.ini'), 'w', encoding='utf-8') as file:
            file.write(text)
        check = subprocess.run([program, '-c', 'example.ini', '--check'], cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, encoding='utf-8', check=False)
        # 3: right, but this machine has nothing to profile.
        report(f'{name} is right', [] if check.returncode in (0, 3) else [check.stderr.strip()])

pages = sorted(os.listdir(os.path.join(source, 'man')))
pages = [page for page in pages if re.search(r'\.\d$', page)]
build = read('man/meson.build')
report('every page is installed', [f'man/meson.build lacks {page}' for page in pages if f"'{page}'" not in build])
if shutil.which('mandoc'):
    lint = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning'] + [f'{source}/man/{page}' for page in pages],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', check=False)
    report('mandoc finds no fault', lint.stdout.splitlines())
else:
    report('mandoc finds no fault', [], 'mandoc is not installed')
print(f'1..{number}')
sys.exit(1 if failures else 0)
