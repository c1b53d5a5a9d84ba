/* SPDX-License-Identifier: Apache-2.0 */
/* What inject.bpf.c and inject.c share: the threads that call Level Zero. */
#ifndef IAPROF_ZE_USDT_INJECT_CALLER_H
#define IAPROF_ZE_USDT_INJECT_CALLER_H

/* More threads than this that call Level Zero are not looked at: one is enough. */
#define CALLERS_MAX 256

enum caller_state {
	CALLER_SEEN = 1,  /* it called; not traced yet */
	CALLER_ARMED = 2, /* traced: its next call is to be stopped */
	CALLER_FIRED = 3, /* it was sent the signal that stops it */
	CALLER_DEAF = 4   /* only in events: it blocks every signal that could be used, and stays armed */
};

#define SIGNAL_NONE 0xffffffffu

struct caller {
	__u32 state;
	__u32 signal;  /* CALLER_FIRED: which one; CALLER_ARMED: SIGNAL_NONE when it was told that there is none */
	__u64 address; /* CALLER_FIRED: of the called function's first instruction */
};

/* A thread came to another state. */
struct caller_event {
	__u32 thread;
	__u32 state;
};

#endif
