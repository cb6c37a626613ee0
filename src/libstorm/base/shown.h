/*
 * shown.h - makes text of somebody else's harmless for a message.
 *
 * A path, a name or a reason comes from a user or another host.  It may hold
 * line ends, which make lines of their own in a log, and what a terminal
 * obeys.  It may be long.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SHOWN_H
#define STORM_SHOWN_H

/* One character of a text whose length is to stay: c, or '?' in the place of one that is not
 * printable ASCII. */
static inline char storm_printed(char c)
{
	return c >= ' ' && c <= '~' ? c : '?';
}

#define STORM_SHOWN_MAX 200 /* characters; after them "..." */

struct storm_shown {
	char text[STORM_SHOWN_MAX + sizeof("...")];
};

/* Copy text to out->text, which is returned.  A backslash, and whatever is not
 * printable ASCII, becomes \xNN.  text NULL is "". */
const char *storm_shown(struct storm_shown *out, const char *text);

/* storm_shown() as an expression, for an argument of a message.  The text lasts
 * as long as the block around it. */
#define STORM_SHOWN(text) storm_shown(&(struct storm_shown) { { 0 } }, text)

#endif
