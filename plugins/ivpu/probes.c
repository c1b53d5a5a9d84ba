/* SPDX-License-Identifier: Apache-2.0 */
/* See probes.h. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "device.h"
#include "ivpu_shared.h"
#include "module_types.h"
#include "probes.h"
#include "slots.h"
#include "stack_index.h"
#include "support.h"
#include "target_map.h"
#include "targets.h"
#include "ivpu.bpf.skel.h"

_Static_assert(FUNCTION_LIST_MAX <= IVPU_API_FIRST, "the driver's functions come before those of Level Zero");

/* Different stacks at a time; each has some 1,000 bytes. A program calls Level Zero from a few hundred places. */
#define STACKS_MAX 4096u

/* Different counts in a turn: ways of nesting, of some processes, from a few hundred places. */
#define COUNTS_MAX 8192u

/* The number of bpf_session_is_return() in this kernel's BTF; 0 when it has none. */
static int32_t session_function_find(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int32_t id = btf ? btf__find_by_name_kind(btf, "bpf_session_is_return", BTF_KIND_FUNC) : 0;

	btf__free(btf);
	return id > 0 ? id : 0;
}

/* Makes the call of a helper that does not exist one of the kernel's function. Returns 0 or a negative errno. */
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

static uint32_t possible_processors(void)
{
	int count = libbpf_num_possible_cpus();

	return count > 0 ? (uint32_t)count : 1;
}

/* The BTF that the program for trampolines is loaded for: libbpf calls back, on the thread that loads. -1: none */
static _Thread_local int trampolines_types = -1;

static int trampolines_prepare(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	(void)program;
	(void)cookie;
	options->attach_btf_obj_fd = (uint32_t)trampolines_types;
	return trampolines_types < 0 ? -ENOENT : 0;
}

/* Tells libbpf of the section, once: before the object is opened. */
static void trampolines_register(void)
{
	static const struct libbpf_prog_handler_opts options = { .sz = sizeof options,
								 .prog_prepare_load_fn = trampolines_prepare };

	libbpf_register_prog_handler(IVPU_FSESSION_SECTION, BPF_PROG_TYPE_TRACING,
				     (enum bpf_attach_type)LINKS_FSESSION_TYPE, &options);
}

/* What the programs are that are attached in a way. Returns 0 or a negative errno. */
static int way_set(struct ivpu_bpf *skeleton, enum links_way way)
{
	bool session = way == LINKS_SESSION || way == LINKS_FSESSION;

	skeleton->rodata->session = way == LINKS_SESSION;
	bpf_program__set_autoload(skeleton->progs.function_enter, !session);
	bpf_program__set_autoload(skeleton->progs.function_return, !session);
	bpf_program__set_autoload(skeleton->progs.function_session, session);
	bpf_program__set_autoload(skeleton->progs.function_fsession, way == LINKS_FSESSION);
	if (session) {
		int32_t function = session_function_find();
		int result = function ? session_function_set(skeleton->progs.function_session, function) : -EOPNOTSUPP;
		bpf_program__set_expected_attach_type(skeleton->progs.function_session,
						      (enum bpf_attach_type)LINKS_SESSION_TYPE);
		if (result == 0 && way == LINKS_FSESSION)
			result = session_function_set(skeleton->progs.function_fsession, function);
		return result;
	}
	if (way == LINKS_SINGLE) {
		bpf_program__set_expected_attach_type(skeleton->progs.function_enter, (enum bpf_attach_type)0);
		bpf_program__set_expected_attach_type(skeleton->progs.function_return, (enum bpf_attach_type)0);
	}
	return 0;
}

