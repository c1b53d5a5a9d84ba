/* SPDX-License-Identifier: Apache-2.0 */
/* Applies each kind of record to the program images (program_image.h). See process.h. */
#include "process/process.h"

#include <errno.h>
#include <string.h>

#include "base/string_table.h"
#include "process/user_accounts.h"
#include "process/program_image.h"
#include "process/process_stat.h"
#include "process/root_cache.h"

struct process_table {
	struct program_image_table images;
	struct string_table texts;
	size_t texts_used; /* number of texts that were in use when they were trimmed last */
	struct root_cache roots;
	ARRAY(uint32_t) roots_due; /* serial numbers of images */
	uint32_t mapping_serial;   /* the last one given */
	uint64_t dropped;
	struct user_accounts users; /* amount: mappings */
};

/* Number of texts above which unused ones are removed. */
#define TEXTS_MANY 4096u

/* Returns the table's copy of a text, the same pointer for equal texts; NULL if out of memory. */
static const char *text_keep(struct process_table *table, const char *text)
{
	return string_table_intern(&table->texts, text ? text : "", text ? strlen(text) : 0);
}

struct process_table *process_table_new(void)
{
	struct process_table *table = calloc(1, sizeof *table);
	if (table) {
		root_cache_prepare(&table->roots);
		hash_key_make(&table->images.hash_key);
		user_accounts_init(&table->users);
	}
	return table;
}

void process_table_free(struct process_table *table)
{
	if (!table)
		return;
	program_image_table_free(&table->images);
	root_cache_free(&table->roots);
	array_free(&table->roots_due);
	string_table_free(&table->texts);
	user_accounts_free(&table->users);
	free(table);
}

static void image_set_root(struct program_image *image, struct root *root, int descriptor)
{
	root_release(image->root);
	image->root = root;
	image->process.root = descriptor;
}

static void image_inherit_root(struct program_image *image, const struct program_image *from)
{
	if (image->root_known) /* a scan of /proc preceded the fork record */
		return;
	image->process.user = from->process.user;
	image->process.user_mounts = from->process.user_mounts;
	image->process.is_chrooted = from->process.is_chrooted;
	if (from->root)
		from->root->users++;
	image_set_root(image, from->root, from->process.root);
}

static void image_read_root(struct process_table *table, struct program_image *image)
{
	struct root *root;
	image->root_due = false;
	/* If it has ended, it keeps the user and the root of its parent, or from before its exec. */
	if (!process_user(image->process.pid, &image->process.user))
		return;
	enum root_place place = root_cache_find(&table->roots, image->process.pid, &root);
	image->root_known |= place != ROOT_UNKNOWN;
	if (place != ROOT_UNKNOWN)
		image->process.is_chrooted = place == ROOT_OTHER && root->namespace_descriptor < 0;
	switch (place) {
	case ROOT_OWN:
		image_set_root(image, NULL, PROCESS_ROOT_OWN);
		image->process.user_mounts = false;
		break;
	case ROOT_OTHER:
		image_set_root(image, root, root->descriptor);
		image->process.user_mounts = root->user_mounts;
		break;
	case ROOT_UNREACHABLE:
		image_set_root(image, NULL, PROCESS_ROOT_UNREACHABLE);
		image->process.user_mounts = true;
		break;
	case ROOT_UNKNOWN:
		break;
	}
}

/* If out of memory, the image keeps the user and the root of its parent. */
static void image_schedule_root(struct process_table *table, struct program_image *image)
{
	if (!image->root_due)
		image->root_due = array_push(&table->roots_due, image->process.serial);
}

void process_table_read_roots(struct process_table *table)
{
	for (size_t i = 0; i < table->roots_due.count; i++) {
		struct program_image *image = program_image_by_serial(&table->images, table->roots_due.items[i]);
		if (image && image->root_due && image->process.end == UINT64_MAX)
			image_read_root(table, image);
		else if (image)
			image->root_due = false;
	}
	table->roots_due.count = 0;
}

static void image_inherit_name(struct program_image *image, const struct program_image *from)
{
	/* name_time stays 0, so that any name of its own replaces this one. */
	if (!image->process.name[0])
		image->process.name = from->process.name;
}

static int event_fork(struct process_table *table, const struct iaprof_record_process *record, const char *name,
		      bool live)
{
	uint64_t time = record->header.time;
	struct program_image *image = program_image_begin(&table->images, record->pid, time);
	if (!image)
		return -ENOMEM;
	image->process.parent_pid = record->parent_pid;
	/* An exec of the same process whose record arrived earlier. */
	for (struct program_image *next = image->newer, *last = image;
	     next && next->process.begin == last->process.end && !next->process.parent_pid;
	     last = next, next = next->newer)
		next->process.parent_pid = record->parent_pid;
	program_image_set_name(image, name, time);

	if (!record->parent_pid || record->parent_pid == record->pid) {
		if (live)
			image_schedule_root(table, image);
		return 0;
	}
	struct program_image *parent = program_image_for_record(&table->images, record->parent_pid, time);
	if (!parent)
		return -ENOMEM;
	if (parent->root_due)
		image_read_root(table, parent);
	address_space_fork(image->space, parent->space, time);
	image_inherit_root(image, parent);
	image_inherit_name(image, parent);
	image->process.is_unreadable = parent->process.is_unreadable;
	return 0;
}

