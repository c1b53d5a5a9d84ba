/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images of the process table. The images of one pid are linked in order of their start; a record is attributed
 * to the image that existed at its time, whenever it arrives. Information about an image whose start is not known (from
 * a scan of /proc, or an event whose fork was lost) creates one that begins at 0 or at the end of the previous image; a
 * fork or exec that arrives later sets its start or splits it.
 */
#pragma once

#include "base/array.h"
#include "base/hash.h"
#include "process/address_space.h"
#include "process/process.h"
#include "process/root_cache.h"

struct program_image {
	struct process process;              /* first: callers have a pointer to it */
	struct program_image *older, *newer; /* neighbours with the same pid */
	struct address_space *space;
	struct root *root;
	uint64_t first_seen, last_seen; /* times of the first and the last record about it */
	uint64_t name_time;
	uint32_t slot; /* position in the table */
	bool begin_known;
	bool root_known; /* root was read for this image, not inherited */
	bool root_due;   /* it is still to be read */
};

/* Initialise with {0} and hash_key. */
struct program_image_table {
	ARRAY(struct program_image *) slots; /* NULL: free */
	ARRAY(uint32_t) free_slots;
	struct hash_index by_pid; /* the newest image of each pid */
	struct hash_index by_serial;
	struct hash_key hash_key; /* for pids and serials */
	size_t count;
	uint32_t serial; /* last one assigned */
};

void program_image_table_free(struct program_image_table *table);

/* Returns the last image of pid that began at or before time, and in *newer the next one. Either may be NULL. */
struct program_image *program_image_before(const struct program_image_table *table, uint32_t pid, uint64_t time,
					   struct program_image **newer);
/* Returns the same, or the oldest one if all began later; NULL: unknown pid. */
struct program_image *program_image_nearest(const struct program_image_table *table, uint32_t pid, uint64_t time);
/* Returns NULL if it was removed. */
struct program_image *program_image_by_serial(const struct program_image_table *table, uint32_t serial);

/* Returns the image that a record refers to, created if necessary; NULL if out of memory. */
struct program_image *program_image_for_record(struct program_image_table *table, uint32_t pid, uint64_t time);
/* Returns the image that begins with a fork or exec at this time; NULL if out of memory. */
struct program_image *program_image_begin(struct program_image_table *table, uint32_t pid, uint64_t time);
/*
 * Ends an image at this time. Data about its pid from this time on moves to a new image after it, which is returned;
 * NULL if out of memory.
 */
struct program_image *program_image_split(struct program_image_table *table, struct program_image *image,
					  uint64_t time);

/* Sets the name that it had at this time, unless a newer one is known. */
void program_image_set_name(struct program_image *image, const char *name, uint64_t time);

/* Removes an image that has ended, with its root and mappings; earlier images of the same pid must be removed, too. */
void program_image_remove(struct program_image_table *table, struct program_image *image);
