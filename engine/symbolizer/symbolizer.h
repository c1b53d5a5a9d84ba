/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolizer for CPU code: resolves an address in a process or in the Linux kernel to functions, files and lines.
 * Each image (file) is read once, into sorted arrays that are searched from then on. Owned by one thread; not locked.
 *
 * Never returns a wrong name: uncertain functions are "[libfoo.so+0x1234]", and functions of a file that was removed or
 * replaced after it was mapped are "[deleted]".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "process/process.h"
#include "symbolizer/budget.h"

struct symbolizer;
struct kept_files;

/*
 * One function at an address. Unresolved code of a file is "[libfoo.so+0x1234]", where the number is an ELF address:
 * that of the function if it is known from .eh_frame. Strings are owned by the symbolizer, and valid until
 * symbolizer_trim(), or module by the process table; name is never NULL.
 */
struct symbol {
	const char *name;        /* demangled; with IAPROF_FRAME_UNKNOWN as above, "[unknown]" or "[deleted]" */
	const char *module;      /* path of the file, "[kernel]", "[nf_tables]", "[vdso]"; NULL if none */
	const char *file;        /* source file, NULL if unknown or not requested */
	uint32_t line;           /* 0 if unknown */
	uint32_t kind;           /* IAPROF_FRAME_USER, _LINUX_KERNEL or _JIT, also for generated code without a name */
	uint32_t flags;          /* enum iaprof_frame_flag */
	uint64_t offset;         /* from the start of the function; 0 for unresolved names */
	const uint8_t *build_id; /* the module's build id when it was read; NULL if unknown */
	uint32_t build_id_size;
	uint64_t address; /* in the file's own numbering (ELF virtual address); JIT and Linux kernel: the address itself
			   */
};

struct symbolizer_options {
	bool lines;              /* include source lines and inlined functions from DWARF */
	bool live;               /* processes may still exist: their files are accessible through /proc/PID */
	const char *debug_path;  /* folder of debug files, NULL: /usr/lib/debug */
	const char *debuginfod;  /* URL of a server for debug files, NULL: none */
	struct kept_files *kept; /* files of processes that have ended; outlives the symbolizer; NULL: none */
	const char *kallsyms;    /* NULL: /proc/kallsyms; for tests and replays */
};

/* Largest number of functions that symbolizer_resolve_*() returns for one address. */
#define SYMBOLIZER_INLINE_DEPTH_MAX 64

struct symbolizer *symbolizer_new(const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * Finds the functions at an address of a process, the outermost first, followed by the functions inlined into it.
 * mapping may be NULL (not mapped: "[unknown]"). For a return address, pass the address minus one. Returns their
 * number, >= 1 and at most capacity (>= 1; if there are more, the innermost are omitted).
 */
size_t symbolizer_resolve_user(struct symbolizer *symbolizer, const struct process *process,
			       const struct mapping *mapping, uint64_t address, struct symbol *symbols,
			       size_t capacity);
/* Prefetches data of the mapped file for symbolizer_resolve_user(). With BUDGET_QUICK, only if that is quick. */
void symbolizer_prefetch(struct symbolizer *symbolizer, const struct process *process, const struct mapping *mapping,
			 uint64_t address, enum budget_patience patience);
/*
 * For runs without end, between two intervals: releases all images and names if they use much memory, which are then
 * read again, and forgets the time that was lost on files of other users. Does so only every 10 minutes; releases
 * unused images every minute, and ends idle helper processes each time.
 */
void symbolizer_trim(struct symbolizer *symbolizer);
/* Skips deferred files from now on. */
void symbolizer_give_up(struct symbolizer *symbolizer);
/* The same as symbolizer_resolve_user() for an address in the Linux kernel. */
size_t symbolizer_resolve_kernel(struct symbolizer *symbolizer, uint64_t address, struct symbol *symbols,
				 size_t capacity);

/*
 * Returns a one-line message if Linux kernel symbols are not available at all (kernel.kptr_restrict, ...), otherwise
 * NULL. Known after the first symbolizer_resolve_kernel(); valid for the lifetime of the symbolizer.
 */
const char *symbolizer_warning(const struct symbolizer *symbolizer);

/* Statistics for the summary of a run. */
struct symbolizer_statistics {
	uint64_t images;        /* files read */
	uint64_t images_failed; /* files that could not be opened or were damaged */
	uint64_t unknown;       /* addresses without a name */
	uint64_t deleted;       /* addresses resolved to "[deleted]" */
};
struct symbolizer_statistics symbolizer_statistics(const struct symbolizer *symbolizer);

/* Sets the time at which all later work must end (CLOCK_MONOTONIC ns). Any thread. */
void symbolizer_end_by(struct symbolizer *symbolizer, uint64_t end);
struct deadline symbolizer_end(struct symbolizer *symbolizer);
/*
 * Ends the helper process that was not used for some seconds, and records the CPU time of all, for symbolizer_cost().
 * more: CPU time of other helpers, in ns. To be called every second.
 */
void symbolizer_rest(struct symbolizer *symbolizer, uint64_t more);
/* Returns the CPU time of the helper processes when last recorded, in ns. Any thread. */
uint64_t symbolizer_cost(const struct symbolizer *symbolizer);
/* Returns the path of the file being read, or NULL; valid for the lifetime of the process table. Any thread. */
const char *symbolizer_reading(const struct symbolizer *symbolizer);
/* Returns the budget of the run, for readers of other files. */
struct budget *symbolizer_budget(struct symbolizer *symbolizer);
/* Returns the rejected files with reasons; *more is the number of further ones. Valid until the next call. */
const struct refusal *symbolizer_refusals(const struct symbolizer *symbolizer, size_t *count, uint64_t *more);
