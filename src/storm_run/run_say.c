/*
 * run_say.c - see run_say.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>

#include "run_say.h"

static const char *run_speaker = "storm run", *run_line_end = "\n";
static void (*run_before)(void);
static bool run_quiet;

void run_say_as(const char *name)
{
	run_speaker = name;
}

void run_say_raw(bool raw)
{
	run_line_end = raw ? "\r\n" : "\n";
}

void run_say_before(void (*before)(void))
{
	run_before = before;
}

void run_say_less(void)
{
	run_quiet = true;
}

__attribute__((format(printf, 1, 0))) static void run_say_line(const char *fmt,
							       va_list ap)
{
	if (run_before)
		run_before();
	fprintf(stderr, "%s: ", run_speaker);
	vfprintf(stderr, fmt, ap);
	fputs(run_line_end, stderr);
}

__attribute__((format(printf, 1, 2))) void run_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	run_say_line(fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 1, 2))) void run_inform(const char *fmt, ...)
{
	va_list ap;

	if (run_quiet)
		return;
	va_start(ap, fmt);
	run_say_line(fmt, ap);
	va_end(ap);
}
