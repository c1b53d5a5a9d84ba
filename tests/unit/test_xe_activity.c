/* SPDX-License-Identifier: Apache-2.0 */
/* Who used a device: what files of processes say of DRM clients, and what becomes of it in an interval. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <iaprof/record.h>

#include "busy_history.h"
#include "client_scan.h"
#include "client_usage.h"
#include "client_watch.h"
#include "code_label.h"
#include "activity_source.h"
#include "../run_suite.h"

#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)

static struct client_usage parsed(const char *text)
{
	struct client_usage usage;

	ck_assert(client_usage_parse(text, strlen(text), &usage));
	return usage;
}

/* The lines of a real file, of Documentation/gpu/drm-usage-stats.rst and xe_drm_client.c. */
TEST(reads_what_a_client_says)
{
	struct client_usage usage = parsed("pos:\t0\ndrm-driver:\txe\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\n"
					   "drm-total-vram0:\t23992 KiB\ndrm-cycles-bcs:\t99\n"
					   "drm-total-cycles-bcs:\t1000\ndrm-cycles-ccs:\t250\n"
					   "drm-total-cycles-ccs:\t1000\ndrm-cycles-rcs:\t5\n");
	ck_assert_str_eq(usage.address, "0000:03:00.0");
	ck_assert_uint_eq(usage.client, 7);
	ck_assert(usage.known[USAGE_COMPUTE] && !usage.known[USAGE_RENDER]);
	ck_assert_uint_eq(usage.cycles[USAGE_COMPUTE], 250);
	ck_assert_uint_eq(usage.total[USAGE_COMPUTE], 1000);

	struct client_usage none;
	ck_assert(!client_usage_parse("drm-client-id:\t7\n", 17, &none));
	ck_assert(!client_usage_parse("drm-pdev:\t0000:03:00.0\ndrm-client-id:\tx\n", 39, &none));
}

TEST(a_client_is_busy_for_its_share_of_the_cycles)
{
	static const char lines[] = "drm-client-id: 1\ndrm-pdev: a\ndrm-cycles-ccs: %d\ndrm-total-cycles-ccs: %d\n"
				    "drm-cycles-rcs: %d\ndrm-total-cycles-rcs: %d\n";
	char before[200], after[200], reset[200];

	snprintf(before, sizeof before, lines, 1000, 5000, 10, 5000);
	snprintf(after, sizeof after, lines, 1500, 7000, 210, 7000);
	snprintf(reset, sizeof reset, lines, 3, 9000, 4, 9000);
	struct client_usage first = parsed(before), second = parsed(after), third = parsed(reset);
	/* 500 of 2,000 cycles and 200 of 2,000. */
	ck_assert_uint_eq(client_usage_busy(&first, &second, SECOND), SECOND / 4 + SECOND / 10);
	ck_assert_uint_eq(client_usage_busy(&second, &third, SECOND), 0);
	ck_assert_uint_eq(client_usage_busy(&first, &first, SECOND), 0);
}

static void piece_add(struct busy_history *history, uint64_t begin, uint64_t end, uint32_t pid, uint64_t busy)
{
	struct busy_piece piece = { .begin = begin, .end = end, .busy = busy, .pid = pid, .kind = 1 };
	ck_assert_int_eq(busy_history_add(history, &piece), 0);
}

TEST(what_is_partly_inside_counts_in_proportion)
{
	struct busy_history history = { 0 };
	struct busy_piece sums[4];

	piece_add(&history, 0, 100, 1, 50);
	piece_add(&history, 100, 200, 2, 10);
	piece_add(&history, 100, 200, 1, 100);
	ck_assert_uint_eq(busy_history_collect(&history, 50, 150, sums, 4), 2);
	for (int i = 0; i < 2; i++)
		ck_assert_uint_eq(sums[i].busy, sums[i].pid == 1 ? 75 : 5);
	ck_assert_uint_eq(busy_history_collect(&history, 200, 300, sums, 4), 0);
	/* What is only read now and then goes on as it was. */
	history.goes_on = 200;
	ck_assert_uint_eq(busy_history_collect(&history, 200, 250, sums, 4), 2);
	ck_assert_uint_eq(sums[0].busy + sums[1].busy, 50 + 5);
	busy_history_expire(&history, 150);
	ck_assert_uint_eq(busy_history_collect(&history, 0, 100, sums, 4), 0);
	ck_assert_uint_eq(history.count, 2);
	busy_history_free(&history);
}

