/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/record.h - the record schema, version 1: what sources send over the bus and sinks receive.
 *
 * A record is a C struct that starts with struct iaprof_record, is a multiple of 8 bytes long and 8-byte aligned, and
 * is in the byte order of the machine. A batch (struct iaprof_batch) is an array of records laid end to end.
 *
 * Text and call stacks travel as 32-bit ids. An id is defined once by a STRING or STACK record, which comes before the
 * first record that uses it; a source gets ids from host->intern_string() and host->intern_stack() and never writes
 * definitions itself. Id 0 means "none" for both.
 *
 * Times are CLOCK_MONOTONIC nanoseconds, durations are nanoseconds, sizes are bytes, unless a member says otherwise.
 * Process and thread ids are those of the initial PID namespace.
 *
 * Members and record types are only appended. A reader takes what it knows of a longer record and skips a type that it
 * does not know; record.size says where the next record starts. The order of members in a released struct never
 * changes.
 */
#ifndef IAPROF_RECORD_H
#define IAPROF_RECORD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of everything in this file; a plugin states the one it was built with (struct iaprof_plugin). */
#define IAPROF_SCHEMA_VERSION 1u

/* The longest record, header included. Longer ones are refused; 65,528 is the largest multiple of 8 below 64 KiB. */
#define IAPROF_RECORD_SIZE_MAX 65528u

/* The longest stack, in addresses: the kernel's own limit for kernel.perf_event_max_stack is far below. */
#define IAPROF_STACK_DEPTH_MAX 1024u

/* The longest interned string, in bytes without the terminating NUL. */
#define IAPROF_STRING_LENGTH_MAX 65000u

/* Room for a build id: SHA-1 is 20 bytes (BUILD_ID_SIZE_MAX in the kernel's include/linux/buildid.h, 6.1). */
#define IAPROF_BUILD_ID_SIZE_MAX 20u

/* "How many is not known", for counts of what was lost. */
#define IAPROF_COUNT_UNKNOWN UINT64_MAX

enum iaprof_record_type {
	IAPROF_RECORD_STRING = 1,       /* definition of a string id; sent by the core */
	IAPROF_RECORD_STACK = 2,        /* definition of a stack id; sent by the core */
	IAPROF_RECORD_SOURCE = 3,       /* name of a source number; sent by the core */
	IAPROF_RECORD_METADATA = 4,     /* key and value about the run */
	IAPROF_RECORD_VALUE_TYPE = 5,   /* what a sample counts, and its unit */
	IAPROF_RECORD_PROCESS = 6,      /* a process exists, forked, executed, changed its name, or exited */
	IAPROF_RECORD_MAPPING = 7,      /* an executable mapping in a process */
	IAPROF_RECORD_SAMPLE = 8,       /* CPU samples that share a stack */
	IAPROF_RECORD_DEVICE = 9,       /* a GPU, NPU or other device, or one tile of it */
	IAPROF_RECORD_CODE_OBJECT = 10, /* an ELF image was loaded on a device */
	IAPROF_RECORD_CODE_OBJECT_UNLOAD = 11,
	IAPROF_RECORD_KERNEL = 12,          /* a function in a code object */
	IAPROF_RECORD_LAUNCH = 13,          /* CPU calls that enqueued a kernel */
	IAPROF_RECORD_STALL_REASON = 14,    /* name of a stall reason's number */
	IAPROF_RECORD_STALL_SAMPLE = 15,    /* a device address with a count for each stall reason */
	IAPROF_RECORD_CALL = 16,            /* a driver or API call */
	IAPROF_RECORD_COUNTER = 17,         /* declares a counter */
	IAPROF_RECORD_COUNTER_VALUE = 18,   /* sets a counter */
	IAPROF_RECORD_FINDING = 19,         /* something the source thinks the user should know */
	IAPROF_RECORD_LOST = 20,            /* something happened and was not recorded */
	IAPROF_RECORD_FRAMES = 21,          /* the symbolizer's answer for one address; sent by the core */
	IAPROF_RECORD_SYNC = 22,            /* what happened to processes until then has been told; sent by the core */
	IAPROF_RECORD_CODE_FUNCTION = 23,   /* a function in the image of a code object; sent by the core */
	IAPROF_RECORD_STACK_FRAMES = 24,    /* names of the user stack of a launch or call; sent by the core */
	IAPROF_RECORD_DEVICE_ACTIVITY = 25, /* how long a process kept a device busy */
	IAPROF_RECORD_PROFILE_STACK = 26,   /* definition of a resolved stack; sent by the core */
	IAPROF_RECORD_PROFILE_VALUE = 27,   /* what a resolved stack adds to the profile; sent by the core */
	IAPROF_RECORD_CALL_FUNCTION = 28,   /* a function that calls are of */
	IAPROF_RECORD_CALL_NODE = 29,       /* a function called in the course of others */
	IAPROF_RECORD_HISTOGRAM = 30,       /* how values are distributed, such as how long calls took */
	IAPROF_RECORD_JOB = 31,             /* work that was given to a device */
	IAPROF_RECORD_CODE_LISTING = 32,    /* instructions of a function of a device; sent by the core */
	IAPROF_RECORD_MODULE = 33,          /* a file with code that was read, and its build id; sent by the core */
	IAPROF_RECORD_SOURCE_TEXT = 34,     /* text of a source file; written by sink capture */
	IAPROF_RECORD_TYPE_COUNT            /* not a type: one more than the largest */
};

