/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a replay: looked into before it is read, and waited for where it is a pipe. */
#ifndef IAPROF_PLUGINS_REPLAY_REPLAY_INPUT_H
#define IAPROF_PLUGINS_REPLAY_REPLAY_INPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <iaprof/host.h>

/* Initialise with {0} and a descriptor of -1. */
struct replay_input {
	const char *file;             /* "-": standard input */
	const volatile int *stopping; /* NULL before the thread runs */
	int descriptor;
	FILE *spool; /* what is read from a pipe is kept here, to read it again; NULL: it is not */
	/* What was looked at and not read yet. */
	char *begin;
	size_t begin_size, begin_position;
};

/* 0, or a negative errno after host->fail(). */
int replay_input_open(struct replay_input *input, const struct iaprof_host *host, const char *file);
/*
 * Looks at what comes next, which is read all the same afterwards: so many bytes that enough() is satisfied with them,
 * or all there are, or capacity, which is the same in each call until something is read. 0, or a negative errno:
 * -ECANCELED when the run is to end.
 */
int replay_input_look(struct replay_input *input, size_t capacity,
		      bool (*enough)(const char *bytes, size_t size, bool is_whole));
/* From here on what is read is kept, where it could not be read again. */
int replay_input_keep(struct replay_input *input, const struct iaprof_host *host);
/* Goes back to the beginning. */
int replay_input_rewind(struct replay_input *input, const struct iaprof_host *host);
/* Some bytes, 0 at the end, or a negative errno. */
ssize_t replay_input_read_some(struct replay_input *input, void *data, size_t size);
/* So many bytes, fewer only at the end; context is a struct replay_input. */
ssize_t replay_input_read(void *context, void *data, size_t size);
bool replay_input_is_stopping(const struct replay_input *input);
void replay_input_close(struct replay_input *input);

#endif
