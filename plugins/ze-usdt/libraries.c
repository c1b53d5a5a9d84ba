/* SPDX-License-Identifier: Apache-2.0 */
/* See libraries.h. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "libraries.h"
#include "probes.h"
#include "ze-usdt.h"
#include "bpf/link_holds.h"
#include "bpf/support.h"

/* Limit on queued files, above the number on a busy machine; each takes about a hundred bytes until it is parsed. */
#define QUEUED_MAX 65536u
/* Limit on files per turn; parsing one takes about 20 us. */
#define FILES_PER_TURN 64

/* Between two times at which modules are asked for again: each time, every process writes all of them. */
#define ASK_PAUSE_MIN UINT64_C(20000000) /* ns */
#define ASK_PAUSE_MAX UINT64_C(60000000000)

/* Programs that launch within that time find the semaphore raised. */
#define ASK_TIME UINT64_C(2000000000) /* ns */

/* arch/x86/entry/syscalls/syscall_64.tbl, Linux 6.18 */
#define SYSTEM_CALL_UPROBE 336L

int libraries_init(struct libraries *libraries, const struct iaprof_host *host, struct warning_limit *warnings)
{
	libraries->host = host;
	libraries->warnings = warnings;
	libraries->pause = ASK_PAUSE_MIN;
	user_accounts_init(&libraries->owners);
	return mapped_file_queue_init(&libraries->queue, QUEUED_MAX);
}

/*
 * Containers of one image share the file below their overlays, each with a device of its own. It is attached to once;
 * otherwise each launch would be counted several times.
 */
static bool library_is_known(const struct libraries *libraries, int descriptor, const struct stat *status)
{
	for (uint32_t i = 0; i < libraries->count; i++)
		if (process_file_is(&libraries->items[i].file, descriptor, status))
			return true;
	return false;
}

/*
 * Returns whether Linux replaces a uprobe at a 10-byte no-operation by a call (7.2): the system call uprobe(), which
 * the call makes, then fails with this error elsewhere. Linux 6.18 (ENXIO) does so with 5 bytes, which is not used: the
 * call overwrites the red zone, and a process forked later crashes at it.
 */
static bool uprobes_are_calls(void)
{
	return syscall(SYSTEM_CALL_UPROBE) < 0 && errno == EPROTO;
}

/*
 * Returns whether this profiler is the one that reads the launches that the library's processes count in memory. Others
 * attach to launch_kernel, which is fired at each launch.
 */
static bool counts_are_ours(const struct libraries *libraries, const struct library *library,
			    const struct usdt_provider *provider)
{
	return libraries->use_counts && provider->sites[PROVIDER_SHARE_COUNTS] > 0 &&
	       provider->new_sites == provider->sites[PROVIDER_LAUNCH_KERNEL] &&
	       flock(library->file.descriptor, LOCK_EX | LOCK_NB) == 0;
}

/* Returns the name of the probe of launches to attach to. */
static const char *launch_probe(struct library *library, const struct usdt_provider *provider, uint64_t *cookie)
{
	uint32_t sites = provider->sites[PROVIDER_LAUNCH_KERNEL];
	uint32_t nop10_sites = library->has_counts ? provider->new_nop10_sites : provider->nop10_sites;
	bool in_registers = library->has_counts || provider->in_registers == sites;
	bool by_call = in_registers && nop10_sites == sites && uprobes_are_calls();

	*cookie = library->has_counts ? ZE_COOKIE_NEW_LAUNCH : in_registers ? ZE_COOKIE_REGISTERS : 0;
	if (library->has_counts)
		return by_call ? ZE_PROBE_NEW_LAUNCH_NOP10 : ZE_PROBE_NEW_LAUNCH;
	return by_call ? ZE_PROBE_LAUNCH_KERNEL_NOP10 : ZE_PROBE_LAUNCH_KERNEL;
}

