/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/record.h - the record schema: what sources send over the bus and sinks receive.
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
 * A record is malformed if its size is wrong, its type is 0 or "sent by the core", or it breaks a rule that is called
 * so below: emit() then rejects its batch, and the source ends. The core does not check other values, but
 * iaprof-plugin-check checks those of enums and flags. Tables of the core are bounded; what exceeds a bound is handled
 * as stated, without an error.
 *
 * A reader ignores the unknown end of a longer record and skips unknown record types; record.size locates the next
 * record. A record may end before a member whose comment says that a shorter record lacks it: whether it has one is
 * decided by where that member ends, never by the size of the struct, which grows.
 *
 * An array that follows a struct begins array_offset * 8 bytes after the record's start, so that the struct can grow;
 * 0: where the struct of schema version 1 ended. Its writer sets IAPROF_ARRAY_OFFSET(struct), and readers use the
 * functions below. Elements that may grow have a stride, element_size * 8 bytes; 0: their size in schema version 1.
 */
#ifndef IAPROF_RECORD_H
#define IAPROF_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/layout.h>
#include <iaprof/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Largest record in bytes, header included. Larger ones are malformed; 65,528 is the largest multiple of 8 below 64
 * KiB.
 */
#define IAPROF_RECORD_SIZE_MAX 65528u

/* Deepest stack, in addresses: the Linux kernel's default for kernel.perf_event_max_stack is far below. */
#define IAPROF_STACK_DEPTH_MAX 1024u

/* Longest interned string, in bytes without the terminating NUL. */
#define IAPROF_STRING_LENGTH_MAX 65000u

/* Longest build id: a SHA-1 is 20 bytes (BUILD_ID_SIZE_MAX in include/linux/buildid.h of Linux 6.1). */
#define IAPROF_BUILD_ID_SIZE_MAX 20u

/* Unknown count, for lost events. */
#define IAPROF_COUNT_UNKNOWN UINT64_MAX

enum iaprof_record_type {
	IAPROF_RECORD_STRING = 1,       /* definition of a string id; sent by the core */
	IAPROF_RECORD_STACK = 2,        /* definition of a stack id; sent by the core */
	IAPROF_RECORD_SOURCE = 3,       /* name of a source number; sent by the core */
	IAPROF_RECORD_METADATA = 4,     /* key and value about the run */
	IAPROF_RECORD_VALUE_TYPE = 5,   /* what a sample counts, and its unit */
	IAPROF_RECORD_PROCESS = 6,      /* a process existed, forked, executed, changed its name or exited */
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
	IAPROF_RECORD_FINDING = 19,         /* a finding of the source for the user */
	IAPROF_RECORD_LOST = 20,            /* events that were not recorded */
	IAPROF_RECORD_FRAMES = 21,          /* frames of one resolved address; sent by the core */
	IAPROF_RECORD_SYNC = 22,            /* process records are complete up to its time; sent by the core */
	IAPROF_RECORD_CODE_FUNCTION = 23,   /* a function in the image of a code object; sent by the core */
	IAPROF_RECORD_STACK_FRAMES = 24,    /* resolved user stack of a launch or call; sent by the core */
	IAPROF_RECORD_DEVICE_ACTIVITY = 25, /* busy time of a device, by process */
	IAPROF_RECORD_PROFILE_STACK = 26,   /* definition of a resolved stack; sent by the core */
	IAPROF_RECORD_PROFILE_VALUE = 27,   /* value added to the profile under a resolved stack; sent by the core */
	IAPROF_RECORD_CALL_FUNCTION = 28,   /* a function whose calls are recorded */
	IAPROF_RECORD_CALL_NODE = 29,       /* a node of the call tree */
	IAPROF_RECORD_HISTOGRAM = 30,       /* distribution of values, such as durations of calls */
	IAPROF_RECORD_JOB = 31,             /* work submitted to a device */
	IAPROF_RECORD_CODE_LISTING = 32,    /* instructions of a device function; sent by the core */
	IAPROF_RECORD_MODULE = 33,          /* build id of a file whose symbols were read; sent by the core */
	IAPROF_RECORD_SOURCE_TEXT = 34,     /* text of a source file; written by sink capture */
	IAPROF_RECORD_NAMED_FRAME = 35,     /* definition of a frame by name; sent by the core */
	IAPROF_RECORD_PROGRESS = 36,        /* how far a source has come; sent by the core, for host->advance() */
	IAPROF_RECORD_TYPE_COUNT            /* not a type: one more than the largest */
};

/* The header of every record. 16 bytes. */
struct iaprof_record {
	uint32_t size; /* bytes of the whole record, this header included: a multiple of 8, <= IAPROF_RECORD_SIZE_MAX */
	uint16_t type; /* enum iaprof_record_type */
	uint16_t
		source; /* number of the instance that sent it, 0 the core; whatever a source writes here is replaced */
	uint64_t time;  /* time of the event; for an aggregate, of its last event */
};
IAPROF_ASSERT_SIZE(iaprof_record, 16);

/* Value of array_offset for an array that begins where a struct ends. */
#define IAPROF_ARRAY_OFFSET(type) ((uint8_t)(sizeof(type) / 8))

/* Returns the start of a record's array: first_offset is where it begins in schema version 1, in bytes. */
static inline const void *iaprof_record_array(const void *record, uint8_t array_offset, uint32_t first_offset)
{
	return (const char *)record + (array_offset ? array_offset * 8u : first_offset);
}
/* Returns the stride of a record's array, in bytes: first_size is that of schema version 1. */
static inline size_t iaprof_record_stride(uint8_t element_size, size_t first_size)
{
	return element_size ? element_size * (size_t)8 : first_size;
}

/* STRING: the struct and then length bytes and a NUL, padded with zeros to 8. Arbitrary bytes, no NUL. */
struct iaprof_record_string {
	struct iaprof_record header;
	uint32_t id;     /* >= 1 */
	uint16_t length; /* bytes without the NUL, <= IAPROF_STRING_LENGTH_MAX */
	uint8_t array_offset;
	uint8_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_record_string, 24);
static inline const char *iaprof_record_string_text(const struct iaprof_record_string *record)
{
	return (const char *)iaprof_record_array(record, record->array_offset, 24);
}

/* STACK: the struct and then count addresses, the innermost (leaf) first. */
struct iaprof_record_stack {
	struct iaprof_record header;
	uint32_t id;    /* >= 1 */
	uint32_t count; /* 1 to IAPROF_STACK_DEPTH_MAX */
	uint32_t pid;   /* process of the user addresses; 0: Linux kernel addresses */
	uint8_t array_offset;
	uint8_t pad[3];
};
IAPROF_ASSERT_SIZE(iaprof_record_stack, 32);
static inline const uint64_t *iaprof_record_stack_addresses(const struct iaprof_record_stack *record)
{
	return (const uint64_t *)iaprof_record_array(record, record->array_offset, 32);
}

/*
 * An element of a user stack is an address, or a frame that the source names itself, such as a function of an
 * interpreter or an operator of a framework: the id of a NAMED_FRAME with this bit set, which no user address has.
 */
#define IAPROF_STACK_NAMED_FRAME (UINT64_C(1) << 63)

/* NAMED_FRAME: a frame in user stacks that has no address. */
struct iaprof_record_named_frame {
	struct iaprof_record header;
	uint32_t id;    /* >= 1 */
	uint32_t name;  /* string id of the function */
	uint32_t file;  /* string id of the source file; 0 if unknown */
	uint32_t line;  /* the line that is executed; 0 if unknown */
	uint32_t kind;  /* enum iaprof_frame_kind */
	uint32_t flags; /* enum iaprof_frame_flag */
};
IAPROF_ASSERT_SIZE(iaprof_record_named_frame, 40);

/* SOURCE: names the instance with a source number. */
struct iaprof_record_source {
	struct iaprof_record header;
	uint32_t number; /* as in header.source of its records */
	uint32_t name;   /* string id: "cpu-stack", or "cpu-stack.ID" for a second instance */
};
IAPROF_ASSERT_SIZE(iaprof_record_source, 24);

/*
 * METADATA: a property of the run, such as ("kernel release", "6.12.1") or ("frequency", "99 Hz"). A later value of a
 * key replaces that of the same source; a key that another source has becomes "KEY (SOURCE)". A run has up to 256 keys;
 * further ones are ignored.
 */
