/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that is right but for one fault, FAULT_NAME, with which it is built: iaprof-plugin-check has to find each.
 * Without a fault it is a source whose checks all pass.
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
		.name = "number",
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

#if defined(FAULT_IGNORED_WRITE)
/* A sink that does not hear what output_write() says. */
static int profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	(void)instance;
	(void)profile;
	struct iaprof_output *output = host->output_open(host, NULL);
	host->output_write(host, output, "text", 4);
	return host->output_close(host, output);
}
static int finish(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}
#elif defined(FAULT_OVERREAD) || defined(FAULT_OVERSIZE) || defined(FAULT_PRODUCER)
/* Decoders that look beyond the code, that claim more of it than there is, and that find producers outside of it. */
static int decode(const struct iaprof_host *host, void *instance, const void *code, size_t code_size, size_t offset,
		  struct iaprof_instruction *instruction)
{
	(void)host;
	(void)instance;
	if (offset >= code_size)
		return -EINVAL;
	instruction->mnemonic = "nop";
#if defined(FAULT_OVERREAD)
	instruction->size = 1 + (((const volatile unsigned char *)code)[offset + 8] & 0);
#elif defined(FAULT_OVERSIZE)
	instruction->size = 16;
	(void)code;
#else
	instruction->size = 1;
	(void)code;
#endif
	return 0;
}
#ifdef FAULT_PRODUCER
static int code_open(const struct iaprof_host *host, void *instance, const struct iaprof_code *description, void **code)
{
	(void)host;
	(void)instance;
	uint64_t *size = malloc(sizeof *size);
	if (!size)
		return -ENOMEM;
	*size = description->byte_count;
	*code = size;
	return 0;
}
static void code_close(const struct iaprof_host *host, void *instance, void *code)
{
	(void)host;
	(void)instance;
	free(code);
}
static int code_decode(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
		       struct iaprof_code_instruction *instruction)
{
	(void)host;
	(void)instance;
	if (offset >= *(uint64_t *)code)
		return -EINVAL;
	instruction->mnemonic = "nop";
	instruction->size = 1;
	return 0;
}
static int code_producers(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			  struct iaprof_producer *producers, size_t capacity, uint32_t *flags)
{
	(void)host;
	(void)instance;
	(void)offset;
	*flags = 0;
	if (capacity)
		producers[0] = (struct iaprof_producer){ .offset = *(uint64_t *)code, .wait = IAPROF_WAIT_TOKEN };
	return offset < *(uint64_t *)code;
}
#endif
#else
static int send_record(const struct iaprof_host *host, const void *record, uint64_t size)
{
	struct iaprof_batch batch = { .records = record, .size = size, .count = 1 };
	int result = host->emit(host, &batch);
#ifndef FAULT_FULL_QUEUE
	if (result == -ENOSPC)
		result = 0;
#endif
	return result;
}

static int prepare(const struct iaprof_host *host, void *instance)
{
	struct faulty *faulty = instance;
	faulty->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return faulty->fd < 0 ? host->fail(host, errno, "open /dev/null: %s", "no file descriptor") : 0;
}

static int start(const struct iaprof_host *host, void *instance)
{
	(void)instance;
	struct iaprof_record_counter counter = {
		.header = { .size = sizeof counter, .type = IAPROF_RECORD_COUNTER, .time = host->clock(host) },
		.id = 1,
		.name = host->intern_string(host, "count", 5),
		.kind = IAPROF_COUNTER_GAUGE,
	};
	struct iaprof_record_counter_value value = {
		.header = { .size = sizeof value, .type = IAPROF_RECORD_COUNTER_VALUE, .time = host->clock(host) },
		.counter = 1,
	};
#ifdef FAULT_ID
	counter.name = 99;
#endif
#ifdef FAULT_SIZE
	value.header.size = 12;
#endif
#ifdef FAULT_FUTURE
	value.header.time = UINT64_MAX;
#endif
	int result = 0;
#ifndef FAULT_UNDECLARED
	result = send_record(host, &counter, sizeof counter);
#endif
	return result < 0 ? result : send_record(host, &value, sizeof value);
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
	return 0;
}
#endif
#endif

/* FAULT_NULL does not use it. */
__attribute__((unused)) static const struct iaprof_plugin plugin = {
#ifdef FAULT_ABI
	.abi_version = IAPROF_ABI_VERSION + 1,
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
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = PLUGIN_NAME,
	.description = "right but for one fault",
	.options = options,
	.option_count = 1,
	.instance_size = sizeof(struct faulty),
	.configure = configure,
	.destroy = destroy,
#if defined(FAULT_IGNORED_WRITE)
	.kind = IAPROF_PLUGIN_SINK,
	.extension = "txt",
	.profile = profile,
	.finish = finish,
#elif defined(FAULT_OVERREAD) || defined(FAULT_OVERSIZE) || defined(FAULT_PRODUCER)
	.kind = IAPROF_PLUGIN_DECODER,
	.machine = 1,
	.decode = decode,
#ifdef FAULT_PRODUCER
	.code_open = code_open,
	.code_close = code_close,
	.code_decode = code_decode,
	.code_producers = code_producers,
#endif
#else
#ifdef FAULT_KIND
	.kind = 9,
#else
	.kind = IAPROF_PLUGIN_SOURCE,
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
