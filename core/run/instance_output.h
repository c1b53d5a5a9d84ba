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
