/*
 * slurm_opts.c - Slurm's own src/sbcast/opts.c, compiled unmodified from the
 * tree that configure was given: sbcast's options and SBCAST_* variables.
 * Its output is changed in one word, the command's name.
 *
 * Slurm's sbcast.h gives the names: parse_command_line() fills `params`.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#define _GNU_SOURCE
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/common/proc_args.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/sbcast/sbcast.h"

struct bcast_parameters params;

/* Print with "sbcast_storm" for "sbcast". */
__attribute__((format(printf, 2, 3))) static void
opts_print(FILE *to, const char *fmt, ...)
{
	va_list ap;
	char *text, *at;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!text)
		return;
	at = strstr(text, "sbcast ");
	if (at)
		fprintf(to, "%.*ssbcast_storm%s", (int) (at - text), text,
			at + strlen("sbcast"));
	else
		fputs(text, to);
	free(text);
}

#define printf(...) opts_print(stdout, __VA_ARGS__)
#define fprintf(...) opts_print(__VA_ARGS__)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "src/sbcast/opts.c"
#pragma GCC diagnostic pop
