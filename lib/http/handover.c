/* SPDX-License-Identifier: Apache-2.0 */
/* See handover.h. */
#include "http/handover.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct legacy {
	char *instance, *type;
	bool compressed;
	struct request_queue requests;
	struct legacy *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct legacy *legacies;

static void free_legacy(struct legacy *legacy)
{
	while (legacy->requests.first)
		request_queue_remove(&legacy->requests, NULL);
	free(legacy->instance);
	free(legacy->type);
	free(legacy);
}

bool handover_leave(const char *instance, const char *type, bool compressed, struct request_queue *requests)
{
	struct legacy *legacy = calloc(1, sizeof *legacy);
	if (!legacy)
		return false;
	*legacy = (struct legacy){ .instance = strdup(instance), .type = strdup(type), .compressed = compressed };
	if (!legacy->instance || !legacy->type) {
		free_legacy(legacy);
		return false;
	}
	request_queue_move(&legacy->requests, requests);
	pthread_mutex_lock(&lock);
	legacy->next = legacies;
	legacies = legacy;
	pthread_mutex_unlock(&lock);
	return true;
}

/* Returns NULL if the instance left nothing. */
static struct legacy *find(const char *instance)
{
	struct legacy **at = &legacies;
	pthread_mutex_lock(&lock);
	while (*at && strcmp((*at)->instance, instance) != 0)
		at = &(*at)->next;
	struct legacy *found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&lock);
	return found;
}

uint64_t handover_take(const char *instance, const char *type, bool compressed, struct request_queue *requests)
{
	struct legacy *legacy = find(instance);
	if (!legacy)
		return 0;
	bool fits = legacy->compressed == compressed && !strcmp(legacy->type, type);
	uint64_t dropped = fits ? 0 : request_queue_count(&legacy->requests);
	if (fits)
		request_queue_move(requests, &legacy->requests);
	free_legacy(legacy);
	return dropped;
}
