/* SPDX-License-Identifier: Apache-2.0 */
/* A child of iaprof-code-worker: reads one image of device code, with a decoder plugin for its instructions. */
#pragma once

/*
 * Answers messages until the other end is closed. decoder: a struct decoder, or NULL. Returns 0, or a negative errno
 * after a failure.
 */
int code_service_serve(void *decoder, int socket);
