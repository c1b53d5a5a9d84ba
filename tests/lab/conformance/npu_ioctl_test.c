// SPDX-License-Identifier: Apache-2.0
/* The ioctls that need no job: name, parameters, buffers, queues, the metric streamer; contexts and their limits. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "npu_tests.h"

static void the_driver_is_intel_vpu(void)
{
	char name[32] = "";
	struct npu_version version = { .name_length = sizeof(name), .name = (uintptr_t)name };
	int file = npu_open();

	CHECK(npu_call(file, NPU_IOCTL_VERSION, &version) == 0);
	CHECK(!strcmp(name, "intel_vpu"));
	CHECK_EQUAL(version.name_length, strlen("intel_vpu"));
	CHECK_EQUAL(version.major, 1);
	close(file);
}

static void parameters(void)
{
	struct npu_param argument = { .param = 15 };
	int file = npu_open();
	int64_t unique;

	CHECK_EQUAL(npu_param(file, 0, 0), 0x643e);
	CHECK_EQUAL(npu_param(file, 4, 0), 64);
	CHECK_EQUAL(npu_param(file, 6, 0), 1);
	CHECK_EQUAL(npu_param(file, 13, 1), 1);
	CHECK_FAILS(npu_call(file, NPU_IOCTL_GET_PARAM, &argument), EINVAL);
	CHECK_FAILS(npu_param(file, 13, 99), EINVAL);
	CHECK_FAILS(npu_param(file, 8, 16), EINVAL);
	CHECK_FAILS(npu_param(file, 9, 1), EINVAL);
	unique = npu_param(file, 10, 0);
	CHECK_EQUAL(npu_param(file, 10, 0), unique + 1);
	argument = (struct npu_param){ .param = 6, .value = 3 };
	CHECK(npu_call(file, NPU_IOCTL_SET_PARAM, &argument) == 0);
	CHECK_EQUAL(npu_param(file, 6, 0), 3);
	argument.value = 4;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SET_PARAM, &argument), EINVAL);
	argument = (struct npu_param){ .param = 0, .value = 0 };
	CHECK_FAILS(npu_call(file, NPU_IOCTL_SET_PARAM, &argument), EINVAL);
	CHECK_FAILS(npu_call(file, NPU_IOCTL_GET_PARAM, NULL), EFAULT);
	CHECK_FAILS(npu_call(file, _IO('d', 0x44), NULL), EINVAL);
	close(file);
}

static void contexts(void)
{
	int files[65], count = 0;
	bool seen[66] = { false };

	for (; count < 64; count++) {
		int64_t id;

		files[count] = npu_open();
		id = npu_param(files[count], 7, 0);
		CHECK(id >= 2 && id <= 65);
		if (id < 2 || id > 65)
			break;
		CHECK(!seen[id]);
		seen[id] = true;
	}
	errno = 0;
	CHECK_FAILS(open("/dev/accel/accel0", 2), EBUSY);
	while (count)
		close(files[--count]);
	files[0] = npu_open();
	CHECK_EQUAL(npu_param(files[0], 7, 0), 2);
	close(files[0]);
}

static void buffers(void)
{
	int file = npu_open(), other = npu_open();
	struct npu_bo_create create = { .size = 5000, .flags = 2 };
	struct npu_bo_info info = { .handle = 0 };
	struct npu_gem_close gem_close = { .handle = 0 };

	CHECK(npu_scenario("set autosuspend_ms 100\n") == EBUSY);
	CHECK(npu_call(file, NPU_IOCTL_BO_CREATE, &create) == 0);
	info.handle = create.handle;
	CHECK(npu_call(file, NPU_IOCTL_BO_INFO, &info) == 0);
	CHECK_EQUAL(info.size, 8192);
	CHECK_EQUAL(info.flags, 2);
	CHECK_EQUAL(info.vpu_addr, create.vpu_addr);
	CHECK(info.mmap_offset);
	CHECK_EQUAL(npu_truth("bytes"), 8192);
	CHECK_FAILS(npu_call(other, NPU_IOCTL_BO_INFO, &info), ENOENT);
	gem_close.handle = create.handle;
	CHECK(npu_call(file, NPU_IOCTL_GEM_CLOSE, &gem_close) == 0);
	CHECK_EQUAL(npu_truth("bytes"), 0);
	CHECK_FAILS(npu_call(file, NPU_IOCTL_BO_INFO, &info), ENOENT);
	create.size = 0;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_BO_CREATE, &create), EINVAL);
	create = (struct npu_bo_create){ .size = 4096, .flags = 0x40000000 };
	CHECK_FAILS(npu_call(file, NPU_IOCTL_BO_CREATE, &create), EINVAL);
	create.flags = 0x10000; /* uncached: refused since 6.8 */
	CHECK_FAILS(npu_call(file, NPU_IOCTL_BO_CREATE, &create), EINVAL);
	CHECK(npu_buffer(file, 1 << 20));
	CHECK_EQUAL(npu_truth("bytes"), 1 << 20);
	close(other);
	close(file);
	CHECK_EQUAL(npu_truth("bytes"), 0);
	CHECK_EQUAL(npu_truth("buffers"), 0);
}

