/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs in the process of an isolated plugin: its callbacks, with a bus, an intern table and a loop of its own. The
 * process is iaprof itself under another name.
 */
#pragma once

#include "base/clock.h"
#include "child/child.h"
#include "run/instance.h"
#include "run/isolation/message.h"
#include "run/isolation/packing.h"
#include "run/isolation/shared_memory.h"

/* argv[0] of the process; argv[1] is the plugin's path. */
#define ISOLATED_PROCESS_PROGRAM "iaprof-plugin"

/* Requests for mappings of processes that iaprof was sent last, by pid. */
#define UNWIND_REQUESTS 1024
#define UNWIND_REQUEST_PERIOD (NANOSECONDS_PER_SECOND / 4)
struct unwind_request {
	uint32_t pid;
	uint64_t execution, time;
};

struct isolated_process {
	struct instance *instance;
	struct shared_memory *memory;
	struct instance_services services;
	pthread_t mover; /* of records into the ring */
	bool is_done;
	/* Of sinks. */
	bool is_sink;
	pthread_mutex_t asking;    /* of a request, as the sink may have threads */
	struct string_table texts; /* of profiles, valid until finish() returns */
	struct unpacked profile;   /* of the next call of profile() */
	struct unwind_request unwind_requests[UNWIND_REQUESTS];
};

/* Descriptors of the process. */
enum {
	ISOLATED_CHANNEL = CHILD_CHANNEL, /* SOCK_SEQPACKET, to iaprof */
	ISOLATED_MEMORY,                  /* struct shared_memory, until it is mapped */
	ISOLATED_WAKE,                    /* eventfd: there are records in the ring */
	ISOLATED_SERVICE,                 /* SOCK_SEQPACKET: requests of sinks that have an answer */
};

/* Serves calls until iaprof asks for destroy() or ends. Runs in the new process. */
_Noreturn void isolated_process_main(const char *path);

/*
 * Sets how the process handles signals that end a run: a service manager signals all processes of a service, but iaprof
 * stops its plugins in order. Async-signal-safe.
 */
void isolated_process_set_signals(void (*handler)(int number));

/* isolated_services.c: sets the services that need iaprof, apart from the bus, the intern table and the loop. */
void isolated_services_init(struct isolated_process *process);

/* isolated_sink.c: the host of a sink, and its calls. */
void isolated_sink_init(struct isolated_process *process);
/* Return the result of the callback. */
int isolated_sink_configure(struct isolated_process *process, struct error *error);
int isolated_sink_records(struct isolated_process *process, const struct sink_batch *batch, struct error *error);
int isolated_sink_profile(struct isolated_process *process, struct error *error);

/* isolated_outputs.c: the outputs and the terminal of a sink, by requests to iaprof. */
void isolated_outputs_host(struct iaprof_host *host);
/* Returns the process that a host of a sink is in. */
static inline struct isolated_process *isolated_process_of(const struct iaprof_host *host)
{
	return instance_of(host)->services->context;
}
