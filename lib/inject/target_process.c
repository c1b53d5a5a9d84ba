/* SPDX-License-Identifier: Apache-2.0 */
/* See target_process.h. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "elf/exported_functions.h"
#include "seccomp_filter.h"
#include "system_call.h"
#include "process/process_file.h"
#include "process/process_maps.h"
#include "process/rights.h"
#include "text/printable.h"
#include "target_process.h"

/* The alternative, which needs no change to a running process. */
#define OTHER_WAY "start the program under iaprof"

/* Container engines install one; programs add a few of their own. */
#define FILTERS_MAX 64

/* Returns a numeric value of /proc/PID/status: "TracerPid:\t12". */
static uint64_t status_number(const char *status, const char *key)
{
	size_t length = strlen(key);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, length) == 0 && line[length] == ':')
			return strtoull(line + length + 1, NULL, 10);
	}
	return 0;
}

static bool status_has_word(const char *status, const char *key, const char *word)
{
	const char *line = strstr(status, key);
	const char *end = line ? strchr(line, '\n') : NULL;
	const char *found = line ? strstr(line, word) : NULL;

	return found && (!end || found < end);
}

/* Returns why a thread's status forbids loading a library, or NULL. */
static const char *status_refuse(const char *status)
{
	if (status_number(status, "Seccomp") == SECCOMP_MODE_STRICT)
		return "runs in seccomp's strict mode, which ends it for a system call that loading a library "
		       "needs: " OTHER_WAY;
	if (status_has_word(status, "\nx86_Thread_features:", "shstk"))
		return "has a shadow stack, which forbids calls from outside: " OTHER_WAY;
	return NULL;
}

static int status_check(const struct iaprof_host *host, pid_t pid)
{
	size_t length;
	char *status = process_file_read(pid, "status", &length);
	int result = 0;

	if (!status)
		return host->fail(host, errno, "process %d: %s", (int)pid,
				  errno == ENOENT ? "no such process" : strerror(errno));
	uint64_t tracer = status_number(status, "TracerPid");
	if (tracer)
		result = host->fail(host, EBUSY,
				    "process %d is already traced by process %" PRIu64
				    " (a debugger or strace): end that first",
				    (int)pid, tracer);
	else if (status_refuse(status))
		result = host->fail(host, ENOTSUP, "process %d %s", (int)pid, status_refuse(status));
	free(status);
	return result;
}

/* Returns why the seccomp filters of a stopped thread that this one traces forbid loading a library, or NULL. */
static const char *filters_refuse(pid_t thread)
{
	CLEANUP_FREE struct sock_filter *program = calloc(BPF_MAXINSNS, sizeof *program);
	if (!program)
		return "cannot be looked at: out of memory";
	for (uintptr_t i = 0; i < FILTERS_MAX; i++) {
		long count = ptrace(PTRACE_SECCOMP_GET_FILTER, thread, (void *)i, NULL);
		if (count < 0 && errno == ENOENT)
			return NULL;
		if (count <= 0 || count > BPF_MAXINSNS ||
		    ptrace(PTRACE_SECCOMP_GET_FILTER, thread, (void *)i, program) != count)
			return "runs under a seccomp filter that cannot be read: " OTHER_WAY;
		if (seccomp_filter_is_deadly(program, (size_t)count))
			return "runs under a seccomp filter that could end it for a system call that loading a "
			       "library needs: " OTHER_WAY;
	}
	return "runs under too many seccomp filters: " OTHER_WAY;
}

int target_process_check_thread(const struct target_process *target, pid_t thread, char *message, size_t message_size)
{
	char name[32];
	size_t length;

	snprintf(name, sizeof name, "task/%d/status", (int)thread);
	char *status = process_file_read(target->pid, name, &length);
	int error = status ? 0 : -errno;
	const char *reason = status ? status_refuse(status) : strerror(errno);
	if (status && !reason && status_number(status, "Seccomp") == SECCOMP_MODE_FILTER)
		reason = filters_refuse(thread);
	if (reason)
		snprintf(message, message_size, "thread %d of process %d %s%s", (int)thread, (int)target->pid,
			 status ? "" : "cannot be looked at: ", reason);
	free(status);
	return error == 0 && reason ? -ENOTSUP : error;
}

