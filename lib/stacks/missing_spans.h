/* SPDX-License-Identifier: Apache-2.0 */
/* Why a profile has no spans, for sinks with an option that requests them. */
#pragma once

#include <iaprof/host.h>
#include <iaprof/profile.h>

/*
 * Warns if no stack of a profile of the whole run has a span. The cause is derived from the metadata of the sources
 * (lib/bpf/thread_contexts.c, lib/bpf/unwinder.c).
 */
void missing_spans_report(const struct iaprof_host *host, const struct iaprof_profile *profile);
