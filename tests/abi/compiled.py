# SPDX-License-Identifier: Apache-2.0
"""What a build compiled, from what the compiler and ninja wrote down."""
import functools
import subprocess


@functools.cache
def within(file, folder):
    """-> the path of a file relative to a folder; None: it is elsewhere"""
    return file.relative_to(folder) if folder in file.parents else None


def read_dependencies(build):
    """-> {object: [files it was compiled from, the source file first]}"""
    listing = subprocess.run(['ninja', '-C', build, '-t', 'deps'], check=True, capture_output=True, text=True).stdout
    result, current = {}, None
    resolved = {}  # 100 000 lines name 2000 files
    for line in listing.splitlines():
        if line.startswith('    '):
            name = line.strip()
            if name not in resolved:
                resolved[name] = (build / name).resolve()
            result[current].append(resolved[name])
        elif ': #deps' in line:
            current = line.split(':')[0]
            result[current] = []
    return result
