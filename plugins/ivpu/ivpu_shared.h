/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs that ivpu's BPF programs and their user space share. Times are CLOCK_MONOTONIC nanoseconds. */
#ifndef IAPROF_IVPU_SHARED_H
#define IAPROF_IVPU_SHARED_H

#include <linux/types.h>

/* IAPROF_CALL_DEPTH_MAX, less the root "[interrupt]" that user space puts above some. A power of 2 minus 1. */
#define IVPU_DEPTH_MAX 63u
#define IVPU_FRAMES 64u

/*
 * A node of the tree of calls is a hash of its parent's and of its function's index, which is also its lowest bits.
 * Outermost calls have one of the roots as their parent; the highest bit is set in every node and in no root.
 */
#define IVPU_FUNCTION_BITS 12u
#define IVPU_FUNCTIONS_MAX (1u << IVPU_FUNCTION_BITS)
#define IVPU_NODE_BIT (1ull << 63)

/* The highest indices are those of functions of Level Zero (api_functions.h); the driver's functions are below. */
#define IVPU_API_FUNCTIONS_MAX 64u
#define IVPU_API_FIRST (IVPU_FUNCTIONS_MAX - IVPU_API_FUNCTIONS_MAX)

/* A function's cookie is its index, and above it 1 more than the index of its histogram; 0: it has none. */
#define IVPU_COOKIE(function, histogram) ((__u64)(histogram) << IVPU_FUNCTION_BITS | (function))

enum ivpu_root {
	IVPU_ROOT_TASK = 0,
	IVPU_ROOT_INTERRUPT = 1 /* hard interrupts, softirqs, NMIs: of no process */
};

/* The call of BPF helper that user space makes one of bpf_session_is_return(): no helper has such a number. */
#define IVPU_SESSION_IS_RETURN 0x7e55104

/* Of the program for trampolines: libbpf before 1.8 has no section for it. */
#define IVPU_FSESSION_SECTION "iaprof.fsession"

/*
 * The functions of graphs that are in the table of the NPU's driver in user space since version 1.8 of ze_graph_ext.h,
 * struct ze_graph_dditable_ext_t. Newer versions have more behind them.
 */
#define IVPU_GRAPH_FUNCTIONS 23u
struct ivpu_graph_table {
	__u32 process;
	__u32 pad;
	__u64 functions[IVPU_GRAPH_FUNCTIONS]; /* addresses in the process */
};

/* What calls have in common that are counted together. */
struct ivpu_key {
	__u32 process; /* 0: an interrupt */
	__u32 pad;
	__u64 node;
	__u64 stack; /* hash of the program's stack at the outermost call of Level Zero around; 0: none */
};

struct ivpu_count {
	__u64 count;
	__u64 duration;
	__u64 self_duration;
	__u64 first_time; /* when the first, and the last, of those that returned was entered */
	__u64 last_time;
	__u64 result; /* of the last one */
};

/* One call that returned: how its ring buffer has it. */
struct ivpu_call_event {
	struct ivpu_key key;
	__u32 thread; /* 0: an interrupt, or an idle CPU */
	__u32 pad;
	__u64 begin;
	__u64 duration;
	__u64 self_duration;
	__u64 result;
};

/* How long calls of a function took: bucket i counts durations from 2^i to 2^(i + 1) - 1 ns, bucket 0 zeros too. */
#define IVPU_BUCKETS 48u /* the last one: longer than a day and a half */
struct ivpu_histogram {
	__u64 sum;
	__u64 maximum; /* two CPUs may set it at once: the lower one may stay */
	__u64 buckets[IVPU_BUCKETS];
};

/* A call in flight. */
struct ivpu_frame {
	__u64 node;
	__u64 begin;
	__u64 nested;  /* time of the calls nested in it that returned, and of interrupts */
	__u64 pointer; /* of the stack at its entry: a frame at a lower or equal address has returned */
	__u64 caller;  /* Level Zero: where it returns to; 0: not known */
	__u32 same;    /* Level Zero: calls of the same function in it, which are a part of it */
	__u32 pad;
};

/* The calls in flight of a thread, or of the interrupts of one kind on one CPU. */
struct ivpu_calls {
	__u32 depth;
	__u32 deeper;  /* calls in flight that had no room; stays 0 in a session, where their returns are not seen */
	__u64 stack;   /* as in struct ivpu_key */
	__u64 context; /* of the last entry that a trampoline told of */
	struct ivpu_frame frames[IVPU_FRAMES];
};

/* Kinds of interrupts, each of which can come while one of those before it runs: elements of a map. */
enum ivpu_interrupt { IVPU_SOFTIRQ = 0, IVPU_HARD_INTERRUPT = 1, IVPU_NMI = 2, IVPU_INTERRUPTS = 3 };

/*
 * One for each CPU, read by user space at any time. Probes of programs can be preempted by others of the same CPU: what
 * has to be exact is added to in one go.
 */
struct ivpu_processor {
	__u64 active;         /* handlers that may be using the maps of counts */
	__u64 calls;          /* that were counted or told one by one, lost ones too */
	__u64 threads_full;   /* lost: no room for one more thread with calls in flight */
	__u64 too_deep;       /* lost: nested deeper than IVPU_DEPTH_MAX */
	__u64 returns_missed; /* lost: found in flight when a call around them returned, or another began in their place
			       */
	__u64 returns_unknown;   /* lost: returned, but were not seen to begin */
	__u64 counts_full;       /* lost: the map of counts was full */
	__u64 counts_busy;       /* lost: the kernel could not lock the map of counts */
	__u64 nodes_full;        /* nodes without room: their calls count, but not where they belong */
	__u64 events;            /* entries and returns */
	__u64 handler_time;      /* ns in the handlers of every IVPU_TIMED_EVENTS-th event */
	__u64 slots;             /* bits of the places for a stack that are in use */
	__u64 stacks_lost;       /* lost: stacks that had no room */
	__u64 ring_full;         /* lost: the ring buffer was full */
	__u64 graphs_lost;       /* lost: tables of functions of graphs that were not told */
	__u64 threads_added;     /* to their map */
	__u64 buffer_bytes;      /* that programs asked for */
} __attribute__((aligned(128))); /* CPUs do not share cache lines, nor the pair that is prefetched together */

/* A power of 2. */
#define IVPU_TIMED_EVENTS 16u

#endif
