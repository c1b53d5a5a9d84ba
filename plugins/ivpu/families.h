/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the NPU driver intel_vpu: what each is for, in the words of its users. Functions that the table does
 * not have, of other versions of the driver, get their family from the beginning of their name. Pure; any thread.
 */
#ifndef IAPROF_PLUGINS_IVPU_FAMILIES_H
#define IAPROF_PLUGINS_IVPU_FAMILIES_H

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
	IVPU_FAMILY_COUNT
};

/*
 * The three groups that the public write-up of the matmul trace counts. They are smaller than the families of the same
 * names: of 8,198 calls
 *     memory management  4,648  ivpu_mmu_context_map_page (4,131), ivpu_pgtable_free_page (517)
 *     IPC                2,842  ivpu_ipc_irq_handler (946), ivpu_ipc_receive (945), ivpu_hw_ip_ipc_rx_count_get (951)
 *     buffers               74  ivpu_bo_create_ioctl (24), ivpu_gem_create_object (25), ivpu_bo_pin (25)
 */
enum ivpu_headline {
	IVPU_HEADLINE_NONE,
	IVPU_HEADLINE_MEMORY,
	IVPU_HEADLINE_IPC,
	IVPU_HEADLINE_BUFFERS,
	IVPU_HEADLINE_COUNT
};

/* What a call of a function says has happened, for what is counted of a run. */
enum ivpu_event {
	IVPU_EVENT_NONE,
	IVPU_EVENT_CONTEXT,       /* a file was opened */
	IVPU_EVENT_SUBMIT,        /* a job was submitted */
	IVPU_EVENT_DONE,          /* a job is complete */
	IVPU_EVENT_TIMEOUT_CLOCK, /* the driver set a job's timeout: completions would be seen */
	IVPU_EVENT_IPC_HANDLER,   /* the driver looked for messages of the firmware */
	IVPU_EVENT_MESSAGE,       /* it took one: once a message, where this function is there to be seen */
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
	IVPU_FUNCTION_HOT = 1u << 0,       /* once a page or register: watching it costs more than it tells */
	IVPU_FUNCTION_IOCTL = 1u << 1,     /* the handler of a request */
	IVPU_FUNCTION_WELL_KNOWN = 1u << 2 /* its absence, and that of its alternative, is worth saying */
};

struct ivpu_function {
	const char *name; /* of a rule for a beginning: that beginning */
	uint32_t family;  /* enum ivpu_family */
	uint32_t flags;   /* enum ivpu_function_flag */
	uint32_t headline, event;
	uint32_t ioctl_number;   /* _IOC_NR() of the request; its whole number depends on the version */
	const char *ioctl_name;  /* NULL none */
	const char *alternative; /* another version's name of a well-known function, NULL none */
	const char *source;      /* file of drivers/accel/ivpu and a version that has it, or the published trace */
};

/* What is known of a function. Never NULL: a name of nobody's is of family IVPU_FAMILY_OTHER. */
const struct ivpu_function *ivpu_function_find(const char *name);

/* The table, to go through it: NULL after the last one. Rules for beginnings are not in it. */
const struct ivpu_function *ivpu_function_at(size_t index);

/* "memory management"; "other" for a number that is none. */
const char *ivpu_family_name(uint32_t family);
const char *ivpu_headline_name(uint32_t headline);

#endif
