/* SPDX-License-Identifier: Apache-2.0 */
/* See module_types.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include "module_types.h"

/* MODULE_NAME_LEN, include/linux/module.h, with room. */
#define MODULE_SIZE 64

/* Returns whether a descriptor refers to the BTF of a module. */
static bool is_of_module(int descriptor, const char *module)
{
	char name[MODULE_SIZE] = "";
	struct bpf_btf_info info = { .name = (uintptr_t)name, .name_len = sizeof name };
	uint32_t size = sizeof info;

	return bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0 && info.kernel_btf && strcmp(name, module) == 0;
}

int module_types_open(const char *module)
{
	uint32_t id = 0;

	while (bpf_btf_get_next_id(id, &id) == 0) {
		int descriptor = bpf_btf_get_fd_by_id(id);
		if (descriptor < 0) {
			if (errno == ENOENT) /* the module has been unloaded in between */
				continue;
			return -errno;
		}
		if (is_of_module(descriptor, module))
			return descriptor;
		close(descriptor);
	}
	return errno ? -errno : -ENOENT;
}

/* Returns a function's index in a sorted list, or -1 if it is missing or not unique. */
static int64_t list_find(const struct function_list *list, const char *name)
{
	const struct listed_function *found = function_list_find(list, name);

	if (!found)
		return -1;
	int64_t index = found - list->functions;
	if ((index && strcmp(found[-1].name, name) == 0) ||
	    (index + 1 < list->count && strcmp(found[1].name, name) == 0))
		return -1;
	return index;
}

int module_types_find(const char *module, const struct function_list *list, uint32_t *ids)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct btf *types = kernel ? btf__load_module_btf(module, kernel) : NULL;
	int found = types ? 0 : -errno;

	memset(ids, 0, list->count * sizeof *ids);
	for (uint32_t id = types ? btf__type_cnt(kernel) : 0; types && id < btf__type_cnt(types); id++) {
		const struct btf_type *type = btf__type_by_id(types, id);
		const char *name = type && btf_is_func(type) ? btf__name_by_offset(types, type->name_off) : NULL;
		int64_t index = name ? list_find(list, name) : -1;
		if (index < 0)
			continue;
		found += !ids[index];
		ids[index] = id;
	}
	btf__free(types);
	btf__free(kernel);
	return found;
}

/* Sets the offset of a struct's member, in bytes. Returns whether the BTF has it. */
static bool member_find(const struct btf *types, const struct module_member *wanted, uint32_t *offset)
{
	int32_t id = btf__find_by_name_kind(types, wanted->structure, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;

	for (uint32_t i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(types, btf_members(type)[i].name_off);
		uint32_t bits = btf_member_bit_offset(type, i);
		if (!name || strcmp(name, wanted->member) != 0 || bits % 8)
			continue;
		*offset = bits / 8;
		return true;
	}
	return false;
}

int module_types_find_members(const char *module, const struct module_member *members, uint32_t count,
			      uint32_t *offsets)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	struct btf *types = kernel ? btf__load_module_btf(module, kernel) : NULL;
	int result = types ? 0 : -errno;

	for (uint32_t i = 0; i < count && !result; i++)
		if (!member_find(types, &members[i], &offsets[i]))
			result = -ENOENT;
	btf__free(types);
	btf__free(kernel);
	return result;
}
