/*
 * conf_partition.h - the lines of partitions in storm.conf, such as
 * Partition=gang Policy=flexible Quantum=10 LimitByTurns=yes.
 * conf_read.c collects the lines, and sets the values when it has read all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_PARTITION_H
#define STORM_CONF_PARTITION_H

#include "storm_conf.h"

#define CONF_PARTITION "Partition" /* a line's first key */

/* The keys that may follow it. */
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
	/* The present line; NULL: it is refused, and its keys are left out. */
	struct conf_partition_line *at;
	/* Called for a fault: an error, or (error false) a line without effect.
	 * It frees the text with free(). */
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
/* Report lines and policies without an effect.  For a file that has no error,
 * after conf_partition_set(). */
void conf_partition_check(struct conf_partitions *p, struct storm_gang_conf *g);
/* Append all lines to *text, as conf_file.c reads them. */
void conf_partition_add_lines(const struct conf_partitions *p, char **text);
void conf_partition_free(struct conf_partitions *p);

/* The partition's entry in g, which is made if there is none.  NULL: no room,
 * or the name is empty or too long. */
struct storm_conf_partition *conf_partition_entry(struct storm_gang_conf *g,
						  const char *name);
/* Append to *text the line that sets all that an entry has. */
void conf_partition_add_entry(const struct storm_conf_partition *p,
			      char **text);

#endif
