/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that is right but for one fault, FAULT_NAME, with which it is built: iaprof-plugin-check has to find each.
 * Without a fault it is a source whose checks all pass, as they do with FAULT_ADVANCE, which is none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <iaprof/plugin.h>

struct faulty {
	const struct iaprof_host *host;
	uint64_t number;
	int fd;
};

static const struct iaprof_option options[] = {
	{
#ifdef FAULT_RESERVED
		.name = "isolate",
#else
		.name = "number",
#endif
		.type = IAPROF_OPTION_UINT,
		.offset = offsetof(struct faulty, number),
#ifdef FAULT_DEFAULT
		.default_value = "many",
#endif
#ifndef FAULT_HELP
		.help = "A number.",
#endif
	},
};

#ifdef FAULT_EXPORT
IAPROF_EXPORT int helper(void);
int helper(void)
{
	return 0;
}
#endif

static int configure(const struct iaprof_host *host, void *instance)
{
	struct faulty *faulty = instance;
	faulty->host = host;
	faulty->fd = -1;
#ifdef FAULT_SILENT
	return -EIO;
#else
	return 0;
#endif
}

static void destroy(const struct iaprof_host *host, void *instance)
{
	struct faulty *faulty = instance;
	(void)host;
#ifdef FAULT_CRASH
	abort();
#endif
#ifdef FAULT_LEAK
	faulty->fd = -1;
#endif
	if (faulty->fd >= 0)
		close(faulty->fd);
}

#if defined(FAULT_IGNORED_WRITE) || defined(FAULT_LEFT_OPEN) || defined(FAULT_UNOPENED)
/* Sinks that ignore the result of output_write(), that do not close their output, and that have none. */
static int profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	(void)host;
	(void)instance;
	(void)profile;
#ifdef FAULT_UNOPENED
	return 0;
#else
	struct iaprof_output *output = host->output_open(host, NULL, 0);
	int result = host->output_write(host, output, "text", 4);
#ifdef FAULT_LEFT_OPEN
	return result;
#else
	(void)result;
	return host->output_close(host, output);
#endif
#endif
}
static int finish(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}
#elif defined(FAULT_OVERREAD) || defined(FAULT_OVERSIZE) || defined(FAULT_PRODUCER) || defined(FAULT_IMAGE) ||         \
	defined(FAULT_EMPTY) || defined(FAULT_HUGE) || defined(FAULT_MNEMONIC) || defined(FAULT_CLOSE)
/* Decoders that look beyond the code, that claim more of it than there is, and that find producers outside of it. */
static int code_open(const struct iaprof_host *host, void *instance, const struct iaprof_code *description, void **code)
{
	(void)host;
	(void)instance;
	struct iaprof_code *copy = malloc(sizeof *copy);
	if (!copy)
		return -ENOMEM;
	*copy = *description;
	*code = copy;
	return 0;
}
static void code_close(const struct iaprof_host *host, void *instance, void *code)
{
	(void)host;
	(void)instance;
	free(code);
#ifdef FAULT_CLOSE
	pause();
#endif
}
static int code_decode(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
		       struct iaprof_code_instruction *instruction)
{
	const struct iaprof_code *opened = code;
	(void)host;
	(void)instance;
	if (offset >= opened->byte_count)
		return -EINVAL;
	instruction->mnemonic = "nop";
	instruction->size = 1;
#if defined(FAULT_OVERREAD)
	instruction->size += ((const volatile unsigned char *)opened->bytes)[offset + 8] & 0;
#elif defined(FAULT_OVERSIZE)
	instruction->size = 16;
#elif defined(FAULT_EMPTY)
	instruction->size = 0;
#elif defined(FAULT_HUGE)
	instruction->size = UINT32_MAX;
#elif defined(FAULT_MNEMONIC)
	instruction->mnemonic = (const char *)8;
#endif
	return 0;
}
#ifdef FAULT_IMAGE
/* Looks one byte beyond each section. */
static int image_read(const struct iaprof_host *host, void *instance, const struct iaprof_image *image,
		      const struct iaprof_image_report *report)
{
	(void)host;
	(void)instance;
	(void)report;
	int sum = 0;
	for (uint64_t i = 1; i < image->section_count; i++) {
		const volatile unsigned char *bytes = iaprof_image_section(image, i)->bytes;
		sum += bytes ? bytes[iaprof_image_section(image, i)->size] & 0 : 0;
	}
	return sum;
}
#endif
#ifdef FAULT_PRODUCER
static int code_producers(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			  struct iaprof_producer *producers, size_t capacity, uint32_t *flags)
{
	const struct iaprof_code *opened = code;
	(void)host;
	(void)instance;
	*flags = 0;
	if (capacity)
		producers[0] = (struct iaprof_producer){ .offset = opened->byte_count, .wait = IAPROF_WAIT_TOKEN };
	return offset < opened->byte_count;
}
#endif
#else
static int send_record(const struct iaprof_host *host, const void *record, uint64_t size)
{
	struct iaprof_batch batch = { .records = record, .size = size, .count = 1 };
	return host->emit(host, &batch);
}

