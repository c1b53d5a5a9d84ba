/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolizer for CPUs: from an address in a process or in the Linux kernel to functions, files and lines. Each
 * image (file) is read once, into sorted arrays that are searched from then on. Belongs to one thread; not locked.
 *
 * Never a wrong name: what is not certain is "[unknown]", and a file that is no longer the one that was mapped is
 * "[deleted]".
 */
#ifndef IAPROF_CORE_SYMBOLIZER_SYMBOLIZER_H
#define IAPROF_CORE_SYMBOLIZER_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "process/process.h"
#include "symbolizer/budget.h"

struct symbolizer;

/* One function at an address. Strings belong to the symbolizer and live as long as it does; name is never NULL. */
struct symbol {
	const char *name;        /* demangled, or "[unknown]", "[deleted]" with IAPROF_FRAME_UNKNOWN */
	const char *module;      /* path of the file, "[kernel]", "[nf_tables]", "[vdso]"; NULL none */
	const char *file;        /* source file, NULL not known or not asked for */
	uint32_t line;           /* 0 not known */
	uint32_t kind;           /* IAPROF_FRAME_USER, _LINUX_KERNEL or _JIT */
	uint32_t flags;          /* enum iaprof_frame_flag */
	uint64_t offset;         /* from the start of the function; 0 for a name from nowhere */
	const uint8_t *build_id; /* of the module as it was read; NULL not known */
	uint32_t build_id_size;
	uint64_t address; /* in the file's own numbering (ELF virtual address); JIT and Linux kernel: the address itself
			   */
};

struct symbolizer_options {
	bool lines;             /* source lines and inlined functions from DWARF too */
	bool live;              /* processes may still be there: their files can be reached through /proc/PID */
	const char *debug_path; /* folder of debug files, NULL: /usr/lib/debug */
	const char *kallsyms;   /* NULL: /proc/kallsyms; for tests and replays */
};

/* The most functions that symbolizer_resolve_*() gives for one address. */
#define SYMBOLIZER_INLINE_DEPTH_MAX 64

struct symbolizer *symbolizer_new(const struct symbolizer_options *options);
void symbolizer_free(struct symbolizer *symbolizer);

/*
 * The functions at an address of a process, the outermost first and what is inlined into it after. mapping may be NULL
 * (nothing is mapped there: "[unknown]"). A return address should be given minus one. Returns how many, >= 1 and at
 * most capacity (>= 1; the innermost are left out when there are more).
 */
size_t symbolizer_resolve_user(struct symbolizer *symbolizer, const struct process *process,
			       const struct mapping *mapping, uint64_t address, struct symbol *symbols,
			       size_t capacity);
/*
 * Reads what symbolizer_resolve_user() will need of the file that is mapped there. BUDGET_QUICK: only if that is little
 * work.
 */
void symbolizer_look_ahead(struct symbolizer *symbolizer, const struct process *process, const struct mapping *mapping,
			   uint64_t address, enum budget_patience patience);
/* From now on, files that were put off are not read any more. */
void symbolizer_give_up(struct symbolizer *symbolizer);
/* The same as symbolizer_resolve_user() for an address in the Linux kernel. */
size_t symbolizer_resolve_kernel(struct symbolizer *symbolizer, uint64_t address, struct symbol *symbols,
				 size_t capacity);

/*
 * One line for the user when the Linux kernel's functions could not be named at all (kernel.kptr_restrict, ...), else
 * NULL. Known after the first symbolizer_resolve_kernel(); lives as long as the symbolizer.
 */
const char *symbolizer_warning(const struct symbolizer *symbolizer);

/* Counts for the summary of a run. */
struct symbolizer_statistics {
	uint64_t images;        /* files read */
	uint64_t images_failed; /* files that could not be opened or were damaged */
	uint64_t unknown;       /* addresses that got "[unknown]" */
	uint64_t deleted;       /* addresses that got "[deleted]" */
};
struct symbolizer_statistics symbolizer_statistics(const struct symbolizer *symbolizer);

/* Nothing that is asked from now on takes longer than until this time (CLOCK_MONOTONIC ns). Any thread. */
void symbolizer_end_by(struct symbolizer *symbolizer, uint64_t end);
struct deadline symbolizer_end(struct symbolizer *symbolizer);
/* Notes what the helper processes cost, for symbolizer_cost(). more: ns of those that are others'. */
void symbolizer_note_cost(struct symbolizer *symbolizer, uint64_t more);
/* ns of CPU time that they had used when it was noted last. Any thread. */
uint64_t symbolizer_cost(const struct symbolizer *symbolizer);
/* The path of the file that is read now, NULL none; lives as long as the processes' table. Any thread. */
const char *symbolizer_reading(const struct symbolizer *symbolizer);
/* The one budget of a run, for readers of other files. */
struct budget *symbolizer_budget(struct symbolizer *symbolizer);
/* Which files were refused and why; *more is how many others. Until the next question. */
const struct refusal *symbolizer_refusals(const struct symbolizer *symbolizer, size_t *count, uint64_t *more);

#endif
