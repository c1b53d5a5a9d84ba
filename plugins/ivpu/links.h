/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links between ivpu's BPF programs and the functions of a list: which ways there are, and what each of them
 * missed.
 */
#ifndef IAPROF_PLUGINS_IVPU_LINKS_H
#define IAPROF_PLUGINS_IVPU_LINKS_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "function_list.h"

/* include/uapi/linux/bpf.h of Linux 6.10, BPF_TRACE_KPROBE_SESSION: libbpf does not know it before 1.5. */
#define LINKS_SESSION_TYPE 56
/* The same of Linux 7.2, BPF_TRACE_FSESSION_MULTI. */
#define LINKS_FSESSION_TYPE 61

struct ivpu_bpf;
struct bpf_link;

/* In the order of the option attach=. */
enum links_way {
	LINKS_AUTO, /* the first of those below that the Linux kernel has */
	/*
	 * One link, one program for entries and returns, a trampoline for each function: a call costs half of what it
	 * costs in the next way. Linux 7.2; functions without BTF are attached in the next way.
	 */
	LINKS_FSESSION,
	LINKS_SESSION, /* one link, one program for entries and returns: Linux 6.10 */
	LINKS_MULTI, /* two links of kprobe.multi, which came with 5.18 and knows functions of modules; CONFIG_FPROBE */
	LINKS_SINGLE /* two kprobes for each function: slow to attach, and works without CONFIG_FPROBE */
};

/* Initialise with links_none(). */
struct links {
	int multi[2]; /* of the entry or session (of functions with BTF), of the return (session of the others); -1:
			 none */
	struct bpf_link **single; /* returns, then entries */
	uint32_t single_count;
	uint32_t trampolines; /* functions attached by one */
};

struct links links_none(void);

/* Attaches to the first function in a way that the programs were loaded for, and detaches. Returns 0 or the negative
 * errno with which this Linux kernel refuses it. ids: of module_types_find(), of LINKS_FSESSION only. */
int links_way_try(enum links_way way, struct ivpu_bpf *skeleton, const struct function_list *list, const uint32_t *ids);

/* Returns 0 or a negative errno. links_detach() ends what was attached in any case. */
int links_attach(struct links *links, enum links_way way, struct ivpu_bpf *skeleton, const struct function_list *list,
		 const uint32_t *ids);
void links_detach(struct links *links);

/* Calls whose return the kernel had no room to watch, from the attachment on. */
uint64_t links_missed(const struct links *links);

/* "kprobe session" */
const char *links_way_name(enum links_way way);
/* How so many functions are attached: "fsession.multi, 2 of them by kprobe session". */
void links_describe(const struct links *links, enum links_way way, uint32_t count, char *text, size_t size);

#endif
