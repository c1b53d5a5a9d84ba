/* SPDX-License-Identifier: Apache-2.0 */
/* What a program image has mapped where, over time: see address_space.h. */
#include "process/address_space.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

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
	pieces_free(&space->current);
	pieces_free(&space->history);
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

/* Replaces all pieces of a space by those of a list. False when out of memory: nothing changed. */
static bool space_rebuild(struct address_space *space, struct piece *list, size_t count)
{
	struct piece_array current = { 0 }, history = { 0 };
	if (!pieces_build(list, count, &current, &history)) {
		array_free(&current);
		array_free(&history);
		return false;
	}
	pieces_free(&space->current);
	pieces_free(&space->history);
	space->current = current;
	space->history = history;
	return true;
}

/* Copies pieces to the end of a list that has room. Borrowed: no reference is taken. */
static size_t list_extend(struct piece *list, size_t count, const struct piece_array *pieces)
{
	if (pieces->count)
		memcpy(&list[count], pieces->items, pieces->count * sizeof *list);
	return count + pieces->count;
}

/*
 * Keeps a space within ADDRESS_SPACE_PIECES_MAX; the oldest go. Where current pieces go, all history does: what was
 * there before them must not come back.
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
	CLEANUP_FREE struct piece *list = malloc(count * sizeof *list);
	if (!list)
		return -ENOMEM;
	list_extend(list, 0, &space->current);
	qsort(list, count, sizeof *list, piece_compare);
	*dropped += gone + space->history.count;
	return space_rebuild(space, list + gone, count - gone) ? 0 : -ENOMEM;
}

/*
 * An address space that nobody owns gives what its only fork sees to that fork. When memory is short it stays as it
 * is, which is right as well.
 */