/* The header of every record. 16 bytes. */
struct iaprof_record {
	uint32_t size; /* bytes of the whole record, this header included: a multiple of 8, <= IAPROF_RECORD_SIZE_MAX */
	uint16_t type; /* enum iaprof_record_type */
	uint16_t
		source; /* number of the instance that sent it, 0 the core; whatever a source writes here is replaced */
	uint64_t time;  /* when it happened; for an aggregate, when the last of it happened */
};

/* STRING: sizeof(struct iaprof_record_string) + length bytes + NUL, padded with zeros to 8. Arbitrary bytes, no NUL. */
struct iaprof_record_string {
	struct iaprof_record header;
	uint32_t id;     /* >= 1 */
	uint32_t length; /* bytes without the NUL, <= IAPROF_STRING_LENGTH_MAX */
};
static inline const char *iaprof_record_string_text(const struct iaprof_record_string *record)
{
	return (const char *)(record + 1);
}

/* STACK: the struct and then count addresses, the innermost (leaf) first. */
struct iaprof_record_stack {
	struct iaprof_record header;
	uint32_t id;    /* >= 1 */
	uint32_t count; /* 1 to IAPROF_STACK_DEPTH_MAX */
	uint32_t pid;   /* whose user addresses these are; 0: addresses in the Linux kernel */
	uint32_t pad;
};
static inline const uint64_t *iaprof_record_stack_addresses(const struct iaprof_record_stack *record)
{
	return (const uint64_t *)(record + 1);
}

/* SOURCE: which instance has a source number. */
struct iaprof_record_source {
	struct iaprof_record header;
	uint32_t number; /* as in header.source of its records */
	uint32_t name;   /* string id: "cpu-stack", or "cpu-stack.ID" for a second instance */
};

/* METADATA: a fact about the run, such as ("kernel release", "6.12.1") or ("frequency", "99 Hz"). */
struct iaprof_record_metadata {
	struct iaprof_record header;
	uint32_t key;   /* string id */
	uint32_t value; /* string id */
};

/* VALUE_TYPE: what a value counts and its unit, as in pprof: ("cpu", "nanoseconds"), ("gpu-stalls", "count"). */
struct iaprof_record_value_type {
	struct iaprof_record header;
	uint32_t id;   /* >= 1; host->declare_value_type() gives it, the same name and unit have the same id in a run */
	uint32_t name; /* string id */
	uint32_t unit; /* string id: "count", "nanoseconds", "bytes" */
	uint32_t pad;
	uint64_t period; /* the usual value of one sample, 0 when there is none: 10,101,010 ns for a 99 Hz clock */
};

enum iaprof_process_event {
	IAPROF_PROCESS_EXISTING = 1, /* was there when the run began */
	IAPROF_PROCESS_FORK = 2,     /* a new process (not a thread) */
	IAPROF_PROCESS_EXEC = 3,     /* executes a new program: earlier mappings are gone */
	IAPROF_PROCESS_NAME = 4,     /* changed its name */
	IAPROF_PROCESS_EXIT = 5      /* its last thread ended */
};

/* PROCESS: see enum iaprof_process_event. */
struct iaprof_record_process {
	struct iaprof_record header;
	uint32_t pid;
	uint32_t parent_pid; /* 0 when not known */
	uint32_t event;      /* enum iaprof_process_event */
	uint32_t name;       /* string id of its comm; 0 for FORK and EXIT when not known */
};

enum iaprof_mapping_flag {
	IAPROF_MAPPING_DELETED = 1u << 0, /* the file had no name left when the mapping was seen */
	IAPROF_MAPPING_EXISTING = 1u << 1 /* was there when first looked at: start of its life not known */
};

/*
 * MAPPING: an executable mapping, as in perf's PERF_RECORD_MMAP2 (linux/perf_event.h). A later mapping that overlaps
 * an earlier one replaces the overlapped part from its time on.
 */
