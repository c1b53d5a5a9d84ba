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
/* Also an output that is open already: what is written from here on is for the owner alone. */
void instance_output_private(const struct iaprof_host *host);
int instance_output_publish(const struct iaprof_host *host, struct iaprof_output *output);
void instance_output_discard(const struct iaprof_host *host, struct iaprof_output *output);

/* Before a sink gets a profile: with addresses of the Linux kernel in it, its files are for their owner alone. */
int instance_outputs_protect(struct instance *instance, const struct iaprof_profile *profile);

#endif
