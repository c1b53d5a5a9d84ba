/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoder that behaves as its options specify when it is configured or asked about an instruction, including in ways
 * that its process does not survive.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include <iaprof/plugin.h>

#include "ending.h"

enum deed { NAMES, LOOPS, HOARDS, OPENS, CONNECTS };
static const char *const deeds[] = { "names", "loops", "hoards", "opens", "connects", NULL };

#define HOARD_SIZE ((size_t)1 << 20)

enum place { DECODE, CONFIGURE };
static const char *const places[] = { "decode", "configure", NULL };

struct decoder {
	uint64_t in, ends, does;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct decoder, in, CHOICE, "in", NULL, "the callback that ends the process", .choices = places),
	IAPROF_OPTION(struct decoder, ends, CHOICE, "ends", NULL, "how it ends the process", .choices = endings),
	IAPROF_OPTION(struct decoder, does, CHOICE, "does", NULL, "what it does beside naming the instruction",
		      .choices = deeds),
};

static int configure(const struct iaprof_host *host, void *instance)
{
	const struct decoder *decoder = instance;
	if (decoder->in == CONFIGURE)
		end_process((enum ending)decoder->ends);
	return 0;
}

/* There is nothing to keep of the code: the core checks where instructions end. */
static int code_open(const struct iaprof_host *host, void *instance, const struct iaprof_code *description, void **code)
{
	*code = instance;
	return 0;
}

static void code_close(const struct iaprof_host *host, void *instance, void *code)
{
}

static int code_decode(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
		       struct iaprof_code_instruction *instruction)
{
	const struct decoder *decoder = code;
	volatile uint64_t turns = 0;
	if (decoder->in == DECODE)
		end_process((enum ending)decoder->ends);
	while (decoder->does == LOOPS)
		turns++;
	while (decoder->does == HOARDS)
		memset(malloc(HOARD_SIZE), 1, HOARD_SIZE); /* until there is none */
	errno = 0;
	if (decoder->does == OPENS && open("/proc/self/status", O_RDONLY) >= 0)
		errno = EEXIST;
	if (decoder->does == CONNECTS && socket(AF_INET, SOCK_STREAM, 0) >= 0)
		errno = EEXIST;
	instruction->size = 1;
	instruction->mnemonic = errno ? strerrorname_np(errno) : "named";
	return 0;
}

static const struct iaprof_decoder_operations operations = {
	.size = sizeof operations,
	.machine = 205,
	.code_open = code_open,
	.code_close = code_close,
	.code_decode = code_decode,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_DECODER,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "failing-decoder",
	.description = "fails as requested",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct decoder),
	.decoder = &operations,
	.configure = configure,
};
IAPROF_REGISTER_PLUGIN(plugin)
