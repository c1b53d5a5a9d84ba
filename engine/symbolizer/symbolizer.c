/* SPDX-License-Identifier: Apache-2.0 */
/* See symbolizer.h. */
#include "symbolizer/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/string_table.h"
#include "symbolizer/debuginfod.h"
#include "symbolizer/image_cache.h"
#include "symbolizer/kallsyms.h"
#include "symbolizer/perf_map_cache.h"
#include "symbolizer/display_names.h"
#include "symbolizer/worker/worker_message.h"

/* Bytes of a module's name in the name of a frame. */
#define NAMELESS_MODULE_MAX 255

/*
 * Bytes of tables and names above which symbolizer_trim() releases all images, which are then read again when needed.
 * Images in use that exceed this are released at every such time, but no more often.
 */
#define TABLES_MANY ((uint64_t)96 << 20)
#define TRIM_PERIOD (600 * NANOSECONDS_PER_SECOND)
/* Bytes of tables above which images are released that no new address was in for a period. */
#define TABLES_USUAL ((uint64_t)8 << 20)
#define USE_PERIOD (60 * NANOSECONDS_PER_SECOND)

#define DEFAULT_DEBUG_PATH "/usr/lib/debug"
#define DEFAULT_KALLSYMS "/proc/kallsyms"

struct symbolizer {
	bool live;
	struct string_table settings; /* texts of the options */
	struct string_table strings;
	struct broker *broker;
	struct worker_pool *pool;
	struct budget budget;
	atomic_uint_least64_t cost;    /* CPU time of broker and worker, in ns */
	struct debuginfod *debuginfod; /* NULL: none */
	struct image_cache *images;
	struct perf_map_cache *perf_maps;
	struct image_cache_options image_options;
	uint64_t trimmed;              /* time of the last symbolizer_trim() that released something */
	uint64_t use_begin;            /* begin of the period of use of the images */
	uint64_t images_failed_before; /* in released images */
	const char *kallsyms_path;
	bool kallsyms_tried;
	struct kallsyms kallsyms;
	struct error warning;
	uint64_t unknown, deleted;
	struct display_names display_names;
};

static const char *keep_setting(struct symbolizer *symbolizer, const char *text)
{
	return string_table_intern(&symbolizer->settings, text, strlen(text));
}

