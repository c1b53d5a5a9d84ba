/* SPDX-License-Identifier: Apache-2.0 */
/* Writes packets of any kind, for the files that encode them. */
#pragma once

#include "packets.h"
#include "trace.pb-c.h"

#define CLOCK_NUMBER_REALTIME 1
#define CLOCK_NUMBER_MONOTONIC 3
#define CLOCK_NUMBER_BOOTTIME 6

/* sequence_flags of a packet: the first of its sequence, or one that refers to interned data. */
#define SEQUENCE_BEGINS 1u
#define SEQUENCE_CONTINUES 2u

void packets_write(struct packets *packets, const PerfettoTrace__Packet *packet);
