# SPDX-License-Identifier: Apache-2.0
"""What the threads of a GPU would wait for: a model of one thread that follows the real code of a kernel.

The input is Intel's own disassembly, with the dependencies that the compiler wrote into each instruction. A thread
issues its instructions in order; before each one it waits, and the cycles of the wait are of that instruction and of the
hardware's reason:

- sbid: `$3.dst` and `$3.src` wait for the message that owns token 3; a load from global memory takes longest, one from
  local memory a tenth of that, and the value of a store is read soon.
- dist_acc: `I@2`, `F@1` and others wait for an earlier result of the arithmetic pipelines.
- pipestall: the unit for exponentials, roots and divisions is shared by the threads of a core and is often in use.
- send: so is the queue of memory messages; one for 32 lanes is in it for longer than one for a single lane.
- sync: a barrier waits for the other threads of the work-group.
- control: the target of a branch is known only after a while.
- inst_fetch: the instructions at a kernel's entry are not in the cache yet.
- active: the instruction is issued, which is not a stall.

Loops count as often as they run. Nothing is drawn at random here: rows() draws which instructions are sampled when, from
a seed.
"""
import random
import re
from collections import Counter, namedtuple

Instruction = namedtuple('Instruction', 'offset name lanes waits token message target')
# Work of one kernel: cycles by instruction and reason.
Work = namedtuple('Work', 'kernel cycles')

LINE = re.compile(r'/\* \[(?P<offset>[0-9A-F]+)\] *\*/ *(?:\([^)]*f\d\.\d[^)]*\) *|\(W\) *)?(?P<name>[a-z][\w.]*)'
                  r'(?: *\((?P<lanes>\d+)\|M\d+\))?(?P<operands>[^{/]*)(?:\{(?P<notes>[^}]*)\})?(?: *// *(?P<message>.*))?')

# Cycles. What the units of a core do for one thread, they also do for its seven others.
GLOBAL_LOAD, LOCAL_LOAD, ATOMIC, FENCE, MATH, ARITHMETIC = 340, 34, 400, 30, 22, 8
SOURCE_IS_READ, BARRIER, BRANCH, FETCH, FETCHED_AT_ENTRY = 18, 130, 7, 45, 4
OTHER_THREADS = 7


def parse(text):
    """{kernel: [Instruction]} of the disassembly of a module."""
    kernels, name = {}, None
    for line in text.splitlines():
        if line.startswith('==='):
            name = line.split()[1]
            kernels[name] = []
        elif line.startswith('/* ['):
            match = LINE.match(line)
            notes = [note for note in (match['notes'] or '').split(',') if note not in ('Compacted', 'EOT', 'Atomic')]
            targets = [int(target) for target in re.findall(r'\bL(\d+)\b', match['operands'])]
            token = next((note for note in notes if re.fullmatch(r'\$\d+', note)), None)
            kernels[name].append(Instruction(int(match['offset'], 16), match['name'], int(match['lanes'] or 1),
                                             [note for note in notes if note != token], token,
                                             (match['message'] or '').partition('; ')[2], targets[0] if targets else None))
    return kernels


def ends_thread(instruction):
    return instruction.message.startswith('end of thread')


