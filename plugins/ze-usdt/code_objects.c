/* SPDX-License-Identifier: Apache-2.0 */
/* See code_objects.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/keyed_hash.h"
#include "code_objects.h"
#include "recordings.h"

/* More than any program has. Above it, all are forgotten and defined again under new ids when they are next used. */
#define MODULES_MAX 65536u
#define KERNELS_MAX 65536u

/* All code of a process is in a region of this size, which the hardware's instruction pointers are relative to. */
#define CODE_REGION_SIZE (UINT64_C(1) << 32)

int code_objects_init(struct code_objects *objects, const struct iaprof_host *host, struct warning_limit *warnings,
		      struct record_batch *batch)
{
	objects->host = host;
	objects->warnings = warnings;
	objects->batch = batch;
	int result = device_images_init(&objects->images);
	return result ? host->fail(host, result, "cannot allocate image cache: %s", strerror(-result)) : 0;
}

void code_objects_free(struct code_objects *objects)
{
	device_images_free(&objects->images);
	pointer_map_free(&objects->modules);
	pointer_map_free(&objects->kernels);
}

static int out_of_memory(const struct iaprof_host *host)
{
	return host->fail(host, ENOMEM, "out of memory");
}

static uint64_t module_key(const struct ze_process *process, uint64_t number)
{
	const uint64_t parts[] = { process->program, process->id, number };
	return hash_bytes(parts, sizeof parts);
}

static int code_object_emit(struct code_objects *objects, const struct ze_event *event,
			    const struct device_image *image, uint32_t id)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", image->descriptor);
	struct iaprof_record_code_object object = {
		.header = { .size = sizeof object, .type = IAPROF_RECORD_CODE_OBJECT, .time = event->time },
		.id = id,
		.pid = event->process.id,
		.machine = image->range.machine,
		.address = image->range.address,
		.size = image->range.size,
		/* The base is announced with the kernels. */
		.instruction_window = CODE_REGION_SIZE,
		.path = record_batch_text(objects->batch, path),
	};
	return record_batch_append(objects->batch, &object.header);
}

/* Kernels that were launched before their module was announced are defined again, under new ids. */
static bool kernel_lacks_module(void *value, void *context)
{
	const struct kernel *kernel = value;
	const struct ze_event *event = context;

	if (!kernel->lacks_module || kernel->process.id != event->process.id ||
	    kernel->process.program != event->process.program || kernel->module != event->module)
		return false;
	free(value);
	return true;
}

/* known: the module, or NULL. id: of its code object; 0: its image could not be read. */
static int module_remember(struct code_objects *objects, const struct ze_event *event, struct module *known,
			   uint32_t id)
{
	struct ze_event announced = *event;

	if (objects->missed_time)
		pointer_map_sweep(&objects->kernels, kernel_lacks_module, &announced);
	if (known) {
		known->code_object = id;
		return 0;
	}
	if (objects->modules.count >= MODULES_MAX)
		pointer_map_sweep(&objects->modules, NULL, NULL);
	struct module *module = malloc(sizeof *module);
	if (!module)
		return out_of_memory(objects->host);
	*module = (struct module){ .process = event->process, .number = event->module, .code_object = id };
	if (!pointer_map_add(&objects->modules, module_key(&event->process, event->module), module)) {
		free(module);
		return out_of_memory(objects->host);
	}
	return 0;
}

int code_objects_add_module(struct code_objects *objects, const struct ze_event_compile *compile)
{
	const struct iaprof_host *host = objects->host;
	const struct ze_event *event = &compile->event;
	struct announced_image claim = { .path = compile->path, .process = event->process.id, .user = event->user };
	struct module *known =
		event->module ? pointer_map_find(&objects->modules, module_key(&event->process, event->module)) : NULL;
	const char *reason = NULL;
	const struct device_image *image = NULL;

	if (compile->path_bytes <= 0)
		reason = "its path could not be read";
	else if (compile->path_bytes >= (int64_t)sizeof compile->path)
		reason = "its path is too long";
	else
		image = device_images_read(&objects->images, &claim, host->clock(host), &reason);
	if (!image) {
		objects->images_failed++;
		warning_limit_log(objects->warnings, "code object of process %" PRIu32 " in %.300s: %s",
				  event->process.id, compile->path_bytes > 0 ? compile->path : "(no path)", reason);
		host->lost(host, "code object could not be read", event->time, 1, 0, 0);
		return event->module && !known ? module_remember(objects, event, NULL, 0) : 0;
	}
	/* A module is announced again to profilers that attach later. */
	if (known && known->code_object)
		return 0;
	uint32_t id = ++objects->code_object_count;
	int result = code_object_emit(objects, event, image, id);
	if (result == 0 && event->module)
		result = module_remember(objects, event, known, id);
	return result;
}

