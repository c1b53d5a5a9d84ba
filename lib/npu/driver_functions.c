/* SPDX-License-Identifier: Apache-2.0 */
/* See driver_functions.h. */
#include <string.h>
#include "npu/driver_functions.h"

#define HOT IVPU_FUNCTION_HOT
#define KNOWN IVPU_FUNCTION_WELL_KNOWN

#define FUNCTION(function, in_family, in_flags, from, ...)                                                             \
	{                                                                                                              \
		.name = (function), .family = IVPU_FAMILY_##in_family, .flags = (in_flags), .source = (from),          \
		__VA_ARGS__                                                                                            \
	}
/* An ioctl handler: numbers from include/uapi/drm/ivpu_accel.h, Linux 7.0. */
#define REQUEST(function, in_family, in_flags, from, request, ...)                                                     \
	FUNCTION(function, in_family, IVPU_FUNCTION_IOCTL | (in_flags), from, .ioctl_name = "DRM_IOCTL_IVPU_" request, \
		 __VA_ARGS__)
#define EVENT(what) .event = IVPU_EVENT_##what

/* Sorted by name. "trace": the published trace of a matmul on Lunar Lake, Linux 6.13. */
static const struct ivpu_function functions[] = {
	FUNCTION("ivpu_bo_bind", BUFFERS, 0, "ivpu_gem.c 6.18", ),
	REQUEST("ivpu_bo_create_from_userptr_ioctl", BUFFERS, 0, "ivpu_gem_userptr.c 6.19", "BO_CREATE_FROM_USERPTR", ),
	REQUEST("ivpu_bo_create_ioctl", BUFFERS, KNOWN, "ivpu_gem.c 6.3, trace", "BO_CREATE", ),
	REQUEST("ivpu_bo_info_ioctl", BUFFERS, 0, "ivpu_gem.c 6.3, trace", "BO_INFO", ),
	FUNCTION("ivpu_bo_pin", BUFFERS, KNOWN, "ivpu_gem.c 6.3, trace", .alternative = "ivpu_bo_bind", ),
	REQUEST("ivpu_bo_wait_ioctl", BUFFERS, KNOWN, "ivpu_gem.c 6.3, trace", "BO_WAIT", ),
	FUNCTION("ivpu_boot", FIRMWARE, KNOWN, "ivpu_drv.c 6.3, trace", EVENT(BOOT), ),
	REQUEST("ivpu_cmdq_create_ioctl", JOBS, 0, "ivpu_job.c 6.15", "CMDQ_CREATE", ),
	REQUEST("ivpu_cmdq_destroy_ioctl", JOBS, 0, "ivpu_job.c 6.15", "CMDQ_DESTROY", ),
	REQUEST("ivpu_cmdq_submit_ioctl", JOBS, 0, "ivpu_job.c 6.15", "CMDQ_SUBMIT", EVENT(SUBMIT), ),
	FUNCTION("ivpu_gem_bo_free", BUFFERS, 0, "ivpu_gem.c 6.8, trace", EVENT(BUFFER_FREE), ),
	FUNCTION("ivpu_gem_create_object", BUFFERS, 0, "ivpu_gem.c 6.8, trace", EVENT(BUFFER_CREATE), ),
	REQUEST("ivpu_get_param_ioctl", CONTEXT, 0, "ivpu_drv.c 6.3, trace", "GET_PARAM", ),
	FUNCTION("ivpu_hw_ip_ipc_rx_addr_get", IPC, 0, "ivpu_hw_ip.c 6.11, trace", EVENT(MESSAGE), ),
	FUNCTION("ivpu_hw_ip_ipc_rx_count_get", IPC, 0, "ivpu_hw_ip.c 6.11, trace", ),
	FUNCTION("ivpu_hw_reg_rd32", HARDWARE, HOT, "ivpu_hw_reg_io.h 6.3, symbols of the trace's kernel", ),
	FUNCTION("ivpu_hw_reg_rd64", HARDWARE, HOT, "ivpu_hw_reg_io.h 6.3, symbols of the trace's kernel", ),
	FUNCTION("ivpu_hw_reg_wr32", HARDWARE, HOT, "ivpu_hw_reg_io.h 6.3, symbols of the trace's kernel", ),
	FUNCTION("ivpu_ipc_irq_handler", IPC, KNOWN, "ivpu_ipc.c 6.3, trace", EVENT(IPC_HANDLER), ),
	FUNCTION("ivpu_ipc_receive", IPC, KNOWN, "ivpu_ipc.c 6.3, trace", ),
	FUNCTION("ivpu_job_signal", JOBS, 0, "ivpu_job.c 7.2", .alternative = "ivpu_job_done", EVENT(DONE), ),
	FUNCTION("ivpu_job_signal_and_destroy", JOBS, KNOWN, "ivpu_job.c 6.8, trace", .alternative = "ivpu_job_signal",
		 EVENT(DONE), ),
	FUNCTION("ivpu_job_done", JOBS, 0, "ivpu_job.c 6.3", EVENT(DONE), ),
	FUNCTION("ivpu_jsm_reset_engine", FIRMWARE, 0, "ivpu_jsm_msg.c 6.3", EVENT(RESET), ),
	FUNCTION("ivpu_mmu_context_map_page", MEMORY, HOT, "ivpu_mmu_context.c 6.3, trace", EVENT(PAGE_MAP), ),
	FUNCTION("ivpu_mmu_context_map_sgt", MEMORY, KNOWN, "ivpu_mmu_context.c 6.3, trace", EVENT(MAPPING), ),
	FUNCTION("ivpu_mmu_context_split_64k_page", MEMORY, HOT, "symbols of the trace's kernel", ),
	FUNCTION("ivpu_mmu_context_unmap_page", MEMORY, HOT, "ivpu_mmu_context.c 6.3", ),
	REQUEST("ivpu_ms_get_data_ioctl", METRIC_STREAMER, 0, "ivpu_ms.c 6.10", "METRIC_STREAMER_GET_DATA", ),
	REQUEST("ivpu_ms_get_info_ioctl", METRIC_STREAMER, 0, "ivpu_ms.c 6.10", "METRIC_STREAMER_GET_INFO", ),
	REQUEST("ivpu_ms_start_ioctl", METRIC_STREAMER, 0, "ivpu_ms.c 6.10", "METRIC_STREAMER_START", ),
	REQUEST("ivpu_ms_stop_ioctl", METRIC_STREAMER, 0, "ivpu_ms.c 6.10", "METRIC_STREAMER_STOP", ),
	FUNCTION("ivpu_open", CONTEXT, KNOWN, "ivpu_drv.c 6.3, trace", EVENT(CONTEXT), ),
	FUNCTION("ivpu_pgtable_alloc_page", MEMORY, HOT, "ivpu_mmu_context.c 6.8, trace", ),
	FUNCTION("ivpu_pgtable_free_page", MEMORY, HOT, "ivpu_mmu_context.c 6.8, trace", ),
	FUNCTION("ivpu_pm_recovery_work", POWER, KNOWN, "ivpu_pm.c 6.3", EVENT(RECOVERY), ),
	FUNCTION("ivpu_pm_reset_prepare_cb", POWER, 0, "ivpu_pm.c 6.3", EVENT(RESET), ),
	FUNCTION("ivpu_pm_resume_cb", POWER, 0, "ivpu_pm.c 6.3", EVENT(RESUME), ),
	FUNCTION("ivpu_pm_runtime_resume_cb", POWER, KNOWN, "ivpu_pm.c 6.3, trace", EVENT(RESUME), ),
	FUNCTION("ivpu_pm_runtime_suspend_cb", POWER, KNOWN, "ivpu_pm.c 6.3, trace", ),
	FUNCTION("ivpu_postclose", CONTEXT, KNOWN, "ivpu_drv.c 6.3, trace", ),
	FUNCTION("ivpu_resume", POWER, 0, "ivpu_pm.c 6.3, trace", ),
	REQUEST("ivpu_set_param_ioctl", CONTEXT, 0, "ivpu_drv.c 6.3", "SET_PARAM", ),
	FUNCTION("ivpu_start_job_timeout_detection", JOBS, 0, "ivpu_pm.c 6.8, trace", EVENT(TIMEOUT_CLOCK), ),
	REQUEST("ivpu_submit_ioctl", JOBS, KNOWN, "ivpu_job.c 6.3, trace", "SUBMIT", EVENT(SUBMIT), ),
	FUNCTION("ivpu_wait_for_ready", FIRMWARE, KNOWN, "ivpu_drv.c 6.3, trace", ),
};

