/* SPDX-License-Identifier: Apache-2.0 */
/* See sideband_event.h. */
#include "process/sideband_event.h"

#include <string.h>
#include <sys/mman.h>

/* Bits of perf_event_header.misc; the second since Linux 5.12, and not in older headers. */
#define MISC_COMM_EXEC (1u << 13)
#define MISC_MMAP_BUILD_ID (1u << 14)

/* The widths of device numbers (include/linux/kdev_t.h) and of an inode generation (struct inode) in Linux. */
#define DEVICE_MAJOR_BITS 12
#define DEVICE_MINOR_BITS 20
#define GENERATION_BITS 32
#define PROTECTION_EXECUTE 4u

/* SIDEBAND_SAMPLE_TYPE: at the end of every record. */
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
	uint32_t device_major,
		device_minor; /* this and the next two members, or a size of 4 bytes and a build id of 20 bytes */
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

uint32_t sideband_event_process(const void *bytes, size_t size)
{
	struct sample_trailer trailer;
	memcpy(&trailer, (const char *)bytes + size - sizeof trailer, sizeof trailer);
	return trailer.pid;
}

uint64_t sideband_event_time(const void *bytes, size_t size)
{
	struct sample_trailer trailer;
	memcpy(&trailer, (const char *)bytes + size - sizeof trailer, sizeof trailer);
	return trailer.time;
}

/*
 * Returns whether the body has device and inode numbers. iaprof's events do not request build ids, and
 * perf_event_mmap_output() (kernel/events/core.c since Linux 5.12, commit 88a16a130933) writes them only for events
 * that do. But Linux does not reset the flag between the readers of one mapping: if another profiler requests build
 * ids, records for iaprof have the flag with plain numbers. The flag alone is therefore not reliable, and the numbers
 * decide: device and generation numbers have bits that are always 0. A build id of 8 bytes has them by chance in one of
 * 2^12 cases, one of 20 bytes in one of 2^44; it would be an inode that the file at the path does not have. Anything
 * else is neither, and the file is found by its path or by /proc/PID/map_files.
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
	event->shared = body->flags & MAP_SHARED;
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
	/* The text is padded with NULs, or ends at the trailer. */
	event->text = start + wanted;
	event->text_length = strnlen(event->text, room - wanted);
	return true;
}

struct sideband_event sideband_event_of_mapping(uint32_t pid, uint64_t time, const struct process_mapping *mapping)
{
	return (struct sideband_event){ .kind = SIDEBAND_MAPPING,
					.pid = pid,
					.time = time,
					.text = mapping->path,
					.text_length = mapping->path_length,
					.start = mapping->start,
					.size = mapping->end - mapping->start,
					.file_offset = mapping->file_offset,
					.inode = mapping->inode,
					.device_major = mapping->device_major,
					.device_minor = mapping->device_minor,
					.executable = mapping->executable,
					.shared = mapping->shared };
}

struct iaprof_record_mapping sideband_event_record(const struct sideband_event *event, uint32_t flags)
{
	return (struct iaprof_record_mapping){ .header = { .size = sizeof(struct iaprof_record_mapping),
							   .type = IAPROF_RECORD_MAPPING,
							   .time = event->time },
					       .pid = event->pid,
					       .start = event->start,
					       .size = event->size,
					       .file_offset = event->file_offset,
					       .inode = event->inode,
					       .inode_generation = event->inode_generation,
					       .device_major = event->device_major,
					       .device_minor = event->device_minor,
					       .flags = flags | (event->shared ? IAPROF_MAPPING_SHARED : 0) };
}