struct iaprof_record_metadata {
	struct iaprof_record header;
	uint32_t key;   /* string id */
	uint32_t value; /* string id */
};
IAPROF_ASSERT_SIZE(iaprof_record_metadata, 24);

/* What a value measures, whatever its name. Only the values of device time are called time of a device. */
enum iaprof_value_role {
	IAPROF_VALUE_UNKNOWN = 0,
	IAPROF_VALUE_CPU_TIME = 1,
	IAPROF_VALUE_DEVICE_TIME = 2,    /* how long a device executed something */
	IAPROF_VALUE_DEVICE_SAMPLES = 3, /* samples of the threads, EUs or schedulers of a device: not time */
	IAPROF_VALUE_WAIT = 4,           /* how long a thread waited */
	/* How long a device executed nothing: with its time, the time from the first execution to the end of the last.
	 */
	IAPROF_VALUE_DEVICE_IDLE = 5,
	/*
	 * How much longer the executions were than what they have of the device's time, because others overlapped them:
	 * with that time, the sum of their durations.
	 */
	IAPROF_VALUE_DEVICE_OVERLAP = 6,
	IAPROF_VALUE_COPY_TIME = 7, /* how long a device copied, beside its time; by kind of copy, not of all of them */
	IAPROF_VALUE_COPIED_BYTES = 8 /* what was copied meanwhile */
};

enum iaprof_value_flag {
	IAPROF_VALUE_ESTIMATED = 1u << 0 /* some executions were measured, and the others taken to be as long */
};

enum iaprof_device_kind { IAPROF_DEVICE_UNKNOWN = 0, IAPROF_DEVICE_GPU = 1, IAPROF_DEVICE_NPU = 2 };

/*
 * VALUE_TYPE: what a value counts and its unit, as in pprof: ("cpu", "nanoseconds"), ("gpu-stalls", "count"). A run has
 * up to 256: samples with further ones are lost, as with undeclared ones. Device samples and jobs can use 16 of them.
 * The core sends a second record of an id when it knows the role, from the records that use it: only its role,
 * device_kind, sample_unit and flags count.
 */
struct iaprof_record_value_type {
	struct iaprof_record header;
	uint32_t id;   /* >= 1; from host->declare_value_type(): same id for the same name and unit */
	uint32_t name; /* string id */
	uint32_t unit; /* string id: "count", "nanoseconds", "bytes" */
	uint32_t pad;
	uint64_t period; /* usual value of one sample, 0 if there is none: 10,101,010 ns for a 99 Hz clock */
	/* A shorter record lacks these: use iaprof_record_value_type_has_role(). */
	uint32_t role;        /* enum iaprof_value_role */
	uint32_t device_kind; /* enum iaprof_device_kind */
	uint32_t sample_unit; /* string id, as in DEVICE; 0: not known */
	uint32_t flags;       /* enum iaprof_value_flag */
};
IAPROF_ASSERT_SIZE(iaprof_record_value_type, 56);
/* Returns whether the role of a value type is known. */
static inline int iaprof_record_value_type_has_role(const struct iaprof_record_value_type *record)
{
	return IAPROF_HAS_MEMBER(record, record->header.size, flags) && record->role != IAPROF_VALUE_UNKNOWN;
}

enum iaprof_process_event {
	IAPROF_PROCESS_EXISTING = 1,  /* existed when the run began */
	IAPROF_PROCESS_FORK = 2,      /* a new process (not a thread) */
	IAPROF_PROCESS_EXEC = 3,      /* executed a new program, which removed all earlier mappings */
	IAPROF_PROCESS_NAME = 4,      /* changed its name */
	IAPROF_PROCESS_EXIT = 5,      /* its last thread ended */
	IAPROF_PROCESS_UNREADABLE = 6 /* its memory map cannot be read, so its earlier mappings are not known */
};

/* PROCESS: see enum iaprof_process_event. Malformed: an event that is none of them. */
struct iaprof_record_process {
	struct iaprof_record header;
	uint32_t pid;
	uint32_t parent_pid; /* 0 when not known */
	uint32_t event;      /* enum iaprof_process_event */
	uint32_t name;       /* string id of its comm; 0 for FORK and EXIT when not known */
};
IAPROF_ASSERT_SIZE(iaprof_record_process, 32);

enum iaprof_mapping_flag {
	IAPROF_MAPPING_DELETED = 1u << 0,  /* the file had been unlinked when the mapping was read */
	IAPROF_MAPPING_EXISTING = 1u << 1, /* existed when first read: time of creation not known */
	IAPROF_MAPPING_SHARED = 1u << 2,   /* MAP_SHARED: programs and libraries are mapped privately */
	/*
	 * Memory without a file, where this part of the file was mapped, or would be beside its other mappings: may be
	 * a copy of it, in huge pages
	 */
	IAPROF_MAPPING_COPIED = 1u << 3
};

/*
 * MAPPING: an executable mapping, as in perf's PERF_RECORD_MMAP2 (linux/perf_event.h). A later mapping that overlaps
 * an earlier one replaces the overlapped part from its time on. Malformed: size 0, an end beyond 2^64, a build_id_size
 * that is too large.
 */
struct iaprof_record_mapping {
	struct iaprof_record header;
	uint32_t pid;
	uint32_t path;  /* string id: a path inside the process's mount namespace, "[vdso]", "//anon", ... */
	uint64_t start; /* first address */
	uint64_t size;
	uint64_t file_offset;      /* offset in the file of the mapping's start */
	uint64_t inode;            /* 0 when not known or not a file */
	uint64_t inode_generation; /* 0 when not known */
	uint32_t device_major;
	uint32_t device_minor;
	uint32_t flags;         /* enum iaprof_mapping_flag */
	uint32_t build_id_size; /* 0 (not known) to IAPROF_BUILD_ID_SIZE_MAX; 0 in live runs, see MODULE */
	uint8_t build_id[IAPROF_BUILD_ID_SIZE_MAX];
	uint8_t pad[4];
};
IAPROF_ASSERT_SIZE(iaprof_record_mapping, 104);

/*
 * The span of a distributed trace that a thread was working on: ids of W3C Trace Context, in the order in which they
 * are written. All bytes are 0: none.
 */
struct iaprof_span {
	uint8_t trace_id[16];
	uint8_t span_id[8];
};
IAPROF_ASSERT_SIZE(iaprof_span, 24);
/* Returns whether the ids are those of a span: neither consists of zeros. */
static inline int iaprof_span_is_valid(const struct iaprof_span *span)
{
	unsigned trace = 0, id = 0;
	for (size_t i = 0; i < sizeof span->trace_id; i++)
		trace |= span->trace_id[i];
	for (size_t i = 0; i < sizeof span->span_id; i++)
		id |= span->span_id[i];
	return trace && id;
}

/*
 * SAMPLE: one CPU sample, or several that agree in all members below. header.time is the time of the last one; the
 * process and its mappings are looked up at that time. Also time that threads spent waiting, from first_time to
 * header.time: their stacks are those with which they waited. Malformed: count 0, or first_time after header.time.
 * Samples whose value type was not declared are lost, and counted with that reason. Sums saturate at 2^64 - 1.
 */
