/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The images that the process table knows. Those of one pid are chained by the time they began; a record belongs to the
 * image that was there at its time, whenever it arrives. What is learned of an image whose beginning is not known (a
 * look through /proc, or an event whose fork was lost) makes one that begins at 0, or with the end of the one before;
 * a fork or exec that arrives later gives it its beginning, or splits it.
 */
#ifndef IAPROF_CORE_PROCESS_IMAGE_H
#define IAPROF_CORE_PROCESS_IMAGE_H

#include "base/array.h"
#include "base/hash.h"
#include "process/address_space.h"
#include "process/process.h"
#include "process/root_cache.h"

struct image {
	struct process process;      /* first: what the outside has a pointer to */
	struct image *older, *newer; /* of the same pid */
	struct address_space *space;
	struct root *root;
	uint64_t first_seen, last_seen; /* times of the first and the last record about it */
	uint64_t name_time;
	uint32_t slot; /* where it is in the table */
	bool begin_known;
	uint32_t account_user; /* its user, also when it hides what it does */
	bool root_known;       /* looked up for this very image */
};

/* Initialise with {0} and hash_key. */
struct image_table {
	ARRAY(struct image *) slots; /* NULL: free */
	ARRAY(uint32_t) free_slots;
	struct hash_index by_pid; /* the newest image of each pid */
	struct hash_index by_serial;
	struct hash_key hash_key; /* of pids and serials */
	size_t count;
	uint32_t serial; /* the last one given */
};

void image_table_free(struct image_table *table);

/* The last image of pid that began at or before time; *newer is the one after it. Either may be NULL. */
struct image *image_before(const struct image_table *table, uint32_t pid, uint64_t time, struct image **newer);
/* The same, or the oldest one when all began later; NULL unknown pid. */
struct image *image_nearest(const struct image_table *table, uint32_t pid, uint64_t time);
/* NULL when it is gone. */
struct image *image_by_serial(const struct image_table *table, uint32_t serial);

/* The image that a record is about; made when there is none. NULL when out of memory. */
struct image *image_for_record(struct image_table *table, uint32_t pid, uint64_t time);
/* The image that begins with a fork or exec at this time. NULL when out of memory. */
struct image *image_begin(struct image_table *table, uint32_t pid, uint64_t time);
/*
 * Ends image at this time. What was learned of its pid from this time on is of the image after it, which is made.
 * Returns that one, or NULL when out of memory.
 */
struct image *image_split(struct image_table *table, struct image *image, uint64_t time);

/* Takes a name that it had at this time, unless a newer one is known. */
void image_set_name(struct image *image, const char *name, uint64_t time);

/* Removes an image that ended, with its root and mappings; all images of its pid before it must go as well. */
void image_remove(struct image_table *table, struct image *image);

#endif
