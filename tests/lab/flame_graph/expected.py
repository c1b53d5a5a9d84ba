# SPDX-License-Identifier: Apache-2.0
"""From what is known of code, launches and rows to the samples that a profile has to have."""
from collections import Counter

from .judge import Expected


def row_addresses(code, kernels, names, step):
    """Addresses of rows: every step-th instruction of these kernels, and the last. kernels: {name: (address, size)}."""
    addresses = []
    for name in names:
        start = kernels[name][0]
        offsets = [instruction.offset for instruction in code[name]]
        addresses += [start + offset for offset in sorted({*offsets[::step], offsets[-1]})]
    return addresses


def find(code, truth, pid, load, address):
    """-> (kernel's name, instruction) of a row's address in a process and load; None when no code is there."""
    for name, (start, size) in truth.kernels[pid, load].items():
        offset = address - start
        if 0 <= offset < size:
            return next(((name, instruction) for instruction in code[name] if instruction.offset == offset), None)
    return None


def expect(samples, code, present):
    """What these samples have to become. samples: {(gt, address): {reason: count}} of rows that happened while the
    loads in present, (truth, pid, load), were on the device and one of them ran."""
    expected = []
    for (_gt, address), counts in samples.items():
        owners, instruction = {}, None
        for truth, pid, load in present:
            found = find(code, truth, pid, load, address)
            if found:
                name, instruction = found
                owners.setdefault(pid, Counter()).update(truth.launches[pid, load, name])
        expected += [Expected(owners, address, instruction, reason, count) for reason, count in counts.items()]
    return expected


def difference(later, earlier):
    """Samples that were read between two looks at the truth."""
    found = {}
    for key, counts in later.items():
        before = earlier.get(key, {})
        rest = {reason: count - before.get(reason, 0) for reason, count in counts.items()}
        found[key] = {reason: count for reason, count in rest.items() if count}
    return found


def together(one, other):
    """The samples of two times."""
    return {key: dict(Counter(one.get(key, {})) + Counter(other.get(key, {}))) for key in one.keys() | other.keys()}


def share_errors(verdict, pid, name, launches):
    """How far the share of each place is from its share of the launches, in percentage points."""
    found = verdict.shares.get((pid, name), Counter())
    samples, all_launches = sum(found.values()), sum(launches.values())
    return {place: 100 * found[place] / samples - 100 * count / all_launches if samples else 100.0
            for place, count in launches.items()}
