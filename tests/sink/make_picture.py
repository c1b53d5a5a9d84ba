#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes doc/demo.png, the picture in README.md: the page of examples/decoder.iaprof in a window of 1280 x 800 pixels, while
the program generates tokens.

    tests/sink/make_picture.py build/iaprof
"""
import pathlib
import subprocess
import sys
import tempfile

import browser
from reader import Reader

TREE = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    if len(sys.argv) != 2:
        sys.exit('usage: make_picture.py IAPROF')
    with tempfile.TemporaryDirectory() as folder, browser.Browser(1280, 800) as window:
        page = pathlib.Path(folder, 'demo.html')
        subprocess.run([sys.argv[1], '-q', '--replay', TREE / 'examples/decoder.iaprof', '-k',
                        'flamegraph:title=decoder.py: PyTorch with CUDA graphs', '-o', page], check=True)
        Reader(window, page, '#time=13380-13740')
        window.screenshot(TREE / 'doc/demo.png')


main()
