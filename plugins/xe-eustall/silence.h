/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GT that gives no rows while another one of its device does: up to Linux 7.0 a GT that was reset alone looks like
 * that, and so does one that nobody gave work, which is started again in vain, and therefore more and more seldom. The
 * watchdog looks after devices all of whose GTs are silent.
 */
#ifndef IAPROF_XE_EUSTALL_SILENCE_H
#define IAPROF_XE_EUSTALL_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

struct silence {
	uint64_t rows;     /* of the GT, at the last look */
	unsigned looks;    /* without a row while another GT had some */
	unsigned patience; /* so many mean that it is dead; 0 before the first look */
};

/* How many looks it takes the first time, and at most. A GT may just have no work for a moment. */
#define SILENCE_PATIENCE 10u
#define SILENCE_PATIENCE_MAX 3600u

/* Once a second. rows: of the GT so far; others: whether another GT gave some since the last look. True once. */
bool silence_look(struct silence *silence, uint64_t rows, bool others);

#endif
