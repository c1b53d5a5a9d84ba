/* SPDX-License-Identifier: Apache-2.0 */
/* See npu_users.h. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "npu_users.h"
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
