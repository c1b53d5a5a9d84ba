/* SPDX-License-Identifier: Apache-2.0 */
/* See libraries.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include "libraries.h"
#include "probes.h"
#include "support.h"

/* More files than a machine full of programs has mapped; each takes some hundred bytes until it is looked into. */
#define CANDIDATES_MAX 65536u
/* Looking into one takes some 20 us. */
#define LOOKS_PER_TURN 64

int libraries_init(struct libraries *libraries, const struct iaprof_host *host, struct complaints *complaints)
{
	libraries->host = host;
	libraries->complaints = complaints;
	pthread_mutex_init(&libraries->lock, NULL);
	libraries->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return libraries->wake < 0 ? -errno : 0;
}

/*
 * The file below an overlay is what is attached to, once for all overlays: containers of one image have a device each,
 * and would have each launch counted by each of them.
 */
static bool library_is_known(const struct libraries *libraries, int descriptor, const struct stat *status)
{
	for (uint32_t i = 0; i < libraries->count; i++)
		if (process_file_is(&libraries->items[i].file, descriptor, status))
			return true;
	return false;
}

static bool link_make(struct libraries *libraries, struct library *library, enum provider_probe probe, int descriptor)
{
	char path[64];
	/* The file that was checked, whatever its path is by now. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
	struct bpf_log log = bpf_log_begin(libraries->host);
	library->links[probe] = bpf_program__attach_usdt(libraries->programs[probe], -1, path, ZE_PROBE_PROVIDER,
							 provider_probe_name(probe), NULL);
	bpf_log_end(&log);
	return library->links[probe] != NULL;
}

/*
 * libbpf maps the file into memory: whoever could shorten it meanwhile could have this process killed. A lease keeps
 * writers waiting, and is refused when there is one. Files of root need none.
 */
static bool lease_take(int descriptor, const struct stat *status)
{
	if (status->st_uid == 0 && !(status->st_mode & (S_IWGRP | S_IWOTH)))
		return true;
	/* A writer that waits would be told by SIGIO, which ends a process. */
	return fcntl(descriptor, F_SETSIG, SIGURG) == 0 && fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0;
}

/* 0 also when there is nothing to attach to. */
static int file_attach(struct libraries *libraries, int descriptor, const struct stat *status, const char **reason)
{
	struct elf_bytes bytes = elf_bytes_of_file(descriptor, (uint64_t)status->st_size);
	struct provider provider;

	if (library_is_known(libraries, descriptor, status) || !provider_find(&bytes, &provider))
		return 0;
	*reason = "too many files have such probes";
	if (libraries->count == LIBRARIES_MAX)
		return -E2BIG;
	*reason = "its owner could change it meanwhile: somebody has it open for writing, or its file system has no "
		  "leases";
	if (!lease_take(descriptor, status))
		return -ETXTBSY;
	/* What cannot be attached to is not tried again. */
	struct library *library = &libraries->items[libraries->count++];
	*library =
		(struct library){ .file = { .descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0), .status = *status } };
	int result = 0;
	/* Before the lease, the notes may have been other ones. */
	if (!provider_find(&bytes, &provider))
		result = -ESTALE;
	for (int i = 0; i < PROVIDER_PROBE_COUNT && result == 0; i++)
		if (provider.sites[i] && !link_make(libraries, library, (enum provider_probe)i, descriptor))
			result = errno ? -errno : -EIO;
	fcntl(descriptor, F_SETLEASE, F_UNLCK);
	*reason = strerror(-result);
	return result;
}

int libraries_attach_path(struct libraries *libraries, const char *path, const char **reason)
{
	struct stat status;
	int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	*reason = strerror(errno);
	if (descriptor < 0)
		return -errno;
	int result = -EINVAL;
	*reason = "it is no regular file";
	if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
		result = file_attach(libraries, descriptor, &status, reason);
	if (result == 0 && !library_is_known(libraries, descriptor, &status)) {
		*reason = "it has no probes of provider " ZE_PROBE_PROVIDER;
		result = -ENOENT;
	}
	close(descriptor);
	return result;
}

void libraries_add_candidate(struct libraries *libraries, const struct iaprof_mapped_file *file)
{
	size_t length = strlen(file->path);
	bool room = false;

	struct library_candidate *candidate = malloc(sizeof *candidate + length + 1);
	pthread_mutex_lock(&libraries->lock);
	room = candidate && libraries->candidate_count < CANDIDATES_MAX;
	if (!room) {
		libraries->candidates_lost++;
		free(candidate);
	} else {
		*candidate = (struct library_candidate){ .process = file->pid,
							 .start = file->start,
							 .length = file->length };
		memcpy(candidate->path, file->path, length + 1);
		if (libraries->last)
			libraries->last->next = candidate;
		else
			libraries->first = candidate;
		libraries->last = candidate;
		libraries->candidate_count++;
	}
	pthread_mutex_unlock(&libraries->lock);
	if (room)
		eventfd_write(libraries->wake, 1);
}

static struct library_candidate *candidate_take(struct libraries *libraries)
{
	pthread_mutex_lock(&libraries->lock);
	struct library_candidate *candidate = libraries->first;
	if (candidate) {
		libraries->first = candidate->next;
		if (!libraries->first)
			libraries->last = NULL;
		libraries->candidate_count--;
	}
	pthread_mutex_unlock(&libraries->lock);
	return candidate;
}

static void candidate_look(struct libraries *libraries, const struct library_candidate *candidate)
{
	struct stat status;
	const char *reason = "";
	int descriptor = process_file_open_mapped(candidate->process, candidate->start, candidate->length, &status);
	if (descriptor < 0)
		descriptor = process_file_open(candidate->process, candidate->path, &status);
	if (descriptor < 0) /* the process or the file is gone, or it is no file */
		return;
	uint32_t count = libraries->count;
	int result = file_attach(libraries, descriptor, &status, &reason);
	close(descriptor);
	if (result) {
		libraries->failed++;
		complain(libraries->complaints, "attach to the probes of %s of process %" PRIu32 ": %s",
			 candidate->path, candidate->process, reason);
	} else if (libraries->count > count) {
		libraries->host->log(libraries->host, IAPROF_LOG_INFO,
				     "attached to the probes of a library of "
				     "process %" PRIu32,
				     candidate->process);
	}
}

bool libraries_look(struct libraries *libraries)
{
	eventfd_t woken;

	eventfd_read(libraries->wake, &woken);
	for (int i = 0; i < LOOKS_PER_TURN; i++) {
		struct library_candidate *candidate = candidate_take(libraries);
		if (!candidate)
			return false;
		candidate_look(libraries, candidate);
		free(candidate);
	}
	eventfd_write(libraries->wake, 1);
	return true;
}

void libraries_free(struct libraries *libraries)
{
	if (!libraries->host)
		return;
	for (uint32_t i = 0; i < libraries->count; i++) {
		for (int j = 0; j < PROVIDER_PROBE_COUNT; j++)
			bpf_link__destroy(libraries->items[i].links[j]);
		if (libraries->items[i].file.descriptor >= 0)
			close(libraries->items[i].file.descriptor);
	}
	for (struct library_candidate *candidate; (candidate = candidate_take(libraries));)
		free(candidate);
	if (libraries->wake >= 0)
		close(libraries->wake);
	pthread_mutex_destroy(&libraries->lock);
}
