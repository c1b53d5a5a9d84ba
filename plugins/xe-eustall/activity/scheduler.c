/* SPDX-License-Identifier: Apache-2.0 */
/* See scheduler.h. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "scheduler.h"
#include "scheduler_event.h"
#include "bpf/support.h"
#include "activity.bpf.skel.h"

#define SCHEDULER_PROCESSES 4096u /* as in the map */

/*
 * How often queues are checked, and how long a queue must be idle to be deleted: a long-running program may create and
 * destroy any number of queues.
 */
#define SWEEP_PERIOD UINT64_C(10000000000) /* ns */
#define IDLE_TIME UINT64_C(60000000000)

/* After this time, the jobs of an exited process are considered ended: their ends were missed. */
#define STUCK_TIME UINT64_C(5000000000) /* ns */

/*
 * A stream that was not polled for so long was closed by another program, if there are enough others. Their ends are
 * not traced.
 */
#define CLOSED_TIME UINT64_C(2000000000) /* ns */

struct process_state {
	struct scheduler_process key;
	uint64_t state;
	uint64_t time;    /* time of its last reading, 0 before the first one */
	uint64_t changed; /* time when a change of the state was noticed */
	uint64_t busy;    /* until the last reading; without the truncated bits */
	bool seen;        /* in this reading */
};

struct scheduler {
	const struct iaprof_host *host;
	struct activity_bpf *skeleton;
	uint64_t time; /* time of the last reading */
	uint64_t swept;
	struct process_state *processes;
	size_t count;
	struct ring_buffer *jobs; /* NULL: jobs are not recorded */
	scheduler_job_callback *job_callback;
	void *job_context;
};

/* In this case libbpf finds no types of modules, without a message. */
static bool module_types_are_denied(void)
{
	uint32_t id = 0;

	return bpf_btf_get_next_id(0, &id) == -EPERM;
}

static int job_take(void *context, void *data, size_t size)
{
	struct scheduler *scheduler = context;

	return size < sizeof(struct scheduler_job) ? 0 : scheduler->job_callback(scheduler->job_context, data);
}

static int jobs_prepare(struct scheduler *scheduler)
{
	scheduler->jobs =
		ring_buffer__new(bpf_map__fd(scheduler->skeleton->maps.ended_jobs), job_take, scheduler, NULL);
	return scheduler->jobs ? 0 : -errno;
}

/* Without jobs. */
static int maps_shrink(struct activity_bpf *skeleton)
{
	int result = bpf_map__set_max_entries(skeleton->maps.jobs, 64);
	return result ? result : bpf_map__set_max_entries(skeleton->maps.ended_jobs, (uint32_t)sysconf(_SC_PAGESIZE));
}

static int programs_load(struct scheduler *scheduler, bool record_jobs, const char **reason)
{
	*reason = "out of memory";
	scheduler->skeleton = activity_bpf__open();
	if (!scheduler->skeleton)
		return -ENOMEM;
	scheduler->skeleton->rodata->record_jobs = record_jobs;
	int result = record_jobs ? 0 : maps_shrink(scheduler->skeleton);
	if (!result)
		result = activity_bpf__load(scheduler->skeleton);
	if (!result && record_jobs)
		result = jobs_prepare(scheduler);
	if (result == -EPERM)
		*reason = "cannot trace the GPU scheduler: requires CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN";
	else if (result == -EMFILE || result == -ENFILE)
		*reason = "cannot trace the GPU scheduler: too many open files (raise ulimit -n)";
	else if (module_types_are_denied())
		*reason = "cannot trace the GPU scheduler: CAP_SYS_ADMIN is required to read the types of module "
			  "gpu_sched";
	else if (access("/sys/module/gpu_sched", F_OK) != 0)
		*reason = "no GPU scheduler in this Linux kernel (module gpu_sched)";
	else
		*reason = "cannot trace the GPU scheduler: requires Linux 5.15 with CONFIG_DEBUG_INFO_BTF_MODULES=y";
	return result;
}

