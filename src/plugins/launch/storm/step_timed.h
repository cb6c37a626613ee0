/*
 * step_timed.h - srun tells one node of the step how long its launch has taken, and
 * which nodes were slowest (launch_record.h), for storm why.
 *
 * It is one XFER-AND-SIGNAL to one node, begun when all tasks run, and nobody waits for
 * it.  A step that ends at once may end before it: then nobody keeps its times.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_TIMED_H
#define STORM_STEP_TIMED_H

#include "src/libstorm/storm.h"
#include "src/storm_common/launch_record.h"

struct storm_session;

/* A session has one, and its lock protects all but event, buf and behind, which are
 * the step's own thread's. */
struct step_timed {
	/* the last answer to the launch message */
	uint64_t delivered_at;	  /* ns, storm_now(); 0: there was none */
	uint32_t delivered, slot; /* nodes of the domain */
	/* those whose tasks were reported as started last; "": too many */
	char started[LAUNCH_NAME];
	uint32_t starts;
	char behind[LAUNCH_NAME];
	storm_event_t *event;
	uint8_t buf[LAUNCH_RECORD];
};

/* The domain's thread, with the session's lock: a report of this kind has come; of
 * slots, the longest so far. */
void step_timed_delivered(struct step_timed *t, const struct storm_report *r);
void step_timed_slot(struct step_timed *t, const struct storm_report *r);

/* The thread for reports: this node's tasks have started, as the first or another node
 * of a report says. */
void step_timed_started(struct storm_session *s, bool first, const char *name);

/* The step's own thread.  behind: the launch message takes long.  tell: all tasks run.
 * close: before the domain is dropped. */
void step_timed_behind(struct storm_session *s, storm_event_t *event);
void step_timed_tell(struct storm_session *s);
void step_timed_close(struct step_timed *t);

#endif