struct iaprof_record_sample {
	struct iaprof_record header;
	uint32_t pid;
	uint32_t tid;          /* 0: any thread of the process */
	uint32_t name;         /* string id of the program name (comm) at that time; 0: use the process table's */
	uint32_t cpu;          /* UINT32_MAX: any CPU */
	uint32_t user_stack;   /* stack id, 0 if none */
	uint32_t kernel_stack; /* stack id, 0 if none */
	uint32_t value_type;   /* value type id */
	uint32_t flags;        /* enum iaprof_sample_flag */
	uint64_t count;        /* number of samples, >= 1 */
	uint64_t value;        /* sum over the samples, in the value type's unit */
	uint64_t first_time;   /* time of the first one, <= header.time */
	/* A shorter record lacks it: use iaprof_record_sample_thread_name(). */
	uint32_t thread_name; /* string id of the name (comm) of the thread; 0: not known */
	uint32_t pad;
	/* A shorter record lacks these: use iaprof_record_sample_has_wait(). */
	uint32_t reason;             /* string id: what the thread waited for, such as "[disk]"; 0: it did not wait */
	uint32_t waker;              /* pid of the thread that ended the wait; 0: not known */
	uint32_t waker_name;         /* string id of its name (comm); 0: not known */
	uint32_t waker_user_stack;   /* stack id, 0 if none */
	uint32_t waker_kernel_stack; /* stack id, 0 if none */
	uint32_t pad_2;
	/* The shorter record of a sample without a span lacks it: use iaprof_record_sample_span(). */
	struct iaprof_span span;
};
IAPROF_ASSERT_SIZE(iaprof_record_sample, 128);
/* Returns the string id of the name of a sample's thread, or 0 if it is not known. */
static inline uint32_t iaprof_record_sample_thread_name(const struct iaprof_record_sample *record)
{
	return record->header.size >= offsetof(struct iaprof_record_sample, reason) ? record->thread_name : 0;
}
/* Returns whether a sample is of a wait, with the members from reason on. */
static inline int iaprof_record_sample_has_wait(const struct iaprof_record_sample *record)
{
	return record->header.size >= offsetof(struct iaprof_record_sample, span) && record->reason;
}
/* Returns the span of a sample, or NULL if it has none. */
static inline const struct iaprof_span *iaprof_record_sample_span(const struct iaprof_record_sample *record)
{
	return IAPROF_HAS_MEMBER(record, record->header.size, span) && iaprof_span_is_valid(&record->span)
		       ? &record->span
		       : (const struct iaprof_span *)0;
}

enum iaprof_sample_flag {
	IAPROF_SAMPLE_USER_STACK_MISSING = 1u << 0,   /* user code was running but its stack could not be read */
	IAPROF_SAMPLE_KERNEL_STACK_MISSING = 1u << 1, /* the same for the Linux kernel stack */
	IAPROF_SAMPLE_TRUNCATED = 1u << 2,            /* a stack was truncated at its root end */
	IAPROF_SAMPLE_NO_UNWIND_TABLE = 1u << 3, /* the user stack ends early: no table covers its outermost frame */
	IAPROF_SAMPLE_STACK_UNREADABLE = 1u << 4 /* the user stack ends early: memory of the stack could not be read */
};

/*
 * DEVICE: a device, or a part of one that is sampled separately (a tile, a slice). The first record of an id counts. A
 * run has up to 1024; samples of further ones are in the profile without a device.
 */
struct iaprof_record_device {
	struct iaprof_record header;
	uint32_t id;      /* >= 1, unique within its source */
	uint32_t name;    /* string id: "Accelerator 4000 tile 0" */
	uint32_t address; /* string id: PCI address "0000:03:00.0"; 0 if none */
	uint32_t machine; /* ELF machine number of its code, 0 if it runs none */
	/* Name and unit of its stall samples, as in VALUE_TYPE. A shorter record lacks both. */
	uint32_t value_name; /* string id; 0: "gpu-stalls" */
	uint32_t value_unit; /* string id; 0: "count" */
	/* A shorter record lacks both. */
	uint32_t kind;        /* enum iaprof_device_kind */
	uint32_t sample_unit; /* string id of what one stall sample is taken of: "EU", "scheduler"; 0: not stated */
};
IAPROF_ASSERT_SIZE(iaprof_record_device, 48);

enum iaprof_address_space {
	IAPROF_ADDRESS_ABSOLUTE = 0,         /* full device virtual addresses */
	IAPROF_ADDRESS_INSTRUCTION_BASE = 1, /* relative to the instruction base address of a process */
	IAPROF_ADDRESS_KERNEL = 2 /* relative to the start of a KERNEL without an address, which the sample names */
};

/*
 * CODE_OBJECT: path is a private file with the image, or /proc/self/fd/N; the source removes the file or closes the
 * descriptor no earlier than 5 seconds after it sent the record. header.time is the load time. An image has up to 512
 * MiB, all images that are loaded at once 2 GiB, and there are up to 65,536 of them: what exceeds this is not read, and
 * is reported at the end of the run. Malformed: a build_id_size that is too large.
 */
struct iaprof_record_code_object {
	struct iaprof_record header;
	uint32_t id; /* >= 1, unique within its source, never reused */
	uint32_t pid;
	uint32_t device;  /* device id of the same source, 0: any device */
	uint32_t machine; /* ELF machine number */
	/*
	 * Device address of the image's first byte in memory, without the sign extension of canonical addresses: of the
	 * lowest p_vaddr of its PT_LOAD segments. If a KERNEL record contradicts it, the KERNEL record is right. 0 when
	 * not known, or if the sections are loaded independently: KERNEL records then state the addresses.
	 */
	uint64_t address;
	uint64_t size; /* 0 when not known */
	/* Base of the process's IAPROF_ADDRESS_INSTRUCTION_BASE addresses; 0: not known, or in KERNEL records */
	uint64_t instruction_base;
	uint32_t path;          /* string id: file with the ELF image; 0 if there is none */
	uint32_t build_id_size; /* as in struct iaprof_record_mapping */
	uint8_t build_id[IAPROF_BUILD_ID_SIZE_MAX];
	uint8_t pad[4];
	/* Range of relative addresses above an instruction base, in bytes; 0: 2^32. A shorter record lacks it. */
	uint64_t instruction_window;
};
IAPROF_ASSERT_SIZE(iaprof_record_code_object, 96);

/* CODE_OBJECT_UNLOAD: the code object was unloaded at header.time. Ignored if its id is not known. */
struct iaprof_record_code_object_unload {
	struct iaprof_record header;
	uint32_t id; /* id of a CODE_OBJECT of the same source */
	uint32_t pid;
};
IAPROF_ASSERT_SIZE(iaprof_record_code_object_unload, 24);

/*
 * KERNEL: a function in a code object. It is right where the image says otherwise: samples in [address, address + size)
 * belong to it, also in functions that are part of this range. If only samples with IAPROF_ADDRESS_KERNEL refer to it,
 * address and size are 0: the image, if there is one, has its code under its name. Kernels of the same name in
 * different code objects are different kernels. Sent after its CODE_OBJECT. A source that knows only the name of what
 * was launched announces a KERNEL without a code object and an address: its launches count for all kernels of the
 * process with this name that samples refer to in this way. A sample by address whose code is not known is attributed
 * to the process's kernels without an address that were launched before, in so far as this is the only explanation. The
 * core keeps up to 262,144 ids, and forgets unused ones of the process that has most of them; further ones are dropped,
 * and reported at the end of the run.
 */
struct iaprof_record_kernel {
	struct iaprof_record header;
	uint32_t id;          /* >= 1, unique within its source */
	uint32_t code_object; /* CODE_OBJECT id of the same source, 0 if its image is not known */
	uint32_t pid;
	uint32_t name;    /* string id, as in the symbol table (mangled) */
	uint64_t address; /* first device address; 0 when not known */
	uint64_t size;    /* 0 when not known */
	/*
	 * As in struct iaprof_record_code_object. Without a base, or with one from which the kernel cannot be reached,
	 * relative addresses of the process are not attributed, because they may be of this kernel. A shorter record
	 * lacks the last, or both.
	 */
	uint64_t instruction_base;
	uint64_t instruction_window;
};
IAPROF_ASSERT_SIZE(iaprof_record_kernel, 64);

/*
 * LAUNCH: count CPU calls from one launch site that enqueued a GPU kernel; header.time is the time of the last one.
 * Malformed: count 0. The core keeps up to 4096 of these records per kernel: older ones are merged by stack, or
 * dropped, and counted at the end of the run.
 */