#define PREFIX(beginning, in_family, in_flags, from) FUNCTION(beginning, in_family, in_flags, from, )

/* The first match counts: longer prefixes come before shorter ones. */
static const struct ivpu_function prefixes[] = {
	PREFIX("ivpu_mmu_", MEMORY, 0, "ivpu_mmu.c, ivpu_mmu_context.c 6.3"),
	PREFIX("ivpu_pgtable_", MEMORY, HOT, "ivpu_mmu_context.c 6.8"),
	PREFIX("ivpu_bo_", BUFFERS, 0, "ivpu_gem.c 6.3"),
	PREFIX("ivpu_gem_", BUFFERS, 0, "ivpu_gem.c 6.8"),
	PREFIX("ivpu_ipc_", IPC, 0, "ivpu_ipc.c 6.3"),
	PREFIX("ivpu_hw_ip_ipc_", IPC, 0, "ivpu_hw_ip.c 6.11"),
	PREFIX("ivpu_hw_", HARDWARE, 0, "ivpu_hw.c, ivpu_hw_btrs.c, ivpu_hw_ip.c 6.11"),
	PREFIX("ivpu_irq_", HARDWARE, 0, "ivpu_drv.c 6.11"),
	PREFIX("ivpu_submit", JOBS, 0, "ivpu_job.c 6.3; ivpu_submit itself 6.15"),
	PREFIX("ivpu_job", JOBS, 0, "ivpu_job.c 6.3"),
	PREFIX("ivpu_cmdq_", JOBS, 0, "ivpu_job.c 6.3"),
	PREFIX("ivpu_start_job_", JOBS, 0, "ivpu_pm.c 6.8"),
	PREFIX("ivpu_stop_job_", JOBS, 0, "ivpu_pm.c 6.8"),
	PREFIX("ivpu_context_abort_", JOBS, 0, "ivpu_job.c 6.12"),
	PREFIX("ivpu_jsm_metric_streamer_", METRIC_STREAMER, 0, "ivpu_jsm_msg.c 6.10"),
	PREFIX("ivpu_jsm_", FIRMWARE, 0, "ivpu_jsm_msg.c 6.3"),
	PREFIX("ivpu_fw_", FIRMWARE, 0, "ivpu_fw.c, ivpu_fw_log.c 6.3"),
	PREFIX("ivpu_boot", FIRMWARE, 0, "ivpu_drv.c 6.3"),
	PREFIX("ivpu_pm_", POWER, 0, "ivpu_pm.c 6.3"),
	PREFIX("ivpu_rpm_", POWER, 0, "ivpu_pm.c 6.3"),
	PREFIX("ivpu_resume", POWER, 0, "ivpu_pm.c 6.3"),
	PREFIX("ivpu_suspend", POWER, 0, "ivpu_pm.c 6.3"),
	PREFIX("ivpu_shutdown", POWER, 0, "ivpu_drv.c 6.3"),
	PREFIX("ivpu_prepare_for_reset", POWER, 0, "ivpu_drv.c 6.3"),
	PREFIX("ivpu_file_priv_", CONTEXT, 0, "ivpu_drv.c 6.3"),
	PREFIX("ivpu_get_param", CONTEXT, 0, "ivpu_drv.c 6.3"),
	PREFIX("ivpu_set_param", CONTEXT, 0, "ivpu_drv.c 6.3"),
	PREFIX("ivpu_is_capable", CONTEXT, 0, "ivpu_drv.c 7.2"),
	PREFIX("ivpu_get_capabilities", CONTEXT, 0, "ivpu_drv.c 6.8"),
	PREFIX("ivpu_user_limits_", CONTEXT, 0, "ivpu_drv.c 7.2"),
	PREFIX("ivpu_ms_", METRIC_STREAMER, 0, "ivpu_ms.c 6.10"),
	PREFIX("ivpu_fence_", JOBS, 0, "ivpu_job.c 6.3"),
	PREFIX("ivpu_dev_coredump", POWER, 0, "ivpu_coredump.c 6.13"),
	PREFIX("ivpu_force_recovery_fn", POWER, 0, "ivpu_debugfs.c 6.3"),
	PREFIX("ivpu_reset_engine_f", POWER, 0, "ivpu_debugfs.c 6.3"),
	PREFIX("ivpu_resume_engine_fn", POWER, 0, "ivpu_debugfs.c 6.13"),
	PREFIX("ivpu_dct_", POWER, 0, "ivpu_debugfs.c 7.2"),
	PREFIX("ivpu_is_within_range", FIRMWARE, 0, "ivpu_fw.c 7.2"),
	PREFIX("ivpu_probe", SETUP, 0, "ivpu_drv.c 6.3"),
	PREFIX("ivpu_remove", SETUP, 0, "ivpu_drv.c 6.3"),
	PREFIX("ivpu_dev_", SETUP, 0, "ivpu_drv.c 6.3"),
	PREFIX("ivpu_destroy_workqueue", SETUP, 0, "ivpu_drv.c 7.2"),
	PREFIX("ivpu_debugfs_", SETUP, 0, "ivpu_debugfs.c 6.3"),
	PREFIX("ivpu_sysfs_", SETUP, 0, "ivpu_sysfs.c 6.10"),
	/* Traced with functions=* only. */
	PREFIX("d0i3_drive", HARDWARE, 0, "ivpu_hw_btrs.c 6.11"),
	PREFIX("wp_request_", HARDWARE, 0, "ivpu_hw_btrs.c 6.11"),
	PREFIX("host_ss_noc_", HARDWARE, 0, "ivpu_hw_ip.c 6.11"),
	PREFIX("irq_noc_firewall_", HARDWARE, 0, "ivpu_hw_ip.c 6.11"),
	PREFIX("soc_cpu_", FIRMWARE, 0, "ivpu_hw_ip.c 7.2"),
	PREFIX("file_priv_", CONTEXT, 0, "ivpu_drv.c 6.3"),
	PREFIX("reset_engine_and_mark_faulty_", JOBS, 0, "ivpu_job.c 7.2"),
};

