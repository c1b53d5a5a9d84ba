/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the NPU driver intel_vpu: the area that each belongs to, the event that a call indicates, and the
 * phase of NPU use that it is part of. Functions that the table does not list, of other driver versions, are assigned
 * by prefix. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ivpu_family {
	IVPU_FAMILY_OTHER,
	IVPU_FAMILY_MEMORY,
	IVPU_FAMILY_BUFFERS,
	IVPU_FAMILY_IPC,
	IVPU_FAMILY_JOBS,
	IVPU_FAMILY_HARDWARE,
	IVPU_FAMILY_FIRMWARE,
	IVPU_FAMILY_POWER,
	IVPU_FAMILY_CONTEXT,
	IVPU_FAMILY_METRIC_STREAMER,
	IVPU_FAMILY_SETUP, /* of the driver, and its debugfs */
	IVPU_FAMILY_COUNT
};

/* The event that a call of a function indicates, for the statistics of a run. */
enum ivpu_event {
	IVPU_EVENT_NONE,
	IVPU_EVENT_CONTEXT,       /* a file was opened */
	IVPU_EVENT_SUBMIT,        /* a job was submitted */
	IVPU_EVENT_DONE,          /* a job is complete */
	IVPU_EVENT_TIMEOUT_CLOCK, /* the driver set a job's timeout: completions would be traced */
	IVPU_EVENT_IPC_HANDLER,   /* the driver checked for firmware messages */
	IVPU_EVENT_MESSAGE,       /* it received one: once per message, where this function can be traced */
	IVPU_EVENT_PAGE_MAP,      /* 4 KiB were mapped */
	IVPU_EVENT_MAPPING,       /* a buffer was mapped */
	IVPU_EVENT_BUFFER_CREATE,
	IVPU_EVENT_BUFFER_FREE,
	IVPU_EVENT_BOOT, /* the firmware was booted, from ivpu_boot */
	IVPU_EVENT_RESUME,
	IVPU_EVENT_RECOVERY,
	IVPU_EVENT_RESET,
	IVPU_EVENT_COUNT
};

enum ivpu_function_flag {
	IVPU_FUNCTION_HOT = 1u << 0,   /* called once per page or register: tracing it costs more than it is worth */
	IVPU_FUNCTION_IOCTL = 1u << 1, /* an ioctl handler */
	IVPU_FUNCTION_WELL_KNOWN = 1u << 2 /* a warning is due if neither it nor its alternative exists */
};

struct ivpu_function {
	const char *name;        /* for a prefix rule, the prefix */
	uint32_t family;         /* enum ivpu_family */
	uint32_t flags;          /* enum ivpu_function_flag */
	uint32_t event;          /* enum ivpu_event */
	const char *ioctl_name;  /* NULL if none */
	const char *alternative; /* name in another driver version, which may have one, too; NULL if none */
	const char *source;      /* file of drivers/accel/ivpu and a version that has it, or the published trace */
};

/* Returns the description of a function. Never NULL: an unknown name belongs to IVPU_FAMILY_OTHER. */
const struct ivpu_function *ivpu_function_find(const char *name);

/* Iterates over the table: NULL after the last entry. Prefix rules are not included. */
const struct ivpu_function *ivpu_function_at(size_t index);

/* Returns "memory management", for example, or "other" for an unknown number. */
const char *ivpu_family_name(uint32_t family);

/*
 * Each call belongs to exactly one phase, which its callers determine: a page map in a submission is "map", and
 * everything during a firmware boot is "firmware boot".
 */
enum ivpu_phase {
	IVPU_PHASE_UNKNOWN, /* neither the function nor its callers determine it */
	IVPU_PHASE_OPEN,
	IVPU_PHASE_BOOT,
	IVPU_PHASE_ALLOCATE,
	IVPU_PHASE_MAP,
	IVPU_PHASE_RUN,
	IVPU_PHASE_IDLE, /* suspend, and time without jobs and calls */
	IVPU_PHASE_TEARDOWN,
	IVPU_PHASE_RECOVERY,
	IVPU_PHASE_COUNT
};

/* Where a call is, as its callers determine it. {0}: it has none. */
struct ivpu_place {
	enum ivpu_phase phase;
	bool in_submit; /* of a job, without the buffers that the driver allocates for itself */
};

/* Returns the place of a call of a function whose caller has a place. is_submit: it submits a job. */
struct ivpu_place ivpu_place_of(struct ivpu_place caller, const char *function, bool is_submit);

/* function: in the form of call_graph.h. caller: phase of its caller, IVPU_PHASE_UNKNOWN if it has none. */
enum ivpu_phase ivpu_phase_of(enum ivpu_phase caller, const char *function);
/* The same where callers are not known: only an outermost call and a page map determine their phase by themselves. */
enum ivpu_phase ivpu_phase_alone(const struct ivpu_function *function, const char *short_name, bool is_outermost);

/* Returns "firmware boot", for example. */
const char *ivpu_phase_name(uint32_t phase);
/* Returns the name of its note, such as "npu-phase-boot". */
const char *ivpu_phase_note(uint32_t phase);
