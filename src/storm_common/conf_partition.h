/*
 * conf_partition.h - partitions in storm.conf, a line for each:
 * Partition=gang Policy=flexible Quantum=10 LimitByTurns=yes.
 * conf_read.c collects the lines, and sets the values when it has read all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_PARTITION_H
#define STORM_CONF_PARTITION_H

#include "storm_conf.h"

#define CONF_PARTITION "Partition" /* a line's first key */

/* Those that follow it. */
enum conf_partition_key {
	CONF_POLICY,
	CONF_QUANTUM,
	CONF_LIMIT,
	CONF_PARTITION_KEYS
};

/* A partition's line; strings are the C library's. */
struct conf_partition_line {
	char *name, *place;
	char *value[CONF_PARTITION_KEYS]; /* NULL: not given */
};

struct conf_partitions {
	struct conf_partition_line line[STORM_CONF_PARTITIONS];
	unsigned int lines;
	/* the present one; NULL: it is refused, and what follows is left out */
	struct conf_partition_line *at;
	/* A fault is found: an error, or a line has no effect.  It frees the text
	 * with free(). */
	void (*fault)(void *arg, bool error, char *text);
	void *arg;
};

/* The number of a key that may follow, in upper or lower case; -1: unknown. */
int conf_partition_key_find(const char *name);

/* A line begins. */
void conf_partition_begin(struct conf_partitions *p, const char *place,
			  const char *name);
/* A key follows on the present line. */
void conf_partition_more(struct conf_partitions *p, enum conf_partition_key key,
			 const char *value);
/* Set the values of all lines.  A line replaces what keys of the old form have
 * set for its partition. */
void conf_partition_set(struct conf_partitions *p, struct storm_gang_conf *g);
/* Find lines without a key.  For a file that has no error. */
void conf_partition_check_empty(struct conf_partitions *p);
/* Append all lines, as conf_file.c reads them. */
void conf_partition_add_lines(const struct conf_partitions *p, char **text);
void conf_partition_free(struct conf_partitions *p);

/* The partition's entry, which is made if it is new.  NULL: no room, or the name
 * is empty or too long. */
struct storm_conf_partition *conf_partition_entry(struct storm_gang_conf *g,
						  const char *name);
/* Append the line that sets what an entry has. */
void conf_partition_add_entry(const struct storm_conf_partition *p,
			      char **text);

#endif
