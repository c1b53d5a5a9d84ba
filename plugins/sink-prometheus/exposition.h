/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in the text format of Prometheus, version 0.0.4. */
#pragma once

#include "metrics/metrics.h"
#include "metrics/own_cost.h"
#include "text/text.h"

#define EXPOSITION_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Unknown values have no line. */
void exposition_append(struct text *text, const struct metrics *metrics, const struct own_cost *cost);
