/* SPDX-License-Identifier: Apache-2.0 */
/* See code_object.h. */
#include "symbolizer/device/code_object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "symbolizer/device/code_image.h"
#include "symbolizer/device/compiler_names.h"
#include "base/regular_file.h"
#include "symbolizer/display_names.h"

/* Limit on the name of a kernel that is one of several. */
#define SHARED_NAME_SIZE 256

struct code_object {
	uint64_t references;
	char *bytes; /* the image, of this size */
	size_t size;
	uint16_t machine;
	struct string_table strings;
	struct display_names display_names;
	struct code_image image;
	struct decoder *decoder; /* for its machine; NULL if none */
	struct code_description description;
	struct code_table table;
	struct debug_info *debug_info; /* NULL if none */
};

struct code_object *code_object_reference(struct code_object *object)
{
	object->references++;
	return object;
}

void code_object_release(struct code_object *object)
{
	if (!object || --object->references)
		return;
	debug_info_free(object->debug_info);
	code_table_free(&object->table);
	code_description_free(&object->description);
	code_image_free(&object->image);
	display_names_free(&object->display_names);
	string_table_free(&object->strings);
	free(object->bytes);
	free(object);
}

static int index_functions(struct code_object *object)
{
	for (size_t i = 0; i < object->image.functions.count; i++) {
		struct code_function *function = &object->image.functions.items[i];
		char text[COMPILER_NAME_SIZE];
		const char *name = compiler_name(function->name, text);
		/* Names are cached by their address. */
		if (name == text)
			name = string_table_intern(&object->strings, text, strlen(text));
		function->shown = name ? display_names_get(&object->display_names, name) : NULL;
		if (!function->shown)
			return -ENOMEM;
	}
	object->table.sections = object->image.sections.items;
	object->table.section_count = object->image.sections.count;
	object->table.functions = object->image.functions.items;
	object->table.function_count = object->image.functions.count;
	return code_table_index(&object->table) ? 0 : -ENOMEM;
}

static int compare_described(const void *left, const void *right)
{
	const struct described_function *a = left, *b = right;
	int order = strcmp(a->name, b->name);
	return order ? order : (int)(a->section != 0) - (int)(b->section != 0);
}

/* Returns whether a function is at the address that the decoder reported. */
static bool is_at(const struct code_object *object, const struct code_function *function,
		  const struct described_function *described)
{
	const struct code_image *image = &object->image;
	return described->section < image->section_numbers.count &&
	       image->section_numbers.items[described->section] == function->section &&
	       image->sections.items[function->section].address + described->offset == function->address;
}

/* Attaches the decoder's attributes to the functions with their names. */
static void attach_attributes(struct code_object *object)
{
	struct code_description *description = &object->description;
	size_t named = 0, attached = 0;
	if (description->functions.count)
		qsort(description->functions.items, description->functions.count, sizeof *description->functions.items,
		      compare_described);
	/* Descriptions without an address match by name: count those that match no function. */
	for (size_t i = 0; i < description->functions.count; i++)
		named += !description->functions.items[i].section;
	for (size_t i = 0; i < object->image.functions.count; i++) {
		struct code_function *function = &object->image.functions.items[i];
		size_t first = 0, end = description->functions.count;
		while (first < end) {
			size_t middle = first + (end - first) / 2;
			if (strcmp(description->functions.items[middle].name, function->name) < 0)
				first = middle + 1;
			else
				end = middle;
		}
		for (; first < description->functions.count; first++) {
			const struct described_function *described = &description->functions.items[first];
			if (strcmp(described->name, function->name) != 0)
				break;
			if (described->is_kernel != function->is_kernel ||
			    (described->section && !is_at(object, function, described)))
				continue;
			attached += !described->section;
			if (!described->attribute_count || function->attribute_count)
				continue;
			function->attributes = &description->attributes.items[described->attribute];
			function->attribute_count = described->attribute_count;
		}
	}
	object->image.damage.attributes += description->refused;
	if (attached < named)
		object->image.damage.attributes += named - attached;
	object->image.damage.parts += description->is_damaged;
}

static int describe(struct code_object *object, const struct elf_file *file)
{
	object->description.strings = &object->strings;
	object->image.description = &object->description;
	if (!object->decoder)
		return 0;
	return code_description_read(&object->description, object->decoder, file, object->bytes, object->size);
}

