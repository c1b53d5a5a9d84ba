/* SPDX-License-Identifier: Apache-2.0 */
/* See sink_profile.h. */
#include "sink_profile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config/instance_configuration.h"
#include "run/instance.h"
#include "ratio.h"

#define PERIOD 10101010u
#define CALLER_DEPTH 12u
#define STACKS_OF_KERNEL 1000u /* places in a GPU kernel, each with several reasons */

void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "benchmark: %s\n", what);
	exit(EXIT_FAILURE);
}

static unsigned bits_of(uint32_t stacks)
{
	unsigned bits = 0;
	while (bits < 31 && 1u << bits < stacks)
		bits++;
	return bits;
}

/* Each level knows some more bits of the stack's number, and the leaf all of them. */
unsigned sink_profile_function(uint32_t stacks, uint32_t stack, unsigned level)
{
	unsigned bits = bits_of(stacks), known = bits * (level + 1) / SINK_PROFILE_DEPTH;
	return (level * 131u + (stack >> (bits - known)) * 7u) % SINK_PROFILE_FUNCTIONS;
}

void sink_profile_function_name(unsigned function, char name[SINK_PROFILE_NAME_MAX])
{
	snprintf(name, SINK_PROFILE_NAME_MAX, "library_%u_process_item_%u", function % 13, function);
}

/* A few weigh much and most little, as in real profiles: by Zipf's law, in a scattered order. */
uint64_t sink_profile_value(uint32_t stacks, uint32_t stack)
{
	return PERIOD * (uint64_t)(1 + stacks / (1 + (uint32_t)((uint64_t)stack * 2654435761u % stacks)));
}

static uint32_t add_frame(struct sink_profile *profile, const char *name, uint32_t kind, uint32_t flags,
			  uint64_t offset)
{
	bool is_user = kind == IAPROF_FRAME_USER;
	uint32_t frame = frame_table_add(&profile->frames,
					 &(struct iaprof_frame){ .name = name,
								 .module = is_user ? "/usr/lib/library.so" : NULL,
								 .kind = kind,
								 .flags = flags,
								 .offset = offset });
	need(frame != FRAME_NONE, "out of memory");
	return frame;
}

/* thread: 0: not known */
static void add_stack(struct sink_profile *profile, const uint32_t *frames, size_t count, uint64_t value,
		      uint32_t thread)
{
	char name[32];
	snprintf(name, sizeof name, "worker-%" PRIu32, thread);
	const struct stack_origin origin = { .thread = thread ? name : NULL, .tid = thread };
	uint32_t stack = frame_table_add_stack(&profile->frames, frames, count, &origin);
	need(stack != FRAME_NONE && value_table_add(&profile->values, stack, 0, value, value / PERIOD),
	     "out of memory");
}

static void add_functions(struct sink_profile *profile, uint32_t ids[SINK_PROFILE_FUNCTIONS])
{
	for (unsigned i = 0; i < SINK_PROFILE_FUNCTIONS; i++) {
		char name[SINK_PROFILE_NAME_MAX];
		sink_profile_function_name(i, name);
		ids[i] = add_frame(profile, name, IAPROF_FRAME_USER, 0, 0);
	}
}

/* threads: 0: not known */
static void add_cpu_stacks(struct sink_profile *profile, uint32_t stacks, uint32_t threads)
{
	uint32_t ids[SINK_PROFILE_FUNCTIONS], stack[SINK_PROFILE_DEPTH + 1];
	stack[0] = add_frame(profile, "program", IAPROF_FRAME_PROCESS, 0, 0);
	add_functions(profile, ids);
	for (uint32_t i = 0; i < stacks; i++) {
		for (unsigned level = 0; level < SINK_PROFILE_DEPTH; level++)
			stack[level + 1] = ids[sink_profile_function(stacks, i, level)];
		add_stack(profile, stack, SINK_PROFILE_DEPTH + 1, sink_profile_value(stacks, i),
			  threads ? 1 + i % threads : 0);
	}
}

#define THREADS 8u

/* What a GPU kernel's stacks have in common: its callers, the separator, its source and name. */
static size_t begin_kernel(struct sink_profile *profile, const uint32_t *functions, uint32_t kernel, uint32_t *stack)
{
	char name[128];
	size_t count = 0;
	stack[count++] = add_frame(profile, "model", IAPROF_FRAME_PROCESS, 0, 0);
	for (unsigned level = 0; level < CALLER_DEPTH; level++)
		stack[count++] = functions[(level * 131u + (kernel >> (CALLER_DEPTH - level - 1)) * 7u) %
					   SINK_PROFILE_FUNCTIONS];
	stack[count++] = add_frame(profile, "-", IAPROF_FRAME_SEPARATOR, 0, 0);
	snprintf(name, sizeof name, "layers/kernel_%u.cpp", kernel / 8);
	stack[count++] = add_frame(profile, name, IAPROF_FRAME_DEVICE_SOURCE, 0, 0);
	snprintf(name, sizeof name, "typeinfo name for gemm_kernel<half, float, %u, %u, 16>", 8 << kernel % 4, kernel);
	stack[count++] = add_frame(profile, name, IAPROF_FRAME_DEVICE_FUNCTION, 0, 0);
	return count;
}

