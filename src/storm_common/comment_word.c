/*
 * comment_word.c - see comment_word.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <string.h>

#include "comment_word.h"

bool comment_word(const char *comment, const char *begins, char *out,
		  size_t size)
{
	const char *p = comment ? strstr(comment, begins) : NULL;

	while (p && p != comment && p[-1] != ' ')
		p = strstr(p + 1, begins);
	if (p)
		snprintf(out, size, "%.*s", (int) strcspn(p, " "), p);
	return p;
}
