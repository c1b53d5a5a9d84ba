/* SPDX-License-Identifier: Apache-2.0 */
/* See unwind_files.h. */
#include "symbolizer/unwind/unwind_files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <iaprof/host.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "symbolizer/mapped_file.h"
#include "symbolizer/vdso.h"
#include "symbolizer/worker/worker_message.h"
#include "text/plural.h"

#define FILES_MAX 65536u
/* Limit on open files; one eighth of the limit of the process if that is less. */
#define OPEN_MAX_FILES 1024u

int unwind_files_init(struct unwind_files *files)
{
	static char *const worker[] = { WORKER_PROGRAM, NULL };
	struct rlimit limit;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	files->open_max = OPEN_MAX_FILES;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 8 < files->open_max)
		files->open_max = limit.rlim_cur / 8;
	files->reads_max = cpus < 4 ? 2 : cpus < 8 ? (size_t)cpus / 2 : UNWIND_READS_MAX;
	files->vdso = POSITION_NONE;
	unwind_cache_open(&files->cache);
	for (size_t i = 0; i < UNWIND_READS_MAX; i++)
		files->reads[i].file = POSITION_NONE;
	budget_init(&files->budget);
	user_accounts_init(&files->owners);
	files->broker = broker_new();
	files->pool = worker_pool_new(worker, &files->budget.delay);
	return files->broker && files->pool ? 0 : -ENOMEM;
}

static void close_file(struct unwind_files *files, struct unwind_file *file)
{
	if (file->descriptor < 0)
		return;
	close(STEAL_DESCRIPTOR(file->descriptor));
	files->open_count--;
}

void unwind_files_free(struct unwind_files *files)
{
	for (size_t i = 0; i < UNWIND_READS_MAX; i++)
		if (files->reads[i].file != POSITION_NONE)
			worker_child_end(files->pool, &files->reads[i].remote.child);
	for (size_t i = 0; i < files->items.count; i++) {
		close_file(files, &files->items.items[i]);
		array_free(&files->items.items[i].segments);
	}
	unwind_cache_close(&files->cache);
	keyed_array_free(&files->items);
	keyed_array_free(&files->places);
	array_free(&files->queue);
	worker_pool_free(files->pool);
	broker_free(files->broker);
	user_accounts_free(&files->owners);
	budget_free(&files->budget);
}

/* Keeps the segments of a file, and delivers its table. */
static void take_table(struct unwind_files *files, struct unwind_file *file, struct remote_unwind *read)
{
	file->segments.items = read->segments.items;
	file->segments.count = read->segments.count;
	file->segments.capacity = read->segments.capacity;
	if (!read->table.rows.count)
		return unwind_table_free(&read->table);
	if (read->table.skipped)
		log_message(IAPROF_LOG_INFO,
			    "unwind table of %s: %" PRIu32 " function%s left out (damaged, overlapping or too large)",
			    file->path, read->table.skipped, plural(read->table.skipped));
	if (!file->id) {
		file->id = ++files->table_count;
		files->rows += read->table.rows.count;
		files->skipped += read->table.skipped;
	}
	file->table = file->id;
	file->used = clock_monotonic();
	file->bytes = unwind_table_bytes(&read->table);
	files->deliver(files->context, file->table, &read->table);
}

void unwind_files_release(struct unwind_files *files, uint64_t since)
{
	for (uint32_t i = 0; i < files->items.count; i++) {
		struct unwind_file *file = &files->items.items[i];
		if (!file->table || file->used >= since || i == files->vdso)
			continue;
		files->deliver(files->context, file->table, &(struct unwind_table){ 0 });
		budget_give_back(&files->budget, &file->key, file->bytes);
		close_file(files, file);
		array_free(&file->segments);
		file->table = 0;
		file->is_released = true;
	}
}

/* Keeps the descriptor of a trusted file, so that its inode number is not reused: see find_place(). */
static void settle(struct unwind_files *files, struct unwind_file *file)
{
	file->is_pending = false;
	files->finished++;
	if (!budget_trusts(&files->budget, &file->key) || files->open_count > files->open_max / 2)
		close_file(files, file);
}

/*
 * Returns the position in the queue of the next file to read, POSITION_NONE if there is none. Trusted files come first;
 * of these, the first child reads the largest, the others the smallest.
 */
