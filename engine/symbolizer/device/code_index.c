/* SPDX-License-Identifier: Apache-2.0 */
/* See code_index.h. */
#include "symbolizer/device/code_index.h"

#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/hash.h"
#include "symbolizer/device/code_space.h"
#include "symbolizer/device/code_tree.h"

#define CAPACITY_DEFAULT 65536

struct space_entry {
	uint64_t device, process;
	struct code_space space;
	uint64_t question; /* the last search that visited it */
};

struct code_index {
	struct code_index_options options;
	ARRAY(struct space_entry) spaces;
	struct hash_index by_key;
	struct code_tree tree;                      /* all intervals, with the positions of their spaces */
	ARRAY(const struct code_interval *) answer; /* has room for all intervals of any space */
	uint64_t question;
	uint64_t newest; /* time of the newest event */
	uint64_t horizon;
	uint64_t forgot_at; /* value of newest when the horizon was last moved */
	uint64_t serial;
	size_t forgot_count; /* intervals that remained then */
	bool is_stuck;       /* full, and everything is still loaded */
	struct code_index_statistics statistics;
};

static void do_nothing(void *object)
{
}

struct code_index *code_index_new(const struct code_index_options *options)
{
	struct code_index *index = calloc(1, sizeof *index);
	if (!index)
		return NULL;
	index->options = *options;
	if (!index->options.capacity)
		index->options.capacity = CAPACITY_DEFAULT;
	if (!index->options.reference)
		index->options.reference = do_nothing;
	if (!index->options.release)
		index->options.release = do_nothing;
	return index;
}

void code_index_free(struct code_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; i < index->spaces.count; i++)
		code_space_free(&index->spaces.items[i].space, index->options.release);
	array_free(&index->spaces);
	hash_index_free(&index->by_key);
	code_tree_free(&index->tree);
	array_free(&index->answer);
	free(index);
}

static struct space_entry *find_space(const struct code_index *index, uint64_t device, uint64_t process)
{
	struct hash_probe probe = hash_index_probe(&index->by_key, hash_pair(device, process));
	while (hash_index_next(&index->by_key, &probe)) {
		struct space_entry *entry = &index->spaces.items[probe.position];
		if (entry->device == device && entry->process == process)
			return entry;
	}
	return NULL;
}

static struct space_entry *make_space(struct code_index *index, uint64_t device, uint64_t process)
{
	struct space_entry *found = find_space(index, device, process);
	struct space_entry entry = { .device = device, .process = process };
	if (found || !hash_index_push(&index->by_key, hash_pair(device, process), &index->spaces, entry))
		return found;
	return &index->spaces.items[index->spaces.count - 1];
}

/* Removes spaces without loads. Returns false if out of memory. */
static bool remove_empty_spaces(struct code_index *index)
{
	size_t kept = 0;
	for (size_t i = 0; i < index->spaces.count; i++)
		if (index->spaces.items[i].space.intervals.count)
			index->spaces.items[kept++] = index->spaces.items[i];
		else
			array_free(&index->spaces.items[i].space.intervals);
	if (kept == index->spaces.count)
		return true;
	index->spaces.count = kept;
	hash_index_free(&index->by_key);
	for (size_t i = 0; i < kept; i++) {
		const struct space_entry *entry = &index->spaces.items[i];
		if (!hash_index_add(&index->by_key, hash_pair(entry->device, entry->process), (uint32_t)i))
			return false;
	}
	return true;
}

/* Memory for all intervals is already reserved. */
static void rebuild_tree(struct code_index *index)
{
	code_tree_clear(&index->tree);
	for (size_t i = 0; i < index->spaces.count; i++) {
		const struct space_entry *entry = &index->spaces.items[i];
		for (size_t j = 0; j < entry->space.intervals.count; j++)
			code_tree_add(&index->tree, entry->device, &entry->space.intervals.items[j],
				      code_space_over(&entry->space, j), (uint32_t)i);
	}
}

