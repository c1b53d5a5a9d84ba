/* SPDX-License-Identifier: Apache-2.0 */
/* How long calls of single functions took, which the Linux kernel sorted into buckets, as HISTOGRAM records. */
#ifndef IAPROF_PLUGINS_IVPU_LATENCY_H
#define IAPROF_PLUGINS_IVPU_LATENCY_H

#include <stdint.h>
#include "probes.h"
#include "record_batch.h"

/*
 * Appends what was measured between begin and time, the whole run: once, when the programs are detached. Returns 0 or a
 * negative errno after host->fail().
 */
int latency_send(const struct probes *probes, struct record_batch *batch, uint64_t begin, uint64_t time);

#endif
