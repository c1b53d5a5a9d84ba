# SPDX-License-Identifier: Apache-2.0
"""Chains of Python calls as the interpreter itself knows them."""
import os
import sys
import time

outer = ''  # what leads to this interpreter
known = set()


def name_of(code):
    return getattr(code, 'co_qualname', code.co_name)


def chain_of(frame):
    """-> the calls that lead to a frame, outermost first"""
    chain = []
    while frame:
        chain.append(f'{name_of(frame.f_code)}:{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}')
        frame = frame.f_back
    return ';'.join(reversed(chain))


def report(chain, kind='chains'):
    if chain not in known:
        known.add(chain)
        with open(f'{os.environ["CHAINS_FOLDER"]}/{kind}-{os.getpid()}', 'a', encoding='utf-8') as file:
            file.write(f'{outer}{chain}\n')


def spin():
    report(chain_of(sys._getframe(1)))
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