static uint32_t find_next(const struct unwind_files *files, bool is_first)
{
	uint32_t next = POSITION_NONE;
	bool trusts_next = false;
	uint64_t next_size = 0;
	for (uint32_t i = 0; i < files->queue.count; i++) {
		const struct file_identity *key = &files->items.items[files->queue.items[i]].key;
		bool trusts = budget_trusts(&files->budget, key);
		/* One child is reserved for trusted files, because files of others may take long. */
		if (is_first && !trusts)
			continue;
		if (next == POSITION_NONE || (trusts != trusts_next ? trusts
					      : is_first            ? key->size > next_size
								    : key->size < next_size)) {
			next = i;
			trusts_next = trusts;
			next_size = key->size;
		}
	}
	return next;
}

/* Returns false if there is no file to read. */
static bool begin_read(struct unwind_files *files, struct unwind_read *read)
{
	/* The first child starts with the largest file, so that it is not read last. */
	uint32_t next = find_next(files, read == files->reads);
	if (next == POSITION_NONE)
		return false;
	uint32_t position = files->queue.items[next];
	struct unwind_file *file = &files->items.items[position];
	files->queue.items[next] = files->queue.items[--files->queue.count];
	files->queued_others -= !budget_trusts(&files->budget, &file->key);
	read->remote = (struct remote_unwind_read){
		.pool = files->pool, .budget = &files->budget, .file = file->key, .path = file->path
	};
	read->file = position;
	if (!remote_unwind_begin(&read->remote, file->descriptor))
		return true;
	read->file = POSITION_NONE;
	settle(files, file);
	return true;
}

bool unwind_files_read(struct unwind_files *files)
{
	bool is_reading = false;
	for (size_t i = 0; i < files->reads_max; i++) {
		struct unwind_read *read = &files->reads[i];
		while (read->file == POSITION_NONE && begin_read(files, read))
			;
		is_reading |= read->file != POSITION_NONE;
	}
	return is_reading;
}

size_t unwind_files_poll(const struct unwind_files *files, struct pollfd *polled)
{
	size_t count = 0;
	for (size_t i = 0; i < files->reads_max; i++)
		if (files->reads[i].file != POSITION_NONE)
			polled[count++] =
				(struct pollfd){ .fd = files->reads[i].remote.child.socket, .events = POLLIN };
	return count;
}

static void finish_read(struct unwind_files *files, struct unwind_read *read)
{
	struct remote_unwind unwind;
	struct pollfd polled = { .fd = read->remote.child.socket, .events = POLLIN };
	if (poll(&polled, 1, 0) == 0 && !deadline_has_passed(&read->remote.deadline))
		return;
	struct unwind_file *file = &files->items.items[read->file];
	read->file = POSITION_NONE;
	if (!remote_unwind_finish(&read->remote, &unwind)) {
		/* Tables of untrusted files are not cached. */
		if (budget_trusts(&files->budget, &file->key) && file->key.inode)
			unwind_cache_store(&files->cache, &file->key, &unwind);
		take_table(files, file, &unwind);
	}
	settle(files, file);
}

void unwind_files_finish(struct unwind_files *files)
{
	for (size_t i = 0; i < files->reads_max; i++)
		if (files->reads[i].file != POSITION_NONE)
			finish_read(files, &files->reads[i]);
	worker_pool_rest(files->pool);
}

/* Returns whether a file can be opened. Files of untrusted users leave room for trusted ones. */
static bool has_room(const struct unwind_files *files, bool is_trusted)
{
	return is_trusted ? files->open_count < files->open_max : files->queued_others < files->open_max / 2;
}

/* Charges a file to its owner. Returns false if the owner has too many. */
static bool take_share(struct unwind_files *files, const struct file_identity *identity, const char *path)
{
	if (files->items.count < FILES_MAX && budget_trusts(&files->budget, identity))
		return true;
	bool has_share = files->items.count < FILES_MAX &&
			 user_accounts_take(&files->owners, identity->owner, 1, UNWIND_FILES_USER, UNWIND_FILES_OTHERS);
	if (!has_share)
		budget_refuse(&files->budget, identity, path, "too many files of its owner", 0);
	return has_share;
}

/* Takes the table from the cache. Returns false if it is not there. */
static bool take_cached(struct unwind_files *files, struct unwind_file *file)
{
	struct remote_unwind unwind;
	if (!budget_trusts(&files->budget, &file->key) || !unwind_cache_load(&files->cache, &file->key, &unwind))
		return false;
	if (!budget_take(&files->budget, &file->key, unwind_table_bytes(&unwind.table))) {
		remote_unwind_free(&unwind);
		return false;
	}
	take_table(files, file, &unwind);
	settle(files, file);
	return true;
}

