/* SPDX-License-Identifier: Apache-2.0 */
/* Source ivpu-trace: every call is sent, at the depth that its name proves, and lines that are not calls
 * are reported. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "npu/findings.h"
#include "npu_trace.h"
#include "test_host.h"
#include "../run_suite.h"

static char path[64];

static void setup(void)
{
	snprintf(path, sizeof path, P_tmpdir "/iaprof-test-ivpu-XXXXXX");
	int descriptor = mkstemp(path);
	ck_assert_int_ge(descriptor, 0);
	close(descriptor);
}

static void teardown(void)
{
	unlink(path);
}

static void write_trace(const char *text)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

/* A source that has read a trace to its end. */
static struct test_host *read_trace(const char *trace)
{
	struct test_host *host = test_host_new("ivpu-trace", NULL);
	ck_assert_int_eq(test_host_set(host, "input", trace), 0);
	test_host_start(host);
	ck_assert_int_eq(test_host_run(host, 600000), 0);
	test_host_stop(host);
	ck_assert_msg(host->thread_result == 0, "%s", host->failure);
	ck_assert(host->finished);
	return host;
}

static struct test_host *read_text(const char *text)
{
	write_trace(text);
	return read_trace(path);
}

static const struct iaprof_record_call_node *node_find(const struct test_host *host, uint32_t id)
{
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_CALL_NODE)))
		if (((const struct iaprof_record_call_node *)record)->id == id)
			return (const void *)record;
	ck_abort_msg("node %u is not defined", id);
	return NULL;
}

static const char *function_name(const struct test_host *host, uint32_t id)
{
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_CALL_FUNCTION)))
		if (((const struct iaprof_record_call_function *)record)->id == id)
			return test_host_string(host, ((const struct iaprof_record_call_function *)record)->name);
	ck_abort_msg("function %u is not defined", id);
	return NULL;
}

/* "[boot];ivpu_boot;ivpu_wait_for_ready" */
static const char *node_path(const struct test_host *host, uint32_t id, char *text, size_t size)
{
	const struct iaprof_record_call_node *node = node_find(host, id);
	text[0] = '\0';
	if (node->parent) {
		node_path(host, node->parent, text, size);
		strncat(text, ";", size - strlen(text) - 1);
	}
	strncat(text, function_name(host, node->function), size - strlen(text) - 1);
	return text;
}

/* Calls whose place ends with this; of every place for NULL. */
static uint64_t calls_at(const struct test_host *host, const char *place)
{
	uint64_t count = 0;
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_CALL))) {
		const struct iaprof_record_call *call = (const void *)record;
		char text[4096];
		node_path(host, call->node, text, sizeof text);
		ck_assert_uint_eq(call->pid, 0);
		ck_assert_uint_eq(call->duration, 0);
		ck_assert_uint_le(call->first_time, record->time);
		size_t length = strlen(text), wanted = place ? strlen(place) : 0;
		if (!place || (length == wanted && !strcmp(text, place)) ||
		    (*place == ';' && length >= wanted && !strcmp(text + length - wanted, place)))
			count += call->count;
	}
	return count;
}

static uint64_t calls_of(const struct test_host *host, const char *name)
{
	uint64_t count = 0;
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_CALL))) {
		const struct iaprof_record_call *call = (const void *)record;
		if (!strcmp(test_host_string(host, call->name), name))
			count += call->count;
	}
	return count;
}

/* By its name; for NULL, the first one that is worse than a note. */
static const struct iaprof_record_finding *finding_of(const struct test_host *host, const char *name)
{
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_FINDING))) {
		const struct iaprof_record_finding *finding = (const void *)record;
		if (name ? !strcmp(test_host_string(host, finding->name), name)
			 : finding->severity > IAPROF_FINDING_NOTE)
			return finding;
	}
	return NULL;
}

