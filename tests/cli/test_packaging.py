#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The units and the packages: systemd rates and reads the units, and each file that is installed is in one package. TAP.
usage: test_packaging.py SOURCE BUILD
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

source, build = map(os.path.abspath, sys.argv[1:])
failures = number = 0


def check(name, function):
    """A case: function returns problems, or a reason to skip it as a str."""
    global failures, number
    number += 1
    problems = function()
    skip = f' # SKIP {problems}' if isinstance(problems, str) else ''
    failures += bool(problems and not skip)
    print(f"{'not ok' if problems and not skip else 'ok'} {number} - {name}{skip}")
    for problem in [] if skip else problems:
        print(f'# {problem}')


def read(path):
    with open(os.path.join(source, path), encoding='utf-8') as file:
        return file.read()


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', check=False)


def installed():
    """-> the files of an installation, as if the prefix were /usr and the library folder /usr/lib/ARCHITECTURE"""
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, 'root')
        run('sh', os.path.join(source, 'tests/stage.sh'), build, root)
        files = [os.path.relpath(os.path.join(parent, name), root)
                 for parent, _, names in os.walk(root) for name in names]
        bin_folder = next(os.path.dirname(path) for path in files if path.endswith('bin/iaprof'))
        prefix = os.path.dirname(bin_folder)
        library = os.path.dirname(os.path.dirname(next(path for path in files if path.endswith('/iaprof.pc'))))
    found = set()
    for path in files:
        if path.startswith(f'{library}/') and 'systemd/' not in path and 'sysusers.d/' not in path:
            path = f'usr/lib/ARCHITECTURE/{os.path.relpath(path, library)}'
        path = re.sub(f'^{re.escape(prefix)}/', 'usr/', path)
        found.add(re.sub('^usr/(etc|lib/systemd)/', r'\1/', path))
    # Packages build these, too, against the installation.
    plugins = re.search(r'install -D .* ((\S+\.so ?)+)\n', read('examples/cuda/Makefile'))[1].split()
    return found | {f'usr/lib/ARCHITECTURE/iaprof/plugins/{name}' for name in plugins}


def matches(path, pattern):
    """Of debian/*.install and %files: a folder stands for all that is in it, and '*' for no '/'."""
    parts, wanted = path.split('/'), pattern.split('/')
    return len(parts) >= len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))


def compare(files, packages):
    """packages: {name: (patterns, what is left out)}"""
    problems = []
    for path in sorted(files):
        owners = [name for name, (patterns, out) in packages.items()
                  if any(matches(path, pattern) for pattern in patterns) and not any(one(path) for one in out)]
        if len(owners) != 1:
            problems.append(f'{path} is in {owners or "no package"}')
    for name, (patterns, _) in packages.items():
        problems += [f'{name}: nothing is {pattern}' for pattern in patterns
                     if not any(matches(path, pattern) for path in files)]
    return problems


def debian():
    packages = {}
    rules = read('debian/rules')
    for name in re.findall(r'^Package: (\S+)', read('debian/control'), re.M):
        options = re.search(rf'dh_install --package={name} (.*)', rules)
        excluded = re.findall(r'--exclude=(\S+)', options[1]) if options else []
        packages[name] = (read(f'debian/{name}.install').split(),
                          [lambda path, text=text: text in path for text in excluded])
    return compare(files, packages)


MACROS = {'_sysconfdir': '/etc', '_unitdir': '/lib/systemd/system', '_sysusersdir': '/usr/lib/sysusers.d',
          '_bindir': '/usr/bin', '_libdir': '/usr/lib/ARCHITECTURE', '_datadir': '/usr/share',
          '_mandir': '/usr/share/man', '_includedir': '/usr/include'}


