/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned strings and stacks: each distinct text or call stack is stored once and has a 32-bit id. A new one's
 * definition record goes onto the bus before its id is handed out, so a definition always precedes its use. Any thread.
 *
 * Strings live as long as the table. Stacks go when nobody has used them for a while, so that a long run does not grow
 * with the addresses it saw; their ids are not used again.
 */
#ifndef IAPROF_CORE_BUS_INTERN_H
#define IAPROF_CORE_BUS_INTERN_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "bus/bus.h"

struct intern;

/* bus may be NULL: no definitions are sent (tests). */
struct intern *intern_new(struct bus *bus);
void intern_free(struct intern *intern);

/* As host->intern_string() and host->intern_stack(). */
uint32_t intern_string(struct intern *intern, const char *text, size_t length);
uint32_t intern_stack(struct intern *intern, uint32_t pid, const uint64_t *addresses, size_t count);

/* The id of a text that ends with a NUL; 0 for NULL. */
uint32_t intern_text_id(struct intern *intern, const char *text);

/*
 * The id of a value type: that of its name and unit as one text, so that it is the same for everybody who declares it.
 * 0 when they are too long.
 */
uint32_t intern_value_type(struct intern *intern, const char *name, const char *unit);

/*
 * Takes a definition that came with a replayed run, or comes back from the bus. Returns 0, -EINVAL when the id means
 * something else already, -ENOMEM.
 */
int intern_define_string(struct intern *intern, const struct iaprof_record_string *record);
int intern_define_stack(struct intern *intern, const struct iaprof_record_stack *record);

/* The text of an id; "" for 0 and unknown ids. Lives as long as the table. */
const char *intern_text(struct intern *intern, uint32_t id);

/* The stack of an id, which counts as a use of it. addresses stay valid until intern_expire_stacks() removes it. */
struct interned_stack {
	const uint64_t *addresses; /* leaf first; NULL for 0 and unknown ids */
	uint32_t count;
	uint32_t pid; /* 0: the Linux kernel's */
};
/* Where the code at a position is: all but the leaf are return addresses, and the call is the instruction before. */
static inline uint64_t interned_stack_code(const struct interned_stack *stack, uint32_t position)
{
	uint64_t address = stack->addresses[position];
	return address - (position > 0 && address ? 1 : 0);
}
struct interned_stack intern_find_stack(struct intern *intern, uint32_t id);

/* Begins a new epoch, a second or so long: uses of stacks are told apart by it. */
void intern_begin_epoch(struct intern *intern);
/* Removes the stacks that were last used more than this many epochs ago. */
void intern_expire_stacks(struct intern *intern, uint32_t epochs);

/* How many there are now. */
size_t intern_string_count(struct intern *intern);
size_t intern_stack_count(struct intern *intern);

#endif