/* Returns 0, a negative errno of libbpf's, or what host->fail() returned, with *told set. */
static int programs_load(struct probes *probes, bool *told)
{
	const struct iaprof_host *host = probes->host;
	const struct iaprof_target *target = host->target(host);
	bool only_targets = target->scope != IAPROF_SCOPE_SYSTEM;
	static pthread_once_t registered = PTHREAD_ONCE_INIT;

	pthread_once(&registered, trampolines_register);
	struct ivpu_bpf *skeleton = probes->skeleton = ivpu_bpf__open();

	if (!skeleton)
		return -errno;
	skeleton->rodata->only_targets = only_targets;
	skeleton->rodata->follow_children = target->scope == IAPROF_SCOPE_COMMAND;
	bpf_program__set_autoload(skeleton->progs.follow_fork, only_targets);
	int result = way_set(skeleton, probes->way);
	if (result)
		return result;
	skeleton->rodata->each_call = probes->ring_size != 0;
	skeleton->rodata->ring_size = probes->ring_size;
	skeleton->rodata->take_stacks = probes->take_stacks;
	skeleton->rodata->stack_depth = probes->take_stacks ? stack_depth_read() : 1;
	if (getrandom((void *)skeleton->rodata->hash_seed, sizeof skeleton->rodata->hash_seed, 0) < 0)
		return -errno;
	uint32_t stack_bytes = stack_size(skeleton->rodata->stack_depth);
	struct bpf_map_size sizes[] = {
		{ skeleton->maps.stacks, probes->take_stacks ? STACKS_MAX : 1, stack_bytes },
		{ skeleton->maps.stack_scratch, SCRATCH_SLOTS * possible_processors(), stack_bytes },
		{ skeleton->maps.processors, possible_processors(), 0 },
		{ skeleton->maps.histograms, probes->list->measured ? probes->list->measured : 1, 0 },
		{ skeleton->maps.calls_ring, probes->ring_size ? probes->ring_size : (uint32_t)getpagesize(), 0 },
		{ skeleton->maps.counts_0, probes->ring_size ? 1 : COUNTS_MAX, 0 },
		{ skeleton->maps.counts_1, probes->ring_size ? 1 : COUNTS_MAX, 0 },
		{ skeleton->maps.targets, only_targets ? TARGET_WORDS : 1, 0 },
	};
	result = bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof sizes[0]);
	if (result == 0) {
		result = ivpu_bpf__load(skeleton);
		if (result || !only_targets)
			return result;
		result = target_map_set(host, bpf_map__fd(skeleton->maps.targets), target);
	}
	*told = result != 0;
	return result;
}

static void programs_unload(struct probes *probes)
{
	ivpu_bpf__destroy(probes->skeleton);
	probes->skeleton = NULL;
}

/* Once, for the try and what follows: the BTF of the Linux kernel is megabytes. Returns 0 or a negative errno. */
static int type_ids_find(struct probes *probes)
{
	probes->type_ids = calloc(probes->list->count, sizeof *probes->type_ids);
	int found = probes->type_ids ? module_types_find(NPU_DRIVER, probes->list, probes->type_ids) : -ENOMEM;

	return found < 0 ? found : 0;
}

/* Loads the programs for probes->way, and looks whether the kernel attaches them. Returns as programs_load(), -EACCES
 * without the right to see the BTF of modules. */
static int way_try(struct probes *probes, bool *told)
{
	if (probes->way == LINKS_FSESSION) {
		int types = module_types_open(NPU_DRIVER);
		if (types < 0)
			return types == -EPERM ? -EACCES : types;
		trampolines_types = types;
	}
	int result = programs_load(probes, told);
	if (trampolines_types >= 0)
		close(trampolines_types);
	trampolines_types = -1;
	if (result == -EINVAL && probes->way == LINKS_FSESSION)
		result = -EOPNOTSUPP; /* an attach type that an older kernel does not know */
	if (result == 0 && probes->way == LINKS_FSESSION)
		result = type_ids_find(probes);
	if (result == 0)
		result = links_way_try(probes->way, probes->skeleton, probes->list, probes->type_ids);
	if (result)
		programs_unload(probes);
	return result;
}

