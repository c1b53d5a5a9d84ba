/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread's stack, as a chain of frames that a walk by frame pointers follows.
 *
 * Loader, driver and most applications have no frame pointers, so the stack is unwound here, from the tables that
 * exceptions need, which costs microseconds. What was found is remembered with the place of each return address on the
 * stack: when a later call from the same depth finds the same return addresses at the same places, it is the same
 * stack.
 */
#ifndef ZE_TRACER_STACK_H
#define ZE_TRACER_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

/* As the processor's convention for frame pointers has it, and as the kernel's perf_callchain_user() reads it. */
struct stack_frame {
	const struct stack_frame *next;
	uintptr_t return_address;
};

/* The kernel gives 127 (kernel.perf_event_max_stack); the loader's own frames, left out later, are a few more. */
#define STACK_DEPTH_MAX 144

/* One unwinding. */
struct stack_trace {
	uintptr_t lowest; /* return addresses below belong to the tracer */
	uintptr_t frame_pointer;
	unsigned count;
	bool repeatable;                           /* every return address is where it was found, in order */
	bool complete;                             /* the root was reached, or there is no room for more */
	uintptr_t places[STACK_DEPTH_MAX];         /* of the return address into each frame's function */
	uintptr_t frame_pointers[STACK_DEPTH_MAX]; /* the register's value in that function */
	struct stack_frame frames[STACK_DEPTH_MAX];
};

/* What is the same for every thread of the process. */
struct stack_process {
	/* Functions of libgcc_s.so.1; NULL when there is none. */
	struct stack_unwinder {
		__typeof__(_Unwind_Backtrace) *backtrace;
		__typeof__(_Unwind_GetCFA) *frame_address;
		__typeof__(_Unwind_GetIPInfo) *address;
		__typeof__(_Unwind_GetGR) *general_register;
	} unwinder;
	/* Code whose frames at the innermost end are left out: the loader's, its layers', our own. */
	struct stack_range {
		uintptr_t start, end;
	} ranges[16];
	unsigned range_count;
	_Atomic uint64_t remembered_bytes; /* by all threads */
};

/* A stack as it is shown. */
struct stack_chain {
	const struct stack_frame *innermost; /* NULL: there is none */
	uint64_t identity; /* of its return addresses: the same for the same ones; 0 when there is none */
};

/* What was remembered for one thread. */
struct stack_memory;

/*
 * Leaves out the libraries whose file names begin so, and the one that has the address. find is dlsym. Without
 * libgcc_s, which is loaded here, stacks are what frame pointers give.
 */
void stack_process_begin(struct stack_process *process, void *(*find)(void *library, const char *name),
			 const char *const prefixes[], size_t count, uintptr_t address);

/* NULL when there is no memory. */
struct stack_memory *stack_memory_create(struct stack_process *process);
void stack_memory_free(struct stack_memory *memory);

/*
 * The chain for the function whose frame pointer this is, beginning with the first frame that is not left out. It is in
 * *trace or in the memory, which may be NULL, and holds until the next call.
 */
struct stack_chain stack_take(struct stack_process *process, struct stack_memory *memory, uintptr_t frame_pointer,
			      struct stack_trace *trace);

#endif
