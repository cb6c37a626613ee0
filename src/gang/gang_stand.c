/*
 * gang_stand.c - see gang_stand.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "gang_stand.h"

int gang_stand_stop(struct gang_page *p, struct gang_mark *m, struct freezer *f,
		    bool again)
{
	if (!freezer_held(f))
		p->stopped++;
	gang_mark_set(m, true);
	return freezer_stop(f, again);
}

static void gang_stand_ends(struct gang_page *p, struct gang_mark *m)
{
	gang_mark_set(m, false);
	p->stopped--;
}

int gang_stand_fill(struct gang_page *p, struct gang_mark *m, struct freezer *f)
{
	int err;

	if (!freezer_held(f))
		p->stopped++;
	gang_mark_set(m, true);
	err = freezer_fill(f);
	if (!freezer_held(f))
		gang_stand_ends(p, m);
	return err;
}

int gang_stand_continue(struct gang_page *p, struct gang_mark *m,
			struct freezer *f)
{
	int err;

	if (!freezer_held(f))
		return 0;
	err = freezer_continue(f, false);
	if (freezer_held(f))
		return err;
	gang_stand_ends(p, m);
	return err;
}
