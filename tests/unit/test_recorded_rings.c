/* SPDX-License-Identifier: Apache-2.0 */
/* The side-band on ring buffers made by construction (recorded_machine.h): order, losses, damage, CPUs that come. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "process/name_throttle.h"
#include "process/sideband_event.h"
#include "process/sideband_ring.h"
#include "process/sideband_writer.h"
#include "process/text_budget.h"
#include "recorded_machine.h"
#include "../run_suite.h"

#define EXECUTE 5 /* PROT_READ | PROT_EXEC */
#define FORK_SIZE 56u
#define RING_SIZE 262144u
/* With this much or less left in a ring buffer, records may have been lost. */
#define ROOM 8192u

static struct sideband *sideband;

static void start(const uint32_t *pids, uint32_t pid_count, bool children, uint64_t ring_size)
{
	struct error error = { 0 };
	sideband = sideband_new(&machine_output, pids, pid_count, children, ring_size, &error);
	ck_assert_msg(sideband, "%s", error.text);
	ck_assert_int_eq(sideband_start(sideband, &error), 0);
	ck_assert_int_eq(sideband_scan(sideband, &error), 0);
	forget();
}

static void start_all(void)
{
	start(NULL, 0, false, 0);
}

static void drain_at(uint64_t time)
{
	machine.now = time;
	ck_assert_int_eq(sideband_drain(sideband), 0);
}

static void end(void)
{
	sideband_free(sideband);
	sideband = NULL;
	machine_end();
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns whether iaprof has closed its end of a pipe. */
static bool is_closed(int other_end)
{
	struct pollfd entry = { .fd = other_end };
	return poll(&entry, 1, 0) == 1 && entry.revents & POLLERR;
}

TEST(events_are_in_order_of_time_across_cpus)
{
	start_all();
	put_fork(1, 15, 20, 1);
	put_fork(1, 20, 21, 1);
	put_fork(0, 10, 10, 1);
	put_fork(0, 20, 11, 1);
	put_fork(0, 20, 12, 1);
	put_fork(0, 40, 13, 1);
	put_fork(1, 39, 22, 1);
	drain_at(100);
	expect("10 fork 10 of 1\n15 fork 20 of 1\n20 fork 11 of 1\n20 fork 12 of 1\n20 fork 21 of 1\n"
	       "39 fork 22 of 1\n40 fork 13 of 1\n");
	drain_at(101);
	expect("");
	ck_assert_uint_eq(sideband_process_count(sideband), 7);
}

/* Another CPU may still write an earlier event. */
TEST(events_after_the_beginning_of_a_drain_wait)
{
	start_all();
	put_fork(0, 10, 10, 1);
	put_fork(0, 50, 11, 1);
	put_fork(1, 49, 20, 1);
	drain_at(48);
	expect("10 fork 10 of 1\n");
	ck_assert_uint_eq(machine.rings[0].page->data_tail, FORK_SIZE);
	ck_assert_uint_eq(machine.rings[1].page->data_tail, 0);
	drain_at(50);
	expect("49 fork 20 of 1\n50 fork 11 of 1\n");
	ck_assert_uint_eq(machine.rings[0].page->data_tail, 2 * FORK_SIZE);
}

/* Every position at which a record can be cut by the end of the ring buffer, with each length of a text. */
TEST(records_wrap_around)
{
	start(NULL, 0, false, page_size());
	for (uint32_t i = 0; i < 2000; i++) {
		char name[16], path[64], line[256];
		snprintf(name, sizeof name, "%.*s%u", (int)(i % 11), "abcdefghijk", i);
		snprintf(path, sizeof path, "/x%.*s/%u", (int)(i % 41), "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH",
			 i);
		ck_assert(put_exec(0, i, 10, name));
		ck_assert(put_mapping(0, i, 10, 0x10000 + i, EXECUTE, path));
		drain_at(i);
		snprintf(line, sizeof line, "%u exec 10 %s\n%u map 10 %x+1000 2000 %s\n", i, name, i, 0x10000 + i,
			 path);
		expect(line);
	}
	ck_assert_uint_gt(machine.rings[0].page->data_head, 40 * page_size());
	ck_assert_uint_eq(machine.rings[0].lost, 0);
}

TEST(bytes_of_a_ring_are_in_place_unless_they_wrap)
{
	unsigned char data[64], scratch[64] = { 0 };
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)i;
	struct sideband_ring ring = { .data = data, .size = sizeof data };
	ck_assert_ptr_eq(sideband_ring_bytes(&ring, 640, 64, scratch), data);
	ck_assert_ptr_eq(sideband_ring_bytes(&ring, 648, 56, scratch), data + 8);
	ck_assert_ptr_eq(sideband_ring_bytes(&ring, 656, 56, scratch), scratch);
	for (size_t i = 0; i < 56; i++)
		ck_assert_uint_eq(scratch[i], (16 + i) % 64);
	ck_assert_uint_eq(scratch[56], 0);
}

