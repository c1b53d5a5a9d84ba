/* SPDX-License-Identifier: Apache-2.0 */
/* Source files that the listings of a run name, for a capture that embeds their texts. */
#ifndef IAPROF_PLUGINS_CAPTURE_CAPTURE_SOURCES_H
#define IAPROF_PLUGINS_CAPTURE_CAPTURE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/definitions.h"
#include "common/source_files.h"

/* String ids, some of them several times until they are sorted. */
struct file_ids {
	uint32_t *items;
	size_t count, capacity;
};

/* Initialise with {0}. */
struct capture_sources {
	bool is_wanted;
	struct source_files files;
	struct definitions names; /* strings */
	struct file_ids listed;   /* files of instructions */
	struct file_ids has_text; /* files whose text is among the records already, as in a replay */
};

/* setting: as in source_files_open(), "no": none are wanted. 0, or a negative errno after host->fail(). */
int capture_sources_open(struct capture_sources *sources, const struct iaprof_host *host, const char *setting);
/* Keeps what is needed of a record. 0 or -ENOMEM. */
int capture_sources_take(struct capture_sources *sources, const struct iaprof_record *record);
/*
 * Reads the files and gives their texts to write() as records. Logs how many are missing, and why. 0, or what write()
 * returned, or -ENOMEM.
 */
int capture_sources_write(struct capture_sources *sources, const struct iaprof_host *host,
			  int (*write)(const struct iaprof_host *host, void *context,
				       const struct iaprof_record *record),
			  void *context);
void capture_sources_free(struct capture_sources *sources);

#endif
