/*
 * alias_list.c - see alias_list.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "alias_list.h"

#define ADDR_MAX 64 /* characters of an address */

/* Copy up to one of the characters in end, which is skipped.  NULL: too long, or
 * there is none of them. */
static const char *alias_list_word(const char *p, const char *end, char *out,
				   size_t size)
{
	size_t n = strcspn(p, end);

	if (!p[n] || n >= size)
		return NULL;
	memcpy(out, p, n);
	out[n] = 0;
	return p + n + 1;
}

bool alias_list_next(const char **p, char (*name)[STORM_NAME_MAX + 1],
		     struct storm_addr *addr)
{
	const char *at = *p;
	char text[ADDR_MAX];
	bool found = false;

	while (at && *at && !found) {
		at = alias_list_word(at, ":", *name, sizeof(*name));
		if (at && *at == '[')
			at = alias_list_word(at + 1, "]", text, sizeof(text));
		else if (at)
			at = alias_list_word(at, ":", text, sizeof(text));
		if (!at)
			break;
		found = !storm_addr_set(addr, text, 0);
		at += strcspn(at, ",");
		at += *at == ',';
	}
	*p = at ? at : "";
	return found;
}
