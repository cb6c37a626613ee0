/*
 * log.c - passes messages to the program's log function, or to stderr.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>

#include "src/libstorm/storm.h"

static storm_log_fn sink;

void storm_log_set(storm_log_fn fn)
{
	sink = fn;
}

void storm_log(enum storm_log_level level, const char *fmt, ...)
{
	char msg[1024];
	va_list ap;

	if (!sink && level > STORM_LOG_WARN)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (sink)
		sink(level, msg);
	else
		fprintf(stderr, "storm: %s\n", msg);
}
