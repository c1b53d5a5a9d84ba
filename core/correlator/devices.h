/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that are sampled, by source and id: their names, stall reasons, and what became of their samples. Belongs to
 * the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_DEVICES_H
#define IAPROF_CORE_CORRELATOR_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/array.h"
#include "bus/intern.h"

#define STALL_REASONS_MAX 64

/* What became of the samples of a device. samples = matched + ambiguous + unmatched. */
struct device_samples {
	const char *name;    /* interned */
	const char *address; /* interned, of its bus: "0000:03:00.0"; "" when it has none */
	uint64_t rows;       /* as the hardware wrote them; by the source's counter "rows" */
	uint64_t overflows;  /* times that samples were lost; by its counter "overflows" */
	uint64_t samples;
	uint64_t matched;      /* code and process are known */
	uint64_t ambiguous;    /* divided between several that may be behind them */
	uint64_t unmatched;    /* of no code that is known */
	uint64_t unlaunched;   /* of the matched ones: nobody was seen to launch the kernel */
	uint64_t interval_end; /* of the newest samples; */
	uint64_t before_end;   /* and of those before them: times of the profile begin there at the earliest */
};

/* "12 rows, 34 samples: 30 matched, 3 ambiguous, 1 unmatched; 0 overflows", at most size bytes with the NUL. */
void device_samples_describe(const struct device_samples *samples, char *text, size_t size);

struct sampled_device {
	uint16_t source;
	uint32_t id;
	struct device_samples samples;
};

/* "Intel Arc B580 GT 0", and where it is, should there be others of this name: at most size bytes with the NUL. */
void sampled_device_name(const struct sampled_device *devices, size_t count, size_t position, char *text, size_t size);

struct stall_reason {
	uint16_t source;
	uint32_t id;
	uint32_t flags;
	const char *name; /* interned */
};

/* A counter of a source that is about a device. */
struct device_counter {
	uint16_t source;
	uint32_t id;
	uint32_t device;
	bool is_rows; /* else overflows */
};

/* Initialise with {0} and intern. */
struct devices {
	struct intern *intern;
	ARRAY(struct sampled_device) items;
	ARRAY(struct stall_reason) reasons;
	ARRAY(struct device_counter) counters;
};

void devices_free(struct devices *devices);
void devices_take(struct devices *devices, const struct iaprof_record_device *record);
void devices_take_reason(struct devices *devices, const struct iaprof_record_stall_reason *record);
void devices_take_counter(struct devices *devices, const struct iaprof_record_counter *record);
void devices_take_counter_value(struct devices *devices, const struct iaprof_record_counter_value *record);

/* NULL: out of memory, or there are too many; one that was not announced is added. */
struct sampled_device *devices_find(struct devices *devices, uint16_t source, uint32_t id);
/* "reason 7" for one that was not announced. *flags: enum iaprof_stall_reason_flag. */
const char *devices_reason(const struct devices *devices, uint16_t source, uint32_t id, uint32_t *flags);

#endif
