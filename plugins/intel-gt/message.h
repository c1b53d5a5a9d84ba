/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that send instructions give to the units outside of the core: to which unit, and what to do there. */
#ifndef IAPROF_PLUGINS_INTEL_GT_MESSAGE_H
#define IAPROF_PLUGINS_INTEL_GT_MESSAGE_H

#include "instruction.h"

/*
 * "send.ugm load", "sendc.slm atomic_iadd", "send.gtwy signal_barrier"; only the unit, "send.smpl", where the
 * operation's number is not known; "send.ugm indirect" where it is in a register. Never NULL.
 */
const char *gt_message_name(enum gt_generation generation, const struct gt_instruction *instruction);

#endif
