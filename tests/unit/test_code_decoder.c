/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoder of somebody else: images that are shared objects with all kernels in one section, each described by a
 * symbol NAME.kd in a data section, which is how one vendor's compiler makes them. What is at each address is known
 * from how the image was made.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "correlator/device_code.h"
#include "run/instance.h"
#include "symbolizer/device/code_object.h"
#include "symbolizer/device/code_place.h"
#include "symbolizer/worker/code_service.h"
#include "../run_suite.h"

#define MACHINE 224
#define SECOND UINT64_C(1000000000)
#define FIRST_ADDRESS 0x1000 /* of the loaded segment */
#define DATA_ADDRESS 0x1800
#define CODE_ADDRESS 0x2000
#define CODE_SIZE 0x100
#define DESCRIPTOR_SIZE 64

static const struct made_function {
	const char *name;
	uint64_t offset, size;
	bool is_kernel;
} made_functions[] = { { "gemm", 0, 0x40, true }, { "helper", 0x40, 0x40, false }, { "softmax", 0x80, 0x60, true } };
#define FUNCTION_COUNT (sizeof made_functions / sizeof *made_functions)

struct descriptor {
	uint32_t local_bytes, private_bytes;
	uint64_t reserved;
	int64_t entry; /* from the descriptor's own address */
	uint8_t rest[DESCRIPTOR_SIZE - 24];
};

enum { SECTION_DATA = 1, SECTION_CODE, SECTION_SYMBOLS, SECTION_NAMES, SECTION_SECTION_NAMES, SECTION_COUNT };

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[SECTION_COUNT];
	Elf64_Sym symbols[1 + 2 * FUNCTION_COUNT];
	struct descriptor descriptors[FUNCTION_COUNT];
	uint8_t code[CODE_SIZE];
	char names[128], section_names[64];
};

static uint32_t add_name(char *names, size_t size, size_t *used, const char *name, const char *suffix)
{
	uint32_t at = (uint32_t)*used;
	*used += (size_t)snprintf(names + at, size - at, "%s%s", name, suffix) + 1;
	ck_assert_uint_le(*used, size);
	return at;
}

static Elf64_Shdr section_of(const struct image *image, uint32_t type, uint64_t flags, uint64_t address,
			     const void *bytes, size_t size)
{
	return (Elf64_Shdr){ .sh_type = type,
			     .sh_flags = flags,
			     .sh_addr = address,
			     .sh_offset = (uint64_t)((const char *)bytes - (const char *)image),
			     .sh_size = size,
			     .sh_addralign = 1 };
}

static void make_symbols(struct image *image)
{
	size_t used = 1, count = 1;
	for (size_t i = 0; i < FUNCTION_COUNT; i++) {
		const struct made_function *made = &made_functions[i];
		image->symbols[count++] = (Elf64_Sym){
			.st_name = add_name(image->names, sizeof image->names, &used, made->name, ""),
			.st_info = ELF64_ST_INFO(made->is_kernel ? STB_GLOBAL : STB_LOCAL, STT_FUNC),
			.st_shndx = SECTION_CODE,
			.st_value = CODE_ADDRESS + made->offset,
			.st_size = made->size,
		};
		if (!made->is_kernel)
			continue;
		uint64_t address = DATA_ADDRESS + i * DESCRIPTOR_SIZE;
		image->symbols[count++] = (Elf64_Sym){
			.st_name = add_name(image->names, sizeof image->names, &used, made->name, ".kd"),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			.st_shndx = SECTION_DATA,
			.st_value = address,
			.st_size = DESCRIPTOR_SIZE,
		};
		image->descriptors[i] =
			(struct descriptor){ .local_bytes = 1024 + (uint32_t)i,
					     .private_bytes = 16,
					     .entry = (int64_t)(CODE_ADDRESS + made->offset - address) };
	}
	image->sections[SECTION_SYMBOLS] =
		section_of(image, SHT_SYMTAB, 0, 0, image->symbols, count * sizeof *image->symbols);
	image->sections[SECTION_SYMBOLS].sh_link = SECTION_NAMES;
	image->sections[SECTION_SYMBOLS].sh_entsize = sizeof *image->symbols;
	image->sections[SECTION_SYMBOLS].sh_addralign = 8;
}

