/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child of the worker: parses one image or one perf map, and answers requests about it until iaprof closes the
 * channel.
 */
#pragma once

#include "child/channel.h"
#include "symbolizer/elf_file.h"

/* Answers messages until the other end is closed. Returns 0, or a negative errno after a failure. context: unused. */
int serve(void *context, int socket);

/*
 * Functions for each kind of file. Each answers one message, whose bytes it reads. Zeroed before the first call.
 */
struct image_service {
	struct elf_image *image;
};
int image_service_load(struct image_service *service, int socket, int descriptor);
int image_service_unit(struct image_service *service, int socket);

struct perf_map_service;
int perf_map_service_add(struct perf_map_service **service, int socket, int descriptor);
int perf_map_service_find(struct perf_map_service *service, int socket);

struct compare_service {
	struct elf_file elf;
	bool is_open;
};
/* COMPARE_FILE has no answer. */
int compare_service_take_file(struct compare_service *service, int descriptor);
int compare_service_answer(struct compare_service *service, int socket, int memory);

/* Answers LOAD_UNWIND. */
int unwind_service_load(int socket, int descriptor);

/* Returns the bytes of memory in use. */
uint64_t serve_memory(void);
