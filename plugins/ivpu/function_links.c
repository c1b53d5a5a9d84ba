/* SPDX-License-Identifier: Apache-2.0 */
/* See function_links.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "base/machine.h"
#include "npu/driver_functions.h"
#include "ivpu_shared.h"
#include "function_links.h"
#include "ivpu.bpf.skel.h"

/* kernel/events/core.c: enum perf_probe_config; the same in /sys/bus/event_source/devices/kprobe/format/retprobe. */
#define PROBE_IS_RETURN 1u
#define PROBE_TYPE_FILE "/sys/bus/event_source/devices/kprobe/type"

/* include/uapi/linux/bpf.h: BPF_LINK_TYPE_KPROBE_MULTI */
#define LINK_TYPE_KPROBE_MULTI 8u

/* union bpf_attr.link_create of Linux 7.2 for BPF_TRACE_FSESSION_MULTI, which older headers lack. */
struct trampolines_create {
	uint32_t program;
	uint32_t target;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t ids; /* u32 each, in the BTF that the program was loaded for */
	uint64_t cookies;
	uint32_t count;
	uint32_t pad;
};

/* struct bpf_link_info of Linux 6.8 and newer, up to the members needed here; older headers end earlier. */
struct multi_link_info {
	uint32_t type;
	uint32_t id;
	uint32_t program;
	uint32_t pad;
	uint64_t addresses;
	uint32_t count;
	uint32_t flags;
	uint64_t missed;
	uint64_t rest[16]; /* the kernel may write more members */
};

/* The same for a perf event on a kprobe. Linux 6.9 and newer report missed calls. */
struct single_link_info {
	uint32_t type;
	uint32_t id;
	uint32_t program;
	uint32_t pad;
	uint32_t event_type;
	uint32_t event_pad;
	uint64_t name;
	uint32_t name_size;
	uint32_t offset;
	uint64_t address;
	uint64_t missed;
	uint64_t rest[16];
};

struct function_links function_links_none(void)
{
	return (struct function_links){ .multi = { -1, -1 } };
}

/* The argument of a function that leads to the context that its calls are for. */
static enum ivpu_context_argument context_argument(const char *function)
{
	if (ivpu_function_find(function)->flags & IVPU_FUNCTION_IOCTL)
		return IVPU_CONTEXT_OF_THIRD;
	if (!strcmp(function, "ivpu_open") || !strcmp(function, "ivpu_postclose"))
		return IVPU_CONTEXT_OF_SECOND;
	return !strcmp(function, "ivpu_gem_bo_free") ? IVPU_CONTEXT_OF_BUFFER : IVPU_CONTEXT_NONE;
}

static uint64_t cookie_of(const struct function_list *list, uint32_t index)
{
	const struct listed_function *function = &list->functions[index];

	return IVPU_COOKIE(index, function->measured, context_argument(function->name));
}

/*
 * Links a program to the first functions of a list, except those with an id. Returns the link's descriptor or a
 * negative errno. Does not use libbpf, which lacks sessions.
 */
static int multi_create(const struct bpf_program *program, uint32_t attach_type, uint32_t flags,
			const struct function_list *list, uint32_t first, const uint32_t *ids)
{
	uint64_t *addresses = calloc(first, sizeof *addresses);
	uint64_t *cookies = calloc(first, sizeof *cookies);
	int result = -ENOMEM;

	if (addresses && cookies) {
		uint32_t count = 0;
		for (uint32_t i = 0; i < first; i++) {
			if (ids && ids[i])
				continue;
			addresses[count] = list->functions[i].address;
			cookies[count++] = cookie_of(list, i);
		}
		union bpf_attr attributes;
		memset(&attributes, 0, sizeof attributes);
		attributes.link_create.prog_fd = (uint32_t)bpf_program__fd(program);
		attributes.link_create.attach_type = attach_type;
		attributes.link_create.kprobe_multi.flags = flags;
		attributes.link_create.kprobe_multi.cnt = count;
		attributes.link_create.kprobe_multi.addrs = (uintptr_t)addresses;
		attributes.link_create.kprobe_multi.cookies = (uintptr_t)cookies;
		result = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes);
		if (result < 0)
			result = -errno;
	}
	free(addresses);
	free(cookies);
	return result;
}

