/* SPDX-License-Identifier: Apache-2.0 */
/* What the user wrote for one source or sink: see instance_configuration.h. */
#include "config/instance_configuration.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/value.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"
#define ID_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ_" NAME_LETTERS
#define NAME_LENGTH_MAX 63

/* Limits that no run needs to exceed. Each new entry is compared with all others, which must not take minutes. */
#define SETTING_COUNT_MAX 256
#define INSTANCE_COUNT_MAX 1000

static int out_of_memory(struct error *error)
{
	return error_set(error, ENOMEM, "out of memory");
}

static bool consists_of(const char *text, size_t length, const char *letters)
{
	return length > 0 && length <= NAME_LENGTH_MAX && strspn(text, letters) >= length;
}

/* Returns the end of the name: the end of the text, or the '.' before an ID. */
static const char *find_name_end(const char *text)
{
	const char *file = strrchr(text, '/');
	if (!file)
		return strchrnul(text, '.');
	const char *extension = strstr(file, ".so");
	return extension && (extension[3] == '\0' || extension[3] == '.') ? extension + 3 : text + strlen(text);
}

int instance_set_name(struct instance_configuration *instance, const char *name, const char *origin,
		      struct error *error)
{
	const char *end = find_name_end(name);
	size_t length = (size_t)(end - name);

	/* No plugin has a name with '_'; the message that it is unknown suggests the one with '-'. */
	if (!strchr(name, '/') && !consists_of(name, length, NAME_LETTERS "_"))
		return error_set(error, EINVAL, "'%s' is not a plugin name (lower-case letters, digits and '-')",
				 value_excerpt(name).text);
	if (*end && !consists_of(end + 1, strlen(end + 1), ID_LETTERS))
		return error_set(error, EINVAL, "'%s': an instance ID has letters, digits, '-' and '_'",
				 value_excerpt(name).text);
	instance->plugin = strndup(name, length);
	instance->origin = strdup(origin);
	instance->id = *end ? strdup(end + 1) : NULL;
	return instance->plugin && instance->origin && (instance->id || !*end) ? 0 : out_of_memory(error);
}

void setting_release(struct setting *setting)
{
	free(setting->key);
	free(setting->value);
	free(setting->origin);
}

struct setting *instance_find_setting(const struct instance_configuration *instance, const char *key)
{
	/* From the end: later settings override earlier ones. */
	for (size_t i = instance->settings.count; i-- > 0;)
		if (strcmp(instance->settings.items[i].key, key) == 0)
			return &instance->settings.items[i];
	return NULL;
}

int instance_add_setting(struct instance_configuration *instance, const char *key, const char *value,
			 const char *origin, struct error *error)
{
	const struct setting *earlier = instance_find_setting(instance, key);
	if (instance->settings.count >= SETTING_COUNT_MAX)
		return error_set(error, EINVAL, "more than %d keys", SETTING_COUNT_MAX);
	if (earlier)
		return error_set(error, EINVAL, "'%s' is set twice, first in %s", value_excerpt(key).text,
				 earlier->origin);
	struct setting setting = { strdup(key), strdup(value), strdup(origin) };
	if (!setting.key || !setting.value || !setting.origin || !array_push(&instance->settings, setting)) {
		setting_release(&setting);
		return out_of_memory(error);
	}
	return 0;
}

static bool is_escape(const char *text)
{
	return text[0] == '\\' && (text[1] == ',' || text[1] == ':' || text[1] == '\\');
}

/* Returns a copy of the text up to the first unescaped stop character, without escapes, and moves *text there. */
static char *take_part(const char **text, char stop)
{
	char *part = malloc(strlen(*text) + 1);
	size_t length = 0;
	if (!part)
		return NULL;
	while (**text && **text != stop) {
		*text += is_escape(*text);
		part[length++] = *(*text)++;
	}
	part[length] = '\0';
	return part;
}

/* Adds a setting "key=value". */
static int add_argument_setting(struct instance_configuration *instance, char *text, struct error *error)
{
	char *equals = strchr(text, '=');
	if (!*text)
		return error_set(error, EINVAL, "missing key=value after ':' or ','");
	if (!equals)
		return error_set(error, EINVAL, "'%s' has no value (use %s=VALUE)", value_excerpt(text).text,
				 value_excerpt(text).text);
	if (equals == text)
		return error_set(error, EINVAL, "'%s' has no key", value_excerpt(text).text);
	*equals = '\0';
	return instance_add_setting(instance, text, equals + 1, instance->origin, error);
}

int instance_read_argument(struct instance_configuration *instance, const char *text, const char *option,
			   struct error *error)
{
	char *name CLEANUP_FREE = take_part(&text, ':');
	int result = name ? instance_set_name(instance, name, option, error) : out_of_memory(error);

	if (result < 0)
		return error_wrap(error, "%s", option);
	while (*text && result == 0) {
		text++;
		char *part CLEANUP_FREE = take_part(&text, ',');
		result = part ? add_argument_setting(instance, part, error) : out_of_memory(error);
	}
	return result < 0 ? error_wrap(error, "%s %s", option, value_excerpt(name).text) : 0;
}

void instance_release(struct instance_configuration *instance)
{
	for (size_t i = 0; i < instance->settings.count; i++)
		setting_release(&instance->settings.items[i]);
	array_free(&instance->settings);
	free(instance->plugin);
	free(instance->id);
	free(instance->origin);
	*instance = (struct instance_configuration){ 0 };
}

/* Returns the instance of the list with the same plugin and id, or NULL. */
static struct instance_configuration *instance_list_find(const struct instance_list *list,
							 const struct instance_configuration *wanted)
{
	for (size_t i = 0; i < list->count; i++) {
		struct instance_configuration *instance = &list->items[i];
		bool same_id =
			instance->id && wanted->id ? strcmp(instance->id, wanted->id) == 0 : instance->id == wanted->id;
		if (same_id && strcmp(instance->plugin, wanted->plugin) == 0)
			return instance;
	}
	return NULL;
}

int instance_list_add(struct instance_list *list, struct instance_configuration *instance, struct error *error)
{
	const struct instance_configuration *earlier = instance_list_find(list, instance);
	if (list->count >= INSTANCE_COUNT_MAX)
		return error_set(error, EINVAL, "more than %d sources or sinks", INSTANCE_COUNT_MAX);
	if (earlier)
		return error_set(error, EINVAL, "duplicate %s%s%s, first in %s (use %s.ID for a second instance)",
				 instance->plugin, instance->id ? "." : "", instance->id ? instance->id : "",
				 earlier->origin, instance->plugin);
	if (!array_push(list, *instance))
		return out_of_memory(error);
	*instance = (struct instance_configuration){ 0 };
	return 0;
}

int instance_list_override(struct instance_list *list, struct instance_list *from, struct error *error)
{
	for (size_t i = 0; i < from->count; i++) {
		struct instance_configuration *instance = &from->items[i];
		struct instance_configuration *known = instance_list_find(list, instance);
		if (!known) {
			int result = instance_list_add(list, instance, error);
			if (result < 0)
				return result;
			continue;
		}
		if (!array_reserve(&known->settings, known->settings.count + instance->settings.count))
			return out_of_memory(error);
		for (size_t j = 0; j < instance->settings.count; j++)
			known->settings.items[known->settings.count++] = instance->settings.items[j];
		instance->settings.count = 0;
	}
	return 0;
}

void instance_list_release(struct instance_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		instance_release(&list->items[i]);
	array_free(list);
}
