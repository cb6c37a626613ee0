/*
 * run_say.h - how clients of launchers speak.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_SAY_H
#define STORM_RUN_SAY_H

#include <stdbool.h>

/* The name before each line; "storm run" without it. */
void run_say_as(const char *name);
/* On a terminal that is raw a line ends in another way. */
void run_say_raw(bool raw);
/* Call it before each line; NULL: nothing. */
void run_say_before(void (*before)(void));
/* A line on stderr. */
__attribute__((format(printf, 1, 2))) void run_say(const char *fmt, ...);
/* Likewise, one that -Q leaves out: it is no error. */
__attribute__((format(printf, 1, 2))) void run_inform(const char *fmt, ...);
void run_say_less(void);

#endif