START_TEST(the_published_trace_is_whole)
{
	const char *trace = npu_trace_path(NULL);
	struct test_host *host = read_trace(trace);
	ck_assert_uint_eq(calls_at(host, NULL), 8198);
	/* Sorted and counted by others' programs. */
	char command[8192], line[512];
	snprintf(command, sizeof command, "sed -n s/^kprobe:intel_vpu://p '%s' | sort | uniq -c", trace);
	FILE *pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	uint64_t functions = 0;
	while (fgets(line, sizeof line, pipe)) {
		char *name;
		uint64_t count = strtoull(line, &name, 10);
		name += strspn(name, " ");
		name[strcspn(name, "\n")] = '\0';
		ck_assert_msg(calls_of(host, name) == count, "%s: %lu, not %lu", name,
			      (unsigned long)calls_of(host, name), (unsigned long)count);
		functions++;
	}
	ck_assert_int_eq(pclose(pipe), 0);
	ck_assert_uint_gt(functions, 100);
	/* 942 looks at the firmware while it boots, and four messages: of two requests, of the job and of going to
	 * sleep. */
	ck_assert_uint_eq(calls_at(host, "[boot];ivpu_pm_runtime_resume_cb;ivpu_resume;ivpu_boot;ivpu_wait_for_ready;"
					 "ivpu_ipc_irq_handler"),
			  942);
	ck_assert_uint_eq(calls_at(host, "[interrupt];ivpu_hw_irq_handler;ivpu_hw_ip_irq_handler_40xx;"
					 "ivpu_ipc_irq_handler"),
			  4);
	ck_assert_str_eq(test_host_metadata(host, "messages"), "4");
	ck_assert_str_eq(test_host_metadata(host, "polls in boot"), "942");
	ck_assert_uint_eq(
		calls_at(host, "ivpu_submit_ioctl;ivpu_bo_pin;ivpu_mmu_context_map_sgt;ivpu_mmu_context_map_page"),
		4130);
	ck_assert_str_eq(test_host_metadata(host, "calls"), "8198 (from lines)");
	/* As grep -c counts ivpu_mmu_ and ivpu_pgtable_; ivpu_ipc_ and ivpu_hw_ip_ipc_; ivpu_bo_ and ivpu_gem_. */
	ck_assert_str_eq(test_host_metadata(host, "family memory management"), "4994 calls, 60.9 %");
	ck_assert_str_eq(test_host_metadata(host, "family IPC"), "2879 calls, 35.1 %");
	ck_assert_str_eq(test_host_metadata(host, "family buffers"), "204 calls, 2.49 %");
	ck_assert_str_eq(test_host_metadata(host, "calls with order not known"), "0");
	ck_assert_str_eq(test_host_metadata(host, "lines refused"), "0");
	ck_assert_ptr_null(finding_of(host, NULL));
	const char *overview = test_host_string(host, finding_of(host, "npu-calls")->text);
	ck_assert_str_eq(overview,
			 "8198 calls: memory management 4994 (60.9 %), IPC 2879 (35.1 %), buffers 204 (2.49 %), "
			 "hardware 59 (0.720 %), context 24 (0.293 %), firmware 13 (0.159 %), power 12 (0.146 %), "
			 "jobs 10 (0.122 %), metric streamer 3 (0.0366 %); 4 firmware messages; 942 polls while the "
			 "firmware booted");
	ck_assert_ptr_nonnull(strstr(test_host_string(host, finding_of(host, "npu-phase-map")->text),
				     " | 16.1 MiB | map, 4131 pages, 4130 in submissions"));
	ck_assert_double_eq(finding_of(host, "npu-phase-boot")->value, 2874);
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	ck_assert_uint_eq(host->messages.count, 0);
	test_host_free(host);
}
END_TEST

