/*
 * known_check.h - checks, while Slurm serves the command, whether nodes that
 * could not be reached can be reached again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_KNOWN_CHECK_H
#define STORM_KNOWN_CHECK_H

#include "src/libstorm/storm.h"

/* If a check is due, try the nodes of dc in a domain of its own, in the
 * background.  nodelist: the same nodes in Slurm's form.  end(), before the
 * command ends: forget the nodes if they can be reached.  One check at a time
 * in a process.  Any thread. */
void known_check_begin(const struct storm_domain_conf *dc,
		       const char *nodelist);
void known_check_end(void);

#endif
