/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of iaprof, for main(), which passes it to the core: see bus/engine.h. */
#pragma once

#include "bus/engine.h"

extern const struct engine_functions engine_functions;
