/* SPDX-License-Identifier: Apache-2.0 */
/* See machine_check.h. */
#include "machine_check.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rights.h"
#include "stack_check.h"

#ifdef __x86_64__
/* A function with a frame pointer sets it up within its first instructions. */
#define PROLOGUE_SIZE 32

/* Functions of the C library that call others, and so have a frame where frames have pointers. */
static const char *const calling_functions[] = { "getaddrinfo", "regexec", "fopen", "popen", "scandir", "qsort_r" };
#define CALLING_COUNT (sizeof calling_functions / sizeof calling_functions[0])

/* Whether code begins by saving the frame pointer and setting it: push %rbp, and later mov %rsp,%rbp. */
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

/* How this machine's C library was built is how its distribution builds all of its libraries. */
static void frame_pointers_check(const struct iaprof_host *host)
{
	size_t with = 0, found = 0;
	for (size_t i = 0; i < CALLING_COUNT; i++) {
		const unsigned char *code = dlsym(RTLD_DEFAULT, calling_functions[i]);
		found += code != NULL;
		with += code && has_frame_pointer(code);
	}
	if (2 * with > found)
		host->check_item(host, IAPROF_CHECK_GOOD, "frame pointers", "this machine's C library has them");
	else
		host->check_item(
			host, IAPROF_CHECK_LIMITED, "frame pointers",
			"this machine's C library has none, who called it shows as [unknown]: compile programs with "
			"-fno-omit-frame-pointer, or use a distribution built that way (Fedora 38, Ubuntu 24.04 "
			"and later); stacks of GPU launches do not need them");
}
#endif

/* The first symbols can be offsets into the memory of each CPU, which begin at 0. */
#define SYMBOLS_READ 20000

/* Without the right to see them, all addresses in /proc/kallsyms are 0. */
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
		host->check_item(host, IAPROF_CHECK_GOOD, "names of the Linux kernel's functions", "in /proc/kallsyms");
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, "names of the Linux kernel's functions",
				 "/proc/kallsyms hides its addresses (kernel.kptr_restrict is %ld): %s",
				 rights_setting("kptr_restrict"),
				 rights_setting("kptr_restrict") >= 2 ? "sysctl kernel.kptr_restrict=1, and run as root"
				 : rights_have(RIGHTS_SYSLOG)         ? "a container or a security module forbids it"
								      : "run as root, or grant CAP_SYSLOG");
}

void cpu_stack_check_all(const struct iaprof_host *host, bool user, bool kernel)
{
	rights_check_bpf(host);
	rights_check_perf(host);
	bpf_check_stack_depth(host);
#ifdef __x86_64__
	if (user)
		frame_pointers_check(host);
#else
	(void)user;
#endif
	if (kernel)
		kernel_names_check(host);
}
