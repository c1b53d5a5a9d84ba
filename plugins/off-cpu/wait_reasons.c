/* SPDX-License-Identifier: Apache-2.0 */
/* See wait_reasons.h. */
#include "wait_reasons.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "off-cpu.h"
#include "text/printable.h"

#define FUNCTIONS_MAX 24

/*
 * The first reason of which a function is in the stack is the reason: a page fault that reads a file waits for the
 * disk. Names of functions are those of Linux 6.1 to 6.18, without the suffixes of compilers.
 */
static const struct {
	const char *name;
	bool is_of_device;
	const char *functions[FUNCTIONS_MAX];
} reasons_known[] = {
	{ "", false, { NULL } }, /* none */
	{ "fence",
	  true,
	  { "dma_fence_default_wait", "dma_fence_wait_timeout", "dma_fence_wait_any_timeout", "dma_resv_wait_timeout",
	    "drm_syncobj_array_wait_timeout", "drm_syncobj_array_wait", "drm_syncobj_wait_ioctl",
	    "drm_syncobj_timeline_wait_ioctl", "xe_wait_user_fence_ioctl", "i915_request_wait_timeout",
	    "i915_gem_wait_ioctl", "amdgpu_cs_wait_ioctl", "amdgpu_cs_wait_fences_ioctl", "amdgpu_gem_wait_idle_ioctl",
	    "sync_file_poll", "dma_buf_poll" } },
	{ "job",
	  true,
	  { "drm_sched_entity_flush", "drm_sched_entity_push_job", "drm_sched_job_arm", "ivpu_bo_wait_ioctl",
	    "ivpu_submit_ioctl", "xe_exec_ioctl", "xe_exec_queue_destroy_ioctl", "i915_gem_execbuffer2_ioctl",
	    "amdgpu_cs_ioctl", "kfd_wait_on_events", "nvidia_unlocked_ioctl" } },
	{ "disk",
	  false,
	  { "io_schedule", "io_schedule_timeout", "submit_bio_wait", "blk_execute_rq", "folio_wait_bit_common",
	    "folio_wait_writeback", "wait_on_page_bit_common", "jbd2_log_wait_commit",
	    "jbd2_journal_commit_transaction", "rq_qos_wait", "blk_mq_get_tag", "balance_dirty_pages", "wait_on_buffer",
	    "__wait_on_buffer" } },
	{ "network",
	  false,
	  { "sk_wait_data", "sk_stream_wait_memory", "sk_stream_wait_connect", "inet_csk_accept", "inet_stream_connect",
	    "__inet_stream_connect", "__skb_wait_for_more_packets", "sock_alloc_send_pskb", "lock_sock_nested",
	    "tcp_recvmsg", "udp_recvmsg" } },
	{ "local socket",
	  false,
	  { "unix_stream_read_generic", "unix_stream_sendmsg", "unix_dgram_recvmsg", "unix_dgram_sendmsg",
	    "__unix_dgram_recvmsg", "unix_accept", "unix_wait_for_peer", "netlink_recvmsg",
	    "vsock_connectible_recvmsg" } },
	{ "pipe",
	  false,
	  { "pipe_read", "pipe_write", "pipe_wait_readable", "pipe_wait_writable", "anon_pipe_read", "anon_pipe_write",
	    "fifo_open", "splice_from_pipe_next" } },
	{ "lock",
	  false,
	  { "futex_wait", "futex_wait_queue", "futex_wait_queue_me", "__futex_wait", "futex_lock_pi", "futex_do_wait",
	    "futex_wait_requeue_pi", "futex_wait_multiple", "futex_unqueue_multiple" } },
	{ "event", false, { "eventfd_read", "eventfd_write", "timerfd_read", "timerfd_read_iter", "inotify_read" } },
	{ "poll",
	  false,
	  { "ep_poll", "do_epoll_wait", "do_sys_poll", "do_poll", "do_select", "core_sys_select",
	    "poll_schedule_timeout", "schedule_hrtimeout_range_clock", "io_cqring_wait", "read_events" } },
	{ "sleep", false, { "do_nanosleep", "hrtimer_nanosleep", "common_nsleep", "alarm_timer_nsleep" } },
	{ "child process", false, { "do_wait", "kernel_wait4", "wait_for_vfork_done", "kernel_clone" } },
	{ "signal", false, { "do_sigtimedwait", "sigsuspend", "__do_sys_pause", "__x64_sys_pause", "do_signal_stop" } },
	{ "terminal", false, { "n_tty_read", "n_tty_write", "tty_read", "tty_write", "wait_for_completion_tty" } },
	{ "file lock",
	  false,
	  { "flock_lock_inode_wait", "fcntl_setlk", "posix_lock_inode_wait", "locks_lock_inode_wait" } },
	{ "Linux kernel lock",
	  false,
	  { "__mutex_lock", "__mutex_lock_slowpath", "mutex_lock", "rwsem_down_read_slowpath",
	    "rwsem_down_write_slowpath", "down_read", "down_write", "down_read_killable", "down_write_killable",
	    "__down_common", "rt_mutex_slowlock" } },
	{ "yield", false, { "do_sched_yield", "__do_sys_sched_yield", "yield" } },
	{ "page fault", false, { "handle_mm_fault", "exc_page_fault" } },
	/* Not a reason, the last: the scheduler, which the BPF programs interrupt. */
	{ "", false, { "__schedule", "schedule", "try_to_wake_up" } },
};
#define REASON_COUNT (sizeof reasons_known / sizeof *reasons_known)
#define REASON_SCHEDULER (REASON_COUNT - 1)
/* Frames of a BPF program, of what calls it, and of the scheduler. */
#define SCHEDULER_DEPTH 8u

