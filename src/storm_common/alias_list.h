/*
 * alias_list.h - Slurm's text of where nodes are: NODE:[ADDRESS]:HOST,...
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_ALIAS_LIST_H
#define STORM_ALIAS_LIST_H

#include <stdbool.h>

#include "src/libstorm/storm.h"

/* Find the next node of the text at *p whose ADDRESS is an IPv4 address and no
 * name, and move *p behind it.  The port is 0.  False: there is none. */
bool alias_list_next(const char **p, char (*name)[STORM_NAME_MAX + 1],
		     struct storm_addr *addr);

#endif
