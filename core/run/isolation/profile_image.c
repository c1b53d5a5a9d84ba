/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and maps profiles: see profile_image.h. */
#include "run/isolation/profile_image.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

/* Marks the offset of a text. */
#define TEXT_BIT (UINT64_C(1) << 63)
/* Size of an image at first, in bytes; doubled as often as necessary. */
#define FIRST_SIZE ((size_t)1 << 20)

/* At the beginning of an image. */
struct image_header {
	uint64_t profile;     /* offset */
	uint64_t relocations; /* offset of an array of offsets of pointers */
	uint64_t relocation_count;
};

/* A pointer in a struct. */
struct pointer {
	enum { POINTER_END, POINTER_TEXT, POINTER_ITEMS } kind;
	uint16_t at; /* its offset */
	/* Of items: */
	uint16_t count_at, count_size;    /* where their number is; 0: count */
	uint16_t stride_at;               /* where their size is, a size_t; 0: stride */
	size_t count, stride;             /* count 0: as many as come before a NULL */
	const struct pointer *in_an_item; /* NULL: none */
};

#define AT(type, member) .at = offsetof(struct iaprof_##type, member)
#define TEXT(type, member) .kind = POINTER_TEXT, AT(type, member)
#define ITEMS(type, member)                                                                                            \
	.kind = POINTER_ITEMS, AT(type, member), .stride = sizeof *((struct iaprof_##type *)0)->member
#define COUNT(type, member)                                                                                            \
	.count_at = offsetof(struct iaprof_##type, member), .count_size = sizeof((struct iaprof_##type *)0)->member
/* A list of structs that may grow. */
#define LIST(type, list, name)                                                                                         \
	.kind = POINTER_ITEMS, AT(type, list), COUNT(type, name##_count),                                              \
	.stride_at = offsetof(struct iaprof_##type, name##_size)

static const struct pointer in_text[] = { { .kind = POINTER_TEXT }, { 0 } };
static const struct pointer in_frame[] = {
	{ TEXT(frame, name) }, { TEXT(frame, module) }, { TEXT(frame, file) }, { 0 }
};
static const struct pointer in_stack[] = { { ITEMS(stack, frames), COUNT(stack, frame_count) },
					   { TEXT(stack, origin.thread) },
					   { TEXT(stack, origin.device) },
					   { 0 } };
static const struct pointer in_value_type[] = { { TEXT(value_type, name) }, { TEXT(value_type, unit) }, { 0 } };
static const struct pointer in_lost[] = { { TEXT(lost, source) }, { TEXT(lost, reason) }, { 0 } };
static const struct pointer in_module[] = { { TEXT(module, path) }, { TEXT(module, build_id) }, { 0 } };
static const struct pointer in_device[] = {
	{ TEXT(device, source) }, { TEXT(device, name) }, { TEXT(device, address) }, { 0 }
};
static const struct pointer in_process[] = { { TEXT(process, name) }, { 0 } };
static const struct pointer in_function[] = {
	{ TEXT(call_function, source) }, { TEXT(call_function, name) }, { TEXT(call_function, family) }, { 0 }
};
static const struct pointer in_histogram[] = { { TEXT(histogram, source) },
					       { TEXT(histogram, name) },
					       { TEXT(histogram, unit) },
					       { ITEMS(histogram, buckets),
						 .count = IAPROF_HISTOGRAM_BUCKET_COUNT_MAX },
					       { 0 } };
static const struct pointer in_finding[] = {
	{ TEXT(finding, source) }, { TEXT(finding, name) }, { TEXT(finding, text) }, { 0 }
};
static const struct pointer in_counter[] = { { TEXT(counter, source) },
					     { TEXT(counter, name) },
					     { TEXT(counter, unit) },
					     { TEXT(counter, engine) },
					     { TEXT(counter, labels) },
					     { ITEMS(counter, points), COUNT(counter, point_count) },
					     { 0 } };
static const struct pointer in_track[] = { { TEXT(track, source) },
					   { TEXT(track, name) },
					   { ITEMS(track, events), COUNT(track, event_count) },
					   { ITEMS(track, slots), COUNT(track, slot_count) },
					   { ITEMS(track, threads), COUNT(track, event_count), .in_an_item = in_text },
					   { 0 } };
static const struct pointer in_activity[] = { { LIST(activity, devices, device), .in_an_item = in_device },
					      { LIST(activity, processes, process), .in_an_item = in_process },
					      { LIST(activity, functions, function), .in_an_item = in_function },
					      { LIST(activity, nodes, node) },
					      { LIST(activity, histograms, histogram), .in_an_item = in_histogram },
					      { LIST(activity, findings, finding), .in_an_item = in_finding },
					      { LIST(activity, counters, counter), .in_an_item = in_counter },
					      { LIST(activity, tracks, track), .in_an_item = in_track },
					      { 0 } };
/* Without those of differences, which are in put_run(). */
static const struct pointer in_profile[] = { { LIST(profile, frames, frame), .in_an_item = in_frame },
					     { LIST(profile, stacks, stack), .in_an_item = in_stack },
					     { LIST(profile, value_types, value_type), .in_an_item = in_value_type },
					     { LIST(profile, values, value) },
					     { LIST(profile, lost, lost), .in_an_item = in_lost },
					     { ITEMS(profile, metadata), .in_an_item = in_text },
					     { LIST(profile, times, time) },
					     { .kind = POINTER_ITEMS,
					       AT(profile, time_totals),
					       COUNT(profile, time_total_count),
					       .stride = sizeof(struct iaprof_time_value) },
					     { ITEMS(profile, before_metadata), .in_an_item = in_text },
					     { LIST(profile, modules, module), .in_an_item = in_module },
					     { ITEMS(profile, activity), .count = 1, .in_an_item = in_activity },
					     { 0 } };

/* A file in memory that grows. */
struct writer {
	int descriptor;
	char *bytes;
	size_t size, capacity;
	struct string_table texts;
	ARRAY(uint64_t) text_offsets; /* by id - 1 */
	ARRAY(uint64_t) relocations;
	bool failed;
};

static bool grow(struct writer *writer, size_t size)
{
	size_t capacity = writer->capacity ? writer->capacity : FIRST_SIZE;
	while (capacity < size)
		capacity *= 2;
	if (capacity == writer->capacity)
		return true;
	if (ftruncate(writer->descriptor, (off_t)capacity))
		return false;
	void *bytes = writer->bytes ? mremap(writer->bytes, writer->capacity, capacity, MREMAP_MAYMOVE)
				    : mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, writer->descriptor, 0);
	if (bytes == MAP_FAILED)
		return false;
	writer->bytes = bytes;
	writer->capacity = capacity;
	return true;
}

/* Appends bytes, 8-byte aligned. Returns their offset. */
static uint64_t append_bytes(struct writer *writer, const void *bytes, size_t size)
{
	size_t offset = (writer->size + 7) & ~(size_t)7;
	writer->failed = writer->failed || !grow(writer, offset + size);
	if (writer->failed)
		return 0;
	if (size)
		memcpy(writer->bytes + offset, bytes, size);
	writer->size = offset + size;
	return offset;
}

static void set_pointer(struct writer *writer, uint64_t at, uint64_t value)
{
	if (writer->failed)
		return;
	memcpy(writer->bytes + at, &value, sizeof value);
	writer->failed = !array_push(&writer->relocations, at);
}

static uint64_t put_text(struct writer *writer, const char *text)
{
	size_t length = strlen(text);
	bool is_new = false;
	uint32_t id = string_table_add(&writer->texts, text, length, &is_new);
	writer->failed |= !id;
	if (is_new)
		writer->failed |= !array_push(&writer->text_offsets, append_bytes(writer, text, length + 1));
	return writer->failed ? 0 : writer->text_offsets.items[id - 1] | TEXT_BIT;
}

/* Returns the number of items of a pointer in the struct at original. */
static size_t count_items(const struct pointer *pointer, const char *original, const char *const *items)
{
	uint32_t number;
	size_t count = pointer->count;
	if (pointer->count_size == sizeof number) {
		memcpy(&number, original + pointer->count_at, sizeof number);
		return number;
	}
	if (pointer->count_size)
		memcpy(&count, original + pointer->count_at, sizeof count);
	else if (!count)
		while (items[count++])
			;
	return count;
}

/* Copies items, and what they point to. Returns their offset. */
static uint64_t put_items(struct writer *writer, const void *items, size_t count, size_t stride,
			  const struct pointer *in_an_item)
{
	uint64_t copy = append_bytes(writer, items, count * stride);
	for (size_t i = 0; in_an_item && i < count; i++)
		for (const struct pointer *pointer = in_an_item; pointer->kind && !writer->failed; pointer++) {
			const char *original = (const char *)items + i * stride;
			const void *target;
			size_t size = pointer->stride;
			memcpy(&target, original + pointer->at, sizeof target);
			if (!target)
				continue;
			if (pointer->stride_at)
				memcpy(&size, original + pointer->stride_at, sizeof size);
			set_pointer(writer, copy + i * stride + pointer->at,
				    pointer->kind == POINTER_TEXT
					    ? put_text(writer, target)
					    : put_items(writer, target, count_items(pointer, original, target), size,
							pointer->in_an_item));
		}
	return copy;
}

static uint64_t put_profile(struct writer *writer, const struct iaprof_profile *profile);

/* One of the runs that a profile compares: at is the offset of the pointer to it. */
static void put_run(struct writer *writer, uint64_t at, const struct iaprof_profile *run, uint64_t stacks_at,
		    const uint32_t *stacks)
{
	if (!run)
		return;
	set_pointer(writer, stacks_at, append_bytes(writer, stacks, run->stack_count * sizeof *stacks));
	set_pointer(writer, at, put_profile(writer, run));
}

static uint64_t put_profile(struct writer *writer, const struct iaprof_profile *profile)
{
	uint64_t at = put_items(writer, profile, 1, sizeof *profile, in_profile);
	put_run(writer, at + offsetof(struct iaprof_profile, before_profile), profile->before_profile,
		at + offsetof(struct iaprof_profile, before_stacks), profile->before_stacks);
	put_run(writer, at + offsetof(struct iaprof_profile, after_profile), profile->after_profile,
		at + offsetof(struct iaprof_profile, after_stacks), profile->after_stacks);
	return at;
}

int profile_image_write(const struct iaprof_profile *profile, int *image)
{
	struct writer writer = { .descriptor = memfd_create("iaprof-profile", MFD_CLOEXEC) };
	append_bytes(&writer, &(struct image_header){ 0 }, sizeof(struct image_header));
	struct image_header header = { .profile = put_profile(&writer, profile) };
	header.relocation_count = writer.relocations.count;
	header.relocations = append_bytes(&writer, writer.relocations.items,
					  writer.relocations.count * sizeof *writer.relocations.items);
	if (!writer.failed)
		memcpy(writer.bytes, &header, sizeof header);
	/* The process maps as much as the file has. */
	writer.failed = writer.failed || ftruncate(writer.descriptor, (off_t)writer.size);
	if (writer.bytes)
		munmap(writer.bytes, writer.capacity);
	if (writer.failed && writer.descriptor >= 0)
		close(writer.descriptor);
	*image = writer.failed ? -1 : writer.descriptor;
	string_table_free(&writer.texts);
	array_free(&writer.text_offsets);
	array_free(&writer.relocations);
	return writer.failed ? -ENOMEM : 0;
}

int mapped_profile_open(struct mapped_profile *mapped, struct string_table *texts, int descriptor)
{
	struct stat status;
	void *memory = fstat(descriptor, &status)
			       ? MAP_FAILED
			       : mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	*mapped = (struct mapped_profile){ .memory = memory, .size = (size_t)status.st_size };
	char *bytes = memory;
	const struct image_header *header = memory;
	const uint64_t *relocations = (const uint64_t *)(bytes + header->relocations);
	for (uint64_t i = 0; i < header->relocation_count; i++) {
		uint64_t value;
		memcpy(&value, bytes + relocations[i], sizeof value);
		const char *pointer = bytes + (value & ~TEXT_BIT);
		if (value & TEXT_BIT)
			pointer = string_table_intern(texts, pointer, strlen(pointer));
		if (!pointer) {
			mapped_profile_close(mapped);
			return -ENOMEM;
		}
		memcpy(bytes + relocations[i], &pointer, sizeof pointer);
	}
	mapped->profile = (const struct iaprof_profile *)(bytes + header->profile);
	return 0;
}

void mapped_profile_close(struct mapped_profile *mapped)
{
	if (mapped->memory)
		munmap(mapped->memory, mapped->size);
	*mapped = (struct mapped_profile){ 0 };
}
