/*
 * metrics_count.c - see metrics_count.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics_count.h"
#include "src/libstorm/base/units.h"
#include "src/storm_status/status_facts.h"

#define HEAD "storm metrics 1\n" /* another one when the counters are others */
/* ms by which an agent's age may grow less than this host's clock: it is in whole
 * seconds, and the clocks differ */
#define SLACK 1500

/* Both ascend, with a newline behind each name. */
static bool metrics_count_within(const char *names, const char *all)
{
	while (*names) {
		size_t len = strcspn(names, "\n") + 1;

		while (*all && strncmp(all, names, len)) {
			all += strcspn(all, "\n");
			all += *all == '\n';
		}
		if (!*all)
			return false;
		names += len;
		all += len;
	}
	return true;
}

/* An agent may have answered at the end of the last query, and at the begin of this
 * one. */
static bool metrics_count_anew(const struct metrics_count *c,
			       const struct metrics *m)
{
	const uint64_t least = c->at + m->took / STORM_MS + SLACK;

	return status_anew(c->age, m->age, m->up, (int64_t) (m->at - least));
}

void metrics_count_add(struct metrics_count *c, const struct metrics *m,
		       char *names)
{
	bool same, fell = false;

	if (!m->answered || !m->shown || !names) {
		free(names);
		return;
	}
	if (!m->whole) {
		/* begin again with the next one */
		free(names);
		free(c->names);
		c->names = NULL;
		c->gaps++;
		return;
	}
	same = c->names && !strcmp(names, c->names);
	for (unsigned int i = 0; i < METRICS_COUNTERS; i++) {
		uint64_t now = m->counter[i];

		fell |= now < c->last[i];
		if (c->names && now > c->last[i] &&
		    (same || metrics_count_within(names, c->names)))
			c->total[i] += now - c->last[i];
		c->last[i] = now;
	}
	if (c->names && (!same || fell || metrics_count_anew(c, m)))
		c->gaps++;
	free(c->names);
	c->names = names;
	c->age = m->age;
	c->at = m->at;
}

struct metrics_shown metrics_count_shown(const struct metrics_count *c,
					 const struct metrics *m)
{
	struct metrics_shown shown = { .m = m };

	if (m->shown || c->names) {
		shown.counter = c->total;
		shown.gaps = &c->gaps;
	}
	return shown;
}

char *metrics_count_text(const struct metrics_count *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fprintf(f, HEAD "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c->gaps,
		c->age, c->at);
	for (unsigned int i = 0; i < METRICS_COUNTERS; i++)
		fprintf(f, "%" PRIu64 " %" PRIu64 "\n", c->total[i],
			c->last[i]);
	fprintf(f, "%s\n%s", c->names ? "nodes" : "none",
		c->names ? c->names : "");
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Digits and what ends them. */
static bool metrics_count_number(const char **text, char end, uint64_t *out)
{
	size_t len = strspn(*text, "0123456789");

	if (!len || len > 20 || (*text)[len] != end)
		return false;
	*out = strtoull(*text, NULL, 10);
	*text += len + 1;
	return true;
}

static bool metrics_count_parse(const char *text, struct metrics_count *out)
{
	if (strncmp(text, HEAD, strlen(HEAD)))
		return false;
	text += strlen(HEAD);
	if (!metrics_count_number(&text, ' ', &out->gaps) ||
	    !metrics_count_number(&text, ' ', &out->age) ||
	    !metrics_count_number(&text, '\n', &out->at))
		return false;
	for (unsigned int i = 0; i < METRICS_COUNTERS; i++)
		if (!metrics_count_number(&text, ' ', &out->total[i]) ||
		    !metrics_count_number(&text, '\n', &out->last[i]))
			return false;
	if (!strcmp(text, "none\n"))
		return true;
	if (strncmp(text, "nodes\n", strlen("nodes\n")))
		return false;
	out->names = strdup(text + strlen("nodes\n"));
	return out->names;
}

bool metrics_count_read(const char *text, struct metrics_count *out)
{
	*out = (struct metrics_count) { 0 };
	if (metrics_count_parse(text, out))
		return true;
	*out = (struct metrics_count) { 0 };
	return false;
}

void metrics_count_clear(struct metrics_count *c)
{
	free(c->names);
	*c = (struct metrics_count) { 0 };
}
