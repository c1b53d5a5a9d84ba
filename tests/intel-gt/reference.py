# SPDX-License-Identifier: Apache-2.0
"""The contents of Intel's disassembly of a kernel, from its text alone: nothing here looks at code's bytes.

A kernel is a list of Instruction. Tokens are followed forwards, as the hardware does: all paths from the kernel's start,
with the owner of each token and how far it is. The decoder searches backwards from a wait. Distances are counted on
single instructions and sets instead of blocks and masks.
"""
import re
from dataclasses import dataclass, field

LINE = re.compile(r'/\* \[([0-9A-F]+)\]\s*\*/(.*)')
PREDICATE = re.compile(r'\s*\((W)?&?(~)?(f\d+\.\d+)?(?:\.\w+)?\)\s+')
WIDTH = re.compile(r'\((\d+)\|M(\d+)\)')
TYPE = re.compile(r':(ub|b|uw|w|ud|d|uq|q|hf|bf|f|df|bf8|hf8|v|uv|vf)\b')
WAIT = re.compile(r'([AFILMS]?)@(\d)$')
TOKEN = re.compile(r'\$(\d+)(?:\.(dst|src|inc))?$')
UNITS = 'ugm|ugml|slm|tgm'
FLOATS = {'hf': 2, 'bf': 2, 'f': 4, 'df': 8, 'bf8': 1, 'hf8': 1, 'vf': 4}
LONGS = {'q', 'uq', 'df'}
BRANCHES = {'jmpi', 'brd', 'brc', 'if', 'else', 'endif', 'while', 'break', 'cont', 'halt', 'goto', 'join', 'call',
            'calla', 'ret'}
OUT_OF_ORDER = {'send', 'sendc', 'sendg', 'sendgc', 'sendgx', 'sendgxc', 'dpas', 'dpasw', 'bdpas', 'sync', 'nop',
                'illegal'}
OLD = {'xe', 'xe-hp', 'xe-hpg'}
ALL_TOKENS = set(range(32))


@dataclass
class Instruction:
    offset: int
    mnemonic: str  # "send.ugm", "goto.b"
    operation: str | None  # of a send: "load", "indirect", or None where IGA does not name it
    width: int | None
    channel: int | None
    flags: str  # of WP~CEB
    waits: list = field(default_factory=list)  # (pipe letter or "", distance)
    token: tuple | None = None  # (number, "dst", "src", "inc" or "set")
    mask: set | None = None  # of sync.allrd and sync.allwr
    targets: list = field(default_factory=list)
    types: list = field(default_factory=list)
    to_scalar: bool = False
    to_nothing: bool = False  # of a send: its destination is the null register
    scoreboard: str = ''

    @property
    def base(self):
        return self.mnemonic.split('.')[0]


def operation_of(text, comment):
    """What a send does, from IGA's comment."""
    found = re.search(rf'[; ]([a-z_0-9]+)\.(?:{UNITS})\b|; (fence) ', comment)
    if found:
        return found.group(1) or found.group(2)
    if 'gtwy' in text and re.search(r'; (signal barrier|signal named barrier|end of thread)', comment):
        return comment.split('; ')[1].split(';')[0].strip().replace(' ', '_')
    return 'indirect' if re.search(r'\sa0\.\d+\s*$', text) else None


def parse_line(offset, text):
    code, _, comment = text.partition('//')
    options = []
    found = re.search(r'\{([^{}]*)\}\s*$', code)
    if found:
        options, code = found.group(1).split(','), code[:found.start()]
    flags = ''
    found = PREDICATE.match(code)
    if found:
        flags = ('W' if found.group(1) else '') + ('P' if found.group(3) else '') + ('~' if found.group(2) else '')
        code = code[found.end():]
    code = code.strip()
    mnemonic = code.split()[0]
    width = WIDTH.search(code)
    one = Instruction(offset, mnemonic, None, width and int(width.group(1)), width and int(width.group(2)),
                      flags + ('C' if 'Compacted' in options else '') + ('E' if 'EOT' in options else ''))
    operands = code[width.end() if width else len(mnemonic):]
    operands = re.sub(r'^\s*\(\w\w\)f\d\.\d', '', operands)
    one.targets = [int(label) for label in re.findall(r'\bL(\d+)\b', operands)] if one.base in BRANCHES else []
    one.types = TYPE.findall(operands)
    one.to_scalar = bool(re.match(r'\s*(\(sat\))?s0', operands))
    if one.base.startswith('send'):
        one.to_nothing = operands.split()[0] == 'null'
        one.operation = operation_of(code, comment)
    if mnemonic in ('sync.allrd', 'sync.allwr'):
        tokens = re.findall(r'\$(\d+)', operands)
        one.mask = ALL_TOKENS if 'null' in operands else {int(token) for token in tokens}
    kept = []
    for option in options:
        wait, token = WAIT.match(option), TOKEN.match(option)
        if wait:
            one.waits.append((wait.group(1), int(wait.group(2))))
        if token:
            one.token = (int(token.group(1)), token.group(2) or 'set')
        if wait or token:
            kept.append(option)
    one.scoreboard = ','.join(kept)
    return one


