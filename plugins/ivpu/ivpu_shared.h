/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs shared by ivpu's BPF programs and user space. Times are CLOCK_MONOTONIC nanoseconds. */
#pragma once

#include <linux/types.h>
#include "bpf/stack_counts.h"

/* IAPROF_CALL_DEPTH_MAX, less the root "[interrupt]" that user space adds. A power of 2 minus 1. */
#define IVPU_DEPTH_MAX 63u
#define IVPU_FRAMES 64u

/*
 * A call tree node is a hash of its parent's node and its function's index, which also forms its lowest bits. The
 * parent of an outermost call is one of the roots. The highest bit is set in every node and in no root.
 */
#define IVPU_FUNCTION_BITS 12u
#define IVPU_FUNCTIONS_MAX (1u << IVPU_FUNCTION_BITS)
#define IVPU_NODE_BIT (1ull << 63)

/* The highest indices are Level Zero functions (api_functions.h), the others driver functions. */
#define IVPU_API_FUNCTIONS_MAX 64u
#define IVPU_API_FIRST (IVPU_FUNCTIONS_MAX - IVPU_API_FUNCTIONS_MAX)

/* The argument of a function that leads to the context, which is an open file, that it works for. */
enum ivpu_context_argument {
	IVPU_CONTEXT_NONE,
	IVPU_CONTEXT_OF_SECOND, /* struct drm_file */
	IVPU_CONTEXT_OF_THIRD,  /* struct drm_file */
	IVPU_CONTEXT_OF_BUFFER  /* the first one: struct drm_gem_object, with which struct ivpu_bo begins */
};

/* Offsets in the Linux kernel's structs, from the BTF of the module. */
struct ivpu_context_offsets {
	__u32 are_known;
	__u32 file;       /* drm_file.driver_priv */
	__u32 of_file;    /* ivpu_file_priv.ctx.id */
	__u32 buffer;     /* ivpu_bo.ctx */
	__u32 of_context; /* ivpu_mmu_context.id */
};

/*
 * A function's cookie is its index, above it 1 + the index of its histogram (0: no histogram), and in the upper half
 * an enum ivpu_context_argument.
 */
#define IVPU_COOKIE(function, histogram, argument)                                                                     \
	((__u64)(argument) << 32 | (__u64)(histogram) << IVPU_FUNCTION_BITS | (function))

/* Key of the size of a context's buffers. */
#define IVPU_CONTEXT_KEY(process, context) ((__u64)(process) << 32 | (context))

/* Key of a count of entries. process 0: an interrupt */
#define IVPU_ENTRY_KEY(process, function) ((__u64)(process) << 32 | (function))

enum ivpu_root {
	IVPU_ROOT_TASK = 0,
	IVPU_ROOT_INTERRUPT = 1 /* hard interrupts, softirqs, NMIs: they belong to no process */
};

/* Placeholder helper number that user space replaces by bpf_session_is_return(): no helper has this number. */
#define IVPU_SESSION_IS_RETURN 0x7e55104

/* Section of the trampoline program: libbpf before 1.8 defines none. */
#define IVPU_FSESSION_SECTION "iaprof.fsession"

/*
 * Graph functions in the table of the NPU's user-space driver since version 1.8 of ze_graph_ext.h, struct
 * ze_graph_dditable_ext_t. Newer versions append functions.
 */
#define IVPU_GRAPH_FUNCTIONS 23u
enum ivpu_table { IVPU_TABLE_GRAPH = 0, IVPU_TABLE_PROFILING = 1 };
/* Functions in ze_graph_profiling_dditable_ext_t of ze_graph_profiling_ext.h 1.0. */
#define IVPU_PROFILING_POOL_CREATE 0u
#define IVPU_PROFILING_QUERY_CREATE 2u
#define IVPU_PROFILING_GET_DATA 4u
struct ivpu_graph_table {
	__u32 process;
	__u32 kind;                            /* enum ivpu_table */
	__u64 functions[IVPU_GRAPH_FUNCTIONS]; /* addresses in the process */
};

/* Calls with the same key are aggregated. */
struct ivpu_key {
	__u32 process; /* 0: an interrupt */
	__u32 context; /* of the outermost enclosing driver call; 0: not known */
	__u64 node;
	__u64 stack; /* hash of the user stack at the outermost enclosing Level Zero call; 0: none */
};

