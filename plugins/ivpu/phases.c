/* SPDX-License-Identifier: Apache-2.0 */
/* See phases.h. */
#include <stddef.h>
#include <string.h>
#include "phases.h"

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
