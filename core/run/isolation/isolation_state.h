/* SPDX-License-Identifier: Apache-2.0 */
/* The part of an isolated plugin that is in iaprof, shared by the files isolation*.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "child/child.h"
#include "run/instance.h"
#include "run/isolation/isolation.h"
#include "run/isolation/message.h"
#include "run/isolation/outbox.h"
#include "run/isolation/record_intake.h"
#include "run/isolation/shared_memory.h"

/* Longest time in a callback, ns: a plugin that hangs is to be named within 5 s. Run delay does not count. */
#define CALLBACK_TIME (4 * NANOSECONDS_PER_SECOND)
/* The same for stop() and finish() of a lossless source, ns: its records wait for the sinks. */
#define LOSSLESS_TIME (60 * NANOSECONDS_PER_SECOND)
/* How often callbacks are checked and records that wait for the bus are tried again, ns. */
#define PERIOD (NANOSECONDS_PER_SECOND / 10)
/* Length of one wait for the process, in ms. */
#define WAIT_STEP 10
/* Messages of the process that are handled in a turn of the loop, so that it cannot occupy the loop. */
#define MESSAGES_PER_TURN 64
/* Outputs that a sink has open at once. */
#define SINK_OUTPUTS_MAX 256

/* How far a sink is in a call: isolation_progress.c. */
struct sink_progress {
	/* Run delay of the sink's thread, and of the process while that thread waits. */
	struct run_delay delay;
	struct delayed_process helper;
	uint64_t received; /* bytes of records and profiles that the sink has received so far */
	/* The call: */
	struct deadline begin, active;  /* never pass; measure the time since the call began, and since the last
					   progress */
	uint64_t served;                /* ns spent on slow requests */
	uint64_t output, active_output; /* bytes written, and a charge per request: now, and at the last progress */
	uint64_t active_cpu;            /* CPU time of the process at the last progress */
};

/* Of sinks: they are called on their own thread, and the main thread takes their messages between calls. */
struct isolated_sink {
	pthread_mutex_t lock; /* of the isolation */
	int service;          /* SOCK_SEQPACKET: requests of the process, which have an answer */
	struct iaprof_output *outputs[SINK_OUTPUTS_MAX];
	struct sink_progress progress;
};

struct isolation {
	struct instance *instance;
	struct shared_memory *memory;
	struct record_intake intake;
	struct child child;
	int wake; /* eventfd: there are records in the ring */
	bool is_configured, is_sink;
	atomic_bool is_dead;
	struct loop_watch *channel_watch, *wake_watch, *timer_watch;
	struct run_delay delay; /* of this thread, and of the process */
	/* The callback that the process was in at the last check. */
	uint32_t callback_number;
	struct deadline callback_deadline;
	unsigned lines, dropped_lines; /* messages for the user since lines_begin */
	uint64_t lines_begin;
	struct outbox outbox;
	struct message message; /* received last */
	/* The call: */
	enum isolated_callback begun; /* by isolation_begin(); ISOLATED_NONE: none */
	bool has_returned;            /* message is its RETURN */
	struct deadline return_by;    /* of sources */
	struct isolated_sink sink;
};

/* isolation_end.c: the end of the process. */

/* How long a process is waited for that ends or was killed, ns: one in an uninterruptible system call ends later. */
#define END_TIME NANOSECONDS_PER_SECOND
/* Stops watching the process and closes the channels to it. */
void isolation_close_channels(struct isolation *isolation);
/*
 * The process has ended too early, or is ended for what it did. what: "crashed with SIGSEGV", for example; callback: ""
 * if it is not known.
 */
void isolation_die(struct isolation *isolation, const char *what, const char *callback);
/* The process has closed the channel without a message. */
void isolation_die_of_status(struct isolation *isolation);
/* The process is in a callback for longer than limit, ns. */
void isolation_die_of_time(struct isolation *isolation, const char *callback, uint64_t limit);
void isolation_die_of_records(struct isolation *isolation, const struct error *error);
/* Returns the callback that the process is in; "" if none. */
const char *isolation_callback(const struct isolation *isolation);

/* isolation_messages.c: messages of the process. */

/*
 * Receives and handles messages of a turn, up to a RETURN, which is then in isolation->message. Returns whether there
 * was one. A process that has ended is dead.
 */
bool isolation_take_messages(struct isolation *isolation);
void isolation_report_dropped_lines(struct isolation *isolation);

/* isolation_call.c: calls of callbacks. */

/* Takes what the process has written. Bounded by the size of the ring, as the process may go on writing. */
int isolation_take_records(struct isolation *isolation, size_t chunks, struct error *error);
/* Takes so many chunks of what the process of a source has written, and asks to be woken for more. */
void isolation_read_ring(struct isolation *isolation, size_t chunks);
/* Returns a deadline that excludes run delay of the process, which is not its fault. */
struct deadline isolation_deadline(struct isolation *isolation, uint64_t duration);
/* Calls a callback with bytes that belong to the call. Returns as isolation_call(). */
int isolation_call_with(struct isolation *isolation, enum isolated_callback callback, const void *bytes, size_t size,
			struct error *error);
/* Calls destroy(), which has no result. */
void isolation_call_destroy(struct isolation *isolation);

/* isolation_sink.c: calls of sinks. */
void isolation_sink_free(struct isolation *isolation);
/* Serves the process between calls. Returns 0 or a negative errno. */
int isolation_sink_watch(struct isolation *isolation);

/* isolation_progress.c: limits on a call of a sink. */

/* Begins to measure a call. */
void isolation_progress_begin(struct isolation *isolation);
/* Notes a request of the process: its result, the bytes that it wrote and the time that it took, ns. */
void isolation_progress_note(struct isolation *isolation, int result, size_t written, uint64_t took);
/* Returns 0, or the time in ns after which the callback, which has not returned, is ended. */
uint64_t isolation_progress_is_over(struct isolation *isolation, enum isolated_callback callback);

/* isolation_outputs.c: requests of sinks. */

/* Serves the requests of the process. */
void isolation_sink_serve(struct isolation *isolation);
/* Discards the outputs, and restores the terminal. */
void isolation_sink_discard(struct isolation *isolation);
