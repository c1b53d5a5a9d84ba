/* SPDX-License-Identifier: Apache-2.0 */
/* Source files of code listings, for captures that embed them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string_table.h"
#include "records/definitions.h"
#include "text/source_files.h"

/* Initialise with {0}. */
struct capture_sources {
	bool is_wanted;
	struct source_files files;
	struct definitions names; /* strings */
	/* Sets of string ids: */
	struct string_table listed;   /* source files of instructions */
	struct string_table has_text; /* files whose text is already among the records, as in a replay */
};

/* setting: as in source_files_open(); "no": no sources. Returns 0, or a negative errno after host->fail(). */
int capture_sources_open(struct capture_sources *sources, const struct iaprof_host *host, const char *setting);
/* Collects the source files of a record. Returns 0 or -ENOMEM. */
int capture_sources_take(struct capture_sources *sources, const struct iaprof_record *record);
/*
 * Reads the files and passes their texts to write() as records. Logs how many are missing, and why. Returns 0, the
 * result of write(), or -ENOMEM.
 */
int capture_sources_write(struct capture_sources *sources, const struct iaprof_host *host,
			  int (*write)(const struct iaprof_host *host, void *context,
				       const struct iaprof_record *record),
			  void *context);
void capture_sources_free(struct capture_sources *sources);
