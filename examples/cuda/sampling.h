/* SPDX-License-Identifier: Apache-2.0 */
/* PC sampling of CUDA contexts: continuous, read by a thread of the library. */
#pragma once

#include "cupti.h"
#include "writer.h"

struct sampling_settings {
	uint32_t period; /* log2 of cycles */
	uint32_t sleep;  /* ms, of CUPTI's worker threads */
	uint32_t mode;   /* CUPTI_MODE_CONTINUOUS or CUPTI_MODE_SERIALIZED */
};

struct sampling;

/* The arguments must outlive it. Returns NULL when out of memory. */
struct sampling *sampling_new(const struct cupti_functions *cupti, struct writer *writer,
			      const struct sampling_settings *settings);
/* In the callback for a context that was created, or is about to be destroyed. */
void sampling_add(struct sampling *sampling, cupti_context context);
void sampling_remove(struct sampling *sampling, cupti_context context);
/* Reads the samples of all contexts. */
void sampling_read(struct sampling *sampling);
/* At exit: reads the rest of all contexts and ends their sampling. */
void sampling_end(struct sampling *sampling);

uint64_t sampling_clock(void);
