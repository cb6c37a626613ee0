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
