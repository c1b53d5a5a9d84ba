/* SPDX-License-Identifier: Apache-2.0 */
/* See client_scan.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client_scan.h"

/* xe writes some 1,500 bytes for a client; more is not read. */
#define FDINFO_SIZE 8192u

int client_scan_init(struct client_scan *scan, const char *proc)
{
	*scan = (struct client_scan){ .proc = open(proc, O_PATH | O_DIRECTORY | O_CLOEXEC) };
	return scan->proc < 0 ? -errno : 0;
}

void client_scan_free(struct client_scan *scan)
{
	if (scan->proc >= 0)
		close(scan->proc);
	free(scan->clients);
	*scan = (struct client_scan){ .proc = -1 };
}

static bool usage_read(const struct client_scan *scan, uint32_t pid, uint32_t descriptor, struct client_usage *usage)
{
	char path[64], text[FDINFO_SIZE];
	size_t size = 0;

	snprintf(path, sizeof path, "%u/fdinfo/%u", pid, descriptor);
	int file = openat(scan->proc, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0)
		return false;
	while (size < sizeof text) {
		ssize_t got = read(file, text + size, sizeof text - size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		size += (size_t)got;
	}
	close(file);
	return client_usage_parse(text, size, usage);
}

/* The entry of a folder as a number; 0 for another name. */
static bool entry_number(const struct dirent *entry, uint32_t *number)
{
	char *end;

	if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
		return false;
	errno = 0;
	unsigned long value = strtoul(entry->d_name, &end, 10);
	*number = (uint32_t)value;
	return !*end && !errno && value <= INT32_MAX;
}

static DIR *folder_open(int parent, const char *path)
{
	int folder = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *result = folder >= 0 ? fdopendir(folder) : NULL;

	if (!result && folder >= 0)
		close(folder);
	return result;
}

/* The client that a descriptor is known to be of; NULL none. */
static struct client *descriptor_find(const struct client_scan *scan, uint32_t pid, uint32_t descriptor)
{
	for (size_t i = 0; i < scan->count; i++)
		if (scan->clients[i].pid == pid && scan->clients[i].descriptor == descriptor)
			return &scan->clients[i];
	return NULL;
}

static bool client_is_known(const struct client_scan *scan, const struct client_usage *usage)
{
	for (size_t i = 0; i < scan->count; i++)
		if (scan->clients[i].device != CLIENT_FOREIGN && scan->clients[i].usage.client == usage->client &&
		    strcmp(scan->clients[i].usage.address, usage->address) == 0)
			return true;
	return false;
}

static uint32_t device_find(const struct client_scan *scan, const struct client_usage *usage)
{
	for (uint32_t i = 0; i < scan->address_count; i++)
		if (strcmp(scan->addresses[i], usage->address) == 0)
			return i;
	return CLIENT_FOREIGN;
}

static void client_add(struct client_scan *scan, uint32_t pid, uint32_t descriptor, uint64_t now)
{
	struct client client = { .pid = pid, .descriptor = descriptor, .time = now, .seen = true };
	struct client *known = descriptor_find(scan, pid, descriptor);

	if (known)
		known->seen = true;
	/* Descriptors that were duplicated or inherited are the same client: the first process that has it, has it. */
	if (known || !usage_read(scan, pid, descriptor, &client.usage) || client_is_known(scan, &client.usage))
		return;
	client.device = device_find(scan, &client.usage);
	if (scan->count == scan->capacity) {
		size_t capacity = scan->capacity ? scan->capacity * 2 : 16;
		struct client *larger = NULL;
		if (capacity <= CLIENTS_MAX)
			larger = realloc(scan->clients, capacity * sizeof *larger);
		if (!larger) {
			scan->left_out++;
			return;
		}
		scan->clients = larger;
		scan->capacity = capacity;
	}
	scan->clients[scan->count++] = client;
}

/* The name of what a descriptor is of tells: unlike stat(), it asks no file system, which may not answer. */
static bool descriptor_is_gpu(int folder, const char *name)
{
	static const char nodes[] = "/dev/dri/";
	char path[sizeof nodes - 1];

	return readlinkat(folder, name, path, sizeof path) == (ssize_t)sizeof path &&
	       memcmp(path, nodes, sizeof path) == 0;
}

static void process_search(struct client_scan *scan, uint32_t pid, uint64_t now)
{
	char path[32];

	snprintf(path, sizeof path, "%u/fd", pid);
	DIR *folder = folder_open(scan->proc, path);
	if (!folder)
		return;
	for (const struct dirent *entry; (entry = readdir(folder));) {
		uint32_t descriptor;
		if (entry_number(entry, &descriptor) && descriptor_is_gpu(dirfd(folder), entry->d_name))
			client_add(scan, pid, descriptor, now);
	}
	closedir(folder);
}

/* Forgets descriptors of other devices that are gone: the same numbers may be of wanted ones next. */
static void foreign_forget(struct client_scan *scan)
{
	size_t kept = 0;

	for (size_t i = 0; i < scan->count; i++)
		if (scan->clients[i].device != CLIENT_FOREIGN || scan->clients[i].seen)
			scan->clients[kept++] = scan->clients[i];
	scan->count = kept;
}

static size_t wanted_count(const struct client_scan *scan)
{
	size_t count = 0;

	for (size_t i = 0; i < scan->count; i++)
		count += scan->clients[i].device != CLIENT_FOREIGN;
	return count;
}

size_t client_scan_search_process(struct client_scan *scan, uint32_t pid, uint64_t now)
{
	size_t before = wanted_count(scan);

	process_search(scan, pid, now);
	return wanted_count(scan) - before;
}

size_t client_scan_search(struct client_scan *scan, uint64_t now)
{
	size_t before = wanted_count(scan);

	DIR *folder = folder_open(scan->proc, ".");
	if (!folder)
		return 0;
	for (size_t i = 0; i < scan->count; i++)
		scan->clients[i].seen = false;
	for (const struct dirent *entry; (entry = readdir(folder));) {
		uint32_t pid;
		if (entry_number(entry, &pid))
			process_search(scan, pid, now);
	}
	closedir(folder);
	foreign_forget(scan);
	return wanted_count(scan) - before;
}

/* Reads one client again. Returns 1 when it is gone: its place may be another's by now. */
static int client_update(struct client_scan *scan, struct client *client, uint64_t now, client_busy_callback *callback,
			 void *context)
{
	struct client_usage usage;

	if (!usage_read(scan, client->pid, client->descriptor, &usage) || usage.client != client->usage.client ||
	    strcmp(usage.address, client->usage.address) != 0)
		return 1;
	uint64_t busy = now > client->time ? client_usage_busy(&client->usage, &usage, now - client->time) : 0;
	int result = busy ? callback(context, client, now, busy) : 0;
	client->usage = usage;
	client->time = now;
	client->read = true;
	return result < 0 ? result : 0;
}

int client_scan_read(struct client_scan *scan, uint64_t now, client_busy_callback *callback, void *context)
{
	size_t kept = 0;
	int result = 0;

	for (size_t i = 0; i < scan->count; i++) {
		struct client *client = &scan->clients[i];
		bool is_read = !result && client->device != CLIENT_FOREIGN;
		int gone = is_read ? client_update(scan, client, now, callback, context) : 0;
		if (gone < 0)
			result = gone;
		if (gone <= 0)
			scan->clients[kept++] = *client;
	}
	scan->count = kept;
	return result;
}