TEST(names_prove_no_more_than_they_do)
{
	struct test_host *host = read_text("kprobe:intel_vpu:ivpu_mmu_context_map_sgt\n"
					   "kprobe:intel_vpu:ivpu_mmu_context_map_page\n"
					   "kprobe:intel_vpu:ivpu_ipc_irq_handler\n"
					   "kprobe:intel_vpu:something_else\n"
					   "kprobe:intel_vpu:ivpu_bo_wait_ioctl\n"
					   "kprobe:intel_vpu:ivpu_mmu_context_map_page");
	ck_assert_uint_eq(calls_at(host, NULL), 6);
	ck_assert_uint_eq(calls_at(host, "[order not known];ivpu_mmu_context_map_sgt"), 1);
	ck_assert_uint_eq(calls_at(host, "[order not known];ivpu_mmu_context_map_sgt;ivpu_mmu_context_map_page"), 1);
	ck_assert_uint_eq(calls_at(host, "[order not known];ivpu_mmu_context_map_page"), 1);
	ck_assert_uint_eq(calls_at(host, "[order not known];ivpu_ipc_irq_handler"), 1);
	ck_assert_uint_eq(calls_at(host, "[order not known];something_else"), 1);
	ck_assert_uint_eq(calls_at(host, "ivpu_bo_wait_ioctl"), 1);
	ck_assert_str_eq(test_host_metadata(host, "calls with order not known"), "4");
	ck_assert_str_eq(test_host_metadata(host, "messages"), "1");
	test_host_free(host);
}

/* Another process asks for something while the firmware boots: what is polled stays boot. */
TEST(boot_is_boot_when_others_come_between)
{
	struct test_host *host = read_text("kprobe:ivpu_boot\nkprobe:ivpu_wait_for_ready\nkprobe:ivpu_ipc_irq_handler\n"
					   "kprobe:ivpu_open\nkprobe:ivpu_submit_ioctl\nkprobe:ivpu_ipc_irq_handler\n"
					   "kprobe:ivpu_ipc_receive\nkprobe:ivpu_ipc_consumer_del\n"
					   "kprobe:ivpu_ipc_irq_handler\n");
	ck_assert_uint_eq(calls_at(host, "[boot];ivpu_boot;ivpu_wait_for_ready;ivpu_ipc_irq_handler"), 2);
	ck_assert_uint_eq(calls_at(host, "[boot];ivpu_boot;ivpu_wait_for_ready;ivpu_ipc_receive"), 1);
	ck_assert_str_eq(test_host_metadata(host, "polls in boot"), "2");
	ck_assert_str_eq(test_host_metadata(host, "messages"), "1");
	test_host_free(host);
}

TEST(times_are_those_of_the_trace)
{
	struct test_host *host = read_text("23:59:58 kprobe:ivpu_open\n00:00:01 kprobe:ivpu_open\n"
					   "00:00:00 kprobe:ivpu_postclose\n");
	const struct iaprof_record_call *call = (const void *)test_host_next(host, NULL, IAPROF_RECORD_CALL);
	ck_assert_uint_eq(call->count, 2);
	ck_assert_uint_eq(call->header.time - call->first_time, 3000000000u);
	/* Time does not go back. */
	const struct iaprof_record_call *last = (const void *)test_host_next(host, &call->header, IAPROF_RECORD_CALL);
	ck_assert_uint_eq(last->header.time, call->header.time);
	test_host_free(host);
}

TEST(counts_of_a_map_are_the_calls)
{
	struct test_host *host = read_text("Attaching 3 probes...\n\n@[kprobe:intel_vpu:ivpu_open]: 3\n"
					   "@[kprobe:intel_vpu:ivpu_hw_ip_ipc_rx_addr_get]: 5\n"
					   "@[kprobe:intel_vpu:ivpu_ipc_irq_handler]: 946\n"
					   "@[kprobe:intel_vpu:ivpu_open]: 4\n@[kprobe:intel_vpu:ivpu_open]: 1\n"
					   "@errors[kprobe:intel_vpu:ivpu_open]: 99\n");
	ck_assert_uint_eq(calls_at(host, NULL), 956);
	ck_assert_uint_eq(calls_at(host, "ivpu_open"), 5);
	ck_assert_uint_eq(calls_at(host, "[order not known];ivpu_ipc_irq_handler"), 946);
	ck_assert_str_eq(test_host_metadata(host, "calls"), "956 (from a map)");
	ck_assert_str_eq(test_host_metadata(host, "messages"), "5");
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "skipped lines of maps other than @"));
	ck_assert_ptr_null(finding_of(host, NULL));
	test_host_free(host);
}

