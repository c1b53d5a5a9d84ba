/* SPDX-License-Identifier: Apache-2.0 */
/* What runs in the process of an isolated source: its callbacks, with a bus, an intern table and a loop of its own. */
#ifndef IAPROF_CORE_RUN_ISOLATION_ISOLATED_PROCESS_H
#define IAPROF_CORE_RUN_ISOLATION_ISOLATED_PROCESS_H

#include "base/clock.h"
#include "run/instance.h"
#include "run/isolation/record_ring.h"

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
	struct unwind_request unwind_requests[UNWIND_REQUESTS];
};

/* Serves calls until iaprof asks for destroy() or ends. Called in the new process. */
_Noreturn void isolated_process_run(struct isolated_process *process);

/* isolated_services.c: sets the services that need iaprof, apart from the bus, the intern table and the loop. */
void isolated_services_init(struct isolated_process *process);

/* isolated_target.c: the target as bytes. Returns the size, or a negative errno if it is too large. */
ptrdiff_t isolated_target_pack(const struct iaprof_target *target, char *bytes, size_t capacity);
/* Returns 0 or -EBADMSG. The target borrows from bytes, which must be 8-byte aligned. */
int isolated_target_unpack(const char *bytes, size_t size, struct iaprof_target *target);

#endif