def issue_cycles(instruction):
    if instruction.name.startswith(('send', 'sync')):
        return 1
    return max(1, instruction.lanes // 16) * (2 if instruction.name.startswith(('mul', 'mac', 'mad')) else 1)


def message_latency(message):
    if message.startswith('load.slm'):
        return LOCAL_LOAD
    if message.startswith('load'):
        return GLOBAL_LOAD
    if message.startswith('atomic'):
        return ATOMIC
    return FENCE


def repetitions(instructions, trips):
    """How often each instruction runs: trips has the number of each loop, in the order of their beginnings."""
    loops = sorted({(branch.target, branch.offset) for branch in instructions
                    if branch.target is not None and branch.target <= branch.offset})
    if len(loops) != len(trips):
        raise ValueError(f'{len(loops)} loops at {loops}, and numbers for {len(trips)}: another compiler made this code')
    counts = Counter()
    for instruction in instructions:
        counts[instruction.offset] = 1
        for (begin, end), trip in zip(loops, trips):
            if begin <= instruction.offset <= end:
                counts[instruction.offset] *= trip
    return counts


class Thread:
    """One thread: its clock, and what it waits for."""

    def __init__(self):
        self.now, self.finished = 0.0, []
        self.sources, self.results = {}, {}

    def result_of(self, distance):
        """When the earlier instruction at this distance in an arithmetic pipeline is finished."""
        return self.finished[-distance] if len(self.finished) >= distance else 0

    def step(self, instruction, position):
        """-> {reason: cycles} of one instruction"""
        cycles = Counter()

        def wait(reason, until):
            if until > self.now:
                cycles[reason] += until - self.now
                self.now = until
        if position < FETCHED_AT_ENTRY:
            wait('inst_fetch', self.now + FETCH / (position + 1))
        for note in instruction.waits:
            token = re.fullmatch(r'(\$\d+)\.(src|dst)', note)
            distance = re.fullmatch(r'[A-Z]?@(\d+)', note)
            if token:
                wait('sbid', (self.results if token[2] == 'dst' else self.sources).get(token[1], 0))
            elif distance:
                wait('dist_acc', self.result_of(int(distance[1])))
        if instruction.token:
            wait('sbid', self.results.get(instruction.token, 0))
        if instruction.name.startswith('sync.all'):
            wait('sbid', max((self.results if instruction.name == 'sync.allwr' else self.sources).values(), default=0))
        if instruction.name == 'sync.bar':
            wait('sync', self.now + BARRIER)
        if instruction.name.startswith('math'):
            wait('pipestall', self.now + OTHER_THREADS * instruction.lanes / 8)
        if instruction.name.startswith('send') and instruction.message.startswith(('load', 'store', 'atomic')):
            wait('send', self.now + instruction.lanes / 4)
        if instruction.target is not None:
            wait('control', self.now + BRANCH)
        cycles['active'] += issue_cycles(instruction)
        self.now += issue_cycles(instruction)
        if instruction.token:
            self.sources[instruction.token] = self.now + SOURCE_IS_READ
            self.results[instruction.token] = self.now + (message_latency(instruction.message) if
                                                          instruction.name.startswith('send') else MATH)
        elif not instruction.name.startswith('sync'):
            self.finished.append(self.now + (MATH if instruction.name.startswith('math') else ARITHMETIC))
        return cycles


def work_of(kernel, instructions, trips, threads):
    """What all threads of a launch do, in cycles by instruction."""
    counts, thread, cycles = repetitions(instructions, trips), Thread(), {}
    for position, instruction in enumerate(instructions):
        cycles[instruction.offset] = {reason: number * counts[instruction.offset] * threads
                                      for reason, number in thread.step(instruction, position).items()}
        if ends_thread(instruction):
            break
    return Work(kernel, cycles)


def total(work):
    return sum(sum(reasons.values()) for reasons in work.cycles.values())


def rows(works, count, samples, seed):
    """count rows, in the order in which the launches of works run: (kernel, offset, {reason: samples}) each, so that an
    instruction has its share of the cycles, and every row has as many samples."""
    generator = random.Random(seed)
    step = sum(map(total, works)) / count
    position, found = generator.uniform(0, step), []
    for work in works:
        places = list(work.cycles.items())
        weights = [sum(reasons.values()) for _, reasons in places]
        rows_of_work = 0
        while position < sum(weights):
            rows_of_work += 1
            position += step
        position -= sum(weights)
        for offset, reasons in generator.choices(places, weights, k=rows_of_work):
            drawn = Counter(generator.choices(list(reasons), list(reasons.values()), k=samples))
            found.append((work.kernel, offset, {reason: drawn[reason] for reason in reasons if drawn[reason]}))
    return found
