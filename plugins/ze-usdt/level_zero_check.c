/* SPDX-License-Identifier: Apache-2.0 */
/* See level_zero_check.h. */
#include "base/cleanup.h"
#include "base/machine.h"
#include "level_zero_check.h"
#include <ctype.h>
#include <errno.h>
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "process/rights.h"
#include "bpf/stack_index.h"
#include "bpf/unwinder.h"
#include "usdt_provider.h"
#include "process/process_maps.h"
#include "level_zero_use.h"
#include "process/process_file.h"
#include "static_loader.h"
#include "libraries.h"

/* Further programs that use the GPU are reported as one item. */
#define PROCESSES_SHOWN 16

/* The oldest loader whose tracing layer can be enabled in a running program: see tracer/. */
static const uint32_t loader_needed[3] = { 1, 15, 8 };
#define LOADER_NEEDED "1.15.8"

static int version_compare(const uint32_t left[3], const uint32_t right[3])
{
	for (int i = 0; i < 3; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static bool driver_is_intels(const char *node)
{
	char path[320], driver[64];

	snprintf(path, sizeof path, "/sys/class/drm/%s/device/driver", node);
	return link_name(path, driver, sizeof driver) && (strcmp(driver, "xe") == 0 || strcmp(driver, "i915") == 0);
}

bool level_zero_gpu_is_there(void)
{
	bool found = false;
	CLEANUP_CLOSEDIR DIR *folder = opendir("/sys/class/drm");

	if (!folder)
		return false;
	for (const struct dirent *entry; !found && (entry = readdir(folder));)
		found = strncmp(entry->d_name, "renderD", 7) == 0 && driver_is_intels(entry->d_name);
	return found;
}

/* The dynamic linker's default folders. */
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
		host->check_item(host, IAPROF_CHECK_LIMITED, "Level Zero loader",
				 "not found; containers and Python packages may have their own (install package libze1 "
				 "or level-zero)");
	else if (level_zero_version(path, version) && version_compare(version, loader_needed) < 0)
		host->check_item(
			host, IAPROF_CHECK_LIMITED, "Level Zero loader",
			"%s is older than " LOADER_NEEDED
			", so launches of programs that use it cannot be traced (update package libze1 or level-zero)",
			path);
	else if (!library_find("libze_tracing_layer.so.1", layer))
		host->check_item(
			host, IAPROF_CHECK_LIMITED, "Level Zero loader",
			"%s has no libze_tracing_layer.so.1 beside it, so launches cannot be traced (reinstall it)",
			path);
	else
		host->check_item(host, IAPROF_CHECK_GOOD, "Level Zero loader", "%s", path);
	if (library_find("libze_intel_gpu.so.1", path))
		host->check_item(host, IAPROF_CHECK_GOOD, "Level Zero runtime", "%s", path);
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, "Level Zero runtime",
				 "libze_intel_gpu.so.1 not found; containers may have their own (install package "
				 "libze-intel-gpu1 or intel-compute-runtime)");
}

static void tracer_check(const struct iaprof_host *host, bool wants_tracer)
{
	char path[PATH_MAX];
	if (!wants_tracer)
		host->check_item(host, IAPROF_CHECK_LIMITED, "tracer",
				 "disabled: only runtimes with probes are supported (remove tracer=no)");
	else if (tracer_file_find(path, sizeof path))
		host->check_item(host, IAPROF_CHECK_LIMITED, "tracer",
				 "not installed beside the plugin: only runtimes with probes are supported (build "
				 "iaprof with the Level Zero headers and sys/sdt.h)");
	else
		host->check_item(host, IAPROF_CHECK_GOOD, "tracer", "%s", path);
}

/* Returns whether the Level Zero runtime of a process has probes. */
static bool runtime_has_probes(struct broker *broker, uint32_t pid, const struct level_zero_use *use)
{
	struct stat status;
	struct usdt_provider provider;
	const struct target_file_name name = { .pid = pid, .start = use->runtime, .length = use->runtime_size };
	int descriptor = use->runtime ? broker_open_file(broker, &name, &status) : -1;
	if (descriptor < 0)
		return false;
	struct elf_reader bytes = elf_reader_of_file(descriptor, (uint64_t)status.st_size);
	bool found = usdt_provider_find(&bytes, &provider);
	close(descriptor);
	return found;
}

