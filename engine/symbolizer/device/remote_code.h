/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One image of device code (code_object.h), as read by a child of iaprof-code-worker. Sections and functions are stored
 * here; data about an address is requested when it is first needed, together with that of the addresses that follow in
 * the function. Owned by one thread; not locked.
 */
#pragma once

#include "symbolizer/budget.h"
#include "symbolizer/device/code_identity.h"
#include "symbolizer/device/code_place.h"
#include "symbolizer/device/code_workers.h"

struct remote_code;

/* Limit on children that are kept for further requests; beyond it, the least recently used one is ended. */
#define REMOTE_CODE_AWAKE_MAX 16
/* Limit for images of untrusted users: each may use as much memory as all tables together. */
#define REMOTE_CODE_AWAKE_OTHERS_MAX 2

/* Shared by images, and outlives them. Initialise the first two members, which outlive it; the rest is zero. */
struct remote_code_context {
	struct code_workers *workers;
	struct budget *budget;
	struct remote_code *awake[REMOTE_CODE_AWAKE_MAX];
};

struct remote_code_request {
	int descriptor;             /* sealed image; ownership is taken, even on failure */
	const char *name;           /* for messages */
	uint32_t machine;           /* required machine; 0 any */
	struct file_identity owner; /* owner and mode */
	struct code_identity identity;
};

/*
 * Loads an image. Returns 0, -ENOEXEC (no such image, or one without code), -ENOPKG (no program to read it), or another
 * number that remote_code_reason() describes.
 */
int remote_code_load(struct remote_code **code, struct remote_code_context *context,
		     const struct remote_code_request *request);
void remote_code_free(struct remote_code *code);

/* Describes for the user why an image for an ELF machine could not be read. text: used if the reason is not constant.
 */
const char *remote_code_reason(const struct remote_code_context *context, uint32_t machine, int code, char *text,
			       size_t size);

struct code_identity remote_code_identity(const struct remote_code *code);
uint32_t remote_code_owner(const struct remote_code *code);
/* Returns a hash that identifies the image and its owner. */
uint64_t remote_code_key(const struct remote_code *code);
/* Returns the same as code_object_addresses(). */
uint32_t remote_code_addresses(const struct remote_code *code, uint64_t *base);
bool remote_code_is_damaged(const struct remote_code *code);
/* Returns the number of units of debug information without an address, whose lines are missing. */
uint64_t remote_code_unplaced_units(const struct remote_code *code);
const struct code_table *remote_code_table(const struct remote_code *code);

/*
 * Resolves an image address; false if it is in no function. If the image can no longer be read, place has only the
 * names of the kernel and the function.
 */
bool remote_code_find(struct remote_code *code, uint64_t address, struct code_place *place);
/* The same as code_reader_function() and code_reader_producers(). */
const struct code_function *remote_code_function(struct remote_code *code, uint64_t address, uint64_t *base);
size_t remote_code_producers(struct remote_code *code, uint64_t address, struct iaprof_producer *producers,
			     size_t capacity, uint32_t *flags);
