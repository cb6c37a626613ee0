/*
 * each_say.c - see each_say.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>

#include "each_say.h"

__attribute__((format(printf, 1, 2))) void each_say(const char *fmt, ...)
{
	va_list ap;

	fputs("storm each: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}