def spec():
    packages = {}
    for name, body in re.findall(r'^%files ?(\w*)\n(.*?)(?=^%files|^%changelog)', read('packaging/iaprof.spec'),
                                 re.M | re.S):
        patterns, excluded = [], []
        for line in body.splitlines():
            words = re.sub(r'%\{(\w+)\}', lambda match: MACROS[match[1]], line).split()
            if words and words[0] == '%exclude':
                excluded.append(lambda path, pattern=words[1][1:]: matches(path, pattern))
            elif words and words[0] not in ('%license', '%doc', '%dir'):
                patterns.append(words[-1][1:])
        packages[name or 'iaprof'] = patterns, excluded
    return compare(files, packages)


def rpm():
    if not shutil.which('rpmspec'):
        return 'rpmspec is not installed'
    result = run('rpmspec', '-P', os.path.join(source, 'packaging/iaprof.spec'))
    return result.stdout.splitlines() if result.returncode or 'warning' in result.stdout else []


UNITS = {'iaprof': '25', 'iaprof-web': '15'}  # and the threshold of each


def unit_path(name):
    return os.path.join(build, f'service/{name}.service')


def unit_text(name):
    with open(unit_path(name), encoding='utf-8') as file:
        return file.read()


def security():
    if not shutil.which('systemd-analyze'):
        return 'systemd-analyze is not installed'
    problems = []
    for name, threshold in UNITS.items():
        result = run('systemd-analyze', 'security', '--offline=true', f'--threshold={threshold}', '--no-pager', unit_path(name))
        if 'unrecognized option' in result.stdout:
            return 'systemd-analyze is older than systemd 250'
        problems += result.stdout.splitlines() if result.returncode else []
    return problems


def verify():
    if not shutil.which('systemd-analyze'):
        return 'systemd-analyze is not installed'
    with tempfile.TemporaryDirectory() as folder:
        units = [os.path.join(folder, f'{name}.service') for name in UNITS]
        for unit, name in zip(units, UNITS):
            with open(unit, 'w', encoding='utf-8') as file:
                # The program and the pages are where they are built.
                file.write(re.sub(r'^Documentation=.*\n', '', re.sub(
                    r'ExecStart=\S+', f'ExecStart={build}/iaprof', unit_text(name)), flags=re.M))
        result = run('systemd-analyze', 'verify', *units)
    return [line for line in result.stdout.splitlines() if 'iaprof' in line]


def configuration():
    result = run(os.path.join(build, 'iaprof'), '--check', '-c', os.path.join(source, 'service/iaprof.ini'))
    return result.stdout.splitlines() if result.returncode == 2 else []


def states_the_same():
    """The versions of the packages are that of the build, and Debian's build has what bootstrap installs."""
    version = re.search(r"version: '([^']+)'", read('meson.build'))[1]
    problems = [path for path, pattern in (('debian/changelog', rf'^iaprof \({version}-'),
                                           ('packaging/iaprof.spec', rf'^Version: +{version}$'))
                if not re.search(pattern, read(path), re.M)]
    bootstrap = read('bootstrap')
    for path, name, first in (('debian/control', 'debian_build', r'Build-Depends:(.*?)\n\S'),
                              ('packaging/iaprof.spec', 'fedora_build', r'BuildRequires:.*')):
        wanted = re.search(rf"{name}='(.*?)'", bootstrap, re.S)[1].split()
        found = ' '.join(re.findall(first, read(path), re.S))
        problems += [f'{path} lacks {package}' for package in wanted
                     if package not in ('gcc', 'libc6-dev', 'ninja-build', 'pkg-config')
                     and not re.search(rf'(?<![\w-]){re.escape(package)}(?![\w-])', found)]
    return problems


files = installed()
check('the units are rated 2.5, and 1.5, or better', security)
check('systemd reads the units', verify)
check('the configuration of the service is one', configuration)
check('each file is in one package of Debian', debian)
check('each file is in one package of the spec', spec)
check('rpm reads the spec', rpm)
check('versions and dependencies are those of the build', states_the_same)
print(f'1..{number}')
sys.exit(failures > 0)
