/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts between frames in records, whose texts are string ids, and frames of the profile. The record of a program
 * has its pid instead of an address (include/iaprof/record.h). Any thread.
 */
#pragma once

#include <iaprof/profile.h>
#include <iaprof/record.h>

#include "bus/intern.h"
#include "bus/result_stream.h"

/* For a record of the result stream. */
struct iaprof_record_frame frame_to_record(const struct iaprof_frame *frame, struct result_stream *results);

/* The texts are valid as long as intern. */
struct iaprof_frame frame_from_record(const struct iaprof_record_frame *record, struct intern *intern);
