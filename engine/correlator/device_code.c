/* SPDX-License-Identifier: Apache-2.0 */
/* Device code of a run: see device_code.h. */
#include "correlator/device_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "process/process_stat.h"
#include "correlator/kernel_code.h"
#include "correlator/loaded_code.h"
#include "base/saturating.h"
#include "symbolizer/device/code_index.h"
#include "symbolizer/device/device_address.h"

/* How far lookups reach back from the newest event; samples arrive at most seconds late. */
#define WINDOW (30 * NANOSECONDS_PER_SECOND)

/* Limit on CODE_FUNCTION records per image; kernel libraries have about 10,000 functions. */
#define FUNCTION_COUNT_MAX 65536

/* No compiler generates larger kernels; a larger size is an error of the source. */
#define KERNEL_SIZE_MAX ((uint64_t)1 << 32)

struct device_code {
	struct device_code_options options;
	struct device_images *images;
	struct code_index *index;
	struct loaded_code_table loaded;
	struct kernel_code_table kernels;
	bool has_unreadable, has_unplaced; /* of any process, as in struct loaded_code_owner */
	struct device_code_statistics statistics;
};

struct device_code *device_code_new(const struct device_code_options *options)
{
	struct device_code *code = calloc(1, sizeof *code);
	if (!code)
		return NULL;
	code->options = *options;
	code->images = device_images_new(options->workers, options->budget);
	code->index = code_index_new(&(struct code_index_options){
		.window = WINDOW, .reference = device_image_reference, .release = device_image_release });
	if (code->images && code->index)
		return code;
	device_code_free(code);
	return NULL;
}

void device_code_free(struct device_code *code)
{
	if (!code)
		return;
	loaded_code_table_free(&code->loaded);
	kernel_code_free(&code->kernels);
	code_index_free(code->index);
	device_images_free(code->images);
	free(code);
}

/* Clamped to the present: a time in the future would make all other events too old. */
static uint64_t time_of(const struct iaprof_record *record)
{
	uint64_t now = clock_monotonic();
	return record->time < now ? record->time : now;
}

static bool index_load(struct device_code *code, struct code_load *load)
{
	/* A kernel may be reported long after its code object was loaded. */
	uint64_t horizon = code_index_horizon(code->index);
	if (load->time < horizon)
		load->time = horizon;
	int result = code_index_load(code->index, load);
	if (result == -ESTALE) { /* making room has moved the horizon */
		load->time = code_index_horizon(code->index);
		result = code_index_load(code->index, load);
	}
	code->statistics.out_of_memory += result == -ENOMEM;
	code->statistics.refused += result && result != -ENOMEM;
	return !result;
}

/* Adds a part of a code object to the index. */
static void add_range(struct device_code *code, struct loaded_code *loaded, struct device_image *image, uint64_t start,
		      uint64_t size, uint64_t address)
{
	struct code_load load = { .device = loaded->device,
				  .process = loaded->pid,
				  .start = start,
				  .size = size,
				  .time = loaded->time,
				  .object = image,
				  .address = address };
	if (!array_reserve(&loaded->starts, loaded->starts.count + 1))
		code->statistics.out_of_memory++;
	else if (index_load(code, &load))
		loaded->starts.items[loaded->starts.count++] = start;
}

/* Adds all sections of an image, which are loaded with the same bias. */
static void place_all(struct device_code *code, struct loaded_code *loaded, uint64_t bias)
{
	const struct code_table *table = remote_code_table(loaded->image->code);
	loaded->has_bias = true;
	loaded->bias = bias;
	for (size_t i = 0; i < table->section_count; i++)
		add_range(code, loaded, loaded->image, device_address_plain(table->sections[i].address + bias),
			  table->sections[i].size, table->sections[i].address);
}

/* Unloads the code of a program whose end was reported before its loads. */
static void end_if_over(struct device_code *code, uint32_t pid, uint64_t time)
{
	const struct process *process = process_table_find(code->options.processes, pid, time);
	if (process && process->end != UINT64_MAX && process->end >= time)
		device_code_end_process(code, pid, process->end);
}