struct iaprof_record_mapping {
	struct iaprof_record header;
	uint32_t pid;
	uint32_t path;  /* string id: a path inside the process's mount namespace, "[vdso]", "//anon", ... */
	uint64_t start; /* first address */
	uint64_t size;
	uint64_t file_offset;      /* where in the file the mapping starts */
	uint64_t inode;            /* 0 when not known or not a file */
	uint64_t inode_generation; /* 0 when not known */
	uint32_t device_major;
	uint32_t device_minor;
	uint32_t flags;         /* enum iaprof_mapping_flag */
	uint32_t build_id_size; /* 0 (not known) to IAPROF_BUILD_ID_SIZE_MAX; of live runs 0, see MODULE */
	uint8_t build_id[IAPROF_BUILD_ID_SIZE_MAX];
	uint8_t pad[4];
};

/*
 * SAMPLE: one CPU sample, or several that share all of this. header.time is the time of the last one; the process and
 * its mappings are looked up at that time.
 */
struct iaprof_record_sample {
	struct iaprof_record header;
	uint32_t pid;
	uint32_t tid;          /* 0: of any thread of the process */
	uint32_t name;         /* string id of the program name (comm) at that time; 0: take the process table's */
	uint32_t cpu;          /* UINT32_MAX: of any CPU */
	uint32_t user_stack;   /* stack id, 0 none */
	uint32_t kernel_stack; /* stack id, 0 none */
	uint32_t value_type;   /* value type id */
	uint32_t flags;        /* enum iaprof_sample_flag */
	uint64_t count;        /* how many samples, >= 1 */
	uint64_t value;        /* their sum, in the value type's unit */
	uint64_t first_time;   /* time of the first one, <= header.time */
};

enum iaprof_sample_flag {
	IAPROF_SAMPLE_USER_STACK_MISSING = 1u << 0,   /* user code was running and no stack could be taken */
	IAPROF_SAMPLE_KERNEL_STACK_MISSING = 1u << 1, /* the same for the Linux kernel's stack */
	IAPROF_SAMPLE_TRUNCATED = 1u << 2 /* a stack was deeper than could be taken: its root is not known */
};

/* DEVICE: a device, or a part of one that has samples of its own (a tile, a GT). */
struct iaprof_record_device {
	struct iaprof_record header;
	uint32_t id;      /* >= 1, unique within its source */
	uint32_t name;    /* string id: "Intel Arc B580 GT 0" */
	uint32_t address; /* string id: PCI address "0000:03:00.0"; 0 none */
	uint32_t machine; /* ELF machine number of its code (Intel GT: 205), 0 when it runs none */
};

enum iaprof_address_space {
	IAPROF_ADDRESS_ABSOLUTE = 0,        /* full device virtual addresses */
	IAPROF_ADDRESS_INSTRUCTION_BASE = 1 /* relative to the instruction base address of a process */
};

/*
 * CODE_OBJECT: the image is at path, a private file that its source removes, or /proc/self/fd/N for a descriptor that
 * it closes; not before 5 seconds after it sent the record. header.time is when it was loaded.
 */
struct iaprof_record_code_object {
	struct iaprof_record header;
	uint32_t id; /* >= 1, unique within its source, never used twice */
	uint32_t pid;
	uint32_t device;           /* device id of the same source, 0: any device */
	uint32_t machine;          /* ELF machine number */
	uint64_t address;          /* first device address, canonical (sign-extended) form removed */
	uint64_t size;             /* 0 when not known */
	uint64_t instruction_base; /* what IAPROF_ADDRESS_INSTRUCTION_BASE addresses of its process are relative to */
	uint32_t path;             /* string id: file of the ELF image; 0 when there is none */
	uint32_t build_id_size;    /* as in struct iaprof_record_mapping */
	uint8_t build_id[IAPROF_BUILD_ID_SIZE_MAX];
	uint8_t pad[4];
};

/* CODE_OBJECT_UNLOAD: from header.time on the code object is no longer on the device. */
struct iaprof_record_code_object_unload {
	struct iaprof_record header;
	uint32_t id; /* of a CODE_OBJECT of the same source */
	uint32_t pid;
};

/* KERNEL: a function in a code object. */
struct iaprof_record_kernel {
	struct iaprof_record header;
	uint32_t id;          /* >= 1, unique within its source */
	uint32_t code_object; /* id of the same source, 0 when its image is not known */
	uint32_t pid;
	uint32_t name;    /* string id, as in the symbol table (mangled) */
	uint64_t address; /* first device address */
	uint64_t size;    /* 0 when not known */
	/* Appended: a shorter record has none. As in struct iaprof_record_code_object, 0 when not known. */
	uint64_t instruction_base;
};

/* LAUNCH: count CPU calls from one place that enqueued a kernel; header.time is the last one's. */
struct iaprof_record_launch {
	struct iaprof_record header;
	uint32_t kernel; /* id of a KERNEL of the same source */
	uint32_t pid;
	uint32_t tid;          /* 0: of any thread */
	uint32_t device;       /* 0 when not known */
	uint32_t user_stack;   /* stack id, 0 none */
	uint32_t kernel_stack; /* stack id, 0 none */
	uint64_t count;        /* >= 1 */
	uint64_t first_time;
};

