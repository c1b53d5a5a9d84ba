/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what the side-band parses. The first byte chooses the parser: perf records, /proc/PID/maps,
 * /proc/PID/stat, a list of CPUs. The rest is the input, and what comes out must lie inside of it.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_parser.h"
#include "process/sideband_event.h"

static void check_inside(const char *text, size_t length, const char *from, size_t size)
{
	if (text && (text < from || length > size || (size_t)(text - from) > size - length))
		abort();
}

static void parse_events(const char *bytes, size_t size)
{
	for (size_t record; (record = sideband_event_size(bytes, size)); bytes += record, size -= record) {
		struct sideband_event event;
		if (record > size)
			abort();
		bool whole = sideband_event_decode(bytes, record, &event);
		check_inside(event.text, event.text_length, bytes, record);
		if (whole && event.time != sideband_event_time(bytes, record))
			abort();
	}
}

static void parse_maps(char *text, size_t size)
{
	const char *from = text;
	size_t all = size;
	struct process_mapping mapping;
	for (int result; (result = proc_maps_next(&text, &size, &mapping));) {
		if (text + size != from + all)
			abort();
		if (result < 0)
			continue;
		check_inside(mapping.path, mapping.path_length, from, all);
		if (mapping.end <= mapping.start)
			abort();
	}
}

static int count_cpu(void *context, uint32_t cpu)
{
	return ++*(int *)context > 100000 ? -E2BIG : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	/* A copy that is exactly as large as the input, so that a byte too much is found, and that may be changed. */
	char *copy = malloc(--size);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size);
	struct proc_status status;
	int count = 0;
	switch (data[0] % 4) {
	case 0:
		parse_events(copy, size);
		break;
	case 1:
		parse_maps(copy, size);
		break;
	case 2:
		if (!proc_status_parse(copy, size, &status))
			check_inside(status.name, status.name_length, copy, size);
		break;
	case 3:
		proc_cpu_list(copy, size, count_cpu, &count);
		break;
	}
	free(copy);
	return 0;
}
