/* SPDX-License-Identifier: Apache-2.0 */
/* Identifies the container of a cgroup by the name of its folder, which the container runtime chose. */
#pragma once

#include <stdbool.h>

#define CONTAINER_NAME_SIZE 256

/*
 * Extracts the id or name of a container from the name of its cgroup's folder. An id has 64 hexadecimal digits:
 * "docker-ID.scope", "libpod-ID.scope", "cri-containerd-ID.scope", "crio-ID.scope" or "ID". Names occur in
 * "systemd-nspawn@NAME.service", "machine-NAME.scope" and "lxc.payload.NAME". Returns false if the folder is not that
 * of a container. Pure.
 */
bool container_name_read(const char *folder, char name[CONTAINER_NAME_SIZE]);
