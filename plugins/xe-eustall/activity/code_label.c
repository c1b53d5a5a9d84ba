/* SPDX-License-Identifier: Apache-2.0 */
/* See code_label.h. */
#include <stdbool.h>
#include <string.h>
#include "base/cleanup.h"
#include "code_label.h"
#include "text/text_span.h"

#define LOOK_AGAIN UINT64_C(5000000000) /* ns */

/* Only the start is read for a process with a million mappings. */
#define LINES_MAX 200000u

static const struct {
	const char *name; /* prefix of the file name */
	enum code_label label;
} libraries[] = {
	{ "libze_intel_gpu.so", CODE_LABEL_RUNTIME }, { "libigdrcl.so", CODE_LABEL_RUNTIME },
	{ "libvulkan_intel.so", CODE_LABEL_MESA },    { "libvulkan_intel_hasvk.so", CODE_LABEL_MESA },
	{ "libgallium-", CODE_LABEL_MESA },           { "libgallium_dri.so", CODE_LABEL_MESA },
	{ "iris_dri.so", CODE_LABEL_MESA },           { "crocus_dri.so", CODE_LABEL_MESA },
};

enum code_label code_label_of_mapping(const char *line, size_t size)
{
	/* Five fields precede the path, none with a slash. */
	const char *slash = memchr(line, '/', size);

	if (!slash)
		return CODE_LABEL_NONE;
	slash = memrchr(line, '/', size);
	size_t length = size - (size_t)(slash + 1 - line);
	for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
		size_t wanted = strlen(libraries[i].name);
		if (length >= wanted && memcmp(slash + 1, libraries[i].name, wanted) == 0)
			return libraries[i].label;
	}
	return CODE_LABEL_NONE;
}

const char *code_label_text(enum code_label label)
{
	static const char *const texts[] = { NULL, "[runtime's own device code]", "[Mesa shader code]" };
	return texts[label];
}

enum code_label code_label_of_process(struct broker *broker, uint32_t pid)
{
	bool seen[3] = { false };
	size_t length = 0;
	CLEANUP_FREE char *maps = broker_read_all(broker, pid, BROKER_MAPS, &length);
	struct text_span rest = { maps, length }, line;
	for (unsigned i = 0; i < LINES_MAX && rest.length && span_take_field(&rest, '\n', &line); i++)
		seen[code_label_of_mapping(line.text, line.length)] = true;
	if (seen[CODE_LABEL_RUNTIME] == seen[CODE_LABEL_MESA])
		return CODE_LABEL_NONE;
	return seen[CODE_LABEL_RUNTIME] ? CODE_LABEL_RUNTIME : CODE_LABEL_MESA;
}

enum code_label code_labels_find(struct code_labels *labels, uint32_t pid, uint64_t now)
{
	size_t place = 0;

	if (!pid) /* a free slot */
		return CODE_LABEL_NONE;
	/* A new process replaces the one whose lookup is the oldest. */
	for (size_t i = 0; i < CODE_LABEL_PROCESSES; i++) {
		if (labels->processes[i].pid == pid) {
			place = i;
			break;
		}
		if (labels->processes[i].time < labels->processes[place].time)
			place = i;
	}
	if (labels->processes[place].pid != pid)
		labels->processes[place].label = CODE_LABEL_NONE;
	if (labels->processes[place].pid != pid || now - labels->processes[place].time > LOOK_AGAIN) {
		labels->processes[place].pid = pid;
		labels->processes[place].time = now;
		labels->processes[place].asked = true;
	}
	return labels->processes[place].label;
}

uint32_t code_labels_asked(const struct code_labels *labels)
{
	for (size_t i = 0; i < CODE_LABEL_PROCESSES; i++)
		if (labels->processes[i].asked)
			return labels->processes[i].pid;
	return 0;
}

void code_labels_store(struct code_labels *labels, uint32_t pid, enum code_label label)
{
	for (size_t i = 0; i < CODE_LABEL_PROCESSES; i++) {
		if (labels->processes[i].pid != pid)
			continue;
		labels->processes[i].label = label;
		labels->processes[i].asked = false;
	}
}
