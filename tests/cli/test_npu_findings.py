#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each labelled scenario of the NPU raises the finding that names its cause, and no other; healthy work raises none."""
import re

from harness import case, equal, iaprof, main, require, write
from npu_events import bpftrace_columns, ftrace_function, tutorial
from npu_scenarios import SCENARIOS, findings_in, steady, unclear


def findings(text):
    write('trace', text)
    said = iaprof('-s', 'ivpu-trace:input=trace', '-o', 'out').completes().err
    return findings_in(said), said


def scenario(name):
    make, expected = SCENARIOS[name]
    run = make()
    for form in bpftrace_columns, ftrace_function:
        found, said = findings(form(run))
        equal(sorted(found), sorted(expected), f'findings in the form {form.__name__}')
        require(not unclear(found), f'{unclear(found)}')
        require(re.search(r'^.* run, \d+ jobs?$', said, re.M), 'no phases')


for scenario_name in SCENARIOS:
    case(f'{scenario_name}: the report names the cause, and no other', scenario_name)(scenario)


@case('the times of the script of the tutorial are milliseconds, and a hang is found in them')
def tutorial_times():
    found, said = findings(tutorial(SCENARIOS['hang and recovery'][0]()))
    equal(sorted(found), ['npu-job-hang', 'npu-recovery'], 'findings')
    require('a job did not complete within 20.0 s' in found['npu-job-hang'], found['npu-job-hang'])
    require(' over 20.' in said, said)


@case('messages that jobs do not explain are a storm, and those of the jobs around them are not')
def storm():
    run = steady(500, 500)
    for _ in range(900):
        run.message()
    found, _ = findings(bpftrace_columns(run))
    equal(list(found), ['npu-ipc-storm'], 'findings')


if __name__ == '__main__':
    main()
