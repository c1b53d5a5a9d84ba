/* SPDX-License-Identifier: Apache-2.0 */
/* See probes.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "npu/device.h"
#include "ivpu_shared.h"
#include "module_types.h"
#include "probes.h"
#include "bpf/support.h"
#include "bpf/target_set.h"
#include "ivpu.bpf.skel.h"

_Static_assert(FUNCTION_LIST_MAX <= IVPU_API_FIRST, "the driver's functions come before those of Level Zero");

/* Distinct stacks, of about 1,000 bytes each. A program calls Level Zero from a few hundred call sites. */
#define STACKS_MAX 4096u

/* Limit on distinct counts per turn: call paths of some processes, from a few hundred call sites. */
#define COUNTS_MAX 8192u

/* Returns the BTF id of bpf_session_is_return() in this kernel, or 0. */
static int32_t session_function_find(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int32_t id = btf ? btf__find_by_name_kind(btf, "bpf_session_is_return", BTF_KIND_FUNC) : 0;

	btf__free(btf);
	return id > 0 ? id : 0;
}

/* Replaces calls of the placeholder helper by calls of the kernel's function. Returns 0 or a negative errno. */
static int session_function_set(struct bpf_program *program, int32_t id)
{
	size_t count = bpf_program__insn_cnt(program), calls = 0;
	struct bpf_insn *instructions = calloc(count, sizeof *instructions);

	if (!instructions)
		return -ENOMEM;
	memcpy(instructions, bpf_program__insns(program), count * sizeof *instructions);
	for (size_t i = 0; i < count; i++) {
		struct bpf_insn *instruction = &instructions[i];
		if (instruction->code == (BPF_JMP | BPF_CALL) && instruction->src_reg == 0 &&
		    instruction->imm == IVPU_SESSION_IS_RETURN) {
			instruction->src_reg = BPF_PSEUDO_KFUNC_CALL;
			instruction->imm = id;
			calls++;
		}
	}
	int result = calls ? bpf_program__set_insns(program, instructions, count) : -ENOENT;
	free(instructions);
	return result;
}

/* The BTF that the trampoline program is loaded for, passed to libbpf's callback on the loading thread. -1: none. */
static _Thread_local int trampolines_types = -1;

static int trampolines_prepare(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	options->attach_btf_obj_fd = (uint32_t)trampolines_types;
	return trampolines_types < 0 ? -ENOENT : 0;
}

/* Registers the section with libbpf, once, before the object is opened. */
static void trampolines_register(void)
{
	static const struct libbpf_prog_handler_opts options = { .sz = sizeof options,
								 .prog_prepare_load_fn = trampolines_prepare };

	libbpf_register_prog_handler(IVPU_FSESSION_SECTION, BPF_PROG_TYPE_TRACING,
				     (enum bpf_attach_type)ATTACH_TYPE_FSESSION, &options);
}

/* Configures the programs for an attach method. Returns 0 or a negative errno. */
static int way_set(struct ivpu_bpf *skeleton, enum attach_method way, bool only_entries)
{
	bool session = way == ATTACH_SESSION || way == ATTACH_FSESSION;

	skeleton->rodata->session = way == ATTACH_SESSION;
	bpf_program__set_autoload(skeleton->progs.function_count, only_entries);
	bpf_program__set_autoload(skeleton->progs.function_enter, !session && !only_entries);
	bpf_program__set_autoload(skeleton->progs.function_return, !session && !only_entries);
	bpf_program__set_autoload(skeleton->progs.function_session, session);
	bpf_program__set_autoload(skeleton->progs.function_fsession, way == ATTACH_FSESSION);
	if (session) {
		int32_t function = session_function_find();
		int result = function ? session_function_set(skeleton->progs.function_session, function) : -EOPNOTSUPP;
		bpf_program__set_expected_attach_type(skeleton->progs.function_session,
						      (enum bpf_attach_type)ATTACH_TYPE_SESSION);
		if (result == 0 && way == ATTACH_FSESSION)
			result = session_function_set(skeleton->progs.function_fsession, function);
		return result;
	}
	if (way == ATTACH_SINGLE) {
		bpf_program__set_expected_attach_type(skeleton->progs.function_enter, (enum bpf_attach_type)0);
		bpf_program__set_expected_attach_type(skeleton->progs.function_return, (enum bpf_attach_type)0);
		bpf_program__set_expected_attach_type(skeleton->progs.function_count, (enum bpf_attach_type)0);
	}
	return 0;
}

