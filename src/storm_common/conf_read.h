/*
 * conf_read.h - reads and judges storm.conf, and the keys that plugstack.conf
 * gives spank_storm.so as arguments.  Every fault is reported, in a line with
 * its place and its remedy.
 *
 * It needs nothing of Slurm, because storm check also runs where Slurm's
 * library does not load.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_READ_H
#define STORM_CONF_READ_H

#include "storm_conf.h"

enum conf_fault {
	CONF_WARNING, /* this line has no effect */
	CONF_ERROR,   /* no line has an effect */
	/* There are keys of the old form, which count.  Reported once for
	 * all of them; after its first line the text may have lines for
	 * storm.conf. */
	CONF_OLD
};
typedef void (*conf_fault_fn)(void *arg, enum conf_fault kind,
			      const char *text);

/* If both set a key, storm.conf's value counts. */
struct conf_sources {
	const char *plugstack; /* plugstack.conf; NULL: none */
	const char *path;      /* storm.conf; NULL: none */
	const char *text;      /* read this in place of the file `path` */
};

/*
 * Read into *out.  False: an error was reported, and *out is unchanged.  lines:
 * NULL, or set to a text with all keys that are given, for conf_sources.text;
 * the caller frees it with free().  told (may be NULL) is called for each
 * fault.
 */
bool conf_read(const struct conf_sources *from, struct storm_conf *out,
	       char **lines, conf_fault_fn told, void *arg);

#endif
