/* SPDX-License-Identifier: Apache-2.0 */
/* NPUs in a folder that looks like sysfs: which devices are some, what they are called, and what is read of their use.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <iaprof/host.h>

#include "device_counters.h"
#include "live_use.h"
#include "../run_suite.h"

#define SECOND UINT64_C(1000000000)
#define FIRST_COUNTER 16u

static char folder[] = "/tmp/iaprof-test-npu-XXXXXX";

/* What the records say: the last value of each counter, and how many records there were of a type. */
static double values[64];
static int value_counts[64], counters, devices;
static char texts[64][64];
static uint32_t text_count;

static uint32_t intern_string(const struct iaprof_host *host, const char *string, size_t length)
{
	ck_assert_uint_lt(text_count, 63);
	snprintf(texts[++text_count], sizeof texts[0], "%.*s", (int)length, string);
	return text_count;
}

static int emit(const struct iaprof_host *host, const struct iaprof_batch *batch)
{
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		const struct iaprof_record_counter_value *value = (const void *)record;
		counters += record->type == IAPROF_RECORD_COUNTER;
		devices += record->type == IAPROF_RECORD_DEVICE;
		if (record->type != IAPROF_RECORD_COUNTER_VALUE)
			continue;
		ck_assert_uint_lt(value->counter, 64);
		values[value->counter] = value->value;
		value_counts[value->counter]++;
	}
	return 0;
}

static void metadata(const struct iaprof_host *host, const char *key, const char *format, ...)
{
}

static const struct iaprof_host host = {
	.size = sizeof host, .intern_string = intern_string, .emit = emit, .metadata = metadata
};

__attribute__((format(printf, 1, 0))) static const char *path_of(const char *format, va_list arguments)
{
	static char path[512];
	int length = snprintf(path, sizeof path, "%s/", folder);
	vsnprintf(path + length, sizeof path - (size_t)length, format, arguments);
	return path;
}

IAPROF_PRINTF(1, 2) static void make_folder(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	char *path = strdup(path_of(format, arguments));
	va_end(arguments);
	for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert(!mkdir(path, 0755) || errno == EEXIST);
		*slash = '/';
	}
	ck_assert(!mkdir(path, 0755) || errno == EEXIST);
	free(path);
}

