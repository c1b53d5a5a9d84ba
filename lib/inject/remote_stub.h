/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that loads a library inside another process, and its working memory. The injector maps REMOTE_STUB_SIZE
 * bytes: the code, a stack, struct remote_stub_data and an area for the vector registers. The code calls dlopen() and
 * then a function of the library, stores the result, sends REMOTE_STUB_SIGNAL to its own thread to inform the injector,
 * and then restores the thread by itself, in case the injector is gone.
 */
#pragma once

/* The thread may have a small stack, so dlopen() runs on this one. Read-only code lies below it: an overflow faults. */
#define REMOTE_STUB_CODE_SIZE 0x1000
#define REMOTE_STUB_STACK_SIZE 0x100000
#define REMOTE_STUB_DATA (REMOTE_STUB_CODE_SIZE + REMOTE_STUB_STACK_SIZE)
#define REMOTE_STUB_DATA_SIZE 0x2000
/* The XSAVE area has 2.7 KiB with AVX-512 and 11 KiB with AMX, aligned to 64 bytes. */
#define REMOTE_STUB_VECTORS (REMOTE_STUB_DATA + REMOTE_STUB_DATA_SIZE)
#define REMOTE_STUB_VECTORS_SIZE 0x5000
#define REMOTE_STUB_SIZE (REMOTE_STUB_VECTORS + REMOTE_STUB_VECTORS_SIZE)
/* Ignored by default: harmless if no injector handles it. */
#define REMOTE_STUB_SIGNAL 23 /* SIGURG */

#define REMOTE_STUB_TEXT_SIZE 512
#define REMOTE_NAME_SIZE 64
#define REMOTE_ARGUMENT_SIZE 1024

#ifndef __ASSEMBLER__
#include <limits.h>
#include <stdint.h>

/* remote_stub.S has the offsets as numbers; remote_call.c asserts them. */
struct remote_stub_data {
	uint64_t open_function;   /* dlopen */
	uint64_t error_function;  /* dlerror */
	uint64_t errno_function;  /* __errno_location */
	uint64_t handle;          /* result of dlopen(), or of dlsym() if a function is to be called; 0: failed */
	uint64_t symbol_function; /* dlsym */
	uint64_t signal_mask;     /* the thread's own, restored at the end */
	uint64_t instruction;     /* where the thread continues */
	uint64_t stack;           /* and its stack pointer */
	uint64_t open_flags;      /* RTLD_NOW, ... */
	uint32_t errno_saved;
	uint32_t done;
	char path[PATH_MAX];
	char error_text[REMOTE_STUB_TEXT_SIZE]; /* the text of dlerror(), if handle is 0 */
	char function[REMOTE_NAME_SIZE];        /* that the library exports, to be called with the argument; "": none */
	char argument[REMOTE_ARGUMENT_SIZE];
	uint64_t loaded_function; /* address of the function, if the library is loaded already; 0: it is not */
};

extern const uint8_t remote_stub_begin[], remote_stub_end[];
extern const uint8_t remote_stub_system_call[]; /* address of a SYSCALL instruction */
#endif
