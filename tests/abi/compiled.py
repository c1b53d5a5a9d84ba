# SPDX-License-Identifier: Apache-2.0
"""What a build compiled, from what the compiler and ninja wrote down."""
import subprocess


def read_dependencies(build):
    """-> {object: [files it was compiled from, the source file first]}"""
    listing = subprocess.run(['ninja', '-C', build, '-t', 'deps'], check=True, capture_output=True, text=True).stdout
    result, current = {}, None
    for line in listing.splitlines():
        if line.startswith('    '):
            result[current].append((build / line.strip()).resolve())
        elif ': #deps' in line:
            current = line.split(':')[0]
            result[current] = []
    return result
