/* SPDX-License-Identifier: Apache-2.0 */
/* The images that the process table knows: see image.h. */
#include "process/image.h"

#include <stdlib.h>

static const char no_name[] = "";

static void image_free(struct image *image)
{
	address_space_disown(image->space);
	root_release(image->root);
	free(image);
}

static uint64_t pid_rehash(const void *context, uint32_t position)
{
	const struct image_table *table = context;
	return hash_word(&table->hash_key, table->slots.items[position]->process.pid);
}

static uint64_t serial_rehash(const void *context, uint32_t position)
{
	const struct image_table *table = context;
	return hash_word(&table->hash_key, table->slots.items[position]->process.serial);
}

void image_table_free(struct image_table *table)
{
	/* Children first, so that few address spaces are handed down. */
	for (size_t i = table->slots.count; i-- > 0;)
		if (table->slots.items[i])
			image_free(table->slots.items[i]);
	array_free(&table->slots);
	array_free(&table->free_slots);
	hash_index_free(&table->by_pid);
	hash_index_free(&table->by_serial);
}

static struct image *image_newest(const struct image_table *table, uint32_t pid)
{
	for (struct hash_probe probe = hash_index_probe(&table->by_pid, hash_word(&table->hash_key, pid));
	     hash_index_next(&table->by_pid, &probe);)
		if (table->slots.items[probe.position]->process.pid == pid)
			return table->slots.items[probe.position];
	return NULL;
}

struct image *image_before(const struct image_table *table, uint32_t pid, uint64_t time, struct image **newer)
{
	struct image *image = image_newest(table, pid);
	*newer = NULL;
	for (; image && image->process.begin > time; image = image->older)
		*newer = image;
	return image;
}

struct image *image_nearest(const struct image_table *table, uint32_t pid, uint64_t time)
{
	struct image *newer, *image = image_before(table, pid, time, &newer);
	return image ? image : newer;
}

struct image *image_by_serial(const struct image_table *table, uint32_t serial)
{
	for (struct hash_probe probe = hash_index_probe(&table->by_serial, hash_word(&table->hash_key, serial));
	     hash_index_next(&table->by_serial, &probe);)
		if (table->slots.items[probe.position]->process.serial == serial)
			return table->slots.items[probe.position];
	return NULL;
}

static bool slot_take(struct image_table *table, struct image *image)
{
	image->slot = array_take(&table->slots, &table->free_slots);
	if (image->slot == POSITION_NONE)
		return false;
	table->slots.items[image->slot] = image;
	return true;
}

static void slot_release(struct image_table *table, struct image *image)
{
	table->slots.items[image->slot] = NULL;
	array_give_back(&table->free_slots, image->slot);
}

/* Makes image the one that its pid is found by, instead of previous (or NULL). */
static bool pid_point_to(struct image_table *table, const struct image *image, const struct image *previous)
{
	uint64_t hash = hash_word(&table->hash_key, image->process.pid);
	if (!hash_index_add(&table->by_pid, hash, image->slot, pid_rehash, table))
		return false;
	if (previous)
		hash_index_remove(&table->by_pid, hash, previous->slot);
	return true;
}

/* A new image in the chain of its pid, between its neighbours; it ends where the newer one begins. */
static struct image *image_insert(struct image_table *table, uint32_t pid, struct image *older, struct image *newer,
				  uint64_t begin)
{
	struct image *image = calloc(1, sizeof *image);
	if (!image)
		return NULL;
	*image = (struct image){
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
	if (!image->space || !slot_take(table, image)) {
		image_free(image);
		return NULL;
	}
	uint64_t serial_hash = hash_word(&table->hash_key, image->process.serial);
	if (!hash_index_add(&table->by_serial, serial_hash, image->slot, serial_rehash, table)) {
		slot_release(table, image);
		image_free(image);
		return NULL;
	}
	if (!newer && !pid_point_to(table, image, older)) {
		hash_index_remove(&table->by_serial, serial_hash, image->slot);
		slot_release(table, image);
		image_free(image);
		return NULL;
	}
	if (older)
		older->newer = image;
	if (newer)
		newer->older = image;
	table->serial++;
	table->count++;
	return image;
}

void image_remove(struct image_table *table, struct image *image)
{
	uint64_t hash = hash_word(&table->hash_key, image->process.pid);
	hash_index_remove(&table->by_serial, hash_word(&table->hash_key, image->process.serial), image->slot);
	/*
	 * The newest one of its pid goes only when those before it went, as they ended earlier: nothing takes its place
	 * in the index.
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

static void image_note(struct image *image, uint64_t time)
{
	if (time < image->first_seen)
		image->first_seen = time;
	if (time > image->last_seen)
		image->last_seen = time;
}

struct image *image_for_record(struct image_table *table, uint32_t pid, uint64_t time)
{
	struct image *newer, *image = image_before(table, pid, time, &newer);
	if (!image || image->process.end < time)
		image = image_insert(table, pid, image, newer, image ? image->process.end : 0);
	if (image)
		image_note(image, time);
	return image;
}

void image_set_name(struct image *image, const char *name, uint64_t time)
{
	if (name[0] && (!image->process.name[0] || time >= image->name_time)) {
		image->process.name = name;
		image->name_time = time;
	}
}

struct image *image_split(struct image_table *table, struct image *image, uint64_t time)
{
	struct image *later = image_insert(table, image->process.pid, image, image->newer, time);
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
		image_set_name(later, image->process.name, image->name_time);
		image->process.name = no_name;
		image->name_time = 0;
	}
	return address_space_split(image->space, time, later->space) ? NULL : later;
}

struct image *image_begin(struct image_table *table, uint32_t pid, uint64_t time)
{
	struct image *newer, *image = image_before(table, pid, time, &newer);
	if (image && image->begin_known && image->process.begin == time)
		return image;
	if (!image || image->process.end <= time)
		image = image_insert(table, pid, image, newer, time);
	else if (image->begin_known || image->first_seen < time)
		image = image_split(table, image, time);
	if (!image)
		return NULL;
	image->process.begin = time;
	image->begin_known = true;
	image_note(image, time);
	return image;
}
