/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One image of device code (code_object.h) as a child of iaprof-code-worker reads it: sections and functions are kept
 * here; what is at an address is fetched when it is asked for, with what follows it in its function. Belongs to one
 * thread; not locked.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_REMOTE_CODE_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_REMOTE_CODE_H

#include "symbolizer/budget.h"
#include "symbolizer/device/code_identity.h"
#include "symbolizer/device/code_place.h"
#include "symbolizer/device/code_workers.h"

struct remote_code;

/* Children that are kept for the next question; of more the one that was asked longest ago is ended. */
#define REMOTE_CODE_AWAKE_MAX 16
/* Of images of users who are not trusted: each may have as much memory as there is for all of them. */
#define REMOTE_CODE_AWAKE_OTHERS_MAX 2

/* What images share; zero but for the first two, which outlive it. It outlives the images. */
struct remote_code_context {
	struct code_workers *workers;
	struct budget *budget;
	struct remote_code *awake[REMOTE_CODE_AWAKE_MAX];
};

struct remote_code_request {
	int descriptor;             /* of the image, sealed against changes; taken over, also on failure */
	const char *path;           /* for messages */
	uint32_t machine;           /* what it must be for; 0 any */
	struct file_identity owner; /* whose it is: owner and mode */
	struct code_identity identity;
};

/*
 * Has an image read. Returns 0, or a negative errno: -ENOEXEC (no such image, or one without code) and what
 * worker_reason() has words for.
 */
int remote_code_load(struct remote_code **code, struct remote_code_context *context,
		     const struct remote_code_request *request);
void remote_code_free(struct remote_code *code);

struct code_identity remote_code_identity(const struct remote_code *code);
uint32_t remote_code_owner(const struct remote_code *code);
/* A number that tells it from any other image, and from the same one of another user. */
uint64_t remote_code_key(const struct remote_code *code);
/* As in struct code_object. */
bool remote_code_is_placed(const struct remote_code *code);
bool remote_code_is_damaged(const struct remote_code *code);
const struct code_table *remote_code_table(const struct remote_code *code);

/*
 * What is at one of the image's own addresses. False when it is in no function. Of an image that cannot be read any
 * more it is the function's name.
 */
bool remote_code_find(struct remote_code *code, uint64_t address, struct code_place *place);
/* As code_reader_function() and code_reader_producers(). */
const struct code_function *remote_code_function(struct remote_code *code, uint64_t address, uint64_t *base);
size_t remote_code_producers(struct remote_code *code, uint64_t address, struct iaprof_producer *producers,
			     size_t capacity, uint32_t *flags);

#endif
