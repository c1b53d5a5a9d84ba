/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device source to start from: a fictional accelerator and its runtime, which are the functions that begin with
 * fake_. Replace these by your driver and runtime. The rest sends the records of which a profile of a device is made;
 * iaprof-plugin(7) explains them in the chapter on devices.
 */
#define _GNU_SOURCE /* dladdr() */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <iaprof/iaprof.h>

enum { DEVICE = 1, CODE_OBJECT = 1, COUNTER_STEPS = 1, REASON_DATA = 0, REASON_BARRIER = 1, REASON_COUNT };
enum { MATMUL, SOFTMAX, KERNEL_COUNT }; /* the id of a KERNEL is one more */

struct accelerator {
	uint64_t period, steps; /* options */
	const struct iaprof_host *host;
	uint64_t step, step_end; /* steps so far, and when the last one ended */
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct accelerator, period, DURATION, "period", "10ms", "Duration of a step", .minimum = 1000000,
		      .maximum = 1000000000),
	IAPROF_OPTION(struct accelerator, steps, UINT, "steps", "20", "Number of steps", .minimum = 1,
		      .maximum = 100000),
};

/* The device's code is in the image that this file becomes. Nobody calls these functions. */
static volatile int fake_memory;
#define FAKE_FUNCTION(name)                                                                                            \
	__attribute__((noinline)) static void name(void)                                                               \
	{                                                                                                              \
		fake_memory = fake_memory * 3 + __LINE__;                                                              \
		fake_memory = fake_memory * 5 + __LINE__;                                                              \
	}
FAKE_FUNCTION(matmul)
FAKE_FUNCTION(softmax)
/* The program's code: train_step() calls forward() and backward(), which launch kernels. */
FAKE_FUNCTION(train_step)
FAKE_FUNCTION(forward)
FAKE_FUNCTION(backward)

static const struct fake_kernel {
	const char *name;
	void (*code)(void);
	uint32_t size;
} fake_kernels[KERNEL_COUNT] = { { "matmul", matmul, 16 }, { "softmax", softmax, 16 } };

/* What happens in each step. */
static const struct fake_launch {
	void (*caller)(void);
	uint32_t kernel, count;
} fake_launches[] = { { forward, MATMUL, 3 }, { backward, MATMUL, 1 }, { forward, SOFTMAX, 1 } };
static const struct fake_stall {
	uint32_t kernel, offset;
	uint64_t counts[REASON_COUNT];
} fake_stalls[] = { { MATMUL, 0, { 32, 12 } }, { MATMUL, 4, { 4, 0 } }, { SOFTMAX, 8, { 0, 16 } } };

static struct iaprof_record header(uint16_t type, size_t size, uint64_t time)
{
	return (struct iaprof_record){ .type = type, .size = (uint32_t)size, .time = time };
}

static int send_record(const struct iaprof_host *host, const void *record, size_t size)
{
	return host->emit(host, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 });
}
#define SEND(host, record) send_record(host, &(record), sizeof(record))

static uint32_t text(const struct iaprof_host *host, const char *string)
{
	return host->intern_string(host, string, strlen(string));
}

static int send_launch(const struct accelerator *accelerator, const struct fake_launch *fake, uint64_t time)
{
	const struct iaprof_host *host = accelerator->host;
	/* Innermost first. All but the innermost are return addresses, which follow a call. */
	uint64_t stack[] = { (uintptr_t)fake->caller, (uintptr_t)train_step + 1 };
	struct iaprof_record_launch launch = {
		.header = header(IAPROF_RECORD_LAUNCH, sizeof launch, time),
		.kernel = fake->kernel + 1,
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.device = DEVICE,
		.user_stack = host->intern_stack(host, (uint32_t)getpid(), stack, sizeof stack / sizeof *stack),
		.count = fake->count,
		.first_time = time,
	};
	return SEND(host, launch);
}

static int send_stall(const struct accelerator *accelerator, const struct fake_stall *fake, uint64_t time)
{
	struct {
		struct iaprof_record_stall_sample sample;
		uint64_t counts[REASON_COUNT];
	} stall = { .sample = { .header = header(IAPROF_RECORD_STALL_SAMPLE, sizeof stall, time),
				.begin = accelerator->step_end,
				.address = (uintptr_t)fake_kernels[fake->kernel].code + fake->offset,
				.device = DEVICE,
				.reason_count = REASON_COUNT,
				.array_offset = IAPROF_ARRAY_OFFSET(struct iaprof_record_stall_sample),
				.pid = (uint32_t)getpid() } };
	memcpy(stall.counts, fake->counts, sizeof stall.counts);
	return SEND(accelerator->host, stall);
}

