/* SPDX-License-Identifier: Apache-2.0 */
/* See status_file.h. */
#include "run/status_file.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "run/output/output.h"

int status_file_check(const char *path, char **identity, struct error *error)
{
	struct output_target target = OUTPUT_TARGET_INIT;
	int result = path ? output_target_set(&target, path, error) : 0;
	if (!result && path)
		result = output_target_check(&target, identity, error);
	output_target_release(&target);
	return result ? error_wrap(error, "--status-file") : 0;
}

int status_file_write(const char *path, enum exit_status status, struct error *error)
{
	struct output_target target = OUTPUT_TARGET_INIT;
	CLEANUP_FREE char *identity = NULL;
	char line[16];
	int size = snprintf(line, sizeof line, "%d\n", (int)status);
	int result = output_target_set(&target, path, error);
	if (!result)
		result = output_target_check(&target, &identity, error);
	if (!result)
		result = output_target_hold(&target, error);
	struct iaprof_output *output = result ? NULL : output_open(&target, NULL, 0, error);
	if (!result)
		result = output ? output_write(output, line, (size_t)size, error) : error->code;
	if (output && !result)
		result = output_close(output, error);
	else
		output_discard(output);
	output_target_release(&target);
	return result ? error_wrap(error, "--status-file") : 0;
}