struct scheduler *scheduler_new(const struct iaprof_host *host, bool record_jobs, const char **reason)
{
	struct scheduler *scheduler = calloc(1, sizeof *scheduler);

	*reason = "out of memory";
	if (!scheduler)
		return NULL;
	scheduler->host = host;
	scheduler->processes = calloc(SCHEDULER_PROCESSES, sizeof *scheduler->processes);
	if (!scheduler->processes) {
		free(scheduler);
		return NULL;
	}
	struct bpf_log log = bpf_log_begin(host);
	int result = programs_load(scheduler, record_jobs, reason);
	bpf_log_end(&log);
	if (result) {
		scheduler_free(scheduler);
		return NULL;
	}
	return scheduler;
}

void scheduler_free(struct scheduler *scheduler)
{
	if (!scheduler)
		return;
	ring_buffer__free(scheduler->jobs);
	activity_bpf__destroy(scheduler->skeleton);
	free(scheduler->processes);
	free(scheduler);
}

int scheduler_add_device(struct scheduler *scheduler, const char *address, uint32_t index)
{
	char key[SCHEDULER_DEVICE_SIZE] = { 0 };

	if (strlen(address) >= sizeof key)
		return -EINVAL;
	strcpy(key, address);
	return bpf_map_update_elem(bpf_map__fd(scheduler->skeleton->maps.devices), key, &index, BPF_ANY) ? -errno : 0;
}

static int program_attach(struct bpf_program *program, const char *const names[2], struct bpf_link **link)
{
	for (size_t i = 0; i < 2 && !*link; i++)
		*link = bpf_program__attach_raw_tracepoint(program, names[i]);
	return *link ? 0 : -errno;
}

int scheduler_start(struct scheduler *scheduler)
{
	/* Names since Linux 6.16, and before. */
	static const char *const queue_names[] = { "drm_sched_job_queue", "drm_sched_job" };
	static const char *const run_names[] = { "drm_sched_job_run", "drm_run_job" };
	static const char *const done_names[] = { "drm_sched_job_done", "drm_sched_process_job" };
	struct activity_bpf *skeleton = scheduler->skeleton;
	struct bpf_log log = bpf_log_begin(scheduler->host);

	/*
	 * Attached in this order, so that every traced start has its end traced, and every traced submission its start.
	 */
	int result = program_attach(skeleton->progs.job_done, done_names, &skeleton->links.job_done);
	if (result == 0)
		result = program_attach(skeleton->progs.job_run, run_names, &skeleton->links.job_run);
	if (result == 0)
		result = program_attach(skeleton->progs.job_queue, queue_names, &skeleton->links.job_queue);
	/* Optional: the Linux kernel may have no kprobes. */
	if (result == 0)
		skeleton->links.stream_polled = bpf_program__attach_kprobe(skeleton->progs.stream_polled, false,
									   "eu_stall_data_buf_poll_work_fn");
	scheduler->host->metadata(scheduler->host, "EU stall polls of the driver", "%s",
				  skeleton->links.stream_polled ? "traced" : "not traced");
	bpf_log_end(&log);
	scheduler->time = scheduler->swept = scheduler->host->clock(scheduler->host);
	return result;
}

/* Returns the oldest of the polls of streams that were polled after since, 0 if there are fewer streams than wanted. */
static uint64_t polls_oldest(const struct scheduler *scheduler, uint32_t wanted, uint64_t since)
{
	uint64_t oldest = UINT64_MAX;
	uint32_t count = 0;

	for (uint32_t i = 0; i < SCHEDULER_STREAMS; i++) {
		const struct stream_polls *polls = &scheduler->skeleton->bss->stream_polls[i];
		uint64_t before = __atomic_load_n(&polls->before, __ATOMIC_RELAXED);
		if (!before || __atomic_load_n(&polls->last, __ATOMIC_RELAXED) <= since)
			continue;
		count++;
		oldest = before < oldest ? before : oldest;
	}
	return count && count >= wanted ? oldest : 0;
}