/* While the reader stops, Linux writes nothing over what was not read. */
TEST(a_full_ring_keeps_what_it_has)
{
	size_t room = page_size() / FORK_SIZE;
	char line[64];
	start(NULL, 0, false, page_size());
	ck_assert(sideband_fill(sideband) == 0);
	for (uint32_t i = 0; i < 10; i++)
		put_fork(1, i, 500 + i, 1);
	ck_assert(sideband_fill(sideband) == 10.0 * FORK_SIZE / (double)page_size());
	for (uint32_t i = 0; i < room + 7; i++)
		ck_assert_int_eq(put_fork(0, i, 1000 + i, 1), i < room);
	ck_assert(sideband_fill(sideband) == (double)(room * FORK_SIZE) / (double)page_size());
	ring_count_lost(0);
	drain_at(SECOND / 2);
	ck_assert(sideband_fill(sideband) == 0);
	ck_assert_uint_eq(count_lines(""), room + 10 + 1);
	for (uint32_t i = 0; i < room; i++) {
		snprintf(line, sizeof line, "%u fork %u of 1\n", i, 1000 + i);
		ck_assert_uint_eq(count_lines(line), 1);
	}
	/* Since the last one that was read. */
	snprintf(line, sizeof line, "lost since %zu: 7 process events (perf ring full)\n", room - 1);
	ck_assert_uint_eq(count_lines(line), 1);
	ck_assert(put_fork(0, SECOND / 2, 900, 1));
}

/* A user who causes most of the events in a full ring is named as the cause of what is lost, also of others. */
TEST(the_user_who_fills_a_ring_is_named)
{
	size_t room = page_size() / FORK_SIZE;
	char line[128];
	start(NULL, 0, false, page_size());
	machine_process(7, 1, "flood", ""); /* in the trailer of each record */
	machine_owner(7, 61234);
	for (uint32_t i = 0; i < room + 7; i++)
		put_fork(0, i, 1000 + i, 1);
	ring_count_lost(0);
	drain_at(SECOND / 2);
	snprintf(line, sizeof line, "lost since %zu: 7 process events (perf ring full: most are of user 61234)\n",
		 room - 1);
	ck_assert_uint_eq(count_lines(line), 1);
	/* Linux's record of later losses comes when there is room again. */
	forget();
	put_lost(0, SECOND / 2 + 1, 9);
	drain_at(SECOND / 2 + 2);
	snprintf(line, sizeof line, "lost since %zu: 2 process events (perf ring full: most are of user 61234)\n",
		 room - 1);
	ck_assert_uint_eq(count_lines(line), 1);
}

/* Linux writes a LOST record once there is room again: what was counted before is not counted again. */
TEST(lost_records_are_counted_once)
{
	size_t room = page_size() / FORK_SIZE;
	char line[128];
	start(NULL, 0, false, page_size());
	for (uint32_t i = 0; i < room + 7; i++)
		put_fork(0, i, 1000 + i, 1);
	ring_count_lost(0);
	drain_at(200);
	snprintf(line, sizeof line, "lost since %zu: 7 process events (perf ring full)\n", room - 1);
	ck_assert_uint_eq(count_lines(line), 1);
	ck_assert_uint_eq(count_lines("lost"), 1);
	forget();
	/* Asked again, it says the same. */
	ring_count_lost(0);
	drain_at(201);
	expect("");
	put_lost(0, 201, 3);
	drain_at(202);
	expect("");
	/* 4 of these 9 were counted. */
	put_lost(0, 203, 9);
	drain_at(204);
	expect("lost since 201: 5 process events (perf ring full)\n");
	machine.rings[0].lost = 12;
	ring_count_lost(0);
	drain_at(205);
	expect("");
	machine.rings[0].lost = 14;
	ring_count_lost(0);
	drain_at(206);
	expect("lost since 203: 2 process events (perf ring full)\n");
}

/* The count is read only from a ring buffer that had no room for the largest record. */
TEST(losses_are_asked_for_if_there_can_be_any)
{
	start_all();
	uint32_t most = (RING_SIZE - ROOM) / FORK_SIZE;
	for (unsigned more = 0; more < 2; more++) {
		for (uint32_t i = 0; i < most + more; i++)
			ck_assert(put_fork(0, i, 1000 + i, 1));
		machine.rings[0].lost = 5;
		ring_count_lost(0);
		drain_at(SECOND / 2);
		ck_assert_uint_eq(count_lines("lost"), more);
		forget();
	}
}

TEST(linux_before_6_0_counts_losses_only_in_records)
{
	machine.has_lost = false;
	start(NULL, 0, false, page_size());
	ck_assert_uint_eq(machine.rings[0].attributes.read_format, 0);
	machine.rings[0].lost = 5;
	ring_count_lost(0);
	put_fork(0, 1, 10, 1);
	put_lost(0, 2, 5);
	drain_at(3);
	expect("lost since 1: 5 process events (perf ring full)\n1 fork 10 of 1\n");
}

