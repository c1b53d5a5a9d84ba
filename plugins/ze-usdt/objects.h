/* SPDX-License-Identifier: Apache-2.0 */
/* The modules and kernels of the processes that are profiled, as far as they have been told to the core. */
#ifndef IAPROF_ZE_USDT_OBJECTS_H
#define IAPROF_ZE_USDT_OBJECTS_H

#include <stdint.h>
#include <iaprof/host.h>
#include "complaints.h"
#include "image.h"
#include "record_batch.h"
#include "table.h"
#include "ze-usdt.h"

struct module {
	struct ze_process process;
	uint64_t number;
	uint32_t code_object;
};

struct kernel {
	struct ze_process process;
	uint64_t module;
	uint32_t id;
};

struct objects {
	const struct iaprof_host *host;
	struct complaints *complaints;
	struct record_batch *batch;
	struct image_cache images;
	struct table modules;       /* struct module, by process and number */
	struct table kernels;       /* struct kernel, by the hash that the BPF program gives it */
	uint32_t code_object_count; /* the last id that was given */
	uint32_t kernel_count;
	uint64_t images_failed;
};

/* Returns 0, or a negative errno after host->fail(). Undone by objects_free() in either case. */
int objects_init(struct objects *objects, const struct iaprof_host *host, struct complaints *complaints,
		 struct record_batch *batch);
void objects_free(struct objects *objects);

/* These return 0 or a negative errno; they append records to the batch. */

/* Reads the image that was announced and tells of it. */
int objects_add_module(struct objects *objects, const struct ze_event_compile *compile);
int objects_remove_module(struct objects *objects, const struct ze_event *unload);
/* Tells of a kernel when it is new. hash: its key in the BPF program's map. */
int objects_add_kernel(struct objects *objects, uint64_t hash, const struct ze_kernel *kernel);

/* NULL when it has not been told of. */
const struct kernel *objects_find_kernel(const struct objects *objects, uint64_t hash);
/* As recordings_forget_process(). */
void objects_forget_process(struct objects *objects, const struct ze_process *ended);

#endif
