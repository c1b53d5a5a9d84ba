/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices of a run, by source and id: names, addresses, stall reasons and sample statistics. Owned by the collector
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/array.h"
#include "bus/intern.h"

/* Limit on devices; further ones share one entry. */
#define DEVICES_MAX 1024

/* Sample statistics of a device. samples = matched + ambiguous + unmatched. */
/* Why a sample is in no known code. */
enum unmatched_reason {
	UNMATCHED_NOT_ANNOUNCED,
	UNMATCHED_UNREADABLE,
	UNMATCHED_UNPLACED,
	UNMATCHED_NO_BASE,
	UNMATCHED_OTHER_TIME,
	UNMATCHED_NO_FUNCTION,
	UNMATCHED_NO_INSTRUCTION,
	UNMATCHED_ELSEWHERE,
	UNMATCHED_NO_KERNEL,
	UNMATCHED_REASON_COUNT
};

/* Returns the words that follow "12 samples unmatched: ". */
const char *unmatched_reason_text(enum unmatched_reason reason);

struct device_samples {
	const char *name;    /* interned */
	const char *address; /* interned bus address: "0000:03:00.0"; "" if it has none */
	uint64_t rows;       /* written by the hardware, according to the source's counter with this role */
	uint64_t overflows;  /* times that the hardware dropped rows, likewise */
	uint64_t samples;
	uint64_t matched;                                   /* code and process are known */
	uint64_t ambiguous;                                 /* divided among several candidates */
	uint64_t unmatched;                                 /* not in any known code */
	uint64_t unmatched_reasons[UNMATCHED_REASON_COUNT]; /* their sum is unmatched */
	uint64_t unlaunched;                                /* matched, but without a recorded launch of the kernel */
	uint64_t interval_end;                              /* end of the interval of the newest samples */
	uint64_t before_end; /* end of the interval before that: times in the profile begin here at the earliest */
	uint32_t value_type; /* index in the value types of struct device_stacks */
};

/*
 * Writes "12 rows, 34 samples: 30 matched, 3 ambiguous, 1 unmatched; 0 overflows", at most size bytes including the
 * NUL.
 */
void device_samples_describe(const struct device_samples *samples, char *text, size_t size);

struct sampled_device {
	uint16_t source;
	uint32_t id;
	bool is_announced; /* by a DEVICE record; otherwise it is known from its samples only */
	bool has_value_type;
	uint32_t address;                    /* string id of samples.address, 0 if none */
	const char *value_name, *value_unit; /* interned: what its samples count */
	uint32_t kind;                       /* enum iaprof_device_kind */
	uint32_t sample_unit;                /* string id; 0: not stated */
	struct device_samples samples;
};

/* Value type of samples of devices whose record states none: iaprof/record.h, DEVICE. */
#define DEVICES_VALUE_NAME "gpu-stalls"
#define DEVICES_VALUE_UNIT "count"

/*
 * Writes "Accelerator 4000 tile 0", followed by its address if other devices have the same name; at most size bytes
 * including the NUL.
 */
void sampled_device_name(const struct sampled_device *devices, size_t count, size_t position, char *text, size_t size);

struct stall_reason {
	uint16_t source;
	uint32_t id;
	uint32_t flags;       /* enum iaprof_stall_reason_flag */
	uint32_t stall_class; /* enum iaprof_stall_class */
	const char *name;     /* interned */
};

/* A source's counter for a device. */
struct device_counter {
	uint16_t source;
	uint32_t id;
	uint32_t device;
	bool is_rows; /* otherwise overflows */
};

/* Initialise with {0} and intern. */
struct sampled_devices {
	struct intern *intern;
	ARRAY(struct sampled_device) items;
	ARRAY(struct stall_reason) reasons;
	ARRAY(struct device_counter) counters;
};

void sampled_devices_free(struct sampled_devices *devices);
void sampled_devices_take(struct sampled_devices *devices, const struct iaprof_record_device *record);
void sampled_devices_take_reason(struct sampled_devices *devices, const struct iaprof_record_stall_reason *record);
void sampled_devices_take_counter(struct sampled_devices *devices, const struct iaprof_record_counter *record);
void sampled_devices_take_counter_value(struct sampled_devices *devices,
					const struct iaprof_record_counter_value *record);

/* Returns a device, or NULL if it is not known. */
struct sampled_device *sampled_devices_get(const struct sampled_devices *devices, uint16_t source, uint32_t id);
/* Returns a device, adding it if it was not announced; NULL when out of memory or if there are too many. */
struct sampled_device *sampled_devices_find(struct sampled_devices *devices, uint16_t source, uint32_t id);
/* Returns a device as in struct stack_origin; NULL: 0. */
static inline uint32_t sampled_devices_origin(const struct sampled_devices *devices,
					      const struct sampled_device *device)
{
	return device ? 1 + (uint32_t)(device - devices->items.items) : 0;
}
/*
 * Returns the position of the record that represents a device, because the source of its executions and that of its
 * samples each announce it: for one without a sample unit, the first one with a sample unit that another source
 * announced at the same address.
 */
size_t sampled_devices_main(const struct sampled_devices *devices, size_t position);
/* Returns a stall reason, with the name "reason 7" if it was not announced. */
struct stall_reason sampled_devices_reason(const struct sampled_devices *devices, uint16_t source, uint32_t id);
