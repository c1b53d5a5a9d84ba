/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device code of a run: maps device addresses to code objects and kernels, by process and time, from the records of
 * sources. Images are read as soon as they are announced, because their files are short-lived. Writes the functions of
 * an image to the output stream (CODE_FUNCTION records). Owned by the collector thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "bus/intern.h"
#include "bus/result_stream.h"
#include "correlator/code_life.h"
#include "correlator/sampled_devices.h"
#include "process/process.h"
#include "symbolizer/device/remote_code.h"

struct device_code;

struct device_code_options {
	struct intern *intern;
	struct process_table *processes;
	const struct sampled_devices *devices; /* NULL: loads are for any device */
	/* Workers that read images; NULL in a replay. */
	struct code_workers *workers;
	struct budget *budget;
	struct result_stream *results; /* for CODE_FUNCTION records; NULL: none */
	bool live;                     /* not a replay: images can be read and loads looked up */
};

/* Statistics for the summary. */
struct device_code_statistics {
	uint64_t code_objects, kernels, launches; /* launches as counted by their sources */
	uint64_t images;                          /* distinct images that were read */
	uint64_t unreadable;                      /* images that could not be read */
	uint64_t damaged;                         /* images that are partly corrupt */
	uint64_t unplaced_units;                  /* units of debug information without an address */
	uint64_t unplaced;                        /* kernels without a valid size, which cannot be located */
	uint64_t refused;                         /* inconsistent code objects, and loads beyond the limit */
	uint64_t functions_over_limit;            /* functions beyond the limit on CODE_FUNCTION records per image */
	uint64_t out_of_memory;
};

/* Returns NULL when out of memory. Objects in the options must outlive it. */
struct device_code *device_code_new(const struct device_code_options *options);
void device_code_free(struct device_code *code);

void device_code_take_code_object(struct device_code *code, const struct iaprof_record_code_object *record);
void device_code_take_unload(struct device_code *code, const struct iaprof_record_code_object_unload *record);
void device_code_take_kernel(struct device_code *code, const struct iaprof_record_kernel *record);
void device_code_take_launch(struct device_code *code, const struct iaprof_record_launch *record);
/* Notes that a program ended, by exit or exec, which unloads its code. Also applies to its loads reported later. */
void device_code_end_process(struct device_code *code, uint32_t pid, uint64_t time);

/*
 * Returns a number for a device of a source; a device that several sources report with its PCI address has the same
 * number for all of them. 0 for device 0, which means any.
 */
uint64_t device_code_device(const struct device_code *code, uint16_t source, uint32_t device);

/* Code found at an address. Valid until the next record is processed. */
struct device_code_found {
	uint32_t pid;
	struct remote_code *code; /* resolves address; NULL if the image is not known */
	const char *kernel;       /* without a reader, and of a whole kernel: its name, mangled */
	uint64_t address;         /* image address; without a reader the offset from the kernel's start */
	bool is_whole;            /* a kernel as a whole, which begins at address */
	struct code_life life;
};

/* Maximum number of results of a lookup; with more processes than this at an address, a sample cannot be attributed. */
#define DEVICE_CODE_FOUND_MAX 64

/*
 * Finds the code at an address (plain: device_address.h) of a process. device: from device_code_device(), 0: only loads
 * for any device. Returns false if there was none, or if it is too long ago: lookups reach back about 30 s.
 */
bool device_code_find(struct device_code *code, uint64_t device, uint32_t pid, uint64_t address, uint64_t time,
		      struct device_code_found *found);

/*
 * Finds the code at an offset in a kernel, by the id that its source gave it. DEVICE_CODE_WHOLE_KERNEL: the kernel as a
 * whole. Returns false if it is not known or shorter.
 */
#define DEVICE_CODE_WHOLE_KERNEL UINT64_MAX
bool device_code_find_kernel(const struct device_code *code, uint16_t source, uint32_t kernel, uint64_t offset,
			     struct device_code_found *found);

/*
 * Finds all code at an address of a process at any time in [begin, end], each load once, including loads that were
 * loaded and unloaded within it; oldest first; for the device and for any device. Returns the number found, which may
 * exceed capacity (at most DEVICE_CODE_FOUND_MAX); the oldest are stored then.
 */
size_t device_code_find_during(struct device_code *code, uint64_t device, uint32_t pid, uint64_t address,
			       uint64_t begin, uint64_t end, struct device_code_found *found, size_t capacity);
/* The same for all processes; loads for the device come first, processes are unordered. */
size_t device_code_find_all_during(struct device_code *code, uint64_t device, uint64_t address, uint64_t begin,
				   uint64_t end, struct device_code_found *found, size_t capacity);

/* Returns why no code is known at an address (plain) in [begin, end]; pid 0: of any process. */
enum unmatched_reason device_code_unmatched(struct device_code *code, uint64_t device, uint32_t pid, uint64_t address,
					    uint64_t begin, uint64_t end);

struct device_code_statistics device_code_statistics(const struct device_code *code);