enum iaprof_stall_reason_flag {
	IAPROF_STALL_REASON_WAITS = 1u << 0 /* the instruction waits for the result of another one: a scoreboard */
};

/* STALL_REASON: name of a reason's number. The source declares its reasons; the core knows none. */
struct iaprof_record_stall_reason {
	struct iaprof_record header;
	uint32_t id;   /* 0 to 63, unique within its source */
	uint32_t name; /* string id: "sbid" */
	/* Appended: a shorter record has no flags. */
	uint32_t flags; /* enum iaprof_stall_reason_flag */
	uint32_t pad;
};

/* STALL_SAMPLE: the struct and then reason_count values of 8 bytes; value i counts the reason with id i. */
struct iaprof_record_stall_sample {
	struct iaprof_record header; /* time: end of the interval that the counts are of */
	uint64_t begin;              /* start of that interval */
	uint64_t address;            /* device instruction address */
	uint32_t device;             /* device id of the same source */
	uint32_t address_space;      /* enum iaprof_address_space */
	uint32_t reason_count;       /* 1 to 64 */
	uint32_t pid;                /* 0: not known, as the hardware does not say */
};
static inline const uint64_t *iaprof_record_stall_sample_counts(const struct iaprof_record_stall_sample *record)
{
	return (const uint64_t *)(record + 1);
}

/* CALL: count driver or API calls that share all of this; header.time is when the last one started. */
struct iaprof_record_call {
	struct iaprof_record header;
	uint32_t name; /* string id: "ivpu_bo_create_ioctl" */
	uint32_t pid;  /* 0: no process (interrupt, kernel thread) */
	uint32_t tid;
	uint32_t depth;      /* nesting on its thread: 0 outermost */
	uint32_t parent;     /* string id of the call that it is nested in; 0 none */
	uint32_t user_stack; /* stack id, 0 none */
	uint64_t duration;   /* sum over the calls */
	uint64_t count;      /* >= 1 */
	uint64_t first_time;
	int64_t result; /* return value of the last one */
	/* Appended: a shorter record has node 0, and is in no profile. */
	uint32_t node;       /* id of a CALL_NODE of the same source: name, depth and parent are its; 0 none */
	uint32_t time_type;  /* id of the value type that self_duration adds to; 0 none */
	uint32_t count_type; /* id of the value type that count adds to; 0 none */
	uint32_t pad;
	uint64_t self_duration; /* duration without that of the calls nested in these which have records too */
};

enum iaprof_call_kind {
	IAPROF_CALL_API = 1,      /* a function of a library: "zeCommandListCreate" */
	IAPROF_CALL_IOCTL = 2,    /* a request to a driver: "DRM_IOCTL_IVPU_SUBMIT" */
	IAPROF_CALL_FUNCTION = 3, /* a function of a driver */
	IAPROF_CALL_CONTEXT = 4   /* no call: why or where the calls nested in it are made: "[interrupt]", "[boot]" */
};

/* CALL_FUNCTION: what is called. */
struct iaprof_record_call_function {
	struct iaprof_record header;
	uint32_t id;     /* >= 1, unique within its source */
	uint32_t name;   /* string id: "ivpu_bo_create_ioctl" */
	uint32_t family; /* string id of what it belongs to, in the words of the source: "buffers"; 0 none */
	uint32_t kind;   /* enum iaprof_call_kind */
};

/* The deepest nesting of calls, the outermost one included. */
#define IAPROF_CALL_DEPTH_MAX 64u

/*
 * CALL_NODE: a function in the course of the calls that it is nested in: one node of the tree of calls, which has each
 * way of nesting once. Sent before the first record that names it.
 */
struct iaprof_record_call_node {
	struct iaprof_record header;
	uint32_t id;       /* >= 1, unique within its source */
	uint32_t parent;   /* id of an earlier CALL_NODE of the same source; 0: outermost */
	uint32_t function; /* id of a CALL_FUNCTION of the same source */
	uint32_t pad;
};

/* The most buckets of a histogram: one for each bit of a value. */
#define IAPROF_HISTOGRAM_BUCKET_COUNT_MAX 64u

/*
 * HISTOGRAM: values measured between begin and header.time. Readers add up those of a source with the same name. The
 * struct and then bucket_count values of 8 bytes: bucket i counts the values from 2^i to 2^(i + 1) - 1, bucket 0 zeros
 * too.
 */
struct iaprof_record_histogram {
	struct iaprof_record header;
	uint64_t begin;
	uint64_t count;   /* >= 1: the sum of the buckets */
	uint64_t sum;     /* of the values */
	uint64_t maximum; /* the largest value */
	uint32_t name;    /* string id of what was measured: "ivpu_submit_ioctl" */
	uint32_t unit;    /* string id: "nanoseconds" */
	uint32_t bucket_count;
	uint32_t pad;
};
static inline const uint64_t *iaprof_record_histogram_buckets(const struct iaprof_record_histogram *record)
{
	return (const uint64_t *)(record + 1);
}

