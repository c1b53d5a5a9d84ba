# SPDX-License-Identifier: Apache-2.0
"""Reads folded stacks of GPU samples and decides which of them are right, ambiguous, unmatched or wrong.

The truth is a list of Expected. A sample is right when its process, its launch stack, its source file, functions,
lines, instruction, reason and offset are those of samples that there were, as many of them. Every sample is in one
share, and each expected one serves once: too many of a kind are wrong even where all names are right.
"""
import os
import re
from collections import Counter, namedtuple
from dataclasses import dataclass, field

# count samples of one reason at one address of the device. owners: process -> {place that launched the kernel: how
# often}; several of them when it may be any of them. instruction: None when the address is nobody's code.
Expected = namedtuple('Expected', 'owners address instruction reason count')

SEPARATOR = '-'
AMBIGUOUS = '[ambiguous]'
UNKNOWN = '[unknown device code]'
# What jobs of the double are queued by, in the Linux kernel.
SYSTEM_CALL = 'xe_exec_ioctl'

# linux: functions of the Linux kernel, the root first
Sample = namedtuple('Sample', 'program pid place linux ambiguous file functions mnemonic reason offset')


class NotUnderstood(Exception):
    pass


@dataclass
class Verdict:
    right: int = 0
    ambiguous: int = 0
    unmatched: int = 0
    wrong: int = 0
    lost: int = 0      # what the profile itself reports as missing
    expected: int = 0
    examples: list = field(default_factory=list)  # (count, why, line) of what is wrong or not matched
    shares: dict = field(default_factory=dict)    # (pid, kernel's name) -> {place: samples}
    processes: Counter = field(default_factory=Counter)

    @property
    def total(self):
        return self.right + self.ambiguous + self.unmatched + self.wrong

    def share(self, count):
        return 100 * count / self.total if self.total else 0.0

    def text(self):
        return (f'right {self.share(self.right):.3f} %, ambiguous {self.share(self.ambiguous):.3f} %, '
                f'unmatched {self.share(self.unmatched):.3f} %, wrong {self.share(self.wrong):.3f} % of {self.total}')


def frame(text, suffix):
    """A frame without its suffix, which it must have."""
    if not text.endswith(suffix):
        raise NotUnderstood(f'{text} does not end with {suffix}')
    return text[:-len(suffix)]


def place_of(frames):
    """(layer, site, append function) of the user frames of a launch; None when they do not reach the thread's start."""
    names = [re.sub(r':[^:]*:\d+$', '', text) for text in frames if not text.endswith('_[i]')]  # what was inlined
    if 'worker_run' not in names:
        return None
    inner = names[names.index('worker_run') + 1:]
    if len(inner) < 4 or inner[0] != 'forward':
        return None
    return tuple(inner[1:4])


def split_linux(frames):
    """Frames of the CPU -> those of the program, and names of those of the Linux kernel, which follow them."""
    first = next((number for number, text in enumerate(frames) if text.endswith('_[k]')), len(frames))
    return frames[:first], tuple(frame(text, '_[k]') for text in frames[first:])


def read_sample(stack):
    """A folded stack of a device sample -> Sample; functions are as they are shown."""
    frames = stack.split(';')
    if SEPARATOR not in frames or len(frames) < 2:
        raise NotUnderstood('it has no device part')
    border = frames.index(SEPARATOR)
    program, device = frames[0], frames[border + 1:]
    pid = int(frames[1]) if frames[1].isdigit() else None  # the process is not always known of what is unmatched
    user, linux = split_linux(frames[2:border])
    place = place_of(user)
    ambiguous = device[:1] == [AMBIGUOUS]
    if ambiguous:
        device = device[1:]
    if device[:1] and device[0].endswith('_[G]') and len(device) == 3 and device[1].endswith('_[g]'):
        return Sample(program, pid, place, linux, ambiguous, None, (frame(device[0], '_[G]'),), None,
                      frame(device[1], '_[g]'), int(frame(device[2], '_[g]'), 16))
    if len(device) < 5:
        raise NotUnderstood('too few frames of the device')
    source, *functions = (frame(text, '_[G]') for text in device[:-3])
    mnemonic, reason, offset = (frame(text, '_[g]') for text in device[-3:])
    mnemonic = re.sub(r'^(\w+)\.[^:]*', r'\1', mnemonic)
    return Sample(program, pid, place, linux, ambiguous, source, tuple(functions), mnemonic, reason, int(offset, 16))


