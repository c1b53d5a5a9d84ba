/* SPDX-License-Identifier: Apache-2.0 */
/* See unwinder.h. */
#include "bpf/unwinder.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>

#include "base/cleanup.h"
#include "bpf/mapping_ranges.h"
#include "bpf/support.h"

#define PROCESSES_MAX 16384u
/* Mappings of all processes together: 4 MiB. */
#define MAPPINGS_MAX (128u << 10)
#define QUESTIONS_SIZE (64u << 10)
/* Sizes of the maps that tables share: for 32 MiB of code, and 2 MiB of rows. */
#define PAGES_SHARED 8192u
#define BLOCKS_SHARED 32768u

struct owner {
	uint32_t key; /* process id */
	uint32_t first, count;
	uint64_t execution;
};

struct unwinder_ranges {
	struct mapping_ranges free;
	KEYED_ARRAY(struct owner) owners;
};

static size_t map_bytes(size_t count, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (count * ((size + 7) & ~(size_t)7) + page - 1) & ~(page - 1);
}

static void *map_memory(int descriptor, size_t count, size_t size)
{
	void *memory = mmap(NULL, map_bytes(count, size), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void gap_give_back(unwinder_gap_array *gaps, uint32_t first, uint32_t count)
{
	size_t next = array_lower_bound(gaps->count, i, gaps->items[i].first < first);
	struct unwinder_gap *before = next ? &gaps->items[next - 1] : NULL;
	struct unwinder_gap *behind = next < gaps->count ? &gaps->items[next] : NULL;
	bool joins_before = before && before->first + before->count == first;
	if (behind && first + count == behind->first) {
		behind->first = first;
		behind->count += count;
		if (!joins_before)
			return;
		before->count += behind->count;
		memmove(behind, behind + 1, (--gaps->count - next) * sizeof *behind);
	} else if (joins_before) {
		before->count += count;
	} else if (count && array_reserve(gaps, gaps->count + 1)) {
		memmove(gaps->items + next + 1, gaps->items + next, (gaps->count++ - next) * sizeof *gaps->items);
		gaps->items[next] = (struct unwinder_gap){ first, count };
	}
}

/* Returns the first gap with room for count, or NULL. */
static struct unwinder_gap *gap_find(const unwinder_gap_array *gaps, uint32_t count)
{
	for (size_t i = 0; i < gaps->count; i++)
		if (gaps->items[i].count >= count)
			return &gaps->items[i];
	return NULL;
}

/* Takes count positions, for which there is room. */
static uint32_t gap_take(unwinder_gap_array *gaps, uint32_t count)
{
	struct unwinder_gap *gap = gap_find(gaps, count);
	uint32_t first = gap->first;
	gap->first += count;
	gap->count -= count;
	if (!gap->count)
		memmove(gap, gap + 1, (size_t)(gaps->items + --gaps->count - gap) * sizeof *gap);
	return first;
}

static void free_contents(struct unwinder_contents *contents)
{
	array_free(&contents->free_pages);
	array_free(&contents->free_blocks);
	if (contents->pages)
		munmap(contents->pages, map_bytes(contents->page_count, sizeof *contents->pages));
	if (contents->rows)
		munmap(contents->rows, map_bytes(contents->block_count, sizeof(struct unwind_block)));
}

int unwinder_init(struct unwinder *unwinder, const struct unwinder_maps *maps)
{
	static const struct unwinder_rule none;
	*unwinder = (struct unwinder){ .maps = *maps, .mapping_count = bpf_map__max_entries(maps->mappings) };
	unwinder->mappings =
		map_memory(bpf_map__fd(maps->mappings), unwinder->mapping_count, sizeof *unwinder->mappings);
	unwinder->rules = map_memory(bpf_map__fd(maps->rules), UNWIND_RULE_COUNT, sizeof *unwinder->rules);
	if (!unwinder->mappings || !unwinder->rules)
		return -errno;
	unwinder->ranges = calloc(1, sizeof *unwinder->ranges);
	if (!unwinder->ranges || keyed_array_add(&unwinder->known_rules, &none) == POSITION_NONE)
		return -ENOMEM;
	return mapping_ranges_init(&unwinder->ranges->free, unwinder->mapping_count);
}

void unwinder_free(struct unwinder *unwinder)
{
	struct unwinder_ranges *ranges = unwinder->ranges;
	ring_buffer__free(unwinder->questions);
	if (unwinder->mappings)
		munmap(unwinder->mappings, map_bytes(unwinder->mapping_count, sizeof *unwinder->mappings));
	if (unwinder->rules)
		munmap(unwinder->rules, map_bytes(UNWIND_RULE_COUNT, sizeof *unwinder->rules));
	keyed_array_free(&unwinder->known_rules);
	array_free(&unwinder->tables);
	for (size_t i = 0; i < unwinder->contents.count; i++)
		free_contents(&unwinder->contents.items[i]);
	array_free(&unwinder->contents);
	if (ranges) {
		mapping_ranges_free(&ranges->free);
		keyed_array_free(&ranges->owners);
	}
	free(ranges);
	*unwinder = (struct unwinder){ 0 };
}

/* Returns the position of a rule in the map of rules; 0, which is no rule, if the map is full. */
static uint16_t intern_rule(struct unwinder *unwinder, const struct iaprof_unwind_rule *rule)
{
	const struct unwinder_rule wanted = { *rule };
	uint32_t position = unwinder->known_rules.count < UNWIND_RULE_COUNT
				    ? keyed_array_add(&unwinder->known_rules, &wanted)
				    : keyed_array_find(&unwinder->known_rules, rule);
	if (position == POSITION_NONE) {
		unwinder->rules_refused++;
		return 0;
	}
	unwinder->rules[position] = *rule;
	return (uint16_t)position;
}

/* Validates positions and sizes, because BPF programs check only the bounds of the maps. */
static bool is_valid(const struct iaprof_unwind_table *data)
{
	if (!data->page_count || !data->rule_count || data->rule_count > UNWIND_RULE_COUNT || data->index[0] != 0 ||
	    data->index[data->page_count] != data->row_count)
		return false;
	for (uint32_t page = 0; page < data->page_count; page++)
		if (data->index[page] > data->index[page + 1] || data->index[page + 1] > data->row_count)
			return false;
	for (uint32_t row = 0; row < data->row_count; row++)
		if (data->rows[row].rule >= data->rule_count)
			return false;
	return true;
}

static int make_map(const char *name, size_t size, uint32_t count)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	return bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), (uint32_t)size, count, &options);
}

