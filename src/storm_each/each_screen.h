/*
 * each_screen.h - where --bar, --eta and --progress are seen: a line or two at the bottom of a
 * terminal that is standard error, which give way to all else that is written there; or a line
 * now and then, if it is none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_SCREEN_H
#define STORM_EACH_SCREEN_H

#include "each_options.h"
#include "each_progress.h"

/* Without one of these options it does nothing, and nor do those below. */
void each_screen_open(const struct each_options *o);
/* ms until there is to be something new; 0: now; -1: never. */
int each_screen_timeout(void);
void each_screen_draw(const struct each_counts *c);
/* Take it away, and show nothing more. */
void each_screen_close(void);

/* Before and after somebody writes to descriptor fd; last is the last byte of it. */
void each_screen_yield(int fd);
void each_screen_wrote(int fd, uint8_t last);

#endif