def read(lines):
    """Kernels by name, of a file as libiga64 and tests/data/zebin/README.md have it."""
    kernels, current = {}, None
    for line in lines:
        heading = re.match(r'=== (.*) ===', line)
        if heading:
            current = kernels.setdefault(heading.group(1), [])
        found = LINE.match(line)
        if found:
            if current is None:
                current = kernels.setdefault('code', [])
            current.append(parse_line(int(found.group(1), 16), found.group(2)))
    return kernels


def pipe(generation, one):
    """The in-order pipe that an instruction goes to, or None."""
    if one.base in OUT_OF_ORDER:
        return None
    if one.base in BRANCHES:
        return None if generation == 'xe' else 'I'
    if one.base == 'math' and generation in OLD:
        return None
    if generation == 'xe':
        return 'I'
    if one.base == 'math':
        return 'M'
    to, source = one.types[0], one.types[1] if len(one.types) > 1 else one.types[0]
    if generation in ('xe3', 'xe3p') and one.to_scalar:
        return 'S'
    if generation in OLD:
        return 'L' if to in LONGS or source in LONGS else 'F' if to in FLOATS else 'I'
    if to == 'df':
        return 'L'
    if generation == 'xe3p' and to in FLOATS and (one.base == 'srnd' or (one.base == 'mov' and to != source)):
        return 'I'
    return 'F' if to in FLOATS else 'I'


def inferred_pipe(generation, one):
    """What @d without a letter means."""
    if generation == 'xe':
        return 'I'
    if one.base in OUT_OF_ORDER or one.base in BRANCHES:
        return 'A'
    source = one.types[1] if len(one.types) > 1 else one.types[0]
    if source == 'df' or (generation in OLD and source in LONGS):
        return 'L'
    return 'F' if source in FLOATS else 'I'


def predecessors(kernel):
    """For each instruction the numbers of those that can run right before it."""
    number = {one.offset: i for i, one in enumerate(kernel)}
    before = [set() for _ in kernel]
    for i, one in enumerate(kernel):
        after = [number[target] for target in one.targets if target in number and one.base != 'calla']
        ends = 'E' in one.flags or (one.base in ('ret', 'jmpi', 'goto', 'brd', 'brc') and 'P' not in one.flags)
        if not ends:
            after.append(i + 1)
        for j in after:
            if j < len(kernel):
                before[j].add(i)
    return before


def successors(kernel):
    after = [[] for _ in kernel]
    for j, before in enumerate(predecessors(kernel)):
        for i in before:
            after[i].append(j)
    return after


def token_waits(one, token):
    """Why an instruction waits for a token: 'token', 'dst', 'src'."""
    if one.token and one.token[0] == token and one.token[1] != 'inc':
        yield {'set': 'token'}.get(one.token[1], one.token[1])
    if token in (one.mask or ()):
        yield 'src' if one.mnemonic == 'sync.allrd' else 'dst'


def token_producers(kernel):
    """A set of (offset, offset of the owner, why, token): each way to each wait is gone, until nothing is new. An owner is
    issued, then has read its sources, then is done; one that writes no register is done when it has read."""
    after, result = successors(kernel), set()
    tokens = {one.token[0] for one in kernel if one.token}.union(*(one.mask or () for one in kernel))
    for token in tokens:
        seen, ways = set(), [(i, None, False) for i in entries(kernel)]
        while ways:
            i, owner, has_read = way = ways.pop()
            if way in seen:
                continue
            seen.add(way)
            one = kernel[i]
            for why in token_waits(one, token):
                if owner is None or (why == 'src' and has_read):
                    continue
                result.add((one.offset, kernel[owner].offset, why, token))
                if why == 'src' and not kernel[owner].to_nothing:
                    has_read = True
                else:
                    owner, has_read = None, False
            if one.token and one.token[0] == token and one.token[1] in ('set', 'inc'):
                owner, has_read = i, False
            ways += [(j, owner, has_read) for j in after[i]]
    return result


def entries(kernel):
    """The kernel's start, and what nothing leads to: it may be reached in a way that the code does not show."""
    return [i for i, before in enumerate(predecessors(kernel)) if i == 0 or not before]


def distance_producers(generation, kernel):
    """A set of (offset, offset of what it waits for, "distance", 0)."""
    before = predecessors(kernel)
    pipes = [pipe(generation, one) for one in kernel]
    result = set()
    for i, one in enumerate(kernel):
        for letter, distance in one.waits:
            letter = letter or inferred_pipe(generation, one)
            ways, seen = [(j, distance) for j in before[i]], set()
            while ways:
                j, left = ways.pop()
                if (j, left) in seen:
                    continue
                seen.add((j, left))
                if pipes[j] == letter or (pipes[j] and letter == 'A' and kernel[j].base not in BRANCHES):
                    left -= 1
                if left:
                    ways += [(k, left) for k in before[j]]
                else:
                    result.add((one.offset, kernel[j].offset, 'distance', 0))
    return result


def producers(generation, kernel):
    return token_producers(kernel) | distance_producers(generation, kernel)