static int add_map(const struct bpf_map *outer, uint32_t number, const char *name, size_t size, uint32_t count,
		   void *memory)
{
	CLEANUP_CLOSE int map = make_map(name, size, count);
	void *mapped = map < 0 ? NULL : map_memory(map, count, size);
	if (!mapped)
		return -errno;
	*(void **)memory = mapped;
	return bpf_map_update_elem(bpf_map__fd(outer), &number, &map, BPF_ANY);
}

static uint64_t contents_bytes(const struct unwinder_contents *contents)
{
	return map_bytes(contents->page_count, sizeof *contents->pages) +
	       map_bytes(contents->block_count, sizeof(struct unwind_block));
}

/* Returns maps with room for a table, and sets *number. Returns NULL with errno set on failure. */
static struct unwinder_contents *find_contents(struct unwinder *unwinder, uint32_t pages, uint32_t blocks,
					       uint32_t *number)
{
	uint32_t unused = 0;
	/* Number 0 is UNWIND_TABLE_FRAME_POINTERS. */
	for (*number = UNWIND_TABLE_FRAME_POINTERS + 1; *number < unwinder->contents.count; ++*number) {
		struct unwinder_contents *contents = &unwinder->contents.items[*number];
		if (!contents->pages)
			unused = *number;
		else if (gap_find(&contents->free_pages, pages) && gap_find(&contents->free_blocks, blocks))
			return contents;
	}
	struct unwinder_contents made = { .page_count = pages > PAGES_SHARED ? pages : PAGES_SHARED,
					  .block_count = blocks > BLOCKS_SHARED ? blocks : BLOCKS_SHARED };
	if (unused)
		*number = unused;
	errno = *number >= UNWIND_TABLE_COUNT ? ENOSPC : ENOMEM;
	if (*number >= UNWIND_TABLE_COUNT || !array_extend(&unwinder->contents, (size_t)*number + 1) ||
	    !array_reserve(&made.free_pages, 1) || !array_reserve(&made.free_blocks, 1)) {
		free_contents(&made);
		return NULL;
	}
	gap_give_back(&made.free_pages, 0, made.page_count);
	gap_give_back(&made.free_blocks, 0, made.block_count);
	int code = add_map(unwinder->maps.rows, *number, "unwind_rows", sizeof(struct unwind_block), made.block_count,
			   &made.rows);
	if (!code)
		code = add_map(unwinder->maps.pages, *number, "unwind_pages", sizeof *made.pages, made.page_count,
			       &made.pages);
	if (code) {
		free_contents(&made);
		errno = -code;
		return NULL;
	}
	unwinder->contents.items[*number] = made;
	unwinder->table_bytes += contents_bytes(&made);
	return &unwinder->contents.items[*number];
}

