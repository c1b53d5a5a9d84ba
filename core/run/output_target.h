/* SPDX-License-Identifier: Apache-2.0 */
/* Where an instance's outputs go, and whether that can be written. */
#ifndef IAPROF_CORE_RUN_OUTPUT_TARGET_H
#define IAPROF_CORE_RUN_OUTPUT_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Initialise with OUTPUT_TARGET_INIT, then output_target_set(). */
struct output_target {
	char *path;            /* owned; "-" standard output; NULL not set */
	const char *extension; /* of the sink: "folded" */
	int descriptor;        /* what is no regular file, opened before the run; -1: a regular file, or not opened */
	bool is_null_device;
	bool opened_stream;
	bool is_private; /* files are for their owner alone */
	/*
	 * CLOCK_MONOTONIC ns until which a write that has waited for its reader since then may wait; UINT64_MAX: as
	 * long as it takes. NULL: the same. Any thread.
	 */
	uint64_t (*write_by)(void *context, uint64_t since);
	void *context;
	/* Grows while something is written, or waits for a reader as long as write_by allows. */
	atomic_uint_least64_t activity;
};

#define OUTPUT_TARGET_INIT ((struct output_target){ .descriptor = -1 })

int output_target_set(struct output_target *target, const char *path, struct error *error);
void output_target_release(struct output_target *target);

/*
 * Whether a file can be written there, before the run begins: the folder exists and can be written, the path is not a
 * folder, and no other user's name leads to a device. Opens nothing. *identity is the same text for targets that are
 * one file, whatever they are called; the caller frees it. It is NULL for /dev/null, where nothing gets mixed up.
 */
int output_target_check(const struct output_target *target, char **identity, struct error *error);
/* Opens what is no regular file, so that a run that cannot write does not begin. Never waits for a reader. */
int output_target_hold(struct output_target *target, struct error *error);
/* Whether all that the sink writes goes into one stream. */
bool output_target_is_stream(const struct output_target *target);

#endif
