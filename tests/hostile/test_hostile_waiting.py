#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs for which iaprof would wait forever if it read their memory or their files itself."""
import attack
import attacks
from harness import case, main

HELD = f'processes of user {attack.USER}'
NEEDS = [*attack.needs(), attacks.needs_fuse]


@case('memory-held', needs=NEEDS)
def memory_held():
    with attack.Programs() as programs:
        attacks.start_held_program(programs)
        attack.attacked(programs, refused=[f'environments of {HELD}', f'mappings of {HELD}']).judge()


if __name__ == '__main__':
    main()
