/*
 * top_screen.h - storm top on a terminal, by ncurses, where it is built with it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_TOP_SCREEN_H
#define STORM_TOP_SCREEN_H

#include "top_ask.h"

/* Can the screen be used?  If not, that was said. */
bool top_screen_fits(void);
/* Show it until somebody quits, or a signal ends it.  delay: s.  Returns the exit code. */
int top_screen(struct top_known *k, double delay);

#endif