/*
 * The value below which a part (0 to 1) of the values of added up histograms is, by their
 * IAPROF_HISTOGRAM_BUCKET_COUNT_MAX buckets, as if the values of a bucket were evenly spread in it; never above
 * maximum. Any thread.
 */
static inline uint64_t iaprof_histogram_quantile(const uint64_t *buckets, uint64_t count, uint64_t maximum, double part)
{
	double wanted = part * (double)count, before = 0;
	for (unsigned i = 0; i < IAPROF_HISTOGRAM_BUCKET_COUNT_MAX; i++) {
		double here = (double)buckets[i];
		if (here > 0 && before + here >= wanted) {
			double low = i ? (double)((uint64_t)1 << i) : 0, high = i ? 2 * low : 2;
			double value = low + (high - low) * (wanted - before) / here;
			return value < (double)maximum ? (uint64_t)value : maximum;
		}
		before += here;
	}
	return maximum;
}

enum iaprof_job_state {
	IAPROF_JOB_DONE = 1,
	IAPROF_JOB_ABORTED = 2,
	IAPROF_JOB_IN_FLIGHT = 3 /* the run ended first */
};

/* JOB: work that a process gave to a device, when it is over; header.time is its end. Times that are not known are 0.
 */
struct iaprof_record_job {
	struct iaprof_record header;
	uint64_t submitted; /* when the process handed it to the driver */
	uint64_t queued;    /* when the driver handed it to the device */
	uint64_t started;   /* when the device began with it; 0: at once, or after the job before */
	uint32_t id;        /* the driver's number, used again */
	uint32_t pid;
	uint32_t tid;     /* 0 not known */
	uint32_t device;  /* id of a DEVICE of the same source, 0 not known */
	uint32_t context; /* the driver's number of the process's context */
	uint32_t engine;  /* string id: "compute"; 0 not known */
	uint32_t state;   /* enum iaprof_job_state */
	uint32_t status;  /* the driver's own, 0: success */
};

enum iaprof_counter_kind {
	IAPROF_COUNTER_GAUGE = 1,     /* a level: may go up and down */
	IAPROF_COUNTER_CUMULATIVE = 2 /* a sum since some start: only grows */
};

/*
 * COUNTER: declares one. "rows" and "overflows" of a device are how many rows the hardware wrote, and how often it lost
 * some: the summary of a run has them. A source of code objects and launches sends values of its counters after
 * everything else that it has to tell up to their time, several times a second: then stall samples of that time need
 * not wait for more.
 */
struct iaprof_record_counter {
	struct iaprof_record header;
	uint32_t id;     /* >= 1, unique within its source */
	uint32_t name;   /* string id */
	uint32_t unit;   /* string id */
	uint32_t kind;   /* enum iaprof_counter_kind */
	uint32_t device; /* device id, 0 none */
	uint32_t pad;
};

/* COUNTER_VALUE: sets one. */
struct iaprof_record_counter_value {
	struct iaprof_record header;
	uint32_t counter; /* id of a COUNTER of the same source */
	uint32_t pad;
	double value; /* finite, in the counter's unit */
};

enum iaprof_finding_severity { IAPROF_FINDING_NOTE = 1, IAPROF_FINDING_WARNING = 2, IAPROF_FINDING_PROBLEM = 3 };

/* FINDING: one sentence for the user, with the number that it rests on. */
struct iaprof_record_finding {
	struct iaprof_record header;
	uint32_t severity; /* enum iaprof_finding_severity */
	uint32_t name;     /* string id of its kind, the same for every finding of that kind: "stall-overflow" */
	uint32_t text;     /* string id: what was seen and what to do */
	uint32_t pid;      /* 0 none */
	double value;      /* what was measured; finite */
	double threshold;  /* what it is held against; finite */
};

/*
 * LOST: count things that happened between begin and header.time and are missing from the records. The core adds them
 * up by source and reason, and every sink states them.
 */
struct iaprof_record_lost {
	struct iaprof_record header;
	uint64_t begin;
	uint64_t count;      /* how many events; IAPROF_COUNT_UNKNOWN when nobody can say */
	uint64_t value;      /* what they would have added to value_type; 0 when not known */
	uint32_t value_type; /* value type id; 0 none */
	uint32_t reason;     /* string id: "stack map full" */
};

