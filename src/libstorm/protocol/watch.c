/*
 * watch.c - see watch.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "watch.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

/* With one datagram lost of five, four signs in a row are lost once in 600
 * times.  So it is the questions that keep false alarms out: all three, or their
 * answers, would have to be lost, too. */
#define QUESTIONS 3
#define QUESTION_EVERY (20 * STORM_MS)
/* A suspect is asked for as long as it is one: it may be back. */
#define SUSPECT_EVERY (100 * STORM_MS)

/* detector.h counts ten signs to a dead time-out; nobody is dead here. */
static uint64_t watch_span(uint64_t every)
{
	return 10 * every;
}

void storm_watch_begin(struct storm_watch *w, uint64_t now)
{
	*w = (struct storm_watch) { .heard = now };
}

bool storm_watch_heard(struct storm_watch *w, uint64_t every, uint64_t now)
{
	bool was = w->suspect;

	storm_detector_heard(&w->rhythm, now > w->heard ? now - w->heard : 0,
			     watch_span(every), UINT64_MAX);
	w->heard = storm_max(w->heard, now);
	w->suspect = false;
	w->asked = 0;
	return was;
}

bool storm_watch_quiet(const struct storm_watch *w, uint64_t every,
		       uint64_t now, uint64_t *next)
{
	*next = w->heard + storm_detector_patience(
				   &w->rhythm, watch_span(every), UINT64_MAX);
	return now >= *next;
}

static enum storm_watch_do watch_ask(struct storm_watch *w, uint64_t now)
{
	w->asked++;
	w->asked_at = now;
	return STORM_WATCH_ASK;
}

enum storm_watch_do storm_watch_look(struct storm_watch *w, uint64_t every,
				     uint64_t now, uint64_t *next)
{
	if (!storm_watch_quiet(w, every, now, next))
		return STORM_WATCH_WAIT;
	if (!w->asked)
		return watch_ask(w, now);
	*next = w->asked_at + (w->suspect ? SUSPECT_EVERY : QUESTION_EVERY);
	if (now < *next)
		return STORM_WATCH_WAIT;
	if (w->suspect || w->asked < QUESTIONS)
		return watch_ask(w, now);
	w->suspect = true;
	w->asked_at = now;
	return STORM_WATCH_SUSPECT;
}

void storm_watch_forgive(struct storm_watch *w, uint64_t ns, uint64_t now)
{
	w->heard = storm_min(w->heard + ns, now);
	w->asked_at = storm_min(w->asked_at + ns, now);
}
