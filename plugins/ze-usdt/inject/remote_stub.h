/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that loads a library inside another process, and the memory it works in. The injector maps
 * REMOTE_STUB_SIZE bytes there: the code, a stack, struct remote_stub_data and room for the vector registers. The code
 * calls dlopen(), notes what came of it, sends REMOTE_STUB_SIGNAL to its own thread so that the injector sees it, and
 * then puts the thread back where it was by itself: for the case that the injector is gone.
 */
#ifndef IAPROF_ZE_USDT_INJECT_REMOTE_STUB_H
#define IAPROF_ZE_USDT_INJECT_REMOTE_STUB_H

/* The thread that dlopen() is called on may have a small stack, so it gets this one. Below it lies the read-only code:
 * an overflow faults. */
#define REMOTE_STUB_CODE_SIZE 0x1000
#define REMOTE_STUB_STACK_SIZE 0x100000
#define REMOTE_STUB_DATA (REMOTE_STUB_CODE_SIZE + REMOTE_STUB_STACK_SIZE)
#define REMOTE_STUB_DATA_SIZE 0x2000
/* XSAVE's area has 2.7 KiB with AVX-512 and 11 KiB with AMX; it must be aligned to 64 bytes. */
#define REMOTE_STUB_VECTORS (REMOTE_STUB_DATA + REMOTE_STUB_DATA_SIZE)
#define REMOTE_STUB_VECTORS_SIZE 0x5000
#define REMOTE_STUB_SIZE (REMOTE_STUB_VECTORS + REMOTE_STUB_VECTORS_SIZE)
/* Ignored by default, so that it does nothing when no injector takes it. */
#define REMOTE_STUB_SIGNAL 23 /* SIGURG */

#define REMOTE_STUB_TEXT_SIZE 512

#ifndef __ASSEMBLER__
#include <limits.h>
#include <stdint.h>

/* Offsets are written into remote_stub.S as numbers; remote_call.c asserts them. */
struct remote_stub_data {
	uint64_t open_function;  /* dlopen */
	uint64_t error_function; /* dlerror */
	uint64_t errno_function; /* __errno_location */
	uint64_t handle;         /* what dlopen() returned */
	uint64_t reserved;
	uint64_t signal_mask; /* the thread's own, put back at the end */
	uint64_t instruction; /* where the thread goes on */
	uint64_t stack;       /* with which stack pointer */
	uint64_t open_flags;  /* RTLD_NOW, ... */
	uint32_t errno_saved;
	uint32_t done;
	char path[PATH_MAX];
	char error_text[REMOTE_STUB_TEXT_SIZE]; /* what dlerror() said, when handle is 0 */
};

extern const uint8_t remote_stub_begin[], remote_stub_end[];
extern const uint8_t remote_stub_system_call[]; /* a SYSCALL instruction of it */
#endif

#endif