/* Replaces the image by a copy with relocated debug information. */
static int relocate(struct code_object *object, struct elf_file *file)
{
	char *copy = malloc(object->size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, object->bytes, object->size);
	size_t type_count;
	const struct iaprof_relocation *types = decoder_relocations(object->decoder, &type_count);
	int code = code_image_relocate(&object->image, file, copy, types, type_count);
	if (code == -ENOMEM) {
		free(copy);
		return code;
	}
	object->image.damage.parts += code != 0;
	elf_file_close(file);
	free(object->bytes);
	object->bytes = copy;
	/* It is not modified from here on, and libelf validates it as any other file. */
	return elf_file_open_borrowed(file, copy, object->size);
}

/* Takes ownership of the file. */
static int read_debug_info(struct code_object *object, struct elf_file *file)
{
	if (!debug_lines_exist(file) && !debug_info_exists(file))
		return 0;
	bool needs_relocation = object->image.addresses == IAPROF_IMAGE_ADDRESSES_NONE;
	size_t type_count;
	/* Without relocation, all units would be at 0. */
	if (needs_relocation && !decoder_relocations(object->decoder, &type_count))
		return 0;
	int code = needs_relocation ? relocate(object, file) : 0;
	if (code == -ENOMEM)
		return code;
	if (!code)
		object->debug_info = debug_info_new(file, NULL, &(bool){ false });
	object->image.damage.parts += !object->debug_info;
	return object->debug_info ? code_image_place_units(&object->image, object->debug_info, &object->display_names)
				  : 0;
}

static int read_all(struct code_object *object, struct elf_file *file)
{
	object->image.strings = &object->strings;
	object->display_names.strings = &object->strings;
	object->display_names.decoder = object->decoder;
	int code = describe(object, file);
	if (!code)
		code = code_image_read_sections(&object->image, file);
	if (!code)
		code = code_image_read_functions(&object->image, file);
	if (!code)
		code = index_functions(object);
	if (!code)
		code = code_image_find_callers(&object->image, &object->table, file);
	if (!code)
		attach_attributes(object);
	if (!code)
		code = read_debug_info(object, file);
	return code;
}

int code_object_open(struct code_object **object, char *bytes, size_t size, uint16_t machine, struct decoder *decoder)
{
	*object = NULL;
	if (size > CODE_OBJECT_SIZE_MAX) {
		free(bytes);
		return -EFBIG;
	}
	struct code_object *made = calloc(1, sizeof *made);
	if (!made) {
		free(bytes);
		return -ENOMEM;
	}
	made->references = 1;
	made->bytes = bytes;
	made->size = size;
	struct elf_file file;
	int code = elf_file_open_borrowed(&file, bytes, size);
	if (!code &&
	    ((machine != EM_NONE && file.header.e_machine != machine) || file.header.e_ident[EI_DATA] != ELFDATA2LSB))
		code = -ENOEXEC;
	made->machine = file.header.e_machine;
	if (decoder && decoder->plugin->operations.decoder.machine == made->machine)
		made->decoder = decoder;
	if (!code)
		code = read_all(made, &file);
	elf_file_close(&file);
	if (code) {
		code_object_release(made);
		return code;
	}
	*object = made;
	return 0;
}

