/*
 * known_check.h - see whether nodes that could not be reached can be reached again,
 * while Slurm serves the command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_KNOWN_CHECK_H
#define STORM_KNOWN_CHECK_H

#include "src/libstorm/storm.h"

/* Try the nodes of dc, in Slurm's list, in a domain of its own, beside all else, if
 * that is due.  end: forget them if they can be reached; before the command ends.
 * One at a time in a process.  Any thread. */
void known_check_begin(const struct storm_domain_conf *dc,
		       const char *nodelist);
void known_check_end(void);

#endif
