/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the Level Zero tracer that need no Level Zero: handles, images, private files, stacks. */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <libelf.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ze-usdt/pointer_map.h"
#include "ze-usdt/tracer/device_binary.h"
#include "ze-usdt/tracer/instruction_base.h"
#include "ze-usdt/tracer/private_files.h"
#include "ze-usdt/tracer/registry.h"
#include "ze-usdt/tracer/stack.h"
#include "../run_suite.h"

#define LOW UINT64_C(0x800000000000)
#define TIB (UINT64_C(1) << 40)
#define GIB4 (UINT64_C(1) << 32)
#define TAIL UINT64_C(0x10000)

/* The mapping of two drivers is what Linux 7.2 shows of an OpenCL program on Intel's runtime 26.27. */
TEST(the_instruction_base_is_the_start_of_a_heap_in_the_drivers_reservation)
{
	static const struct {
		uint64_t start, end, address, base;
	} cases[] = {
		{ LOW, LOW + TIB + TAIL, LOW + 0xffbe0800, LOW },
		{ LOW, LOW + TIB + TAIL, LOW + GIB4 + 0xfffe5800, LOW + GIB4 },
		{ LOW, LOW + TIB + TAIL, LOW + 2 * GIB4, 0 }, /* another heap */
		{ LOW, LOW + 2 * TIB + 2 * TAIL, LOW + 0xfffe0000, LOW },
		{ LOW, LOW + 2 * TIB + 2 * TAIL, 0x8100fffe0000, 0x810000010000 },
		{ LOW, LOW + 2 * TIB + 2 * TAIL, 0x810100010000, 0x810100010000 },
		{ LOW, LOW + 2 * TIB + 2 * TAIL, 0x81010000fff0, 0x810000010000 },
		/* One GPU and two, in each order, and three drivers of one GPU. */
		{ LOW, LOW + 3 * TIB + 2 * TAIL, LOW + TIB + TAIL + 5, LOW + TIB + TAIL },
		{ LOW, LOW + 3 * TIB + 2 * TAIL, LOW + 2 * TIB + TAIL + 5, LOW + 2 * TIB + TAIL },
		{ LOW, LOW + 3 * TIB + 3 * TAIL, LOW + 2 * TIB + 2 * TAIL + 5, LOW + 2 * TIB + 2 * TAIL },
		/* The third driver may be the second one as well: not known. */
		{ LOW, LOW + 4 * TIB + 3 * TAIL, LOW + 2 * TIB + 2 * TAIL + 5, 0 },
		/* A start that is not a multiple is rounded up. */
		{ LOW - TIB * 5 + 0x1000, LOW - TIB * 4 + TAIL + 0x1000, LOW - TIB * 5 + TAIL + 5,
		  LOW - TIB * 5 + TAIL },
		{ LOW - TIB * 5 + 0x1000, LOW - TIB * 4 + TAIL + 0x1000, LOW - TIB * 5 + 0x2000, 0 },
		/* No driver's: another size, or none. */
		{ LOW, LOW + TIB, LOW + 5, 0 },
		{ LOW, LOW + TIB + 0x1000, LOW + 5, 0 },
		{ LOW, LOW + TAIL, LOW + 5, 0 },
		{ LOW, LOW + TIB + 2 * TAIL, LOW + 5, 0 },
		{ LOW, LOW + 9 * (TIB + TAIL), LOW + 5, 0 },
		{ 0, UINT64_MAX, LOW, 0 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(instruction_base_in_reservation(cases[i].start, cases[i].end, cases[i].address) ==
				      cases[i].base,
			      "case %zu", i);
}

TEST(a_line_of_mappings_is_read)
{
	static const struct {
		const char *line;
		bool contains, is_reservation;
	} cases[] = {
		{ "800000000000-810000010000 ---p 00000000 00:00 0 ", true, true },
		{ "800000000000-810000010000 ---p 00000000 00:00 0", true, true },
		{ "800000000000-810000010000 rw-p 00000000 00:00 0 ", true, false },
		{ "800000000000-810000010000 ---p 00000000 08:01 77 /tmp/file", true, false },
		{ "800000000000-810000010000 ---p 00000000 00:00 0          [name]", true, false },
		{ "810000010000-820000020000 ---p 00000000 00:00 0 ", false, true },
		{ "", false, false },
		{ "800000000000", false, false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t start, end;
		bool is_reservation = false;
		ck_assert_msg(instruction_base_parse_mapping(cases[i].line, LOW + 5, &start, &end, &is_reservation) ==
				      cases[i].contains,
			      "case %zu", i);
		ck_assert_msg(!cases[i].contains || is_reservation == cases[i].is_reservation, "case %zu", i);
	}
}

/* A reservation of this process, as a driver makes it, below 2^47. */
TEST(the_instruction_base_is_found_among_the_mappings_of_the_process)
{
	struct instruction_bases bases = { 0 };
	size_t size = TIB + TAIL;
	char *reserved = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (reserved == MAP_FAILED)
		return;
	uint64_t base = ((uintptr_t)reserved + TAIL - 1) / TAIL * TAIL;
	ck_assert_uint_eq(instruction_base_find(&bases, base + GIB4 + 0x1000), base + GIB4);
	ck_assert_uint_eq(instruction_base_find(&bases, base + GIB4 + 0x2000), base + GIB4);
	ck_assert_uint_eq(bases.searches, 1);
	ck_assert_uint_eq(instruction_base_find(&bases, base + 0x1000), base);
	ck_assert_uint_eq(instruction_base_find(&bases, base + 2 * GIB4), 0);
	/* Memory of the program, no memory at all, and where drivers are without a reservation. */
	ck_assert_uint_eq(instruction_base_find(&bases, (uintptr_t)&bases), 0);
	ck_assert_uint_eq(instruction_base_find(&bases, 0), 0);
	ck_assert_uint_eq(instruction_base_find(&bases, LOW * 3), 0);
	ck_assert_uint_eq(instruction_base_find(&bases, LOW + GIB4 + 7), LOW + GIB4);
	munmap(reserved, size);
}

TEST(a_map_finds_what_is_in_it)
{
	static uint8_t there[4096];
	struct pointer_map map = { 0 };
	size_t count = 0;

	srandom(1);
	for (unsigned i = 0; i < 200000; i++) {
		/* Few handles, close to one another: many meet, and many come back. */
		uintptr_t which = (uintptr_t)random() % 4096, handle = 0x1000 + which * 16;

		if (there[which]) {
			ck_assert_ptr_eq(pointer_map_find(&map, handle), &there[which]);
			if (random() % 2) {
				ck_assert_ptr_eq(pointer_map_remove(&map, handle), &there[which]);
				there[which] = 0;
				count--;
			}
		} else {
			ck_assert_ptr_null(pointer_map_find(&map, handle));
			ck_assert_ptr_null(pointer_map_remove(&map, handle));
			ck_assert(pointer_map_add(&map, handle, &there[which]));
			there[which] = 1;
			count++;
		}
		ck_assert_uint_eq(map.count, count);
	}
	ck_assert_ptr_null(pointer_map_find(&map, 0));
	free(map.slots);
}

TEST(kernels_and_lists_are_known_until_they_go)
{
	static struct registry registry = REGISTRY_INITIALIZER; /* what it holds is never given back */
	struct registry_cache cache = { 0 };
	struct module *module = registry_add_module(&registry, 0x10, RUNTIME_LEVEL_ZERO);

	ck_assert_uint_eq(module->number, 1);
	for (unsigned turn = 0; turn < 3; turn++) {
		for (uintptr_t handle = 0x1000; handle < 0x9000; handle += 0x10) {
			char name[32];

			snprintf(name, sizeof name, "kernel%lu", (unsigned long)(handle % 7));
			ck_assert_ptr_nonnull(registry_add_kernel(&registry, handle, name, module));
		}
		for (uintptr_t handle = 0x1000; handle < 0x9000; handle += 0x10) {
			const struct kernel *kernel = registry_get_kernel(&registry, &cache, handle);

			ck_assert_ptr_nonnull(kernel);
			ck_assert_uint_eq(kernel->handle, handle);
			ck_assert_ptr_eq(kernel, registry_get_kernel(&registry, &cache, handle));
			ck_assert_ptr_eq(kernel->module, module);
		}
		for (uintptr_t handle = 0x1000; handle < 0x9000; handle += 0x10) {
			registry_free_kernel(&registry, registry_remove_kernel(&registry, handle));
			ck_assert_ptr_null(registry_get_kernel(&registry, &cache, handle));
		}
	}
	/* A handle that is there still was destroyed without our seeing it. */
	uint64_t recording = registry_next_recording(&registry);
	registry_add_list(&registry, 0x20, recording);
	ck_assert_uint_eq(registry_get_list(&registry, &cache, 0x20)->recording, recording);
	registry_add_list(&registry, 0x20, 0);
	ck_assert_uint_eq(registry_get_list(&registry, &cache, 0x20)->recording, 0);
	registry_remove_list(&registry, 0x20);
	ck_assert_ptr_null(registry_get_list(&registry, &cache, 0x20));
	ck_assert_uint_eq(registry_add_module(&registry, 0x10, RUNTIME_LEVEL_ZERO)->number, 2);
	/* Without a module it gets one of its own, which goes with it. */
	struct kernel *unseen = registry_add_kernel(&registry, 0x30, "unseen", NULL);
	ck_assert(unseen->owns_module);
	ck_assert_uint_eq(unseen->module->number, 3);
	ck_assert_uint_eq(unseen->module->handle, 0);
	registry_free_kernel(&registry, registry_remove_kernel(&registry, 0x30));
}

/* libelf reads what was made; it knows nothing of how. */
TEST(a_made_image_is_an_elf_file)
{
	uint8_t code[200];
	size_t size;

	for (unsigned i = 0; i < sizeof code; i++)
		code[i] = i < 160 ? (uint8_t)(i + 1) : 0;
	ck_assert_uint_eq(image_code_size(code, sizeof code), 160);
	ck_assert_uint_eq(image_code_size(code + 160, 40), 0);
	ck_assert_uint_eq(image_code_size(code, 3), 0);
	uint8_t *image = image_make("_ZTS5scaleIfE", 0x8000ffbe0800, code, 160, &size);
	ck_assert_uint_ne(elf_version(EV_CURRENT), EV_NONE);
	Elf *elf = elf_memory((char *)image, size);
	GElf_Ehdr header;
	ck_assert_ptr_nonnull(gelf_getehdr(elf, &header));
	ck_assert_uint_eq(header.e_machine, 205);
	unsigned found = 0;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr section_header;
		GElf_Sym symbol;

		ck_assert_ptr_nonnull(gelf_getshdr(section, &section_header));
		const char *name = elf_strptr(elf, header.e_shstrndx, section_header.sh_name);
		Elf_Data *data = elf_getdata(section, NULL);
		if (strcmp(name, ".text._ZTS5scaleIfE") == 0) {
			ck_assert_uint_eq(section_header.sh_addr, 0x8000ffbe0800);
			ck_assert_uint_eq(data->d_size, 160);
			ck_assert_mem_eq(data->d_buf, code, 160);
			found++;
		} else if (section_header.sh_type == SHT_SYMTAB) {
			ck_assert_ptr_nonnull(gelf_getsym(data, 1, &symbol));
			ck_assert_str_eq(elf_strptr(elf, section_header.sh_link, symbol.st_name), "_ZTS5scaleIfE");
			ck_assert_uint_eq(symbol.st_size, 160);
			found++;
		}
	}
	ck_assert_uint_eq(found, 2);
	elf_end(elf);
	free(image);
}

static uint8_t *file_read(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");

	ck_assert_ptr_nonnull(file);
	uint8_t *bytes = malloc(1 << 20);
	*size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return bytes;
}

/* Addresses and sizes of a module that the runtime loaded are what libelf reads. */
TEST(functions_of_an_image_are_found)
{
	char path[PATH_MAX];
	size_t size, seen = 0;
	struct image_function *functions;

	snprintf(path, sizeof path, "%s/bmg/transformer.loaded-debug.elf", getenv("ZEBIN_FOLDER"));
	uint8_t *image = file_read(path, &size);
	size_t count = image_functions(image, size, &functions);
	ck_assert_uint_gt(count, 5);
	ck_assert_uint_ne(elf_version(EV_CURRENT), EV_NONE);
	Elf *elf = elf_memory((char *)image, size);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		GElf_Sym symbol;

		ck_assert_ptr_nonnull(gelf_getshdr(section, &header));
		if (header.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(elf_getdata(section, NULL), i, &symbol); i++)
			if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size) {
				ck_assert_uint_eq(
					image_function_size(functions, count, symbol.st_value & (UINT64_MAX >> 16)),
					symbol.st_size);
				seen++;
			}
	}
	ck_assert_uint_eq(seen, count);
	elf_end(elf);
	free(functions);
	/* Cut off anywhere, it has fewer, and nothing else happens. */
	for (size_t cut = 0; cut < size; cut += 97) {
		uint8_t *part = malloc(cut ? cut : 1);

		memcpy(part, image, cut);
		ck_assert_uint_le(image_functions(part, cut, &functions), count);
		free(functions);
		free(part);
	}
	free(image);
}

