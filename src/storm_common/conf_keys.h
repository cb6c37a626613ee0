/*
 * conf_keys.h - the keys of storm.conf: a table with the field that each value
 * goes to, and the values that are allowed.  For conf_read.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_KEYS_H
#define STORM_CONF_KEYS_H

#include "storm_conf.h"

#define CONF_KEYS_MAX 96 /* at least the number of keys */

/* The name of a key by its number, from 0; NULL: there are not so many keys. */
const char *conf_key_name(unsigned int key);
/* The number of a key, in upper or lower case; -1: unknown. */
int conf_key_find(const char *name);
/* Is this a key of the old form, which this version reads for the last time? */
bool conf_key_is_old(unsigned int key);
/* The key of which this name is probably a misprint, or NULL. */
const char *conf_key_meant(const char *name);
/* Set a key's value in *c.  False: it is not allowed; *c may have parts of
 * it. */
bool conf_key_set(unsigned int key, struct storm_conf *c, const char *value);
/* The values that are allowed, in words; free the text with free(). */
char *conf_key_allowed(unsigned int key);

#endif