enum iaprof_frame_kind {
	IAPROF_FRAME_PROCESS = 1, /* program name, with the pid in address */
	IAPROF_FRAME_USER = 2,    /* machine code of a program or library */
	IAPROF_FRAME_LINUX_KERNEL = 3,
	IAPROF_FRAME_JIT = 4,           /* code generated at run time */
	IAPROF_FRAME_SEPARATOR = 5,     /* "-": the CPU's part ends, the device's begins */
	IAPROF_FRAME_DEVICE_SOURCE = 6, /* source file of device code */
	IAPROF_FRAME_DEVICE_FUNCTION = 7,
	IAPROF_FRAME_DEVICE_INSTRUCTION = 8,
	IAPROF_FRAME_STALL_REASON = 9,
	IAPROF_FRAME_DEVICE_OFFSET = 10,
	IAPROF_FRAME_CALL = 11, /* a driver or API call */
	IAPROF_FRAME_LOST = 12  /* parts of the stack [lost];SOURCE;REASON */
};

enum iaprof_frame_flag {
	IAPROF_FRAME_INLINED = 1u << 0, /* inlined into the frame before it (towards the root) */
	IAPROF_FRAME_UNKNOWN = 1u << 1, /* no name was found: the name says why, as "[unknown]" or "[deleted]" */
	IAPROF_FRAME_PRODUCER = 1u << 2 /* what the instruction before it (towards the root) waits for; for sinks that
					   asked for IAPROF_REQUEST_PRODUCERS, others leave it out */
};

/* One frame of a FRAMES record. 48 bytes. */
struct iaprof_record_frame {
	uint32_t name;   /* string id, demangled */
	uint32_t module; /* string id: file the code is in; 0 none */
	uint32_t file;   /* string id of the source file; 0 not known */
	uint32_t line;   /* 0 not known */
	uint32_t kind;   /* enum iaprof_frame_kind */
	uint32_t flags;  /* enum iaprof_frame_flag */
	uint64_t offset; /* bytes from the start of the function */
	/*
	 * Inside the module as its file numbers it (ELF virtual address); for JIT the address. Of an
	 * IAPROF_FRAME_DEVICE_OFFSET the id of the CODE_LISTING that its instruction is in, 0 none.
	 */
	uint64_t address;
	uint64_t reserved; /* 0 */
};

/*
 * FRAMES: the symbolizer's answer for one address, sent when a stack is resolved, so that a capture can be replayed on
 * another machine. The struct and then frame_count frames, the outermost function first, what is inlined in it after.
 */
struct iaprof_record_frames {
	struct iaprof_record header;
	uint64_t address;
	uint32_t process;     /* the process table's serial number of the process, 0 for the Linux kernel */
	uint32_t mapping;     /* its serial number of the mapping, 0 none */
	uint32_t frame_count; /* 1 to 64 */
	uint32_t flags;       /* enum iaprof_frames_flag */
};
enum iaprof_frames_flag {
	IAPROF_FRAMES_HAVE_LINES = 1u << 0 /* source lines and inlined functions were looked up */
};
static inline const struct iaprof_record_frame *iaprof_record_frames_frames(const struct iaprof_record_frames *record)
{
	return (const struct iaprof_record_frame *)(record + 1);
}

/*
 * SYNC: every PROCESS and MAPPING record of a time up to header.time has been sent. Samples of up to that time can now
 * be given to the right program; profiles of intervals end at one of these.
 */
struct iaprof_record_sync {
	struct iaprof_record header;
};

/* A number that a compiler gives with a function, such as ("simd_size", 32); 0 and 1 for what is no or yes. 16 bytes.
 */
struct iaprof_attribute {
	uint32_t name; /* string id, as the compiler writes it */
	uint32_t pad;
	int64_t value;
};

/* The most attributes of one function. */
#define IAPROF_ATTRIBUTE_COUNT_MAX 64

enum iaprof_code_function_flag {
	IAPROF_CODE_FUNCTION_KERNEL = 1u << 0 /* can be launched; else kernels call it */
};

/*
 * CODE_FUNCTION: a function in the image of a code object, as the core read it. The core sends one for each function
 * after it took the CODE_OBJECT record, so that a capture holds what is not there any more in a replay; header.source
 * is the code object's. A KERNEL of the same source with this code object and this name is an instance of it. The
 * struct and then attribute_count attributes.
 */
struct iaprof_record_code_function {
	struct iaprof_record header;
	uint32_t code_object; /* id of the same source */
	uint32_t name;        /* string id, as in the symbol table (mangled) */
	uint32_t shown_name;  /* string id: demangled; the type alone for a SYCL kernel */
	uint32_t flags;       /* enum iaprof_code_function_flag */
	uint64_t address;     /* first device address; 0 when the image does not say where it is loaded */
	uint64_t size;        /* without the padding behind it */
	uint32_t attribute_count;
	uint32_t pad;
};
static inline const struct iaprof_attribute *
iaprof_record_code_function_attributes(const struct iaprof_record_code_function *record)
{
	return (const struct iaprof_attribute *)(record + 1);
}

