#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# lab: guest newest
# lab: module intel_vpu
# lab: seconds 1200
# lab: covers plugins/ivpu/** lib/npu/** engine/profile/findings.[ch]
# lab: covers tests/cli/npu_scenarios.py tests/lab/programs/npu_*
"""The labelled scenarios of the NPU, live: each raises the finding that names its cause, and no other, and healthy work
raises none, as their event lists do offline (tests/cli/test_npu_findings.py). TAP; arguments choose."""
import pathlib
import re
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[up] / name) for up, name in ((1, ''), (2, 'cli'))]

from harness import npu_double, profiler
from harness.cases import check, equal, run
from harness.npu_labelled import LABELLED
from npu_scenarios import SCENARIOS, findings_in, table_of, unclear

# A slow machine makes jobs and boots long: only the scenarios about these have their limits.
LIMITS = {'hang': '60s', 'boot-wait': '60s'}
USUAL = {'hang and recovery': 'hang', 'firmware polling': 'boot-wait'}
# Half of the share of the time from which boots are a loop.
BOOT_SHARE = 0.05

SHORT = re.compile(r'  (run|firmware boot), |\(\d+\), context |npu-rates|warning')


def boots_are_slow(seconds):
    """The double itself spent a good part of the time in boots: they are a loop, whatever the scenario is."""
    boots = sum(ns for (_, function), (_, ns) in npu_double.calls()[0].items() if function == 'ivpu_pm_runtime_resume_cb')
    return boots / 1e9 > BOOT_SHARE * seconds


def case(name):
    def run_case():
        pathlib.Path('scenario').write_text(LABELLED[name](), encoding='ascii')
        npu_double.wait_until_asleep()
        limits = [f'{key}={value}' for key, value in LIMITS.items() if key != USUAL.get(name)]
        process = profiler.Profiler('-s', profiler.instance('ivpu', *limits), '-k', 'folded:output=out.folded',
                                    ready=lambda said: ' functions of intel_vpu in ' in said)
        begin = time.monotonic()
        npu_double.play('--load', 'scenario')
        seconds = time.monotonic() - begin
        time.sleep(1.2)  # what is counted by the second has been
        said = process.end().said
        print('\n'.join(f'# {line}' for line in said.splitlines() if SHORT.search(line)))
        found = findings_in(said)
        # The double's boot and mappings take less than a device's: their part of the time is not known.
        note = found.pop('npu-cold-start', None)
        check(not note or name == 'cold start', note)
        if name == 'healthy at 1 a second' and boots_are_slow(seconds):
            found.pop('npu-boot-thrash', None)
        equal(sorted(found), sorted(set(SCENARIOS[name][1]) - {'npu-cold-start'}), 'findings')
        check(not unclear(found), f'{unclear(found)}')
        phases = {name.partition(',')[0] for name in table_of(said, 'time', 'phase')}
        check({'run', 'firmware boot'} <= phases, f'no phases: {said}')
        jobs = npu_double.totals()['jobs_done'] + npu_double.totals()['jobs_aborted']
        told = sum(int(cells[0]) for name, cells in table_of(said, 'jobs', 'NPU user').items()
                   if ('(' in name or name.startswith('process ')) and cells[0] != '-')
        lost = sum(int(count) for count in re.findall(r'lost: ivpu: NPU jobs: [^:]*: (\d+)', said))
        check(jobs - lost <= told <= jobs, f'{told} jobs, {lost} lost, not {jobs}: {said}')
    return run_case


SHORT_RUN = {'healthy at 30 a second', 'mapping thrash', 'hang and recovery', 'two models that take turns'}

sys.exit(run([(name, case(name)) for name in LABELLED], long=set(LABELLED) - SHORT_RUN) != 0)
