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

/* Marks a pointer to a string: the other bits are an offset in all files of strings, one after the other. */
#define STRING_BIT (UINT64_C(1) << 63)
/* Size of an image at first, in bytes; doubled as often as necessary. */
#define FIRST_SIZE ((size_t)1 << 20)

/* At the beginning of an image. */
struct image_header {
	uint64_t profile;     /* offset */
	uint64_t relocations; /* offset of an array of offsets of pointers */
	uint64_t relocation_count;
};

/* A file in memory that grows. */
struct file {
	int descriptor;
	char *bytes;
	size_t size, capacity;
};
#define FILE_INIT ((struct file){ .descriptor = -1 })

struct writer {
	struct profile_strings *strings;
	struct file image, text;
	ARRAY(uint64_t) relocations;
	bool failed;
};

static void file_close(struct file *file)
{
	if (file->bytes)
		munmap(file->bytes, file->capacity);
	if (file->descriptor >= 0)
		close(file->descriptor);
	*file = FILE_INIT;
}

static bool file_grow(struct file *file, size_t size)
{
	size_t capacity = file->capacity ? file->capacity : FIRST_SIZE;
	while (capacity < size)
		capacity *= 2;
	if (capacity == file->capacity)
		return true;
	if (file->descriptor < 0)
		file->descriptor = memfd_create("iaprof-profile", MFD_CLOEXEC);
	if (file->descriptor < 0 || ftruncate(file->descriptor, (off_t)capacity))
		return false;
	void *bytes = file->bytes ? mremap(file->bytes, file->capacity, capacity, MREMAP_MAYMOVE)
				  : mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor, 0);
	if (bytes == MAP_FAILED)
		return false;
	file->bytes = bytes;
	file->capacity = capacity;
	return true;
}

/* Appends bytes, 8-byte aligned. Returns their offset. */
static uint64_t append_bytes(struct writer *writer, const void *bytes, size_t size)
{
	struct file *image = &writer->image;
	size_t offset = (image->size + 7) & ~(size_t)7;
	if (writer->failed || !file_grow(image, offset + size)) {
		writer->failed = true;
		return 0;
	}
	if (size)
		memcpy(image->bytes + offset, bytes, size);
	image->size = offset + size;
	return offset;
}

static void set_pointer(struct writer *writer, uint64_t at, uint64_t value)
{
	if (writer->failed)
		return;
	memcpy(writer->image.bytes + at, &value, sizeof value);
	writer->failed = !array_push(&writer->relocations, at);
}

/* Copies an array that has no pointers, and stores its address. NULL stays NULL. */
static void put_plain(struct writer *writer, uint64_t at, const void *array, size_t size)
{
	if (array)
		set_pointer(writer, at, append_bytes(writer, array, size));
}

static void put_string(struct writer *writer, uint64_t at, const char *text)
{
	struct profile_strings *strings = writer->strings;
	bool is_new;
	if (!text || writer->failed)
		return;
	size_t size = strlen(text) + 1;
	uint32_t id = string_table_add(&strings->known, text, size - 1, &is_new);
	if (id && is_new) {
		writer->failed = !file_grow(&writer->text, writer->text.size + size) ||
				 !array_push(&strings->offsets, strings->size);
		if (writer->failed)
			return;
		memcpy(writer->text.bytes + writer->text.size, text, size);
		writer->text.size += size;
		strings->size += size;
	}
	writer->failed |= !id;
	if (id)
		set_pointer(writer, at, STRING_BIT | strings->offsets.items[id - 1]);
}

/* Strings that are NULL-terminated pairs. */
static void put_metadata(struct writer *writer, uint64_t at, const char *const *metadata)
{
	size_t count = 0;
	while (metadata && metadata[count])
		count++;
	if (!metadata)
		return;
	uint64_t array = append_bytes(writer, metadata, (count + 1) * sizeof *metadata);
	set_pointer(writer, at, array);
	for (size_t i = 0; i < count; i++)
		put_string(writer, array + i * sizeof *metadata, metadata[i]);
}

/* One element of an array: element points to it in iaprof, at is the offset of its copy. */
typedef void put_element(struct writer *writer, uint64_t at, const void *element);

static void put_array(struct writer *writer, uint64_t at, const void *array, size_t count, size_t size,
		      put_element *put_members)
{
	if (!array)
		return;
	uint64_t copy = append_bytes(writer, array, count * size);
	set_pointer(writer, at, copy);
	for (size_t i = 0; !writer->failed && i < count; i++)
		put_members(writer, copy + i * size, (const char *)array + i * size);
}

#define PUT_STRING(type, member)                                                                                       \
	put_string(writer, at + offsetof(struct type, member), ((const struct type *)element)->member)
#define PUT_PLAIN(type, member, size)                                                                                  \
	put_plain(writer, at + offsetof(struct type, member), ((const struct type *)element)->member, size)