TEST(after_a_loss_proc_is_scanned_once_a_second)
{
	machine_process(10, 1, "ends", "");
	machine_process(11, 1, "stays", "");
	start_all();
	machine_gone(10);
	machine_process(12, 1, "comes", "");
	put_lost(1, 5, 2);
	drain_at(SECOND - 1);
	expect("lost since 0: 2 process events (perf ring full)\n");
	drain_at(SECOND);
	ck_assert_uint_eq(count_lines("1000000000 exit 10\n"), 1);
	ck_assert_uint_eq(count_lines("1000000000 existing 11 of 1 stays\n"), 1);
	ck_assert_uint_eq(count_lines("1000000000 existing 12 of 1 comes\n"), 1);
	ck_assert_uint_eq(count_lines(""), 3);
	forget();
	ck_assert_uint_eq(sideband_process_count(sideband), 2);
	drain_at(10 * SECOND);
	expect("");
}

/* Not written by Linux: what follows is unknown until the end, and the rest of the run is not. */
TEST(a_damaged_record_ends_what_can_be_read)
{
	static const uint16_t sizes[] = { 0, 8, 24, 33, 36, 48, 65528, 65535 };
	start_all();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char lines[128];
		unsigned t = (unsigned)i * 10;
		_Alignas(8) unsigned char bytes[40] = { 0 };
		const struct perf_event_header header = { .type = PERF_RECORD_COMM, .size = sizes[i] };
		memcpy(bytes, &header, sizeof header);
		put_fork(0, t + 1, 100 + t, 1);
		ring_put(0, bytes, sizeof bytes);
		put_fork(1, t + 2, 101 + t, 1);
		drain_at(t + 3);
		snprintf(lines, sizeof lines,
			 "lost since %u: process events (perf ring full)\n%u fork %u of 1\n%u fork %u of 1\n",
			 i ? t - 9 : 0, t + 1, 100 + t, t + 2, 101 + t);
		expect(lines);
		ck_assert_uint_eq(machine.rings[0].page->data_tail, machine.rings[0].page->data_head);
	}
	/* A record behind a damaged one is not looked for. */
	const uint64_t zeros[4] = { 0 };
	ring_put(0, zeros, sizeof zeros);
	put_fork(0, 201, 300, 1);
	drain_at(202);
	expect("lost since 71: process events (perf ring full)\n");
	put_fork(0, 203, 301, 1);
	drain_at(204);
	expect("203 fork 301 of 1\n");
}

/* A header whose record is not whole yet: Linux moves the end only behind whole records. */
TEST(a_torn_record_is_not_read)
{
	_Alignas(8) unsigned char bytes[64] = { 0 };
	const struct perf_event_header header = { .type = PERF_RECORD_COMM, .size = sizeof bytes };
	memcpy(bytes, &header, sizeof header);
	start_all();
	for (size_t whole = 8; whole < sizeof bytes; whole += 8) {
		ring_put(0, bytes, whole);
		drain_at(SECOND / 2);
		expect("lost since 0: process events (perf ring full)\n");
	}
	/* Fewer bytes than a header. */
	ring_put(0, bytes, 4);
	drain_at(SECOND / 2);
	ck_assert_uint_eq(count_lines("lost"), 1);
}

TEST(a_record_that_is_too_short_for_its_type_is_skipped)
{
	_Alignas(8) unsigned char bytes[40] = { 0 };
	const struct perf_event_header header = { .type = PERF_RECORD_MMAP2, .size = sizeof bytes };
	memcpy(bytes, &header, sizeof header);
	start_all();
	ring_put(0, bytes, sizeof bytes);
	put_fork(0, 1, 10, 1);
	drain_at(2);
	expect("1 fork 10 of 1\n");
}

TEST(cpus_that_come_online_are_followed)
{
	machine_process(10, 1, "here", "");
	start_all();
	ck_assert(machine.rings[0].enabled && machine.rings[1].enabled);
	machine_cpus("0-2");
	drain_at(SECOND - 1);
	ck_assert_uint_eq(machine.rings[2].opened, 0);
	drain_at(SECOND);
	expect("lost since 0: process events (CPU came online)\n1000000000 existing 10 of 1 here\n");
	ck_assert(machine.rings[2].opened == 1 && machine.rings[2].enabled);
	put_fork(2, SECOND + 1, 20, 1);
	put_lost(2, SECOND + 1, 1);
	machine_cpus("0,2");
	drain_at(2 * SECOND - 1);
	expect("lost since 1000000001: 1 process events (perf ring full)\n1000000001 fork 20 of 1\n");
	drain_at(2 * SECOND);
	forget();

	int old = machine.rings[1].other_end;
	ck_assert(!is_closed(old));
	machine_cpus("0-2");
	drain_at(3 * SECOND);
	ck_assert_uint_eq(count_lines("lost since 2000000000: process events (CPU came online)\n"), 1);
	ck_assert(is_closed(old));
	ck_assert(machine.rings[0].opened == 1 && machine.rings[1].opened == 2 && machine.rings[2].opened == 1);
	ck_assert(machine.rings[1].enabled);
	forget();
	/* The time of the last record is that of the start. */
	put_lost(1, 3 * SECOND + 1, 4);
	drain_at(3 * SECOND + 2);
	expect("lost since 3000000000: 4 process events (perf ring full)\n");
	drain_at(4 * SECOND);
	forget();
	drain_at(5 * SECOND);
	expect("");
	close(old);
}

