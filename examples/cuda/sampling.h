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
/*
 * For another plugin: sends again what the one before was sent, and forgets what was sampled since. CUPTI's sampling of
 * a context cannot be ended without hanging the program (CUPTI 13), so that it goes on.
 */
void sampling_resume(struct sampling *sampling);
/* Returns whether this context, or any (NULL), is sampled. */
bool sampling_has(struct sampling *sampling, cupti_context context);
/* Sends a device's bus address and name, once, before what refers to it. Any thread; does not wait. */
void sampling_announce(struct sampling *sampling, uint32_t device);
/* Reads the samples of all contexts. */
void sampling_read(struct sampling *sampling);
/* At exit: reads the rest of all contexts and ends their sampling. */
void sampling_end(struct sampling *sampling);

uint64_t sampling_clock(void);
