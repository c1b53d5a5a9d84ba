/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live source with device samples, code and launches of two processes. A replay takes attributed
 * samples from the capture; here the correlator attributes them: to one process or two, to several launch sites, to
 * code that was unloaded or replaced, by activity, and to nothing. All times are relative to the start.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <iaprof/plugin.h>

#define MILLISECOND UINT64_C(1000000)
/* Which of the two processes: iaprof and its parent, whose rights images are opened with. */
#define FIRST 0
#define SECOND 1

struct source {
	const char *image, *instructions;

	const struct iaprof_host *host;
	uint32_t pids[2];
	uint64_t begin;
	uint64_t turns;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, image, STRING, "image", NULL, "Path of the image"),
	IAPROF_OPTION(struct source, instructions, STRING, "instructions", NULL,
		      "Path of the list of its instructions"),
};

static uint32_t text(const struct source *source, const char *string)
{
	return source->host->intern_string(source->host, string, strlen(string));
}

/* Sends a record of a type at a time, in milliseconds from the start. */
static int emit(const struct source *source, void *record, size_t size, uint16_t type, uint64_t time)
{
	struct iaprof_record *header = record;
	header->type = type;
	header->size = (uint32_t)size;
	header->time = source->begin + time * MILLISECOND;
	return source->host->emit(source->host, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 });
}

#define EMIT(source, type, time, ...)                                                                                  \
	({                                                                                                             \
		__VA_ARGS__;                                                                                           \
		emit(source, &record, sizeof record, type, time);                                                      \
	})

static int send_devices(const struct source *source)
{
	static const char *const reasons[] = { "active", "sbid", "send" };
	int result = 0;
	for (uint32_t i = 1; !result && i <= 2; i++)
		result = EMIT(source, IAPROF_RECORD_DEVICE, 0,
			      struct iaprof_record_device record = {
				      .id = i, .machine = 205, .name = text(source, i == 1 ? "tile 0" : "tile 1") });
	for (uint32_t i = 0; !result && i < 3; i++)
		result = EMIT(
			source, IAPROF_RECORD_STALL_REASON, 0,
			struct iaprof_record_stall_reason record = { .id = i,
								     .name = text(source, reasons[i]),
								     .flags = i == 1 ? IAPROF_STALL_REASON_WAITS : 0 });
	return result;
}

struct known_kernel {
	uint32_t id, code_object, process;
	const char *name;
	uint64_t address, size;
};

/* Sizes are those of the image's sections. Both processes have code at the same addresses. */
static const struct known_kernel kernels[] = {
	{ 1, 1, FIRST, "matmul_tile", 0x10000, 0x780 },   { 2, 1, FIRST, "softmax_row", 0x20000, 0x7c0 },
	{ 3, 2, SECOND, "matmul_tile", 0x10000, 0x780 },  { 4, 2, SECOND, "bias_gelu", 0x30000, 0xd80 },
	{ 5, 0, FIRST, "without_image", 0x40000, 0x100 }, { 6, 1, FIRST, "tiny", 0x50000, 0x140 },
	{ 7, 3, FIRST, "rotate_spill", 0x60000, 0x10c0 },
};

static int send_code(const struct source *source)
{
	int result = 0;
	for (uint32_t i = 1; !result && i <= 3; i++)
		result = EMIT(source, IAPROF_RECORD_CODE_OBJECT, 0,
			      struct iaprof_record_code_object record = { .id = i,
									  .pid = source->pids[i == 2 ? SECOND : FIRST],
									  .machine = 205,
									  .path = text(source, source->image) });
	for (size_t i = 0; !result && i < sizeof kernels / sizeof *kernels; i++)
		result = EMIT(source, IAPROF_RECORD_KERNEL, 1,
			      struct iaprof_record_kernel record = { .id = kernels[i].id,
								     .code_object = kernels[i].code_object,
								     .pid = source->pids[kernels[i].process],
								     .name = text(source, kernels[i].name),
								     .address = kernels[i].address,
								     .size = kernels[i].size });
	return result;
}

