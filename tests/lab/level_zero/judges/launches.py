# SPDX-License-Identifier: Apache-2.0
"""Run by gdb, counts the launches of a Level Zero program from outside: who called which function, for which kernel.

    gdb -q -batch -x launches.py --args COMMAND...

Writes lines of words between tabs into the file that LAUNCHES names: thread, layer, site, call, kernel, count. Callers
come from the tables that unwind without frame pointers, names of kernels from the arguments of zeKernelCreate.
"""
import os
import struct

import gdb

CALLS = ('zeCommandListAppendLaunchKernel', 'zeCommandListAppendLaunchKernelWithParameters',
         'zeCommandListAppendLaunchKernelWithArguments', 'zeCommandListAppendLaunchCooperativeKernel',
         'zeCommandListAppendLaunchKernelIndirect', 'zeCommandListAppendLaunchMultipleKernelsIndirect')

counts = {}
created = []  # (where the program gets the handle, the kernel's name), the newest last


def read_pointer(address):
    return struct.unpack('<Q', gdb.selected_inferior().read_memory(address, 8))[0]


def register(name):
    return int(gdb.newest_frame().read_register(name)) & 0xffffffffffffffff


def kernel_name(handle):
    return next((name for where, name in reversed(created) if read_pointer(where) == handle), '?')


class KernelCreation(gdb.Breakpoint):
    """zeKernelCreate(module, description, kernel): ze_kernel_desc_t has the name's address at offset 24."""

    def stop(self):
        name = gdb.Value(read_pointer(register('rsi') + 24)).cast(gdb.lookup_type('char').pointer())
        created.append((register('rdx'), name.string()))
        return False


class Launch(gdb.Breakpoint):
    def stop(self):
        frame, callers = gdb.newest_frame(), []
        while frame and len(callers) < 4:
            callers.append(frame.name() or '?')
            frame = frame.older()
        call = callers[0]
        if call.endswith('MultipleKernelsIndirect'):
            handles = [read_pointer(register('rdx') + 8 * index) for index in range(register('rsi') & 0xffffffff)]
        else:
            handles = [register('rsi')]
        for handle in handles:
            key = (gdb.selected_thread().ptid[1], callers[3], callers[2], call, kernel_name(handle))
            counts[key] = counts.get(key, 0) + 1
        return False


gdb.execute('set breakpoint pending on')
gdb.execute('set print thread-events off')
KernelCreation('zeKernelCreate')
for function in CALLS:
    Launch(function)
gdb.execute('run')
with open(os.environ['LAUNCHES'], 'w', encoding='ascii') as file:
    for key, count in counts.items():
        print(*key, count, sep='\t', file=file)