TEST(a_cpu_that_goes_offline_meanwhile_is_left_out)
{
	machine.offline = 1;
	machine_cpus("0-3");
	start_all();
	ck_assert_uint_eq(machine.rings[1].opened, 0);
	put_fork(0, 1, 10, 1);
	put_fork(2, 2, 20, 1);
	put_fork(3, 3, 30, 1);
	drain_at(4);
	expect("1 fork 10 of 1\n2 fork 20 of 1\n3 fork 30 of 1\n");
}

TEST(a_list_of_cpus_must_be_one)
{
	start_all();
	machine_cpus("0-x");
	machine.now = SECOND;
	ck_assert_int_eq(sideband_drain(sideband), -EBADMSG);
	machine_remove("/sys/devices/system/cpu/online");
	machine.now = 2 * SECOND;
	ck_assert_int_eq(sideband_drain(sideband), -ENOENT);
	sideband_free(sideband);
	struct error error = { 0 };
	sideband = sideband_new(&machine_output, NULL, 0, false, 0, &error);
	ck_assert_ptr_null(sideband);
	ck_assert_str_eq(error.text, "/sys/devices/system/cpu/online: No such file or directory");
	machine_cpus("none");
	ck_assert_ptr_null(sideband_new(&machine_output, NULL, 0, false, 0, &error));
	ck_assert_str_eq(error.text, "/sys/devices/system/cpu/online is not a list of CPUs");
}

/* The descriptor of an offline CPU would stay readable, and the loop would never wait. */
TEST(hangups_are_removed)
{
	struct epoll_event event;
	start_all();
	ck_assert_int_eq(epoll_wait(sideband_descriptor(sideband), &event, 1, 0), 0);
	ring_hang_up(1);
	ck_assert_int_eq(epoll_wait(sideband_descriptor(sideband), &event, 1, 0), 1);
	drain_at(1);
	ck_assert_int_eq(epoll_wait(sideband_descriptor(sideband), &event, 1, 0), 0);
	/* A ring buffer that has something stays. */
	ring_count_lost(0);
	drain_at(2);
	ck_assert_int_eq(epoll_wait(sideband_descriptor(sideband), &event, 1, 0), 1);
	ck_assert_int_eq(event.events, EPOLLIN);
}

TEST(events_are_opened_with_what_the_decoder_reads)
{
	start_all();
	for (size_t cpu = 0; cpu < 2; cpu++) {
		const struct perf_event_attr *attributes = &machine.rings[cpu].attributes;
		ck_assert_uint_eq(attributes->size, sizeof *attributes);
		ck_assert_uint_eq(attributes->type, PERF_TYPE_SOFTWARE);
		ck_assert_uint_eq(attributes->config, PERF_COUNT_SW_DUMMY);
		ck_assert_uint_eq(attributes->sample_type, PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU);
		ck_assert_uint_eq(attributes->read_format, 16);
		ck_assert(attributes->disabled && attributes->exclude_kernel && attributes->exclude_hv);
		ck_assert(attributes->mmap && attributes->mmap2 && attributes->comm && attributes->comm_exec &&
			  attributes->task && attributes->sample_id_all && attributes->use_clockid);
		ck_assert_int_eq(attributes->clockid, CLOCK_MONOTONIC);
		ck_assert(attributes->watermark && attributes->wakeup_watermark == 1024);
		ck_assert_uint_eq(machine.rings[cpu].size, RING_SIZE);
	}
}

TEST(failures_state_cause_and_remedy)
{
	static const struct {
		int open, map;
		const char *text;
	} failures[] = {
		{ EACCES, 0, "Permission denied: " },
		{ EPERM, 0, "Operation not permitted: " },
		{ EMFILE, 0, "CPU 0: Too many open files: needs a descriptor for each CPU" },
		{ ENOSYS, 0, "Function not implemented: needs a Linux kernel with perf events (CONFIG_PERF_EVENTS)" },
		{ ENOENT, 0, "No such file or directory: needs a Linux kernel with perf events (CONFIG_PERF_EVENTS)" },
		{ EOPNOTSUPP, 0,
		  "Operation not supported: needs a Linux kernel with perf events (CONFIG_PERF_EVENTS)" },
		{ EINVAL, 0, "perf_event_open on CPU 0: Invalid argument" },
		{ 0, EPERM,
		  "cannot map ring buffer of 256 KiB for CPU 0: Operation not permitted (raise "
		  "kernel.perf_event_mlock_kb or ulimit -l, or grant CAP_IPC_LOCK)" },
		{ 0, ENOMEM,
		  "cannot map ring buffer of 256 KiB for CPU 0: Cannot allocate memory (raise "
		  "kernel.perf_event_mlock_kb or ulimit -l, or grant CAP_IPC_LOCK)" },
		{ 0, EIO, "cannot map ring buffer of 256 KiB for CPU 0: Input/output error" },
	};
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
		struct error error = { 0 };
		machine.open_error = failures[i].open;
		machine.map_error = failures[i].map;
		ck_assert_ptr_null(sideband_new(&machine_output, NULL, 0, false, 0, &error));
		ck_assert_int_eq(error.code, -(failures[i].open | failures[i].map));
		ck_assert_msg(!strncmp(error.text, failures[i].text, strlen(failures[i].text)), "%s", error.text);
		if (failures[i].map == EIO)
			ck_assert_str_eq(error.text, failures[i].text);
		if (failures[i].map)
			ck_assert(is_closed(machine.rings[0].other_end));
	}
	machine.open_error = machine.map_error = 0;
	machine.start_error = EBUSY;
	struct error error = { 0 };
	sideband = sideband_new(&machine_output, NULL, 0, false, 0, &error);
	ck_assert_int_eq(sideband_start(sideband, &error), -EBUSY);
	ck_assert_str_eq(error.text, "process events: start on CPU 0: Device or resource busy");
	ck_assert_uint_eq(machine.rings[1].opened, 1);
	int ends[] = { machine.rings[0].other_end, machine.rings[1].other_end };
	sideband_free(sideband);
	sideband = NULL;
	ck_assert(is_closed(ends[0]) && is_closed(ends[1]));
}