struct iaprof_record_launch {
	struct iaprof_record header;
	uint32_t kernel; /* id of a KERNEL of the same source; launches of undeclared ones are reported, and not used */
	uint32_t pid;
	uint32_t tid;          /* 0: any thread */
	uint32_t device;       /* device id of the same source, 0 when not known */
	uint32_t user_stack;   /* stack id, 0 if none */
	uint32_t kernel_stack; /* stack id, 0 if none */
	uint64_t count;        /* >= 1 */
	uint64_t first_time;   /* time of the first one; taken as header.time if it is later */
	/* A shorter record lacks it: use iaprof_record_launch_thread_name(). */
	uint32_t thread_name; /* as in struct iaprof_record_sample */
	uint32_t pad;
	/*
	 * The number of this launch in its process, to which STALL_SAMPLE and JOB records of the same source refer; 0:
	 * they do not. A number may be used again for a later launch, which replaces it. The core remembers at least
	 * the last 131,072 launches. A shorter record lacks it: use iaprof_record_launch_correlation().
	 */
	uint64_t correlation;
	/*
	 * What the thread worked on when it launched, or when it executed what was recorded before. The shorter record
	 * of launches without a span lacks it: use iaprof_record_launch_span().
	 */
	struct iaprof_span span;
};
IAPROF_ASSERT_SIZE(iaprof_record_launch, 96);
/* Returns the string id of the name of a launch's thread, or 0 if it is not known. */
static inline uint32_t iaprof_record_launch_thread_name(const struct iaprof_record_launch *record)
{
	return record->header.size >= offsetof(struct iaprof_record_launch, correlation) ? record->thread_name : 0;
}
/* Returns the number of a launch, or 0 if it has none. */
static inline uint64_t iaprof_record_launch_correlation(const struct iaprof_record_launch *record)
{
	return record->header.size >= offsetof(struct iaprof_record_launch, span) ? record->correlation : 0;
}
/* Returns the span of a launch, or NULL if it has none. */
static inline const struct iaprof_span *iaprof_record_launch_span(const struct iaprof_record_launch *record)
{
	return IAPROF_HAS_MEMBER(record, record->header.size, span) && iaprof_span_is_valid(&record->span)
		       ? &record->span
		       : (const struct iaprof_span *)0;
}

/* What a stall reason means, whatever the hardware calls it. Sinks show reasons in this order. */
enum iaprof_stall_class {
	IAPROF_STALL_UNKNOWN = 0,    /* not stated: shown as IAPROF_STALL_OTHER */
	IAPROF_STALL_DATA = 1,       /* waits for the result of an earlier load, texture or matrix instruction */
	IAPROF_STALL_QUEUE = 2,      /* a memory instruction cannot be issued: its queue is full */
	IAPROF_STALL_ARITHMETIC = 3, /* waits for the result of an arithmetic instruction */
	IAPROF_STALL_PIPELINE = 4,   /* the execution unit that it needs is busy */
	IAPROF_STALL_BARRIER = 5,    /* waits for other threads */
	IAPROF_STALL_BRANCH = 6,     /* waits for a branch */
	IAPROF_STALL_FETCH = 7,      /* waits for instructions */
	IAPROF_STALL_ORDER = 8,      /* waits for earlier threads, for the sake of their order */
	IAPROF_STALL_OTHER = 9,
	IAPROF_STALL_ISSUING = 10 /* not a stall: an instruction is issued */
};

enum iaprof_stall_reason_flag {
	IAPROF_STALL_REASON_WAITS = 1u << 0 /* the instruction waits for another one's result (scoreboard) */
};

/*
 * STALL_REASON: names a stall reason's number. Sources declare their reasons; the core has no built-in ones, and shows
 * an undeclared one as "reason N". The first record of an id counts. Malformed: an id above 63.
 */
struct iaprof_record_stall_reason {
	struct iaprof_record header;
	uint32_t id;   /* 0 to 63, unique within its source */
	uint32_t name; /* string id: "sbid" */
	/* A shorter record lacks flags and stall_class. */
	uint32_t flags;       /* enum iaprof_stall_reason_flag */
	uint32_t stall_class; /* enum iaprof_stall_class */
};
IAPROF_ASSERT_SIZE(iaprof_record_stall_reason, 32);

/*
 * STALL_SAMPLE: the struct and then reason_count values of 8 bytes; value i counts the reason with id i. They may be
 * followed by a struct iaprof_record_stall_details: use iaprof_record_stall_sample_details(). Malformed: a wrong
 * reason_count, or begin after header.time. Lost, and counted with the reason: an unknown address_space, details that
 * do not agree with it, a value type that was not declared. Samples wait for code and launches in up to 64 MiB; then
 * they are attributed at once.
 */
struct iaprof_record_stall_sample {
	struct iaprof_record header; /* time: end of the counts' interval */
	uint64_t begin;              /* start of the counts' interval */
	uint64_t address;            /* device instruction address; IAPROF_ADDRESS_KERNEL: bytes from its start */
	uint32_t device;             /* device id of the same source */
	uint32_t address_space;      /* enum iaprof_address_space */
	uint16_t reason_count;       /* 1 to 64 */
	uint8_t array_offset;        /* of the counts */
	uint8_t pad;
	uint32_t pid; /* 0: not known (the hardware does not report it) */
};
IAPROF_ASSERT_SIZE(iaprof_record_stall_sample, 48);
static inline const uint64_t *iaprof_record_stall_sample_counts(const struct iaprof_record_stall_sample *record)
{
	return (const uint64_t *)iaprof_record_array(record, record->array_offset, 48);
}

/* What a source knows of a stall sample besides its counts. 0 in a member: not known, or the default. */
struct iaprof_record_stall_details {
	uint32_t size;        /* sizeof(struct iaprof_record_stall_details) in the source; 0: no details */
	uint32_t kernel;      /* KERNEL id of the same source; required for IAPROF_ADDRESS_KERNEL, else 0 */
	uint64_t correlation; /* LAUNCH that ran the code, by its number in the process pid, which is then required */
	uint64_t period;      /* value of one counted sample, in the unit of the value type; 0: 1 */
	uint32_t value_type;  /* value type id; 0: that of the device. Samples with an undeclared one are lost */
	uint32_t pad;
	/*
	 * Value of all counts together, in the unit of the value type, divided among them in proportion: states what
	 * one sample is worth exactly, also where that is no whole number. 0: period for each. A shorter struct lacks
	 * it: use iaprof_record_stall_details_value().
	 */
	uint64_t value;
};
IAPROF_ASSERT_SIZE(iaprof_record_stall_details, 40);
/* Size of its first version, in bytes. */
#define IAPROF_STALL_DETAILS_SIZE_MIN 32u
/* Returns the details of a stall sample, or NULL if it has none. Only for records that the core has checked. */
static inline const struct iaprof_record_stall_details *
iaprof_record_stall_sample_details(const struct iaprof_record_stall_sample *record)
{
	const struct iaprof_record_stall_details *details =
		(const struct iaprof_record_stall_details *)(const void *)(iaprof_record_stall_sample_counts(record) +
									   record->reason_count);
	uint64_t end = (uint64_t)((const char *)details - (const char *)record);
	return record->header.size >= end + IAPROF_STALL_DETAILS_SIZE_MIN &&
			       details->size >= IAPROF_STALL_DETAILS_SIZE_MIN &&
			       details->size <= record->header.size - end
		       ? details
		       : (const struct iaprof_record_stall_details *)0;
}
/* Returns the value of all counts together, or 0 if the details do not state it. */
static inline uint64_t iaprof_record_stall_details_value(const struct iaprof_record_stall_details *details)
{
	return IAPROF_HAS_MEMBER(details, details->size, value) ? details->value : 0;
}

/*
 * CALL: count driver or API calls that agree in the members below; header.time is the start of the last one. Malformed:
 * count 0. Calls whose node was not defined, or was rejected, are lost.
 */
struct iaprof_record_call {
	struct iaprof_record header;
	uint32_t name; /* string id: "example_buffer_create" */
	uint32_t pid;  /* 0: no process (interrupt, Linux kernel thread) */
	uint32_t tid;
	uint32_t depth;      /* nesting depth on its thread, 0: outermost */
	uint32_t parent;     /* string id: name of the calling call; 0 if none */
	uint32_t user_stack; /* stack id, 0 if none */
	uint64_t duration;   /* sum over the calls, calls nested in them included */
	uint64_t count;      /* >= 1 */
	uint64_t first_time; /* start of the first one; taken as header.time if it is later */
	int64_t result;      /* return value of the last one */
	/* A shorter record has node 0 and does not count in profiles. */
	uint32_t node;       /* CALL_NODE id of the same source, which agrees with name, depth, parent; 0 if none */
	uint32_t time_type;  /* value type id for self_duration; 0 if none */
	uint32_t count_type; /* value type id for count; 0 if none */
	/* Use iaprof_record_call_thread_name(). */
	uint32_t thread_name;   /* as in struct iaprof_record_sample; 0 for calls of several threads */
	uint64_t self_duration; /* duration without nested calls that have records of their own */
};
IAPROF_ASSERT_SIZE(iaprof_record_call, 96);
/* Returns the string id of the name of a call's thread, or 0 if it is not known. */
static inline uint32_t iaprof_record_call_thread_name(const struct iaprof_record_call *record)
{
	return record->header.size >= offsetof(struct iaprof_record_call, self_duration) ? record->thread_name : 0;
}

