/* SPDX-License-Identifier: Apache-2.0 */
/* See ranges.h. The numbers and layouts are those of NVTX 3, which never change. */
#define _GNU_SOURCE
#include "ranges.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* Pages are not smaller. */
#define PAGE 4096u
#define EXPORT __attribute__((visibility("default")))

/* nvtxCallbackModule */
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };
/* nvtxCallbackIdCore and nvtxCallbackIdCore2 */
enum { PUSH_EX = 8, PUSH_A = 9, PUSH_W = 10, POP = 11 };
enum { DOMAIN_PUSH_EX = 4, DOMAIN_POP = 5, REGISTER_STRING_A = 10, REGISTER_STRING_W = 11 };
/* nvtxMessageType */
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };

struct attributes { /* nvtxEventAttributes_t */
	uint16_t version, size;
	uint32_t category, colour_type, colour, payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

typedef void (*function)(void);

struct export_table { /* NvtxExportTableCallbacks */
	size_t size;
	int (*functions)(uint32_t module, function ***table, unsigned *count);
};

static __thread struct thread_ranges ranges;

const struct thread_ranges *ranges_of_thread(void)
{
	return ranges.depth ? &ranges : NULL;
}

/* Returns the place for the name of a new range of the calling thread, or NULL. */
static char *add_range(void)
{
	uint32_t depth = ranges.depth++;
	return depth < THREAD_RANGES_MAX ? ranges.names[depth] : NULL;
}

/*
 * Copies a name of any length: programs mark ranges thousands of times for each that is read. Where the next 64 bytes
 * are in the same page, all are copied at once, whatever follows the name.
 */
__attribute__((no_sanitize("address"))) static void copy_name(char *to, const char *name)
{
	if (((uintptr_t)name & (PAGE - 1)) <= PAGE - RANGE_NAME_SIZE)
		__builtin_memcpy(to, name, RANGE_NAME_SIZE);
	else
		(void)memccpy(to, name, '\0', RANGE_NAME_SIZE);
	to[RANGE_NAME_SIZE - 1] = '\0';
}

static void copy_wide(char *to, const wchar_t *name)
{
	size_t length = 0;
	for (; name[length] && length < RANGE_NAME_SIZE - 1; length++)
		to[length] = name[length] < 128 ? (char)name[length] : '?';
	to[length] = '\0';
}

/* NVTX returns the number of ranges around the one that begins or ends. */
static int push(const char *name)
{
	char *place = add_range();
	if (place && name)
		copy_name(place, name);
	else if (place)
		*place = '\0';
	return (int)ranges.depth - 1;
}

static int push_wide(const wchar_t *name)
{
	char *place = add_range();
	if (place)
		copy_wide(place, name ? name : L"");
	return (int)ranges.depth - 1;
}

static int push_attributes(const struct attributes *attributes)
{
	bool has_message = attributes && attributes->size >= sizeof *attributes && attributes->message;
	if (has_message && attributes->message_type == MESSAGE_WIDE)
		return push_wide(attributes->message);
	return push(has_message && (attributes->message_type == MESSAGE_ASCII ||
				    attributes->message_type == MESSAGE_REGISTERED)
			    ? attributes->message
			    : NULL);
}

static int pop(void)
{
	return ranges.depth ? (int)--ranges.depth : -1;
}

/* Ranges of several domains are nested in each other. */
static int push_in_domain(void *domain, const struct attributes *attributes)
{
	(void)domain;
	return push_attributes(attributes);
}

static int pop_in_domain(void *domain)
{
	(void)domain;
	return pop();
}

/* The handle of a registered string is a copy of it, which is never freed, as NVTX's strings are not. */
static void *register_string(void *domain, const char *name)
{
	(void)domain;
	return name ? strndup(name, RANGE_NAME_SIZE - 1) : NULL;
}

static void *register_wide(void *domain, const wchar_t *name)
{
	char text[RANGE_NAME_SIZE];
	copy_wide(text, name ? name : L"");
	return register_string(domain, text);
}

static void set(function *const *table, unsigned count, unsigned id, function ours)
{
	if (id < count && table[id])
		*table[id] = ours;
}

EXPORT int InitializeInjectionNvtx2(const void *(*export)(uint32_t))
{
	const struct export_table *callbacks = export ? export(1) : NULL;
	function **table;
	unsigned count;
	if (!callbacks || callbacks->size < sizeof *callbacks)
		return 0;
	if (callbacks->functions(MODULE_CORE, &table, &count)) {
		set(table, count, PUSH_EX, (function)push_attributes);
		set(table, count, PUSH_A, (function)push);
		set(table, count, PUSH_W, (function)push_wide);
		set(table, count, POP, (function)pop);
	}
	if (callbacks->functions(MODULE_CORE2, &table, &count)) {
		set(table, count, DOMAIN_PUSH_EX, (function)push_in_domain);
		set(table, count, DOMAIN_POP, (function)pop_in_domain);
		set(table, count, REGISTER_STRING_A, (function)register_string);
		set(table, count, REGISTER_STRING_W, (function)register_wide);
	}
	return 1;
}
