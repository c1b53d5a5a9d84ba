/* SPDX-License-Identifier: Apache-2.0 */
/* The modules and kernels of the profiled processes that have been defined in records. */
#pragma once

#include <stdint.h>
#include <iaprof/host.h>
#include "warning_limit.h"
#include "device_images.h"
#include "records/record_batch.h"
#include "pointer_map.h"
#include "ze-usdt.h"

struct module {
	struct ze_process process;
	uint64_t number;
	uint32_t code_object; /* 0: its image could not be read */
};

struct kernel {
	struct ze_process process;
	uint64_t module;
	uint32_t id;
	bool lacks_module; /* it was launched before its module was announced */
};

struct code_objects {
	const struct iaprof_host *host;
	struct warning_limit *warnings;
	struct record_batch *batch;
	struct device_images images;
	struct pointer_map modules; /* struct module, by process and number */
	struct pointer_map kernels; /* struct kernel, by the BPF program's hash */
	uint32_t code_object_count; /* the last id assigned */
	uint32_t kernel_count;
	uint64_t images_failed;
	uint64_t missed_count; /* kernels that were launched before their module was announced */
	uint64_t missed_time;  /* of the latest such launch; 0: none */
};

/* Returns 0, or a negative errno after host->fail(). Call code_objects_free() in either case. */
int code_objects_init(struct code_objects *objects, const struct iaprof_host *host, struct warning_limit *warnings,
		      struct record_batch *batch);
void code_objects_free(struct code_objects *objects);

/* These return 0 or a negative errno; they append records to the batch. */

/* Reads the announced image and emits a CODE_OBJECT record. */
int code_objects_add_module(struct code_objects *objects, const struct ze_event_compile *compile);
int code_objects_remove_module(struct code_objects *objects, const struct ze_event *unload);
/* Emits a KERNEL record if the kernel is new. hash: its key in the BPF program's map. */
int code_objects_add_kernel(struct code_objects *objects, uint64_t hash, const struct ze_kernel *kernel);

/* Returns NULL if the kernel has not been defined. */
const struct kernel *code_objects_find_kernel(const struct code_objects *objects, uint64_t hash);
/* Same as recordings_forget_process(). */
void code_objects_forget_process(struct code_objects *objects, const struct ze_process *ended);
