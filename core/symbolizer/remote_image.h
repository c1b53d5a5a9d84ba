/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ELF image (a program, a library or the vDSO) as a child of the worker reads it: what is needed to find functions
 * is kept here, and lines of a compilation unit are fetched when an address first falls into it.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_REMOTE_IMAGE_H
#define IAPROF_CORE_SYMBOLIZER_REMOTE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "symbolizer/budget.h"
#include "symbolizer/debug_file.h"
#include "symbolizer/debug_unit.h"
#include "symbolizer/symbol_table.h"
#include "symbolizer/worker_pool.h"

/* What images share. All of it outlives them. */
struct remote_image_context {
	struct worker_pool *pool;
	struct budget *budget;
};

struct remote_image_request {
	int descriptor; /* of the file; stays the caller's */
	const struct file_identity *file;
	const char *path; /* for messages */
	bool lines;       /* of its debug information too */
	bool own_root;    /* of a process whose root folder is iaprof's */
	enum budget_patience patience;
	const struct debug_file_finder *finder; /* used during the call only */
};

struct remote_unit;
struct remote_file;

struct remote_image {
	elf_segment_array segments;
	struct symbol_table symbols;
	uint32_t build_id_size; /* 0 none, or longer than fits */
	uint8_t build_id[IAPROF_MODULE_BUILD_ID_SIZE_MAX];
	uint32_t damage; /* enum image_damage */
	uint32_t units_damaged;

	/* Debug information. */
	struct range_table unit_ranges; /* value: position in units */
	ARRAY(struct remote_unit) units;
	struct worker_child child;
	ARRAY(struct remote_file) files; /* to read the image again: itself, then what its reader asked for, in order */
	struct file_identity identity;
	const char *path;
	size_t files_held; /* of files, that count for all images */
	uint64_t used;     /* when its child was asked last */
};

/*
 * Has an image read. Returns 0; -EAGAIN when it needs more than BUDGET_QUICK has; or another negative errno, and the
 * refusal has been noted: -ENOEXEC and others.
 */
int remote_image_load(struct remote_image **image, const struct remote_image_context *context,
		      const struct remote_image_request *request);
void remote_image_free(struct remote_image *image, const struct remote_image_context *context);

/* The ELF virtual address of a place in the file that is mapped executable; false when nothing is loaded from there. */
bool remote_image_address(const struct remote_image *image, uint64_t file_offset, uint64_t *address);
/* debug_unit_find() in the unit that covers an address; 0 when there is no debug information for it. */
size_t remote_image_lines(struct remote_image *image, const struct remote_image_context *context, uint64_t address,
			  struct debug_frame *frames, size_t capacity);
/* Fetches what remote_image_lines() needs for an address, if that goes quickly. */
void remote_image_look_ahead(struct remote_image *image, const struct remote_image_context *context, uint64_t address);
/* Ends the child, which is started again when it is needed. */
void remote_image_rest(struct remote_image *image, const struct remote_image_context *context);

#endif
