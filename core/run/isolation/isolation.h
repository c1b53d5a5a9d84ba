/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source or sink in a process of its own: a crash, hang or exit() in a callback ends this process and nothing else.
 * iaprof calls its callbacks by messages (message.h). Records of sources, and those for sinks, pass through shared
 * memory (shared_memory.h), profiles through files in memory (profile_image.h); what a sink writes is
 * written by iaprof. Every call has a deadline. All functions on the main thread, except for
 * isolation_call(), isolation_records() and isolation_profile() of sinks, which one thread at a time calls.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct iaprof_batch;
struct iaprof_profile;
struct instance;
struct instance_configuration;
struct isolation;

/*
 * Starts the process: this program again, whose main() calls isolated_process_main(). configuration: that of the
 * instance, of which nothing has been called. Returns NULL on failure, with error set.
 */
struct isolation *isolation_new(struct instance *instance, const struct instance_configuration *configuration,
				struct error *error);
/* Calls destroy() if configure() was called, and ends the process. */
void isolation_free(struct isolation *isolation);

/*
 * Calls a callback by its name, with everything that belongs to it: the source's thread after start(), its records
 * before finish() returns. Returns its result; a failure is stored in instance->error and, if not NULL, in error. If
 * the process ends or does not answer in time, the plugin is dead: the reason has been printed, and error is empty.
 */
int isolation_call(struct isolation *isolation, const char *callback, struct error *error);

/*
 * Begins a call of a source, whose time is measured from here on: isolation_call() with the same callback then waits
 * for it. Several sources can be called at once.
 */
void isolation_begin(struct isolation *isolation, const char *callback);
/* Takes records and messages of a source while another one is waited for. */
void isolation_attend(struct isolation *isolation);

/* Call records() and profile() of a sink. Return as isolation_call(). */
int isolation_records(struct isolation *isolation, const struct iaprof_batch *batch);
int isolation_profile(struct isolation *isolation, const struct iaprof_profile *profile);

/* Serves the process in the loop of the run, from here on: records, messages, hangs. Returns 0 or a negative errno. */
int isolation_watch(struct isolation *isolation);

/* Returns the CPU time of the process, ns; 0 if it is not known. */
uint64_t isolation_cost(const struct isolation *isolation);
/* Returns its process id; 0 if it has none any more, or isolation is NULL. */
pid_t isolation_process(const struct isolation *isolation);

/* Returns whether the process has ended too early. */
bool isolation_is_dead(const struct isolation *isolation);