uint64_t scheduler_polled(const struct scheduler *scheduler, uint32_t streams)
{
	uint64_t now = scheduler->host->clock(scheduler->host);
	uint64_t oldest = polls_oldest(scheduler, streams, now > CLOSED_TIME ? now - CLOSED_TIME : 0);

	return oldest ? oldest : polls_oldest(scheduler, streams, 0);
}

void scheduler_forget_polls(struct scheduler *scheduler)
{
	memset(scheduler->skeleton->bss->stream_polls, 0, sizeof scheduler->skeleton->bss->stream_polls);
}

static struct process_state *process_find(struct scheduler *scheduler, const struct scheduler_process *key)
{
	for (size_t i = 0; i < scheduler->count; i++)
		if (scheduler->processes[i].key.device == key->device && scheduler->processes[i].key.pid == key->pid)
			return &scheduler->processes[i];
	if (scheduler->count == SCHEDULER_PROCESSES)
		return NULL;
	scheduler->processes[scheduler->count] = (struct process_state){ .key = *key };
	return &scheduler->processes[scheduler->count++];
}

/* Returns the busy time of a process since the last reading. */
static uint64_t process_update(struct process_state *process, uint64_t state, uint64_t since, uint64_t now)
{
	uint64_t mask = UINT64_MAX >> SCHEDULER_RUNNING_BITS;
	uint64_t running = state & SCHEDULER_RUNNING_MASK;
	uint64_t busy = ((state >> SCHEDULER_RUNNING_BITS) + (running ? now : 0)) & mask;
	uint64_t added = (busy - process->busy) & mask;

	if (state != process->state || !process->changed)
		process->changed = now;
	process->state = state;
	/* A CPU's clock is slightly ahead: the difference is compensated by another reading. */
	if (added > mask / 2)
		return 0;
	process->busy = busy;
	return added < now - since ? added : now - since;
}

