#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All cases that open pages, in one Chromium: PAGE_CASES of the other files in this folder. TAP.

Words on the command line choose cases by the names of their files and their own; each file runs by itself as well.
"""
import importlib
import os
import sys

from reader import page_cases
from stacks import run

FILES = ('code_view', 'demo', 'difference', 'flamegraph', 'flamegraph_looks', 'flamegraph_pprof', 'flamegraph_views',
         'frame_names', 'heatmap', 'names', 'npu_view', 'program_answer', 'spans', 'speedscope', 'threads', 'web')
# What a sanitizer is to see: the pages of the others are written by code that other tests run, too.
IN_SANITIZERS = 'names', 'spans'


def cases():
    for name in FILES if os.environ['TEST_SANITIZERS'] == 'none' else IN_SANITIZERS:
        for case, function in page_cases(importlib.import_module(f'test_{name}')):
            yield f'{name.replace("_", " ")}: {case}', function


if __name__ == '__main__':
    sys.exit(run(list(cases())) != 0)