static void space_give_to_child(struct address_space *space, struct address_space *child)
{
	const struct piece_array *const parts[] = { &space->current, &space->history };
	size_t most = space->current.count + space->history.count + child->current.count + child->history.count;
	CLEANUP_FREE struct piece *list = malloc((most + 1) * sizeof *list);
	if (!list)
		return;
	size_t count = 0;
	for (size_t part = 0; part < 2; part++)
		for (size_t i = 0; i < parts[part]->count; i++) {
			const struct piece *piece = &parts[part]->items[i];
			if (piece->begin <= child->fork_time && piece->until > child->fork_time) {
				list[count] = *piece;
				list[count++].begin = 0; /* there before all that is the fork's own */
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

/* Adding. */

static bool is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/';
}

/*
 * Whether two mappings show the same thing at the same addresses. Where one of them has neither inode numbers nor a
 * build id, which only captures of older versions have, path and offset decide, which is not certain when the file was
 * replaced in between. certain: then say no.
 */
static bool mapping_agrees(const struct mapping *a, const struct mapping *b, bool certain)
{
	if (a->path != b->path)
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

/* What held address in this space at this time, its parents left out. */
static const struct piece *space_find(const struct address_space *space, uint64_t address, uint64_t time)
{
	size_t at = pieces_search_address(&space->current, address);
	if (at < space->current.count && space->current.items[at].start <= address &&
	    space->current.items[at].begin <= time)
		return &space->current.items[at];
	for (at = pieces_search_time(&space->history, time); at < space->history.count; at++) {
		const struct piece *piece = &space->history.items[at];
		if (piece->start <= address && address < piece->end && piece->begin <= time)
			return piece;
	}
	return NULL;
}

const struct mapping *address_space_find(const struct address_space *space, uint64_t address, uint64_t time)
{
	for (; space; space = space->parent) {
		const struct piece *piece = space_find(space, address, time);
		if (piece)
			return &piece->mapping->mapping;
		time = smaller(time, space->fork_time);
	}
	return NULL;
}

/* Whether [start, end), in which the space has nothing of its own, shows the same by inheritance. */
static bool is_inherited(const struct address_space *space, const struct mapping *mapping, uint64_t start, uint64_t end)
{
	if (!space->parent)
		return false;
	const struct mapping *first = address_space_find(space->parent, start, space->fork_time);
	return first && first == address_space_find(space->parent, end - 1, space->fork_time) &&
	       mapping_agrees(first, mapping, false);
}

/* Says from when on (*begin) a mapping is new in a part of what it covers, where piece is current (NULL: none). */
static bool is_new(const struct address_space *space, const struct piece *piece, const struct piece *part,
		   uint64_t *begin)
{
	const struct mapping *mapping = &part->mapping->mapping;
	uint64_t time = part->mapping->seen;
	bool existing = mapping->flags & IAPROF_MAPPING_EXISTING;

	if (piece && piece->begin > time)
		piece = space_find(space, part->start, time);
	*begin = !piece && existing ? 0 : time;
	if (!piece)
		return !existing || !is_inherited(space, mapping, part->start, part->end);
	if (mapping_agrees(&piece->mapping->mapping, mapping, !existing))
		return false;
	return !existing || piece->mapping->seen < time;
}

/* The parts of a mapping that are news, as pieces in parts (borrowed). False when out of memory. */
static bool find_news(const struct address_space *space, struct shared_mapping *mapping, struct piece_array *parts)
{
	const struct piece_array *current = &space->current;
	uint64_t at = mapping->mapping.start, end = mapping->mapping.end;
	for (size_t i = pieces_search_address(current, at); at < end;) {
		const struct piece *piece = i < current->count ? &current->items[i] : NULL;
		struct piece part = { .start = at, .end = end, .mapping = mapping };
		if (piece && piece->start > at) {
			part.end = smaller(piece->start, end);
			piece = NULL;
		} else if (piece) {
			part.end = smaller(piece->end, end);
			i++;
		}
		if (is_new(space, piece, &part, &part.begin)) {
			struct piece *last = parts->count ? &parts->items[parts->count - 1] : NULL;
			if (last && last->end == part.start && last->begin == part.begin)
				last->end = part.end;
			else if (!array_push(parts, part))
				return false;
		}
		at = part.end;
	}
	return true;
}

/* Adds the parts, most often simply on top of what is there. */
static bool space_apply(struct address_space *space, const struct piece_array *parts)
{
	size_t overlapped = 0;
	bool on_top = true;
	for (size_t part = 0; part < parts->count; part++) {
		const struct piece *new = &parts->items[part];
		for (size_t i = pieces_search_address(&space->current, new->start);
		     i < space->current.count && space->current.items[i].start < new->end; i++, overlapped++)
			if (space->current.items[i].begin > new->begin)
				on_top = false;
	}
	if (on_top) {
		if (!array_reserve(&space->current, space->current.count + 2 * parts->count) ||
		    !array_reserve(&space->history, space->history.count + overlapped))
			return false;
		for (size_t part = 0; part < parts->count; part++)
			piece_place(&space->current, &space->history, parts->items[part]);
		return true;
	}
	size_t most = space->current.count + space->history.count + parts->count;
	CLEANUP_FREE struct piece *list = malloc(most * sizeof *list);
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
	struct piece_array parts = { 0 };
	struct shared_mapping *shared = malloc(sizeof *shared);
	if (!shared)
		return -ENOMEM;
	/* A reference of our own, so that no replacement in the middle frees it. */
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

/* Splitting and forgetting. */

int address_space_split(struct address_space *space, uint64_t time, struct address_space *later)
{
	const struct piece_array *const parts[] = { &space->history, &space->current };
	size_t total = space->current.count + space->history.count, kept = 0, moved = 0;
	CLEANUP_FREE struct piece *list = malloc((total + 1) * sizeof *list);
	if (!list)
		return -ENOMEM;
	for (size_t part = 0; part < 2; part++)
		for (size_t i = 0; i < parts[part]->count; i++) {
			const struct piece *piece = &parts[part]->items[i];
			if (piece->mapping->seen < time)
				list[kept++] = *piece;
			else
				list[total - ++moved] = *piece;
		}
	if (moved) {
		if (!pieces_build(list + kept, moved, &later->current, &later->history))
			return -ENOMEM;
		if (!space_rebuild(space, list, kept)) {
			pieces_free(&later->current);
			pieces_free(&later->history);
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

static bool fork_needs(const struct address_space *space, const struct piece *piece)
{
	for (const struct address_space *child = space->first_child; child; child = child->next_sibling)
		if (piece->begin <= child->fork_time && child->fork_time < piece->until)
			return true;
	return false;
}

void address_space_prune(struct address_space *space, uint64_t before)
{
	struct piece_array *history = &space->history;
	size_t ended = pieces_search_time(history, before), kept = 0;
	for (size_t i = 0; i < history->count; i++)
		if (i >= ended || fork_needs(space, &history->items[i]))
			history->items[kept++] = history->items[i];
		else
			mapping_release(history->items[i].mapping);
	history->count = kept;
}
