/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the launches that a drained set of maps holds, and of the executions of command lists. */
#ifndef IAPROF_ZE_USDT_LAUNCHES_H
#define IAPROF_ZE_USDT_LAUNCHES_H

struct drain;

/* What executed at once; what was appended to lists is put into their recordings. 0 or a negative errno. */
int launches_emit(struct drain *drain);
/* What the executed lists launched. 0 or a negative errno. */
int executions_emit(struct drain *drain);

#endif
