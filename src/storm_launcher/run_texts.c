/*
 * run_texts.c - see run_texts.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "run_texts.h"

/* Its length with the zero at its end, then it with that. */
void run_put_text(struct storm_out *o, const char *text)
{
	size_t len = strlen(text) + 1;

	storm_put32(o, (uint32_t) len);
	storm_put(o, text, len);
}

const char *run_get_text(struct storm_in *i)
{
	uint32_t len = storm_get32(i);
	const uint8_t *p = storm_get(i, len);

	if (!p || !len || memchr(p, 0, len) != p + len - 1) {
		i->bad = true;
		return "";
	}
	return (const char *) p;
}

size_t run_list_len(char *const *list)
{
	size_t n = 4;

	for (; *list; list++)
		n += 4 + strlen(*list) + 1;
	return n;
}

void run_put_list(struct storm_out *o, char *const *list)
{
	uint32_t n = 0;

	while (list[n])
		n++;
	storm_put32(o, n);
	for (uint32_t k = 0; k < n; k++)
		run_put_text(o, list[k]);
}

char **run_get_list(struct storm_in *i)
{
	uint32_t n = storm_get32(i);
	char **list;

	/* each has five bytes at least */
	if (i->bad || n > (size_t) (i->end - i->p) / 5) {
		i->bad = true;
		return NULL;
	}
	list = calloc((size_t) n + 1, sizeof(*list));
	if (!list)
		i->bad = true;
	for (uint32_t k = 0; list && k < n; k++)
		list[k] = (char *) run_get_text(i);
	return list;
}
