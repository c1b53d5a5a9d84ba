// SPDX-License-Identifier: Apache-2.0
/*
 * Does an xe device keep the rules of the driver's interface? Runs on a real one too: tests that need to know what the
 * device will do are left out there. With an argument only the tests run whose names contain it.
 */
#include <stdio.h>
#include <unistd.h>

#include "tap.h"
#include "xe_device.h"
#include "xe_tests.h"

int main(int argument_count, char **arguments)
{
	tap_choose(argument_count > 1 ? arguments[1] : NULL);
	if (!device_find()) {
		printf("1..0 # SKIP no xe device with EU stall sampling\n");
		return 77;
	}
	test_queries();
	test_open();
	test_rights();
	test_stream();
	if (device.is_double) {
		test_platforms_of_the_double();
		test_reads_of_the_double();
		test_sharing_of_the_double();
		test_rows_of_the_double();
		test_resets_of_the_double();
		test_scenarios_of_the_double();
		test_jobs_of_the_double();
		test_life_of_the_double();
	}
	return tap_finish();
}