struct symbolizer *symbolizer_new(const struct symbolizer_options *options)
{
	static char *const worker[] = { WORKER_PROGRAM, NULL };
	struct symbolizer *symbolizer = calloc(1, sizeof *symbolizer);
	if (!symbolizer)
		return NULL;
	symbolizer->live = options->live;
	symbolizer->display_names.strings = &symbolizer->strings;
	symbolizer->kallsyms_path = keep_setting(symbolizer, options->kallsyms ? options->kallsyms : DEFAULT_KALLSYMS);
	const char *debug_path =
		keep_setting(symbolizer, options->debug_path ? options->debug_path : DEFAULT_DEBUG_PATH);
	budget_init(&symbolizer->budget);
	symbolizer->broker = broker_new();
	symbolizer->pool = worker_pool_new(worker, &symbolizer->budget.delay);
	const char *url = options->debuginfod ? keep_setting(symbolizer, options->debuginfod) : NULL;
	symbolizer->debuginfod = url ? debuginfod_new(url, &symbolizer->budget) : NULL;
	bool has_server = !options->debuginfod || symbolizer->debuginfod;
	if (has_server && symbolizer->kallsyms_path && debug_path && symbolizer->broker && symbolizer->pool) {
		symbolizer->image_options = (struct image_cache_options){ .debug_path = debug_path,
									  .lines = options->lines,
									  .live = options->live,
									  .kept = options->kept,
									  .broker = symbolizer->broker,
									  .pool = symbolizer->pool,
									  .debuginfod = symbolizer->debuginfod,
									  .budget = &symbolizer->budget };
		symbolizer->images = image_cache_new(&symbolizer->image_options);
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
	debuginfod_free(symbolizer->debuginfod);
	budget_free(&symbolizer->budget);
	kallsyms_free(&symbolizer->kallsyms);
	display_names_free(&symbolizer->display_names);
	string_table_free(&symbolizer->strings);
	string_table_free(&symbolizer->settings);
	free(symbolizer);
}

const char *symbolizer_warning(const struct symbolizer *symbolizer)
{
	return symbolizer->warning.text[0] ? symbolizer->warning.text : NULL;
}

void symbolizer_trim(struct symbolizer *symbolizer)
{
	uint64_t now = clock_monotonic();
	uint64_t tables = symbolizer->budget.tables_trusted + symbolizer->budget.owners.amount;
	uint64_t size =
		tables + symbolizer->strings.memory.size +
		symbolizer->strings.entries.count * (sizeof(struct string_entry) + 2 * sizeof(struct hash_slot));
	image_cache_rest(symbolizer->images);
	if (now - symbolizer->use_begin >= USE_PERIOD) {
		image_cache_begin_period(symbolizer->images, tables > TABLES_USUAL);
		symbolizer->use_begin = now;
	}
	if (now - symbolizer->trimmed < TRIM_PERIOD)
		return;
	budget_begin_period(&symbolizer->budget);
	symbolizer->trimmed = now;
	if (size < TABLES_MANY)
		return;
	/* Mappings that are older than the first cache stay so. */
	symbolizer->image_options.begin = image_cache_begin(symbolizer->images);
	struct image_cache *images = image_cache_new(&symbolizer->image_options);
	if (!images)
		return;
	uint64_t count, failed;
	image_cache_count(symbolizer->images, &count, &failed);
	symbolizer->images_failed_before += failed;
	image_cache_free(symbolizer->images);
	symbolizer->images = images;
	display_names_free(&symbolizer->display_names);
	string_table_free(&symbolizer->strings);
	symbolizer->strings = (struct string_table){ 0 };
	malloc_trim(0);
}

struct symbolizer_statistics symbolizer_statistics(const struct symbolizer *symbolizer)
{
	struct symbolizer_statistics statistics = { .unknown = symbolizer->unknown, .deleted = symbolizer->deleted };
	image_cache_count(symbolizer->images, &statistics.images, &statistics.images_failed);
	statistics.images_failed += symbolizer->images_failed_before + perf_map_cache_failed(symbolizer->perf_maps);
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

void symbolizer_rest(struct symbolizer *symbolizer, uint64_t more)
{
	worker_pool_rest(symbolizer->pool);
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

/* Sets the symbol for an address whose function and module are both unknown. */
static size_t set_unknown(struct symbolizer *symbolizer, struct symbol *symbol)
{
	symbolizer->unknown++;
	symbol->name = "[unknown]";
	symbol->flags = IAPROF_FRAME_UNKNOWN;
	symbol->offset = 0;
	return 1;
}

/*
 * Sets a symbol without a name in a module: "[libfoo.so+0x1234]", with the address at which the function, or otherwise
 * the code, is in the ELF file; or "[anon]" for memory without a file, whose addresses mean nothing to others.
 */
static size_t set_nameless(struct symbolizer *symbolizer, struct symbol *symbol, const uint64_t *address)
{
	char text[NAMELESS_MODULE_MAX + 64];
	const char *slash = symbol->module ? strrchr(symbol->module, '/') : NULL;
	const char *base = slash && slash[1] ? slash + 1 : symbol->module;
	set_unknown(symbolizer, symbol);
	if (!base)
		return 1;
	size_t length = strlen(base), begin = base[0] == '[';
	length -= begin && base[length - 1] == ']';
	length -= begin;
	char place[32] = "";
	if (address)
		snprintf(place, sizeof place, "+0x%" PRIx64, *address);
	int shown = length < NAMELESS_MODULE_MAX ? (int)length : NAMELESS_MODULE_MAX;
	int size = snprintf(text, sizeof text, "[%.*s%s]", shown, base + begin, place);
	const char *name = string_table_intern(&symbolizer->strings, text, (size_t)size);
	symbol->name = name ? name : symbol->name;
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
 * Resolves an address of an image; *common has the members that all frames share. The function itself has the name from
 * the symbol table, as in perf; DWARF adds inlined functions and lines.
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
	uint64_t nameless = name ? start : common.address;
	common.offset = name ? common.address - start : 0;
	if (!name || !*name)
		name = frames[0].name;
	for (size_t i = 0; i < count || i == 0; i++) {
		symbols[i] = common;
		symbols[i].flags = i ? IAPROF_FRAME_INLINED : 0;
		symbols[i].file = frames[i].file;
		symbols[i].line = frames[i].line;
		const char *frame_name = i ? frames[i].name : name;
		symbols[i].name = frame_name ? display_names_get(&symbolizer->display_names, frame_name) : NULL;
		if (symbols[i].name)
			continue;
		if (!i)
			return set_nameless(symbolizer, &symbols[0], &nameless);
		symbols[i].name = "[unknown]";
		symbols[i].flags |= IAPROF_FRAME_UNKNOWN;
	}
	return count ? count : 1;
}

/* Returns whether the memory belongs to no file, or to one in memory, so that its code may be generated. */
static bool is_anonymous(const char *path)
{
	static const char *const prefixes[] = { "//anon", "/anon_hugepage", "/memfd:", "/dev/zero", "/dev/shm/",
						"/SYSV",  "[heap]",         "[stack",  "[anon:",    "anon_inode:" };
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (strncmp(path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return !*path;
}

/* Returns whether a file is mapped, or may be: a program or library in memory, or a copy of its code. */
static bool may_have_image(const struct mapping *mapping)
{
	return !is_anonymous(mapping->path) || mapping_is_file_in_memory(mapping);
}

static size_t resolve_generated(struct symbolizer *symbolizer, const struct process *process,
				const struct mapping *mapping, uint64_t address, struct symbol *symbol)
{
	uint64_t start;
	const char *name =
		symbolizer->live ? perf_map_cache_find(symbolizer->perf_maps, process, address, &start) : NULL;
	name = name ? string_table_intern(&symbolizer->strings, name, strnlen(name, IAPROF_STRING_LENGTH_MAX)) : NULL;
	if (!name) {
		bool is_data = !strncmp(mapping->path, "[heap]", 6) || !strncmp(mapping->path, "[stack", 6);
		symbol->kind = is_data ? IAPROF_FRAME_USER : IAPROF_FRAME_JIT;
		return set_nameless(symbolizer, symbol, NULL);
	}
	symbol->name = name;
	symbol->kind = IAPROF_FRAME_JIT;
	symbol->offset = address - start;
	return 1;
}

/* Resolves code in anonymous memory that is no copy of the file which was mapped there. */
static size_t resolve_copied(struct symbolizer *symbolizer, const struct process *process,
			     const struct mapping *mapping, uint64_t address, struct symbol *symbol)
{
	symbol->address = address;
	symbol->module = NULL;
	return resolve_generated(symbolizer, process, mapping, address, symbol);
}

size_t symbolizer_resolve_user(struct symbolizer *symbolizer, const struct process *process,
			       const struct mapping *mapping, uint64_t address, struct symbol *symbols, size_t capacity)
{
	symbols[0] = (struct symbol){ .kind = IAPROF_FRAME_USER, .address = address };
	if (!mapping)
		return set_unknown(symbolizer, &symbols[0]);
	symbols[0].module = *mapping->path ? mapping->path : NULL;
	if (!may_have_image(mapping))
		return resolve_generated(symbolizer, process, mapping, address, &symbols[0]);

	struct remote_image *image;
	uint64_t file_offset;
	int code = image_cache_get(symbolizer->images, process, mapping, address, &image, &file_offset);
	bool is_copied = mapping->flags & IAPROF_MAPPING_COPIED;
	if (is_copied && (code || !remote_image_address(image, file_offset, &symbols[0].address)))
		return resolve_copied(symbolizer, process, mapping, address, &symbols[0]);
	if (code && code != -ESTALE && code != -ENOENT && is_anonymous(mapping->path))
		return resolve_generated(symbolizer, process, mapping, address, &symbols[0]);
	if (code) {
		/* Without the file, its ELF addresses are unknown; the file offset is used instead. */
		symbols[0].address = file_offset;
		if (code == -ESTALE || (code == -ENOENT && symbolizer->live))
			return set_deleted(symbolizer, &symbols[0]);
		return set_nameless(symbolizer, &symbols[0], &file_offset);
	}
	if (image->build_id_size) {
		symbols[0].build_id = image->build_id;
		symbols[0].build_id_size = image->build_id_size;
	}
	if (!remote_image_address(image, file_offset, &symbols[0].address)) {
		symbols[0].address = file_offset;
		return set_nameless(symbolizer, &symbols[0], &file_offset);
	}
	return resolve_in_image(symbolizer, image, symbols[0], symbols, capacity);
}

void symbolizer_prefetch(struct symbolizer *symbolizer, const struct process *process, const struct mapping *mapping,
			 uint64_t address, enum budget_patience patience)
{
	if (may_have_image(mapping))
		image_cache_prefetch(symbolizer->images, process, mapping, address, patience);
	else if (symbolizer->live)
		perf_map_cache_keep(symbolizer->perf_maps, process);
}

void symbolizer_give_up(struct symbolizer *symbolizer)
{
	image_cache_give_up(symbolizer->images);
}

size_t symbolizer_resolve_kernel(struct symbolizer *symbolizer, uint64_t address, struct symbol *symbols,
				 size_t capacity)
{
	if (!symbolizer->kallsyms_tried) {
		symbolizer->kallsyms_tried = true;
		kallsyms_read(&symbolizer->kallsyms, symbolizer->kallsyms_path, &symbolizer->warning);
	}
	symbols[0] = (struct symbol){ .module = "[kernel]", .kind = IAPROF_FRAME_LINUX_KERNEL, .address = address };
	uint64_t start;
	const char *module;
	const char *name = kallsyms_find(&symbolizer->kallsyms, address, &start, &module);
	symbols[0].name = name ? display_names_get(&symbolizer->display_names, name) : NULL;
	if (!symbols[0].name) /* without an address, which would defeat KASLR */
		return set_nameless(symbolizer, &symbols[0], NULL);
	symbols[0].module = module;
	symbols[0].offset = address - start;
	return 1;
}
