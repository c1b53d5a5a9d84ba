/* SPDX-License-Identifier: Apache-2.0 */
/* A decoder that only relocates debug information of images of ELF machine 190: R_CUDA_32 and R_CUDA_64 (binutils). */
#include <errno.h>

#include <iaprof/plugin.h>

static int decode(const struct iaprof_host *host, void *instance, const void *code, size_t code_size, size_t offset,
		  struct iaprof_instruction *instruction)
{
	(void)host, (void)instance, (void)code, (void)code_size, (void)offset, (void)instruction;
	return -EINVAL;
}

static const struct iaprof_relocation relocations[] = {
	{ .type = 1, .width = 4, .formula = IAPROF_RELOCATION_ABSOLUTE },
	{ .type = 2, .width = 8, .formula = IAPROF_RELOCATION_ABSOLUTE },
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_DECODER,
	.name = "cubin",
	.description = "relocations of debug information",
	.instance_size = 1,
	.machine = 190,
	.decode = decode,
	.relocations = relocations,
	.relocation_count = sizeof relocations / sizeof *relocations,
};
IAPROF_REGISTER_PLUGIN(plugin)