static void send_function(const struct device_code *code, const struct iaprof_record_code_object *object,
			  const struct code_function *function, const struct loaded_code *loaded)
{
	struct {
		struct iaprof_record_code_function head;
		struct iaprof_attribute attributes[IAPROF_ATTRIBUTE_COUNT_MAX];
	} record = { .head = { .header = { .type = IAPROF_RECORD_CODE_FUNCTION,
					   .source = object->header.source,
					   .time = clock_monotonic() },
			       .code_object = object->id,
			       .name = result_stream_text(code->options.results, function->name),
			       .shown_name = result_stream_text(code->options.results, function->shown),
			       .flags = function->is_kernel ? IAPROF_CODE_FUNCTION_KERNEL : 0,
			       .address = loaded->has_bias ? device_address_plain(function->address + loaded->bias) : 0,
			       .size = function->size } };
	_Static_assert(IAPROF_ATTRIBUTE_COUNT_MAX >= KERNEL_ATTRIBUTE_COUNT_MAX, "all attributes fit");
	for (size_t i = 0; i < function->attribute_count; i++)
		record.attributes[i] =
			(struct iaprof_attribute){ .name = result_stream_text(code->options.results,
									      function->attributes[i].name),
						   .value = function->attributes[i].value };
	record.head.attribute_count = (uint32_t)function->attribute_count;
	record.head.header.size =
		(uint32_t)(sizeof record.head + function->attribute_count * sizeof record.attributes[0]);
	result_stream_send(code->options.results, &record.head.header);
}

uint64_t device_code_device(const struct device_code *code, uint16_t source, uint32_t device)
{
	const struct sampled_device *found =
		device && code->options.devices ? sampled_devices_get(code->options.devices, source, device) : NULL;
	return found ? found->address : 0;
}

/*
 * Returns the owner of an image. A program's start may be reported after its loads; the image of an unknown program is
 * never trusted.
 */
static struct file_identity owner_of(const struct device_code *code, uint32_t pid, uint64_t time)
{
	struct file_identity owner = { 0 };
	const struct process *process = process_table_find(code->options.processes, pid, time);
	if (process_user(pid, &owner.owner))
		return owner;
	owner.owner = process ? process->user : 0;
	owner.mode = process ? 0 : BUDGET_NEVER_TRUSTED;
	return owner;
}

void device_code_take_code_object(struct device_code *code, const struct iaprof_record_code_object *record)
{
	code->statistics.code_objects++;
	if (!code->options.live)
		return;
	const char *path = intern_text(code->options.intern, record->path);
	uint16_t source = record->header.source;
	uint32_t position =
		record->id ? loaded_code_add(&code->loaded, source, record->id, record->pid) : LOADED_CODE_NONE;
	if (position == LOADED_CODE_NONE) {
		code->statistics.refused++;
		return;
	}
	struct loaded_code *loaded = &code->loaded.items.items[position];
	loaded->device = device_code_device(code, source, record->device);
	loaded->time = time_of(&record->header);
	struct file_identity owner = owner_of(code, record->pid, loaded->time);
	struct loaded_code_owner *process = keyed_array_get(&code->loaded.owners, &record->pid);
	if (!*path || device_images_open(code->images, path, record->pid, record->machine, &owner, &loaded->image)) {
		process->has_unreadable = code->has_unreadable = true;
		return end_if_over(code, record->pid, loaded->time);
	}
	uint64_t base;
	uint32_t addresses = remote_code_addresses(loaded->image->code, &base);
	const struct code_table *table = remote_code_table(loaded->image->code);
	if (addresses == IAPROF_IMAGE_ADDRESSES_DEVICE) {
		place_all(code, loaded, 0);
	} else if (addresses == IAPROF_IMAGE_ADDRESSES_RELATIVE) {
		if (record->address)
			place_all(code, loaded, device_address_plain(record->address) - base);
		else
			process->has_unplaced = code->has_unplaced = true;
	} else {
		process->has_unplaced = code->has_unplaced = true;
		loaded->is_placed = calloc(table->section_count + 1, sizeof *loaded->is_placed);
		code->statistics.out_of_memory += !loaded->is_placed;
	}
	bool is_read = result_stream_is_read(code->options.results);
	for (size_t i = 0; is_read && i < table->function_count && i < FUNCTION_COUNT_MAX; i++)
		send_function(code, record, &table->functions[i], loaded);
	if (is_read && table->function_count > FUNCTION_COUNT_MAX)
		code->statistics.functions_over_limit += table->function_count - FUNCTION_COUNT_MAX;
	end_if_over(code, record->pid, loaded->time);
}

