/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for what the records of a source mean together, beyond the form of each. */
#pragma once

#include "test_host.h"

/* The first violation of a rule, as one line; empty: there is none. */
struct finding {
	char text[512];
};

/* Each looks at all records that a source has sent. */
typedef void record_rule(const struct test_host *host, struct finding *finding);
record_rule rule_types;    /* types are those of this version */
record_rule rule_enums;    /* members with a value of an enum have one that the headers define */
record_rule rule_declared; /* ids of the source are declared before they are used */
record_rule rule_code;     /* stall samples lie in code that the source has announced */
record_rule rule_progress; /* a source of launches states how far it has come */
record_rule rule_arrays;   /* records state where their arrays begin */
record_rule rule_details;  /* details of stall samples agree with their address space */