/* Removes a table that no process uses, and its maps if they have no other. */
static void remove_table(struct unwinder *unwinder, uint32_t id)
{
	struct unwinder_table *table = id < unwinder->tables.count ? &unwinder->tables.items[id] : NULL;
	if (!table || !table->number)
		return;
	uint32_t number = table->number;
	struct unwinder_contents *contents = &unwinder->contents.items[number];
	gap_give_back(&contents->free_pages, table->position, table->page_count);
	gap_give_back(&contents->free_blocks, table->first_block, table->block_count);
	*table = (struct unwinder_table){ 0 };
	unwinder->table_count--;
	if (--contents->table_count)
		return;
	unwinder->table_bytes -= contents_bytes(contents);
	bpf_map_delete_elem(bpf_map__fd(unwinder->maps.rows), &number);
	bpf_map_delete_elem(bpf_map__fd(unwinder->maps.pages), &number);
	free_contents(contents);
	*contents = (struct unwinder_contents){ 0 };
}

int unwinder_add_table(struct unwinder *unwinder, const struct iaprof_unwind_table *data)
{
	uint32_t number, blocks = (uint32_t)(((uint64_t)data->row_count + UNWIND_BLOCK_ROWS - 1) / UNWIND_BLOCK_ROWS);
	remove_table(unwinder, data->id);
	if (!data->page_count)
		return 0;
	if (!is_valid(data))
		return -EINVAL;
	CLEANUP_FREE uint16_t *rules = calloc(data->rule_count, sizeof *rules);
	if (!rules || !array_extend(&unwinder->tables, (size_t)data->id + 1))
		return -ENOMEM;
	struct unwinder_contents *contents = find_contents(unwinder, data->page_count, blocks, &number);
	if (!contents)
		return -errno;
	for (uint32_t i = 0; i < data->rule_count; i++)
		rules[i] = intern_rule(unwinder, &data->rules[i]);
	uint32_t first_page = gap_take(&contents->free_pages, data->page_count);
	uint32_t first_block = gap_take(&contents->free_blocks, blocks);
	uint32_t first_row = first_block * UNWIND_BLOCK_ROWS;
	for (uint32_t i = 0; i < data->row_count; i++)
		contents->rows[first_row + i] =
			(struct iaprof_unwind_row){ data->rows[i].offset, rules[data->rows[i].rule] };
	for (uint32_t i = 0; i < data->page_count; i++)
		contents->pages[first_page + i] =
			(struct unwind_page){ first_row + data->index[i], data->index[i + 1] - data->index[i] };
	unwinder->tables.items[data->id] = (struct unwinder_table){ .number = number,
								    .first_page = (uint32_t)data->first_page,
								    .page_count = data->page_count,
								    .position = first_page,
								    .first_block = first_block,
								    .block_count = blocks };
	contents->table_count++;
	unwinder->table_count++;
	return 0;
}

static void forget_process(struct unwinder *unwinder, uint32_t pid)
{
	struct unwinder_ranges *ranges = unwinder->ranges;
	uint32_t position = keyed_array_find(&ranges->owners, &pid);
	if (position == POSITION_NONE)
		return;
	const struct owner *owner = &ranges->owners.items[position];
	bpf_map_delete_elem(bpf_map__fd(unwinder->maps.processes), &pid);
	if (owner->count)
		mapping_ranges_give_back(&ranges->free, owner->first, owner->count);
	keyed_array_remove(&ranges->owners, position);
}

static void set_mapping(const struct unwinder *unwinder, uint32_t position, const struct iaprof_unwind_mapping *mapping)
{
	struct unwinder_table table = { 0 };
	if (mapping->table < unwinder->tables.count)
		table = unwinder->tables.items[mapping->table];
	unwinder->mappings[position] = (struct unwind_mapping){ .start = mapping->start,
								.end = mapping->end,
								.bias = mapping->bias,
								.table = table.number,
								.first_page = table.first_page,
								.page_count = table.page_count,
								.position = table.position };
}

int unwinder_set_process(struct unwinder *unwinder, const struct iaprof_unwind_process *data)
{
	struct unwinder_ranges *ranges = unwinder->ranges;
	uint32_t pid = data->pid;
	uint32_t count = data->mapping_count < UNWINDER_MAPPINGS_MAX ? data->mapping_count : UNWINDER_MAPPINGS_MAX;
	if (!count) {
		forget_process(unwinder, pid);
		return 0;
	}
	uint32_t first = mapping_ranges_take(&ranges->free, count);
	if (first == UINT32_MAX) {
		forget_process(unwinder, pid);
		first = mapping_ranges_take(&ranges->free, count);
	}
	if (first == UINT32_MAX)
		return -ENOSPC;
	for (uint32_t i = 0; i < count; i++)
		set_mapping(unwinder, first + i, &data->mappings[i]);
	const struct unwind_process process = { .execution = data->execution, .first = first, .count = count };
	uint32_t position = keyed_array_add(&ranges->owners, &(struct owner){ .key = pid });
	int code = -ENOMEM;
	if (position != POSITION_NONE)
		code = bpf_map_update_elem(bpf_map__fd(unwinder->maps.processes), &pid, &process, BPF_ANY);
	if (code) {
		mapping_ranges_give_back(&ranges->free, first, count);
		return code == -E2BIG ? -ENOSPC : code;
	}
	struct owner *owner = &ranges->owners.items[position];
	if (owner->count)
		mapping_ranges_give_back(&ranges->free, owner->first, owner->count);
	owner->first = first;
	owner->count = count;
	owner->execution = data->execution;
	return 0;
}

