/* SPDX-License-Identifier: Apache-2.0 */
/* See machine_check.h. */
#include "machine_check.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "process/rights.h"
#include "bpf/stack_reader.h"

#ifdef __x86_64__
/* Functions with a frame pointer set it up within their first instructions. */
#define PROLOGUE_SIZE 32

/*
 * Functions of the C library that call other functions, and therefore set up a frame if the library has frame pointers.
 */
static const char *const calling_functions[] = { "getaddrinfo", "regexec", "fopen", "popen", "scandir", "qsort_r" };
#define CALLING_COUNT (sizeof calling_functions / sizeof calling_functions[0])

/* Returns true if code saves and sets the frame pointer: push %rbp, later mov %rsp,%rbp. */
static bool has_frame_pointer(const unsigned char *code)
{
	static const unsigned char set[2][3] = { { 0x48, 0x89, 0xe5 }, { 0x48, 0x8b, 0xec } };
	bool is_saved = false;
	for (size_t i = 0; i + sizeof set[0] <= PROLOGUE_SIZE; i++) {
		is_saved |= code[i] == 0x55;
		if (is_saved && (!memcmp(code + i, set[0], sizeof set[0]) || !memcmp(code + i, set[1], sizeof set[1])))
			return true;
	}
	return false;
}

/* Distributions build all libraries with the same flags: checking the C library suffices. */
static void frame_pointers_check(const struct iaprof_host *host, bool can_use_tables)
{
	size_t with = 0, found = 0;
	/* By handle, because a preloaded library or a sanitizer may define functions of the same names. */
	void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	for (size_t i = 0; i < CALLING_COUNT; i++) {
		const unsigned char *code = dlsym(library ? library : RTLD_DEFAULT, calling_functions[i]);
		found += code != NULL;
		with += code && has_frame_pointer(code);
	}
	if (library)
		dlclose(library);
	if (2 * with > found)
		host->check_item(host, IAPROF_CHECK_GOOD, "frame pointers", "the C library has them");
	else
		host->check_item(
			host, IAPROF_CHECK_LIMITED, "frame pointers",
			"the C library has none, callers of its functions show as [unknown]: compile programs "
			"with -fno-omit-frame-pointer, use a distribution built that way (Fedora 38, Ubuntu 24.04 "
			"and later)%s; stacks of GPU launches do not need them",
			can_use_tables ? ", or unwind=auto" : "");
}
#endif

static void user_stacks_check(const struct iaprof_host *host, uint64_t unwind)
{
	const char *reason = NULL;
	/* Without this right, the kernel's answer would be a refusal of everything. */
	bool can_ask = rights_have(RIGHTS_BPF) || rights_have(RIGHTS_ADMIN);
	bool can_use_tables = can_ask && unwinder_is_supported(BPF_PROG_TYPE_PERF_EVENT, &reason);
	bpf_check_stack_depth(host, unwind != UNWIND_FRAME_POINTERS && can_use_tables);
	if (unwind != UNWIND_FRAME_POINTERS && !can_ask)
		return;
	if (unwind != UNWIND_FRAME_POINTERS && can_use_tables)
		return host->check_item(host, IAPROF_CHECK_GOOD, "user stacks", "unwound by .eh_frame");
	if (unwind != UNWIND_FRAME_POINTERS)
		host->check_item(host, IAPROF_CHECK_LIMITED, "user stacks",
				 "unwound by frame pointers, not by .eh_frame: %s", reason);
#ifdef __x86_64__
	frame_pointers_check(host, can_use_tables);
#endif
}

/* The first symbols may be offsets into per-CPU memory, which begin at 0. */
#define SYMBOLS_READ 20000

/* Without the privilege to see addresses, all of them read as 0 in /proc/kallsyms. */
static bool kernel_addresses_are_shown(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[512];
	bool shown = false;
	for (int i = 0; file && !shown && i < SYMBOLS_READ && fgets(line, sizeof line, file); i++)
		shown = strtoull(line, NULL, 16) != 0;
	if (file)
		fclose(file);
	return shown;
}

static void kernel_names_check(const struct iaprof_host *host)
{
	if (kernel_addresses_are_shown())
		host->check_item(host, IAPROF_CHECK_GOOD, "Linux kernel symbols", "in /proc/kallsyms");
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, "Linux kernel symbols",
				 "/proc/kallsyms hides its addresses (kernel.kptr_restrict is %ld): %s",
				 rights_setting("kernel/kptr_restrict"),
				 rights_setting("kernel/kptr_restrict") >= 2
					 ? "sysctl kernel.kptr_restrict=1, and run as root"
				 : rights_have(RIGHTS_SYSLOG) ? "a container or a security module forbids it"
							      : "run as root, or grant CAP_SYSLOG");
}

void cpu_stack_check_all(const struct iaprof_host *host, bool user, uint64_t unwind, bool kernel)
{
	rights_check_bpf(host);
	rights_check_perf(host);
	if (user)
		user_stacks_check(host, unwind);
	else
		bpf_check_stack_depth(host, false);
	if (kernel)
		kernel_names_check(host);
}
