/* SPDX-License-Identifier: Apache-2.0 */
/* Device code of a run: see device_code.h. */
#include "profile/device_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bus/bus.h"
#include "process/proc_scan.h"
#include "profile/loaded_code.h"
#include "profile/value_table.h"
#include "symbolizer/device/code_index.h"
#include "symbolizer/device/device_address.h"

/* How far behind the newest event a look-up reaches: samples come seconds late at most. */
#define WINDOW (30 * NANOSECONDS_PER_SECOND)

#define DEVICE_COUNT_MAX 1024

/* Functions of one image that the bus is told of; libraries of kernels have some 10,000. */
#define FUNCTION_COUNT_MAX 65536

/* Kernels are within reach of an instruction base: 32 bits (compute-runtime, the instruction heap has 4 GiB). */
#define KERNEL_SIZE_MAX ((uint64_t)1 << 32)

struct device {
	uint16_t source;
	uint32_t id;
	uint32_t address; /* string id */
};

struct device_code {
	struct device_code_options options;
	struct device_images *images;
	struct code_index *index;
	struct loaded_code_table loaded;
	ARRAY(struct device) devices;
	struct device_code_statistics statistics;
};

struct device_code *device_code_new(const struct device_code_options *options)
{
	struct device_code *code = calloc(1, sizeof *code);
	if (!code)
		return NULL;
	code->options = *options;
	code->loaded = (struct loaded_code_table)LOADED_CODE_TABLE_INIT;
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
	code_index_free(code->index);
	device_images_free(code->images);
	array_free(&code->devices);
	free(code);
}

/* A time of the future would make everything else too old. */
static uint64_t time_of(const struct iaprof_record *record)
{
	uint64_t now = clock_monotonic();
	return record->time < now ? record->time : now;
}

static bool index_load(struct device_code *code, struct code_load *load)
{
	/* A kernel may be heard of long after its code object was loaded. */
	uint64_t horizon = code_index_horizon(code->index);
	if (load->time < horizon)
		load->time = horizon;
	int result = code_index_load(code->index, load);
	if (result == -ESTALE) { /* making room moved the horizon */
		load->time = code_index_horizon(code->index);
		result = code_index_load(code->index, load);
	}
	code->statistics.out_of_memory += result == -ENOMEM;
	code->statistics.refused += result && result != -ENOMEM;
	return !result;
}