enum iaprof_call_kind {
	IAPROF_CALL_API = 1,      /* a function of a library: "commandListCreate" */
	IAPROF_CALL_IOCTL = 2,    /* a request to a driver: "DRM_IOCTL_EXAMPLE_SUBMIT" */
	IAPROF_CALL_FUNCTION = 3, /* a function of a driver */
	IAPROF_CALL_CONTEXT = 4   /* not a call, but the context of the calls nested in it: "[interrupt]", "[boot]" */
};

/*
 * CALL_FUNCTION: a function whose calls are recorded. Malformed: id or name 0. A run has up to 65,536; further ones,
 * and those that contradict an earlier one with the same id, are rejected, and counted at the end of the run.
 */
struct iaprof_record_call_function {
	struct iaprof_record header;
	uint32_t id;     /* >= 1, unique within its source */
	uint32_t name;   /* string id: "example_buffer_create" */
	uint32_t family; /* string id of the source's group for it: "buffers"; 0 if none */
	uint32_t kind;   /* enum iaprof_call_kind */
};
IAPROF_ASSERT_SIZE(iaprof_record_call_function, 32);

/* Deepest nesting of calls, the outermost one included. */
#define IAPROF_CALL_DEPTH_MAX 64u

/*
 * CALL_NODE: a node of the call tree, which has one node for each distinct chain of nested calls. Sent before the first
 * record that refers to it. Malformed: id or function 0, or a node that is its own parent. Rejected, as functions are:
 * an unknown parent or function, a depth of IAPROF_CALL_DEPTH_MAX, and more than 262,144 nodes in a run.
 */
struct iaprof_record_call_node {
	struct iaprof_record header;
	uint32_t id;       /* >= 1, unique within its source */
	uint32_t parent;   /* id of an earlier CALL_NODE of the same source; 0: outermost */
	uint32_t function; /* id of a CALL_FUNCTION of the same source */
	uint32_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_record_call_node, 32);

/* Largest number of histogram buckets: one for each bit of a value. */
#define IAPROF_HISTOGRAM_BUCKET_COUNT_MAX 64u

/*
 * HISTOGRAM: distribution of values measured between begin and header.time. Readers sum the histograms of a source that
 * have the same name and unit; a run has up to 1024 such sums, and values of further ones are counted as dropped.
 * Malformed: count 0, a wrong bucket_count, or begin after header.time. The struct is followed by bucket_count values
 * of 8 bytes: bucket i counts values from 2^i to 2^(i + 1) - 1; bucket 0 also counts zeros.
 */
struct iaprof_record_histogram {
	struct iaprof_record header;
	uint64_t begin;
	uint64_t count;        /* >= 1: the sum of the buckets */
	uint64_t sum;          /* sum of the values */
	uint64_t maximum;      /* largest value */
	uint32_t name;         /* string id of the measured quantity: "example_submit" */
	uint32_t unit;         /* string id: "nanoseconds" */
	uint32_t bucket_count; /* 1 to IAPROF_HISTOGRAM_BUCKET_COUNT_MAX */
	uint8_t array_offset;  /* of the buckets */
	uint8_t pad[3];
};
IAPROF_ASSERT_SIZE(iaprof_record_histogram, 64);
static inline const uint64_t *iaprof_record_histogram_buckets(const struct iaprof_record_histogram *record)
{
	return (const uint64_t *)iaprof_record_array(record, record->array_offset, 64);
}

/*
 * Returns the quantile part (0 to 1) of a histogram with IAPROF_HISTOGRAM_BUCKET_COUNT_MAX buckets, assuming that
 * values are spread evenly within each bucket; never above maximum. Any thread.
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
	IAPROF_JOB_IN_FLIGHT = 3 /* still running when the run ended */
};

/* The engines of a device that copy in different directions work at the same time. */
enum iaprof_copy {
	IAPROF_COPY_NONE = 0,
	IAPROF_COPY_HOST_TO_DEVICE = 1,
	IAPROF_COPY_DEVICE_TO_HOST = 2,
	IAPROF_COPY_ON_DEVICE = 3,
	IAPROF_COPY_BETWEEN_DEVICES = 4,
	IAPROF_COPY_ON_HOST = 5,
	IAPROF_COPY_SET = 6 /* memory is set to a value */
};

/*
 * JOB: work that a process submitted to a device, sent when it ends; header.time is its end. Unknown times are 0.
 * Malformed: an unknown state.
 */
struct iaprof_record_job {
	struct iaprof_record header;
	uint64_t submitted; /* when the process submitted it to the driver */
	uint64_t queued;    /* when the driver submitted it to the device */
	uint64_t started;   /* when the device started it; 0: not known, such as if other queues had jobs */
	uint32_t id;        /* the driver's job number, which may be reused */
	uint32_t pid;
	uint32_t tid;     /* 0 if unknown */
	uint32_t device;  /* id of a DEVICE of the same source, 0 if unknown */
	uint32_t context; /* the driver's number for the process's context */
	uint32_t engine;  /* string id: "compute"; 0 if unknown */
	uint32_t state;   /* enum iaprof_job_state */
	uint32_t status;  /* driver-specific, 0: success */
	/*
	 * The time from started to the end is added to the profile below the launch stack and the kernel, as a value of
	 * time_type. A job of a kernel whose started is 0 or after its end, or whose time_type was not declared, adds
	 * nothing, and is counted as lost. A shorter record lacks these: use iaprof_record_job_has_kernel().
	 */
	uint32_t kernel;      /* KERNEL id of the same source; 0: not known, or the job is of something else */
	uint32_t time_type;   /* value type id with the unit nanoseconds, such as "gpu-time" */
	uint64_t correlation; /* LAUNCH that submitted it, by its number in the process pid; 0 if unknown */
	/* A shorter record lacks it: use iaprof_record_job_thread_name(). */
	uint32_t thread_name; /* as in struct iaprof_record_sample, of the thread that submitted it */
	/*
	 * 0: the source reports every execution. Otherwise it times only some, and this one represents so many, itself
	 * included: its time is added as often, and what was added is an estimate, as is the idle time of the device.
	 */
	uint32_t represents;
	/*
	 * A copy is no part of the time of its device, whose kernels may run beside it: time_type is one of copies
	 * alone, and only copies of one kind share time with each other. A shorter record lacks these: use
	 * iaprof_record_job_copy() and iaprof_record_job_bytes().
	 */
	uint32_t copy; /* enum iaprof_copy */
	uint32_t pad;
	uint64_t bytes; /* that it copied or set; 0: not known */
};
IAPROF_ASSERT_SIZE(iaprof_record_job, 112);
/* Returns whether a job is of a kernel, with time_type. */
static inline int iaprof_record_job_has_kernel(const struct iaprof_record_job *record)
{
	return record->header.size >= offsetof(struct iaprof_record_job, thread_name) && record->kernel &&
	       record->time_type;
}
/* Returns the string id of the name of the thread that submitted a job, or 0 if it is not known. */
static inline uint32_t iaprof_record_job_thread_name(const struct iaprof_record_job *record)
{
	return record->header.size >= offsetof(struct iaprof_record_job, copy) ? record->thread_name : 0;
}
/* Returns whether a job is one of several executions of which only some are reported. */
static inline int iaprof_record_job_is_estimate(const struct iaprof_record_job *record)
{
	return record->header.size >= offsetof(struct iaprof_record_job, copy) && record->represents;
}
/* Returns what a job copies, an enum iaprof_copy, which is IAPROF_COPY_NONE unless it has a kernel. */
static inline uint32_t iaprof_record_job_copy(const struct iaprof_record_job *record)
{
	return IAPROF_HAS_MEMBER(record, record->header.size, bytes) && iaprof_record_job_has_kernel(record)
		       ? record->copy
		       : 0;
}
/* Returns how many bytes a job copied or set; 0: it is no copy, or they are not known. */
static inline uint64_t iaprof_record_job_bytes(const struct iaprof_record_job *record)
{
	return iaprof_record_job_copy(record) ? record->bytes : 0;
}

