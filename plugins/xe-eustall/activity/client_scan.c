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

/* xe writes about 1,500 bytes per client. */
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
	free(scan->clients.items);
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

/* Parses a directory entry as a number. Returns false for other names. */
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

/* Returns the client that a descriptor belongs to, or NULL. */
static struct client *descriptor_find(const struct client_scan *scan, uint32_t pid, uint32_t descriptor)
{
	for (size_t i = 0; i < scan->clients.count; i++)
		if (scan->clients.items[i].pid == pid && scan->clients.items[i].descriptor == descriptor)
			return &scan->clients.items[i];
	return NULL;
}

static bool client_is_known(const struct client_scan *scan, const struct client_usage *usage)
{
	for (size_t i = 0; i < scan->clients.count; i++)
		if (scan->clients.items[i].device != CLIENT_FOREIGN &&
		    scan->clients.items[i].usage.client == usage->client &&
		    strcmp(scan->clients.items[i].usage.address, usage->address) == 0)
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
	/* Duplicated and inherited descriptors are the same client, attributed to the first process found. */
	if (known || !usage_read(scan, pid, descriptor, &client.usage) || client_is_known(scan, &client.usage))
		return;
	client.device = device_find(scan, &client.usage);
	if (scan->clients.count >= CLIENTS_MAX || !array_push(&scan->clients, client))
		scan->left_out++;
}

/* Checks the link's target: unlike stat(), this does not access the file system, which may not respond. */
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

/* Forgets closed descriptors of other devices: their numbers may be reused for sampled devices. */
static void foreign_forget(struct client_scan *scan)
{
	size_t kept = 0;

	for (size_t i = 0; i < scan->clients.count; i++)
		if (scan->clients.items[i].device != CLIENT_FOREIGN || scan->clients.items[i].seen)
			scan->clients.items[kept++] = scan->clients.items[i];
	scan->clients.count = kept;
}

static size_t wanted_count(const struct client_scan *scan)
{
	size_t count = 0;

	for (size_t i = 0; i < scan->clients.count; i++)
		count += scan->clients.items[i].device != CLIENT_FOREIGN;
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
	for (size_t i = 0; i < scan->clients.count; i++)
		scan->clients.items[i].seen = false;
	for (const struct dirent *entry; (entry = readdir(folder));) {
		uint32_t pid;
		if (entry_number(entry, &pid))
			process_search(scan, pid, now);
	}
	closedir(folder);
	foreign_forget(scan);
	return wanted_count(scan) - before;
}

/* Reads the statistics of a client. Returns 1 if it is gone; its descriptor may have been reused. */
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

	for (size_t i = 0; i < scan->clients.count; i++) {
		struct client *client = &scan->clients.items[i];
		bool is_read = !result && client->device != CLIENT_FOREIGN;
		int gone = is_read ? client_update(scan, client, now, callback, context) : 0;
		if (gone < 0)
			result = gone;
		if (gone <= 0)
			scan->clients.items[kept++] = *client;
	}
	scan->clients.count = kept;
	return result;
}
