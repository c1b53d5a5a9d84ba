/* SPDX-License-Identifier: Apache-2.0 */
/* See address_space.h. */
#include "process/address_space.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

typedef ARRAY(uint64_t) address_array;

/* Lifetime and the tree of forks. */

struct address_space *address_space_new(void)
{
	struct address_space *space = calloc(1, sizeof *space);
	if (space)
		space->owned = true;
	return space;
}

static void space_unlink(struct address_space *space)
{
	if (!space->parent)
		return;
	if (space->previous_sibling)
		space->previous_sibling->next_sibling = space->next_sibling;
	else
		space->parent->first_child = space->next_sibling;
	if (space->next_sibling)
		space->next_sibling->previous_sibling = space->previous_sibling;
	space->parent = space->previous_sibling = space->next_sibling = NULL;
}

static void space_link(struct address_space *space, struct address_space *parent, uint64_t time)
{
	space->parent = parent;
	space->fork_time = time;
	space->previous_sibling = NULL;
	space->next_sibling = parent->first_child;
	if (parent->first_child)
		parent->first_child->previous_sibling = space;
	parent->first_child = space;
}

static void space_free(struct address_space *space)
{
	space_unlink(space);
	memory_ranges_free(&space->current);
	memory_ranges_free(&space->history);
	free(space);
}

void address_space_fork(struct address_space *space, struct address_space *parent, uint64_t time)
{
	/* Damaged or replayed records could make a child its own ancestor. */
	if (space == parent || space->parent)
		return;
	if (space->first_child)
		for (const struct address_space *ancestor = parent; ancestor; ancestor = ancestor->parent)
			if (ancestor == space)
				return;
	space_link(space, parent, time);
}

/* Replaces all ranges of a space by those of a list. Returns false if out of memory: nothing changed. */
static bool space_rebuild(struct address_space *space, struct memory_range *list, size_t count)
{
	struct memory_range_array current = { 0 }, history = { 0 };
	if (!memory_ranges_build(list, count, &current, &history)) {
		array_free(&current);
		array_free(&history);
		return false;
	}
	memory_ranges_free(&space->current);
	memory_ranges_free(&space->history);
	space->current = current;
	space->history = history;
	return true;
}

/* Appends borrowed ranges to a list, which has room; takes no references. */
static size_t list_extend(struct memory_range *list, size_t count, const struct memory_range_array *ranges)
{
	if (ranges->count)
		memcpy(&list[count], ranges->items, ranges->count * sizeof *list);
	return count + ranges->count;
}

/*
 * Drops the oldest ranges beyond ADDRESS_SPACE_PIECES_MAX. If current ranges are dropped, so is the whole history: what
 * they replaced must not reappear.
 */
static int space_limit(struct address_space *space, uint64_t *dropped)
{
	if (space->history.count > ADDRESS_SPACE_PIECES_MAX) {
		size_t gone = space->history.count - ADDRESS_SPACE_PIECES_MAX * 3 / 4;
		for (size_t i = 0; i < gone; i++)
			mapping_release(space->history.items[i].mapping);
		space->history.count -= gone;
		memmove(space->history.items, &space->history.items[gone],
			space->history.count * sizeof *space->history.items);
		*dropped += gone;
	}
	if (space->current.count <= ADDRESS_SPACE_PIECES_MAX)
		return 0;
	size_t count = space->current.count, gone = count - ADDRESS_SPACE_PIECES_MAX * 3 / 4;
	CLEANUP_FREE struct memory_range *list = malloc(count * sizeof *list);
	if (!list)
		return -ENOMEM;
	list_extend(list, 0, &space->current);
	qsort(list, count, sizeof *list, memory_range_compare);
	*dropped += gone + space->history.count;
	return space_rebuild(space, list + gone, count - gone) ? 0 : -ENOMEM;
}

/*
 * An address space without an owner hands its mappings over to its only fork. When out of memory, it stays as it is,
 * which is also correct.
 */
