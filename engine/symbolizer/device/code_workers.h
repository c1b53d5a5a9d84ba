/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that read images of device code, one for each decoder plugin and one for code without a decoder; each is
 * started with the first image of its machine. Owned by one thread; not locked.
 */
#pragma once

#include "plugin/decoder.h"
#include "symbolizer/worker_pool.h"

struct code_workers;

/* decoders: NULL if none. delay: of the thread that waits. Both outlive the workers. Returns NULL if out of memory. */
struct code_workers *code_workers_new(struct decoder_finder *decoders, struct run_delay *delay);
/* For tests: see worker_pool_new_in_threads(); the context of serve is the struct decoder. */
struct code_workers *code_workers_new_in_threads(struct decoder_finder *decoders,
						 int (*serve)(void *context, int socket));
/* Call after all children have ended. */
void code_workers_free(struct code_workers *workers);

/* Returns the pool for an ELF machine: that without a decoder once its decoder hangs. NULL if out of memory. */
struct worker_pool *code_workers_get(struct code_workers *workers, uint32_t machine);

/* Returns the name of the decoder of an ELF machine, or NULL. */
const char *code_workers_decoder_name(const struct code_workers *workers, uint32_t machine);

/*
 * Reports at once that the decoder of an ELF machine has failed in a child, and how; once per decoder. hangs: it does
 * not return. It is not used again, because each wait for it costs the time of other code.
 */
void code_workers_report_failure(struct code_workers *workers, uint32_t machine, const char *reason, bool hangs);
/* Returns whether a decoder has failed. */
bool code_workers_have_failed(const struct code_workers *workers);

/* Returns their CPU time in ns, as worker_pool_cpu_time(). */
uint64_t code_workers_cpu_time(struct code_workers *workers);