/* The driver loads Intel's Level Zero runtime in either case. */
static bool opencl_is_on_level_zero(struct broker *broker, uint32_t pid)
{
	size_t length = 0;
	CLEANUP_FREE char *environment = broker_read_all(broker, pid, BROKER_ENVIRONMENT, &length);
	return environment && opencl_environment_is_on_level_zero(environment, length);
}

static bool tracing_layer_is_enabled(struct broker *broker, uint32_t pid)
{
	size_t length = 0;
	CLEANUP_FREE char *environment = broker_read_all(broker, pid, BROKER_ENVIRONMENT, &length);
	return environment && environment_has_tracing_layer(environment, length);
}

/* Writes the path of a file of a process that contains a loader that is not traced. Returns false if none is found. */
static bool untraced_loader_find(struct broker *broker, uint32_t pid, const char *maps, size_t length,
				 char path[PATH_MAX])
{
	struct process_mapping mapping;
	while (process_mapping_next(&maps, &length, &mapping)) {
		struct stat status;
		if (!mapping.executable || !mapping.inode)
			continue;
		const struct target_file_name name = { .pid = pid,
						       .start = mapping.start,
						       .length = mapping.end - mapping.start };
		int descriptor = broker_open_file(broker, &name, &status);
		if (descriptor < 0)
			continue;
		const struct elf_reader bytes = elf_reader_of_file(descriptor, (uint64_t)status.st_size);
		bool found = static_loader_is_untraced(&bytes);
		close(descriptor);
		if (found) {
			snprintf(path, PATH_MAX, "%.*s", (int)mapping.path_length, mapping.path);
			return true;
		}
	}
	return false;
}

/* static_loader: the file that contains a loader that is not traced; "" if none is known. */
static void launches_check(const struct iaprof_host *host, struct broker *broker, uint32_t pid,
			   const struct level_zero_use *use, const char *static_loader, const char *name)
{
	uint32_t version[3];
	if (*static_loader)
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "launches cannot be traced: %s contains a Level Zero loader older than 1.21.9, "
				 "statically linked (start it with ZE_ENABLE_TRACING_LAYER=1)",
				 static_loader);
	else if (use->opencl && opencl_is_on_level_zero(broker, pid))
		host->check_item(
			host, IAPROF_CHECK_LIMITED, name,
			"launches cannot be traced: it runs OpenCL on Level Zero inside the driver (start it with "
			"EnableLEO=0)");
	else if (use->tracer)
		host->check_item(host, IAPROF_CHECK_GOOD, name, "has iaprof's tracer");
	else if (runtime_has_probes(broker, pid, use))
		host->check_item(host, IAPROF_CHECK_GOOD, name, "its Level Zero runtime has probes");
	else if (!use->opencl && level_zero_version(use->loader, version) &&
		 version_compare(version, loader_needed) < 0)
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "launches cannot be traced: %s is older than " LOADER_NEEDED
				 " (update it with pip or the container's package manager)",
				 use->loader);
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "launches are traced only with -p %" PRIu32
				 " -s ze-usdt:tracer=inject, or if iaprof starts it",
				 pid);
}

/* Versions whose frames are read from memory (engine/symbolizer/python); later ones need perf maps. */
#define PYTHON_MINOR_FIRST 8u
#define PYTHON_MINOR_LAST 15u

static void python_check(const struct iaprof_host *host, struct broker *broker, uint32_t pid, uint32_t minor,
			 const char *name)
{
	if (minor < PYTHON_MINOR_FIRST) {
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "Python 3.%" PRIu32 " functions have no names (use Python 3.%u or newer)", minor,
				 PYTHON_MINOR_FIRST);
		return;
	}
	if (minor <= PYTHON_MINOR_LAST) {
		host->check_item(host, IAPROF_CHECK_GOOD, name, "functions, files and lines of Python 3.%" PRIu32,
				 minor);
		return;
	}
	size_t environment_length = 0, command_length = 0;
	char *environment = broker_read_all(broker, pid, BROKER_ENVIRONMENT, &environment_length);
	char *command = broker_read_all(broker, pid, BROKER_COMMAND_LINE, &command_length);
	if ((environment && python_environment_has_perf(environment, environment_length)) ||
	    (command && python_command_has_perf(command, command_length)))
		host->check_item(host, IAPROF_CHECK_GOOD, name, "Python 3.%" PRIu32 " reports function names", minor);
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "Python functions have no names (start it with PYTHONPERFSUPPORT=1)");
	free(environment);
	free(command);
}

