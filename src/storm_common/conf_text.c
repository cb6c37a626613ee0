/*
 * conf_text.c - see conf_text.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* vasprintf */
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf_text.h"

char *conf_text_make(const char *fmt, ...)
{
	va_list ap;
	char *out;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&out, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	return out;
}

void conf_text_add(char **text, const char *fmt, ...)
{
	char *old = *text, *more;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&more, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	*text = conf_text_make("%s%s", old ? old : "", more);
	free(old);
	free(more);
}

void conf_text_add_pair(char **text, const char *key, const char *value)
{
	const char *quote = strchr(value, '"') ? "" : "\"";

	conf_text_add(text, "%s=%s", key, quote);
	for (; *value; value++)
		conf_text_add(text, "%s%c", strchr("#\\", *value) ? "\\" : "",
			      *value);
	conf_text_add(text, "%s", quote);
}
