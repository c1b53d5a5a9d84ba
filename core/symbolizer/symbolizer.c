/* SPDX-License-Identifier: Apache-2.0 */
/* From addresses to functions: which image an address is in, and the frames made of what the image knows. */
#include "symbolizer/symbolizer.h"

#include <errno.h>
#include <string.h>
#include "base/string_table.h"
#include "symbolizer/image_cache.h"
#include "symbolizer/kallsyms.h"
#include "symbolizer/perf_map_cache.h"
#include "symbolizer/shown_names.h"
#include "symbolizer/worker/worker_message.h"

#define DEFAULT_DEBUG_PATH "/usr/lib/debug"
#define DEFAULT_KALLSYMS "/proc/kallsyms"

struct symbolizer {
	bool live;
	struct string_table strings;
	struct broker *broker;
	struct worker_pool *pool;
	struct budget budget;
	atomic_uint_least64_t cost; /* ns of CPU time of broker and worker */
	struct image_cache *images;
	struct perf_map_cache *perf_maps;
	const char *kallsyms_path;
	bool kallsyms_tried;
	struct kallsyms kallsyms;
	struct error warning;
	uint64_t unknown, deleted;
	struct shown_names shown_names;
};

static const char *intern(struct symbolizer *symbolizer, const char *text)
{
	return string_table_intern(&symbolizer->strings, text, strlen(text));
}

struct symbolizer *symbolizer_new(const struct symbolizer_options *options)
{
	static char *const worker[] = { WORKER_PROGRAM, NULL };
	struct symbolizer *symbolizer = calloc(1, sizeof *symbolizer);
	if (!symbolizer)
		return NULL;
	symbolizer->live = options->live;
	symbolizer->shown_names.strings = &symbolizer->strings;
	symbolizer->kallsyms_path = intern(symbolizer, options->kallsyms ? options->kallsyms : DEFAULT_KALLSYMS);
	const char *debug_path = intern(symbolizer, options->debug_path ? options->debug_path : DEFAULT_DEBUG_PATH);
	budget_init(&symbolizer->budget);
	symbolizer->broker = broker_new();
	symbolizer->pool = worker_pool_new(worker, &symbolizer->budget.delay);
	if (symbolizer->kallsyms_path && debug_path && symbolizer->broker && symbolizer->pool) {
		symbolizer->images = image_cache_new(&(struct image_cache_options){ .debug_path = debug_path,
										    .lines = options->lines,
										    .live = options->live,
										    .broker = symbolizer->broker,
										    .pool = symbolizer->pool,
										    .budget = &symbolizer->budget });
		symbolizer->perf_maps = perf_map_cache_new(symbolizer->broker, symbolizer->pool, &symbolizer->budget);
	}
	if (!symbolizer->images || !symbolizer->perf_maps) {
		symbolizer_free(symbolizer);
		return NULL;
	}
	return symbolizer;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	image_cache_free(symbolizer->images);
	perf_map_cache_free(symbolizer->perf_maps);
	worker_pool_free(symbolizer->pool);
	broker_free(symbolizer->broker);
	budget_free(&symbolizer->budget);
	kallsyms_free(&symbolizer->kallsyms);
	shown_names_free(&symbolizer->shown_names);
	string_table_free(&symbolizer->strings);
	free(symbolizer);
}

const char *symbolizer_warning(const struct symbolizer *symbolizer)
{
	return symbolizer->warning.text[0] ? symbolizer->warning.text : NULL;
}

struct symbolizer_statistics symbolizer_statistics(const struct symbolizer *symbolizer)
{
	struct symbolizer_statistics statistics = { .unknown = symbolizer->unknown, .deleted = symbolizer->deleted };
	image_cache_count(symbolizer->images, &statistics.images, &statistics.images_failed);
	statistics.images_failed += perf_map_cache_failed(symbolizer->perf_maps);
	return statistics;
}

void symbolizer_end_by(struct symbolizer *symbolizer, uint64_t end)
{
	budget_end_by(&symbolizer->budget, end);
}

struct deadline symbolizer_end(struct symbolizer *symbolizer)
{
	return budget_end(&symbolizer->budget);
}

void symbolizer_note_cost(struct symbolizer *symbolizer, uint64_t more)
{
	atomic_store(&symbolizer->cost,
		     broker_cpu_time(symbolizer->broker) + worker_pool_cpu_time(symbolizer->pool) + more);
}

struct budget *symbolizer_budget(struct symbolizer *symbolizer)
{
	return &symbolizer->budget;
}

uint64_t symbolizer_cost(const struct symbolizer *symbolizer)
{
	return atomic_load(&symbolizer->cost);
}

const char *symbolizer_reading(const struct symbolizer *symbolizer)
{
	return atomic_load(&symbolizer->budget.reading);
}

const struct refusal *symbolizer_refusals(const struct symbolizer *symbolizer, size_t *count, uint64_t *more)
{
	*count = symbolizer->budget.refusals.count;
	*more = symbolizer->budget.refused_more;
	return symbolizer->budget.refusals.items;
}

/* Makes a symbol one without a name. */
static size_t set_unknown(struct symbolizer *symbolizer, struct symbol *symbol)
{
	symbolizer->unknown++;
	symbol->name = "[unknown]";
	symbol->flags = IAPROF_FRAME_UNKNOWN;
	symbol->offset = 0;
	return 1;
}

static size_t set_deleted(struct symbolizer *symbolizer, struct symbol *symbol)
{
	symbolizer->deleted++;
	symbol->name = "[deleted]";
	symbol->flags = IAPROF_FRAME_UNKNOWN;
	return 1;
}