/* Statistics every 100 ms, and scheduler records every 10 ms: both are found in each interval. */
TEST(what_goes_on_is_found_behind_newer_pieces)
{
	struct busy_history history = { 0 };
	struct busy_piece sums[4];

	for (uint64_t time = 0; time < 40; time++) {
		struct busy_piece scheduler = { .begin = time * 10, .end = time * 10 + 9, .busy = 5, .kind = 1 };
		struct busy_piece statistics = { .begin = time * 10 - 99, .end = time * 10 + 1, .busy = 50, .kind = 2 };
		if (time % 10 == 0 && time) {
			ck_assert_int_eq(busy_history_add(&history, &statistics), 0);
			history.goes_on = statistics.end;
		}
		ck_assert_int_eq(busy_history_add(&history, &scheduler), 0);
		if (time < 10)
			continue;
		ck_assert_uint_eq(busy_history_collect(&history, time * 10, time * 10 + 10, sums, 4), 2);
		for (int i = 0; i < 2; i++)
			ck_assert_uint_ge(sums[i].busy, 5);
	}
	busy_history_free(&history);
}

TEST(the_oldest_goes_when_there_is_no_room)
{
	struct busy_history history = { 0 };
	struct busy_piece sums[2];

	for (uint64_t i = 0; i < BUSY_HISTORY_SIZE + 5; i++)
		piece_add(&history, i, i + 1, 1, 1);
	ck_assert_uint_eq(history.forgotten, 5);
	ck_assert_uint_eq(busy_history_collect(&history, 0, BUSY_HISTORY_SIZE + 5, sums, 2), 1);
	ck_assert_uint_eq(sums[0].busy, BUSY_HISTORY_SIZE);
	busy_history_free(&history);
}

/* A folder like /proc, with one process and descriptors of its own and of a GPU. */
struct made_up {
	char folder[64];
	struct client_scan scan;
	uint64_t busy;
	unsigned calls;
	uint32_t pid;
};

static __attribute__((format(printf, 3, 4))) void file_write(const struct made_up *made_up, const char *name,
							     const char *format, ...)
{
	char path[128];
	va_list arguments;

	snprintf(path, sizeof path, "%s/%s", made_up->folder, name);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	va_start(arguments, format);
	vfprintf(file, format, arguments);
	va_end(arguments);
	fclose(file);
}

static void folder_make(const struct made_up *made_up, const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", made_up->folder, name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void descriptor_make(const struct made_up *made_up, const char *name, const char *target)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", made_up->folder, name);
	ck_assert_int_eq(symlink(target, path), 0);
}

static int client_busy(void *context, const struct client *client, uint64_t now, uint64_t busy)
{
	struct made_up *made_up = context;

	ck_assert_uint_gt(now, client->time);
	ck_assert_str_eq(client->usage.address, "0000:00:10.0");
	made_up->busy += busy;
	made_up->calls++;
	made_up->pid = client->pid;
	return 0;
}

static void cycles_write(const struct made_up *made_up, const char *name, unsigned client, unsigned cycles,
			 unsigned total)
{
	file_write(made_up, name,
		   "drm-pdev:\t0000:00:10.0\ndrm-client-id:\t%u\ndrm-cycles-ccs:\t%u\ndrm-total-cycles-ccs:\t%u\n",
		   client, cycles, total);
}

