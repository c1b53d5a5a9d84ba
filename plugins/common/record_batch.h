/* SPDX-License-Identifier: Apache-2.0 */
/* Records on their way to host->emit(), many at a time. */
#ifndef IAPROF_PLUGINS_COMMON_RECORD_BATCH_H
#define IAPROF_PLUGINS_COMMON_RECORD_BATCH_H

#include <stdint.h>
#include <iaprof/host.h>

struct record_batch {
	const struct iaprof_host *host;
	unsigned char *records;
	uint64_t size;
	uint32_t count;
};

/* Returns 0, or a negative errno after host->fail(). */
int record_batch_init(struct record_batch *batch, const struct iaprof_host *host);
void record_batch_free(struct record_batch *batch);

/* These return 0 or a negative errno. A queue that is full is no error of ours: the core has counted what it lost. */
int record_batch_append(struct record_batch *batch, const struct iaprof_record *record);
int record_batch_flush(struct record_batch *batch);

/* A counter that only grows, and its value at a time. */
int record_batch_declare_counter(struct record_batch *batch, uint32_t id, const char *name, const char *unit,
				 uint64_t time);
int record_batch_set_counter(struct record_batch *batch, uint32_t id, uint64_t value, uint64_t time);

#endif