static void space_give_to_child(struct address_space *space, struct address_space *child)
{
	const struct memory_range_array *const parts[] = { &space->current, &space->history };
	size_t most = space->current.count + space->history.count + child->current.count + child->history.count;
	CLEANUP_FREE struct memory_range *list = malloc((most + 1) * sizeof *list);
	if (!list)
		return;
	size_t count = 0;
	for (size_t part = 0; part < 2; part++)
		for (size_t i = 0; i < parts[part]->count; i++) {
			const struct memory_range *range = &parts[part]->items[i];
			if (range->begin <= child->fork_time && range->until > child->fork_time) {
				list[count] = *range;
				list[count++].begin = 0; /* older than anything of the fork itself */
			}
		}
	if (count) {
		count = list_extend(list, count, &child->history);
		count = list_extend(list, count, &child->current);
		if (!space_rebuild(child, list, count))
			return;
	}
	struct address_space *parent = space->parent;
	uint64_t fork_time = smaller(child->fork_time, space->fork_time);
	space_unlink(child);
	if (parent)
		space_link(child, parent, fork_time);
	space_free(space);
}

void address_space_disown(struct address_space *space)
{
	if (!space)
		return;
	space->owned = false;
	while (space && !space->owned) {
		struct address_space *parent = space->parent, *child = space->first_child;
		if (child) {
			if (!child->next_sibling)
				space_give_to_child(space, child);
			return;
		}
		space_free(space);
		space = parent;
	}
}

/* Adding mappings. */

static bool is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/';
}

/*
 * Returns whether two mappings have the same contents at the same addresses. If one of them has neither inode numbers
 * nor a build id, as in captures of older versions, path and offset decide, which is uncertain because the file may
 * have been replaced. certain: return false in that case.
 */
static bool mapping_agrees(const struct mapping *a, const struct mapping *b, bool certain)
{
	if (a->path != b->path || (a->flags ^ b->flags) & IAPROF_MAPPING_COPIED)
		return false;
	if (!is_file(a->path))
		return true;
	if (a->start - a->file_offset != b->start - b->file_offset)
		return false;
	if (a->build_id_size && b->build_id_size)
		return a->build_id_size == b->build_id_size && !memcmp(a->build_id, b->build_id, a->build_id_size);
	if (a->inode && b->inode)
		return a->inode == b->inode && a->device_major == b->device_major &&
		       a->device_minor == b->device_minor &&
		       (!a->inode_generation || !b->inode_generation || a->inode_generation == b->inode_generation);
	return !certain;
}

/* Returns the range that contained address at this time, without parent address spaces. */
static const struct memory_range *space_find(const struct address_space *space, uint64_t address, uint64_t time)
{
	size_t at = memory_ranges_search_address(&space->current, address);
	if (at < space->current.count && space->current.items[at].start <= address &&
	    space->current.items[at].begin <= time)
		return &space->current.items[at];
	for (at = memory_ranges_search_time(&space->history, time); at < space->history.count; at++) {
		const struct memory_range *range = &space->history.items[at];
		if (range->start <= address && address < range->end && range->begin <= time)
			return range;
	}
	return NULL;
}

const struct mapping *address_space_find(const struct address_space *space, uint64_t address, uint64_t time)
{
	for (; space; space = space->parent) {
		const struct memory_range *range = space_find(space, address, time);
		if (range)
			return &range->mapping->mapping;
		time = smaller(time, space->fork_time);
	}
	return NULL;
}

/* Maximum number of ancestors, each a fork without exec, whose mappings a process inherits. */
#define LIST_GENERATIONS_MAX 64

static bool list_bounds(const struct memory_range_array *ranges, uint64_t time, address_array *bounds)
{
	for (size_t i = 0; i < ranges->count; i++) {
		const struct memory_range *range = &ranges->items[i];
		if (range->begin <= time && time < range->until &&
		    (!array_push(bounds, range->start) || !array_push(bounds, range->end)))
			return false;
	}
	return true;
}

