/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the unwind table of an ELF file from its .eh_frame, whose entries libdw lists. Parses hostile data: call it in
 * a child of the worker, or for files that only root can write.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/unwind.h>
#include "base/array.h"
#include "bpf/unwind.h"
#include "symbolizer/elf_file.h"

/* Limits per file. libtorch_cpu has 5 million rows; 2,000 files of a distribution have fewer than 5,000 rules together.
 */
#define UNWIND_ROWS_MAX ((uint32_t)1 << 24)
#define UNWIND_PAGES_MAX ((uint32_t)1 << 20)
#define UNWIND_RULES_MAX ((uint32_t)1 << 15)

struct unwind_table {
	uint64_t first_page;                    /* ELF virtual address >> IAPROF_UNWIND_PAGE_BITS of the first page */
	ARRAY(uint32_t) index;                  /* one item per page and one at the end; empty if there are no rows */
	ARRAY(struct iaprof_unwind_row) rows;   /* rule: position in rules */
	ARRAY(struct iaprof_unwind_rule) rules; /* the first is IAPROF_UNWIND_CFA_NONE */
	uint32_t functions;                     /* number of FDEs that were read */
	uint32_t skipped; /* number of FDEs that were damaged, overlapped another one, or beyond a limit */
	/* What else the file has, which unwind_table_make() does not look for. */
	struct iaprof_python python; /* the interpreter */
	struct iaprof_thread_context thread_context;
};

/* Returns 0, -ENODATA (the file has no unwind information), -ENOTSUP (its machine is not supported), or -ENOMEM. */
int unwind_table_make(struct unwind_table *table, const struct elf_file *elf);
/*
 * Calls use for each function, or part of one, that has unwind information, in the order of the file, until it returns
 * false.
 */
void unwind_functions_each(const struct elf_file *elf, bool (*use)(void *context, uint64_t start, uint64_t end),
			   void *context);
void unwind_table_free(struct unwind_table *table);
/* Returns the size of the rows and of the index, in bytes. */
uint64_t unwind_table_bytes(const struct unwind_table *table);

/* Returns the rule at an ELF virtual address; outside of all functions, one with IAPROF_UNWIND_CFA_NONE. */
const struct iaprof_unwind_rule *unwind_table_find(const struct unwind_table *table, uint64_t address);
