// SPDX-License-Identifier: Apache-2.0
/* DEVICE_QUERY: sizes, checks, answers; the driver's name; numbers that are no ioctl; VM_BIND. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

static int query(uint32_t id, uint32_t size, void *data)
{
	struct xe_device_query argument = { .query = id, .size = size, .data = (uintptr_t)data };

	return ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &argument);
}

static void the_node_has_a_pci_device_and_a_client(void)
{
	char path[128], text[4096];
	struct stat status;

	REQUIRE(fstat(device.fd, &status) == 0);
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device/vendor", major(status.st_rdev), minor(status.st_rdev));
	CHECK(file_read(path, text, sizeof(text)));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", device.fd);
	REQUIRE(file_read(path, text, sizeof(text)));
	CHECK(strstr(text, "drm-driver:\txe\n"));
	CHECK(strstr(text, "drm-pdev:\t0000:"));
	CHECK(strstr(text, "drm-cycles-ccs:\t"));
	CHECK(strstr(text, "drm-total-cycles-ccs:\t"));
}

static void sizes_are_negotiated(void)
{
	static const uint32_t queries[] = { XE_QUERY_ENGINES, XE_QUERY_MEM_REGIONS, XE_QUERY_CONFIG,
					    XE_QUERY_GT_LIST, XE_QUERY_GT_TOPOLOGY, XE_QUERY_ENGINE_CYCLES,
					    XE_QUERY_EU_STALL };

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		struct xe_device_query argument = { .query = queries[i] };
		uint8_t *data;

		REQUIRE(ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &argument) == 0);
		REQUIRE(argument.size > 0 && argument.size < 65536);
		data = malloc(argument.size + 8);
		REQUIRE(data);
		CHECK_FAILS(query(queries[i], argument.size + 1, data), EINVAL);
		CHECK_FAILS(query(queries[i], argument.size - 1, data), EINVAL);
		CHECK_FAILS(query(queries[i], argument.size, nowhere),
			    queries[i] == XE_QUERY_MEM_REGIONS ? ENOSPC : EFAULT);
		/* Nothing is written after the size that was agreed. */
		memset(data, 0, argument.size);
		memset(data + argument.size, 0xa5, 8);
		if (queries[i] != XE_QUERY_ENGINE_CYCLES)
			CHECK_EQUAL(query(queries[i], argument.size, data), 0);
		CHECK_EQUAL(data[argument.size], 0xa5);
		free(data);
	}
}

static void what_must_be_zero_is_checked(void)
{
	struct xe_device_query argument = { .query = XE_QUERY_CONFIG };

	argument.extensions = 1;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &argument), EINVAL);
	argument.extensions = 0;
	argument.reserved[0] = 1;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &argument), EINVAL);
	argument.reserved[0] = 0;
	argument.reserved[1] = 1;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &argument), EINVAL);
	argument.reserved[1] = 0;
	CHECK_EQUAL(ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &argument), 0);
	argument.size = 0;
	argument.query = 1000;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_DEVICE_QUERY, &argument), EINVAL);
}

static void gts_and_their_cores_are_listed(void)
{
	uint32_t size;
	struct xe_query_gt_list *list = device_query(XE_QUERY_GT_LIST, &size);

	REQUIRE(list);
	CHECK_EQUAL(size, sizeof(*list) + list->num_gt * sizeof(struct xe_gt_description));
	CHECK(list->num_gt >= 1);
	for (unsigned i = 0; i < list->num_gt; i++) {
		const struct xe_gt_description *gt = &list->gt_list[i];

		CHECK(gt->type <= 1);
		CHECK(gt->reference_clock > 0);
		CHECK(gt->near_mem_regions && !(gt->near_mem_regions & gt->far_mem_regions));
		CHECK_EQUAL(device_cores(gt->gt_id) == 0, gt->type == 1);
	}
	free(list);
}

static void stall_sampling_is_described(void)
{
	uint32_t size;
	struct xe_query_eu_stall *answer = device_query(XE_QUERY_EU_STALL, &size);

	REQUIRE(answer);
	CHECK_EQUAL(answer->extensions, 0);
	CHECK(answer->capabilities & 1);
	CHECK_EQUAL(answer->record_size, ROW_SIZE);
	CHECK_EQUAL(answer->per_xecore_buf_size, RING_SIZE);
	CHECK_EQUAL(answer->num_sampling_rates, 7);
	CHECK_EQUAL(size, sizeof(*answer) + 8 * answer->num_sampling_rates);
	for (unsigned i = 0; i < 7 && i < answer->num_sampling_rates; i++)
		CHECK_EQUAL(answer->sampling_rates[i], 251 * (i + 1));
	free(answer);
}