struct ivpu_count {
	__u64 count;
	__u64 duration;
	__u64 self_duration;
	__u64 first_time; /* entry times of the first and last calls that returned */
	__u64 last_time;
	__u64 result; /* result of the last call */
};

/* TASK_COMM_LEN of the Linux kernel. */
#define IVPU_NAME_SIZE 16u

/* One call that returned, in the ring buffer. */
struct ivpu_call_event {
	struct ivpu_key key;
	__u32 thread; /* 0: an interrupt, or an idle CPU */
	__u32 pad;
	char name[IVPU_NAME_SIZE]; /* of the thread; empty if there is none */
	__u64 begin;
	__u64 duration;
	__u64 self_duration;
	__u64 result;
};

/* Latency histogram of a function: bucket i counts durations from 2^i to 2^(i + 1) - 1 ns, bucket 0 also zeros. */
#define IVPU_BUCKETS 48u /* the last one: more than a day and a half */
struct ivpu_histogram {
	__u64 sum;
	__u64 maximum; /* two CPUs may set it at once: the lower value may win */
	__u64 buckets[IVPU_BUCKETS];
};

/* A call in flight. */
struct ivpu_frame {
	__u64 node;
	__u64 begin;
	__u64 nested;  /* time of nested calls that returned, and of interrupts */
	__u64 pointer; /* stack pointer at entry: a frame at a lower or equal address has returned */
	__u64 caller;  /* Level Zero: return address; 0: unknown */
	__u32 same;    /* Level Zero: nested calls of the same function, which count as part of it */
	__u32 pad;
};

/* Calls in flight of a thread, or of one kind of interrupt on one CPU. */
struct ivpu_calls {
	__u32 depth;
	__u32 deeper;  /* calls in flight that did not fit; always 0 in a session, where their returns are not traced */
	__u64 stack;   /* as in struct ivpu_key */
	__u64 context; /* context of the last entry through a trampoline */
	__u64 argument;    /* of the outermost driver call, which leads to the NPU context */
	__u64 npu_context; /* 0: not known */
	__u64 is_user;     /* the process is in the map npu_users */
	struct ivpu_frame frames[IVPU_FRAMES];
};

/* Kinds of interrupts, each of which can interrupt those before it: array indices. */
enum ivpu_interrupt { IVPU_SOFTIRQ = 0, IVPU_HARD_INTERRUPT = 1, IVPU_NMI = 2, IVPU_INTERRUPTS = 3 };

/*
 * Per-CPU state, read by user space at any time. User-space probes can be preempted by others on the same CPU: exact
 * counters are updated atomically.
 */
struct ivpu_processor {
	__u64 active;         /* handlers that may be using the maps of counts */
	__u64 calls;          /* aggregated or sent, including lost ones */
	__u64 threads_full;   /* lost: no room for another thread with calls in flight */
	__u64 too_deep;       /* lost: nested deeper than IVPU_DEPTH_MAX */
	__u64 returns_missed; /* lost: still in flight when an enclosing call returned, or another call replaced them */
	__u64 returns_unknown; /* lost: return without an entry */
	__u64 counts_full;     /* lost: the map of counts was full */
	__u64 counts_busy;     /* lost: the kernel could not lock the map of counts */
	__u64 nodes_full;      /* nodes that did not fit: their calls are counted under [other calls] */
	__u64 events;          /* entries and returns */
	__u64 handler_time;    /* ns in the handlers of every IVPU_TIMED_EVENTS-th event */
	__u64 slots;           /* bitmap of scratch slots in use */
	__u64 ring_full;       /* lost: the ring buffer was full */
	__u64 graphs_lost;     /* lost: tables of graph functions */
	__u64 threads_added;   /* threads added to their map */
	__u64 buffer_bytes;    /* size of buffers that programs allocated */
	__u64 sizes_lost;      /* lost: sizes of buffers by context that did not fit */
	struct stack_counts stacks;
} __attribute__((aligned(128))); /* padding: CPUs share neither cache lines nor adjacent-line prefetch pairs */

/* A power of 2. */
#define IVPU_TIMED_EVENTS 16u