TEST(finds_clients_once_and_sees_them_go)
{
	struct made_up made_up = { .folder = "/tmp/test-xe-activity-XXXXXX" };
	static const char addresses[2][PCI_ADDRESS_SIZE] = { "0000:00:11.0", "0000:00:10.0" };
	struct client_scan *scan = &made_up.scan;
	char command[128];

	ck_assert_ptr_nonnull(mkdtemp(made_up.folder));
	for (size_t i = 0; i < 6; i++)
		folder_make(&made_up, (const char *[]){ "17", "17/fd", "17/fdinfo", "18", "18/fd", "18/fdinfo" }[i]);
	folder_make(&made_up, "self");
	descriptor_make(&made_up, "17/fd/0", "/dev/null");
	descriptor_make(&made_up, "17/fd/3", "/dev/dri/renderD128");
	descriptor_make(&made_up, "17/fd/4", "/dev/dri/renderD128"); /* the same client, duplicated */
	descriptor_make(&made_up, "18/fd/5", "/dev/dri/card0");
	file_write(&made_up, "17/fdinfo/0", "pos:\t0\n");
	cycles_write(&made_up, "17/fdinfo/3", 1, 0, 1000);
	cycles_write(&made_up, "17/fdinfo/4", 1, 0, 1000);
	file_write(&made_up, "18/fdinfo/5", "drm-driver:\tast\n");

	ck_assert_int_eq(client_scan_init(scan, made_up.folder), 0);
	scan->addresses = addresses;
	scan->address_count = 2;
	ck_assert_uint_eq(client_scan_search(scan, SECOND), 1);
	ck_assert_uint_eq(client_scan_search(scan, SECOND), 0);
	ck_assert_uint_eq(scan->clients.count, 1);
	ck_assert_uint_eq(scan->clients.items[0].device, 1);
	/* Which of the two descriptors was found first is the folder's business. */
	cycles_write(&made_up, "17/fdinfo/3", 1, 500, 2000);
	cycles_write(&made_up, "17/fdinfo/4", 1, 500, 2000);
	ck_assert(!scan->clients.items[0].read);
	ck_assert_int_eq(client_scan_read(scan, SECOND + 100 * MILLISECOND, client_busy, &made_up), 0);
	ck_assert(scan->clients.items[0].read);
	ck_assert_uint_eq(made_up.calls, 1);
	ck_assert_uint_eq(made_up.busy, 50 * MILLISECOND);
	ck_assert_uint_eq(made_up.pid, 17);
	/* Another client has the descriptors now: it is found with the next search, and its counters start at 0. */
	cycles_write(&made_up, "17/fdinfo/3", 2, 900, 3000);
	cycles_write(&made_up, "17/fdinfo/4", 2, 900, 3000);
	ck_assert_int_eq(client_scan_read(scan, SECOND + 200 * MILLISECOND, client_busy, &made_up), 0);
	ck_assert_uint_eq(scan->clients.count, 0);
	ck_assert_uint_eq(client_scan_search_process(scan, 18, 100 * SECOND), 0);
	ck_assert_uint_eq(client_scan_search_process(scan, 17, 100 * SECOND), 1);
	ck_assert_uint_eq(made_up.calls, 1);
	client_scan_free(scan);
	snprintf(command, sizeof command, "rm -r %s", made_up.folder);
	ck_assert_int_eq(system(command), 0);
}

static enum code_label label(const char *line)
{
	return code_label_of_mapping(line, strlen(line));
}

