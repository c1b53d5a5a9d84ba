/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions a second of Intel GPU code: a walk over each kernel of the ELF files given, with the control flow graph,
 * and the search for what every instruction waits for; against libiga64's own decoding of the same kernels (kv_create,
 * what a profiler would have to call), with a check that both find the same instructions. libiga64 is looked for in
 * IGA_LIBRARY, a path, and where libraries are.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "decoder-intel-gt/producer.h"
#include "ratio.h"

#define ROUNDS 7
#define REPEATS 400 /* kernels are small */
#define GOAL 10.0

/* intel-graphics-compiler, visa/iga/IGALibrary/api/kv.h and iga.h. */
typedef void *kv_create_function(uint32_t generation, const void *bytes, size_t size, int *status, char *error,
				 size_t error_size, uint32_t scoreboard_mode);
typedef void kv_delete_function(void *view);
typedef int32_t kv_get_inst_size_function(const void *view, int32_t offset);

static const uint32_t iga_generations[GT_GENERATION_COUNT] = {
	[GT_XE_HPC] = 0x01000004, [GT_XE2] = 0x02000000, [GT_XE3] = 0x03000000
};

struct kernel {
	enum gt_generation generation;
	const unsigned char *bytes;
	size_t size;
};

static ARRAY(struct kernel) kernels;

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_gt_code: %s\n", what);
	exit(EXIT_FAILURE);
}

/* The function symbols of a file of tests/data, which is taken to be right; it stays in memory. */
static void add_kernels(const char *path)
{
	FILE *file CLEANUP_FCLOSE = fopen(path, "rb");
	unsigned char *image = malloc(1u << 20);
	check(file && image, path);
	size_t size = fread(image, 1, 1u << 20, file);
	const Elf64_Ehdr *header = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		const Elf64_Sym *symbols = (const void *)(image + sections[i].sh_offset);
		for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
			if (ELF64_ST_TYPE(symbols[k].st_info) != STT_FUNC)
				continue;
			struct kernel kernel = { gt_generation_of_image(image, size),
						 image + sections[symbols[k].st_shndx].sh_offset + symbols[k].st_value,
						 symbols[k].st_size };
			check(array_push(&kernels, kernel), "out of memory");
		}
	}
}

static uint64_t walk_kernels(bool with_producers)
{
	uint64_t count = 0;
	for (size_t i = 0; i < kernels.count; i++) {
		const struct kernel *kernel = &kernels.items[i];
		struct gt_code code;
		struct gt_flow flow;
		check(gt_code_walk(kernel->generation, kernel->bytes, kernel->size, &code) == 0 &&
			      gt_flow_build(&code, &flow) == 0,
		      "out of memory");
		count += code.count;
		for (uint32_t k = 0; with_producers && k < code.count; k++) {
			struct gt_producers producers;
			check(gt_producers_find(&flow, k, &producers) == 0, "out of memory");
			gt_producers_free(&producers);
		}
		gt_flow_free(&flow);
		gt_code_free(&code);
	}
	return count;
}

static double measure_ours(const char *what, bool with_producers, uint64_t *count)
{
	struct rounds rounds = { 0 };
	unsigned repeats = with_producers ? REPEATS / 4 : REPEATS;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		*count = 0;
		for (unsigned i = 0; i < repeats; i++)
			*count += walk_kernels(with_producers);
		rounds_add(&rounds, cpu_seconds_since(begin));
	}
	double million = (double)*count / 1e6;
	*count /= repeats;
	rounds_print(&rounds, what, million, "million instructions");
	return million / rounds.fastest;
}

static double measure_iga(void *library, uint64_t expected)
{
	kv_create_function *create;
	kv_delete_function *delete;
	kv_get_inst_size_function *inst_size;
	*(void **)&create = dlsym(library, "kv_create");
	*(void **)&delete = dlsym(library, "kv_delete");
	*(void **)&inst_size = dlsym(library, "kv_get_inst_size");
	check(create && delete &&inst_size, "libiga64 lacks kv_create()");
	struct rounds rounds = { 0 };
	uint64_t count = 0;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		count = 0;
		for (size_t i = 0; i < kernels.count * (REPEATS / 20); i++) {
			const struct kernel *kernel = &kernels.items[i % kernels.count];
			int status;
			void *view = create(iga_generations[kernel->generation], kernel->bytes, kernel->size, &status,
					    NULL, 0, 0);
			check(view && !status, "libiga64 does not decode a kernel");
			int32_t size;
			for (int32_t offset = 0; (size = inst_size(view, offset)) > 0; offset += size)
				count++;
			delete (view);
		}
		rounds_add(&rounds, cpu_seconds_since(begin));
	}
	check(count == expected * (REPEATS / 20), "libiga64 finds another number of instructions");
	rounds_print(&rounds, "gt_code: libiga64", (double)count / 1e6, "million instructions");
	return (double)count / 1e6 / rounds.fastest;
}

int main(int argc, char **argv)
{
	check(argc > 1, "usage: bench_gt_code ELF...");
	for (int i = 1; i < argc; i++)
		add_kernels(argv[i]);
	uint64_t count;
	double ours = measure_ours("gt_code: walk and control flow graph", false, &count);
	measure_ours("gt_code: and what each instruction waits for", true, &count);
	const char *path = getenv("IGA_LIBRARY");
	void *library = dlopen(path ? path : "libiga64.so.2", RTLD_NOW | RTLD_LOCAL);
	if (library)
		printf("gt_code: libiga64 takes %.1f times as long (goal %.0f)\n", ours / measure_iga(library, count),
		       GOAL);
	else
		printf("gt_code: libiga64 skipped: it is not installed; set IGA_LIBRARY to the path of one\n");
	return EXIT_SUCCESS;
}