int probes_load(struct probes *probes, const struct iaprof_host *host, const struct function_list *list,
		const struct probes_options *options)
{
	enum links_way first = options->way == LINKS_AUTO ? LINKS_FSESSION : options->way;
	enum links_way last = options->way == LINKS_AUTO ? LINKS_SINGLE : options->way;
	int result = -EOPNOTSUPP;
	bool told = false, sees_types = true;

	*probes = (struct probes){ .host = host,
				   .list = list,
				   .links = links_none(),
				   .take_stacks = options->take_stacks,
				   .ring_size = options->ring_size };
	struct bpf_log log = bpf_log_begin(host);
	for (enum links_way way = first; way <= last && result && result != -EPERM && !told; way++) {
		probes->way = way;
		result = way_try(probes, &told);
		sees_types &= result != -EACCES;
		if (result && !told)
			host->log(host, IAPROF_LOG_DEBUG, "%s: %s", links_way_name(way), strerror(-result));
	}
	bpf_log_end(&log);
	if (result == 0 || told)
		return result;
	if (result == -EPERM || result == -EMFILE || result == -ENFILE || result == -ENOMEM)
		return bpf_load_fail(host, result, "load and attach the BPF programs", "6.3");
	if (!sees_types)
		return host->fail(
			host, -EPERM,
			"load the BPF programs: needs CAP_SYS_ADMIN, too, to see the BTF of modules: run as root");
	if (options->way != LINKS_AUTO)
		return host->fail(host, result, "attach to the driver by %s: %s: attach=auto takes what there is",
				  links_way_name(options->way), strerror(-result));
	return host->fail(host, result,
			  "load and attach the BPF programs: %s: Linux 6.3 or newer is needed, with "
			  "CONFIG_KALLSYMS_ALL=y, and CONFIG_FPROBE=y or CONFIG_KPROBES=y; -vv shows what it says",
			  strerror(-result));
}

/* What a release of the driver does not have has no sizes. */
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
		return host->fail(host, errno, "attach to sched_process_exit: %s", strerror(errno));
	if (skeleton->rodata->only_targets) {
		skeleton->links.follow_fork = bpf_program__attach(skeleton->progs.follow_fork);
		if (!skeleton->links.follow_fork)
			return host->fail(host, errno, "attach to sched_process_fork: %s", strerror(errno));
	}
	sizes_attach(probes);
	result = links_attach(&probes->links, probes->way, skeleton, probes->list, probes->type_ids);
	if (result == -ENOENT || result == -ESRCH || result == -ENODEV)
		return host->fail(host, result,
				  "attach to %u functions of intel_vpu: %s: the module was unloaded, or some cannot be "
				  "traced",
				  probes->list->count, strerror(-result));
	if (result)
		return host->fail(host, result, "attach to %u functions of intel_vpu: %s", probes->list->count,
				  strerror(-result));
	probes->attached = true;
	probes->attach_time = host->clock(host) - begin;
	return 0;
}

/* 0 of a program that is not loaded. */
static uint64_t program_missed(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof info;

	if (bpf_program__fd(program) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return 0;
	return info.recursion_misses;
}

struct probes_missed probes_missed(const struct probes *probes)
{
	const struct ivpu_bpf *skeleton = probes->skeleton;
	struct probes_missed missed = { .unwatched = probes->unwatched + links_missed(&probes->links) };

	/*
	 * Of an entry and a return that are two programs both miss the same calls: while one is in flight in whose
	 * interrupt they are. A trampoline's program is one, and may miss either end or both.
	 */
	if (skeleton)
		missed.interrupted = program_missed(skeleton->progs.function_fsession) +
				     program_missed(skeleton->progs.function_session) +
				     program_missed(skeleton->progs.function_enter);
	return missed;
}

void probes_detach(struct probes *probes)
{
	uint64_t begin = probes->host ? probes->host->clock(probes->host) : 0;

	if (!probes->host)
		return;
	probes->unwatched += links_missed(&probes->links);
	links_detach(&probes->links);
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
