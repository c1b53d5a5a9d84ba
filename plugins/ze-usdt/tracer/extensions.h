/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that a program obtains from the driver by zeDriverGetExtensionFunctionAddress: calls of these do not pass
 * the tracing layer. The program gets a wrapper of each that the tracer has to know.
 */
#ifndef ZE_TRACER_EXTENSIONS_H
#define ZE_TRACER_EXTENSIONS_H

#include "level_zero.h"

/* Callback after zeDriverGetExtensionFunctionAddress. */
traced_callback extension_found;

#endif