/* Reserves memory that depends on the number of intervals. Returns false if out of memory. */
static bool reserve(struct code_index *index, size_t count)
{
	return array_reserve(&index->tree.nodes, count) && array_reserve(&index->answer, count);
}

/* Moves the horizon. Returns false if out of memory. */
static bool move_horizon(struct code_index *index, uint64_t horizon)
{
	bool done = true;
	size_t kept = 0;
	if (horizon > index->horizon)
		index->horizon = horizon;
	/* An old load can be split by each newer one: all together leave at most two parts per load. */
	if (!reserve(index, 2 * index->tree.nodes.count))
		return false;
	for (size_t i = 0; i < index->spaces.count; i++) {
		struct code_space *space = &index->spaces.items[i].space;
		done = code_space_forget(space, index->horizon, index->options.reference, index->options.release) &&
		       done;
		kept += space->intervals.count;
	}
	index->statistics.kept = kept;
	index->forgot_count = kept;
	index->forgot_at = index->newest;
	done = remove_empty_spaces(index) && done;
	rebuild_tree(index);
	return done;
}

bool code_index_forget(struct code_index *index, uint64_t before)
{
	if (before > index->newest)
		index->newest = before;
	index->is_stuck = false;
	return move_horizon(index, before);
}

/* Records the time of an event; returns false if it is before the horizon. */
static bool note_time(struct code_index *index, uint64_t time)
{
	if (time < index->horizon) {
		index->statistics.too_late++;
		return false;
	}
	if (time > index->newest)
		index->newest = time;
	return true;
}

/* Makes room for another load. */
static int make_room(struct code_index *index)
{
	/* Another search would find nothing to remove. */
	if (index->is_stuck)
		return -ENOSPC;
	uint64_t window = index->options.window;
	uint64_t horizon = index->newest > window ? index->newest - window : 0;
	bool is_due = index->newest - index->forgot_at >= window && index->statistics.kept >= 2 * index->forgot_count &&
		      index->statistics.kept >= 64;
	bool is_full = index->statistics.kept >= index->options.capacity;
	if ((is_due || is_full) && !move_horizon(index, horizon))
		return -ENOMEM;
	/* Losing history is better than losing the present. */
	if (index->statistics.kept >= index->options.capacity && !move_horizon(index, index->newest))
		return -ENOMEM;
	index->is_stuck = index->statistics.kept >= index->options.capacity;
	return index->is_stuck ? -ENOSPC : 0;
}

int code_index_load(struct code_index *index, const struct code_load *load)
{
	if (!load->size || load->size > UINT64_MAX - load->start) {
		index->statistics.refused++;
		return -EINVAL;
	}
	if (!note_time(index, load->time))
		return -ESTALE;
	int code = make_room(index);
	/* Making room may have moved the horizon past an event that arrived late. */
	if (!code && !note_time(index, load->time))
		return -ESTALE;
	struct space_entry *entry = code ? NULL : make_space(index, load->device, load->process);
	struct code_interval interval = { .start = load->start,
					  .end = load->start + load->size,
					  .loaded = load->time,
					  .unloaded = UINT64_MAX,
					  .serial = ++index->serial,
					  .load_start = load->start,
					  .address = load->address,
					  .object = load->object };
	size_t position = 0;
	if (!code && (!entry || !reserve(index, index->tree.nodes.count + 1) ||
		      !code_space_add(&entry->space, &interval, &position)))
		code = -ENOMEM;
	if (code) {
		index->statistics.refused++;
		return code;
	}
	code_tree_add(&index->tree, load->device, &interval, code_space_over(&entry->space, position),
		      (uint32_t)(entry - index->spaces.items));
	/* A load that it hides permanently is no longer searched. */
	if (position)
		code_tree_end(&index->tree, load->device, &entry->space.intervals.items[position - 1],
			      code_space_over(&entry->space, position - 1));
	index->options.reference(load->object);
	index->statistics.kept++;
	return 0;
}

struct ending {
	struct code_tree *tree;
	uint64_t device;
};

static void end_in_tree(void *context, const struct code_interval *interval)
{
	const struct ending *ending = context;
	code_tree_end(ending->tree, ending->device, interval, interval->unloaded);
}