static void device_cycles_and_cpu_time_are_read_together(void)
{
	struct xe_query_engine_cycles first = { .clockid = CLOCK_MONOTONIC }, second;
	struct timespec before, after;
	uint32_t size;
	struct xe_query_engines *engines = device_query(XE_QUERY_ENGINES, &size);

	REQUIRE(engines && engines->num_engines);
	CHECK_EQUAL(size, sizeof(*engines) + engines->num_engines * sizeof(struct xe_engine));
	first.eci = engines->engines[0].instance;
	free(engines);
	second = first;
	clock_gettime(CLOCK_MONOTONIC, &before);
	CHECK_EQUAL(query(XE_QUERY_ENGINE_CYCLES, sizeof(first), &first), 0);
	CHECK_EQUAL(query(XE_QUERY_ENGINE_CYCLES, sizeof(second), &second), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK(first.width == 36 || first.width == 64);
	CHECK(first.cpu_timestamp >= (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec);
	CHECK(second.cpu_timestamp > first.cpu_timestamp);
	CHECK(second.cpu_timestamp <= (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec);
	CHECK(second.engine_cycles != first.engine_cycles);
	first.clockid = 99;
	CHECK_FAILS(query(XE_QUERY_ENGINE_CYCLES, sizeof(first), &first), EINVAL);
	first.clockid = CLOCK_MONOTONIC;
	first.eci.gt_id = 200;
	CHECK_FAILS(query(XE_QUERY_ENGINE_CYCLES, sizeof(first), &first), EINVAL);
	first.eci.gt_id = 0;
	first.eci.engine_class = 77;
	CHECK_FAILS(query(XE_QUERY_ENGINE_CYCLES, sizeof(first), &first), EINVAL);
}

static void numbers_that_are_no_ioctl_are_refused(void)
{
	uint64_t argument[32] = { 0 };

	CHECK_FAILS(ioctl(device.fd, _IOWR('d', 0x40 + 0x5f, uint64_t[4]), argument), EINVAL);
	/* The type of an ioctl that no driver has. */
	CHECK_FAILS(ioctl(device.fd, _IO('x', 1), argument), ENOTTY);
}

static void bind_checks_its_arguments(void)
{
	struct xe_vm_create vm = { 0 };
	struct xe_vm_bind bind = { .num_binds = 1 };
	struct xe_vm_bind_op ops[2] = { { .op = 1, .addr = 0x10000, .range = 0x1000 },
					{ .op = 1, .addr = 0x20000, .range = 0x1000 } };
	struct xe_vm_destroy destroy = { 0 };

	REQUIRE(ioctl(device.fd, XE_IOCTL_VM_CREATE, &vm) == 0);
	CHECK(vm.vm_id != 0);
	bind.vm_id = vm.vm_id + 1000;
	bind.bind = ops[0];
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), EINVAL);
	bind.vm_id = vm.vm_id;
	bind.bind.addr = 0x10001;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), EINVAL);
	bind.bind = ops[0];
	bind.bind.range = 0;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), EINVAL);
	bind.bind = ops[0];
	bind.bind.op = 5;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), EINVAL);
	bind.bind = ops[0];
	bind.bind.op = 0; /* map, with no object */
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), EINVAL);
	bind.bind = ops[0];
	bind.bind.addr = ~0xfffull;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), EINVAL);
	bind.bind = ops[0];
	bind.pad = 1;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), EINVAL);
	bind.pad = 0;
	bind.num_binds = 2;
	bind.vector_of_binds = 8;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), EFAULT);
	destroy.vm_id = vm.vm_id;
	CHECK_EQUAL(ioctl(device.fd, XE_IOCTL_VM_DESTROY, &destroy), 0);
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_DESTROY, &destroy), ENOENT);
}

void test_queries(void)
{
	TAP_RUN(the_node_has_a_pci_device_and_a_client);
	TAP_RUN(sizes_are_negotiated);
	TAP_RUN(what_must_be_zero_is_checked);
	TAP_RUN(gts_and_their_cores_are_listed);
	TAP_RUN(stall_sampling_is_described);
	TAP_RUN(device_cycles_and_cpu_time_are_read_together);
	TAP_RUN(numbers_that_are_no_ioctl_are_refused);
	TAP_RUN(bind_checks_its_arguments);
}

/* From here on: what only the double can be made to be. */

