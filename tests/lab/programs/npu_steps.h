/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a scenario that a process does: what the player reads and makes. */
#pragma once

#include <stdint.h>

#define STEPS_MAX 4096
#define NAMES_MAX 256
#define PROCESSES_MAX 16

enum step_kind {
	STEP_OPEN,
	STEP_CLOSE,
	STEP_GET_PARAM,
	STEP_SET_PARAM,
	STEP_BO_CREATE,
	STEP_BO_DESTROY,
	STEP_BO_INFO,
	STEP_SUBMIT,
	STEP_QUEUE_CREATE,
	STEP_QUEUE_DESTROY,
	STEP_QUEUE_SUBMIT,
	STEP_WAIT,
	STEP_SLEEP,
	STEP_REPEAT,
	STEP_END, /* of a repeat */
};

struct step {
	enum step_kind kind;
	unsigned int line;
	unsigned int file; /* which of the process's open files */
	unsigned int name; /* which buffer or queue */
	unsigned int names_count;
	unsigned int *names; /* buffers of a submission, the command buffer first */
	uint64_t value, index;
	uint64_t duration_ns;
	double rate;
	int expected;         /* errno; 0: success */
	int64_t status;       /* -1: any */
	unsigned int partner; /* a repeat's end, an end's repeat */
};

struct process {
	char name[64];
	struct step steps[STEPS_MAX];
	unsigned int count;
	char names[NAMES_MAX][32];
	unsigned int names_count;
};

/* Reads the `process` parts of a scenario. Returns their number; on an error prints one line and returns -1. */
int steps_read(const char *path, struct process *processes);
