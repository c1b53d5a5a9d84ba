/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process table: see process.h. Images of one pid are chained by the time they began; a record belongs to the
 * image that was there at its time, whenever it arrives. What is learned of an image whose beginning is not known (a
 * look through /proc, or an event whose fork was lost) makes one that begins at 0, or with the end of the one before;
 * a fork or exec that arrives later gives it its beginning, or splits it.
 */
#include "process/process.h"

#include <errno.h>
#include <string.h>

#include "base/string_table.h"
#include "process/address_space.h"
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
};

struct process_table {
	ARRAY(struct image *) images; /* NULL: free slot */
	ARRAY(uint32_t) free_slots;
	struct hash_index by_pid; /* the newest image of each pid */
	struct hash_index by_serial;
	struct string_table texts;
	struct root_cache roots;
	const char *no_name;
	size_t count;
	uint32_t process_serial, mapping_serial; /* the last ones given */
	uint64_t dropped;
};

/* The table's copy of a text, the same for equal texts; NULL when out of memory. */
static const char *text_keep(struct process_table *table, const char *text)
{
	uint32_t id = string_table_add(&table->texts, text ? text : "", text ? strlen(text) : 0, NULL);
	return id ? string_table_text(&table->texts, id) : NULL;
}

struct process_table *process_table_new(void)
{
	struct process_table *table = calloc(1, sizeof *table);
	if (!table)
		return NULL;
	table->no_name = text_keep(table, "");
	if (!table->no_name) {
		process_table_free(table);
		return NULL;
	}
	root_cache_prepare(&table->roots);
	return table;
}

static void image_free(struct image *image)
{
	address_space_disown(image->space);
	root_release(image->root);
	free(image);
}

void process_table_free(struct process_table *table)
{
	if (!table)
		return;
	/* Children first, so that few address spaces are handed down. */
	for (size_t i = table->images.count; i-- > 0;)
		if (table->images.items[i])
			image_free(table->images.items[i]);
	array_free(&table->images);
	array_free(&table->free_slots);
	hash_index_free(&table->by_pid);
	hash_index_free(&table->by_serial);
	root_cache_free(&table->roots);
	string_table_free(&table->texts);
	free(table);
}

static uint64_t pid_rehash(const void *context, uint32_t position)
{
	const struct process_table *table = context;
	return hash_u64(table->images.items[position]->process.pid);
}

static uint64_t serial_rehash(const void *context, uint32_t position)
{
	const struct process_table *table = context;
	return hash_u64(table->images.items[position]->process.serial);
}

static struct image *image_newest(const struct process_table *table, uint32_t pid)
{
	for (struct hash_probe probe = hash_index_probe(&table->by_pid, hash_u64(pid));
	     hash_index_next(&table->by_pid, &probe);)
		if (table->images.items[probe.position]->process.pid == pid)
			return table->images.items[probe.position];
	return NULL;
}

/* The last image of pid that began at or before time; *newer is the one after it. Either may be NULL. */
static struct image *image_before(const struct process_table *table, uint32_t pid, uint64_t time, struct image **newer)
{
	struct image *image = image_newest(table, pid);
	*newer = NULL;
	for (; image && image->process.begin > time; image = image->older)
		*newer = image;
	return image;
}

static struct image *image_nearest(const struct process_table *table, uint32_t pid, uint64_t time)
{
	struct image *newer, *image = image_before(table, pid, time, &newer);
	return image ? image : newer;
}

static bool slot_take(struct process_table *table, struct image *image)
{
	if (table->free_slots.count) {
		image->slot = table->free_slots.items[--table->free_slots.count];
	} else {
		/* Room to free it again is made now, so that freeing cannot fail. */
		if (!array_reserve(&table->free_slots, table->images.count + 1) ||
		    !array_push(&table->images, (struct image *)NULL))
			return false;
		image->slot = (uint32_t)table->images.count - 1;
	}
	table->images.items[image->slot] = image;
	return true;
}

static void slot_release(struct process_table *table, struct image *image)
{
	table->images.items[image->slot] = NULL;
	table->free_slots.items[table->free_slots.count++] = image->slot;
}

/* Makes image the one that its pid is found by, instead of previous (or NULL). */
static bool pid_point_to(struct process_table *table, const struct image *image, const struct image *previous)
{
	uint64_t hash = hash_u64(image->process.pid);
	if (!hash_index_add(&table->by_pid, hash, image->slot, pid_rehash, table))
		return false;
	if (previous)
		hash_index_remove(&table->by_pid, hash, previous->slot);
	return true;
}

