/*
 * top_term.c - can storm top draw on this terminal?  See top_screen.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "top_screen.h"

/* the last ones: names such as lines are macros here */
#include <curses.h>
#include <term.h>

bool top_screen_fits(void)
{
	const char *term = getenv("TERM");
	int found;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		fputs("storm: top needs a terminal: storm top --once prints one screen\n",
		      stderr);
		return false;
	}
	if (!term || !*term || setupterm(NULL, STDOUT_FILENO, &found) == ERR ||
	    !cursor_address) {
		fprintf(stderr,
			"storm: TERM=%s is no terminal that top can draw on: set TERM, or use storm top --once, which prints one screen\n",
			term ? term : "");
		return false;
	}
	return true;
}