static const struct ivpu_function other = { .name = "", .family = IVPU_FAMILY_OTHER, .source = "no rule" };

/* Compiler clones of a function, such as NAME.isra.0, count as the function. */
static size_t base_length(const char *name)
{
	return strcspn(name, ".");
}

const struct ivpu_function *ivpu_function_find(const char *name)
{
	if (!name)
		return &other;
	size_t length = base_length(name);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (!strncmp(functions[i].name, name, length) && !functions[i].name[length])
			return &functions[i];
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (!strncmp(name, prefixes[i].name, strlen(prefixes[i].name)))
			return &prefixes[i];
	return &other;
}

const struct ivpu_function *ivpu_function_at(size_t index)
{
	return index < sizeof functions / sizeof *functions ? &functions[index] : NULL;
}

const char *ivpu_family_name(uint32_t family)
{
	static const char *const names[IVPU_FAMILY_COUNT] = {
		[IVPU_FAMILY_OTHER] = "other",        [IVPU_FAMILY_MEMORY] = "memory management",
		[IVPU_FAMILY_BUFFERS] = "buffers",    [IVPU_FAMILY_IPC] = "IPC",
		[IVPU_FAMILY_JOBS] = "jobs",          [IVPU_FAMILY_HARDWARE] = "hardware",
		[IVPU_FAMILY_FIRMWARE] = "firmware",  [IVPU_FAMILY_POWER] = "power",
		[IVPU_FAMILY_CONTEXT] = "context",    [IVPU_FAMILY_METRIC_STREAMER] = "metric streamer",
		[IVPU_FAMILY_SETUP] = "driver setup",
	};
	return names[family < IVPU_FAMILY_COUNT ? family : IVPU_FAMILY_OTHER];
}