/* A stack is a return address in no mapping: its frames are unknown, but stacks of different depth are kept apart. */
static int send_launch(const struct source *source, uint32_t kernel, unsigned process, uint32_t depth, uint64_t count,
		       uint64_t time)
{
	uint64_t addresses[8];
	uint32_t pid = source->pids[process];
	for (uint32_t i = 0; i < depth; i++)
		addresses[i] = 0x1000 * (i + 1);
	return EMIT(source, IAPROF_RECORD_LAUNCH, time,
		    struct iaprof_record_launch record = {
			    .kernel = kernel,
			    .pid = pid,
			    .user_stack = depth ? source->host->intern_stack(source->host, pid, addresses, depth) : 0,
			    .count = count,
			    .first_time = source->begin + 2 * MILLISECOND });
}

static int send_launches(const struct source *source)
{
	int result = send_launch(source, 1, FIRST, 1, 30, 10); /* three sites of one kernel: shares */
	result = result ? result : send_launch(source, 1, FIRST, 2, 20, 10);
	result = result ? result : send_launch(source, 1, FIRST, 3, 10, 10);
	result = result ? result : send_launch(source, 2, FIRST, 4, 7, 10);
	result = result ? result : send_launch(source, 3, SECOND, 5, 60, 10);
	result = result ? result : send_launch(source, 4, SECOND, 0, 1, 10);
	result = result ? result : send_launch(source, 5, FIRST, 6, 2, 10);
	return result ? result : send_launch(source, 7, FIRST, 7, 3, 10); /* 6 is never launched */
}

struct stall {
	struct iaprof_record_stall_sample head;
	uint64_t counts[3];
};

static int send_stalls(const struct source *source, uint32_t device, uint64_t address, uint32_t pid, uint64_t begin,
		       uint64_t end)
{
	struct stall record = { .head = { .begin = source->begin + begin * MILLISECOND,
					  .address = address,
					  .device = device,
					  .pid = pid,
					  .reason_count = 3 },
				.counts = { address % 7, address / 16 % 101, 1 + end % 3 } };
	return emit(source, &record, sizeof record, IAPROF_RECORD_STALL_SAMPLE, end);
}

static int send_activity(const struct source *source, uint32_t pid, uint64_t busy, uint64_t begin, uint64_t end)
{
	return EMIT(source, IAPROF_RECORD_DEVICE_ACTIVITY, end,
		    struct iaprof_record_device_activity record = { .begin = source->begin + begin * MILLISECOND,
								    .busy = busy * MILLISECOND,
								    .device = 1,
								    .pid = pid,
								    .kind = IAPROF_ACTIVITY_SCHEDULER });
}

/* Returns whether an instruction begins at an offset in a kernel, according to the list. */
static bool is_instruction(const struct source *source, const char *kernel, uint64_t offset)
{
	char line[1024], name[256];
	uint64_t listed;
	bool found = false;
	FILE *list = fopen(source->instructions, "r");
	while (list && !found && fgets(line, sizeof line, list))
		found = sscanf(line, "%*s %255s %" SCNx64, name, &listed) == 2 && listed == offset &&
			strcmp(name, kernel) == 0;
	if (list)
		fclose(list);
	return found;
}

/* Returns whether samples are taken at an address: where an instruction begins, if there is an image. */
static bool is_sampled(const struct source *source, uint64_t address)
{
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
		uint64_t offset = address - kernels[i].address;
		bool is_replaced = source->turns > 2 && kernels[i].id == 7;
		if (offset < kernels[i].size && kernels[i].code_object)
			return is_instruction(source, is_replaced ? "histogram" : kernels[i].name, offset);
	}
	return true;
}

