/* SPDX-License-Identifier: Apache-2.0 */
/* See program_image.h. */
#include "process/program_image.h"

#include <stdlib.h>

static const char no_name[] = "";

static void image_free(struct program_image *image)
{
	address_space_disown(image->space);
	root_release(image->root);
	free(image);
}

void program_image_table_free(struct program_image_table *table)
{
	/* Children first, so that few address spaces are handed over. */
	for (size_t i = table->slots.count; i-- > 0;)
		if (table->slots.items[i])
			image_free(table->slots.items[i]);
	array_free(&table->slots);
	array_free(&table->free_slots);
	hash_index_free(&table->by_pid);
	hash_index_free(&table->by_serial);
}

static struct program_image *image_newest(const struct program_image_table *table, uint32_t pid)
{
	hash_index_each (probe, &table->by_pid, hash_word(&table->hash_key, pid))
		if (table->slots.items[probe.position]->process.pid == pid)
			return table->slots.items[probe.position];
	return NULL;
}

struct program_image *program_image_before(const struct program_image_table *table, uint32_t pid, uint64_t time,
					   struct program_image **newer)
{
	struct program_image *image = image_newest(table, pid);
	*newer = NULL;
	for (; image && image->process.begin > time; image = image->older)
		*newer = image;
	return image;
}

struct program_image *program_image_nearest(const struct program_image_table *table, uint32_t pid, uint64_t time)
{
	struct program_image *newer, *image = program_image_before(table, pid, time, &newer);
	return image ? image : newer;
}

struct program_image *program_image_by_serial(const struct program_image_table *table, uint32_t serial)
{
	hash_index_each (probe, &table->by_serial, hash_word(&table->hash_key, serial))
		if (table->slots.items[probe.position]->process.serial == serial)
			return table->slots.items[probe.position];
	return NULL;
}

static bool slot_take(struct program_image_table *table, struct program_image *image)
{
	image->slot = array_take(&table->slots, &table->free_slots);
	if (image->slot == POSITION_NONE)
		return false;
	table->slots.items[image->slot] = image;
	return true;
}

static void slot_release(struct program_image_table *table, struct program_image *image)
{
	table->slots.items[image->slot] = NULL;
	array_give_back(&table->free_slots, image->slot);
}

/* Lets the pid refer to image instead of previous (may be NULL). */
static bool pid_point_to(struct program_image_table *table, const struct program_image *image,
			 const struct program_image *previous)
{
	uint64_t hash = hash_word(&table->hash_key, image->process.pid);
	if (!hash_index_add(&table->by_pid, hash, image->slot))
		return false;
	if (previous)
		hash_index_remove(&table->by_pid, hash, previous->slot);
	return true;
}

/* Inserts a new image between its neighbours of the same pid; it ends where the newer one begins. */
static struct program_image *image_insert(struct program_image_table *table, uint32_t pid, struct program_image *older,
					  struct program_image *newer, uint64_t begin)
{
	struct program_image *image = calloc(1, sizeof *image);
	if (!image)
		return NULL;
	*image = (struct program_image){
		.process = { .pid = pid,
			     .serial = table->serial + 1,
			     .begin = begin,
			     .end = newer ? newer->process.begin : UINT64_MAX,
			     .name = no_name,
			     .root = PROCESS_ROOT_OWN },
		.older = older,
		.newer = newer,
		.space = address_space_new(),
		.first_seen = UINT64_MAX,
	};
	uint64_t serial_hash = hash_word(&table->hash_key, image->process.serial);
	if (!image->space || !slot_take(table, image))
		goto fail;
	if (!hash_index_add(&table->by_serial, serial_hash, image->slot))
		goto fail_slot;
	if (!newer && !pid_point_to(table, image, older)) {
		hash_index_remove(&table->by_serial, serial_hash, image->slot);
		goto fail_slot;
	}
	if (older)
		older->newer = image;
	if (newer)
		newer->older = image;
	table->serial++;
	table->count++;
	return image;

fail_slot:
	slot_release(table, image);
fail:
	image_free(image);
	return NULL;
}

void program_image_remove(struct program_image_table *table, struct program_image *image)
{
	uint64_t hash = hash_word(&table->hash_key, image->process.pid);
	hash_index_remove(&table->by_serial, hash_word(&table->hash_key, image->process.serial), image->slot);
	/*
	 * The newest image of a pid is removed after all earlier ones, which ended earlier: the index needs no
	 * replacement.
	 */
	if (!image->newer)
		hash_index_remove(&table->by_pid, hash, image->slot);
	else
		image->newer->older = image->older;
	if (image->older)
		image->older->newer = image->newer;
	slot_release(table, image);
	image_free(image);
	table->count--;
}

static void image_note(struct program_image *image, uint64_t time)
{
	if (time < image->first_seen)
		image->first_seen = time;
	if (time > image->last_seen)
		image->last_seen = time;
}

struct program_image *program_image_for_record(struct program_image_table *table, uint32_t pid, uint64_t time)
{
	struct program_image *newer, *image = program_image_before(table, pid, time, &newer);
	if (!image || image->process.end < time)
		image = image_insert(table, pid, image, newer, image ? image->process.end : 0);
	if (image)
		image_note(image, time);
	return image;
}

void program_image_set_name(struct program_image *image, const char *name, uint64_t time)
{
	if (name[0] && (!image->process.name[0] || time >= image->name_time)) {
		image->process.name = name;
		image->name_time = time;
	}
}

struct program_image *program_image_split(struct program_image_table *table, struct program_image *image, uint64_t time)
{
	struct program_image *later = image_insert(table, image->process.pid, image, image->newer, time);
	if (!later)
		return NULL;
	later->process.end = image->process.end;
	image->process.end = time;
	if (image->last_seen >= time) {
		later->first_seen = time;
		later->last_seen = image->last_seen;
		image->last_seen = time;
	}
	if (image->name_time >= time) {
		program_image_set_name(later, image->process.name, image->name_time);
		image->process.name = no_name;
		image->name_time = 0;
	}
	return address_space_split(image->space, time, later->space) ? NULL : later;
}

struct program_image *program_image_begin(struct program_image_table *table, uint32_t pid, uint64_t time)
{
	struct program_image *newer, *image = program_image_before(table, pid, time, &newer);
	if (image && image->begin_known && image->process.begin == time)
		return image;
	if (!image || image->process.end <= time)
		image = image_insert(table, pid, image, newer, time);
	else if (image->begin_known || image->first_seen < time)
		image = program_image_split(table, image, time);
	if (!image)
		return NULL;
	image->process.begin = time;
	image->begin_known = true;
	image_note(image, time);
	return image;
}
