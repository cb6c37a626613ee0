/*
 * each_joblog.c - see each_joblog.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_joblog.h"

const char each_joblog_header[] =
	"Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

/* A line is one line: the end of one within the command is a NUL byte, as in
 * parallel's. */
static void joblog_flatten(char *text, size_t len)
{
	char *at;

	while ((at = memchr(text, '\n', len)))
		*at = '\0';
}

char *each_joblog_line(const struct each_joblog_entry *e, size_t *len)
{
	char *line;
	int n = asprintf(&line,
			 "%" PRIu64 "\t%s\t%" PRIu64 ".%03" PRIu64 "\t%6" PRIu64
			 ".%03" PRIu64 "\t%" PRIu64 "\t%" PRIu64
			 "\t%d\t%d\t%s\n",
			 e->seq, e->host, e->start_us / 1000000,
			 e->start_us / 1000 % 1000, e->time_us / 1000000,
			 e->time_us / 1000 % 1000, e->sent, e->received,
			 e->exitval, e->signal, e->command);

	if (n < 0)
		return NULL;
	joblog_flatten(line, (size_t) n - 1);
	*len = (size_t) n;
	return line;
}

/* ----------------------------------------------------------------------- read --- */

/* The next field, without its tab; NULL: there is none. */
static const char *joblog_field(const char **line)
{
	const char *field = *line, *tab = strchr(field, '\t');

	if (!tab)
		return NULL;
	*line = tab + 1;
	return field;
}

/* A whole number of this range before its tab. */
static bool joblog_integer(const char *field, int64_t least, int64_t most,
			   int64_t *out)
{
	const char *digits = field && *field == '-' ? field + 1 : field;
	char *end;

	if (!field || *digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*out = strtoll(field, &end, 10);
	return *end == '\t' && !errno && *out >= least && *out <= most;
}

/* Seconds with up to six digits behind the point, as microseconds. */
static bool joblog_seconds(const char *field, uint64_t *out)
{
	char *end;
	uint64_t whole, part = 0;
	int digits = 0;

	if (!field)
		return false;
	field += strspn(field, " ");
	if (*field < '0' || *field > '9')
		return false;
	whole = strtoull(field, &end, 10);
	if (whole >= UINT64_MAX / 1000000)
		return false;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++)
			if (digits < 6) {
				part = part * 10 + (uint64_t) (*end - '0');
				digits++;
			}
	for (; digits < 6; digits++)
		part *= 10;
	*out = whole * 1000000 + part;
	return *end == '\t';
}

int each_joblog_parse(const char *line, struct each_joblog_entry *out)
{
	struct each_joblog_entry e = { 0 };
	int64_t seq, sent, received, exitval, signal;

	if (!strncmp(line, "Seq\t", 4))
		return 0;
	if (!joblog_integer(joblog_field(&line), 1, INT64_MAX, &seq) ||
	    !joblog_field(&line) ||
	    !joblog_seconds(joblog_field(&line), &e.start_us) ||
	    !joblog_seconds(joblog_field(&line), &e.time_us) ||
	    !joblog_integer(joblog_field(&line), 0, INT64_MAX, &sent) ||
	    !joblog_integer(joblog_field(&line), 0, INT64_MAX, &received) ||
	    !joblog_integer(joblog_field(&line), INT_MIN, INT_MAX, &exitval) ||
	    !joblog_integer(joblog_field(&line), INT_MIN, INT_MAX, &signal))
		return -1;
	e.seq = (uint64_t) seq;
	e.sent = (uint64_t) sent;
	e.received = (uint64_t) received;
	e.exitval = (int) exitval;
	e.signal = (int) signal;
	*out = e;
	return 1;
}
