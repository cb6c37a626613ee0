/*
 * check_health.h - the site's program that checks a node's health.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_HEALTH_H
#define STORM_CHECK_HEALTH_H

#include "src/storm_common/storm_conf.h"

/* Tell whether root may run it, by storm_health's own rule, if slurmd runs here or the
 * program is there.  Without a program, or with Health=0, it tells nothing. */
void check_health(const struct storm_health_conf *h);

#endif