/*
 * Returns 0, a negative errno of libbpf, or the result of host->fail(), with *is_reported set if an error was reported.
 */
static int programs_load(struct probes *probes, bool *is_reported)
{
	const struct iaprof_host *host = probes->host;
	const struct iaprof_target *target = host->target(host);
	static pthread_once_t registered = PTHREAD_ONCE_INIT;

	pthread_once(&registered, trampolines_register);
	struct ivpu_bpf *skeleton = probes->skeleton = ivpu_bpf__open();

	if (!skeleton)
		return -errno;
	TARGET_SET_CONFIGURE(skeleton, target);
	int result = way_set(skeleton, probes->way, probes->only_entries);
	if (result)
		return result;
	skeleton->rodata->each_call = probes->ring_size != 0;
	skeleton->rodata->context_offsets = probes->contexts;
	skeleton->rodata->ring_size = probes->ring_size;
	skeleton->rodata->take_stacks = probes->stacks->user;
	skeleton->rodata->use_tables = probes->stacks->use_tables;
	result = stack_reader_configure(probes->stacks, host, STACK_READER_OBJECT(skeleton));
	if (result) {
		*is_reported = true;
		return result;
	}
	struct bpf_map_size sizes[] = {
		{ skeleton->maps.stacks, probes->stacks->user ? STACKS_MAX : 1, 0 },
		{ skeleton->maps.processors, bpf_processor_count(), 0 },
		{ skeleton->maps.histograms, probes->list->measured ? probes->list->measured : 1, 0 },
		{ skeleton->maps.calls_ring, probes->ring_size ? probes->ring_size : (uint32_t)getpagesize(), 0 },
		{ skeleton->maps.counts_0, probes->ring_size || probes->only_entries ? 1 : COUNTS_MAX, 0 },
		{ skeleton->maps.counts_1, probes->ring_size || probes->only_entries ? 1 : COUNTS_MAX, 0 },
		{ skeleton->maps.entries, probes->only_entries ? COUNTS_MAX : 1, 0 },
		{ skeleton->maps.targets, target_words(target), 0 },
	};
	result = bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof sizes[0]);
	*is_reported = result != 0;
	return result ? result : ivpu_bpf__load(skeleton);
}

static void programs_unload(struct probes *probes)
{
	ivpu_bpf__destroy(probes->skeleton);
	probes->skeleton = NULL;
}

/* Called once per load: parsing the Linux kernel's BTF takes megabytes. Returns 0 or a negative errno. */
static int type_ids_find(struct probes *probes)
{
	probes->type_ids = calloc(probes->list->count, sizeof *probes->type_ids);
	int found = probes->type_ids ? module_types_find(NPU_DRIVER, probes->list, probes->type_ids) : -ENOMEM;

	return found < 0 ? found : 0;
}

/*
 * Loads the programs for probes->way and checks whether the kernel attaches them. Returns the same as programs_load(),
 * or -EACCES, with *sees_types cleared, without the privilege to read the BTF of modules.
 */
