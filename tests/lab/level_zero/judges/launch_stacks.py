#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the launches that bpftrace saw against what the program says: launch_stacks.py SEEN SAID PROGRAM WAY.

SEEN is what launch_probes.bt prints. Every launch of `awkward` has launch_here as the caller of Level Zero and way_WAY
further out; the program says how many there were. Of the way `alloca` the depths are known as well. The exit status is 1 when that is not what was seen. (Counts in maps of
bpftrace would not do: of two threads of one processor, the second may overwrite what the first counted.)
"""
import collections
import sys

from launch_probes import Functions, read_seen


def main():
    seen, said, program, way = sys.argv[1:]
    functions = Functions(program)
    good, bad = 0, collections.Counter()
    depths = collections.Counter()
    for _, stack in read_seen(seen)[0]:
        names = [functions.name(address) for address in stack[1:]]  # the first is the probe's own
        if names[:1] == ['launch_here'] and f'way_{way}' in names:
            good += 1
            depths[names.count('frame_of')] += 1
        else:
            bad[' '.join(names)] += 1
    launched = next((int(line.split()[1]) for line in open(said, encoding='utf-8') if line.startswith('launched ')), 0)
    print(f'{launched} launches, {good} seen with their stack')
    for names, count in bad.most_common(5):
        print(f'{count} with {names}')
    if way == 'alloca' and depths != collections.Counter(i % 11 + 1 for i in range(launched)):
        bad['wrong depths'] = 1
        print(f'depths of frame_of: {sorted(depths.items())}')
    sys.exit(launched != good or not launched or bool(bad))


main()
