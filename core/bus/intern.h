/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned strings and stacks: each distinct text or call stack is stored once and has a 32-bit id. The definition
 * record of a new entry is put on the bus before its id is returned, so a definition always precedes its use. Any
 * thread.
 *
 * Strings live as long as the table, unless they were interned as passing. These, and stacks that have not been used
 * for a while, are removed to bound memory in long runs; their ids are not reused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>
#include <iaprof/record.h>
#include "bus/bus.h"

struct intern;

/* bus may be NULL: no definitions are sent (tests). */
struct intern *intern_new(struct bus *bus);
void intern_free(struct intern *intern);

/* Same as host->intern_string() and host->intern_stack(). */
uint32_t intern_string(struct intern *intern, const char *text, size_t length);
uint32_t intern_stack(struct intern *intern, uint32_t pid, const uint64_t *addresses, size_t count);

/*
 * As intern_stack(), of a source without frames by name: an element that looks like one is an address that the program
 * overwrote. It becomes 0, which is no function.
 */
uint32_t intern_addresses(struct intern *intern, uint32_t pid, const uint64_t *addresses, size_t count);

/* Same as host->intern_frame(). */
uint32_t intern_frame(struct intern *intern, const struct iaprof_named_frame *frame);

/* The same for a NUL-terminated string; 0 for NULL. */
uint32_t intern_text_id(struct intern *intern, const char *text);
/* The same for a string of the core that no record on the bus refers to: no definition is sent (result_stream.h). */
uint32_t intern_own_text(struct intern *intern, const char *text);

/*
 * The same for strings that only records sent now refer to: intern_expire_strings() may remove them. A string that is
 * also interned with one of the functions above is kept.
 */
uint32_t intern_passing_string(struct intern *intern, const char *text, size_t length);
uint32_t intern_passing_own_text(struct intern *intern, const char *text);

/*
 * Returns the id of a value type: the string id of its name and unit combined, so that all sources that declare it get
 * the same id. 0 if they are too long.
 */
uint32_t intern_value_type(struct intern *intern, const char *name, const char *unit);
#define INTERN_VALUE_TYPE_SIZE 256
/* Writes the text whose string id intern_value_type() returns. Returns false if it is too long. */
bool intern_value_type_text(char text[INTERN_VALUE_TYPE_SIZE], const char *name, const char *unit);

/*
 * Adds a definition from a replayed run. Returns 0, -EINVAL if the id is already defined differently, -ENOMEM.
 */
int intern_define_string(struct intern *intern, const struct iaprof_record_string *record);
int intern_define_stack(struct intern *intern, const struct iaprof_record_stack *record);
int intern_define_frame(struct intern *intern, const struct iaprof_record_named_frame *record);

/* Returns the string of an id; "" for 0 and unknown ids. Valid for the lifetime of the table, unless it is passing. */
const char *intern_text(struct intern *intern, uint32_t id);

/*
 * A stack looked up by id, which counts as a use of it. addresses stay valid until intern_expire_stacks() removes it.
 */
struct interned_stack {
	const uint64_t *addresses; /* leaf first; NULL for 0 and unknown ids */
	uint32_t count;
	uint32_t pid; /* 0: the Linux kernel's */
};
/* Returns whether an element of a user stack is a frame by name (IAPROF_STACK_NAMED_FRAME). */
static inline bool interned_stack_is_named(uint64_t element)
{
	return element >> 32 == IAPROF_STACK_NAMED_FRAME >> 32;
}
/*
 * Returns the element at a position. All addresses but the leaf are return addresses, one instruction after the call:
 * returns that of the call.
 */
static inline uint64_t interned_stack_code(const struct interned_stack *stack, uint32_t position)
{
	uint64_t address = stack->addresses[position];
	bool is_behind_call = position > 0 && address && !interned_stack_is_named(address);
	return address - (is_behind_call ? 1 : 0);
}
struct interned_stack intern_find_stack(struct intern *intern, uint32_t id);
/* Finds the frame of an element for which interned_stack_is_named(). Returns false if its id is unknown. */
bool intern_find_frame(struct intern *intern, uint64_t element, struct iaprof_named_frame *frame);

/* Removes stacks by their age instead of their last use, so that they are defined again from time to time. */
void intern_expire_by_age(struct intern *intern);
/* Begins a new epoch of about a second, the granularity at which uses of stacks are recorded. */
void intern_begin_epoch(struct intern *intern);
/* Removes stacks that have not been used for more than the given number of epochs. */
void intern_expire_stacks(struct intern *intern, uint32_t epochs);
/* Removes passing strings that were last interned more than the given number of epochs ago. */
void intern_expire_strings(struct intern *intern, uint32_t epochs);
/* Limits the size of the other strings, in bytes: beyond it, new ones get id 0 and are counted. 0: no limit. */
void intern_limit_strings(struct intern *intern, uint64_t size);
uint64_t intern_refused_strings(struct intern *intern);

/* These return the current numbers of entries. */
size_t intern_string_count(struct intern *intern);
size_t intern_stack_count(struct intern *intern);
