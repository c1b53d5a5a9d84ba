/* SPDX-License-Identifier: Apache-2.0 */
/* The container and the pod of a process, by the path of its cgroup. */
#pragma once

#include <stdint.h>

#include "process/container_names.h"

#define POD_UID_SIZE 37

/*
 * Reads the container (see container_names.h) and the UID of the Kubernetes pod in a cgroup's path. Each is "" if there
 * is none. Pure.
 */
void cgroup_names_read(const char *path, char container[CONTAINER_NAME_SIZE], char pod[POD_UID_SIZE]);
/* The same for the cgroups of a running process, of version 1 or 2. */
void process_cgroup_read(uint32_t pid, char container[CONTAINER_NAME_SIZE], char pod[POD_UID_SIZE]);

/*
 * Reads the service that a cgroup's path belongs to: the container, of whose id the first 12 digits are read, as in
 * docker ps; otherwise the innermost service or scope of systemd. "" if there is none. Pure.
 */
void cgroup_service_read(const char *path, char service[CONTAINER_NAME_SIZE]);
/* The same for the cgroups of a running process. */
void process_service_read(uint32_t pid, char service[CONTAINER_NAME_SIZE]);