static int program_check(const struct iaprof_host *host, pid_t pid, const char *library)
{
	char path[64];
	Elf64_Ehdr header = { 0 };

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (descriptor < 0)
		return host->fail(host, errno, "program of process %d: %s (run as root)", (int)pid, strerror(errno));
	ssize_t count = pread(descriptor, &header, sizeof header, 0);
	close(descriptor);
	if (count != (ssize_t)sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
		return host->fail(host, ENOTSUP, "process %d is not a 64-bit x86-64 program: cannot load %s into it",
				  (int)pid, path_name(library));
	return 0;
}

/* Finds the library, which the process sees under the same path unless it is in a container. */
static int library_check(struct target_process *target, const struct iaprof_host *host, const char *library)
{
	struct stat there;

	if (!realpath(library, target->library) || stat(target->library, &target->library_file) != 0)
		return host->fail(host, errno, "%s: %s", library, strerror(errno));
	int descriptor = process_file_open((uint32_t)target->pid, target->library, &there);
	if (descriptor >= 0)
		close(descriptor);
	if (descriptor >= 0 && there.st_dev == target->library_file.st_dev &&
	    there.st_ino == target->library_file.st_ino)
		return 0;
	target->library_descriptor = open(target->library, O_RDONLY | O_CLOEXEC);
	return target->library_descriptor >= 0 ? 0 : host->fail(host, errno, "%s: %s", library, strerror(errno));
}

int target_process_check(struct target_process *target, const struct iaprof_host *host,
			 const struct injection_request *request)
{
	*target = (struct target_process){ .pid = request->pid, .request = request, .library_descriptor = -1 };
	for (size_t i = 0; i < WATCHED_LIBRARIES_MAX; i++)
		target->watched[i].descriptor = -1;
	if (!remote_load_is_possible())
		return host->fail(host, ENOTSUP, "unsupported registers of this CPU: " OTHER_WAY);
	int result = status_check(host, request->pid);
	if (result == 0)
		result = program_check(host, request->pid, request->library);
	return result ? result : library_check(target, host, request->library);
}

/* Returns the mapped address of a byte of a file, in an executable mapping, or 0. */
static uint64_t mapped_address(const char *text, size_t length, const struct process_mapping *file, uint64_t offset)
{
	struct process_mapping mapping;

	while (process_mapping_next(&text, &length, &mapping)) {
		if (mapping.executable && mapping.inode == file->inode && mapping.device_major == file->device_major &&
		    mapping.device_minor == file->device_minor && offset >= mapping.file_offset &&
		    offset - mapping.file_offset < mapping.end - mapping.start)
			return mapping.start + (offset - mapping.file_offset);
	}
	return 0;
}

static int mapping_open(pid_t pid, const struct process_mapping *mapping)
{
	struct stat status;

	return process_file_open_mapped((uint32_t)pid, mapping->start, mapping->end - mapping->start, &status);
}

/* Reads the addresses of a library's functions that are not known yet. */
static int library_functions_read(struct target_process *target, const char *text, size_t length,
				  const struct process_mapping *mapping)
{
	static const char *const names[] = { "dlopen", "dlerror", "__errno_location", "dlsym" };
	enum { NAME_COUNT = sizeof names / sizeof *names };
	uint64_t offsets[NAME_COUNT];
	struct remote_functions *functions = &target->functions;
	uint64_t *const addresses[] = { &functions->open_function, &functions->error_function,
					&functions->errno_function, &functions->symbol_function };
	size_t size;
	int descriptor = mapping_open(target->pid, mapping);
	if (descriptor < 0)
		return descriptor;
	uint8_t *bytes = file_bytes_read(descriptor, &size);
	int result = bytes ? 0 : -errno;
	close(descriptor);
	const struct elf_reader library = elf_reader_of_memory(bytes, bytes ? size : 0);
	if (exported_functions_find(&library, names, NAME_COUNT, offsets)) {
		for (size_t i = 0; i < NAME_COUNT; i++) {
			if (offsets[i] && !*addresses[i])
				*addresses[i] = mapped_address(text, length, mapping, offsets[i]);
		}
		/*
		 * libdl may contain none; its first byte, which may be in an executable mapping too, is not an
		 * instruction.
		 */
		uint64_t system_call = functions->system_call ? 0 : system_call_find(&library);
		if (system_call)
			functions->system_call = mapped_address(text, length, mapping, system_call);
	}
	free(bytes);
	return result;
}

static int watched_read(struct target_process *target, size_t which, const struct process_mapping *mapping)
{
	struct stat status;
	struct watched_library *watched = &target->watched[which];
	int descriptor = mapping_open(target->pid, mapping);
	if (descriptor < 0)
		return descriptor;
	if (fstat(descriptor, &status) != 0) {
		close(descriptor);
		return -EIO;
	}
	const struct elf_reader file = elf_reader_of_file(descriptor, (uint64_t)status.st_size);
	watched->descriptor = descriptor;
	watched->function_count = watched_calls_find(&target->request->calls[which], &file, watched->function_offsets);
	return 0;
}

/* Reads a mapping of a library to observe, unless another one was read already. */
static int mapping_read(struct target_process *target, const struct process_mapping *mapping)
{
	for (size_t i = 0; i < target->request->calls_count; i++) {
		if (target->watched[i].descriptor < 0 &&
		    process_mapping_is_named(mapping, target->request->calls[i].library))
			return watched_read(target, i, mapping);
	}
	return 0;
}

static void watched_close(struct target_process *target)
{
	for (size_t i = 0; i < WATCHED_LIBRARIES_MAX; i++) {
		if (target->watched[i].descriptor >= 0)
			close(target->watched[i].descriptor);
		target->watched[i] = (struct watched_library){ .descriptor = -1 };
	}
}

bool target_process_is_watchable(const struct target_process *target)
{
	for (size_t i = 0; i < WATCHED_LIBRARIES_MAX; i++)
		if (target->watched[i].descriptor >= 0)
			return true;
	return false;
}

/* A process has one libc and one libdl, but may map files with such names thousands of times. */
#define DYNAMIC_LINKERS_MAX 16

/* libc.so.6 has dlopen() since glibc 2.34, libdl.so.2 before. */
static bool is_dynamic_linker(const struct process_mapping *mapping)
{
	return process_mapping_is_named(mapping, "libc.so.6") || process_mapping_is_named(mapping, "libc-2.") ||
	       process_mapping_is_named(mapping, "libdl.so.2") || process_mapping_is_named(mapping, "libdl-2.");
}

/* A process with several of the libraries can be observed in any. */
static int watched_check(const struct target_process *target, char *message, size_t message_size)
{
	const char *unknown = NULL;

	for (size_t i = 0; i < target->request->calls_count; i++) {
		if (target->watched[i].descriptor < 0)
			continue;
		if (target->watched[i].function_count)
			return 0;
		unknown = target->request->calls[i].library;
	}
	if (!unknown)
		return 0;
	snprintf(message, message_size, "%s of process %d has none of the functions that are waited for", unknown,
		 (int)target->pid);
	return -ENOTSUP;
}

/* The file, or a copy in memory that was loaded before. */
static bool is_the_library(const struct target_process *target, const struct process_mapping *mapping)
{
	const char *name = path_name(target->library);
	char copy[PATH_MAX + 8];
	snprintf(copy, sizeof copy, "memfd:%s", name);
	return (mapping->inode == target->library_file.st_ino && process_mapping_is_named(mapping, name)) ||
	       process_mapping_is_named(mapping, copy);
}

/* Its function is found in what is mapped, which may be of another version. */
static int loaded_library_read(struct target_process *target, const char *text, size_t length,
			       const struct process_mapping *mapping)
{
	struct stat status;
	target->has_library = true;
	if (!target->request->function || target->loaded_function)
		return 0;
	CLEANUP_CLOSE int descriptor = mapping_open(target->pid, mapping);
	if (descriptor < 0)
		return descriptor;
	if (fstat(descriptor, &status) != 0)
		return -EIO;
	const struct elf_reader file = elf_reader_of_file(descriptor, (uint64_t)status.st_size);
	uint64_t offset = exported_function_find(&file, target->request->function);
	if (offset)
		target->loaded_function = mapped_address(text, length, mapping, offset);
	return 0;
}

int target_process_examine(struct target_process *target, char *message, size_t message_size)
{
	struct process_mapping mapping;
	size_t length;
	int error = 0;
	char *text = process_file_read(target->pid, "maps", &length);

	if (!text || !length) {
		error = text ? ESRCH : errno;
		free(text);
		snprintf(message, message_size, "cannot read the mappings of process %d: %s", (int)target->pid,
			 strerror(error));
		return error == ENOENT ? -ESRCH : -error;
	}
	watched_close(target);
	target->functions = (struct remote_functions){ 0 };
	target->has_library = false;
	target->loaded_function = 0;
	size_t rest = length;
	unsigned libraries_read = 0;
	for (const char *line = text; error == 0 && process_mapping_next(&line, &rest, &mapping);) {
		if (!mapping.executable || !mapping.inode)
			continue;
		/*
		 * stat() and the mappings may report different device numbers (btrfs), so the name is compared as well.
		 */
		if (is_the_library(target, &mapping))
			error = loaded_library_read(target, text, length, &mapping);
		else if (is_dynamic_linker(&mapping) && libraries_read++ < DYNAMIC_LINKERS_MAX)
			error = library_functions_read(target, text, length, &mapping);
		else
			error = mapping_read(target, &mapping);
	}
	free(text);
	if (error) {
		snprintf(message, message_size, "cannot open the libraries of process %d: %s (%s)", (int)target->pid,
			 strerror(-error), error == -EPERM ? "run as root" : OTHER_WAY);
		/* The library was unmapped in between: the process is starting or exiting. */
		return error == -ENOENT ? 0 : error;
	}
	const struct remote_functions *functions = &target->functions;
	if (target_process_is_watchable(target) &&
	    !(functions->open_function && functions->error_function && functions->errno_function &&
	      functions->symbol_function && functions->system_call)) {
		snprintf(message, message_size,
			 "process %d has no glibc dlopen() (static program, or another C library): " OTHER_WAY,
			 (int)target->pid);
		return -ENOTSUP;
	}
	return watched_check(target, message, message_size);
}

void target_process_explain(pid_t pid, int error, char *message, size_t message_size)
{
	size_t length;
	char *status = process_file_read(pid, "status", &length);
	uint64_t tracer = status ? status_number(status, "TracerPid") : 0;

	free(status);
	if (tracer)
		snprintf(message, message_size, "process %d is already traced by process %" PRIu64 ": end that first",
			 (int)pid, tracer);
	else if (error == EPERM && rights_setting("kernel/yama/ptrace_scope") == 3)
		snprintf(message, message_size,
			 "kernel.yama.ptrace_scope=3 forbids ptrace() until the next boot: " OTHER_WAY);
	else
		snprintf(message, message_size, "cannot trace process %d: %s (%s)", (int)pid, strerror(error),
			 error == EPERM ? "requires CAP_SYS_PTRACE in its user namespace: run as root" : OTHER_WAY);
}

void target_process_free(struct target_process *target)
{
	watched_close(target);
	if (target->library_descriptor >= 0)
		close(target->library_descriptor);
	target->library_descriptor = -1;
}
