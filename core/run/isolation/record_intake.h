/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the records of an isolated source out of the ring and puts them on the bus. The source's process allots ids of
 * its own to strings, stacks and frames; they are translated into those of the run. Nothing in the ring is trusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "run/instance.h"
#include "run/isolation/record_ring.h"

/* Largest number of bytes taken at once. */
#define RECORD_INTAKE_CHUNK ((size_t)256 << 10)

/* A copy of a descriptor of the source's process, with the image of a code object. */
struct intake_file {
	int descriptor;
	uint64_t time; /* CLOCK_MONOTONIC ns when it was copied */
};

/* Initialise ring, instance and process. */
struct record_intake {
	struct record_ring *ring;
	struct instance *instance; /* the source, in this process */
	pid_t process;             /* of the source: its /proc/self */
	int process_descriptor;    /* pidfd, or -1; owned by the caller */
	uint64_t position;         /* of the next record in the ring */
	uint64_t text_size;        /* bytes of all strings so far */
	ARRAY(uint32_t) strings;   /* ids of the run, by the source's id - 1 */
	ARRAY(uint32_t) frames;
	uint32_t *stacks;     /* the same for the newest stacks: a ring */
	uint32_t stack_count; /* ids allotted so far */
	ARRAY(struct intake_file) files;
	uint64_t unknown; /* ids of stacks that were too old or never defined */
	char *copy;       /* of what is in the ring; RECORD_INTAKE_CHUNK bytes */
	char *waiting;    /* translated records that the bus has no room for; RECORD_INTAKE_CHUNK bytes */
	size_t waiting_size;
	uint32_t waiting_count;
};

int record_intake_init(struct record_intake *intake); /* 0 or -ENOMEM */
void record_intake_free(struct record_intake *intake);

/*
 * Takes up to RECORD_INTAKE_CHUNK bytes. *more: others are waiting, and the bus has room. Returns 0, or -EBADMSG with
 * error set: the source must be ended.
 */
int record_intake_take(struct record_intake *intake, bool *more, struct error *error);
/* Closes copies of descriptors that are no longer needed, or all of them. */
void record_intake_close_files(struct record_intake *intake, bool all);
/* Returns whether all records have been taken. */
bool record_intake_is_empty(const struct record_intake *intake);