/* Links a program with trampolines to the first functions of a list that have an id. Returns as above. */
static int trampolines_create(const struct bpf_program *program, const struct function_list *list, const uint32_t *ids,
			      uint32_t most)
{
	uint32_t *given = calloc(list->count, sizeof *given);
	uint64_t *cookies = calloc(list->count, sizeof *cookies);
	struct trampolines_create attributes = { .program = (uint32_t)bpf_program__fd(program),
						 .attach_type = ATTACH_TYPE_FSESSION,
						 .ids = (uintptr_t)given,
						 .cookies = (uintptr_t)cookies };
	int result = -ENOMEM;

	if (given && cookies) {
		for (uint32_t i = 0; i < list->count && attributes.count < most; i++) {
			if (!ids[i])
				continue;
			given[attributes.count] = ids[i];
			cookies[attributes.count++] = cookie_of(list, i);
		}
		result = (int)syscall(__NR_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes);
		if (result < 0)
			result = -errno;
	}
	free(given);
	free(cookies);
	return result;
}

/*
 * Uses trampolines, and a session for functions without BTF. If the kernel refuses a trampoline for one of the
 * functions, as it may because of its arguments, uses a session for all. A trial attaches to one function each way, and
 * fails where no function has BTF.
 */
static int fsession_attach(struct function_links *links, const struct ivpu_bpf *skeleton,
			   const struct function_list *list, const uint32_t *ids, bool is_try)
{
	const struct bpf_program *session = skeleton->progs.function_session;
	uint32_t found = 0;

	for (uint32_t i = 0; i < list->count; i++)
		found += ids[i] != 0;
	int result =
		found ? trampolines_create(skeleton->progs.function_fsession, list, ids, is_try ? 1 : found) : -ENODATA;
	links->multi[0] = result < 0 ? -1 : result;
	links->trampolines = result < 0 ? 0 : found;
	if (is_try && result >= 0 && found < list->count)
		result = links->multi[1] = multi_create(session, ATTACH_TYPE_SESSION, 0, list, 1, NULL);
	else if (!is_try && links->trampolines < list->count)
		result = links->multi[1] = multi_create(session, ATTACH_TYPE_SESSION, 0, list, list->count,
							links->trampolines ? ids : NULL);
	return result < 0 ? result : 0;
}

static int multi_attach(struct function_links *links, enum attach_method way, const struct ivpu_bpf *skeleton,
			const struct function_list *list, uint32_t count)
{
	if (way == ATTACH_SESSION) {
		links->multi[0] =
			multi_create(skeleton->progs.function_session, ATTACH_TYPE_SESSION, 0, list, count, NULL);
		return links->multi[0] < 0 ? links->multi[0] : 0;
	}
	if (links->only_entries) {
		links->multi[0] =
			multi_create(skeleton->progs.function_count, BPF_TRACE_KPROBE_MULTI, 0, list, count, NULL);
		return links->multi[0] < 0 ? links->multi[0] : 0;
	}
	/* Returns are attached first, so that every call whose entry is traced also has its return traced. */
	links->multi[1] = multi_create(skeleton->progs.function_return, BPF_TRACE_KPROBE_MULTI,
				       BPF_F_KPROBE_MULTI_RETURN, list, count, NULL);
	if (links->multi[1] < 0)
		return links->multi[1];
	links->multi[0] = multi_create(skeleton->progs.function_enter, BPF_TRACE_KPROBE_MULTI, 0, list, count, NULL);
	return links->multi[0] < 0 ? links->multi[0] : 0;
}

/* Returns the type of the kprobe PMU, or 0. */
static uint32_t probe_type_read(void)
{
	char text[32];

	line_read(PROBE_TYPE_FILE, text, sizeof text);
	return (uint32_t)strtoul(text, NULL, 10);
}