const struct unwind_mapping *unwinder_mappings(const struct unwinder *unwinder, uint32_t pid, uint64_t execution,
					       uint32_t *count)
{
	const struct owner *owner = keyed_array_get(&unwinder->ranges->owners, &pid);
	if (!owner || !owner->count || owner->execution != execution)
		return NULL;
	*count = owner->count;
	return unwinder->mappings + owner->first;
}

bool unwinder_is_supported(enum bpf_prog_type type, const char **reason)
{
	*reason = NULL;
#ifndef __x86_64__
	*reason = "only on x86-64";
#endif
	if (libbpf_probe_bpf_helper(type, BPF_FUNC_loop, NULL) != 1)
		*reason = "Linux before 5.17 lacks bpf_loop()";
	return !*reason;
}

int unwinder_set_sizes(const struct iaprof_host *host, const struct unwinder_maps *maps, bool use_tables)
{
	const struct bpf_map_size sizes[] = {
		{ maps->processes, use_tables ? PROCESSES_MAX : 1, 0 },
		{ maps->mappings, use_tables ? MAPPINGS_MAX : 1, 0 },
		{ maps->rules, use_tables ? UNWIND_RULE_COUNT : 1, 0 },
		{ maps->pages, use_tables ? UNWIND_TABLE_COUNT : 1, 0 },
		{ maps->rows, use_tables ? UNWIND_TABLE_COUNT : 1, 0 },
		{ maps->questions, use_tables ? QUESTIONS_SIZE : (uint32_t)sysconf(_SC_PAGESIZE), 0 },
	};
	return bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof *sizes);
}

static int take_question(void *context, void *data, size_t size)
{
	const struct unwinder *unwinder = context;
	const struct unwind_question *question = data;
	if (size >= sizeof *question)
		unwinder->core->unwind_process(unwinder->host, question->process, question->execution);
	return 0;
}

int unwinder_open(struct unwinder *unwinder, const struct iaprof_host *host, const struct unwinder_maps *maps,
		  iaprof_on_fd *on_question, iaprof_on_unwind *on_answer)
{
	int result = unwinder_init(unwinder, maps);
	unwinder->host = host;
	unwinder->core = host->extension(host, IAPROF_UNWIND_EXTENSION);
	if (!result && !unwinder->core)
		result = -ENOTSUP;
	if (!result) {
		struct bpf_log log = bpf_log_begin(host);
		unwinder->questions = ring_buffer__new(bpf_map__fd(maps->questions), take_question, unwinder, NULL);
		result = unwinder->questions ? 0 : -errno;
		bpf_log_end(&log);
	}
	if (!result)
		result = host->on_fd(host, ring_buffer__epoll_fd(unwinder->questions), EPOLLIN, on_question);
	if (!result)
		result = unwinder->core->on_unwind(host, on_answer);
	return result ? host->fail(host, result, "cannot unwind user stacks: %s", strerror(-result)) : 0;
}

void unwinder_ask(struct unwinder *unwinder)
{
	ring_buffer__consume(unwinder->questions);
}

int unwinder_take(struct unwinder *unwinder, const struct iaprof_unwind_table *table,
		  const struct iaprof_unwind_process *process)
{
	/* If there is no room for the table of a file, its code is unwound by frame pointers. */
	if (table && unwinder_add_table(unwinder, table))
		unwinder->tables_refused++;
	else if (process && unwinder_set_process(unwinder, process))
		unwinder->processes_refused++;
	return 0;
}

void unwinder_describe(const struct unwinder *unwinder, const struct iaprof_host *host)
{
	host->metadata(host, "unwind tables",
		       "%" PRIu32 " files, %" PRIu64 " KiB; no room for %" PRIu64 " processes, %" PRIu64
		       " files, %" PRIu64 " rules",
		       unwinder->table_count, unwinder->table_bytes >> 10, unwinder->processes_refused,
		       unwinder->tables_refused, unwinder->rules_refused);
}