/* Why an instruction waits for another one. */
enum iaprof_wait {
	IAPROF_WAIT_RESULT = 1,   /* until it wrote its result */
	IAPROF_WAIT_OPERANDS = 2, /* until it read its operands, which are overwritten */
	IAPROF_WAIT_TOKEN = 3,    /* until it gives back the token that both use */
	IAPROF_WAIT_PIPELINE = 4  /* until it is through its pipeline */
};

/* An instruction that another one can be waiting for. Never grows: 16 bytes. */
struct iaprof_producer {
	uint64_t offset; /* bytes into the code, where it begins */
	uint32_t wait;   /* enum iaprof_wait */
	uint32_t token;  /* the device's number of what is waited on; 0 for IAPROF_WAIT_PIPELINE */
};

enum iaprof_producers_flag {
	IAPROF_PRODUCERS_INCOMPLETE = 1u << 0 /* there may be others, which cannot be found in the code */
};

/* An instruction of a CODE_LISTING. 48 bytes. */
struct iaprof_listed_instruction {
	uint64_t offset; /* as frames of it have it (IAPROF_FRAME_DEVICE_OFFSET) */
	uint32_t size;   /* bytes, >= 1 */
	uint32_t name;   /* string id, as its frame has it: "send.ugm load" */
	uint32_t text;   /* string id of the full disassembly; 0 none */
	uint32_t waits;  /* string id: what it waits for, as the device's assembler writes it; 0 nothing */
	uint32_t file;   /* string id of the source file, of the innermost inlined function; 0 not known */
	uint32_t line;   /* 0 not known */
	uint32_t producer_count;
	uint32_t producers_flags; /* enum iaprof_producers_flag */
	uint64_t reserved;        /* 0 */
};

/*
 * CODE_LISTING: the instructions of a function, all of them, also those without samples, in order. The core sends it
 * when a function has its first samples, once for each function and image, when a sink asked for
 * IAPROF_REQUEST_LISTINGS. Records with the same id go on where the one before ended, with the same numbers; attributes
 * are in the first. The struct, then attribute_count attributes, instruction_count instructions, and the producers of
 * those, producer_count in all, with offsets as instructions have them.
 */
struct iaprof_record_code_listing {
	struct iaprof_record header;
	uint32_t id;         /* >= 1 */
	uint32_t name;       /* string id, as in the symbol table (mangled) */
	uint32_t shown_name; /* string id: as in CODE_FUNCTION */
	uint32_t flags;      /* enum iaprof_code_function_flag */
	uint64_t size;       /* of the function, without the padding behind it */
	uint64_t left_out;   /* bytes of it that are in no instruction: too many, or nothing that can be decoded */
	uint32_t attribute_count;
	uint32_t instruction_count;
	uint32_t producer_count;
	uint32_t pad;
};
static inline const struct iaprof_attribute *
iaprof_record_code_listing_attributes(const struct iaprof_record_code_listing *record)
{
	return (const struct iaprof_attribute *)(record + 1);
}
static inline const struct iaprof_listed_instruction *
iaprof_record_code_listing_instructions(const struct iaprof_record_code_listing *record)
{
	return (const struct iaprof_listed_instruction *)(iaprof_record_code_listing_attributes(record) +
							  record->attribute_count);
}
static inline const struct iaprof_producer *
iaprof_record_code_listing_producers(const struct iaprof_record_code_listing *record)
{
	return (const struct iaprof_producer *)(iaprof_record_code_listing_instructions(record) +
						record->instruction_count);
}

/* The most frames of a STACK_FRAMES record: those at the leaf's end are left out. */
#define IAPROF_STACK_FRAMES_COUNT_MAX 1024u

/*
 * STACK_FRAMES: the symbolizer's names for the user stack of LAUNCH and CALL records, which are sent without waiting
 * for them: they come within seconds, after the SYNC record that follows the first of those, and at the latest at the
 * end of the run. Seldom twice for one stack. The struct and then frame_count frames, the root first; offset and
 * address of the frames are not set.
 */
struct iaprof_record_stack_frames {
	struct iaprof_record header;
	uint32_t stack; /* id */
	uint32_t pid;
	uint32_t frame_count; /* 1 to IAPROF_STACK_FRAMES_COUNT_MAX */
	uint32_t pad;
};
static inline const struct iaprof_record_frame *
iaprof_record_stack_frames_frames(const struct iaprof_record_stack_frames *record)
{
	return (const struct iaprof_record_frame *)(record + 1);
}

enum iaprof_activity_kind {
	IAPROF_ACTIVITY_SCHEDULER = 1, /* the driver's scheduler said when jobs began and ended */
	IAPROF_ACTIVITY_STATISTICS = 2 /* usage counters of the process, read now and then */
};