static void queues(void)
{
	int file = npu_open();
	struct npu_queue_create create = { .priority = 1 };
	struct npu_queue_destroy destroy;
	struct npu_queue_submit submit = { .buffer_count = 1 };
	uint32_t handle = npu_buffer(file, 4096);
	uint64_t page[1024] __attribute__((aligned(4096)));
	struct npu_bo_from_user user = { .user_ptr = (uintptr_t)page, .size = 4096 };

	if (npu_call(file, NPU_IOCTL_QUEUE_CREATE, &create) && errno == EINVAL) {
		close(file);
		tap_skip("this generation has no command queues");
		return;
	}
	CHECK(create.cmdq_id != 0);
	submit.buffers_ptr = (uintptr_t)&handle;
	submit.cmdq_id = create.cmdq_id + 7;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_QUEUE_SUBMIT, &submit), EINVAL);
	submit.cmdq_id = create.cmdq_id;
	CHECK(npu_call(file, NPU_IOCTL_QUEUE_SUBMIT, &submit) == 0);
	CHECK(npu_wait(file, handle, 5000, NULL) == 0);
	destroy.cmdq_id = create.cmdq_id;
	CHECK(npu_call(file, NPU_IOCTL_QUEUE_DESTROY, &destroy) == 0);
	CHECK_FAILS(npu_call(file, NPU_IOCTL_QUEUE_DESTROY, &destroy), ENOENT);
	create = (struct npu_queue_create){ .priority = 5 };
	CHECK_FAILS(npu_call(file, NPU_IOCTL_QUEUE_CREATE, &create), EINVAL);
	create = (struct npu_queue_create){ .flags = 2 };
	CHECK_FAILS(npu_call(file, NPU_IOCTL_QUEUE_CREATE, &create), EINVAL);
	CHECK(npu_call(file, NPU_IOCTL_BO_FROM_USER, &user) == 0);
	user.user_ptr += 8;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_BO_FROM_USER, &user), EINVAL);
	close(file);
}

static void metric_streamer(void)
{
	int file = npu_open();
	struct npu_streamer_start start = { .metric_group_mask = 1,
					    .sampling_period_ns = 1000000,
					    .read_period_samples = 10 };
	struct npu_streamer_get_data data = { .metric_group_mask = 1 };
	struct npu_streamer_stop stop = { .metric_group_mask = 1 };

	CHECK_FAILS(npu_call(file, NPU_IOCTL_STREAMER_GET_DATA, &data), EINVAL);
	CHECK_FAILS(npu_call(file, NPU_IOCTL_STREAMER_STOP, &stop), EINVAL);
	CHECK(npu_call(file, NPU_IOCTL_STREAMER_START, &start) == 0);
	CHECK_FAILS(npu_call(file, NPU_IOCTL_STREAMER_START, &start), EALREADY);
	CHECK(npu_call(file, NPU_IOCTL_STREAMER_GET_DATA, &data) == 0);
	CHECK(npu_call(file, NPU_IOCTL_STREAMER_STOP, &stop) == 0);
	start.sampling_period_ns = 999999;
	CHECK_FAILS(npu_call(file, NPU_IOCTL_STREAMER_START, &start), EINVAL);
	start = (struct npu_streamer_start){ .sampling_period_ns = 1000000, .read_period_samples = 10 };
	CHECK_FAILS(npu_call(file, NPU_IOCTL_STREAMER_START, &start), EINVAL);
	close(file);
}

void npu_ioctl_tests(void)
{
	npu_scenario_when_idle(npu_jobs_of_20_ms);
	TAP_RUN(the_driver_is_intel_vpu);
	TAP_RUN(parameters);
	TAP_RUN(contexts);
	TAP_RUN(buffers);
	TAP_RUN(queues);
	TAP_RUN(metric_streamer);
}