TEST(a_map_that_differs_from_the_lines_is_reported)
{
	struct test_host *host =
		read_text("kprobe:ivpu_open\nkprobe:ivpu_open\n@[kprobe:ivpu_open]: 2\nLost 7 events\n");
	ck_assert_uint_eq(calls_at(host, NULL), 2);
	ck_assert_uint_eq(host->messages.count, 0);
	ck_assert_uint_eq(test_host_lost(host, "bpftrace lost events"), 7);
	test_host_free(host);
	host = read_text("kprobe:ivpu_open\nkprobe:ivpu_open\n@[kprobe:ivpu_open]: 3\n");
	ck_assert_uint_eq(calls_at(host, NULL), 2);
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "ivpu_open: 2 lines, 3 in the map"));
	test_host_free(host);
}

TEST(lines_that_cannot_be_read_are_counted)
{
	char text[5000];
	memset(text, 'x', sizeof text);
	strcpy(text + 4000, "\nkprobe:ivpu_open\nkprobe:ivpu\x1b[31m\nkprobe:ivpu_open");
	struct test_host *host = read_text(text);
	ck_assert_uint_eq(calls_at(host, NULL), 2);
	ck_assert_str_eq(test_host_metadata(host, "lines refused"), "2");
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "skipped lines that are not part of a trace"));
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "line 1 (too long)"));
	test_host_free(host);
	host = read_text("Attaching 1 probe...\n\x1b[31m\n");
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "\"?[31m\""));
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "contains no calls"));
	test_host_free(host);
}

TEST(more_jobs_in_flight_than_fit_are_counted)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	fputs("# tracer: nop\n#\n", file);
	for (int i = 1; i <= 1030; i++)
		fprintf(file,
			"          matmul-77      [000] .....     1.%06d: job: submit context:1 engine:0 job:%d\n", i,
			i);
	fclose(file);
	struct test_host *host = read_text(text);
	ck_assert_uint_eq(test_host_lost(host, "more than 1,024 jobs in flight"), 6);
	test_host_free(host);
	free(text);
}

TEST(more_histograms_than_fit_are_counted)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	for (int i = 0; i < 66; i++)
		fprintf(file, "@h%d:\n[2, 4)     1 |@@|\n[4, 8)     1 |@@|\n\n", i);
	fclose(file);
	struct test_host *host = read_text(text);
	ck_assert_str_eq(test_host_metadata(host, "lines refused"), "4");
	ck_assert(test_host_logged(host, IAPROF_LOG_WARNING, "(more than 64 histograms)"));
	test_host_free(host);
	free(text);
}

TEST(another_text_is_no_trace)
{
	write_trace("root:x:0:0:root:/root:/bin/bash\n");
	struct test_host *host = test_host_new("ivpu-trace", NULL);
	ck_assert_int_eq(test_host_set(host, "input", path), 0);
	test_host_start(host);
	test_host_run(host, 60000);
	test_host_stop(host);
	ck_assert_int_lt(host->thread_result, 0);
	ck_assert_msg(strstr(host->failure, "is not a trace of calls"), "%s", host->failure);
	test_host_free(host);
}

TEST(options_have_the_limits_that_are_tested)
{
	static const struct ivpu_limits limits = IVPU_LIMITS_DEFAULT;
	const struct {
		const char *name;
		uint64_t value;
	} wanted[] = {
		{ "ipc-rate", limits.ipc_rate },
		{ "ipc-growth", limits.ipc_growth },
		{ "ipc-per-job", limits.ipc_per_job },
		{ "map-ratio", limits.map_ratio },
		{ "buffer-growth", limits.buffer_growth },
		{ "hang", limits.hang },
		{ "boots", limits.boots },
		{ "boot-jobs", limits.boot_jobs },
		{ "boot-wait", limits.boot_wait },
		{ "boot-polls", limits.boot_polls },
		{ "submit-pages", limits.submit_pages },
		{ "turns", limits.turns },
		{ "cold-start", limits.cold_start },
	};
	struct test_host *host = test_host_new("ivpu-trace", NULL);
	ck_assert_uint_eq(sizeof limits / sizeof(uint64_t), sizeof wanted / sizeof *wanted);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const struct iaprof_option *option = host->plugin.options;
		while (strcmp(option->name, wanted[i].name) != 0)
			ck_assert_uint_lt((size_t)(++option - host->plugin.options), host->plugin.option_count);
		uint64_t value;
		memcpy(&value, (char *)host->instance + option->offset, sizeof value);
		ck_assert_msg(value == wanted[i].value, "%s", wanted[i].name);
	}
	test_host_free(host);
}

