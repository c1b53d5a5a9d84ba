# SPDX-License-Identifier: Apache-2.0
"""One run of iaprof over the double, with programs that are started and led in it, and what came out of it."""
import os
import pathlib
import re
import subprocess

from harness.cases import Failure
from harness.profiler import SLOW

from . import double, expected
from .judge import judge
from .launcher import Launcher

SOURCE, BUILD = (pathlib.Path(os.environ.get(name, '.')) for name in ('LAB_SOURCE', 'LAB_BUILD'))
TRACER = BUILD / 'plugins/ze-usdt/libiaprof-ze-tracer.so'
PROGRAM = 'launcher-fp'

# The line that a run ends with for each GT.
REPORT = re.compile(r'^iaprof: (?P<name>.*) GT (?P<gt>\d+): (?P<rows>\d+) rows, (?P<samples>\d+) samples: '
                    r'(?P<matched>\d+) matched, (?P<ambiguous>\d+) ambiguous, (?P<unmatched>\d+) unmatched; '
                    r'(?P<overflows>\d+) overflows$', re.MULTILINE)


class Wrong(Failure):
    """What came out is not what went in."""


class Ended:
    """A run that is over: its status, what it said, and what it wrote."""

    def __init__(self, status=None, said='', folded='', lines=True, linux=False):
        self.status, self.said, self.folded, self.lines, self.linux = status, said, folded, lines, linux

    def reports(self):
        """What it said of each GT at the end: {gt: {word: number}}."""
        return {int(match['gt']): {word: int(match[word]) for word in REPORT.groupindex if word not in ('name', 'gt')}
                for match in REPORT.finditer(self.said)}

    def judge(self, wanted):
        return judge(self.folded, wanted, PROGRAM, self.lines, self.linux)


class Profile(Ended):
    """With it iaprof runs, from before its first program to after the last; then what it said and wrote is there."""

    def __init__(self, product, rows, settings=(), sources=('xe-eustall',), gts=1, lines=True,
                 linux=False):
        super().__init__(lines=lines, linux=linux)
        self.product, self.rows, self.sources = product, rows, sources
        self.settings = list(settings) if gts > 1 else [*settings, 'gt 0 main cores 0-3']
        self.gts, self.programs = gts, []
        self.number = 0

    def __enter__(self):
        double.write('scenario', double.scenario_text(self.product, self.rows, self.settings))
        options = [word for source in self.sources for word in ('-s', source)]
        # Its command is there to be waited for, and is no program of the scenario: all is attached when it begins, and the run ends when it does.
        command = ['sh', '-c', 'echo ready; exec cat >/dev/null']
        sink = f'folded:value=gpu-stalls{",lines=yes" if self.lines else ""}'
        with open('iaprof.err', 'wb') as errors:
            self.process = subprocess.Popen(
                [BUILD / 'iaprof', *SLOW, '--scope', 'system', *options, '-k', sink, '-o', 'out.folded', '--', *command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        try:
            if self.process.stdout.readline() != b'ready\n':
                self.process.wait()
                raise Wrong(f'iaprof ended with {self.process.returncode} before it began: {self.read_errors()}')
            double.wait_until(lambda: double.state().count(' enabled 1 ') == self.gts, 'the streams to be open', 20)
        except BaseException:
            self.process.kill()
            self.process.communicate()
            raise
        return self

    def read_errors(self):
        return pathlib.Path('iaprof.err').read_text(encoding='utf-8', errors='replace')

    def launcher(self, *arguments, **options):
        self.number += 1
        program = Launcher(SOURCE, BUILD, self.product, arguments, preload=TRACER, truth=f'truth.{self.number}',
                           **options)
        self.programs.append(program)
        return program

    def __exit__(self, kind, error, trace):
        for program in self.programs:
            if kind or program.process.poll() is None:
                program.kill()
        self.process.stdin.close()
        try:
            self.status = self.process.wait(90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.said = self.read_errors()
        if kind:
            error.args = (f'{error}; iaprof ended with {self.status}: {self.said}',)
        elif self.status is None:
            raise Wrong(f'iaprof did not end within 90 seconds: {self.said}')
        else:
            self.folded = pathlib.Path('out.folded').read_text(encoding='utf-8')

    def own_memory(self):
        """Bytes in memory that are no file's."""
        pages = pathlib.Path(f'/proc/{self.process.pid}/statm').read_text(encoding='ascii').split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf('SC_PAGE_SIZE')


def check_report(profile, verdict, totals):
    """The line of each GT: rows and samples are the double's, and what became of them is what is in the profile."""
    reports = profile.reports()
    if set(reports) != {gt for gt, numbers in totals.items() if numbers['read']}:
        raise Wrong(f'lines of GTs at the end: {sorted(reports)}: {profile.said}')
    for gt, report in reports.items():
        if report['rows'] != totals[gt]['read']:
            raise Wrong(f'GT {gt}: {report["rows"]} rows are reported of {totals[gt]["read"]}')
        if report['matched'] + report['ambiguous'] + report['unmatched'] != report['samples']:
            raise Wrong(f'GT {gt}: the report does not add up: {report}')
    samples = sum(report['samples'] for report in reports.values())
    if samples != verdict.total:
        raise Wrong(f'{samples} samples are reported, and {verdict.total} are in the profile')


def check(profile, wanted, samples, totals, ambiguous=False, status=0):
    """-> the verdict, after everything that every scenario has to fulfil."""
    if profile.status != status:
        raise Wrong(f'iaprof ended with {profile.status}: {profile.said}')
    verdict = profile.judge(wanted)
    produced = sum(sum(counts.values()) for counts in samples.values())
    text = f'{verdict.text()}; {verdict.examples[:4]}; {profile.said}'
    if not produced or not produced == verdict.expected == verdict.total:
        raise Wrong(f'in: {produced} samples, expected: {verdict.expected}, out: {verdict.total}; {text}')
    if verdict.share(verdict.wrong) >= 0.1:
        raise Wrong(f'too many are wrong: {text}')
    if not ambiguous and verdict.share(verdict.right) < 99.9:
        raise Wrong(f'too few are right: {text}')
    check_report(profile, verdict, totals)
    return verdict


def wanted_of(code, samples, *present, strange=()):
    """What has to become of samples; only rows of strange addresses are nobody's code."""
    wanted = expected.expect(samples, code, present)
    moved = [hex(item.address) for item in wanted if not item.instruction and item.address not in strange]
    if moved:
        raise Wrong(f'no instruction is at {moved}: the runtime did not put the code where it was in the run before')
    return wanted
