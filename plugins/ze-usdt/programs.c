/* SPDX-License-Identifier: Apache-2.0 */
/* See programs.h. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "programs.h"
#include "bpf/slots.h"
#include "bpf/stack_index.h"
#include "bpf/support.h"
#include "bpf/target_set.h"
#include "bpf/python_stacks.h"
#include "bpf/thread_contexts.h"
#include "bpf/unwinder.h"
#include "ze-usdt.h"
#include "ze-usdt.bpf.skel.h"

/* Processes whose exit is reported; state of others stays until room is needed. */
#define PROCESSES_MAX 16384u

/* Threads whose most recent GPU job is known. */
#define THREADS_MAX 4096u

int programs_check(const struct iaprof_host *host)
{
	int result = bpf_support_check(host);
	if (result)
		return result;
	if (access("/sys/bus/event_source/devices/uprobe/format/ref_ctr_offset", F_OK) != 0)
		return host->fail(host, ENOTSUP,
				  "the Linux kernel does not support probes with semaphores (requires Linux 4.20 with "
				  "CONFIG_UPROBE_EVENTS=y)");
	return 0;
}

/* Repeated launches share an entry; there are fewer kernels and stacks than launch sites. */
static int maps_size(struct ze_usdt_bpf *skeleton, const struct iaprof_host *host, uint32_t map_size)
{
	int possible = libbpf_num_possible_cpus();
	if (possible < 0)
		return host->fail(host, possible, "cannot count CPUs: %s", strerror(-possible));
	struct bpf_map_size sizes[] = {
		{ skeleton->maps.launches_0, map_size, 0 },
		{ skeleton->maps.launches_1, map_size, 0 },
		{ skeleton->maps.executions_0, map_size, 0 },
		{ skeleton->maps.executions_1, map_size, 0 },
		{ skeleton->maps.kernels_0, map_size / 4, 0 },
		{ skeleton->maps.kernels_1, map_size / 4, 0 },
		{ skeleton->maps.stacks_0, map_size / 2, 0 },
		{ skeleton->maps.stacks_1, map_size / 2, 0 },
		{ skeleton->maps.scratch, SCRATCH_SLOTS * (uint32_t)possible, 0 },
		{ skeleton->maps.unwind_states, SCRATCH_SLOTS * (uint32_t)possible, 0 },
		{ skeleton->maps.kernel_scratch, SCRATCH_SLOTS * (uint32_t)possible, 0 },
		{ skeleton->maps.processes, PROCESSES_MAX, 0 },
		{ skeleton->maps.submissions, skeleton->rodata->take_kernel ? THREADS_MAX : 1, 0 },
		{ skeleton->maps.processors, (uint32_t)possible, 0 },
		{ skeleton->maps.targets, target_words(host->target(host)), 0 },
	};
	return bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof sizes[0]);
}

static int followers_attach(struct ze_usdt_bpf *skeleton, const struct iaprof_host *host)
{
	skeleton->links.follow_exit = bpf_program__attach(skeleton->progs.follow_exit);
	if (!skeleton->links.follow_exit)
		return host->fail(host, errno, "cannot attach to sched_process_exit: %s", strerror(errno));
	return target_set_follow(TARGET_SET(skeleton), host);
}

/* Returns whether the GPU scheduler is present and its jobs can be read using BTF. */
static bool jobs_are_known(void)
{
	struct btf *linux_types = btf__load_vmlinux_btf();
	struct btf *module_types = linux_types ? btf__load_module_btf("gpu_sched", linux_types) : NULL;
	const struct btf *types = module_types ? module_types : linux_types; /* a module's BTF includes vmlinux's */
	bool known = types && btf__find_by_name_kind(types, "drm_sched_job", BTF_KIND_STRUCT) > 0;

	btf__free(module_types);
	btf__free(linux_types);
	return known;
}

