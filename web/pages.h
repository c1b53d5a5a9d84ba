/* SPDX-License-Identifier: Apache-2.0 */
/* The pages: an overview of the ring, its numbers, and flame graphs of ranges. */
#pragma once

#include "access.h"
#include "flamegraph.h"
#include "overview.h"

struct pages {
	struct access access;
	struct overview overview;
	struct flamegraph flamegraph;
};

/* An http_handler, whose context is struct pages. */
void pages_answer(void *context, struct http_request *request, struct http_answer *answer);
