/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of traces that threads publish as OTEP 4947 has it, in launcher-spans. Other programs have no variable. */
#ifndef LEVEL_ZERO_SPANS_H
#define LEVEL_ZERO_SPANS_H

#define SPANS_MAX 64u

/*
 * Publishes a span of the running thread; 0: none. Of the 16 bytes of the trace's id, all are the thread's number; of
 * the 8 bytes of the span's id, the last one is the span.
 */
void span_publish(unsigned thread, unsigned span);

#endif
