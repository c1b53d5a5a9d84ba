/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of send instructions to units outside the core: the unit, and the operation. */
#pragma once

#include "instruction.h"

/*
 * Returns "send.ugm load", "sendc.slm atomic_iadd", "send.gtwy signal_barrier"; only the unit, "send.smpl", if the
 * number of the operation is unknown; "send.ugm indirect" if it is in a register. Never NULL.
 */
const char *gt_message_name(enum gt_generation generation, const struct gt_instruction *instruction);
