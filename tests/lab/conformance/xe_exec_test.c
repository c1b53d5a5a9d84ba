// SPDX-License-Identifier: Apache-2.0
/* EXEC of the double: its jobs go through the DRM scheduler, one after another in a queue, and are the client's time.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

#define MILLISECOND UINT64_C(1000000)

static uint32_t vm_make(int node)
{
	struct xe_vm_create vm = { 0 };

	CHECK(ioctl(node, XE_IOCTL_VM_CREATE, &vm) == 0);
	return vm.vm_id;
}

static int queue_make(int node, uint32_t vm, uint16_t engine, uint32_t *queue)
{
	struct xe_engine_class_instance instance = { .engine_class = engine };
	struct xe_exec_queue_create create = {
		.width = 1, .num_placements = 1, .vm_id = vm, .instances = (uintptr_t)&instance
	};
	int result = ioctl(node, XE_IOCTL_EXEC_QUEUE_CREATE, &create);

	*queue = create.exec_queue_id;
	return result;
}

static int queue_end(int node, uint32_t queue)
{
	struct xe_exec_queue_destroy destroy = { .exec_queue_id = queue };

	return ioctl(node, XE_IOCTL_EXEC_QUEUE_DESTROY, &destroy);
}

/* end: a sync object that the job signals; 0 none. */
static int execute(int node, uint32_t queue, uint64_t time, uint32_t end)
{
	struct xe_sync sync = { .flags = 1, .handle = end };
	struct xe_exec exec = { .exec_queue_id = queue,
				.num_syncs = end != 0,
				.syncs = (uintptr_t)&sync,
				.address = time,
				.num_batch_buffer = 1 };

	return ioctl(node, XE_IOCTL_EXEC, &exec);
}

static uint32_t end_make(int node)
{
	struct drm_syncobj_create create = { 0 };

	CHECK(ioctl(node, DRM_IOCTL_SYNCOBJ_CREATE, &create) == 0);
	return create.handle;
}