TEST(libraries_tell_whose_code_it_is)
{
	ck_assert_int_eq(label("7f00-7f10 r-xp 00000000 fe:00 12 /usr/lib/libze_intel_gpu.so.1.14"),
			 CODE_LABEL_RUNTIME);
	ck_assert_int_eq(label("7f00-7f10 r-xp 00000000 fe:00 12 /opt/a b/libigdrcl.so"), CODE_LABEL_RUNTIME);
	ck_assert_int_eq(label("7f00-7f10 r-xp 00000000 fe:00 12 /usr/lib/libvulkan_intel.so"), CODE_LABEL_MESA);
	ck_assert_int_eq(label("7f00-7f10 r-xp 00000000 fe:00 12 /usr/lib/libgallium-25.1.so"), CODE_LABEL_MESA);
	ck_assert_int_eq(label("7f00-7f10 r-xp 00000000 fe:00 12 /usr/lib/libze_loader.so.1"), CODE_LABEL_NONE);
	ck_assert_int_eq(label("7f00-7f10 r-xp 00000000 fe:00 12 /libigdrcl.so.d/notes"), CODE_LABEL_NONE);
	ck_assert_int_eq(label("7f00-7f10 rw-p 00000000 00:00 0 "), CODE_LABEL_NONE);

	struct broker *broker = broker_new();
	ck_assert_int_eq(code_label_of_process(broker, (uint32_t)getpid()), CODE_LABEL_NONE);
	broker_free(broker);
}

TEST(labels_are_asked_for_and_remembered)
{
	struct code_labels labels = { 0 };

	ck_assert_uint_eq(code_labels_asked(&labels), 0);
	ck_assert_int_eq(code_labels_find(&labels, 7, SECOND), CODE_LABEL_NONE);
	ck_assert_uint_eq(code_labels_asked(&labels), 7);
	code_labels_store(&labels, 7, CODE_LABEL_MESA);
	ck_assert_uint_eq(code_labels_asked(&labels), 0);
	ck_assert_int_eq(code_labels_find(&labels, 7, 2 * SECOND), CODE_LABEL_MESA);
	ck_assert_uint_eq(code_labels_asked(&labels), 0);
	/* After some seconds it is looked at again, and is what it was until then. */
	ck_assert_int_eq(code_labels_find(&labels, 7, 20 * SECOND), CODE_LABEL_MESA);
	ck_assert_uint_eq(code_labels_asked(&labels), 7);
	code_labels_store(&labels, 7, CODE_LABEL_RUNTIME);
	ck_assert_int_eq(code_labels_find(&labels, 0, SECOND), CODE_LABEL_NONE);
	ck_assert_uint_eq(code_labels_asked(&labels), 0);
	for (uint32_t pid = 5000000; pid < 5001000; pid++) /* more than there is room for */
		ck_assert_int_eq(code_labels_find(&labels, pid, 20 * SECOND + pid), CODE_LABEL_NONE);
}

/* One process with a client of a wanted device and one of another device. */
static void two_devices_make(struct made_up *made_up)
{
	ck_assert_ptr_nonnull(mkdtemp(made_up->folder));
	for (size_t i = 0; i < 3; i++)
		folder_make(made_up, (const char *[]){ "17", "17/fd", "17/fdinfo" }[i]);
	descriptor_make(made_up, "17/fd/3", "/dev/dri/renderD128");
	descriptor_make(made_up, "17/fd/4", "/dev/dri/renderD129");
	cycles_write(made_up, "17/fdinfo/3", 1, 0, 1000);
	file_write(made_up, "17/fdinfo/4", "drm-pdev:\t0000:00:12.0\ndrm-client-id:\t1\n");
}

static void made_up_remove(const struct made_up *made_up)
{
	char command[128];

	snprintf(command, sizeof command, "rm -r %s", made_up->folder);
	ck_assert_int_eq(system(command), 0);
}

