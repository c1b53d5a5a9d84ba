/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills the maps of unwind.bpf.h with the tables of files and the mappings of processes, and asks the core for those
 * that the BPF programs lack. For sources that unwind user stacks. Owned by the loop thread; BPF programs read the maps
 * at any time.
 */
#pragma once

#include <stdbool.h>
#include <bpf/libbpf.h>
#include <iaprof/host.h>
#include <iaprof/unwind.h>
#include "base/array.h"
#include "base/keyed_array.h"
#include "bpf/unwind.h"

struct unwinder_maps {
	struct bpf_map *processes, *mappings, *rules, *pages, *rows, *questions;
};
/* The maps of a skeleton whose object includes unwind.bpf.h. */
#define UNWINDER_MAPS(skeleton)                                                                                        \
	{                                                                                                              \
		(skeleton)->maps.unwind_processes, (skeleton)->maps.unwind_mappings, (skeleton)->maps.unwind_rules,    \
			(skeleton)->maps.unwind_pages, (skeleton)->maps.unwind_rows, (skeleton)->maps.unwind_questions \
	}

struct unwinder_table {
	uint32_t number;                           /* in the maps; UNWIND_TABLE_FRAME_POINTERS: none */
	uint32_t first_page, page_count, position; /* as in struct unwind_mapping */
	uint32_t first_block, block_count;
};

/* Unused positions of a map, ascending. */
struct unwinder_gap {
	uint32_t first, count;
};
typedef ARRAY(struct unwinder_gap) unwinder_gap_array;

/*
 * A pair of maps that several tables share. Adding a map takes tens of milliseconds on a busy machine, because the
 * Linux kernel waits for all running programs.
 */
struct unwinder_contents {
	struct unwind_page *pages;        /* NULL: the number is free */
	struct iaprof_unwind_row *rows;   /* the rows of all blocks */
	uint32_t page_count, block_count; /* capacity */
	unwinder_gap_array free_pages, free_blocks;
	uint32_t table_count;
};

struct unwinder_rule {
	struct iaprof_unwind_rule key;
};

struct unwinder_ranges;
struct ring_buffer;

/* Initialise with {0}; unwinder_free() accepts that. */
struct unwinder {
	const struct iaprof_host *host; /* NULL: no core answers questions */
	const struct iaprof_unwind_extension *core;
	struct unwinder_maps maps;
	struct ring_buffer *questions;
	struct unwind_mapping *mappings; /* the map's memory */
	uint32_t mapping_count;
	struct iaprof_unwind_rule *rules; /* the map's memory */
	KEYED_ARRAY(struct unwinder_rule) known_rules;
	ARRAY(struct unwinder_table) tables;      /* by the core's id */
	ARRAY(struct unwinder_contents) contents; /* by number */
	uint32_t table_count;                     /* tables in the maps */
	uint64_t table_bytes;
	struct unwinder_ranges *ranges;
	/* Numbers of items that did not fit. */
	uint64_t rules_refused, tables_refused, processes_refused;
};

/* Returns whether programs of this type can unwind by tables. Sets *reason if not, else to NULL. */
bool unwinder_is_supported(enum bpf_prog_type type, const char **reason);

/* Before the object is loaded; without use_tables, the maps stay small. Returns 0, or the result of host->fail(). */
int unwinder_set_sizes(const struct iaprof_host *host, const struct unwinder_maps *maps, bool use_tables);

/*
 * For prepare(), after the object was loaded. on_question calls unwinder_ask(), on_answer unwinder_take(). Returns 0,
 * or the result of host->fail(); unwinder_free() is needed in either case.
 */
int unwinder_open(struct unwinder *unwinder, const struct iaprof_host *host, const struct unwinder_maps *maps,
		  iaprof_on_fd *on_question, iaprof_on_unwind *on_answer);
/* Forwards the questions of the BPF programs to the core. */
void unwinder_ask(struct unwinder *unwinder);
/* The arguments of iaprof_on_unwind. Returns 0 or a negative errno. */
int unwinder_take(struct unwinder *unwinder, const struct iaprof_unwind_table *table,
		  const struct iaprof_unwind_process *process);
/* For finish(): sends the sizes of the tables as metadata. */
void unwinder_describe(const struct unwinder *unwinder, const struct iaprof_host *host);

/* The parts of unwinder_open() and unwinder_take() that need no core. They return 0 or a negative errno. */
int unwinder_init(struct unwinder *unwinder, const struct unwinder_maps *maps);
/* Replaces the table of this id; without pages, removes it. -ENOSPC: too many tables; -EINVAL: damaged. */
int unwinder_add_table(struct unwinder *unwinder, const struct iaprof_unwind_table *table);
/* Mappings beyond UNWINDER_MAPPINGS_MAX are dropped. -ENOSPC: no room in the maps. */
int unwinder_set_process(struct unwinder *unwinder, const struct iaprof_unwind_process *process);
void unwinder_free(struct unwinder *unwinder);

/* Returns the mappings of a process, valid until it is set again; NULL if it has none of this execution. */
const struct unwind_mapping *unwinder_mappings(const struct unwinder *unwinder, uint32_t pid, uint64_t execution,
					       uint32_t *count);

/* Largest number of mappings of a process. */
#define UNWINDER_MAPPINGS_MAX 4096u