static int prepare(const struct iaprof_host *host, void *instance)
{
	struct faulty *faulty = instance;
	faulty->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return faulty->fd < 0 ? host->fail(host, errno, "open /dev/null: %s", "no file descriptor") : 0;
}

/* A kernel of a device, its launch and its samples, as they are right but for the fault. */
static int send_device(const struct iaprof_host *host, uint64_t time)
{
	enum { KERNEL = 1, DEVICE = 1, ADDRESS = 0x1000, SIZE = 0x100 };
	struct iaprof_record_device device = {
		.header = { .size = sizeof device, .type = IAPROF_RECORD_DEVICE, .time = time },
		.id = DEVICE,
		.name = host->intern_string(host, "device", 6),
	};
	struct iaprof_record_stall_reason reason = {
		.header = { .size = sizeof reason, .type = IAPROF_RECORD_STALL_REASON, .time = time },
		.name = host->intern_string(host, "waits", 5),
	};
	struct iaprof_record_kernel kernel = {
		.header = { .size = sizeof kernel, .type = IAPROF_RECORD_KERNEL, .time = time },
		.id = KERNEL,
		.pid = (uint32_t)getpid(),
		.name = host->intern_string(host, "kernel", 6),
		.address = ADDRESS,
		.size = SIZE,
	};
	struct iaprof_record_launch launch = {
		.header = { .size = sizeof launch, .type = IAPROF_RECORD_LAUNCH, .time = time },
		.kernel = KERNEL,
		.pid = (uint32_t)getpid(),
		.count = 1,
		.first_time = time,
	};
	struct {
		struct iaprof_record_stall_sample sample;
		uint64_t counts[2];
		struct iaprof_record_stall_details details;
	} stall = { .sample = { .header = { .size = sizeof stall, .type = IAPROF_RECORD_STALL_SAMPLE, .time = time },
				.begin = time,
				.address = ADDRESS + 8,
				.device = DEVICE,
				.reason_count = 2,
#ifndef FAULT_ARRAY
				.array_offset = IAPROF_ARRAY_OFFSET(struct iaprof_record_stall_sample),
#endif
				.pid = (uint32_t)getpid() },
		    .counts = { 3, 0 },
		    .details = { .size = sizeof stall.details } };
#ifdef FAULT_VALUE_TYPE
	stall.details.value_type = 99;
#endif
#ifdef FAULT_FLAGS
	reason.flags = 2;
#endif
#ifdef FAULT_DETAILS
	stall.details.kernel = 1; /* the address is absolute */
#endif
#ifdef FAULT_ADVANCED
	launch.header.time = time - 1;
	if (host->advance(host, launch.header.time))
		return -EIO;
#endif
#ifdef FAULT_NO_DEVICE
	stall.sample.device = 2;
#endif
#ifdef FAULT_NO_REASON
	stall.counts[1] = 1;
#endif
#ifdef FAULT_NO_KERNEL
	launch.kernel = 2;
#endif
#ifdef FAULT_OUTSIDE
	stall.sample.address = ADDRESS + SIZE;
#endif
#ifdef FAULT_LOADED_LATER
	kernel.header.time++;
#endif
#ifdef FAULT_LATE_LAUNCH
	launch.header.time -= 1000;
#endif
#ifdef FAULT_TYPE
	device.header.type = 999;
	stall.sample.device = 0;
#endif
	int result = send_record(host, &device, sizeof device);
	if (result == 0)
		result = send_record(host, &reason, sizeof reason);
	if (result == 0)
		result = send_record(host, &kernel, sizeof kernel);
	if (result == 0)
		result = send_record(host, &launch, sizeof launch);
	return result < 0 ? result : send_record(host, &stall, sizeof stall);
}

static int timer_expired(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	(void)host;
	(void)instance;
	(void)expirations;
	return 0;
}

static int start(const struct iaprof_host *host, void *instance)
{
	(void)instance;
	uint64_t now = host->clock(host);
	struct iaprof_record_counter counter = {
		.header = { .size = sizeof counter, .type = IAPROF_RECORD_COUNTER, .time = host->clock(host) },
		.id = 1,
		.name = host->intern_string(host, "count", 5),
		.kind = IAPROF_COUNTER_GAUGE,
	};
	struct iaprof_record_counter_value value = {
		.header = { .size = sizeof value, .type = IAPROF_RECORD_COUNTER_VALUE, .time = now + 1 },
		.counter = 1,
	};
#ifdef FAULT_ID
	counter.name = 99;
#endif
#ifdef FAULT_SIZE
	value.header.size = 12;
#endif
#ifdef FAULT_ENUM
	counter.kind = 9;
#endif
#ifdef FAULT_FUTURE
	value.header.time = UINT64_MAX;
#endif
	int result = 0;
	/* Each member of the host can be called. */
	for (size_t i = offsetof(struct iaprof_host, clock); i < sizeof *host; i += sizeof(void *))
		if (!*(const void *const *)((const char *)host + i))
			return host->fail(host, ENOSYS, "member %zu of the host is NULL", i);
#ifndef FAULT_UNDECLARED
	result = send_record(host, &counter, sizeof counter);
#endif
#ifdef FAULT_PAST
	value.header.time = 1;
	if (result == 0)
		result = send_record(host, &value, sizeof value);
	value.header.time = now + 1;
#endif
#ifdef FAULT_ADVANCE
	/* Newer than the launch that follows. */
	if (result == 0)
		result = send_record(host, &value, sizeof value);
#endif
#if defined(FAULT_LATE_LAUNCH)
	value.header.time = now;
	if (result == 0)
		result = send_record(host, &value, sizeof value);
	value.header.time++;
#endif
	if (result == 0)
		result = send_device(host, now);
#ifdef FAULT_ADVANCE
	if (result == 0)
		result = host->advance(host, now);
#endif
#ifndef FAULT_PROGRESS
	if (result == 0)
		result = send_record(host, &value, sizeof value);
#endif
	/* The only thing that it opens here is iaprof's. */
	return result < 0 ? result : host->on_timer(host, 1000000, timer_expired);
}