/* Sends a step: launches, then what the device measured, then how far the source has come. */
static int step_ended(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	struct accelerator *accelerator = instance;
	uint64_t now = host->clock(host);
	int result = 0;
	(void)expirations;
	if (accelerator->step == accelerator->steps)
		return 0;
	for (size_t i = 0; !result && i < sizeof fake_launches / sizeof *fake_launches; i++)
		result = send_launch(accelerator, &fake_launches[i], accelerator->step_end + 1);
	for (size_t i = 0; !result && i < sizeof fake_stalls / sizeof *fake_stalls; i++)
		result = send_stall(accelerator, &fake_stalls[i], now);
	struct iaprof_record_job job = { .header = header(IAPROF_RECORD_JOB, sizeof job, now),
					 .submitted = accelerator->step_end,
					 .queued = accelerator->step_end,
					 .started = accelerator->step_end,
					 .id = (uint32_t)++accelerator->step,
					 .pid = (uint32_t)getpid(),
					 .device = DEVICE,
					 .engine = text(host, "compute"),
					 .state = IAPROF_JOB_DONE };
	struct iaprof_record_counter_value steps = { .header = header(IAPROF_RECORD_COUNTER_VALUE, sizeof steps, now),
						     .counter = COUNTER_STEPS,
						     .value = (double)accelerator->step };
	accelerator->step_end = now;
	if (!result)
		result = SEND(host, job);
	if (!result)
		result = SEND(host, steps);
	if (!result)
		result = host->advance(host, now); /* last: samples up to now need not wait for launches any longer */
	if (accelerator->step == accelerator->steps)
		host->finished(host);
	return result;
}

static int send_code(const struct iaprof_host *host, uint64_t now)
{
	Dl_info image;
	if (!dladdr((const void *)fake_kernels, &image))
		return host->fail(host, ENOENT, "cannot find the file of this plugin");
	const Elf64_Ehdr *elf = image.dli_fbase;
	struct iaprof_record_code_object object = {
		.header = header(IAPROF_RECORD_CODE_OBJECT, sizeof object, now),
		.id = CODE_OBJECT,
		.pid = (uint32_t)getpid(),
		.device = DEVICE,
		.machine = elf->e_machine,
		.address = (uintptr_t)image.dli_fbase,
		.path = text(host, image.dli_fname),
	};
	int result = SEND(host, object);
	for (uint32_t i = 0; !result && i < KERNEL_COUNT; i++) {
		struct iaprof_record_kernel kernel = { .header = header(IAPROF_RECORD_KERNEL, sizeof kernel, now),
						       .id = i + 1,
						       .code_object = CODE_OBJECT,
						       .pid = (uint32_t)getpid(),
						       .name = text(host, fake_kernels[i].name),
						       .address = (uintptr_t)fake_kernels[i].code,
						       .size = fake_kernels[i].size };
		result = SEND(host, kernel);
	}
	return result;
}

static int start(const struct iaprof_host *host, void *instance)
{
	static const struct {
		const char *name;
		uint32_t stall_class;
	} reasons[REASON_COUNT] = {
		[REASON_DATA] = { "data", IAPROF_STALL_DATA }, [REASON_BARRIER] = { "barrier", IAPROF_STALL_BARRIER }
	};
	struct accelerator *accelerator = instance;
	uint64_t now = host->clock(host);
	accelerator->host = host;
	accelerator->step_end = now;
	struct iaprof_record_device device = { .header = header(IAPROF_RECORD_DEVICE, sizeof device, now),
					       .id = DEVICE,
					       .name = text(host, "Accelerator 4000") };
	struct iaprof_record_counter counter = { .header = header(IAPROF_RECORD_COUNTER, sizeof counter, now),
						 .id = COUNTER_STEPS,
						 .name = text(host, "steps"),
						 .unit = text(host, "count"),
						 .kind = IAPROF_COUNTER_CUMULATIVE,
						 .device = DEVICE };
	int result = SEND(host, device);
	if (!result)
		result = SEND(host, counter);
	for (uint32_t i = 0; !result && i < REASON_COUNT; i++) {
		struct iaprof_record_stall_reason reason = { .header = header(IAPROF_RECORD_STALL_REASON, sizeof reason,
									      now),
							     .id = i,
							     .name = text(host, reasons[i].name),
							     .stall_class = reasons[i].stall_class };
		result = SEND(host, reason);
	}
	if (!result)
		result = send_code(host, now);
	return result ? result : host->on_timer(host, accelerator->period, step_ended);
}

static int stop(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.start = start,
	.stop = stop,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_NEEDS_PROCESSES,
	.name = "accelerator",
	.version = "1.0",
	.description = "Stall samples of a fictional accelerator",
	.instance_size = sizeof(struct accelerator),
	.source = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
