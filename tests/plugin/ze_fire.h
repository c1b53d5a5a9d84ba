/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tests/programs/ze_fire, which fires Level Zero's probes on request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "test_host.h"

struct ze_fire {
	pid_t pid;
	FILE *input, *output;
	struct {
		uint64_t start, end;
	} sites[2]; /* of site_a and site_b */
};

/* Copies of the program with a library each, '1' or '2'. NULL: not built, as there is no sys/sdt.h. */
const char *ze_fire_program(char copy);
const char *ze_fire_library(char copy);

struct ze_fire ze_fire_start(char copy);
/* A program at a path; enter (may be NULL) is called in the child before. */
struct ze_fire ze_fire_start_path(const char *path, void (*enter)(void *context), void *context);
/* Has it obey a line, and waits until it has. */
void ze_fire_do(struct ze_fire *fire, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Tells the source which file with probes the program has mapped, as the core would. */
void ze_fire_announce(const struct ze_fire *fire, struct test_host *host);
/* Ends it, and waits for its end. */
void ze_fire_stop(struct ze_fire *fire);

/* 'a' or 'b' when the address is in that site, 0 else. */
char ze_fire_site(const struct ze_fire *fire, uint64_t address);
