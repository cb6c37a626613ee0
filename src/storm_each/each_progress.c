/*
 * each_progress.c - see each_progress.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "each_progress.h"
#include "src/libstorm/base/minmax.h"

#define PROGRESS_BAR_LEAST 10 /* columns with its brackets */
#define PROGRESS_BAR_MOST 60
#define PROGRESS_WORD 32

/* ---------------------------------------------------------------- their words --- */

/* In the two units that say enough: "5 s", "3 m 20 s", "2 h 5 m", "4 d 6 h". */
static void progress_time(uint64_t us, char (*out)[PROGRESS_WORD])
{
	uint64_t s = us / 1000000;

	if (s < 60)
		snprintf(*out, sizeof(*out), "%" PRIu64 " s", s);
	else if (s < 3600)
		snprintf(*out, sizeof(*out), "%" PRIu64 " m %" PRIu64 " s",
			 s / 60, s % 60);
	else if (s < 86400)
		snprintf(*out, sizeof(*out), "%" PRIu64 " h %" PRIu64 " m",
			 s / 3600, s / 60 % 60);
	else
		snprintf(*out, sizeof(*out), "%" PRIu64 " d %" PRIu64 " h",
			 s / 86400, s / 3600 % 24);
}

/* In the unit in which it is 1 or more. */
static void progress_rate(const struct each_counts *c,
			  char (*out)[PROGRESS_WORD])
{
	double second = (double) c->done * 1e6 /
			(double) storm_max(c->time_us, (uint64_t) 1);

	if (second >= 10)
		snprintf(*out, sizeof(*out), "%.0f/s", second);
	else if (second >= 1)
		snprintf(*out, sizeof(*out), "%.1f/s", second);
	else if (second * 60 >= 1)
		snprintf(*out, sizeof(*out), "%.1f/min", second * 60);
	else
		snprintf(*out, sizeof(*out), "%.1f/h", second * 3600);
}

/* By the time that those before took. */
static uint64_t progress_left(const struct each_counts *c)
{
	return (uint64_t) ((double) c->time_us / (double) c->done *
			   (double) (c->total - c->done));
}

static void progress_add(char (*out)[EACH_LINE_MAX], const char *text)
{
	size_t have = strlen(*out);

	snprintf(*out + have, sizeof(*out) - have, "%s", text);
}

static void progress_words(const struct each_counts *c,
			   char (*out)[EACH_LINE_MAX])
{
	char word[PROGRESS_WORD];
	int n = snprintf(*out, sizeof(*out), "%" PRIu64, c->done);

	if (c->total)
		n += snprintf(*out + n, sizeof(*out) - (size_t) n,
			      " of %" PRIu64, c->total);
	snprintf(*out + n, sizeof(*out) - (size_t) n,
		 " done, %" PRIu64 " failed, %" PRIu64 " run", c->failed,
		 c->running);
	if (!c->done)
		return;
	progress_add(out, ", ");
	progress_rate(c, &word);
	progress_add(out, word);
	if (c->total < c->done)
		return;
	progress_add(out, ", ");
	progress_time(progress_left(c), &word);
	progress_add(out, word);
	progress_add(out, " left");
}

/* -------------------------------------------------------------------- the lines --- */

/* "[####    ]  45% ", in so many columns. */
static void progress_bar(const struct each_counts *c, uint32_t columns,
			 char (*out)[EACH_LINE_MAX])
{
	uint64_t done = storm_min(c->done, c->total);
	uint32_t room = storm_min(columns, (uint32_t) PROGRESS_BAR_MOST) - 8;
	uint32_t full = (uint32_t) (done * room / c->total);
	char bar[PROGRESS_BAR_MOST];

	memset(bar, '#', full);
	memset(bar + full, ' ', room - full);
	snprintf(*out, sizeof(*out), "[%.*s] %3u%% ", (int) room, bar,
		 (unsigned int) (done * 100 / c->total));
}

void each_progress_line(const struct each_counts *c, bool bar, uint32_t columns,
			char (*out)[EACH_LINE_MAX])
{
	char words[EACH_LINE_MAX];
	size_t len;

	progress_words(c, &words);
	len = strlen(words);
	**out = '\0';
	if (bar && c->total && len + PROGRESS_BAR_LEAST <= columns)
		progress_bar(c, columns - (uint32_t) len, out);
	progress_add(out, words);
	if (columns < sizeof(*out))
		(*out)[columns] = '\0';
}

void each_progress_slowest(const struct each_counts *c, uint32_t columns,
			   locale_t locale, char (*out)[EACH_LINE_MAX])
{
	char time[PROGRESS_WORD], head[EACH_LINE_MAX];

	**out = '\0';
	if (!c->slowest)
		return;
	progress_time(c->slowest_us, &time);
	snprintf(head, sizeof(head),
		 "slowest: task %" PRIu64 " on %s, %s: ", c->slowest, c->node,
		 time);
	each_progress_text(head, columns, locale, out);
	if (strlen(head) < columns)
		each_progress_text(c->command,
				   columns - (uint32_t) strlen(head), locale,
				   out);
}

/* ------------------------------------------------------------------ what is shown --- */

/* The next character, and how many columns it has; -1: it is not to be shown. */
static size_t progress_next(const char *text, size_t len, mbstate_t *state,
			    int *width)
{
	wchar_t c;
	size_t n = mbrtowc(&c, text, len, state);

	if (n && n <= len) {
		*width = wcwidth(c);
		return n;
	}
	*state = (mbstate_t) { 0 };
	*width = -1;
	return 1;
}

void each_progress_text(const char *text, uint32_t columns, locale_t locale,
			char (*out)[EACH_LINE_MAX])
{
	size_t len = strlen(text), at = 0, have = strlen(*out);
	locale_t before = uselocale(locale);
	mbstate_t state = { 0 };

	while (at < len) {
		int width;
		const char *from = text + at;
		size_t n = progress_next(from, len - at, &state, &width);

		at += n;
		if (width < 0) {
			from = "?";
			n = 1;
			width = 1;
		}
		if ((uint32_t) width > columns || have + n >= sizeof(*out))
			break;
		if (!width)
			continue;
		columns -= (uint32_t) width;
		memcpy(*out + have, from, n);
		have += n;
	}
	(*out)[have] = '\0';
	uselocale(before);
}