static int way_try(struct probes *probes, bool *is_reported, bool *sees_types)
{
	if (probes->way == ATTACH_FSESSION) {
		int types = module_types_open(NPU_DRIVER);
		*sees_types = types != -EPERM;
		if (types < 0)
			return types == -EPERM ? -EACCES : types;
		trampolines_types = types;
	}
	int result = programs_load(probes, is_reported);
	if (trampolines_types >= 0)
		close(trampolines_types);
	trampolines_types = -1;
	if (result == -EINVAL && probes->way == ATTACH_FSESSION)
		result = -EOPNOTSUPP; /* the attach type is unknown to older kernels */
	if (result == 0 && probes->way == ATTACH_FSESSION)
		result = type_ids_find(probes);
	if (result == 0)
		result = attach_method_try(probes->way, probes->skeleton, probes->list, probes->type_ids,
					   probes->only_entries);
	if (result)
		programs_unload(probes);
	return result;
}

/* Tries the ways that an option selects, until one works. Returns as way_try(). */
static int ways_try(struct probes *probes, enum attach_method wanted, bool *is_reported, bool *sees_types)
{
	enum attach_method newest = probes->only_entries ? ATTACH_MULTI : ATTACH_FSESSION;
	enum attach_method first = wanted == ATTACH_AUTO ? newest : wanted;
	enum attach_method last = wanted == ATTACH_AUTO ? ATTACH_SINGLE : wanted;
	const struct iaprof_host *host = probes->host;
	int result = -EOPNOTSUPP;

	for (enum attach_method way = first; way <= last && result && result != -EPERM && !*is_reported; way++) {
		probes->way = way;
		result = way_try(probes, is_reported, sees_types);
		if (result && !*is_reported)
			host->log(host, IAPROF_LOG_DEBUG, "%s: %s", attach_method_name(way), strerror(-result));
	}
	return result;
}

/* Without offsets, only jobs have a context. */
static void contexts_find(struct probes *probes)
{
	static const struct module_member members[] = {
		{ "drm_file", "driver_priv" },
		{ "ivpu_file_priv", "ctx" },
		{ "ivpu_bo", "ctx" },
		{ "ivpu_mmu_context", "id" },
	};
	enum { FILE_OWNER, OWNER_CONTEXT, BUFFER_CONTEXT, CONTEXT_ID, MEMBERS };
	uint32_t offsets[MEMBERS];
	int result = module_types_find_members(NPU_DRIVER, members, MEMBERS, offsets);

	if (result) {
		probes->host->log(probes->host, IAPROF_LOG_INFO,
				  "contexts of driver calls are not known: BTF of " NPU_DRIVER ": %s",
				  strerror(-result));
		return;
	}
	probes->contexts = (struct ivpu_context_offsets){ .are_known = 1,
							  .file = offsets[FILE_OWNER],
							  .of_file = offsets[OWNER_CONTEXT] + offsets[CONTEXT_ID],
							  .buffer = offsets[BUFFER_CONTEXT],
							  .of_context = offsets[CONTEXT_ID] };
}

int probes_load(struct probes *probes, const struct iaprof_host *host, const struct function_list *list,
		const struct probes_options *options)
{
	bool is_reported = false, sees_types = true;

	*probes = (struct probes){ .host = host,
				   .list = list,
				   .links = function_links_none(),
				   .stacks = options->stacks,
				   .only_entries = options->only_entries,
				   .ring_size = options->ring_size };
	probes->links.only_entries = options->only_entries;
	if (!options->only_entries)
		contexts_find(probes);
	struct bpf_log log = bpf_log_begin(host);
	int result = ways_try(probes, options->way, &is_reported, &sees_types);
	if (result && result != -EPERM && !is_reported && probes->stacks->use_tables) {
		probes->stacks->use_tables = false; /* the Linux kernel may refuse only the part that unwinds */
		result = ways_try(probes, options->way, &is_reported, &sees_types);
	}
	bpf_log_end(&log);
	if (result == 0 || is_reported)
		return result;
	if (result == -EPERM || result == -EMFILE || result == -ENFILE || result == -ENOMEM)
		return bpf_load_fail(host, result, "load and attach the BPF programs", "6.3");
	if (!sees_types)
		return host->fail(host, -EPERM,
				  "cannot load the BPF programs: CAP_SYS_ADMIN is required to read the BTF of modules "
				  "(run as root)");
	if (options->way != ATTACH_AUTO)
		return host->fail(host, result, "cannot attach to the driver by %s: %s (use attach=auto)",
				  attach_method_name(options->way), strerror(-result));
	return host->fail(host, result,
			  "cannot load and attach the BPF programs: %s (requires Linux 6.3 with CONFIG_KALLSYMS_ALL=y "
			  "and CONFIG_FPROBE=y or CONFIG_KPROBES=y; -vv shows details)",
			  strerror(-result));
}

