/* SPDX-License-Identifier: Apache-2.0 */
/* Construction of struct instance_configuration: name, settings, and the syntax "NAME:key=value,key=value". */
#pragma once

#include "config/configuration.h"

/*
 * Sets plugin and id from "NAME", "NAME.ID", "folder/iaprof-NAME.so" or "folder/iaprof-NAME.so.ID", and the origin.
 * -EINVAL: not a valid name.
 */
int instance_set_name(struct instance_configuration *instance, const char *name, const char *origin,
		      struct error *error);
/* Adds a setting. -EINVAL: the key is already set. */
int instance_add_setting(struct instance_configuration *instance, const char *key, const char *value,
			 const char *origin, struct error *error);
/*
 * Reads a --source, --sink or --decoder argument. A backslash escapes ',', ':' and '\'; before any other character it
 * is literal.
 */
int instance_read_argument(struct instance_configuration *instance, const char *text, const char *option,
			   struct error *error);
void instance_release(struct instance_configuration *instance);
void setting_release(struct setting *setting);

/* Returns NULL if the key is not set. */
struct setting *instance_find_setting(const struct instance_configuration *instance, const char *key);

/*
 * Moves the instance into the list, which then owns it. -EINVAL: the name is already in the list; the caller keeps
 * ownership.
 */
int instance_list_add(struct instance_list *list, struct instance_configuration *instance, struct error *error);
/*
 * Moves all instances of from into list: settings override those of an instance already in list, other instances are
 * added.
 */
int instance_list_override(struct instance_list *list, struct instance_list *from, struct error *error);
void instance_list_release(struct instance_list *list);