static bool process_exists(uint32_t pid)
{
	return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

static bool process_is_over(const struct process_state *process, uint64_t now)
{
	if (process_exists(process->key.pid))
		return false;
	return !(process->state & SCHEDULER_RUNNING_MASK) || now - process->changed > STUCK_TIME;
}

static int process_read(struct scheduler *scheduler, const struct scheduler_process *key, uint64_t state,
			scheduler_busy_callback *callback, void *context)
{
	struct process_state *process = process_find(scheduler, key);
	uint64_t now = scheduler->host->clock(scheduler->host);

	if (!process)
		return -ENOSPC;
	process->seen = true;
	uint64_t since = process->time ? process->time : scheduler->time;
	process->time = now;
	uint64_t busy = process_update(process, state, since, now);
	return busy ? callback(context, key->device, key->pid, since, now, busy) : 0;
}

/* Deletes a queue, unless it got a job after it was found idle, because the end of that job would be missed. */
static void queue_remove(int map, uint64_t context)
{
	struct scheduler_queue queue;

	if (bpf_map_lookup_and_delete_elem(map, &context, &queue) == 0 && !scheduler_queue_is_idle(queue.progress) &&
	    process_exists(queue.process.pid))
		bpf_map_update_elem(map, &context, &queue, BPF_NOEXIST);
}

static void queues_sweep(struct scheduler *scheduler)
{
	int map = bpf_map__fd(scheduler->skeleton->maps.queues);
	uint64_t key, next = 0;

	/* Deleting a key restarts the iteration, so the next key is read first. */
	for (int found = bpf_map_get_next_key(map, NULL, &key); found == 0; key = next) {
		struct scheduler_queue queue;
		found = bpf_map_get_next_key(map, &key, &next);
		if (bpf_map_lookup_elem(map, &key, &queue))
			continue;
		/* An exited process may have a running job, whose end is awaited. */
		bool idle = scheduler_queue_is_idle(queue.progress), old = scheduler->time > queue.time + IDLE_TIME;
		if ((idle && old) || ((idle || old) && !process_exists(queue.process.pid)))
			queue_remove(map, key);
	}
	scheduler->swept = scheduler->time;
}

int scheduler_read(struct scheduler *scheduler, scheduler_busy_callback *callback, void *context)
{
	int map = bpf_map__fd(scheduler->skeleton->maps.busy), result = 0;
	struct scheduler_process key, next;
	size_t kept = 0;

	for (int found = bpf_map_get_next_key(map, NULL, &next); found == 0 && result == 0;) {
		uint64_t state;
		key = next;
		if (bpf_map_lookup_elem(map, &key, &state) == 0)
			result = process_read(scheduler, &key, state, callback, context);
		found = bpf_map_get_next_key(map, &key, &next);
	}
	scheduler->time = scheduler->host->clock(scheduler->host);
	for (size_t i = 0; i < scheduler->count; i++) {
		struct process_state *process = &scheduler->processes[i];
		bool over = process_is_over(process, scheduler->time);
		if (over)
			bpf_map_delete_elem(map, &process->key);
		if (!over && process->seen) {
			process->seen = false;
			scheduler->processes[kept++] = *process;
		}
	}
	scheduler->count = kept;
	if (scheduler->time - scheduler->swept > SWEEP_PERIOD)
		queues_sweep(scheduler);
	return result;
}

int scheduler_read_jobs(struct scheduler *scheduler, scheduler_job_callback *callback, void *context)
{
	if (!scheduler->jobs)
		return 0;
	scheduler->job_callback = callback;
	scheduler->job_context = context;
	int result = ring_buffer__consume(scheduler->jobs);
	return result < 0 ? result : 0;
}

int scheduler_read_running_jobs(struct scheduler *scheduler, scheduler_job_callback *callback, void *context)
{
	int map = bpf_map__fd(scheduler->skeleton->maps.jobs), result = 0;
	struct scheduler_job_key key, *before = NULL;
	struct scheduler_job job;

	if (!scheduler->jobs)
		return 0;
	/* A job that ends meanwhile would be reported twice. */
	for (uint32_t i = 0; i < SCHEDULER_DEVICES; i++)
		scheduler_ignore_jobs(scheduler, i);
	result = scheduler_read_jobs(scheduler, callback, context);
	while (result == 0 && bpf_map_get_next_key(map, before, &key) == 0) {
		if (bpf_map_lookup_elem(map, &key, &job) == 0 && job.queued)
			result = callback(context, &job);
		before = &key;
	}
	return result;
}

void scheduler_ignore_jobs(struct scheduler *scheduler, uint32_t device)
{
	if (device < SCHEDULER_DEVICES)
		__atomic_store_n(&scheduler->skeleton->bss->jobs_unknown[device], true, __ATOMIC_RELAXED);
}

void scheduler_totals_read(const struct scheduler *scheduler, struct scheduler_totals *sums)
{
	const struct activity_bpf *skeleton = scheduler->skeleton;
	const struct scheduler_totals *totals = &skeleton->bss->totals;

	sums->jobs = __atomic_load_n(&totals->jobs, __ATOMIC_RELAXED);
	sums->jobs_lost = __atomic_load_n(&totals->jobs_lost, __ATOMIC_RELAXED);
	sums->lost = __atomic_load_n(&totals->lost, __ATOMIC_RELAXED);
	sums->missed = bpf_program_missed(skeleton->progs.job_queue) + bpf_program_missed(skeleton->progs.job_run) +
		       bpf_program_missed(skeleton->progs.job_done);
	sums->handler_time = __atomic_load_n(&totals->handler_time, __ATOMIC_RELAXED);
}