static void put_frame(struct writer *writer, uint64_t at, const void *element)
{
	PUT_STRING(iaprof_frame, name);
	PUT_STRING(iaprof_frame, module);
	PUT_STRING(iaprof_frame, file);
}

static void put_stack(struct writer *writer, uint64_t at, const void *element)
{
	PUT_PLAIN(iaprof_stack, frames, ((const struct iaprof_stack *)element)->frame_count * sizeof(uint32_t));
	PUT_STRING(iaprof_stack, origin.thread);
	PUT_STRING(iaprof_stack, origin.device);
}

static void put_value_type(struct writer *writer, uint64_t at, const void *element)
{
	PUT_STRING(iaprof_value_type, name);
	PUT_STRING(iaprof_value_type, unit);
}

static void put_lost(struct writer *writer, uint64_t at, const void *element)
{
	PUT_STRING(iaprof_lost, source);
	PUT_STRING(iaprof_lost, reason);
}

static void put_module(struct writer *writer, uint64_t at, const void *element)
{
	PUT_STRING(iaprof_module, path);
	PUT_STRING(iaprof_module, build_id);
}

static void put_device(struct writer *writer, uint64_t at, const void *element)
{
	PUT_STRING(iaprof_device, source);
	PUT_STRING(iaprof_device, name);
	PUT_STRING(iaprof_device, address);
}

static void put_process(struct writer *writer, uint64_t at, const void *element)
{
	PUT_STRING(iaprof_process, name);
}

static void put_function(struct writer *writer, uint64_t at, const void *element)
{
	PUT_STRING(iaprof_call_function, source);
	PUT_STRING(iaprof_call_function, name);
	PUT_STRING(iaprof_call_function, family);
}

static void put_histogram(struct writer *writer, uint64_t at, const void *element)
{
	PUT_STRING(iaprof_histogram, source);
	PUT_STRING(iaprof_histogram, name);
	PUT_STRING(iaprof_histogram, unit);
	PUT_PLAIN(iaprof_histogram, buckets, IAPROF_HISTOGRAM_BUCKET_COUNT_MAX * sizeof(uint64_t));
}

static void put_finding(struct writer *writer, uint64_t at, const void *element)
{
	PUT_STRING(iaprof_finding, source);
	PUT_STRING(iaprof_finding, name);
	PUT_STRING(iaprof_finding, text);
}

static void put_counter(struct writer *writer, uint64_t at, const void *element)
{
	const struct iaprof_counter *counter = element;
	PUT_STRING(iaprof_counter, source);
	PUT_STRING(iaprof_counter, name);
	PUT_STRING(iaprof_counter, unit);
	PUT_STRING(iaprof_counter, engine);
	PUT_STRING(iaprof_counter, labels);
	PUT_PLAIN(iaprof_counter, points, counter->point_count * sizeof *counter->points);
}

static void put_thread(struct writer *writer, uint64_t at, const void *element)
{
	put_string(writer, at, *(const char *const *)element);
}

static void put_track(struct writer *writer, uint64_t at, const void *element)
{
	const struct iaprof_track *track = element;
	PUT_STRING(iaprof_track, source);
	PUT_STRING(iaprof_track, name);
	PUT_PLAIN(iaprof_track, events, track->event_count * sizeof *track->events);
	PUT_PLAIN(iaprof_track, slots, track->slot_count * sizeof *track->slots);
	put_array(writer, at + offsetof(struct iaprof_track, threads), track->threads, track->event_count,
		  sizeof *track->threads, put_thread);
}