/* Adds a file to be read, or one that is to be read again. Returns its position, or POSITION_NONE. */
static uint32_t add_unread(struct unwind_files *files, const struct unwind_file *added)
{
	uint32_t position = keyed_array_add(&files->items, added);
	if (position == POSITION_NONE)
		return position;
	struct unwind_file *file = &files->items.items[position];
	file->is_pending = true;
	file->is_released = false;
	file->descriptor = added->descriptor;
	return position;
}

/* Adds a file that was opened, and takes ownership of its descriptor. Returns its position. */
static uint32_t add_file(struct unwind_files *files, const struct mapped_file *opened, const char *path)
{
	CLEANUP_CLOSE int descriptor = opened->descriptor;
	uint32_t position = keyed_array_find(&files->items, &opened->identity);
	bool is_known = position != POSITION_NONE;
	if (is_known && !files->items.items[position].is_released)
		return position;
	bool is_trusted = budget_trusts(&files->budget, &opened->identity);
	if (!has_room(files, is_trusted))
		return UNWIND_FILE_LATER;
	const char *kept = string_table_intern(&files->budget.strings, path, strlen(path));
	if (!kept || (!is_known && !take_share(files, &opened->identity, kept)) ||
	    !array_reserve(&files->queue, files->queue.count + 1))
		return POSITION_NONE;
	struct unwind_file file = { .key = opened->identity, .descriptor = descriptor, .path = kept };
	position = add_unread(files, &file);
	if (position == POSITION_NONE)
		return position;
	files->open_count++;
	(void)STEAL_DESCRIPTOR(descriptor);
	if (take_cached(files, &files->items.items[position]))
		return position;
	/* Too short for an ELF file. The size of the vDSO is unknown. */
	if (opened->identity.inode && opened->identity.size < sizeof(Elf64_Ehdr)) {
		settle(files, &files->items.items[position]);
		return position;
	}
	files->queue.items[files->queue.count++] = position;
	files->queued_others += !is_trusted;
	return position;
}

/* The vDSO of 64-bit processes is the same in all of them. */
static uint32_t find_vdso(struct unwind_files *files, const struct mapping *mapping)
{
	if (files->vdso == POSITION_NONE && !files->vdso_size) {
		struct mapped_file opened = { .descriptor = vdso_open(&files->vdso_size),
					      .identity = { .owner = getuid(), .mode = 0600 } };
		if (opened.descriptor < 0)
			files->vdso_size = UINT64_MAX;
		else
			files->vdso = add_file(files, &opened, "[vdso]");
		if (files->vdso == UNWIND_FILE_LATER) {
			files->vdso = POSITION_NONE;
			files->vdso_size = 0;
			return UNWIND_FILE_LATER;
		}
	}
	return vdso_is_same(mapping, files->vdso_size) ? files->vdso : POSITION_NONE;
}

/*
 * Finds a known file without opening it again. While a file is open, its device and inode number are its own, and its
 * times show whether it changed. A file that is not open is only found again in the same pass. Returns false if the
 * file is not known.
 */
static bool find_place(const struct unwind_files *files, const struct mapping *mapping, uint32_t *position)
{
	struct unwind_place wanted = { .key = { .device = makedev(mapping->device_major, mapping->device_minor),
						.inode = mapping->inode } };
	const struct unwind_place *place = keyed_array_get(&files->places, &wanted.key);
	if (!place)
		return false;
	*position = place->file;
	if (place->file != POSITION_NONE && files->items.items[place->file].is_released)
		return false;
	if (place->pass == files->pass || place->file == POSITION_NONE)
		return place->pass == files->pass;
	const struct unwind_file *file = &files->items.items[place->file];
	/* On overlay and btrfs, the device in maps is not that of the file. */
	return file->key.device == wanted.key.device && file->key.inode == wanted.key.inode &&
	       mapped_file_is_unchanged(&file->key, file->descriptor);
}

static void note_place(struct unwind_files *files, const struct mapping *mapping, uint32_t position)
{
	struct unwind_place place = { .key = { .device = makedev(mapping->device_major, mapping->device_minor),
					       .inode = mapping->inode } };
	if (files->places.count >= FILES_MAX)
		keyed_array_free(&files->places);
	uint32_t at = keyed_array_add(&files->places, &place);
	if (at == POSITION_NONE)
		return;
	files->places.items[at].file = position;
	files->places.items[at].pass = files->pass;
}

