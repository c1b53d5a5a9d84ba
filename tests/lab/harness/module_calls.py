# SPDX-License-Identifier: Apache-2.0
"""The direct calls in a Linux kernel module, from its disassembly by objdump."""
import collections
import lzma
import pathlib
import re
import subprocess
import tempfile

SECTION = re.compile(r'Disassembly of section (\S+):')
SYMBOL = re.compile(r'([0-9a-f]+) <([^>]+)>:$')
# A call, or a jump to another function.
CALL = re.compile(r' +[0-9a-f]+:\s+(?:call|j\w+)\s+[0-9a-f]+ <([^>]+)>')
RELOCATION = re.compile(r'\s+[0-9a-f]+: R_X86_64_\w+\s+(\S+?)([+-]0x[0-9a-f]+)?$')
# Parts and clones of a function that compilers make count as the function.
CLONE = re.compile(r'\.(?:isra|part|constprop|cold).*')


def disassembled(path):
    with tempfile.NamedTemporaryFile(suffix='.ko') as file:
        data = pathlib.Path(path).read_bytes()
        file.write(lzma.decompress(data) if str(path).endswith('.xz') else data)
        file.flush()
        return subprocess.run(['objdump', '-dr', '--no-show-raw-insn', file.name], stdout=subprocess.PIPE, check=True,
                              encoding='utf-8').stdout.split('\n')


def module_calls(path):
    """-> the names of functions that can be traced, {function: callers}"""
    lines = disassembled(path)
    section, function, symbols, traced, callers = '', '', {}, set(), collections.defaultdict(set)
    for line in lines:
        if found := SECTION.match(line):
            section = found[1]
        elif found := SYMBOL.match(line):
            symbols[section, int(found[1], 16)] = found[2]
    for line, following in zip(lines, lines[1:]):
        if found := SYMBOL.match(line):
            function = CLONE.sub('', found[2])
        if not (call := CALL.match(line)):
            continue
        relocation = RELOCATION.match(following)
        name = relocation[1] if relocation else call[1]
        if relocation and name.startswith('.'):  # a place in a section, from the end of the instruction
            name = symbols.get((name, int(relocation[2] or '0', 16) + 4), '')
        name = CLONE.sub('', name)
        if name == '__fentry__':
            traced.add(function)
        elif name and '+' not in name and name != function:
            callers[name].add(function)
    return traced, callers


def nearest_callers(function, prefix, traced, callers, passed=()):
    """The nearest callers that have the prefix and can be traced, looking through those that are not."""
    found = set()
    for caller in callers.get(function, ()):
        if caller in traced and caller.startswith(prefix):
            found.add(caller)
        elif caller not in passed:
            found |= nearest_callers(caller, prefix, traced, callers, (*passed, caller))
    return found
