/* SPDX-License-Identifier: Apache-2.0 */
/* See ze_records.h. */
#include "ze_records.h"

#include <check.h>
#include <string.h>

const struct iaprof_record_launch *ze_launch_next(struct test_host *host, const struct iaprof_record_launch *launch)
{
	return (const void *)test_host_next(host, launch ? &launch->header : NULL, IAPROF_RECORD_LAUNCH);
}

const struct iaprof_record_kernel *ze_kernel(struct test_host *host, uint32_t id)
{
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_KERNEL)))
		if (((const struct iaprof_record_kernel *)record)->id == id)
			return (const void *)record;
	ck_abort_msg("kernel %u was not announced", id);
}

uint64_t ze_launches(struct test_host *host, const struct ze_fire *fire, const char *name, char site, uint32_t depth)
{
	uint64_t count = 0;

	FOR_EACH_ZE_LAUNCH(launch, host)
	{
		const struct iaprof_record_kernel *kernel = ze_kernel(host, launch->kernel);
		const struct iaprof_record_stack *stack = test_host_stack(host, launch->user_stack);
		ck_assert_uint_eq(kernel->pid, launch->pid);
		ck_assert_uint_le(launch->first_time, launch->header.time);
		ck_assert_ptr_null(test_host_stack(host, launch->kernel_stack));
		if (launch->pid != (uint32_t)fire->pid ||
		    (name && strcmp(test_host_string(host, kernel->name), name) != 0))
			continue;
		ck_assert_ptr_nonnull(stack);
		ck_assert_uint_eq(stack->pid, launch->pid);
		if (site &&
		    (stack->count <= depth || ze_fire_site(fire, iaprof_record_stack_addresses(stack)[depth]) != site))
			continue;
		count += launch->count;
	}
	return count;
}

uint64_t ze_kernels(struct test_host *host)
{
	uint64_t count = 0;
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, IAPROF_RECORD_KERNEL));)
		count++;
	return count;
}

uint64_t ze_counter(struct test_host *host, const char *name)
{
	uint32_t id = 0;
	double value = -1;

	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));) {
		const struct iaprof_record_counter *counter = (const void *)record;
		const struct iaprof_record_counter_value *set = (const void *)record;
		if (record->type == IAPROF_RECORD_COUNTER && strcmp(test_host_string(host, counter->name), name) == 0)
			id = counter->id;
		else if (record->type == IAPROF_RECORD_COUNTER_VALUE && id && set->counter == id)
			value = set->value;
	}
	ck_assert_msg(value >= 0, "counter %s has no value", name);
	return (uint64_t)value;
}