/* Functions that begin a phase. From the sources of Linux 6.13 to 7.2; names without "ivpu_". */
static const struct {
	const char *function;
	enum ivpu_phase phase;
} beginnings[] = {
	{ "open", IVPU_PHASE_OPEN },
	{ "get_param_ioctl", IVPU_PHASE_OPEN },
	{ "set_param_ioctl", IVPU_PHASE_OPEN },
	{ "pm_runtime_resume_cb", IVPU_PHASE_BOOT },
	{ "pm_resume_cb", IVPU_PHASE_BOOT },
	{ "resume", IVPU_PHASE_BOOT },
	{ "boot", IVPU_PHASE_BOOT },
	{ "wait_for_ready", IVPU_PHASE_BOOT },
	{ "bo_create_ioctl", IVPU_PHASE_ALLOCATE },
	{ "bo_create_from_userptr_ioctl", IVPU_PHASE_ALLOCATE },
	{ "bo_info_ioctl", IVPU_PHASE_ALLOCATE },
	{ "gem_create_object", IVPU_PHASE_ALLOCATE },
	{ "gem_prime_import", IVPU_PHASE_ALLOCATE },
	{ "bo_create", IVPU_PHASE_ALLOCATE },
	{ "bo_create_global", IVPU_PHASE_ALLOCATE },
	{ "bo_create_runtime", IVPU_PHASE_ALLOCATE },
	{ "gem_prime_handle_to_fd", IVPU_PHASE_ALLOCATE },
	{ "bo_pin", IVPU_PHASE_MAP },
	{ "bo_bind", IVPU_PHASE_MAP },
	{ "mmu_context_map_sgt", IVPU_PHASE_MAP },
	{ "mmu_context_map_page", IVPU_PHASE_MAP },
	{ "mmu_context_map_pages", IVPU_PHASE_MAP },
	{ "submit_ioctl", IVPU_PHASE_RUN },
	{ "cmdq_submit_ioctl", IVPU_PHASE_RUN },
	{ "cmdq_create_ioctl", IVPU_PHASE_RUN },
	{ "bo_wait_ioctl", IVPU_PHASE_RUN },
	{ "hw_irq_handler", IVPU_PHASE_RUN },
	{ "hw_37xx_irq_handler", IVPU_PHASE_RUN },
	{ "hw_40xx_irq_handler", IVPU_PHASE_RUN },
	{ "irq_thread_handler", IVPU_PHASE_RUN },
	{ "ipc_irq_thread_handler", IVPU_PHASE_RUN },
	{ "ipc_irq_work_fn", IVPU_PHASE_RUN },
	{ "job_done_callback", IVPU_PHASE_RUN },
	{ "job_signal_and_destroy", IVPU_PHASE_RUN },
	{ "job_signal", IVPU_PHASE_RUN },
	{ "job_destroy_work_fn", IVPU_PHASE_RUN },
	{ "start_job_timeout_detection", IVPU_PHASE_RUN },
	{ "stop_job_timeout_detection", IVPU_PHASE_RUN },
	{ "pm_runtime_suspend_cb", IVPU_PHASE_IDLE },
	{ "pm_suspend_cb", IVPU_PHASE_IDLE },
	{ "postclose", IVPU_PHASE_TEARDOWN },
	{ "gem_bo_free", IVPU_PHASE_TEARDOWN },
	{ "cmdq_destroy_ioctl", IVPU_PHASE_TEARDOWN },
	{ "job_timeout_work", IVPU_PHASE_RECOVERY },
	{ "pm_recovery_work", IVPU_PHASE_RECOVERY },
	{ "pm_reset_prepare_cb", IVPU_PHASE_RECOVERY },
	{ "pm_reset_done_cb", IVPU_PHASE_RECOVERY },
	{ "context_abort_work_fn", IVPU_PHASE_RECOVERY },
	{ "context_abort_thread_handler", IVPU_PHASE_RECOVERY },
	{ "jobs_abort_all", IVPU_PHASE_RECOVERY },
	{ "jsm_reset_engine", IVPU_PHASE_RECOVERY },
	{ "dev_coredump", IVPU_PHASE_RECOVERY },
};

