/* SPDX-License-Identifier: Apache-2.0 */
/* See programs.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "programs.h"
#include "bpf/slots.h"
#include "bpf/support.h"
#include "bpf/target_set.h"
#include "ze-usdt.h"
#include "ze-usdt.bpf.skel.h"

/* Processes whose exit is reported; state of others stays until room is needed. */
#define PROCESSES_MAX 16384u

/* Threads whose most recent GPU job is known. */
#define THREADS_MAX 4096u

/* Of the ring of times: some 8,000 timed launches between two turns. */
#define TIMES_SIZE (2u << 20)

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
	uint32_t processors = bpf_processor_count();
	struct bpf_map_size sizes[] = {
		{ skeleton->maps.launches_0, map_size, 0 },
		{ skeleton->maps.launches_1, map_size, 0 },
		{ skeleton->maps.executions_0, map_size, 0 },
		{ skeleton->maps.executions_1, map_size, 0 },
		{ skeleton->maps.kernels_0, map_size / 4, 0 },
		{ skeleton->maps.kernels_1, map_size / 4, 0 },
		{ skeleton->maps.stacks_0, map_size / 2, 0 },
		{ skeleton->maps.stacks_1, map_size / 2, 0 },
		{ skeleton->maps.kernel_scratch, SCRATCH_SLOTS * processors, 0 },
		{ skeleton->maps.processes, PROCESSES_MAX, 0 },
		{ skeleton->maps.submissions, skeleton->rodata->take_kernel ? THREADS_MAX : 1, 0 },
		{ skeleton->maps.timed_launches, skeleton->rodata->take_times ? THREADS_MAX : 1, 0 },
		{ skeleton->maps.times, skeleton->rodata->take_times ? TIMES_SIZE : (uint32_t)sysconf(_SC_PAGESIZE),
		  0 },
		{ skeleton->maps.processors, processors, 0 },
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

static int skeleton_load(struct ze_usdt_bpf **opened, const struct iaprof_host *host, struct stack_reader *stacks,
			 uint32_t map_size, bool take_kernel, bool take_times)
{
	const struct iaprof_target *target = host->target(host);
	struct ze_usdt_bpf *skeleton = *opened = ze_usdt_bpf__open();
	if (!skeleton)
		return host->fail(host, errno, "cannot open the BPF programs: %s", strerror(errno));

	int result = stack_reader_configure(stacks, host, STACK_READER_OBJECT(skeleton));
	if (result)
		return result;
	skeleton->rodata->take_stacks = stacks->user;
	skeleton->rodata->take_kernel = take_kernel;
	skeleton->rodata->take_times = take_times;
	bpf_program__set_autoload(skeleton->progs.timed_launch, take_times);
	bpf_program__set_autoload(skeleton->progs.kernel_time, take_times);
	skeleton->rodata->submission_depth = skeleton->rodata->stack_depth < ZE_SUBMISSION_DEPTH
						     ? skeleton->rodata->stack_depth
						     : ZE_SUBMISSION_DEPTH;
	bpf_program__set_autoload(skeleton->progs.submit_job, take_kernel && jobs_are_known());
	TARGET_SET_CONFIGURE(skeleton, target);
	skeleton->rodata->ask_early = stacks->use_tables;
	skeleton->rodata->span_keys_max = map_size / 2;
	bpf_program__set_autoload(skeleton->progs.launch_kernel, !stacks->use_tables);
	bpf_program__set_autoload(skeleton->progs.launch_kernel_by_tables, stacks->use_tables);
	result = maps_size(skeleton, host, map_size);
	if (result)
		return result;
	result = ze_usdt_bpf__load(skeleton);
	if (result && stack_reader_reduce(stacks, result)) {
		ze_usdt_bpf__destroy(skeleton);
		return skeleton_load(opened, host, stacks, map_size, take_kernel, take_times);
	}
	if (result)
		return bpf_load_fail(host, result, "cannot load the BPF programs", "5.15");
	if (take_kernel)
		submissions_attach(skeleton, host);
	return followers_attach(skeleton, host);
}

int programs_load(struct ze_usdt_bpf **skeleton, const struct iaprof_host *host, struct stack_reader *stacks,
		  uint32_t map_size, bool take_kernel, bool take_times)
{
	struct bpf_log log = bpf_log_begin(host);
	int result = skeleton_load(skeleton, host, stacks, map_size, take_kernel, take_times);
	bpf_log_end(&log);
	return result;
}
