/* SPDX-License-Identifier: Apache-2.0 */
/* See level_zero_check.h. */
#include "level_zero_check.h"
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rights.h"
#include "stack_check.h"
#include "elf_bytes.h"
#include "gpu.h"
#include "inject/process_maps.h"
#include "level_zero_use.h"
#include "process_file.h"
#include "tracer_file.h"

/* More programs that use the GPU are one item. */
#define PROCESSES_SHOWN 16

/* The oldest loader whose tracing layer can be turned on in a program that runs: see tracer/. */
static const uint32_t loader_needed[3] = { 1, 15, 8 };
#define LOADER_NEEDED "1.15.8"

static int version_compare(const uint32_t left[3], const uint32_t right[3])
{
	for (int i = 0; i < 3; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* Where the dynamic linker finds libraries that no program brings along. */
static bool library_find(const char *name, char path[PATH_MAX])
{
	static const char *const folders[] = {
		"/usr/lib/x86_64-linux-gnu", "/usr/lib64",     "/usr/lib",
		"/usr/local/lib64",          "/usr/local/lib", "/usr/local/lib/x86_64-linux-gnu"
	};
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		char link[PATH_MAX];
		snprintf(link, sizeof link, "%s/%s", folders[i], name);
		if (realpath(link, path))
			return true;
	}
	return false;
}

static void loader_check(const struct iaprof_host *host)
{
	char path[PATH_MAX], layer[PATH_MAX];
	uint32_t version[3];
	if (!library_find("libze_loader.so.1", path))
		host->check_item(
			host, IAPROF_CHECK_LIMITED, "Level Zero loader",
			"none on this machine, only containers and Python packages can have their own: install "
			"the package libze1 or level-zero");
	else if (level_zero_version(path, version) && version_compare(version, loader_needed) < 0)
		host->check_item(host, IAPROF_CHECK_LIMITED, "Level Zero loader",
				 "%s is older than " LOADER_NEEDED
				 ", launches of programs with it cannot be seen: update "
				 "the package libze1 or level-zero",
				 path);
	else if (!library_find("libze_tracing_layer.so.1", layer))
		host->check_item(
			host, IAPROF_CHECK_LIMITED, "Level Zero loader",
			"%s has no libze_tracing_layer.so.1 beside it, launches cannot be seen: install it anew", path);
	else
		host->check_item(host, IAPROF_CHECK_GOOD, "Level Zero loader", "%s", path);
	if (library_find("libze_intel_gpu.so.1", path))
		host->check_item(host, IAPROF_CHECK_GOOD, "Level Zero runtime", "%s", path);
	else
		host->check_item(
			host, IAPROF_CHECK_LIMITED, "Level Zero runtime",
			"libze_intel_gpu.so.1 is not on this machine, only containers can have their own: install "
			"the package libze-intel-gpu1 or intel-compute-runtime");
}

static void tracer_check(const struct iaprof_host *host, bool wants_tracer)
{
	char path[PATH_MAX];
	if (!wants_tracer)
		host->check_item(host, IAPROF_CHECK_LIMITED, "tracer",
				 "not used, only a runtime with probes is seen: leave tracer=no out");
	else if (tracer_file_find(path, sizeof path))
		host->check_item(
			host, IAPROF_CHECK_LIMITED, "tracer",
			"not beside the plugin, only a runtime with probes is seen: build iaprof with the headers "
			"of Level Zero and sys/sdt.h");
	else
		host->check_item(host, IAPROF_CHECK_GOOD, "tracer", "%s", path);
}

/* Whether the runtime that a process has mapped has probes of its own. */
static bool runtime_has_probes(uint32_t pid, const struct level_zero_use *use)
{
	struct stat status;
	struct provider provider;
	int descriptor = use->runtime ? process_file_open_mapped(pid, use->runtime, use->runtime_size, &status) : -1;
	if (descriptor < 0)
		return false;
	struct elf_bytes bytes = elf_bytes_of_file(descriptor, (uint64_t)status.st_size);
	bool found = provider_find(&bytes, &provider);
	close(descriptor);
	return found;
}

static bool is_in_container(uint32_t pid)
{
	char path[64], theirs[64] = "", ours[64] = "";
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/ns/mnt", pid);
	return readlink(path, theirs, sizeof theirs - 1) > 0 &&
	       readlink("/proc/self/ns/mnt", ours, sizeof ours - 1) > 0 && strcmp(theirs, ours) != 0;
}

/* "1234 (python3)" */
static void process_name(uint32_t pid, char *name, size_t size)
{
	size_t length = 0;
	char *text = process_file_read((pid_t)pid, "comm", &length);
	if (text && length && text[length - 1] == '\n')
		text[length - 1] = '\0';
	snprintf(name, size, "process %" PRIu32 " (%s)", pid, text && text[0] ? text : "?");
	for (char *letter = name; *letter; letter++)
		if (*letter == '\n') /* the program chose it */
			*letter = '?';
	free(text);
}

static void launches_check(const struct iaprof_host *host, uint32_t pid, const struct level_zero_use *use,
			   const char *name)
{
	uint32_t version[3];
	if (use->tracer)
		host->check_item(host, IAPROF_CHECK_GOOD, name, "has iaprof's tracer");
	else if (runtime_has_probes(pid, use))
		host->check_item(host, IAPROF_CHECK_GOOD, name, "its Level Zero runtime has probes");
	else if (level_zero_version(use->loader, version) && version_compare(version, loader_needed) < 0)
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "its launches cannot be seen: its %s is older than " LOADER_NEEDED
				 ": update what it came with (pip, the container's packages)",
				 use->loader);
	else if (is_in_container(pid))
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "its launches are seen only with -p %" PRIu32
				 " -s ze-usdt:tracer=inject, and with the "
				 "tracer's file mounted into its container under the same path",
				 pid);
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "its launches are seen only with -p %" PRIu32
				 " -s ze-usdt:tracer=inject, or when iaprof "
				 "starts it",
				 pid);
}

