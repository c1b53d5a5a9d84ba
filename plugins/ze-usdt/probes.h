/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The USDT probes that tell of Level Zero's launches: the contract between what fires them and what attaches to them.
 *
 * Provider `level_zero`, every probe with a semaphore. Intel's patched runtime fires the first two, with fewer
 * arguments; libiaprof-ze-tracer.so fires all of them. All arguments are unsigned and 8 bytes long.
 *
 * compile_kernel(path, module)
 *     An image of device code is in the file at path.
 *     path    const char *: an ELF file as the process sees it: the loaded debug image, or the native binary
 *     module  number of the module, >= 1, never used twice in the process; the patched runtime gives path only
 *     Fired after the file was written to its end. A module is announced again after its semaphore was raised anew,
 *     with the same number and another file.
 *
 * launch_kernel(instruction_base, address, size, name, module, list, stack)
 *     A kernel was appended to a command list.
 *     instruction_base  what the hardware's instruction pointers are relative to (STATE_BASE_ADDRESS)
 *     address           GPU address of its first instruction, canonical (sign-extended) form removed; 0 not known
 *     size              bytes, 0 not known
 *     name              const char *: as in the symbol table; valid during the probe only
 *     module            as above; 0 not known
 *     list              0: executes now (immediate list); else number of the command list's present recording, >= 1,
 *                       never used twice in the process: executes each time that execute_list has that number
 *     stack             tells the stack's return addresses from others in the process, so that who has seen it need
 *                       not walk it again; 0 not known
 *     The patched runtime gives the first four. The tracer's probe is hit with the frame pointer on a chain of frames
 *     that it unwound itself: a walk by frame pointers sees the application's stack, whose code need not have any. The
 *     first address is the tracer's own, the second one that of the call into Level Zero.
 *
 * execute_list(list)
 *     A closed regular command list was submitted once.
 *     list    number of its recording
 *
 * unload_module(module)
 *     The module is about to be destroyed: fired before its memory can be used again.
 *     module  as above
 *
 * The file at path is private: the tracer makes it with O_EXCL and mode 0600 in $TMPDIR or /tmp, under a name made
 * of ZE_IMAGE_PREFIX, 16 random hexadecimal digits and ZE_IMAGE_SUFFIX. Who reads it takes away the owner's right to
 * write (mode 0400), for which an exiting process waits a moment, and removes it some seconds later, as somebody else
 * may be reading it too. The tracer removes what nobody took, when a later module comes or goes or when the process
 * exits.
 */
#ifndef ZE_USDT_PROBES_H
#define ZE_USDT_PROBES_H

#define ZE_PROBE_PROVIDER "level_zero"
#define ZE_PROBE_COMPILE_KERNEL "compile_kernel"
#define ZE_PROBE_LAUNCH_KERNEL "launch_kernel"
#define ZE_PROBE_EXECUTE_LIST "execute_list"
#define ZE_PROBE_UNLOAD_MODULE "unload_module"

#define ZE_IMAGE_PREFIX "iaprof-ze-"
#define ZE_IMAGE_DIGITS 16
#define ZE_IMAGE_SUFFIX ".elf"

/* The library that has them; it is beside the plugin. */
#define ZE_TRACER_FILE "libiaprof-ze-tracer.so"

#endif