/* Modules of accelerators' drivers. Names in sysfs have _ for -. */
static const struct {
	const char *module, *device;
} drivers_known[] = {
	{ "", "" }, /* none */
	{ "xe", "GPU" },
	{ "i915", "GPU" },
	{ "amdgpu", "GPU" },
	{ "radeon", "GPU" },
	{ "nvidia", "GPU" },
	{ "nvidia_uvm", "GPU" },
	{ "nvidia_drm", "GPU" },
	{ "nvidia_modeset", "GPU" },
	{ "nouveau", "GPU" },
	{ "nova", "GPU" },
	{ "panfrost", "GPU" },
	{ "panthor", "GPU" },
	{ "msm", "GPU" },
	{ "v3d", "GPU" },
	{ "intel_vpu", "NPU" },
	{ "amdxdna", "NPU" },
	{ "rocket", "NPU" },
	{ "ethosu", "NPU" },
	{ "habanalabs", "accelerator" },
	{ "qaic", "accelerator" },
	{ "gasket", "accelerator" },
};
#define DRIVER_COUNT (sizeof drivers_known / sizeof *drivers_known)

static uint32_t driver_find(const char *module)
{
	for (uint32_t i = 1; i < DRIVER_COUNT; i++)
		if (!strcmp(drivers_known[i].module, module))
			return i;
	return 0;
}

struct wanted_function {
	const char *name;
	uint32_t reason;
};
struct wanted_functions {
	struct wanted_function items[REASON_COUNT * FUNCTIONS_MAX];
	size_t count;
};

