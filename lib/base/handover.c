/* SPDX-License-Identifier: Apache-2.0 */
/* See handover.h. */
#include "base/handover.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct legacy {
	char *instance;
	void *item;
	struct legacy *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct legacy *legacies;

bool handover_put(const char *instance, void *item)
{
	struct legacy *legacy = malloc(sizeof *legacy);
	char *name = strdup(instance);
	if (!legacy || !name) {
		free(legacy);
		free(name);
		return false;
	}
	pthread_mutex_lock(&lock);
	*legacy = (struct legacy){ .instance = name, .item = item, .next = legacies };
	legacies = legacy;
	pthread_mutex_unlock(&lock);
	return true;
}

void *handover_take(const char *instance)
{
	struct legacy **at = &legacies;
	pthread_mutex_lock(&lock);
	while (*at && strcmp((*at)->instance, instance) != 0)
		at = &(*at)->next;
	struct legacy *found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&lock);
	void *item = found ? found->item : NULL;
	if (found)
		free(found->instance);
	free(found);
	return item;
}