IAPROF_PRINTF(2, 3) static void make_file(const char *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	FILE *file = fopen(path_of(format, arguments), "w");
	va_end(arguments);
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

IAPROF_PRINTF(2, 3) static void make_link(const char *target, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	ck_assert_int_eq(symlink(target, path_of(format, arguments)), 0);
	va_end(arguments);
}

/* /sys/class/accel/NODE/device -> the PCI device, whose driver is a link, too. */
static void make_device(const char *node, const char *address, const char *driver, const char *device)
{
	char target[256];
	make_folder("bus/pci/drivers/%s", driver);
	make_folder("devices/%s/power", address);
	make_folder("class/accel/%s", node);
	snprintf(target, sizeof target, "../../../devices/%s", address);
	make_link(target, "class/accel/%s/device", node);
	snprintf(target, sizeof target, "../../bus/pci/drivers/%s", driver);
	make_link(target, "devices/%s/driver", address);
	make_file("0x8086\n", "devices/%s/vendor", address);
	make_file(device, "devices/%s/device", address);
}

static void set_up(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	text_count = 0;
	counters = devices = 0;
	memset(value_counts, 0, sizeof value_counts);
}

static void tear_down(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* Only the driver counts, on a machine that has the device; the address, of other machines. */
TEST(a_device_of_a_trace_is_an_npu_by_its_driver)
{
	make_folder("bus/pci/devices");
	ck_assert(npu_is_at(folder, "0000:00:0b.0"));
	ck_assert(!npu_is_at(folder, "0000:03:00.0"));
	ck_assert(!npu_is_at(folder, "0000:0b:00.0"));
	make_device("accel0", "0000:00:0c.0", "intel_vpu", "0x643e\n");
	make_link("../../../devices/0000:00:0c.0", "bus/pci/devices/0000:00:0c.0");
	make_folder("devices/0000:00:0c.0/accel");
	ck_assert(npu_is_at(folder, "0000:00:0c.0"));
	make_device("card0", "0000:00:0b.0", "xe", "0x64a0\n");
	make_link("../../../devices/0000:00:0b.0", "bus/pci/devices/0000:00:0b.0");
	ck_assert(npu_is_at(folder, "0000:00:0b.0")); /* no GPU: the trace is of another machine */
	make_folder("devices/0000:00:0b.0/drm");
	ck_assert(!npu_is_at(folder, "0000:00:0b.0"));
	ck_assert(!npu_is_at(folder, "../0000:00:0b.0"));
}

TEST(only_the_driver_makes_an_npu)
{
	struct npu npus[NPUS_MAX];
	ck_assert_uint_eq(npus_find(folder, npus), 0);
	make_device("accel0", "0000:4d:00.0", "habanalabs", "0x1020\n");
	ck_assert_uint_eq(npus_find(folder, npus), 0);
	make_device("accel1", "0000:00:0b.0", "intel_vpu", "0x643e\n");
	make_folder("class/accel/accel2"); /* has no device */
	ck_assert_uint_eq(npus_find(folder, npus), 1);
	ck_assert_str_eq(npus[0].node, "accel1");
	ck_assert_str_eq(npus[0].address, "0000:00:0b.0");
	ck_assert_str_eq(npus[0].name, "Intel NPU of Lunar Lake");
	ck_assert_uint_eq(npus[0].device, 0x643e);
}

TEST(a_new_product_has_its_number)
{
	struct npu npus[NPUS_MAX];
	make_device("accel0", "0000:00:0b.0", "intel_vpu", "0xbeef\n");
	ck_assert_uint_eq(npus_find(folder, npus), 1);
	ck_assert_str_eq(npus[0].name, "NPU 8086:beef");
}

TEST(numbers_are_whole_or_none)
{
	static const struct {
		const char *text;
		int result;
		uint64_t number;
	} cases[] = { { "12\n", 0, 12 },
		      { "0x10", 0, 16 },
		      { "", -EINVAL, 0 },
		      { "-1\n", -EINVAL, 0 },
		      { "12 MHz\n", -EINVAL, 0 },
		      { "nan\n", -EINVAL, 0 },
		      { "99999999999999999999999\n", -EINVAL, 0 } };
	struct npu npus[NPUS_MAX];
	make_device("accel0", "0000:00:0b.0", "intel_vpu", "0x7d1d\n");
	ck_assert_uint_eq(npus_find(folder, npus), 1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t number = 0;
		make_file(cases[i].text, "devices/0000:00:0b.0/number");
		ck_assert_int_eq(npu_read_number(&npus[0], "number", &number), cases[i].result);
		ck_assert_uint_eq(number, cases[i].number);
	}
	uint64_t number;
	ck_assert_int_eq(npu_read_number(&npus[0], "absent", &number), -ENOENT);
}

static double value_of(enum device_counter counter)
{
	return values[FIRST_COUNTER + counter];
}

TEST(use_is_reported_by_the_second)
{
	struct device_counters usage;
	struct record_batch batch = { 0 };
	make_device("accel0", "0000:00:0b.0", "intel_vpu", "0x643e\n");
	make_file("1000000\n", "devices/0000:00:0b.0/npu_busy_time_us");
	make_file("4096\n", "devices/0000:00:0b.0/npu_memory_utilization");
	make_file("1400\n", "devices/0000:00:0b.0/npu_current_frequency_mhz");
	make_file("suspended\n", "devices/0000:00:0b.0/power/runtime_status");
	ck_assert_int_eq(record_batch_init(&batch, &host), 0);
	device_counters_init(&usage, folder);
	ck_assert_int_eq(device_counters_begin(&usage, &batch, FIRST_COUNTER, 10 * SECOND), 0);
	make_file("1250000\n", "devices/0000:00:0b.0/npu_busy_time_us");
	make_file("active\n", "devices/0000:00:0b.0/power/runtime_status");
	ck_assert_int_eq(device_counters_turn(&usage, &batch, FIRST_COUNTER, 11 * SECOND), 0);
	ck_assert_int_eq(record_batch_flush(&batch), 0);
	ck_assert_int_eq(devices, 1);
	ck_assert_int_eq(counters, DEVICE_COUNTER_COUNT - 1); /* there is no power without PMT */
	ck_assert_double_eq(value_of(DEVICE_COUNTER_BUSY_TIME), 1250000000.0);
	ck_assert_double_eq_tol(value_of(DEVICE_COUNTER_UTILIZATION), 25, 1e-9);
	ck_assert_double_eq(value_of(DEVICE_COUNTER_MEMORY), 4096);
	ck_assert_double_eq(value_of(DEVICE_COUNTER_FREQUENCY), 1.4e9);
	ck_assert_double_eq(value_of(DEVICE_COUNTER_AWAKE), 1);
	/* A file that goes away is counted; one that is lower than before, after a reset, is no utilization. */
	char path[512];
	snprintf(path, sizeof path, "%s/devices/0000:00:0b.0/npu_memory_utilization", folder);
	ck_assert_int_eq(unlink(path), 0);
	make_file("7\n", "devices/0000:00:0b.0/npu_busy_time_us");
	ck_assert_int_eq(device_counters_turn(&usage, &batch, FIRST_COUNTER, 12 * SECOND), 0);
	ck_assert_int_eq(record_batch_flush(&batch), 0);
	ck_assert_uint_eq(usage.failures, 1);
	ck_assert_int_eq(value_counts[FIRST_COUNTER + DEVICE_COUNTER_UTILIZATION], 1);
	record_batch_free(&batch);
}

/* Linux 6.3 has none of the files, 7.x has the frequencies in a folder. */
TEST(files_differ_between_releases)
{
	struct device_counters usage;
	struct record_batch batch = { 0 };
	make_device("accel0", "0000:00:0b.0", "intel_vpu", "0x7d1d\n");
	ck_assert_int_eq(record_batch_init(&batch, &host), 0);
	device_counters_init(&usage, folder);
	ck_assert_int_eq(device_counters_begin(&usage, &batch, FIRST_COUNTER, SECOND), 0);
	ck_assert_int_eq(record_batch_flush(&batch), 0);
	ck_assert_int_eq(counters, 0);
	make_folder("devices/0000:00:0b.0/freq");
	make_file("1902\n", "devices/0000:00:0b.0/freq/current_freq");
	device_counters_init(&usage, folder);
	ck_assert_int_eq(device_counters_begin(&usage, &batch, FIRST_COUNTER, SECOND), 0);
	ck_assert_int_eq(record_batch_flush(&batch), 0);
	ck_assert_int_eq(counters, 1);
	ck_assert_double_eq(value_of(DEVICE_COUNTER_FREQUENCY), 1.902e9);
	ck_assert_uint_eq(usage.failures, 0);
	record_batch_free(&batch);
}

/* 2 s with 3 J and with 1 J more; the counter of 32 bits wraps in the second of these. */
TEST(power_is_energy_by_time)
{
	static const uint32_t joule = 1u << 14;
	static const uint32_t units[] = { 0u - 5 * joule, 0u - 2 * joule, 0u - joule, joule };
	static const double watts[] = { 0, 1.5, 0.5, 1 };
	struct device_counters usage;
	struct record_batch batch = { 0 };
	make_device("accel0", "0000:00:0b.0", "intel_vpu", "0x643e\n");
	make_folder("class/intel_pmt/telem0");
	make_file("0x130670b1\n", "class/intel_pmt/telem0/guid");
	make_folder("class/intel_pmt/telem1");
	make_file("0x3072005\n", "class/intel_pmt/telem1/guid");
	ck_assert_int_eq(record_batch_init(&batch, &host), 0);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		char path[600];
		snprintf(path, sizeof path, "%s/class/intel_pmt/telem1/telem", folder);
		FILE *file = fopen(path, "w");
		ck_assert_ptr_nonnull(file);
		ck_assert_int_eq(fseek(file, 0x5d0, SEEK_SET), 0);
		ck_assert_uint_eq(fwrite(&units[i], sizeof units[i], 1, file), 1);
		fclose(file);
		if (i == 0)
			device_counters_init(&usage, folder);
		uint64_t time = (2 * i + 1) * SECOND;
		ck_assert_int_eq(i ? device_counters_turn(&usage, &batch, FIRST_COUNTER, time)
				   : device_counters_begin(&usage, &batch, FIRST_COUNTER, time),
				 0);
		ck_assert_int_eq(record_batch_flush(&batch), 0);
		ck_assert_double_eq_tol(value_of(DEVICE_COUNTER_POWER), watts[i], 1e-9);
		ck_assert_int_eq(value_counts[FIRST_COUNTER + DEVICE_COUNTER_POWER], (int)i);
	}
	ck_assert_int_eq(counters, 1);
	ck_assert_uint_eq(usage.failures, 0);
	record_batch_free(&batch);
}

static void add_user(void *context, uint32_t pid)
{
	*(uint32_t *)context = *(uint32_t *)context * 100 + pid;
}

/* Process 12 has an NPU open twice, 13 another accelerator, 14 a GPU, and 15 an NPU of a driver without fdinfo. */
TEST(users_have_the_device_open)
{
	static const struct {
		const char *process, *file, *target, *text;
	} descriptors[] = {
		{ "12", "0", "/dev/null", "pos:\t0\n" },
		{ "12", "5", "/dev/accel/accel0",
		  "pos:\t0\ndrm-driver:\tintel_vpu\ndrm-total-memory:\t9 MiB\ndrm-resident-memory:\t3 MiB\n" },
		{ "12", "6", "/dev/accel/accel0", "drm-driver:\tintel_vpu\ndrm-resident-memory:\t512 KiB\n" },
		{ "13", "3", "/dev/accel/accel1", "drm-driver:\tqaic\ndrm-resident-memory:\t1 MiB\n" },
		{ "14", "3", "/dev/dri/renderD128", "drm-driver:\txe\ndrm-resident-memory:\t1 MiB\n" },
		{ "15", "3", "/dev/accel/accel0", "pos:\t0\n" },
	};
	uint32_t users = 0;
	uint64_t bytes = 1;
	for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; i++) {
		make_folder("%s/fd", descriptors[i].process);
		make_folder("%s/fdinfo", descriptors[i].process);
		make_link(descriptors[i].target, "%s/fd/%s", descriptors[i].process, descriptors[i].file);
		make_file(descriptors[i].text, "%s/fdinfo/%s", descriptors[i].process, descriptors[i].file);
	}
	npu_users_find(folder, add_user, &users);
	ck_assert(users == 1215 || users == 1512);
	ck_assert(npu_user_memory(folder, 12, &bytes));
	ck_assert_uint_eq(bytes, 3 * 1048576 + 512 * 1024);
	ck_assert(!npu_user_memory(folder, 13, &bytes));
	ck_assert(!npu_user_memory(folder, 14, &bytes));
	ck_assert(!npu_user_memory(folder, 15, &bytes));
	ck_assert(!npu_user_memory(folder, 16, &bytes));
}

TEST(memory_is_a_number_with_a_unit)
{
	static const char *const wrong[] = { "",
					     "drm-resident-memory:",
					     "drm-resident-memory:\tMiB",
					     "drm-resident-memory:\t1 miles",
					     "drm-resident-memory:\t-1 KiB",
					     "drm-resident-memory:\t18446744073709551615 KiB",
					     "drm-resident-memory-x:\t1" };
	uint64_t bytes = 1;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(!drm_memory_parse(wrong[i], &bytes) && bytes == 1, "%s", wrong[i]);
	ck_assert(drm_memory_parse("a\ndrm-resident-memory:\t4096", &bytes));
	ck_assert(drm_memory_parse("drm-resident-memory:\t2 GiB\ndrm-x:\t1 KiB\n", &bytes));
	ck_assert_uint_eq(bytes, 1 + 4096 + (UINT64_C(2) << 30));
	bytes = UINT64_MAX;
	ck_assert(!drm_memory_parse("drm-resident-memory:\t1", &bytes));
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
