/* SPDX-License-Identifier: Apache-2.0 */
/* A profile at one point in time, so that sinks can read it on their own threads. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <iaprof/profile.h>

/* Immutable except for its reference count. */
struct snapshot {
	atomic_uint references;
	size_t size;                             /* bytes of memory */
	void (*free)(struct snapshot *snapshot); /* called with the last reference */
	struct iaprof_profile profile;
};

static inline struct snapshot *snapshot_reference(struct snapshot *snapshot)
{
	atomic_fetch_add_explicit(&snapshot->references, 1, memory_order_relaxed);
	return snapshot;
}

/* Accepts NULL. */
static inline void snapshot_release(struct snapshot *snapshot)
{
	if (snapshot && atomic_fetch_sub_explicit(&snapshot->references, 1, memory_order_acq_rel) == 1)
		snapshot->free(snapshot);
}
