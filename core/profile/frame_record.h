/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames as records hold them, whose texts are ids, and as the profile holds them. The record of a program has its pid
 * in the place of the address (include/iaprof/record.h). Any thread.
 */
#ifndef IAPROF_CORE_PROFILE_FRAME_RECORD_H
#define IAPROF_CORE_PROFILE_FRAME_RECORD_H

#include <iaprof/profile.h>
#include <iaprof/record.h>

#include "bus/intern.h"

struct iaprof_record_frame frame_to_record(const struct iaprof_frame *frame, struct intern *intern);

/* Its texts live as long as intern. */
struct iaprof_frame frame_from_record(const struct iaprof_record_frame *record, struct intern *intern);

#endif