/* The caller frees it. */
static struct image *make_image(void)
{
	static const char *const names[] = { "", ".rodata", ".text", ".symtab", ".strtab", ".shstrtab" };
	struct image *image = calloc(1, sizeof *image);
	size_t used = 0;
	ck_assert_ptr_nonnull(image);
	image->header =
		(Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = MACHINE,
			      .e_version = EV_CURRENT,
			      .e_ehsize = sizeof image->header,
			      .e_phoff = offsetof(struct image, segment),
			      .e_phentsize = sizeof image->segment,
			      .e_phnum = 1,
			      .e_shoff = offsetof(struct image, sections),
			      .e_shentsize = sizeof *image->sections,
			      .e_shnum = SECTION_COUNT,
			      .e_shstrndx = SECTION_SECTION_NAMES };
	image->segment = (Elf64_Phdr){ .p_type = PT_LOAD, .p_vaddr = FIRST_ADDRESS, .p_memsz = 0x2000 };
	image->sections[SECTION_DATA] =
		section_of(image, SHT_PROGBITS, SHF_ALLOC, DATA_ADDRESS, image->descriptors, sizeof image->descriptors);
	image->sections[SECTION_CODE] =
		section_of(image, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE_ADDRESS, image->code, CODE_SIZE);
	image->sections[SECTION_NAMES] = section_of(image, SHT_STRTAB, 0, 0, image->names, sizeof image->names);
	image->sections[SECTION_SECTION_NAMES] =
		section_of(image, SHT_STRTAB, 0, 0, image->section_names, sizeof image->section_names);
	make_symbols(image);
	for (size_t i = 0; i < SECTION_COUNT; i++)
		image->sections[i].sh_name =
			add_name(image->section_names, sizeof image->section_names, &used, names[i], "");
	return image;
}

/* The decoder, as its vendor would write it. */

static int report_kernel(const struct iaprof_image *image, const struct iaprof_image_symbol *symbol,
			 const struct iaprof_image_report *report)
{
	const struct iaprof_image_section *data = iaprof_image_section(image, symbol->section);
	struct descriptor descriptor;
	char name[64];
	if (!data->bytes || symbol->value < data->address || data->size < sizeof descriptor ||
	    symbol->value - data->address > data->size - sizeof descriptor || strlen(symbol->name) >= sizeof name) {
		report->refused(report, 1);
		return 0;
	}
	memcpy(&descriptor, (const char *)data->bytes + (symbol->value - data->address), sizeof descriptor);
	memcpy(name, symbol->name, strlen(symbol->name) + 1);
	name[strlen(name) - 3] = '\0';
	const struct iaprof_image_attribute attributes[] = { { "local_bytes", descriptor.local_bytes },
							     { "private_bytes", descriptor.private_bytes } };
	uint64_t address = symbol->value + (uint64_t)descriptor.entry;
	for (uint32_t i = 1; i < image->section_count; i++) {
		const struct iaprof_image_section *code = iaprof_image_section(image, i);
		if (!(code->flags & SHF_EXECINSTR) || address < code->address || address - code->address >= code->size)
			continue;
		return report->function(report,
					&(struct iaprof_image_function){ .size = sizeof(struct iaprof_image_function),
									 .flags = IAPROF_IMAGE_FUNCTION_KERNEL,
									 .name = name,
									 .section = i,
									 .offset = address - code->address,
									 .attribute_count = 2,
									 .attributes = attributes });
	}
	report->refused(report, 1);
	return 0;
}

static int image_read(const struct iaprof_host *host, void *instance, const struct iaprof_image *image,
		      const struct iaprof_image_report *report)
{
	int result = 0;
	for (uint64_t i = 1; !result && i < image->symbol_count; i++) {
		const struct iaprof_image_symbol *symbol = iaprof_image_symbol(image, i);
		size_t length = strlen(symbol->name);
		if (symbol->type == STT_OBJECT && length > 3 && !strcmp(symbol->name + length - 3, ".kd") &&
		    symbol->section < image->section_count)
			result = report_kernel(image, symbol, report);
	}
	return result;
}

static size_t display_name(const struct iaprof_host *host, void *instance, const char *name, char *text,
			   size_t capacity)
{
	return strcmp(name, "gemm") ? 0 : (size_t)snprintf(text, capacity, "gemm<half>");
}

static int code_open(const struct iaprof_host *host, void *instance, const struct iaprof_code *description, void **code)
{
	*code = NULL;
	return 0;
}

