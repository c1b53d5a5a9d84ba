/* SPDX-License-Identifier: Apache-2.0 */
/* See sender_legacy.h. */
#include "http/sender_legacy.h"

#include <stdlib.h>
#include <string.h>

#include "base/handover.h"

struct item {
	struct sender_legacy legacy;
	char *type;
	bool compressed;
};

static void free_item(struct item *item)
{
	while (item->legacy.requests.first)
		request_queue_remove(&item->legacy.requests, NULL);
	free(item->type);
	free(item);
}

bool sender_legacy_put(const struct sender_options *options, struct sender_legacy *legacy)
{
	struct item *item = calloc(1, sizeof *item);
	if (!item)
		return false;
	*item = (struct item){ .legacy = *legacy, .type = strdup(options->type), .compressed = options->compressed };
	if (item->type && handover_put(options->host->instance_name, item)) {
		legacy->requests = (struct request_queue){ 0 };
		return true;
	}
	item->legacy.requests = (struct request_queue){ 0 };
	free_item(item);
	return false;
}

uint64_t sender_legacy_take(const struct sender_options *options, struct sender_legacy *legacy)
{
	struct item *item = handover_take(options->host->instance_name);
	*legacy = (struct sender_legacy){ 0 };
	if (!item)
		return 0;
	bool fits = item->compressed == options->compressed && !strcmp(item->type, options->type);
	uint64_t dropped = fits ? 0 : request_queue_count(&item->legacy.requests);
	*legacy = item->legacy;
	if (fits)
		item->legacy.requests = (struct request_queue){ 0 };
	else
		legacy->requests = (struct request_queue){ 0 };
	free_item(item);
	return dropped;
}