void device_code_take_unload(struct device_code *code, const struct iaprof_record_code_object_unload *record)
{
	uint32_t position = loaded_code_find(&code->loaded, record->header.source, record->id);
	if (position == LOADED_CODE_NONE)
		return; /* it was never announced */
	const struct loaded_code *loaded = &code->loaded.items.items[position];
	if (loaded->ended)
		return; /* with its process */
	for (size_t i = 0; i < loaded->starts.count; i++)
		code_index_unload(code->index, loaded->device, loaded->pid, loaded->starts.items[i],
				  time_of(&record->header));
	loaded_code_remove(&code->loaded, position);
}

/* Adds a kernel by its name, because its image is not known. */
static void place_alone(struct device_code *code, struct loaded_code *loaded, const struct iaprof_record_kernel *record)
{
	struct loaded_code nobody = { .pid = record->pid, .time = time_of(&record->header) };
	struct device_image *image =
		device_images_add_kernel(code->images, intern_text(code->options.intern, record->name));
	if (!image || !loaded_code_add_owner(&code->loaded, record->pid))
		code->statistics.out_of_memory++;
	else
		add_range(code, loaded ? loaded : &nobody, image, device_address_plain(record->address), record->size,
			  0);
	array_free(&nobody.starts);
	device_image_release(image);
}

/* Moves an image, because the address in its CODE_OBJECT record is not that of its lowest byte. */
static void move_all(struct device_code *code, struct loaded_code *loaded, uint64_t bias)
{
	for (size_t i = 0; i < loaded->starts.count; i++)
		code_index_unload(code->index, loaded->device, loaded->pid, loaded->starts.items[i], loaded->time);
	loaded->starts.count = 0;
	place_all(code, loaded, bias);
}

/*
 * Compares a KERNEL record with the address of its image, and corrects the index where they differ, because the record
 * is authoritative. Returns false if the image does not contain the kernel.
 */
static bool place_in_image(struct device_code *code, struct loaded_code *loaded, const struct code_function *function,
			   const struct iaprof_record_kernel *record)
{
	uint64_t address = device_address_plain(record->address), base;
	struct code_location there;
	bool is_start = code_table_find(remote_code_table(loaded->image->code), address - loaded->bias, &there) &&
			there.function->address == address - loaded->bias;
	/* A kernel may have several names. */
	if (!address || (is_start && (!function || strcmp(there.function->name, function->name) == 0))) {
		loaded->bias_is_certain |= is_start && function;
		return true;
	}
	if (!function)
		return false;
	if (remote_code_addresses(loaded->image->code, &base) == IAPROF_IMAGE_ADDRESSES_RELATIVE &&
	    !loaded->bias_is_certain)
		move_all(code, loaded, address - function->address);
	else
		add_range(code, loaded, loaded->image, address, function->size, function->address);
	loaded->bias_is_certain = true;
	return true;
}

/*
 * Derives from a kernel's address where its section, or the whole image, was loaded. Returns false if the image does
 * not contain the kernel.
 */
static bool place_section(struct device_code *code, struct loaded_code *loaded,
			  const struct iaprof_record_kernel *record)
{
	const struct code_table *table = remote_code_table(loaded->image->code);
	const struct code_function *function =
		code_table_function(table, intern_text(code->options.intern, record->name));
	uint64_t address = device_address_plain(record->address), base;
	if (loaded->has_bias)
		return place_in_image(code, loaded, function, record);
	if (function && remote_code_addresses(loaded->image->code, &base) == IAPROF_IMAGE_ADDRESSES_RELATIVE) {
		place_all(code, loaded, address - function->address);
		loaded->bias_is_certain = true;
		return true;
	}
	if (!function || !loaded->is_placed)
		return false;
	const struct code_section *section = &table->sections[function->section];
	uint64_t offset = function->address - section->address;
	if (!loaded->is_placed[function->section] && address >= offset) {
		loaded->is_placed[function->section] = true;
		add_range(code, loaded, loaded->image, address - offset, section->size, section->address);
	}
	return true;
}

/* Returns whether the index still has the image of a kernel whose code object was removed because its process ended. */
static bool is_in_image(struct device_code *code, const struct iaprof_record_kernel *record)
{
	struct code_found found;
	return record->code_object &&
	       code_index_find(code->index, 0, record->pid, device_address_plain(record->address),
			       time_of(&record->header), &found) &&
	       ((const struct device_image *)found.object)->code;
}

