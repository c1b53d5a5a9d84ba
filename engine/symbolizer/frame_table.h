/* SPDX-License-Identifier: Apache-2.0 */
/* Resolved frames and stacks, each stored once under a number. Owned by the collector thread; not locked. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <iaprof/profile.h>

#include "base/keyed_array.h"
#include "base/string_table.h"
#include "stacks/code_rules.h"

#define FRAME_NONE UINT32_MAX

/* As struct iaprof_stack_origin; without padding. All members are 0 unless a sink requested threads or spans. */
struct stack_origin {
	const char *thread; /* owned by frame_table.texts in a stack_entry; NULL: not known */
	uint32_t tid;
	uint32_t device; /* 1 + position in struct sampled_devices; 0: none */
	uint32_t span;   /* 1 + position in frame_table.spans; 0: none */
	uint32_t pad;
};

/* Limit on different spans: each multiplies the stacks of its thread. */
#define FRAME_TABLE_SPANS_MAX 65536u

struct known_span {
	struct iaprof_span key;
};

/* A resolved stack: the position of its frame ids, root first. */
struct stack_entry {
	size_t first; /* position in frame_table.stack_frames */
	struct stack_origin origin;
	uint32_t frame_count;
};

/* Texts of frames, shared with the snapshots that refer to them. */
struct frame_texts {
	atomic_uint references;
	struct string_table strings;
};

struct frame_texts *frame_texts_reference(struct frame_texts *texts);
/* texts may be NULL. Any thread. */
void frame_texts_release(struct frame_texts *texts);

/* The rule for a file, module or function name, which many frames share. */
struct rule_of_text {
	struct {
		const char *text; /* in texts */
		uint64_t field;   /* enum code_field */
	} key;
	uint32_t rule;
};

/* Initialise with {0} and the first. */
struct frame_table {
	const struct code_rules *rules; /* by which frames get IAPROF_FRAME_LIBRARY and a class; NULL: none */
	struct frame_texts *texts;      /* NULL: none yet */
	KEYED_ARRAY(struct rule_of_text) rules_of_texts;
	ARRAY(struct iaprof_frame) frames;
	struct hash_index frame_index;
	ARRAY(uint32_t) stack_frames;
	ARRAY(struct stack_entry) stacks;
	struct hash_index stack_index;
	ARRAY(struct iaprof_module) modules;
	struct hash_index module_index;
	KEYED_ARRAY(struct known_span) spans;
};

void frame_table_free(struct frame_table *table);
/* Returns the approximate number of bytes of memory. */
size_t frame_table_size(const struct frame_table *table);

/*
 * Returns the id of a frame with these contents, with IAPROF_FRAME_LIBRARY by the rules; its texts are copied.
 * FRAME_NONE if out of memory.
 */
uint32_t frame_table_add(struct frame_table *table, const struct iaprof_frame *frame);

/*
 * Adds a file that contains frames, and its build id of size bytes. Returns false if it is already there, if the build
 * id is longer than IAPROF_MODULE_BUILD_ID_SIZE_MAX, or if out of memory.
 */
bool frame_table_add_module(struct frame_table *table, const char *path, const uint8_t *build_id, size_t size);

/* Returns stack_origin.span of a span; 0 if there are FRAME_TABLE_SPANS_MAX others, or if out of memory. */
uint32_t frame_table_add_span(struct frame_table *table, const struct iaprof_span *span);

/*
 * Returns the index of a stack of count frame ids, root first. FRAME_NONE if out of memory. origin: NULL if it is not
 * known; its text is copied.
 */
uint32_t frame_table_add_stack(struct frame_table *table, const uint32_t *frames, size_t count,
			       const struct stack_origin *origin);

/* Adds a stack of another table. Returns its index here; FRAME_NONE if out of memory. */
uint32_t frame_table_add_from(struct frame_table *table, const struct frame_table *other, uint32_t stack);
