/* SPDX-License-Identifier: Apache-2.0 */
/* What the test host does for its instance: the members of struct iaprof_host. */
#pragma once

#include "test_host.h"

struct iaprof_host test_services(struct test_host *host);
