/* SPDX-License-Identifier: Apache-2.0 */
/* What a process gives up by itself: its user, capabilities and resources. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/*
 * Gives up all capabilities but these, and new ones at execve(2) (no_new_privs). inherits: programs that it executes
 * keep theirs. Returns 0 or a negative errno.
 */
int privileges_keep(const unsigned *capabilities, size_t count, bool inherits);
/*
 * Changes the user to a transient one: with an id for services that exist only while they run (systemd.exec(5),
 * DynamicUser=), which no other process has, so only root can signal it. may_be_shared: if the user namespace has no
 * such ids, to the overflow user. Async-signal-safe. Returns 0 or a negative errno.
 */
int privileges_change_user(bool may_be_shared);
/* Lowers a resource limit, unless it is lower already. Async-signal-safe. Returns 0 or a negative errno. */
int privileges_limit(int resource, rlim_t most);
