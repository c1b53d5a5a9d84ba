/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that a test chose as the records of a run, for sink capture: what --replay makes of them is that profile. */
#pragma once

#include <iaprof/profile.h>

#include "../plugin/test_host.h"

void capture_records_send(struct test_host *host, const struct iaprof_profile *profile);
