/*
 * conf_keys.h - the keys of storm.conf, for storm_conf.c: one table says where
 * each value goes and what is allowed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_KEYS_H
#define STORM_CONF_KEYS_H

#include "storm_conf.h"

#define CONF_KEYS_MAX 64	/* room for as many as there are, or more */

/* The name of a key by its number, from 0; NULL: that is one too many. */
const char *conf_key_name(unsigned int key);
/* Its number, however it is written; -1: there is none. */
int conf_key_find(const char *name);
/* The name that this one is a misprint of; NULL: none is near. */
const char *conf_key_meant(const char *name);
/* False: this value is not allowed; *c may have parts of it. */
bool conf_key_set(unsigned int key, struct storm_conf *c, const char *value);
/* What is allowed, in words, to be freed with xfree(). */
char *conf_key_allowed(unsigned int key);

#endif
