/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by inject.bpf.c and inject.c: the threads that call Level Zero or OpenCL. */
#pragma once

#include <linux/types.h>

/* Maximum number of calling threads to track: one is sufficient. */
#define CALLERS_MAX 256

enum caller_state {
	CALLER_SEEN = 1,  /* it made a call; not traced yet */
	CALLER_ARMED = 2, /* traced: to be stopped at its next call */
	CALLER_FIRED = 3, /* the stop signal was sent */
	CALLER_DEAF = 4   /* in events only: it blocks all usable signals, and stays armed */
};

#define SIGNAL_NONE 0xffffffffu

struct caller {
	__u32 state;
	__u32 signal;  /* CALLER_FIRED: the signal; CALLER_ARMED: SIGNAL_NONE after a report that there is none */
	__u64 address; /* CALLER_FIRED: address of the called function */
};

/* A thread changed its state. */
struct caller_event {
	__u32 thread;
	__u32 state;
};
