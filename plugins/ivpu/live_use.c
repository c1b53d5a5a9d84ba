/* SPDX-License-Identifier: Apache-2.0 */
/* See live_use.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/cleanup.h"
#include "base/machine.h"
#include "live_use.h"
#include "text/text_span.h"

/* Minor numbers of other accelerators are in the same folder: their driver is in fdinfo. */
#define NODE "/dev/accel/accel"
#define FDINFO_SIZE 4096u

bool drm_memory_parse(const char *text, uint64_t *bytes)
{
	bool is_known = false;
	for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		static const char key[] = "drm-resident-memory:";
		static const char *const units[] = { "", "KiB", "MiB", "GiB" };
		struct text_span rest = { line, strcspn(line, "\n") };
		uint64_t value;
		if (!span_take(&rest, key))
			continue;
		struct text_span number = span_take_word(&rest), unit = span_take_word(&rest);
		for (size_t i = 0; i < sizeof units / sizeof *units; i++)
			if (unit.length == strlen(units[i]) && !memcmp(unit.text, units[i], unit.length) &&
			    span_decimal(number, &value) && value <= UINT64_MAX >> (10 * i) &&
			    !__builtin_add_overflow(*bytes, value << (10 * i), bytes))
				is_known = true;
	}
	return is_known;
}

/* Returns whether a descriptor is one of an accelerator that this driver serves. Its fdinfo is text, "" if unknown. */
static bool descriptor_read(const char *process, const char *descriptor, char text[static FDINFO_SIZE])
{
	char path[PATH_MAX], target[64];
	*text = '\0';
	if (snprintf(path, sizeof path, "%s/fd/%s", process, descriptor) >= (int)sizeof path)
		return false;
	ssize_t length = readlink(path, target, sizeof target);
	if (length < (ssize_t)strlen(NODE) || memcmp(target, NODE, strlen(NODE)) != 0)
		return false;
	snprintf(path, sizeof path, "%s/fdinfo/%s", process, descriptor);
	CLEANUP_CLOSE int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = file < 0 ? -1 : read(file, text, FDINFO_SIZE - 1);
	text[size > 0 ? size : 0] = '\0';
	const char *driver = strstr(text, "drm-driver:");
	return !driver || !strncmp(driver + strlen("drm-driver:") + strspn(driver + strlen("drm-driver:"), " \t"),
				   "intel_vpu", strlen("intel_vpu"));
}

/* Returns whether a process has an NPU open, and whether its memory is known, which is added. */
static bool process_read(const char *process, uint64_t *bytes, bool *is_known)
{
	char path[PATH_MAX], text[FDINFO_SIZE];
	bool is_user = false;
	if (snprintf(path, sizeof path, "%s/fd", process) >= (int)sizeof path)
		return false;
	CLEANUP_CLOSEDIR DIR *folder = opendir(path);
	struct dirent *entry;
	for (uint32_t i = 0; folder && i < NPU_USER_DESCRIPTORS_MAX && (entry = readdir(folder)); i++) {
		if (*entry->d_name == '.' || !descriptor_read(process, entry->d_name, text))
			continue;
		is_user = true;
		*is_known |= drm_memory_parse(text, bytes);
	}
	return is_user;
}

void npu_users_find(const char *proc, void (*found)(void *context, uint32_t pid), void *context)
{
	CLEANUP_CLOSEDIR DIR *folder = opendir(proc);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		struct text_span name = { entry->d_name, strlen(entry->d_name) };
		char process[PATH_MAX];
		uint64_t pid, bytes = 0;
		bool is_known = false;
		if (!span_decimal(name, &pid) || pid > UINT32_MAX ||
		    snprintf(process, sizeof process, "%s/%s", proc, entry->d_name) >= (int)sizeof process)
			continue;
		if (process_read(process, &bytes, &is_known))
			found(context, (uint32_t)pid);
	}
}

bool npu_user_memory(const char *proc, uint32_t pid, uint64_t *bytes)
{
	char process[PATH_MAX];
	bool is_known = false;
	*bytes = 0;
	return snprintf(process, sizeof process, "%s/%" PRIu32, proc, pid) < (int)sizeof process &&
	       process_read(process, bytes, &is_known) && is_known;
}

/* The name is "" if the process has exited. */
static void comm_read(uint32_t pid, char *comm, size_t size)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", pid);
	if (line_read(path, comm, size))
		*comm = '\0';
}

void live_use_add(struct live_use *live, const struct ivpu_function *function, const struct calls *calls,
		  const struct call_place *place)
{
	enum ivpu_phase phase = place->place.phase;
	char comm[NPU_USE_COMM_SIZE] = "";

	if (calls->pid && !npu_use_knows(&live->use, calls->pid))
		comm_read(calls->pid, comm, sizeof comm);
	npu_use_add(&live->use, &(struct npu_calls){ .function = function,
						     .place = place->place,
						     .pid = calls->pid,
						     .context = calls->context,
						     .comm = comm,
						     .count = calls->count,
						     .driver_time = calls->self_duration });
	if (place->begins_phase && phase == IVPU_PHASE_BOOT)
		npu_use_add_boot_time(&live->use, calls->pid, calls->context, calls->duration);
	/* In these, the driver also waits outside of its own functions. */
	bool is_whole = phase == IVPU_PHASE_BOOT || phase == IVPU_PHASE_RECOVERY;
	if (is_whole && place->begins_phase)
		live->use.phases[phase].elapsed += calls->duration;
	else if (!is_whole && phase != IVPU_PHASE_RUN && phase != IVPU_PHASE_IDLE)
		live->use.phases[phase].elapsed += calls->self_duration;
}

void live_use_add_job(struct live_use *live, const struct iaprof_record_job *job, uint64_t run_time,
		      const char *thread_name)
{
	npu_use_add_job(&live->use, job, run_time);
	if (*thread_name && npu_use_knows(&live->use, job->pid))
		npu_use_name(&live->use, job->pid, thread_name);
	if (job->queued && job->state != IAPROF_JOB_IN_FLIGHT)
		busy_times_add(&live->busy, job->queued, job->header.time);
}

void live_use_read_memory(struct live_use *live)
{
	uint64_t bytes;

	for (size_t i = 0; i < live->use.processes.count; i++) {
		const struct npu_process *process = &live->use.processes.items[i];
		if (process->is_user && npu_user_memory("/proc", process->key, &bytes))
			npu_use_set_memory(&live->use, process->key, bytes);
	}
}

void live_use_finish(struct live_use *live, uint64_t length)
{
	uint64_t others = 0;

	live->use.phases[IVPU_PHASE_RUN].elapsed = busy_times_total(&live->busy);
	for (uint32_t i = 0; i < IVPU_PHASE_COUNT; i++)
		others += live->use.phases[i].elapsed;
	/* Phases of several programs overlap. */
	live->use.phases[IVPU_PHASE_IDLE].elapsed = length > others ? length - others : 0;
}
