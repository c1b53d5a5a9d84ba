/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof/version.h - versions of the interface. The core loads only plugins of its own two versions, and reads only
 * captures of its own schema.
 *
 * Members of structs, values of enums and types of records are appended without a new version: every struct that grows
 * has its size, members that an older plugin's struct lacks are 0, those that a newer one adds are ignored, and a
 * plugin reads no member of the core's structs beyond their size. Any other change increments the version.
 */
#ifndef IAPROF_VERSION_H
#define IAPROF_VERSION_H

#define IAPROF_ABI_VERSION 3u    /* structs and functions with which core and plugins call each other */
#define IAPROF_SCHEMA_VERSION 1u /* records (iaprof/record.h), which captures contain, too */

#endif
