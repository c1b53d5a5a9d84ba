/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code of a run: which code object or kernel was at an address of a device, in which process and when, from the
 * records of sources; and its image, read as soon as it is announced, for it goes soon. Tells the bus which functions
 * an image has (CODE_FUNCTION records). Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_PROFILE_DEVICE_CODE_H
#define IAPROF_CORE_PROFILE_DEVICE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "bus/bus.h"
#include "bus/intern.h"
#include "process/process.h"
#include "symbolizer/device/remote_code.h"

struct device_code;

struct device_code_options {
	struct intern *intern;
	struct process_table *processes;
	/* What images are read with; NULL in a replay. */
	struct code_workers *workers;
	struct budget *budget;
	struct bus *bus; /* where CODE_FUNCTION records go; NULL: nobody wants them */
	bool live;       /* not a replay: images can be read, and loads be looked up */
};

/* What came in and what became of it, for the summary. */
struct device_code_statistics {
	uint64_t code_objects, kernels, launches; /* launches as counted by their sources */
	uint64_t images;                          /* different ones that were read */
	uint64_t unreadable;                      /* images that could not be read or used */
	uint64_t damaged;                         /* images some of which could not be used */
	uint64_t unplaced;                        /* kernels that nobody knows the place of: no size, or no sane one */
	uint64_t refused; /* code objects that contradict others, and loads that there is no room for */
	uint64_t untold;  /* functions of images that were too many to tell the bus */
	uint64_t out_of_memory;
};

/* NULL: out of memory. What the options name outlives it. */
struct device_code *device_code_new(const struct device_code_options *options);
void device_code_free(struct device_code *code);

void device_code_take_device(struct device_code *code, const struct iaprof_record_device *record);
void device_code_take_code_object(struct device_code *code, const struct iaprof_record_code_object *record);
void device_code_take_unload(struct device_code *code, const struct iaprof_record_code_object_unload *record);
void device_code_take_kernel(struct device_code *code, const struct iaprof_record_kernel *record);
void device_code_take_launch(struct device_code *code, const struct iaprof_record_launch *record);
/* A program ended, by exit or exec: what it had loaded is gone. Loads that are heard of later are looked at, too. */
void device_code_end_process(struct device_code *code, uint32_t pid, uint64_t time);

/*
 * A number for a device of a source, the same for the same device of another source where both tell its PCI address;
 * 0 for device 0, which is any.
 */
uint64_t device_code_device(const struct device_code *code, uint16_t source, uint32_t device);

/* What was at an address. Good until the next record is taken. */
struct device_code_found {
	uint32_t pid;
	struct remote_code *code; /* answers for address; NULL when the image is not known */
	const char *kernel;       /* without a reader: the kernel's name, mangled */
	uint64_t address;         /* the image's own; without a reader the offset from the kernel's start */
	uint64_t loaded;          /* time */
};

/* The most that a look-up gives: with more processes than this at one address, a sample is anybody's. */
#define DEVICE_CODE_FOUND_MAX 64

/*
 * What was at an address (plain: device_address.h) of a process. device: device_code_device()'s, 0: loads that are for
 * any device only. False when nothing was there, or nobody knows any more: a look-up reaches some 30 s back.
 */
bool device_code_find(struct device_code *code, uint64_t device, uint32_t pid, uint64_t address, uint64_t time,
		      struct device_code_found *found);

/*
 * All that was at an address of a process at some time in [begin, end], each load once: also what was loaded and
 * unloaded within it. The oldest first; those for the device and those for any device. Returns how many there are,
 * which may be more than capacity (at most DEVICE_CODE_FOUND_MAX): the oldest are given then.
 */
size_t device_code_find_during(struct device_code *code, uint64_t device, uint32_t pid, uint64_t address,
			       uint64_t begin, uint64_t end, struct device_code_found *found, size_t capacity);
/* The same in each process; first all that are for the device, and the processes in no order. */
size_t device_code_find_all_during(struct device_code *code, uint64_t device, uint64_t address, uint64_t begin,
				   uint64_t end, struct device_code_found *found, size_t capacity);

struct device_code_statistics device_code_statistics(const struct device_code *code);

#endif