static bool link_make(const struct libraries *libraries, struct library *library, const struct usdt_provider *provider,
		      enum provider_probe probe)
{
	uint64_t cookie = 0;
	const char *name =
		probe == PROVIDER_LAUNCH_KERNEL ? launch_probe(library, provider, &cookie) : provider_probe_name(probe);
	LIBBPF_OPTS(bpf_usdt_opts, options, .usdt_cookie = cookie);
	char path[64];
	/* Opens the checked file itself, because its path may refer to another file by now. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", library->file.descriptor);
	struct bpf_log log = bpf_log_begin(libraries->host);
	library->links[probe] =
		bpf_program__attach_usdt(libraries->programs[probe], -1, path, ZE_PROBE_PROVIDER, name, &options);
	bpf_log_end(&log);
	return library->links[probe] != NULL;
}

/*
 * libbpf maps the file into memory, so anyone who can truncate it could kill this process. A lease blocks writers, and
 * is refused if there already is one. Root's files need no lease.
 */
static bool lease_take(int descriptor, const struct stat *status)
{
	if (status->st_uid == 0 && !(status->st_mode & (S_IWGRP | S_IWOTH)))
		return true;
	/* Nobody can change a sealed file in memory. */
	int seals = fcntl(descriptor, F_GET_SEALS), needed = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	if (seals >= 0 && (seals & needed) == needed)
		return true;
	/* A blocked writer would be signalled with SIGIO, which terminates a process by default. */
	return fcntl(descriptor, F_SETSIG, SIGURG) == 0 && fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0;
}

static int probe_attach(const struct libraries *libraries, struct library *library,
			const struct usdt_provider *provider, enum provider_probe probe)
{
	if (!provider->sites[probe] || link_make(libraries, library, provider, probe))
		return 0;
	return errno ? -errno : -EIO;
}

static int asking_attach(const struct libraries *libraries, struct library *library,
			 const struct usdt_provider *provider)
{
	library->can_ask = provider->sites[PROVIDER_COMPILE_KERNEL_AGAIN] > 0;
	return probe_attach(libraries, library, provider, PROVIDER_COMPILE_KERNEL_AGAIN);
}

/* Attaches to the probe at which modules are announced, and has those announced again that it missed meanwhile. */
static int announcements_attach(const struct libraries *libraries, struct library *library,
				const struct usdt_provider *provider)
{
	int result = probe_attach(libraries, library, provider, PROVIDER_COMPILE_KERNEL);

	if (result == 0)
		result = asking_attach(libraries, library, provider);
	library->is_asking = true;
	library->asked_time = libraries->host->clock(libraries->host);
	return result;
}

static int launches_attach(const struct libraries *libraries, struct library *library,
			   const struct usdt_provider *provider)
{
	static const enum provider_probe probes[] = { PROVIDER_LAUNCH_KERNEL, PROVIDER_EXECUTE_LIST,
						      PROVIDER_UNLOAD_MODULE, PROVIDER_SHARE_COUNTS,
						      PROVIDER_TIMED_LAUNCH,  PROVIDER_KERNEL_TIME,
						      PROVIDER_TIME_ALL };
	const bool wanted[PROVIDER_PROBE_COUNT] = { [PROVIDER_LAUNCH_KERNEL] = true,
						    [PROVIDER_EXECUTE_LIST] = true,
						    [PROVIDER_UNLOAD_MODULE] = true,
						    [PROVIDER_SHARE_COUNTS] = library->has_counts,
						    [PROVIDER_TIMED_LAUNCH] = libraries->take_times,
						    [PROVIDER_KERNEL_TIME] = libraries->take_times,
						    [PROVIDER_TIME_ALL] = libraries->take_all_times };
	int result = 0;

	for (size_t i = 0; i < sizeof probes / sizeof probes[0] && result == 0; i++)
		if (wanted[probes[i]])
			result = probe_attach(libraries, library, provider, probes[i]);
	return result;
}

static int probes_attach(const struct libraries *libraries, struct library *library,
			 const struct usdt_provider *provider)
{
	library->has_counts = counts_are_ours(libraries, library, provider);
	int result = launches_attach(libraries, library, provider);

	return result ? result : announcements_attach(libraries, library, provider);
}

/* Returns whether there is room for another file of this owner. */
static bool has_room(struct libraries *libraries, uint32_t owner)
{
	return user_accounts_trust(&libraries->owners, owner) ||
	       user_accounts_take(&libraries->owners, owner, 1, LIBRARIES_USER_MAX, LIBRARIES_OTHERS_MAX);
}

static void give_back(struct libraries *libraries, uint32_t owner)
{
	if (!user_accounts_trust(&libraries->owners, owner))
		user_accounts_give_back(&libraries->owners, owner, 1);
}

/* Returns 0 even if there is nothing to attach to. */
static int file_add(struct libraries *libraries, int descriptor, const struct stat *status, const char **reason)
{
	struct elf_reader bytes = elf_reader_of_file(descriptor, (uint64_t)status->st_size);
	struct usdt_provider provider;

	if (library_is_known(libraries, descriptor, status) || !usdt_provider_find(&bytes, &provider))
		return 0;
	*reason = "too many files have such probes";
	if (libraries->count == LIBRARIES_MAX)
		return -E2BIG;
	*reason = "too many files of its owner have such probes";
	if (!has_room(libraries, status->st_uid))
		return -E2BIG;
	*reason = "its owner could change it meanwhile: somebody has it open for writing, or its file system has no "
		  "leases";
	if (!lease_take(descriptor, status)) {
		give_back(libraries, status->st_uid);
		return -ETXTBSY;
	}
	struct library library = { .file = { .descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0), .status = *status } };
	int result = 0;
	/* Check again: before the lease, the notes may have been different. */
	if (!usdt_provider_find(&bytes, &provider))
		result = -ESTALE;
	else if (libraries->has_begun)
		result = probes_attach(libraries, &library, &provider);
	fcntl(descriptor, F_SETLEASE, F_UNLCK);
	*reason = strerror(-result);
	/* Do not retry a file that failed. */
	libraries->items[libraries->count++] = library;
	return result;
}

