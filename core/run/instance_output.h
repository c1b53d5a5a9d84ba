/* SPDX-License-Identifier: Apache-2.0 */
/* Members of struct iaprof_host for a sink's outputs. */
#pragma once

#include "run/instance.h"

/* Sets these members of the host. */
void instance_output_host(struct iaprof_host *host);

/*
 * Called before a sink receives a profile: if it contains Linux kernel addresses, the files are made readable only by
 * their owner.
 */
int instance_outputs_protect(struct instance *instance, const struct iaprof_profile *profile);

/*
 * Called after finish() of a sink has returned 0: that it has opened an output, unless it has none or showed its data
 * on the terminal, and left none open. Returns 0, or the failure, which is in instance->error.
 */
int instance_outputs_check(struct instance *instance);
