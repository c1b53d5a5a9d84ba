/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of profiles, for the sinks that serve or send metrics. */
#include <check.h>
#include <string.h>

#include "metrics/metrics.h"
#include "plugin/test_profile.h"
#include "../run_suite.h"

static const struct metric_type *type_of(const struct metrics *metrics, const char *name)
{
	for (size_t i = 0; i < metrics->types.count; i++)
		if (!strcmp(metrics->types.items[i].name.text, name))
			return &metrics->types.items[i];
	ck_abort_msg("no %s", name);
}

/* Otherwise, each gap between executions would be a sample that is not matched. */
TEST(idle_time_is_no_sample)
{
	struct test_profile profile = { 0 };
	struct metrics metrics;
	uint32_t idle = test_profile_value_type(&profile, "gpu-idle", "nanoseconds");
	uint32_t time = test_profile_value_type(&profile, "gpu-time", "nanoseconds");
	test_profile_add(&profile, "[GPU idle]", idle, 9);
	test_profile_add(&profile, "model;main", time, 7);
	ck_assert(metrics_init(&metrics, true));
	metrics_take_profile(&metrics, test_profile_get(&profile));
	ck_assert_uint_eq(type_of(&metrics, "gpu-idle")->samples, 0);
	ck_assert_uint_eq(type_of(&metrics, "gpu-idle")->value, 9);
	ck_assert_uint_eq(type_of(&metrics, "gpu-time")->samples, 1);
	ck_assert_uint_eq(type_of(&metrics, "gpu-time")->matched, 1);
	ck_assert_uint_eq(type_of(&metrics, "gpu-time")->value, 7);
	metrics_free(&metrics);
	test_profile_free(&profile);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
