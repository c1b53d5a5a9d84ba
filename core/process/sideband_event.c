/* SPDX-License-Identifier: Apache-2.0 */
/* The side-band records of perf_event_open(2), decoded: see sideband_event.h. */
#include "process/sideband_event.h"

#include <string.h>

/* Bits of perf_event_header.misc; the second since Linux 5.12, and not in older headers. */
#define MISC_COMM_EXEC (1u << 13)
#define MISC_MMAP_BUILD_ID (1u << 14)

/* The widths of device numbers (include/linux/kdev_t.h) and of an inode generation (struct inode) in Linux. */
#define DEVICE_MAJOR_BITS 12
#define DEVICE_MINOR_BITS 20
#define GENERATION_BITS 32
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
	uint32_t device_major, device_minor; /* here and in the next two: or a size of 4 bytes and a build id of 20 */
	uint64_t inode, inode_generation;
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

/*
 * Whether the body has device and inode numbers. Our events do not ask for build ids, and perf_event_mmap_output()
 * (kernel/events/core.c since Linux 5.12, commit 88a16a130933) writes one only for an event that does. But it does not
 * reset the flag between the readers of one mapping: where another profiler asks for build ids, records of ours have
 * the flag over plain numbers. So the flag alone proves nothing, and the numbers decide: those of a device and of a
 * generation have bits that are always 0. A build id has them by chance in one of 2^12 cases at 8 bytes and of 2^44 at
 * 20; it would be an inode that the file at the path does not have. Anything else is neither, and the file is found by
 * its path or by /proc/PID/map_files.
 */
static bool has_file_numbers(const struct mapping_body *body, bool is_flagged)
{
	return !is_flagged ||
	       (body->device_major >> DEVICE_MAJOR_BITS == 0 && body->device_minor >> DEVICE_MINOR_BITS == 0 &&
		body->inode_generation >> GENERATION_BITS == 0);
}

static void decode_mapping(const struct mapping_body *body, bool is_flagged, struct sideband_event *event)
{
	event->kind = SIDEBAND_MAPPING;
	event->pid = body->pid;
	event->tid = body->tid;
	event->start = body->start;
	event->size = body->size;
	event->file_offset = body->file_offset;
	event->executable = body->protection & PROTECTION_EXECUTE;
	if (has_file_numbers(body, is_flagged)) {
		event->device_major = body->device_major;
		event->device_minor = body->device_minor;
		event->inode = body->inode;
		event->inode_generation = body->inode_generation;
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
