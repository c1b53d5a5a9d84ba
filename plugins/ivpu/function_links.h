/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links between ivpu's BPF programs and driver functions: the methods to attach, and the calls that each method missed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "function_list.h"

/* BPF_TRACE_KPROBE_SESSION of include/uapi/linux/bpf.h, Linux 6.10; libbpf supports it since 1.5. */
#define ATTACH_TYPE_SESSION 56
/* BPF_TRACE_FSESSION_MULTI of Linux 7.2. */
#define ATTACH_TYPE_FSESSION 61

struct ivpu_bpf;
struct bpf_link;

/* In the order of the option attach=. */
enum attach_method {
	ATTACH_AUTO, /* the first method below that the Linux kernel supports */
	/*
	 * One link, one program for entries and returns, a trampoline per function: half the overhead of the next
	 * method. Linux 7.2; functions without BTF use the next method.
	 */
	ATTACH_FSESSION,
	ATTACH_SESSION, /* one link, one program for entries and returns: Linux 6.10 */
	ATTACH_MULTI,   /* two kprobe.multi links (Linux 5.18, CONFIG_FPROBE) */
	ATTACH_SINGLE   /* two kprobes per function: slow to attach, but independent of CONFIG_FPROBE */
};

/* Initialise with function_links_none(). */
struct function_links {
	bool only_entries; /* set before attaching: calls are counted, and returns are not traced */
	int multi[2]; /* entry or session (functions with BTF), and return (session of the other functions); -1: none */
	struct bpf_link **single; /* returns, then entries */
	uint32_t single_count;
	uint32_t trampolines; /* functions attached by trampoline */
};

struct function_links function_links_none(void);

/*
 * Attaches to the first function with a method that the programs were loaded for, and detaches. Returns 0 or the
 * negative errno of the Linux kernel. ids: from module_types_find(), for ATTACH_FSESSION only.
 */
int attach_method_try(enum attach_method way, struct ivpu_bpf *skeleton, const struct function_list *list,
		      const uint32_t *ids, bool only_entries);

/* Returns 0 or a negative errno. Call function_links_detach() in either case. */
int function_links_attach(struct function_links *links, enum attach_method way, struct ivpu_bpf *skeleton,
			  const struct function_list *list, const uint32_t *ids);
void function_links_detach(struct function_links *links);

/* Returns the number of calls whose return the kernel had no room to trace. */
uint64_t function_links_missed(const struct function_links *links);

/* Returns the name of a method: "kprobe session". */
const char *attach_method_name(enum attach_method way);
/* Describes how count functions are attached: "fsession.multi, 2 of them by kprobe session". */
void function_links_describe(const struct function_links *links, enum attach_method way, uint32_t count, char *text,
			     size_t size);