/* Puts a part of a code object into the index. */
static void place(struct device_code *code, struct loaded_code *loaded, struct device_image *image, uint64_t start,
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

/* A program whose end was heard of before its loads. */
static void end_if_over(struct device_code *code, uint32_t pid, uint64_t time)
{
	const struct process *process = process_table_find(code->options.processes, pid, time);
	if (process && process->end != UINT64_MAX && process->end >= time)
		device_code_end_process(code, pid, process->end);
}

static void send_function(const struct device_code *code, const struct iaprof_record_code_object *object,
			  const struct code_function *function, bool is_placed)
{
	struct {
		struct iaprof_record_code_function head;
		struct iaprof_attribute attributes[IAPROF_ATTRIBUTE_COUNT_MAX];
	} record = { .head = { .header = { .type = IAPROF_RECORD_CODE_FUNCTION,
					   .source = object->header.source,
					   .time = clock_monotonic() },
			       .code_object = object->id,
			       .name = intern_text_id(code->options.intern, function->name),
			       .shown_name = intern_text_id(code->options.intern, function->shown),
			       .flags = function->is_kernel ? IAPROF_CODE_FUNCTION_KERNEL : 0,
			       .address = is_placed ? device_address_plain(function->address) : 0,
			       .size = function->size } };
	_Static_assert(IAPROF_ATTRIBUTE_COUNT_MAX >= KERNEL_ATTRIBUTE_COUNT_MAX, "all attributes fit");
	for (size_t i = 0; i < function->attribute_count; i++)
		record.attributes[i] = (struct iaprof_attribute){ .name = intern_text_id(code->options.intern,
											 function->attributes[i].name),
								  .value = function->attributes[i].value };
	record.head.attribute_count = (uint32_t)function->attribute_count;
	record.head.header.size =
		(uint32_t)(sizeof record.head + function->attribute_count * sizeof record.attributes[0]);
	bus_send(code->options.bus, &record.head.header);
}

void device_code_take_device(struct device_code *code, const struct iaprof_record_device *record)
{
	struct device device = { .source = record->header.source, .id = record->id, .address = record->address };
	if (record->address && code->devices.count < DEVICE_COUNT_MAX &&
	    !device_code_device(code, device.source, device.id))
		(void)array_push(&code->devices, device);
}

uint64_t device_code_device(const struct device_code *code, uint16_t source, uint32_t device)
{
	for (size_t i = 0; device && i < code->devices.count; i++)
		if (code->devices.items[i].source == source && code->devices.items[i].id == device)
			return code->devices.items[i].address;
	return 0;
}

/* Whose image it is: a program's start may be heard of after its loads. Nobody is trusted for one that is unknown. */
static struct file_identity owner_of(const struct device_code *code, uint32_t pid, uint64_t time)
{
	struct file_identity owner = { 0 };
	const struct process *process = process_table_find(code->options.processes, pid, time);
	if (proc_user(pid, &owner.owner))
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
	bool is_new = record->id && loaded_code_find(&code->loaded, source, record->id) == LOADED_CODE_NONE;
	uint32_t position = is_new ? loaded_code_add(&code->loaded, source, record->id, record->pid) : LOADED_CODE_NONE;
	if (position == LOADED_CODE_NONE) {
		code->statistics.refused++;
		return;
	}
	struct loaded_code *loaded = &code->loaded.items.items[position];
	loaded->device = device_code_device(code, source, record->device);
	loaded->time = time_of(&record->header);
	struct file_identity owner = owner_of(code, record->pid, loaded->time);
	if (!*path || device_images_open(code->images, path, record->machine, &owner, &loaded->image))
		return end_if_over(code, record->pid, loaded->time);
	bool is_placed = remote_code_is_placed(loaded->image->code);
	const struct code_table *table = remote_code_table(loaded->image->code);
	if (!is_placed) {
		loaded->is_placed = calloc(table->section_count + 1, sizeof *loaded->is_placed);
		code->statistics.out_of_memory += !loaded->is_placed;
	}
	for (size_t i = 0; is_placed && i < table->section_count; i++)
		place(code, loaded, loaded->image, device_address_plain(table->sections[i].address),
		      table->sections[i].size, table->sections[i].address);
	for (size_t i = 0; code->options.bus && i < table->function_count && i < FUNCTION_COUNT_MAX; i++)
		send_function(code, record, &table->functions[i], is_placed);
	if (code->options.bus && table->function_count > FUNCTION_COUNT_MAX)
		code->statistics.untold += table->function_count - FUNCTION_COUNT_MAX;
	end_if_over(code, record->pid, loaded->time);
}

void device_code_take_unload(struct device_code *code, const struct iaprof_record_code_object_unload *record)
{
	uint32_t position = loaded_code_find(&code->loaded, record->header.source, record->id);
	if (position == LOADED_CODE_NONE)
		return; /* its process has ended, or nobody announced it */
	const struct loaded_code *loaded = &code->loaded.items.items[position];
	for (size_t i = 0; i < loaded->starts.count; i++)
		code_index_unload(code->index, loaded->device, loaded->pid, loaded->starts.items[i],
				  time_of(&record->header));
	loaded_code_remove(&code->loaded, position);
}

/* Of a kernel whose image is not known, its name is. */
static void place_alone(struct device_code *code, struct loaded_code *loaded, const struct iaprof_record_kernel *record)
{
	struct loaded_code nobody = { .pid = record->pid, .time = time_of(&record->header) };
	struct device_image *image =
		device_images_add_kernel(code->images, intern_text(code->options.intern, record->name));
	if (!image || !loaded_code_add_owner(&code->loaded, record->pid))
		code->statistics.out_of_memory++;
	else
		place(code, loaded ? loaded : &nobody, image, device_address_plain(record->address), record->size, 0);
	array_free(&nobody.starts);
	device_image_release(image);
}

/* Where a kernel is says where its section was loaded. False when the image does not know the kernel. */
static bool place_section(struct device_code *code, struct loaded_code *loaded,
			  const struct iaprof_record_kernel *record)
{
	if (remote_code_is_placed(loaded->image->code))
		return true;
	const struct code_table *table = remote_code_table(loaded->image->code);
	const struct code_function *function =
		code_table_function(table, intern_text(code->options.intern, record->name));
	if (!function || !loaded->is_placed)
		return false;
	const struct code_section *section = &table->sections[function->section];
	uint64_t offset = function->address - section->address, address = device_address_plain(record->address);
	if (!loaded->is_placed[function->section] && address >= offset) {
		loaded->is_placed[function->section] = true;
		place(code, loaded, loaded->image, address - offset, section->size, section->address);
	}
	return true;
}

/* Whether the index has the image of a kernel whose code object has gone: its process ended before this was told. */
static bool is_in_image(struct device_code *code, const struct iaprof_record_kernel *record)
{
	struct code_found found;
	return record->code_object &&
	       code_index_find(code->index, 0, record->pid, device_address_plain(record->address),
			       time_of(&record->header), &found) &&
	       ((const struct device_image *)found.object)->code;
}

void device_code_take_kernel(struct device_code *code, const struct iaprof_record_kernel *record)
{
	code->statistics.kernels++;
	if (!code->options.live)
		return;
	/* None has the id 0. */
	uint32_t position = loaded_code_find(&code->loaded, record->header.source, record->code_object);
	struct loaded_code *loaded = position == LOADED_CODE_NONE ? NULL : &code->loaded.items.items[position];
	if (loaded && loaded->pid != record->pid)
		loaded = NULL; /* somebody else's */
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
	/* What a full index has forgotten the time of must end too: nobody else ends it. */
	uint64_t horizon = code_index_horizon(code->index);
	code_index_end_process(code->index, pid, time < horizon ? horizon : time);
	loaded_code_end_process(&code->loaded, pid, time);
}

static struct device_code_found answer(const struct code_found *found)
{
	const struct device_image *image = found->object;
	return (struct device_code_found){ .pid = (uint32_t)found->process,
					   .code = image->code,
					   .kernel = image->kernel,
					   .address = found->address,
					   .loaded = found->loaded };
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

/* Adds what a look-up gave, of which there may be more than there is room for; returns the new count. */
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

struct device_code_statistics device_code_statistics(const struct device_code *code)
{
	struct device_code_statistics statistics = code->statistics;
	struct device_images_statistics images = device_images_statistics(code->images);
	statistics.images = images.images;
	statistics.unreadable = images.unreadable;
	statistics.damaged = images.damaged;
	return statistics;
}
