/* SPDX-License-Identifier: Apache-2.0 */
/* Builds struct instance_configuration: the name, the settings, and the form "NAME:key=value,key=value". */
#ifndef IAPROF_CORE_CONFIG_INSTANCE_CONFIGURATION_H
#define IAPROF_CORE_CONFIG_INSTANCE_CONFIGURATION_H

#include "config/configuration.h"

/*
 * Sets plugin and id from "NAME", "NAME.ID", "folder/iaprof-NAME.so" or "folder/iaprof-NAME.so.ID", and the origin.
 * -EINVAL: not such a name.
 */
int instance_set_name(struct instance_configuration *instance, const char *name, const char *origin,
		      struct error *error);
/* Adds a setting. -EINVAL: the key is already there. */
int instance_add_setting(struct instance_configuration *instance, const char *key, const char *value,
			 const char *origin, struct error *error);
/*
 * Reads a --source, --sink or --decoder argument. A backslash takes the meaning of ',', ':' and '\' away; before any
 * other character it is a character like others.
 */
int instance_read_argument(struct instance_configuration *instance, const char *text, const char *option,
			   struct error *error);
void instance_release(struct instance_configuration *instance);
void setting_release(struct setting *setting);

/* NULL when the key is not set. */
struct setting *instance_find_setting(const struct instance_configuration *instance, const char *key);

/* The instance of the list with the same plugin and id; NULL when there is none. */
struct instance_configuration *instance_list_find(const struct instance_list *list,
						  const struct instance_configuration *wanted);
/* Moves the instance into the list, which owns it then. -EINVAL: one with its name is there; it stays the caller's. */
int instance_list_add(struct instance_list *list, struct instance_configuration *instance, struct error *error);
/* Moves all of from into list: settings of an instance that list has override that one's, other instances are added. */
int instance_list_override(struct instance_list *list, struct instance_list *from, struct error *error);
void instance_list_release(struct instance_list *list);

#endif
