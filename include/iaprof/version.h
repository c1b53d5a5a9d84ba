/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/version.h - versions of the interface. The core loads plugins, and reads captures, whose version is in a
 * range: from the oldest that it still supports to its own.
 *
 * Members of structs, values of enums and types of records are appended without a new version: every struct that grows
 * has its size, members that an older plugin's struct lacks are 0, those that a newer one adds are ignored, and a
 * plugin reads no member of the core's structs beyond their size (IAPROF_HAS_MEMBER() in iaprof/layout.h). A flag
 * changes what is asked of the core and cannot be ignored: a plugin or option with a flag that the core does not know
 * is refused. Any other change increments the version.
 */
#ifndef IAPROF_VERSION_H
#define IAPROF_VERSION_H

#define IAPROF_ABI_VERSION 4u    /* structs and functions with which core and plugins call each other */
#define IAPROF_SCHEMA_VERSION 1u /* records (iaprof/record.h), which captures contain, too */

/* The oldest versions that a core with these headers supports. */
#define IAPROF_ABI_VERSION_OLDEST 4u
#define IAPROF_SCHEMA_VERSION_OLDEST 1u

#endif
