/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread's stack as a chain of frames that a frame pointer walk follows. Loader, driver and most
 * applications have no frame pointers, so the stack is unwound here from exception tables, which takes microseconds.
 * The result is cached with the location of each return address: a later call at the same depth with the same return
 * addresses at the same locations has the same stack.
 */
#ifndef ZE_TRACER_STACK_H
#define ZE_TRACER_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>

/* In the processor's frame pointer convention, as the kernel's perf_callchain_user() reads it. */
struct stack_frame {
	const struct stack_frame *next;
	uintptr_t return_address;
};

/* IAPROF_STACK_DEPTH_MAX; the loader's frames, skipped later, are a few more. */
#define STACK_DEPTH_MAX 1040

/* One unwinding: too large for the stack of a thread of the program. */
struct stack_trace {
	uintptr_t lowest; /* return addresses below belong to the tracer */
	uintptr_t frame_pointer;
	unsigned count;
	bool repeatable;                           /* all return addresses are on the stack in order */
	bool complete;                             /* the root was reached, or the limit */
	uintptr_t places[STACK_DEPTH_MAX];         /* location of the return address into each frame's function */
	uintptr_t frame_pointers[STACK_DEPTH_MAX]; /* the register's value in that function */
	struct stack_frame frames[STACK_DEPTH_MAX];
};

/* State shared by all threads of the process. */
struct stack_process {
	/* Functions of libgcc_s.so.1; NULL if it is not available. */
	struct stack_unwinder {
		__typeof__(_Unwind_Backtrace) *backtrace;
		__typeof__(_Unwind_GetCFA) *frame_address;
		__typeof__(_Unwind_GetIPInfo) *address;
		__typeof__(_Unwind_GetGR) *general_register;
	} unwinder;
	/* Code whose innermost frames are skipped: loader, layers, tracer. */
	struct stack_range {
		uintptr_t start, end;
	} ranges[16];
	unsigned range_count;
	_Atomic uint64_t remembered_bytes; /* total of all threads */
};

/* A stack to show. */
struct stack_chain {
	const struct stack_frame *innermost; /* NULL: none */
	uint64_t identity;                   /* identifies its return addresses; 0: none */
};

/* Cache of one thread. */
struct stack_memory;

/* Returns whether the file name of a library, without its folders, begins with a prefix. */
static inline bool library_is_named(const char *path, const char *prefix)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)) == 0;
}

/*
 * Skips the libraries with these file name prefixes, and the one that contains the address, in addition to those of
 * earlier calls. Not concurrently. find is dlsym. Without libgcc_s, which is loaded here, stacks are walked by frame
 * pointers.
 */
void stack_process_begin(struct stack_process *process, void *(*find)(void *library, const char *name),
			 const char *const prefixes[], size_t count, uintptr_t address);

/* Returns NULL when out of memory. */
struct stack_memory *stack_memory_create(struct stack_process *process);
void stack_memory_free(struct stack_memory *memory);

/*
 * Returns the chain for the function with this frame pointer, starting with the first frame that is not skipped. It is
 * in *trace or in the cache, which may be NULL, and is valid until the next call.
 */
struct stack_chain stack_take(struct stack_process *process, struct stack_memory *memory, uintptr_t frame_pointer,
			      struct stack_trace *trace);

#endif