/* Includes whatever its calls call; only a boot begins another phase. */
static bool is_whole(enum ivpu_phase phase)
{
	return phase == IVPU_PHASE_BOOT || phase == IVPU_PHASE_IDLE || phase == IVPU_PHASE_TEARDOWN ||
	       phase == IVPU_PHASE_MAP;
}

enum ivpu_phase ivpu_phase_of(enum ivpu_phase caller, const char *function)
{
	if (caller == IVPU_PHASE_RECOVERY)
		return caller;
	for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
		if (strcmp(beginnings[i].function, function) != 0)
			continue;
		enum ivpu_phase phase = beginnings[i].phase;
		return is_whole(caller) && phase != IVPU_PHASE_BOOT && phase != IVPU_PHASE_RECOVERY ? caller : phase;
	}
	return caller;
}

enum ivpu_phase ivpu_phase_alone(const struct ivpu_function *function, const char *short_name, bool is_outermost)
{
	return is_outermost || function->event == IVPU_EVENT_PAGE_MAP ? ivpu_phase_of(IVPU_PHASE_UNKNOWN, short_name)
								      : IVPU_PHASE_UNKNOWN;
}

struct ivpu_place ivpu_place_of(struct ivpu_place caller, const char *function, bool is_submit)
{
	struct ivpu_place place = { .phase = ivpu_phase_of(caller.phase, function) };
	/* The driver also allocates buffers of its own, and maps them at once. */
	place.in_submit = (caller.in_submit || is_submit) && place.phase != IVPU_PHASE_ALLOCATE;
	return place;
}

