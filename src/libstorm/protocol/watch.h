/*
 * watch.h - whether a node that is to give a sign of life at regular times still
 * does (paper section 2.4.3: find which node has missed a heartbeat).  It decides by
 * times alone.
 *
 * A node is quiet when it has been silent for longer than its own rhythm allows
 * (base/detector.h), four signs at least.  A watcher that can ask it then does so, three
 * times.  A node that does not answer is a suspect.  A suspect that is heard is
 * none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WATCH_H
#define STORM_WATCH_H

#include "src/libstorm/base/detector.h"

struct storm_watch {
	uint64_t heard; /* when it was last; or when the watch began */
	uint64_t asked_at;
	uint32_t asked; /* questions since it has become quiet */
	bool suspect;
	struct storm_detector rhythm;
};

enum storm_watch_do {
	STORM_WATCH_WAIT,    /* until *next */
	STORM_WATCH_ASK,     /* ask it, now */
	STORM_WATCH_SUSPECT, /* it has become one, now */
};

/* Watch it from now on; all times are monotonic ns. */
void storm_watch_begin(struct storm_watch *w, uint64_t now);
/* It was heard; every: ns between two signs.  True: it was a suspect. */
bool storm_watch_heard(struct storm_watch *w, uint64_t every, uint64_t now);
/* Is it quiet?  Else *next is when it would be. */
bool storm_watch_quiet(const struct storm_watch *w, uint64_t every,
		       uint64_t now, uint64_t *next);
/* What must a watcher do that can ask it?  Call again until it is WAIT. */
enum storm_watch_do storm_watch_look(struct storm_watch *w, uint64_t every,
				     uint64_t now, uint64_t *next);
/* The watcher itself stood for so many ns up to now: that silence was its own. */
void storm_watch_forgive(struct storm_watch *w, uint64_t ns, uint64_t now);

#endif
