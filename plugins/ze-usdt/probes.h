/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The USDT probes for Level Zero launches: the interface between the libraries that fire them and profilers.
 *
 * Provider `level_zero`, every probe with a semaphore. Intel's patched runtime fires the first two, with fewer
 * arguments; libiaprof-ze-tracer.so fires all of them. All arguments are unsigned and 8 bytes long.
 *
 * compile_kernel(path, module)
 *     An image of device code was written to the file at path.
 *     path    const char *: an ELF file in the process's mount namespace: the loaded debug image, or the native binary
 *     module  number of the module, >= 1, unique in the process; the patched runtime passes only path
 *     Fired after the file was written completely. When the semaphore is raised again, a module is announced again,
 *     with the same number and another file.
 *
 * compile_kernel_again
 *     The tracer never fires it. It has the semaphore of compile_kernel: attach to it afterwards. Linux raises a
 *     semaphore before the probe can be seen: what is announced in between is missed. Raised once more, all modules are
 *     announced again. Earlier tracers also have compile_kernel_2 and compile_kernel_2_again, which nobody attaches to.
 *
 * launch_kernel(instruction_base, address, size, name, module, list, stack)
 *     A kernel was appended to a command list.
 *     instruction_base  base of the hardware's instruction pointers (STATE_BASE_ADDRESS), 0 when not known
 *     address           GPU address of its first instruction, canonical (sign-extended) form removed; 0 unknown
 *     size              bytes, 0 unknown
 *     name              const char *: as in the symbol table; valid only during the probe
 *     module            as above; 0 unknown
 *     list              0: executes now (immediate list); else number of a recording, >= 1, unique in the process, of
 *                       a command list or of a graph: executes at each execute_list with that number
 *     stack             identifies the return addresses of the stack in the process, so that a known stack need not be
 *                       walked again; 0 unknown
 *     The patched runtime passes the first four. The tracer fires the probe with the frame pointer on a chain of frames
 *     that it unwound itself: a frame pointer walk finds the application's stack, even if its code has no frame
 *     pointers. The first address is the tracer's own, the second one that of the call into Level Zero.
 *
 * launch_kernel_nop10
 *     The tracer's launch_kernel a second time, with its arguments and semaphore: attach to one of them. Its site, just
 *     behind the other one, is a 10-byte no-operation, at which Linux 7.2 replaces the trap of a uprobe by a call,
 *     which takes less time (libbpf's usdt.c expects the two in this order). Linux 6.18 and before refuse to attach to
 *     it.
 *
 * new_launch(instruction_base, address, size, name, module, list, stack, cell)
 *     launch_kernel for a profiler that also reads launches from the process's memory (count_area.h). It is attached to
 *     this probe and to share_counts, which have one semaphore. At most one profiler is: it has an exclusive lock
 *     (flock(2)) on the file with the probes. Fired for launches that are not counted in memory.
 *     cell  tag of the cell that counts the next launches with these arguments; 0: none, each fires the probe
 *
 * new_launch_nop10
 *     is to new_launch as launch_kernel_nop10 is to launch_kernel.
 *
 * share_counts(area)
 *     area  address of a struct ze_count_area of the process
 *     Fired when a launch finds that no profiler reads the area.
 *
 * execute_list(list, parent, launches)
 *     A closed regular command list was submitted once, or an executable graph was appended to a list.
 *     list      number of its recording; 0 unknown: it was made before the tracer was loaded
 *     parent    0: executes now; else number of the recording to which it was appended (a graph that is being captured,
 *               or a regular list): executes at each execution of that one
 *     launches  launches in the recording, including those fired while no profiler was attached, and those of
 *               recordings appended to it; ZE_LAUNCHES_UNKNOWN: some of its contents are unknown
 *
 * timed_launch(number)
 *     Precedes the thread's next launch_kernel or new_launch, whose launch is being timed.
 *     number  >= 1, unique in the process
 *
 * kernel_time(number, begin, end, device)
 *     A timed launch has ended on the device.
 *     number  as above
 *     begin   when its first thread began, CLOCK_MONOTONIC, ns; 0: the device wrote no time
 *     end     when its last thread ended
 *     device  ZE_DEVICE_KNOWN and its PCI address: domain << 16 | bus << 8 | device << 3 | function; 0 unknown
 *     It has one semaphore with timed_launch: launches are timed while somebody is attached to one of them, some of
 *     each kernel, chosen at random (tracer/timing.h).
 *
 * time_all
 *     The tracer never fires it. Attach to it beside the other two to have all launches timed that can be.
 *
 * unload_module(module)
 *     The module is about to be destroyed: fired before its memory can be used again.
 *     module  as above; 0: none, the program is about to create one
 *
 * The file at path is private: the tracer creates it with O_EXCL and mode 0600 in $TMPDIR or /tmp, under a name
 * composed of ZE_IMAGE_PREFIX, 16 random hexadecimal digits and ZE_IMAGE_SUFFIX. A reader removes the owner's write
 * permission (mode 0400), for which an exiting process waits a moment, and deletes the file some seconds later, because
 * another profiler may also be reading it. The tracer deletes files that were not read, when a later module is created
 * or destroyed, or when the process exits.
 */
#ifndef ZE_USDT_PROBES_H
#define ZE_USDT_PROBES_H

#define ZE_PROBE_PROVIDER "level_zero"
#define ZE_PROBE_COMPILE_KERNEL "compile_kernel"
#define ZE_PROBE_COMPILE_KERNEL_AGAIN "compile_kernel_again"
#define ZE_PROBE_LAUNCH_KERNEL "launch_kernel"
#define ZE_PROBE_LAUNCH_KERNEL_NOP10 "launch_kernel_nop10"
#define ZE_PROBE_NEW_LAUNCH "new_launch"
#define ZE_PROBE_NEW_LAUNCH_NOP10 "new_launch_nop10"
#define ZE_PROBE_SHARE_COUNTS "share_counts"
#define ZE_PROBE_EXECUTE_LIST "execute_list"
#define ZE_PROBE_UNLOAD_MODULE "unload_module"
#define ZE_PROBE_TIMED_LAUNCH "timed_launch"
#define ZE_PROBE_KERNEL_TIME "kernel_time"
#define ZE_PROBE_TIME_ALL "time_all"

#define ZE_DEVICE_KNOWN (1ull << 48)

#define ZE_IMAGE_PREFIX "iaprof-ze-"
#define ZE_IMAGE_DIGITS 16
#define ZE_IMAGE_SUFFIX ".elf"

/* Where the tracer's launch_kernel and launch_kernel_nop10 have their arguments, as their notes say. */
#define ZE_LAUNCH_REGISTERS "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9 8@%rax"

/* The same of new_launch and new_launch_nop10. */
#define ZE_NEW_LAUNCH_REGISTERS ZE_LAUNCH_REGISTERS " 8@%r10"

#define ZE_LAUNCHES_UNKNOWN (~0ull)

/* The tracer library, installed in the plugin's folder. */
#define ZE_TRACER_FILE "libiaprof-ze-tracer.so"

#endif
