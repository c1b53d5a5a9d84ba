/* SPDX-License-Identifier: Apache-2.0 */
/* A child of iaprof-code-worker: reads one image of device code, and names its instructions with a decoder plugin. */
#ifndef IAPROF_CORE_SYMBOLIZER_WORKER_CODE_SERVICE_H
#define IAPROF_CORE_SYMBOLIZER_WORKER_CODE_SERVICE_H

/*
 * Answers messages until the other end is closed. decoder: struct instance, NULL none. Returns 0, or a negative errno
 * when it cannot go on.
 */
int code_service_serve(void *decoder, int socket);

#endif