static int end_wait(int node, uint32_t end)
{
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)&end, .count_handles = 1, .timeout_nsec = INT64_MAX };

	return ioctl(node, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

/* For how long the client of a node was busy with an engine, ns, from its cycles. */
static uint64_t client_busy(int node, const char *engine)
{
	char path[64], key[32], text[4096];
	struct xe_query_gt_list *list;
	uint64_t cycles = 0;
	uint32_t size;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", node);
	snprintf(key, sizeof(key), "drm-cycles-%s:\t", engine);
	list = device_query(XE_QUERY_GT_LIST, &size);
	if (CHECK(file_read(path, text, sizeof(text))) && CHECK(strstr(text, key)) && CHECK(list)) {
		cycles = strtoull(strstr(text, key) + strlen(key), NULL, 10);
		cycles = (uint64_t)((double)cycles * 1e9 / list->gt_list[0].reference_clock);
	}
	free(list);
	return cycles;
}

static void what_cannot_run_is_refused(void)
{
	int node = open(device.node, O_RDWR | O_CLOEXEC);
	struct xe_exec_queue_create create = { .width = 1, .num_placements = 1 };
	uint32_t vm, queue, other;

	REQUIRE(node >= 0);
	vm = vm_make(node);
	CHECK_FAILS(queue_make(node, vm + 1, XE_ENGINE_CLASS_COMPUTE, &other), ENOENT);
	CHECK_FAILS(queue_make(node, vm, 2, &other), EINVAL);
	create.vm_id = vm;
	create.instances = (uintptr_t)nowhere;
	CHECK_FAILS(ioctl(node, XE_IOCTL_EXEC_QUEUE_CREATE, &create), EFAULT);
	create.width = 2;
	CHECK_FAILS(ioctl(node, XE_IOCTL_EXEC_QUEUE_CREATE, &create), EINVAL);
	REQUIRE(queue_make(node, vm, XE_ENGINE_CLASS_COMPUTE, &queue) == 0);
	CHECK_FAILS(execute(node, queue + 1, MILLISECOND, 0), ENOENT);
	CHECK_FAILS(execute(node, queue, 0, 0), EINVAL);
	CHECK_FAILS(execute(node, queue, 1ull << 40, 0), EINVAL);
	CHECK_FAILS(execute(node, queue, MILLISECOND, 77), ENOENT);
	CHECK_FAILS(execute(device.fd, queue, MILLISECOND, 0), ENOENT); /* another client's */
	CHECK(queue_end(node, queue) == 0);
	CHECK_FAILS(queue_end(node, queue), ENOENT);
	close(node);
}

static void jobs_of_a_queue_run_one_after_another(void)
{
	enum { JOBS = 20, TIME_MS = 5 };
	int node = open(device.node, O_RDWR | O_CLOEXEC);
	uint32_t vm, queue, end;
	struct timespec begin, now;

	REQUIRE(node >= 0);
	vm = vm_make(node);
	end = end_make(node);
	REQUIRE(queue_make(node, vm, XE_ENGINE_CLASS_COMPUTE, &queue) == 0);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < JOBS; i++)
		CHECK_EQUAL(execute(node, queue, TIME_MS * MILLISECOND, end), 0);
	CHECK_EQUAL(end_wait(node, end), 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	uint64_t busy = client_busy(node, "ccs");
	uint64_t elapsed =
		(uint64_t)(now.tv_sec - begin.tv_sec) * 1000 * MILLISECOND + (uint64_t)(now.tv_nsec - begin.tv_nsec);
	/* Less a cycle for rounding. No two were there at once. */
	CHECK(busy + 1000 >= JOBS * TIME_MS * MILLISECOND);
	CHECK(busy <= elapsed);
	CHECK_EQUAL(client_busy(node, "bcs"), 0);
	close(node);
}

static void queues_run_at_once(void)
{
	enum { TIME_MS = 300 };
	int node = open(device.node, O_RDWR | O_CLOEXEC);
	uint32_t vm, queues[3], ends[3];

	REQUIRE(node >= 0);
	vm = vm_make(node);
	for (int i = 0; i < 3; i++) {
		ends[i] = end_make(node);
		REQUIRE(queue_make(node, vm, i == 2 ? XE_ENGINE_CLASS_COPY : XE_ENGINE_CLASS_COMPUTE, &queues[i]) == 0);
	}
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(execute(node, queues[i], TIME_MS * MILLISECOND, ends[i]), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(end_wait(node, ends[i]), 0);
	CHECK(client_busy(node, "ccs") + 1000 >= 2 * TIME_MS * MILLISECOND);
	CHECK(client_busy(node, "bcs") + 1000 >= TIME_MS * MILLISECOND);
	close(node);
}

static void a_queue_ends_with_its_jobs(void)
{
	int node = open(device.node, O_RDWR | O_CLOEXEC);
	uint32_t vm, queue, end;
	int full;

	REQUIRE(node >= 0);
	vm = vm_make(node);
	end = end_make(node);
	REQUIRE(queue_make(node, vm, XE_ENGINE_CLASS_COMPUTE, &queue) == 0);
	/* Each would take ten seconds; there is room for some. */
	for (full = 0; full < 5000 && execute(node, queue, 10000 * MILLISECOND, end) == 0; full++)
		;
	CHECK(full >= 100 && full < 5000);
	CHECK_FAILS(execute(node, queue, MILLISECOND, 0), EAGAIN);
	CHECK_EQUAL(queue_end(node, queue), 0);
	CHECK_EQUAL(end_wait(node, end), 0); /* nobody waits for a job that will not run */
	REQUIRE(queue_make(node, vm, XE_ENGINE_CLASS_COMPUTE, &queue) == 0);
	CHECK_EQUAL(execute(node, queue, 10000 * MILLISECOND, 0), 0);
	close(node);
}

void test_jobs_of_the_double(void)
{
	TAP_RUN(what_cannot_run_is_refused);
	TAP_RUN(jobs_of_a_queue_run_one_after_another);
	TAP_RUN(queues_run_at_once);
	TAP_RUN(a_queue_ends_with_its_jobs);
}