static void python_check(const struct iaprof_host *host, uint32_t pid, uint32_t minor, const char *name)
{
	if (minor < 12) {
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "Python 3.%" PRIu32 " does not tell its functions: use Python 3.12 or newer with "
				 "PYTHONPERFSUPPORT=1",
				 minor);
		return;
	}
	size_t environment_length = 0, command_length = 0;
	char *environment = process_file_read((pid_t)pid, "environ", &environment_length);
	char *command = process_file_read((pid_t)pid, "cmdline", &command_length);
	if ((environment && python_environment_has_perf(environment, environment_length)) ||
	    (command && python_command_has_perf(command, command_length)))
		host->check_item(host, IAPROF_CHECK_GOOD, name, "Python 3.%" PRIu32 " tells its functions", minor);
	else
		host->check_item(
			host, IAPROF_CHECK_LIMITED, name,
			"Python functions have no names: start it with PYTHONPERFSUPPORT=1 in its environment");
	free(environment);
	free(command);
}

/* One process; false when it does not use Level Zero. */
static bool process_check(const struct iaprof_host *host, uint32_t pid, bool show)
{
	size_t length = 0;
	char *maps = process_file_read((pid_t)pid, "maps", &length);
	if (!maps)
		return false;
	struct level_zero_use use = level_zero_use_find(maps, length);
	free(maps);
	if (use.loader[0] && show) {
		char name[64];
		process_name(pid, name, sizeof name);
		launches_check(host, pid, &use, name);
		if (use.python_minor)
			python_check(host, pid, use.python_minor, name);
	}
	return use.loader[0] != '\0';
}

static void processes_check(const struct iaprof_host *host)
{
	DIR *folder = opendir("/proc");
	uint32_t found = 0;
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		if (isdigit((unsigned char)entry->d_name[0]))
			found += process_check(host, (uint32_t)strtoul(entry->d_name, NULL, 10),
					       found < PROCESSES_SHOWN);
	if (folder)
		closedir(folder);
	if (found > PROCESSES_SHOWN)
		host->check_item(host, IAPROF_CHECK_LIMITED, "other programs",
				 "%" PRIu32 " more use Level Zero and are not looked at here", found - PROCESSES_SHOWN);
	/* Only the code itself says whether it has any, and that is seen when it is loaded. */
	if (found)
		host->check_item(
			host, IAPROF_CHECK_LIMITED, "source lines of GPU code",
			"only of code that was compiled with -gline-tables-only or -g: as an option of icpx, of "
			"ocloc -options, or of clBuildProgram(); a profile has no file and line for the rest");
	else
		host->check_item(host, IAPROF_CHECK_GOOD, "running programs",
				 "none uses Level Zero now; those that iaprof starts are seen from their first launch");
}

/* Yama's values: Documentation/admin-guide/LSM/Yama.rst in Linux. */
static void injection_check(const struct iaprof_host *host)
{
	static const char name[] = "right to load the tracer into a process";
	long scope = rights_setting("yama/ptrace_scope");
	if (scope >= 3)
		host->check_item(
			host, IAPROF_CHECK_MISSING, name,
			"kernel.yama.ptrace_scope is %ld, which forbids ptrace() until the next boot: start the "
			"program under iaprof, or with LD_PRELOAD",
			scope);
	else if (!rights_have(RIGHTS_PTRACE))
		host->check_item(host, IAPROF_CHECK_MISSING, name, "needs CAP_SYS_PTRACE%s: run as root",
				 scope > 0 ? ", as kernel.yama.ptrace_scope is not 0" : "");
	else
		host->check_item(host, IAPROF_CHECK_GOOD, name, "CAP_SYS_PTRACE");
}

void level_zero_check(const struct iaprof_host *host, bool wants_tracer, bool wants_injection)
{
	if (level_zero_gpu_is_there())
		host->check_item(host, IAPROF_CHECK_GOOD, "GPU", "there is one with driver xe or i915");
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, "GPU",
				 "no render node in /dev/dri with driver xe or i915: lspci -k shows what there "
				 "is");
	loader_check(host);
	tracer_check(host, wants_tracer);
	rights_check_bpf(host);
	if (wants_injection)
		injection_check(host);
	bpf_check_stack_depth(host);
	processes_check(host);
}
