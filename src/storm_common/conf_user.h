/*
 * conf_user.h - storm.conf as a user's program finds it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_USER_H
#define STORM_CONF_USER_H

#include "conf_read.h"

/* Read the storm.conf beside the slurm.conf that SLURM_CONF names, or that of
 * /etc/slurm.  *out has the defaults if there is none, or it has an error.  told
 * (may be NULL) is called for each fault. */
void conf_user_read(struct storm_conf *out, conf_fault_fn told, void *arg);

#endif