TEST(a_ring_has_a_power_of_two_of_pages)
{
	const uint64_t page = page_size(), wrong[] = { 1, page / 2, page + 1, 3 * page, 128 << 20, 65 << 20 };
	const uint64_t right[] = { page, 2 * page, 64 << 20 };
	struct error error = { 0 };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		ck_assert_ptr_null(sideband_new(&machine_output, NULL, 0, false, wrong[i], &error));
		ck_assert_int_eq(error.code, -EINVAL);
		ck_assert_ptr_nonnull(strstr(error.text, "must be a power of two between a page and 64 MiB"));
	}
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		sideband = sideband_new(&machine_output, NULL, 0, false, right[i], &error);
		ck_assert_ptr_nonnull(sideband);
		ck_assert_uint_eq(machine.rings[1].size, right[i]);
		sideband_free(sideband);
	}
	sideband = NULL;
}

TEST(a_pause_stops_the_events_and_says_so)
{
	machine_process(10, 1, "early", "");
	start_all();
	ck_assert(sideband_is_system_wide(sideband) && !sideband_is_paused(sideband));
	put_fork(0, 3, 11, 1);
	machine_process(11, 1, "forked", "");
	machine_gone(10);
	machine.now = 5;
	ck_assert_int_eq(sideband_pause(sideband, true), 0);
	ck_assert(sideband_is_paused(sideband));
	ck_assert(!machine.rings[0].enabled && !machine.rings[1].enabled);
	expect("3 fork 11 of 1\nlost since 5: process events (CPU budget)\n5 exit 10\n5 existing 11 of 1 forked\n");
	ck_assert_int_eq(sideband_pause(sideband, true), 0);
	expect("");

	/* A CPU that comes meanwhile is not started. */
	machine_cpus("0-2");
	drain_at(SECOND + 5);
	ck_assert(machine.rings[2].opened && !machine.rings[2].enabled);
	forget();
	machine_process(12, 1, "later", "");
	machine.now = 2 * SECOND;
	ck_assert_int_eq(sideband_pause(sideband, false), 0);
	ck_assert(!sideband_is_paused(sideband));
	ck_assert(machine.rings[0].enabled && machine.rings[1].enabled && machine.rings[2].enabled);
	ck_assert_uint_eq(count_lines("2000000000 existing 12 of 1 later\n"), 1);
	ck_assert_uint_eq(count_lines("lost"), 0);
	forget();
	put_lost(0, 2 * SECOND + 1, 1);
	drain_at(2 * SECOND + 2);
	ck_assert_uint_eq(count_lines("lost since 2000000000: 1 "), 1);

	machine.start_error = EBUSY;
	ck_assert_int_eq(sideband_pause(sideband, true), 0);
	ck_assert_int_eq(sideband_pause(sideband, false), -EBUSY);
}

TEST(proc_is_scanned_once_a_minute_while_events_are_stopped)
{
	machine_process(10, 1, "early", "");
	start_all();
	machine.now = 60 * SECOND - 1;
	ck_assert_int_eq(sideband_rescan(sideband), 0);
	expect("");
	machine.now = 60 * SECOND;
	ck_assert_int_eq(sideband_rescan(sideband), 0);
	expect("60000000000 existing 10 of 1 early\n");
}

TEST(only_the_processes_that_were_asked_for)
{
	const uint32_t pids[] = { 30, 10, 20 };
	for (uint32_t pid = 10; pid <= 40; pid += 10)
		machine_process(pid, 1, "p", "");
	start(pids, 3, false, 0);
	ck_assert(!sideband_is_system_wide(sideband));
	for (uint32_t pid = 5; pid <= 35; pid++)
		put_name(0, pid, pid, pid, "x");
	put_fork(0, 36, 0, 10);
	put_fork(0, 36, UINT32_MAX, 10);
	put_fork(0, 36, 40, 10);
	drain_at(100);
	expect("10 name 10 x\n20 name 20 x\n30 name 30 x\n");
	ck_assert_int_eq(sideband_pause(sideband, true), 0);
	ck_assert(!sideband_is_paused(sideband) && machine.rings[0].enabled);
	expect("");
}

TEST(outside_the_pid_namespace_is_nobody)
{
	start_all();
	put_fork(0, 1, 0, 10);
	put_name(0, 2, UINT32_MAX, UINT32_MAX, "x");
	put_exit(0, 3, 0, 0);
	drain_at(4);
	expect("");
}