def read_folded(text):
    """Lines of folded text -> (stack, count) of each."""
    for line in text.splitlines():
        stack, _, count = line.rpartition(' ')
        if not stack or not count.isdigit():
            raise NotUnderstood(f'this is no folded line: {line}')
        yield stack, int(count)


def place_text(file, line):
    """A place behind a name; compilers give line 0 to what is of no line."""
    return f':{os.path.basename(file)}:{line}' if line else f':{os.path.basename(file)}'


def functions_of(instruction, lines):
    """How the functions at an instruction are shown."""
    return tuple(function + (place_text(file, line) if lines else '') for function, file, line in instruction.frames)


def take(entries, count):
    """Takes as much as there is, up to count -> how much it was."""
    taken = 0
    for entry in entries:
        part = min(count - taken, entry[1])
        entry[1] -= part
        taken += part
    return taken


def instruction_of(instruction, lines):
    """How an instruction is shown; what follows the point of a mnemonic is left out."""
    _function, file, line = instruction.frames[-1]
    return instruction.mnemonic + (place_text(file, line) if lines else '')


class Left:
    """Expected samples that no line has claimed yet."""

    def __init__(self, expected, lines):
        self.known, self.addresses = {}, {}
        for item in expected:
            entry = [item, item.count]
            self.addresses.setdefault((item.address, item.reason), []).append(entry)
            if item.instruction:
                key = (item.instruction.frames[0][1], functions_of(item.instruction, lines),
                       instruction_of(item.instruction, lines), item.reason, item.instruction.offset)
                self.known.setdefault(key, []).append(entry)

    def claim(self, sample, count):
        """-> how many of them there were with this code, of this process and place, and why not more."""
        items = self.known.get((sample.file, sample.functions, sample.mnemonic, sample.reason, sample.offset))
        if items is None:
            return 0, 'no such code was sampled'
        items = [entry for entry in items if sample.pid in entry[0].owners]
        if not items:
            return 0, 'it is not this process\'s'
        items = [entry for entry in items if sample.place in entry[0].owners[sample.pid]]
        if not items:
            return 0, 'it was not launched there'
        # What is not marked has one owner; what is marked is rather of several.
        items = [entry for entry in items if sample.ambiguous or len(entry[0].owners) == 1]
        if not items:
            return 0, 'it is ambiguous, and not marked'
        items.sort(key=lambda entry: len(entry[0].owners) == 1)
        return take(items, count), 'more than there were'

    def claim_unmatched(self, sample, count):
        """-> how many there were of this address that is nobody's code, and how many that are somebody's."""
        items = self.addresses.get((sample.offset, sample.reason), [])
        nobodys = take([entry for entry in items if not entry[0].instruction], count)
        return nobodys, take([entry for entry in items if entry[0].instruction], count - nobodys)


def claim(left, sample, count, program, linux):
    """-> how many of samples there were of this program, with the Linux kernel's stack or without, and why not more."""
    if sample.program != program:
        return 0, 'it is not this program\'s'
    if (SYSTEM_CALL in sample.linux) != linux or bool(sample.linux) != linux:
        return 0, f'the Linux kernel\'s functions are {sample.linux}'
    return left.claim(sample, count)


def judge(folded, expected, program, lines=True, linux=False):
    """Holds folded text against what was expected of a program. lines: it was written with lines=yes. linux: the Linux
    kernel's stacks of launches were taken, all of which are jobs of the double."""
    verdict, left = Verdict(expected=sum(item.count for item in expected)), Left(expected, lines)

    def wrong(count, why, stack):
        if count:
            verdict.wrong += count
            verdict.examples.append((count, why, stack))

    for stack, count in read_folded(folded):
        if stack.startswith('[lost];'):
            verdict.lost += count
            continue
        try:
            sample = read_sample(stack)
        except (NotUnderstood, ValueError) as error:
            wrong(count, f'not understood: {error}', stack)
            continue
        if sample.file is None:
            nobodys, somebodys = left.claim_unmatched(sample, count) if sample.functions[0] == UNKNOWN else (0, 0)
            verdict.right += nobodys
            verdict.unmatched += somebodys
            if somebodys:
                verdict.examples.append((somebodys, 'not matched', stack))
            wrong(count - nobodys - somebodys, 'there were no such rows', stack)
            continue
        verdict.processes[sample.pid] += count
        places = verdict.shares.setdefault((sample.pid, sample.functions[0].split(':')[0]), Counter())
        places[sample.place] += count
        claimed, why = claim(left, sample, count, program, linux)
        if sample.ambiguous:
            verdict.ambiguous += claimed
        else:
            verdict.right += claimed
        wrong(count - claimed, why, stack)
    return verdict
