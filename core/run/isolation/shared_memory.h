/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that iaprof shares with the process of one isolated plugin: a file in memory, which nobody can truncate. Only
 * pages that are used take memory. iaprof trusts nothing in it.
 */
#pragma once

#include "config/configuration.h"
#include "run/isolation/record_ring.h"

/* Bytes of records in a call of records(); the largest record fits. */
#define SINK_RECORDS_SIZE ((size_t)1 << 20)
#define SETTINGS_SIZE_MAX ((size_t)4 << 20)

struct shared_memory {
	/* Of the plugin's main thread: */
	_Alignas(64) atomic_uint callback; /* enum isolated_callback that it is in */
	atomic_uint callback_number;       /* increases with each callback */
	atomic_uint run_is_ending;         /* for sinks */
	/* What instance_new() needs in the process: */
	int32_t log_level;
	uint32_t number; /* of the instance */
	uint32_t settings_size;
	char settings[SETTINGS_SIZE_MAX];             /* the id, then keys and values, each with a NUL */
	struct record_ring ring;                      /* records from a source */
	_Alignas(64) char records[SINK_RECORDS_SIZE]; /* for a call of records() of a sink */
};

/* Returns memory with these settings, and sets *descriptor to its file; NULL with errno set. */
struct shared_memory *shared_memory_new(const struct instance_configuration *configuration, int *descriptor);
/* In the process of the plugin: maps the file, which is closed. Returns NULL with errno set. */
struct shared_memory *shared_memory_open(int descriptor);
void shared_memory_free(struct shared_memory *memory);

/* Sets the id and the settings of a configuration, which borrows them. Returns 0 or -ENOMEM. */
int shared_memory_read_settings(struct shared_memory *memory, struct instance_configuration *configuration);