TEST(descendants_are_recorded_from_their_fork_on)
{
	const uint32_t pid = 10;
	machine_process(10, 1, "first", "");
	machine_process(11, 10, "child", "");
	machine_process(12, 11, "grandchild", "");
	machine_process(13, 1, "other", "");
	struct error error = { 0 };
	sideband = sideband_new(&machine_output, &pid, 1, true, 0, &error);
	ck_assert_int_eq(sideband_start(sideband, &error), 0);
	ck_assert_int_eq(sideband_scan(sideband, &error), 0);
	expect("0 existing 10 of 1 first\n0 existing 11 of 10 child\n0 existing 12 of 11 grandchild\n");
	put_fork(0, 1, 14, 12);
	put_exec(0, 2, 14, "run");
	put_fork(0, 3, 15, 13);
	put_exec(0, 4, 15, "no");
	put_exit(0, 5, 14, 14);
	put_exec(0, 6, 14, "no");
	drain_at(10);
	expect("1 fork 14 of 12\n2 exec 14 run\n5 exit 14\n");

	/* Later scans begin with those that still run. */
	put_exit(0, 11, 10, 10);
	put_lost(0, 12, 1);
	machine_gone(10);
	machine_process(16, 11, "late", "");
	machine_status(11, 1, "child", 'S', 0, 1, 1011);
	drain_at(SECOND);
	ck_assert_uint_eq(count_lines("1000000000 existing 16 of 11 late\n"), 1);
	ck_assert_uint_eq(count_lines("1000000000 existing"), 3);
	/* None runs: not all processes of the machine instead. */
	for (uint32_t gone = 11; gone <= 16; gone += gone == 12 ? 4 : 1)
		machine_gone(gone);
	forget();
	put_lost(0, SECOND + 1, 1);
	drain_at(2 * SECOND);
	ck_assert_uint_eq(count_lines("2000000000 exit"), 3);
	ck_assert_uint_eq(count_lines(""), 4);
	ck_assert_uint_eq(sideband_process_count(sideband), 0);
}

TEST(a_process_ends_with_its_last_thread)
{
	start_all();
	put_fork(0, 1, 30, 1);
	put_thread(0, 2, 30, 31);
	put_exit(0, 3, 30, 30);
	machine_status(30, 1, "threads", 'Z', 0, 2, 5);
	drain_at(4);
	expect("1 fork 30 of 1\n");
	put_exit(0, 5, 30, 31);
	machine_gone(30);
	drain_at(6);
	expect("5 exit 30\n");

	/* Without threads, at once. */
	put_fork(0, 7, 40, 1);
	put_exit(0, 8, 40, 41);
	put_exit(0, 9, 40, 40);
	/* Not known: only the first thread is the process. */
	put_exit(0, 10, 50, 51);
	put_exit(0, 11, 50, 50);
	drain_at(12);
	expect("7 fork 40 of 1\n9 exit 40\n11 exit 50\n");

	/* An exec ends the other threads. */
	machine_status(60, 1, "threads", 'Z', 0, 2, 5);
	put_fork(0, 20, 60, 1);
	put_thread(0, 21, 60, 61);
	put_exit(0, 22, 60, 60);
	put_exec(0, 23, 60, "again");
	drain_at(24);
	machine_gone(60);
	drain_at(25);
	expect("20 fork 60 of 1\n23 exec 60 again\n");
	put_exit(0, 26, 60, 60);
	drain_at(27);
	expect("26 exit 60\n");

	/* Its pid is used again before its end was noticed. */
	put_fork(0, 30, 70, 1);
	put_thread(0, 31, 70, 71);
	put_exit(0, 32, 70, 70);
	put_exit(0, 33, 70, 71);
	put_fork(0, 40, 70, 2);
	put_exit(0, 41, 70, 70);
	drain_at(50);
	expect("30 fork 70 of 1\n33 exit 70\n40 fork 70 of 2\n41 exit 70\n");
	ck_assert_uint_eq(sideband_process_count(sideband), 0);
}

/* A scan that found a process after its exit event found the same process. */
TEST(a_process_does_not_end_before_the_scan_that_found_it)
{
	machine_process(10, 1, "ends", "");
	struct error error = { 0 };
	sideband = sideband_new(&machine_output, NULL, 0, false, 0, &error);
	ck_assert_int_eq(sideband_start(sideband, &error), 0);
	put_exit(0, 50, 10, 10);
	machine.now = 100;
	ck_assert_int_eq(sideband_scan(sideband, &error), 0);
	drain_at(200);
	expect("100 existing 10 of 1 ends\n100 exit 10\n");
}

