/*
 * gang_stand.h - stops and continues a step of a gang so that the guards know.
 * They look at the page's number of stopped steps and at the record's mark.
 * Both are set before the step can stand, and are taken back once it is known
 * to run.  So a step that could not be continued is left to the guards.  No
 * Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_GANG_STAND_H
#define STORM_GANG_STAND_H

#include "gang_page.h"
#include "gang_step.h"

enum gang_order { GANG_ORDER_STOP, GANG_ORDER_CONTINUE, GANG_ORDER_FILL };

/* Which orders a step refuses, as the log has it.  Zeroed: none. */
struct gang_refusals {
	bool told[GANG_ORDER_FILL + 1];
	uint64_t again_at[GANG_ORDER_FILL + 1]; /* ns; not before */
};

/* An order ended with err, 0 or an errno.  True: log it.  Each order is told on
 * its own, once until it succeeds, and at most once a minute, because a user can
 * make a step refuse now and then. */
bool gang_refused(struct gang_refusals *r, enum gang_order order, int err,
		  uint64_t now);

/* As freezer_stop().  0 or an errno: some processes may stand. */
int gang_stand_stop(struct gang_page *p, struct gang_mark *m, struct freezer *f,
		    bool again);
/* As freezer_fill().  0 or an errno: it stands or runs as before. */
int gang_stand_fill(struct gang_page *p, struct gang_mark *m,
		    struct freezer *f);
/* As freezer_continue().  0 or an errno; freezer_held(): it still stands. */
int gang_stand_continue(struct gang_page *p, struct gang_mark *m,
			struct freezer *f);

#endif
