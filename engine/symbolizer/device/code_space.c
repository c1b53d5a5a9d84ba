/* SPDX-License-Identifier: Apache-2.0 */
/* See code_space.h. */
#include "symbolizer/device/code_space.h"

#include <string.h>

static bool is_before(const struct code_interval *a, const struct code_interval *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	if (a->loaded != b->loaded)
		return a->loaded < b->loaded;
	return a->serial < b->serial;
}

static bool is_newer(const struct code_interval *a, const struct code_interval *b)
{
	return a->loaded != b->loaded ? a->loaded > b->loaded : a->serial > b->serial;
}

/* Returns the position of the first interval that begins at or after an address. */
static size_t lower_bound(const struct code_space *space, uint64_t start)
{
	size_t low = 0, high = space->intervals.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (space->intervals.items[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Updates the reach of the interval at position and of those after it, until it no longer changes. */
static void update_reach(struct code_space *space, size_t position)
{
	struct code_interval *items = space->intervals.items;
	for (size_t i = position; i < space->intervals.count; i++) {
		uint64_t before = i ? items[i - 1].reach : 0;
		uint64_t reach = items[i].end > before ? items[i].end : before;
		if (i > position && items[i].reach == reach)
			return;
		items[i].reach = reach;
	}
}

bool code_space_add(struct code_space *space, const struct code_interval *interval, size_t *added)
{
	if (!array_reserve(&space->intervals, space->intervals.count + 1))
		return false;
	struct code_interval *items = space->intervals.items;
	size_t position = lower_bound(space, interval->start);
	while (position < space->intervals.count && is_before(&items[position], interval))
		position++;
	memmove(&items[position + 1], &items[position], (space->intervals.count - position) * sizeof *items);
	items[position] = *interval;
	space->intervals.count++;
	update_reach(space, position);
	*added = position;
	return true;
}

bool code_space_unload(struct code_space *space, uint64_t load_start, uint64_t time, code_space_ended *ended,
		       void *context)
{
	bool found = false;
	/* Parts of a load begin at its start or later. */
	for (size_t i = lower_bound(space, load_start); i < space->intervals.count; i++) {
		struct code_interval *interval = &space->intervals.items[i];
		if (interval->load_start != load_start || interval->loaded > time || interval->unloaded != UINT64_MAX)
			continue;
		interval->unloaded = time;
		ended(context, interval);
		found = true;
	}
	return found;
}

void code_space_unload_all(struct code_space *space, uint64_t time, code_space_ended *ended, void *context)
{
	for (size_t i = 0; i < space->intervals.count; i++) {
		struct code_interval *interval = &space->intervals.items[i];
		if (interval->loaded > time || interval->unloaded != UINT64_MAX)
			continue;
		interval->unloaded = time;
		ended(context, interval);
	}
}

/*
 * Among intervals [first, end), which begin at one address, returns the position after the last one loaded at or before
 * a time.
 */
static size_t upper_bound(const struct code_space *space, size_t first, size_t end, uint64_t time)
{
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (space->intervals.items[middle].loaded <= time)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

const struct code_interval *code_space_find(const struct code_space *space, uint64_t address, uint64_t time)
{
	const struct code_interval *items = space->intervals.items;
	const struct code_interval *newest = NULL;
	size_t position = address == UINT64_MAX ? space->intervals.count : lower_bound(space, address + 1);
	/*
	 * The same range is often loaded again, so of the intervals that begin at one address only the newest are
	 * examined.
	 */
	while (position && items[position - 1].reach > address) {
		size_t first = lower_bound(space, items[position - 1].start);
		for (size_t i = upper_bound(space, first, position, time); i > first; i--) {
			if (items[i - 1].end <= address)
				continue;
			if (!newest || is_newer(&items[i - 1], newest))
				newest = &items[i - 1];
			break;
		}
		position = first;
	}
	return newest && time < newest->unloaded ? newest : NULL;
}

static int compare_found(const void *left, const void *right)
{
	const struct code_interval *const *a = left, *const *b = right;
	return is_newer(*b, *a) ? -1 : is_newer(*a, *b);
}

/*
 * Finds loads that overlap the addresses up to end; for each start address, back to the one that was there at time
 * begin. Unsorted.
 */
static size_t find_over(const struct code_space *space, uint64_t address, uint64_t begin, uint64_t end,
			const struct code_interval **found)
{
	const struct code_interval *items = space->intervals.items;
	size_t count = 0, position = address == UINT64_MAX ? space->intervals.count : lower_bound(space, address + 1);
	while (position && items[position - 1].reach > address) {
		size_t first = lower_bound(space, items[position - 1].start);
		for (size_t i = upper_bound(space, first, position, end); i > first; i--) {
			if (items[i - 1].end <= address)
				continue;
			found[count++] = &items[i - 1];
			if (items[i - 1].loaded <= begin)
				break;
		}
		position = first;
	}
	return count;
}

size_t code_space_find_during(const struct code_space *space, uint64_t address, uint64_t begin, uint64_t end,
			      const struct code_interval **found)
{
	if (begin > end)
		return 0;
	size_t count = find_over(space, address, begin, end, found), kept = 0;
	if (count > 1)
		qsort(found, count, sizeof *found, compare_found);
	for (size_t i = 0; i < count; i++) {
		/* The next load hides it; of two loads at the same time, the older one never counts. */
		uint64_t over = i + 1 < count ? found[i + 1]->loaded : UINT64_MAX;
		uint64_t since = found[i]->loaded > begin ? found[i]->loaded : begin;
		if (since < over && since < found[i]->unloaded)
			found[kept++] = found[i];
	}
	return kept;
}

uint64_t code_space_over(const struct code_space *space, size_t position)
{
	const struct code_interval *interval = &space->intervals.items[position], *next = interval + 1;
	bool is_hidden = position + 1 < space->intervals.count && next->start == interval->start &&
			 next->end >= interval->end && next->loaded < interval->unloaded;
	return is_hidden ? next->loaded : interval->unloaded;
}

/* Sorts the newest first. */
static int compare_age(const void *left, const void *right)
{
	const struct code_interval *a = left, *b = right;
	return is_newer(a, b) ? -1 : is_newer(b, a);
}

static int compare_place(const void *left, const void *right)
{
	const struct code_interval *a = left, *b = right;
	return is_before(a, b) ? -1 : is_before(b, a);
}

/* Adds the parts of an old interval that no newer one hides. Both arrays have room. */
static void add_visible(code_interval_array *visible, const struct code_space *covered,
			const struct code_interval *interval)
{
	uint64_t from = interval->start;
	size_t i = lower_bound(covered, interval->start);
	while (i && covered->intervals.items[i - 1].end > interval->start)
		i--;
	for (; from < interval->end; i++) {
		bool is_last = i == covered->intervals.count || covered->intervals.items[i].start >= interval->end;
		uint64_t to = is_last ? interval->end : covered->intervals.items[i].start;
		if (from < to) {
			struct code_interval part = *interval;
			part.start = from;
			part.end = to;
			part.address += from - interval->start;
			visible->items[visible->count++] = part;
		}
		if (is_last)
			return;
		from = covered->intervals.items[i].end;
	}
}

/* Adds a range to the hidden ones, and merges it with those that it touches. There is room. */
static void cover(struct code_space *covered, uint64_t start, uint64_t end)
{
	struct code_interval *items = covered->intervals.items;
	size_t first = lower_bound(covered, start);
	if (first && items[first - 1].end >= start)
		first--;
	size_t last = first;
	for (; last < covered->intervals.count && items[last].start <= end; last++) {
		start = items[last].start < start ? items[last].start : start;
		end = items[last].end > end ? items[last].end : end;
	}
	memmove(&items[first + 1], &items[last], (covered->intervals.count - last) * sizeof *items);
	items[first] = (struct code_interval){ .start = start, .end = end };
	covered->intervals.count = covered->intervals.count - (last - first) + 1;
}

/* Determines the visible parts of intervals from before the horizon, sorted by age. */
static void resolve(code_interval_array *visible, struct code_space *covered, const struct code_interval *old,
		    size_t count, uint64_t horizon)
{
	for (size_t i = 0; i < count; i++) {
		/* Intervals that have ended still hide older ones. */
		if (old[i].unloaded > horizon)
			add_visible(visible, covered, &old[i]);
		cover(covered, old[i].start, old[i].end);
	}
}

bool code_space_forget(struct code_space *space, uint64_t horizon, void (*keep)(void *object),
		       void (*drop)(void *object))
{
	size_t count = space->intervals.count, old_count = 0;
	if (!count)
		return true;
	/* n intervals have 2n ends, with at most one visible part between two of them. */
	struct code_space covered = { 0 };
	code_interval_array old = { 0 }, visible = { 0 };
	bool done = array_reserve(&old, count) && array_reserve(&visible, 2 * count) &&
		    array_reserve(&covered.intervals, count + 1);
	if (done) {
		for (size_t i = 0; i < count; i++)
			if (space->intervals.items[i].loaded <= horizon)
				old.items[old_count++] = space->intervals.items[i];
			else
				visible.items[visible.count++] = space->intervals.items[i];
		qsort(old.items, old_count, sizeof *old.items, compare_age);
		resolve(&visible, &covered, old.items, old_count, horizon);
		for (size_t i = 0; i < visible.count; i++)
			keep(visible.items[i].object);
		for (size_t i = 0; i < count; i++)
			drop(space->intervals.items[i].object);
		qsort(visible.items, visible.count, sizeof *visible.items, compare_place);
		array_free(&space->intervals);
		space->intervals = visible;
		visible = (code_interval_array){ 0 };
		uint64_t reach = 0;
		for (size_t i = 0; i < space->intervals.count; i++) {
			reach = space->intervals.items[i].end > reach ? space->intervals.items[i].end : reach;
			space->intervals.items[i].reach = reach;
		}
	}
	array_free(&old);
	array_free(&covered.intervals);
	array_free(&visible);
	return done;
}

void code_space_free(struct code_space *space, void (*drop)(void *object))
{
	for (size_t i = 0; i < space->intervals.count; i++)
		drop(space->intervals.items[i].object);
	array_free(&space->intervals);
}