static bool kernel_is_of_module(void *value, void *context)
{
	const struct kernel *kernel = value;
	const struct ze_event *unload = context;

	if (kernel->process.id != unload->process.id || kernel->process.program != unload->process.program ||
	    kernel->module != unload->module)
		return false;
	free(value);
	return true;
}

int code_objects_remove_module(struct code_objects *objects, const struct ze_event *unload)
{
	struct module *module = pointer_map_remove(&objects->modules, module_key(&unload->process, unload->module));

	if (!module) /* its image could not be read */
		return 0;
	struct iaprof_record_code_object_unload record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_CODE_OBJECT_UNLOAD, .time = unload->time },
		.id = module->code_object,
		.pid = unload->process.id,
	};
	free(module);
	struct ze_event gone = *unload;
	pointer_map_sweep(&objects->kernels, kernel_is_of_module, &gone);
	return record_batch_append(objects->batch, &record.header);
}

/* module: NULL if it is not known. */
static int kernel_emit(struct code_objects *objects, const struct ze_kernel *kernel, const struct module *module,
		       uint32_t id)
{
	const struct iaprof_host *host = objects->host;
	struct iaprof_record_kernel record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_KERNEL, .time = kernel->first_time },
		.id = id,
		.code_object = module ? module->code_object : 0,
		.pid = kernel->process.id,
		.name = host->intern_string(host, kernel->name,
					    kernel->name_bytes ? strnlen(kernel->name, sizeof kernel->name) : 0),
		.address = canonical_form_remove(kernel->address),
		.size = kernel->size,
		.instruction_base = canonical_form_remove(kernel->instruction_base),
		.instruction_window = CODE_REGION_SIZE,
	};
	if (record.size > CODE_REGION_SIZE) {
		warning_limit_log(objects->warnings,
				  "invalid size of a kernel in process %" PRIu32 ": %" PRIu64 " bytes",
				  kernel->process.id, record.size);
		record.size = 0;
	}
	return record_batch_append(objects->batch, &record.header);
}

/* Notes that the kernel was launched before its module was announced. */
static void note_missed(struct code_objects *objects, const struct ze_kernel *kernel)
{
	if (kernel->first_time > objects->missed_time)
		objects->missed_time = kernel->first_time;
}

int code_objects_add_kernel(struct code_objects *objects, uint64_t hash, const struct ze_kernel *kernel)
{
	struct kernel *known = pointer_map_find(&objects->kernels, hash);

	if (known) {
		if (known->lacks_module)
			note_missed(objects, kernel);
		return 0;
	}
	if (objects->kernels.count >= KERNELS_MAX)
		pointer_map_sweep(&objects->kernels, NULL, NULL);
	known = malloc(sizeof *known);
	if (!known)
		return out_of_memory(objects->host);
	const struct module *module =
		kernel->module ? pointer_map_find(&objects->modules, module_key(&kernel->process, kernel->module))
			       : NULL;
	*known = (struct kernel){ .process = kernel->process,
				  .module = kernel->module,
				  .id = ++objects->kernel_count,
				  .lacks_module = kernel->module && !module };
	if (known->lacks_module) {
		note_missed(objects, kernel);
		objects->missed_count++;
	}
	if (!pointer_map_add(&objects->kernels, hash, known)) {
		free(known);
		return out_of_memory(objects->host);
	}
	return kernel_emit(objects, kernel, module, known->id);
}

const struct kernel *code_objects_find_kernel(const struct code_objects *objects, uint64_t hash)
{
	return pointer_map_find(&objects->kernels, hash);
}

static bool kernel_is_over(void *value, void *context)
{
	if (!ze_process_is_over(&((const struct kernel *)value)->process, context))
		return false;
	free(value);
	return true;
}

static bool module_is_over(void *value, void *context)
{
	if (!ze_process_is_over(&((const struct module *)value)->process, context))
		return false;
	free(value);
	return true;
}

void code_objects_forget_process(struct code_objects *objects, const struct ze_process *ended)
{
	struct ze_process over = *ended;
	pointer_map_sweep(&objects->kernels, kernel_is_over, &over);
	pointer_map_sweep(&objects->modules, module_is_over, &over);
}
