/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of intel_vpu: families, requests, and the published trace of a matmul, whose numbers the write-up says. The
 * trace is not in the tree: without it that test skips.
 */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu/driver_functions.h"
#include "npu_trace.h"
#include "../run_suite.h"

TEST(finds_the_family)
{
	static const struct {
		const char *name;
		enum ivpu_family family;
	} functions[] = {
		{ "ivpu_mmu_context_map_page", IVPU_FAMILY_MEMORY },
		{ "ivpu_mmu_cmdq_sync", IVPU_FAMILY_MEMORY },
		{ "ivpu_pgtable_free_page", IVPU_FAMILY_MEMORY },
		{ "ivpu_bo_bind", IVPU_FAMILY_BUFFERS },
		{ "ivpu_bo_unbind_locked", IVPU_FAMILY_BUFFERS },
		{ "ivpu_gem_bo_open", IVPU_FAMILY_BUFFERS },
		{ "ivpu_ipc_send_receive_internal", IVPU_FAMILY_IPC },
		{ "ivpu_hw_ip_ipc_tx_set", IVPU_FAMILY_IPC },
		{ "ivpu_hw_ip_irq_handler_40xx", IVPU_FAMILY_HARDWARE },
		{ "ivpu_cmdq_fini.isra.0", IVPU_FAMILY_JOBS },
		{ "ivpu_jobs_abort_all", IVPU_FAMILY_JOBS },
		{ "ivpu_submit_ioctl", IVPU_FAMILY_JOBS },
		{ "ivpu_boot", IVPU_FAMILY_FIRMWARE },
		{ "ivpu_jsm_register_db", IVPU_FAMILY_FIRMWARE },
		{ "ivpu_jsm_metric_streamer_start", IVPU_FAMILY_METRIC_STREAMER },
		{ "ivpu_ms_cleanup", IVPU_FAMILY_METRIC_STREAMER },
		{ "ivpu_rpm_get", IVPU_FAMILY_POWER },
		{ "ivpu_pm_anything_new", IVPU_FAMILY_POWER },
		{ "ivpu_file_priv_put", IVPU_FAMILY_CONTEXT },
		{ "ivpu_get_param_ioctl", IVPU_FAMILY_CONTEXT },
		{ "ivpu_user_limits_get", IVPU_FAMILY_CONTEXT },
		{ "ivpu_", IVPU_FAMILY_OTHER },
		{ "drm_ioctl", IVPU_FAMILY_OTHER },
		{ ".isra", IVPU_FAMILY_OTHER },
		{ "", IVPU_FAMILY_OTHER },
		{ NULL, IVPU_FAMILY_OTHER },
	};
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		ck_assert_msg(ivpu_function_find(functions[i].name)->family == functions[i].family, "%s is of %s",
			      functions[i].name, ivpu_family_name(ivpu_function_find(functions[i].name)->family));
	ck_assert_str_eq(ivpu_family_name(IVPU_FAMILY_MEMORY), "memory management");
	ck_assert_str_eq(ivpu_family_name(1000), "other");
}

/* What ends a job was renamed twice: each name indicates it, and leads to the older ones, as a warning looks for them.
 */
TEST(a_renamed_function_is_the_same_event)
{
	static const char *const names[] = { "ivpu_job_signal_and_destroy", "ivpu_job_signal", "ivpu_job_done" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct ivpu_function *function = ivpu_function_find(names[i]);
		ck_assert_uint_eq(function->event, IVPU_EVENT_DONE);
		if (i + 1 < sizeof names / sizeof *names)
			ck_assert_str_eq(function->alternative, names[i + 1]);
		else
			ck_assert_ptr_null(function->alternative);
	}
}

TEST(every_row_is_whole)
{
	size_t count = 0;
	unsigned int requests = 0;
	for (const struct ivpu_function *function; (function = ivpu_function_at(count)); count++) {
		ck_assert_ptr_eq(ivpu_function_find(function->name), function);
		ck_assert_ptr_nonnull(function->source);
		bool is_request = function->flags & IVPU_FUNCTION_IOCTL;
		ck_assert_int_eq(is_request, function->ioctl_name != NULL);
		ck_assert_int_eq(is_request, strlen(function->name) > 6 &&
						     !strcmp(function->name + strlen(function->name) - 6, "_ioctl"));
		requests += is_request;
		if (function->alternative)
			ck_assert_str_eq(ivpu_function_find(function->alternative)->name, function->alternative);
	}
	/* All of the driver's requests, DRM_IVPU_* of include/uapi/drm/ivpu_accel.h in Linux 7.0. */
	ck_assert_uint_eq(requests, 14);
	ck_assert(ivpu_function_find("ivpu_mmu_context_map_page")->flags & IVPU_FUNCTION_HOT);
	ck_assert(ivpu_function_find("ivpu_pgtable_alloc_page")->flags & IVPU_FUNCTION_HOT);
	ck_assert(!(ivpu_function_find("ivpu_submit_ioctl")->flags & IVPU_FUNCTION_HOT));
}

/* The list of the double of the NPU is that of the real modules of Linux 6.12, 6.13 and 7.2. */
TEST(every_function_of_real_drivers_has_a_family)
{
#define PLAIN(name, in) #name,
#define WRITTEN(name, in) #name,
#define CALLED(name, in) #name,
#define DOTTED(name, real, in) real,
	static const char *const names[] = {
#include "../lab/doubles/npu/functions.h"
	};
	size_t count = sizeof names / sizeof *names;
	ck_assert_uint_ge(count, 250);
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(ivpu_function_find(names[i])->family != IVPU_FAMILY_OTHER, "%s", names[i]);
}

START_TEST(every_function_of_the_published_trace_has_a_family)
{
	const char *path = npu_trace_path(NULL);
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	uint64_t families[IVPU_FAMILY_COUNT] = { 0 }, calls = 0;
	char line[512];
	while (fgets(line, sizeof line, file)) {
		char *name = strrchr(line, ':');
		if (!name)
			continue;
		name[strcspn(name, "\n")] = '\0';
		families[ivpu_function_find(name + 1)->family]++;
		ck_assert_uint_ne(ivpu_function_find(name + 1)->family, IVPU_FAMILY_OTHER);
		calls++;
	}
	fclose(file);
	ck_assert_uint_eq(calls, 8198);
	/* As grep -c counts ivpu_mmu_ and ivpu_pgtable_; ivpu_ipc_ and ivpu_hw_ip_ipc_; ivpu_bo_ and ivpu_gem_. */
	ck_assert_uint_eq(families[IVPU_FAMILY_MEMORY], 4994);
	ck_assert_uint_eq(families[IVPU_FAMILY_IPC], 2879);
	ck_assert_uint_eq(families[IVPU_FAMILY_BUFFERS], 204);
}
END_TEST

int main(void)
{
	if (npu_trace_path("every_function_of_the_published_trace_has_a_family"))
		tcase_add_test(all_tests(), every_function_of_the_published_trace_has_a_family);
	return run_all_tests(0, NULL, NULL);
}