static void add_gpu_stacks(struct sink_profile *profile, uint32_t stacks)
{
	static const char *const mnemonics[] = { "dpas.8x8", "mad", "send.ugm load.ugm.d32.a64", "mov", "sync.nop",
						 "add3",     "shl", "send.slm store.slm.d32x2" };
	static const char *const reasons[] = { "active", "sbid", "send", "dist_acc" };
	uint32_t ids[SINK_PROFILE_FUNCTIONS], stack[64];
	size_t common = 0;
	add_functions(profile, ids);
	for (uint32_t i = 0; i < stacks; i++) {
		uint32_t place = i % STACKS_OF_KERNEL / 4, offset = place * 16;
		char text[32];
		if (i % STACKS_OF_KERNEL == 0)
			common = begin_kernel(profile, ids, i / STACKS_OF_KERNEL, stack);
		size_t count = common;
		stack[count++] = add_frame(profile, mnemonics[place * 5 % 8], IAPROF_FRAME_DEVICE_INSTRUCTION, 0, 0);
		stack[count++] = add_frame(profile, reasons[i % 4], IAPROF_FRAME_STALL_REASON, 0, 0);
		snprintf(text, sizeof text, "0x%x", offset);
		stack[count++] = add_frame(profile, text, IAPROF_FRAME_DEVICE_OFFSET, 0, offset);
		add_stack(profile, stack, count, sink_profile_value(stacks, i) / PERIOD, 0);
	}
}

void sink_profile_make(struct sink_profile *profile, enum sink_profile_shape shape, uint32_t stacks)
{
	struct loss loss = { 0 };
	bool is_gpu = shape == SINK_PROFILE_GPU;
	*profile = (struct sink_profile){ .value_type = { .name = is_gpu ? "gpu-stalls" : "cpu",
							  .unit = is_gpu ? "count" : "nanoseconds",
							  .period = is_gpu ? 0 : PERIOD } };
	if (is_gpu)
		add_gpu_stacks(profile, stacks);
	else
		add_cpu_stacks(profile, stacks, shape == SINK_PROFILE_THREADS ? THREADS : 0);
	profile->snapshot = snapshot_new(&(struct snapshot_content){ .frames = &profile->frames,
								     .values = &profile->values,
								     .value_types = &profile->value_type,
								     .value_type_count = 1,
								     .loss = &loss,
								     .total = true });
	need(profile->snapshot, "out of memory");
	profile->snapshot->profile.flags |= IAPROF_PROFILE_FINAL;
}

void sink_profile_free(struct sink_profile *profile)
{
	snapshot_release(profile->snapshot);
	frame_table_free(&profile->frames);
	value_table_free(&profile->values);
}

double sink_write_seconds(const char *path, const char *argument, const char *output,
			  const struct sink_profile *profile)
{
	struct error error = { 0 };
	struct instance_configuration configuration = { 0 };
	struct instance_services services = { 0 };
	struct plugin *plugin = plugin_load(path, &error);
	struct instance *sink = NULL;
	if (plugin && !instance_read_argument(&configuration, argument, "--sink", &error))
		sink = instance_new(plugin, &configuration, 1, &services, &error);
	if (!sink || output_target_set(&sink->output, output, &error) || instance_configure(sink, &error) ||
	    instance_prepare(sink, &error))
		need(false, error.text);
	instance_release(&configuration);

	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	need(!instance_profile(sink, &profile->snapshot->profile), sink->error.text);
	need(!instance_finish(sink, &error), error.text);
	double seconds = cpu_seconds_since(begin);
	instance_free(sink);
	return seconds;
}

char *file_read(const char *path, size_t *size)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	need(descriptor >= 0 && !fstat(descriptor, &status), path);
	*size = (size_t)status.st_size;
	char *bytes = malloc(*size + 1);
	need(bytes && read(descriptor, bytes, *size) == (ssize_t)*size, path);
	return bytes;
}

double file_write_seconds(const char *bytes, size_t size, const char *path)
{
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	CLEANUP_CLOSE int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	need(descriptor >= 0 && write(descriptor, bytes, size) == (ssize_t)size, path);
	return cpu_seconds_since(begin);
}
