/*
 * each_say.h - how storm each speaks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_SAY_H
#define STORM_EACH_SAY_H

/* A line on stderr. */
__attribute__((format(printf, 1, 2))) void each_say(const char *fmt, ...);

#endif