/* The instructions of a range of addresses, in one interval. */
static int send_range(const struct source *source, uint32_t device, uint64_t address, uint64_t size, uint32_t pid,
		      uint64_t begin, uint64_t end)
{
	int result = 0;
	for (uint64_t offset = 0; !result && offset < size; offset += 0x10)
		if (is_sampled(source, address + offset))
			result = send_stalls(source, device, address + offset, pid, begin, end);
	return result;
}

static int send_samples(const struct source *source)
{
	int result = send_range(source, 2, 0x10000, 0x200, 0, 20, 30); /* two processes, no activity: ambiguous */
	result = result ? result
			: send_range(source, 2, 0x10000, 0x80, source->pids[SECOND], 20,
				     30); /* the source knows whose */
	result = result ? result : send_activity(source, source->pids[FIRST], 3, 30, 40);
	result = result ? result : send_activity(source, source->pids[SECOND], 1, 30, 40);
	result = result ? result : send_range(source, 1, 0x10000, 0x200, 0, 30, 40); /* in proportion */
	result = result ? result : send_activity(source, source->pids[SECOND], 10, 40, 50);
	result = result ? result : send_range(source, 1, 0x10000, 0x100, 0, 40, 50); /* one was active */
	result = result ? result : send_range(source, 1, 0x20000, 0x7c0, 0, 20, 30);
	result = result ? result : send_range(source, 1, 0x30000, 0x400, 0, 20, 30);
	result = result ? result : send_range(source, 1, 0x40000, 0x100, 0, 20, 30);
	result = result ? result : send_range(source, 1, 0x50000, 0x140, 0, 20, 30);
	result = result ? result : send_range(source, 1, 0x60000, 0x800, 0, 20, 30);
	result = result ? result : send_range(source, 1, 0x70000, 0x20, 0, 20, 30); /* no code there */
	result = result ? result : send_range(source, 1, 0x200007c0, 0x40, 0, 20, 30);
	return result;
}

static int send_unload(const struct source *source)
{
	int result = EMIT(source, IAPROF_RECORD_CODE_OBJECT_UNLOAD, 60,
			  struct iaprof_record_code_object_unload record = { .id = 3, .pid = source->pids[FIRST] });
	/* Other code comes to its address. */
	result = result ? result
			: EMIT(source, IAPROF_RECORD_CODE_OBJECT, 70,
			       struct iaprof_record_code_object record = { .id = 4,
									   .pid = source->pids[FIRST],
									   .machine = 205,
									   .path = text(source, source->image) });
	result = result ? result
			: EMIT(source, IAPROF_RECORD_KERNEL, 70,
			       struct iaprof_record_kernel record = { .id = 8,
								      .code_object = 4,
								      .pid = source->pids[FIRST],
								      .name = text(source, "histogram"),
								      .address = 0x60000,
								      .size = 0x740 });
	result = result ? result : send_launch(source, 8, FIRST, 8, 5, 75);
	return result ? result : send_range(source, 1, 0x60000, 0x740, 0, 80, 90);
}

static int send_parts(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	struct source *source = instance;
	int result = 0;
	/* Images are read meanwhile. */
	for (; !result && expirations && source->turns < 4; expirations--)
		switch (source->turns++) {
		case 0:
			result = send_launches(source);
			break;
		case 1:
			result = send_samples(source);
			break;
		case 2:
			result = send_unload(source);
			break;
		default:
			source->host->finished(source->host);
			break;
		}
	return result;
}

static int start(const struct iaprof_host *host, void *instance)
{
	struct source *source = instance;
	source->host = host;
	source->begin = host->clock(host);
	source->pids[FIRST] = (uint32_t)getpid();
	source->pids[SECOND] = (uint32_t)getppid();
	int result = send_devices(source);
	result = result ? result : send_code(source);
	return result ? result : host->on_timer(host, 300 * MILLISECOND, send_parts);
}

static int stop(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.start = start,
	.stop = stop,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "attribution-source",
	.description = "device samples of two processes",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct source),
	.source = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