/* Remembers the code of a kernel under its id. */
static void add_kernel(struct device_code *code, const struct loaded_code *loaded,
		       const struct iaprof_record_kernel *record)
{
	struct kernel_code kernel = { .key = { record->header.source, record->id },
				      .pid = record->pid,
				      .code_object = loaded ? record->code_object : 0,
				      .loaded = time_of(&record->header),
				      .ended = UINT64_MAX,
				      .name = intern_text(code->options.intern, record->name) };
	if (loaded && loaded->image)
		kernel.function = code_table_function(remote_code_table(loaded->image->code), kernel.name);
	if (kernel.function)
		kernel.image = loaded->image;
	if (kernel_code_is_crowded(&code->kernels))
		kernel_code_forget(&code->kernels, &code->loaded, kernel.loaded > WINDOW ? kernel.loaded - WINDOW : 0,
				   kernel.loaded);
	if (record->id &&
	    (!kernel_code_add(&code->kernels, &kernel) || !loaded_code_add_owner(&code->loaded, record->pid)))
		code->statistics.refused++;
}

void device_code_take_kernel(struct device_code *code, const struct iaprof_record_kernel *record)
{
	/* A record with only a name refers to the kernels of other records. */
	code->statistics.kernels += record->code_object || record->address || !record->name;
	if (!code->options.live)
		return;
	uint32_t position = loaded_code_find(&code->loaded, record->header.source, record->code_object);
	struct loaded_code *loaded = position == LOADED_CODE_NONE ? NULL : &code->loaded.items.items[position];
	if (loaded && loaded->pid != record->pid)
		loaded = NULL; /* it belongs to another process */
	if (!record->address && !record->size) {
		add_kernel(code, loaded, record);
		return end_if_over(code, record->pid, time_of(&record->header));
	}
	if (loaded && loaded->ended) {
		loaded = NULL; /* its parts are in the index */
		position = LOADED_CODE_NONE;
	}
	if (loaded && loaded->image && place_section(code, loaded, record))
		return end_if_over(code, record->pid, loaded->time);
	if (position == LOADED_CODE_NONE && is_in_image(code, record))
		return;
	if (!record->address || !record->size || record->size > KERNEL_SIZE_MAX)
		code->statistics.unplaced++;
	else
		place_alone(code, loaded, record);
	end_if_over(code, record->pid, time_of(&record->header));
}

void device_code_take_launch(struct device_code *code, const struct iaprof_record_launch *record)
{
	code->statistics.launches = saturating_add(code->statistics.launches, record->count);
}

void device_code_end_process(struct device_code *code, uint32_t pid, uint64_t time)
{
	if (!loaded_code_has_owner(&code->loaded, pid))
		return;
	/* If a full index has moved its horizon beyond the end, the loads end at the horizon. */
	uint64_t horizon = code_index_horizon(code->index);
	code_index_end_process(code->index, pid, time < horizon ? horizon : time);
	kernel_code_end_process(&code->kernels, pid, time, time > WINDOW ? time - WINDOW : 0);
	loaded_code_end_process(&code->loaded, pid, time);
	loaded_code_forget(&code->loaded, time > WINDOW ? time - WINDOW : 0);
}

static struct device_code_found answer(const struct code_found *found)
{
	const struct device_image *image = found->object;
	return (struct device_code_found){ .pid = (uint32_t)found->process,
					   .code = image->code,
					   .kernel = image->kernel,
					   .address = found->address,
					   .life = { found->loaded, found->unloaded } };
}

bool device_code_find(struct device_code *code, uint64_t device, uint32_t pid, uint64_t address, uint64_t time,
		      struct device_code_found *found)
{
	struct code_found one;
	if (!(device && code_index_find(code->index, device, pid, address, time, &one)) &&
	    !code_index_find(code->index, 0, pid, address, time, &one))
		return false;
	*found = answer(&one);
	return true;
}

bool device_code_find_kernel(const struct device_code *code, uint16_t source, uint32_t kernel, uint64_t offset,
			     struct device_code_found *found)
{
	const struct kernel_code *known = kernel_code_find(&code->kernels, source, kernel);
	const struct code_function *function = known ? known->function : NULL;
	if (!known || (function && offset != DEVICE_CODE_WHOLE_KERNEL && offset >= function->size))
		return false;
	*found = (struct device_code_found){ .pid = known->pid, .kernel = known->name, .life = CODE_LIFE_ANY };
	found->is_whole = offset == DEVICE_CODE_WHOLE_KERNEL;
	found->code = known->image && (function || !found->is_whole) ? known->image->code : NULL;
	found->address = (function ? function->address : 0) + (found->is_whole ? 0 : offset);
	return true;
}