TEST(clients_of_other_devices_are_read_once)
{
	static const char addresses[1][PCI_ADDRESS_SIZE] = { "0000:00:10.0" };
	struct made_up made_up = { .folder = "/tmp/test-xe-activity-XXXXXX" };
	struct client_scan *scan = &made_up.scan;
	char path[128];

	two_devices_make(&made_up);
	ck_assert_int_eq(client_scan_init(scan, made_up.folder), 0);
	scan->addresses = addresses;
	scan->address_count = 1;
	ck_assert_uint_eq(client_scan_search(scan, SECOND), 1);
	/* Were it read again, it would be found to be of the wanted device. */
	cycles_write(&made_up, "17/fdinfo/4", 2, 0, 1000);
	ck_assert_int_eq(client_scan_read(scan, 2 * SECOND, client_busy, &made_up), 0);
	ck_assert_uint_eq(client_scan_search(scan, 3 * SECOND), 0);
	/* A descriptor that was closed is forgotten. */
	snprintf(path, sizeof path, "%s/17/fd/4", made_up.folder);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(client_scan_search(scan, 4 * SECOND), 0);
	descriptor_make(&made_up, "17/fd/4", "/dev/dri/renderD128");
	ck_assert_uint_eq(client_scan_search(scan, 5 * SECOND), 1);
	client_scan_free(scan);
	made_up_remove(&made_up);
}

TEST(a_thread_reads_the_clients)
{
	struct made_up made_up = { .folder = "/tmp/test-xe-activity-XXXXXX" };
	const struct timespec pause = { .tv_nsec = 10 * (long)MILLISECOND };
	struct client_news news = { 0 };
	uint64_t busy = 0;

	two_devices_make(&made_up);
	struct client_watch *watch = client_watch_new(made_up.folder);
	ck_assert_ptr_nonnull(watch);
	ck_assert_int_eq(client_watch_add_device(watch, "0000:00:10.0"), 0);
	ck_assert_int_eq(client_watch_start(watch), 0);
	cycles_write(&made_up, "17/fdinfo/3", 1, 500, 2000);
	while (!busy) {
		nanosleep(&pause, NULL);
		client_watch_search(watch, true);
		client_watch_label(watch, 17, SECOND);
		if (!client_watch_take(watch, &news))
			continue;
		ck_assert_uint_gt(news.reading, 0);
		for (size_t i = 0; i < news.pieces.count; i++)
			busy += news.pieces.items[i].busy;
	}
	ck_assert_uint_eq(news.clients.count, 1);
	ck_assert_uint_eq(news.clients.items[0].pid, 17);
	ck_assert(news.clients.items[0].read);
	client_news_free(&news);
	client_watch_free(watch);
	made_up_remove(&made_up);
	ck_assert_ptr_null(client_watch_new(made_up.folder));
}

/* A file that does not answer, as a driver may not: a FIFO that nobody writes to. */
TEST(nobody_waits_for_a_thread_that_hangs)
{
	struct made_up made_up = { .folder = "/tmp/test-xe-activity-XXXXXX" };
	struct client_news news = { 0 };
	char path[128];

	two_devices_make(&made_up);
	snprintf(path, sizeof path, "%s/17/fdinfo/3", made_up.folder);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	struct client_watch *watch = client_watch_new(made_up.folder);
	ck_assert_ptr_nonnull(watch);
	ck_assert_int_eq(client_watch_add_device(watch, "0000:00:10.0"), 0);
	ck_assert_int_eq(client_watch_start(watch), 0);
	ck_assert(!client_watch_take(watch, &news));
	ck_assert_int_eq(client_watch_label(watch, 17, SECOND), CODE_LABEL_NONE);
	client_watch_search(watch, true);
	client_watch_free(watch);
	made_up_remove(&made_up);
}