TEST(what_is_wrong_with_a_run_is_found)
{
	struct test_host *host = read_text("1.0 kprobe:ivpu_submit_ioctl\n1.1 kprobe:ivpu_start_job_timeout_detection\n"
					   "9.0 kprobe:ivpu_pm_recovery_work\n");
	ck_assert_double_eq_tol(finding_of(host, "npu-job-hang")->value, 8, 0.01);
	ck_assert_uint_eq(finding_of(host, "npu-recovery")->severity, IAPROF_FINDING_PROBLEM);
	ck_assert_ptr_null(finding_of(host, "npu-ipc-storm"));
	test_host_free(host);
	char text[150 * 300] = "";
	for (size_t i = 0, end = 0; i < 300; i++)
		end += (size_t)sprintf(text + end,
				       "5.%03zu kprobe:ivpu_hw_irq_handler\n"
				       "5.%03zu kprobe:ivpu_hw_ip_irq_handler_40xx\n"
				       "5.%03zu kprobe:ivpu_ipc_irq_handler\n",
				       i, i, i);
	host = read_text(text);
	ck_assert_double_eq_tol(finding_of(host, "npu-ipc-storm")->value, 300, 0.01);
	test_host_free(host);
}

/* More lines than any queue has room for are as many records as there are places. */
TEST(a_long_trace_is_few_records)
{
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < 200000; i++)
		fputs("kprobe:ivpu_submit_ioctl\nkprobe:ivpu_bo_pin\n", file);
	ck_assert_int_eq(fclose(file), 0);
	struct test_host *host = read_trace(path);
	ck_assert_uint_eq(calls_at(host, "ivpu_submit_ioctl;ivpu_bo_pin"), 200000);
	ck_assert_uint_lt(host->record_count, 1000);
	test_host_free(host);
}

TEST(stops_while_a_pipe_is_silent)
{
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	struct test_host *host = test_host_new("ivpu-trace", NULL);
	ck_assert_int_eq(test_host_set(host, "input", path), 0);
	test_host_start(host);
	/* Without a writer yet it is not at its end. */
	ck_assert_int_eq(test_host_run(host, 300), 0);
	ck_assert(!host->finished);
	int writer = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(writer, 0);
	ck_assert_int_eq(write(writer, "kprobe:ivpu_open\nkprobe:ivpu_o", 30), 30);
	ck_assert_int_eq(test_host_run(host, 300), 0);
	ck_assert(!host->finished);
	test_host_stop(host);
	ck_assert_int_eq(host->thread_result, 0);
	ck_assert_uint_eq(calls_at(host, NULL), 1);
	close(writer);
	test_host_free(host);
}

TEST_LOOP(says_why_a_file_does_not_open, 0, 3)
{
	static const char *const names[] = { "/", "/nowhere/to/be/found", "/dev/null" };
	static const char *const reasons[] = { "neither a file nor a pipe", "No such file",
					       "neither a file nor a pipe" };
	struct test_host *host = test_host_new("ivpu-trace", NULL);
	ck_assert_int_eq(test_host_set(host, "input", names[_i]), 0);
	ck_assert_int_eq(test_host_configure(host), 0);
	ck_assert_int_lt(test_host_prepare(host), 0);
	ck_assert_msg(strstr(host->failure, reasons[_i]), "%s", host->failure);
	test_host_free(host);
}

TEST(needs_a_trace)
{
	struct test_host *host = test_host_new("ivpu-trace", NULL);
	ck_assert_int_lt(test_host_configure(host), 0);
	ck_assert_ptr_nonnull(strstr(host->failure, "input= is missing"));
	test_host_free(host);
}

int main(void)
{
	if (npu_trace_path("the_published_trace_is_whole"))
		tcase_add_test(all_tests(), the_published_trace_is_whole);
	return run_all_tests(600, setup, teardown);
}