static int event_exec(struct process_table *table, const struct iaprof_record_process *record, const char *name,
		      bool live)
{
	uint64_t time = record->header.time;
	struct program_image *image = program_image_begin(&table->images, record->pid, time);
	if (!image)
		return -ENOMEM;
	const struct program_image *before = image->older;
	if (before && before->process.end == time) {
		image->process.parent_pid = before->process.parent_pid;
		image_inherit_root(image, before);
	} else if (record->parent_pid) {
		image->process.parent_pid = record->parent_pid;
	}
	program_image_set_name(image, name, time);
	if (live)
		image_schedule_root(table, image);
	return 0;
}

static int event_exit(struct process_table *table, const struct iaprof_record_process *record)
{
	uint64_t time = record->header.time;
	struct program_image *newer, *image = program_image_before(&table->images, record->pid, time, &newer);
	if (!image || image->process.end <= time)
		return 0;
	if (!image->begin_known && image->first_seen > time) {
		/* Everything known belongs to a later process with this pid. */
		image->process.begin = time;
		return 0;
	}
	if (image->last_seen > time)
		return program_image_split(&table->images, image, time) ? 0 : -ENOMEM;
	image->process.end = time;
	return 0;
}

static int event_existing(struct process_table *table, const struct iaprof_record_process *record, const char *name,
			  bool live)
{
	struct program_image *image = program_image_for_record(&table->images, record->pid, record->header.time);
	if (!image)
		return -ENOMEM;
	if (!image->process.parent_pid)
		image->process.parent_pid = record->parent_pid;
	program_image_set_name(image, name, record->header.time);
	if (live && image->process.end == UINT64_MAX)
		image_read_root(table, image);
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
		struct program_image *image =
			program_image_for_record(&table->images, record->pid, record->header.time);
		if (image)
			program_image_set_name(image, name, record->header.time);
		return image ? 0 : -ENOMEM;
	}
	case IAPROF_PROCESS_EXIT:
		return event_exit(table, record);
	case IAPROF_PROCESS_UNREADABLE: {
		struct program_image *image =
			program_image_for_record(&table->images, record->pid, record->header.time);
		if (image)
			image->process.is_unreadable = true;
		return image ? 0 : -ENOMEM;
	}
	default: /* from a newer schema */
		return 0;
	}
}

/*
 * Finds the account that a mapping is charged to (NULL: none). mappings: those that its process has already. Returns
 * false if that user's limit, or the limit for all users, is reached.
 */
static bool find_account(struct process_table *table, uint32_t user, uint64_t mappings, struct user_account **account)
{
	*account = NULL;
	if (user_accounts_trust(&table->users, user))
		return true;
	*account = user_accounts_find(&table->users, user);
	if (!*account)
		return false;
	uint64_t all = 0;
	for (size_t i = 0; i < table->users.count; i++)
		all += table->users.items[i].amount;
	bool is_usual = mappings < PROCESS_MAPPINGS_USUAL;
	bool has_room = (*account)->amount < user_accounts_share(PROCESS_MAPPINGS_USER, is_usual) &&
			all < user_accounts_share(PROCESS_MAPPINGS_OTHERS, is_usual);
	(*account)->refused += !has_room;
	return has_room;
}

/* Returns whether a file is named as runtimes name their lists of generated code: jit-PID.dump. */
static bool is_jit_dump(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash || strncmp(slash, "/jit-", 5) != 0)
		return false;
	size_t digits = strspn(slash + 5, "0123456789");
	return digits && strcmp(slash + 5 + digits, ".dump") == 0;
}

/*
 * Attributes anonymous memory to the file that was mapped there: programs copy their own code to huge pages. Whether it
 * is a copy is checked before it is used (copied_text.h).
 */
