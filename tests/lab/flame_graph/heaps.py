# SPDX-License-Identifier: Apache-2.0
"""Where the instruction heaps of a process begin, from the reservations that its program saw its drivers make."""

GRANULARITY = 1 << 16
HEAP_SIZE = 1 << 32
HEAPS = 2  # of discrete GPUs, and of the integrated one
# Without a reservation: on processors whose addresses have 48 bits.
FIXED = 1 << 47


def read_reservations(text):
    """Lines "reservation" PID START SIZE -> {pid: starts of the heaps}, the newest first."""
    found = {}
    for line in text.splitlines():
        kind, *words = line.split('\t')
        if kind == 'reservation':
            start = int(words[1], 16)
            found.setdefault(int(words[0]), []).insert(0, -(-start // GRANULARITY) * GRANULARITY)
    return found


def base(starts, address):
    """The instruction base of code at an address."""
    for start in [*starts, FIXED]:
        if 0 <= address - start < HEAPS * HEAP_SIZE:
            return start + (address - start) // HEAP_SIZE * HEAP_SIZE
    raise ValueError(f'no heap has {address:#x}: they begin at {[hex(start) for start in starts]}')
