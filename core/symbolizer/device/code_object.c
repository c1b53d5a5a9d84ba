/* SPDX-License-Identifier: Apache-2.0 */
/* One code object: see code_object.h. */
#include "symbolizer/device/code_object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "base/hash.h"
#include "symbolizer/device/code_image.h"
#include "symbolizer/regular_file.h"
#include "symbolizer/shown_names.h"

struct code_object {
	uint64_t references;
	char *bytes; /* size of them: the image */
	size_t size;
	uint16_t machine;
	struct string_table strings;
	struct shown_names shown_names;
	struct code_image image;
	struct ze_info ze_info;
	struct code_table table;
	struct debug_info *debug_info; /* NULL none */
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
	ze_info_free(&object->ze_info);
	code_image_free(&object->image);
	shown_names_free(&object->shown_names);
	string_table_free(&object->strings);
	free(object->bytes);
	free(object);
}

const struct code_function *code_object_function(const struct code_object *object, const char *name)
{
	return code_table_function(&object->table, name);
}

static int index_functions(struct code_object *object)
{
	for (size_t i = 0; i < object->image.functions.count; i++) {
		struct code_function *function = &object->image.functions.items[i];
		function->shown = shown_names_get(&object->shown_names, function->name);
		if (!function->shown)
			return -ENOMEM;
	}
	object->table.sections = object->image.sections.items;
	object->table.section_count = object->image.sections.count;
	object->table.functions = object->image.functions.items;
	object->table.function_count = object->image.functions.count;
	return code_table_index(&object->table) ? 0 : -ENOMEM;
}

static int compare_entries(const void *left, const void *right)
{
	const struct ze_info_entry *a = left, *b = right;
	return strcmp(a->name, b->name);
}

/* Gives kernels the attributes that are of their names. */
static void attach_attributes(struct code_object *object)
{
	struct ze_info *info = &object->ze_info;
	if (!info->entries.count)
		return;
	qsort(info->entries.items, info->entries.count, sizeof *info->entries.items, compare_entries);
	size_t attached = 0;
	for (size_t i = 0; i < object->image.functions.count; i++) {
		struct code_function *function = &object->image.functions.items[i];
		struct ze_info_entry wanted = { .name = function->name };
		const struct ze_info_entry *entry =
			bsearch(&wanted, info->entries.items, info->entries.count, sizeof wanted, compare_entries);
		if (!entry || entry->is_function == function->is_kernel)
			continue;
		function->attributes = entry->count ? &info->attributes.items[entry->first] : NULL;
		function->attribute_count = entry->count;
		attached++;
	}
	object->image.damage.attributes += info->refused;
	if (attached < info->entries.count)
		object->image.damage.attributes += info->entries.count - attached;
}

static int read_attributes(struct code_object *object, const struct elf_file *file)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_file_section(file, ".ze_info", 0, &header);
	if (!section)
		return 0;
	Elf_Data *data = elf_file_section_data(section);
	int code = data ? ze_info_read(&object->ze_info, data->d_buf, data->d_size, &object->strings) : -EINVAL;
	if (code == -ENOMEM)
		return code;
	object->image.damage.parts += code != 0;
	attach_attributes(object);
	return 0;
}

/* Puts a copy with relocated debug information in the image's place. */
static int relocate(struct code_object *object, struct elf_file *file)
{
	char *copy = malloc(object->size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, object->bytes, object->size);
	int code = code_image_relocate(&object->image, file, copy);
	if (code == -ENOMEM) {
		free(copy);
		return code;
	}
	object->image.damage.parts += code != 0;
	elf_file_close(file);
	free(object->bytes);
	object->bytes = copy;
	/* From here on nothing writes to it, and libelf checks it as any other file. */
	return elf_file_open_borrowed(file, copy, object->size);
}

/* Takes the file over. */
static int read_debug_info(struct code_object *object, struct elf_file *file)
{
	if (!debug_info_exists(file))
		return 0;
	int code = object->image.is_placed ? 0 : relocate(object, file);
	if (code == -ENOMEM)
		return code;
	if (!code)
		object->debug_info = debug_info_new(file, NULL);
	object->image.damage.parts += !object->debug_info;
	return 0;
}

static int read_all(struct code_object *object, struct elf_file *file)
{
	object->image.strings = &object->strings;
	object->shown_names.strings = &object->strings;
	int code = code_image_read_sections(&object->image, file);
	if (!code)
		code = code_image_read_functions(&object->image, file);
	if (!code)
		code = index_functions(object);
	if (!code)
		code = read_attributes(object, file);
	if (!code)
		code = read_debug_info(object, file);
	return code;
}

int code_object_open(struct code_object **object, char *bytes, size_t size, uint16_t machine)
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
	size_t wanted = (size_t)status.st_size, done = 0;
	CLEANUP_FREE char *read_bytes = malloc(wanted + 1);
	if (!read_bytes)
		return -ENOMEM;
	while (done < wanted) {
		ssize_t length = pread(descriptor, read_bytes + done, wanted - done, (off_t)done);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return -errno;
		if (!length)
			return -ENOEXEC; /* it became shorter */
		done += (size_t)length;
	}
	*bytes = STEAL_POINTER(read_bytes);
	*size = wanted;
	return 0;
}

int code_object_open_file(struct code_object **object, const char *path, uint16_t machine)
{
	*object = NULL;
	int opened = regular_file_open(-1, path, 0);
	if (opened < 0)
		return opened;
	CLEANUP_CLOSE int descriptor = opened;
	char *bytes;
	size_t size;
	int code = code_object_read_file(descriptor, &bytes, &size);
	return code ? code : code_object_open(object, bytes, size, machine);
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

bool code_object_is_placed(const struct code_object *object)
{
	return object->image.is_placed;
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

uint64_t code_object_section_place(const struct code_object *object, size_t section, uint64_t base, uint64_t alignment)
{
	for (size_t i = 0; i < section; i++)
		base += (object->image.sections.items[i].size + alignment - 1) / alignment * alignment;
	return base;
}

size_t code_object_find(struct code_object *object, uint64_t address, struct code_location *location,
			struct debug_frame *frames, size_t capacity)
{
	if (!capacity || !code_table_find(&object->table, address, location))
		return 0;
	const struct code_function *function = location->function;
	size_t count = object->debug_info ? debug_info_find(object->debug_info, address, frames, capacity) : 0;
	if (!count) {
		frames[0] = (struct debug_frame){ .name = function->shown };
		return 1;
	}
	for (size_t i = 0; i < count; i++)
		frames[i].name = frames[i].name ? shown_names_get(&object->shown_names, frames[i].name) : NULL;
	if (!frames[0].name)
		frames[0].name = function->shown;
	return count;
}
