/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workers that read images of device code, one for each decoder plugin and one for code without: each is started
 * when the first image of its machine appears. Belongs to one thread; not locked.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_WORKERS_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_WORKERS_H

#include "plugin/decoder.h"
#include "symbolizer/worker_pool.h"

struct code_workers;

/* decoders: NULL none. delay: of the thread that waits. Both outlive the workers. NULL: out of memory. */
struct code_workers *code_workers_new(struct decoders *decoders, struct run_delay *delay);
/* For tests: see worker_pool_new_in_threads(); the context of serve is a struct instance, the decoder. */
struct code_workers *code_workers_new_in_threads(struct decoders *decoders, int (*serve)(void *context, int socket));
/* After all children ended. */
void code_workers_free(struct code_workers *workers);

/* The one for an ELF machine; NULL: out of memory. */
struct worker_pool *code_workers_get(struct code_workers *workers, uint32_t machine);

/* ns of CPU time that they used, as worker_pool_cpu_time(). */
uint64_t code_workers_cpu_time(const struct code_workers *workers);

#endif