/*
 * DEVICE_ACTIVITY: a process kept a device busy for some time between begin and header.time. Hardware that samples
 * addresses does not say whose they are: stall samples of an address at which several processes have code go to those
 * that were active in the samples' interval, in proportion. Where there are records of several kinds, the lowest
 * counts. A source sends them before the stall samples of the same interval.
 */
struct iaprof_record_device_activity {
	struct iaprof_record header;
	uint64_t begin;
	uint64_t busy;   /* ns, at least 1; jobs of several engines may add up to more than the interval */
	uint32_t device; /* device id of the same source */
	uint32_t pid;
	uint32_t kind;  /* enum iaprof_activity_kind */
	uint32_t label; /* string id: what its code is that no code object covers, such as "[Mesa shader code]"; 0 not
			   known */
};

/* The most frames of a PROFILE_STACK record: those at the leaf's end are left out. */
#define IAPROF_PROFILE_STACK_COUNT_MAX 1360u

/*
 * PROFILE_STACK: a resolved stack of device samples, with an id that PROFILE_VALUE records refer to. The struct and
 * then frame_count frames, the root first. The first frame is the program, with the pid in its address. A replay of a
 * profile that another program wrote as text has these for all of its stacks, some without the program.
 */
struct iaprof_record_profile_stack {
	struct iaprof_record header;
	uint32_t id;          /* >= 1 */
	uint32_t frame_count; /* 1 to IAPROF_PROFILE_STACK_COUNT_MAX */
};
static inline const struct iaprof_record_frame *
iaprof_record_profile_stack_frames(const struct iaprof_record_profile_stack *record)
{
	return (const struct iaprof_record_frame *)(record + 1);
}

/*
 * PROFILE_VALUE: what the core's correlator made of stall samples: so much was added to the profile under a stack. A
 * replay takes these, for the images are gone; header.source is the source of the stall samples.
 */
struct iaprof_record_profile_value {
	struct iaprof_record
		header;      /* time: of the SYNC with which it was added; at the end of the run later than any */
	uint32_t stack;      /* id of a PROFILE_STACK */
	uint32_t value_type; /* value type id */
	uint64_t value;
	uint64_t count; /* samples that it comes from */
	/* Appended: a shorter record has none. When the samples were taken: begin <= end; both 0 when not known. */
	uint64_t begin;
	uint64_t end;
};

/* The longest build id of a MODULE record: SHA-512 is 64 bytes. */
#define IAPROF_MODULE_BUILD_ID_SIZE_MAX 64u

/*
 * MODULE: the build id that a file with code had when its symbols were read, sent once for each path and build id,
 * before the first FRAMES record of functions in it. A path with several records is several files: replaced during the
 * run, or of several mount namespaces. The struct and then build_id_size bytes, padded with zeros to 8.
 */
struct iaprof_record_module {
	struct iaprof_record header;
	uint32_t path;          /* string id: as in MAPPING records and as the module of frames */
	uint32_t build_id_size; /* 1 to IAPROF_MODULE_BUILD_ID_SIZE_MAX */
};
static inline const uint8_t *iaprof_record_module_build_id(const struct iaprof_record_module *record)
{
	return (const uint8_t *)(record + 1);
}

/* The longest source file whose text travels in records, in bytes. */
#define IAPROF_SOURCE_TEXT_SIZE_MAX (1u << 20)

/*
 * SOURCE_TEXT: a part of the text of a source file: the struct, then length bytes without NUL, padded with zeros to 8.
 * The parts of a file follow one another, from its first byte to its last. In captures that were asked for sources.
 */
struct iaprof_record_source_text {
	struct iaprof_record header;
	uint32_t file;   /* string id: as in struct iaprof_listed_instruction */
	uint32_t size;   /* bytes of the whole file, 1 to IAPROF_SOURCE_TEXT_SIZE_MAX */
	uint32_t offset; /* where in the file the part begins */
	uint32_t length; /* bytes of the part, >= 1; offset + length <= size */
};
static inline const char *iaprof_record_source_text_bytes(const struct iaprof_record_source_text *record)
{
	return (const char *)(record + 1);
}

/* An array of records. Borrowed for the time of the call that hands it over: copy what is to be kept. */
struct iaprof_batch {
	const void *records; /* the first record, 8-byte aligned */
	uint64_t size;       /* bytes of all records together */
	uint32_t count;      /* how many records */
	uint32_t pad;
};

/* The record after this one, or NULL after the last. Only for batches the core delivered: it has checked the sizes. */
static inline const struct iaprof_record *iaprof_batch_next(const struct iaprof_batch *batch,
							    const struct iaprof_record *record)
{
	const char *end = (const char *)batch->records + batch->size;
	const char *next = record ? (const char *)record + record->size : (const char *)batch->records;
	return next < end ? (const struct iaprof_record *)next : (const struct iaprof_record *)0;
}

#ifdef __cplusplus
}
#endif
#endif