enum iaprof_counter_kind {
	IAPROF_COUNTER_GAUGE = 1,     /* a level, which may rise and fall */
	IAPROF_COUNTER_CUMULATIVE = 2 /* a total since some point in time: only increases */
};

/* Meaning of a device's counter to the core, which prints it in the summary of a run. */
enum iaprof_counter_role {
	IAPROF_COUNTER_ROLE_NONE = 0,
	IAPROF_COUNTER_ROLE_ROWS = 1,     /* rows of samples written by the hardware */
	IAPROF_COUNTER_ROLE_OVERFLOWS = 2 /* times that the hardware dropped rows */
};

/*
 * COUNTER: declares a counter. Unless a source of code objects and launches calls host->advance(), it sends counter
 * values several times a second, after all its other records up to their time, so that stall samples up to that time
 * need not wait any longer. The first record of an id counts. A source has up to 65,536; profiles contain the first 256
 * of a run.
 */
struct iaprof_record_counter {
	struct iaprof_record header;
	uint32_t id;     /* >= 1, unique within its source */
	uint32_t name;   /* string id */
	uint32_t unit;   /* string id */
	uint32_t kind;   /* enum iaprof_counter_kind */
	uint32_t device; /* device id, 0 if none */
	uint32_t pad;
	/* A shorter record lacks role. */
	uint32_t role; /* enum iaprof_counter_role */
	uint32_t pad_2;
	/* A shorter record lacks these. Counters of one name differ in them. */
	uint32_t pid;    /* the process that is counted; 0: all, or none */
	uint32_t engine; /* string id: part of the device, such as "compute"; 0: the whole device */
	uint32_t labels; /* string id: further properties, "key=value,key=value"; 0: none */
	uint32_t pad_3;
};
IAPROF_ASSERT_SIZE(iaprof_record_counter, 64);

/*
 * COUNTER_VALUE: sets a counter. One whose counter the source has not declared is dropped and counted as lost.
 * Malformed: a value that is not finite.
 */
struct iaprof_record_counter_value {
	struct iaprof_record header;
	uint32_t counter; /* id of a COUNTER of the same source */
	uint32_t pad;
	double value; /* finite, in the counter's unit */
};
IAPROF_ASSERT_SIZE(iaprof_record_counter_value, 32);

enum iaprof_finding_severity { IAPROF_FINDING_NOTE = 1, IAPROF_FINDING_WARNING = 2, IAPROF_FINDING_PROBLEM = 3 };

/*
 * FINDING: a sentence for the user, with the measurement that it is based on. A note whose text begins with "| " is a
 * row of a table, such as "| 12 ms | - | boot": " | " separates its cells, the last one names the row, and "-" is a
 * value that is not known. Titles begin with "|| ", and another table. Findings of a source with the same name and pid
 * are one finding, with the latest text; a run has up to 256, and further ones are counted as dropped. Malformed: a
 * number that is not finite.
 */
struct iaprof_record_finding {
	struct iaprof_record header;
	uint32_t severity; /* enum iaprof_finding_severity */
	uint32_t name;     /* string id of its kind, the same for every finding of that kind: "stall-overflow" */
	uint32_t text;     /* string id: the observation and the remedy */
	uint32_t pid;      /* 0 if none */
	double value;      /* measured value; finite */
	double threshold;  /* threshold that value is compared with; finite */
};
IAPROF_ASSERT_SIZE(iaprof_record_finding, 48);

/*
 * LOST: count events between begin and header.time that are missing from the records. The core sums them by source,
 * reason and value type, and every sink reports them; after 256 such sums, further ones of a source are its "other
 * reasons". Sources call host->lost().
 */
struct iaprof_record_lost {
	struct iaprof_record header;
	uint64_t begin;
	uint64_t count;      /* number of events; IAPROF_COUNT_UNKNOWN when not known */
	uint64_t value;      /* what the events would have added to value_type; 0 when not known */
	uint32_t value_type; /* value type id; 0 if none */
	uint32_t reason;     /* string id: "stack map full" */
};
IAPROF_ASSERT_SIZE(iaprof_record_lost, 48);

enum iaprof_frame_kind {
	IAPROF_FRAME_PROCESS = 1, /* program name, with the pid in address */
	IAPROF_FRAME_USER = 2,    /* machine code of a program or library */
	IAPROF_FRAME_LINUX_KERNEL = 3,
	IAPROF_FRAME_JIT = 4,           /* code generated at run time */
	IAPROF_FRAME_SEPARATOR = 5,     /* "-": boundary between the CPU and device parts of a stack */
	IAPROF_FRAME_DEVICE_SOURCE = 6, /* source file of device code */
	IAPROF_FRAME_DEVICE_FUNCTION = 7,
	IAPROF_FRAME_DEVICE_INSTRUCTION = 8,
	IAPROF_FRAME_STALL_REASON = 9,
	IAPROF_FRAME_DEVICE_OFFSET = 10,
	IAPROF_FRAME_CALL = 11,  /* a driver or API call */
	IAPROF_FRAME_LOST = 12,  /* parts of the stack [lost];SOURCE;REASON */
	IAPROF_FRAME_WAIT = 13,  /* what a thread waits for, and "[woken by]" ahead of the thread that ends the wait */
	IAPROF_FRAME_PYTHON = 14 /* a Python function */
};

enum iaprof_frame_flag {
	IAPROF_FRAME_INLINED = 1u << 0,  /* inlined into the frame before it (towards the root) */
	IAPROF_FRAME_UNKNOWN = 1u << 1,  /* unresolved: the name gives the reason, such as "[unknown]" or "[deleted]" */
	IAPROF_FRAME_PRODUCER = 1u << 2, /* an instruction that the one before it (towards the root) waits for; only for
					    sinks that requested IAPROF_REQUEST_PRODUCERS */
	IAPROF_FRAME_LIBRARY = 1u << 3   /* CPU code of a runtime or framework, by the rules of the run */
					 /* Bits 8 to 11 of an IAPROF_FRAME_STALL_REASON: iaprof_frame_stall_class(). */
};

#define IAPROF_FRAME_STALL_CLASS_SHIFT 8
#define IAPROF_FRAME_STALL_CLASS_MASK (15u << IAPROF_FRAME_STALL_CLASS_SHIFT)

/* Returns the class of a stall reason from its frame's flags, an enum iaprof_stall_class. */
static inline uint32_t iaprof_frame_stall_class(uint32_t flags)
{
	return (flags & IAPROF_FRAME_STALL_CLASS_MASK) >> IAPROF_FRAME_STALL_CLASS_SHIFT;
}

/* One frame of a FRAMES record. 48 bytes in schema version 1: use the functions below, which know the stride. */
struct iaprof_record_frame {
	uint32_t name;   /* string id, demangled */
	uint32_t module; /* string id: file that contains the code; of a process, its service; 0 if none */
	uint32_t file;   /* string id of the source file; 0 if unknown */
	uint32_t line;   /* 0 if unknown */
	uint32_t kind;   /* enum iaprof_frame_kind */
	uint32_t flags;  /* enum iaprof_frame_flag */
	uint64_t offset; /* bytes from the start of the function */
	/*
	 * ELF virtual address in the module; for JIT the address in the process. For IAPROF_FRAME_DEVICE_OFFSET the id
	 * of the CODE_LISTING that contains the instruction, 0 if none.
	 */
	uint64_t address;
	uint64_t reserved; /* 0 */
};
IAPROF_ASSERT_SIZE(iaprof_record_frame, 48);

/*
 * FRAMES: the symbolizer's result for one address, sent when a stack is resolved, so that a capture can be replayed on
 * another machine. The struct is followed by frame_count frames, the outermost function first, then the functions
 * inlined into it.
 */