static void code_close(const struct iaprof_host *host, void *instance, void *code)
{
}

static int code_decode(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
		       struct iaprof_code_instruction *instruction)
{
	if (offset % 4)
		return -EINVAL;
	instruction->size = 4;
	instruction->mnemonic = "s_nop";
	return 0;
}

static const struct iaprof_decoder_operations operations = {
	.size = sizeof operations,
	.machine = MACHINE,
	.code_open = code_open,
	.code_close = code_close,
	.code_decode = code_decode,
	.image_read = image_read,
	.display_name = display_name,
};

static const struct iaprof_plugin description = {
	IAPROF_PLUGIN_VERSIONS, .kind = IAPROF_PLUGIN_DECODER, .name = "gfx",
	.instance_size = 1,     .decoder = &operations,
};

static struct plugin plugin;
static struct instance_services services;
static struct instance *instance;

static struct decoder *decoder(void)
{
	static struct instance_configuration wanted = { .plugin = (char *)"gfx" };
	static struct decoder result;
	struct error error = { 0 };
	if (instance)
		return &result;
	ck_assert_msg(!plugin_take_description(&plugin, &description, "gfx", &error), "%s", error.text);
	instance = instance_new(&plugin, &wanted, UINT16_MAX, &services, &error);
	ck_assert_msg(instance && !instance_configure(instance, &error), "%s", error.text);
	result = instance_decoder(instance);
	return &result;
}

static struct decoder *find_decoder(struct decoder_finder *finder, uint32_t machine)
{
	return machine == MACHINE ? decoder() : NULL;
}

static struct decoder_finder decoders = { find_decoder };

static struct code_object *open_made(struct image *image, struct decoder *with)
{
	struct code_object *object;
	ck_assert_int_eq(code_object_open(&object, (char *)image, sizeof *image, MACHINE, with), 0);
	return object;
}

/* Functions are known from symbols, with and without the decoder; kernels and their numbers from the decoder alone. */
TEST_LOOP(kernels_are_what_the_decoder_says, 0, 2)
{
	bool with = _i;
	struct code_object *object = open_made(make_image(), with ? decoder() : NULL);
	uint64_t base;
	size_t count;
	ck_assert_uint_eq(code_object_addresses(object, &base), IAPROF_IMAGE_ADDRESSES_RELATIVE);
	ck_assert_uint_eq(base, FIRST_ADDRESS);
	const struct code_function *functions = code_object_functions(object, &count);
	ck_assert_uint_eq(count, FUNCTION_COUNT);
	for (size_t i = 0; i < count; i++) {
		const struct made_function *made = &made_functions[i];
		int64_t value = 0;
		ck_assert_str_eq(functions[i].name, made->name);
		ck_assert_str_eq(functions[i].shown, with && i == 0 ? "gemm<half>" : made->name);
		ck_assert_uint_eq(functions[i].address, CODE_ADDRESS + made->offset);
		ck_assert_uint_eq(functions[i].size, made->size);
		ck_assert(functions[i].is_kernel == (with && made->is_kernel));
		ck_assert(code_function_attribute(&functions[i], "local_bytes", &value) == functions[i].is_kernel);
		ck_assert_int_eq(value, functions[i].is_kernel ? 1024 + (int64_t)i : 0);
	}
	struct code_damage damage = code_object_damage(object), none = { 0 };
	ck_assert_mem_eq(&damage, &none, sizeof none);
	code_object_release(object);
}

/* Each kernel of a section counts from its own start, and a function of nobody from its own. */
TEST(several_kernels_share_a_section)
{
	struct code_object *object = open_made(make_image(), decoder());
	for (size_t i = 0; i < FUNCTION_COUNT; i++) {
		const struct made_function *made = &made_functions[i];
		struct code_location location;
		struct debug_frame frame;
		ck_assert_uint_eq(code_object_find(object, CODE_ADDRESS + made->offset + 12, &location, &frame, 1), 1);
		ck_assert_str_eq(location.function->name, made->name);
		ck_assert_uint_eq(location.offset, 12);
		ck_assert(made->is_kernel ? location.kernel == location.function : !location.kernel);
	}
	struct code_location location;
	struct debug_frame frame;
	ck_assert_uint_eq(code_object_find(object, CODE_ADDRESS + 0xe0, &location, &frame, 1), 0);
	code_object_release(object);
}

