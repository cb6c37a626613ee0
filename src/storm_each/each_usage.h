/*
 * each_usage.h - what storm each --help prints.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_USAGE_H
#define STORM_EACH_USAGE_H

extern const char each_usage[];

#endif