static int compare_names(const void *left, const void *right)
{
	const struct wanted_function *a = left, *b = right;
	return strcmp(a->name, b->name);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct wait_range *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

static void list_functions(struct wanted_functions *wanted)
{
	wanted->count = 0;
	for (uint32_t reason = 1; reason < REASON_COUNT; reason++)
		for (size_t i = 0; i < FUNCTIONS_MAX && reasons_known[reason].functions[i]; i++)
			wanted->items[wanted->count++] =
				(struct wanted_function){ reasons_known[reason].functions[i], reason };
	qsort(wanted->items, wanted->count, sizeof *wanted->items, compare_names);
}

/* Reads "address type name [module]". Returns false if the line is not of a function. */
static bool read_line(char *line, const struct wanted_functions *wanted, struct wait_range *range)
{
	char type, name[256], module[64] = "";
	if (sscanf(line, "%" SCNx64 " %c %255s [%63[^]]", &range->start, &type, name, module) < 3 ||
	    !strchr("tTwW", type))
		return false;
	name[strcspn(name, ".")] = '\0';
	const struct wanted_function *found = bsearch(&(struct wanted_function){ .name = name }, wanted->items,
						      wanted->count, sizeof *wanted->items, compare_names);
	range->reason = found ? found->reason : 0;
	range->driver = *module ? driver_find(module) : 0;
	return true;
}

int wait_reasons_read(struct wait_reasons *reasons, FILE *file)
{
	struct wanted_functions wanted;
	char line[512];
	list_functions(&wanted);
	while (fgets(line, sizeof line, file)) {
		struct wait_range range = { 0 };
		if (read_line(line, &wanted, &range) && !array_push(&reasons->ranges, range))
			return -ENOMEM;
	}
	struct wait_range *items = reasons->ranges.items;
	size_t count = reasons->ranges.count, kept = 0;
	if (count)
		qsort(items, count, sizeof *items, compare_ranges);
	/* A function ends where the next one starts; several names of one address are one function. */
	for (size_t i = 0; i < count; i++) {
		struct wait_range range = items[i];
		for (; i + 1 < count && items[i + 1].start == range.start; i++)
			if (items[i + 1].reason)
				range.reason = items[i + 1].reason;
		range.end = i + 1 < count ? items[i + 1].start : range.start + 1;
		if (range.reason || range.driver)
			items[kept++] = range;
	}
	reasons->ranges.count = kept;
	return 0;
}

void wait_reasons_free(struct wait_reasons *reasons)
{
	array_free(&reasons->ranges);
}

static const struct wait_range *range_find(const struct wait_reasons *reasons, uint64_t address)
{
	const struct wait_range *items = reasons->ranges.items;
	size_t found = array_lower_bound(reasons->ranges.count, i, items[i].end <= address);
	return found < reasons->ranges.count && address >= items[found].start ? &items[found] : NULL;
}

size_t wait_reasons_skip(const struct wait_reasons *reasons, const uint64_t *addresses, size_t count)
{
	size_t skipped = 0;
	for (size_t i = 0; i < count && i < SCHEDULER_DEPTH; i++) {
		const struct wait_range *range = range_find(reasons, addresses[i] - 1);
		if (range && range->reason == REASON_SCHEDULER)
			skipped = i + 1;
	}
	return skipped < count ? skipped : 0;
}

static const char *state_name(uint32_t state)
{
	return state == OFF_CPU_UNINTERRUPTIBLE ? "[uninterruptible]"
	       : state == OFF_CPU_STOPPED       ? "[stopped]"
	       : state == OFF_CPU_WOKEN         ? "[runnable]"
	       : state == OFF_CPU_PREEMPTED     ? "[preempted]"
						: "[interruptible]";
}

void wait_reason_text(const struct wait_reasons *reasons, const uint64_t *addresses, size_t count, const char *driver,
		      uint32_t state, char text[WAIT_REASON_SIZE])
{
	char shown[OFF_CPU_DRIVER_SIZE + 1];
	uint32_t reason = 0, device = driver_find(driver);
	bool is_ioctl = *driver;
	for (size_t i = 0; i < count; i++) {
		const struct wait_range *range = range_find(reasons, addresses[i] - (i ? 1 : 0));
		if (range && range->reason && (!reason || range->reason < reason))
			reason = range->reason;
		if (range && range->driver && !device)
			device = range->driver;
	}
	snprintf(shown, sizeof shown, "%s", device ? drivers_known[device].module : driver);
	text_make_printable(shown);
	if (state >= OFF_CPU_STOPPED)
		snprintf(text, WAIT_REASON_SIZE, "%s", state_name(state));
	else if (device)
		snprintf(text, WAIT_REASON_SIZE, "[%s %s: %s]", drivers_known[device].device,
			 reasons_known[reason].is_of_device ? reasons_known[reason].name
			 : is_ioctl                         ? "ioctl"
							    : "driver",
			 shown);
	else if (reasons_known[reason].is_of_device)
		snprintf(text, WAIT_REASON_SIZE, "[device %s%s%s]", reasons_known[reason].name, is_ioctl ? ": " : "",
			 shown);
	else if (reason && reason != REASON_SCHEDULER)
		snprintf(text, WAIT_REASON_SIZE, "[%s]", reasons_known[reason].name);
	else if (is_ioctl)
		snprintf(text, WAIT_REASON_SIZE, "[ioctl: %s]", shown);
	else
		snprintf(text, WAIT_REASON_SIZE, "%s", state_name(state));
}