static const struct {
	const char *name, *note;
} texts[IVPU_PHASE_COUNT] = {
	[IVPU_PHASE_UNKNOWN] = { "not known", "npu-phase-unknown" },
	[IVPU_PHASE_OPEN] = { "open", "npu-phase-open" },
	[IVPU_PHASE_BOOT] = { "firmware boot", "npu-phase-boot" },
	[IVPU_PHASE_ALLOCATE] = { "allocate", "npu-phase-allocate" },
	[IVPU_PHASE_MAP] = { "map", "npu-phase-map" },
	[IVPU_PHASE_RUN] = { "run", "npu-phase-run" },
	[IVPU_PHASE_IDLE] = { "idle", "npu-phase-idle" },
	[IVPU_PHASE_TEARDOWN] = { "teardown", "npu-phase-teardown" },
	[IVPU_PHASE_RECOVERY] = { "recovery", "npu-phase-recovery" },
};

const char *ivpu_phase_name(uint32_t phase)
{
	return texts[phase < IVPU_PHASE_COUNT ? phase : IVPU_PHASE_UNKNOWN].name;
}

const char *ivpu_phase_note(uint32_t phase)
{
	return texts[phase < IVPU_PHASE_COUNT ? phase : IVPU_PHASE_UNKNOWN].note;
}
