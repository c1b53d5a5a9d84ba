/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source in a process of its own: a crash, hang or exit() in a callback ends this process and nothing else. iaprof
 * calls its callbacks by messages (message.h), and receives its records through shared memory (record_ring.h). Every
 * call has a deadline. All functions on the main thread, which alone uses the channel and reads the ring.
 */
#ifndef IAPROF_CORE_RUN_ISOLATION_ISOLATION_H
#define IAPROF_CORE_RUN_ISOLATION_ISOLATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct instance;
struct isolation;

/*
 * Starts the process: a copy of this one, which must have no other threads. instance has its options, and nothing of
 * it has been called. Returns NULL on failure, with error set.
 */
struct isolation *isolation_new(struct instance *instance, struct error *error);
/* Calls destroy() if configure() was called, and ends the process. */
void isolation_free(struct isolation *isolation);

/*
 * Calls a callback by its name, with everything that belongs to it: the source's thread after start(), its records
 * before finish() returns. Returns its result; a failure is stored in instance->error and, if not NULL, in error. If
 * the process ends or does not answer in time, the source is dead: the reason has been printed, and error is empty.
 */
int isolation_call(struct isolation *isolation, const char *callback, struct error *error);

/* Serves the process in the loop of the run, from here on: records, messages, hangs. Returns 0 or a negative errno. */
int isolation_watch(struct isolation *isolation);

/* Returns the CPU time of the process, ns; 0 if it is not known. */
uint64_t isolation_cost(const struct isolation *isolation);

/* Returns whether the process has ended too early. */
bool isolation_is_dead(const struct isolation *isolation);

#endif
