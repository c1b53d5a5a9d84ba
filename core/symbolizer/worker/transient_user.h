/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User ids for services that exist only while they run (systemd.exec(5), DynamicUser=): no other process has such an
 * id, so only root can signal a helper that has one.
 */
#pragma once

#define TRANSIENT_USER_FIRST 61184u
#define TRANSIENT_USER_COUNT 4336u