TEST(names_are_throttled_and_the_last_one_is_sent)
{
	start_all();
	put_fork(0, 1, 10, 1);
	put_name(0, 2, 10, 11, "a-thread");
	put_name(0, 2, 99, 99, "unknown");
	for (unsigned i = 0; i < RENAMES_AT_ONCE + 2; i++) {
		char name[16];
		snprintf(name, sizeof name, "name-%u", i);
		put_name(0, 10 + i, 10, 10, name);
	}
	drain_at(200);
	ck_assert_uint_eq(count_lines("2 name 99 unknown\n"), 1);
	ck_assert_uint_eq(count_lines("2 name 10"), 0);
	ck_assert_uint_eq(count_lines("73 name 10 name-63\n"), 1);
	ck_assert_uint_eq(count_lines(""), RENAMES_AT_ONCE + 2);
	forget();
	drain_at(72 + SECOND);
	expect("");
	drain_at(73 + SECOND);
	expect("1000000073 name 10 name-65\n");
	drain_at(75 + 3 * SECOND);
	expect("");

	/* The end of the process tells it, too; an exec makes it void. */
	put_name(0, 76 + 3 * SECOND, 10, 10, "first");
	put_name(0, 77 + 3 * SECOND, 10, 10, "last");
	put_exit(0, 78 + 3 * SECOND, 10, 10);
	drain_at(79 + 3 * SECOND);
	expect("3000000076 name 10 first\n3000000078 name 10 last\n3000000078 exit 10\n");
	put_fork(0, 80 + 3 * SECOND, 20, 1);
	for (unsigned i = 0; i < RENAMES_AT_ONCE + 1; i++)
		put_name(0, 81 + 3 * SECOND, 20, 20, "many");
	put_exec(0, 82 + 3 * SECOND, 20, "program");
	drain_at(83 + 3 * SECOND);
	ck_assert_uint_eq(count_lines("3000000081 name 20 many\n"), RENAMES_AT_ONCE);
	forget();
	drain_at(10 * SECOND);
	expect("");
}

TEST(names_have_the_rank)
{
	start_all();
	machine_file("/proc/50/environ", "OMPI_COMM_WORLD_RANK=3");
	put_fork(0, 1, 50, 1);
	put_exec(0, 2, 50, "train");
	put_name(0, 3, 50, 50, "other");
	/* No name of Linux is that long. */
	put_name(0, 4, 50, 50, "a-name-of-16-cha");
	put_name(0, 5, 50, 50, "");
	drain_at(10);
	expect("1 fork 50 of 1\n2 exec 50 train (rank 3)\n3 name 50 other (rank 3)\n4 name 50 a-name-of-16-cha\n"
	       "5 name 50\n");

	/* Before execve(2) is through, there is no environment. */
	machine_file("/proc/60/environ", "");
	put_fork(0, 11, 60, 1);
	put_exec(0, 12, 60, "late");
	drain_at(13);
	machine_file("/proc/60/environ", "OMPI_COMM_WORLD_RANK=4");
	put_mapping(0, 14, 60, 0x4000, 3, "/data");
	put_mapping(0, 15, 60, 0x5000, EXECUTE, "/bin/late");
	put_mapping(0, 16, 60, 0x6000, EXECUTE, "/lib/c");
	put_mapping(0, 17, 99, 0x6000, EXECUTE, "/lib/c");
	drain_at(20);
	expect("11 fork 60 of 1\n12 exec 60 late\n15 name 60 late (rank 4)\n15 map 60 5000+1000 2000 /bin/late\n"
	       "16 map 60 6000+1000 2000 /lib/c\n17 map 99 6000+1000 2000 /lib/c\n");

	/* Looked for 16 times at most. */
	machine_file("/proc/70/environ", "");
	put_fork(0, 21, 70, 1);
	put_exec(0, 22, 70, "never");
	for (unsigned i = 0; i < 14; i++)
		put_mapping(0, 23, 70, 0x1000, EXECUTE, "/lib/c");
	drain_at(24);
	ck_assert_uint_eq(count_lines("23 map 70 "), 14);
	forget();
	put_mapping(0, 25, 70, 0x1000, EXECUTE, "/lib/c");
	drain_at(26);
	forget();
	machine_file("/proc/70/environ", "OMPI_COMM_WORLD_RANK=5");
	put_mapping(0, 27, 70, 0x1000, EXECUTE, "/lib/c");
	drain_at(28);
	expect("27 map 70 1000+1000 2000 /lib/c\n");
	machine_file("/proc/71/environ", "");
	put_exec(0, 30, 71, "just");
	for (unsigned i = 0; i < 14; i++)
		put_mapping(0, 31, 71, 0x1000, EXECUTE, "/lib/c");
	drain_at(32);
	forget();
	machine_file("/proc/71/environ", "OMPI_COMM_WORLD_RANK=6");
	put_mapping(0, 33, 71, 0x1000, EXECUTE, "/lib/c");
	drain_at(34);
	expect("33 name 71 just (rank 6)\n33 map 71 1000+1000 2000 /lib/c\n");
}