struct iaprof_record_frames {
	struct iaprof_record header;
	uint64_t address;
	uint32_t process;     /* process's serial number in the process table, 0 for the Linux kernel */
	uint32_t mapping;     /* mapping's serial number in the process table, 0 if none */
	uint16_t frame_count; /* 1 to 64 */
	uint8_t array_offset;
	uint8_t element_size;
	uint32_t flags; /* enum iaprof_frames_flag */
};
IAPROF_ASSERT_SIZE(iaprof_record_frames, 40);
enum iaprof_frames_flag {
	IAPROF_FRAMES_HAVE_LINES = 1u << 0 /* source lines and inlined functions were looked up */
};
/* Returns frame index of an array of frames with a stride. */
static inline const struct iaprof_record_frame *iaprof_record_frame_at(const void *frames, uint8_t element_size,
								       uint32_t index)
{
	return (const struct iaprof_record_frame *)(const void *)((const char *)frames +
								  index * iaprof_record_stride(element_size, 48));
}
static inline const struct iaprof_record_frame *iaprof_record_frames_frame(const struct iaprof_record_frames *record,
									   uint32_t index)
{
	return iaprof_record_frame_at(iaprof_record_array(record, record->array_offset, 40), record->element_size,
				      index);
}

/*
 * PROGRESS: host->advance() of the source in header.source: it has sent its CODE_OBJECT, KERNEL, LAUNCH and
 * DEVICE_ACTIVITY records up to header.time.
 */
struct iaprof_record_progress {
	struct iaprof_record header;
};
IAPROF_ASSERT_SIZE(iaprof_record_progress, 16);

/*
 * SYNC: every PROCESS and MAPPING record up to header.time has been sent, so samples up to that time can be attributed
 * to the right program. Profiles of intervals end at a SYNC.
 */
struct iaprof_record_sync {
	struct iaprof_record header;
};
IAPROF_ASSERT_SIZE(iaprof_record_sync, 16);

/*
 * Numeric attribute that a compiler records for a function, such as ("simd_size", 32); booleans are 0 or 1. Never
 * grows: 16 bytes.
 */
struct iaprof_attribute {
	uint32_t name; /* string id, as named by the compiler */
	uint32_t pad;
	int64_t value;
};
IAPROF_ASSERT_SIZE(iaprof_attribute, 16);

/* Largest number of attributes per function. */
#define IAPROF_ATTRIBUTE_COUNT_MAX 64

enum iaprof_code_function_flag {
	IAPROF_CODE_FUNCTION_KERNEL = 1u << 0 /* can be launched; otherwise called by GPU kernels */
};

/*
 * CODE_FUNCTION: a function in the image of a code object, as read by the core. The core sends one for each function
 * after it has processed the CODE_OBJECT record, because the image is not available in a replay; header.source is the
 * code object's. A KERNEL of the same source with this code object and this name is an instance of it. The struct is
 * followed by attribute_count attributes.
 */
struct iaprof_record_code_function {
	struct iaprof_record header;
	uint32_t code_object; /* id of the same source */
	uint32_t name;        /* string id, as in the symbol table (mangled) */
	uint32_t shown_name;  /* string id: display name, demangled and formatted by the decoder */
	uint32_t flags;       /* enum iaprof_code_function_flag */
	uint64_t address;     /* first device address; 0 if the image does not contain it */
	uint64_t size;        /* without the padding after the function */
	uint32_t attribute_count;
	uint8_t array_offset;
	uint8_t pad[3];
};
IAPROF_ASSERT_SIZE(iaprof_record_code_function, 56);
static inline const struct iaprof_attribute *
iaprof_record_code_function_attributes(const struct iaprof_record_code_function *record)
{
	return (const struct iaprof_attribute *)iaprof_record_array(record, record->array_offset, 56);
}

/* Why an instruction waits for another one (the producer). */
enum iaprof_wait {
	IAPROF_WAIT_RESULT = 1,   /* until the producer has written its result */
	IAPROF_WAIT_OPERANDS = 2, /* until the producer has read its operands, which are then overwritten */
	IAPROF_WAIT_TOKEN = 3,    /* until the producer releases the token that both use */
	IAPROF_WAIT_PIPELINE = 4  /* until the producer has left its pipeline */
};

/* An instruction that another one may wait for. Never grows: 16 bytes. */
struct iaprof_producer {
	uint64_t offset; /* offset of the instruction in the code, in bytes */
	uint32_t wait;   /* enum iaprof_wait */
	uint32_t token;  /* the device's number of the token; 0 for IAPROF_WAIT_PIPELINE */
};
IAPROF_ASSERT_SIZE(iaprof_producer, 16);

enum iaprof_producers_flag {
	IAPROF_PRODUCERS_INCOMPLETE = 1u << 0 /* there may be others that cannot be determined from the code */
};

/* An instruction of a CODE_LISTING. 48 bytes in schema version 1. */
struct iaprof_listed_instruction {
	uint64_t offset; /* as in its frames (IAPROF_FRAME_DEVICE_OFFSET) */
	uint32_t size;   /* bytes, >= 1 */
	uint32_t name;   /* string id, as in its frames: "send.ugm load" */
	uint32_t text;   /* string id of the full disassembly; 0 if none */
	uint32_t waits;  /* string id: its dependencies, in the device's assembler syntax; 0 if none */
	uint32_t file;   /* string id: source file of the innermost inlined function; 0 if unknown */
	uint32_t line;   /* 0 if unknown */
	uint32_t producer_count;
	uint32_t producers_flags; /* enum iaprof_producers_flag */
	uint64_t reserved;        /* 0 */
};
IAPROF_ASSERT_SIZE(iaprof_listed_instruction, 48);

/*
 * CODE_LISTING: all instructions of a function in order, including those without samples. If a sink requested
 * IAPROF_REQUEST_LISTINGS, the core sends it once for each function and image, when the function has its first samples.
 * A further record with the same id continues where the previous one ended and repeats its numbers; only the first has
 * attributes. The struct is followed by attribute_count attributes, instruction_count instructions and their producers,
 * producer_count in total, whose offsets are relative to the same start as those of instructions.
 */
struct iaprof_record_code_listing {
	struct iaprof_record header;
	uint32_t id;         /* >= 1 */
	uint32_t name;       /* string id, as in the symbol table (mangled) */
	uint32_t shown_name; /* string id: display name, as in CODE_FUNCTION */
	uint32_t flags;      /* enum iaprof_code_function_flag */
	uint64_t size;       /* size of the function, without the padding after it */
	uint64_t left_out;   /* bytes not covered by instructions: beyond the limit, or not decodable */
	uint32_t attribute_count;
	uint32_t instruction_count;
	uint32_t producer_count;
	uint8_t array_offset; /* of the attributes */
	uint8_t element_size; /* of the instructions */
	uint8_t pad[2];
};
IAPROF_ASSERT_SIZE(iaprof_record_code_listing, 64);
static inline const struct iaprof_attribute *
iaprof_record_code_listing_attributes(const struct iaprof_record_code_listing *record)
{
	return (const struct iaprof_attribute *)iaprof_record_array(record, record->array_offset, 64);
}
/* Returns instruction index; index instruction_count: the end of the instructions. */
static inline const struct iaprof_listed_instruction *
iaprof_record_code_listing_instruction(const struct iaprof_record_code_listing *record, uint32_t index)
{
	const struct iaprof_attribute *end = iaprof_record_code_listing_attributes(record) + record->attribute_count;
	return (const struct iaprof_listed_instruction *)(const void *)((const char *)end +
									index * iaprof_record_stride(
											record->element_size, 48));
}
static inline const struct iaprof_producer *
iaprof_record_code_listing_producers(const struct iaprof_record_code_listing *record)
{
	return (const struct iaprof_producer *)(const void *)iaprof_record_code_listing_instruction(
		record, record->instruction_count);
}

/* Largest number of frames in a STACK_FRAMES record: deeper stacks are truncated at the leaf end. */
#define IAPROF_STACK_FRAMES_COUNT_MAX 1024u

/*
 * STACK_FRAMES: the resolved user stack of LAUNCH and CALL records. Those records do not wait for it: it follows within
 * seconds, after the next SYNC record, at the latest at the end of the run. Rarely sent twice for one stack. The struct
 * is followed by frame_count frames, root first; offset and address of the frames are not set.
 */
struct iaprof_record_stack_frames {
	struct iaprof_record header;
	uint32_t stack; /* id */
	uint32_t pid;
	uint32_t frame_count; /* 1 to IAPROF_STACK_FRAMES_COUNT_MAX */
	uint8_t array_offset;
	uint8_t element_size;
	uint8_t pad[2];
};
IAPROF_ASSERT_SIZE(iaprof_record_stack_frames, 32);
static inline const struct iaprof_record_frame *
iaprof_record_stack_frames_frame(const struct iaprof_record_stack_frames *record, uint32_t index)
{
	return iaprof_record_frame_at(iaprof_record_array(record, record->array_offset, 32), record->element_size,
				      index);
}