/* A descriptor that points nowhere, and one outside of its section: the functions stay, and are no kernels. */
TEST(what_makes_no_sense_is_counted)
{
	struct image *image = make_image();
	image->descriptors[0].entry = 1 << 20;
	image->symbols[5].st_value = DATA_ADDRESS + sizeof image->descriptors - 8;
	struct code_object *object = open_made(image, decoder());
	size_t count;
	const struct code_function *functions = code_object_functions(object, &count);
	ck_assert_uint_eq(count, FUNCTION_COUNT);
	for (size_t i = 0; i < count; i++)
		ck_assert(!functions[i].is_kernel);
	ck_assert_uint_eq(code_object_damage(object).attributes, 2);
	code_object_release(object);
}

struct run {
	struct intern *intern;
	struct process_table *processes;
	struct budget budget;
	struct code_workers *workers;
	struct device_code *code;
	char path[64];
	int descriptor;
};

static void run_open(struct run *run)
{
	decoder();
	CLEANUP_FREE struct image *image = make_image();
	*run = (struct run){ .intern = intern_new(NULL), .processes = process_table_new() };
	budget_init(&run->budget);
	run->workers = code_workers_new_in_threads(&decoders, code_service_serve);
	run->code = device_code_new(&(struct device_code_options){ .intern = run->intern,
								   .processes = run->processes,
								   .workers = run->workers,
								   .budget = &run->budget,
								   .live = true });
	ck_assert_ptr_nonnull(run->code);
	run->descriptor = memfd_create("gfx", MFD_CLOEXEC);
	ck_assert_int_eq(write(run->descriptor, image, sizeof *image), sizeof *image);
	snprintf(run->path, sizeof run->path, "/proc/self/fd/%d", run->descriptor);
}

static void run_close(struct run *run)
{
	device_code_free(run->code);
	code_workers_free(run->workers);
	budget_free(&run->budget);
	process_table_free(run->processes);
	intern_free(run->intern);
	close(run->descriptor);
}

static void take_object(struct run *run, uint32_t id, uint64_t address)
{
	struct iaprof_record_code_object record = { .header = { .size = sizeof record, .source = 1, .time = SECOND },
						    .id = id,
						    .pid = 10,
						    .machine = MACHINE,
						    .address = address,
						    .path = intern_text_id(run->intern, run->path) };
	device_code_take_code_object(run->code, &record);
}

static void expect_softmax(struct run *run, uint64_t address)
{
	struct device_code_found found;
	struct code_place place;
	ck_assert(device_code_find(run->code, 0, 10, address, 2 * SECOND, &found));
	ck_assert_ptr_nonnull(found.code);
	ck_assert(remote_code_find(found.code, found.address, &place));
	ck_assert_str_eq(place.location.kernel->name, "softmax");
	ck_assert_uint_eq(place.location.offset, 8);
	ck_assert_str_eq(place.instruction.mnemonic, "s_nop");
}

/* The image's first address is at the address that the source gives; two loads of one image have a bias each. */
TEST(an_image_is_loaded_with_a_bias)
{
	struct run run;
	run_open(&run);
	take_object(&run, 1, 0x7f0000100000);
	take_object(&run, 2, 0x7f0000900000);
	expect_softmax(&run, 0x7f0000100000 + CODE_ADDRESS - FIRST_ADDRESS + 0x80 + 8);
	expect_softmax(&run, 0x7f0000900000 + CODE_ADDRESS - FIRST_ADDRESS + 0x80 + 8);
	run_close(&run);
}

/* Without an address, the first kernel that is announced determines the address of the whole image. */
TEST(a_kernel_states_the_bias)
{
	struct run run;
	struct device_code_found found;
	run_open(&run);
	take_object(&run, 1, 0);
	ck_assert(!device_code_find(run.code, 0, 10, 0x500080 + 8, 2 * SECOND, &found));
	struct iaprof_record_kernel kernel = { .header = { .size = sizeof kernel, .source = 1, .time = SECOND },
					       .id = 1,
					       .code_object = 1,
					       .pid = 10,
					       .name = intern_text_id(run.intern, "gemm"),
					       .address = 0x500000 };
	device_code_take_kernel(run.code, &kernel);
	expect_softmax(&run, 0x500080 + 8);
	run_close(&run);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