static void a_platform_shows_itself(void)
{
	uint32_t size;
	struct xe_query_gt_list *list;
	struct xe_query_config *config;

	REQUIRE(scenario_write("platform pvc\nend\n") == 0);
	config = device_query(XE_QUERY_CONFIG, &size);
	list = device_query(XE_QUERY_GT_LIST, &size);
	REQUIRE(config && list);
	CHECK_EQUAL(config->info[0] & 0xffff, 0x0bd5);
	CHECK_EQUAL(config->info[1] & 1, 1);
	CHECK_EQUAL(list->num_gt, 2);
	CHECK_EQUAL(list->gt_list[1].type, 0);
	CHECK_EQUAL(list->gt_list[1].tile_id, 1);
	CHECK_EQUAL(list->gt_list[0].ip_ver_major, 0);
	CHECK_EQUAL(device_cores(0), 64);
	free(config);
	free(list);

	REQUIRE(scenario_write(
			"platform lnl\ndevice-id 0x6420\ngt 0 main cores 1,3-5,17 compute 3-6\ngt 1 media\nend\n") ==
		0);
	config = device_query(XE_QUERY_CONFIG, &size);
	list = device_query(XE_QUERY_GT_LIST, &size);
	REQUIRE(config && list);
	CHECK_EQUAL(config->info[0] & 0xffff, 0x6420);
	CHECK_EQUAL(config->info[1] & 1, 0);
	CHECK_EQUAL(list->num_gt, 2);
	CHECK_EQUAL(list->gt_list[1].type, 1);
	CHECK_EQUAL(list->gt_list[0].ip_ver_major, 20);
	CHECK_EQUAL(list->gt_list[0].ip_ver_minor, 4);
	CHECK_EQUAL(device_cores(0), 6);
	free(config);
	free(list);
}

static void without_sampling_there_is_no_stream(void)
{
	static const struct {
		const char *scenario;
		int error;
	} cases[] = { { "platform dg2\nend\n", ENODEV },
		      { "platform mtl\nend\n", ENODEV },
		      { "platform bmg\nkernel 6.14\nend\n", EINVAL } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t size;

		REQUIRE(scenario_write("%s", cases[i].scenario) == 0);
		CHECK_FAILS(query(XE_QUERY_EU_STALL, 0, NULL), cases[i].error);
		CHECK(device_query(XE_QUERY_EU_STALL, &size) == NULL);
		CHECK_FAILS(observe(1, 0, NULL), cases[i].error);
		CHECK_FAILS(stream_open(1), cases[i].error);
	}
	REQUIRE(scenario_write("platform bmg\nkernel 6.15\nend\n") == 0);
	CHECK_EQUAL(query(XE_QUERY_EU_STALL, 0, NULL), 0);
}

/* A probe on the function that a real driver's bind runs through sees the real structures. */
static void a_probe_sees_a_bind(void)
{
	struct xe_vm_create vm = { 0 };
	struct xe_gem_create object = { .size = 0x4000, .placement = 1, .cpu_caching = 1 };
	struct xe_vm_bind bind = { .num_binds = 1, .bind = { .addr = 0x123456000, .range = 0x4000 } };
	char trace[8192];

	if (!file_write(
		    "/sys/kernel/tracing/kprobe_events",
		    "p:bind xe_vm_bind_ioctl vm=+8(%si):u32 count=+20(%si):u32 object=+32(%si):u32 range=+48(%si):x64 "
		    "address=+56(%si):x64\n")) {
		tap_skip("no kprobes here");
		return;
	}
	file_write("/sys/kernel/tracing/events/kprobes/bind/enable", "1");
	CHECK_EQUAL(ioctl(device.fd, XE_IOCTL_VM_CREATE, &vm), 0);
	CHECK_EQUAL(ioctl(device.fd, XE_IOCTL_GEM_CREATE, &object), 0);
	bind.vm_id = vm.vm_id;
	bind.bind.obj = object.handle;
	CHECK_EQUAL(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), 0);
	file_write("/sys/kernel/tracing/events/kprobes/bind/enable", "0");
	REQUIRE(file_read("/sys/kernel/tracing/trace", trace, sizeof(trace)));
	file_write("/sys/kernel/tracing/kprobe_events", "-:bind\n");
	CHECK(strstr(trace, "count=1"));
	CHECK(strstr(trace, "range=0x4000 address=0x123456000"));
	/* Out of the object's end. */
	bind.bind.obj_offset = 0x1000;
	CHECK_FAILS(ioctl(device.fd, XE_IOCTL_VM_BIND, &bind), EINVAL);
}

/* What fentry needs beside the function itself. */
static void the_module_has_type_information(void)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		tap_skip("the kernel has no type information");
	else
		CHECK(access("/sys/kernel/btf/xe", R_OK) == 0);
}

void test_platforms_of_the_double(void)
{
	TAP_RUN(a_platform_shows_itself);
	TAP_RUN(without_sampling_there_is_no_stream);
	TAP_RUN(a_probe_sees_a_bind);
	TAP_RUN(the_module_has_type_information);
}