/* A new image in the chain of its pid, between its neighbours; it ends where the newer one begins. */
static struct image *image_insert(struct process_table *table, uint32_t pid, struct image *older, struct image *newer,
				  uint64_t begin)
{
	struct image *image = calloc(1, sizeof *image);
	if (!image)
		return NULL;
	*image = (struct image){
		.process = { .pid = pid,
			     .serial = table->process_serial + 1,
			     .begin = begin,
			     .end = newer ? newer->process.begin : UINT64_MAX,
			     .name = table->no_name,
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
	uint64_t serial_hash = hash_u64(image->process.serial);
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
	table->process_serial++;
	table->count++;
	return image;
}

static void image_remove(struct process_table *table, struct image *image)
{
	uint64_t hash = hash_u64(image->process.pid);
	hash_index_remove(&table->by_serial, hash_u64(image->process.serial), image->slot);
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

/* The image that a record is about; made when there is none. NULL when out of memory. */
static struct image *image_for_record(struct process_table *table, uint32_t pid, uint64_t time)
{
	struct image *newer, *image = image_before(table, pid, time, &newer);
	if (!image || image->process.end < time)
		image = image_insert(table, pid, image, newer, image ? image->process.end : 0);
	if (image)
		image_note(image, time);
	return image;
}

static void image_set_root(struct image *image, struct root *root, int descriptor)
{
	root_release(image->root);
	image->root = root;
	image->process.root = descriptor;
}

static void image_inherit_root(struct image *image, const struct image *from)
{
	if (from->root)
		from->root->users++;
	image_set_root(image, from->root, from->process.root);
}

static void image_look_at_root(struct process_table *table, struct image *image)
{
	struct root *root;
	switch (root_cache_look(&table->roots, image->process.pid, &root)) {
	case ROOT_OWN:
		image_set_root(image, NULL, PROCESS_ROOT_OWN);
		break;
	case ROOT_OTHER:
		image_set_root(image, root, root->descriptor);
		break;
	case ROOT_UNREACHABLE:
		image_set_root(image, NULL, PROCESS_ROOT_UNREACHABLE);
		break;
	case ROOT_UNKNOWN: /* keeps what it has from its parent, or from before its exec */
		break;
	}
}

static void image_set_name(struct image *image, const char *name, uint64_t time)
{
	if (name[0] && (!image->process.name[0] || time >= image->name_time)) {
		image->process.name = name;
		image->name_time = time;
	}
}

static void image_inherit_name(struct image *image, const struct image *from)
{
	/* name_time stays 0: any name of its own that is heard of replaces it. */
	if (!image->process.name[0])
		image->process.name = from->process.name;
}

/*
 * Ends image at this time. What was learned of its pid from this time on is about the image after it, which is made
 * when there is none yet. Returns that one, or NULL when out of memory.
 */
static struct image *image_split(struct process_table *table, struct image *image, uint64_t time)
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
		image->process.name = table->no_name;
		image->name_time = 0;
	}
	return address_space_split(image->space, time, later->space) ? NULL : later;
}

/* The image that begins with a fork or exec at this time. NULL when out of memory. */
static struct image *image_begin(struct process_table *table, uint32_t pid, uint64_t time)
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

static int event_fork(struct process_table *table, const struct iaprof_record_process *record, const char *name,
		      bool live)
{
	uint64_t time = record->header.time;
	struct image *image = image_begin(table, record->pid, time);
	if (!image)
		return -ENOMEM;
	image->process.parent_pid = record->parent_pid;
	/* An exec of the same process that arrived before this. */
	for (struct image *next = image->newer, *last = image;
	     next && next->process.begin == last->process.end && !next->process.parent_pid;
	     last = next, next = next->newer)
		next->process.parent_pid = record->parent_pid;
	image_set_name(image, name, time);

	if (!record->parent_pid || record->parent_pid == record->pid) {
		if (live)
			image_look_at_root(table, image);
		return 0;
	}
	struct image *parent = image_for_record(table, record->parent_pid, time);
	if (!parent)
		return -ENOMEM;
	address_space_fork(image->space, parent->space, time);
	image_inherit_root(image, parent);
	image_inherit_name(image, parent);
	return 0;
}

static int event_exec(struct process_table *table, const struct iaprof_record_process *record, const char *name,
		      bool live)
{
	uint64_t time = record->header.time;
	struct image *image = image_begin(table, record->pid, time);
	if (!image)
		return -ENOMEM;
	const struct image *before = image->older;
	if (before && before->process.end == time) {
		image->process.parent_pid = before->process.parent_pid;
		image_inherit_root(image, before);
	} else if (record->parent_pid) {
		image->process.parent_pid = record->parent_pid;
	}
	image_set_name(image, name, time);
	if (live)
		image_look_at_root(table, image);
	return 0;
}

static int event_exit(struct process_table *table, const struct iaprof_record_process *record)
{
	uint64_t time = record->header.time;
	struct image *newer, *image = image_before(table, record->pid, time, &newer);
	if (!image || image->process.end <= time)
		return 0;
	if (!image->begin_known && image->first_seen > time) {
		/* All that is known is of a later process with this pid. */
		image->process.begin = time;
		return 0;
	}
	if (image->last_seen > time)
		return image_split(table, image, time) ? 0 : -ENOMEM;
	image->process.end = time;
	return 0;
}

static int event_existing(struct process_table *table, const struct iaprof_record_process *record, const char *name,
			  bool live)
{
	struct image *image = image_for_record(table, record->pid, record->header.time);
	if (!image)
		return -ENOMEM;
	if (!image->process.parent_pid)
		image->process.parent_pid = record->parent_pid;
	image_set_name(image, name, record->header.time);
	if (live && image->process.end == UINT64_MAX)
		image_look_at_root(table, image);
	return 0;
}

int process_table_event(struct process_table *table, const struct iaprof_record_process *record, const char *name,
			bool live)
{
	name = text_keep(table, name);
	if (!name)
		return -ENOMEM;
	switch (record->event) {
	case IAPROF_PROCESS_EXISTING:
		return event_existing(table, record, name, live);
	case IAPROF_PROCESS_FORK:
		return event_fork(table, record, name, live);
	case IAPROF_PROCESS_EXEC:
		return event_exec(table, record, name, live);
	case IAPROF_PROCESS_NAME: {
		struct image *image = image_for_record(table, record->pid, record->header.time);
		if (image)
			image_set_name(image, name, record->header.time);
		return image ? 0 : -ENOMEM;
	}
	case IAPROF_PROCESS_EXIT:
		return event_exit(table, record);
	default: /* of a newer schema */
		return 0;
	}
}

int process_table_mapping(struct process_table *table, const struct iaprof_record_mapping *record, const char *path)
{
	if (!record->size || record->start + record->size < record->start ||
	    record->build_id_size > IAPROF_BUILD_ID_SIZE_MAX)
		return 0;
	struct mapping mapping = {
		.start = record->start,
		.end = record->start + record->size,
		.file_offset = record->file_offset,
		.inode = record->inode,
		.inode_generation = record->inode_generation,
		.device_major = record->device_major,
		.device_minor = record->device_minor,
		.serial = table->mapping_serial + 1,
		.flags = record->flags,
		.build_id_size = record->build_id_size,
		.path = text_keep(table, path),
	};
	memcpy(mapping.build_id, record->build_id, record->build_id_size);
	struct image *image = image_for_record(table, record->pid, record->header.time);
	if (!image || !mapping.path)
		return -ENOMEM;
	int added = address_space_add(image->space, &mapping, record->header.time, &table->dropped);
	if (added > 0)
		table->mapping_serial++;
	return added < 0 ? added : 0;
}

/* The generations of forks without exec that a name is looked for in: a loop in damaged records must end. */
#define NAME_GENERATIONS_MAX 16

struct process *process_table_find(struct process_table *table, uint32_t pid, uint64_t time)
{
	struct image *image = image_nearest(table, pid, time);
	if (!image)
		return NULL;
	/* A fork has its parent's name, which may have become known only after the fork. */
	struct image *named = image;
	for (int i = 0; i < NAME_GENERATIONS_MAX && named && !named->process.name[0]; i++)
		named = image_nearest(table, named->process.parent_pid, named->process.begin);
	if (named)
		image_inherit_name(image, named);
	return &image->process;
}

struct process *process_table_by_serial(struct process_table *table, uint32_t serial)
{
	for (struct hash_probe probe = hash_index_probe(&table->by_serial, hash_u64(serial));
	     hash_index_next(&table->by_serial, &probe);)
		if (table->images.items[probe.position]->process.serial == serial)
			return &table->images.items[probe.position]->process;
	return NULL;
}

const struct mapping *process_mapping_at(struct process_table *table, struct process *process, uint64_t address,
					 uint64_t time)
{
	(void)table;
	return address_space_find(((const struct image *)process)->space, address, time);
}

void process_table_retire(struct process_table *table, uint64_t before,
			  void (*gone)(void *context, struct process *process), void *context)
{
	for (size_t i = 0; i < table->images.count; i++) {
		struct image *image = table->images.items[i];
		if (!image)
			continue;
		if (image->process.end < before) {
			if (gone)
				gone(context, &image->process);
			image_remove(table, image);
		} else {
			address_space_prune(image->space, before);
		}
	}
	root_cache_trim(&table->roots);
}

size_t process_table_count(const struct process_table *table)
{
	return table->count;
}

uint64_t process_table_dropped(const struct process_table *table)
{
	return table->dropped;
}