/* Adds the results of a lookup, as many as there is room for. Returns the new total, which may exceed capacity. */
static size_t add_found(struct device_code_found *found, size_t capacity, size_t count, const struct code_found *more,
			size_t more_count)
{
	for (size_t i = 0; i < more_count && i < DEVICE_CODE_FOUND_MAX && count + i < capacity; i++)
		found[count + i] = answer(&more[i]);
	return count + more_count;
}

size_t device_code_find_during(struct device_code *code, uint64_t device, uint32_t pid, uint64_t address,
			       uint64_t begin, uint64_t end, struct device_code_found *found, size_t capacity)
{
	struct code_found own[DEVICE_CODE_FOUND_MAX], any[DEVICE_CODE_FOUND_MAX];
	size_t own_count = device ? code_index_find_during(code->index, device, pid, address, begin, end, own,
							   DEVICE_CODE_FOUND_MAX)
				  : 0;
	size_t any_count = code_index_find_during(code->index, 0, pid, address, begin, end, any, DEVICE_CODE_FOUND_MAX);
	size_t own_known = own_count < DEVICE_CODE_FOUND_MAX ? own_count : DEVICE_CODE_FOUND_MAX;
	size_t any_known = any_count < DEVICE_CODE_FOUND_MAX ? any_count : DEVICE_CODE_FOUND_MAX;
	for (size_t i = 0, j = 0; i + j < capacity && i + j < DEVICE_CODE_FOUND_MAX && i + j < own_known + any_known;) {
		bool is_own = i < own_known && (j == any_known || own[i].loaded <= any[j].loaded);
		found[i + j] = answer(is_own ? &own[i] : &any[j]);
		*(is_own ? &i : &j) += 1;
	}
	return own_count + any_count;
}

size_t device_code_find_all_during(struct device_code *code, uint64_t device, uint64_t address, uint64_t begin,
				   uint64_t end, struct device_code_found *found, size_t capacity)
{
	struct code_found all[DEVICE_CODE_FOUND_MAX];
	size_t count = 0;
	for (int any = device ? 0 : 1; any < 2; any++) {
		size_t more = code_index_find_all_during(code->index, any ? 0 : device, address, begin, end, all,
							 DEVICE_CODE_FOUND_MAX);
		count = add_found(found, capacity, count, all, more);
	}
	return count;
}

static bool is_found(struct device_code *code, uint64_t device, uint32_t pid, uint64_t address, uint64_t begin,
		     uint64_t end)
{
	struct device_code_found found;
	return pid ? device_code_find_during(code, device, pid, address, begin, end, &found, 1)
		   : device_code_find_all_during(code, device, address, begin, end, &found, 1);
}

enum unmatched_reason device_code_unmatched(struct device_code *code, uint64_t device, uint32_t pid, uint64_t address,
					    uint64_t begin, uint64_t end)
{
	const struct loaded_code_owner *owner = pid ? keyed_array_get(&code->loaded.owners, &pid) : NULL;
	struct loaded_code_owner any = { .has_unreadable = code->has_unreadable, .has_unplaced = code->has_unplaced };
	if (is_found(code, device, pid, address, begin, end))
		return UNMATCHED_NO_FUNCTION;
	if (is_found(code, device, pid, address, 0, UINT64_MAX))
		return UNMATCHED_OTHER_TIME;
	if (pid ? !owner : !code->statistics.code_objects && !code->statistics.kernels)
		return UNMATCHED_NOT_ANNOUNCED;
	owner = owner ? owner : &any;
	return owner->has_unreadable ? UNMATCHED_UNREADABLE
	       : owner->has_unplaced ? UNMATCHED_UNPLACED
				     : UNMATCHED_ELSEWHERE;
}

struct device_code_statistics device_code_statistics(const struct device_code *code)
{
	struct device_code_statistics statistics = code->statistics;
	struct device_images_statistics images = device_images_statistics(code->images);
	statistics.images = images.images;
	statistics.unreadable = images.unreadable;
	statistics.damaged = images.damaged;
	statistics.unplaced_units = images.unplaced_units;
	return statistics;
}