/*
 * One address of an image; what is the same for all frames is in *common. The function itself has the name that the
 * linker gave it, as in perf; DWARF adds what is inlined, and lines.
 */
static size_t resolve_in_image(struct symbolizer *symbolizer, struct remote_image *image, struct symbol common,
			       struct symbol *symbols, size_t capacity)
{
	struct debug_frame frames[SYMBOLIZER_INLINE_DEPTH_MAX] = { 0 };
	if (capacity > SYMBOLIZER_INLINE_DEPTH_MAX)
		capacity = SYMBOLIZER_INLINE_DEPTH_MAX;
	size_t count = image_cache_lines(symbolizer->images, image, common.address, frames, capacity);
	uint64_t start;
	const char *name = symbol_table_find(&image->symbols, common.address, &start);
	common.offset = name ? common.address - start : 0;
	if (!name)
		name = frames[0].name;
	for (size_t i = 0; i < count || i == 0; i++) {
		symbols[i] = common;
		symbols[i].flags = i ? IAPROF_FRAME_INLINED : 0;
		symbols[i].file = frames[i].file;
		symbols[i].line = frames[i].line;
		const char *frame_name = i ? frames[i].name : name;
		symbols[i].name = frame_name ? shown_names_get(&symbolizer->shown_names, frame_name) : NULL;
		if (symbols[i].name)
			continue;
		if (!i)
			return set_unknown(symbolizer, &symbols[0]);
		symbols[i].name = "[unknown]";
		symbols[i].flags |= IAPROF_FRAME_UNKNOWN;
	}
	return count ? count : 1;
}

/* Memory that belongs to no file, where code can only have been made at run time. */
static bool is_anonymous(const char *path)
{
	static const char *const prefixes[] = { "//anon", "/anon_hugepage", "/memfd:", "/dev/zero", "/dev/shm/",
						"/SYSV",  "[heap]",         "[stack",  "[anon:",    "anon_inode:" };
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return !*path;
}

static size_t resolve_generated(struct symbolizer *symbolizer, const struct process *process, uint64_t address,
				struct symbol *symbol)
{
	uint64_t start;
	const char *name =
		symbolizer->live ? perf_map_cache_find(symbolizer->perf_maps, process, address, &start) : NULL;
	name = name ? string_table_intern(&symbolizer->strings, name, strnlen(name, IAPROF_STRING_LENGTH_MAX)) : NULL;
	if (!name)
		return set_unknown(symbolizer, symbol);
	symbol->name = name;
	symbol->kind = IAPROF_FRAME_JIT;
	symbol->offset = address - start;
	return 1;
}

size_t symbolizer_resolve_user(struct symbolizer *symbolizer, const struct process *process,
			       const struct mapping *mapping, uint64_t address, struct symbol *symbols, size_t capacity)
{
	symbols[0] = (struct symbol){ .kind = IAPROF_FRAME_USER, .address = address };
	if (!mapping)
		return set_unknown(symbolizer, &symbols[0]);
	symbols[0].module = *mapping->path ? intern(symbolizer, mapping->path) : NULL;
	if (is_anonymous(mapping->path))
		return resolve_generated(symbolizer, process, address, &symbols[0]);

	struct remote_image *image;
	int code = image_cache_get(symbolizer->images, process, mapping, &image);
	uint64_t file_offset = address - mapping->start + mapping->file_offset;
	if (code) {
		/* Without the file, its numbering of addresses is not known; the place in it is. */
		symbols[0].address = file_offset;
		if (code == -ESTALE || (code == -ENOENT && symbolizer->live))
			return set_deleted(symbolizer, &symbols[0]);
		return set_unknown(symbolizer, &symbols[0]);
	}
	if (image->build_id_size) {
		symbols[0].build_id = image->build_id;
		symbols[0].build_id_size = image->build_id_size;
	}
	if (!remote_image_address(image, file_offset, &symbols[0].address)) {
		symbols[0].address = file_offset;
		return set_unknown(symbolizer, &symbols[0]);
	}
	return resolve_in_image(symbolizer, image, symbols[0], symbols, capacity);
}

void symbolizer_look_ahead(struct symbolizer *symbolizer, const struct process *process, const struct mapping *mapping,
			   uint64_t address, enum budget_patience patience)
{
	if (!is_anonymous(mapping->path))
		image_cache_look_ahead(symbolizer->images, process, mapping, address, patience);
}

void symbolizer_give_up(struct symbolizer *symbolizer)
{
	image_cache_give_up(symbolizer->images);
}

size_t symbolizer_resolve_kernel(struct symbolizer *symbolizer, uint64_t address, struct symbol *symbols,
				 size_t capacity)
{
	(void)capacity;
	if (!symbolizer->kallsyms_tried) {
		symbolizer->kallsyms_tried = true;
		kallsyms_read(&symbolizer->kallsyms, symbolizer->kallsyms_path, &symbolizer->warning);
	}
	symbols[0] = (struct symbol){ .module = "[kernel]", .kind = IAPROF_FRAME_LINUX_KERNEL, .address = address };
	uint64_t start;
	const char *module;
	const char *name = kallsyms_find(&symbolizer->kallsyms, address, &start, &module);
	symbols[0].name = name ? shown_names_get(&symbolizer->shown_names, name) : NULL;
	if (!symbols[0].name)
		return set_unknown(symbolizer, &symbols[0]);
	symbols[0].module = module;
	symbols[0].offset = address - start;
	return 1;
}