int code_index_unload(struct code_index *index, uint64_t device, uint64_t process, uint64_t start, uint64_t time)
{
	if (!note_time(index, time))
		return -ESTALE;
	struct space_entry *entry = find_space(index, device, process);
	struct ending ending = { &index->tree, device };
	if (entry && code_space_unload(&entry->space, start, time, end_in_tree, &ending)) {
		index->is_stuck = false;
		return 0;
	}
	index->statistics.unknown_unloads++;
	return -ENOENT;
}

int code_index_end_process(struct code_index *index, uint64_t process, uint64_t time)
{
	if (!note_time(index, time))
		return -ESTALE;
	for (size_t i = 0; i < index->spaces.count; i++) {
		struct space_entry *entry = &index->spaces.items[i];
		struct ending ending = { &index->tree, entry->device };
		if (entry->process == process)
			code_space_unload_all(&entry->space, time, end_in_tree, &ending);
	}
	index->is_stuck = false;
	return 0;
}

static struct code_found found_at(const struct space_entry *entry, const struct code_interval *interval,
				  uint64_t address)
{
	return (struct code_found){ .process = entry->process,
				    .object = interval->object,
				    .address = interval->address + (address - interval->start),
				    .loaded = interval->loaded,
				    .unloaded = interval->unloaded };
}

bool code_index_find(struct code_index *index, uint64_t device, uint64_t process, uint64_t address, uint64_t time,
		     struct code_found *found)
{
	if (time < index->horizon) {
		index->statistics.too_late++;
		return false;
	}
	const struct space_entry *entry = find_space(index, device, process);
	const struct code_interval *interval = entry ? code_space_find(&entry->space, address, time) : NULL;
	if (interval)
		*found = found_at(entry, interval, address);
	return interval != NULL;
}

/* A lookup over an interval of time, in one or several spaces. */
struct search {
	struct code_index *index;
	uint64_t address, begin, end;
	struct code_found *found;
	size_t capacity, count;
};

/* Returns false if the interval is before the horizon. */
static bool begin_search(struct search *search)
{
	struct code_index *index = search->index;
	if (search->end < index->horizon) {
		index->statistics.too_late++;
		return false;
	}
	if (search->begin < index->horizon)
		search->begin = index->horizon;
	index->question++;
	return true;
}

static void search_in(struct search *search, const struct space_entry *entry)
{
	const struct code_interval **answer = search->index->answer.items;
	size_t count = code_space_find_during(&entry->space, search->address, search->begin, search->end, answer);
	for (size_t i = 0; i < count; i++) {
		if (search->count < search->capacity)
			search->found[search->count] = found_at(entry, answer[i], search->address);
		search->count++;
	}
}

/* Searches each space once, even if the tree contains several of its loads. */
static void search_once(void *context, uint32_t space)
{
	struct search *search = context;
	struct space_entry *entry = &search->index->spaces.items[space];
	if (entry->question == search->index->question)
		return;
	entry->question = search->index->question;
	search_in(search, entry);
}

size_t code_index_find_during(struct code_index *index, uint64_t device, uint64_t process, uint64_t address,
			      uint64_t begin, uint64_t end, struct code_found *found, size_t capacity)
{
	struct search search = { index, address, begin, end, found, capacity, 0 };
	const struct space_entry *entry = begin_search(&search) ? find_space(index, device, process) : NULL;
	if (entry)
		search_in(&search, entry);
	return search.count;
}

size_t code_index_find_all_during(struct code_index *index, uint64_t device, uint64_t address, uint64_t begin,
				  uint64_t end, struct code_found *found, size_t capacity)
{
	struct search search = { index, address, begin, end, found, capacity, 0 };
	if (begin_search(&search))
		code_tree_find(&index->tree, device, address, search.begin, end, search_once, &search);
	return search.count;
}

uint64_t code_index_horizon(const struct code_index *index)
{
	return index->horizon;
}

struct code_index_statistics code_index_statistics(const struct code_index *index)
{
	return index->statistics;
}