int code_object_read_file(int descriptor, char **bytes, size_t *size)
{
	struct stat status;
	*bytes = NULL;
	*size = 0;
	if (fstat(descriptor, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (status.st_size > (off_t)CODE_OBJECT_SIZE_MAX)
		return -EFBIG;
	size_t wanted = (size_t)status.st_size;
	CLEANUP_FREE char *read_bytes = malloc(wanted + 1);
	if (!read_bytes)
		return -ENOMEM;
	ssize_t length = file_read_at(descriptor, read_bytes, wanted, 0);
	if (length != (ssize_t)wanted)
		return length < 0 ? (int)length : -ENOEXEC;
	*bytes = STEAL_POINTER(read_bytes);
	*size = wanted;
	return 0;
}

int code_object_open_file(struct code_object **object, const char *path, uint16_t machine, struct decoder *decoder)
{
	*object = NULL;
	int opened = regular_file_open(-1, path, 0);
	if (opened < 0)
		return opened;
	CLEANUP_CLOSE int descriptor = opened;
	char *bytes;
	size_t size;
	int code = code_object_read_file(descriptor, &bytes, &size);
	return code ? code : code_object_open(object, bytes, size, machine, decoder);
}

uint16_t code_object_machine(const struct code_object *object)
{
	return object->machine;
}

const char *code_object_image(const struct code_object *object, size_t *size)
{
	*size = object->size;
	return object->bytes;
}

uint32_t code_object_addresses(const struct code_object *object, uint64_t *base)
{
	*base = object->image.base;
	return object->image.addresses;
}

const struct code_section *code_object_sections(const struct code_object *object, size_t *count)
{
	*count = object->image.sections.count;
	return object->image.sections.items;
}

const struct code_function *code_object_functions(const struct code_object *object, size_t *count)
{
	*count = object->image.functions.count;
	return object->image.functions.items;
}

struct code_damage code_object_damage(const struct code_object *object)
{
	struct code_damage damage = object->image.damage;
	damage.parts += object->debug_info ? debug_info_failed(object->debug_info) : 0;
	return damage;
}

/* Returns whether the outermost function at an address is the one that a kernel begins with. */
static bool is_of_kernel(struct code_object *object, const struct code_function *kernel,
			 const struct debug_frame *outermost)
{
	struct debug_frame entry = { 0 };
	if (object->debug_info && debug_info_find(object->debug_info, kernel->address, &entry, 1) && entry.name)
		return strcmp(entry.name, outermost->name) == 0;
	return strcmp(kernel->name, outermost->name) == 0;
}

/* Returns the kernel of a function that several share: "[a or b]", or "[one of 3 kernels]". NULL if out of memory. */
static const char *name_callers(struct code_object *object, const struct code_function *function)
{
	const struct code_function *functions = object->image.functions.items;
	char text[SHARED_NAME_SIZE];
	size_t count = function->caller_count;
	int length = -1;
	if (count == 2)
		length = snprintf(text, sizeof text, "[%s or %s]", functions[function->callers[0]].shown,
				  functions[function->callers[1]].shown);
	if (length < 0 || (size_t)length >= sizeof text)
		length = snprintf(text, sizeof text, "[one of %zu kernels]", count);
	return string_table_intern(&object->strings, text, (size_t)length);
}

/*
 * Finds the frame of the kernel for code of a function that it calls. Returns false if the code is the kernel's own, or
 * if no kernel is known. The call is not known, so the frame has no line.
 */
static bool find_kernel_frame(struct code_object *object, const struct code_location *location,
			      const struct debug_frame *outermost, struct debug_frame *frame)
{
	const struct code_function *function = location->function, *kernel = location->kernel;
	if (!kernel && function->caller_count == 1)
		kernel = &object->image.functions.items[function->callers[0]];
	if (kernel ? is_of_kernel(object, kernel, outermost) : !function->caller_count)
		return false;
	*frame = (struct debug_frame){ 0 };
	if (kernel && object->debug_info)
		(void)debug_info_find(object->debug_info, kernel->address, frame, 1);
	frame->line = 0;
	frame->file = frame->file ? frame->file : outermost->file;
	frame->name = kernel ? kernel->shown : name_callers(object, function);
	return true;
}

/* Returns how a name in a function is shown: its own, whatever the compiler calls it, or that of an inlined one. */
static const char *show_name(struct code_object *object, const struct code_function *function, const char *name)
{
	if (!name)
		return NULL;
	return strcmp(name, function->name) == 0 ? function->shown : display_names_get(&object->display_names, name);
}

size_t code_object_find(struct code_object *object, uint64_t address, struct code_location *location,
			struct debug_frame *frames, size_t capacity)
{
	if (!capacity || !code_table_find(&object->table, address, location))
		return 0;
	const struct code_function *function = location->function;
	size_t count = object->debug_info ? debug_info_find(object->debug_info, address, frames, capacity) : 0;
	if (!count)
		frames[count++] = (struct debug_frame){ 0 };
	if (!frames[0].name)
		frames[0].name = function->name;
	struct debug_frame kernel;
	if (find_kernel_frame(object, location, &frames[0], &kernel)) {
		count = count < capacity ? count : capacity - 1;
		memmove(frames + 1, frames, count * sizeof *frames);
		frames[0] = kernel;
		count++;
	}
	for (size_t i = 0; i < count; i++)
		frames[i].name = show_name(object, function, frames[i].name);
	return count;
}
