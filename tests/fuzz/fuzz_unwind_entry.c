/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an entry of the cache of unwind tables, and any table in an entry that is undamaged: what is accepted
 * can be searched. The first byte chooses.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fuzz_unwind_table.h"
#include "symbolizer/unwind/unwind_cache.h"

static const struct file_identity file = { .device = 1, .inode = 2, .size = 3, .changed = 4 };

static const char *folder(void)
{
	static char path[] = "/tmp/iaprof-fuzz-cache-XXXXXX";
	static bool is_made;
	if (!is_made && !mkdtemp(path))
		abort();
	is_made = true;
	return path;
}

/* Takes count items of a size from the bytes. */
static void *take(const uint8_t **bytes, size_t *size, size_t count, size_t item_size)
{
	size_t wanted = count * item_size;
	void *items = calloc(count + 1, item_size);
	size_t available = wanted < *size ? wanted : *size;
	if (items)
		memcpy(items, *bytes, available);
	*bytes += available;
	*size -= available;
	return items;
}

static void store_table(struct unwind_cache *cache, const uint8_t *bytes, size_t size)
{
	struct remote_unwind unwind = { 0 };
	struct unwind_table *table = &unwind.table;
	if (size < 4)
		return;
	unwind.segments.count = bytes[0] % 4;
	table->index.count = bytes[1] % 16;
	table->rows.count = bytes[2];
	table->rules.count = bytes[3] % 16;
	bytes += 4;
	size -= 4;
	unwind.segments.items = take(&bytes, &size, unwind.segments.count, sizeof *unwind.segments.items);
	table->index.items = take(&bytes, &size, table->index.count, sizeof *table->index.items);
	table->rules.items = take(&bytes, &size, table->rules.count, sizeof *table->rules.items);
	table->rows.items = take(&bytes, &size, table->rows.count, sizeof *table->rows.items);
	unwind_cache_store(cache, &file, &unwind);
	remote_unwind_free(&unwind);
}

static void store_bytes(const struct unwind_cache *cache, const uint8_t *bytes, size_t size)
{
	int descriptor = openat(cache->folder, "unwind-1-2", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t origin = sizeof cache->origin;
	/* The rest is read only if the origin and the file match. */
	if (descriptor < 0 || pwrite(descriptor, bytes, size, 0) < 0 ||
	    (size > origin + sizeof file && pwrite(descriptor, &cache->origin, origin, 0) < 0) ||
	    (size > origin + sizeof file && pwrite(descriptor, &file, sizeof file, (off_t)origin) < 0))
		abort();
	close(descriptor);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char path[64];
	struct unwind_cache cache;
	struct remote_unwind unwind;
	if (!size || size > 100000)
		return 0;
	snprintf(path, sizeof path, "%s/tables", folder());
	setenv("IAPROF_CACHE", path, 1);
	unwind_cache_open(&cache);
	if (cache.folder < 0)
		return 0;
	if (bytes[0] & 1)
		store_bytes(&cache, bytes + 1, size - 1);
	else
		store_table(&cache, bytes + 1, size - 1);
	if (unwind_cache_load(&cache, &file, &unwind)) {
		search_table(&unwind.table);
		remote_unwind_free(&unwind);
	}
	unwind_cache_close(&cache);
	return 0;
}
