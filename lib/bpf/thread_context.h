/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Spans of threads as BPF programs read them (thread_context.bpf.h) and user space prepares it (thread_contexts.h). */
#pragma once

#include <linux/types.h>
#include <iaprof/unwind.h>

/* A process with the variable. */
struct thread_context_process {
	__u64 execution;                      /* as in struct unwind_process */
	struct iaprof_thread_context context; /* slot: address in the process */
};

/* C libraries whose list of a thread's modules is known. */
#define THREAD_CONTEXT_LISTS (IAPROF_THREAD_CONTEXT_GLIBC | IAPROF_THREAD_CONTEXT_MUSL)

/* The bytes of struct iaprof_span, in words that begin it; all 0: none. */
#define THREAD_CONTEXT_SPAN_WORDS 3

/* Reads of the variables of threads, by what was found. */
struct thread_context_counts {
	__u64 spans;
	__u64 none;        /* the thread works on no span, or has not set the variable yet */
	__u64 invalid;     /* the record is being changed, or has one of the two ids */
	__u64 unreadable;  /* memory of the process */
	__u64 unsupported; /* there is no way to the variable: see IAPROF_THREAD_CONTEXT_UNKNOWN */
};
