/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a function of the CPU is in the answer of a profile: a function of the program, which the answer can name, or
 * code that such a function calls, which is added up by what it does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "text/text.h"

/*
 * Returns how well a function describes where time goes: of a stack, it is the innermost function of the highest rank.
 * 0: it does not. Python code of the program comes before its native code, which in a Python program is usually an
 * extension's, and the program itself before packages that it uses.
 */
uint32_t code_site_rank(const struct iaprof_frame *frame);
#define CODE_SITE_RANK_BITS 3u
/* The lowest rank: Python code of libraries, for programs of nothing else. */
#define CODE_SITE_RANK_LIBRARY 1u

enum code_work {
	CODE_WORK_RUNTIME = 1u << 0, /* the name counts only if nothing below it has a better one */
	CODE_WORK_WAIT = 1u << 1,    /* states what a wait is for */
	CODE_WORK_IDLE = 1u << 2     /* waits below it are for work */
};

/*
 * Appends what a function below one of the program does: "allocation", "Linux kernel", the name of a library; of the
 * frame of a wait, what it is for: "locks". Appends nothing for other frames. Returns flags of enum code_work.
 * code_class: by the rules of the run; may be NULL.
 */
uint32_t code_work_append(struct text *text, const struct iaprof_frame *frame, const char *code_class);
