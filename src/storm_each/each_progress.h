/*
 * each_progress.h - what --bar, --eta and --progress say of counts and times, as lines of a
 * width.  No I/O and no clock.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_PROGRESS_H
#define STORM_EACH_PROGRESS_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EACH_LINE_MAX 4096 /* bytes of a line, with its NUL */

struct each_counts {
	uint64_t total;	       /* of tasks; 0: not known */
	uint64_t done, failed; /* the failed ones are done, too */
	uint64_t running;
	uint64_t time_us; /* since the first one could begin */

	/* the one that has run longest and still runs; its number 0: none does */
	uint64_t slowest, slowest_us;
	const char *node, *command;
};

/* "450 of 1000 done, 3 failed, 8 run, 120/s, 5 s left", in up to so many columns; with a bar
 * before it if that has room. */
void each_progress_line(const struct each_counts *c, bool bar, uint32_t columns,
			char (*out)[EACH_LINE_MAX]);
/* The slowest task, with its command as far as that has room.  Empty: none runs. */
void each_progress_slowest(const struct each_counts *c, uint32_t columns,
			   locale_t locale, char (*out)[EACH_LINE_MAX]);

/* A text of anybody's, behind what is in out: in up to so many columns, by this locale's
 * characters.  What is no printable one is '?', and what has no width is left out: so the text
 * can do nothing to a terminal. */
void each_progress_text(const char *text, uint32_t columns, locale_t locale,
			char (*out)[EACH_LINE_MAX]);

#endif
