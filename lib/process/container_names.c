/* SPDX-License-Identifier: Apache-2.0 */
/* See container_names.h. */
#include "process/container_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_LENGTH 64

/* Prefixes and suffixes of the folders of containers with names. */
static const struct {
	const char *before, *after;
} forms[] = {
	{ "systemd-nspawn@", ".service" },
	{ "machine-", ".scope" },
	{ "lxc.payload.", "" },
};

/* Decodes "\xHH" of systemd's unit names. */
static void unescape(const char *text, size_t length, char name[CONTAINER_NAME_SIZE])
{
	size_t size = 0;
	for (size_t i = 0; i < length && size < CONTAINER_NAME_SIZE - 1; i++) {
		char digits[3] = "";
		if (length - i > 3 && text[i] == '\\' && text[i + 1] == 'x') {
			memcpy(digits, text + i + 2, 2);
			char *end;
			unsigned long byte = strtoul(digits, &end, 16);
			if (end == digits + 2 && byte) {
				name[size++] = (char)byte;
				i += 3;
				continue;
			}
		}
		name[size++] = text[i];
	}
	name[size] = '\0';
}

bool container_name_read(const char *folder, char name[CONTAINER_NAME_SIZE])
{
	static const char scope[] = ".scope";
	size_t length = strlen(folder);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		size_t before = strlen(forms[i].before), after = strlen(forms[i].after);
		if (length <= before + after || strncmp(folder, forms[i].before, before) != 0 ||
		    strcmp(folder + length - after, forms[i].after) != 0)
			continue;
		unescape(folder + before, length - before - after, name);
		return true;
	}
	if (length > sizeof scope - 1 && strcmp(folder + length - (sizeof scope - 1), scope) == 0)
		length -= sizeof scope - 1;
	if (length < ID_LENGTH)
		return false;
	const char *id = folder + length - ID_LENGTH;
	bool is_separate = id == folder || id[-1] == '-' || id[-1] == ':';
	/* conmon, the monitor of Podman and CRI-O, has a cgroup of its own. */
	bool is_monitor = id - folder >= 7 && strncmp(id - 7, "conmon-", 7) == 0;
	if (!is_separate || is_monitor || strspn(id, "0123456789abcdef") < ID_LENGTH)
		return false;
	snprintf(name, CONTAINER_NAME_SIZE, "%.*s", ID_LENGTH, id);
	return true;
}