/* The file may have changed since it was attached to. */
static int library_attach_later(const struct libraries *libraries, struct library *library,
				int (*attach)(const struct libraries *libraries, struct library *library,
					      const struct usdt_provider *provider))
{
	struct elf_reader bytes = elf_reader_of_file(library->file.descriptor, (uint64_t)library->file.status.st_size);
	struct usdt_provider provider;
	int result = -ETXTBSY;

	if (!lease_take(library->file.descriptor, &library->file.status))
		return result;
	result = usdt_provider_find(&bytes, &provider) ? attach(libraries, library, &provider) : -ESTALE;
	fcntl(library->file.descriptor, F_SETLEASE, F_UNLCK);
	return result;
}

int libraries_begin(struct libraries *libraries)
{
	int result = 0;

	libraries->has_begun = true;
	for (uint32_t i = 0; i < libraries->count && result == 0; i++)
		result = library_attach_later(libraries, &libraries->items[i], probes_attach);
	return result;
}

static void link_remove(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

void libraries_end(struct libraries *libraries)
{
	struct link_holds holds;
	link_holds_take(&holds);
	for (uint32_t i = 0; i < libraries->count; i++) {
		struct library *library = &libraries->items[i];
		bool is_raised = library->links[PROVIDER_COMPILE_KERNEL_AGAIN] != NULL;
		link_remove(&library->links[is_raised ? PROVIDER_COMPILE_KERNEL_AGAIN : PROVIDER_COMPILE_KERNEL]);
		if (library->has_counts)
			flock(library->file.descriptor, LOCK_UN);
	}
	link_holds_close(&holds);
}

/* Returns whether the semaphore has to be raised, or lowered to be raised once more, or has been raised long enough. */
static bool asking_changes(const struct libraries *libraries, const struct library *library, uint64_t missed_time,
			   uint64_t now)
{
	uint64_t since = now - library->asked_time;
	bool missed = missed_time > library->asked_time && since >= libraries->pause;

	return library->can_ask && (missed || (library->is_asking && since >= ASK_TIME));
}

void libraries_ask_again(struct libraries *libraries, uint64_t missed_time)
{
	const struct iaprof_host *host = libraries->host;
	uint64_t now = host->clock(host);
	bool is_raised = false, is_lowered = false;

	for (uint32_t i = 0; i < libraries->count && !is_lowered; i++) {
		struct library *library = &libraries->items[i];
		if (!asking_changes(libraries, library, missed_time, now))
			continue;
		if (library->is_asking) {
			link_remove(&library->links[PROVIDER_COMPILE_KERNEL_AGAIN]);
			is_lowered = true; /* takes a tenth of a second: another one is for the next call */
		} else {
			libraries->failed += library_attach_later(libraries, library, asking_attach) != 0;
			is_raised = true;
		}
		library->is_asking = !library->is_asking;
		library->asked_time = host->clock(host);
	}
	if (is_raised)
		libraries->pause = libraries->pause < ASK_PAUSE_MAX / 2 ? libraries->pause * 2 : ASK_PAUSE_MAX;
}

int libraries_add_path(struct libraries *libraries, const char *path, const char **reason)
{
	struct stat status;
	int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	*reason = strerror(errno);
	if (descriptor < 0)
		return -errno;
	int result = -EINVAL;
	*reason = "it is no regular file";
	if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
		result = file_add(libraries, descriptor, &status, reason);
	if (result == 0 && !library_is_known(libraries, descriptor, &status)) {
		*reason = "it has no probes of provider " ZE_PROBE_PROVIDER;
		result = -ENOENT;
	}
	close(descriptor);
	return result;
}

int tracer_file_find(char *path, size_t size)
{
	/* Beside the plugin when installed, in a subfolder of the build tree. */
	static const char *const places[] = { "", "tracer/" };
	Dl_info plugin;

	if (!dladdr((void *)(uintptr_t)tracer_file_find, &plugin) || !plugin.dli_fname)
		return -ENOENT;
	char *file = realpath(plugin.dli_fname, NULL);
	if (!file)
		return -ENOENT;
	int folder = (int)(strrchr(file, '/') + 1 - file);
	int result = -ENOENT;
	for (size_t i = 0; i < sizeof places / sizeof places[0] && result; i++) {
		int length = snprintf(path, size, "%.*s%s%s", folder, file, places[i], ZE_TRACER_FILE);
		if (length > 0 && (size_t)length < size && access(path, R_OK) == 0)
			result = 0;
	}
	free(file);
	return result;
}

static void file_search(struct libraries *libraries, const struct queued_file *file)
{
	struct stat status;
	const char *reason = "";
	const struct target_file_name name = {
		.pid = file->process, .start = file->start, .length = file->length, .path = file->path
	};
	int descriptor = broker_open_file(libraries->broker, &name, &status);
	if (descriptor < 0) /* the process or the file is gone, or it is not a regular file */
		return;
	uint32_t count = libraries->count;
	int result = file_add(libraries, descriptor, &status, &reason);
	close(descriptor);
	if (result) {
		libraries->failed++;
		warning_limit_log(libraries->warnings, "cannot attach to the probes of %s of process %" PRIu32 ": %s",
				  file->path, file->process, reason);
	} else if (libraries->count > count) {
		libraries->host->log(libraries->host, IAPROF_LOG_INFO,
				     "attached to the probes of a library of "
				     "process %" PRIu32,
				     file->process);
	}
}

bool libraries_search(struct libraries *libraries)
{
	eventfd_t woken;

	eventfd_read(libraries->queue.wake, &woken);
	for (int i = 0; i < FILES_PER_TURN; i++) {
		struct queued_file *file = mapped_file_queue_take(&libraries->queue);
		if (!file)
			return false;
		file_search(libraries, file);
		free(file);
	}
	eventfd_write(libraries->queue.wake, 1);
	return true;
}

void libraries_free(struct libraries *libraries)
{
	struct link_holds holds;
	if (!libraries->host)
		return;
	link_holds_take(&holds);
	for (uint32_t i = 0; i < libraries->count; i++) {
		for (int j = 0; j < PROVIDER_PROBE_COUNT; j++)
			bpf_link__destroy(libraries->items[i].links[j]);
		if (libraries->items[i].file.descriptor >= 0)
			close(libraries->items[i].file.descriptor);
	}
	link_holds_close(&holds);
	user_accounts_free(&libraries->owners);
	mapped_file_queue_free(&libraries->queue);
}