#define PUT_ACTIVITY(list, name, put_members)                                                                          \
	put_array(writer, at + offsetof(struct iaprof_activity, list), activity->list, activity->name##_count,         \
		  activity->name##_size, put_members)

static void put_activity(struct writer *writer, uint64_t pointer, const struct iaprof_activity *activity)
{
	if (!activity)
		return;
	uint64_t at = append_bytes(writer, activity, sizeof *activity);
	set_pointer(writer, pointer, at);
	PUT_ACTIVITY(devices, device, put_device);
	PUT_ACTIVITY(processes, process, put_process);
	PUT_ACTIVITY(functions, function, put_function);
	put_plain(writer, at + offsetof(struct iaprof_activity, nodes), activity->nodes,
		  activity->node_count * activity->node_size);
	PUT_ACTIVITY(histograms, histogram, put_histogram);
	PUT_ACTIVITY(findings, finding, put_finding);
	PUT_ACTIVITY(counters, counter, put_counter);
	PUT_ACTIVITY(tracks, track, put_track);
}

#define PUT_LIST(list, name, put_members)                                                                              \
	put_array(writer, at + offsetof(struct iaprof_profile, list), profile->list, profile->name##_count,            \
		  profile->name##_size, put_members)
#define PUT_VALUES(list, count, size)                                                                                  \
	put_plain(writer, at + offsetof(struct iaprof_profile, list), profile->list, (count) * (size))

/* Returns the offset of the profile, which may contain those of two runs. */
static uint64_t put_profile(struct writer *writer, const struct iaprof_profile *profile)
{
	uint64_t at = append_bytes(writer, profile, sizeof *profile);
	PUT_LIST(frames, frame, put_frame);
	PUT_LIST(stacks, stack, put_stack);
	PUT_LIST(value_types, value_type, put_value_type);
	PUT_VALUES(values, profile->value_count, profile->value_size);
	PUT_LIST(lost, lost, put_lost);
	put_metadata(writer, at + offsetof(struct iaprof_profile, metadata), profile->metadata);
	PUT_VALUES(times, profile->time_count, profile->time_size);
	PUT_VALUES(time_totals, profile->time_total_count, profile->time_size);
	put_metadata(writer, at + offsetof(struct iaprof_profile, before_metadata), profile->before_metadata);
	PUT_LIST(modules, module, put_module);
	put_activity(writer, at + offsetof(struct iaprof_profile, activity), profile->activity);
	if (profile->before_profile) {
		PUT_VALUES(before_stacks, profile->before_profile->stack_count, sizeof(uint32_t));
		set_pointer(writer, at + offsetof(struct iaprof_profile, before_profile),
			    put_profile(writer, profile->before_profile));
	}
	if (profile->after_profile) {
		PUT_VALUES(after_stacks, profile->after_profile->stack_count, sizeof(uint32_t));
		set_pointer(writer, at + offsetof(struct iaprof_profile, after_profile),
			    put_profile(writer, profile->after_profile));
	}
	return at;
}

void profile_strings_free(struct profile_strings *strings)
{
	string_table_free(&strings->known);
	array_free(&strings->offsets);
}

int profile_image_write(struct profile_strings *strings, const struct iaprof_profile *profile, int *image,
			int *new_strings)
{
	struct writer writer = { .strings = strings, .image = FILE_INIT, .text = FILE_INIT };
	append_bytes(&writer, &(struct image_header){ 0 }, sizeof(struct image_header));
	struct image_header header = { .profile = put_profile(&writer, profile) };
	header.relocation_count = writer.relocations.count;
	header.relocations = append_bytes(&writer, writer.relocations.items,
					  writer.relocations.count * sizeof *writer.relocations.items);
	if (!writer.failed)
		memcpy(writer.image.bytes, &header, sizeof header);
	/* The process maps as much as the file has. */
	writer.failed = writer.failed || ftruncate(writer.image.descriptor, (off_t)writer.image.size) ||
			(writer.text.size && ftruncate(writer.text.descriptor, (off_t)writer.text.size));
	*image = writer.failed ? -1 : STEAL_DESCRIPTOR(writer.image.descriptor);
	*new_strings = writer.failed || !writer.text.size ? -1 : STEAL_DESCRIPTOR(writer.text.descriptor);
	file_close(&writer.image);
	file_close(&writer.text);
	array_free(&writer.relocations);
	return writer.failed ? -ENOMEM : 0;
}

/* Maps a whole file, privately. Returns NULL on failure. */
static void *map(int descriptor, size_t *size)
{
	struct stat status;
	if (fstat(descriptor, &status) || !status.st_size)
		return NULL;
	*size = (size_t)status.st_size;
	void *memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

int mapped_strings_add(struct mapped_strings *strings, int descriptor)
{
	const struct mapped_strings_file *last =
		strings->files.count ? &strings->files.items[strings->files.count - 1] : NULL;
	struct mapped_strings_file file = { .begin = last ? last->begin + last->size : 0 };
	file.bytes = map(descriptor, &file.size);
	return file.bytes && array_push(&strings->files, file) ? 0 : -ENOMEM;
}

static const char *find_string(const struct mapped_strings *strings, uint64_t offset)
{
	size_t next = array_lower_bound(strings->files.count, i, strings->files.items[i].begin <= offset);
	const struct mapped_strings_file *file = &strings->files.items[next - 1];
	return file->bytes + (offset - file->begin);
}

int mapped_profile_open(struct mapped_profile *mapped, const struct mapped_strings *strings, int descriptor)
{
	mapped->memory = map(descriptor, &mapped->size);
	if (!mapped->memory)
		return -ENOMEM;
	char *bytes = mapped->memory;
	const struct image_header *header = mapped->memory;
	const uint64_t *relocations = (const uint64_t *)(bytes + header->relocations);
	for (uint64_t i = 0; i < header->relocation_count; i++) {
		uint64_t value;
		memcpy(&value, bytes + relocations[i], sizeof value);
		const char *pointer = value & STRING_BIT ? find_string(strings, value & ~STRING_BIT) : bytes + value;
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
