/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ELF image (a program, a library or the vDSO), as read by a child of the worker. The tables of functions are
 * stored here; the source lines of a compilation unit are requested when an address first falls into it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "symbolizer/budget.h"
#include "symbolizer/debug_file.h"
#include "symbolizer/debug_unit.h"
#include "symbolizer/symbol_table.h"
#include "symbolizer/worker_pool.h"

/* Shared by images, and outlives them. */
struct remote_image_context {
	struct worker_pool *pool;
	struct budget *budget;
};

struct remote_image_request {
	int descriptor; /* the open file; owned by the caller */
	const struct file_identity *file;
	const char *path; /* for messages */
	bool lines;       /* also read debug information */
	bool may_be_data; /* it may be no ELF file, which is not reported */
	bool own_root;    /* the process has the same root folder as iaprof */
	enum budget_patience patience;
	const struct debug_file_finder *finder; /* used during the call only */
};

struct remote_unit;
struct remote_file;

struct remote_image {
	elf_segment_array segments;
	struct symbol_table symbols;
	uint32_t build_id_size; /* 0 if none, or longer than fits */
	uint8_t build_id[IAPROF_MODULE_BUILD_ID_SIZE_MAX];
	uint32_t damage; /* enum elf_image_damage */
	uint32_t units_damaged;

	/* For debug information: */
	struct range_table unit_ranges; /* value: position in units */
	ARRAY(struct remote_unit) units;
	struct worker_child child;
	ARRAY(struct remote_file)
	files; /* to read the image again: the file itself, then those that its child requested, in order */
	struct file_identity identity;
	char *path;        /* for messages */
	uint64_t charged;  /* bytes taken from the budget */
	size_t files_held; /* number of files that count towards the limit for all images */
	uint64_t used;     /* time of the last request to its child */
	uint64_t period;   /* image_cache_begin_period() before it was found last */
};

/*
 * Loads an image. Returns 0; -EAGAIN if it exceeds the limits of BUDGET_QUICK; or another negative errno, such as
 * -ENOEXEC, after recording the refusal.
 */
int remote_image_load(struct remote_image **image, const struct remote_image_context *context,
		      const struct remote_image_request *request);
void remote_image_free(struct remote_image *image, const struct remote_image_context *context);

/* Returns the ELF virtual address of a file offset; false if that offset is not loaded. */
bool remote_image_address(const struct remote_image *image, uint64_t file_offset, uint64_t *address);
/* Calls debug_unit_find() for the unit that covers an address; returns 0 if there is no debug information for it. */
size_t remote_image_lines(struct remote_image *image, const struct remote_image_context *context, uint64_t address,
			  struct debug_frame *frames, size_t capacity);
/* Prefetches what remote_image_lines() needs for an address, if that is quick. */
void remote_image_prefetch(struct remote_image *image, const struct remote_image_context *context, uint64_t address);
/* Ends the child, which is restarted when needed. */
void remote_image_rest(struct remote_image *image, const struct remote_image_context *context);