static int compare_addresses(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

struct mapped_range *address_space_list(const struct address_space *space, uint64_t time, size_t count_max,
					size_t *count)
{
	address_array bounds = { 0 };
	ARRAY(struct mapped_range) ranges = { 0 };
	const struct address_space *listed = space;
	uint64_t until = time;
	bool is_complete = true;
	for (int i = 0; is_complete && listed && i < LIST_GENERATIONS_MAX; i++, listed = listed->parent) {
		is_complete =
			list_bounds(&listed->current, until, &bounds) && list_bounds(&listed->history, until, &bounds);
		until = smaller(until, listed->fork_time);
	}
	if (bounds.count)
		qsort(bounds.items, bounds.count, sizeof *bounds.items, compare_addresses);
	for (size_t i = 0; is_complete && i + 1 < bounds.count; i++) {
		uint64_t start = bounds.items[i], end = bounds.items[i + 1];
		const struct mapping *mapping = start < end ? address_space_find(space, start, time) : NULL;
		struct mapped_range *last = ranges.count ? &ranges.items[ranges.count - 1] : NULL;
		if (mapping && last && last->mapping == mapping && last->end == start)
			last->end = end;
		else if (mapping && ranges.count < count_max)
			is_complete = array_push(&ranges, ((struct mapped_range){ start, end, mapping }));
	}
	array_free(&bounds);
	if (!is_complete)
		array_free(&ranges);
	*count = ranges.count;
	return ranges.items;
}

/* Returns whether [start, end), where the space has no mapping of its own, inherits the same mapping. */
static bool is_inherited(const struct address_space *space, const struct mapping *mapping, uint64_t start, uint64_t end)
{
	if (!space->parent)
		return false;
	const struct mapping *first = address_space_find(space->parent, start, space->fork_time);
	return first && first == address_space_find(space->parent, end - 1, space->fork_time) &&
	       mapping_agrees(first, mapping, false);
}

/*
 * Returns whether a mapping is new in a part of its range, and since when (*begin). range: the current one there, or
 * NULL.
 */
static bool is_new(const struct address_space *space, const struct memory_range *range, const struct memory_range *part,
		   uint64_t *begin)
{
	const struct mapping *mapping = &part->mapping->mapping;
	uint64_t time = part->mapping->seen;
	bool existing = mapping->flags & IAPROF_MAPPING_EXISTING;

	if (range && range->begin > time)
		range = space_find(space, part->start, time);
	*begin = !range && existing ? 0 : time;
	if (!range)
		return !existing || !is_inherited(space, mapping, part->start, part->end);
	if (mapping_agrees(&range->mapping->mapping, mapping, !existing))
		return false;
	return !existing || range->mapping->seen < time;
}

/* Collects the parts of a mapping that are new, as borrowed ranges. Returns false if out of memory. */
static bool find_news(const struct address_space *space, struct shared_mapping *mapping,
		      struct memory_range_array *parts)
{
	const struct memory_range_array *current = &space->current;
	uint64_t at = mapping->mapping.start, end = mapping->mapping.end;
	for (size_t i = memory_ranges_search_address(current, at); at < end;) {
		const struct memory_range *range = i < current->count ? &current->items[i] : NULL;
		struct memory_range part = { .start = at, .end = end, .mapping = mapping };
		if (range && range->start > at) {
			part.end = smaller(range->start, end);
			range = NULL;
		} else if (range) {
			part.end = smaller(range->end, end);
			i++;
		}
		if (is_new(space, range, &part, &part.begin)) {
			struct memory_range *last = parts->count ? &parts->items[parts->count - 1] : NULL;
			if (last && last->end == part.start && last->begin == part.begin)
				last->end = part.end;
			else if (!array_push(parts, part))
				return false;
		}
		at = part.end;
	}
	return true;
}

/* Adds the parts; usually they only replace older ranges. */
static bool space_apply(struct address_space *space, const struct memory_range_array *parts)
{
	size_t overlapped = 0;
	bool on_top = true;
	for (size_t part = 0; part < parts->count; part++) {
		const struct memory_range *new = &parts->items[part];
		for (size_t i = memory_ranges_search_address(&space->current, new->start);
		     i < space->current.count && space->current.items[i].start < new->end; i++, overlapped++)
			if (space->current.items[i].begin > new->begin)
				on_top = false;
	}
	if (on_top) {
		if (!array_reserve(&space->current, space->current.count + 2 * parts->count) ||
		    !array_reserve(&space->history, space->history.count + overlapped))
			return false;
		for (size_t part = 0; part < parts->count; part++)
			memory_range_add(&space->current, &space->history, parts->items[part]);
		return true;
	}
	size_t most = space->current.count + space->history.count + parts->count;
	CLEANUP_FREE struct memory_range *list = malloc(most * sizeof *list);
	if (!list)
		return false;
	size_t count = list_extend(list, 0, &space->history);
	count = list_extend(list, count, &space->current);
	count = list_extend(list, count, parts);
	return space_rebuild(space, list, count);
}

int address_space_add(struct address_space *space, const struct mapping *mapping, uint64_t time,
		      struct user_account *account, uint64_t *dropped)
{
	struct memory_range_array parts = { 0 };
	struct shared_mapping *shared = malloc(sizeof *shared);
	if (!shared)
		return -ENOMEM;
	/* A reference during the call, so that a replacement cannot free it. */
	*shared = (struct shared_mapping){ .mapping = *mapping, .seen = time, .references = 1, .account = account };
	if (account)
		account->amount++;
	shared->mapping.begin = mapping->flags & IAPROF_MAPPING_EXISTING ? 0 : time;

	int result = -ENOMEM;
	if (find_news(space, shared, &parts)) {
		result = parts.count ? 1 : 0;
		if (parts.count && !space_apply(space, &parts))
			result = -ENOMEM;
	}
	array_free(&parts);
	mapping_release(shared);
	if (result > 0 && space_limit(space, dropped))
		result = -ENOMEM;
	return result;
}

/* Splitting, and forgetting history. */

int address_space_split(struct address_space *space, uint64_t time, struct address_space *later)
{
	const struct memory_range_array *const parts[] = { &space->history, &space->current };
	size_t total = space->current.count + space->history.count, kept = 0, moved = 0;
	CLEANUP_FREE struct memory_range *list = malloc((total + 1) * sizeof *list);
	if (!list)
		return -ENOMEM;
	for (size_t part = 0; part < 2; part++)
		for (size_t i = 0; i < parts[part]->count; i++) {
			const struct memory_range *range = &parts[part]->items[i];
			if (range->mapping->seen < time)
				list[kept++] = *range;
			else
				list[total - ++moved] = *range;
		}
	if (moved) {
		if (!memory_ranges_build(list + kept, moved, &later->current, &later->history))
			return -ENOMEM;
		if (!space_rebuild(space, list, kept)) {
			memory_ranges_free(&later->current);
			memory_ranges_free(&later->history);
			return -ENOMEM;
		}
	}
	for (struct address_space *child = space->first_child, *next; child; child = next) {
		next = child->next_sibling;
		if (child->fork_time >= time) {
			uint64_t fork_time = child->fork_time;
			space_unlink(child);
			space_link(child, later, fork_time);
		}
	}
	return 0;
}

static bool fork_needs(const struct address_space *space, const struct memory_range *range)
{
	for (const struct address_space *child = space->first_child; child; child = child->next_sibling)
		if (range->begin <= child->fork_time && child->fork_time < range->until)
			return true;
	return false;
}

void address_space_prune(struct address_space *space, uint64_t before)
{
	struct memory_range_array *history = &space->history;
	size_t ended = memory_ranges_search_time(history, before), kept = 0;
	for (size_t i = 0; i < history->count; i++)
		if (i >= ended || fork_needs(space, &history->items[i]))
			history->items[kept++] = history->items[i];
		else
			mapping_release(history->items[i].mapping);
	history->count = kept;
}
