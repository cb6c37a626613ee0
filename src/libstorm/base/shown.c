/*
 * shown.c - see shown.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "shown.h"

#include <string.h>

const char *storm_shown(struct storm_shown *out, const char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	for (const char *p = text ? text : ""; *p; p++) {
		unsigned char c = (unsigned char) *p;
		size_t takes = c < ' ' || c > '~' || c == '\\' ? 4 : 1;

		if (n + takes > STORM_SHOWN_MAX) {
			strcpy(out->text + n, "...");
			return out->text;
		}
		out->text[n++] = takes == 1 ? *p : '\\';
		if (takes == 1)
			continue;
		out->text[n++] = 'x';
		out->text[n++] = digits[c >> 4];
		out->text[n++] = digits[c & 15];
	}
	out->text[n] = '\0';
	return out->text;
}
