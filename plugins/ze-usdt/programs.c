/* SPDX-License-Identifier: Apache-2.0 */
/* See programs.h. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "programs.h"
#include "slots.h"
#include "stack_index.h"
#include "support.h"
#include "target_map.h"
#include "targets.h"
#include "ze-usdt.h"
#include "ze-usdt.bpf.skel.h"

/* Processes whose end is told; what others leave behind stays until room is needed. */
#define PROCESSES_MAX 16384u

/* Threads whose newest job on a GPU is known. */
#define THREADS_MAX 4096u

int programs_check(const struct iaprof_host *host)
{
	int result = bpf_support_check(host);
	if (result)
		return result;
	if (access("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", F_OK) != 0)
		return host->fail(host, ENOTSUP,
				  "this Linux kernel cannot attach to probes with semaphores: it needs to be 4.20 or "
				  "newer, with CONFIG_UPROBE_EVENTS=y");
	return 0;
}

/* A launch that was seen before takes room for itself only; there are fewer kernels and stacks than places. */
static int maps_size(struct ze_usdt_bpf *skeleton, const struct iaprof_host *host, uint32_t map_size)
{
	uint32_t stack_bytes = stack_size(skeleton->rodata->stack_depth);
	int possible = libbpf_num_possible_cpus();
	if (possible < 0)
		return host->fail(host, possible, "count the CPUs: %s", strerror(-possible));
	struct bpf_map_size sizes[] = {
		{ skeleton->maps.launches_0, map_size, 0 },
		{ skeleton->maps.launches_1, map_size, 0 },
		{ skeleton->maps.executions_0, map_size, 0 },
		{ skeleton->maps.executions_1, map_size, 0 },
		{ skeleton->maps.kernels_0, map_size / 4, 0 },
		{ skeleton->maps.kernels_1, map_size / 4, 0 },
		{ skeleton->maps.stacks_0, map_size / 2, stack_bytes },
		{ skeleton->maps.stacks_1, map_size / 2, stack_bytes },
		{ skeleton->maps.stack_scratch, SCRATCH_SLOTS * (uint32_t)possible, stack_bytes },
		{ skeleton->maps.kernel_scratch, SCRATCH_SLOTS * (uint32_t)possible, 0 },
		{ skeleton->maps.processes, PROCESSES_MAX, 0 },
		{ skeleton->maps.submissions, skeleton->rodata->take_kernel ? THREADS_MAX : 1, 0 },
		{ skeleton->maps.processors, (uint32_t)possible, 0 },
		{ skeleton->maps.targets, skeleton->rodata->only_targets ? TARGET_WORDS : 1, 0 },
	};
	return bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof sizes[0]);
}

static int followers_attach(struct ze_usdt_bpf *skeleton, const struct iaprof_host *host)
{
	skeleton->links.follow_exit = bpf_program__attach(skeleton->progs.follow_exit);
	if (!skeleton->links.follow_exit)
		return host->fail(host, errno, "attach to sched_process_exit: %s", strerror(errno));
	if (!skeleton->rodata->only_targets)
		return 0;
	int result = target_map_set(host, bpf_map__fd(skeleton->maps.targets), host->target(host));
	if (result)
		return result;
	skeleton->links.follow_fork = bpf_program__attach(skeleton->progs.follow_fork);
	if (!skeleton->links.follow_fork)
		return host->fail(host, errno, "attach to sched_process_fork: %s", strerror(errno));
	return 0;
}

/* Whether the GPU scheduler is here, and its jobs can be read: they are described by its BTF. */
static bool jobs_are_known(void)
{
	struct btf *linux_types = btf__load_vmlinux_btf();
	struct btf *module_types = linux_types ? btf__load_module_btf("gpu_sched", linux_types) : NULL;
	const struct btf *types = module_types ? module_types : linux_types; /* a module's go with Linux's own */
	bool known = types && btf__find_by_name_kind(types, "drm_sched_job", BTF_KIND_STRUCT) > 0;

	btf__free(module_types);
	btf__free(linux_types);
	return known;
}

/* Names since Linux 6.16, and before. Without them launches go without the Linux kernel's stack. */
static void submissions_attach(struct ze_usdt_bpf *skeleton, const struct iaprof_host *host)
{
	static const char *const names[] = { "drm_sched_job_queue", "drm_sched_job" };
	bool loaded = bpf_program__autoload(skeleton->progs.submit_job);

	for (size_t i = 0; i < 2 && loaded && !skeleton->links.submit_job; i++)
		skeleton->links.submit_job = bpf_program__attach_raw_tracepoint(skeleton->progs.submit_job, names[i]);
	if (!skeleton->links.submit_job)
		host->log(host, IAPROF_LOG_WARNING,
			  "kernel=yes: launches go without the Linux kernel's stack: no GPU scheduler is in this Linux "
			  "kernel (module gpu_sched), or its types cannot be read (that needs CAP_SYS_ADMIN and "
			  "CONFIG_DEBUG_INFO_BTF_MODULES=y)");
}

static int skeleton_load(struct ze_usdt_bpf **opened, const struct iaprof_host *host,
			 const struct programs_settings *settings)
{
	const struct iaprof_target *target = host->target(host);
	struct ze_usdt_bpf *skeleton = *opened = ze_usdt_bpf__open();
	if (!skeleton)
		return host->fail(host, errno, "open the BPF programs: %s", strerror(errno));

	uint64_t seed[2];
	if (getrandom(seed, sizeof seed, 0) != (ssize_t)sizeof seed)
		return host->fail(host, errno, "get a random number: %s", strerror(errno));
	skeleton->rodata->stack_depth = stack_depth_read();
	memcpy((void *)skeleton->rodata->hash_seed, seed, sizeof seed);
	skeleton->rodata->take_stacks = settings->take_stacks;
	skeleton->rodata->take_kernel = settings->take_kernel;
	skeleton->rodata->submission_depth = skeleton->rodata->stack_depth < ZE_SUBMISSION_DEPTH
						     ? skeleton->rodata->stack_depth
						     : ZE_SUBMISSION_DEPTH;
	bpf_program__set_autoload(skeleton->progs.submit_job, settings->take_kernel && jobs_are_known());
	skeleton->rodata->only_targets = target->scope != IAPROF_SCOPE_SYSTEM;
	skeleton->rodata->follow_children = target->scope == IAPROF_SCOPE_COMMAND;
	bpf_program__set_autoload(skeleton->progs.follow_fork, skeleton->rodata->only_targets);
	int result = maps_size(skeleton, host, settings->map_size);
	if (result)
		return result;
	result = ze_usdt_bpf__load(skeleton);
	if (result)
		return bpf_load_fail(host, result, "load the BPF programs", "5.15");
	if (settings->take_kernel)
		submissions_attach(skeleton, host);
	return followers_attach(skeleton, host);
}

int programs_load(struct ze_usdt_bpf **skeleton, const struct iaprof_host *host,
		  const struct programs_settings *settings)
{
	struct bpf_log log = bpf_log_begin(host);
	int result = skeleton_load(skeleton, host, settings);
	bpf_log_end(&log);
	return result;
}
