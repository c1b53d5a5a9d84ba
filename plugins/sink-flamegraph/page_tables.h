/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that sources send as notes (FINDING in iaprof/record.h), for the page. */
#pragma once

#include <iaprof/profile.h>

#include "text/text.h"

/* Appends ,"tables":[TABLE...]: a table is an array of rows, the titles first, and a row an array of cells. */
void page_tables_append(struct text *text, const struct iaprof_activity *activity);