enum iaprof_activity_kind {
	IAPROF_ACTIVITY_SCHEDULER = 1, /* start and end of jobs, from the driver's scheduler */
	IAPROF_ACTIVITY_STATISTICS = 2 /* usage counters of the process, polled */
};

/*
 * DEVICE_ACTIVITY: a process kept a device busy for some time between begin and header.time. Hardware address samples
 * do not identify the process: if several processes have code at the address of stall samples, the samples are divided
 * among the processes that were active in the samples' interval, in proportion to their busy time. If there are records
 * of several kinds, the lowest kind is used. A source sends them before the stall samples of the same interval.
 * Malformed: busy or pid 0, or begin after header.time. The core keeps the newest 262,144 at most; others are dropped,
 * and reported at the end of the run.
 */
struct iaprof_record_device_activity {
	struct iaprof_record header;
	uint64_t begin;
	uint64_t busy;   /* ns, at least 1; jobs of several engines may add up to more than the interval */
	uint32_t device; /* device id of the same source */
	uint32_t pid;
	uint32_t kind;  /* enum iaprof_activity_kind */
	uint32_t label; /* string id: label for its code that no code object covers, such as "[Mesa shader code]"; 0 not
			   known */
};
IAPROF_ASSERT_SIZE(iaprof_record_device_activity, 48);

/* Largest number of frames in a PROFILE_STACK record: deeper stacks are truncated at the leaf end. */
#define IAPROF_PROFILE_STACK_COUNT_MAX 1360u

/*
 * PROFILE_STACK: a resolved stack of device samples, with an id that PROFILE_VALUE records refer to. The struct is
 * followed by frame_count frames, root first. The first frame is the program, with the pid in its address. When a text
 * profile written by another tool is replayed, all of its stacks are sent as PROFILE_STACK, some without the program.
 * The frames may be followed by a struct iaprof_record_stack_origin: use iaprof_record_profile_stack_origin(). That one
 * may be followed by a struct iaprof_span: use iaprof_record_profile_stack_span().
 */
struct iaprof_record_profile_stack {
	struct iaprof_record header;
	uint32_t id;          /* >= 1 */
	uint16_t frame_count; /* 1 to IAPROF_PROFILE_STACK_COUNT_MAX */
	uint8_t array_offset;
	uint8_t element_size;
};
IAPROF_ASSERT_SIZE(iaprof_record_profile_stack, 24);
/* Returns frame index; index frame_count: the end of the frames. */
static inline const struct iaprof_record_frame *
iaprof_record_profile_stack_frame(const struct iaprof_record_profile_stack *record, uint32_t index)
{
	return iaprof_record_frame_at(iaprof_record_array(record, record->array_offset, 24), record->element_size,
				      index);
}

/* The thread that launched a kernel, and the device that ran it. Never grows: 16 bytes. */
struct iaprof_record_stack_origin {
	uint32_t tid;         /* 0: any thread */
	uint32_t thread_name; /* string id; 0: not known */
	uint32_t device;      /* device id of the source in the record's header; 0: any device */
	uint32_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_record_stack_origin, 16);
/* Returns the origin of a stack, or NULL if the record has none. */
static inline const struct iaprof_record_stack_origin *
iaprof_record_profile_stack_origin(const struct iaprof_record_profile_stack *record)
{
	const char *end = (const char *)iaprof_record_profile_stack_frame(record, record->frame_count);
	return record->header.size >= (size_t)(end - (const char *)record) + sizeof(struct iaprof_record_stack_origin)
		       ? (const struct iaprof_record_stack_origin *)(const void *)end
		       : (const struct iaprof_record_stack_origin *)0;
}
/* Returns the span of a stack, or NULL if it has none. */
static inline const struct iaprof_span *
iaprof_record_profile_stack_span(const struct iaprof_record_profile_stack *record)
{
	const struct iaprof_record_stack_origin *origin = iaprof_record_profile_stack_origin(record);
	const struct iaprof_span *span =
		origin ? (const struct iaprof_span *)(origin + 1) : (const struct iaprof_span *)0;
	size_t begin = origin ? (size_t)((const char *)span - (const char *)record) : 0;
	return span && record->header.size >= begin + sizeof *span && iaprof_span_is_valid(span)
		       ? span
		       : (const struct iaprof_span *)0;
}

/*
 * PROFILE_VALUE: a value that the core's correlator added to the profile under a stack, derived from stall samples. A
 * replay uses these records because the images are no longer available; header.source is the source of the stall
 * samples.
 */
struct iaprof_record_profile_value {
	struct iaprof_record
		header;      /* time of the SYNC with which it was added; at the end of the run, later than any */
	uint32_t stack;      /* id of a PROFILE_STACK */
	uint32_t value_type; /* value type id */
	uint64_t value;
	uint64_t count; /* number of samples */
	/* Time range of the samples, begin <= end; both 0 when not known. A shorter record lacks both. */
	uint64_t begin;
	uint64_t end;
};
IAPROF_ASSERT_SIZE(iaprof_record_profile_value, 56);

/* Longest build id in a MODULE record: a SHA-512 is 64 bytes. */
#define IAPROF_MODULE_BUILD_ID_SIZE_MAX 64u

/*
 * MODULE: build id of an executable file at the time its symbols were read, sent once for each path and build id,
 * before the first FRAMES record with functions in it. Several records for a path mean several files: the file was
 * replaced during the run, or the path exists in several mount namespaces. The struct is followed by build_id_size
 * bytes, padded with zeros to 8.
 */
struct iaprof_record_module {
	struct iaprof_record header;
	uint32_t path;          /* string id: as in MAPPING records and in the module of frames */
	uint16_t build_id_size; /* 1 to IAPROF_MODULE_BUILD_ID_SIZE_MAX */
	uint8_t array_offset;
	uint8_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_record_module, 24);
static inline const uint8_t *iaprof_record_module_build_id(const struct iaprof_record_module *record)
{
	return (const uint8_t *)iaprof_record_array(record, record->array_offset, 24);
}

/* Largest source file whose text is sent in records, in bytes. */
#define IAPROF_SOURCE_TEXT_SIZE_MAX (1u << 20)

/*
 * SOURCE_TEXT: part of the text of a source file: the struct, then length bytes without NUL, padded with zeros to 8.
 * The parts of a file are consecutive, from its first byte to its last. Written to captures on request.
 */
struct iaprof_record_source_text {
	struct iaprof_record header;
	uint32_t file;   /* string id: as in struct iaprof_listed_instruction */
	uint32_t size;   /* bytes of the whole file, 1 to IAPROF_SOURCE_TEXT_SIZE_MAX */
	uint32_t offset; /* offset of the part in the file */
	uint16_t length; /* bytes of the part, >= 1; offset + length <= size */
	uint8_t array_offset;
	uint8_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_record_source_text, 32);
static inline const char *iaprof_record_source_text_bytes(const struct iaprof_record_source_text *record)
{
	return (const char *)iaprof_record_array(record, record->array_offset, 32);
}

/* An array of records. Borrowed for the duration of the call that passes it: copy what must be kept. */
struct iaprof_batch {
	const void *records; /* the first record, 8-byte aligned */
	uint64_t size;       /* bytes of all records together */
	uint32_t count;      /* number of records */
	uint32_t pad;
};
IAPROF_ASSERT_SIZE(iaprof_batch, 24);

/*
 * Returns the record after record (the first if record is NULL), or NULL after the last. Only for batches delivered by
 * the core, which has checked the sizes.
 */
static inline const struct iaprof_record *iaprof_batch_next(const struct iaprof_batch *batch,
							    const struct iaprof_record *record)
{
	const char *next = record ? (const char *)record + record->size : (const char *)batch->records;
	if (!batch->size) /* records may be NULL, to which C does not allow to add 0 */
		return (const struct iaprof_record *)0;
	return next < (const char *)batch->records + batch->size ? (const struct iaprof_record *)next
								 : (const struct iaprof_record *)0;
}

#ifdef __cplusplus
}
#endif
#endif