/* Identifies the files of this mapping and of those that are searched for next. */
static void identify_next(struct unwind_files *files, const struct unwind_files_request *request)
{
	struct unwind_identities *identified = &files->identified;
	const size_t count = request->next ? request->next_count : 1;
	identified->pass = files->pass;
	identified->pid = request->process->pid;
	identified->count = count < BROKER_IDENTITIES_MAX ? count : BROKER_IDENTITIES_MAX;
	for (size_t i = 0; i < identified->count; i++) {
		const struct mapping *mapping = request->next ? request->next[i].mapping : request->mapping;
		identified->ranges[i] = (struct broker_range){ .start = mapping->start, .end = mapping->end };
	}
	if (broker_identify(files->broker, identified->pid, identified->ranges, identified->count,
			    identified->identities))
		memset(identified->identities, 0, identified->count * sizeof *identified->identities);
}

/* Returns the identity of the file of a mapping of the same process, if it was read in this pass. */
static const struct file_identity *identity_find(const struct unwind_files *files,
						 const struct unwind_files_request *request)
{
	const struct unwind_identities *identified = &files->identified;
	if (identified->pass != files->pass || identified->pid != request->process->pid)
		return NULL;
	for (size_t i = 0; i < identified->count; i++)
		if (identified->ranges[i].start == request->mapping->start &&
		    identified->ranges[i].end == request->mapping->end)
			return &identified->identities[i];
	return NULL;
}

/* Identifies the file of a running process without opening it. */
static bool identify(struct unwind_files *files, const struct unwind_files_request *request,
		     struct file_identity *identity)
{
	if (request->process->end != UINT64_MAX)
		return false;
	const struct file_identity *known = identity_find(files, request);
	if (!known)
		identify_next(files, request);
	*identity = known ? *known : files->identified.identities[0];
	return identity->inode == request->mapping->inode;
}

/* Finds a file that was read in this run or in an earlier one. */
static uint32_t find_identified(struct unwind_files *files, const struct unwind_files_request *request)
{
	struct unwind_file file = { .descriptor = -1 };
	const struct mapping *mapping = request->mapping;
	if (!identify(files, request, &file.key))
		return POSITION_NONE;
	uint32_t position = keyed_array_find(&files->items, &file.key);
	bool is_known = position != POSITION_NONE;
	if (is_known && !files->items.items[position].is_released)
		return position;
	if (!unwind_cache_has(&files->cache, &file.key))
		return POSITION_NONE;
	file.path = string_table_intern(&files->budget.strings, mapping->path, strlen(mapping->path));
	position = file.path ? add_unread(files, &file) : POSITION_NONE;
	if (position == POSITION_NONE || take_cached(files, &files->items.items[position]))
		return position;
	if (is_known) {
		files->items.items[position].is_released = true;
		files->items.items[position].is_pending = false;
	} else {
		keyed_array_remove(&files->items, position);
	}
	return POSITION_NONE;
}

static uint32_t open_file(struct unwind_files *files, const struct unwind_files_request *request)
{
	const struct mapping *mapping = request->mapping;
	struct mapped_file opened;
	struct deadline deadline = budget_end(&files->budget);
	struct mapped_file_request open = { .process = request->process,
					    .mapping = mapping,
					    .latest = request->end,
					    .live = true,
					    .deadline = &deadline };
	int code = mapped_file_open(&opened, files->broker, &open);
	if (!code)
		return add_file(files, &opened, mapping->path);
	budget_refuse(&files->budget, NULL, mapping->path, open_reason(&files->budget, code), 0);
	return POSITION_NONE;
}

void unwind_files_begin_pass(struct unwind_files *files)
{
	files->pass++;
}

uint32_t unwind_files_find(struct unwind_files *files, const struct unwind_files_request *request)
{
	const struct mapping *mapping = request->mapping;
	uint32_t position;
	if (strcmp(mapping->path, "[vdso]") == 0)
		return find_vdso(files, mapping);
	if (mapping->path[0] != '/' || !mapping->inode)
		return POSITION_NONE;
	if (find_place(files, mapping, &position))
		return position;
	position = find_identified(files, request);
	if (position == POSITION_NONE && files->saves)
		return POSITION_NONE;
	if (position == POSITION_NONE && !request->may_open)
		return UNWIND_FILE_LATER;
	if (position == POSITION_NONE)
		position = open_file(files, request);
	if (position != UNWIND_FILE_LATER)
		note_place(files, mapping, position);
	return position;
}

const struct elf_segment *unwind_file_segment(const struct unwind_file *file, uint64_t file_offset)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];
		uint64_t first = segment->file_offset & ~(page - 1);
		if (segment->executable && file_offset >= first &&
		    file_offset - first < segment->size + (segment->file_offset - first))
			return segment;
	}
	return NULL;
}

uint64_t unwind_files_cost(struct unwind_files *files)
{
	return broker_cpu_time(files->broker) + worker_pool_cpu_time(files->pool);
}
