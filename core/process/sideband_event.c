/* SPDX-License-Identifier: Apache-2.0 */
/* The side-band records of perf_event_open(2), decoded: see sideband_event.h. */
#include "process/sideband_event.h"

#include <string.h>

/* Bits of perf_event_header.misc; a build id in a MMAP2 record is of Linux 5.12, and not in older headers. */
#define MISC_COMM_EXEC (1u << 13)
#define MISC_MMAP_BUILD_ID (1u << 14)
#define PROTECTION_EXECUTE 4u

/* What SIDEBAND_SAMPLE_TYPE puts at the end of every record. */
struct sample_trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

struct task_body {
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

struct name_body {
	uint32_t pid, tid;
};

struct lost_body {
	uint64_t id, lost;
};

struct mapping_body {
	uint32_t pid, tid;
	uint64_t start, size, file_offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		} file;
		struct {
			uint8_t size, reserved[3];
			uint8_t bytes[IAPROF_BUILD_ID_SIZE_MAX];
		} build_id;
	};
	uint32_t protection, flags;
};

size_t sideband_event_size(const void *bytes, size_t size)
{
	struct perf_event_header header;
	if (size < sizeof header)
		return 0;
	memcpy(&header, bytes, sizeof header);
	if (header.size > size || header.size % 8 || header.size < sizeof header + sizeof(struct sample_trailer))
		return 0;
	return header.size;
}

uint64_t sideband_event_time(const void *bytes, size_t size)
{
	struct sample_trailer trailer;
	memcpy(&trailer, (const char *)bytes + size - sizeof trailer, sizeof trailer);
	return trailer.time;
}

static void decode_mapping(const struct mapping_body *body, bool has_build_id, struct sideband_event *event)
{
	event->kind = SIDEBAND_MAPPING;
	event->pid = body->pid;
	event->tid = body->tid;
	event->start = body->start;
	event->size = body->size;
	event->file_offset = body->file_offset;
	event->executable = body->protection & PROTECTION_EXECUTE;
	if (!has_build_id) {
		event->device_major = body->file.major;
		event->device_minor = body->file.minor;
		event->inode = body->file.inode;
		event->inode_generation = body->file.generation;
	} else if (body->build_id.size <= sizeof event->build_id) {
		event->build_id_size = body->build_id.size;
		memcpy(event->build_id, body->build_id.bytes, body->build_id.size);
	}
}

bool sideband_event_decode(const void *bytes, size_t size, struct sideband_event *event)
{
	struct perf_event_header header;
	union {
		struct task_body task;
		struct name_body name;
		struct lost_body lost;
		struct mapping_body mapping;
	} body;
	*event = (struct sideband_event){ .kind = SIDEBAND_OTHER };
	if (sideband_event_size(bytes, size) != size || !size)
		return false;
	memcpy(&header, bytes, sizeof header);
	event->time = sideband_event_time(bytes, size);

	size_t wanted = header.type == PERF_RECORD_FORK || header.type == PERF_RECORD_EXIT ? sizeof body.task
			: header.type == PERF_RECORD_COMM                                  ? sizeof body.name
			: header.type == PERF_RECORD_LOST                                  ? sizeof body.lost
			: header.type == PERF_RECORD_MMAP2                                 ? sizeof body.mapping
											   : 0;
	size_t room = size - sizeof header - sizeof(struct sample_trailer);
	if (room < wanted)
		return false;
	const char *start = (const char *)bytes + sizeof header;
	memcpy(&body, start, wanted);

	switch (header.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		event->kind = header.type == PERF_RECORD_FORK ? SIDEBAND_FORK : SIDEBAND_EXIT;
		event->pid = body.task.pid;
		event->tid = body.task.tid;
		event->parent_pid = body.task.parent_pid;
		return true;
	case PERF_RECORD_LOST:
		event->kind = SIDEBAND_LOST;
		event->lost = body.lost.lost;
		return true;
	case PERF_RECORD_COMM:
		event->kind = header.misc & MISC_COMM_EXEC ? SIDEBAND_EXEC : SIDEBAND_NAME;
		event->pid = body.name.pid;
		event->tid = body.name.tid;
		break;
	case PERF_RECORD_MMAP2:
		decode_mapping(&body.mapping, header.misc & MISC_MMAP_BUILD_ID, event);
		break;
	default:
		return true;
	}
	/* The text is padded with NULs, and ends at the trailer when there are none. */
	event->text = start + wanted;
	event->text_length = strnlen(event->text, room - wanted);
	return true;
}