/* Functions that a driver version lacks are skipped. */
static void sizes_attach(struct probes *probes)
{
	struct ivpu_bpf *skeleton = probes->skeleton;
	struct bpf_log log = bpf_log_begin(probes->host);

	skeleton->links.buffer_create =
		bpf_program__attach_kprobe(skeleton->progs.buffer_create, false, "ivpu_bo_create_ioctl");
	skeleton->links.buffer_of_program_create = bpf_program__attach_kprobe(
		skeleton->progs.buffer_of_program_create, false, "ivpu_bo_create_from_userptr_ioctl");
	bpf_log_end(&log);
}

static void sizes_detach(struct ivpu_bpf *skeleton)
{
	bpf_link__destroy(skeleton->links.buffer_create);
	bpf_link__destroy(skeleton->links.buffer_of_program_create);
	skeleton->links.buffer_create = skeleton->links.buffer_of_program_create = NULL;
}

int probes_attach(struct probes *probes)
{
	const struct iaprof_host *host = probes->host;
	struct ivpu_bpf *skeleton = probes->skeleton;
	uint64_t begin = host->clock(host);
	int result = 0;

	skeleton->links.follow_exit = bpf_program__attach(skeleton->progs.follow_exit);
	if (!skeleton->links.follow_exit)
		return host->fail(host, errno, "cannot attach to sched_process_exit: %s", strerror(errno));
	result = target_set_follow(TARGET_SET(skeleton), host);
	if (result)
		return result;
	sizes_attach(probes);
	result = function_links_attach(&probes->links, probes->way, skeleton, probes->list, probes->type_ids);
	if (result == -ENOENT || result == -ESRCH || result == -ENODEV)
		return host->fail(host, result,
				  "cannot attach to %u functions of intel_vpu: %s (the module was unloaded, or some "
				  "functions cannot be traced)",
				  probes->list->count, strerror(-result));
	if (result)
		return host->fail(host, result, "cannot attach to %u functions of intel_vpu: %s", probes->list->count,
				  strerror(-result));
	probes->attached = true;
	probes->attach_time = host->clock(host) - begin;
	return 0;
}

struct probes_missed probes_missed(const struct probes *probes)
{
	const struct ivpu_bpf *skeleton = probes->skeleton;
	struct probes_missed missed = { .unwatched = probes->unwatched + function_links_missed(&probes->links) };

	/*
	 * Separate entry and return programs miss the same calls: those of an interrupt that arrives while one of the
	 * programs runs. A trampoline's program is a single one, and may miss either end or both.
	 */
	if (skeleton)
		missed.interrupted = bpf_program_missed(skeleton->progs.function_fsession) +
				     bpf_program_missed(skeleton->progs.function_session) +
				     bpf_program_missed(skeleton->progs.function_enter) +
				     bpf_program_missed(skeleton->progs.function_count);
	return missed;
}

void probes_detach(struct probes *probes)
{
	uint64_t begin = probes->host ? probes->host->clock(probes->host) : 0;

	if (!probes->host)
		return;
	probes->unwatched += function_links_missed(&probes->links);
	function_links_detach(&probes->links);
	if (probes->skeleton)
		sizes_detach(probes->skeleton);
	if (probes->attached)
		probes->detach_time = probes->host->clock(probes->host) - begin;
	probes->attached = false;
}

void probes_free(struct probes *probes)
{
	probes_detach(probes);
	programs_unload(probes);
	free(probes->type_ids);
	probes->type_ids = NULL;
}
