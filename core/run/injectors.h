/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that load libraries into running processes for the sources of a run (host->inject()): one helper program for
 * each process, because tracing another program may block on it. Used on the loop's thread.
 */
#pragma once

#include "base/array.h"
#include "run/instance.h"

struct injector;
/* Initialise with {0}. */
struct injectors {
	ARRAY(struct injector *) items;
};

/*
 * Starts one and waits a few seconds until the process was examined. request: the values of struct iaprof_injection, as
 * injection_pack() makes it. Its messages are logged as those of the instance. Returns 0 or sets error.
 */
int injectors_add(struct injectors *injectors, struct instance *instance, const char *request, size_t size,
		  struct error *error);

/* Has them load the libraries: the sources were started, and miss nothing that the libraries send. */
void injectors_begin(struct injectors *injectors);

/* Has all of them end, which takes two seconds at most, logs what they say about it, and frees them. */
void injectors_end(struct injectors *injectors);

#define INJECTION_REQUEST_MAX ((size_t)8 << 10)
/*
 * Writes the members of an injection, each followed by a NUL: the command line of the helper program. Returns their
 * size, or 0 if a text is missing or they are too large.
 */
size_t injection_pack(const struct iaprof_injection *injection, char bytes[INJECTION_REQUEST_MAX]);