/* Checks one process. Returns false if it uses neither Level Zero nor OpenCL. */
static bool process_check(const struct iaprof_host *host, struct broker *broker, uint32_t pid, bool show)
{
	size_t length = 0;
	char name[64];
	char *maps = broker_read_all(broker, pid, BROKER_MAPS, &length);
	if (!maps && show && errno == ETIMEDOUT) {
		process_describe((pid_t)pid, name, sizeof name);
		host->check_item(host, IAPROF_CHECK_LIMITED, name,
				 "unknown: its memory map could not be read in time (its memory is on a file system "
				 "that does not answer)");
	}
	if (!maps)
		return false;
	struct level_zero_use use = level_zero_use_find(maps, length);
	bool found = use.loader[0] || use.opencl;
	if (found && show) {
		char static_loader[PATH_MAX] = "";
		process_describe((pid_t)pid, name, sizeof name);
		if (use.loader[0] && !tracing_layer_is_enabled(broker, pid))
			untraced_loader_find(broker, pid, maps, length, static_loader);
		launches_check(host, broker, pid, &use, static_loader, name);
		if (use.python_minor)
			python_check(host, broker, pid, use.python_minor, name);
	}
	free(maps);
	return found;
}

static void processes_check(const struct iaprof_host *host)
{
	CLEANUP_CLOSEDIR DIR *folder = opendir("/proc");
	struct broker *broker = broker_new();
	uint32_t found = 0;
	for (const struct dirent *entry; folder && broker && (entry = readdir(folder));)
		if (isdigit((unsigned char)entry->d_name[0]))
			found += process_check(host, broker, (uint32_t)strtoul(entry->d_name, NULL, 10),
					       found < PROCESSES_SHOWN);
	broker_free(broker);
	if (found > PROCESSES_SHOWN)
		host->check_item(host, IAPROF_CHECK_LIMITED, "other programs",
				 "%" PRIu32 " more use Level Zero or OpenCL", found - PROCESSES_SHOWN);
	if (!found) {
		host->check_item(
			host, IAPROF_CHECK_GOOD, "running programs",
			"none uses Level Zero or OpenCL; those that iaprof starts are traced from their first launch");
		return;
	}
	/* Whether code has line information is known only when it is loaded. */
	host->check_item(host, IAPROF_CHECK_LIMITED, "source lines of GPU code",
			 "only for code compiled with -gline-tables-only or -g, as an option of icpx, ocloc "
			 "-options or clBuildProgram()");
	host->check_item(
		host, IAPROF_CHECK_LIMITED, "names of GPU code",
		"none for the GPU's system routine (SIP) and for Mesa drivers; fills and copies share one where "
		"samples do not show which of them ran");
}

/* Yama's values: Documentation/admin-guide/LSM/Yama.rst in Linux. */
static void injection_check(const struct iaprof_host *host)
{
	static const char name[] = "right to load the tracer into a process";
	long scope = rights_setting("kernel/yama/ptrace_scope");
	if (scope >= 3)
		host->check_item(host, IAPROF_CHECK_MISSING, name,
				 "kernel.yama.ptrace_scope=%ld forbids ptrace() until the next boot (start the program "
				 "under iaprof, or with LD_PRELOAD)",
				 scope);
	else if (!rights_have(RIGHTS_PTRACE))
		host->check_item(host, IAPROF_CHECK_MISSING, name, "requires CAP_SYS_PTRACE%s (run as root)",
				 scope > 0 ? ", as kernel.yama.ptrace_scope is not 0" : "");
	else
		host->check_item(host, IAPROF_CHECK_GOOD, name, "CAP_SYS_PTRACE");
}

void level_zero_check(const struct iaprof_host *host, bool wants_tracer, bool wants_injection)
{
	if (level_zero_gpu_is_there())
		host->check_item(host, IAPROF_CHECK_GOOD, "GPU", "render node with driver xe or i915");
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, "GPU",
				 "no render node with driver xe or i915 in /dev/dri (lspci -k lists GPUs and drivers)");
	loader_check(host);
	tracer_check(host, wants_tracer);
	rights_check_bpf(host);
	if (wants_injection)
		injection_check(host);
	bpf_check_stack_depth(host, unwinder_is_supported(BPF_PROG_TYPE_KPROBE, &(const char *){ NULL }));
	processes_check(host);
}