/* What /proc has then is that of the pid's next process. */
TEST(a_program_that_has_ended_has_no_rank)
{
	start_all();
	machine_file("/proc/50/environ", "OMPI_COMM_WORLD_RANK=3");
	machine_file("/proc/51/environ", "OMPI_COMM_WORLD_RANK=4");
	put_fork(0, 1, 50, 1);
	put_exec(0, 2, 50, "short");
	put_exit(1, 3, 50, 50);
	put_exit(1, 4, 51, 51);
	put_fork(0, 5, 51, 1);
	put_exec(0, 6, 51, "next");
	/* The end of a thread is not that of the program. */
	put_fork(0, 7, 52, 1);
	machine_file("/proc/52/environ", "OMPI_COMM_WORLD_RANK=5");
	put_exec(0, 8, 52, "threads");
	put_thread(0, 9, 52, 53);
	put_exit(0, 10, 52, 53);
	drain_at(20);
	expect("1 fork 50 of 1\n2 exec 50 short\n3 exit 50\n4 exit 51\n5 fork 51 of 1\n6 exec 51 next (rank 4)\n"
	       "7 fork 52 of 1\n8 exec 52 threads (rank 5)\n");
}

TEST(records_are_sent_in_batches)
{
	enum { RECORDS = 3000, BATCH = SIDEBAND_BATCH_SIZE / 32 };
	start_all();
	machine.batches = 0;
	for (uint32_t i = 0; i < BATCH; i++)
		put_fork(0, i, 1000 + i, 1);
	drain_at(5000);
	ck_assert_uint_eq(machine.batches, 1);
	ck_assert_uint_eq(count_lines(""), BATCH);
	forget();
	for (uint32_t i = 0; i < RECORDS; i++)
		put_fork(0, 5000 + i, 10000 + i, 1);
	drain_at(10000);
	ck_assert_uint_eq(machine.batches, 3);
	ck_assert_uint_eq(count_lines(""), RECORDS);
	drain_at(10001);
	ck_assert_uint_eq(machine.batches, 3); /* no empty one */

	machine.emit_result = -EIO;
	for (uint32_t i = 0; i < RECORDS; i++)
		put_fork(0, 10001 + i, 20000 + i, 1);
	machine.now = 20000;
	ck_assert_int_eq(sideband_drain(sideband), -EIO);
	ck_assert_uint_eq(machine.batches, 4); /* nothing after a failure */
	machine.emit_result = 0;
	forget();
	put_fork(0, 20001, 30000, 1);
	drain_at(20002);
	expect("20001 fork 30000 of 1\n");
}

/* Paths are kept for the whole run: an untrusted user has a limit, others go on. */
TEST(texts_of_a_user_are_limited)
{
	enum { LENGTH = 4000, ROUNDS = 60, IN_ROUND = 40 };
	const size_t allowed = TEXT_BUDGET_USER / (LENGTH + 64);
	char path[LENGTH + 1], line[128];
	size_t refused = 0;
	machine_process(10, 1, "many", "");
	machine_owner(10, geteuid() + 12345);
	start_all();
	memset(path, 'x', LENGTH);
	path[LENGTH] = '\0';
	for (unsigned i = 0; i < ROUNDS; i++) {
		for (unsigned k = 0; k < IN_ROUND; k++) {
			int length = sprintf(path, "/%08u", i * IN_ROUND + k);
			path[length] = 'x';
			ck_assert(put_mapping(0, i, 10, 0x1000, EXECUTE, path));
		}
		drain_at(i);
		snprintf(line, sizeof line, "%u map 10 1000+1000 2000 [too many names]\n", i);
		size_t count = count_lines(line);
		size_t over = (i + 1) * IN_ROUND > allowed ? (i + 1) * IN_ROUND - allowed : 0;
		refused += count;
		ck_assert_uint_eq(refused, over);
		snprintf(line, sizeof line, "lost since %u: %zu names and paths of users who have too many\n", i,
			 count);
		ck_assert_uint_eq(count_lines(line), count ? 1 : 0);
		forget();
	}
	ck_assert_uint_gt(refused, IN_ROUND);
	/* Known texts, and those of root, are not refused. */
	put_mapping(0, 100, 10, 0x1000, EXECUTE, "/00000001");
	machine_process(11, 1, "root", "");
	machine_owner(11, 0);
	put_exec(0, 102, 11, "mine");
	drain_at(103);
	ck_assert_uint_eq(count_lines("102 exec 11 mine\n"), 1);
	forget();
	sideband_begin_period(sideband);
	put_exec(0, 104, 10, "new-period");
	drain_at(105);
	expect("104 exec 10 new-period\n");
}

TEST(mappings_have_one_form)
{
	start_all();
	put_mapping(0, 1, 10, 0x1000, EXECUTE, "/a (deleted)");
	put_mapping(0, 2, 10, 0x2000, EXECUTE, "");
	put_mapping(0, 3, 10, 0x3000, EXECUTE, "[anon:jit]");
	put_mapping(0, 4, 10, 0x4000, EXECUTE, "//anon");
	put_mapping(0, 5, 10, 0x5000, EXECUTE, "[vdso]");
	put_mapping(0, 6, 10, 0x6000, 3, "/data");
	put_mapping(0, 7, 10, 0x7000, EXECUTE, "/");
	drain_at(10);
	expect("1 map 10 1000+1000 2000 /a deleted\n2 map 10 2000+1000 0 //anon\n3 map 10 3000+1000 0 //anon\n"
	       "4 map 10 4000+1000 0 //anon\n5 map 10 5000+1000 0 [vdso]\n7 map 10 7000+1000 2000 /\n");
}

int main(void)
{
	return run_all_tests(60, machine_begin, end);
}