#ifdef FAULT_CHECK
static void check(const struct iaprof_host *host, void *instance)
{
	(void)instance;
	open("/dev/null", O_RDONLY | O_CLOEXEC);
	host->check_item(host, IAPROF_CHECK_GOOD, "a file", "open");
}
#endif
#ifdef FAULT_COMPANION
static const char *const companions[] = { PLUGIN_NAME, NULL };
#endif

#ifndef FAULT_MEMBER
static int stop(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
#ifdef FAULT_HANG
	for (;;)
		pause();
#endif
	return 0;
}
#endif
#endif

/* FAULT_NULL does not use it. */
#if defined(FAULT_IGNORED_WRITE) || defined(FAULT_LEFT_OPEN) || defined(FAULT_UNOPENED)
static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "txt",
	.profile = profile,
	.finish = finish,
};
#define OPERATIONS .kind = IAPROF_PLUGIN_SINK, .sink = &operations
#elif defined(FAULT_OVERREAD) || defined(FAULT_OVERSIZE) || defined(FAULT_PRODUCER) || defined(FAULT_IMAGE) ||         \
	defined(FAULT_EMPTY) || defined(FAULT_HUGE) || defined(FAULT_MNEMONIC) || defined(FAULT_CLOSE)
static const struct iaprof_decoder_operations operations = {
	.size = sizeof operations,
	.machine = 1,
	.code_open = code_open,
	.code_close = code_close,
	.code_decode = code_decode,
#ifdef FAULT_IMAGE
	.image_read = image_read,
#endif
#ifdef FAULT_PRODUCER
	.code_producers = code_producers,
#endif
};
#define OPERATIONS .kind = IAPROF_PLUGIN_DECODER, .decoder = &operations
#else
__attribute__((unused)) static const struct iaprof_source_operations operations = {
#ifdef FAULT_OPERATIONS
	.size = 16,
#else
	.size = sizeof operations,
#endif
	.prepare = prepare,
	.start = start,
#ifndef FAULT_MEMBER
	.stop = stop,
#endif
#ifdef FAULT_CHECK
	.check = check,
#endif
#ifdef FAULT_COMPANION
	.companions = companions,
#endif
};
#define OPERATIONS .kind = IAPROF_PLUGIN_SOURCE, .source = &operations
#endif

__attribute__((unused)) static const struct iaprof_plugin plugin = {
#if defined(FAULT_ABI)
	.abi_version = IAPROF_ABI_VERSION + 1,
#elif defined(FAULT_EARLIER)
	.abi_version = IAPROF_ABI_VERSION_OLDEST - 1,
#else
	.abi_version = IAPROF_ABI_VERSION,
#endif
#ifdef FAULT_CUT
	.size = 64,
#else
	.size = sizeof plugin,
#endif
#ifdef FAULT_SCHEMA
	.schema_version = IAPROF_SCHEMA_VERSION + 1,
#else
	.schema_version = IAPROF_SCHEMA_VERSION,
#endif
	.option_size = sizeof(struct iaprof_option),
#ifdef FAULT_PLUGIN_FLAGS
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME | 1u << 31,
#else
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
#endif
	.name = PLUGIN_NAME,
	.description = "right but for one fault",
	.options = options,
	.option_count = 1,
	.instance_size = sizeof(struct faulty),
	.configure = configure,
	.destroy = destroy,
#ifdef FAULT_KIND
	.kind = 9,
#else
	OPERATIONS,
#endif
};
#if defined(FAULT_NULL)
IAPROF_EXPORT const struct iaprof_plugin *iaprof_plugin_register(void);
const struct iaprof_plugin *iaprof_plugin_register(void)
{
	return NULL;
}
#elif defined(FAULT_SYMBOL)
IAPROF_EXPORT const struct iaprof_plugin *registration(void);
const struct iaprof_plugin *registration(void)
{
	return &plugin;
}
#else
IAPROF_REGISTER_PLUGIN(plugin)
#endif
