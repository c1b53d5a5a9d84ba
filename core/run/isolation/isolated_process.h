/* SPDX-License-Identifier: Apache-2.0 */
/* What runs in the process of an isolated plugin: its callbacks, with a bus, an intern table and a loop of its own. */
#pragma once

#include "base/clock.h"
#include "run/instance.h"
#include "run/isolation/profile_image.h"
#include "run/isolation/record_ring.h"
#include "run/isolation/sink_memory.h"

/* Requests for mappings of processes that iaprof was sent last, by pid. */
#define UNWIND_REQUESTS 1024
#define UNWIND_REQUEST_PERIOD (NANOSECONDS_PER_SECOND / 4)
struct unwind_request {
	uint32_t pid;
	uint64_t execution, time;
};

struct isolated_process {
	struct instance *instance;
	struct record_ring *ring;
	int channel; /* SOCK_SEQPACKET, to iaprof */
	int wake;    /* eventfd: there are records in the ring */
	struct instance_services services;
	bool is_done;
	/* Of sinks. */
	int service;                /* SOCK_SEQPACKET: requests that have an answer; -1: a source */
	pthread_mutex_t asking;     /* of a request, as the sink may have threads */
	struct sink_memory *memory; /* shared with iaprof */
	struct mapped_strings strings;
	struct mapped_profile profile; /* of the next call of profile() */
	struct unwind_request unwind_requests[UNWIND_REQUESTS];
};

/* Serves calls until iaprof asks for destroy() or ends. Called in the new process. */
_Noreturn void isolated_process_run(struct isolated_process *process);

/* isolated_services.c: sets the services that need iaprof, apart from the bus, the intern table and the loop. */
void isolated_services_init(struct isolated_process *process);

/* isolated_sink.c: the host of a sink, and its calls. */
void isolated_sink_init(struct isolated_process *process);
/* Takes a file that belongs to a profile: MESSAGE_STRINGS or MESSAGE_PROFILE. */
void isolated_sink_take_file(struct isolated_process *process, uint32_t kind, int descriptor);
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

/* isolated_target.c: the target as bytes. Returns the size, or a negative errno if it is too large. */
ptrdiff_t isolated_target_pack(const struct iaprof_target *target, char *bytes, size_t capacity);
/* Returns 0 or -EBADMSG. The target borrows from bytes, which must be 8-byte aligned. */
int isolated_target_unpack(const char *bytes, size_t size, struct iaprof_target *target);
