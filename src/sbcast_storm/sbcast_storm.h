/*
 * sbcast_storm.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef SBCAST_STORM_H
#define SBCAST_STORM_H

#include <stdio.h>

/* printf a usage text of sbcast with this command's name instead of its. */
void sbcast_text(FILE *to, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