static void attribute_copy(const struct program_image *image, struct mapping *mapping, uint64_t time)
{
	if (!mapping_is_anonymous(mapping->path))
		return;
	const struct mapping *before = address_space_find(image->space, mapping->start, time);
	if (!before || before->path[0] != '/' || !before->inode || mapping_is_anonymous(before->path) ||
	    mapping_path_is_in_memory(before->path))
		return;
	struct mapping copy = *before;
	copy.start = mapping->start;
	copy.end = mapping->end;
	copy.file_offset += mapping->start - before->start;
	copy.serial = mapping->serial;
	copy.flags = mapping->flags | IAPROF_MAPPING_COPIED | (before->flags & IAPROF_MAPPING_DELETED);
	*mapping = copy;
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
	struct program_image *image = program_image_for_record(&table->images, record->pid, record->header.time);
	if (!image || !mapping.path)
		return -ENOMEM;
	attribute_copy(image, &mapping, record->header.time);
	struct user_account *account;
	uint64_t mappings = image->space->current.count + image->space->history.count;
	if (!find_account(table, image->process.user, mappings, &account))
		return 0;
	int added = address_space_add(image->space, &mapping, record->header.time, account, &table->dropped);
	if (added > 0)
		table->mapping_serial++;
	if (added > 0 && is_jit_dump(mapping.path))
		image->process.jit_dump = mapping.path;
	return added < 0 ? added : 0;
}

/* Maximum number of ancestors that are searched for a name: damaged records may form a loop. */
#define NAME_GENERATIONS_MAX 16

struct process *process_table_find(struct process_table *table, uint32_t pid, uint64_t time)
{
	struct program_image *image = program_image_nearest(&table->images, pid, time);
	if (!image)
		return NULL;
	/* A fork has the name of its parent, which may have become known only after the fork. */
	struct program_image *named = image;
	for (int i = 0; i < NAME_GENERATIONS_MAX && named && !named->process.name[0]; i++)
		named = program_image_nearest(&table->images, named->process.parent_pid, named->process.begin);
	if (named)
		image_inherit_name(image, named);
	return &image->process;
}

uint64_t process_table_end(struct process_table *table, uint32_t pid, uint64_t time)
{
	const struct process *process = process_table_find(table, pid, time);
	return process && process->end >= time ? process->end : UINT64_MAX;
}

struct process *process_table_by_serial(struct process_table *table, uint32_t serial)
{
	struct program_image *image = program_image_by_serial(&table->images, serial);
	return image ? &image->process : NULL;
}

const struct mapping *process_mapping_at(struct process_table *table, struct process *process, uint64_t address,
					 uint64_t time)
{
	return address_space_find(((const struct program_image *)process)->space, address, time);
}

struct mapped_range *process_mappings(struct process_table *table, struct process *process, uint64_t time,
				      size_t count_max, size_t *count)
{
	return address_space_list(((const struct program_image *)process)->space, time, count_max, count);
}

void process_table_retire(struct process_table *table, uint64_t before,
			  void (*gone)(void *context, struct process *process), void *context)
{
	for (size_t i = 0; i < table->images.slots.count; i++) {
		struct program_image *image = table->images.slots.items[i];
		if (!image)
			continue;
		if (image->process.end < before) {
			if (gone)
				gone(context, &image->process);
			program_image_remove(&table->images, image);
		} else {
			address_space_prune(image->space, before);
		}
	}
	root_cache_trim(&table->roots);
}

/* Calls replace() for each text that an image refers to. Returns false once it returns false. */
static bool texts_each(struct process_table *table, struct string_table *texts,
		       bool (*replace)(struct string_table *texts, const char **text))
{
	bool good = true;
	for (size_t i = 0; good && i < table->images.slots.count; i++) {
		struct program_image *image = table->images.slots.items[i];
		if (!image)
			continue;
		good = replace(texts, &image->process.name) &&
		       (!image->process.jit_dump || replace(texts, &image->process.jit_dump));
		for (struct address_space *space = image->space; good && space; space = space->parent) {
			struct memory_range_array *const parts[] = { &space->current, &space->history };
			for (size_t part = 0; part < 2; part++)
				for (size_t k = 0; good && k < parts[part]->count; k++)
					good = replace(texts, &parts[part]->items[k].mapping->mapping.path);
		}
	}
	return good;
}

static bool text_copy(struct string_table *texts, const char **text)
{
	return string_table_intern(texts, *text, strlen(*text));
}

/* Texts that were copied are found. */
static bool text_replace(struct string_table *texts, const char **text)
{
	*text = string_table_intern(texts, *text, strlen(*text));
	return true;
}

void process_table_trim_texts(struct process_table *table)
{
	struct string_table texts = { 0 };
	if (table->texts.entries.count <= 2 * table->texts_used + TEXTS_MANY)
		return;
	if (!texts_each(table, &texts, text_copy)) {
		string_table_free(&texts);
		return;
	}
	texts_each(table, &texts, text_replace);
	string_table_free(&table->texts);
	table->texts = texts;
	table->texts_used = texts.entries.count;
}

size_t process_table_count(const struct process_table *table)
{
	return table->images.count;
}

uint64_t process_table_refused(const struct process_table *table, uint32_t *user)
{
	return user_accounts_refused(&table->users, user);
}

uint64_t process_table_roots_refused(const struct process_table *table, uint32_t *user)
{
	return user_accounts_refused(&table->roots.owners, user);
}

uint64_t process_table_dropped(const struct process_table *table)
{
	return table->dropped;
}
