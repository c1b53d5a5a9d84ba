/* SPDX-License-Identifier: Apache-2.0 */
/* A decoder that only relocates debug information of images of ELF machine 190: R_CUDA_32 and R_CUDA_64 (binutils). */
#include <errno.h>

#include <iaprof/plugin.h>

static int code_open(const struct iaprof_host *host, void *instance, const struct iaprof_code *description, void **code)
{
	(void)host, (void)instance, (void)description, (void)code;
	return -ENOTSUP;
}

static void code_close(const struct iaprof_host *host, void *instance, void *code)
{
	(void)host, (void)instance, (void)code;
}

static int code_decode(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
		       struct iaprof_code_instruction *instruction)
{
	(void)host, (void)instance, (void)code, (void)offset, (void)instruction;
	return -EINVAL;
}

static const struct iaprof_relocation relocations[] = {
	{ .type = 1, .width = 4, .formula = IAPROF_RELOCATION_ABSOLUTE },
	{ .type = 2, .width = 8, .formula = IAPROF_RELOCATION_ABSOLUTE },
};

static const struct iaprof_decoder_operations operations = {
	.size = sizeof operations,
	.machine = 190,
	.code_open = code_open,
	.code_close = code_close,
	.code_decode = code_decode,
	.relocations = relocations,
	.relocation_count = sizeof relocations / sizeof *relocations,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS, .kind = IAPROF_PLUGIN_DECODER,
	.name = "cubin",        .description = "relocations of debug information",
	.instance_size = 1,     .decoder = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
