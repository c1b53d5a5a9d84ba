/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For sources that record user stacks with Python frames (python.bpf.h): tells the BPF program which processes run an
 * interpreter, reads the code objects that it sends, and puts Python frames in the place of the interpreter's own.
 * Functions between open and free may be called from several threads.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <bpf/libbpf.h>
#include <iaprof/host.h>
#include <iaprof/unwind.h>
#include "base/array.h"
#include "base/keyed_array.h"
#include "bpf/python.h"
#include "bpf/stack.h"

enum python_choice {
	PYTHON_MIXED, /* Python frames between native ones */
	PYTHON_ONLY,  /* Python frames alone, in threads that have some */
	PYTHON_NATIVE /* none */
};
extern const char *const python_choices[];

/*
 * Bytes of names and line tables that are kept of one process, and of all. A code object has 500 bytes on average.
 */
#define PYTHON_BYTES_PROCESS (16u << 20)
#define PYTHON_BYTES_MAX (256u << 20)

struct python_maps {
	struct bpf_map *processes, *threads, *seen, *codes, *buffers;
};
/* Those of a skeleton whose object includes python.bpf.h. */
#define PYTHON_MAPS(skeleton)                                                                                          \
	{                                                                                                              \
		(skeleton)->maps.python_processes, (skeleton)->maps.python_threads, (skeleton)->maps.python_seen,      \
			(skeleton)->maps.python_codes, (skeleton)->maps.python_buffers                                 \
	}

struct python_function_key {
	uint64_t execution, code;
	uint32_t process, identity;
};

struct python_function {
	struct python_function_key key;
	uint32_t name, file; /* string ids */
	int32_t first_line;
	uint32_t line_format, line_bytes;
	uint8_t *lines;
};

/* A process with an interpreter. */
struct python_target {
	uint32_t key; /* process id */
	uint32_t flags;
	uint64_t execution;
	uint64_t image[2];             /* addresses of the interpreter's code */
	uint64_t loop[2], loop_end[2]; /* and those of its evaluation loop */
	uint64_t greenlet[2];          /* addresses of the module greenlet's code; 0: the process has not loaded it */
	uint64_t bytes;                /* of its functions */
	uint64_t ended;                /* time at which it had ended, ns; 0: it runs */
};

struct python_interpreter {
	uint32_t key; /* id of its unwind table */
	struct iaprof_python python;
};

/* Initialise with {0}. */
struct python_stacks {
	const struct iaprof_host *host;
	struct python_maps maps;
	struct ring_buffer *ring;
	enum python_choice choice;
	pthread_mutex_t lock; /* protects the following members */
	KEYED_ARRAY(struct python_interpreter) interpreters;
	KEYED_ARRAY(struct python_target) targets;
	KEYED_ARRAY(struct python_function) functions;
	uint64_t bytes;   /* of all functions */
	uint64_t refused; /* code objects beyond the limits, or malformed */
	uint64_t unnamed; /* frames in stacks whose code object was not received */
	uint64_t without; /* stacks in the interpreter without Python frames, taken before its layout was known */
};

/*
 * Before the object is loaded. buffers: number of elements of python_buffers. Without use_python, the maps stay small.
 * Returns 0, or the result of host->fail().
 */
int python_stacks_set_sizes(const struct iaprof_host *host, const struct python_maps *maps, uint32_t buffers,
			    bool use_python);
/* Behind that, in prepare(). on_code calls python_stacks_read(). Returns 0, or the result of host->fail(). */
int python_stacks_open(struct python_stacks *stacks, const struct iaprof_host *host, const struct python_maps *maps,
		       enum python_choice choice, iaprof_on_fd *on_code);
void python_stacks_free(struct python_stacks *stacks);

/* The arguments of iaprof_on_unwind. */
void python_stacks_take(struct python_stacks *stacks, const struct iaprof_unwind_table *table,
			const struct iaprof_unwind_process *process);
/* Reads the code objects that the BPF program has sent. Does nothing before python_stacks_open(). */
void python_stacks_read(struct python_stacks *stacks);
/*
 * As host->intern_stack() for a user stack that may have Python frames. execution: 0 if it is not known.
 * *flags: enum stack_flag of the native stack, which may have been interrupted anywhere if it does not end early. A
 * greenlet's stack is complete where the greenlet begins: then *flags is changed.
 */
uint32_t python_stacks_intern(struct python_stacks *stacks, uint32_t process, uint64_t execution, uint32_t *flags,
			      const uint64_t *elements, uint32_t depth);

/* For finish(): sends counts of all CPUs as metadata, if there were Python frames. */
void python_stacks_describe(const struct python_stacks *stacks, const struct python_counts *counts);

/* Adds a code object, as the BPF program sends it. */
void python_stacks_add(struct python_stacks *stacks, const struct python_code *code, size_t size);
/* Writes the merged stack; returns its number of elements, at most IAPROF_STACK_DEPTH_MAX. *flags: see above */
uint32_t python_stacks_merge(struct python_stacks *stacks, uint32_t process, uint64_t execution, uint32_t *flags,
			     const uint64_t *elements, uint32_t depth, uint64_t *merged);
