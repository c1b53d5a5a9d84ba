/* SPDX-License-Identifier: Apache-2.0 */
/* A file, pipe or standard input. It can be examined before it is read; reading waits for a pipe's writer. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <iaprof/host.h>

/* Initialise with {0}. */
struct input_file {
	const char *file; /* "-": standard input */
	bool is_live; /* opening does not wait for a pipe's writer, and reading waits 100 ms, then returns -EAGAIN */
	const volatile int *stopping; /* NULL before the thread runs */
	int descriptor;
	FILE *spool; /* copy of what was read from a pipe, to read it again; NULL: none */
	/* Buffered by input_file_peek(), but not read yet. */
	char *begin;
	size_t begin_size, begin_position;
};

/* Returns 0, or a negative errno after host->fail(). */
int input_file_open(struct input_file *input, const struct iaprof_host *host, const char *file);
/*
 * Buffers the bytes that will be read next, until enough() returns true, all are buffered, or capacity is reached (the
 * same in each call until a read). Returns 0, or a negative errno: -ECANCELED if the run is ending.
 */
int input_file_peek(struct input_file *input, size_t capacity,
		    bool (*enough)(const char *bytes, size_t size, bool is_whole));
/*
 * From now on, keeps everything that is read if the input cannot be read twice. Returns the same as input_file_open().
 */
int input_file_keep(struct input_file *input, const struct iaprof_host *host);
/* Returns to the beginning. Same result as input_file_open(). */
int input_file_rewind(struct input_file *input, const struct iaprof_host *host);
/* Returns the number of bytes, 0 at the end, or a negative errno: -ECANCELED if the run is ending. */
ssize_t input_file_read_some(struct input_file *input, void *data, size_t size);
/* Reads size bytes, fewer only at the end; context is a struct input_file. */
ssize_t input_file_read(void *context, void *data, size_t size);
bool input_file_is_stopping(const struct input_file *input);
void input_file_close(struct input_file *input);