/* By address, because another module may have a function of this name. Returns NULL with errno set. */
static struct bpf_link *single_create(const struct bpf_program *program, uint32_t type, bool is_return,
				      const struct function_list *list, uint32_t index)
{
	struct perf_event_attr attributes = {
		.type = type,
		.size = sizeof attributes,
		.config = is_return ? PROBE_IS_RETURN : 0,
		.kprobe_addr = list->functions[index].address,
	};
	const struct bpf_perf_event_opts options = { .sz = sizeof options, .bpf_cookie = cookie_of(list, index) };
	int event = (int)syscall(__NR_perf_event_open, &attributes, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return NULL;
	struct bpf_link *link = bpf_program__attach_perf_event_opts(program, event, &options);
	if (!link) {
		int error = errno;
		close(event);
		errno = error;
	}
	return link;
}

/* Each probe needs two descriptors: perf event and link. */
static void descriptors_allow(uint32_t probes)
{
	struct rlimit limit;
	rlim_t wanted = 2 * (rlim_t)probes + 1024;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int single_attach(struct function_links *links, const struct ivpu_bpf *skeleton,
			 const struct function_list *list, uint32_t count)
{
	uint32_t type = probe_type_read();

	if (!type)
		return -EOPNOTSUPP;
	links->single = calloc(2 * (size_t)count, sizeof *links->single);
	if (!links->single)
		return -ENOMEM;
	descriptors_allow(2 * count);
	for (uint32_t i = links->only_entries ? count : 0; i < 2 * count; i++) {
		bool is_return = i < count;
		const struct bpf_program *program = links->only_entries ? skeleton->progs.function_count
						    : is_return         ? skeleton->progs.function_return
									: skeleton->progs.function_enter;
		struct bpf_link *link = single_create(program, type, is_return, list, i % count);
		if (!link)
			return errno ? -errno : -EIO;
		links->single[links->single_count++] = link;
	}
	return 0;
}

static int way_attach(struct function_links *links, enum attach_method way, const struct ivpu_bpf *skeleton,
		      const struct function_list *list, const uint32_t *ids, bool is_try)
{
	uint32_t count = is_try ? 1 : list->count;

	switch (way) {
	case ATTACH_FSESSION:
		return fsession_attach(links, skeleton, list, ids, is_try);
	case ATTACH_SINGLE:
		return single_attach(links, skeleton, list, count);
	default:
		return multi_attach(links, way, skeleton, list, count);
	}
}

int attach_method_try(enum attach_method way, struct ivpu_bpf *skeleton, const struct function_list *list,
		      const uint32_t *ids, bool only_entries)
{
	struct function_links links = function_links_none();

	links.only_entries = only_entries;
	int result = way_attach(&links, way, skeleton, list, ids, true);

	function_links_detach(&links);
	return result;
}

int function_links_attach(struct function_links *links, enum attach_method way, struct ivpu_bpf *skeleton,
			  const struct function_list *list, const uint32_t *ids)
{
	return way_attach(links, way, skeleton, list, ids, false);
}

void function_links_detach(struct function_links *links)
{
	/* Returns last. */
	for (size_t i = 0; i < sizeof links->multi / sizeof links->multi[0]; i++) {
		if (links->multi[i] >= 0)
			close(links->multi[i]);
		links->multi[i] = -1;
	}
	while (links->single_count)
		bpf_link__destroy(links->single[--links->single_count]);
	free(links->single);
	links->single = NULL;
}

uint64_t function_links_missed(const struct function_links *links)
{
	uint64_t missed = 0;

	/* An older kernel does not fill in the last members. Trampolines miss no returns. */
	for (size_t i = 0; i < sizeof links->multi / sizeof links->multi[0]; i++) {
		struct multi_link_info info = { 0 };
		uint32_t size = sizeof info;
		if (links->multi[i] >= 0 && bpf_obj_get_info_by_fd(links->multi[i], &info, &size) == 0 &&
		    info.type == LINK_TYPE_KPROBE_MULTI)
			missed += info.missed;
	}
	/* Only returns, which come first: a missed entry means that a BPF program was interrupted. */
	for (uint32_t i = 0; !links->only_entries && i < links->single_count / 2; i++) {
		struct single_link_info info = { 0 };
		uint32_t size = sizeof info;
		if (bpf_obj_get_info_by_fd(bpf_link__fd(links->single[i]), &info, &size) == 0)
			missed += info.missed;
	}
	return missed;
}

void function_links_describe(const struct function_links *links, enum attach_method way, uint32_t count, char *text,
			     size_t size)
{
	uint32_t others = way == ATTACH_FSESSION ? count - links->trampolines : 0;

	if (links->only_entries)
		snprintf(text, size, "%s", way == ATTACH_SINGLE ? "single kprobes, entry" : "kprobe.multi, entry");
	else if (others == 0)
		snprintf(text, size, "%s", attach_method_name(way));
	else if (links->trampolines == 0)
		snprintf(text, size, "%s", attach_method_name(ATTACH_SESSION));
	else
		snprintf(text, size, "%s, %" PRIu32 " of them by %s", attach_method_name(way), others,
			 attach_method_name(ATTACH_SESSION));
}

const char *attach_method_name(enum attach_method way)
{
	switch (way) {
	case ATTACH_FSESSION:
		return "fsession.multi";
	case ATTACH_SESSION:
		return "kprobe session";
	case ATTACH_MULTI:
		return "kprobe.multi, entry and return";
	case ATTACH_SINGLE:
		return "single kprobes, entry and return";
	default:
		return "nothing";
	}
}