TEST(only_a_scheduler_that_knows_all_is_exclusive)
{
	ck_assert(!activity_source_reports_job_ends("6.17.13-arch1"));
	ck_assert(!activity_source_reports_job_ends("5.19.0"));
	ck_assert(!activity_source_reports_job_ends("6"));
	ck_assert(!activity_source_reports_job_ends(""));
	ck_assert(activity_source_reports_job_ends("6.18.0-rc1"));
	ck_assert(activity_source_reports_job_ends("7.0"));
	ck_assert_uint_eq(activity_source_kind(true, 0, 0), IAPROF_ACTIVITY_SCHEDULER);
	ck_assert_uint_eq(activity_source_kind(false, 0, 0), IAPROF_ACTIVITY_STATISTICS);
	ck_assert_uint_eq(activity_source_kind(true, 1, 0), IAPROF_ACTIVITY_STATISTICS);
	ck_assert_uint_eq(activity_source_kind(true, 0, 1), IAPROF_ACTIVITY_STATISTICS);
}

static struct busy_piece sum_of(uint32_t device, uint32_t pid, uint32_t kind, uint64_t busy)
{
	return (struct busy_piece){ .device = device, .pid = pid, .kind = kind, .busy = busy };
}

static uint64_t chosen(const struct busy_piece *sums, size_t count, uint32_t pid, uint32_t kind)
{
	uint64_t busy = 0;

	for (size_t i = 0; i < count; i++)
		if (sums[i].pid == pid && sums[i].kind == kind)
			busy += sums[i].busy;
	return busy;
}

/* A compositor (7), whose jobs the scheduler sees, and a program of long-running jobs (8), which it does not. */
TEST(who_the_scheduler_is_blind_to_is_told_by_statistics)
{
	enum { SCHEDULER = IAPROF_ACTIVITY_SCHEDULER, STATISTICS = IAPROF_ACTIVITY_STATISTICS };
	const struct busy_piece window[] = {
		sum_of(0, 7, SCHEDULER, 30 * MILLISECOND),
		sum_of(0, 7, STATISTICS, 33 * MILLISECOND),
		sum_of(0, 8, SCHEDULER, 1000),
		sum_of(0, 8, STATISTICS, 900 * MILLISECOND),
	};
	const struct busy_piece interval[] = {
		sum_of(0, 8, STATISTICS, 9 * MILLISECOND),
		sum_of(0, 7, SCHEDULER, MILLISECOND),
		sum_of(0, 7, STATISTICS, 333),
		sum_of(0, 8, SCHEDULER, 10),
		sum_of(1, 9, STATISTICS, 44),
	};
	struct busy_piece sums[5];
	uint32_t kinds[] = { STATISTICS, SCHEDULER };

	ck_assert(!activity_source_contradicts(window, 4, &window[0]));
	ck_assert(!activity_source_contradicts(window, 4, &window[1]));
	ck_assert(activity_source_contradicts(window, 4, &window[3]));
	memcpy(sums, interval, sizeof sums);
	ck_assert_uint_eq(activity_source_choose(sums, 5, kinds, window, 4), 3);
	ck_assert_uint_eq(chosen(sums, 3, 7, STATISTICS), MILLISECOND);
	ck_assert_uint_eq(chosen(sums, 3, 8, STATISTICS), 9 * MILLISECOND);
	ck_assert_uint_eq(chosen(sums, 3, 9, STATISTICS), 44);
	/* Where the scheduler knows all, it alone counts. */
	kinds[0] = SCHEDULER;
	memcpy(sums, interval, sizeof sums);
	ck_assert_uint_eq(activity_source_choose(sums, 5, kinds, window, 4), 3);
	ck_assert_uint_eq(chosen(sums, 3, 7, SCHEDULER), MILLISECOND);
	ck_assert_uint_eq(chosen(sums, 3, 8, SCHEDULER), 10);
	/* Between two jobs nobody is busy, whatever the statistics say, which are of a longer time. */
	sums[0] = sum_of(0, 7, STATISTICS, 333);
	ck_assert_uint_eq(activity_source_choose(sums, 1, kinds, window, 4), 0);
	memcpy(sums, interval, sizeof sums);
	ck_assert_uint_eq(activity_source_choose(sums, 5, kinds, window, 4), 3);
	ck_assert_uint_eq(chosen(sums, 3, 9, STATISTICS), 44);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
