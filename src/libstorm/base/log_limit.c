/*
 * log_limit.c - see log_limit.h.  The table is small.  If all of its entries
 * are in use, all other sources of a cause share one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "log_limit.h"

#define ENTRIES 64
#define SHARED 16 /* of them, for the sources that have no entry of their own */
#define HOSTS 8	  /* of a user, that have entries of their own */
#define MINUTE (60 * STORM_SEC)

struct log_entry {
	const char *cause; /* NULL: free */
	struct storm_log_source from;
	uint64_t since;
	uint32_t logged, left;
};

static struct {
	pthread_mutex_t lock;
	struct log_entry entry[ENTRIES];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool log_entry_is(const struct log_entry *e, const char *cause,
			 const struct storm_log_source *from)
{
	return e->cause == cause && e->from.uid == from->uid &&
	       !memcmp(e->from.host, from->host, sizeof(from->host));
}

/* An entry that nobody needs: free, or of a minute that is over with nothing
 * left out. */
static bool log_entry_idle(const struct log_entry *e, uint64_t now)
{
	return !e->cause || now >= e->since + MINUTE;
}

/* The entry among [first, last), or one for it; NULL: all are in use. */
static struct log_entry *log_entry_among(int first, int last, const char *cause,
					 const struct storm_log_source *from,
					 uint64_t now)
{
	struct log_entry *idle = NULL;

	for (int i = first; i < last; i++) {
		struct log_entry *e = &table.entry[i];

		if (log_entry_is(e, cause, from))
			return e;
		if (!idle && log_entry_idle(e, now))
			idle = e;
	}
	if (idle)
		*idle = (struct log_entry) { .cause = cause, .from = *from };
	return idle;
}

/* Other hosts from which the user has entries in this minute. */
static int log_entries_of(const struct log_entry *but, uint64_t now)
{
	static const struct storm_log_source none;
	int n = 0;

	for (int i = SHARED; i < ENTRIES; i++) {
		const struct log_entry *e = &table.entry[i];

		n += e != but && !log_entry_idle(e, now) &&
		     e->from.uid == but->from.uid &&
		     memcmp(e->from.host, none.host, sizeof(none.host)) != 0;
	}
	return n;
}

static struct log_entry *log_entry_of(const char *cause,
				      const struct storm_log_source *from,
				      uint64_t now)
{
	static const struct storm_log_source others = { .uid = UINT32_MAX };
	struct storm_log_source user = { .uid = from->uid };
	struct log_entry *e =
		log_entry_among(SHARED, ENTRIES, cause, from, now);

	/* a new one, and one user must not have all of them */
	if (e && !e->since && log_entries_of(e, now) >= HOSTS &&
	    memcmp(from->host, user.host, sizeof(user.host)) != 0) {
		e->cause = NULL;
		e = log_entry_among(SHARED, ENTRIES, cause, &user, now);
	}
	return e ? e : log_entry_among(0, SHARED, cause, &others, now);
}

bool storm_log_due(const char *cause, const struct storm_log_source *from,
		   uint32_t most, uint64_t now, uint32_t *left)
{
	struct log_entry *e;
	bool due = false;

	*left = 0;
	pthread_mutex_lock(&table.lock);
	e = log_entry_of(cause, from, now);
	if (e && now >= e->since + MINUTE) {
		e->since = now;
		e->logged = 0;
	}
	if (e && e->logged < most) {
		due = true;
		e->logged++;
		*left = e->left;
		e->left = 0;
	} else if (e) {
		e->left++;
	}
	pthread_mutex_unlock(&table.lock);
	return due;
}

void storm_log_from(const struct storm_log_source *from,
		    enum storm_log_level level, const char *fmt, ...)
{
	char msg[1024];
	uint32_t left;
	va_list ap;

	if (!storm_log_due(fmt, from, 1, storm_now(), &left))
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (left)
		storm_log(level, "%s (and %u more like this since)", msg, left);
	else
		storm_log(level, "%s", msg);
}
