/* SPDX-License-Identifier: Apache-2.0 */
/* The members of struct iaprof_host that are about a sink's outputs. */
#ifndef IAPROF_CORE_PLUGIN_INSTANCE_OUTPUT_H
#define IAPROF_CORE_PLUGIN_INSTANCE_OUTPUT_H

#include "plugin/instance.h"

struct iaprof_output *instance_output_open(const struct iaprof_host *host, const char *variant);
int instance_output_is_single(const struct iaprof_host *host);
int instance_output_write(const struct iaprof_host *host, struct iaprof_output *output, const void *data, size_t size);
int instance_output_flush(const struct iaprof_host *host, struct iaprof_output *output);
int instance_output_close(const struct iaprof_host *host, struct iaprof_output *output);
void instance_output_discard(const struct iaprof_host *host, struct iaprof_output *output);

#endif
