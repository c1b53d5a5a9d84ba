/* SPDX-License-Identifier: Apache-2.0 */
/* What people read of a finding: a title made of its name, and its text as sentences. */
#pragma once

#include "text/text.h"

/* Appends the title of a finding by its name: "NPU IPC storm" for "npu-ipc-storm". */
void finding_append_title(struct text *text, const char *name);

/* Appends the text of a finding with a capital letter first and a full stop last. */
void finding_append_sentence(struct text *text, const char *finding);