TEST(addresses_lose_their_canonical_form)
{
	ck_assert_uint_eq(image_address(UINT64_C(0xffff8000ffbe0000)), UINT64_C(0x8000ffbe0000));
	ck_assert_uint_eq(image_address(UINT64_C(0x8001fffe5800)), UINT64_C(0x8001fffe5800));
	ck_assert_uint_eq(image_address(UINT64_C(0xff00000000001000)), UINT64_C(0x100000000001000));
	ck_assert_uint_eq(image_address(UINT64_C(0x100000000001000)), UINT64_C(0x100000000001000));
}

TEST(files_are_private_and_do_not_stay)
{
	static struct private_files files;
	char folder[] = "/tmp/test-ze-tracer-XXXXXX", first[PRIVATE_PATH_MAX];
	struct stat status;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("TMPDIR", folder, 1);
	umask(0777); /* a program may have any */
	const char *path = private_files_write(&files, "image", 5);
	ck_assert_ptr_nonnull(path);
	strcpy(first, path);
	ck_assert_int_eq(strncmp(first, folder, strlen(folder)), 0);
	ck_assert_int_eq(stat(first, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ck_assert_int_eq(status.st_size, 5);
	ck_assert_str_ne(private_files_write(&files, "image", 5), first);
	/* The oldest goes when there are too many. */
	for (unsigned i = 0; i < PRIVATE_FILES_MAX; i++)
		ck_assert_ptr_nonnull(private_files_write(&files, "image", 5));
	ck_assert_int_ne(access(first, F_OK), 0);
	/* A child does not remove what is its parent's. */
	pid_t child = fork();
	if (child == 0) {
		private_files_end(&files, false);
		_exit(0);
	}
	int state;
	ck_assert_int_eq(waitpid(child, &state, 0), child);
	ck_assert_int_eq(rmdir(folder), -1);
	ck_assert_int_eq(errno, ENOTEMPTY);
	/* Beyond what the process may write there is no signal, and no file. */
	struct rlimit limit, small = { 3, RLIM_INFINITY };
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small.rlim_max = limit.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	path = private_files_write(&files, "image", 5); /* the checks themselves write, too */
	setrlimit(RLIMIT_FSIZE, &limit);
	ck_assert_ptr_null(path);
	private_files_end(&files, true);
	ck_assert_int_eq(rmdir(folder), 0);
	/* The folder is gone, as that of $TMPDIR may be: there is the other one. */
	path = private_files_write(&files, "image", 5);
	ck_assert_ptr_nonnull(path);
	ck_assert_int_eq(strncmp(path, "/tmp/iaprof-ze-", 15), 0);
	strcpy(first, path);
	private_files_end(&files, false);
	ck_assert_int_ne(access(first, F_OK), 0);
	unsetenv("TMPDIR");
}

/* Takes this stack, which glibc's own unwinding is asked for as well. */
struct taking {
	struct stack_process *process;
	struct stack_memory *memory;
	struct stack_trace trace;
	const struct stack_frame *chain;
	uint64_t identity;
	void *expected[STACK_DEPTH_MAX];
	int expected_count;
};

__attribute__((noinline)) static void take_here(struct taking *taking)
{
	taking->expected_count = backtrace(taking->expected, STACK_DEPTH_MAX);
	struct stack_chain chain =
		stack_take(taking->process, taking->memory, (uintptr_t)__builtin_frame_address(0), &taking->trace);
	taking->chain = chain.innermost;
	taking->identity = chain.identity;
}

__attribute__((noinline)) static void take_below(struct taking *taking, unsigned depth, unsigned bytes)
{
	volatile char *room = __builtin_alloca(bytes + 16);

	room[0] = 1;
	if (depth)
		take_below(taking, depth - 1, (bytes * 7 + 5) % 400);
	else
		take_here(taking);
	__asm__ volatile("" ::: "memory");
}

/* Where take_here's caller is: glibc's first address is in take_here, or in a sanitizer's function before it. */
static int first_expected(const struct taking *taking)
{
	ck_assert_ptr_nonnull(taking->chain);
	return (uintptr_t)taking->expected[1] == taking->chain->return_address ? 1 : 2;
}

static void check_chain(const struct taking *taking)
{
	const struct stack_frame *frame = taking->chain;

	for (int i = first_expected(taking); i < taking->expected_count; i++, frame = frame->next) {
		ck_assert_ptr_nonnull(frame);
		ck_assert_uint_eq(frame->return_address, (uintptr_t)taking->expected[i]);
	}
	ck_assert_ptr_null(frame);
}

/* Two stacks have one identity when they have the same return addresses, and only then. */
static void check_identity(const struct taking *taking)
{
	static struct {
		uint64_t identity;
		unsigned count;
		uintptr_t addresses[STACK_DEPTH_MAX];
	} seen[256];
	static unsigned seen_count;
	uintptr_t addresses[STACK_DEPTH_MAX];
	unsigned count = 0;
	bool found = false;

	for (const struct stack_frame *frame = taking->chain; frame && count < STACK_DEPTH_MAX; frame = frame->next)
		addresses[count++] = frame->return_address;
	for (unsigned i = 0; i < seen_count; i++) {
		bool same =
			seen[i].count == count && memcmp(seen[i].addresses, addresses, count * sizeof *addresses) == 0;
		ck_assert_int_eq(same, seen[i].identity == taking->identity);
		found |= same;
	}
	ck_assert_uint_ne(taking->identity, 0);
	if (found || seen_count == sizeof seen / sizeof *seen)
		return;
	seen[seen_count].identity = taking->identity;
	seen[seen_count].count = count;
	memcpy(seen[seen_count++].addresses, addresses, count * sizeof *addresses);
}

TEST(stacks_are_what_unwinding_finds)
{
	static struct stack_process process;
	static struct taking taking = { .process = &process };

	stack_process_begin(&process, dlsym, NULL, 0, 0);
	ck_assert_ptr_nonnull(process.unwinder.backtrace);
	for (unsigned i = 0; i < 1000; i++) {
		take_below(&taking, i % 23, i % 37);
		check_chain(&taking);
	}
	taking.memory = stack_memory_create(&process);
	/* The same again is known: nothing is unwound. */
	unsigned unwound = 0;
	for (unsigned i = 0; i < 1000; i++) {
		taking.trace.count = 0;
		take_below(&taking, 3, 8);
		check_chain(&taking);
		unwound += taking.trace.count > 0;
	}
	ck_assert_uint_ge(unwound, 1);
	ck_assert_uint_le(unwound, 16); /* the compiler may make several places of one */
	for (unsigned i = 0; i < 5000; i++) {
		take_below(&taking, i % 23, i % 37);
		check_chain(&taking);
		check_identity(&taking);
	}
	ck_assert_uint_gt(process.remembered_bytes, 0);
	ck_assert_uint_le(process.remembered_bytes, 1 << 20);
	stack_memory_free(taking.memory);
	ck_assert_uint_eq(process.remembered_bytes, 0);
	taking.memory = NULL;
}

TEST(without_tables_frame_pointers_are_followed)
{
	static struct stack_process process; /* without an unwinder */
	static struct taking taking = { .process = &process };

	take_below(&taking, 5, 8);
	const struct stack_frame *frame = taking.chain;
	int first = first_expected(&taking);
	for (int i = first; i < first + 7;
	     i++, frame = frame->next) { /* this program has them, the C library need not */
		ck_assert_ptr_nonnull(frame);
		ck_assert_uint_eq(frame->return_address, (uintptr_t)taking.expected[i]);
	}
}

TEST(frames_of_libraries_are_left_out)
{
	static struct stack_process process;
	static struct taking taking = { .process = &process };

	/* Everything of this program is left out at the inner end; what is further out and the C library's is not. */
	stack_process_begin(&process, dlsym, NULL, 0, (uintptr_t)take_here);
	ck_assert_uint_ge(process.range_count, 1);
	take_below(&taking, 5, 8);
	Dl_info ours, first;
	ck_assert_int_ne(dladdr((void *)take_here, &ours), 0);
	if (taking.chain) {
		ck_assert_int_ne(dladdr((void *)taking.chain->return_address, &first), 0);
		ck_assert_ptr_ne(first.dli_fbase, ours.dli_fbase);
	}
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