/* Names since Linux 6.16, and before. If unavailable, launches have no Linux kernel stack. */
static void submissions_attach(struct ze_usdt_bpf *skeleton, const struct iaprof_host *host)
{
	static const char *const names[] = { "drm_sched_job_queue", "drm_sched_job" };
	bool loaded = bpf_program__autoload(skeleton->progs.submit_job);

	for (size_t i = 0; i < 2 && loaded && !skeleton->links.submit_job; i++)
		skeleton->links.submit_job = bpf_program__attach_raw_tracepoint(skeleton->progs.submit_job, names[i]);
	if (!skeleton->links.submit_job)
		host->log(host, IAPROF_LOG_WARNING,
			  "kernel=yes: launches have no Linux kernel stack: no GPU scheduler in this Linux kernel "
			  "(module gpu_sched), or its types cannot be read (requires CAP_SYS_ADMIN and "
			  "CONFIG_DEBUG_INFO_BTF_MODULES=y)");
}

static int skeleton_load(struct ze_usdt_bpf **opened, const struct iaprof_host *host,
			 struct programs_settings *settings)
{
	const struct iaprof_target *target = host->target(host);
	struct ze_usdt_bpf *skeleton = *opened = ze_usdt_bpf__open();
	if (!skeleton)
		return host->fail(host, errno, "cannot open the BPF programs: %s", strerror(errno));

	if (getrandom((void *)skeleton->rodata->hash_seed, sizeof skeleton->rodata->hash_seed, 0) < 0)
		return host->fail(host, errno, "cannot get a random number: %s", strerror(errno));
	skeleton->rodata->stack_depth = stack_depth_read();
	skeleton->rodata->take_stacks = settings->take_stacks;
	skeleton->rodata->take_kernel = settings->take_kernel;
	skeleton->rodata->submission_depth = skeleton->rodata->stack_depth < ZE_SUBMISSION_DEPTH
						     ? skeleton->rodata->stack_depth
						     : ZE_SUBMISSION_DEPTH;
	bpf_program__set_autoload(skeleton->progs.submit_job, settings->take_kernel && jobs_are_known());
	TARGET_SET_CONFIGURE(skeleton, target);
	skeleton->rodata->ask_early = settings->use_tables;
	skeleton->rodata->take_python = settings->use_tables && settings->use_python;
	skeleton->rodata->take_spans = settings->use_tables && settings->use_spans;
	skeleton->rodata->span_keys_max = settings->map_size / 2;
	const struct python_maps python = PYTHON_MAPS(skeleton);
	bpf_program__set_autoload(skeleton->progs.launch_kernel, !settings->use_tables);
	bpf_program__set_autoload(skeleton->progs.launch_kernel_by_tables, settings->use_tables);
	const struct unwinder_maps maps = UNWINDER_MAPS(skeleton);
	int result = maps_size(skeleton, host, settings->map_size);
	if (result == 0)
		result = unwinder_set_sizes(host, &maps, settings->use_tables);
	if (result == 0)
		result = python_stacks_set_sizes(host, &python, bpf_map__max_entries(skeleton->maps.unwind_states),
						 skeleton->rodata->take_python);
	if (result == 0)
		result = thread_contexts_set_size(host, skeleton->maps.thread_context_processes,
						  skeleton->rodata->take_spans);
	if (result == 0)
		result = bpf_map__set_max_entries(skeleton->maps.python_states,
						  bpf_map__max_entries(skeleton->maps.unwind_states));
	if (result)
		return result;
	result = ze_usdt_bpf__load(skeleton);
	if (result && settings->use_tables) {
		host->log(host, IAPROF_LOG_INFO,
			  "launch stacks are unwound by frame pointers alone: the Linux kernel refuses the other BPF "
			  "program: %s",
			  strerror(-result));
		ze_usdt_bpf__destroy(skeleton);
		settings->use_tables = false;
		return skeleton_load(opened, host, settings);
	}
	if (result)
		return bpf_load_fail(host, result, "load the BPF programs", "5.15");
	if (settings->take_kernel)
		submissions_attach(skeleton, host);
	return followers_attach(skeleton, host);
}

int programs_load(struct ze_usdt_bpf **skeleton, const struct iaprof_host *host, struct programs_settings *settings)
{
	struct bpf_log log = bpf_log_begin(host);
	int result = skeleton_load(skeleton, host, settings);
	bpf_log_end(&log);
	return result;
}
